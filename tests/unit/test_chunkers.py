"""Passages and chunks: exact spans, full cover, limits, headings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.domain.document import LoadedDocument, Markup, PageStart, PassageDraft
from cairn.ingest.chunkers import chunk
from cairn.ingest.chunkers.spans import SEPARATOR_PATTERNS, code_separators, cut, pieces
from cairn.ingest.loaders.code import CONFIGURATION, SUFFIXES
from cairn.settings import ChunkingSettings, RagSettings


class PieceTokens:
    """A tokenizer in small: pieces of words of at most six letters, and punctuation; white space costs nothing."""

    name = "pieces"

    def __init__(self) -> None:
        self.batches = 0

    def count(self, text: str) -> int:
        return len(re.findall(r"\w{1,6}|[^\w\s]", text))

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        self.batches += 1
        return [self.count(text) for text in texts]


def split(
    text: str,
    markup: Markup = "markdown",
    *,
    strategy: str = "parent_child",
    pages: tuple[PageStart, ...] = (),
    language: str | None = None,
    rag: RagSettings | None = None,
    chunking: dict[str, int] | None = None,
) -> tuple[PassageDraft, ...]:
    document = LoadedDocument(text, "text/plain", markup, pages=pages, code_language=language)
    options = ChunkingSettings.model_validate({"strategy": strategy, **(chunking or {})})
    return chunk(document, options, rag or RagSettings(), PieceTokens())


SMALL = {"passageSize": 200, "passageOverlap": 30, "chunkSize": 60, "chunkOverlap": 15}
SMALL_RAG = RagSettings.model_validate({"chunkSize": 50, "chunkOverlap": 8})

words = st.text("abcdefgé.漢 ", min_size=1, max_size=12)
lines = st.one_of(
    st.lists(words, max_size=30).map(" ".join),
    st.sampled_from(
        ["", "# One", "## Two", "### Three ###", "Title\n=====", "Sub\n---", "```", "    indented", "| a |"]
    ),
    st.sampled_from(["x" * 500, "-" * 400, " " * 300, "\t", "a  " * 100, "é" * 70]),
)
texts = st.one_of(st.lists(lines, max_size=25).map("\n".join), st.text(max_size=400))
markups = st.sampled_from(["markdown", "plain", "code"])


def assert_covers(text: str, spans: Sequence[tuple[int, int]], start: int, end: int) -> None:
    """Everything in [start, end) that no span holds is white space."""
    position = start
    for low, high in sorted(spans):
        assert not text[position:low].strip()
        position = max(position, high)
    assert not text[position:end].strip()


def assert_sound(text: str, passages: Sequence[PassageDraft]) -> None:
    spans = [(p.start, p.end) for p in passages]
    assert_covers(text, spans, 0, len(text))
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(passages))
    assert [p.ordinal for p in passages] == list(range(len(passages)))
    for passage in passages:
        content = text[passage.start : passage.end]
        assert content
        assert content == content.strip()
        assert passage.token_count == PieceTokens().count(content)
        assert_covers(text, [(c.start, c.end) for c in passage.chunks], passage.start, passage.end)
        assert [c.ordinal for c in passage.chunks] == list(range(len(passage.chunks)))
        for part in passage.chunks:
            inside = text[part.start : part.end]
            assert passage.start <= part.start < part.end <= passage.end
            assert inside == inside.strip()
            assert part.token_count == PieceTokens().count(inside)


@settings(max_examples=3 * settings().max_examples)
@given(texts, markups)
def test_parent_child_spans_are_exact_within_limits_and_cover_all(text: str, markup: Markup) -> None:
    """The limits hold, every chunk lies inside its passage, nothing but white space is left out."""
    passages = split(text, markup, language="python" if markup == "code" else None, chunking=SMALL)
    assert_sound(text, passages)
    assert all(p.end - p.start <= 200 for p in passages)
    assert all(c.end - c.start <= 60 for p in passages for c in p.chunks)
    for a, b in pairwise(passages):
        assert a.end - b.start <= 30


@settings(max_examples=2 * settings().max_examples)
@given(texts, markups)
def test_token_chunks_are_exact_within_limits_and_cover_all(text: str, markup: Markup) -> None:
    """No chunk over its tokens; each passage is its own only chunk."""
    passages = split(text, markup, strategy="tokens", rag=SMALL_RAG, language="go" if markup == "code" else None)
    assert_sound(text, passages)
    for passage in passages:
        assert passage.token_count <= 50
        (only,) = passage.chunks
        assert (only.start, only.end, only.token_count) == (passage.start, passage.end, passage.token_count)


@given(st.text("ab \n.", max_size=3000), st.integers(50, 300), st.integers(0, 400))
def test_cut_never_exceeds_size_and_overlap(text: str, size: int, overlap: int) -> None:
    """Also with an overlap that settings allow but that makes no sense: larger than the size."""
    spans = cut(text, (0, len(text)), size, overlap)
    assert_covers(text, spans, 0, len(text))
    assert all(0 < end - start <= size for start, end in spans)
    assert all(a < b for (a, _), (b, _) in pairwise(spans))


def test_defaults_are_those_of_the_specification() -> None:
    """Passages 2000/200, chunks 400/50."""
    text = "\n".join(f"Sentence number {i} of a long text without any headings." for i in range(400))
    passages = split(text, "plain")
    assert max(p.end - p.start for p in passages) > 1900
    assert all(p.end - p.start <= 2000 for p in passages)
    assert all(c.end - c.start <= 400 for p in passages for c in p.chunks)
    shared = [a.end - b.start for a, b in pairwise(passages)]
    assert all(100 <= s <= 200 for s in shared)
    chunks = passages[0].chunks
    assert all(0 < a.end - b.start <= 50 for a, b in pairwise(chunks))


def test_a_short_document_is_one_passage_with_its_whole_text() -> None:
    text = "\n\n# A\n\nshort\n\n# B\n\nalso short\n\n"
    (passage,) = split(text)
    assert text[passage.start : passage.end] == text.strip()
    assert passage.headings == ("A",)


def test_white_space_gives_no_passage() -> None:
    assert split(" \n\t ") == ()
    assert split("", strategy="tokens") == ()


def test_overlap_begins_at_a_word() -> None:
    text = " ".join(f"word{i:04d}" for i in range(1000))
    for passage in split(text, "plain", chunking=SMALL):
        assert text[passage.start : passage.start + 4] == "word"
        assert all(text[c.start : c.start + 4] == "word" for c in passage.chunks)


def test_passages_begin_at_headings_and_small_sections_share_one() -> None:
    body = "Some words that fill this section. " * 3
    text = "".join(f"## Part {i}\n\n{body}\n\n" for i in range(40))
    passages = split(text)
    assert all(text[p.start :].startswith("## Part") for p in passages)
    assert all(p.end - p.start >= 500 for p in passages)
    assert 3 < len(passages) < 9


def test_a_heading_without_body_stays_with_the_section_below() -> None:
    text = "# Chapter\n\n## Section\n\n" + "Text of the section. " * 150
    first = split(text)[0]
    assert text[first.start : first.end].startswith("# Chapter\n\n## Section\n\nText")
    assert first.headings == ("Chapter", "Section")


def test_a_lone_tiny_section_between_large_ones_is_not_a_passage_of_its_own() -> None:
    large = "A sentence of the large section. " * 58
    text = f"# One\n\n{large}\n\n# Two\n\ntiny\n\n# Three\n\n{large}"
    assert min(p.end - p.start for p in split(text)) > 400


def test_token_chunks_keep_heading_paths_to_level_three() -> None:
    """#, ## and ### are kept with each chunk; #### is text."""
    text = "# A\n\none\n\n## B\n\ntwo\n\n### C\n\nthree\n\n#### D\n\nfour"
    passages = split(text, strategy="tokens")
    assert [p.headings for p in passages] == [("A",), ("A", "B"), ("A", "B", "C")]
    assert text[passages[-1].start :].endswith("#### D\n\nfour")


