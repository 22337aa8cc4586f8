"""What the loaders with a parser make of HTML, Word and PDF, in the process and in its child."""

from __future__ import annotations

import json
import re
import zlib
from collections import defaultdict
from io import BytesIO
from pathlib import Path
from typing import Any

import docx
import pytest

from cairn.domain.document import LoadedDocument, Source
from cairn.errors import (
    EmptyDocumentError,
    EncryptedDocumentError,
    NoTextLayerError,
    ParseError,
    ParserLimitError,
    TooLargeError,
)
from cairn.ingest.loaders import load, sniff
from cairn.ingest.parse import parse
from cairn.language.tables import render_table
from cairn.settings import IngestSettings
from tests.faults.bomb_files import docx as word_file
from tests.faults.bomb_files import pdf, word
from tests.office_files import presentation, workbook
from tests.pdf_files import pdf_file, text_page

LIMITS = IngestSettings()


def read(content: bytes | str, name: str) -> LoadedDocument:
    data = content.encode() if isinstance(content, str) else content
    return load(data, sniff(name, data), LIMITS)


def html(body: str) -> str:
    return read(f"<html><body>{body}</body></html>", "a.html").text


# --- HTML -----------------------------------------------------------------------------------------------------------


def test_html_headings_paragraphs_and_lists() -> None:
    page = "<h1>A <em>b</em></h1><p>one\n two<br>three</p><ul><li>x<ol><li>y<li>z</ol><li><p>w</p></ul><h3>C</h3>tail"
    assert html(page) == "# A b\n\none two\nthree\n\n- x\n  1. y\n  2. z\n- w\n\n### C\n\ntail"


def test_a_term_of_a_list_of_definitions_leads_what_is_said_of_it() -> None:
    page = (
        "<dl><dt><code>max_size</code> (integer)</dt><dd><p>The default is 100.</p></dd><dt>a*</dt><dd>Any.</dd></dl>"
    )
    assert html(page) == "**`max_size` (integer)**\n\nThe default is 100.\n\na*\n\nAny."


def test_the_mark_that_leads_to_the_address_of_a_heading_is_no_word_of_it() -> None:
    page = "<h2>C#<a class='headerlink' href='#c'>¶</a></h2><p>See <a href='#x'>#</a><a href='a.html'>#</a></p>"
    assert html(page) == "## C#\n\nSee #"


def test_html_code_keeps_its_white_space() -> None:
    page = "<pre><code class='language-python'>def f():\n    return 1\n</code></pre><p>use <code>f()</code></p>"
    assert html(page) == "```python\ndef f():\n    return 1\n```\n\nuse `f()`"


def test_a_fence_inside_code_does_not_end_it() -> None:
    assert html("<pre>```\nx\n```</pre>") == "````\n```\nx\n```\n````"


@pytest.mark.parametrize(
    ("page", "title", "text"),
    [
        (
            '{{$a := "x"}}\n<html><head><title>{{$a}} &mdash; Oven</title></head>'
            '<body>{{include "/head.html" ""}}<h1>{{.T}} Heat</h1>'
            "<ul>{{range .All}}<li>One {{.Name}} <code>{{end}}</code></li>{{end}}</ul></body></html>",
            "Oven",
            "# {{.T}} Heat\n\n- One {{.Name}} `{{end}}`",
        ),
        ("<html><title>{{ page.title }}</title>{% block a %}<p>Hot.</p>{% endblock %}</html>", None, "Hot."),
        ("<html><title>{{ page.title }}</title><p>A {{ name }} {% raw %}.</p></html>", None, "A {{ name }} {% raw %}."),
        ("<html><p>{{ name }}</p><pre>{% if a %}</pre></html>", None, "{{ name }}\n\n```\n{% if a %}\n```"),
    ],
)
def test_a_template_is_read_without_what_makes_the_page_of_it(page: str, title: str | None, text: str) -> None:
    read_as = read(page, "a.html")
    assert (read_as.title, read_as.text) == (title, text)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<p>A</p><figure><img src=x><figcaption>The <b>top</b> view</figcaption></figure>B",
            "A\n\n![The top view]()\n\nB",
        ),
        ("<figure><figcaption><p>It is big.</p></figcaption></figure><p>B", "It is big.\n\nB"),
        ("<figure><figcaption><pre>a</pre></figcaption></figure>", "```\na\n```"),
        ("<ul><li><figure><figcaption>One</figcaption></figure><li>B</ul>", "- ![One]()\n- B"),
        ("<figcaption> </figcaption><p>B", "B"),
    ],
)
def test_what_names_a_picture_is_told_from_text(page: str, text: str) -> None:
    assert html(page) == text


