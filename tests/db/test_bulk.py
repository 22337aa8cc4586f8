"""Documents that are prepared without a database and loaded from Parquet files: the same rows as by ordinary ingestion, whoever
prepared them; what is refused, and what is left as it is."""

from __future__ import annotations

import base64
import json
import os
import pickle
import re
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from table_rows import read_rows

import cairn
from cairn.distribution import MODULES
from cairn.errors import ConflictError, InputError, MissingPartError
from cairn.ingest.prepared_files import MANIFEST, PART_CHUNKS, open_prepared, schema_of
from cairn.ingest.prepared_rows import PreparedRow, document_of, row_of
from cairn.service.bulk import PrepareReport, load_prepared, open_folder, prepare_files, prepare_one
from cairn.service.documents import ensure_collection, list_documents
from cairn.service.files import IngestReport, ingest_files, select_files
from cairn.service.jobs import build_indexes
from cairn.service.models import start_backfill
from cairn.settings import Environment, RagSettings, Settings, SettingsStore
from cairn.wiring import Services, open_services
from tests.bulk_environment import HASHED, need_pyarrow
from tests.conftest import REPO, InstallPackage
from tests.documents import find, index_texts
from tests.office_files import workbook
from tests.pdf_files import Sheet, pdf_file

pa, pq = need_pyarrow()

NOTES = 4
READABLE = NOTES + 5
"""Of the files of `folder`: one is not."""

SETTINGS = {"rag": {"embeddingModel": "hashed:one"}}
LOCAL = Settings(rag=RagSettings(embedding_model="minilm"))

GUIDE = """# The harbour

Ada Lovelace founded the Harbour Office in Lisbon. The office keeps a register of ships.

## Fees

| ship | fee | days |
|---|---|---|
| barque | 12 | 3 |
| schooner | 30 | 9 |

The schooner pays for nine days. Fees are due in advance, says the Harbour Office.
""" + "".join(
    f"\n## Berth {number}\n\nBerth {number} is for ships of {number * 10} metres. Ada Lovelace measured it in {1800 + number}. "
    f"Ropes are on the quay, and the pilot of berth {number} lives in Porto. Whoever leaves before noon pays half.\n"
    for number in range(1, 12)
)
CODE = '''"""Counts ships."""
import math


class Register:
    """Of ships."""

    def add(self, ship: str) -> int:
        return self.total() + len(ship)

    def total(self) -> int:
        return math.floor(3.7)


def main() -> None:
    Register().add("barque")
'''
GERMAN = "Die Gebühren für Schiffe sind im Voraus zu zahlen. Der Hafen liegt in Lissabon und führt ein Register. " * 3
PAGE = "<html><head><title>Ships</title></head><body><h1>Ships</h1><p>A barque has three masts.</p></body></html>"


