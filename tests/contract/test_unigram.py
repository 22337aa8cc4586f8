"""The trie of the multilingual vocabulary: its ids are those of SentencePiece, and few texts need no other tokeniser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from cairn.language.lexicon import DATA
from cairn.providers.e5 import FEW_CHARACTERS, SentencePieces, find_e5, prepare
from cairn.providers.unigram import FILE, Unigram, write_trie

FOLDER = find_e5(Path("/nonexistent"))
pytestmark = pytest.mark.skipif(
    FOLDER is None or not (FOLDER / FILE).is_file(),
    reason="there is no trie of the multilingual model: make install builds it",
)
ODD = [
    "", " ", "\u2581", "a" * 3000, "あ" * 300, "\U0001f9ff" * 50, "  a   b  ", "\u00a0x\u3000y", "\ufffd", "e\u0301" * 50,
    "|------|-----------|", "56e7796637bdd419002c3fff", "<s> </s> <unk> <mask>", "ᰪ\u0e68\u0cd1\u18f7\u0cd9ፘᦱ′′′\u0ad2",
]  # fmt: skip


@pytest.fixture(scope="module")
def published() -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_file=str(_folder() / "sentencepiece.model"))


@pytest.fixture(scope="module")
def trie() -> Unigram:
    return Unigram(_folder() / FILE)


def _folder() -> Path:
    assert FOLDER is not None
    return FOLDER


def test_lines_of_five_languages_have_the_ids_of_sentencepiece(
    published: sentencepiece.SentencePieceProcessor, trie: Unigram
) -> None:
    """Among 1,400 lines one is decided by rounding: see `Unigram`."""
    lines = [line for file in sorted(DATA.glob("*.toml")) for line in file.read_text(encoding="utf-8").splitlines()]
    texts = [prepare(text) for text in lines[::3] + ODD]
    assert [trie.ids(text) for text in texts] == published.encode(texts)


@given(st.text(max_size=40))
def test_any_text_has_the_ids_of_sentencepiece(
    published: sentencepiece.SentencePieceProcessor, trie: Unigram, text: str
) -> None:
    assert trie.ids(prepare(text)) == published.encode(prepare(text))


def test_a_trie_of_few_pieces_is_written_and_read(tmp_path: Path) -> None:
    pieces = {"\u2581": (5, -1.0), "\u2581a": (6, -2.0), "b": (7, -3.0), "ab": (8, -2.5), "c": (9, -9.0)}
    write_trie(tmp_path / FILE, pieces, unknown=3)
    ids = Unigram(tmp_path / FILE).ids
    assert ids("ab  a c") == [5, 8, 6, 5, 9]
    assert ids("axyzb ") == [6, 3, 7]  # what no piece has is one, however long it is


def test_sentencepiece_is_loaded_for_many_texts_and_not_for_few() -> None:
    program = f"""
import sys
from pathlib import Path
from cairn.providers.e5 import E5
tokens = E5(Path({str(_folder())!r})).tokens
few = tokens.ids(["a question", "and what it is compared with"])
assert tokens.count("two words") == 2 and "sentencepiece" not in sys.modules
assert tokens.frame("passage")[0][0] == 0 and tokens.frame("passage")[1] == [2]
many = tokens.ids(["a question", "and what it is compared with", "a" * {FEW_CHARACTERS}])
assert many[:2] == few and "sentencepiece" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_who_is_warmed_for_many_has_sentencepiece_at_once() -> None:
    tokens = SentencePieces("model", _folder() / "sentencepiece.model")
    tokens.load()
    assert "_processor" in vars(tokens)
    assert tokens.ids(["a question"]) == [[10, 9655]]
    assert "_trie" not in vars(tokens)


def test_a_model_of_an_earlier_release_has_no_trie_and_the_same_ids(tmp_path: Path) -> None:
    (tmp_path / "sentencepiece.model").symlink_to(_folder() / "sentencepiece.model")
    assert SentencePieces("model", tmp_path / "sentencepiece.model").ids(["a question"]) == [[10, 9655]]
