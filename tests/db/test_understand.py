"""A message becomes a plan, with the real collection, embedder and exemplars; and what happens when one of them fails."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from scripted_replies import Reply
from scripted_server import ScriptedServer

from cairn.domain.code import SymbolQuery
from cairn.domain.document import Source
from cairn.domain.passage import SearchRequest
from cairn.domain.plan import PromptConstraints, QueryPlan, Vocabulary
from cairn.domain.question import Exchange, SourceRef, Turn
from cairn.errors import ProviderError
from cairn.providers.openai_chat import OpenAIChat
from cairn.providers.protocols import Vectors
from cairn.providers.retry import RetryPolicy
from cairn.query.filters import restrict
from cairn.query.understand import understand
from cairn.retrieve.cache import cached_search
from cairn.retrieve.embed import query_vectors
from cairn.service.documents import index_now
from cairn.store.holdings import look_up_words
from cairn.wiring import Services
from tests.sharing import SHARED
from tests.waiting import patience

pytestmark = SHARED

CALLERS = SymbolQuery("Client.send", relation="calls")

DOCUMENTS = {
    "hr/handbook.md": (
        "Handbook",
        "Employees have 25 days of leave. The notice period is three months.",
        2021,
        "Jane Kim",
    ),
    "towers.md": ("Towers", "The Eiffel Tower was built in 1889. It was designed by Gustave Eiffel.", 2022, "Bob Lee"),
    "siemens.md": ("Siemens", "Siemens was founded in 1847 by Werner von Siemens in Berlin.", 2021, "Bob Lee"),
}


class Asking:
    """`understand` as a strategy calls it; `looked` and `embedded` count its calls."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.exemplars = services.exemplars
        self.looked = self.embedded = 0

    async def look(self, words: Sequence[str]) -> Vocabulary:
        self.looked += 1
        async with self.services.database.transaction(self.services.principal, readonly=True) as connection:
            return await look_up_words(connection, self.services.principal, "things", words)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += 1
        found = self.services
        deps = found.search_deps
        return await query_vectors(deps, found.principal, texts, found.settings.current, (deps.judge_model, deps.judge))

    async def __call__(self, message: str, *said: str, **changed: Any) -> QueryPlan:
        history = [
            Turn(uuid4(), "assistant" if place % 2 else "user", text, datetime.now(UTC))
            for place, text in enumerate(said)
        ]
        arguments: dict[str, Any] = {
            "vocabulary": self.look, "embed": self.embed, "chat": None, "settings": self.services.settings.current,
            "exemplars": self.exemplars,
            "find": partial(restrict, self.services.database, self.services.principal, "things"),
        }  # fmt: skip
        return await understand(message, history, **{**arguments, **changed})


@pytest_asyncio.fixture(loop_scope="module")
async def asking(services: Services) -> Asking:
    sources = [
        Source(name, name, text.encode(), title, "text/plain", {"year": year, "author": author}, is_text=True)
        for name, (title, text, year, author) in DOCUMENTS.items()
    ]
    outcomes = await index_now(services, "things", sources)
    assert [type(outcome).__name__ for outcome in outcomes] == ["Indexed"] * 3
    return Asking(services)


@pytest.fixture
def scripted() -> Any:
    with ScriptedServer() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def chat(scripted: ScriptedServer) -> AsyncIterator[OpenAIChat]:
    made = OpenAIChat("writer", "key", scripted.openai_url, retry=RetryPolicy(attempts=1))
    yield made
    await made.close()


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("message", "intent"),
    [("hi", "greeting"), ("Thank you!", "gratitude"), ("???", "garbage"), ("", "garbage"), ("why?", "clarify_needed")],
)
async def test_what_hard_rules_decide_costs_no_call(asking: Asking, message: str, intent: str) -> None:
    plan = await asking(message)
    assert (plan.intent.intent, plan.intent.layer) == (intent, 0)
    assert (asking.looked, asking.embedded) == (0, 0)
    assert plan.degraded == ()


