"""Text of the picture of a page by Tesseract, where its executable is installed (Debian: apt-get install tesseract-ocr).

It runs as a process of its own, which inherits the limits on memory and CPU of the one that parses the file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any, Final

HOW_TO_INSTALL: Final = "apt-get install tesseract-ocr, and its languages such as tesseract-ocr-deu"
_LANGUAGES: Final = ("eng", "fra", "spa", "deu", "ita")
"""Those whose questions Cairn understands, by Tesseract's names."""
_DOTS_PER_POINT: Final = 300 / 72
_MOST_PIXELS: Final = 30_000_000
"""A larger page is rendered with fewer dots: A4 at 300 dots per inch has 8.7 million."""
_SURE: Final = 50.0
"""Words of lower confidence (0 to 100) are guesses at dirt and drawings; printed words have about 90."""
_MOSTLY: Final = 0.5
"""A page of whose words fewer are sure is no text."""


@cache
def installed_languages() -> tuple[str, ...]:
    """The languages it can read here; () where Tesseract, or each of them, is not installed."""
    program = shutil.which("tesseract")
    if not program:
        return ()
    listed = subprocess.run([program, "--list-langs"], capture_output=True, text=True, timeout=30, check=False)
    names = {*listed.stdout.split(), *listed.stderr.split()}
    return tuple(language for language in _LANGUAGES if language in names)


def read_page(page: Any, seconds: float) -> str:
    """The text of a page of a PDF, paragraphs with a blank line between them; "" where there is none to be read.

    Raises TimeoutError where `seconds` are not enough, OSError where Tesseract fails.
    """
    width, height = page.get_size()
    scale = min(_DOTS_PER_POINT, (_MOST_PIXELS / max(width * height, 1)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True)
    stride, pixels = bitmap.stride, memoryview(bitmap.buffer)
    rows = b"".join(pixels[at * stride : at * stride + bitmap.width] for at in range(bitmap.height))
    return read_image(b"P5 %d %d 255\n" % (bitmap.width, bitmap.height) + rows, seconds)


def read_image(image: bytes, seconds: float) -> str:
    """The same for a picture in a format that Tesseract reads."""
    command = ["tesseract", "stdin", "stdout", "-l", "+".join(installed_languages()), "--dpi", "300", "tsv"]
    if seconds <= 0:
        raise TimeoutError
    try:
        done = subprocess.run(
            command, input=image, capture_output=True, timeout=seconds, check=False,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    if done.returncode:
        raise OSError(f"Tesseract failed: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return _text(done.stdout.decode("utf-8", errors="replace"))


def _text(table: str) -> str:
    """Words of the table that Tesseract writes, in lines and paragraphs."""
    rows = [fields for line in table.splitlines() if len(fields := line.split("\t")) == 12 and fields[0] == "5"]
    sure = [fields for fields in rows if float(fields[10]) >= _SURE and fields[11].strip()]
    if len(sure) < _MOSTLY * len(rows):
        return ""
    return "\n\n".join("\n".join(_lines(paragraph)) for _, paragraph in groupby(sure, key=lambda one: one[1:4]))


def _lines(words: Iterator[list[str]]) -> Iterator[str]:
    for _, line in groupby(words, key=lambda one: one[4]):
        yield " ".join(fields[11] for fields in line)
