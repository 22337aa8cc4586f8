"""What a chat model is asked about the chunks of a passage, and what of its reply may stand before them. Pure;
cairn/jobs/enrich.py asks the model (docs/adr/0053-contextual-enrichment.md).

A context is embedded with its chunk and never shown. What passes says nothing that the document does not: its names and numbers
stand in what the model read, and so do most of its words. Refusals, echoed instructions and other languages have other words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final
from uuid import UUID

from cairn.domain.document import PreparedChunk, PreparedDocument
from cairn.ingest.embedding_text import ChunkTexts, text_hash
from cairn.language.fence import as_json
from cairn.language.identify import by_words
from cairn.language.links import Known
from cairn.language.names import names_and_numbers
from cairn.language.outbound import without_links
from cairn.language.text import fold
from cairn.language.tokens import content_words
from cairn.prompts import Prompt, prompt
from cairn.providers.protocols import TokenCounter
from cairn.providers.reader import whole_values

CHECKS: Final = 1
"""Version of the checks below; a change makes cached contexts void, as one of the prompt does."""
BEGINNING_CHARS: Final = 1500
"""Of the document, shown with each passage: where most say what they are. rag.chunk_context_keys has the same number."""
SUPPORTED: Final = 0.4
"""Share of a context's words of content that stand in what the model read, at least. Sentences that say what a chunk is about
have words such as "section" and "describes" besides; of refusals and instructions next to none stand there."""
STEM: Final = 5
"""Letters by which inflected forms count as the same word."""


@dataclass(frozen=True, slots=True)
class ChunkInPassage:
    """A chunk that waits for a context. `key`: rag.context_key of all that the model is told for it."""

    key: bytes
    headings: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class WrittenContext:
    """What a model wrote of a chunk, checked; `reason` says why nothing is left of it."""

    context: str
    reason: str | None = None


@cache
def writer(model: str) -> str:
    """The key of cached contexts: model, checks and prompt."""
    filled = prompt("enrich", document="", chunks="")
    digest = hashlib.sha256(f"{filled.system}\0{filled.user}".encode()).hexdigest()[:10]
    return f"{model} {CHECKS}-{digest}"


def context_key(title: str, text: str, headings: Sequence[str], passage: str, chunk: str) -> bytes:
    """SHA-256 of all that a model is told for a chunk, as rag.chunk_context_keys makes it."""
    parts = (title, text[:BEGINNING_CHARS], "\x1e".join(headings), passage, chunk)
    return hashlib.sha256("\x1f".join(parts).encode()).digest()


# --- the question and the reply ----------------------------------------------------------------------------------------


def question(title: str, text: str, chunks: Sequence[ChunkInPassage]) -> Prompt:
    """The prompt for the chunks of one passage; `text` is the document's."""
    document = as_json({"title": title, "beginning": text[:BEGINNING_CHARS]})
    lines = (
        as_json({"chunk": number, "section": " / ".join(one.headings), "text": one.text})
        for number, one in enumerate(chunks, 1)
    )
    return prompt("enrich", document=document, chunks="\n".join(lines))


def read_reply(reply: str, chunks: Sequence[ChunkInPassage]) -> list[str | None]:
    """What the reply says of each chunk; None where it says nothing that can be read."""
    found: dict[int, str] = {}
    for entry in _entries(whole_values(reply)[0]):
        number = 1 if len(chunks) == 1 else _number(entry.get("chunk"))
        if isinstance(entry.get("context"), str):
            found.setdefault(number, entry["context"])
    return [found.get(number) for number in range(1, len(chunks) + 1)]


def _entries(values: Iterable[Any]) -> Iterable[dict[str, Any]]:
    for value in values:
        if isinstance(value, list):
            yield from _entries(value)
        elif isinstance(value, dict) and "context" in value:
            yield value
        elif isinstance(value, dict):
            yield from _entries(inner for inner in value.values() if isinstance(inner, list))


def _number(value: Any) -> int:
    return int(value) if re.fullmatch(r"\d{1,4}", str(value)) else 0


def checked(context: str, title: str, text: str, chunks: Sequence[ChunkInPassage], most_chars: int) -> WrittenContext:
    """What may be embedded of a context that was written for one of these chunks."""
    sentence = " ".join(context.split())
    told = " ".join((title, text[:BEGINNING_CHARS], *(" ".join((*one.headings, one.text)) for one in chunks)))
    return WrittenContext("", reason) if (reason := _refused(sentence, told, most_chars)) else WrittenContext(sentence)


def _refused(sentence: str, told: str, most_chars: int) -> str | None:
    """Why a context is not taken; None where it is. `told`: all that the model was told."""
    if not sentence:
        return "nothing to add"
    if len(sentence) > most_chars:
        return "too long"
    if without_links(sentence, Known()) != sentence:
        return "link or markup"
    written, spoken = by_words(sentence), by_words(told)
    if written and spoken and written != spoken:
        return "another language"
    known = fold(told)
    if any(word not in known for word in names_and_numbers(sentence)):
        return "names or numbers that the document does not have"
    words = [fold(word)[:STEM] for word in content_words(sentence)]
    if sum(word in known for word in words) < SUPPORTED * max(len(words), 1):
        return "not about the document"
    return None


# --- chunks with their contexts ----------------------------------------------------------------------------------------


def context_keys(document: PreparedDocument) -> dict[UUID, bytes]:
    """Of each chunk, by its id."""
    passages = {passage.id: passage.content for passage in document.passages}
    return {
        one.id: context_key(
            document.title, document.text, one.landmark.headings, passages[one.passage_id], one.content
        )
        for one in document.chunks
    }  # fmt: skip


def with_contexts(
    document: PreparedDocument, texts: ChunkTexts, contexts: Mapping[bytes, WrittenContext], tokens: TokenCounter,
    most_tokens: int,
) -> PreparedDocument:  # fmt: skip
    """The document, its chunks embedded with the contexts that are known for them, by key."""
    keys = context_keys(document)

    def enriched(chunk: PreparedChunk) -> PreparedChunk:
        known = contexts.get(keys[chunk.id])
        if known is None or not known.context:
            return chunk
        span = (chunk.draft.start, chunk.draft.end)
        embedded = texts.embedded_whole(span, chunk.landmark.headings, known.context, tokens, most_tokens)
        return replace(chunk, embed_text=embedded, content_hash=text_hash(embedded))

    return replace(document, chunks=tuple(map(enriched, document.chunks)))
