"""Where in an answer the words stand that it quotes. Pure.

An answer that is a quotation shows what stands around it, and the number of the citation stands where the quotation ends. In the
answer it reads without links and hard line ends, so it is found by its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from cairn.language.links import DESTINATION
from cairn.language.sentences import Span

_WORD: Final = re.compile(r"\w+")
_TARGET: Final = re.compile(rf"\]{DESTINATION}")
"""Where a link leads, which an answer does not show."""
BEGINNING: Final = 4
"""Words by which the beginning of a quotation is known."""
MARKUP: Final = 100
"""Characters by which it may be longer in the answer than in the document: the names of columns before its values."""


def locate_quotation(answer: str, n: int, quote: str, length: int | None = None) -> Span | None:
    """From the first word of the quotation to the number [n] behind it; None where it does not stand before it, or is all there
    is. `quote`: at least its beginning, `length` then that of the whole."""
    ends = answer.find(f"[{n}]")
    words = [found[0] for found in _WORD.finditer(_TARGET.sub("]", quote))][:BEGINNING]
    if ends < 0 or not words:
        return None
    first = max(0, ends - (length or len(quote)) - MARKUP)
    said = list(_WORD.finditer(answer, first, ends))
    for at in range(len(said) - len(words), -1, -1):
        if all(found[0] == word for found, word in zip(said[at:], words, strict=False)):
            start, end = said[at].start(), len(answer[:ends].rstrip())
            alone = not answer[:start].strip("`\"'(*- \n") and not answer[ends + len(f"[{n}]") :].strip()
            return None if alone else (start, end)
    return None


def quotations_in(answer: str, cited: Iterable[tuple[int, str, int]]) -> str:
    """The quotations of an answer without what stands around them; all of it where none is found. `cited`: number, beginning and
    length of each."""
    places = [place for n, quote, length in cited if (place := locate_quotation(answer, n, quote, length))]
    return " ".join(answer[slice(*place)] for place in places) or answer
