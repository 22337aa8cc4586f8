"""Questions about code: what is known, what could not be resolved, and what is not there."""

from __future__ import annotations

import pytest
import pytest_asyncio

from cairn.domain.answer import Coverage
from cairn.domain.code import CodeLines
from cairn.domain.document import Indexed, Source
from cairn.domain.graph_view import GraphEdge, GraphNode
from cairn.service import graph as graph_service
from cairn.service.documents import index_now
from cairn.wiring import Services
from tests.db.runs import answered
from tests.sharing import SHARED

pytestmark = SHARED

SHOP = {
    "shop/__init__.py": "from ._client import Client\nfrom .prices import total\n",
    "shop/_client.py": (
        "import numpy as np\nfrom .base import Base\nfrom .prices import total\n\n\nclass Client(Base):\n"
        '    """Buys things. Slowly."""\n\n    def __init__(self, url: str, timeout: float = 5.0) -> None:\n'
        "        self.url = url\n\n    def send(self, order: list[int], *, retry: bool = False) -> int:\n"
        '        """Sends an order.\n\n        Raises ValueError.\n        """\n'
        '        if not order:\n            raise ValueError("nothing to send")\n        return total(order)\n'
    ),
    "shop/base.py": "LIMIT_OF_ORDERS = 10\n\n\nclass Base:\n    def close(self):\n        pass\n",
    "shop/prices.py": "def total(order):\n    return sum(order)\n\n\ndef unused():\n    return None\n",
    "tests/test_shop.py": (
        "import shop\nfrom shop import Client\nfrom shop.stock import load\n\n\ndef test_it(thing):\n"
        "    shop.total([1])\n    load()\n    thing.send([2])\n    getattr(thing, 'close')()\n\n\n"
        "def with_client(client: Client):\n    client.send([1])\n    client.close()\n"
    ),
    "shop/stock.py": "def load():\n    return 2\n",
    "tools/run.rb": "def start\n  unused(1)\nend\n",
}


async def index(services: Services, files: dict[str, str]) -> None:
    sources = [Source(path, path.rpartition("/")[2], text.encode()) for path, text in files.items()]
    outcomes = await index_now(services, "code", sources)
    assert all(isinstance(one, Indexed) for one in outcomes), outcomes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(services_of_module: Services) -> Services:
    """The files above, which the tests only ask."""
    await index(services_of_module, SHOP)
    return services_of_module


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("question", "said", "complete", "read", "of"),
    [
        ("Who calls `total` in shop/prices.py?", ["_client.py:19 [1]", "test_shop.py:7 [2]"], True, 2, 2),
        ("callers of shop.total", ["_client.py:19 [1]", "test_shop.py:7 [2]"], True, 2, 2),
        ("where is total() used?", ["_client.py:19 [1]"], True, 2, 2),
        ("Who calls Client.send?", ["with_client", "test_shop.py:14 [1]", "test_shop.py:9 [3]: `thing.send([2])`"], False, 1, 2),
        ("usages of client.SEND", ["test_shop.py:14 [1]"], False, 1, 2),
        ("who calls Base.close", ["test_shop.py:15 [1]", "test_shop.py:10"], False, 1, 2),
        ("who calls unused?", ["tools/run.rb:2"], False, 0, 1),
        ("What calls load?", ["test_it"], True, 1, 1),
        ("What does Client.send call?", ["shop/prices.py::total"], True, 1, 1),
        ("Which files import numpy?", ["shop/_client.py:1 [1]"], True, 1, 1),
        ("Which files import shop/stock.py?", ["tests/test_shop.py:3 [1]"], True, 1, 1),
        ("which files import pandas?", ["by 0"], True, 0, 0),
        ("Subclasses of Base", ["shop/_client.py::Client"], True, 1, 1),
        ("What does shop/prices.py define?", ["shop/prices.py::total", "shop/prices.py::unused"], True, 2, 2),
        ("Qui appelle load ?", ["test_it"], True, 1, 1),
        ("Wer ruft load auf?", ["test_it"], True, 1, 1),
        ("¿Quién llama a load?", ["test_it"], True, 1, 1),
    ],
)  # fmt: skip
async def test_relations_are_complete_only_where_every_line_is_resolved(
    shop: Services, question: str, said: list[str], complete: bool, read: int, of: int
) -> None:
    answer = await answered(shop, question, collection="code")
    assert answer.route["strategy"] == "code", answer.answer
    assert all(part in answer.answer for part in said), answer.answer
    assert (answer.coverage.complete, answer.coverage.read, answer.coverage.of) == (complete, read, of), answer.answer
    assert answer.answered == ("yes" if read or complete else "unsure")
    for cited in answer.citations:
        text = SHOP[cited.external_id]
        assert text[cited.start : cited.end] == cited.quote
        assert len(cited.quote) <= 250


