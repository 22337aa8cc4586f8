"""Symbols of an indexed repository: found by name, with definitions, neighbours and lines."""

from __future__ import annotations

from uuid import UUID

import pytest
import pytest_asyncio

from cairn.domain.answer import Coverage
from cairn.domain.code import Symbol, SymbolQuery
from cairn.domain.document import Indexed, Source
from cairn.domain.passage import SearchRequest
from cairn.graph.code.symbols import find_symbols, symbol_passages, wanted_symbols
from cairn.service.documents import get_collection, index_now
from cairn.service.search import get_trace, run_search
from cairn.wiring import Services
from tests.db.graphs import contents, remove
from tests.db.runs import answered
from tests.documents import find
from tests.sharing import SHARED

pytestmark = SHARED

FILES = {
    "src/shop/__init__.py": "from ._client import Client\nfrom .prices import total\n",
    "src/shop/_client.py": (
        "from .base import Base\nfrom .prices import total\n\n\nclass Client(Base):\n"
        '    """Buys things."""\n\n    def send(self, order):\n        self.check(order)\n'
        "        return total(order)\n\n    def check(self, order):\n        return bool(order)\n"
    ),
    "src/shop/base.py": "class Base:\n    def close(self):\n        pass\n",
    "src/shop/prices.py": "# Prices are in cents.\ndef total(order):\n    return sum(order)\n\n\ndef load():\n    return 1\n",
    "src/shop/stock.py": "def load():\n    return 2\n",
    "src/shop/limits.py": "MAX_ITEMS = 20\n",
    "tests/test_shop.py": (
        "import shop\nfrom shop import Client\nfrom shop.stock import load\n\n\n"
        "def test_it():\n    with_client(Client())\n    shop.total([1])\n    load()\n\n\n"
        "def with_client(client: Client):\n    client.send([1])\n    client.close()\n"
    ),
    "web/cart.ts": 'import { total } from "./lib/sum";\nexport class Cart { pay() { return total(1); } }\n',
    "web/lib/sum.ts": "export function total(x: number) { return x; }\n",
}


def sources(files: dict[str, str]) -> list[Source]:
    return [Source(path, path.rpartition("/")[2], text.encode()) for path, text in files.items()]


async def index(services: Services, files: dict[str, str]) -> dict[str, UUID]:
    outcomes = await index_now(services, "code", sources(files))
    assert all(isinstance(one, Indexed) for one in outcomes), outcomes
    return {one.external_id: one.document_id for one in outcomes if isinstance(one, Indexed)}


async def look_up(services: Services, *queries: SymbolQuery) -> list[Symbol]:
    found = await get_collection(services, "code")
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await find_symbols(connection, services.principal, [found.id], queries)


