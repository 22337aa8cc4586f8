"""Questions about tables in words that no header has: the table parser reads them, and what it is sure of is computed in SQL;
what it is not sure of is shown, and said not to be computed. Through the whole product; the parser alone:
tests/contract/test_table_parser.py."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from cairn.answer.computed import CONFIDENCE, SHOWN_ONLY
from cairn.domain.answer import Answer
from cairn.domain.document import Indexed, Source
from cairn.providers.table_parser import LocalTableParser, find_table_parser
from cairn.service.documents import create_collection, delete_collection, delete_document, index_now
from cairn.settings import SettingsStore
from cairn.strategies.computed import CERTAIN, MOST_RIGHT
from cairn.wiring import Services
from tests.db.runs import answered, change
from tests.sharing import SHARED

pytestmark = SHARED

BOATS = """berth_no,boat,owner_name,len_m,moored_since,left_on,fee_gbp,hull,insured
12,Petrel,Agnes Moore,9.4,2019-04-02,,640.00,wood,yes
14,Sandpiper,Tom Reeve,6.1,2023-05-20,2025-09-30,410.00,plastic,no
17,Curlew,Iris Holt,11.8,2015-06-11,,890.50,steel,yes
18,Dunlin,Ben Ashby,7.2,2024-03-03,,455.00,plastic,yes
21,Merganser,Lena Fox,13.5,2012-05-07,2025-08-14,1020.00,steel,no
22,Teal,Omar Said,5.8,2024-03-19,,390.00,wood,no
25,Avocet,Ruth Dean,8.9,2021-07-15,,610.00,plastic,yes
"""
PRESS = """# Presse de cidre 2025

| Verger | Commune | Pommes (kg) | Jus (l) | Pressé le | Bio |
| --- | --- | --- | --- | --- | --- |
| Les Rainettes | Saint-Ouen | 1240 | 780 | 04/10/2025 | oui |
| Clos Martin | Bréval | 860 | 515 | 11/10/2025 | non |
| La Butte | Saint-Ouen | 2010 | 1290 | 18/10/2025 | oui |
| Verger du Pont | Bréval | 540 | 330 | 02/11/2025 | non |
"""
HOWTO = """# Mooring

To renew a berth write to the harbour office before the first of March. A boat that is left for two weeks needs another line.
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def services(services_of_module: Services, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Services]:
    if find_table_parser(tmp_path_factory.mktemp("home")) is None:
        pytest.skip("there is no table parser: make install builds it")
    await create_collection(services_of_module, "harbour", "e5")
    files = {"berths_2025.csv": BOATS, "presse.md": PRESS, "mooring.md": HOWTO}
    done = await index_now(
        services_of_module, "harbour", [Source(name, name, text.encode()) for name, text in files.items()]
    )
    assert all(isinstance(one, Indexed) for one in done)
    yield services_of_module


async def ask(services: Services, question: str) -> Answer:
    return await answered(services, question, collection="harbour")


@pytest.mark.parametrize(
    ("question", "operation", "first"),
    [
        ("what do the boats pay altogether", "sum", "4415.50"),
        ("average fee for the plastic ones", "average", "491.6667"),
        ("how much more does Curlew pay than Teal", "difference", "500.50"),
        ("what percentage of the boats is insured", "share", "57.14 %"),
    ],
)
async def test_what_is_sure_is_computed_and_called_likely(
    services: Services, question: str, operation: str, first: str
) -> None:
    answer = await ask(services, question)
    assert answer.answer.startswith(first)
    assert answer.route["computed"]["operation"] == operation
    assert answer.route["computed"]["sql"].startswith("--")
    assert (answer.answered, answer.confidence_word) == ("yes", "likely")
    assert CERTAIN < answer.confidence <= MOST_RIGHT