def figures(sheet: Any) -> None:
    for row in (["Region", "2023", "2024"], ["North", 1200, 1300], ["South", 900, 950.5]):
        sheet.append(row)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that are read in this process; one is blank."""
    found = tmp_path / "harbour"
    found.mkdir()
    (found / "guide.md").write_text(GUIDE)
    (found / "register.py").write_text(CODE)
    (found / "deutsch.txt").write_text(GERMAN)
    (found / "page.html").write_text(PAGE)
    (found / "codes.txt").write_text("QX-12 QX-13 QX-14\n")
    (found / "empty.md").write_text("   ")
    for number in range(NOTES):
        (found / f"note-{number:02}.txt").write_text(
            f"Note {number}: the schooner number {number} left Lisbon for Porto."
        )
    return found


@pytest.fixture
def all_formats(folder: Path) -> Path:
    """And those that a process of its own reads, one of which cannot be read."""
    (folder / "figures.xlsx").write_bytes(workbook(figures))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    sheets = [Sheet(), Sheet()]
    sheets[0].text(50, 100, "The harbour opens at six in the morning and closes at nine.")
    sheets[1].text(50, 100, "Pilots are called by flag. The Harbour Office pays them.")
    (folder / "hours.pdf").write_bytes(pdf_file(*sheets))
    return folder


@pytest.fixture
def hashed(install_package: InstallPackage) -> Path:
    """An embedding model whose vectors do not depend on what else is embedded with a text."""
    return install_package("hashed_for_cairn", HASHED, providers={"hashed": "hashed_for_cairn:HASHED"})


@asynccontextmanager
async def opened_twice(
    environment: Environment, psql: Callable[..., str], store: SettingsStore
) -> AsyncIterator[tuple[Services, Services]]:
    """Two databases that are the same up to now. Numbers of words and the direction of relations follow from the id of their
    collection, `test`, which is there."""
    async with open_services(environment, store) as services:
        await ensure_collection(services, "test")
    name = str(environment.database_url).partition("?")[0].rpartition("/")[2]
    psql(f"CREATE DATABASE {name}_twin TEMPLATE {name} STRATEGY file_copy")
    try:
        twin = replace(environment, database_url=str(environment.database_url).replace(f"/{name}?", f"/{name}_twin?"))
        async with open_services(environment, store) as one, open_services(twin, store) as two:
            yield one, two
    finally:
        psql(f"DROP DATABASE {name}_twin WITH (FORCE)")


@pytest.fixture
async def pair(
    environment: Environment, hashed: Path, psql: Callable[..., str]
) -> AsyncIterator[tuple[Services, Services]]:
    async with opened_twice(environment, psql, settings_store()) as found:
        yield found


@pytest.fixture
async def bulk(environment: Environment, hashed: Path) -> AsyncIterator[Services]:
    async with open_services(environment, settings_store()) as services:
        yield services


def settings_store(**sections: Any) -> SettingsStore:
    return SettingsStore(initial=Settings.model_validate_json(json.dumps({**SETTINGS, **sections})))


def nothing(_: str) -> None: ...


async def prepared(services: Services, folder: Path, out: Path) -> PrepareReport:
    return await prepare_files(services.environment, services.settings.current, select_files([folder]), out, nothing)


async def loaded(services: Services, out: Path, **more: Any) -> IngestReport:
    return await load_prepared(services, "test", open_folder(out), nothing, **more)


async def rows(services: Services) -> dict[str, list[str]]:
    return await read_rows(services.owner_dsn, services.principal.tenant_id)


def assert_same(found: dict[str, list[str]], expected: dict[str, list[str]]) -> None:
    """With the first rows that one has and the other lacks."""
    differing = {
        table: (sorted(set(found[table]) - set(rows))[:3], sorted(set(rows) - set(found[table]))[:3])
        for table, rows in expected.items()
        if found[table] != rows
    }
    assert not differing, json.dumps(differing, indent=1)


# --- the same rows ------------------------------------------------------------------------------------------------------


async def test_prepared_and_loaded_is_as_ingested(
    pair: tuple[Services, Services], all_formats: Path, tmp_path: Path
) -> None:
    """Every row of every table that documents have rows in, files and graph and statistics included."""
    ordinary, bulk = pair
    expected = await ingest_files(ordinary, "test", select_files([all_formats]), nothing)

    report = await prepared(bulk, all_formats, tmp_path / "out")
    outcome = await loaded(bulk, tmp_path / "out")

    assert [one.external_id for one in report.failed] == ["harbour/broken.pdf"]
    assert report.failed[0].error == next(one.error for one in expected.failed)
    assert [Path(one.path).name for one in report.skipped] == ["empty.md"]
    assert (report.documents, report.chunks) == (READABLE + 2, sum(one.chunk_count for one in outcome.indexed))
    assert outcome.counts == {**expected.counts, "failed": 0, "skipped": 0}
    one, two = await rows(ordinary), await rows(bulk)
    one["documents"] = [
        row for row in one["documents"] if "broken.pdf" not in row
    ]  # nobody registered what failed elsewhere
    assert_same(two, one)
    filled = {table for table, found in two.items() if found}
    assert filled >= {
        "adjacency", "chunks", "code_calls", "documents", "document_tables", "document_texts", "embeddings", "entities",
        "evidence", "lexical_index", "lexical_stats", "lexical_terms", "mentions", "originals", "passages", "relations",
        "table_columns",
    }  # fmt: skip
    assert [hit.external_id for hit in (await find(bulk, "how many masts has a barque?")).passages]


@pytest.mark.siege
async def test_with_the_local_model_a_document_alone_is_as_ingested(
    environment: Environment, psql: Callable[..., str], all_formats: Path, tmp_path: Path
) -> None:
    """Its int8 vectors depend on what is embedded together, so each document is ingested by itself."""
    async with opened_twice(environment, psql, SettingsStore()) as (ordinary, bulk):
        for name in ("guide.md", "register.py", "hours.pdf"):
            only = select_files([all_formats / name], all_formats.parent)
            await ingest_files(ordinary, "test", only, nothing)
            await prepare_files(environment, LOCAL, only, tmp_path / name, nothing)
            await loaded(bulk, tmp_path / name)
        assert_same(await rows(bulk), await rows(ordinary))


@pytest.mark.siege
async def test_a_large_load_builds_the_index_at_its_end(
    environment: Environment, hashed: Path, folder: Path, tmp_path: Path
) -> None:
    async with open_services(environment, settings_store(vector={"bulkAbove": 8, "dedicatedAbove": 12})) as services:
        await prepared(services, folder, tmp_path / "out")
        await loaded(services, tmp_path / "out")
        assert [one["state"] for one in await plan(services)] == ["building"]
        await build_indexes(services)
        assert [one["state"] for one in await plan(services)] == ["ready"]
        stored = (await rows(services))["embeddings"]
        assert all(json.loads(row)["own"] for row in stored)


async def plan(services: Services) -> list[Any]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return list(await connection.fetch("SELECT state FROM rag.vector_indexes"))


async def test_the_language_of_the_collection_decides_where_a_document_does_not_tell(
    pair: tuple[Services, Services], folder: Path, tmp_path: Path
) -> None:
    """It is not known where documents are prepared."""
    codes = select_files([folder / "codes.txt"], folder.parent)
    for services in pair:
        await index_texts(services, {"a": GERMAN, "b": GERMAN + "Ende."})
    await ingest_files(pair[0], "test", codes, nothing)
    await prepare_files(pair[1].environment, pair[1].settings.current, codes, tmp_path / "out", nothing)
    await loaded(pair[1], tmp_path / "out")

    one, two = await rows(pair[0]), await rows(pair[1])
    assert_same(two, one)
    assert any("passage 0 of harbour/codes.txt" in row and '"german"' in row for row in two["passages"]) or any(
        "QX-12" in row and "german" in row for row in two["passages"]
    )


@pytest.mark.siege
async def test_dask_prepares_in_two_processes(
    pair: tuple[Services, Services], all_formats: Path, tmp_path: Path
) -> None:
    """A function of (id, bytes) and the settings, mapped over a bag: the same rows as in this process."""
    import dask.bag

    ordinary, bulk = pair
    names = sorted(set(os.listdir(all_formats)) - {"empty.md", "broken.pdf"})
    sources = [cairn.Source(f"harbour/{name}", name, (all_formats / name).read_bytes()) for name in names]

    bag = dask.bag.from_sequence(sources, npartitions=4).map(cairn.prepare_document, settings=SETTINGS)
    made: list[PreparedRow] = bag.compute(scheduler="processes", num_workers=2)
    cairn.write_prepared(made, tmp_path / "out", settings=SETTINGS)
    report = await loaded(bulk, tmp_path / "out")

    assert len(report.fresh) == len(names)
    assert not report.failed
    for row, source in zip(made, sources, strict=True):
        assert _plain(row) == _plain(cairn.prepare_document(source, settings=SETTINGS))
    await cairn.Cairn(ordinary).ingest(sources, collection="test")
    assert_same(await rows(bulk), await rows(ordinary))


@pytest.mark.siege
async def test_the_program_of_the_documents_runs(
    bulk: Services, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes write into one folder, each what it has prepared."""
    import dask

    text = (REPO / "docs" / "library.md").read_text()
    [program] = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "dask" in block]
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(SETTINGS))
    monkeypatch.setenv("CAIRN_SETTINGS", str(settings))
    notes = [folder / f"note-{number:02}.txt" for number in range(NOTES)]
    files = [(file.name, file.read_bytes()) for file in notes]

    with dask.config.set(num_workers=2):
        exec(program.replace("/shared/prepared", str(tmp_path / "out")), {"files": files})

    assert len(open_folder(tmp_path / "out").parts) > 1
    assert (await loaded(bulk, tmp_path / "out")).counts["added"] == NOTES