@pytest.mark.parametrize(
    ("question", "said", "first"),
    [
        ("Where is Client.send defined?", ["shop/_client.py:12 [1]", "Sends an order."], "def send("),
        ("What does Client.send return?", ["`int`", "return total(order)"], "-> int"),
        ("What does `Client.send` take?", ["`order: list[int]`", "`retry: bool = False`"], "def send("),
        ("What parameters does Client take?", ["`url: str`", "`timeout: float = 5.0`"], "def __init__("),
        ("What does Client.send raise?", ["shop/_client.py:18", "ValueError"], "def send("),
        ("Where is LIMIT_OF_ORDERS defined?", ["shop/base.py:1 [1]"], "LIMIT_OF_ORDERS = 10"),
        ("Que renvoie `load` ?", ["return 2"], "def load()"),
    ],
)
async def test_declarations_are_told_with_their_lines(
    shop: Services, question: str, said: list[str], first: str
) -> None:
    answer = await answered(shop, question, collection="code")
    assert answer.route["strategy"] == "code"
    assert all(part in answer.answer for part in said), answer.answer
    assert first in answer.citations[0].quote


async def test_what_is_not_defined_is_said_to_be_so_with_near_names(shop: Services) -> None:
    answer = await answered(shop, "Where is `totall` defined?", collection="code")
    assert answer.answer.startswith("`totall` is not defined in these documents.")
    assert "`total`" in answer.answer
    answer = await answered(shop, "who calls fetch_everything()?", collection="code")
    assert answer.answer.startswith("`fetch_everything` is not defined in these documents.")


@pytest.mark.parametrize(
    "question", ["Who calls the plumber?", "Where is happiness defined?", "What does the moon return?"]
)
async def test_plain_words_that_name_nothing_are_searched_for(shop: Services, question: str) -> None:
    answer = await answered(shop, question, collection="code")
    assert answer.route["strategy"] != "code"


async def test_a_name_of_several_definitions_is_answered_for_each(services: Services) -> None:
    await index(services, {**SHOP, "shop/other.py": "def load():\n    return 3\n\n\ndef again():\n    return load()\n"})
    answer = await answered(services, "who calls load?", collection="code")
    assert "`shop/other.py::load` (shop/other.py:1) [" in answer.answer
    assert "`shop/stock.py::load` (shop/stock.py:1) [" in answer.answer
    assert "`shop/other.py::again`, shop/other.py:6" in answer.answer
    assert answer.coverage.complete


async def test_walks_and_exports_lead_across_files(shop: Services) -> None:
    near = await graph_service.get_neighborhood(shop, "shop.prices.total", "code", hops=1)
    names = {one.entity.name: one for one in near.places}
    assert {"shop/_client.py::Client.send", "tests/test_shop.py::test_it"} <= set(names)
    assert names["shop/_client.py::Client.send"].lines == CodeLines("shop/_client.py", 12, 19)
    called = next(one for one in near.relations if one.source.name == "shop/_client.py::Client.send")
    assert (called.kind, called.target.name) == ("calls", "shop/prices.py::total")
    assert called.proof.lines == CodeLines("shop/_client.py", 19, 19)
    found = await graph_service.get_paths(shop, "test_it", "Client.send", "code", hops=2)
    assert [[one.name for one in way.entities] for way in found.ways] == [
        ["tests/test_shop.py::test_it", "shop/prices.py::total", "shop/_client.py::Client.send"]
    ]
    parts = [part async for part in graph_service.export_graph(shop, "code")]
    names_of = {one.id: one.name for one in parts if isinstance(one, GraphNode)}
    edges = {(names_of[one.source], one.kind, names_of[one.target]) for one in parts if isinstance(one, GraphEdge)}
    assert ("tests/test_shop.py::with_client", "calls", "shop/_client.py::Client.send") in edges
    assert ("shop/_client.py::Client", "inherits", "shop/base.py::Base") in edges
    assert ("tests/test_shop.py", "imports", "shop/stock.py") in edges


async def test_how_definitions_of_different_files_are_related(shop: Services) -> None:
    answer = await answered(shop, "How are Client.send and test_it related?", collection="code")
    assert answer.route["strategy"] == "related", answer.route
    assert "total" in answer.answer


async def test_calls_go_with_their_file_and_come_back(services: Services) -> None:
    await index(services, SHOP)
    await index(services, {"tests/test_shop.py": "from shop.stock import load\n\n\ndef only():\n    load()\n"})
    answer = await answered(services, "who calls Client.send?", collection="code")
    assert answer.coverage == Coverage(True, 0, 0, "callers"), answer.answer
    answer = await answered(services, "who calls load?", collection="code")
    assert "`tests/test_shop.py::only`, tests/test_shop.py:5 [1]" in answer.answer


async def test_each_part_of_a_question_is_answered(shop: Services) -> None:
    answer = await answered(shop, "Who calls load and where is Client defined?", collection="code")
    assert answer.route["strategy"] == "code"
    assert "test_it" in answer.answer
    assert "shop/_client.py:6" in answer.answer
    assert answer.coverage.complete
    assert answer.coverage.unit == "lines"
