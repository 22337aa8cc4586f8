"""The reader as an ONNX graph: the first layers of multilingual-e5-small with an adapter merged into them, and two heads.

`answer_reader.npz` is the adapter (scripts/train_reader.py makes it), with the heads; its card is docs/models.md.

The graph takes `input_ids` and `attention_mask` (int64, batch x length) and returns `score` (batch), the log odds that the
stretch answers the question, from the first token; and `tags` (batch x length), of which the mean over the tokens of a unit says
which of its units does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from cairn.providers.e5_graph import OUTLIERS, AdaptedWeights, E5Graph, Floats, encode, finish

ADAPTER: Final = Path(__file__).with_name("answer_reader.npz")


@cache
def reader_file() -> str:
    """Name of the model's file beside that of the embedder; another adapter, or other outliers, have another one."""
    digest = hashlib.sha256(ADAPTER.read_bytes() + json.dumps(OUTLIERS).encode())
    return f"reader-{digest.hexdigest()[:12]}.int8.onnx"


@cache
def uneven_reader_file() -> str:
    """That of an older build, which scaled no outliers: the same adapter, read less exactly."""
    return f"reader-{hashlib.sha256(ADAPTER.read_bytes()).hexdigest()[:12]}.int8.onnx"


def reader_graph(raw: bytes, adapter: Mapping[str, Floats]) -> Any:
    """The fp32 model (an onnx.ModelProto) of the published data file `raw` and the adapter. There is no MatMul in the
    heads: they stay exact where the rest is made int8."""
    weights = AdaptedWeights(raw, adapter)
    graph = E5Graph(weights, OUTLIERS)
    x = encode(graph)
    last = graph.constant("axis_last", np.array([-1], np.int64))
    zeroth = graph.node("Gather", "zeroth", x, "axis0", axis=1)  # the constant is [0]
    first = graph.node("Squeeze", "first", zeroth, "axis1")
    matrix, shift = (graph.constant(f"pool.{part}", adapter[f"pool.{part}"]) for part in "wb")
    wide = graph.node("Einsum", "pool.product", first, matrix, equation="bh,ph->bp")
    pooled = graph.node("Tanh", "pooled", graph.node("Add", "pool.out", wide, shift))
    for head, states, out in (("score", pooled, "score"), ("tag", x, "tags")):
        row = graph.constant(f"{head}.w", adapter[f"{head}.w"].reshape(-1))
        product = graph.node("Mul", f"{head}.product", states, row)
        summed = graph.node("ReduceSum", f"{head}.sum", product, last, keepdims=0)
        graph.node("Add", out, summed, graph.constant(f"{head}.b", adapter[f"{head}.b"]))
    return finish(graph, "cairn-reader", {"score": ["batch"], "tags": ["batch", "length"]})
