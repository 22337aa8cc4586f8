"""How much work a question deserves. Pure; no model is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, get_args

from cairn.domain.plan import Classification, ComplexityScore, Level, QueryType
from cairn.language.identify import languages_of
from cairn.language.lexicon import DEFAULT, Language, every, languages
from cairn.language.linear import bounded
from cairn.language.text import fold_line, window
from cairn.language.tokens import says_nothing, words
from cairn.query.listing import list_request
from cairn.settings import RoutingSettings

Family = Literal["causal", "analysis", "comparison", "multi_step", "synthesis"]

KEYWORDS: Final[Mapping[tuple[Family, str], tuple[re.Pattern[str], ...]]] = {
    (family, one.code): tuple(one.compiled(pattern) for pattern in getattr(one.complexity, family))
    for family in get_args(Family)
    for one in languages()
}
"""Words that speak of more than looking something up."""
_VAGUE: Final = every(lambda one: one.complexity.vague)

WEIGHTS: Final[Mapping[str, float]] = {  # measured: tests/unit/test_routing.py
    "query_type": 0.25,
    "entity_count": 0.20,
    "subquestion_count": 0.20,
    "keyword_matches": 0.20,
    "low_confidence": 0.15,
}
TYPE_FACTOR: Final[Mapping[QueryType, float]] = {  # measured: tests/unit/test_edges_followup.py
    "FACTUAL": 0.0, "PROCEDURAL": 0.0, "RELATIONAL": 0.5, "EXPLORATORY": 0.5, "ANALYTICAL": 1.0, "COMPARATIVE": 1.0,
    "UNKNOWN": 0.5,
}  # fmt: skip
"""UNKNOWN, which the source leaves open, is half way: what is not understood need not be simple."""
SEVERAL_STEPS: Final = "several_steps"
META_SCORE, AMBIGUOUS_SCORE = 0.75, 0.65  # measured: tests/unit/test_routing.py
ENHANCED_FACTOR: Final = 1.5  # measured: tests/unit/test_edges_followup.py
"""By which enhanced retrieval multiplies its depth (spec of CogniDoc)."""
SHORT: Final = 15  # measured: tests/unit/test_edges_followup.py
"""Characters under which a message may be ambiguous."""
_QUESTION_ENDS = bounded(r"[?？؟]+")
_OR_WORDS: Final = 10  # measured: tests/unit/test_edges_followup.py


def complexity(
    text: str,
    classification: Classification,
    entities: Sequence[str],
    subquestions: Sequence[str],
    settings: RoutingSettings,
    *,
    inner: str | None = None,
    language: str = DEFAULT,
) -> ComplexityScore:
    """`subquestions`: independent questions; none or one counts as one. `inner`: the question that it goes through, which makes
    it MODERATE at least."""
    folded = fold_line(window(text))
    found = keywords(folded, languages_of(text, language))
    factors = {
        "query_type": TYPE_FACTOR[classification.type],
        "entity_count": min(len(entities) / 4, 1.0),
        "subquestion_count": min((max(len(subquestions), 1) - 1) / 3, 1.0),
        "keyword_matches": min(len(found) / 4, 1.0),
        "low_confidence": min(max((0.7 - classification.confidence) / 0.5, 0.0), 1.0),
    }
    # rounded, so that 0.55 put together from hundredths reaches 0.55
    score = round(sum(WEIGHTS[name] * value for name, value in factors.items()), 9)
    level = _level(score, settings)
    override = None
    if about_collection(text, language):
        override, score = "database_meta", max(score, META_SCORE)
        level = _level(score, settings)
    elif why := _ambiguous(text, entities):
        override, score, level = "ambiguous", max(score, AMBIGUOUS_SCORE), "AMBIGUOUS"
        return ComplexityScore(
            score, level, factors, f"{_sentence(score, level, factors, found)}; ambiguous: {why}.", override
        )
    elif inner and level == "SIMPLE":
        override, score, level = SEVERAL_STEPS, settings.moderate_from, "MODERATE"
    also = {"database_meta": "; it asks about the collection itself", SEVERAL_STEPS: f"; it goes through {inner!r}"}
    told = f"{_sentence(score, level, factors, found)}{also.get(override or '', '')}."
    return ComplexityScore(score, level, factors, told, override)


def about_collection(text: str, language: str = DEFAULT) -> bool:
    """Whether it asks about the documents as such: how many, which."""
    return list_request(text, language) is not None


def keywords(folded: str, spoken: Sequence[Language] = ()) -> tuple[str, ...]:
    """What matches the keyword tables of these languages (none: all) in a folded text, each place and each expression once, in
    order."""
    codes = {one.code for one in spoken or languages()}
    asked = (pattern for (_, code), patterns in KEYWORDS.items() if code in codes for pattern in patterns)
    spans = sorted(
        {match.span() for pattern in asked if (match := pattern.search(folded))},
        key=lambda span: (span[0], -span[1]),
    )
    found: list[str] = []
    end = 0
    for start, stop in spans:
        if start >= end:
            found.append(folded[start:stop].strip())
            end = stop
    return tuple(dict.fromkeys(found))


def _level(score: float, settings: RoutingSettings) -> Level:
    if score >= settings.complex_from:
        return "COMPLEX"
    return "MODERATE" if score >= settings.moderate_from else "SIMPLE"


def _ambiguous(text: str, entities: Sequence[str]) -> str | None:
    """What is short or many-sided asks for clarification only when it names nothing."""
    folded = fold_line(window(text))
    if entities or not folded:
        return None
    if len(folded) < SHORT and _names_nothing(folded):
        return "short, and it names nothing"
    parts = [part.strip(" ,.!¿¡") for part in _QUESTION_ENDS.split(folded) if part.strip(" ,.!¿¡")]
    if len(_QUESTION_ENDS.findall(folded)) > 1 and any(_names_nothing(part) or " " not in part for part in parts):
        return "several questions, of which one names nothing"
    spoken = window(text).casefold().split()  # with accents: "où" is not "ou"
    if len(spoken) <= _OR_WORDS and any(spoken.count(one.questions.alternative) > 1 for one in languages()):
        return "alternatives without a subject"
    return None


def _names_nothing(folded: str) -> bool:
    """Whether no word has content; numbers and ideographs have."""
    letters = " ".join(word for word in words(folded) if len(word) > 1 or not word.isascii() or word.isdigit())
    return says_nothing(letters, _VAGUE)


def _sentence(score: float, level: Level, factors: Mapping[str, float], found: Sequence[str]) -> str:
    parts = ", ".join(
        f"{name.replace('_', ' ')} {WEIGHTS[name]:.2f} x {value:.2f}" for name, value in factors.items() if value
    )
    words = f" (keywords: {', '.join(found[:6])})" if found else ""
    return f"{level.capitalize()} at {score:.3f}: {parts or 'nothing speaks for complexity'}{words}"
