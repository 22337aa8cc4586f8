"""Answers about documents as such: how many there are, and which. Pure; the numbers come from SQL, so they are complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from app.answer.advice import join_or, known_language
from app.domain.document import Holdings, ListedDocument
from app.language.tokens import Language

LISTED: Final = 20
"""Documents that an answer names; the rest is counted."""

_KINDS: Final = {
    "application/pdf": "PDF",
    "text/markdown": "Markdown",
    "text/html": "HTML",
    "text/plain": "text",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
}
_HOLDS: Final[Mapping[Language, tuple[str, str]]] = {
    "en": ("The collection {name} holds {n} document", "The collection {name} holds {n} documents"),
    "fr": ("La collection {name} contient {n} document", "La collection {name} contient {n} documents"),
    "es": ("La colección {name} contiene {n} documento", "La colección {name} contiene {n} documentos"),
    "de": ("Die Sammlung {name} enthält {n} Dokument", "Die Sammlung {name} enthält {n} Dokumente"),
}
_ABOUT: Final[Mapping[Language, tuple[str, str]]] = {
    "en": ("{n} of {all} documents mentions {words}", "{n} of {all} documents mention {words}"),
    "fr": ("{n} document sur {all} mentionne {words}", "{n} documents sur {all} mentionnent {words}"),
    "es": ("{n} de {all} documentos menciona {words}", "{n} de {all} documentos mencionan {words}"),
    "de": ("{n} von {all} Dokumenten erwähnt {words}", "{n} von {all} Dokumenten erwähnen {words}"),
}
_MORE: Final[Mapping[Language, str]] = {
    "en": "and {n} more", "fr": "et {n} autres", "es": "y {n} más", "de": "und {n} weitere",
}  # fmt: skip
_UNREADY: Final[Mapping[Language, str]] = {
    "en": "{n} more could not be indexed, or not yet.",
    "fr": "{n} autres ne sont pas (encore) indexés.",
    "es": "Otros {n} no están indexados (todavía).",
    "de": "{n} weitere sind nicht oder noch nicht indexiert.",
}
_PAGES: Final[Mapping[Language, str]] = {"en": "pages", "fr": "pages", "es": "páginas", "de": "Seiten"}


def catalogue(language: str, collection: str, holdings: Holdings, listed: Sequence[ListedDocument]) -> str:
    """How many documents of which kinds, and which they are."""
    spoken = known_language(language)
    one, many = _HOLDS[spoken]
    said = (one if holdings.documents == 1 else many).format(name=join_or([collection], spoken), n=holdings.documents)
    kinds = Counter[str]()
    for media_type, count in holdings.media_types.items():
        kinds[kind(media_type)] += count
    if len(kinds) > 1:
        said += f" ({', '.join(f'{count} {name}' for name, count in kinds.most_common())})"
    lines = [f"{said}{':' if listed else '.'}", *_lines(listed, holdings.documents, spoken)]
    if holdings.unready:
        lines.append(_UNREADY[spoken].format(n=holdings.unready))
    return "\n".join(lines)


def mentions(language: str, words: Sequence[str], listed: Sequence[ListedDocument], total: int) -> str:
    """Which of all documents mention these words."""
    spoken = known_language(language)
    one, many = _ABOUT[spoken]
    quoted = ", ".join(join_or([word], spoken) for word in words)
    said = (one if len(listed) == 1 else many).format(n=len(listed), all=total, words=quoted)
    return "\n".join([f"{said}{':' if listed else '.'}", *_lines(listed, len(listed), spoken)])


def kind(media_type: str) -> str:
    """What people call a media type: PDF, Markdown, Python."""
    return _KINDS.get(media_type) or media_type.removeprefix("text/x-").removeprefix("text/").capitalize()


def _lines(listed: Sequence[ListedDocument], total: int, language: Language) -> list[str]:
    shown = listed[:LISTED]
    lines = [f"- {_line(item, language)}" for item in shown]
    return [*lines, f"- {_MORE[language].format(n=total - len(shown))}"] if total > len(shown) else lines


def _line(item: ListedDocument, language: Language) -> str:
    title = " ".join(item.title.split()) or item.external_id
    facts = [] if item.external_id == title else [item.external_id]
    facts += [f"{item.pages} {_PAGES[language]}"] if item.pages and item.pages > 1 else []
    return f"{title} ({', '.join(facts)})" if facts else title
