"""What a list of entities begins with, and what it leaves out until it is asked for."""

from __future__ import annotations

from functools import partial

import pytest

from cairn.service import graph
from cairn.service.documents import get_collection
from cairn.store import graph_view
from cairn.wiring import Services
from tests.documents import index_texts
from tests.sharing import SHARED

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]

NOTES = {
    f"note{n}": f"We sell the Heron to Acme Widgets, Inc. and to ACME WIDGETS. It has a fuel valve, a fuel valve and a "
    f"fuel valve.{' We like the Kestrel, too.' if n < 3 else ''}"
    for n in range(12)
}


async def test_a_list_begins_with_names_and_leaves_out_what_is_nearly_everywhere(services: Services) -> None:
    """A firm stays, however often it is named, and is one whatever is behind its name. All is found by name, and on demand."""
    await index_texts(services, NOTES)
    listed = {one.name: one for one in await graph.list_entities(services, "test")}
    assert set(listed) == {"Acme Widgets, Inc.", "Kestrel"}
    assert listed["Acme Widgets, Inc."].kind == "organisation"
    assert listed["Acme Widgets, Inc."].passage_count == 12
    everything = {one.name for one in await graph.list_entities(services, "test", everything=True)}
    assert everything == {*listed, "Heron", "fuel valve"}
    assert [one.name for one in await graph.list_entities(services, "test", text="her")] == ["Heron"]
    both = await graph.list_entities(services, "test", kinds=("organisation", "term"), everything=True)
    assert {one.kind for one in both} == {"organisation", "term"}
    assert not await graph.list_entities(services, "test", kinds=("term",))
    found = await graph.get_entity(services, "Acme Widgets", "test")
    assert {one.name for one in found.names} == {"Acme Widgets, Inc.", "ACME WIDGETS"}


KITE = "The staff sold kites. Now the Kite is here, the Kite is there, the Kite is dear."
ORDER = {
    "kite": f"{KITE} It was sold to Acme Widgets, Inc.", "kites": KITE, "more": KITE,
    **{f"hawk{n}": "We like Red Hawk so." for n in range(5)},
}  # fmt: skip


async def test_the_surest_come_first_and_pages_go_on_where_the_last_one_ended(services: Services) -> None:
    """A firm before what is said more often; a name that several documents have is as sure; and the rest is still there."""
    await index_texts(services, ORDER, collection="order")
    listed = await graph.list_entities(services, "order")
    assert [(one.name, one.certainty, one.passage_count) for one in listed] == [
        ("Red Hawk", 4, 5), ("Acme Widgets, Inc.", 4, 1), ("Kite", 1, 3),
    ]  # fmt: skip
    paged, last = [], None
    while page := await graph.list_entities(services, "order", after=last, limit=1):
        paged += page
        last = page[-1]
    assert paged == listed


async def test_what_is_less_spoken_of_follows_by_how_often_it_is_named(services: Services) -> None:
    """So many are ordered by how sure they are; pages cross over to the others without a gap."""
    await index_texts(services, ORDER, collection="order")
    home = await get_collection(services, "order")
    async with services.database.transaction(services.principal, readonly=True) as connection:
        read = partial(graph_view.entities, connection, services.principal, home.id, everything=True, ordered=1)
        whole = await read(limit=100)
        paged, last = [], None
        while page := await read(after=last, limit=1):
            paged += page
            last = page[-1]
    assert [(one.name, one.certainty) for one in whole] == [("Red Hawk", 4), ("Kite", 0), ("Acme Widgets, Inc.", 0)]
    assert paged == whole
