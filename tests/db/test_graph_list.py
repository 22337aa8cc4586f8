"""What a list of entities begins with, and what it leaves out until it is asked for."""

from __future__ import annotations

import pytest

from cairn.service import graph
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
