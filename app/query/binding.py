"""Whether a pronoun of a message can mean something in the message itself. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from app.language.text import folded_words
from app.language.tokens import Word
from app.query.references import BY_LANGUAGE, References


def bound(before: Sequence[Word], word: Word, possessive: bool, table: References, text: str) -> bool:
    """Whether something earlier in the message can be meant."""
    said = sum(item.content for item in before)
    last = before[-1] if before else None
    ends = word.folded == "it" and not text[word.end :].strip(" ?!.") and last and last.folded in table.prepositions
    if said >= (BINDING_WORDS_OF_A_TAIL if ends else BINDING_WORDS) or (
        possessive and _impersonal(before, word, table, text)
    ):
        return True
    if possessive and last and last.folded in table.prepositions:
        return said >= 2 or clause(text, before, word)
    if text[word.start - 1 : word.start] == "-" and table is BY_LANGUAGE["fr"]:  # "Venise est-elle"
        asks = any(item.folded in {"quel", "quelle", "quels", "quelles", "combien"} for item in before)
        if sum(item.content for item in before[:-1]) > asks:
            return True
    noun = _noun(before, table)
    if table is BY_LANGUAGE["en"]:
        plural = possessive and any(item.content and item.folded not in table.verbs for item in before)
        return clause(text, before, word) or plural or (noun and possessive)
    return noun or clause(text, before, word)


BINDING_WORDS: Final = 4
"""So many words that say something before a pronoun hold what it means."""
BINDING_WORDS_OF_A_TAIL: Final = 6
"""Before "in it" and the like at the end, which mostly means what was spoken of: so many."""


def _impersonal(before: Sequence[Word], word: Word, table: References, text: str) -> bool:
    """ "Comment payer ses impôts ?" is about anybody's; Spanish puts the owner behind: "abrió sus puertas la Bolsa"."""
    if table is BY_LANGUAGE["es"] and _OWNER_AFTER.match(text[word.start :]):
        return True
    if table is BY_LANGUAGE["en"]:
        return any(item.folded == "one" for item in before)
    endings = {"fr": ("er", "ir", "re", "oir"), "es": ("ar", "er", "ir")}
    code = next(code for code, found in BY_LANGUAGE.items() if found is table)
    return any(
        item.folded in {"on", "man", "uno"}
        or (code in endings and len(item.folded) > 3 and item.text.endswith(endings[code]))
        for item in before
    )


_OWNER_AFTER: Final = re.compile(r"sus?\s+\w+(?:\s+\w+)?\s+(?:el|la|los|las|un|una|[A-ZÁÉÍÓÚ]\w+)\b")

_JOINTS: Final = folded_words(
    "if when while because since and but after before that which who although where or once unless until "
    "si quand lorsque parce puisque et mais apres avant que qui dont alors "
    "cuando mientras porque pero y despues antes "
    "wenn als weil und aber nachdem bevor dass ob oder falls"
)


def _noun(words: Sequence[Word], table: References) -> bool:
    """Whether a noun with its determiner is among them."""
    return any(
        one.folded in table.determiners and (two.content or two.folded in table.times) for one, two in pairwise(words)
    )


def clause(text: str, before: Sequence[Word], word: Word) -> bool:
    """Whether a clause that says something stands before: "if a customer returns an item, when is it refunded?"."""
    end = 0
    for place in range(len(before) - 1, 0, -1):
        gap = text[before[place - 1].end : before[place].start]
        if before[place].folded in _JOINTS or "," in gap or ";" in gap:
            end = place
            break
    if not end and before and "," in text[before[-1].end : word.start]:
        end = len(before)
    said = sum(item.content for item in before[:end])
    return said > 1 or (said == 1 and any(_noun(before[:end], table) for table in BY_LANGUAGE.values()))
