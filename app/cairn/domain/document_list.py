"""Which documents of a collection are meant, and in which order they are listed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal
from uuid import UUID

from cairn.domain.document import Document, Status

DocumentSort = Literal[
    "external_id", "title", "created_at", "updated_at", "byte_size",
    "-external_id", "-title", "-created_at", "-updated_at", "-byte_size",
]  # fmt: skip
"""By what a list is sorted; with "-" the other way round. Equal ones stand in order of external id."""


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Everything that is given must hold. `contains`: title or external id contain it, in any case; `metadata`: the document's
    contain it, as in a search; `updated_since`: its row changed then or later; `mentions`: these words stand in it, one after
    the other, in any inflection, its title and headings included; `readable_by`: somebody of these principals may read it."""

    ids: Sequence[UUID] | None = None
    external_ids: Sequence[str] | None = None
    contains: str | None = None
    statuses: Sequence[Status] | None = None
    media_type: str | None = None
    metadata: Mapping[str, Any] | None = None
    updated_since: datetime | None = None
    mentions: str | None = None
    readable_by: Sequence[str] | None = None


EVERY_DOCUMENT: Final = DocumentFilter()


@dataclass(frozen=True, slots=True)
class ListOrder:
    """`key` and direction, and what it goes on after: the sort value and the external id of the last one that was shown."""

    key: str
    descending: bool
    after: tuple[str, str] | None

    @property
    def by_index(self) -> bool:
        """Whether the index has them in that order, so that only a page of them is read."""
        return self.key == "external_id" and not self.descending

    @classmethod
    def of(cls, sort: DocumentSort, after: str) -> ListOrder:
        """`after`: "" for the beginning, else of `place_of` under the same sort. Raises ValueError for what that did not make."""
        key = sort.removeprefix("-")
        if not after:
            return cls(key, sort.startswith("-"), None)
        if sort == "external_id":
            return cls(key, False, (after, after))
        value, external_id = json.loads(after)
        if not isinstance(value, str) or not isinstance(external_id, str):
            raise ValueError("place")
        return cls(key, sort.startswith("-"), (value, external_id))


def place_of(document: Document, sort: DocumentSort) -> str:
    """Where in a list it stands: what follows it is asked for by this."""
    key = sort.removeprefix("-")
    if sort == "external_id":
        return document.external_id
    value = getattr(document, key)
    if isinstance(value, datetime):
        value = value.astimezone(UTC).strftime("%Y%m%d%H%M%S%f")
    return json.dumps([f"{value:020}" if isinstance(value, int) else value, document.external_id])
