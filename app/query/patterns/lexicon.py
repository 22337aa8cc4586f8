"""Words that carry no subject: stop words, question words and politeness of English, French, Spanish and German."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from app.query.patterns.text import fold, folded_set, words

Language = Literal["en", "fr", "es", "de"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "fr", "es", "de")


def in_order(language: str) -> tuple[Language, ...]:
    """The four languages, the message's own first. Short messages are recognised badly, so the others stay in."""
    if language not in LANGUAGES:
        return LANGUAGES
    return (language, *(other for other in LANGUAGES if other != language))


QUESTION_WORDS: Final[Mapping[Language, frozenset[str]]] = {
    "en": folded_set("what who whom whose where when which why how whats whos wheres hows"),
    "fr": folded_set(
        "quel quelle quels quelles qui quoi que qu où quand combien pourquoi comment lequel laquelle lesquels lesquelles"
    ),
    "es": folded_set("qué que cuál cuáles dónde cuándo quién quiénes cómo cuánto cuánta cuántos cuántas adónde por"),
    "de": folded_set(
        "was wer wen wem wessen wo wann welche welcher welches welchen welchem warum wieso weshalb wie wieviel wieviele "
        "wohin woher womit wodurch wozu woran worin wofür wovon worauf worüber woraus worum wonach wobei wogegen weswegen"
    ),
}
"""With inflections. "por" stands for "por qué"."""

STOP_WORDS: Final[Mapping[Language, frozenset[str]]] = {
    "en": folded_set(
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
    "fr": folded_set(
        "a à ah ai aie ainsi alors après as au aussi autre autres aux avait avant avec avez avons bien bon c ça car ce "
        "ceci cela celle celui ces cet cette ceux chez ci comme comment d dans de depuis des donc dont du elle elles en "
        "encore entre es est et étaient était étais été être eu eux fait faire faut font fut il ils j je jusque l la là "
        "le les leur leurs lors lui m ma mais me même mes mieux moi moins mon n ne ni non nos notre nous oh on ont or "
        "ou où oui par parce pas peu peut peux plus plutôt pour pourquoi pouvez pu puis qu quand que quel quelle "
        "quelles quels qui quoi rien s sa sans se sera ses si son sont sous sur svp t ta te tes toi ton tous tout toute "
        "toutes très tu un une va vas vers veut veux voici voilà vos votre vous y stp combien exactement vraiment"
    ),
    "es": folded_set(
        "a ah al algo alguien alguna alguno ante antes aquel aquella aquello aquí así aún bien como cómo con cual cuál "
        "cuáles cuando cuándo cuánto cuánta cuántos cuántas de del desde donde dónde dos e el él ella ellas ello ellos "
        "en entonces entre era eran eres es esa esas ese eso esos esta está estaba estamos están estar estas este esto "
        "estos estoy fue fueron fui ha haber había hace hacer han has hasta hay he la las le les lo los luego más me mi "
        "mí mis mismo mucho muy nada ni no nos nosotros o oh os otra otro otras otros para pero poco por porque puede "
        "puedes pues que qué quien quién quiénes se sea según ser será si sí sido sin sino sobre sois solo somos son "
        "soy su sus también tan tanto te ti tiene tienes todo todos toda todas tu tú tus un una uno unos unas usted "
        "ustedes va vale vamos voy y ya yo favor exactamente realmente"
    ),
    "de": folded_set(
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
ALL_STOP_WORDS: Final = frozenset[str]().union(*STOP_WORDS.values())
ALL_QUESTION_WORDS: Final = frozenset[str]().union(*QUESTION_WORDS.values()) - {"que", "por", "qu", "was"}


def says_nothing(folded: str, besides: frozenset[str] = frozenset()) -> bool:
    """Whether all words of a folded text are stop words of one of the languages, or among `besides`."""
    found = [word.replace("'", "") for word in words(folded)]
    return any(all(word in stop or word in besides for word in found) for stop in STOP_WORDS.values())


YES_NO: Final[Mapping[Language, frozenset[str]]] = {
    "en": folded_set(
        "is are was were do does did has have had can could will would should shall may might isnt arent wasnt werent "
        "dont doesnt didnt hasnt havent cant couldnt wont wouldnt shouldnt am"
    ),
    "fr": folded_set(
        "est-ce est sont peut peut-on faut-il faut doit-on ai-je puis-je y-a-t-il dois-je existe-t-il a-t-on"
    ),
    "es": folded_set("es son está están fue era hay ha han puede pueden puedo tiene tienen debe existe existen"),
    "de": folded_set(
        "ist sind war waren hat haben hatte kann können könnte darf dürfen muss müssen soll sollte gibt wird werden "
        "wurde wurden gilt habe"
    ),
}
"""First words of questions that ask for yes or no."""

OR: Final[Mapping[Language, str]] = {"en": "or", "fr": "ou", "es": "o", "de": "oder"}


def likely_language(text: str) -> Language:
    """The language with the most of its stop words in the text; English where nothing tells."""
    found = words(fold(text[:2000]))
    counts = {language: sum(word in stop for word in found) for language, stop in STOP_WORDS.items()}
    counts["es"] += 2 * ("¿" in text or "ñ" in text)
    counts["de"] += "ß" in text
    return max(LANGUAGES, key=lambda language: counts[language])
