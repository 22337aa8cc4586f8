"""What code only refers to clutters no list, suggestion, community or way between two things; by its name it is found."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from cairn.domain.document import Indexed, Source
from cairn.errors import NotFoundError
from cairn.graph.refresh import refresh
from cairn.service import graph as graph_service
from cairn.service.documents import get_collection, index_now
from cairn.settings import CommunitySettings
from cairn.wiring import Services
from tests.sharing import SHARED

pytestmark = SHARED

FILES = {
    "shop/client.py": "from typing import Any\nimport httpx\nfrom shop.prices import Price\n\n\nclass Client:\n"
    "    def send(self, order: Any) -> Any:\n        return httpx.post(order, Price(1))\n\n"
    "    def fetch(self, order: Any) -> Any:\n        return httpx.post(order)\n",
    "shop/prices.py": "from typing import Any\nimport httpx\n\n\nclass Price:\n"
    "    def load(self, source: Any) -> Any:\n        return httpx.post(source)\n\n"
    "    def store(self, source: Any) -> Any:\n        return self.load(source)\n",
    "shop/testclient.py": "from shop.client import Client\n\n\nclass TestClient(Client):\n    pass\n",
}


@pytest_asyncio.fixture(loop_scope="module")
async def coded(services: Services) -> Services:
    sources = [Source(path, path.rpartition("/")[2], text.encode()) for path, text in FILES.items()]
    assert all(isinstance(one, Indexed) for one in await index_now(services, "code", sources))
    return services


async def families(services: Services, sql: str) -> set[str]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return {row[0] for row in await connection.fetch(sql)}


async def test_they_are_stored_and_not_listed(coded: Services) -> None:
    assert "httpx.post" in await families(coded, "SELECT normal FROM rag.entities WHERE family = 'reference'")
    listed = [one.name for one in await graph_service.list_entities(coded, "code", limit=200)]
    assert {"shop/client.py", "shop/client.py::Client", "shop/prices.py::Price.load"} <= set(listed)
    assert all(name.startswith("shop/") for name in listed)
    for text in ("post", "any", "httpx"):
        assert await graph_service.list_entities(coded, "code", text=text) == []
    found = await graph_service.list_entities(coded, "code", text="price")
    names = {one.name for one in found}
    assert "shop/prices.py::Price" in names
    assert all(name.startswith("shop/") for name in names)


async def test_no_suggestion_is_one(coded: Services) -> None:
    with pytest.raises(NotFoundError) as raised:
        await graph_service.get_entity(coded, "postt", "code")
    assert "httpx" not in str(raised.value)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Price", "shop/prices.py::Price"),
        ("price", "shop/prices.py::Price"),
        ("httpx.post", "httpx.post"),
        ("TestClient", "shop/testclient.py::TestClient"),
        ("testclient", "shop/testclient.py"),
        ("prices::Price", "shop/prices.py::Price"),
        ("shop.prices.Price.load", "shop/prices.py::Price.load"),
        ("Price.load", "shop/prices.py::Price.load"),
        ("shop/prices.py::Price", "shop/prices.py::Price"),
    ],
)
async def test_a_definition_comes_before_what_refers_to_it(coded: Services, name: str, expected: str) -> None:
    assert (await graph_service.get_entity(coded, name, "code")).standing.entity.name == expected


async def test_ways_do_not_lead_through_what_both_ends_refer_to(coded: Services) -> None:
    found = await graph_service.get_paths(coded, "Client.send", "Price.load", "code", limit=20)
    assert [one.name for one in found.ways[0].entities] == [
        "shop/client.py::Client.send", "shop/prices.py::Price", "shop/prices.py::Price.load",
    ]  # fmt: skip
    assert {one.name for way in found.ways for one in way.entities}.isdisjoint({"httpx.post", "typing.Any"})
    near = await graph_service.get_paths(coded, "Client.send", "httpx.post", "code")
    assert [one.name for one in near.ways[0].entities] == ["shop/client.py::Client.send", "httpx.post"]
    both = await graph_service.get_paths(coded, "Price.load", "Price.store", "code")
    assert both.ways


async def test_they_are_members_of_no_community(coded: Services) -> None:
    collection = await get_collection(coded, "code")
    await refresh(coded.database, coded.principal, collection.id, CommunitySettings())
    assert await families(
        coded,
        "SELECT DISTINCT e.family FROM rag.community_members m JOIN rag.entities e ON e.id = m.entity_id",
    ) == {"code"}
    shown, _ = await graph_service.list_communities(coded, "code", limit=50)
    said: list[Any] = [sentence.text for one in shown for sentence in one.sentences]
    assert said, "what defines its members sums a community of code up"


async def test_what_proves_that_one_holds_another_is_quoted(coded: Services) -> None:
    detail = await graph_service.get_entity(coded, "Price", "code")
    quotes = {one.proof.quote for one in detail.relations if one.kind == "contains"}
    assert "def load(self, source: Any) -> Any:" in quotes
