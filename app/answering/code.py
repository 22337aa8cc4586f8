"""Questions about relations of code, answered from the graph: who calls, inherits from, imports; complete, with file and line."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from app.answer.cite import citation
from app.answering.context import Outcome, Run
from app.domain.answer import Citation, Coverage, Draft
from app.domain.code import Neighbour, Symbol, SymbolPlace, SymbolQuery
from app.domain.event import Progress, Token
from app.domain.passage import Passage
from app.graph.code.symbols import wanted_symbols
from app.language.lexicon import replies

NOUNS: Final[Mapping[tuple[str, bool], str]] = {
    ("calls", True): "callers",
    ("calls", False): "calls",
    ("inherits", True): "subclasses",
    ("inherits", False): "bases",
    ("imports", True): "importers",
    ("imports", False): "imports",
    ("contains", True): "holders",
    ("contains", False): "members",
}


def relation_asked(question: str) -> SymbolQuery | None:
    """The relation that a question asks for, if that is what it does. Pure."""
    return next((one for one in wanted_symbols(question) if one.relation), None)


async def code(run: Run) -> Outcome:
    """Raises CairnError."""
    run.emit(Progress("retrieve", 40))
    began = time.perf_counter()
    query = relation_asked(run.plan.text)
    assert query is not None  # choose() saw it
    listed = [(symbol, _asked(symbol, query)) for symbol in run.symbols]
    shown = [(symbol, found[:LISTED]) for symbol, found in listed]
    places = [place for symbol, found in shown for place in (*symbol.definitions[:1], *(one.place for one in found))]
    sources = await run.deps.library.passages([place.passage_id for place in places])
    cited = _citations(places, sources)
    text = related_text(run.plan.language, query, shown, {symbol.name: len(found) for symbol, found in listed}, cited)
    unsure = sum(symbol.unsure for symbol in run.symbols) if query.incoming else 0
    told = (f"{unsure} more names in the collection may mean {query.name!r} or something else that is called so.",)
    draft = Draft(text, tuple(cited.values()), True, 1.0, told if unsure else ())
    run.record.spent("answer", began)
    run.emit(Progress("generate", 85))
    run.emit(Token(text))
    more = {"symbols": [symbol.name for symbol in run.symbols], "relation": query.relation}
    return Outcome(draft, "graph", tuple(sources), coverage=_coverage(listed, query), more=more)


def _asked(symbol: Symbol, query: SymbolQuery) -> list[Neighbour]:
    """Each neighbour once, at its first place."""
    found = [one for one in symbol.neighbours if (one.relation, one.incoming) == (query.relation, query.incoming)]
    return list({one.name: one for one in reversed(found)}.values())[::-1]


def _citations(places: Sequence[SymbolPlace], sources: Sequence[Passage]) -> dict[SymbolPlace, Citation]:
    """The line of each place, in order; a place whose passage is gone has none."""
    by_id: dict[UUID, Passage] = {passage.passage_id: passage for passage in sources}
    made: dict[SymbolPlace, Citation] = {}
    for place in places:
        passage = by_id.get(place.passage_id)
        at = place.start - passage.start if passage else -1
        if passage is None or place in made or not 0 <= at < len(passage.content):
            continue
        start = passage.content.rfind("\n", 0, at) + 1
        end = passage.content.find("\n", at)
        line = passage.content[start : end if end >= 0 else len(passage.content)]
        start += len(line) - len(line.lstrip())
        made[place] = citation(len(made) + 1, passage, (start, start + max(1, len(line.strip()))))
    return made


def _coverage(listed: Sequence[tuple[Symbol, Sequence[Neighbour]]], query: SymbolQuery) -> Coverage:
    count = sum(len(found) for _, found in listed)
    noun = NOUNS[query.relation or "calls", query.incoming]
    return Coverage(all(symbol.complete for symbol, _ in listed), count, count, noun)


# --- in words ---------------------------------------------------------------------------------------------------------

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
