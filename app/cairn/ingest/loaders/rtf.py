"""Rich Text Format through striprtf, with the headings and tables that it does not tell.

Before it reads, paragraphs with an outline level, ends of cells and ends of rows are marked by characters that no text has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from striprtf.striprtf import rtf_to_text

from cairn.errors import ParseError
from cairn.ingest.loaders import render
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.language.tables import render_table

_HEADING, _BEGIN, _CELL, _ROW = 0xF8F0, 0xF8E0, 0xF8E1, 0xF8E2
"""Private characters: headings of the six levels (six characters), where a row begins, where cells and rows end."""
_WORD: Final = re.compile(r"\\(?:[\\{}]|(outlinelevel([0-8])|trowd|cell|row)(?![a-z]))")
_LEVEL: Final = re.compile(f"[{chr(_HEADING)}-{chr(_HEADING + 5)}]")
_MARK: Final = re.compile(f"[{chr(_BEGIN)}{chr(_HEADING)}-{chr(_HEADING + 5)}]+")
_TITLE: Final = re.compile(r"\{\\title ((?:[^{}\\]|\\'[0-9a-f]{2}|\\u-?\d{1,6} ?\??){1,600})\}", re.IGNORECASE)
_BINARY: Final = re.compile(r"\\bin\d")


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises ParseError for a damaged file."""
    source = content.decode("latin-1")
    if _is_cut_off(source):
        raise ParseError(
            "the RTF document is cut off: its groups are not closed; open it in a word processor and save it again"
        )
    title = _TITLE.search(source)
    try:
        text = _text_of(_WORD.sub(_marked, source))
        stated = _text_of("{\\rtf1\\ansi " + title[1] + "}") if title else None
    except (ValueError, IndexError, KeyError, LookupError, OverflowError) as error:
        raise ParseError(
            f"the RTF document is damaged ({type(error).__name__}); open it in a word processor and save it again"
        ) from None
    return LoadedText(render.join(_blocks(text)), title=stated)


def _is_cut_off(source: str) -> bool:
    """Whether groups are left open. Pictures in binary may hold any bytes, so nothing is known of files with such."""
    bare = source.replace("\\\\", "").replace("\\{", "").replace("\\}", "")
    return bare.count("{") > bare.count("}") and not _BINARY.search(source)


def _text_of(source: str) -> str:
    text: str = rtf_to_text(source, errors="replace")  # type: ignore[no-untyped-call]
    return text


def _marked(match: re.Match[str]) -> str:
    if not match[1]:
        return match[0]  # an escaped character
    if match[2]:
        return match[0] + _character(_HEADING + min(int(match[2]), 5))
    return _character({"trowd": _BEGIN, "cell": _CELL, "row": _ROW}[match[1]])


def _character(code: int) -> str:
    return f"{{\\uc1\\u{code - 0x10000}?}}"


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, headings and tables; rows that follow each other are one table."""
    rows: list[list[str]] = []
    *before_rows, rest = text.split(chr(_ROW))
    for piece in before_rows:
        first_cell = piece.find(chr(_CELL))
        begin = piece.find(chr(_BEGIN))
        if not 0 <= begin <= first_cell:
            begin = piece.rfind("\n", 0, max(first_cell, 0)) + 1
        if piece[:begin].strip():
            yield from _table(rows)
            yield from _paragraphs(piece[:begin])
            rows = []
        rows.append(_MARK.sub("", piece[begin:]).split(chr(_CELL))[:-1])
    yield from _table(rows)
    yield from _paragraphs(rest)


def _table(rows: list[list[str]]) -> Iterator[str]:
    if table := render_table(rows):
        yield table


def _paragraphs(text: str) -> Iterator[str]:
    for line in text.replace(chr(_CELL), " ").split("\n"):
        mark, words = _LEVEL.search(line), _MARK.sub("", line)
        if words.strip():
            yield render.heading(ord(mark[0]) - _HEADING + 1, words) if mark else render.paragraph(words)