def _plain(row: PreparedRow) -> dict[str, Any]:
    """That can be compared."""
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in row.items()}


async def test_a_document_is_prepared_inside_of_an_event_loop_and_without_a_database(
    hashed: Path, environment: Environment, tmp_path: Path
) -> None:
    nowhere = replace(environment, database_url="postgresql://nobody@127.0.0.1:9/none")
    settings = settings_store().current
    source = cairn.Source("guide", "guide.md", GUIDE.encode(), metadata={"year": 1999})
    row = prepare_one(source, nowhere, settings)
    assert row["title"] == "The harbour"
    assert row["vectors"].shape == (len(row["chunks"]), 32)
    assert json.loads(row["metadata"]) == {"year": 1999}
    with pytest.raises(cairn.InputError, match="not bytes"):
        cairn.prepare_document(replace(source, content="text"), settings=SETTINGS)  # type: ignore[arg-type]


# --- again, changed, gone -----------------------------------------------------------------------------------------------


async def test_what_is_unchanged_costs_nothing_and_what_changed_is_replaced(
    bulk: Services, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    await prepared(bulk, folder, out)
    first = await loaded(bulk, out)
    again = await prepared(bulk, folder, out)
    assert (again.documents, again.unchanged) == (0, READABLE)
    assert (await loaded(bulk, out)).counts["unchanged"] == READABLE

    (folder / "guide.md").write_text(GUIDE.replace("nine days", "eleven days"))
    (folder / "page.html").unlink()
    changed = await prepared(bulk, folder, out)
    assert (changed.documents, changed.unchanged) == (1, READABLE - 2)
    opened = open_folder(out)
    assert (len(opened.places), opened.superseded) == (READABLE, 1)
    second = await loaded(bulk, out)
    assert second.counts == {**first.counts, "added": 0, "replaced": 1, "unchanged": READABLE - 1}
    assert (await find(bulk, "eleven", legs=("lexical",))).passages
    # what is not there any more is no reason to delete anything
    assert "harbour/page.html" in {one.external_id for one in await list_documents(bulk, "test")}
    # and back: the newest row is what counts, not the one that was there first
    (folder / "guide.md").write_text(GUIDE)
    assert (await prepared(bulk, folder, out)).documents == 1
    assert (await loaded(bulk, out)).counts["replaced"] == 1
    assert not (await find(bulk, "eleven", legs=("lexical",))).passages


async def test_several_processes_write_into_one_folder_and_folders_can_be_joined(
    bulk: Services, folder: Path, tmp_path: Path
) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    settings = bulk.settings.current
    halves = [[folder / f"note-{number:02}.txt" for number in range(first, NOTES, 2)] for first in (0, 1)]
    for half, place in zip(halves, (out, other), strict=True):
        await prepare_files(bulk.environment, settings, select_files(half, folder.parent), place, nothing)
    for part in other.glob("*.parquet"):
        shutil.copy(part, out)
    assert (await loaded(bulk, out)).counts["added"] == NOTES


@pytest.mark.siege
async def test_ids_of_other_files_are_refused_and_replaced_on_demand(
    bulk: Services, folder: Path, tmp_path: Path
) -> None:
    twin = tmp_path / "copy" / "harbour"
    twin.mkdir(parents=True)
    (twin / "guide.md").write_text("# Another guide\n\nOf another harbour.")
    await ingest_files(bulk, "test", select_files([folder]), nothing)
    await prepared(bulk, twin, tmp_path / "out")
    before = await rows(bulk)
    with pytest.raises(ConflictError, match=r"harbour/guide.md is .*--replace"):
        await loaded(bulk, tmp_path / "out")
    assert await rows(bulk) == before
    assert (await loaded(bulk, tmp_path / "out", replace=True)).counts["replaced"] == 1


async def test_limits_of_the_tenant_hold(environment: Environment, hashed: Path, folder: Path, tmp_path: Path) -> None:
    async with open_services(environment, settings_store(limits={"documents": 5})) as services:
        await prepared(services, folder, tmp_path / "out")
        report = await loaded(services, tmp_path / "out")
        assert len(report.fresh) == 5
        assert {one.code for one in report.failed} == {"tenant-full"}


@pytest.mark.siege
async def test_a_collection_that_changes_its_model_gets_the_other_vectors_too(
    environment: Environment, hashed: Path, folder: Path, tmp_path: Path
) -> None:
    """Given vectors serve the model that they are of; those of the other one are made while loading."""
    async with open_services(environment, settings_store()) as services:
        await index_texts(services, {"a": "granite by the sea"})
        await start_backfill(services, "test", "all-MiniLM-L6-v2")
        await prepared(services, folder, tmp_path / "out")
        report = await loaded(services, tmp_path / "out")
        assert not report.failed
        found = (await rows(services))["embeddings"]
        by_model = [json.loads(row)["model_id"] for row in found]
        chunks = sum(one.chunk_count for one in report.indexed)
        assert sorted(by_model.count(model) for model in set(by_model)) == [chunks, chunks + 1]


# --- rows that others write ---------------------------------------------------------------------------------------------


def given(external_id: str = "a", text: str = "Basalt is dark. Granite is light.", **more: Any) -> dict[str, Any]:
    """The least that a row may hold."""
    return {
        "external_id": external_id, "text": text,
        "passages": [{"start": 0, "end": len(text)}],
        "chunks": [{"passage": 0, "start": 0, "end": 15}, {"passage": 0, "start": 16, "end": len(text)}],
        "vectors": [[1.0] * 32, [0.5] * 31 + [-1.0]], **more,
    }  # fmt: skip


def write(folder: Path, found: list[dict[str, Any]], name: str = "a.parquet", **manifest: Any) -> Path:
    """As somebody would with pyarrow and a text editor: no types are said, so vectors are lists of double."""
    folder.mkdir(exist_ok=True)
    said = {"format": "cairn-prepared", "version": 1, "model": "hashed:one", "dimensions": 32, **manifest}
    (folder / MANIFEST).write_text(json.dumps(said))
    names = list(dict.fromkeys(key for row in found for key in row))
    pq.write_table(pa.table({key: [row.get(key) for row in found] for key in names}), folder / name)
    return folder


@pytest.mark.siege
async def test_rows_of_others_are_completed_as_ingestion_would(bulk: Services, tmp_path: Path) -> None:
    """A row with a text, spans and vectors: words, language and graph are found when it is loaded."""
    text = "Ada Lovelace founded the Harbour Office in Lisbon. " * 3
    out = write(tmp_path / "given", [given(), given("b", text, title="Harbours", metadata='{"year": 1999}')])
    report = await loaded(bulk, out)
    assert [one.change for one in report.indexed] == ["added", "added"], report.failed
    [hit, *_] = (await find(bulk, "granite", legs=("lexical",))).passages
    assert hit.external_id == "a"
    stored = await rows(bulk)
    [row] = [json.loads(row) for row in stored["documents"] if '"external_id": "b"' in row]
    assert (row["title"], row["metadata"], row["language"]) == ("Harbours", {"year": 1999}, "en"), row
    assert any('"Harbours' in row for row in stored["passages"]), stored["passages"]
    assert any("lovelace" in row for row in stored["entities"])
    assert not stored["originals"]
    assert (await loaded(bulk, out)).counts["unchanged"] == 2


BAD_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "infinite": (given(vectors=[[1.0] * 32, [float("inf")] * 32]), "a number that is none"),
    "nan": (given(vectors=[[1.0] * 32, [float("nan")] * 32]), "a number that is none"),
    "huge": (given(vectors=[[1.0] * 32, [1e9] * 32]), "too large for half precision"),
    "zeros": (given(vectors=[[1.0] * 32, [0.0] * 32]), "all zeros"),
    "short": (given(vectors=[[1.0] * 32, [1.0] * 31]), "31 dimensions; the manifest says 32"),
    "few": (given(vectors=[[1.0] * 32]), "1 vectors for 2 chunks"),
    "null vector": (given(vectors=[[1.0] * 32, None]), "a vector is null"),
    "null number": (given(vectors=[[1.0] * 32, [None] * 32]), "holds a null"),
    "no text": (given(text="", passages=[{"start": 0, "end": 0}]), "passage 0 is no part of the text"),
    "outside": (given(passages=[{"start": 0, "end": 99}]), "passage 0 is no part of the text"),
    "chunk outside": (given(chunks=[{"passage": 0, "start": 0, "end": 15}, {"passage": 1, "start": 0, "end": 3}]), "no passage"),
    "chunk larger": (
        given(passages=[{"start": 0, "end": 10}], chunks=[{"passage": 0, "start": 0, "end": 15}] * 2),
        "does not lie within its passage",
    ),
    "no chunk": (
        given(passages=[{"start": 0, "end": 33}, {"start": 5, "end": 30}]), "passage 1 has no chunk",
    ),
    "long passage": (given(text="basalt " * 20_000), "longer than 100,000 characters"),
    "null passage": (given(passages=[None]), "passages.0"),
    "nul": (given(text="Basalt is dark.\0 Granite is light."), "NUL"),
    "path": (given("../a"), "has a part '..'"),
    "no id": (given(external_id=None), "external_id"),
    "long id": (given("x" * 600), "1 to 512 characters"),
    "metadata": (given(metadata="[1]"), "not an object"),
    "metadata not JSON": (given(metadata="{"), "not JSON"),
    "metadata with NaN": (given(metadata='{"a": [1, NaN]}'), "NaN"),
    "media type of two lines": (given(media_type="text/plain\nx"), "media type"),
    "metadata with nul": (given(metadata='{"a": "\\u0000"}'), "NUL"),
    "negative page": (given(passages=[{"start": 0, "end": 33, "page": -1}]), "page"),
    "long title": (given(title="x" * 3000), "title"),
    "stranger's stemmer": (
        given(passages=[{"start": 0, "end": 33, "config": "klingon"}], mentions=[], evidence=[]),
        "no text search configuration",
    ),
    "evidence of nothing": (
        given(mentions=[], evidence=[{
            "passage": 0, "source_family": "text", "source_normal": "x", "kind": "co_occurs", "target_family": "text",
            "target_normal": "y", "start": 0, "end": 3, "strength": 1.0,
        }]),
        "does not mention",
    ),
}  # fmt: skip


