"""Files that are moved or copied: what only some may read is not opened by another name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from cairn.domain.document import Source
from cairn.ingest.prepare import source_hash

RestrictedContents: TypeAlias = Mapping[bytes, Mapping[str | None, tuple[str, ...] | None]]
"""Documents by hash of their content and external id, with access lists of their own: of each content at least one has a list.
None instead of an id: a document that had the content before."""


def keep_readers(source: Source, restricted: RestrictedContents) -> Source:
    """With the access list that the same content has under another id, unless it is there under this one already. Of several
    lists the first one's: whom it names may read these words anyway. Pure."""
    if source.access is not None or not restricted:
        return source
    known = restricted.get(source_hash(source), {})
    if source.external_id in known:
        return source
    return replace(source, access=next(filter(None, known.values()), None))
