"""A passage as other libraries carry it: text, and metadata that JSON can say."""

from __future__ import annotations

from typing import Any

from cairn.domain.passage import Passage

TOLD = ("external_id", "title", "page", "collection", "score", "rerank_score", "start", "end", "version", "media_type")


def metadata_of(passage: Passage) -> dict[str, Any]:
    """The document's own metadata, and where the passage stands; the latter wins where both have a name. `source` is what these
    libraries call an external id."""
    own = {name: getattr(passage, name) for name in TOLD if getattr(passage, name) is not None}
    ids = {"document_id": str(passage.document_id), "passage_id": str(passage.passage_id)}
    return {**passage.metadata, **own, **ids, "headings": list(passage.headings), "source": passage.external_id}
