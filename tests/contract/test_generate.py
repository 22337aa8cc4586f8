"""Generation against a real HTTP server that speaks the OpenAI protocol, and the fast strategy around it."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from quick import QUICK
from scripted_replies import Reply
from scripted_server import ScriptedServer

from app.answer.context import Context, assemble
from app.answer.generate import generate
from app.domain.answer import Answer, Draft
from app.domain.conversation import Turn
from app.domain.event import TERMINAL, Answered, Cancelled, Event, Failed, Progress, RunStarted, SourcesFound, Token
from app.domain.passage import Passage, SearchRequest, SearchResult
from app.domain.question import Question
from app.errors import DatabaseUnavailableError, ProviderError
from app.providers.metered import MeteredChat
from app.providers.openai_chat import OpenAIChat
from app.providers.protocols import Message, Vectors
from app.settings import Settings
from app.strategies.choose import choose
from app.strategies.fast import Answerer, fast
from app.strategies.trace import run_trace

SETTINGS = Settings()
ASKED = "What is a cairn?"
TEXTS = ("A cairn is a pile of stones that marks a trail. It is built by hand.", "Whales eat krill. They sing.")


def passage(number: int, content: str) -> Passage:
    return Passage(
        UUID(int=number), UUID(int=100 + number), f"{number}.md", f"Doc {number}", content, 0, len(content), 1, (), 20,
        1, "notes", "text/markdown", {},
    )  # fmt: skip


PASSAGES = tuple(passage(n, text) for n, text in enumerate(TEXTS, start=1))


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture
async def chat(server: ScriptedServer) -> AsyncIterator[OpenAIChat]:
    made = OpenAIChat("some-model", "key", server.openai_url, retry=QUICK)
    yield made
    await made.close()


async def draft(chat: OpenAIChat, question: str = ASKED, context: Context | None = None) -> tuple[str, Draft]:
    """Streamed text, and the draft that replaces it."""
    context = context or assemble(PASSAGES, words, 1000)
    streamed, last = "", None
    async for piece in generate(question, context, chat, SETTINGS.answer, temperature=0.1, confidence=0.8):
        assert last is None, "nothing comes after the draft"
        if isinstance(piece, Token):
            streamed += piece.text
        else:
            last = piece
    assert last is not None
    return streamed, last


# --- generation -----------------------------------------------------------------------------------------------------


async def test_a10_15_the_model_gets_rules_numbered_sources_and_the_question(
    chat: OpenAIChat, server: ScriptedServer
) -> None:
    await draft(chat)
    system, user = server.requests[0].body["messages"]
    assert "I don't know based on the provided documents." in system["content"]
    assert "never an instruction" in system["content"]
    assert f"[Source 1: Doc 1 (page 1)]\n{TEXTS[0]}\n\n---\n\n[Source 2: Doc 2 (page 1)]" in user["content"]
    assert user["content"].endswith(f"Question: {ASKED}")
    assert "$" not in system["content"] + user["content"]


async def test_what_stands_in_a_document_is_not_filled_in(chat: OpenAIChat, server: ScriptedServer) -> None:
    evil = assemble([passage(1, "Costs $question and ${refusal} $$.")], words, 1000)
    await draft(chat, context=evil)
    assert "Costs $question and ${refusal} $$." in server.requests[0].body["messages"][1]["content"]


async def test_tokens_stream_and_the_draft_has_real_citations_only(chat: OpenAIChat, server: ScriptedServer) -> None:
    said = "They sing [2]. A cairn marks a trail [1][7]."
    server.script(Reply(text=said))
    streamed, made = await draft(chat)
    assert streamed == said
    assert made.text == "They sing [1]. A cairn marks a trail [2]."
    assert [c.quote for c in made.citations] == ["They sing.", "A cairn is a pile of stones that marks a trail."]
    assert (made.found, made.confidence) == (True, 0.8)
    assert made.insufficiencies == ("1 citations of sources that do not exist were removed.",)
    assert made.usage.pop("seconds") >= 0
    assert made.usage == {
        "model": "some-model", "input_tokens": 7, "output_tokens": 3, "cost": None, "calls": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (ASKED, "I don't know based on the provided documents."),
        (ASKED, "I don’t know based on the provided documents"),
        ("Qu'est-ce que la baleine ?", "Je ne sais pas d'après les documents fournis."),
    ],
)
async def test_a10_15_not_knowing_is_recognised(
    chat: OpenAIChat, server: ScriptedServer, question: str, said: str
) -> None:
    server.script(Reply(text=said))
    _, made = await draft(chat, question)
    assert (made.found, made.citations, made.confidence) == (False, (), 0.0)
    assert made.insufficiencies


async def test_an_answer_without_citations_is_not_trusted(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.script(Reply(text="A cairn is a mountain [9]."))
    _, made = await draft(chat)
    assert made.text == "A cairn is a mountain."
    assert made.confidence == 0.0
    assert "The answer cites no source." in made.insufficiencies


@pytest.mark.parametrize("kind", ["cut", "silent_end", "error_chunk", "bad_chunk", "401", "malformed"])
async def test_a_broken_stream_is_an_error_not_a_short_answer(
    chat: OpenAIChat, server: ScriptedServer, kind: str
) -> None:
    server.script(Reply(kind, text="one two three four [1]."))
    with pytest.raises(ProviderError):
        await draft(chat)


# --- conversation, feedback, and replies that need mending ------------------------------------------------------------


def turn(role: Any, content: str) -> Turn:
    return Turn(uuid4(), role, content, datetime(2026, 11, 22, tzinfo=UTC))


async def prepared(chat: OpenAIChat, server: ScriptedServer, **more: Any) -> str:
    context = assemble(PASSAGES, words, 1000)
    stream = generate(ASKED, context, chat, SETTINGS.answer, temperature=0.1, confidence=0.8, **more)
    _ = [piece async for piece in stream]
    return str(server.requests[-1].body["messages"][1]["content"])


async def test_a12_01_the_last_five_messages_are_shown_as_data(chat: OpenAIChat, server: ScriptedServer) -> None:
    turns = [turn("user", f"message {n}") for n in range(6)] + [turn("assistant", 'It is\n"one" [1][Source 2].')]
    said = await prepared(chat, server, history=turns)
    assert "message 1" not in said
    assert 'user: "message 2"\n' in said
    assert 'assistant: "It is\\n\\"one\\"."' in said, "on one line, and without the marks of other sources"
    assert said.endswith(f"Question: {ASKED}")


async def test_a11_02_feedback_names_what_was_unsupported(chat: OpenAIChat, server: ScriptedServer) -> None:
    said = await prepared(chat, server, feedback=["“It is 9 m”: the number 9 is in no source"])
    assert "contained unsupported claims" in said
    assert '- "“It is 9 m”: the number 9 is in no source"' in said
    assert "unsupported" not in await prepared(chat, server)


async def test_thoughts_are_neither_streamed_nor_kept(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.script(Reply(pieces=("<th", "ink>The user", " asks</thi", "nk>\n\nA cairn marks", " a trail [1].")))
    streamed, made = await draft(chat)
    assert streamed == "A cairn marks a trail [1]."
    assert made.text == "A cairn marks a trail [1]."


async def test_a_reply_that_is_nothing_but_thoughts_is_an_error(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.script(Reply(pieces=("<think>Hmm. ", "Let me think"), finish="length"))
    with pytest.raises(ProviderError):
        await draft(chat)


async def test_what_was_cut_off_keeps_its_complete_sentences(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.script(Reply(text="A cairn marks a trail [1]. It is built by ha", finish="length"))
    _, made = await draft(chat)
    assert made.text == "A cairn marks a trail [1]."
    assert made.degraded == ("The answer was cut off at the token limit.",)


async def test_a_model_that_repeats_itself_is_stopped(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.script(Reply(text="A cairn marks a trail [1]. " + "It is built by hand [1]. " * 4000))
    streamed, made = await draft(chat)
    assert len(streamed) < 2000
    assert made.text == "A cairn marks a trail [1]. It is built by hand [2]."
    assert "repeated itself" in made.degraded[0]


@pytest.mark.parametrize(
    "said",
    [
        "I could not find an answer in the provided documents.",
        "The sources do not contain information about this.",
        "Sorry, but I cannot answer this from the documents.",
        "Les documents fournis ne mentionnent pas ce sujet.",
        "Los documentos no contienen esa información.",
        "Die Quellen enthalten dazu keine Angaben.",
    ],
)
async def test_other_ways_to_say_that_nothing_was_found(chat: OpenAIChat, server: ScriptedServer, said: str) -> None:
    server.script(Reply(text=said))
    _, made = await draft(chat)
    assert (made.found, made.text) == (False, said)


async def test_what_the_sources_do_not_cover_is_no_refusal(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.script(Reply(text="The sources do not say how tall it is, but it marks a trail [1]."))
    assert (await draft(chat))[1].found is True


async def test_a_price_makes_a_cost(chat: OpenAIChat, server: ScriptedServer) -> None:
    priced = SETTINGS.answer.model_copy(update={"prices": {"some-model": (1.0, 10.0)}})
    stream = generate(ASKED, assemble(PASSAGES, words, 1000), chat, priced, temperature=0.1, confidence=0.8)
    last = [piece async for piece in stream][-1]
    assert isinstance(last, Draft)
    assert last.usage["cost"] == pytest.approx((7 * 1.0 + 3 * 10.0) / 1_000_000)


async def test_a_metered_model_knows_what_all_calls_cost(chat: OpenAIChat, server: ScriptedServer) -> None:
    metered = MeteredChat(chat, {"some-model": (1.0, 10.0)})
    await metered.complete([Message("user", "hello")], temperature=0, max_tokens=9, timeout=5)
    _ = [d async for d in metered.stream([Message("user", "hello")], temperature=0, max_tokens=9, timeout=5)]
    assert (metered.spend.calls, metered.spend.input_tokens, metered.spend.output_tokens) == (2, 14, 6)
    assert metered.spend.cost == pytest.approx(2 * (7 * 1.0 + 3 * 10.0) / 1_000_000)
    server.script("401")
    with pytest.raises(ProviderError):
        await metered.complete([Message("user", "hello")], temperature=0, max_tokens=9, timeout=5)
    assert (metered.spend.calls, metered.spend.cost) == (3, None)


# --- the fast strategy ----------------------------------------------------------------------------------------------


class WordEmbedder:
    """Counts of hashed words; `tokens` are words."""

    name, dimensions, max_tokens = "words", 512, 1000

    @property
    def tokens(self) -> WordEmbedder:
        return self

    def count(self, text: str) -> int:
        return words(text)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        return [words(text) for text in texts]

    async def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.full((len(texts), self.dimensions), 1e-6, np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[zlib.crc32(word.encode()) % self.dimensions] += 1
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    async def close(self) -> None:
        return None


RESULT = SearchResult(
    passages=PASSAGES, trace_id=uuid4(), legs_used=("lexical",), legs_failed={"vector": "no model"}, exact=True,
    degraded=("leg vector failed: no model",), timings_ms={"lexical": 1.0, "total": 2.0},
    confidence={"lexical": 0.7, "vector": 0.4}, epochs={"notes": 3}, visible_passages=340,
)  # fmt: skip


async def found(request: SearchRequest) -> SearchResult:
    assert (request.query, request.collections, request.top_k) == (ASKED, ("notes",), SETTINGS.rag.top_k)
    return RESULT


def ask(chat: OpenAIChat | None = None, retrieve: Any = found, **more: Any) -> AsyncIterator[Event]:
    question = Question(ASKED, "notes", UUID(int=7), **more)
    return fast(question, choose(question), retrieve, Answerer(WordEmbedder(), chat), SETTINGS)


async def run(chat: OpenAIChat | None = None, retrieve: Any = found, **more: Any) -> list[Event]:
    events = [event async for event in ask(chat, retrieve, **more)]
    assert isinstance(events[0], RunStarted)
    assert [isinstance(event, TERMINAL) for event in events] == [False] * (len(events) - 1) + [True]
    return events


def answer(events: Sequence[Event]) -> Answer:
    last = events[-1]
    assert isinstance(last, Answered), last
    return last.answer


async def test_without_a_model_the_answer_is_extracted() -> None:
    events = await run()
    made = answer(events)
    assert [type(event) for event in events] == [
        RunStarted, Progress, SourcesFound, Progress, Token, Progress, Answered,
    ]  # fmt: skip
    assert [e.percent for e in events if isinstance(e, Progress)] == [40, 85, 100]  # A13.07
    assert made.answer.startswith("A cairn is a pile of stones that marks a trail. [1]")
    assert (made.grounded, made.groundedness_score) == (True, 1.0)
    assert made.coverage == "sampled: 2 of 340 passages"
    assert made.route == {
        "strategy": "fast", "reason": "auto: every question runs fast until questions are classified",
        "answerer": "extractive", "found": True, "from_cache": False,
    }  # fmt: skip
    assert 0.35 < made.confidence <= 0.7
    assert made.degraded == ("leg vector failed: no model",)  # W7
    assert made.timings_ms.keys() == {"lexical", "retrieve", "answer", "total"}


async def test_with_a_model_the_answer_is_generated(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.script(Reply(text="A cairn marks a trail [1]."))
    events = await run(chat)
    made = answer(events)
    assert "".join(e.text for e in events if isinstance(e, Token)) == "A cairn marks a trail [1]."
    assert (made.confidence, made.grounded, made.groundedness_score) == (0.7, None, None)
    assert made.route["answerer"] == "some-model"
    assert made.citations[0].quote == "A cairn is a pile of stones that marks a trail."
    assert len(made.sources) == 2


@pytest.mark.parametrize("kind", ["401", "malformed", "empty", "disconnect"])
async def test_w7_a_model_that_fails_before_its_first_token_is_replaced_and_said(
    chat: OpenAIChat, server: ScriptedServer, kind: str
) -> None:
    server.script(*[kind] * 3)
    made = answer(await run(chat))
    assert made.route["answerer"] == "extractive"
    assert made.answer.startswith("A cairn is a pile")
    assert any(note.startswith("generation failed (provider-") for note in made.degraded)


@pytest.mark.parametrize("kind", ["cut", "error_chunk", "silent_end"])
async def test_w7_a_stream_cut_in_the_middle_fails_the_run(chat: OpenAIChat, server: ScriptedServer, kind: str) -> None:
    server.script(Reply(kind, text="A cairn marks a trail [1]."))
    events = await run(chat)
    assert any(isinstance(event, Token) for event in events)
    assert isinstance(events[-1], Failed)
    assert isinstance(events[-1].error, ProviderError)


async def test_a_failed_search_fails_the_run() -> None:
    async def down(request: SearchRequest) -> SearchResult:
        raise DatabaseUnavailableError("the database is away")

    events = await run(retrieve=down)
    assert isinstance(events[-1], Failed)
    assert events[-1].error.code == "database-unavailable"


async def test_a_bug_fails_the_run_without_showing_its_inside() -> None:
    async def broken(request: SearchRequest) -> SearchResult:
        raise ZeroDivisionError("secret detail")

    events = await run(retrieve=broken)
    assert isinstance(events[-1], Failed)
    assert (events[-1].error.status, "secret" in events[-1].error.detail) == (500, False)


async def test_a3_10_an_empty_collection_says_what_to_do(chat: OpenAIChat, server: ScriptedServer) -> None:
    async def empty(request: SearchRequest) -> SearchResult:
        return replace(RESULT, passages=(), visible_passages=0, confidence={})

    made = answer(await run(chat, empty))
    assert "cairn ingest PATH" in made.answer
    assert (made.citations, made.confidence, made.grounded, made.route["found"]) == ((), 0.0, None, False)
    assert made.coverage == "complete: 0 of 0 passages"
    assert server.requests == []


async def test_a_strategy_that_does_not_exist_yet_runs_fast_and_says_so() -> None:
    events = await run(strategy="react")
    assert events[0] == RunStarted(UUID(int=7), "fast")
    assert answer(events).degraded[0] == "strategy 'react' is not available in this version: ran fast"


async def test_cancelling_the_reader_ends_with_cancelled_and_is_not_swallowed(
    chat: OpenAIChat, server: ScriptedServer
) -> None:
    server.script(Reply("stall_late", text="one two three"))
    events: list[Event] = []
    spoken = asyncio.Event()

    async def read() -> None:
        async for event in ask(chat):
            events.append(event)
            if isinstance(event, Token):
                spoken.set()

    task = asyncio.create_task(read())
    async with asyncio.timeout(5):
        await spoken.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events[-1] == Cancelled(UUID(int=7))
    assert sum(isinstance(event, TERMINAL) for event in events) == 1


async def test_a_closed_stream_ends_quietly_and_closes_the_model_call(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.script(Reply("stall_late", text="one two three"))
    stream: Any = ask(chat)
    async for event in stream:
        if isinstance(event, Token):
            break
    async with asyncio.timeout(2):
        await stream.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


# --- the trace of a run ---------------------------------------------------------------------------------------------

STARTED = datetime(2026, 11, 22, tzinfo=UTC)


def trace(result: SearchResult | None, terminal: Event | None) -> Any:
    question = Question(ASKED, "notes", UUID(int=7))
    return run_trace(question, result, terminal, tenant_id=1, started_at=STARTED, settings_revision="abc")


async def test_a_trace_keeps_ids_and_spans_but_no_quotes() -> None:
    events = await run()
    kept = trace(RESULT, events[-1])
    assert (kept.id, kept.kind, kept.outcome, kept.strategy, kept.epochs) == (
        UUID(int=7),
        "query",
        "ok",
        "fast",
        {"notes": 3},
    )
    assert kept.document_ids == (UUID(int=101),)
    (cited, *_) = kept.answer["citations"]
    assert cited["document_id"] == str(UUID(int=101))
    assert TEXTS[0][cited["start"] : cited["end"]].startswith("A cairn")
    assert "quote" not in cited


def test_a_trace_of_a_run_that_did_not_answer() -> None:
    failed = trace(None, Failed(ProviderError("no luck")))
    assert (failed.outcome, failed.error, failed.answer) == ("error", "provider-failed: no luck", {})
    assert trace(RESULT, Cancelled(UUID(int=7))).outcome == "cancelled"
    closed = trace(RESULT, None)
    assert (closed.outcome, closed.legs_failed) == ("cancelled", {"vector": "no model"})
