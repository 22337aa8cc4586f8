"""What a question names, as keys of entities. Pure; whoever asks the store looks them up there."""

from __future__ import annotations

from app.graph.cues import ALONE, CALENDAR, STOPS
from app.graph.resolve import key_of
from app.language.name_words import COMMON_OPENERS
from app.language.names import (
    NameRules,
    identifiers,
    loud,
    names,
    quoted,
    tokens_of,
    without_quoted,
)

MOST_KEYS = 20


def keys_of(question: str, language: str | None = None) -> tuple[str, ...]:
    """Keys of the names, identifiers and quoted titles of a question, each once, in its order.

    None: the graph has nothing to begin with, and is not asked (docs/adr/0024-graph-leg.md).
    """
    bare = without_quoted(question)
    tokens = tokens_of(bare)
    found = [*quoted(question), *identifiers(tokens)]
    if not loud(bare):
        reading = NameRules(STOPS, CALENDAR, COMMON_OPENERS, german=language == "de")
        found += [one for one in names(tokens, bare, reading) if key_of(one[2]) not in ALONE]
    keys = (key_of(name) for _, _, name in sorted(found))
    return tuple(dict.fromkeys(key for key in keys if len(key) > 1))[:MOST_KEYS]
