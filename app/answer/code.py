"""Answers about relations of code, in words. Pure; what is listed comes from the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.answer import Citation
from app.domain.code import Neighbour, Symbol, SymbolPlace, SymbolQuery
from app.language.lexicon import replies

LISTED: Final = 50
"""Neighbours of a symbol that an answer names; the rest is counted."""


def related_text(
    language: str,
    query: SymbolQuery,
    shown: Sequence[tuple[Symbol, Sequence[Neighbour]]],
    counts: Mapping[str, int],
    cited: Mapping[SymbolPlace, Citation],
) -> str:
    """A list for each symbol: what stands in the relation to it, with file and line. `counts`: how many there are in all."""
    say = replies(language)
    said = say.code[f"{query.relation or 'calls'}_{'in' if query.incoming else 'out'}"]
    lines = []
    for symbol, found in shown:
        place = symbol.definitions[0] if symbol.definitions else None
        name = f"`{symbol.name}`" + (f" ({_where(place)}){_mark(place, cited)}" if place else "")
        count = counts[symbol.name]
        lines.append(said.format(name=name, n=count) + (":" if found else "."))
        lines += [f"- `{one.name}`, {_where(one.place)}{_mark(one.place, cited)}" for one in found]
        if count > len(found):
            lines.append(f"- {say.more.format(n=count - len(found))}")
    return "\n".join(lines)


def _where(place: SymbolPlace) -> str:
    return f"{place.path}:{place.start_line}"


def _mark(place: SymbolPlace, cited: Mapping[SymbolPlace, Citation]) -> str:
    return f" [{cited[place].n}]" if place in cited else ""
