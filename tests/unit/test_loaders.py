"""Bytes to text: what a file is, what its loader makes of it, how it fails."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.document import CONFIGURATION_TYPES, LoadedDocument, Source, is_code_type
from cairn.errors import (
    EmptyDocumentError,
    EncryptedDocumentError,
    ParseError,
    UnsupportedTypeError,
)
from cairn.ingest.loaders import LOADERS, load, sniff
from cairn.ingest.loaders.code import SUFFIXES
from cairn.ingest.loaders.markdown import strip_images
from cairn.ingest.loaders.text import decode
from cairn.ingest.parse import parse
from cairn.settings import IngestSettings

LIMITS = IngestSettings()
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def old_office(text: str, *streams: str) -> bytes:
    """As much of one as its format is told by: text, then the directory of its streams, 128 bytes each."""
    entries = b"".join(name.encode("utf-16-le").ljust(128, b"\0") for name in streams)
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + text.encode("utf-16-le").ljust(120, b"\0") + entries


def read(content: bytes | str, name: str, media_type: str | None = None) -> LoadedDocument:
    data = content.encode() if isinstance(content, str) else content
    return load(data, sniff(name, data, media_type), LIMITS)


# --- what a file is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "media_type", "expected"),
    [
        ("a.txt", b"%PDF-1.7 ...", None, "pdf"),
        ("a.pdf", b"\n\n%PDF-1.7", "text/plain", "pdf"),
        ("a.pdf", b"only words", None, "text"),
        ("notes.md", b"<div align=center>\n\n# Hi</div>", None, "markdown"),
        ("a.TXT", b"<!DOCTYPE html><p>x", None, "html"),
        ("page.html", b"<p>x</p>", None, "html"),
        ("page.html", b"1 < 2, no tags", None, "text"),
        ("index.php", b"<html><?php f() ?>", None, "code"),
        ("lib/Main.java", b"class A {}", None, "code"),
        ("README", b"# Title", None, "text"),
        ("id-17", b"# Title", "text/markdown; charset=utf-8", "markdown"),
        ("id-18", b"<p>a</p>", "text/html", "html"),
        ("data.csv", b"a,b\n1,2", None, "csv"),
        ("id-19", b"a\tb\n1\t2", "text/tab-separated-values", "csv"),
        ("table.txt", b"a,b\n1,2", "text/csv", "text"),
        ("utf16.txt", "Ünïcode text".encode("utf-16"), None, "text"),
        ("cut.docx", b"PK\x03\x04rest", None, "docx"),
        ("cut.pptx", b"PK\x03\x04rest", None, "pptx"),
        ("wrong.docx", b"PK\x03\x04\x14\x00xl/workbook.xml, and inside of it word/document.xml", None, "xlsx"),
        ("book.zip", b"PK\x03\x04mimetypeapplication/epub+zip", None, "epub"),
        ("noname", b"{\\rtf1 x}", None, "rtf"),
        ("noname", b'{"cells": [], "nbformat": 4}', None, "notebook"),
        ("data.json", b'{"cells": []}', None, "configuration"),
        ("data.json", b'{"cells": [], "nbformat": 4}', None, "notebook"),
        ("deploy/site.YAML", b"# Where it runs\nsite:\n  port: 80\n", None, "configuration"),
        ("prod.env", b"PORT=80\n", None, "configuration"),
        ("old.conf", b"<!doctype html><p>moved</p>", None, "html"),
        ("openapi.yml", b"a: " + b"x" * 397, None, "configuration"),
        ("small.json", b'["' + b"x" * 397 + b'"]', None, "text"),
        ("noname", b"Received: by x\r\nFrom: a\r\nDate: today\r\n\r\nText", None, "mail"),
        ("noname", b"From: a\nDate: today\n\nA letter.", None, "text"),
        ("a.eml", b"Subject: x\n\nText", None, "mail"),
        ("a.eml", b"nothing of the kind", None, "text"),
    ],
)
def test_the_kind_follows_content_then_name(name: str, content: bytes, media_type: str | None, expected: str) -> None:
    """PDF, text, Markdown, Word and more; content decides before the extension."""
    assert sniff(name, content, media_type).loader.name == expected


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("photo.pdf", PNG, "PNG image"),
        ("a.zip", b"PK\x03\x04\x14\x00name.txt", "zip archive"),
        ("drawing.odg", b"PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.graphics", "OpenDocument file"),
        ("a.jar", b"PK\x03\x04\x14\x00META-INF/MANIFEST.MF", "Java archive"),
        ("setup.exe", b"MZ\x90\x00\x03\x00", "Windows program"),
        ("a.out", b"\x7fELF\x02\x01", "Linux program"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "old Office"),
        ("old.doc", old_office("Workbook in the text", "WordDocument", "Workbook"), "old Word document"),
        ("m.msg", old_office("", "__properties_version1.0"), "Outlook message"),
        ("data.txt", bytes(range(256)) * 4, "binary data"),
        ("zeros", bytes(1000), "binary data"),
        ("x.xyz", b"\x00\x01\x02\x03", "binary data"),
    ],
)
def test_other_files_are_refused_with_what_was_found_and_what_is_supported(
    name: str, content: bytes, found: str
) -> None:
    with pytest.raises(UnsupportedTypeError, match=found) as caught:
        sniff(name, content)
    assert "PDF" in caught.value.detail
    assert ".docx" in caught.value.detail


@pytest.mark.parametrize(
    "content", [b"", b" \n\t\r\n ", b"\xef\xbb\xbf", "\u2003\n".encode(), b"![only an image](x.png)"]
)
def test_nothing_to_read_is_an_empty_document(content: bytes) -> None:
    with pytest.raises(EmptyDocumentError):
        read(content, "a.md")


def test_a_drawing_is_read_where_something_is_written_in_it() -> None:
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M4 10v4H0v-4h4z"/>%s</svg>'
    with pytest.raises(EmptyDocumentError, match="drawing"):
        sniff("logo.SVG", drawing % b"")
    assert sniff("plan.svg", drawing % b"<text>Exit</text>").loader.name == "text"
    assert sniff("plan.txt", drawing % b"").loader.name == "text"


def test_a_protected_office_file_says_so() -> None:
    locked = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(EncryptedDocumentError, match="password"):
        sniff("a.docx", locked)


def test_only_formats_with_a_parser_of_their_own_need_a_process() -> None:
    assert {row.name for row in LOADERS if row.isolated} == {row.name for row in LOADERS} - {
        "markdown",
        "csv",
        "code",
        "configuration",
        "text",
    }


# --- text and code --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Größe, señor, déjà vu – “quoted”", "utf-8"),
        ("Größe, señor, déjà vu", "utf-8-sig"),
        ("Größe, señor, déjà vu", "utf-16"),
        ("Größe, señor, déjà vu", "utf-16-le"),
        ("Größe, señor, déjà vu", "utf-16-be"),
        ("Größe, señor, déjà vu", "utf-32"),
        ("# Encoding test\n\nCafé – déjà vu. Größe, señor, çà et là.\n", "cp1252"),
        ("naïve", "cp1252"),
        ("Привет, как дела сегодня? Всё хорошо.", "cp1251"),
        ("Καλημέρα κόσμε, τι κάνεις;", "cp1253"),
        ("今日は天気がいいから、散歩に行きましょう。", "shift_jis"),
    ],
)
def test_text_is_decoded_from_its_encoding(text: str, encoding: str) -> None:
    encoded = text.encode(encoding)
    if encoding.endswith(("-le", "-be")):
        assert len(encoded) == 2 * len(text)  # no byte order mark
    assert decode(encoded) == text


@given(st.binary(max_size=300))
def test_any_bytes_give_storable_text_or_a_typed_refusal(content: bytes) -> None:
    """No NUL, no lone surrogate, no other exception."""
    for name in ("a.txt", "a.md", "a.html", "a.py", "noname"):
        try:
            text = read(content, name).text
        except (ParseError, UnsupportedTypeError):
            continue
        assert "\x00" not in text
        assert "\r" not in text
        text.encode("utf-8")


def test_stray_nul_and_surrogates_are_replaced() -> None:
    """A text of the API may hold them."""
    assert read("a\x00b \ud800 c".encode("utf-8", "surrogatepass"), "x.txt").text == "a\ufffdb \ufffd c"


def test_characters_of_the_layout_go_but_not_from_code_or_from_what_was_written_out() -> None:
    text = "\ufeffun\u00adbro\u00ad\n  ken\u200b 10\u202f000\u00a0€ \u200e(a) \u2060\ufeff\u202bא\u202c me\u200cknown 👩\u200d🔬"
    assert read(text, "x.txt").text == "unbroken 10 000 € (a) א me\u200cknown 👩\u200d🔬"
    assert "\u200b" in read('x = "\u200b"', "x.py").text


def test_pages_begin_where_they_say_whatever_was_cleaned() -> None:
    from cairn.domain.document import PageStart
    from cairn.ingest.loaders import FileKind, Loader
    from cairn.ingest.loaders.base import LoadedText

    pages = (PageStart(5, 1), PageStart(10, 2))
    loader = Loader(
        "x", lambda content, limits: LoadedText("o\u00ad\r\n.o\u00ad\r\n.one.two", pages=pages), {"text/x": ()}
    )
    loaded = load(b"", FileKind(loader, "text/x"), LIMITS)
    assert [loaded.text[page.start :] for page in loaded.pages] == ["o\n.one.two", "one.two"]


def test_source_code_keeps_every_space_and_knows_its_language() -> None:
    source = "def f(x):\n\treturn  x\n\n    # done\n"
    document = read(source, "src/f.py")
    assert (document.text, document.markup, document.code_language) == (source, "code", "python")


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.yaml", "text/x-yaml"), ("a.toml", "text/x-toml"), ("a.json", "text/x-json"), ("a.ini", "text/x-ini"),
        ("a.properties", "text/x-ini"), ("a.css", "text/x-css"),
    ],
)  # fmt: skip
def test_configuration_keeps_every_space_and_is_code_to_who_shows_it(name: str, media_type: str) -> None:
    source = "# Ports\nsite:\n    - port:  80\n\n    - port:  443\n"
    document = read(source, name)
    assert (document.text, document.markup, document.media_type) == (source, "code", media_type)
    assert is_code_type(media_type)
    assert media_type in CONFIGURATION_TYPES


def test_code_languages_are_those_of_the_splitter() -> None:
    from langchain_text_splitters import Language

    # Perl is declared but has no separators; Markdown, HTML and reStructuredText have loaders
    assert {*SUFFIXES} == {row.value for row in Language} - {"perl", "markdown", "html", "rst"}


# --- Markdown -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a ![alt](x.png) b", "a  b"),
        ('![a](<x> "t")![b][ref]c', "c"),
        ("[![badge](b.svg)](http://x) t", " t"),
        ('x <img src="a" /> <IMG\nsrc=y>!', "x  !"),
        ("[Start ![x](y)](z), and press ![x][y].", "[Start](z), and press."),
        ("![w](http://x/a_(b).png)!", "!"),
        ("![The top view]()\n![]()", "![The top view]()\n"),
        ("```\n![kept](x)\n```\n![gone](x)", "```\n![kept](x)\n```\n"),
        ("~~~\n![kept](x)", "~~~\n![kept](x)"),
        ("write `![alt](url)` for images", "write `![alt](url)` for images"),
        ("R&amp;D costs 5&nbsp;&euro; &unknown; `&amp;`", "R&D costs 5\u00a0€ &unknown; `&amp;`"),
        ("- **&lt;code&gt;** is a number of &lt;to&gt;", "- **`<code>`** is a number of <to>"),
        ('&lt;a href="x"&gt;, &lt;/B&gt;, `&lt;b&gt;`, `x`&lt;b&gt;', '`<a href="x">`, `</B>`, `&lt;b&gt;`, `x`<b>'),
        ("a &lt; b &gt; c", "a < b > c"),
        ("a [link](x) stays!", "a [link](x) stays!"),
        ("the \\[super\\]user of a-\\[b c]-\\[d] \\& more", "the [super]user of a-[b c]-[d] & more"),
        (
            "press \\[PAGE>], wasn\\'t \\@ann of A\\. Loading\\...",
            "press [PAGE>], wasn't @ann of A. Loading...",
        ),
        ("- \\[x] \\[a]: \\[a](b) 1\\. \\[a=b\\]", "- \\[x] \\[a]: \\[a](b) 1\\. \\[a=b\\]"),
        ("`awk '{print $1}'\n| sed s/a \\&b/c/` \\& `x", "`awk '{print $1}'\n| sed s/a \\&b/c/` & `x"),
        ("- one ` \\&\n- two ` \\&", "- one ` &\n- two ` &"),
        ("$50\\%$, $a \\& b$, $$ \\text{R \\& D} $$", "$50\\%$, $a \\& b$, $$ \\text{R \\& D} $$"),
        ("$5 \\& $6, $A &lt; $B", "$5 & $6, $A < $B"),
        ("C:\\Users\\%USERNAME% \\\\server\\@share C:\\'a'", "C:\\Users\\%USERNAME% \\\\server\\@share C:\\'a'"),
        ("`\\[a\\]` \\\\[a]\n\n    \\[a\\] \\&", "`\\[a\\]` \\\\[a]\n\n    \\[a\\] \\&"),
        ("![data](data:image/png;base64," + "A" * 5000 + ")", ""),
    ],
)
def test_images_are_stripped(text: str, expected: str) -> None:
    assert strip_images(text) == expected


@pytest.mark.parametrize(
    "unit",
    [
        "![",
        "![a](",
        "<img ",
        "[](",
        "`",
        "```\n",
        "![a][",
        "&lt;a",
        "&lt;a ",
        " ![",
        " ![a](",
        " ",
        "\\[a",
        "\\&",
        "`a\n",
        "$",
        "$a ",
        "$$a",
        "\\.",
    ],
)
def test_stripping_takes_linear_time(unit: str) -> None:
    import time

    start = time.process_time()
    strip_images(unit * (400_000 // len(unit)))
    assert time.process_time() - start < 3


@pytest.mark.parametrize("text", ["---\ntitle: A\n---\n", "+++\ntitle = 'A'\n+++\n\n", "\ufeff---\r\ntitle: A\r\n---"])
def test_a_file_with_front_matter_alone_is_empty(text: str) -> None:
    with pytest.raises(EmptyDocumentError, match="below the front matter"):
        sniff("a.md", text.encode())
    for name, other in (("a.txt", text), ("a.md", f"{text}\nb\n\n---\n"), ("a.md", "---\na\n---\n")):
        assert sniff(name, other.encode()).loader.name in ("text", "markdown")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('---\ntitle: "Front: matter"\ntags: [a]\n---\n\n# Heading', "Front: matter"),
        ("intro\n\n# The heading #\n\nx", "The heading"),
        ("no heading", None),
        ("---\nrule\n", None),
        ("<!-- of any page -->\n\n## Several *versions*\n\nx\n\n### Names", "Several versions"),
        ("## Install\n\nx\n\n## Update\n\ny", None),
        ("x\n\n## Install\n\ny", None),
        ("### Install\n\nx\n\n## Update\n\ny", None),
    ],
)
def test_markdown_titles(text: str, title: str | None) -> None:
    assert read(text, "a.md").title == title


@pytest.mark.parametrize(
    "text",
    ["%PDF-1.7 is how a PDF begins", "<html><body>as text</body></html>", "PK\x03\x04 zip", "GIF89a is a header"],
)
async def test_text_that_the_caller_wrote_out_is_taken_as_it_is(text: str) -> None:
    """A text about file formats is no file of that format, and spans count in what was sent."""
    source = Source("about.html", "about.html", text.encode(), is_text=True)
    assert (await parse(source, IngestSettings())).text == text
