"""The sources of an answer as a conversation remembers them and as chat clients see them. Pure."""

from __future__ import annotations

from cairn.domain.answer import Answer, Citation
from cairn.domain.passage import Passage
from cairn.domain.question import SourceRef

PREVIEW = 200
"""Characters of a source that are shown."""


def sources_of(answer: Answer) -> tuple[SourceRef, ...]:
    """Numbered from 1: first what the answer cites, so that `[n]` in it is the n-th source; then what it was shown only.
    What it names instead, where it is not sure, has a number and is not what it was taken from.

    A preview begins with the cited quote, else with the chunk that the vector leg found, else with the passage.
    """
    passages = {passage.passage_id: passage for passage in answer.sources}
    cited = [_cited(citation, passages.get(citation.passage_id)) for citation in answer.citations]
    named = {citation.passage_id for citation in answer.citations}
    shown = [passage for passage in answer.sources if passage.passage_id not in named]
    return (*cited, *(_shown(n, passage) for n, passage in enumerate(shown, len(cited) + 1)))


def _cited(citation: Citation, passage: Passage | None) -> SourceRef:
    return SourceRef(
        n=citation.n,
        document_id=citation.document_id,
        passage_id=citation.passage_id,
        chunk_id=citation.chunk_id or (passage.chunk_id if passage else None),
        filename=citation.external_id,
        title=citation.title,
        page=citation.page,
        start=citation.start,
        end=citation.end,
        version=citation.version,
        score=_score(passage) if passage else 0.0,
        preview=_preview(passage, citation.start) if passage else citation.quote[:PREVIEW],
        cited=not citation.instead,
        url=citation.url,
    )


def _shown(n: int, passage: Passage) -> SourceRef:
    start, end = passage.matched or (passage.start, passage.end)
    return SourceRef(
        n=n,
        document_id=passage.document_id,
        passage_id=passage.passage_id,
        chunk_id=passage.chunk_id,
        filename=passage.external_id,
        title=passage.title,
        page=passage.page,
        start=start,
        end=end,
        version=passage.version,
        score=_score(passage),
        preview=_preview(passage, start),
        cited=False,
        url=passage.url,
    )


def _score(passage: Passage) -> float:
    """0 to 1; what a reranker gives beyond is cut off, since clients show it as a share."""
    score = passage.score if passage.rerank_score is None else passage.rerank_score
    return round(min(max(score, 0.0), 1.0), 4)


def _preview(passage: Passage, at: int) -> str:
    return passage.content[at - passage.start :][:PREVIEW]