async def test_a_question_is_understood_and_timed(asking: Asking) -> None:
    plan = await asking("When was the Eiffel Tower built and who designed it?")
    assert plan.intent.intent == "question"
    assert plan.text == plan.message
    assert plan.rewritten_by is None
    assert plan.language == "en"
    assert plan.entities == ("Eiffel Tower",)
    assert len(plan.subquestions) == 2
    assert "Eiffel Tower" in plan.subquestions[1]
    assert {"rules", "vocabulary", "embed", "intent", "rewrite", "classify", "understand"} <= set(plan.timings_ms)
    assert (plan.filters, plan.documents, plan.degraded) == ({}, (), ())


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("message", "known"),
    [
        ("Summarize everything", {"summary": "whole"}),
        ("Summarize the leave policy", {"summary": "subject"}),
        ("Fasse die Regeln zum Urlaub zusammen", {"summary": "subject"}),
        ("How are Gustave Eiffel and the Eiffel Tower related?", {"ends": (("Gustave Eiffel", "the Eiffel Tower"),)}),
        ("Who founded the company that makes the Clio?", {"inner": "the company that makes"}),
        ("Do two separate searches for leave.", {"constraints": PromptConstraints(min_searches=2)}),
        ("who calls Client.send?", {"code": (CALLERS,), "symbols": (CALLERS,)}),
        ("What does load_links() do?", {"symbols": (SymbolQuery("load_links", marked=True),)}),
        ("it?", {"has_terms": False}),
    ],
)
async def test_all_that_is_asked_for_is_known_from_one_reading(asking: Asking, message: str, known: Any) -> None:
    """By this alone the way is chosen, so each is told by what asks for it, and by nothing else."""
    plan = await asking(message)
    assert {name: getattr(plan, name) for name in known} == known
    plain = {
        "summary": None, "ends": (), "inner": None, "constraints": PromptConstraints(), "code": (), "symbols": (),
        "continued": None, "has_terms": True,
    }  # fmt: skip
    assert {name: getattr(plan, name) for name in plain if name not in known} == {
        name: value for name, value in plain.items() if name not in known
    }


async def test_a_part_that_asks_something_else_is_not_left_out_for_what_the_code_tells(asking: Asking) -> None:
    both = await asking("Who calls Client.send and what does Client.send return?")
    assert [one.relation or one.aspect for one in both.code] == ["calls", "returns"]
    assert (await asking("Who calls Client.send and how many days of leave are there?")).code == ()


async def test_the_answer_that_is_gone_on_from_is_known(asking: Asking) -> None:
    source = SourceRef(1, uuid4(), uuid4(), None, "hr/handbook.md", "Handbook", None, 0, 10, 1, 0.5, "Employees have")
    now = datetime.now(UTC)
    answer = Turn(uuid4(), "assistant", "25 days [1].", now, (source,))
    history = [Turn(uuid4(), "user", "How much leave is there?", now), answer]
    going_on = partial(
        understand, vocabulary=asking.look, embed=asking.embed, chat=None,
        settings=asking.services.settings.current, exemplars=asking.exemplars,
    )  # fmt: skip
    assert (await going_on("tell me more", history)).continued == Exchange("How much leave is there?", answer)
    assert (await going_on("When was the Eiffel Tower built?", history)).continued is None
    assert (await going_on("tell me more", [*history, *[replace(history[0], id=uuid4())] * 4])).continued is None


async def test_a_follow_up_is_rewritten_by_rules_and_says_so(asking: Asking) -> None:
    plan = await asking("when was it founded?", "What is Siemens?", "A company. [1]")
    assert plan.text == "when was Siemens founded?"
    assert (plan.rewritten_by, plan.carried) == ("rules", ("Siemens",))
    assert "it" in plan.rewrite_reason
    assert (await asking("why?", "Does Siemens make trains?", "Yes.")).text == "why: Does Siemens make trains?"


async def test_only_the_last_five_messages_count(asking: Asking) -> None:
    said = ["What is Siemens?", "A company.", *["thanks", "You are welcome."] * 3]
    assert "Siemens" not in (await asking("when was it founded?", *said)).text


async def test_the_language_of_a_short_message_is_that_of_the_conversation(asking: Asking) -> None:
    assert (await asking("BM25 ?", "Qu'est-ce que la recherche lexicale ?", "Une méthode.")).language == "fr"
    assert (await asking("BM25 ranking")).language == "en"


async def test_restrictions_are_applied_where_documents_have_them(asking: Asking) -> None:
    assert (await asking("What do the documents of 2022 say?")).filters == {"year": 2022}
    both = await asking("What do the papers by Kim from 2021 say?")
    assert both.filters == {"author": "Jane Kim", "year": 2021}
    assert both.text == both.message, "nothing else is asked"
    assert (await asking("How much leave is there in papers by Kim?")).text == "How much leave is there?"
    assert (await asking("How much leave is there in papers by Nobody from 2021?")).text.endswith("by Nobody?")
    assert (await asking("What does handbook.md say about leave?")).documents == ("hr/handbook.md",)
    assert (await asking("summarize handbook.md")).summary == "whole"


