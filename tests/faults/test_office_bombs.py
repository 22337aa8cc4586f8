"""Office files, books, notebooks and mails that break their parsers or are broken: each is refused for what it is."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from io import BytesIO

import pytest

from cairn.domain.document import Source
from cairn.errors import EncryptedDocumentError, ParseError, ParserLimitError, UnsupportedTypeError
from cairn.ingest.parse import parse
from cairn.settings import IngestSettings
from tests import office_files as files
from tests.faults.test_parser_bombs import assert_refused, read

XHTML = "<html><body><p>{}</p></body></html>"
WHOLE: dict[str, Callable[[], bytes]] = {
    "a.xlsx": files.workbook,
    "a.pptx": files.presentation,
    "a.odt": lambda: files.open_text("<text:p>Some text.</text:p>"),
    "a.epub": lambda: files.book({"a.xhtml": XHTML.format("Some text.")}),
    "a.xls": lambda: files.OLD_WORKBOOK,
    "a.ipynb": lambda: files.notebook({"cell_type": "markdown", "source": "Some text."}),
    "a.rtf": lambda: rb"{\rtf1 {\b Some} {\i text}.\par and more {\b words}}",
}
MAIN_PART = {
    "a.xlsx": "xl/worksheets/sheet1.xml",
    "a.pptx": "ppt/slides/slide1.xml",
    "a.odt": "content.xml",
    "a.epub": "OEBPS/a.xhtml",
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", WHOLE)
async def test_a_file_that_is_cut_off_says_so(name: str) -> None:
    content = WHOLE[name]()
    with pytest.raises(ParseError, match=r"damaged|cut off|no valid JSON") as caught:
        await read(name, content[: len(content) * 2 // 3])
    assert "save it" in caught.value.detail


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", MAIN_PART)
async def test_archives_that_unpack_to_a_thousand_times_their_size_are_refused(name: str) -> None:
    out = BytesIO(WHOLE[name]())
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big.bin", b" " * 25_000_000)
    error = await assert_refused(name, out.getvalue(), ParserLimitError)
    assert "zip bomb" in error.detail


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", MAIN_PART)
async def test_archives_that_declare_entities_are_refused(name: str) -> None:
    """Billion laughs: each entity is ten of the one before."""
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    declaration = f'<!DOCTYPE x [<!ENTITY a0 "ha">{laughs}]>'.encode()
    entries = files.unzipped(WHOLE[name]())
    entries[MAIN_PART[name]] = declaration + entries[MAIN_PART[name]]
    error = await assert_refused(name, files.zipped(entries), ParseError)
    assert "entities" in error.detail


async def test_files_under_a_wrong_name_are_read_for_what_they_are_or_refused() -> None:
    assert (await read("a.pptx", files.workbook())).text.startswith("## Sales")
    assert (await read("a.xlsx", files.presentation())).text.startswith("# Quarterly review")
    assert (await read("a.txt", files.mail().as_bytes())).media_type == "message/rfc822"
    assert (await read("a.eml", b"No headers: none\nat all")).media_type == "text/plain"
    assert (await read("a.doc", WHOLE["a.rtf"]())).media_type == "application/rtf"
    for name in ("a.xlsx", "a.eml", "a.ipynb", "a.rtf"):
        with pytest.raises(UnsupportedTypeError, match="PNG"):
            await read(name, b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")


@pytest.mark.parametrize("name", ["a.xlsx", "a.pptx"])
async def test_office_files_under_a_password_say_so(name: str) -> None:
    locked = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512) + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(EncryptedDocumentError, match="password"):
        await read(name, locked)


async def test_macros_are_not_read() -> None:
    entries = files.unzipped(files.workbook())
    entries["xl/vbaProject.bin"] = b"Sub AutoOpen()"
    assert "AutoOpen" not in (await read("a.xlsm", files.zipped(entries))).text


def sheet_of(rows: Iterator[str]) -> bytes:
    entries = files.unzipped(files.workbook())
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    data = f'<worksheet xmlns="{space}"><sheetData>{"".join(rows)}</sheetData></worksheet>'
    return files.zipped({**entries, MAIN_PART["a.xlsx"]: data})


@pytest.mark.siege
@pytest.mark.parametrize("last", [10_000, pytest.param(50_000, marks=pytest.mark.siege, id="a million cells")])
async def test_a_large_sheet_is_read(last: int) -> None:
    rows = (
        f'<row r="{row}">'
        + "".join(f'<c r="{column}{row}"><v>{row}</v></c>' for column in "ABCDEFGHIJKLMNOPQRST")
        + "</row>"
        for row in range(1, last + 1)
    )
    loaded = await parse(Source("a.xlsx", "a.xlsx", sheet_of(rows)), IngestSettings())
    assert loaded.text.count(f"| {last} ") == 20


async def test_a_sheet_that_is_wide_only_by_its_addresses_is_refused() -> None:
    cells = ('<row r="1"><c r="A1"><v>1</v></c></row>', '<row r="1048576"><c r="XFD1048576"><v>2</v></c></row>')
    await assert_refused("a.xlsx", sheet_of(iter(cells)), ParserLimitError)


def nested_mail(depth: int) -> bytes:
    begin = "".join(f'Content-Type: multipart/mixed; boundary="b{at}"\n\n--b{at}\n' for at in range(depth))
    return f"From: a@example.org\nSubject: x\nMIME-Version: 1.0\n{begin}\n\nDeep text.\n".encode()


@pytest.mark.parametrize("depth", [100, 500, 20_000])
async def test_a_mail_of_nested_parts_is_refused(depth: int) -> None:
    error = await assert_refused("a.eml", nested_mail(depth), ParserLimitError)
    assert "save what matters" in error.detail


async def test_mails_inside_mails_are_read_to_a_depth_and_then_refused() -> None:
    message = files.mail("Innermost words.")
    for _ in range(3):
        outer = EmailMessage()
        outer["From"], outer["Subject"], outer["Message-ID"], outer["Date"] = "a@example.org", "Fwd", "<2@x>", "today"
        outer.set_content("See below.")
        outer.add_attachment(message)
        message = outer
    assert "Innermost words." in (await read("a.eml", message.as_bytes())).text
    head = b"From: a@example.org\nSubject: x\nMIME-Version: 1.0\nContent-Type: message/rfc822\n\n"
    await assert_refused("a.eml", head * 500 + b"text", ParserLimitError)


async def test_a_mail_that_is_cut_off_gives_what_is_there() -> None:
    message = files.mail("Please order chairs.")
    message.add_attachment(files.workbook(), maintype="application", subtype="zip", filename="a.xlsx")
    content = message.as_bytes()
    text = (await read("a.eml", content[: len(content) * 2 // 3])).text
    assert "Please order chairs." in text
    assert "a.xlsx (the file is damaged or cut off" in text


async def test_rich_text_of_a_hundred_thousand_groups_or_letters_is_read() -> None:
    groups, letters = b"{" * 100_000 + b"x" + b"}" * 100_000, rb"\'41" * 100_000
    assert (await read("a.rtf", rb"{\rtf1 " + groups + b"}")).text == "x"
    assert (await read("a.rtf", rb"{\rtf1 " + letters + b"}")).text == "A" * 100_000
