"""What kind of question it is, by rules. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.plan import Classification, FusionWeights, QueryType
from app.language.identify import LANGUAGES, in_order, likely_language
from app.language.lexicon import QUESTION_WORDS, YES_NO, compiled, table
from app.language.text import fold_line, window
from app.language.tokens import Language, words
from app.query.entities import entities

PATTERN, STRONG, FALLBACK_FACTUAL, FALLBACK_ANALYTICAL, NONE = 0.8, 0.8, 0.6, 0.5, 0.3
"""Confidences: a pattern matched; a factual question with a name, a date or a number; a question word; nothing
."""
_WHY_HOW: Final = frozenset(["why", "how", "hows", "pourquoi", "comment", "como", "warum", "wieso", "weshalb", "wie"])
_NAMED_HOW: Final = re.compile(
    r"^(?:wie (?:heiss|laute|nenn|nannt)\w*|comment (?:s'appel|se nomm|s'est appel)\w*|como se llama\w*)"
)
"""Asks for a name."""
_INVERSION: Final = re.compile(r"\w-(?:t-)?(?:ils?|elles?|on|je|tu|vous|nous)(?!\w)")
"""Un mineur peut-il ...?"""
_LEAD: Final = 4
"""Words among which a question word makes a question of a message without a question mark."""
_START: Final = re.compile(r"^(?:[¿¡\"'(\s]|and |so |but |et |y |und |ok,? |please |hi,? |hello,? |hey,? )*")


def classify(text: str, language: str) -> Classification:
    """Type and confidence of a question in `language` (ISO 639-1). Short texts are recognised badly, so patterns of the
    other three languages are tried when its own say nothing."""
    folded = fold_line(window(text))
    folded = folded[_START.match(folded).end() :]  # type: ignore[union-attr]
    names = entities(text, language, None)
    order = in_order(language)
    own = likely_language(text) == language
    if own and (found := _by_pattern(folded, order[0]) or _by_question_word(folded, order[0], names)):
        return found
    for one in order:
        if found := _by_pattern(folded, one):
            return found
    for one in order:
        if found := _by_question_word(folded, one, names):
            return found
    return Classification("UNKNOWN", NONE, "no pattern and no question word")


def _by_pattern(text: str, language: Language) -> Classification | None:
    """The type whose pattern opens the text (how to compare ...), else the first type that has one."""
    matches = {kind: match for kind in TYPES if (match := PATTERNS[language][kind].search(text))}
    if not matches:
        return None
    opening = [kind for kind in ("PROCEDURAL", "EXPLORATORY") if kind in matches and matches[kind].start() == 0]
    if "EXPLORATORY" in opening and "COMPARATIVE" in matches:
        opening.remove("EXPLORATORY")  # "summarize the differences between ..."
    kind = next((one for one in TYPES if one in opening), next(iter(matches)))
    return Classification(kind, PATTERN, f"{language}: {_said(matches[kind])}")


def _by_question_word(text: str, language: Language, names: tuple[str, ...]) -> Classification | None:
    if value := ASKED_VALUE[language].search(text):
        return Classification("FACTUAL", STRONG, f"{language}: asks for a date or a number, {_said(value)}")
    spoken = [word.replace("'", "") for word in words(text)]
    asks = text.rstrip(" \"')").endswith("?")
    lead = spoken if asks else spoken[:_LEAD]
    word = next((one for one in lead if _asks(one, lead, language)), None)
    inverted = language == "fr" and asks and word is None and _INVERSION.search(text) is not None
    if inverted or (spoken and spoken[0] in YES_NO[language] and word != spoken[0]):
        sure = STRONG if names else FALLBACK_FACTUAL
        return Classification("FACTUAL", sure, f"{language}: asks for yes or no, {spoken[0]!r} ...")
    if word is None:
        return None
    if (word in _WHY_HOW and not _NAMED_HOW.search(text)) or (word == "por" and language == "es"):
        return Classification("ANALYTICAL", FALLBACK_ANALYTICAL, f"{language}: question word {word!r}")
    if names:
        return Classification("FACTUAL", STRONG, f"{language}: question word {word!r} and the name {names[0]!r}")
    return Classification("FACTUAL", FALLBACK_FACTUAL, f"{language}: question word {word!r}")


def _asks(word: str, lead: list[str], language: Language) -> bool:
    if word not in QUESTION_WORDS[language]:
        return False
    if word in ("ou", "qu", "que"):  # or, that
        return lead[0] == word or lead[:2] == ["d", word] or language == "es"
    return word != "por" or "que" in lead


def _said(match: re.Match[str]) -> str:
    return repr(match.group().strip()[:60])


# --- patterns of the types in four languages (types.toml), over folded text -------------------------------------------

TYPES: Final[tuple[QueryType, ...]] = ("COMPARATIVE", "RELATIONAL", "ANALYTICAL", "PROCEDURAL", "EXPLORATORY")
"""In order of precedence, where patterns of several stand in a text."""

PATTERNS: Final[Mapping[Language, Mapping[QueryType, re.Pattern[str]]]] = {
    language: {kind: compiled(*table("types")[language][kind], german=language == "de") for kind in TYPES}
    for language in LANGUAGES
}

ASKED_VALUE: Final[Mapping[Language, re.Pattern[str]]] = {
    language: compiled(*table("types")["asked"][language], german=language == "de") for language in LANGUAGES
}
"""Questions for a date or a number."""


# --- how much text and how much graph a kind of question deserves -----------------------------------------------------

WEIGHTS: Final[Mapping[QueryType, FusionWeights]] = {
    "FACTUAL": FusionWeights(0.7, 0.3, "HYBRID"),
    "RELATIONAL": FusionWeights(0.2, 0.8, "HYBRID"),
    "COMPARATIVE": FusionWeights(0.3, 0.7, "HYBRID"),
    "EXPLORATORY": FusionWeights(0.1, 0.9, "GRAPH_ONLY"),
    "PROCEDURAL": FusionWeights(0.8, 0.2, "HYBRID"),
    "ANALYTICAL": FusionWeights(0.5, 0.5, "HYBRID"),
    "UNKNOWN": FusionWeights(0.6, 0.4, "HYBRID"),
}
"""CogniDoc's table; its "vector" is text here, both legs together."""
SURE: Final = 0.7
"""Confidence above which a factual question does without the graph."""


def fusion_weights(classification: Classification, entities: Sequence[str], *, has_graph: bool) -> FusionWeights:
    """By type of question, with overrides. A collection without a graph has text alone.

    EXPLORATORY is graph only (0/1): whoever retrieves runs the text legs all the same when the graph finds little.
    """
    if not has_graph:
        return FusionWeights(1.0, 0.0, "TEXT_ONLY")
    if classification.type == "FACTUAL" and classification.confidence > SURE:
        return FusionWeights(1.0, 0.0, "TEXT_ONLY")
    if classification.type == "EXPLORATORY":
        return FusionWeights(0.0, 1.0, "GRAPH_ONLY")
    if classification.type == "RELATIONAL" and not entities:
        return FusionWeights(0.5, 0.5, "HYBRID")
    return WEIGHTS[classification.type]
