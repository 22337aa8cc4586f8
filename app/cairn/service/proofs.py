"""The proof of an answer: question, words, documents, hashes, and the rows that lead from one to the other, in one sealed value
that can be checked without Cairn (cairn/service/verify_proof.py). docs/proof.md has every field."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from cairn.distribution import release
from cairn.domain.proof import (
    FORMAT,
    CitedSpan,
    ProvenChunk,
    ProvenCollection,
    ProvenDocument,
    ProvenPassage,
    ProvenText,
    digest_of,
    seal,
)
from cairn.domain.trace import RunTrace
from cairn.errors import ConflictError, NotFoundError, TextDeletedError
from cairn.language.text import normalise, plain_characters
from cairn.service.runs import get_run
from cairn.settings import Settings
from cairn.settings.store import changed_keys, flatten_settings
from cairn.store import audit, originals, proofs, traces
from cairn.wiring import Services

ANSWERING: Final = (
    "rag", "chunking", "ingest", "enrichment", "vector", "lexical", "retrieve", "graph", "rewrite", "routing", "answer", "ground",
    "agents", "planned", "iterative", "memory",
)  # fmt: skip
"""Sections of the settings that answers depend on: of the others a proof says nothing but their part in the revision."""
KEPT: Final = "kept"
"""The fate of a candidate that was read."""
NOT_KEPT: Final = "the file is not kept: handed over as text, or read while ingest.keepOriginal was off"
OF_THE_WEB: Final = "a page of the web, of which no copy is kept"
GONE: Final = "its document was replaced, cut anew or deleted since"
_UNSAFE: Final = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class _Found:
    """What the database has now of what a run's trace names. `spans` and `quotes` are those of `citations`, one by one."""

    citations: Sequence[Mapping[str, Any]]
    spans: Sequence[CitedSpan]
    quotes: Sequence[str | None]
    chunks: Mapping[int, Sequence[ProvenChunk]]
    passages: Mapping[UUID, ProvenPassage]
    documents: Mapping[UUID, ProvenDocument]
    collections: Mapping[str, ProvenCollection]
    plain: frozenset[UUID]


async def prove_run(services: Services, run_id: UUID) -> dict[str, Any]:
    """The proof of the answer of a run, sealed. Raises NotFoundError; ConflictError for a run that has no answer (yet);
    TextDeletedError where the answer was deleted with a document or a conversation."""
    await get_run(services, run_id)
    await services.traces.flush()
    async with services.database.transaction(
        services.principal, readonly=True, isolation="repeatable_read"
    ) as connection:
        trace = await traces.get(connection, services.principal, run_id, as_it_ended=True)
        _check(run_id, trace)
        assert trace is not None
        found = await _find(services, connection, trace)
    askers = [trace.asked_by] if trace.asked_by else []
    await audit.record_read_of_others(services.database, services.principal, "proof", str(run_id), askers)
    await audit.record_restricted_reads(services.database, services.principal, "proof", found.documents, run_id)
    return seal(_sections(trace, found, services.settings.current))


def _check(run_id: UUID, trace: RunTrace | None) -> None:
    if trace is None:
        raise NotFoundError(
            f"run {run_id} left no trace, which a proof is made of; traces are written by trace.enabled"
        )
    if trace.outcome == "running":
        raise ConflictError(f"run {run_id} is under way; ask for its proof when it has ended")
    if trace.kind != "query" or trace.outcome != "ok":
        raise ConflictError(
            f"run {run_id} has no answer that could be proved: it is a {trace.kind}, outcome {trace.outcome}"
        )
    if "text" not in trace.answer:
        raise TextDeletedError(
            "the answer was deleted with a document that it stands on, or with its conversation; ask again"
        )


async def _find(services: Services, connection: Any, trace: RunTrace) -> _Found:
    principal = services.principal
    citations = [one for one in trace.answer.get("citations", ()) if "url" not in one]
    spans = [
        CitedSpan(UUID(one["document_id"]), one["version"], UUID(one["passage_id"]), one["start"], one["end"])
        for one in citations
    ]
    read = dict.fromkeys([*_kept(trace), *(span.passage_id for span in spans)])
    passages = await proofs.find_passages(connection, principal, read)
    ids = {*(one.document_id for one in passages.values()), *(span.document_id for span in spans)}
    documents = await proofs.find_documents(connection, principal, ids)
    return _Found(
        citations, spans, await proofs.read_quotes(connection, principal, spans),
        await proofs.find_chunks(connection, principal, spans), {key: passages[key] for key in read if key in passages},
        documents, await proofs.find_collections(connection, principal, [*trace.collections, *trace.epochs]),
        frozenset([key async for key in _plain(services, connection, documents.values())]),
    )  # fmt: skip