async def test_rows_that_cannot_be_meant_are_told_of_and_the_others_are_loaded(bulk: Services, tmp_path: Path) -> None:
    out = tmp_path / "given"
    for case, (bad, _) in BAD_ROWS.items():
        write(out, [{**bad, "external_id": case} if bad["external_id"] == "a" else bad], f"{case}.parquet")
    write(out, [given("good")], "good.parquet")
    report = await loaded(bulk, out)
    assert [one.external_id for one in report.indexed] == ["good"]
    said = {one.error.rpartition("(row 0 of ")[2].removesuffix(".parquet)"): one.error for one in report.failed}
    assert said.keys() == BAD_ROWS.keys()
    wrong = {case: error for case, error in said.items() if BAD_ROWS[case][1] not in error or "\n" in error}
    assert not wrong


def cut_off(out: Path) -> None:
    [part] = out.glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-100])


def flip_a_byte(part: Path) -> None:
    """Of a vector, where only a checksum tells."""
    group = pq.read_metadata(part).row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    [vectors] = [column for column in columns if column.path_in_schema.startswith("vectors")]
    content = bytearray(part.read_bytes())
    content[vectors.data_page_offset + vectors.total_compressed_size // 2] ^= 0xFF
    part.write_bytes(content)


def of_another_shape(out: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), out / "b.parquet")


