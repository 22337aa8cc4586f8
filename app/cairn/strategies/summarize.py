"""Summaries: everything is read, in order, each passage once, within a budget of tokens.

A message that names documents is about these; one that names a subject instead is answered from what a search finds about
it. What fits into one prompt is summarised at once; more is read in parts, notes are taken of each, and the summary is
written from the notes. Of a collection that does not fit into the budget, passages of its communities are read
instead. Without a model it is an outline (cairn/answer/outline.py).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from cairn.answer.confidence import GUESS
from cairn.answer.context import rendered
from cairn.answer.extract import not_found
from cairn.answer.lexrank import digest
from cairn.answer.outline import outline
from cairn.domain.answer import NOTHING_TO_READ, Draft, coverage_of
from cairn.domain.document import ListedDocument
from cairn.domain.event import Progress, SourcesFound, Token
from cairn.domain.graph_view import CommunitySummary
from cairn.domain.passage import DocumentReading, Passage
from cairn.errors import ProviderError
from cairn.language.fence import fenced, quoted
from cairn.language.lexicon import replies
from cairn.language.sentences import Span
from cairn.prompts import prompt, prompt_part
from cairn.providers.protocols import Message
from cairn.runs.context import Material, Outcome, Run
from cairn.runs.gather import gather
from cairn.runs.progress import counted, reading
from cairn.strategies.described import (
    Description,
    described_in,
    fitting,
    is_guess,
    named_words,
    names_part,
    section_named,
)
from cairn.strategies.document_names import find_named_documents, topic
from cairn.strategies.draft import advise, answer_from, write_answer, write_or_quote
from cairn.strategies.fast import answer_empty
from cairn.strategies.sides import sections_of

MOST_OPENED: Final = 500
"""Documents whose beginning is read to find out which of them a message describes."""
MOST_NAMED: Final = 5
"""Documents that are named beside the one that was taken."""
SUBJECT_FACTOR = 2.0
"""How much more than usual is read about a subject."""


async def summarize(run: Run) -> Outcome:
    """Raises CairnError."""
    run.emit(Progress("retrieve", 40, "Looking for the documents to summarize"))
    question, filters = run.question, {**run.plan.filters, **(run.question.filters or {})}
    documents = await run.deps.library.documents(question.collection, filters=filters)
    if not documents and run.plan.filters:  # what was read out of the message fits nothing
        filters = dict(question.filters or {})
        documents = await run.deps.library.documents(question.collection, filters=filters)
    if not documents:
        return await answer_empty(run)
    chosen = [item for item in documents if item.external_id in run.plan.documents]
    found: Material | None = None
    if not chosen and _may_mean_section(run, documents):
        found = await gather(run, factor=SUBJECT_FACTOR)
        if named := section_named(run.plan.text, found.passages):
            return await _summarize_section(run, *named, found, filters)
    if not chosen and (wanted := described_in(run.plan.text)):
        described = await _summarize_described(run, wanted, documents, filters)
        if described is not None:
            return described
    chosen = chosen or find_named_documents(question.text, documents) or find_named_documents(run.plan.text, documents)
    if not chosen and run.plan.summary != "whole" and (subject := topic(run.plan.text)):
        return await _summarize_subject(run, " ".join(subject), found)
    return await _summarize_documents(run, chosen, documents, filters)


def _may_mean_section(run: Run, documents: list[ListedDocument]) -> bool:
    """Not where it says of what kind, from when or by what name a document is."""
    wanted = described_in(run.plan.text)
    told = wanted and (wanted.formats or wanted.forms or wanted.months or wanted.years)
    if run.plan.summary == "whole" or told:
        return False
    several = len(named_words(run.plan.text)) > 1 and not find_named_documents(run.plan.text, documents)
    return names_part(run.plan.text) or several


async def _summarize_section(
    run: Run, document: UUID, heading: str, found: Material, filters: Mapping[str, Any]
) -> Outcome:
    """All that stands below a heading of a document."""
    budget = run.settings.answer.summary_tokens
    whole = await run.deps.library.read(run.question.collection, [document], max_tokens=budget, filters=filters)
    near = [passage for passage in found.passages if passage.document_id == document]
    parts = sections_of(heading, whole.passages) or sections_of(heading, near) or tuple(near)
    return await _summarize_reading(run, DocumentReading(parts, len(parts)), 1)


async def _summarize_documents(
    run: Run, chosen: list[ListedDocument], documents: list[ListedDocument], filters: Mapping[str, Any],
    wanted: Sequence[str] = (),
) -> Outcome:  # fmt: skip
    """Of the chosen documents, or of all where none is. `wanted`: words by which they were guessed."""
    question, ids = run.question, [item.id for item in chosen] or None
    budget = run.settings.answer.summary_tokens
    reading = await run.deps.library.read(question.collection, ids, max_tokens=budget, filters=filters)
    view = None
    if len(reading.passages) < reading.total and not (chosen or filters):
        view = await overview(run, budget)
    if view:
        reading = replace(reading, passages=view.passages)
    names = [f"{item.title} {item.external_id}" for item in chosen]
    paths = (path for one in reading.passages for path in (one.headings, *(mark.headings for mark in one.landmarks)))
    headings = {heading for path in paths for heading in path}
    guessed = is_guess(wanted, (*names, *headings))
    return await _summarize_reading(run, reading, len(chosen or documents), view, most=GUESS if guessed else 1.0)


async def _summarize_described(
    run: Run, wanted: Description, documents: list[ListedDocument], filters: Mapping[str, Any]
) -> Outcome | None:
    """Of several documents that fit the first, which the answer says; of "the contracts" all. None where none does and a subject
    may be meant ("the refund policy")."""
    passages = await run.deps.library.openings([item.id for item in documents[:MOST_OPENED]])
    found = fitting(wanted, documents, {passage.document_id: passage.content for passage in passages})
    say = replies(run.plan.language)
    if not found:
        if not (wanted.formats or wanted.forms or wanted.months or wanted.years):
            return None
        text = say.described["none"].format(said=" ".join(topic(run.plan.text)))
        draft = await advise(run, Draft(text, (), False, 0.0, (text,)), ())
        run.emit(Token(draft.text))
        return Outcome(draft, "fixed", confidence=0.0)
    if wanted.several:
        return await _summarize_documents(run, found, documents, filters, wanted.words)
    outcome = await _summarize_documents(run, found[:1], documents, filters, wanted.words)
    if len(found) > 1:
        names = [item.title or item.external_id for item in found]
        if len(set(names)) < len(names):
            names = [item.external_id for item in found]
        rest = ", ".join(names[1 : MOST_NAMED + 1])
        note = say.described["one"].format(name=names[0], names=rest)
        draft = replace(outcome.draft, text=f"{outcome.draft.text}\n\n{note}")
        outcome = replace(outcome, draft=draft)
    return outcome


async def _summarize_subject(run: Run, subject: str, found: Material | None) -> Outcome:
    """`found`: where it was searched for already."""
    found = found or await gather(run, factor=SUBJECT_FACTOR)
    material = replace(
        found,
        question=run.plan.text if run.deps.chat else subject,
        parts=(),
        graph=None,
        task=prompt_part("summarize", "topic"),
        more={**found.more, "subject": subject},
    )
    return await answer_from(run, material)


async def _summarize_reading(
    run: Run, reading: DocumentReading, documents: int, view: Overview | None = None, most: float = 1.0
) -> Outcome:
    """`documents`: how many were read; `most`: the confidence at best."""
    passages = reading.passages
    material = Material(
        question=run.plan.text,
        passages=passages,
        confidence=min(most, len(passages) / reading.total) if reading.total else 0.0,
        visible=reading.total,
        coverage=coverage_of(len(passages), reading.total),
        more={"documents_read": documents} | ({"communities": view.communities} if view else {}),
    )
    run.emit(SourcesFound(passages))
    write = partial(_write, run, material) if run.deps.chat and passages else None
    quote = partial(_quote, run, material, view.places if view else None)
    return await write_or_quote(run, write, quote, "this is an outline instead")


def _reading(material: Material) -> Progress:
    return reading(len(material.passages), of_documents=material.more["documents_read"])


async def _write(run: Run, material: Material) -> Outcome:
    """At once, or from notes. Raises ProviderError."""
    parts = batches(material.passages, run.settings.answer.max_context_tokens)
    if len(parts) == 1:
        run.emit(_reading(material))
        whole = replace(material, task=prompt_part("summarize", "whole"))
        return await write_answer(run, whole, rendered(material.passages))
    noted = await take_notes(run, parts, run.plan.text)
    doing = f"Writing the summary from notes of {counted(len(parts), 'part')}"
    run.emit(Progress("generate", 85, doing, numbers={"parts": len(parts)}))
    told = replace(
        material,
        task=prompt_part("summarize", "notes"),
        coverage=coverage_of(len(material.passages) - noted.passages_lost, material.visible),
        degraded=noted.degraded,
        more={**material.more, "parts": len(parts)},
    )
    return await write_answer(run, told, replace(rendered(material.passages), text=noted.text))


async def _quote(run: Run, material: Material, places: Mapping[UUID, Sequence[Span]] | None) -> Outcome:
    """An outline; of a collection too large to be read the most representative sentences of its communities, at `places`."""
    run.emit(_reading(material))
    began = time.perf_counter()
    limit = run.settings.answer.summary_sentences
    if places:
        draft = await digest(material.passages, run.deps.judge, limit, places)
    else:
        draft = outline(material.passages, run.plan.language, limit)
    run.record.spent("answer", began)
    return Outcome(
        draft or not_found(run.question.text, material.passages), "extractive", material.passages,
        material.confidence, material.coverage or NOTHING_TO_READ, more=material.more,
    )  # fmt: skip


# --- Notes of a text that is too long to be read at once: one model call for each part, two at a time ---

AT_ONCE: Final = 2
SENTENCES: Final = 8
"""Of notes for each part."""
MAX_TOKENS: Final = 700
HEADER_TOKENS: Final = 30
"""What the header of a source takes, about."""


@dataclass(frozen=True, slots=True)
class Noted:
    """`text`: the notes in order, with numbers of the passages in all parts together. `passages_lost`: those of parts of
    which no notes could be taken."""

    text: str
    passages_lost: int
    degraded: tuple[str, ...]


def batches(passages: Sequence[Passage], max_tokens: int) -> list[list[Passage]]:
    """Passages in order, in parts of at most `max_tokens` (at least one passage each)."""
    parts: list[list[Passage]] = []
    room = 0
    for passage in passages:
        size = passage.token_count + HEADER_TOKENS
        if not parts or size > room:
            parts.append([])
            room = max_tokens
        parts[-1].append(passage)
        room -= size
    return parts


async def take_notes(run: Run, parts: Sequence[Sequence[Passage]], question: str) -> Noted:
    """Tells the progress as parts are read. Raises ProviderError when no part could be read."""
    gate = asyncio.Semaphore(AT_ONCE)
    firsts = [1 + sum(map(len, parts[:at])) for at in range(len(parts))]

    async def take(part: Sequence[Passage], first: int) -> str | ProviderError:
        async with gate:
            try:
                return await _note(run, part, first, question)
            except ProviderError as error:
                return error

    tasks = [asyncio.create_task(take(part, first)) for part, first in zip(parts, firsts, strict=True)]
    try:
        for done, finished in enumerate(asyncio.as_completed(tasks), start=1):
            await finished
            told = f"Took notes of {done} of {counted(len(tasks), 'part')}"
            run.emit(
                Progress("summarize", 40 + 40 * done // len(tasks), told, numbers={"read": done, "parts": len(tasks)})
            )
        return _noted([task.result() for task in tasks], parts)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _note(run: Run, part: Sequence[Passage], first: int, question: str) -> str:
    assert run.deps.chat is not None
    asked = quoted(question)
    filled = prompt("summarize", context=fenced(rendered(part, first).text), question=asked, sentences=str(SENTENCES))
    reply = await run.record.metered("notes", run.deps.chat, run.settings).complete(
        [Message("system", filled.system), Message("user", filled.user)],
        temperature=run.settings.rag.qa.temperature,
        max_tokens=MAX_TOKENS,
        timeout=run.settings.answer.timeout_seconds,
    )
    return reply.text.strip()


def _noted(taken: Sequence[str | ProviderError], parts: Sequence[Sequence[Passage]]) -> Noted:
    failed = [(part, reply) for part, reply in zip(parts, taken, strict=True) if isinstance(reply, ProviderError)]
    if len(failed) == len(parts):
        raise failed[0][1]
    text = "\n\n".join(f"Part {n}:\n{reply}" for n, reply in enumerate(taken, 1) if isinstance(reply, str))
    degraded = tuple(f"no notes of {len(part)} passages ({error.code}: {error.detail})" for part, error in failed)
    return Noted(text, sum(len(part) for part, _ in failed), degraded)


# --- What to read for an overview of a collection that is too large to be read: passages of its communities ---

COMMUNITIES: Final = 40
"""At most."""
FEWEST: Final = 3
"""Communities that make an overview; of fewer, passages evenly spread over the collection say more."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Passages, those of a community side by side. `places`: the sentences that sum up the communities, by passage."""

    passages: tuple[Passage, ...]
    places: Mapping[UUID, Sequence[Span]]
    communities: int


async def overview(run: Run, max_tokens: int) -> Overview | None:
    """None where the collection has too few communities."""
    found = await run.deps.library.largest_communities(run.question.collection, limit=COMMUNITIES)
    found = [one for one in found if one.sentences]
    if len(found) < FEWEST:
        return None
    wanted = list(dict.fromkeys(_in_turns(found)))
    passages: dict[UUID, Passage] = {}
    for passage in await run.deps.library.passages(wanted):
        max_tokens -= passage.token_count
        if max_tokens < 0 and passages:
            break
        passages[passage.passage_id] = passage
    places: dict[UUID, list[Span]] = {}
    for sentence in (sentence for one in found for sentence in one.sentences):
        if sentence.passage_id in passages:
            places.setdefault(sentence.passage_id, []).append((sentence.start, sentence.end))
    return Overview(tuple(passages[one] for one in places), places, len(found))


def _in_turns(found: Sequence[CommunitySummary]) -> Iterator[UUID]:
    for turn in range(max(len(one.sentences) for one in found)):
        yield from (one.sentences[turn].passage_id for one in found if turn < len(one.sentences))
