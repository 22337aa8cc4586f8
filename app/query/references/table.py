"""What the tables of references have for each language (en.py, fr.py, es.py, de.py).

Folded forms (no case, no accents). English, French, Spanish, German.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class References:
    """How one language refers back.

    `pronouns` stand for a thing or person, `possessives` before what belongs to it, `demonstratives` before its kind
    ("that policy") or alone, `adverbs` for a place or a means ("there", "davon"). `determiners` begin a noun phrase,
    `prepositions` bind what follows. `expletive`: where such a word refers to nothing. `times`: nouns after a
    demonstrative that mean now. `openers` end where the new focus begins ("what about ..."), `corrections` likewise.
    `joints` are words that may stand before anything ("and", "so"). `whole`: messages that are nothing without history.
    `ordinal` has the groups `word` or `number`; `every` means all that was listed; `other` what was not yet spoken of.
    """

    pronouns: frozenset[str]
    possessives: frozenset[str]
    demonstratives: frozenset[str]
    adverbs: frozenset[str]
    determiners: frozenset[str]
    prepositions: frozenset[str]
    verbs: frozenset[str]
    questions: frozenset[str]
    expletive: re.Pattern[str]
    times: frozenset[str]
    openers: re.Pattern[str]
    corrections: re.Pattern[str]
    joints: re.Pattern[str]
    whole: re.Pattern[str]
    ordinal: re.Pattern[str]
    every: re.Pattern[str]
    other: re.Pattern[str]
    pick: re.Pattern[str]
    ordinals: Mapping[str, int]


def pattern(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE | re.VERBOSE)


LAST: Final = -1
"""Number of "the last one"."""

END: Final = r"(?=\s*(?:$|[?.!,;]))"
"""Before the end of a sentence or clause."""
