"""Right-to-left text of PDFs comes out in the order in which it is read."""

from __future__ import annotations

from pathlib import Path

from cairn.ingest.loaders import load, sniff
from cairn.settings import IngestSettings
from tests.pdf_files import Sheet, pdf_file

WORD = "\u062d\u064e\u0628\u064a\u0628\u064a"  # habibi, with a vowel mark
LAM_ALEF = "\u0644\u0627"


def mapped(**letters: str) -> bytes:
    """A page that shows `A B`, in a font that maps its letters to these texts."""
    rows = "\n".join(f"<{ord(key):02x}> <{text.encode('utf-16-be').hex()}>" for key, text in letters.items())
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <00> <ff> endcodespacerange\n"
        f"{len(letters)} beginbfchar\n{rows}\nendbfchar endcmap end end"
    ).encode()
    sheet = Sheet()
    sheet.text(50, 60, "A")
    sheet.text(80, 60, "B")
    return pdf_file(sheet, to_unicode=cmap)


def read(content: bytes) -> str:
    return load(content, sniff("a.pdf", content), IngestSettings()).text


def test_a_word_that_one_glyph_stands_for_is_not_turned_around() -> None:
    assert WORD in read(mapped(A=WORD, B="habibi"))


def test_lam_alef_of_one_glyph_keeps_its_order() -> None:
    assert LAM_ALEF in read(mapped(A=LAM_ALEF, B="x"))


def test_a_page_of_arabic_with_names_and_numbers(shared_data: Path) -> None:
    text = read((shared_data / "docs/files/right_to_left_01.pdf").read_bytes())
    assert text.removeprefix("### ").startswith("تحسين الإنتاجية وحل المشكلات من خلال البرمجة بلغة R وPython")
    assert "يمكن استخدام مكتبة pandas في Python لإدارة البيانات" in text
