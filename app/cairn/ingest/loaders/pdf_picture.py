"""A page of a PDF as a picture (PNG)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final

_MOST_PIXELS: Final = 8_000_000
"""A page that is very high for its width is drawn smaller."""
_RGB: Final = 2
"""Type of colour of a PNG."""
_LEVEL: Final = 4
"""Of compression: an A4 page of text at 1000 pixels takes 20 ms; the best takes five times as long for 8 % less."""


def draw_page(page: Any, width: int) -> tuple[bytes, int, int]:
    """The page as it is shown, with its annotations: PNG, and its width and height in pixels, `width` where that is possible."""
    points_wide, points_high = (max(side, 1.0) for side in page.get_size())
    scale = min(width / points_wide, (_MOST_PIXELS / (points_wide * points_high)) ** 0.5)
    bitmap = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False, fill_color=(255, 255, 255, 255))
    if bitmap.n_channels != 3:
        raise ValueError(f"a picture of {bitmap.n_channels} channels")
    return _png(bitmap.width, bitmap.height, _rows(bitmap)), bitmap.width, bitmap.height


def _rows(bitmap: Any) -> Iterator[bytes]:
    pixels = memoryview(bitmap.buffer).cast("B")
    for at in range(bitmap.height):
        yield bytes(pixels[at * bitmap.stride : at * bitmap.stride + 3 * bitmap.width])


def _png(width: int, height: int, rows: Iterator[bytes]) -> bytes:
    """Eight bits for each of red, green and blue; rows unfiltered."""
    packer = zlib.compressobj(_LEVEL)
    packed = b"".join([*(packer.compress(b"\x00" + row) for row in rows), packer.flush()])
    header = struct.pack(">IIBBBBB", width, height, 8, _RGB, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _part(b"IHDR", header) + _part(b"IDAT", packed) + _part(b"IEND", b"")


def _part(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
