"""A zipped document is checked before any parser unpacks it."""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO

from cairn.errors import EncryptedDocumentError, ParseError, ParserLimitError

MAX_ENTRIES = 5000
MAX_RATIO = 100
"""Unpacked size over packed size of the whole file; Word files reach about 20. Small files are let off."""
_RATIO_FLOOR = 20_000_000
_BLOCK = 1 << 20
_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
_TYPES = tuple("<!DOCTYPE".encode(encoding) for encoding in _ENCODINGS)
_ENTITIES = tuple("<!ENTITY".encode(encoding) for encoding in _ENCODINGS)
_OVERLAP = max(map(len, _TYPES))
_XML = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx", ".svg")


def check(content: bytes, max_unpacked_bytes: int, *, declares_types: bool = False) -> None:
    """Read every entry once, counting what really comes out; headers may lie. `declares_types`: XML of this format may name its
    document type (EPUB), though declare nothing in it.

    Raises ParserLimitError for too many entries, too much data or too high a ratio; EncryptedDocumentError;
    ParseError for a damaged archive, or for XML that declares entities (billion laughs, external entities).
    """
    forbidden = _ENTITIES if declares_types else _ENTITIES + _TYPES
    limit = min(max_unpacked_bytes, max(len(content) * MAX_RATIO, _RATIO_FLOOR))
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_ENTRIES:
                raise ParserLimitError(f"the document's archive has {len(entries)} entries, more than {MAX_ENTRIES}")
            for entry in entries:
                limit -= _read(archive, entry, limit, forbidden)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError) as error:
        raise ParseError(f"the file is damaged or cut off: {error}; open and save it again") from None


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int, forbidden: tuple[bytes, ...]) -> int:
    if entry.flag_bits & 0x1:
        raise EncryptedDocumentError("the document's archive is encrypted; remove the password and send it again")
    is_xml = entry.filename.lower().endswith(_XML)
    size, tail = 0, b""
    with archive.open(entry) as stream:
        while block := stream.read(_BLOCK):
            size += len(block)
            if size > limit:
                raise ParserLimitError(
                    "the document unpacks to more than the limit (ingest.maxUnpackedBytes, or "
                    f"{MAX_RATIO} times its size); it looks like a zip bomb"
                )
            if is_xml and any(mark in tail + block for mark in forbidden):
                raise ParseError(
                    "the document's XML declares entities, which no office program writes; it is refused. "
                    "Where you trust it, open it and save it again"
                )
            tail = block[-_OVERLAP:]
    return size
