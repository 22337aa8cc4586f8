"""What kind of thing a name is of, and what stands between two related names: the words of all languages, folded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from cairn.language.lexicon import any_of, every, languages
from cairn.language.linear import bounded
from cairn.language.tokens import ALL_STOP_WORDS

STOPS: Final = ALL_STOP_WORDS | every(lambda one: one.graph.stops)
"""Words that never begin a name: of texts, which have openers and pronouns that questions lack."""
ALONE: Final = every(lambda one: one.graph.alone)
LABELS: Final = every(lambda one: one.graph.labels)
NUMBERED: Final = every(lambda one: one.graph.numbered)
INDEFINITE: Final = every(lambda one: one.graph.indefinite)
CONTINUED: Final = bounded(any_of(lambda one: one.graph.continued))
"""From the beginning of a name that goes on in small letters to its end."""
ASSERTS: Final = every(lambda one: one.graph.asserts)
CALENDAR: Final = every(lambda one: one.graph.calendar)
PERSON_TITLES: Final = every(lambda one: one.graph.titles)
OCCUPATIONS: Final = every(lambda one: one.graph.occupations)
ORGANISATIONS: Final = every(lambda one: one.graph.organisations)
LEGAL_FORMS: Final = every(lambda one: one.graph.legal_forms)
PLACES: Final = every(lambda one: one.graph.places)
PLACE_PREPOSITIONS: Final = every(lambda one: one.graph.place_prepositions)
PRONOUNS: Final = every(lambda one: one.graph.pronouns)
LEADING_ARTICLE: Final = re.compile(rf"^(?:{any_of(lambda one: one.graph.leading_articles)}\s+|l'(?=\w{{2}}))")

_BARE: Final = ((", ", "in"),)
"""Relations that need no words."""


def _relations() -> Iterator[tuple[str, str]]:
    """In the order in which they are tried: the more telling first in each language."""
    for one in languages():
        yield from one.graph.relations
    yield from _BARE


RELATIONS: Final = tuple((bounded(pattern), kind) for pattern, kind in _relations())
"""What may stand between two names, matched in full, and the relation from the first to the second."""
