"""Which documents a message names, and which topic it has besides. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from cairn.domain.document import ListedDocument
from cairn.language.lexicon import every
from cairn.language.text import fold
from cairn.language.tokens import alike, spelled_terms, terms

_DOCUMENT: Final = every(lambda one: one.documents.called)
_META: Final = _DOCUMENT | every(lambda one: one.documents.verbs)
SHORTEST_NAME: Final = 3
"""Letters of a title or file name that is looked for in a message."""
SHORTEST_PART: Final = 4
"""Letters of a word that is looked for within those of a name."""


def topic(message: str) -> list[str]:
    """Words of the message, as spelled, that are about something, not about documents as such."""
    return [raw for raw, word in spelled_terms(message) if word not in _META]


def find_named_documents(message: str, documents: Sequence[ListedDocument]) -> list[ListedDocument]:
    """Documents whose title, identity or file name stands in the message; else those whose name holds all words of its
    topic, if these are not most of them. Empty where it names none.

    "Summarise parental leave" names no document "Leave", but has a subject; "summarise the document on leave" names it.
    """
    said = f" {_plain(message)} "
    wanted = [fold(word) for word in topic(message)]
    spoken = []
    for item in documents:
        name = max((name for name in _names(item) if f" {name} " in said), key=len, default="")
        beside = set(wanted) - set(name.split())
        if name and (
            not beside or ("." in item.external_id and _plain(item.external_id) in said) or _of_document(message)
        ):
            spoken.append(item)
    if spoken or not wanted:
        return spoken
    fitting = [item for item in documents if _holds(item, wanted)]
    return fitting if len(fitting) == 1 or 2 * len(fitting) <= len(documents) else []


def without_names(message: str, external_ids: Sequence[str]) -> str:
    """The message without the file names in it: what is asked of these documents."""
    for external_id in external_ids:
        for name in (external_id, PurePosixPath(external_id).name):
            message = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", message, flags=re.IGNORECASE)
    return " ".join(message.split())


def _of_document(message: str) -> bool:
    return any(fold(word) in _DOCUMENT for word in _APART.split(message))


def _names(item: ListedDocument) -> set[str]:
    path = PurePosixPath(item.external_id)
    names = {_plain(name) for name in (item.title, item.external_id, path.name, path.stem)}
    return {name for name in names if len(name) >= SHORTEST_NAME and not set(name.split()) <= _META}


def _holds(item: ListedDocument, wanted: Sequence[str]) -> bool:
    names = f"{item.title} {_plain(item.external_id)}"
    vocabulary = frozenset(terms(names))
    return all(stands_in_names(word, names, vocabulary) for word in wanted)


def stands_in_names(word: str, names: str, vocabulary: frozenset[str]) -> bool:
    """Whether a folded word is one of those of a title and file name, or a part of one: "board" of "boardminutes.pdf"."""
    return bool(alike(word, vocabulary)) or (
        len(word) >= SHORTEST_PART and word in "".join(filter(str.isalnum, fold(names)))
    )


_APART = re.compile(r"[\W_]+")


def _plain(text: str) -> str:
    """Words and numbers alone, folded: "Leave-Policy_2024.pdf" and "leave policy 2024 pdf" are the same."""
    return _APART.sub(" ", fold(text)).strip()
