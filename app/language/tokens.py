"""Text as words: cut one way, and which of them say nothing. Pure.

    words           of a folded text, as people count them: "don't" is one word
    message_words   of a message, each with its place and its spelling
    terms           words and numbers of content, by which a question is compared with a text

Names and identifiers (names.py, identifiers.py) are read by the marks and capitals that these take off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from app.language.text import fold, folded_words

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

STOP_WORDS: Final[Mapping[Language, frozenset[str]]] = {
    language: folded_words(words) for language, words in _STOP.items()
}
ALL_STOP_WORDS: Final = frozenset[str]().union(*STOP_WORDS.values())

MESSAGE_STOP_WORDS: Final[Mapping[Language, frozenset[str]]] = {
    "en": folded_words(
        "a about again all also am an and any anybody anyone anything are arent as at be because been before being but "
        "by can cant could couldnt did didnt do does doesnt doing done dont for from get go got had has hasnt have he "
        "her here hers him his how hows i if im in into is isnt it its itself ive just let lets like may me might mine "
        "more most much must my no nor not now of off oh ok okay on one ones only or other our ours out over own please "
        "pls really same shall she should so some somebody someone something still such than that thats the their "
        "theirs them then there these they theyre this those though through to too under until up upon us very was "
        "wasnt we well were what whats when where wheres which while who whom whos whose why will with wont would yes "
        "yet you your youre yours actually maybe exactly else going "
        "ill id youve weve theyll hes shes whatre howre hows wheres didnt yeah yep nope sure"
    ),
    "fr": folded_words(
        "a à ah ai aie ainsi alors après as au aussi autre autres aux avait avant avec avez avons bien bon c ça car ce "
        "ceci cela celle celui ces cet cette ceux chez ci comme comment d dans de depuis des donc dont du elle elles en "
        "encore entre es est et étaient était étais été être eu eux fait faire faut font fut il ils j je jusque l la là "
        "le les leur leurs lors lui m ma mais me même mes mieux moi moins mon n ne ni non nos notre nous oh on ont or "
        "ou où oui par parce pas peu peut peux plus plutôt pour pourquoi pouvez pu puis qu quand que quel quelle "
        "quelles quels qui quoi rien s sa sans se sera ses si son sont sous sur svp t ta te tes toi ton tous tout toute "
        "toutes très tu un une va vas vers veut veux voici voilà vos votre vous y stp combien exactement vraiment"
    ),
    "es": folded_words(
        "a ah al algo alguien alguna alguno ante antes aquel aquella aquello aquí así aún bien como cómo con cual cuál "
        "cuáles cuando cuándo cuánto cuánta cuántos cuántas de del desde donde dónde dos e el él ella ellas ello ellos "
        "en entonces entre era eran eres es esa esas ese eso esos esta está estaba estamos están estar estas este esto "
        "estos estoy fue fueron fui ha haber había hace hacer han has hasta hay he la las le les lo los luego más me mi "
        "mí mis mismo mucho muy nada ni no nos nosotros o oh os otra otro otras otros para pero poco por porque puede "
        "puedes pues que qué quien quién quiénes se sea según ser será si sí sido sin sino sobre sois solo somos son "
        "soy su sus también tan tanto te ti tiene tienes todo todos toda todas tu tú tus un una uno unos unas usted "
        "ustedes va vale vamos voy y ya yo favor exactamente realmente"
    ),
    "de": folded_words(
        "ab aber ach alle allem allen alles als also am an andere anderen auch auf aus bei beim bin bis bist bitte da "
        "dabei dafür damit dann daran das dass davon dazu dein deine dem den denn der des dich die dies diese diesem "
        "diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einmal er es etwas euch euer für "
        "ganz gar genau gerade gern gewesen hab habe haben hat hatte hatten hier hin ich ihm ihn ihnen ihr ihre ihrem "
        "ihren ihrer im in ins ist ja jede jeder jedes jetzt kann kannst kein keine können könnte könnten könntest mal "
        "man mehr mein meine mich mir mit muss nach nein nicht nichts noch nun nur ob oder ohne schon sehr sein seine "
        "seinem seinen seiner seit sich sie sind so soll sollte sonst über um und uns unser unter viel vom von vor "
        "wann war waren warum was weg weil weiter welche welchem welchen welcher welches wem wen wenn wer werde werden "
        "wessen wie wieder wieso will wir wird wirklich wo woher wohin wozu wurde wurden würde würden zu zum zur zwischen"
    ),
}
"""Whole messages of these say nothing by themselves."""
ALL_MESSAGE_STOP_WORDS: Final = frozenset[str]().union(*MESSAGE_STOP_WORDS.values())

CHATTER: Final = folded_words("""
    please thanks okay ok so well now then know want need like say tell show give find let got get mean meant
    s'il svp merci alors donc veux voudrais dis dire donne donner montre montrer trouve savoir
    favor gracias pues entonces quiero quisiera dime decir dame muestra muéstrame saber
    bitte danke also dann denn mal eben sag sagen zeig zeige gib nenne nenn möchte will wissen eigentlich
    what's who's where's how's when's it's that's isn't don't doesn't didn't can't qu'est est-ce y-a-t-il a-t-il
