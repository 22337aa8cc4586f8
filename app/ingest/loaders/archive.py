"""A zipped document is checked before any parser unpacks it."""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO

from app.errors import EncryptedDocumentError, ParseError, ParserLimitError

MAX_ENTRIES = 5000
MAX_RATIO = 100
"""Unpacked size over packed size of the whole file; Word files reach about 20. Small files are let off."""
_RATIO_FLOOR = 20_000_000
_BLOCK = 1 << 20
_DECLARATIONS = tuple(
    mark.encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be") for mark in ("<!DOCTYPE", "<!ENTITY")
)
_OVERLAP = max(map(len, _DECLARATIONS))


def check(content: bytes, max_unpacked_bytes: int) -> None:
    """Read every entry once, counting what really comes out; headers may lie.

    Raises ParserLimitError for too many entries, too much data or too high a ratio; EncryptedDocumentError;
    ParseError for a damaged archive, or for XML that declares entities (billion laughs, external entities).
    """
    limit = min(max_unpacked_bytes, max(len(content) * MAX_RATIO, _RATIO_FLOOR))
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_ENTRIES:
                raise ParserLimitError(f"the document's archive has {len(entries)} entries, more than {MAX_ENTRIES}")
            for entry in entries:
                limit -= _read(archive, entry, limit)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError) as error:
        raise ParseError(f"the file is damaged or cut off: {error}; open and save it again") from None


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> int:
    if entry.flag_bits & 0x1:
        raise EncryptedDocumentError("the document's archive is encrypted; remove the password and send it again")
    is_xml = entry.filename.lower().endswith((".xml", ".rels"))
    size, tail = 0, b""
    with archive.open(entry) as stream:
        while block := stream.read(_BLOCK):
            size += len(block)
            if size > limit:
                raise ParserLimitError(
                    "the document unpacks to more than the limit (ingest.maxUnpackedBytes, or "
                    f"{MAX_RATIO} times its size); it looks like a zip bomb"
                )
            if is_xml and any(mark in tail + block for mark in _DECLARATIONS):
                raise ParseError("the document's XML declares entities, which Word never writes; it is refused")
            tail = block[-_OVERLAP:]
    return size
