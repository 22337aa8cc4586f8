"""What a document is called."""

from __future__ import annotations

from io import BytesIO
from time import process_time

import docx
import pytest

from cairn.domain.document import Source
from cairn.ingest.loaders.titles import better_title, says_nothing, with_folder
from cairn.ingest.parse import parse
from cairn.settings import IngestSettings

TEXT = "Some words before.\n\n## A part\n\n# Travel rules\n\nEmployees fly economy.\n"


@pytest.mark.parametrize(
    "title",
    [
        "2", "10-1.1.2", "20190331", "", "-", "untitled", "Untitled-3", "Untitled Document", "Document1", "Document (2)",
        "PowerPoint Presentation", "PowerPoint-Präsentation", "Présentation PowerPoint", "Presentación de PowerPoint",
        "Sans titre", "Unbenanntes Dokument", "[Document title]", "<title>", "Click to edit Master title style", "Slide 1",
        "Microsoft Word - report_v3.doc", "Microsoft Word", "C:\\Users\\ann\\Desktop\\x.qxd", "layout_final.indd", "LaTeX",
        "Adobe InDesign CC 13.0", "pdfTeX", "LaTeX with hyperref", "Google Docs", "Sheet1", "Book1",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "d41d8cd98f00b204e9800998ecf8427e", "https://example.org/a", "N/A", "word " * 80,
        "(anonymous)", "(unspecified)", "anonyme", "Sin especificar",
    ],
)  # fmt: skip
def test_titles_that_name_nothing_give_way_to_the_first_heading(title: str) -> None:
    assert better_title(title, TEXT, "rules.pdf") == "Travel rules"
    assert better_title(title, "no heading", "rules.pdf") is None


@pytest.mark.parametrize(
    "title",
    [
        "Travel policy 2024", "Report 001", "1984 and after", "Node.js in action", "The LaTeX companion", "Word processing",
        "Untitled, a novel", "Dokumentation", "코로나-19 관련", "GDPR", "Deadbeef", "Presentations that work", "COVID-19",
    ],
)  # fmt: skip
def test_titles_that_name_something_stay(title: str) -> None:
    assert better_title(title, TEXT, "rules.pdf") == title


def test_what_printing_put_before_a_title_goes() -> None:
    assert better_title("Microsoft Word - Annual review 2019", TEXT, "x.pdf") == "Annual review 2019"


def test_the_name_of_the_file_is_no_better_than_its_heading() -> None:
    assert better_title("rules_v2", TEXT, "in/rules_v2.pdf") == "Travel rules"
    assert better_title("rules_v2", "", "in/rules_v2.pdf") is None


def test_a_heading_that_names_nothing_is_passed_over() -> None:
    assert better_title(None, "# Contents\n\nx\n\n# Costs of travel\n", "a.md") == "Costs of travel"


@pytest.mark.parametrize(
    ("title", "name", "expected"),
    [
        ("Examples", "docs/usage/create.rst", "create: Examples"),
        ("Beispiele", "key_change-location.rst.inc", "key change-location: Beispiele"),
        ("Utilisation", "a/démarrer.rst", "démarrer: Utilisation"),
        ("Introduction", "010_introduction.rst", "Introduction"),
        ("Usage", "index.rst", "Usage"),
        ("Examples", "2024.rst", "Examples"),
        ("Examples of rules", "create.rst", "Examples of rules"),
        ("Examples", "create.docx", "Examples"),
        ("Examples", "", "Examples"),
    ],
)
def test_a_heading_that_any_file_may_have_is_told_by_the_name_of_the_file(title: str, name: str, expected: str) -> None:
    assert better_title(title, "", name) == expected
    assert better_title(None, f"# {title}\n\nText.\n", name) == expected


@pytest.mark.parametrize("unit", ["a.", "\\", "word ", "1", "[", "a-", "untitled "])
def test_titles_are_judged_in_linear_time(unit: str) -> None:
    start = process_time()
    says_nothing(unit * 100_000)
    better_title(unit * 100_000, unit * 100_000, "x")
    assert process_time() - start < 1


async def test_titles_of_files_are_mended() -> None:
    document = docx.Document()
    document.core_properties.title = "Document1"
    document.add_heading("Rules of the house", level=1)
    document.add_paragraph("Text.")
    stream = BytesIO()
    document.save(stream)
    loaded = await parse(Source("a.docx", "a.docx", stream.getvalue()), IngestSettings())
    assert loaded.title == "Rules of the house"
    page = b"<title>Untitled Document</title><h1>On <b>bees</b></h1><p>x</p>"
    assert (await parse(Source("a.html", "a.html", page), IngestSettings())).title == "On bees"


@pytest.mark.parametrize(
    ("title", "path", "called"),
    [
        ("Introduction", "pseudonymisation/README.md", "pseudonymisation: Introduction"),
        ("Présentation", "guides/2_open-data/index.md", "open data: Présentation"),
        ("1. Overview", "apis-geo/docs/index.md", "apis geo: 1. Overview"),
        ("Home", "https://example.org/index.html", "example.org: Home"),
        ("Introduction", "README.md", "Introduction"),
        ("Introduction", "docs/README.md", "Introduction"),
        ("Introduction", "/README.md", "Introduction"),
        ("Overview", "source/chapters/overview.rst", "Overview"),
        ("Overview", "bees/manual/1_chapters/overview.rst", "bees: Overview"),
        ("Introduction", "introduction/index.md", "Introduction"),
        ("Introduction to bees", "bees/README.md", "Introduction to bees"),
        (None, "bees/README.md", None),
    ],
)
def test_the_first_page_of_a_folder_is_called_by_it(title: str | None, path: str, called: str | None) -> None:
    assert with_folder(title, path) == called


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("**API Adresse**", "API Adresse"),
        ("The *new* API", "The new API"),
        ("Bees * wasps * ants", "Bees * wasps * ants"),
        ("a**b", "a**b"),
    ],
)
async def test_titles_have_no_stars_of_markdown(heading: str, title: str) -> None:
    assert (await parse(Source("a.md", "a.md", f"# {heading}\n\nText.".encode()), IngestSettings())).title == title


@pytest.mark.parametrize(
    ("paragraphs", "title"),
    [
        ((("Hartwell", "Title"), ("Employee\nHandbook", "Subtitle")), "Hartwell: Employee Handbook"),
        ((("Hartwell", "Title"), ("Text.", "Normal"), ("Handbook", "Subtitle")), "Hartwell"),
        ((("Handbook", "Subtitle"), ("Hartwell", "Title")), "Hartwell"),
    ],
)
async def test_the_subtitle_right_below_a_title_belongs_to_it(
    paragraphs: tuple[tuple[str, str], ...], title: str
) -> None:
    document = docx.Document()
    document.core_properties.title = ""
    for text, style in paragraphs:
        document.add_paragraph(text, style)
    stream = BytesIO()
    document.save(stream)
    assert (await parse(Source("a.docx", "a.docx", stream.getvalue()), IngestSettings())).title == title
