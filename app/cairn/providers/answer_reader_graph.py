"""The reader as an ONNX graph: the first layers of multilingual-e5-small with an adapter merged into them, and two heads.

`answer_reader.npz` is the adapter (scripts/train_reader.py makes it): for each linear layer `<layer>.lora_a` (rank x in) and
`<layer>.lora_b` (out x rank), whose product is added to the weights (LoRA, Hu et al. 2021), biases and layer norms as they were
trained, and the heads. Half precision; its card is docs/models.md.

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

from cairn.providers.e5_graph import E5Graph, Floats, Outliers, PackedWeights, encode, finish

ADAPTER: Final = Path(__file__).with_name("answer_reader.npz")

# measured: tests/contract/test_answer_reader.py
OUTLIERS: Final[Outliers] = {
    "l0.fi": (321, 1.8), "l1.fi": (15, 2.2), "l2.fi": (15, 2.9), "l3.fi": (15, 4.1), "l4.fi": (15, 2.7), "l5.fi": (35, 3.1),
    "l6.fi": (35, 5.5), "l7.fi": (35, 4.5), "l8.fi": (35, 4.7), "l9.fi": (35, 4.2), "l10.fi": (35, 2.8), "l11.fi": (35, 3.8),
    "l0.fo": (318, 6.4), "l1.fo": (1462, 3.3), "l2.fo": (354, 3.2), "l3.fo": (408, 1.6), "l4.fo": (778, 13.4),
    "l5.fo": (658, 8.1), "l6.fo": (1152, 4.0), "l7.fo": (413, 3.1),
}  # fmt: skip
"""Medians over 300 stretches; they hardly differ between texts, or from those of the embedder without the adapter
(docs/adr/0154-outliers-of-the-reader.md)."""


@cache
def reader_file() -> str:
    """Name of the model's file beside that of the embedder; another adapter, or other outliers, have another one."""
    digest = hashlib.sha256(ADAPTER.read_bytes() + json.dumps(OUTLIERS).encode())
    return f"reader-{digest.hexdigest()[:12]}.int8.onnx"


@cache
def uneven_reader_file() -> str:
    """That of an older build, which scaled no outliers: the same adapter, read less exactly."""
    return f"reader-{hashlib.sha256(ADAPTER.read_bytes()).hexdigest()[:12]}.int8.onnx"


def read_adapter(path: Path = ADAPTER) -> dict[str, Floats]:
    """Its tensors by name. Raises OSError and ValueError."""
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}


class AdaptedWeights(PackedWeights):
    """The weights of the data file with the adapter merged."""

    def __init__(self, raw: bytes, adapter: Mapping[str, Floats]) -> None:
        super().__init__(raw)
        self.adapter = adapter
        self.layers = 1 + max(int(name[1 : name.index(".")]) for name in adapter if name[0] == "l")

    def floats(self, name: str) -> Floats:
        return self.adapter[name] if name in self.adapter else super().floats(name)

    def dense(self, name: str, width: int) -> Floats:
        whole = super().dense(name, width)
        layer = name.removesuffix(".w")
        if f"{layer}.lora_a" not in self.adapter:
            return whole
        merged: Floats = whole + self.adapter[f"{layer}.lora_b"] @ self.adapter[f"{layer}.lora_a"]
        return merged


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
