"""What two queries must share before one may answer for the other. Pure.

Embeddings hardly see a changed number, a "not", another name or a swapped order: "from 3 to 5" and "from 5 to 3" are
nearly one vector. The guards of a query are those words in their order, and must be equal. Too many of them cost a
hit, too few a wrong answer, so in doubt a word is a guard: a capitalised word is a name unless it is a common first one.
English, French, Spanish, German.
"""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words("""
    no not nor never none nobody nothing nowhere neither without except excluding cannot
    ne pas non ni jamais aucun aucune rien sans sauf personne
    nunca jamás ningún ninguna ninguno nada nadie sin tampoco excepto
    nicht kein keine keinen keinem keiner keines nie niemals niemand nichts nirgends ohne weder noch außer
""")

NUMBERS = _words("""
    zero one two three four five six seven eight nine ten eleven twelve hundred thousand million billion half twice
    first second third fourth fifth last next previous once both
    zéro un une deux trois quatre cinq sept huit neuf dix onze douze cent mille premier première dernier deuxième
    cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce cien ciento mil primero primera último segunda
    null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend erste ersten letzte zweite dritte
    january february march april may june july august september october november december
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    januar februar märz juni juli oktober dezember
    monday tuesday wednesday thursday friday saturday sunday today yesterday tomorrow
    lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo
    montag dienstag mittwoch donnerstag freitag samstag sonntag
""")

DIRECTIONS = _words("""
    before after more less fewer most least min max minimum maximum above below over under up down left right since until
    increase decrease rise fall gain lose open close start stop enable disable allow deny add remove with like unlike
    larger smaller higher lower older newer better worse best worst earliest latest cheapest
    avant après plus moins dessus dessous depuis jusque avec augmenter diminuer meilleur pire
    antes después más menos encima debajo desde hasta con aumentar disminuir mejor peor
    vor nach mehr weniger über unter seit bis mit höher niedriger besser schlechter
""")

COMMON_FIRST = _words("""
    what which who whom whose when where why how is are was were do does did can could should would will may has have had
    a an the in on at of for to from by and or if i we you it there tell show list give find explain describe compare name
    quel quelle quels quelles que qui quand où pourquoi comment est sont le la les un une des est-ce qu'est-ce combien
    qué cuál cuáles quién quiénes cuándo dónde cómo cuánto cuántos es son el los las cuántas
    was wer wen wem wann wo wie warum weshalb wieso welche welcher welches ist sind der die das ein eine gibt kann hat
""")

_WORD = re.compile(r"[^\W_](?:[\w'’.:/@+#-]*[\w+#])?", re.UNICODE)
_QUOTED = re.compile(r"[\"“„«‹`]([^\"“”„«»‹›`]+)[\"”“»›`]|(?<!\w)'([^']+)'(?!\w)")
_ENGLISH_NOT = re.compile(r"\w+n['’]t")


def guards(query: str) -> tuple[str, ...]:
    """Numbers, negations, directions, names, identifiers and quoted terms of a query, in their order."""
    found: list[str] = ["quote:" + " ".join((a or b).lower().split()) for a, b in _QUOTED.findall(query)]
    for place, match in enumerate(_WORD.finditer(query)):
        word = match.group()
        if (kind := _kind(word, first=place == 0)) is not None:
            found.append(f"{kind}:{word.lower()}")
    return tuple(found)


def _kind(word: str, *, first: bool) -> str | None:
    lower = word.lower()
    if lower in NEGATIONS or _ENGLISH_NOT.fullmatch(lower):
        return "not"
    if lower in NUMBERS or any(map(str.isdigit, word)):
        return "number"
    if lower in DIRECTIONS:
        return "direction"
    if any(sign in word for sign in "_./:@+#") or any(map(str.isupper, word[1:])):
        return "identifier"
    if word[0].isupper() and not (first and lower in COMMON_FIRST) and lower != "i":
        return "name"
    return None


def is_reordered(one: str, other: str) -> bool:
    """The same words in another order: "does the dog bite the man" is not "does the man bite the dog"."""
    first, second = _WORD.findall(one.lower()), _WORD.findall(other.lower())
    return first != second and sorted(first) == sorted(second)
