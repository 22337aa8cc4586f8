"""The local reader with what it needs to know of some passages: how near the question is to each of their chunks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cairn.answer.reading import Chunks, ReadBy
from cairn.domain.passage import Passage
from cairn.runs.context import Run


async def reader_for(run: Run, question: str, passages: Sequence[Passage]) -> ReadBy | None:
    """None where it is off or not installed. Vectors are those that are stored, of the collection's own model; pages of the web
    and documents of collections that another model serves have none. Raises CairnError."""
    reader = run.deps.searcher.reader(run.question.collection)
    return None if reader is None else ReadBy(reader, await near_chunks(run, question, passages))


async def near_chunks(run: Run, question: str, passages: Sequence[Passage]) -> Chunks:
    """How near the question is to the chunks of each passage. Raises CairnError."""
    searcher = run.deps.searcher
    chunks: list[list[tuple[int, int, float]]] = [[] for _ in passages]
    embedder, model = searcher.embedder_across(run.question.collection), searcher.serving(run.question.collection)
    if embedder and passages:
        place = {passage.passage_id: at for at, passage in enumerate(passages)}
        (asked,) = await searcher.embed([question], (model, embedder))
        for chunk in await run.deps.library.chunk_vectors(list(place)):
            if chunk.model_id == model.id:
                at = place[chunk.passage_id]
                start = passages[at].start
                cosine = float(chunk.vector.to_numpy().astype(np.float32) @ asked)
                chunks[at].append((chunk.start - start, chunk.end - start, cosine))
    return chunks
