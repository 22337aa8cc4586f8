"""What the content of a file says about its format; names for files that no loader reads, so that a refusal can tell."""

from __future__ import annotations

import re

from app.ingest.loaders.text import decode

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
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript file"),
    (b"ID3", "an MP3 file"),
    (b"OggS", "an Ogg file"),
    (b"fLaC", "a FLAC file"),
    (b"wOFF", "a font"),
    (b"PAR1", "a Parquet file"),
    (b"\x00asm", "a WebAssembly module"),
)
# names or contents of zip entries, which stand uncompressed in the archive
_ZIPPED = (
    (b"xl/workbook", "an Excel workbook (.xlsx)"),
    (b"ppt/presentation", "a PowerPoint presentation (.pptx)"),
    (b"application/vnd.oasis.opendocument", "an OpenDocument file"),
    (b"application/epub+zip", "an EPUB book"),
    (b"META-INF/MANIFEST.MF", "a Java archive"),
)

_WHOLE_PAGE = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)*<(?:!doctype\s+html|html|head|body|title|meta)\b", re.IGNORECASE
)
_TAG = re.compile(r"<[a-z!/][^<>]*>", re.IGNORECASE)
_HEAD = 4096
"""Bytes in which a whole HTML page says that it is one."""


def is_pdf(content: bytes) -> bool:
    return b"%PDF-" in content[:1024]


def is_docx(content: bytes) -> bool:
    return content.startswith(b"PK\x03\x04") and b"word/document.xml" in content


def is_unknown_zip(content: bytes) -> bool:
    """An archive whose content cannot be told: it may be cut off or damaged."""
    return describe(content) == ZIP


def is_whole_page(content: bytes) -> bool:
    return _WHOLE_PAGE.match(decode(content[:_HEAD])) is not None


def has_tags(content: bytes) -> bool:
    return _TAG.search(decode(content)) is not None


def describe(content: bytes) -> str | None:
    """What a foreign binary file is, in plain words; None when it is not known."""
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return next((what for mark, what in _ZIPPED if mark in content), ZIP)
    if content.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        locked = "EncryptedPackage".encode("utf-16-le") in content
        return ENCRYPTED_OFFICE if locked else "an old Office file (.doc, .xls, .ppt; save it as .docx)"
    if content[:4] == b"RIFF" or content[4:8] == b"ftyp":
        return "an audio, video or image file"
    if content.startswith(b"MZ") and b"\x00" in content[:64]:
        return "a Windows program"
    if content.startswith(b"BM") and b"\x00" in content[:14]:
        return "a BMP image"
    return next((what for mark, what in _MAGIC if content.startswith(mark)), None)