def with_texts_that_are_numbers(out: Path) -> None:
    pq.write_table(pa.Table.from_pylist([given() | {"text": 1}]), out / "b.parquet")


def with_an_unknown_column(out: Path) -> None:
    pq.write_table(pa.Table.from_pylist([given() | {"metdata": "{}"}]), out / "b.parquet")


def of_other_dimensions(out: Path) -> None:
    row = given() | {"vectors": np.ones((2, 16), np.float16)}
    table = pa.Table.from_pylist([{**row, "vectors": row["vectors"].tolist()}])
    column = table.schema.get_field_index("vectors")
    pq.write_table(table.set_column(column, "vectors", pa.array([row["vectors"].tolist()], schema_of(16).field("vectors").type)),
                   out / "b.parquet")  # fmt: skip


def of_another_run(out: Path) -> None:
    [part] = out.glob("*.parquet")
    table = pq.read_table(part)
    known = json.loads(table.schema.metadata[b"cairn-prepared"])
    said = json.dumps({**known, "model": "another"})
    pq.write_table(table.replace_schema_metadata({"cairn-prepared": said}), out / "b.parquet")


def text_in_its_place(out: Path) -> None:
    (out / "b.parquet").write_text("not Parquet at all")


def change_manifest(**changes: Any) -> Callable[[Path], None]:
    def change(out: Path) -> None:
        said = json.loads((out / MANIFEST).read_text())
        (out / MANIFEST).write_text(json.dumps({**said, **changes}))
        for part in out.glob("*.parquet"):  # else it is told by the parts
            pq.write_table(pq.read_table(part).replace_schema_metadata(None), part)

    return change


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut off": (cut_off, "is no Parquet file, or is damaged"),
    "text": (text_in_its_place, "is no Parquet file, or is damaged"),
    "pipe": (lambda out: os.mkfifo(out / "b.parquet"), "b.parquet is no file"),
    "folder": (lambda out: (out / "b.parquet").mkdir(), "b.parquet is no file"),
    "foreign": (of_another_shape, "holds no prepared documents: it has no column external_id"),
    "types": (with_texts_that_are_numbers, "the column text is int64"),
    "columns": (with_an_unknown_column, "has a column 'metdata'"),
    "dimensions": (of_other_dimensions, "has vectors of 16 dimensions, its manifest says 32"),
    "another run": (of_another_run, "was prepared otherwise"),
    "no manifest": (lambda out: (out / MANIFEST).unlink(), "manifest.json cannot be read"),
    "not JSON": (lambda out: (out / MANIFEST).write_text("{") and None, "not JSON"),
    "deep": (lambda out: (out / MANIFEST).write_text("[" * 100_000) and None, "not JSON"),
    "other format": (change_manifest(format="parquet"), "format: "),
    "later version": (change_manifest(version=2), "has version 2 of the format, and this release reads 1"),
    "other model": (change_manifest(model="ada"), "the vectors are those of ada, and the settings name hashed:one"),
    "other size": (change_manifest(dimensions=16), "32|16"),
    "other settings": (
        change_manifest(settings={"chunking.chunkSize": 99}), "prepared with other settings: chunking.strategy",
    ),
    "empty": (lambda out: [part.unlink() for part in out.glob("*.parquet")] and None, "there are no Parquet files"),
}  # fmt: skip


