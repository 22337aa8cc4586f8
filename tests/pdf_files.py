"""PDFs for tests, drawn word by word: what stands where is the test's, so no library lays it out."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import pypdfium2 as pdfium

_WIDTHS = {
    **dict.fromkeys("0123456789$", 0.556),
    **dict.fromkeys(",. ", 0.278),
    **dict.fromkeys("()-", 0.333),
    "%": 0.889,
}
"""Of Helvetica; other characters are taken for half as wide as they are high."""
SIZE = 10


class Sheet:
    """A page of 600 by 800 points; y is measured from the top."""

    def __init__(self) -> None:
        self.operators: list[bytes] = []

    def text(self, x: float, y: float, text: str, size: float = SIZE) -> None:
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        self.operators.append(b"BT /F1 %g Tf %g %g Td (%s) Tj ET" % (size, x, 800 - y, escaped.encode("latin-1")))

    def text_to(self, right: float, y: float, text: str) -> None:
        """Text that ends at `right`."""
        self.text(right - SIZE * sum(_WIDTHS.get(char, 0.5) for char in text), y, text)

    def line(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self.operators.append(b"%g %g m %g %g l S" % (x0, 800 - y0, x1, 800 - y1))

    def rows(
        self, top: float, rows: Sequence[Sequence[str]], rights: Sequence[float], left: float = 50, pitch: float = 16
    ) -> None:
        """A table: labels at `left`, the other cells ending at `rights`; each row drawn from left to right."""
        for at, (label, *cells) in enumerate(rows):
            y = top + at * pitch
            if label:
                self.text(left, y, label)
            for right, cell in zip(rights, cells, strict=True):
                if cell:
                    self.text_to(right, y, cell)

    def grid(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        for x in xs:
            self.line(x, ys[0], x, ys[-1])
        for y in ys:
            self.line(xs[0], y, xs[-1], y)

    @property
    def stream(self) -> bytes:
        return b"\n".join(self.operators)


def pdf_file(
    *streams: bytes | Sheet,
    media_box: str = "0 0 600 800",
    image: tuple[int, int, bytes] | None = None,
    to_unicode: bytes = b"",
) -> bytes:
    """A PDF with a page for each content stream. `image`: width, height and grey pixels of /Im1, for `/Im1 Do`.
    `to_unicode`: what the letters of its font stand for, as a CMap."""
    contents = [one.stream if isinstance(one, Sheet) else one for one in streams]
    first = 6
    kids = b" ".join(b"%d 0 R" % (first + 2 * at) for at in range(len(contents)))
    width, height, pixels = image or (1, 1, b"\x00")
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(contents)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica%s >>" % (b" /ToUnicode 5 0 R" if to_unicode else b""),
        b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8"
        b" /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream"
        % (width, height, len(packed := zlib.compress(pixels)), packed),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(to_unicode), to_unicode),
    ]
    for at, content in enumerate(contents):
        packed = zlib.compress(content)
        bodies.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> /XObject << /Im1 4 0 R >> >> >>"
            % (media_box.encode(), first + 2 * at + 1)
        )
        bodies.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed))
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(bodies, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    xref = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(bodies) + 1, xref)
    return bytes(out)


# --- scanned pages ----------------------------------------------------------------------------------------------------

WORDS = "The annual leave of employees is thirty days"
SCAN = b"600 0 0 800 0 0 cm /Im1 Do"
"""A page that shows the image of `scanned`."""


def text_page() -> Sheet:
    sheet = Sheet()
    sheet.text(50, 60, "This page has a text layer, which is read as it always was, by PDFium.")
    return sheet


def scanned(*streams: bytes | Sheet) -> bytes:
    """A PDF whose image shows WORDS."""
    sheet = Sheet()
    for at in range(3):
        sheet.text(60, 100 + 40 * at, WORDS, size=16)
    bitmap = pdfium.PdfDocument(pdf_file(sheet))[0].render(scale=2, grayscale=True)
    rows = (bytes(bitmap.buffer)[at * bitmap.stride :][: bitmap.width] for at in range(bitmap.height))
    return pdf_file(*streams, image=(bitmap.width, bitmap.height, b"".join(rows)))
