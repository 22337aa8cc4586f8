"""What an answer misses: gaps as a model names them, and what became of each.

A gap is looked for once. It is resolved where that brought something new: of a gap that names a symbol the symbol itself,
or a passage that has its name. It is unresolved where it did not, and where the model asks for it again, in these or other
words, after it has read what was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from cairn.domain.code import SymbolQuery
from cairn.graph.code.symbols import wanted_symbols
from cairn.language.linear import bounded
from cairn.language.text import fold
from cairn.language.tokens import terms

_SPECIFIC: Final = bounded(
    r"::|\bin `[^`]+`|\bin [\w./\\-]+\.\w{1,4}\b|\b(?:function|class|method|struct|trait|interface|enum|module)\b[ `'\"]+\w|"
    r"\b\w+[ `'\"]+(?:function|class|method)\b",
    re.IGNORECASE,
)
State = Literal["open", "found", "not found", "not found before", "asked for again"]
"""Not found before: in an earlier question of the session. Asked for again: after it had brought something."""
IN_VAIN: Final = frozenset[State]({"not found", "not found before", "asked for again"})


@dataclass(slots=True)
class Gap:
    """In the words in which it was named first."""

    text: str
    state: State = "open"


@dataclass(slots=True)
class Missing:
    """Of one run. `gaps` by their normal form; `looked_for`: the same by what they mean; `nowhere`: what was not found in earlier
    questions of the session."""

    gaps: dict[str, Gap] = field(default_factory=dict)
    looked_for: dict[frozenset[str], str] = field(default_factory=dict)
    nowhere: frozenset[str] = frozenset()

    def note(self, texts: Sequence[str]) -> list[str]:
        """Gaps, noted; those that are to be looked for are returned, each once."""
        new: dict[frozenset[str], str] = {}
        for text in texts:
            key = self.key(text)
            gap = self.gaps.setdefault(key, Gap(text))
            if meaning(text) in self.looked_for:
                gap.state = "asked for again" if gap.state == "found" else gap.state
            elif key in self.nowhere:
                gap.state = "not found before"
            elif gap.state != "not found":
                new.setdefault(meaning(text), text)
        return list(new.values())

    def settle(self, text: str, *, found: bool) -> None:
        """It was looked for."""
        key = self.looked_for[meaning(text)] = normal(text)
        self.gaps[key].state = "found" if found else "not found"

    def key(self, text: str) -> str:
        """What a gap is counted as: the one that it repeats, or itself in its normal form."""
        return self.looked_for.get(meaning(text), normal(text))

    @property
    def in_vain(self) -> list[str]:
        """What need not be asked for any more."""
        return sorted(self.nowhere | {key for key, gap in self.gaps.items() if gap.state in IN_VAIN})

    @property
    def not_found(self) -> list[str]:
        """In this run."""
        return sorted(key for key, gap in self.gaps.items() if gap.state == "not found")

    @property
    def told(self) -> Iterator[str]:
        """What is missing in the end, in words for the reader of the answer."""
        for gap in self.gaps.values():
            if gap.state in IN_VAIN:
                yield f"Looked for and not found: {gap.text}."
            elif gap.state == "open":
                yield f"Missing, and not looked for any more: {gap.text}."


def normal(gap: str) -> str:
    """The form in which a gap is remembered."""
    return " ".join(fold(gap).replace("`", " ").replace('"', " ").split()).strip(" .:;,?!'")


def meaning(gap: str) -> frozenset[str]:
    """What two wordings of one gap have in common: the symbols that they name, else their words but for stop words."""
    named = {f"{query.path} {query.name}" for query in symbols_of(gap)}
    return frozenset(named or terms(gap) or [normal(gap)])


def symbols_of(gap: str) -> tuple[SymbolQuery, ...]:
    """The symbols that a specific gap names; none for a vague one, which is searched for."""
    named = tuple(wanted_symbols(gap))
    return named if named and (_SPECIFIC.search(gap) or len(gap.split()) <= 2) else ()