def test_html_tables() -> None:
    page = (
        "<table><caption>T</caption><tr><th>a</th><th>b|c</th></tr><tr><td rowspan=2>1</td><td>H<sub>2</sub>O</td></tr>"
        "<tr><td><p>x</p><p>y</p></td></tr><tr><td colspan=2>wide</td></tr></table>"
    )
    assert html(page) == "T\n\n| a | b\\|c |\n| --- | --- |\n| 1 | H2O |\n| 1 | x y |\n| wide |  |"


def test_html_headers_and_merged_columns() -> None:
    page = (
        "<table><tr><td></td><td colspan=6>Years Ended</td></tr><tr><td></td><td colspan=3>2019</td><td colspan=3>2018</td></tr>"
        "<tr><td>Sales</td><td>$</td><td>5</td><td></td><td>$</td><td>4</td><td></td></tr>"
        "<tr><td>Loss</td><td></td><td>(1</td><td>)</td><td></td><td>(2</td><td>)</td></tr></table>"
    )
    assert html(page).splitlines() == [
        "|  | Years Ended / 2019 | Years Ended / 2018 |", "| --- | --- | --- |", "| Sales | $ 5 | $ 4 |", "| Loss | (1) | (2) |"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ("<tr><th>Born</th><td>1815</td></tr><tr><th>Died</th><td>London</td></tr>",
         "|  |  |\n| --- | --- |\n| Born | 1815 |\n| Died | London |"),
        ("<thead><tr><td>A</td><td>B</td></tr></thead><tr><td>x</td><td>y</td></tr>", "| A | B |\n| --- | --- |\n| x | y |"),
        ("<tr><th> </th></tr><tr><th>A</th><th>B</th></tr><tr><td>x</td><td>y</td></tr>", "| A | B |\n| --- | --- |\n| x | y |"),
        ("<tr><td>•</td><td>An item of a list.</td></tr>", "• An item of a list."),
        ("<tr><td>A frame around</td></tr><tr><td>two paragraphs.</td></tr>", "A frame around\n\ntwo paragraphs."),
        ("<tr><td>Left of the page</td><td>and right of it.</td></tr>", "Left of the page\n\nand right of it."),
    ],
)  # fmt: skip
def test_html_tables_by_what_they_are_used_for(rows: str, text: str) -> None:
    assert html(f"<table>{rows}</table>") == text


def test_layout_tables_are_read_as_text() -> None:
    inner = "<table><tr><th>n</th><th>m</th></tr><tr><td>1</td><td>2</td></tr></table>"
    page = f"<table><tr><td><h2>Essay</h2><p>First.</p></td><td>{inner}</td></tr></table>"
    assert html(page) == "## Essay\n\nFirst.\n\n| n | m |\n| --- | --- |\n| 1 | 2 |"


def test_invisible_parts_go_and_everything_else_stays() -> None:
    page = (
        "<nav><a href=x>Home</a> <a>About</a></nav><script>var x</script><style>p{}</style><noscript>no</noscript>"
        "<template>t</template><button>Go</button><button>Stop</button><!-- c --><p>text</p>tail<footer>foot</footer>"
    )
    assert html(page) == "Home About\n\nGo\n\nStop\n\ntext\n\ntail\n\nfoot"


def test_text_that_looks_like_markdown_is_no_structure() -> None:
    assert html("<p># no heading</p><p>a<br>---</p>") == "\\# no heading\n\na\n\\---"


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (b"<title>\n The  title </title><h1>H</h1>x", "The title"),
        (b"<html><h1>Only <i>heading</i></h1>x</html>", "Only heading"),
        (b"<html><p>x</html>", None),
    ],
)
def test_html_titles(content: bytes, title: str | None) -> None:
    assert read(content, "a.html").title == title