""")
"""What people say around a question."""

# --- words of a folded text ---------------------------------------------------------------------------------------------

WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
"""A word as people count them; `don't` is one."""
_ELIDED: Final = frozenset(["qu", "jusqu", "lorsqu", "puisqu", "quelqu", "aujourd"])


def words(folded: str) -> list[str]:
    """Words of a folded text; elided articles and pronouns come off: "l'impact" is "l" and "impact"."""
    found: list[str] = []
    for match in WORD.finditer(folded):
        word = match.group()
        head, apostrophe, tail = word.partition("'")
        found += [head, tail] if apostrophe and (len(head) == 1 or head in _ELIDED) and len(tail) > 1 else [word]
    return found


def says_nothing(folded: str, besides: frozenset[str] = frozenset()) -> bool:
    """Whether all words of a folded text are stop words of one of the languages, or among `besides`."""
    found = [word.replace("'", "") for word in words(folded)]
    return any(all(word in stop or word in besides for word in found) for stop in MESSAGE_STOP_WORDS.values())


# --- words of a message -------------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(r"[^\W_](?:[\w'’.:/@+#&-]*[\w+#])?", re.UNICODE)
_ELISION: Final = re.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)['’](?=\w)", re.IGNORECASE)
_INVERTED: Final = re.compile(r"^(\w+)-(?:t-)?(ils?|elles?|on|je|tu|vous|nous|moi|lui|leur)$", re.IGNORECASE)
_CLITIC: Final = re.compile(r"['’](?:s|re|ve|ll|d|m)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Word:
    """`text` stands at start..end of the message; `folded` is it without case, accents, elided article and clitic."""

    text: str
    folded: str
    start: int
    end: int

    @property
    def content(self) -> bool:
        """Whether it says something: neither a function word nor chatter. "IT" and "US" are names."""
        if self.text.isupper() and len(self.text) > 1:
            return True
        return self.folded not in ALL_STOP_WORDS and self.folded not in CHATTER

    @property
    def capital(self) -> bool:
        """Whether it is written as a name or a number."""
        return self.text[0].isupper() or self.text[0].isdigit()


def message_words(text: str) -> list[Word]:
    """Words and numbers in order; elided articles ("l'hôpital") and clitics ("Apple's") are not part of them."""
    return list(_message_words(text))


def _message_words(text: str) -> Iterator[Word]:
    for match in _TOKEN.finditer(text):
        raw, start = match.group(), match.start()
        if fold(raw) in CHATTER:
            yield Word(raw, fold(raw), start, match.end())
            continue
        if inverted := _INVERTED.match(raw):  # "est-elle"
            head, tail = inverted[1], inverted[2]
            yield Word(head, fold(head), start, start + len(head))
            yield Word(tail, fold(tail), match.end() - len(tail), match.end())
            continue
        elided = _ELISION.match(raw)
        if elided:
            yield Word(elided.group(), fold(elided.group()[:-1]), start, start + elided.end())
            raw, start = raw[elided.end() :], start + elided.end()
        raw = _CLITIC.sub("", raw).rstrip(".:/-")
        if raw:
            yield Word(raw, fold(raw), start, start + len(raw))


def content_words(text: str) -> list[str]:
    """Words that say something, as they are spelled, each once."""
    found: dict[str, str] = {}
    for word in message_words(text):
        if word.content:
            found.setdefault(word.folded, word.text)
    return list(found.values())


# --- terms: what a question and a text have in common ------------------------------------------------------------------

_TERM = re.compile(r"\d+(?:[.,]\d+)+|\w+")
_ELIDED_ARTICLE = re.compile(r"\b(?:[A-Za-z]|qu|Qu|jusqu|lorsqu|puisqu)['’](?=\w)")
SHORTEST_STEM: Final = 4
"""Letters; shorter words must be equal to match."""


def terms(text: str) -> list[str]:
    """Folded words and numbers in order, without stop words and elided articles."""
    return [word for _, word in spelled_terms(text)]


def spelled_terms(text: str) -> list[tuple[str, str]]:
    """The same, each with its spelling in the text. "IT" and "US" are names, unless everything is in capitals."""
    loud = text.isupper()
    found = ((raw, fold(raw)) for raw in _TERM.findall(_ELIDED_ARTICLE.sub(" ", text)))
    return [
        (raw, word)
        for raw, word in found
        if word not in ALL_STOP_WORDS or (raw.isupper() and len(raw) > 1 and not loud)
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


def all_terms(text: str) -> list[str]:
    """Folded words and numbers in order, stop words included; elided articles are none."""
    return [fold(word) for word in _TERM.findall(_ELIDED_ARTICLE.sub(" ", text))]


def is_stop_word(word: str) -> bool:
    """Of a folded word: whether it says nothing about what a text is about, in any of the four languages."""
    return word in ALL_STOP_WORDS
