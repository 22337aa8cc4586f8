"""Which source holds a sentence of an answer, so that its citation names that one. Pure.

A citation stays where it is unless its source clearly does not hold the sentence and another one does: the model has read more
than words can compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cairn.answer.ground.evidence import Sources, gather_evidence, read_sources
from cairn.answer.ground.score import logit
from cairn.domain.passage import Passage
from cairn.language.identify import certain_language
from cairn.language.instructions import without_instructions
from cairn.language.names import nouns_of
from cairn.language.tokens import terms

TRIED: Final = 3  # bound: tests/unit/test_edges_ground.py
"""Sources that are compared closely, besides those that are cited: those that share most words with the sentence."""
FEWEST_WORDS: Final = 2  # measured: tests/unit/test_edges_ground.py
"""Of content; what has fewer claims nothing that a source could be found for."""
MARGIN: Final = 1.0  # measured: tests/unit/test_edges_ground.py
"""By how much, in log odds, another source must speak for a sentence more than the cited one does."""
MOST_SOURCES: Final = 20  # bound: tests/unit/test_edges_ground.py
"""Of more (summaries) what is uncited stays so."""


class Holders:
    """The sources of one answer; each is read once, when it is needed."""

    def __init__(self, sources: Sequence[Passage], answer: str) -> None:
        self._sources = sources
        self._capitals = nouns_of(certain_language(answer)) is None
        self._read: dict[int, Sources] = {}
        self._words: list[frozenset[str]] | None = None

    def holding(self, claim: str, cited: Sequence[int]) -> Sequence[int]:
        """The sources to cite for a claim, by their places: `cited`, or the one that holds it where none of these does."""
        wanted = frozenset(terms(claim))
        if len(wanted) < FEWEST_WORDS:
            return cited
        support = max(self._support(claim, place) for place in cited)
        if support >= 0:
            return cited
        best = self._best(claim, wanted, besides=cited)
        return cited if best is None or best[0] < support + MARGIN else [best[1]]

    def holder(self, claim: str) -> int | None:
        """The source that holds a claim which cites none."""
        wanted = frozenset(terms(claim))
        if len(wanted) < FEWEST_WORDS or len(self._sources) > MOST_SOURCES:
            return None
        best = self._best(claim, wanted, besides=())
        return best[1] if best else None

    def _best(self, claim: str, wanted: frozenset[str], *, besides: Sequence[int]) -> tuple[float, int] | None:
        """Of those that share most words the one that speaks for the claim most, with its log odds, where it holds it."""
        if self._words is None:
            self._words = [
                frozenset(terms(f"{one.title} {' '.join(one.headings)} {one.content}")) for one in self._sources
            ]
        shared = sorted(
            ((len(wanted & words), -place) for place, words in enumerate(self._words) if place not in besides),
            reverse=True,
        )
        found = [(self._support(claim, -place), place) for count, place in shared[:TRIED] if count >= FEWEST_WORDS]
        support, place = max(found, default=(-1.0, 0))
        return (support, -place) if support >= 0 else None

    def _support(self, claim: str, place: int) -> float:
        """Log odds that the source supports the claim; a number or name that it does not have makes them negative."""
        if place not in self._read:
            one = self._sources[place]
            titles = " ".join((one.title, one.external_id, *one.headings))
            self._read[place] = read_sources([without_instructions(one.content)], [titles])
        return logit(gather_evidence(claim, self._read[place], capitals=self._capitals))
