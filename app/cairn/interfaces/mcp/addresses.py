"""URIs of what the documents hold: collections, documents, passages."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote
from uuid import UUID

COLLECTION: Final = "cairn://collections/{collection}"
DOCUMENT: Final = "cairn://collections/{collection}/documents/{document_id}"
PASSAGE: Final = "cairn://passages/{passage_id}"

_ID: Final = "[0-9a-fA-F-]{36}"
_PATTERNS: Final = {
    COLLECTION: re.compile(r"cairn://collections/([^/?#]{1,400})"),
    DOCUMENT: re.compile(rf"cairn://collections/([^/?#]{{1,400}})/documents/({_ID})"),
    PASSAGE: re.compile(rf"cairn://passages/({_ID})"),
}


def collection_uri(name: str) -> str:
    return COLLECTION.format(collection=quote(name, safe=""))


def document_uri(collection: str, document_id: UUID) -> str:
    return DOCUMENT.format(collection=quote(collection, safe=""), document_id=document_id)


def passage_uri(passage_id: UUID) -> str:
    return PASSAGE.format(passage_id=passage_id)


def read_uri(uri: str) -> tuple[str, tuple[str, ...]] | None:
    """Which of the three it is, and its parts; None for any other."""
    for template, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(uri):
            return template, tuple(map(unquote, match.groups()))
    return None
