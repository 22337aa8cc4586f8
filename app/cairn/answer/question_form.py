"""What the form of a question says of the unit that answers it, beyond the words that both have: what is said of PEP 673 does not
answer what became of PEP 677, and that may be told in one word. Pure. (docs/adr/0102-forms-of-questions.md)"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from cairn.answer.answer_type import outcome_told
from cairn.answer.candidates import Candidate
from cairn.answer.evidence import QuestionTerms
from cairn.language.text import fold
from cairn.language.tokens import ALL_STOP_WORDS

_NUMBERED: Final = re.compile(r"([^\W\d_]{2,30})[ \u00a0-](\d{1,9})(?![\w.,]*\d)")


def about_the_same(question: str, found: list[Candidate]) -> list[Candidate]:
    """Without those that name another one of what the question numbers ("PEP 673" for "PEP 677"), where one names it."""
    asked = _numbered(question)
    told = [_numbered(f"{candidate.path}\n{candidate.text}") for candidate in found] if asked else []
    for word, numbers in asked.items():
        if not any(numbers & here.get(word, set()) for here in told):
            continue
        same = [not here.get(word) or bool(numbers & here[word]) for here in told]
        found = [candidate for candidate, keep in zip(found, same, strict=True) if keep]
        told = [here for here, keep in zip(told, same, strict=True) if keep]
    return found


def _numbered(text: str) -> dict[str, set[str]]:
    """Numbers by the word before them: the 677 of "PEP 677"."""
    found: dict[str, set[str]] = {}
    for word, number in _NUMBERED.findall(text):
        if (folded := fold(word)) not in ALL_STOP_WORDS:
            found.setdefault(folded, set()).add(number)
    return found


def verdict(terms: QuestionTerms, best: Candidate, quoted: str) -> str | None:
    """What became of what is asked about, in one word, where the quotation tells just one thing, denies nothing, and names all
    that the question names; None where it does not, or something else is asked."""
    if not terms.asked.outcome:
        return None
    held = np.maximum(terms.held(best.words), terms.held(best.lead))
    if not all(held[at] > 0 for at in (*terms.numbers, *terms.names)):
        return None
    return outcome_told(quoted)