@pytest.mark.parametrize(
    "declared", ['<meta charset="iso-8859-2">', "<meta http-equiv=x content='text/html; charset=iso-8859-2'>"]
)
def test_html_declares_its_encoding(declared: str) -> None:
    assert "łódź" in read(f"<html><head>{declared}</head><p>łódź</p>".encode("iso-8859-2"), "a.html").text


def test_unclosed_html_is_read() -> None:
    assert html("<h2>T<p>one<p>two<li>x<b>bold").split() == ["##", "T", "one", "two", "-", "xbold"]


# --- Word -----------------------------------------------------------------------------------------------------------


def document_bytes(document: Any) -> bytes:
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def test_word_headings_lists_and_tables() -> None:
    document = docx.Document()
    document.core_properties.title = "Core title"
    document.add_heading("Top", 1)
    document.add_paragraph("Some text")
    document.add_heading("Below", 2)
    document.add_paragraph("item", style="List Bullet")
    document.add_paragraph("first", style="List Number")
    document.add_paragraph("second", style="List Number")
    table = document.add_table(3, 3)
    for index, cell in enumerate(table._cells):
        cell.text = f"c{index}"
    table.cell(1, 0).merge(table.cell(2, 0))
    table.cell(0, 1).merge(table.cell(0, 2))
    loaded = read(document_bytes(document), "a.docx")
    assert loaded.title == "Core title"
    assert loaded.text == (
        "# Top\n\nSome text\n\n## Below\n\n- item\n1. first\n2. second\n\n"
        "| c0 | c1 c2 | c1 c2 |\n| --- | --- | --- |\n| c3 c6 | c4 | c5 |\n| c3 c6 | c7 | c8 |"
    )


def test_word_text_is_read_as_if_all_changes_were_accepted() -> None:
    body = (
        b"<w:p><w:r><w:t>kept </w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        b"<w:ins><w:r><w:t>added</w:t></w:r></w:ins></w:p>"
        b"<w:sdt><w:sdtContent><w:p><w:r><w:t>control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        b"<w:p><w:r><w:t>anchor</w:t><w:pict><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent>"
        b"</w:pict></w:r></w:p>"
    )
    assert read(word_file(word(body)), "a.docx").text == "kept added\n\ncontrol\n\nanchor\n\nboxed"


