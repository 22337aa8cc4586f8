"""Questions find the entities that they name, however they write them; texts go through the whole write path."""

from __future__ import annotations

from uuid import UUID

import pytest

from cairn.domain.graph import EntityLink, entity_id
from cairn.graph.link import find_entities
from cairn.graph.rows import entity_key
from cairn.service.documents import get_collection
from cairn.store import graph
from cairn.wiring import Services
from tests.documents import index_texts
from tests.sharing import SHARED

pytestmark = SHARED

TEXTS = {
    "curie": "Marie Curie was born in Warsaw. Curie discovered polonium with Pierre Curie. Later Marie Curie founded the "
    "Radium Institute in Paris.",
    "who": "The World Health Organization (WHO) was founded in Geneva in 1948. The WHO publishes reports about malaria.",
    "times": "The New York Times is printed in New York. Adolph Ochs bought the New York Times in 1896.",
    "oxford": "Oxford University is in Oxford. Cambridge University is in Cambridge, and Durham University in Durham.",
    "code": "The function pg_stat_io shows reads and writes. Call pg_stat_io as Ada Lovelace did.",
}


async def linked(services: Services, question: str) -> list[EntityLink]:
    found = await get_collection(services, "test")
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await find_entities(connection, services.principal, found.id, question)


@pytest.mark.parametrize(
    ("question", "expected", "how"),
    [
        ("Who was Marie Curie?", "Marie Curie", "name"),
        ("who was marie curie", "Marie Curie", "name"),
        ("What did MARIE CURIE’s husband do?", "Marie Curie", "name"),
        ("When was the WHO founded?", "World Health Organization", "alias"),
        ("When was the World Health Organization founded?", "World Health Organization", "name"),
        ("Who bought the New York Times?", "New York Times", "name"),
        ("what does pg_stat_io show?", "pg_stat_io", "name"),
        ("Was Lovelace a programmer?", "Ada Lovelace", "words"),
    ],
)
async def test_a_question_finds_what_it_names(services: Services, question: str, expected: str, how: str) -> None:
    await index_texts(services, TEXTS)
    found = await linked(services, question)
    assert found, question
    assert (found[0].name, found[0].how) == (expected, how)
    assert all(0 < one.score <= 1 for one in found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


async def test_a_longer_name_beats_those_inside_it(services: Services) -> None:
    await index_texts(services, TEXTS)
    assert "New York" not in [one.name for one in await linked(services, "Who bought the New York Times?")]
    both = [one.name for one in await linked(services, "Is the New York Times printed in New York?")]
    assert {"New York Times", "New York"} <= set(both)


async def test_what_names_nothing_finds_nothing(services: Services) -> None:
    await index_texts(services, TEXTS)
    for question in ("", "?", "who is it and why", "How tall is Mount Everest?", "the " * 500, "\x00", "'; DROP TABLE"):
        assert await linked(services, question) == [], question


async def test_passages_of_an_entity_include_those_of_what_was_merged_into_it(services: Services) -> None:
    await index_texts(services, {"a": "Marie Curie met Ben Cross.", "b": "Maria Skłodowska met Dora Evans."})
    found = await get_collection(services, "test")
    curie, maria = (entity_id(found.id, entity_key(n, "name")) for n in ("Marie Curie", "Maria Skłodowska"))
    assert len(await _passages(services, curie)) == 1
    async with services.database.transaction(services.principal) as connection:
        assert await graph.merge(connection, found.id, maria, curie, "the same person")
    assert len(await _passages(services, curie)) == 2
    assert (await linked(services, "Who was Maria Skłodowska?"))[0].name == "Marie Curie"


async def _passages(services: Services, entity: UUID) -> list[UUID]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        mentioned = await graph.passages(connection, services.principal, [entity], 10)
    return [one.passage_id for one in mentioned.get(entity, [])]
