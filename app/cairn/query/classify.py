"""What kind of question it is, by rules, and what weight text and graph get for it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cairn.domain.plan import Classification, FusionWeights, QueryType
from cairn.language.identify import languages_of, likely_language
from cairn.language.lexicon import Language, in_order, languages
from cairn.language.linear import bounded
from cairn.language.text import fold_line, window
from cairn.language.tokens import words
from cairn.query.entities import entities

# measured: tests/unit/test_routing.py
PATTERN, STRONG, FALLBACK_FACTUAL, FALLBACK_ANALYTICAL, NONE = 0.8, 0.8, 0.6, 0.5, 0.3
"""Confidences: a pattern matched; a factual question with a name, a date or a number; a question word; nothing."""
_LEAD: Final = 4  # measured: tests/unit/test_edges_query.py
"""Words among which a question word makes a question of a message without a question mark."""
_START: Final = bounded(
    rf"^(?:[¿¡\"'(\s]|{'|'.join(opener for one in languages() for opener in one.questions.openers)})*"
)


@dataclass(frozen=True, slots=True)
class _Rules:
    """Patterns of a language, over folded text."""

    types: Mapping[QueryType, re.Pattern[str]]
    value: re.Pattern[str]
    """Asks for a date or a number."""
    names: re.Pattern[str]
    """Asks how somebody is called."""
    inversion: re.Pattern[str]


TYPES: Final[tuple[QueryType, ...]] = ("COMPARATIVE", "RELATIONAL", "ANALYTICAL", "PROCEDURAL", "EXPLORATORY")
"""In order of precedence, where patterns of several stand in a text."""


def _rules_of(one: Language) -> _Rules:
    asked = one.questions
    written = (asked.comparative, asked.relational, asked.analytical, asked.procedural, asked.exploratory)
    return _Rules(
        {kind: one.compiled(*patterns) for kind, patterns in zip(TYPES, written, strict=True)},
        one.compiled(*asked.value),
        bounded(rf"^(?:{'|'.join(asked.names) or '(?!)'})"),
        bounded(asked.inversion or r"\A(?!)"),
    )


_RULES: Final = {one.code: _rules_of(one) for one in languages()}


def classify(text: str, language: str) -> Classification:
    """Type and confidence of a question in `language` (ISO 639-1). Short texts are recognised badly, so patterns of the
    other languages are tried when its own say nothing."""
    folded = fold_line(window(text))
    folded = folded[_START.match(folded).end() :]  # type: ignore[union-attr]
    names = entities(text, language, None)
    order = in_order(language)
    own = likely_language(text) == language
    if own and (found := _by_pattern(folded, order[0]) or _by_question_word(folded, order[0], names)):
        return found
    spoken = {one.code for one in languages_of(text, language)}
    order = tuple(one for one in order if one.code in spoken)
    for one in order:
        if found := _by_pattern(folded, one):
            return found
    for one in order:
        if found := _by_question_word(folded, one, names):
            return found
    return Classification("UNKNOWN", NONE, "no pattern and no question word")


def _by_pattern(text: str, language: Language) -> Classification | None:
    """The type whose pattern opens the text (how to compare ...), else the first type that has one."""
    matches = {kind: match for kind in TYPES if (match := _RULES[language.code].types[kind].search(text))}
    if not matches:
        return None
    opening = [kind for kind in ("PROCEDURAL", "EXPLORATORY") if kind in matches and matches[kind].start() == 0]
    if "EXPLORATORY" in opening and "COMPARATIVE" in matches:
        opening.remove("EXPLORATORY")  # "summarize the differences between ..."
    kind = next((one for one in TYPES if one in opening), next(iter(matches)))
    return Classification(kind, PATTERN, f"{language.code}: {_said(matches[kind])}")


def _by_question_word(text: str, language: Language, names: tuple[str, ...]) -> Classification | None:
    if value := _RULES[language.code].value.search(text):
        return Classification("FACTUAL", STRONG, f"{language.code}: asks for a date or a number, {_said(value)}")
    spoken = [word.replace("'", "") for word in words(text)]
    asks = text.rstrip(" \"')").endswith("?")
    lead = spoken if asks else spoken[:_LEAD]
    word = next((one for one in lead if _asks(one, lead, language)), None)
    inverted = asks and word is None and _RULES[language.code].inversion.search(text) is not None
    if inverted or (spoken and spoken[0] in language.questions.yes_no and word != spoken[0]):
        sure = STRONG if names else FALLBACK_FACTUAL
        return Classification("FACTUAL", sure, f"{language.code}: asks for yes or no, {spoken[0]!r} ...")
    if word is None:
        return None
    if word in language.questions.why and not _RULES[language.code].names.search(text):
        return Classification("ANALYTICAL", FALLBACK_ANALYTICAL, f"{language.code}: question word {word!r}")
    if names:
        return Classification("FACTUAL", STRONG, f"{language.code}: question word {word!r} and the name {names[0]!r}")
    return Classification("FACTUAL", FALLBACK_FACTUAL, f"{language.code}: question word {word!r}")


def _asks(word: str, lead: list[str], language: Language) -> bool:
    asked = language.questions
    if word not in asked.words:
        return False
    if word in asked.first_only:  # or, that
        return lead[0] == word or lead[:2] == ["d", word]
    return word not in asked.words_with or asked.words_with[word] in lead


def _said(match: re.Match[str]) -> str:
    return repr(match.group().strip()[:60])


# --- how much text and how much graph it deserves ---------------------------------------------------------------------

WEIGHTS: Final[Mapping[QueryType, FusionWeights]] = {  # measured: tests/unit/test_routing.py
    "FACTUAL": FusionWeights(0.7, 0.3, "HYBRID"),
    "RELATIONAL": FusionWeights(0.2, 0.8, "HYBRID"),
    "COMPARATIVE": FusionWeights(0.3, 0.7, "HYBRID"),
    "EXPLORATORY": FusionWeights(0.0, 1.0, "GRAPH_ONLY"),
    "PROCEDURAL": FusionWeights(0.8, 0.2, "HYBRID"),
    "ANALYTICAL": FusionWeights(0.5, 0.5, "HYBRID"),
    "UNKNOWN": FusionWeights(0.6, 0.4, "HYBRID"),
}
"""CogniDoc's table; its "vector" is text here, both legs together. For EXPLORATORY, .1 and .9 there, it asks the graph alone."""
SURE: Final = 0.7  # measured: tests/unit/test_routing.py
"""Confidence above which a factual question does without the graph."""


def fusion_weights(classification: Classification, entities: Sequence[str], *, has_graph: bool) -> FusionWeights:
    """By type of question, with overrides. A collection without a graph has text alone.

    EXPLORATORY is graph only (0/1): whoever retrieves runs the text legs all the same when the graph finds little.
    """
    if not has_graph:
        return FusionWeights(1.0, 0.0, "TEXT_ONLY")
    if classification.type == "FACTUAL" and classification.confidence > SURE:
        return FusionWeights(1.0, 0.0, "TEXT_ONLY")
    if classification.type == "RELATIONAL" and not entities:
        return FusionWeights(0.5, 0.5, "HYBRID")
    return WEIGHTS[classification.type]
