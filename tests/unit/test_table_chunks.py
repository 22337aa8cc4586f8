"""Documents with tables, cut and described: rows stay whole, and what is embedded says what their values mean."""

from __future__ import annotations

import pytest

from cairn.domain.document import LoadedDocument, PreparedDocument, Source
from cairn.ingest.chunkers import chunk
from cairn.ingest.prepare import prepare
from cairn.language.tables import render_table, tables_in
from cairn.settings import ChunkingSettings, RagSettings, Settings
from tests.benchmarks.corpus import WordCount

PROSE = "Some sentences before the table. They are about nothing in particular. " * 12
ROWS = [
    ["(in millions)", "2019", "2018"],
    ["Assets:", "", ""],
    *([f"Item of line {n}", f"{n},5", f"{n},7"] for n in range(90)),
]
TEXT = f"# Report\n\n{PROSE}\n\n{render_table(ROWS)}\n\n{PROSE}"


def prepared(text: str, chunking: dict[str, object] | None = None) -> PreparedDocument:
    settings = Settings.model_validate({"chunking": chunking or {}})
    return prepare(Source("a", "a.md", b""), LoadedDocument(text, "text/markdown", "markdown"), settings, WordCount())


@pytest.mark.parametrize("strategy", ["parent_child", "tokens"])
@pytest.mark.parametrize("size", [300, 800, 2000])
def test_no_row_is_cut_and_none_is_repeated(strategy: str, size: int) -> None:
    settings = ChunkingSettings.model_validate(
        {"strategy": strategy, "passageSize": size, "passageOverlap": size // 10, "chunkSize": 250, "chunkOverlap": 40}
    )
    rag = RagSettings.model_validate({"chunkSize": size // 5, "chunkOverlap": 20})
    passages = chunk(LoadedDocument(TEXT, "text/markdown", "markdown"), settings, rag, WordCount())
    rows = [row for table in tables_in(TEXT) for row in table.rows]
    for parts in (passages, [part for passage in passages for part in passage.chunks]):
        for row in rows:
            assert sum(part.start <= row.start and row.end <= part.end for part in parts) == 1
            assert sum(part.start < row.end and row.start < part.end for part in parts) == 1


def test_passages_are_cut_at_repeated_headers() -> None:
    for passage in prepared(TEXT).passages:
        for table in tables_in(passage.content):
            assert table.header == ("(in millions)", "2019", "2018")


def test_what_is_embedded_says_group_label_header_and_value() -> None:
    document = prepared(TEXT)
    [chunk_of_row] = [one for one in document.chunks if "Item of line 17 " in one.content]
    assert "| Item of line 17 | 17,5 | 17,7 |" in chunk_of_row.content
    assert "Assets / Item of line 17: 2019 17,5; 2018 17,7\n" in chunk_of_row.embed_text
    assert "|" not in chunk_of_row.embed_text


def test_of_a_long_row_each_part_says_label_and_header() -> None:
    text = render_table([["Plan", "Terms", "Price"], ["Pro", "word " * 70, "more " * 70]])
    chunks = prepared(text).chunks
    assert [one.embed_text[:20] for one in chunks if "more" in one.content] == ["Plan\nPro | Price | m"]


def test_words_of_a_header_find_the_passage_that_lacks_it() -> None:
    passages = prepared(TEXT, {"passageSize": 500, "passageOverlap": 0}).passages
    without = [one for one in passages if "Item" in one.content and "millions" not in one.content]
    assert without
    assert all("(in millions) 2019 2018 Assets" in one.search_terms for one in without)


def test_of_a_cell_longer_than_a_chunk_each_part_says_its_own_words() -> None:
    story = " ".join(f"word{n}" for n in range(150))
    text = render_table([["Name", "Story"], ["Ada", story], ["Bob", "short"]])
    chunks = [one for one in prepared(text).chunks if "word" in one.content]
    assert len(chunks) > 2
    words = [word for one in chunks for word in one.embed_text.split() if word.startswith("word")]
    assert words == story.split()
    assert all("Ada | Story | word" in one.embed_text for one in chunks)


def test_a_row_of_more_tokens_than_are_read_is_cut_until_it_fits() -> None:
    text = render_table([["Name", "Story"], ["Ada", " ".join(f"word{n}" for n in range(150))]])
    document = LoadedDocument(text, "text/markdown", "markdown")
    made = prepare(Source("a", "a.md", b""), document, Settings(), WordCount(), most_tokens=20)
    assert all(len(one.embed_text.split()) <= 25 for one in made.chunks)