def test_token_chunks_overlap_by_tokens() -> None:
    """Neighbours share at most the overlap, and do share."""
    text = " ".join(f"w{i}" for i in range(3000))
    passages = split(text, "plain", strategy="tokens", rag=RagSettings())
    shared = [PieceTokens().count(text[b.start : a.end]) for a, b in pairwise(passages)]
    assert all(40 <= s <= 50 for s in shared)
    assert all(p.token_count <= 500 for p in passages)
    assert max(p.token_count for p in passages) > 450


def test_pages_are_those_of_the_first_character() -> None:
    """Page metadata; an empty page shares its start with the next."""
    text = ("p" * 99 + " ") * 10 + ("q" * 99 + " ") * 30
    pages = (PageStart(0, 1), PageStart(1000, 2), PageStart(1000, 3))
    passages = split(text, "plain", pages=pages, chunking=SMALL)
    assert {p.page for p in passages if p.start < 1000} == {1}
    assert {p.page for p in passages if p.start >= 1000} == {3}
    assert split("no pages")[0].page is None


def test_more_than_a_hundred_pages_give_hundreds_of_chunks() -> None:
    """A document of 120 pages is handled, every page is found again, in seconds."""
    page = "\n".join(f"Line {i} of the page says something that is worth a line." for i in range(45))
    text = "\n\n".join([page] * 120)
    pages = tuple(PageStart(i * (len(page) + 2), i + 1) for i in range(120))
    passages = split(text, "plain", pages=pages)
    assert {p.page for p in passages} == set(range(1, 121))
    assert sum(len(p.chunks) for p in passages) > 200


def test_python_is_cut_at_definitions() -> None:
    functions = "\n\n\n".join(f"def function_{i}(x):\n" + "    x = x + 1  # step\n" * 20 for i in range(12))
    passages = split(functions, "code", language="python", chunking={"passageSize": 600, "passageOverlap": 0})
    assert all(functions[p.start :].startswith("def function_") for p in passages)
    assert len(passages) == 12


@pytest.mark.parametrize("language", sorted({*SUFFIXES, *CONFIGURATION}))
def test_every_code_language_has_separators_that_lose_nothing(language: str) -> None:
    text = "class A\n\ndef f(x):\n\n  return $x$ \n\n\\section{a}\n\nfunc b() {}\n" * 40
    spans = pieces(text, (0, len(text)), 100, language)
    assert "".join(text[a:b] for a, b in spans) == text
    assert code_separators(language)[-1] == " +"


def test_one_tokenizer_call_per_document() -> None:
    """Counting is batched: one call for parents and children together."""
    document = LoadedDocument("A sentence to count. " * 2000, "text/plain", "plain")
    tokens = PieceTokens()
    chunk(document, ChunkingSettings(), RagSettings(), tokens)
    assert tokens.batches == 1


def test_the_separators_are_those_of_the_specification() -> None:
    """Paragraph, line, sentence, word, in this order."""
    order = [next(i for i, p in enumerate(SEPARATOR_PATTERNS) if re.fullmatch(p, s)) for s in ("\n\n", "\n", ". ", " ")]
    assert order == sorted(order)
