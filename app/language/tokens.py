"""Function words of English, French, Spanish and German, and words without their case and accents. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
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


def fold(word: str) -> str:
    """Case and accents removed, so that "Égalité" equals "egalite"."""
    bare = unicodedata.normalize("NFKD", word.casefold())
    return bare if bare.isascii() else "".join(c for c in bare if not unicodedata.combining(c))


def folded_words(text: str) -> frozenset[str]:
    """The words of a table, folded."""
    return frozenset(fold(word) for word in text.split())


STOP_WORDS: Final[Mapping[Language, frozenset[str]]] = {
    language: folded_words(words) for language, words in _STOP.items()
}
ALL_STOP_WORDS: Final = frozenset().union(*STOP_WORDS.values())
