"""Headings of PDFs, told by their print."""

from __future__ import annotations

from cairn.ingest.loaders.pdf import load
from cairn.settings import IngestSettings
from tests.pdf_files import Sheet, pdf_file

PROSE = (
    "The concept of the word processor predates modern computers and has",
    "evolved through several technological milestones.",
    "Early machines stood in offices, where they served typists.",
    "They were sold with a printer and a keyboard.",
)


def read(sheet: Sheet) -> str:
    return load(pdf_file(sheet), IngestSettings()).text


def page(heading: str, size: float) -> Sheet:
    sheet = Sheet()
    sheet.text(50, 50, heading, size)
    for at, line in enumerate(PROSE):
        sheet.text(50, 80 + 14 * at, line)
    return sheet


def test_a_line_larger_than_the_text_is_a_heading() -> None:
    text = read(page("The Evolution of the Word Processor", 14))
    assert text.startswith("## The Evolution of the Word Processor\n\nThe concept of")


def test_a_line_of_the_size_of_the_text_is_text() -> None:
    assert "#" not in read(page("The Evolution of the Word Processor", 10))


def test_a_large_sentence_a_number_and_a_formula_are_no_headings() -> None:
    for line in ("Nothing that ends in a full stop.", "20,345", "CREATE <name>", "and goes on in lower case"):
        assert "#" not in read(page(line, 16))


def test_the_labels_of_a_chart_are_no_headings() -> None:
    sheet = page("Results of the year", 14)
    for at, label in enumerate(("Accuracy", "79.8", "96.3", "Percentile", "71.5", "90.8", "Model", "49.2")):
        sheet.text(50, 200 + 30 * at, label, 13)
    text = read(sheet)
    assert [line for line in text.splitlines() if line.startswith("#")] == ["## Results of the year"]


def test_the_number_of_a_page_ends_no_sentence() -> None:
    sheet = page("Heading", 14)
    sheet.text(300, 780, "17")
    assert read(sheet).endswith("keyboard.\n\n17")
