"""Tools of the agents, each as a strategy calls it, without a model."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
from pydantic import Field

from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.errors import CairnError
from cairn.runs.choose import Route
from cairn.runs.context import Record, Run
from cairn.runs.run import understand_question
from cairn.service.ask import deps_for
from cairn.service.documents import delete_document, list_documents
from cairn.settings import Environment, SettingsStore
from cairn.strategies.agents.tools.registry import (
    REACT_TOOLS,
    TOOLS,
    Tool,
    Toolbox,
    open_toolbox,
)
from cairn.strategies.agents.tools.tool import LONGEST_TEXT, Arguments, Text, ToolResult
from cairn.strategies.agents.tools.use import use
from cairn.wiring import Services, open_services
from tests.db.runs import change, fill
from tests.sharing import SHARED

pytestmark = SHARED

BIOGRAPHIES = {
    "curie.md": "# Marie Curie\n\nMarie Curie was born in Warsaw in 1867. Marie Curie worked with Pierre Curie in Paris. She was "
    "awarded the Nobel Prize in Physics in 1903.",
    "einstein.md": "# Albert Einstein\n\nAlbert Einstein was born in Ulm in 1879. Albert Einstein worked in Bern and in Berlin. "
    "He was awarded the Nobel Prize in Physics in 1921.",
    "noether.md": "# Emmy Noether\n\nEmmy Noether was born in Erlangen in 1882. Emmy Noether worked in Göttingen.",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def people(services_of_module: Services) -> Services:
    """Biographies, for tests that only read."""
    await fill(services_of_module, BIOGRAPHIES, "people")
    return services_of_module


@pytest.fixture
def filled(people: Services) -> Services:
    """With settings that only the test has."""
    own = replace(people, settings=SettingsStore())
    change(own, "rag", reranking_enabled=False)
    return own


@pytest_asyncio.fixture(loop_scope="module")
async def changing(services: Services) -> Services:
    """The same, for tests that change documents."""
    change(services, "rag", reranking_enabled=False)
    await fill(services, BIOGRAPHIES, "people")
    return services


async def toolbox(services: Services, collection: str = "people", **more: Any) -> Toolbox:
    question = Question("Who was born in Warsaw?", collection, new_id(), **more)
    record, settings = Record(question), services.settings.current
    deps = deps_for(services, settings)
    plan = await understand_question(question, deps, record)
    run = Run(question, plan, Route("react", "a test"), deps, record, lambda event: None)
    return open_toolbox(run, TOOLS)


async def test_all_tools_are_there() -> None:
    assert set(REACT_TOOLS) == {
        "retrieve_vector", "retrieve_graph", "lookup_entity", "compare_entities", "synthesize", "verify_claim",
        "database_stats", "ask_clarification", "final_answer", "exhaustive_search", "aggregate",
    }  # fmt: skip
    assert set(TOOLS) == {*REACT_TOOLS, "search_docs", "open_citation"}
    words = {name for tool in TOOLS.values() for name in tool.arguments.model_fields}
    assert not words & {"tenant", "tenant_id", "collection", "collections", "filters", "sql"}


async def test_searches_number_passages_and_say_what_is_not_there_as_a_fact(filled: Services) -> None:
    box = await toolbox(filled)
    found = await use(box, "retrieve_vector", {"query": "born in Warsaw", "top_k": 1})
    assert found.success
    assert found.passages[0].external_id == "curie.md"
    assert '[1] "Marie Curie' in found.observation
    again = await use(box, "retrieve_vector", {"query": "Curie Warsaw"})
    assert again.passages[0].external_id == "curie.md"
    assert [p.external_id for p in box.passages].count("curie.md") == 1
    empty = await use(await toolbox(filled, "nowhere"), "retrieve_vector", {"query": "tigers"})
    assert (empty.observation, empty.data) == ('The documents contain no passage about "tigers".', [])


async def test_exhaustive_search_counts_completely(filled: Services) -> None:
    box = await toolbox(filled)
    found = await use(box, "exhaustive_search", {"query": "Nobel Prize"})
    assert found.data
    assert sorted(found.data) == ["curie.md", "einstein.md"]
    assert '2 of 3 documents mention "Nobel", "Prize" (searched completely: all 3 documents).' in found.observation
    nothing = await use(box, "exhaustive_search", {"query": "tigers"})
    assert nothing.data == []
    assert "no passage" in nothing.observation


async def test_aggregates_are_exact_and_say_how_complete_they_are(filled: Services) -> None:
    box = await toolbox(filled)
    stats = await use(box, "database_stats", {})
    assert stats.data["documents"] == 3
    assert "There are 3 documents" in stats.observation
    about = await use(box, "aggregate", {"of": "documents", "about": "Nobel Prize"})
    assert about.fact == '2 of 3 documents contain all words of "Nobel Prize" (counted completely).'
    kinds = await use(box, "aggregate", {"of": "documents"})
    assert kinds.data == {"text/markdown": 3}
    languages = await use(box, "aggregate", {"of": "documents", "group_by": "language"})
    assert sum(languages.data.values()) == 3
    injected = await use(box, "aggregate", {"of": "documents", "group_by": "x'; DROP TABLE rag.documents; --"})
    assert injected.data == {"": 3}, "a key of the metadata that no document has"
    known = await use(box, "aggregate", {"of": "entities"})
    assert "Marie Curie" in known.data
    topics = await use(box, "aggregate", {"of": "entities", "about": "topic"})
    assert set(topics.data) < set(known.data)
    assert (await use(box, "aggregate", {"of": "entities", "about": "unicorn"})).data == []
    mentions = await use(box, "aggregate", {"of": "mentions", "about": "Marie Curie"})
    assert mentions.data == ["curie.md"]
    unknown = await use(box, "aggregate", {"of": "mentions", "about": "Zanzibarium"})
    assert unknown.data == []
    wrong = await use(box, "aggregate", {"of": "secrets"})
    assert not wrong.success
    assert "of: " in wrong.observation


async def test_entities_and_what_they_are_related_to(filled: Services) -> None:
    box = await toolbox(filled)
    graph = await use(box, "retrieve_graph", {"query": "Where was Marie Curie born?"})
    assert graph.success
    assert '"Marie Curie"' in graph.observation
    assert "curie.md" in {passage.external_id for passage in graph.passages}
    assert "Warsaw" in graph.observation
    one = await use(box, "lookup_entity", {"name": "Einstein"})
    assert one.data[0]["name"] == "Albert Einstein"
    nobody = await use(box, "lookup_entity", {"name": "Zanzibarium"})
    assert (nobody.success, nobody.data) == (True, None)
    assert "knows no entity" in nobody.observation
    both = await use(box, "compare_entities", {"entities": ["Marie Curie", "Albert Einstein"], "aspect": "birth"})
    assert {"curie.md", "einstein.md"} <= {passage.external_id for passage in both.passages}
    alone = await use(box, "compare_entities", {"entities": ["Marie Curie"]})
    assert not alone.success


async def test_claims_are_verified_against_passages(filled: Services) -> None:
    box = await toolbox(filled)
    true = await use(box, "verify_claim", {"claim": "Marie Curie was born in Warsaw in 1867."})
    assert true.data["supported"] is True
    false = await use(box, "verify_claim", {"claim": "Marie Curie was born in Berlin in 1943."})
    assert false.data["supported"] is False
    assert "do not support" in false.observation


async def test_what_was_found_is_put_together_with_the_same_numbers(filled: Services) -> None:
    box = await toolbox(filled)
    early = await use(box, "synthesize", {"question": "Where was Marie Curie born?"})
    assert early.data is None
    await use(box, "retrieve_vector", {"query": "Albert Einstein Ulm", "top_k": 1})
    await use(box, "retrieve_vector", {"query": "Marie Curie Warsaw", "top_k": 1})
    made = await use(box, "synthesize", {"question": "Where was Marie Curie born?"})
    assert "Warsaw in 1867" in made.observation
    assert "[2]" in made.observation


# --- citations ------------------------------------------------------------------------------------------------------


async def test_places_are_found_and_opened_by_whole_ids(filled: Services) -> None:
    box = await toolbox(filled)
    found = await use(box, "search_docs", {"query": "born in Warsaw"})
    first = found.data[0]
    assert set(first) == {"docId", "chunkId", "chunkIndex", "snippet", "score"}
    assert len(found.data) <= 5
    assert str(UUID(first["docId"])) == first["docId"]
    opened = await use(box, "open_citation", {"docId": first["docId"], "chunkId": first["chunkId"]})
    assert set(opened.data) == {"docId", "chunkId", "chunkIndex", "text", "filename"}
    assert opened.data["filename"] == "curie.md"
    assert "Warsaw in 1867" in opened.data["text"]
    assert opened.data["chunkIndex"] == first["chunkIndex"] == 0


@pytest.mark.parametrize("how", ["truncated", "invented", "no hex", "crossed", "sql", "number"])
async def test_other_ids_are_told_apart(filled: Services, how: str) -> None:
    box = await toolbox(filled)
    one, other = (await use(box, "search_docs", {"query": "born in Warsaw"})).data[:2]
    given: dict[str, Any] = {
        "truncated": {"docId": one["docId"][:30], "chunkId": one["chunkId"][:13]},
        "invented": {"docId": str(new_id()), "chunkId": str(new_id())},
        "no hex": {"docId": "z" * 36, "chunkId": one["chunkId"]},
        "crossed": {"docId": other["docId"], "chunkId": one["chunkId"]},
        "sql": {"docId": "' OR 1=1 --", "chunkId": one["chunkId"]},
        "number": {"docId": 1, "chunkId": 2},
    }[how]
    opened = await use(box, "open_citation", given)
    assert not opened.success
    assert opened.passages == ()
    assert ("not valid" in opened.observation) is (how not in ("invented", "crossed"))
    if how == "truncated":
        assert one["docId"] in opened.observation, "the one that is meant"


async def test_what_the_question_may_not_see_is_not_opened(changing: Services, environment: Environment) -> None:
    """Another collection, another tenant, filtered out, deleted."""
    box = await toolbox(changing)
    place = (await use(box, "search_docs", {"query": "born in Warsaw"})).data[0]
    ids = {"docId": place["docId"], "chunkId": place["chunkId"]}
    await fill(changing, {"x.md": "# X\n\nSomething else entirely."}, "elsewhere")
    for more in ({"collection": "elsewhere"}, {"filters": {"year": 1900}}):
        assert not (await use(await toolbox(changing, **more), "open_citation", ids)).success
    async with open_services(replace(environment, tenant="other"), SettingsStore()) as theirs:
        await fill(theirs, {"y.md": "# Y\n\nAnother tenant."}, "people")
        assert not (await use(await toolbox(theirs), "open_citation", ids)).success
    document = next(d for d in await list_documents(changing, "people") if d.external_id == "curie.md")
    await delete_document(changing, "people", document.id)
    assert not (await use(await toolbox(changing), "open_citation", ids)).success


async def test_every_tool_keeps_to_the_filters_of_the_caller(filled: Services) -> None:
    box = await toolbox(filled, filters={"year": 1900})
    given = {
        "retrieve_vector": {"query": "Marie Curie"}, "exhaustive_search": {"query": "Nobel"},
        "retrieve_graph": {"query": "Marie Curie"}, "lookup_entity": {"name": "Marie Curie"},
        "compare_entities": {"entities": ["Marie Curie", "Emmy Noether"]}, "verify_claim": {"claim": "Curie was born"},
        "search_docs": {"query": "Marie Curie"}, "database_stats": {}, "synthesize": {"question": "Curie"},
    }  # fmt: skip
    for name, arguments in given.items():
        assert (await use(box, name, arguments)).passages == (), name
    for of in ("documents", "entities", "mentions"):
        found = await use(box, "aggregate", {"of": of, "about": "Marie Curie" if of != "entities" else ""})
        assert not found.data, of
        assert "curie.md" not in found.observation


# --- calling --------------------------------------------------------------------------------------------------------


async def test_unknown_tools_and_wrong_arguments_are_explained(filled: Services) -> None:
    box = await toolbox(filled)
    unknown = await use(box, "retrieve_vectors", {"query": "x"})
    assert not unknown.success
    assert "Did you mean retrieve_vector" in unknown.observation
    assert "There are: " in (await use(box, "rm -rf", {})).observation
    missing = await use(box, "retrieve_vector", {"top_k": 3})
    assert not missing.success
    assert "query" in missing.observation
    assert "retrieve_vector(query:" in missing.observation
    meant = await use(box, "retrieve_vector", {"question": "born in Warsaw", "top_k": "400", "collection": "elsewhere"})
    assert meant.success
    assert meant.passages[0].collection == "people"
    assert not (await use(box, "retrieve_vector", {"query": " \x00 "})).success
    long = await use(box, "retrieve_vector", {"query": "Curie " * 5000})
    assert long.success
    assert len(box.run.record.searches[-1].query) <= LONGEST_TEXT
    assert [used.success for used in box.used] == [False, False, False, True, False, True]


async def test_a_repeated_call_is_told_and_not_made(filled: Services) -> None:
    box = await toolbox(filled)
    first = await use(box, "retrieve_vector", {"query": "born in Warsaw"})
    second = await use(box, "retrieve_vector", {"query": "Born in  WARSAW", "top_k": 5})
    assert "was called before" in second.observation
    assert second.passages == first.passages
    assert (box.repeated, len(box.run.record.searches), box.budget.tool_calls) == (1, 1, 1)


class _Given(Arguments):
    how: Text = Field()


async def _broken(box: Toolbox, asked: Any) -> ToolResult:
    match asked.how:
        case "slow":
            await asyncio.Event().wait()
        case "expected":
            raise CairnError("the database at 10.0.0.1 is gone")
    raise RuntimeError("password=hunter2")


@pytest.mark.parametrize(
    ("how", "said"), [("slow", "took too long"), ("expected", "did not work"), ("bug", "did not work")]
)
async def test_a_tool_that_breaks_or_hangs_says_so_without_internals(filled: Services, how: str, said: str) -> None:
    change(filled, "agents", tool_seconds=0.2)
    box = await toolbox(filled)
    box.tools = {**box.tools, "broken": Tool("broken", "search", "breaks", _Given, _broken)}
    result = await use(box, "broken", {"how": how})
    assert not result.success
    assert said in result.observation
    assert "10.0.0.1" not in result.observation
    assert "hunter2" not in str(result) + str(box.run.record.degraded)
    assert any("tool broken" in note for note in box.run.record.degraded)


async def test_a_search_is_answered_from_the_cache_until_its_collection_changes(changing: Services) -> None:
    """Across runs; the entry dies with the epoch."""

    async def cached() -> bool:
        box = await toolbox(changing)
        await use(box, "retrieve_vector", {"query": "born in Warsaw"})
        return box.run.record.searches[0].result.from_cache

    assert [await cached(), await cached()] == [False, True]
    await fill(changing, {"new.md": "# New\n\nSomebody else was born in Warsaw in 1901."}, "people")
    assert await cached() is False
