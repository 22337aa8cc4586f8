"""Generation against a real HTTP server that speaks the OpenAI protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from quick import QUICK
from scripted_replies import Reply
from scripted_server import ScriptedServer

from cairn.answer.context import Context, assemble
from cairn.answer.generate import generate
from cairn.domain.answer import Draft
from cairn.domain.passage import Passage
from cairn.domain.question import Turn
from cairn.errors import ProviderError
from cairn.providers.metered import Meter
from cairn.providers.openai_chat import OpenAIChat
from cairn.providers.protocols import Message
from cairn.settings import Settings

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
    streamed: list[str] = []
    made = await generate(
        question, context, chat, SETTINGS.answer, temperature=0.1, confidence=0.8, on_text=streamed.append
    )
    return "".join(streamed), made


# --- generation -----------------------------------------------------------------------------------------------------


async def test_the_model_gets_rules_numbered_sources_and_the_question(chat: OpenAIChat, server: ScriptedServer) -> None:
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


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (ASKED, "I don't know based on the provided documents."),
        (ASKED, "I don’t know based on the provided documents"),
        ("Qu'est-ce que la baleine ?", "Je ne sais pas d'après les documents fournis."),
    ],
)
async def test_not_knowing_is_recognised(chat: OpenAIChat, server: ScriptedServer, question: str, said: str) -> None:
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
    await generate(
        ASKED, context, chat, SETTINGS.answer, temperature=0.1, confidence=0.8, on_text=lambda text: None, **more
    )
    return str(server.requests[-1].body["messages"][1]["content"])


async def test_the_conversation_is_shown_as_data(chat: OpenAIChat, server: ScriptedServer) -> None:
    turns = [turn("user", f"message {n}") for n in range(6)] + [turn("assistant", 'It is\n"one" [1][Source 2].')]
    said = await prepared(chat, server, history=turns)
    assert all(f'user: "message {n}"\n' in said for n in range(6)), "all that it is given"
    assert 'assistant: "It is\\n\\"one\\"."' in said, "on one line, and without the marks of other sources"
    assert said.endswith(f"Question: {ASKED}")


async def test_feedback_names_what_was_unsupported(chat: OpenAIChat, server: ScriptedServer) -> None:
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


async def test_a_meter_knows_what_all_calls_cost(chat: OpenAIChat, server: ScriptedServer) -> None:
    meter = Meter({"some-model": (1.0, 10.0)})
    metered = meter.chat(chat, "test")
    await metered.complete([Message("user", "hello")], temperature=0, max_tokens=9, timeout=60)
    _ = [d async for d in metered.stream([Message("user", "hello")], temperature=0, max_tokens=9, timeout=60)]
    assert (meter.spend.calls, meter.spend.input_tokens, meter.spend.output_tokens) == (2, 14, 6)
    assert meter.spend.cost == pytest.approx(2 * (7 * 1.0 + 3 * 10.0) / 1_000_000)
    server.script("401")
    with pytest.raises(ProviderError):
        await metered.complete([Message("user", "hello")], temperature=0, max_tokens=9, timeout=60)
    assert (meter.spend.calls, meter.spend.tokens) == (3, 20), "what is refused costs no tokens"