async def test_a_pickled_type_in_a_part_is_not_made(bulk: Services, tmp_path: Path) -> None:
    """Old releases of pyarrow made Python objects of what a file calls an extension type."""
    marker = tmp_path / "was-here"

    class Strike:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (marker,))

    kind = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": pickle.dumps(Strike())}
    out = write(tmp_path / "given", [given()])
    table = pq.read_table(out / "a.parquet")
    column = table.schema.get_field_index("external_id")
    field = pa.field("external_id", pa.string(), metadata=kind)
    pq.write_table(table.cast(table.schema.set(column, field)), out / "a.parquet")
    assert b"arrow.py_extension_type" in base64.b64decode(pq.read_metadata(out / "a.parquet").metadata[b"ARROW:schema"])
    report = await loaded(bulk, out)
    assert not marker.exists()
    assert [one.change for one in report.indexed] == ["added"]


async def test_folders_that_are_wrong_are_refused_before_anything_is_stored(
    bulk: Services, folder: Path, tmp_path: Path
) -> None:
    good = tmp_path / "good"
    await prepare_files(
        bulk.environment, bulk.settings.current, select_files([folder / "guide.md"], folder.parent), good, nothing
    )
    for case, (spoil, reason) in HOSTILE.items():
        shutil.copytree(good, tmp_path / case)
        spoil(tmp_path / case)
        with pytest.raises(InputError, match=reason) as told:
            await loaded(bulk, tmp_path / case)
        assert "\n" not in told.value.detail, case
    assert not (await rows(bulk))["collections"]
    assert (await loaded(bulk, good)).counts["added"] == 1