async def _plain(services: Services, connection: Any, documents: Any) -> AsyncIterator[UUID]:
    """Those whose normalised text anybody can make of their file, by the two rules that the verifier knows."""
    for one in documents:
        if one.file_sha256 is None or not one.media_type.startswith("text/"):
            continue
        file = await originals.get(connection, services.principal, one.id)
        if file is not None and one.text_sha256 in await asyncio.to_thread(
            lambda content: [*_readings(content)], file.content
        ):
            yield one.id


def _readings(content: bytes) -> Iterator[str]:
    """Hashes of what a file may say as plain text."""
    try:
        text = normalise(content.decode("utf-8"))
    except UnicodeDecodeError:
        return
    yield digest_of(text)
    yield digest_of(plain_characters(text))


def _kept(trace: RunTrace) -> list[UUID]:
    """Passages that were read: those of the merged list where there is one, else of each search."""
    merged = [leg for leg in trace.legs if leg.leg == "merged"]
    lists = merged or [leg for leg in trace.legs if leg.leg.startswith("fused")]
    return [passage for leg in lists for passage, fate in zip(leg.passage_ids, leg.fates, strict=False) if fate == KEPT]


# --- sections; pure -------------------------------------------------------------------------------------------------------


def _sections(trace: RunTrace, found: _Found, settings: Settings) -> dict[str, Any]:
    answer, plan = trace.answer, trace.plan
    return {
        "format": FORMAT,
        "run": {"id": trace.id, "started_at": trace.started_at.isoformat(), "proved_at": datetime.now(UTC).isoformat()},
        "cairn": {"version": release()},
        "question": {
            "text": trace.question, "understood_as": plan.get("rewritten_query"),
            "messages_before": plan.get("history_messages", 0), "filters": plan.get("filters") or {},
        },
        "answer": {
            "text": answer["text"], "answered": answer.get("answered"), "confidence": answer.get("confidence"),
            "confidence_word": answer.get("confidence_word"), "grounded": answer.get("grounded"),
            "insufficiencies": answer.get("insufficiencies", []), "coverage": answer.get("coverage"),
            "degraded": trace.degraded, "strategy": trace.strategy,
        },
        "citations": _citations(trace, found),
        "documents": _documents(found),
        "passages": _passages(trace, found),
        "rows": [_row(trace, found, place) for place in range(len(found.spans))],
        "index": [_collection(name, trace, found) for name in dict.fromkeys((*trace.collections, *trace.epochs))],
        "models": _models(trace),
        "settings": _settings(trace.settings_revision, settings),
    }  # fmt: skip


def _citations(trace: RunTrace, found: _Found) -> list[dict[str, Any]]:
    text, digests = trace.answer["text"], trace.answer.get("digests", {})
    quotes = dict(zip((one["n"] for one in found.citations), found.quotes, strict=True))
    shown = []
    for one in trace.answer.get("citations", ()):
        quote, told = quotes.get(one["n"]), digests.get(str(one["n"]))
        at = text.find(quote) if quote else -1
        shown.append({
            **{name: one[name] for name in ("n", "document_id", "version", "passage_id", "start", "end", "page")},
            "url": one.get("url"),
            "instead": one.get("instead", False),
            "quote": quote,
            "missing": None if quote is not None else OF_THE_WEB if "url" in one else _replaced(one, found),
            "sha256": told or (digest_of(quote) if quote is not None else None),
            "in_answer": [at, at + len(quote)] if quote and at >= 0 else None,
        })  # fmt: skip
    return shown


def _replaced(citation: Mapping[str, Any], found: _Found) -> str:
    now = found.documents.get(UUID(citation["document_id"]))
    if now is None:
        return "the document was deleted since"
    return f"version {citation['version']} was read; version {now.version} took its place, and one version is kept"


def _documents(found: _Found) -> list[dict[str, Any]]:
    """Of each document in the version that was read; hashes only where that is the present one."""
    cited = {(span.document_id, span.version) for span in found.spans}
    read = dict.fromkeys([
        *((span.document_id, span.version) for span in found.spans),
        *((one.document_id, one.version) for one in found.passages.values()),
    ])  # fmt: skip
    return [_document(key, version, (key, version) in cited, found) for key, version in read]


def _document(key: UUID, version: int, cited: bool, found: _Found) -> dict[str, Any]:
    now = found.documents.get(key)
    current = now is not None and now.version == version
    file = now.file_sha256 if now and current else None
    reading = None if file is None else "plain" if key in found.plain else "parsed"
    missing = _replaced({"document_id": str(key), "version": version}, found)
    return {
        "id": key, "version": version, "version_now": now and now.version, "cited": cited,
        "collection": now and now.collection, "external_id": now and now.external_id, "title": now and now.title,
        "media_type": now.media_type if now and current else None,
        "file_sha256": file, "file_missing": None if file else NOT_KEPT if current else missing,
        "text_sha256": now.text_sha256 if now and current else None,
        "text_length": now.length if now and current else None,
        "text_missing": None if current else missing,
        "reading": reading,
    }  # fmt: skip


