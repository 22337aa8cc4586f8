"""Hundreds of instructions in documents, and a model that obeys them all: with every strategy, and in the jobs that ask a model,
nothing it was told to say or do leaves."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

import pytest
from injections import CASES, COMMANDS, FOREIGN, KEY, PLACES, STOLEN, Obeying, documents
from scripted_server import ScriptedServer

from cairn.domain.document import Source
from cairn.domain.event import Event, Token
from cairn.domain.ids import new_id
from cairn.domain.question import Question, Turn
from cairn.graph.refresh import KIND
from cairn.language.links import WORD, addresses, known, plain
from cairn.service.documents import get_collection, index_now
from cairn.service.search import get_trace
from cairn.settings import CommunitySettings, Environment, SettingsStore
from cairn.store.jobs import enqueue
from cairn.strategies.agents.tools.registry import all_tools
from cairn.wiring import Services, open_services
from tests.db.extracting import settings as extracting
from tests.db.runs import answer, change, fill, read

pytestmark = pytest.mark.usefixtures("hashed_vectors")

QUESTIONS: Final = {
    "en": "How many days of leave do employees have per year?",
    "de": "Wie viele Tage Urlaub (leave) haben employees im Jahr?",
    "fr": "Combien de jours de leave les employees ont-ils par an ?",
    "es": "¿Cuántos días de leave tienen los employees por año?",
}
STRATEGIES: Final = ("fast", "enhanced", "react", "planned", "iterative", "corrective")

_dialled: list[Any] = []


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        _dialled.append(arguments[0])


sys.addaudithook(_listen)


@pytest.fixture
def obeying() -> Obeying:
    return Obeying()


@pytest.fixture
def scripted(obeying: Obeying) -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=obeying) as running:
        yield running


@pytest.fixture
async def services(environment: Environment, scripted: ScriptedServer) -> AsyncIterator[Services]:
    with_model = replace(environment, openai_base_url=scripted.openai_url, openai_api_key=KEY)
    async with open_services(replace(with_model, tenant="other"), SettingsStore()) as theirs:
        await fill(theirs, {"secret.md": f"# Vault code\n\n{FOREIGN}"})
        await fill(theirs, {"secret.md": f"# Vault code\n\n{FOREIGN}"}, "secrets")
    async with open_services(with_model, SettingsStore()) as opened:
        change(opened, "rag", reranking_enabled=False)
        await fill(opened, {"secret.md": f"# Vault code\n\n{FOREIGN}"}, "secrets")
        sources = [
            Source(one.external_id, one.external_id, one.text.encode(), one.title, metadata=one.metadata)
            for one in documents()
        ]
        outcomes = await index_now(opened, "handbook", sources)
        assert all(hasattr(outcome, "document_id") for outcome in outcomes)
        yield opened


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


def addresses_in(text: str) -> set[str]:
    words = (word[0] for word in WORD.finditer(plain(text).text))
    return {word[start:end] for word in words for start, end in addresses(word)}


def check_text(text: str) -> None:
    assert STOLEN not in text, text[max(0, text.index(STOLEN) - 200) :][:400]
    assert KEY not in text
    assert FOREIGN not in text


def check_run(events: list[Event]) -> None:
    """Nothing that left: neither in an event nor in the answer, its sources and quotations included."""
    made = answer(events)
    for text in strings([asdict(event) for event in events if not isinstance(event, Token)]):
        check_text(text)
    check_text("".join(event.text for event in events if isinstance(event, Token)))
    cited = {citation.passage_id for citation in made.citations}
    texts = [
        text for one in made.sources if one.passage_id in cited for text in (one.content, one.title, one.external_id)
    ]
    sources = known(texts)
    assert all(sources.address(one) for one in addresses_in(made.answer)), made.answer
    assert not re.search(r"!\[|<img", made.answer)


async def check_trace(services: Services, run_id: Any) -> None:
    await services.traces.flush()
    trace = await get_trace(services, run_id)
    for text in strings(json.loads(json.dumps(asdict(trace), default=str))):
        check_text(text)
    for step in trace.plan.get("agent_steps", ()):
        for used in step["tools"]:
            assert used["tool"] in ("gap", *all_tools()) or not used["success"], used


def test_the_suite_is_large_and_wide() -> None:
    assert len(CASES) >= 200
    assert {case.language for case in CASES} == set(COMMANDS) == {"en", "de", "fr", "es"}
    assert {case.place for case in CASES} == set(PLACES)


@pytest.mark.parametrize("protocols", [1, pytest.param(2, marks=pytest.mark.siege)])
async def test_no_strategy_and_no_job_lets_out_what_documents_demand(
    services: Services,
    environment: Environment,
    scripted: ScriptedServer,
    obeying: Obeying,
    caplog: pytest.LogCaptureFixture,
    protocols: int,
) -> None:
    """Each strategy is asked in one language by one way of calling tools, in a siege in two by both."""
    caplog.set_level(logging.DEBUG)
    _dialled.clear()
    by_strategy: dict[str, int] = {}
    for number, strategy in enumerate(STRATEGIES):
        before = len(obeying.prompts)
        ways = [*zip(("native", "text"), list(QUESTIONS.values())[number % 2 :: 2], strict=True)]
        if protocols == 1:
            ways = [ways[(number + number // 2) % 2]]  # of neighbours, all languages and both ways
        for protocol, question in ways:
            change(services, "agents", protocol=protocol)
            asked = Question(question, "handbook", new_id(), strategy=strategy)
            check_run(await read(services, asked))
            await check_trace(services, asked.run_id)
        by_strategy[strategy] = sum("evil.example" in prompt for prompt in obeying.prompts[before:])
    said: Iterable[tuple[Literal["user", "assistant"], str]] = (("user", QUESTIONS["en"]), ("assistant", CASES[0].text))
    history = tuple(Turn(new_id(), role, text, datetime.now(UTC)) for role, text in said)
    check_run(await read(services, Question("Tell me more about it", "handbook", new_id(), history=history)))
    check_run(await read(services, Question("Summarize all documents", "handbook", new_id())))
    await check_jobs(services, environment, scripted)
    assert all(count >= 2 for count in by_strategy.values()), by_strategy
    assert len(obeying.seen) >= 200, "so many of the instructions reached a model"
    prompts = "\n".join(obeying.prompts)
    assert KEY not in prompts
    assert FOREIGN not in prompts
    assert not [host for host in _dialled if "evil" in str(host)], "nothing was fetched"
    assert KEY not in caplog.text
    async with services.database.transaction(services.principal, readonly=True) as connection:
        assert await connection.fetchval("SELECT count(*) FROM rag.documents WHERE status = 'indexed'") > 100


async def check_jobs(services: Services, environment: Environment, scripted: ScriptedServer) -> None:
    """Extraction takes only names that stand in a passage; what is written of communities passes the same filter."""
    collection = await get_collection(services, "handbook")
    with_model = replace(environment, openai_base_url=scripted.openai_url, openai_api_key=KEY)
    store = extracting()
    communities = CommunitySettings(delay_seconds=0, written=5)
    store.current = store.current.model_copy(
        update={"graph": store.current.graph.model_copy(update={"communities": communities})}
    )
    async with open_services(with_model, store) as working:
        async with working.database.transaction(working.principal) as connection:
            await enqueue(connection, working.principal, KIND, {"collection_id": str(collection.id)}, max_attempts=1)
        await working.worker().run_until_idle()
        async with working.database.transaction(working.principal, readonly=True) as connection:
            rows = [
                *await connection.fetch("SELECT name FROM rag.entities"),
                *await connection.fetch("SELECT kind FROM rag.relations"),
                *await connection.fetch("SELECT title, summary FROM rag.communities"),
            ]
    for text in strings([dict(row) for row in rows]):
        check_text(text)
