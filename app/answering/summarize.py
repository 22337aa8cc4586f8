"""Summaries: everything is read, in order, each passage once, within a budget of tokens.

A message that names documents is about these; one that names a subject instead is answered from what a search finds about
it. What fits into one prompt is summarised at once; more is read in parts, notes are taken of each, and the summary is
written from the notes. Of a collection that does not fit into the budget, passages of its communities are read
(app/answering/overview.py). Without a model the most representative sentences are quoted.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

import numpy as np

from app.answer.context import rendered
from app.answer.digest import digest, representative
from app.answer.extract import not_found
from app.answering.context import Outcome, Run, coverage
from app.answering.draft import Material, answer_from, write_answer, write_or_quote
from app.answering.fast import answer_empty
from app.answering.gather import gather
from app.answering.naming import named, topic
from app.answering.notes import batches, take_notes
from app.answering.overview import Overview, overview
from app.domain.document import ListedDocument
from app.domain.event import Progress, SourcesFound
from app.domain.passage import DocumentReading
from app.language.sentences import Span
from app.prompts import prompt_part

CENTRAL_CHUNKS = 24
"""Chunks whose sentences an extractive summary chooses from."""
SUBJECT_FACTOR = 2.0
"""How much more than usual is read about a subject."""


async def summarize(run: Run) -> Outcome:
    """Raises CairnError."""
    run.emit(Progress("retrieve", 40))
    question, filters = run.question, {**run.plan.filters, **(run.question.filters or {})}
    documents = await run.deps.library.documents(question.collection, filters=filters)
    if not documents and run.plan.filters:  # what was read out of the message fits nothing
        filters = dict(question.filters or {})
        documents = await run.deps.library.documents(question.collection, filters=filters)
    if not documents:
        return await answer_empty(run)
    chosen = [item for item in documents if item.external_id in run.plan.documents]
    chosen = chosen or named(question.text, documents) or named(run.plan.text, documents)
    if not chosen and not run.plan.summarize and (subject := topic(run.plan.text)):
        return await _summarize_subject(run, " ".join(subject))
    ids = [item.id for item in chosen] or None
    budget = run.settings.answer.summary_tokens
    reading = await run.deps.library.read(question.collection, ids, max_tokens=budget, filters=filters)
    view = None
    if len(reading.passages) < reading.total and not (chosen or filters):
        view = await overview(run, budget)
    if view:
        reading = replace(reading, passages=view.passages)
    return await _summarize_reading(run, reading, chosen or documents, view)


async def _summarize_subject(run: Run, subject: str) -> Outcome:
    found = await gather(run, factor=SUBJECT_FACTOR)
    material = Material(
        question=run.plan.text if run.deps.chat else subject,
        passages=found.passages,
        confidence=found.confidence,
        visible=found.visible,
        task=prompt_part("summarize", "topic"),
        degraded=found.degraded,
        more={"effective_top_k": found.effective_top_k, "subject": subject},
    )
    return await answer_from(run, material)


async def _summarize_reading(
    run: Run, reading: DocumentReading, documents: list[ListedDocument], view: Overview | None = None
) -> Outcome:
    passages = reading.passages
    read = f"{coverage(len(passages), reading.total)} in {len(documents)} documents"
    material = Material(
        question=run.plan.text,
        passages=passages,
        confidence=len(passages) / reading.total if reading.total else 0.0,
        visible=reading.total,
        coverage=read,
        more={"documents_read": len(documents)} | ({"communities": view.communities} if view else {}),
    )
    run.emit(SourcesFound(passages))
    write = partial(_write, run, material) if run.deps.chat and passages else None
    quote = partial(_quote, run, material, view.places if view else None)
    return await write_or_quote(run, write, quote, "sentences were chosen instead")


async def _write(run: Run, material: Material) -> Outcome:
    """At once, or from notes. Raises ProviderError."""
    parts = batches(material.passages, run.settings.answer.max_context_tokens)
    if len(parts) == 1:
        run.emit(Progress("generate", 85))
        whole = replace(material, task=prompt_part("summarize", "whole"))
        return await write_answer(run, whole, rendered(material.passages))
    noted = await take_notes(run, parts, run.plan.text)
    run.emit(Progress("generate", 85))
    lost = "" if noted.passages_lost == 0 else f"; notes of {noted.passages_lost} passages are missing"
    told = replace(
        material,
        task=prompt_part("summarize", "notes"),
        coverage=material.coverage + lost,
        degraded=noted.degraded,
        more={**material.more, "parts": len(parts)},
    )
    return await write_answer(run, told, replace(rendered(material.passages), text=noted.text))


async def _quote(run: Run, material: Material, places: Mapping[UUID, Sequence[Span]] | None) -> Outcome:
    """The most representative sentences, of `places` where there are many."""
    run.emit(Progress("generate", 85))
    began = time.perf_counter()
    places = places or await _central(run, material)
    limit = run.settings.answer.summary_sentences
    draft = await digest(material.passages, run.deps.embedder, limit, places or None)
    run.record.spent("answer", began)
    return Outcome(
        draft or not_found(run.question.text, material.passages), "extractive", material.passages,
        material.confidence, material.coverage, more=material.more,
    )  # fmt: skip


async def _central(run: Run, material: Material) -> dict[UUID, list[Span]]:
    """Where the most central chunks stand: they keep long texts from being embedded sentence by sentence."""
    chunks = await run.deps.library.chunk_vectors([passage.passage_id for passage in material.passages])
    places: dict[UUID, list[Span]] = {}
    if chunks:
        vectors = np.array([chunk.vector.to_numpy() for chunk in chunks], np.float32)
        for at in representative(vectors, CENTRAL_CHUNKS):
            places.setdefault(chunks[at].passage_id, []).append((chunks[at].start, chunks[at].end))
    return places