def test_a_damaged_word_file_is_a_parse_error() -> None:
    whole = word_file(word(b"<w:p><w:r><w:t>x</w:t></w:r></w:p>"))
    with pytest.raises(ParseError, match="damaged"):
        read(whole[: len(whole) // 2], "a.docx")
    with pytest.raises(ParseError, match="damaged"):
        read(word_file(b"<w:document"), "a.docx")


# --- PDF ------------------------------------------------------------------------------------------------------------


def page_pdf(operators: bytes) -> bytes:
    return pdf(zlib.compress(operators))


def test_an_empty_pdf_page_is_empty_and_a_drawing_has_no_text_layer() -> None:
    with pytest.raises(EmptyDocumentError):
        read(page_pdf(b" "), "a.pdf")
    with pytest.raises(NoTextLayerError, match="OCR"):
        read(page_pdf(b"0 0 100 100 re f"), "a.pdf")


def test_pages_count_from_one_and_begin_where_they_say(shared_data: Path) -> None:
    """Page metadata."""
    loaded = read((shared_data / "docs/files/multi_page.pdf").read_bytes(), "a.pdf")
    assert [page.number for page in loaded.pages] == [1, 2, 3, 4, 5]
    assert loaded.pages[0].start == 0
    for page in loaded.pages[1:]:
        assert loaded.text[page.start - 2 : page.start] == "\n\n"
        assert loaded.text[page.start].strip()


async def test_limits_of_pages_and_text(shared_data: Path) -> None:
    content = (shared_data / "docs/files/multi_page.pdf").read_bytes()
    source = Source("m", "m.pdf", content)
    for name, value, error in (
        ("max_pages", 4, ParserLimitError),
        ("max_text_chars", 5000, ParserLimitError),
        ("max_file_bytes", 1000, TooLargeError),
    ):
        with pytest.raises(error, match=r"ingest\.max"):
            await parse(source, LIMITS.model_copy(update={name: value}))
    with pytest.raises(ParserLimitError):
        await parse(Source("t", "t.txt", b"x" * 5001), LIMITS.model_copy(update={"max_text_chars": 5000}))


# --- the process ----------------------------------------------------------------------------------------------------


async def test_the_child_gives_what_the_loader_gives() -> None:
    """Text, title and markup come through the pipe unchanged, whatever characters they hold."""
    page = "<title>T ü \U0001f600</title><h1>H</h1><p>line \u2028 漢字 \x7f \U0001f600</p>".encode()
    assert await parse(Source("x", "x.html", page), LIMITS) == read(page, "x.html")


async def test_errors_of_the_child_keep_their_type_and_words() -> None:
    with pytest.raises(EmptyDocumentError, match="no text"):
        await parse(Source("x", "x.html", b"<html><script>x</script></html>"), LIMITS)


# --- the corpus -----------------------------------------------------------------------------------------------------

EXPECTED: dict[str, type[ParseError] | None] = {
    "ok": None,
    "ok_or_replacement": None,
    "error": ParseError,
    "encrypted": EncryptedDocumentError,
    "no_text_layer": NoTextLayerError,
}


def reduced(text: str) -> set[str]:
    """Lower-cased words in both readings that the manifest uses: of any script, and ASCII alone."""
    return {" ".join(re.findall(pattern, text.lower())) for pattern in (r"[^\W_]+", r"[a-z0-9]+")}


@pytest.mark.parametrize("of_each", [1, pytest.param(40, marks=pytest.mark.measurement)])
async def test_the_corpus_of_real_files_is_read_as_its_manifest_says(shared_data: Path, of_each: int) -> None:
    """40 real PDF, Word, HTML and Markdown files, damaged, encrypted and scanned ones among them; the first of each kind."""
    manifest = [json.loads(line) for line in (shared_data / "docs/manifest.jsonl").read_text().splitlines()]
    kinds = defaultdict[tuple[str, str], list[dict[str, Any]]](list)
    for row in manifest:
        kinds[Path(row["file"]).suffix, row["expect"]].append(row)
    chosen = [row for rows in kinds.values() for row in rows[:of_each]]
    wrong = [problem for row in chosen if (problem := await problem_with(shared_data, row))]
    assert len(manifest) >= 40
    assert wrong == []


async def problem_with(shared_data: Path, row: dict[str, Any]) -> str | None:
    content = (shared_data / "docs/files" / row["file"]).read_bytes()
    expected = EXPECTED[row["expect"]]
    try:
        loaded = await parse(Source(row["file"], row["file"], content), LIMITS)
    except ParseError as error:
        right = expected is not None and isinstance(error, expected)
        return None if right else f"{row['file']}: {error!r}"
    if expected is not None:
        by_ocr = expected is NoTextLayerError and any("by OCR" in note for note in loaded.notes)
        return None if by_ocr else f"{row['file']}: read, but {row['expect']} expected"
    missing = [s for s in row.get("snippets") or () if not any(s in reading for reading in reduced(loaded.text))]
    pages = row.get("pages") in (None, len(loaded.pages))
    return None if pages and not missing else f"{row['file']}: missing {missing}, {len(loaded.pages)} pages"


def test_a_table_of_nothing_is_nothing() -> None:
    assert render_table([]) == ""
    assert render_table([["", " "]]) == ""


async def test_pages_slides_and_sheets_are_told_as_they_are_read() -> None:
    """Each, and of many every hundredth part; what has none of them tells nothing."""

    async def told(name: str, content: bytes) -> list[float]:
        shares: list[float] = []

        async def hear(share: float) -> None:
            shares.append(share)

        await parse(Source(name, name, content), LIMITS, hear)
        return shares

    assert await told("a.pptx", presentation()) == [0.33, 0.66, 1.0]
    assert await told("a.xlsx", workbook(lambda sheet: sheet.parent.create_sheet("More").append(["Bolt", 7]))) == [
        0.5,
        1.0,
    ]
    assert await told("a.pdf", pdf_file(*[text_page()] * 250)) == [percent / 100 for percent in range(1, 101)]
    assert await told("a.docx", word_file(word(b"<w:p><w:r><w:t>Hello</w:t></w:r></w:p>"))) == []
