"""Which language a message is in. Pure but for the identifier's model, which is loaded when words do not tell.

Messages are short, and statistics of letters are poor on short texts: "What is BM25?" is Hungarian to them. So question
words and function words of the first four languages (en, fr, es, de) decide where they are there, then the statistics
where there is enough text, else the language of the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from app.domain.language import CONFIGURATIONS
from app.language.tokens import STOP_WORDS, fold
from app.providers.langid import identify

SAMPLE: Final = 600
"""Characters that are looked at."""
MIN_LETTERS: Final = 20
MIN_PROBABILITY: Final = 0.7
CLEAR: Final = 1.0
"""Evidence that one language must be ahead of the next, in words that it alone has."""
SPARSE: Final = 0.2
"""Where less of the text is function words of the leading language, another one may be meant (Italian, Dutch)."""

_QUESTION_WORDS: Final[Mapping[str, str]] = {
    "en": "what who whom whose where when which why how is are does did do was were can could should would will has have "
    "what's who's where's how's there it's don't doesn't about the and of hello hi thanks summarize summarise compare "
    "list overview",
    "fr": "quoi quel quelle quels quelles qui où quand combien pourquoi comment lequel laquelle est-ce qu'est-ce sont et "
    "les des du une au aux ce cette il elle c'est quelqu'un dont signifie bonjour salut merci résume résumé résumer liste "
    "compare comparer peut-on prix document",
    "es": "qué cuál cuáles cuándo dónde cómo quién quiénes por cuánto cuánta cuántos cuántas el los las y del es son hay "
    "fue cuanto cuesta hola gracias buenos resume resumen resumir compara comparar lista documento",
    "de": "was wer wem wen wessen wo wohin woher wann warum weshalb wieso welche welcher welches wie wieviel und ist sind "
    "der die das ein eine gibt kann im am vom zum zur nicht für hallo danke zusammenfassung zusammenfassen vergleiche "
    "fasse liste dokument worauf womit wofür wogegen",
}
_ACCENTED: Final = frozenset(
    ["qué", "cuál", "cuáles", "cuándo", "dónde", "cómo", "quién", "quiénes", "cuánto", "où", "été"]
)
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ELIDED: Final = re.compile(r"\b(?:[cdjlmnst]|qu)['’]\w", re.IGNORECASE)
_MARKS: Final = (
    (re.compile("[áíóúñ]", re.IGNORECASE), "es", 0.75),
    (re.compile("ß|[äöü]", re.IGNORECASE), "de", 0.75),
    (re.compile("[œçêèàùîôû]", re.IGNORECASE), "fr", 0.75),
    (_ELIDED, "fr", 1.0),
)


def detect(message: str, default: str = "en") -> str:
    """ISO 639-1 code of the message's language; `default` where nothing tells."""
    sample = message[:SAMPLE]
    return by_words(sample) or _by_statistics(sample) or default


def by_words(message: str) -> str | None:
    """en, fr, es or de where its own words say so, else None. Loads nothing."""
    if "¿" in message[:SAMPLE] or "¡" in message[:SAMPLE]:
        return "es"
    words = _WORD.findall(message[:SAMPLE].lower().replace("’", "'"))
    evidence = _evidence(message[:SAMPLE], words)
    best, second = sorted(evidence, key=lambda code: -evidence[code])[:2]
    if evidence[best] - evidence[second] < CLEAR:
        return None
    known = sum(word in _function_words()[best] or fold(word) in STOP_WORDS[best] for word in words)  # type: ignore[index]
    return best if known >= SPARSE * len(words) or len(words) < 3 else None


def _evidence(message: str, words: list[str]) -> dict[str, float]:
    """A word counts for each language that has it, less where several do; question words count double."""
    weights = _weights()
    evidence = dict.fromkeys(_QUESTION_WORDS, 0.0)
    for word in words:
        for code, weight in weights.get(word, weights.get(fold(word), {})).items():
            evidence[code] += weight
    for pattern, code, weight in _MARKS:
        if pattern.search(message):
            evidence[code] += weight
    return evidence


@lru_cache(maxsize=1)
def _function_words() -> dict[str, frozenset[str]]:
    return {code: frozenset(words.split()) for code, words in _QUESTION_WORDS.items()}


@lru_cache(maxsize=1)
def _weights() -> dict[str, dict[str, float]]:
    """What a word says for each language. Accents that tell a question word from a relative one are kept."""
    found: dict[str, dict[str, float]] = {}
    for code, stop in STOP_WORDS.items():
        for word in stop:
            found.setdefault(word, {})[code] = 1.0
    for spoken, words in _function_words().items():
        for word in words:
            for spelling in {word} if word in _ACCENTED else {word, fold(word)}:
                found.setdefault(spelling, {})[spoken] = 2.0
    return {word: {code: weight / len(codes) ** 2 for code, weight in codes.items()} for word, codes in found.items()}


def _by_statistics(message: str) -> str | None:
    if sum(map(str.isalpha, message)) < (MIN_LETTERS if message.isascii() else 4):
        return None
    code, probability = identify(message)
    return code if probability >= MIN_PROBABILITY and (code in CONFIGURATIONS or len(code) == 2) else None