def _passages(trace: RunTrace, found: _Found) -> list[dict[str, Any]]:
    """All that were read; with their text those that are cited."""
    cited = {span.passage_id for span in found.spans}
    shown: list[dict[str, Any]] = []
    for key in dict.fromkeys([*_kept(trace), *(span.passage_id for span in found.spans)]):
        one = found.passages.get(key)
        if one is None:
            shown.append({"id": key, "cited": key in cited, "missing": GONE})
            continue
        shown.append({
            "id": key, "cited": key in cited, "missing": None, "document_id": one.document_id, "version": one.version,
            "start": one.start, "end": one.end, "page": one.page, "sha256": digest_of(one.text),
            "text": one.text if key in cited else None,
        })  # fmt: skip
    return shown


def _row(trace: RunTrace, found: _Found, place: int) -> dict[str, Any]:
    """What leads from a citation to its document: rows of analyst.retrieval_hits, passages, chunks and documents."""
    span = found.spans[place]
    return {
        "n": found.citations[place]["n"],
        "candidates": [*_candidates(trace, span.passage_id)],
        "passage_id": span.passage_id,
        "chunks": [{"id": one.id, "start": one.start, "end": one.end} for one in found.chunks.get(place, ())],
        "document_id": span.document_id,
        "version": span.version,
    }


def _candidates(trace: RunTrace, passage: UUID) -> Iterator[dict[str, Any]]:
    for leg in trace.legs:
        if passage in leg.passage_ids:
            at, (name, _, search) = list(leg.passage_ids).index(passage), leg.leg.partition("#")
            yield {
                "leg": name, "search": None if name == "merged" else int(search or 1), "rank": at + 1,
                "chunk_id": leg.chunk_ids[at] if at < len(leg.chunk_ids) else None,
                "fate": leg.fates[at] if at < len(leg.fates) else None,
            }  # fmt: skip


def _collection(name: str, trace: RunTrace, found: _Found) -> dict[str, Any]:
    now = found.collections.get(name)
    return {
        "collection": name, "epoch": trace.epochs.get(name), "epoch_now": now and now.epoch,
        "embedding_model_now": now and now.embedding_model,
    }  # fmt: skip


def _models(trace: RunTrace) -> dict[str, Any]:
    usage = trace.usage
    calls = [{"purpose": one.get("purpose"), "model": one.get("model")} for one in usage.get("by_purpose", ())]
    return {
        "answerer": trace.plan.get("answerer"), "chat": usage.get("model"), "calls": calls,
        "reranker": trace.plan.get("reranker"),
    }  # fmt: skip


def _settings(revision: str, now: Settings) -> dict[str, Any]:
    """`changed`: what differs from the defaults, where the settings of the run are still in force."""
    if now.revision != revision:
        why = f"the settings were changed since, to revision {now.revision}; old ones are not kept"
        return {"revision": revision, "changed": None, "missing": why}
    values = flatten_settings(now)
    names = [name for name in changed_keys(Settings(), now) if name.partition(".")[0] in ANSWERING]
    return {"revision": revision, "changed": {name: values.get(name) for name in names}, "missing": None}


# --- what goes beside a proof ---------------------------------------------------------------------------------------------


async def read_texts(services: Services, proof: Mapping[str, Any]) -> list[ProvenText]:
    """The normalised text of each cited document that is still there in the version that was read."""
    wanted = [one for one in proof["documents"] if one["cited"] and one["text_sha256"]]
    async with services.database.transaction(services.principal, readonly=True) as connection:
        texts = await proofs.read_texts(connection, services.principal, [UUID(one["id"]) for one in wanted])
    return [
        ProvenText(text_name(one["external_id"], one["id"], one["version"]), texts[key])
        for one in wanted if (key := (UUID(one["id"]), one["version"])) in texts
    ]  # fmt: skip


def text_name(external_id: str, document_id: str, version: int) -> str:
    """guides/leave.pdf -> leave.pdf.2b1c3d4e5f60.v2.txt, which no two documents share."""
    name = _UNSAFE.sub("_", external_id.rsplit("/", 1)[-1])[-100:]
    return f"{name}.{document_id[-12:]}.v{version}.txt"


def verifier() -> str:
    """The program that checks proofs: one file, which needs Python alone."""
    return Path(__file__).with_name("verify_proof.py").read_text(encoding="utf-8")
