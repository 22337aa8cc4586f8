"""Small files, and files that are small only until they are unpacked."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO


def pdf(stream: bytes) -> bytes:
    """A one-page PDF whose content stream is `stream`, already deflated."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    xref = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, xref)
    return bytes(out)


def deflate(block: bytes, times: int) -> bytes:
    """`block` repeated, never whole in memory, and compressed once: what ends in a full flush may be repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    once = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 1
    for _ in range(times):
        check = zlib.adler32(block, check)
    return b"\x78\xda" + once * times + packer.flush() + check.to_bytes(4, "big")


def docx(document: bytes | Iterator[bytes], extra_entries: int = 0) -> bytes:
    """The least that a Word file needs, with this as its main part."""
    types = (
        b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
        b'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        b'<Override PartName="/word/document.xml" ContentType='
        b'"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    )
    relations = (
        b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        b'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        b'Target="word/document.xml"/></Relationships>'
    )
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("[Content_Types].xml", types)
        archive.writestr("_rels/.rels", relations)
        with archive.open("word/document.xml", "w") as part:
            for block in [document] if isinstance(document, bytes) else document:
                part.write(block)
        for number in range(extra_entries):
            archive.writestr(f"word/x{number}", b"")
    return out.getvalue()


def word(body: bytes, declaration: bytes = b"") -> bytes:
    namespace = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return b'<?xml version="1.0"?>%s<w:document xmlns:w="%s"><w:body>%s</w:body></w:document>' % (
        declaration,
        namespace,
        body,
    )