async def test_a_restriction_that_leaves_nothing_is_disclosed_and_not_applied(asking: Asking) -> None:
    plan = await asking("What do the papers by Kim from 2022 say?")
    assert plan.filters == {}
    assert any("no document has" in note for note in plan.degraded)
    assert any("1999" in note for note in (await asking("What do the documents of 1999 say about towers?")).degraded)
    lost = await asking("What is in missing.pdf?")
    assert lost.documents == ()
    assert any("missing.pdf" in note for note in lost.degraded)


async def test_a_restriction_against_the_callers_own_is_not_applied(asking: Asking) -> None:
    services = asking.services
    find = partial(restrict, services.database, services.principal, "things", own={"author": "Bob Lee"})
    plan = await asking("How much leave is there in papers by Kim?", find=find)
    assert (plan.filters, plan.text) == ({}, plan.message)
    assert plan.degraded
    agreed = await asking("How much leave is there in papers by Lee from 2022?", find=find)
    assert (agreed.filters, agreed.text) == ({"author": "Bob Lee", "year": 2022}, "How much leave is there?")
    nothing = partial(restrict, services.database, services.principal, "things", own={"year": 2022})
    assert (await asking("How much leave is there in papers by Kim?", find=nothing)).text.endswith("by Kim?")


async def test_restrictions_are_of_one_tenant(asking: Asking, other_tenant: Services) -> None:
    find = partial(restrict, other_tenant.database, other_tenant.principal, "things")
    plan = await asking("What do the documents of 2022 say in handbook.md?", find=find)
    assert (plan.filters, plan.documents) == ({}, ())


async def test_nothing_is_embedded_twice(asking: Asking) -> None:
    """The vector that the intent is recognised by is the one that retrieval asks for."""
    await asking.exemplars.warm()
    await asking("Who designed the Eiffel Tower?")
    found = asking.services
    request = SearchRequest("Who designed the Eiffel Tower?", ("things",), cache=True)
    result = await cached_search(found.search_deps, found.principal, request, found.settings.current)
    assert "embed" not in result.timings_ms
    assert result.passages[0].external_id == "towers.md"


async def test_failures_are_disclosed_and_done_without(asking: Asking) -> None:
    async def fails(_: Sequence[Any]) -> Any:
        raise ProviderError("it is away")

    async def breaks(_: Sequence[Any]) -> Any:
        raise RuntimeError("a bug")

    plan = await asking("What is the notice period in handbook.md?", vocabulary=breaks, embed=fails, find=fails)
    assert plan.intent.intent == "question"
    assert len(plan.degraded) == 3
    assert any("it is away" in note for note in plan.degraded)


async def test_a_model_rewrites_what_leans_on_the_conversation(
    asking: Asking, chat: OpenAIChat, scripted: ScriptedServer
) -> None:
    scripted.script(Reply(text='{"query": "when was Siemens founded?", "subquestions": []}'))
    plan = await asking("when was it founded?", "What is Siemens?", "A company.", chat=chat)
    assert (plan.text, plan.rewritten_by) == ("when was Siemens founded?", "writer")
    await asking("What is the notice period of employees at Siemens in Berlin?", "What is it?", "A thing.", chat=chat)
    await asking("What is the notice period?", chat=chat)
    assert len(scripted.requests) == 1  # neither leans on anything


@pytest.mark.parametrize(
    "reply", [Reply("500"), Reply(text='{"query": "when was Bosch founded in 1886?"}'), Reply("malformed")]
)
async def test_where_the_model_fails_the_rules_stand_and_say_so(
    asking: Asking, chat: OpenAIChat, scripted: ScriptedServer, reply: Reply
) -> None:
    scripted.script(reply)
    plan = await asking("when was it founded?", "What is Siemens?", "A company.", chat=chat)
    assert (plan.text, plan.rewritten_by) == ("when was Siemens founded?", "rules")
    assert any("rewriting by the model failed" in note for note in plan.degraded)


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    "text", ["x" * 20_000, "what about it and " * 1_100, "\x00 \ud800", "🙂" * 5000, "A and B? " * 2000]
)
async def test_any_message_gets_a_plan_in_bounded_time(asking: Asking, text: str) -> None:
    started = time.perf_counter()
    text = text.encode("utf-8", "replace").decode().replace("\x00", " ")
    plan = await asking(text, text, text)
    assert plan.message == text
    assert time.perf_counter() - started < patience(15)


@pytest.mark.measurement
async def test_what_understanding_adds_is_small(asking: Asking) -> None:
    """A guard; the measured medians are in docs/quality.md."""
    await asking.exemplars.warm()
    spent = [(await asking(f"What was built in the year {n}?")).timings_ms["understand"] for n in range(30)]
    print(f"understand: median {statistics.median(spent):.1f} ms")
    assert statistics.median(spent) < 500
