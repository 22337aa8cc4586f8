"""What the content of a file says about its format; names for files that no loader reads, so that a refusal can tell."""

from __future__ import annotations

import re
from typing import Final

from cairn.ingest.loaders.text import decode

ZIP = "a zip archive"
ENCRYPTED_OFFICE = "an encrypted Office file"

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x7fELF", "a Linux program"),
    (b"\xcf\xfa\xed\xfe", "a macOS program"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"%!PS", "a PostScript file"),
    (b"ID3", "an MP3 file"),
    (b"OggS", "an Ogg file"),
    (b"fLaC", "a FLAC file"),
    (b"wOFF", "a font"),
    (b"PAR1", "a Parquet file"),
    (b"\x00asm", "a WebAssembly module"),
)
# names or contents of zip entries, which stand uncompressed in the archive
_DOCX, _XLSX, _PPTX = b"word/document.xml", b"xl/workbook", b"ppt/presentation.xml"
_ODF = b"application/vnd.oasis.opendocument."
_ODT, _ODS = _ODF + b"text", _ODF + b"spreadsheet"
_EPUB = b"application/epub+zip"
_ZIPPED = {
    _DOCX: "a Word document (.docx)",
    _XLSX: "an Excel workbook (.xlsx)",
    _PPTX: "a PowerPoint presentation (.pptx)",
    _ODT: "an OpenDocument text (.odt)",
    _ODS: "an OpenDocument spreadsheet (.ods)",
    _ODF: "an OpenDocument file; save it as .odt, .ods or PDF",
    _EPUB: "an EPUB book",
    b"META-INF/MANIFEST.MF": "a Java archive",
}
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_UNKNOWN_OFFICE = "an old Office file (.doc, .xls, .ppt); save it in a newer format"
# names of streams in old Office files
_STREAMS = {
    "Workbook": "an old Excel workbook (.xls)",
    "WordDocument": "an old Word document (.doc); save it as .docx",
    "PowerPoint Document": "an old presentation (.ppt); save it as .pptx",
    "__properties_version1.0": "an Outlook message (.msg); save it as .eml or text",
}

_WHOLE_PAGE = re.compile(
    r"\A\s*+(?:<\?xml[^>]*+>\s*+)?(?:<!--[^>]*?-->\s*+)*+<(?:!doctype\s+html|html|head|body|title|meta)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[a-z!/][^<>]*>", re.IGNORECASE)
_HEADER = re.compile(rb"^([A-Za-z][A-Za-z0-9-]{0,40}):", re.MULTILINE)
_TITLE_OF_MANUAL = re.compile(rb"^[.'][ \t]{0,9}TH[ \t]", re.MULTILINE)
_SECTION_OF_MANUAL = re.compile(rb"^[.'][ \t]{0,9}SH(?:[ \t]|\r?$)", re.MULTILINE)
_DRAWING: Final = re.compile(rb"<(?:svg:)?svg\b", re.IGNORECASE)
_WORDS_IN_DRAWING: Final = re.compile(rb"<(?:svg:)?(?:text|foreignObject|desc)\b", re.IGNORECASE)
_HEAD_OF_MANUAL = 65_536
"""Bytes in which a manual page says that it is one: definitions and a licence may come first."""
_HEAD = 4096
"""Bytes in which a whole HTML page says that it is one, and in which a mail has its headers."""

LONGEST_LINES: Final = 400  # bound: tests/unit/test_loaders.py
"""Bytes of a line of configuration, on average; lines are longer where a program took out what it could do without."""


def is_pdf(content: bytes) -> bool:
    return b"%PDF-" in content[:1024]


def is_docx(content: bytes) -> bool:
    return _zipped(content) == _DOCX


def is_pptx(content: bytes) -> bool:
    return _zipped(content) == _PPTX


def is_odt(content: bytes) -> bool:
    return _zipped(content) == _ODT


def is_epub(content: bytes) -> bool:
    return _zipped(content) == _EPUB


def is_xlsx(content: bytes) -> bool:
    return _zipped(content) == _XLSX


def is_xls(content: bytes) -> bool:
    return describe(content) == _STREAMS["Workbook"]


def is_unknown_office(content: bytes) -> bool:
    """An old Office file whose content cannot be told: it may be cut off or damaged."""
    return describe(content) in (_STREAMS["Workbook"], _UNKNOWN_OFFICE)


