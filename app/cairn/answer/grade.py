"""Passages graded, relevant or not: by a chat model one by one (the prompt, and strict reading of the reply), or by vectors
and words without one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cairn.domain.passage import Passage
from cairn.errors import ProviderResponseError
from cairn.language.fence import as_json, quoted
from cairn.language.identify import likely_language
from cairn.language.lexicon import DEFAULT
from cairn.language.tokens import alike, spelled_terms, terms
from cairn.prompts import prompt
from cairn.providers.protocols import ChatModel, Message
from cairn.providers.reader import json_array

PASSAGE_CHARS: Final = 2400  # bound: tests/unit/test_edges_ground.py
"""Of each passage; one of the default size is shown whole."""
MAX_TOKENS: Final = 1024  # bound: tests/unit/test_edges_ground.py
"""Five grades need about 120; the rest is for models that think first."""
SECONDS: Final = 10.0  # bound: tests/unit/test_edges_ground.py
"""Longest that one batch may take, as for reranking."""

_SAID: Final = {"yes": True, "true": True, "relevant": True, "no": False, "false": False, "irrelevant": False}


@dataclass(frozen=True, slots=True)
class Grade:
    """`confidence` in 0..1 is how sure the grader is that the passage is relevant, or that it is not."""

    relevant: bool
    confidence: float


async def grade_by_model(
    question: str, parts: Sequence[str], passages: Sequence[Passage], chat: ChatModel
) -> tuple[Grade, ...]:
    """One grade per passage, in their order. Raises ProviderError, also for a reply that does not grade each passage once."""
    filled = prompt(
        "grade",
        question=quoted(question),
        parts=as_json(list(parts)) if parts else "(none)",
        passages="\n".join(f"{n}: {_shown(passage)}" for n, passage in enumerate(passages, start=1)),
    )
    reply = await chat.complete(
        [Message("system", filled.system), Message("user", filled.user)],
        temperature=0.0,
        max_tokens=MAX_TOKENS,
        timeout=SECONDS,
    )
    if reply.finish_reason == "length":
        raise ProviderResponseError(f"{chat.name}: the grades were cut off at the token limit")
    try:
        return read_grades(reply.text, len(passages))
    except ValueError as error:
        raise ProviderResponseError(f"{chat.name}: {error}") from None


def _shown(passage: Passage) -> str:
    above = " > ".join(dict.fromkeys((passage.title, *passage.headings)))
    return quoted(f"{above}: {passage.content[:PASSAGE_CHARS]}")


# --- the reply ------------------------------------------------------------------------------------------------------


def read_grades(reply: str, count: int) -> tuple[Grade, ...]:
    """Grades of the passages 1 to `count` out of a JSON array, which may be fenced or follow thoughts.

    Strict: every number once, no other number, and a clear yes or no for each. Without a confidence the model is sure.
    Raises ValueError otherwise: half of the grades are none.
    """
    found: dict[int, Grade] = {}
    for item in _items(reply):
        number, grade = _grade(item)
        if not 1 <= number <= count:
            raise ValueError(f"the reply grades passage {number}, of {count}")
        if number in found:
            raise ValueError(f"the reply grades passage {number} twice")
        found[number] = grade
    if len(found) < count:
        raise ValueError(f"the reply grades {len(found)} of {count} passages")
    return tuple(found[number] for number in range(1, count + 1))


def _items(reply: str) -> list[Any]:
    data = json_array(reply)
    if data is None:
        raise ValueError("the reply has no grades")
    return data


def _grade(item: Any) -> tuple[int, Grade]:
    if not isinstance(item, dict) or not isinstance(number := item.get("n"), int) or isinstance(number, bool):
        raise ValueError("a grade has no number")
    relevant, confidence = item.get("relevant"), item.get("confidence", 1.0)
    if isinstance(relevant, str):
        relevant = _SAID.get(relevant.strip().lower())
    if not isinstance(relevant, bool):
        raise ValueError(f"passage {number} is neither relevant nor not")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not math.isfinite(confidence):
        raise ValueError(f"the confidence of passage {number} is no number")
    if not 0 <= confidence <= 1:
        raise ValueError(f"the confidence of passage {number} is not between 0 and 1")
    return number, Grade(relevant, float(confidence))


# --- without a model --------------------------------------------------------------------------------------------------

_INTERCEPT: Final = (-4.64, -5.56)  # measured: tests/unit/test_fitted.py
_COSINE: Final = (5.95, 4.89)  # measured: tests/unit/test_fitted.py
_SHARE: Final = 3.96  # measured: tests/unit/test_fitted.py
"""Logistic regression for English and for other languages, whose questions MiniLM places less well: on the first 15 passages
of 480 questions of xquad_en, hotpotqa100, musique100, cranfield and spf_fr, both classes and all sets equally frequent
(docs/quality.md, "Grading")."""


def relevance(question: str, passage: Passage, cosine: float | None) -> float:
    """Probability, 0..1. `cosine`: of the question and the passage's best chunk, -1..1, under MiniLM; None where it cannot be
    had: then the share of words alone."""
    share = share_of_words(question, passage)
    if cosine is None:
        return share
    other = likely_language(question) != DEFAULT
    return 1 / (1 + math.exp(-(_INTERCEPT[other] + _COSINE[other] * cosine + _SHARE * share)))


def share_of_words(question: str, passage: Passage) -> float:
    """Share of the question's words that the passage, its title or its headings hold in any inflection; names and numbers
    count double. 0 for a question without words of content."""
    asked = {word: 1.0 + _names(raw) for raw, word in spelled_terms(question)}
    held = frozenset(terms(" ".join((passage.title, *passage.headings, passage.content))))
    found = sum(worth * max(alike(word, held).values(), default=0.0) for word, worth in asked.items())
    return found / sum(asked.values()) if asked else 0.0


def _names(raw: str) -> bool:
    return any(char.isdigit() or char == "_" for char in raw) or raw[:1].isupper()