def related(symbol: Symbol, relation: str, *, incoming: bool) -> list[tuple[str, str, int]]:
    return [
        (one.name, one.place.path, one.place.start_line)
        for one in symbol.neighbours
        if (one.relation, one.incoming) == (relation, incoming)
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def repository(services_of_module: Services) -> Services:
    """The files above, which the tests only read."""
    await index(services_of_module, FILES)
    return services_of_module


@pytest.mark.parametrize(
    ("question", "name", "lines"),
    [
        ("What is `total` in `shop/prices.py`?", "src/shop/prices.py::total", (2, 3)),
        ("total in src/shop/prices.py", "src/shop/prices.py::total", (2, 3)),
        ("What does Client.send do?", "src/shop/_client.py::Client.send", (8, 10)),
        ("Explain _client::Client::send", "src/shop/_client.py::Client.send", (8, 10)),
        ("the class Client", "src/shop/_client.py::Client", (5, 13)),
        ("where is client defined", "src/shop/_client.py::Client", (5, 13)),
        ("function total in web/lib/sum.ts", "web/lib/sum.ts::total", (1, 1)),
        ("What is in shop/base.py?", "src/shop/base.py", (1, 3)),
    ],
)
async def test_a_named_symbol_is_found_exactly_with_its_lines(
    repository: Services, question: str, name: str, lines: tuple[int, int]
) -> None:
    found = await look_up(repository, *wanted_symbols(question))
    assert found, question
    assert found[0].name == name
    assert found[0].match == "exact"
    assert [(one.start_line, one.end_line) for one in found[0].definitions] == [lines]


async def test_callers_are_those_of_every_file(repository: Services) -> None:
    """By an import, through a package that offers the name, by an annotated variable, and within the file."""
    [total] = await look_up(repository, SymbolQuery("total", "shop/prices.py"))
    assert related(total, "calls", incoming=True) == [
        ("src/shop/_client.py::Client.send", "src/shop/_client.py", 10),
        ("tests/test_shop.py::test_it", "tests/test_shop.py", 8),
    ]
    [send] = await look_up(repository, SymbolQuery("Client.send"))
    assert related(send, "calls", incoming=True) == [("tests/test_shop.py::with_client", "tests/test_shop.py", 13)]
    assert related(send, "calls", incoming=False) == [
        ("src/shop/_client.py::Client.check", "src/shop/_client.py", 9),
        ("src/shop/prices.py::total", "src/shop/_client.py", 10),
    ]
    assert all(one.defined for one in send.neighbours)
    assert related(send, "contains", incoming=True) == [("src/shop/_client.py::Client", "src/shop/_client.py", 8)]
    [cart] = await look_up(repository, SymbolQuery("total", "web/lib/sum.ts"))
    assert related(cart, "calls", incoming=True) == [("web/cart.ts::Cart.pay", "web/cart.ts", 2)]
    stock = await look_up(repository, SymbolQuery("load", "stock.py"))
    assert related(stock[0], "calls", incoming=True) == [("tests/test_shop.py::test_it", "tests/test_shop.py", 9)]
    prices = await look_up(repository, SymbolQuery("load", "prices.py"))
    assert related(prices[0], "calls", incoming=True) == [], "another function of that name is called"


async def test_bases_and_subclasses_and_importers(repository: Services) -> None:
    [client] = await look_up(repository, SymbolQuery("Client"))
    assert related(client, "inherits", incoming=False) == [("src/shop/base.py::Base", "src/shop/_client.py", 5)]
    assert [name for name, *_ in related(client, "contains", incoming=False)] == [
        "src/shop/_client.py::Client.send", "src/shop/_client.py::Client.check",
    ]  # fmt: skip
    [base] = await look_up(repository, SymbolQuery("Base"))
    assert related(base, "inherits", incoming=True) == [("src/shop/_client.py::Client", "src/shop/_client.py", 5)]
    [close] = await look_up(repository, SymbolQuery("Base.close"))
    assert related(close, "calls", incoming=True) == [("tests/test_shop.py::with_client", "tests/test_shop.py", 14)]
    [module] = await look_up(repository, SymbolQuery("shop/stock.py"))
    assert related(module, "imports", incoming=True) == [("tests/test_shop.py", "tests/test_shop.py", 3)]


@pytest.mark.parametrize(("name", "expected"), [("TOTAL", "exact"), ("tota", "partial"), ("_client", "partial")])
async def test_a_part_of_a_name_finds_it_too(services: Services, name: str, expected: str) -> None:
    await index(services, {path: text for path, text in FILES.items() if path != "src/shop/_client.py"})
    found = await look_up(services, SymbolQuery(name))
    assert found
    assert {one.match for one in found} == {expected}


async def test_passages_begin_with_the_definition(repository: Services) -> None:
    query = SymbolQuery("total", "prices.py", "calls")
    found = await look_up(repository, query)
    passages = symbol_passages(found, query)
    assert passages[0].passage_id == found[0].definitions[0].passage_id
    assert [one.score for one in passages] == sorted((one.score for one in passages), reverse=True)
    assert {one.place.passage_id for one in found[0].neighbours} <= {one.passage_id for one in passages}


async def test_a_deleted_file_takes_its_symbols_along_and_nothing_else(services: Services) -> None:
    ids = await index(services, FILES)
    collection = (await get_collection(services, "code")).id
    await remove(services, "code", ids["src/shop/prices.py"])
    [total] = await look_up(services, SymbolQuery("total"))
    assert total.name == "web/lib/sum.ts::total"
    [send] = await look_up(services, SymbolQuery("Client.send"))
    outside = [one for one in send.neighbours if one.relation == "calls" and not one.incoming and not one.defined]
    assert [one.name for one in outside] == ["src.shop.prices.total"], "a name that nothing answers to now"
    left = await contents(services, collection)
    await index(services, {"src/shop/prices.py": FILES["src/shop/prices.py"]})
    [total] = await look_up(services, SymbolQuery("total", "prices.py"))
    assert len(related(total, "calls", incoming=True)) == 2, "callers find it again"
    for name in set(FILES) - {"src/shop/prices.py"}:
        await remove(services, "code", ids[name])
    only = await contents(services, collection)
    await index(services, {name: text for name, text in FILES.items() if name != "src/shop/prices.py"})
    found = await get_collection(services, "code")
    async with services.database.transaction(services.principal, readonly=True) as connection:
        again = await connection.fetchval(
            "SELECT id FROM rag.documents WHERE external_id = 'src/shop/prices.py' AND collection_id = $1", found.id
        )
    await remove(services, "code", again)
    assert await contents(services, collection) == left
    assert only != left


async def test_a_replaced_file_has_its_new_symbols(services: Services) -> None:
    await index(services, FILES)
    await index(services, {"src/shop/stock.py": "def fetch():\n    return 2\n"})
    assert (await look_up(services, SymbolQuery("load", "stock.py"))) == []
    [fetch] = await look_up(services, SymbolQuery("fetch"))
    assert fetch.name == "src/shop/stock.py::fetch"
    fresh = await contents(services, (await get_collection(services, "code")).id)
    other = {**FILES, "src/shop/stock.py": "def fetch():\n    return 2\n"}
    await index_now(services, "fresh", sources(other))
    built = await contents(services, (await get_collection(services, "fresh")).id)
    for table in ("mentions", "evidence", "relations", "entities"):
        assert len(built[table]) == len(fresh[table])


@pytest.mark.parametrize(
    ("question", "said", "coverage"),
    [
        (
            "Who calls `total` in shop/prices.py?",
            ["_client.py:10 [1]", "test_shop.py:8 [2]"],
            Coverage(True, 2, 2, "callers"),
        ),
        ("What does Client inherit from?", ["src/shop/base.py::Base"], Coverage(True, 1, 1, "bases")),
        ("Qui appelle Client.check ?", ["Client.send", "est appelé par 1"], Coverage(True, 1, 1, "callers")),
        ("Wer ruft Client.send auf?", ["with_client", "test_shop.py:13"], Coverage(True, 1, 1, "callers")),
        ("What are the methods of Client?", ["Client.send", "Client.check"], Coverage(True, 2, 2, "members")),
        ("What does Client do?", ["Buys things. [1]", "`class Client(Base)`"], Coverage(True, 1, 1, "definitions")),
        ("Was macht Client.check?", ["weder", "def check(self, order):"], Coverage(True, 1, 1, "definitions")),
        (
            "Show me the code of `total` in shop/prices.py",
            ["prices.py:2 [1]", "```\ndef total(order):\n    return sum(order)\n```"],
            Coverage(True, 1, 1, "definitions"),
        ),
        ("What is MAX_ITEMS?", ["limits.py:1 [1]:\n- `MAX_ITEMS = 20`"], Coverage(True, 1, 1, "definitions")),
    ],
)
async def test_relations_are_answered_completely_without_a_chat_model(
    repository: Services, question: str, said: list[str], coverage: Coverage
) -> None:
    answer = await answered(repository, question, collection="code")
    assert answer.route["strategy"] == "code"
    assert all(part in answer.answer for part in said), answer.answer
    assert answer.coverage == coverage
    assert answer.citations
    texts = {path: text.rstrip() for path, text in FILES.items()}
    for cited in answer.citations:
        assert texts[cited.external_id][cited.start : cited.end].rstrip() == cited.quote.rstrip()


async def test_a_name_that_the_collection_lacks_is_searched_for_as_usual(repository: Services) -> None:
    answer = await answered(repository, "Who calls the plumber?", collection="code")
    assert answer.route["strategy"] != "code"


async def test_the_graph_leg_finds_definition_and_callers(repository: Services) -> None:
    result = await run_search(repository, SearchRequest("What does Client.send do?", ("code",), legs=("graph",)))
    assert result.passages[0].external_id == "src/shop/_client.py"
    assert "tests/test_shop.py" in {passage.external_id for passage in result.passages}


async def test_a_broken_file_is_read_as_far_as_it_goes(services: Services) -> None:
    broken = "def good():\n    return 1\n\n\nclass ((((\n\n\ndef also(x:\n    good()\n" + "(" * 10_000
    await index(services, {"a.py": broken})
    assert (await look_up(services, SymbolQuery("good")))[0].name == "a.py::good"


async def test_a_search_follows_two_definitions_of_a_name(services: Services) -> None:
    """As many as cairn.retrieve.graph looks up."""
    await index(services, {f"m{n}.py": f"def reckon(x):\n    return x + {n}\n" for n in range(4)})
    found = await find(services, "What does reckon() return?", "code", legs=("graph",), explicit=True, cache=False)
    assert (await get_trace(services, found.trace_id)).plan["graph"]["symbols"] == 2