def is_ods(content: bytes) -> bool:
    return _zipped(content) == _ODS


def is_rtf(content: bytes) -> bool:
    return content.startswith(b"{\\rtf")


def is_notebook(content: bytes) -> bool:
    return (
        content.lstrip().startswith(b"{")
        and b'"nbformat"' in content
        and (b'"cells"' in content or b'"worksheets"' in content)
    )


def is_configuration(content: bytes) -> bool:
    """Whether a file with such a name is written in lines, and in no format that is told by its content: what has no line ends
    is shown as text, for no part of it could be shown as code."""
    if is_notebook(content) or is_whole_page(content) or is_mail(content):
        return False
    return len(content) <= LONGEST_LINES * (content.count(b"\n") + 1)


def is_drawing_without_words(content: bytes) -> bool:
    """Whether a file with the name of a drawing (.svg) is one in which nothing is written."""
    return _DRAWING.search(content) is not None and _WORDS_IN_DRAWING.search(content) is None


def is_any_text(content: bytes) -> bool:
    """A damaged one too: its loader says what is wrong."""
    return True


def is_mail(content: bytes) -> bool:
    """Whether it begins with the headers that only a mail has, which went through a mail server."""
    names = _header_names(content)
    return (
        "from" in names
        and bool(names & {"date", "subject"})
        and bool(names & {"received", "message-id", "mime-version"})
    )


def has_mail_headers(content: bytes) -> bool:
    return bool(_header_names(content) & {"from", "to", "subject", "date", "received", "mime-version", "content-type"})


def _header_names(content: bytes) -> frozenset[str]:
    head = re.split(rb"\r?\n\r?\n", content[:_HEAD].lstrip(), maxsplit=1)[0]
    if not _HEADER.match(head):
        return frozenset()
    return frozenset(name.decode().lower() for name in _HEADER.findall(head))


def _zipped(content: bytes) -> bytes | None:
    """What stands first of the names that tell formats apart: a document may hold others, which come later."""
    if not content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return None
    places = ((at, -len(mark), mark) for mark in _ZIPPED if (at := content.find(mark)) >= 0)
    return min(places, default=(0, 0, None))[2]


def is_unknown_zip(content: bytes) -> bool:
    """An archive whose content cannot be told: it may be cut off or damaged."""
    return describe(content) == ZIP


def is_whole_page(content: bytes) -> bool:
    return _WHOLE_PAGE.match(decode(content[:_HEAD])) is not None


def has_tags(content: bytes) -> bool:
    return _TAG.search(decode(content)) is not None


def is_manual_page(content: bytes) -> bool:
    """Whether it has the title and a section of man(7), as no log that is counted (app.log.1) has."""
    return bool(_TITLE_OF_MANUAL.search(content[:_HEAD_OF_MANUAL]) and _SECTION_OF_MANUAL.search(content))


def _directory_entry(content: bytes, stream: str) -> int:
    """Where the directory of an old Office file names a stream, -1 for nowhere. Entries begin at multiples of 128 bytes, so that
    no word of the text is taken for one; those of embedded documents come later."""
    name = (stream + "\0").encode("utf-16-le")
    at = content.find(name)
    while at >= 0 and at % 128:
        at = content.find(name, at + 1)
    return at


def describe(content: bytes) -> str | None:
    """What a foreign binary file is, in plain words; None when it is not known."""
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        mark = _zipped(content)
        return _ZIPPED[mark] if mark else ZIP
    if content.startswith(_OLD_OFFICE):
        if "EncryptedPackage".encode("utf-16-le") in content:
            return ENCRYPTED_OFFICE
        places = {at: what for stream, what in _STREAMS.items() if (at := _directory_entry(content, stream)) >= 0}
        return places[min(places)] if places else _UNKNOWN_OFFICE
    if content[:4] == b"RIFF" or content[4:8] == b"ftyp":
        return "an audio, video or image file"
    if content.startswith(b"MZ") and b"\x00" in content[:64]:
        return "a Windows program"
    if content.startswith(b"BM") and b"\x00" in content[:14]:
        return "a BMP image"
    return next((what for mark, what in _MAGIC if content.startswith(mark)), None)