@pytest.mark.siege
async def test_what_was_loaded_before_a_damaged_part_stays_and_the_rest_follows(
    bulk: Services, folder: Path, tmp_path: Path
) -> None:
    """The damage is found when the part is read; preparing again makes another part."""
    out, only = tmp_path / "out", select_files([folder / "guide.md"], folder.parent)
    await prepare_files(bulk.environment, bulk.settings.current, only, out, nothing)
    [part] = out.glob("*.parquet")
    pq.write_table(pa.Table.from_pylist([given("first")]), out / "a-first.parquet")
    whole = part.read_bytes()
    flip_a_byte(part)
    with pytest.raises(InputError, match=f"{part.name} is no Parquet file, or is damaged"):
        await loaded(bulk, out)
    part.rename(out / "aside")
    assert (await loaded(bulk, out)).counts["added"] == 1
    (out / "aside").rename(part)
    with pytest.raises(InputError, match="is damaged"):
        await loaded(bulk, out)
    assert (await find(bulk, "granite", legs=("lexical",))).passages
    part.write_bytes(whole)
    assert {one.change for one in (await loaded(bulk, out)).indexed} == {"unchanged", "added"}


async def test_a_collection_of_another_model_refuses(services: Services, hashed: Path, tmp_path: Path) -> None:
    await index_texts(services, {"a": "granite"})
    out = write(tmp_path / "given", [given()])
    with pytest.raises(InputError, match="collection test is of all-MiniLM-L6-v2:int8"):
        await loaded(services, out)


