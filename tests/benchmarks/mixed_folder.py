"""A folder of mixed files with real text: this repository's own documentation and source, cut into pieces that differ."""

from __future__ import annotations

import csv
import html
import io
import textwrap
from collections.abc import Callable, Iterator
from itertools import chain, cycle
from pathlib import Path

import docx

from tests.benchmarks.children import REPO
from tests.office_files import saved
from tests.pdf_files import Sheet, pdf_file

SIZES = (300, 700, 1_500, 400, 2_000, 600, 5_000, 400, 1_000)
"""Characters of a file, in turns: mostly up to a page, one in nine of several."""
LINES, WIDTH = 50, 90
"""Of a page of a PDF."""


def write_folder(folder: Path, count: int, first: int = 0) -> list[Path]:
    """So many files, `md`, `html`, `pdf`, `docx`, `csv`, `py` and `txt` in turns; `first`: the number of the first, so that two
    folders have no text in common. Raises ValueError when the text does not last."""
    prose, source = _lines("*.md"), _lines("*.py")
    makers: dict[str, Callable[[str], bytes]] = {
        "md": str.encode, "html": _page, "pdf": _pdf, "docx": _word, "csv": _table, "py": str.encode, "txt": str.encode,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for number, (suffix, size) in enumerate(zip(cycle(makers), cycle(SIZES), strict=False)):
        if number >= first + count:
            break
        text = "\n".join(_take(source if suffix == "py" else prose, size))
        if number >= first:
            file = folder / f"{number:04}.{suffix}"
            file.write_bytes(makers[suffix](text))
            written.append(file)
    return written


def _lines(pattern: str) -> Iterator[str]:
    files = [
        *REPO.glob(pattern),
        *sorted(file for folder in ("app", "docs") for file in (REPO / folder).rglob(pattern)),
    ]
    return chain.from_iterable(file.read_text().splitlines() for file in files)


def _take(lines: Iterator[str], size: int) -> Iterator[str]:
    while size > 0:
        line = next(lines, None)
        if line is None:
            raise ValueError("there is no text for so many files")
        size -= len(line) + 1
        yield line


def _page(text: str) -> bytes:
    paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in text.splitlines() if line)
    return f"<html><body><main>{paragraphs}</main></body></html>".encode()


def _pdf(text: str) -> bytes:
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, WIDTH) or [""]]
    sheets = []
    for page in (lines[start : start + LINES] for start in range(0, len(lines), LINES)):
        sheets.append(Sheet())
        for at, line in enumerate(page):
            sheets[-1].text(40, 40 + 14 * at, line.encode("latin-1", "replace").decode("latin-1"))
    return pdf_file(*sheets)


def _word(text: str) -> bytes:
    document = docx.Document()
    for line in text.splitlines():
        if line:
            document.add_paragraph(line)
    return saved(document)


def _table(text: str) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["Number", "Line", "Length"])
    writer.writerows([at, line, len(line)] for at, line in enumerate(text.splitlines(), 1) if line)
    return out.getvalue().encode()
