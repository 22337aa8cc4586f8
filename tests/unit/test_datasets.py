"""Data sets as BEIR lays them out, and what is said about broken ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cairn.errors import InputError
from cairn.evals.datasets import load

CORPUS = [{"_id": "d1", "title": "One", "text": "First text."}, {"_id": "d2", "title": "", "text": "Second text."},
          {"_id": 3, "title": "Only a title", "text": ""}]  # fmt: skip
QUERIES = [{"_id": "q2", "text": "second?"}, {"_id": "q1", "text": "first?"}, {"_id": "q3", "text": "unjudged?"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td2\t1\n"


def lines(records: list[dict[str, object]]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "tiny"
    (path / "qrels").mkdir(parents=True)
    (path / "corpus.jsonl").write_text(lines(CORPUS))
    (path / "queries.jsonl").write_text(lines(QUERIES))
    (path / "qrels.tsv").write_text(QRELS)
    return path


def test_a_set_is_read_whole(folder: Path) -> None:
    data = load(folder)
    assert (data.name, data.document_count, data.unjudged, data.absent) == ("tiny", 3, 1, 0)
    assert list(data.queries.items()) == [("q2", "second?"), ("q1", "first?")]
    assert data.judgements == {"q2": {"d2": 1}, "q1": {"d1": 2, "d2": 0}}
    first, second, third = data.documents()
    assert (first.external_id, first.title, first.content, first.media_type) == (
        "d1",
        "One",
        b"First text.",
        "text/plain",
    )
    assert second.title is None
    assert (third.external_id, third.content) == ("3", b"Only a title")


def test_the_first_queries_are_a_set_of_their_own(folder: Path) -> None:
    whole, part = load(folder), load(folder).first(1)
    assert list(part.queries) == list(part.judgements) == ["q2"]
    assert part.unjudged == 2
    assert part.digest != whole.digest
    assert whole.first(None).digest == whole.digest == load(folder).digest


def test_the_digest_sees_every_grade(folder: Path) -> None:
    before = load(folder).digest
    (folder / "qrels.tsv").write_text(QRELS.replace("d1\t2", "d1\t1"))
    assert load(folder).digest != before


@pytest.mark.parametrize(
    ("qrels", "queries", "split", "name"),
    [
        ("qrels/test.tsv", "queries.jsonl", None, "tiny"),
        ("qrels/dev.tsv", "queries.jsonl", None, "tiny"),
        ("qrels_dev.tsv", "queries_dev.jsonl", None, "tiny"),
        ("qrels_dev.tsv", "queries.jsonl", "dev", "tiny/dev"),
        ("qrels_graded.tsv", "queries.jsonl", "graded", "tiny/graded"),
    ],
)
def test_splits_are_found(folder: Path, qrels: str, queries: str, split: str | None, name: str) -> None:
    (folder / "qrels.tsv").rename(folder / qrels)
    (folder / "queries.jsonl").rename(folder / queries)
    data = load(folder, split)
    assert (data.name, len(data.queries)) == (name, 2)


def test_test_comes_before_dev_and_a_named_split_before_the_plain_file(folder: Path) -> None:
    (folder / "qrels" / "dev.tsv").write_text("q1\td1\t1\n")
    assert len(load(folder).queries) == 2
    assert list(load(folder, "dev").queries) == ["q1"]
    (folder / "qrels.tsv").rename(folder / "qrels" / "test.tsv")
    assert len(load(folder).queries) == 2


def test_windows_line_ends_blank_lines_and_a_byte_order_mark_are_read(folder: Path) -> None:
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        text = (folder / name).read_text()
        (folder / name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n\r\n").encode())
    assert load(folder).judgements["q1"] == {"d1": 2, "d2": 0}


def test_text_that_the_database_could_not_store_is_made_storable(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "title": "a\\u0000b", "text": "half a pair: \\ud83d"}\n')
    (document,) = load(folder).documents()
    assert document.title == "a\ufffdb"
    assert document.content.decode() == "half a pair: \ufffd"


def test_judged_documents_that_are_not_there_are_counted(folder: Path) -> None:
    (folder / "qrels.tsv").write_text(QRELS + "q2\tgone\t1\n")
    assert load(folder).absent == 1


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("corpus.jsonl", '{"_id": "d1"}\n{"_id": \n', r"corpus\.jsonl, line 2: not JSON"),
        ("corpus.jsonl", '["d1"]\n', r"corpus\.jsonl, line 1: not an object but list"),
        ("corpus.jsonl", '{"text": "x"}\n', r"corpus\.jsonl, line 1: no _id"),
        ("corpus.jsonl", f'{{"_id": "{"x" * 600}"}}\n', r"corpus\.jsonl, line 1: an id has 1 to 512"),
        ("corpus.jsonl", '{"_id": "a\\u0000"}\n', r"corpus\.jsonl, line 1: an id"),
        ("corpus.jsonl", '{"_id": "d1"}\n\n{"_id": "d1"}\n', r"corpus\.jsonl, line 3: the id 'd1' stands in line 1"),
        ("corpus.jsonl", "\n", r"corpus\.jsonl: no documents"),
        ("queries.jsonl", '{"_id": "q1", "text": " "}\n', r"queries\.jsonl, line 1: the query has no text"),
        ("queries.jsonl", lines([*QUERIES, QUERIES[0]]), r"queries\.jsonl, line 4: a second query with the id 'q2'"),
        ("qrels.tsv", "q1 d1 1\n", r"qrels\.tsv, line 1: 1 fields; wanted query-id, corpus-id, score"),
        ("qrels.tsv", QRELS + "q1\td3\thigh\n", r"qrels\.tsv, line 5: the score 'high' is no whole number"),
        ("qrels.tsv", QRELS + "q9\td1\t1\n", r"qrels\.tsv, line 5: no query 'q9' in queries\.jsonl"),
        ("qrels.tsv", QRELS + "q1\td1\t1\n", r"qrels\.tsv, line 5: 'd1' was given another grade"),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\n", r"qrels\.tsv: no judgements"),
    ],
)
def test_errors_name_file_and_line(folder: Path, file: str, text: str, said: str) -> None:
    (folder / file).write_text(text)
    with pytest.raises(InputError, match=said):
        load(folder)


def test_missing_files_are_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no judgements of a split named dev; there are: qrels\.tsv"):
        load(folder, "dev")
    (folder / "corpus.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"corpus\.jsonl: not UTF-8"):
        load(folder)
    (folder / "queries.jsonl").unlink()
    (folder / "corpus.jsonl").write_text(lines(CORPUS))
    with pytest.raises(InputError, match=r"has no queries\.jsonl"):
        load(folder)
    with pytest.raises(InputError, match="there is no folder"):
        load(tmp_path / "nowhere")


def test_the_shared_sets_are_read(shared_data: Path) -> None:
    """Their sizes are those of the data README."""
    for name, documents, queries, grades in (("xquad_en", 240, 1190, 1190), ("cosqa", 6267, 500, 500)):
        data = load(shared_data / name)
        assert (data.document_count, len(data.queries), data.absent) == (documents, queries, 0)
        assert sum(map(len, data.judgements.values())) == grades
