"""Scanned pages of PDFs: read by Tesseract where it is installed, and said to be unread where not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.domain.document import LoadedDocument, Source
from cairn.errors import NoTextLayerError
from cairn.ingest.loaders import load, ocr, sniff
from cairn.ingest.parse import parse
from cairn.settings import IngestSettings
from tests.pdf_files import SCAN, WORDS, pdf_file, scanned, text_page

LIMITS = IngestSettings()
needs_tesseract = pytest.mark.skipif(
    "eng" not in ocr.installed_languages(), reason="Tesseract is not installed: apt-get install tesseract-ocr"
)


def read(content: bytes) -> LoadedDocument:
    return load(content, sniff("a.pdf", content), LIMITS)


@pytest.fixture
def no_tesseract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("PATH", str(tmp_path))
    ocr.installed_languages.cache_clear()
    yield
    ocr.installed_languages.cache_clear()


@needs_tesseract
async def test_a_scanned_page_is_read_in_the_limited_process() -> None:
    loaded = await parse(Source("a.pdf", "a.pdf", scanned(text_page(), SCAN)), LIMITS)
    assert WORDS in loaded.text[loaded.pages[1].start :]
    assert loaded.text.startswith("This page has a text layer")
    [note] = loaded.notes
    assert note.startswith("page 2 read by OCR")


@needs_tesseract
def test_dirt_is_not_read() -> None:
    content = pdf_file(SCAN, image=(40, 40, bytes(range(200)) * 8))
    with pytest.raises(NoTextLayerError, match="OCR by Tesseract found no text"):
        read(content)


@needs_tesseract
def test_what_ocr_has_no_time_for_is_said() -> None:
    content = scanned(text_page(), SCAN, SCAN)
    loaded = load(content, sniff("a.pdf", content), LIMITS.model_copy(update={"parse_seconds": 0}))
    [note] = loaded.notes
    assert note.startswith("pages 2-3 not read: images, and OCR took longer than ingest.parseSeconds")


@pytest.mark.usefixtures("no_tesseract")
def test_without_tesseract_the_other_pages_are_read_and_the_note_says_how_to_install_it() -> None:
    loaded = read(scanned(text_page(), SCAN))
    assert loaded.text.strip() == "This page has a text layer, which is read as it always was, by PDFium."
    [note] = loaded.notes
    assert note.startswith("page 2 not read")
    assert "apt-get install tesseract-ocr" in note


@pytest.mark.usefixtures("no_tesseract")
def test_without_tesseract_a_scan_is_refused_with_how_to_install_it() -> None:
    with pytest.raises(NoTextLayerError, match="apt-get install tesseract-ocr"):
        read(scanned(SCAN))


def test_a_tesseract_that_fails_costs_its_pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "tesseract"
    program.write_text('#!/bin/sh\n[ "$1" = --list-langs ] && echo eng && exit\nexit 3\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    ocr.installed_languages.cache_clear()
    try:
        loaded = read(scanned(text_page(), SCAN))
    finally:
        ocr.installed_languages.cache_clear()
    assert loaded.text.startswith("This page has a text layer")
    assert "page 2 not read: Tesseract failed" in loaded.notes[0]