SETTINGS = """# Configuración

| Variable | Tipo | Descripción |
| --- | --- | --- |
| colores | fila | ajustes de los colores que usa la tabla (ver tema) |
| modo | "vi" o "emacs" | cambia la edición de línea |
| aviso | booleano | si avisar cuando un comando externo falla |
| espera | entero | el tiempo de espera entre los modos de edición |
| rutas | tabla de cadenas | RUTAS para usar en la búsqueda de binarios |
| inicio | lista de cadenas | comandos para ejecutar cuando el programa arranca |
| indices | booleano | elimina la columna de índice de la tabla |
"""


@pytest.mark.parametrize(
    ("question", "computed"),
    [("¿Cómo se indican las cadenas?", False), ("¿Qué variables son cadenas?", True)],
)
async def test_how_something_is_done_is_no_list_of_rows(services: Services, question: str, computed: bool) -> None:
    await create_collection(services, "ajustes", "e5")
    await index_now(services, "ajustes", [Source("ajustes.md", "ajustes.md", SETTINGS.encode())])
    answer = await answered(services, question, collection="ajustes")
    await delete_collection(services, "ajustes")
    assert ("computed" in answer.route) == computed


async def test_what_rules_read_the_same_is_as_sure_as_they_are(services: Services) -> None:
    for question in ("total fees by hull", "how many are made of wood", "combien de pommes en tout à Bréval"):
        answer = await ask(services, question)
        assert (answer.confidence_word, answer.confidence) == ("computed", CONFIDENCE)


@pytest.mark.parametrize(
    ("question", "row"),
    [("whose boat pays the most for its berth", "Merganser"), ("how many boats are longer than 8 metres", "Curlew")],
)
async def test_a_table_is_shown_where_it_is_not_sure_what_to_compute(
    services: Services, question: str, row: str
) -> None:
    answer = await ask(services, question)
    assert row in answer.answer
    if "computed" not in answer.route:  # how sure the parser is depends a little on the processor
        assert answer.answer.startswith("It is not certain what is asked of this table, so nothing was computed: [1]")
        assert (answer.answered, answer.confidence_word, answer.confidence) == ("unsure", "not_sure", SHOWN_ONLY)
        [cited] = answer.citations
        assert cited.external_id == "berths_2025.csv"
        assert answer.coverage.unit == "passages"
        assert answer.coverage.of >= len({one.passage_id for one in answer.sources})
        assert cited.context is not None
        assert row in cited.context.text


async def test_of_two_tables_alike_none_is_computed_unless_it_is_named(services: Services) -> None:
    other = BOATS.replace("Petrel", "Heron").replace("640.00", "725.00")
    [added] = await index_now(services, "harbour", [Source("berths_2024.csv", "berths_2024.csv", other.encode())])
    assert isinstance(added, Indexed)
    question = "what do the boats pay altogether"
    assert "computed" not in (await ask(services, question)).route
    named = await ask(services, f"{question} in berths_2024.csv")
    await delete_document(services, "harbour", added.document_id)
    assert named.answer.startswith("4500.50")


async def test_where_the_parser_fails_the_answer_says_so(services: Services, tmp_path: Path) -> None:
    (tmp_path / "sentencepiece.model").write_bytes(b"")
    (tmp_path / "tables.onnx").write_bytes(b"no model")
    parser = LocalTableParser(tmp_path / "tables.onnx")
    broken = replace(services.search_deps, table_parser=lambda: parser)
    without = replace(services, search_deps=broken)
    answer = await ask(without, "what do the boats pay altogether")
    assert any("what is asked of tables could not be read" in one for one in answer.degraded)
    asks_how = await ask(without, "How do I renew a berth?")
    assert not asks_how.degraded  # no table says so, and the parser is not even loaded


async def test_without_the_reader_rules_compute_alone(services: Services) -> None:
    alone = replace(services, settings=SettingsStore())
    change(alone, "answer", reader="off")
    assert "computed" not in (await ask(alone, "what do the boats pay altogether")).route
    assert (await ask(alone, "total fees by hull")).confidence_word == "computed"


async def test_prose_is_answered_from_prose(services: Services) -> None:
    answer = await ask(services, "How do I renew a berth?")
    assert "harbour office" in answer.answer
    assert "computed" not in answer.route
