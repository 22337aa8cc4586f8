"""What is known of languages, as data: words, phrases and patterns. Nothing here decides."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from app.language.text import folded_words
from app.language.tokens import Language

_NAME: Final = re.compile(r"<(\w+)>")


@cache
def table(name: str) -> dict[str, Any]:
    """`<name>.toml`, with `<word>` replaced by what its section `define` says. Raises KeyError for an unknown word in a
    file that defines any."""
    raw = tomllib.loads((resources.files(__package__) / "data" / f"{name}.toml").read_text(encoding="utf-8"))
    defined = raw.pop("define", None)
    return {key: _filled(value, defined) for key, value in raw.items()} if defined else raw


def _filled(value: Any, defined: dict[str, str]) -> Any:
    if isinstance(value, str):
        return _NAME.sub(lambda match: defined[match.group(1)], value)
    if isinstance(value, list):
        return [_filled(item, defined) for item in value]
    return {key: _filled(item, defined) for key, item in value.items()}


_UMLAUTS: Final = {"ä": "(?:a|ae)", "ö": "(?:o|oe)", "ü": "(?:u|ue)"}


def compiled(*patterns: str, german: bool = False) -> re.Pattern[str]:
    """One pattern over folded text out of alternatives written with accents. Whole words: a boundary is put around.

    German umlauts may be written as two letters in the text.
    """
    return re.compile("|".join(f"(?:{_bounded(pattern, german)})" for pattern in patterns))


def _bounded(pattern: str, german: bool) -> str:
    pattern = pattern.replace("ß", "ss")
    if german:
        for umlaut, spellings in _UMLAUTS.items():
            pattern = pattern.replace(umlaut, spellings)
    bare = "".join(c for c in unicodedata.normalize("NFKD", pattern) if not unicodedata.combining(c))
    before = "" if bare.startswith("^") else r"(?<!\w)"
    after = "" if bare.endswith("$") else r"(?!\w)"
    return f"{before}{bare}{after}"


QUESTION_WORDS: Final[Mapping[Language, frozenset[str]]] = {
    "en": folded_words("what who whom whose where when which why how whats whos wheres hows"),
    "fr": folded_words(
        "quel quelle quels quelles qui quoi que qu où quand combien pourquoi comment lequel laquelle lesquels lesquelles"
    ),
    "es": folded_words("qué que cuál cuáles dónde cuándo quién quiénes cómo cuánto cuánta cuántos cuántas adónde por"),
    "de": folded_words(
        "was wer wen wem wessen wo wann welche welcher welches welchen welchem warum wieso weshalb wie wieviel wieviele "
        "wohin woher womit wodurch wozu woran worin wofür wovon worauf worüber woraus worum wonach wobei wogegen weswegen"
    ),
}
"""With inflections. "por" stands for "por qué"."""

ALL_QUESTION_WORDS: Final = frozenset[str]().union(*QUESTION_WORDS.values()) - {"que", "por", "qu", "was"}

YES_NO: Final[Mapping[Language, frozenset[str]]] = {
    "en": folded_words(
        "is are was were do does did has have had can could will would should shall may might isnt arent wasnt werent "
        "dont doesnt didnt hasnt havent cant couldnt wont wouldnt shouldnt am"
    ),
    "fr": folded_words(
        "est-ce est sont peut peut-on faut-il faut doit-on ai-je puis-je y-a-t-il dois-je existe-t-il a-t-on"
    ),
    "es": folded_words("es son está están fue era hay ha han puede pueden puedo tiene tienen debe existe existen"),
    "de": folded_words(
        "ist sind war waren hat haben hatte kann können könnte darf dürfen muss müssen soll sollte gibt wird werden "
        "wurde wurden gilt habe"
    ),
}
"""First words of questions that ask for yes or no."""

OR: Final[Mapping[Language, str]] = {"en": "or", "fr": "ou", "es": "o", "de": "oder"}


REFUSALS: Final[Mapping[Language, str]] = {
    "en": "I don't know based on the provided documents.",
    "fr": "Je ne sais pas d'après les documents fournis.",
    "es": "No lo sé según los documentos proporcionados.",
    "de": "Das weiß ich anhand der vorliegenden Dokumente nicht.",
}
"""What Cairn says where the documents do not answer."""
