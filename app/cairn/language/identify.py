"""Which language something is in: a message, a text, a document, a passage; and how PostgreSQL stems it.

Messages are short, and statistics of letters are poor on short texts: "What is BM25?" is Hungarian to them. So question
words and function words of the known languages decide where they are there, then the statistics where there is enough
text, else the language of the collection. Documents are long: the statistics decide. Their model (py3langid) is loaded
when it is first asked: about a second, then under 1 ms. All else is pure.
"""

from __future__ import annotations

import itertools
import re
from functools import cache, lru_cache
from typing import Any, Final

from cairn.language import lexicon
from cairn.language.text import fold
from cairn.language.tokens import IDLE_WORDS, STOP_WORDS, all_terms

CONFIGURATIONS = {
    "ar": "arabic",
    "hy": "armenian",
    "eu": "basque",
    "ca": "catalan",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "et": "estonian",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "ga": "irish",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "no": "norwegian",
    "nb": "norwegian",
    "nn": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "es": "spanish",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""The snowball configurations that PostgreSQL 18 ships, by ISO 639-1 code."""
WITHOUT_STEMMER: Final = "simple"

# --- statistics of letters ---------------------------------------------------------------------------------------------

SAMPLE_BYTES = 2048
"""More changes no verdict on running text."""


def identify(text: str) -> tuple[str, float]:
    """The code of the likeliest language of the beginning of `text`, ISO 639-1 where there is one, and its probability.

    Probabilities are calibrated for length: those of short texts are low.
    """
    sample = text[:SAMPLE_BYTES].encode("utf-8", "ignore")[:SAMPLE_BYTES].decode("utf-8", "ignore")
    code, probability = _identifier().classify(sample)
    return str(code), float(probability)


def warm() -> None:
    """Load the model now; for a thread."""
    _identifier()


def is_warm() -> bool:
    """Whether `identify` answers at once."""
    return _identifier.cache_info().currsize > 0


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


# --- a message ---------------------------------------------------------------------------------------------------------

SAMPLE: Final = 600
"""Characters that are looked at."""
MIN_LETTERS: Final = 20
MIN_PROBABILITY: Final = 0.7
CLEAR: Final = 1.0
"""Evidence that one language must be ahead of the next, in words that it alone has."""
SPARSE: Final = 0.2
"""Where less of the text is function words of the leading language, another one may be meant (Italian, Dutch)."""

FEW: Final = 2
"""Words of a message whose language one of them does not tell."""

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_IDENTIFIER: Final = re.compile(r"`[^`]*+`|(?<![A-Za-z0-9])[A-Za-z0-9]*+_\w++")
"""Names of settings and code, which are in English wherever they are spoken of."""
_LETTERS_WORTH, _ELISION_WORTH, _OPENING_WORTH = 0.75, 1.0, 1.5
"""Evidence, in words, of letters and elided articles of a language, and of a word that opens a question in it."""


def detect(message: str, default: str = "en") -> str:
    """ISO 639-1 code of the message's language; `default` where nothing tells."""
    sample = message[:SAMPLE]
    return by_words(sample) or _by_statistics(sample) or default


def by_words(message: str) -> str | None:
    """One of the known languages where the message's own words say so, else None. Loads nothing."""
    message = _IDENTIFIER.sub(" ", message[:SAMPLE])
    for sign, code in _own_signs().items():
        if sign in message:
            return code
    words = _WORD.findall(message.lower().replace("’", "'"))
    evidence = _evidence(message, words)
    best, second = sorted(evidence, key=lambda code: -evidence[code])[:2]
    if evidence[best] - evidence[second] < CLEAR:
        return None
    spoken = lexicon.language(best).identify.words
    known = sum(word in spoken or fold(word) in STOP_WORDS[best] for word in words)
    known += words[0] in lexicon.language(best).identify.opening if words else 0
    return best if known >= SPARSE * len(words) or len(words) < 3 else None


def languages_of(message: str, default: str) -> tuple[lexicon.Language, ...]:
    """Those whose words may be commands in a message: its own, where it has words that tell; of a few words that are everyday
    ones in `default`, that of the collection or of what was said, or in English, these two; else these first, then the others."""
    codes = dict.fromkeys((lexicon.language(default).code, lexicon.DEFAULT))
    first = tuple(lexicon.language(code) for code in codes)
    words = [word.lower() for word in _WORD.findall(message[:SAMPLE])]
    if len(words) <= FEW and any(word in one.words.everyday for word in words for one in first):
        return first
    if spoken := by_words(message):
        return (lexicon.language(spoken),)
    return (*first, *(one for one in lexicon.languages() if one.code not in codes))


def _evidence(message: str, words: list[str]) -> dict[str, float]:
    """A word counts for each language that has it, less where several do; question words count double."""
    weights = _weights()
    evidence = {one.code: 0.0 for one in lexicon.languages()}
    for word in words:
        for code, weight in weights.get(word, weights.get(fold(word), {})).items():
            evidence[code] += weight
    for one in lexicon.languages() if len(words) > FEW or "?" in message else ():
        if words and words[0] in one.identify.opening:
            evidence[one.code] += _OPENING_WORTH
    for pattern, code, weight in _marks():
        if pattern.search(message):
            evidence[code] += weight
    return evidence


@cache
def _own_signs() -> dict[str, str]:
    return {sign: one.code for one in lexicon.languages() for sign in one.identify.own}


@cache
def _marks() -> list[tuple[re.Pattern[str], str, float]]:
    """Letters and elided articles that speak for a language, each wherever it stands."""
    marks = []
    for one in lexicon.languages():
        if letters := one.identify.letters:
            marks.append((re.compile(f"[{letters}]", re.IGNORECASE), one.code, _LETTERS_WORTH))
        if elided := "|".join(sorted(one.words.elided - _elided_elsewhere(one.code))):
            marks.append((re.compile(rf"\b(?:{elided})['’]\w", re.IGNORECASE), one.code, _ELISION_WORTH))
    return marks


def _elided_elsewhere(code: str) -> frozenset[str]:
    """What a language that comes before elides too: l' speaks for the first."""
    earlier = itertools.takewhile(lambda one: one.code != code, lexicon.languages())
    return frozenset(word for one in earlier for word in one.words.elided)


@cache
def _weights() -> dict[str, dict[str, float]]:
    """What a word says for each language. Accents that tell a question word from a relative one are kept."""
    found: dict[str, dict[str, float]] = {}
    for code, stop in STOP_WORDS.items():
        for word in stop:
            found.setdefault(word, {})[code] = 1.0
    for one in lexicon.languages():
        for word in one.identify.words:
            for spelling in {word} if word in one.identify.accented else {word, fold(word)}:
                found.setdefault(spelling, {})[one.code] = 2.0
    return {word: {code: weight / len(codes) ** 2 for code, weight in codes.items()} for word, codes in found.items()}


def _by_statistics(message: str) -> str | None:
    if sum(map(str.isalpha, message)) < (MIN_LETTERS if message.isascii() else 4):
        return None
    code, probability = identify(message)
    return code if probability >= MIN_PROBABILITY and (code in CONFIGURATIONS or len(code) == 2) else None


_SPOKEN: Final = {code: STOP_WORDS[code] | IDLE_WORDS[code] for code in STOP_WORDS}
"""Words that say nothing of each language."""


@lru_cache(maxsize=64)  # asked for several times in each search
def likely_language(text: str) -> str:
    """The language with the most of its words that say nothing in the text; the default one where nothing tells."""
    found = all_terms(text[:2000])
    worth = {
        one.code: sum(word in _SPOKEN[one.code] for word in found)
        + max((worth for sign, worth in one.identify.telling.items() if sign in text), default=0)
        for one in lexicon.languages()
    }
    return max(worth, key=lambda code: worth[code])  # of equals the first


FEWEST_MARKERS: Final = 3
SURE: Final = 1.5
"""So many times the stop words of the next best language make a language certain; many words belong to two."""


def certain_language(text: str) -> str | None:
    """The language of a text where its stop words make it certain; None for short texts, names, code, others."""
    found = all_terms(text[:4000])
    counts = sorted(((sum(w in STOP_WORDS[x] for w in found), x) for x in STOP_WORDS), reverse=True)
    (best, language), (second, _) = counts[0], counts[1]
    return language if best >= max(FEWEST_MARKERS, SURE * second) and best >= 0.1 * len(found) else None


# --- documents and passages --------------------------------------------------------------------------------------------

_LETTERS = 20
"""Shorter texts keep the default: a title or a list of names looks like any language."""
_PROBABILITY = 0.7
"""The identifier's probabilities are calibrated for length, so that short texts seldom reach it."""
PASSAGE_LETTERS, PASSAGE_PROBABILITY = 80, 0.95
"""A passage is taken for another language than its document only on good evidence: names, quotations and tables of an
English text look like anything."""


def detect_language(text: str, default: str) -> tuple[str | None, str]:
    """(ISO 639-1 code, text search configuration) of `text`; (None, `default`) where it is not certain.

    A language that PostgreSQL has no stemmer for gets the configuration `simple`: English suffixes and stop words
    would only damage it. Only the beginning is looked at, and the middle where that is not certain (a page that begins
    with its menu).
    """
    starts = (0, len(text) // 2) if len(text) > 2 * SAMPLE_BYTES else (0,)
    for start in starts:
        code = _language(text[start : start + SAMPLE_BYTES])
        if code:
            return code, CONFIGURATIONS.get(code, WITHOUT_STEMMER)
    return None, default


def passage_configuration(text: str, of_document: str) -> str:
    """Text search configuration of a passage: its document's, unless it is clearly in another language.

    Stop words are looked at first: where they are clearly those of the document, the statistics, which take four times as long,
    say the same (of all 9,288 such passages of eight sets in four languages).
    """
    spoken = certain_language(text[:SAMPLE_BYTES])
    if spoken and CONFIGURATIONS.get(spoken) == of_document:
        return of_document
    code = _language(text, PASSAGE_LETTERS, PASSAGE_PROBABILITY)
    return CONFIGURATIONS.get(code, WITHOUT_STEMMER) if code else of_document


def passage_language(text: str) -> str | None:
    """ISO 639-1 code of the language that a passage is clearly in; None for tables, names, code and other texts that look like
    anything."""
    return certain_language(text[:SAMPLE_BYTES]) or _language(text, PASSAGE_LETTERS, PASSAGE_PROBABILITY)


def _language(text: str, letters: int = _LETTERS, certainty: float = _PROBABILITY) -> str | None:
    """ISO 639-1 code where it is certain."""
    sample = text.encode("utf-8", "ignore")[:SAMPLE_BYTES].decode("utf-8", "ignore")
    if sum(map(str.isalpha, sample)) < letters:
        return None
    code, probability = identify(sample)
    # other codes than ISO 639-1's are small languages, which more often are an error than the truth
    return code if probability >= certainty and len(code) == 2 else None
