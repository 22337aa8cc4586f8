"""Where on a page of a PDF some words of the document's text stand.

The text that is stored is not the text of the page: hyphens at line ends are mended, headings marked, tables written anew. So
both are compared by their letters and digits alone, folded. Where the words do not stand on the page in one piece, as in a
table, each line or cell is looked for by itself, close to the one before.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from cairn.domain.original import Mark
from cairn.ingest.loaders.pdf_layout import PlacedWord, read_characters, read_words
from cairn.ingest.loaders.pdf_rtl import restore_order

_CELL_END = re.compile(r"\||(?<=\s)/(?=\s)")
"""Between cells; a header of several lines is written as one, with " / " between them."""
_SAME_LINE: Final = 0.5
"""Share of the lower word's height that two words of a line have in common."""
_GAP: Final = 1.5
"""Words of a line that are further apart than so many heights are marked each for itself, as cells are."""
_OTHER_LINE: Final = 2000
"""Letters: a cell on another line than the one before it is passed over for one on its line that is drawn so much later."""


def find_marks(page: Any, text: str, start: int, end: int) -> list[Mark]:
    """Rectangles around [start, end) of the page's `text` as it is stored, one for each line or cell; none where the page has no
    text layer, as a scan, or shows other words."""
    layer = page.get_textpage()
    words = read_words(page, layer, restore_order(layer, read_characters(layer)))
    drawn = _Drawn(words, expected=len(_letters(text[:start])))
    width, height = (max(side, 1.0) for side in page.get_size())
    found = sorted({*drawn.find(text[start:end])})
    return [_mark(group, width, height) for group in _lines(words[at] for at in found)]


def _letters(text: str) -> str:
    """Letters and digits alone, without accents and case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text).casefold()))


class _Drawn:
    """The letters and digits of a page in the order in which they are drawn. `expected`: how many of them stand before what is
    looked for next, about."""

    def __init__(self, words: Sequence[PlacedWord], expected: int) -> None:
        self._words = words
        parts = [_letters(word.text) for word in words]
        self._letters = "".join(parts)
        self._owners = [at for at, part in enumerate(parts) for _ in part]
        self._expected = expected
        self._before: PlacedWord | None = None

    def find(self, text: str) -> Iterator[int]:
        """Which words the text is made of: all of it in one place, or its lines and cells, or at least single words of them."""
        if (whole := self._take(text)) is not None:
            yield from whole
            return
        for line in text.split("\n"):
            self._before = None
            for piece in _CELL_END.split(line):
                if (found := self._take(piece)) is not None:
                    yield from found
                else:
                    for word in piece.split():
                        yield from self._take(word) or ()

    def _take(self, text: str) -> Sequence[int] | None:
        """The words of the place nearest to where it is expected; None where it is nowhere."""
        wanted = _letters(text)
        if not wanted or not (places := [*self._places(wanted)]):
            return None
        at = min(places, key=self._distance)
        owners = self._owners[at : at + len(wanted)]
        self._expected, self._before = at + len(wanted), self._words[owners[-1]]
        return owners

    def _places(self, wanted: str) -> Iterator[int]:
        at = self._letters.find(wanted)
        while at >= 0:
            yield at
            at = self._letters.find(wanted, at + 1)

    def _distance(self, at: int) -> int:
        elsewhere = self._before is not None and not _on_one_line(self._before, self._words[self._owners[at]])
        return abs(at - self._expected) + _OTHER_LINE * elsewhere


def _on_one_line(one: PlacedWord, other: PlacedWord) -> bool:
    shared = min(one.bottom, other.bottom) - max(one.top, other.top)
    return shared > _SAME_LINE * min(one.height, other.height)


def _lines(words: Iterable[PlacedWord]) -> list[list[PlacedWord]]:
    """Neighbours on a line together."""
    groups: list[list[PlacedWord]] = []
    for word in words:
        last = groups[-1][-1] if groups else None
        if last and _on_one_line(last, word) and -word.height < word.left - last.right < _GAP * word.height:
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups


def _mark(words: Sequence[PlacedWord], width: float, height: float) -> Mark:
    """Around all of them, within the page."""
    left, right = min(word.left for word in words) / width, max(word.right for word in words) / width
    top, bottom = min(word.top for word in words) / height, max(word.bottom for word in words) / height
    left, top, right, bottom = (round(min(max(side, 0.0), 1.0), 5) for side in (left, top, right, bottom))
    return Mark(left, top, round(right - left, 5), round(bottom - top, 5))
