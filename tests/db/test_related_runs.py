"""Questions how two things are related are answered by the way between them, each step cited (issue 5: path questions)."""

from __future__ import annotations

import asyncpg
import pytest
import pytest_asyncio

from cairn.domain.answer import Answer
from cairn.domain.event import SourcesFound
from cairn.service.documents import delete_document, list_documents
from cairn.service.search import get_trace
from cairn.wiring import Services
from tests.db.runs import answer, answered, change, events_of, fill
from tests.sharing import SHARED

pytestmark = SHARED

TEXTS = {
    "ada.md": "# Ada Lovelace\n\nAda Lovelace was born in London. Ada Lovelace liked long walks and music.",
    "town.md": "# London\n\nLondon is a large town on a river. Marylebone is a district of London, with old houses.",
    "hall.md": "# Wigmore Hall\n\nThe Wigmore Hall is located in Marylebone. It gives concerts every evening.",
    "bread.md": "# Bread\n\nSourdough rises slowly, and Gustave Eiffel never baked it.",
}


@pytest_asyncio.fixture(loop_scope="module")
async def people(services: Services) -> Services:
    await fill(services, TEXTS)
    return services


def quotes(made: Answer) -> list[str]:
    assert made.answer == " ".join(f"{cited.quote} [{cited.n}]" for cited in made.citations)
    by_id = {passage.passage_id: passage for passage in made.sources}
    for cited in made.citations:
        passage = by_id[cited.passage_id]
        assert passage.content[cited.start - passage.start : cited.end - passage.start] == cited.quote
    return [cited.quote for cited in made.citations]


@pytest.mark.parametrize(
    "question",
    [
        "How are Ada Lovelace and Wigmore Hall related?",
        "What is the connection between Ada Lovelace and the Wigmore Hall?",
        "Quel est le lien entre Ada Lovelace et Wigmore Hall ?",
        "¿Cuál es la relación entre Ada Lovelace y Wigmore Hall?",
        "Welche Beziehung besteht zwischen Ada Lovelace und Wigmore Hall?",
    ],
)
async def test_each_step_of_the_way_is_quoted_and_cited_in_order(people: Services, question: str) -> None:
    made = await answered(people, question)
    assert made.route["strategy"] == "related", made.route
    assert quotes(made) == [
        "Ada Lovelace was born in London.",
        "Marylebone is a district of London, with old houses.",
        "The Wigmore Hall is located in Marylebone.",
    ]
    assert made.route["paths"][0] == ["Ada Lovelace", "London", "Marylebone", "Wigmore Hall"]
    assert [passage.external_id for passage in made.sources] == ["ada.md", "town.md", "hall.md"]
    assert (made.grounded, made.degraded, made.insufficiencies) == (None, (), ())
    assert made.confidence == pytest.approx(0.9**3, abs=1e-3)


async def test_a_direct_relation_is_one_sentence(people: Services) -> None:
    made = await answered(people, "How is Ada Lovelace related to London?")
    assert quotes(made) == ["Ada Lovelace was born in London."]


async def test_its_trace_names_the_way(people: Services) -> None:
    events = await events_of(people, "How are Ada Lovelace and London related?")
    trace = await get_trace(people, answer(events).run_id)
    assert (trace.strategy, trace.outcome) == ("related", "ok")
    found = [event for event in events if isinstance(event, SourcesFound)]
    assert [passage.external_id for passage in found[0].passages] == ["ada.md"]


@pytest.mark.parametrize(
    "question",
    [
        "How are Ada Lovelace and Gustave Eiffel related?",
        "How is Ada Lovelace related to Napoleon?",
        "How are long walks and concerts related?",
        "How are Ada Lovelace and ada lovelace related?",
    ],
)
async def test_without_a_way_the_question_is_searched_for(people: Services, question: str) -> None:
    made = await answered(people, question)
    assert made.route["strategy"] in ("fast", "enhanced")
    assert "nothing in the graph joins" in made.route["reason"]
    assert made.route["read"] > 0
    assert "paths" not in made.route


async def test_a_named_strategy_and_filters_pass_the_graph_by(people: Services) -> None:
    question = "How are Ada Lovelace and London related?"
    assert (await answered(people, question, strategy="fast")).route["strategy"] == "fast"
    assert (await answered(people, question, filters={"team": "x"})).route["strategy"] != "related"


async def test_an_empty_collection_says_so(services: Services) -> None:
    made = await answered(services, "How are Ada Lovelace and London related?")
    assert "holds no documents yet" in made.answer


async def test_a_graph_that_cannot_be_read_is_reported(people: Services) -> None:
    """Somebody holds its table; searching needs it not."""
    owner = await asyncpg.connect(people.owner_dsn)
    try:
        await owner.execute("BEGIN; LOCK TABLE rag.adjacency IN ACCESS EXCLUSIVE MODE")
        made = await answered(people, "How are Ada Lovelace and London related?")
    finally:
        await owner.close()
    assert any("the graph could not be read (query-timeout" in note for note in made.degraded)
    assert made.route["strategy"] in ("fast", "enhanced")
    assert made.route["found"]


async def test_deleted_evidence_is_no_way_any_more(people: Services) -> None:
    for document in await list_documents(people, "handbook"):
        if document.external_id == "town.md":
            await delete_document(people, "handbook", document.id)
    made = await answered(people, "How are Ada Lovelace and Wigmore Hall related?")
    assert made.route["strategy"] in ("fast", "enhanced")


async def test_without_extraction_nothing_changes(services: Services) -> None:
    change(services, "graph", enabled=False)
    await fill(services, TEXTS)
    made = await answered(services, "How are Ada Lovelace and London related?")
    assert made.route["strategy"] in ("fast", "enhanced")
    assert "Ada Lovelace was born in London." in made.answer
