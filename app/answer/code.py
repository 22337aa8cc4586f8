"""Answers about relations of code, in words. Pure; what is listed comes from the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.answer.advice import known_language
from app.domain.answer import Citation
from app.domain.code import Neighbour, Symbol, SymbolPlace, SymbolQuery
from app.language.tokens import Language

LISTED: Final = 50
"""Neighbours of a symbol that an answer names; the rest is counted."""

_SAID: Final[Mapping[Language, Mapping[tuple[str, bool], str]]] = {
    "en": {
        ("calls", True): "{name} is called by {n}", ("calls", False): "{name} calls {n}",
        ("inherits", True): "{n} inherit from {name}", ("inherits", False): "{name} inherits from {n}",
        ("imports", True): "{name} is imported by {n}", ("imports", False): "{name} imports {n}",
        ("contains", True): "{name} is part of {n}", ("contains", False): "{name} has {n} members",
    },
    "fr": {
        ("calls", True): "{name} est appelé par {n}", ("calls", False): "{name} appelle {n}",
        ("inherits", True): "{n} héritent de {name}", ("inherits", False): "{name} hérite de {n}",
        ("imports", True): "{name} est importé par {n}", ("imports", False): "{name} importe {n}",
        ("contains", True): "{name} fait partie de {n}", ("contains", False): "{name} a {n} membres",
    },
    "es": {
        ("calls", True): "A {name} lo llaman {n}", ("calls", False): "{name} llama a {n}",
        ("inherits", True): "{n} heredan de {name}", ("inherits", False): "{name} hereda de {n}",
        ("imports", True): "A {name} lo importan {n}", ("imports", False): "{name} importa {n}",
        ("contains", True): "{name} es parte de {n}", ("contains", False): "{name} tiene {n} miembros",
    },
    "de": {
        ("calls", True): "{name} wird aufgerufen von {n}", ("calls", False): "{name} ruft {n} auf",
        ("inherits", True): "{n} erben von {name}", ("inherits", False): "{name} erbt von {n}",
        ("imports", True): "{name} wird importiert von {n}", ("imports", False): "{name} importiert {n}",
        ("contains", True): "{name} ist Teil von {n}", ("contains", False): "{name} hat {n} Mitglieder",
    },
}  # fmt: skip
_MORE: Final[Mapping[Language, str]] = {
    "en": "and {n} more",
    "fr": "et {n} autres",
    "es": "y {n} más",
    "de": "und {n} weitere",
}


def related_text(
    language: str,
    query: SymbolQuery,
    shown: Sequence[tuple[Symbol, Sequence[Neighbour]]],
    counts: Mapping[str, int],
    cited: Mapping[SymbolPlace, Citation],
) -> str:
    """A list for each symbol: what stands in the relation to it, with file and line. `counts`: how many there are in all."""
    spoken = known_language(language)
    said = _SAID[spoken][query.relation or "calls", query.incoming]
    lines = []
    for symbol, found in shown:
        place = symbol.definitions[0] if symbol.definitions else None
        name = f"`{symbol.name}`" + (f" ({_where(place)}){_mark(place, cited)}" if place else "")
        count = counts[symbol.name]
        lines.append(said.format(name=name, n=count) + (":" if found else "."))
        lines += [f"- `{one.name}`, {_where(one.place)}{_mark(one.place, cited)}" for one in found]
        if count > len(found):
            lines.append(f"- {_MORE[spoken].format(n=count - len(found))}")
    return "\n".join(lines)


def _where(place: SymbolPlace) -> str:
    return f"{place.path}:{place.start_line}"


def _mark(place: SymbolPlace, cited: Mapping[SymbolPlace, Citation]) -> str:
    return f" [{cited[place].n}]" if place in cited else ""
