"""Reranking by a cross-encoder on ONNX Runtime: no key, and no network once the model is on disk.

A model is a folder with `tokenizer.json` and `model.onnx` (or `onnx/model.onnx`, as the hub has it).
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from cairn.errors import ProviderError, ProviderResponseError
from cairn.language.text import normalise
from cairn.providers.onnx_model import ModelThread, batches, open_session, padded
from cairn.providers.protocols import Ranked

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

DEFAULT_MODEL: Final = "cross-encoder/ms-marco-MiniLM-L-6-v2"
MAX_TOKENS: Final = 512
"""Of query and passage together: the positions that these models have. The longer of the two is cut."""
BATCH_PAIRS: Final = 16
RETRY_SECONDS: Final = 60.0
"""A failed download is not tried again earlier: each search would wait for it."""

_FILES = ("model.onnx", "onnx/model.onnx")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


# --- where the model is -------------------------------------------------------------------------------------------------


def find_cross_encoder(home: Path, name: str = "") -> Path | None:
    """The folder of the model, or None: a path, else `<home>/models/<name>`, else under sys.prefix.

    Without its owner works too: `ms-marco-MiniLM-L-6-v2` for `cross-encoder/ms-marco-MiniLM-L-6-v2`.
    """
    name = name or DEFAULT_MODEL
    shelves = (f"{home}/models", f"{sys.prefix}/share/cairn/models")
    short = [f"{shelf}/{name.rsplit('/', 1)[-1]}" for shelf in shelves] if _HUB_ID.fullmatch(name) else []
    # strings, not Paths, which cost ten times as much: each search looks
    folders = [os.path.expanduser(name), *(os.path.join(shelf, name) for shelf in shelves), *short]
    return next((Path(folder) for folder in folders if _has_model(folder)), None)


def _has_model(folder: str) -> bool:
    isfile = os.path.isfile
    return isfile(f"{folder}/tokenizer.json") and any(isfile(f"{folder}/{file}") for file in _FILES)


def _model_file(folder: Path) -> Path | None:
    if not (folder / "tokenizer.json").is_file():
        return None
    return next((folder / file for file in _FILES if (folder / file).is_file()), None)


def download(name: str, folder: Path) -> Path:
    """Fetch a model from the Hugging Face hub into `folder`. Blocking. Raises ProviderError."""
    if not _HUB_ID.fullmatch(name):
        raise ProviderError(f"cross-encoder {name} is no model of the Hugging Face hub (owner/name)")
    if importlib.util.find_spec("huggingface_hub") is None:
        raise ProviderError("downloading a cross-encoder needs the package huggingface_hub")
    import huggingface_hub

    try:
        for file in ("tokenizer.json", "onnx/model.onnx"):
            huggingface_hub.hf_hub_download(name, file, local_dir=folder)
    except Exception as error:  # its own classes, httpx's and OSError
        reason = str(error).strip().split("\n", 1)[0][:200]
        raise ProviderError(
            f"cross-encoder {name} could not be downloaded ({type(error).__name__}: {reason})"
        ) from None
    return folder


# --- the reranker -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: Tokenizer
    session: Any
    inputs: tuple[str, ...]
    pad: int


class CrossEncoder:
    """Reranker. The model is looked for and loaded at the first call; one that is missing fails each call."""

    def __init__(self, home: Path, name: str = "", *, may_download: bool = False) -> None:
        """`name` as for `find_cross_encoder`; the name shown is a folder's last part, never a path of the machine."""
        self._wanted = name or DEFAULT_MODEL
        self.name = self._wanted if _HUB_ID.fullmatch(self._wanted) else Path(self._wanted).name
        self._home = home
        self._may_download = may_download
        self._loaded: _Model | None = None
        self._failure: tuple[float, ProviderError] | None = None
        self._thread = ModelThread(f"The cross-encoder {self.name}")

    async def rerank(self, query: str, documents: Sequence[str], *, top_n: int) -> list[Ranked]:
        """See `Reranker.rerank`. Raises ProviderError when there is no such model or it fails."""
        if not documents or top_n < 1:
            return []
        pairs = await self._thread.run(self._encode, [(normalise(query), normalise(text)) for text in documents])
        scores = np.zeros(len(documents))
        for rows in batches([len(pair.ids) for pair in pairs], BATCH_PAIRS):
            scores[rows] = await self._thread.run(self._score, [pairs[row] for row in rows])
        ranked = [Ranked(index, float(score)) for index, score in enumerate(scores)]
        return sorted(ranked, key=lambda item: (-item.score, item.index))[:top_n]

    def _encode(self, pairs: list[tuple[str, str]]) -> list[Encoding]:
        return self._model().tokenizer.encode_batch(pairs)

    def _score(self, pairs: Sequence[Encoding]) -> NDArray[np.float64]:
        model = self._model()
        values = {
            "input_ids": padded([pair.ids for pair in pairs], model.pad),
            "attention_mask": padded([pair.attention_mask for pair in pairs]),
            "token_type_ids": padded([pair.type_ids for pair in pairs]),
        }
        logits = model.session.run(None, {name: values[name] for name in model.inputs})[0]
        return probabilities(np.asarray(logits, np.float64), len(pairs))

    def _model(self) -> _Model:
        """In the model's thread, so nothing is loaded twice."""
        if self._loaded is None:
            self._loaded = _load(self._folder())
        return self._loaded

    def _folder(self) -> Path:
        if folder := find_cross_encoder(self._home, self._wanted):
            return folder
        if not self._may_download:
            raise ProviderError(
                f"cross-encoder {self.name} is not on disk: put model.onnx and tokenizer.json into models/{self.name} "
                "under CAIRN_HOME, or set retrieve.rerankerDownload"
            )
        if self._failure and time.monotonic() < self._failure[0]:
            raise self._failure[1]
        try:
            return download(self._wanted, self._home / "models" / self._wanted)
        except ProviderError as error:
            self._failure = (time.monotonic() + RETRY_SECONDS, error)
            raise

    async def close(self) -> None:
        self._thread.close()


def _load(folder: Path) -> _Model:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    pad = (tokenizer.padding or {}).get("pad_id", 0)
    tokenizer.no_padding()  # each batch is padded to its own longest pair
    tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
    file = _model_file(folder)
    assert file is not None
    session = open_session(file)
    inputs = tuple(value.name for value in session.get_inputs())
    if unknown := set(inputs) - {"input_ids", "attention_mask", "token_type_ids"}:
        raise ProviderError(
            f"cross-encoder {folder.name} wants inputs that are not known: {', '.join(sorted(unknown))}"
        )
    return _Model(tokenizer, session, inputs, pad)


def probabilities(logits: NDArray[np.float64], pairs: int) -> NDArray[np.float64]:
    """Scores in 0..1: sigmoid of a single logit, or the second class of a softmax over two.

    Raises ProviderResponseError for another shape, or a number that is not finite.
    """
    table = logits.reshape(pairs, -1)
    if table.shape[1] not in (1, 2):
        raise ProviderResponseError(f"a cross-encoder has one or two logits for a pair, not {table.shape[1]}")
    if not np.isfinite(table).all():
        raise ProviderResponseError("the cross-encoder gave a score that is not finite")
    # the softmax of two is the sigmoid of their difference; by tanh nothing overflows
    margin = table[:, -1] - (table[:, 0] if table.shape[1] == 2 else 0.0)
    return np.asarray(0.5 * (1 + np.tanh(margin / 2)))
