"""Words of questions and sentences, and how alike two words are. Pure; English, French, Spanish and German.

There is no stemmer here: inflections of these languages mostly share a prefix, and a German compound holds its parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final, Literal

Language = Literal["en", "fr", "es", "de"]

_STOP: Final[Mapping[Language, str]] = {
    "en": "a about after all also an and any are as at be been before being both but by can could did do does doing "
    "done during each for from further get give given had has have having he her here hers him his how i if in "
    "into is it its itself just many may me might more most much must my no nor not of off on once one only or "
    "other our out over own per same shall she should so some such tell than that the their them then there these "
    "they this those through to too under until up us very was we were what when where which while who whom whose "
    "why will with would you your please explain describe define mean means name list say said kind type",
    "fr": "a à au aux avec c ce ces cet cette ceux comme comment combien d dans de des donc dont du elle elles en est "
    "et être étaient était été eu eux fait faire faut font fut il ils j je l la le les leur leurs lors lui m ma "
    "mais me même mes moi mon n ne ni nos notre nous on ont ou où par pas peut peuvent plus pour pourquoi qu "
    "quand que quel quelle quelles quels qui quoi s sa sans se ses si son sont sous sur t ta te tes ton tu un une "
    "vos votre vous y doit entre ainsi aussi quelqu qu'est sera seront avait avaient",
    "es": "a al algo ante antes aquel aquella como cómo con cual cuál cuáles cuando cuándo cuanto cuánta cuántas "
    "cuánto cuántos de del desde donde dónde dos durante e el él ella ellas ellos en entre era eran es esa ese eso "
    "esta está estaba estado están estas este esto estos fue fueron ha había haber han hasta hay la las le les lo "
    "los más me mi muy ni no nos o otra otras otro otros para pero por porque puede pueden qué que quien quién "
    "quiénes se según ser si sí sido sin sobre son su sus también tan tiene tienen tras tu tuvo un una unas uno "
    "unos y ya hacer hace hizo llama llamaba tener tipo",
    "de": "ab aber als also am an auch auf aus bei beim bin bis bist da dabei damit dann das dass dem den denn der des "
    "dessen deren die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines "
    "er es für gab gibt hat hatte hatten haben her hier hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in "
    "indem ist ja jede jeder jedes kann kein keine können man mehr mit muss nach nicht noch nun nur ob oder ohne "
    "sein seine seinem seinen seiner sehr sich sie sind so sowie über um und uns unter viel viele vielen vom von "
    "vor wann war waren warum was wegen weil welche welchem welchen welcher welches wem wen wenn wer werden fand "
    "statt lautet lautete heißt hieß liegt macht machte lange hoch gilt wessen wie wieder wird wo wobei wodurch "
    "woher wohin womit wozu worden wurde wurden zu zum zur zwischen",
}
"""Words that say nothing about what a question is about."""

_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+")
_ELISION = re.compile(r"\b(?:[A-Za-z]|qu|Qu|jusqu|lorsqu|puisqu)['’](?=\w)")
SHORTEST_STEM: Final = 4
"""Letters; shorter words must be equal to match."""


def fold(word: str) -> str:
    """Case and accents removed, so that "Égalité" equals "egalite"."""
    bare = unicodedata.normalize("NFKD", word.casefold())
    return bare if bare.isascii() else "".join(c for c in bare if not unicodedata.combining(c))


STOP_WORDS: Final[Mapping[Language, frozenset[str]]] = {
    language: frozenset(fold(word) for word in words.split()) for language, words in _STOP.items()
}
_ALL_STOP_WORDS: Final = frozenset().union(*STOP_WORDS.values())


def language_of(question: str) -> Language:
    """The language with the most stop words in the text; English where nothing tells."""
    words = [fold(word) for word in _WORD.findall(_ELISION.sub("", question))]
    marks = {"es": 2.0 * ("¿" in question or "ñ" in question), "de": 1.0 * ("ß" in question)}

    def score(language: Language) -> float:
        return sum(word in STOP_WORDS[language] for word in words) + marks.get(language, 0.0)

    return max(STOP_WORDS, key=score)


def words(text: str) -> list[str]:
    """Folded words and numbers in order, without stop words and elided articles."""
    return [word for _, word in spelled_words(text)]


def spelled_words(text: str) -> list[tuple[str, str]]:
    """The same, each with its spelling in the text. "IT" and "US" are names, unless everything is in capitals."""
    loud = text.isupper()
    found = ((raw, fold(raw)) for raw in _WORD.findall(_ELISION.sub(" ", text)))
    return [
        (raw, word)
        for raw, word in found
        if word not in _ALL_STOP_WORDS or (raw.isupper() and len(raw) > 1 and not loud)
    ]


def likeness(a: str, b: str) -> float:
    """How far `b` counts as the word `a`, 0..1: equal 1, inflected .9, one begins the other .7, compounds .5."""
    if a == b:
        return 1.0
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    if len(short) < SHORTEST_STEM or not short.isalpha() or not long.isalpha():
        return 0.0
    common = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    if common >= max(SHORTEST_STEM, 0.7 * len(long)):
        return 0.9
    if common == len(short) and common > SHORTEST_STEM:
        return 0.7
    return 0.5 if common > SHORTEST_STEM + 1 or long.endswith(short) else 0.0


def alike(word: str, vocabulary: Iterable[str]) -> dict[str, float]:
    """The words of the vocabulary that match `word`, with their likeness."""
    return {other: value for other in vocabulary if (value := likeness(word, other)) > 0}


def all_words(text: str) -> list[str]:
    """Folded words and numbers in order, stop words included; elided articles are none."""
    return [fold(word) for word in _WORD.findall(_ELISION.sub(" ", text))]


def is_stop_word(word: str) -> bool:
    """Of a folded word: whether it says nothing about what a text is about, in any of the four languages."""
    return word in _ALL_STOP_WORDS


FEWEST_MARKERS: Final = 3
SURE: Final = 1.5
"""So many times the stop words of the next best language make a language certain; many words belong to two."""


def known_language(text: str) -> Language | None:
    """The language of a text where its stop words make it certain; None for short texts, names, code, others."""
    found = [fold(word) for word in _WORD.findall(_ELISION.sub(" ", text[:4000]))]
    counts = sorted(((sum(w in STOP_WORDS[x] for w in found), x) for x in STOP_WORDS), reverse=True)
    (best, language), (second, _) = counts[0], counts[1]
    return language if best >= max(FEWEST_MARKERS, SURE * second) and best >= 0.1 * len(found) else None