@pytest.mark.siege
async def test_a_folder_takes_no_documents_of_other_settings(bulk: Services, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    await prepared(bulk, folder, out)
    before = sorted(out.iterdir())
    other = settings_store(chunking={"chunkSize": 200}).current
    with pytest.raises(InputError, match=r"chunking.chunkSize is 200 here and was 400.*Choose another folder"):
        await prepare_files(bulk.environment, other, select_files([folder]), out, nothing)
    assert sorted(out.iterdir()) == before


# --- rows and files -----------------------------------------------------------------------------------------------------


@pytest.mark.siege
def test_parts_are_bounded_and_read_as_they_were_written(
    hashed: Path, environment: Environment, tmp_path: Path
) -> None:
    settings = settings_store().current
    row = prepare_one(cairn.Source("guide", "guide.md", GUIDE.encode()), environment, settings)
    many = PART_CHUNKS // len(row["chunks"]) + 10
    made = [{**row, "external_id": f"guide-{number}"} for number in range(many)]
    parts = cairn.write_prepared(made, tmp_path / "out", settings=SETTINGS)
    assert len(parts) == 2
    assert {file.name for file in (tmp_path / "out").iterdir()} == {MANIFEST, *(part.name for part in parts)}
    read = list(open_prepared(tmp_path / "out").rows())
    assert [_plain({**one.values, "vectors": one.vectors}) for one in read] == [_plain(one) for one in made]
    assert pq.ParquetFile(parts[0]).num_row_groups > 4


def test_a_row_is_the_document_it_was_made_of(hashed: Path, environment: Environment) -> None:
    from cairn.providers.plugins import added_embedder

    settings = settings_store().current
    embedder = added_embedder("hashed:one")
    assert embedder is not None
    for name, content in (("guide.md", GUIDE), ("register.py", CODE), ("codes.txt", "QX-12 QX-13")):
        row = prepare_one(cairn.Source(name, name, content.encode()), environment, settings)
        values = {key: value for key, value in row.items() if key != "vectors"}
        document, _ = document_of(values, row["vectors"], settings, embedder.tokens, None)
        assert _plain(row_of(document, row["vectors"], keep_original=True)) == _plain(row)


def test_without_pyarrow_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(MODULES, "parquet", "no_such_module")
    with pytest.raises(MissingPartError, match=r"pip install 'pgcairn\[parquet\]'"):
        schema_of(3)
