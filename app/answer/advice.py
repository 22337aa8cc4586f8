"""What to do when the documents do not answer, in the language of the message. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.answer import Draft
from app.language.lexicon import REFUSALS
from app.language.tokens import Language

_EMPTY: Final[Mapping[Language, str]] = {
    "en": "The collection “{name}” holds no documents yet. Add some with `cairn ingest PATH --collection {name}` or "
    "POST /collections/{name}/documents, then ask again.",
    "fr": "La collection « {name} » ne contient encore aucun document. Ajoutez-en avec `cairn ingest PATH --collection "
    "{name}` ou POST /collections/{name}/documents, puis reposez la question.",
    "es": "La colección «{name}» aún no contiene documentos. Añada algunos con `cairn ingest PATH --collection {name}` o "
    "POST /collections/{name}/documents y vuelva a preguntar.",
    "de": "Die Sammlung „{name}“ enthält noch keine Dokumente. Fügen Sie welche hinzu, mit `cairn ingest PATH "
    "--collection {name}` oder POST /collections/{name}/documents, und fragen Sie dann noch einmal.",
}
_OTHERS: Final[Mapping[Language, str]] = {
    "en": "There are documents in {names}.",
    "fr": "Il y a des documents dans {names}.",
    "es": "Hay documentos en {names}.",
    "de": "Dokumente gibt es in {names}.",
}
_REPHRASE: Final[Mapping[Language, str]] = {
    "en": "Try other words, or ask about what is there, such as {titles}.",
    "fr": "Essayez d'autres mots, ou interrogez ce qui s'y trouve, comme {titles}.",
    "es": "Pruebe con otras palabras o pregunte por lo que contienen, como {titles}.",
    "de": "Versuchen Sie es mit anderen Worten, oder fragen Sie nach dem, was darin steht, etwa {titles}.",
}
_OR: Final[Mapping[Language, str]] = {"en": "or", "fr": "ou", "es": "o", "de": "oder"}
_QUOTES: Final[Mapping[Language, str]] = {"en": "“{}”", "fr": "« {} »", "es": "«{}»", "de": "„{}“"}
LONGEST_TITLE: Final = 80


def known_language(language: str) -> Language:
    """The language if there are texts in it, else English."""
    return next((known for known in REFUSALS if known == language), "en")


def empty_collection(language: str, collection: str, others: Sequence[str]) -> Draft:
    """The draft for a collection without documents. `others`: collections that have some."""
    spoken = known_language(language)
    advice = _EMPTY[spoken].format(name=collection)
    if others:
        advice += " " + _OTHERS[spoken].format(names=join_or(others, spoken))
    reasons = (f"The collection {collection!r} is empty.",)
    return Draft(f"{REFUSALS[spoken]} {advice}", (), False, 0.0, reasons)


def rephrase(language: str, titles: Sequence[str]) -> str:
    """What to say after a refusal; empty where there is no document to name."""
    spoken = known_language(language)
    return _REPHRASE[spoken].format(titles=join_or(titles, spoken)) if titles else ""


def join_or(names: Sequence[str], language: Language) -> str:
    """Names in quotation marks of the language: “a”, “b” or “c”."""
    quoted = [_QUOTES[language].format(" ".join(name.split())[:LONGEST_TITLE]) for name in names]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {_OR[language]} {quoted[-1]}"
