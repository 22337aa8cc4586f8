"""The table parser that make install builds: that it is the one that was trained, lays tables out as it was trained, and tells
what is asked of a table. What it answers: tests/db/test_parsed_tables.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from cairn.domain.table_parsing import ASKED, COMPARED, Asked, ColumnView, Compared, Kind, TableView
from cairn.errors import ProviderError
from cairn.providers.e5_graph import read_adapter
from cairn.providers.table_parser import (
    CELL_TOKENS,
    DOCUMENT_TOKENS,
    HEADER_TOKENS,
    MOST_TOKENS,
    NOT_SHOWN,
    LocalTableParser,
    find_table_parser,
    lay_out,
)
from cairn.providers.table_parser_graph import ADAPTER, table_parser_file
from cairn.query.table_parse import ParsedQuestion, parse
from cairn.query.table_view import mentions_in, view_of

LARGEST = 2_600_000
"""Bytes of the adapter: it lies in the repository."""
HEADER = ("animal_id", "name", "breed", "age_mo", "intake_dt", "rehomed_dt", "vet_cost_gbp", "origin", "chipped")
KINDS: tuple[Kind, ...] = ("text", "text", "text", "number", "date", "date", "number", "text", "flag")
ROWS = [
    ("R-1", "Tess", "Lurcher", "14", "2025-01-09", "2025-03-02", "120.50", "stray", "yes"),
    ("R-2", "Bolt", "Whippet", "30", "2025-03-14", "", "410.00", "surrender", "no"),
    ("R-3", "Hugo", "Lurcher", "8", "2025-03-20", "2025-05-01", "95.00", "stray", "yes"),
    ("R-4", "Mina", "Collie", "61", "2025-04-02", "", "680.00", "transfer", "no"),
]


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = find_table_parser(tmp_path_factory.mktemp("home"))
    if found is None:
        pytest.skip("there is no table parser: make install builds it")
    return found


@pytest.fixture
async def parser(file: Path) -> AsyncIterator[LocalTableParser]:
    made = LocalTableParser(file)
    yield made
    await made.close()


async def parsed(parser: LocalTableParser, question: str, header: Sequence[str] = HEADER) -> ParsedQuestion:
    kept = [HEADER.index(name) for name in header]
    cells = [[row[at] for row in ROWS] for at in kept]
    view = view_of(question, "Rescue dogs 2025", header, [KINDS[at] for at in kept], cells)
    mentions = mentions_in(question)
    return parse(await parser.score(question, view, mentions), view, mentions)


def test_the_adapter_is_small_and_whole() -> None:
    adapter = read_adapter(ADAPTER)
    assert ADAPTER.stat().st_size < LARGEST
    assert {name.split(".")[0] for name in adapter if name.startswith("l")} == {f"l{at}" for at in range(12)}
    heads = {name for name in adapter if not name.startswith(("l", "emb"))}
    deep = {f"{head}.{part}.{tensor}" for head in ("op", "col", "val") for part in ("in", "out") for tensor in "wb"}
    assert heads == {*deep, "ma.w", "ma.b", "mb.w", "mn.w", "mn.b"}


def ids_of(texts: Sequence[str]) -> list[list[int]]:
    """A token for each word: its length."""
    return [[len(word) for word in text.split()] for text in texts]


FRAMES = {"question": ([900, 901], [902]), "passage": ([900, 903], [902])}


def test_tokens_know_to_which_column_cell_and_number_they_belong() -> None:
    view = TableView("My plots", (ColumnView("Plot name", "text", ("A", "B C")), ColumnView("kg", "number", ("3",))))
    question = "the 2 best"
    tokens = lay_out(question, view, mentions_in(question), ids_of, FRAMES)
    told = list(zip(tokens.ids, tokens.columns, tokens.cells, tokens.mentions, strict=True))
    assert told == [
        (900, -1, -1, -1), (901, -1, -1, -1), (3, -1, -1, -1), (1, -1, -1, 0), (4, -1, -1, -1), (902, -1, -1, -1),
        (902, -1, -1, -1), (903, -1, -1, -1), (2, -1, -1, -1), (5, -1, -1, -1),
        (1, 0, -1, -1), (4, 0, -1, -1), (4, 0, -1, -1), (5, -1, -1, -1), (2, -1, 0, -1), (1, -1, 1, -1), (2, -1, 1, -1),
        (1, 1, -1, -1), (2, 1, -1, -1), (7, -1, -1, -1), (2, -1, 2, -1), (902, -1, -1, -1),
    ]  # fmt: skip


def test_what_the_document_is_called_stands_behind_the_title() -> None:
    column = (ColumnView("kg", "number", ()),)
    for title, document, between in (
        ("My plots", "", [2, 5]),
        ("", "Allotments", [12]),
        ("My plots", "A" * 9, [2, 5, 11]),
    ):
        ids = lay_out("q", TableView(title, column, document), [], ids_of, FRAMES).ids
        assert ids == [900, 901, 1, 902, 902, 903, *between, 1, 2, 7, 902], title
    tokens = lay_out("q", TableView("", column, "d " * 99), [], ids_of, FRAMES).ids
    assert len(tokens) == len(lay_out("q", TableView("", column), [], ids_of, FRAMES).ids) + DOCUMENT_TOKENS


def test_what_is_long_is_cut_and_every_header_is_there() -> None:
    cell, header = "c " * 50, "h " * 50
    view = TableView("t " * 99, tuple(ColumnView(header, "text", (cell,) * 9) for _ in range(9)))
    tokens = lay_out("q " * 200, view, [], ids_of, FRAMES)
    assert len(tokens.ids) <= MOST_TOKENS
    assert tokens.ids[-1] == 902
    assert [tokens.columns.count(at) for at in range(9)] == [HEADER_TOKENS] * 9
    sizes = [tokens.cells.count(at) for at in sorted({*tokens.cells} - {-1})]
    assert {*sizes} <= {CELL_TOKENS}
    wide = TableView("", tuple(ColumnView(header, "text", (cell,)) for _ in range(40)))
    assert len(lay_out("q", wide, [], ids_of, FRAMES).ids) == MOST_TOKENS


async def test_it_reads_as_it_was_trained(parser: LocalTableParser) -> None:
    """The figures of this adapter on a fixed input; another adapter has others."""
    question = "which dog ran up the biggest vet bill?"
    view = view_of(question, "Rescue dogs 2025", HEADER, KINDS, list(map(list, zip(*ROWS, strict=True))))
    scores = await parser.score(question, view, [])
    assert ASKED[int(np.argmax(scores.asked))] == "highest"
    assert float(scores.asked.max()) == pytest.approx(EXPECTED[0], abs=SAME)
    assert float(scores.roles[0].max()) == pytest.approx(EXPECTED[1], abs=SAME)


EXPECTED = (7.79, 8.58)
SAME = 0.5
"""Log odds by which int8 may differ from the exact model, on any processor."""


@pytest.mark.parametrize(
    ("question", "asked", "measure", "conditions"),
    [
        ("which dog ran up the biggest vet bill?", "highest", "vet_cost_gbp", ()),
        ("how many came in as strays", "count", None, (("origin", "="),)),
        ("what did the vet cost altogether", "sum", "vet_cost_gbp", ()),
        ("which ones still have no home?", "list", None, (("rehomed_dt", "empty"),)),
        ("list the dogs taken in in March", "list", None, (("intake_dt", "="),)),
        ("who was the second most expensive at the vet", "rank", "vet_cost_gbp", ()),
        ("coût moyen du vétérinaire", "average", "vet_cost_gbp", ()),
        ("¿cuál costó más de veterinario?", "highest", "vet_cost_gbp", ()),
    ],
)
async def test_it_knows_what_is_asked(
    parser: LocalTableParser,
    question: str,
    asked: Asked,
    measure: str | None,
    conditions: tuple[tuple[str, Compared], ...],
) -> None:
    found = await parsed(parser, question)
    assert found.asked == asked
    assert (None if found.measure is None else HEADER[found.measure]) == measure
    assert tuple((HEADER[one.column], one.compared) for one in found.conditions) == conditions


@pytest.mark.parametrize(
    "question",
    ["how do I clean a kennel", "who adopted Tess", "which dog won the most prizes", "why was Mina brought in?"],
)
async def test_it_knows_what_a_table_does_not_answer(parser: LocalTableParser, question: str) -> None:
    assert (await parsed(parser, question)).asked == "none"


async def test_without_the_column_nothing_is_asked(parser: LocalTableParser) -> None:
    left = [name for name in HEADER if name != "vet_cost_gbp"]
    assert (await parsed(parser, "which dog ran up the biggest vet bill?", left)).asked == "none"


async def test_texts_of_any_kind_are_read(parser: LocalTableParser) -> None:
    columns = tuple(ColumnView("😀" * 99 + "\x00\u202e", "text", ("", "a" * 9999)) for _ in range(30))
    scores = await parser.score("? 1 2 3", TableView("", columns), mentions_in("? 1 2 3"))
    assert scores.mentions.shape == (3, 32)
    assert {score for column in scores.values for score in column} == {NOT_SHOWN}
    assert (await parser.score("", TableView("", ()), [])).compared.shape == (0, len(COMPARED))


def test_without_the_model_there_is_no_parser(tmp_path: Path) -> None:
    assert find_table_parser(tmp_path, {"CAIRN_MODEL_DIR": str(tmp_path)}) is None
    (tmp_path / "sentencepiece.model").write_bytes(b"")
    (tmp_path / table_parser_file()).write_bytes(b"no model")
    with pytest.raises(ProviderError, match="The table parser failed"):
        asyncio.run(LocalTableParser(tmp_path / table_parser_file()).score("Who?", TableView("", ()), []))
