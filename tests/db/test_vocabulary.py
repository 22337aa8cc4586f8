"""Word frequencies of a collection equal what a search for the word alone would count."""

from __future__ import annotations

from cairn.domain.document import Source
from cairn.domain.plan import Vocabulary
from cairn.service.documents import index_now
from cairn.store.holdings import MAX_WORDS, look_up_words
from cairn.wiring import Services
from tests.sharing import SHARED

pytestmark = SHARED

DOCUMENTS = {
    "granite.md": "Granite is a coarse rock. Granites are quarried in the mountains; the view pg_stat_io counts nothing here.",
    "basalt.md": "Basalt is a dark volcanic rock. The basalts of Iceland are young and cover the whole island.",
    "loi.md": "La loi sur les carrières de granite interdit les explosions la nuit. Les amendes sont lourdes et les délais "
    "courts.",
}


async def known(services: Services, *words: str, collection: str = "rocks") -> Vocabulary:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await look_up_words(connection, services.principal, collection, words)


async def fill(services: Services) -> None:
    sources = [
        Source(name, name, text.encode(), media_type="text/plain", is_text=True) for name, text in DOCUMENTS.items()
    ]
    outcomes = await index_now(services, "rocks", sources)
    assert [type(outcome).__name__ for outcome in outcomes] == ["Indexed"] * 3


async def test_frequencies_are_of_passages_in_any_inflection_and_language(services: Services) -> None:
    await fill(services)
    found = await known(services, "granites", "Rock", "basalt", "volcanic", "amendes", "asdfghjkl", "pg_stat_io")
    assert found.passages == 3
    assert found.language == "en"
    assert found.frequencies == {
        "granites": 2, "rock": 2, "basalt": 1, "volcanic": 1, "amendes": 1, "asdfghjkl": 0, "pg_stat_io": 1,
    }  # fmt: skip


async def test_stop_words_stand_everywhere_in_their_language(services: Services) -> None:
    await fill(services)
    found = await known(services, "the", "les")
    assert found.frequencies["the"] >= 2
    assert found.frequencies["les"] == 1


async def test_unknown_collections_and_strange_words(services: Services, other_tenant: Services) -> None:
    await fill(services)
    assert await known(services, "rock", collection="none") == Vocabulary(0, {"rock": 0})
    assert await known(other_tenant, "rock") == Vocabulary(0, {"rock": 0})
    assert (await known(services)).frequencies == {}
    strange = ["'", "--" * 50, "a" * 5000, "\\", "x:*", "&|!()", "🙂", "rock"]
    found = await known(services, *strange)
    assert found.frequencies["rock"] == 2
    many = await known(services, *(f"word{number}" for number in range(1000)))
    assert len(many.frequencies) == MAX_WORDS
