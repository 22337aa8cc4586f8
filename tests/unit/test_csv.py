"""Comma-separated values: the table that they become, what is told from the file, how it fails."""

from __future__ import annotations

from contextlib import suppress

import pytest

from cairn.domain.document import LoadedDocument
from cairn.errors import EmptyDocumentError, ParseError, ParserLimitError
from cairn.ingest.chunkers import chunk
from cairn.ingest.loaders import load, sniff
from cairn.settings import ChunkingSettings, IngestSettings, RagSettings
from tests.benchmarks.corpus import WordCount
from tests.growth import repeated, takes_linear_time


def read(content: str | bytes, name: str = "a.csv", limits: IngestSettings | None = None) -> LoadedDocument:
    data = content.encode() if isinstance(content, str) else content
    return load(data, sniff(name, data), limits or IngestSettings())


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("name,role\nAda,engineer\nBo,cook\n", "name|role, Ada|engineer, Bo|cook"),
        ("name;price\nPro;1,50\nMax;2,50\n", "name|price, Pro|1,50, Max|2,50"),
        ("a|b\n1|2\n", "a|b, 1|2"),
        ("sep=;\na;b\n1;2\n", "a|b, 1|2"),
        ('name,note\r\nAda,"said ""no"",\r\nthen yes"\r\n', 'name|note, Ada|said "no", then yes'),
        ("name,role\nAda\nBo,cook,extra\n\n,,\n", "name|role|, Ada, Bo|cook|extra"),
        (",a\n0,x\n", "|a, 0|x"),
        ("region,2023,2024\nNorth,10,12\n", "region|2023|2024, North|10|12"),
        ("city\nParis\n", "city, Paris"),
        ("only,words\n", "|, only|words"),
        ("1,Ada\n2,Bo\n", "|, 1|Ada, 2|Bo"),
        ("Berlin,Germany\nBonn,Germany\n", "|, Berlin|Germany, Bonn|Germany"),
        ("x,x\n1,2\n", "|, x|x, 1|2"),
        ("Player,Runs,100s\nHewett,543,1\nRoe,316,0\n", "Player|Runs|100s, Hewett|543|1, Roe|316|0"),
        ("Day,Home,Score,Away,Score\n1,A,6,B,5\n2,C,0,A,2\n", "Day|Home|Score|Away|Score, 1|A|6|B|5, 2|C|0|A|2"),
        ("Score,Points\nScore,1\nB,2\nC,3\nD,4\nE,x\n", "Score|Points, Score|1, B|2, C|3, D|4, E|x"),  # four of five
        ("Score,Points\nScore,1\nB,2\nC,3\nE,x\n", "|, Score|Points, Score|1, B|2, C|3, E|x"),
        ("Score,Points\nScore,1\nB,2\n", "Score|Points, Score|1, B|2"),
        ("Score,Points\nScore,1\n", "|, Score|Points, Score|1"),
        ("Year,PC\n1997,PC\n1998,Mac\n", "Year|PC, 1997|PC, 1998|Mac"),
        ("Ann,12,n/a\nBo,13,5\nCy,9,7\n", "||, Ann|12|n/a, Bo|13|5, Cy|9|7"),
        ("Line,End,End\nJ,Bay,Park\nK,Bay,Zoo\n", "Line|End|End, J|Bay|Park, K|Bay|Zoo"),
        ("größe,ort\n5,Köln\n".encode("cp1252"), "größe|ort, 5|Köln"),
        ("größe;ort\r\n5;Köln\r\n".encode("utf-16"), "größe|ort, 5|Köln"),
    ],
)
def test_a_file_is_one_table(content: str | bytes, rows: str) -> None:
    document = read(content)
    header, _, *body = document.text.splitlines()
    assert ", ".join(line[2:-2].replace(" | ", "|") for line in (header, *body)) == rows
    assert (document.media_type, document.markup) == ("text/csv", "rows")


def test_tab_separated_values_may_know_no_quotation() -> None:
    assert read('size\tname\n5"\tdisk\n"3\ttape\n', "a.tsv").text.splitlines()[2:] == ['| 5" | disk |', '| "3 | tape |']
    assert read('a\tb\n"x\ty"\tz\n', "a.tsv").text.splitlines()[2:] == ["| x y | z |"]
    assert read("a\tb\n1\t2", "a.tsv").media_type == "text/tab-separated-values"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            'a,b\n1,2\n3,"4\n5,6\n',
            "line 3 of the table cannot be read: a quotation mark that opens there is never closed",
        ),
        ('a,b\n"1"x,2\n', "line 2 .* written twice"),
        ('a,b\n"' + "x" * 140_000, "line 2 .* may not be closed"),
    ],
)
def test_a_broken_table_says_where_and_why(content: str, why: str) -> None:
    with pytest.raises(ParseError, match=why):
        read(content)


def test_a_table_of_nothing_is_an_empty_document() -> None:
    with pytest.raises(EmptyDocumentError):
        read(",,\n,,\n")


def test_names_repeated_in_each_row_stay_within_the_limit_of_text() -> None:
    header = ",".join(f"{'n' * 90}{n}" for n in range(1000))
    rows = "\n".join(",".join("1" * 1000) for _ in range(200))
    with pytest.raises(ParserLimitError, match="maxTextChars"):
        read(f"{header}\n{rows}\n", limits=IngestSettings(max_text_chars=1_000_000))


@pytest.mark.parametrize("unit", ['"', ",", '",', ";\t|", "1-", "a,b\n", "\r"])
def test_any_table_takes_linear_time(unit: str) -> None:
    def read_table(text: str) -> None:
        with suppress(ParseError):
            read(f"a,b\n{text}x")

    assert takes_linear_time(read_table, repeated(unit), 10_000)


@pytest.mark.parametrize("strategy", ["parent_child", "tokens"])
def test_no_row_is_cut_from_the_names_of_its_columns(strategy: str) -> None:
    table = "plan,price,terms\n" + "".join(f"Plan {n},{n}.50,{'word ' * (n % 40)}end{n}\n" for n in range(200))
    document = read(table)
    settings = ChunkingSettings.model_validate({"strategy": strategy})
    rows = {*document.text.split("\n")}
    for passage in chunk(document, settings, RagSettings(), WordCount()):
        for part in (passage, *passage.chunks):
            assert {*document.text[part.start : part.end].split("\n")} <= rows


def test_a_row_longer_than_a_passage_has_a_line_for_each_column() -> None:
    document = read(f"plan,terms,price\nPro,{'word ' * 400},5\nMax,none,6\n")
    assert [line.split(":")[0] for line in document.text.split("\n")][:4] == ["plan", "terms", "price", ""]
    assert document.text.endswith("| Max | none | 6 |")


def test_a_long_row_is_cut_between_its_cells() -> None:
    document = read("plan,terms,price\n" + f"Pro,{'word ' * 60}end,{'more ' * 60}end\n" * 3)
    for passage in chunk(document, ChunkingSettings(), RagSettings(), WordCount()):
        for one in passage.chunks:
            assert document.text[one.start : one.end].strip(" |").endswith(("end", "Pro"))
