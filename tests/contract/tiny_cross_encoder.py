"""A real cross-encoder in 1 kB: an ONNX graph, written as protobuf by hand, and a tokenizer of whole words.

Its logit is the number of pairs (query token, passage token) that are the same word, times `slope`, plus `bias`, plus
`per_token` for each token that is not padding. So scores can be told in advance, and padding that counts shows.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

SLOPE, BIAS = 1.0, -2.0
FLOAT, INT64 = 1, 7  # TensorProto.DataType

# --- protobuf, as far as ONNX needs it --------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """Fields (number, value): whole numbers as varints, everything else with its length."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def node(operator: str, inputs: str, output: str, **attributes: int) -> bytes:
    names = [(1, name) for name in inputs.split()]
    options = [(5, message((1, name), (3, value), (20, 2))) for name, value in attributes.items()]
    return message(*names, (2, output), (4, operator), *options)


def constant(name: str, values: Sequence[float], kind: int = FLOAT) -> bytes:
    packed = struct.pack(f"<{len(values)}{'f' if kind == FLOAT else 'q'}", *values)
    return message((1, len(values)), (2, kind), (8, name), (9, packed))


def value_info(name: str, kind: int, *shape: str) -> bytes:
    dimensions = message(*((1, message((2, dimension))) for dimension in shape))
    return message((1, name), (2, message((1, message((1, kind), (2, dimensions))))))


# --- the model --------------------------------------------------------------------------------------------------------


def graph(slope: float, bias: float, per_token: float, classes: int) -> bytes:
    nodes = [
        node("Unsqueeze", "input_ids last", "rows"),  # (pairs, tokens, 1)
        node("Unsqueeze", "input_ids first", "columns"),  # (pairs, 1, tokens)
        node("Equal", "rows columns", "equal"),
        node("Cast", "equal", "same", to=FLOAT),
        node("Cast", "attention_mask", "mask", to=FLOAT),
        node("Cast", "token_type_ids", "type", to=FLOAT),
        node("Mul", "type mask", "passage"),
        node("Sub", "mask passage", "query"),
        node("Unsqueeze", "query first", "query_row"),
        node("Unsqueeze", "passage last", "passage_column"),
        node("MatMul", "query_row same", "seen"),
        node("MatMul", "seen passage_column", "matches"),
        node("Reshape", "matches column", "count"),
        node("Mul", "count slope", "scaled"),
        node("ReduceSum", "mask first", "length", keepdims=1),
        node("Mul", "length per_token", "weighed"),
        node("Add", "scaled weighed", "sum"),
        node("Add", "sum bias", "logit"),
        node("Sub", "logit logit", "zero"),
        node("Concat", " ".join(["zero"] * (classes - 1) + ["logit"]), "logits", axis=1),
    ]
    constants = [
        constant("last", [2], INT64), constant("first", [1], INT64), constant("column", [-1, 1], INT64),
        constant("slope", [slope]), constant("bias", [bias]), constant("per_token", [per_token]),
    ]  # fmt: skip
    inputs = [value_info(name, INT64, "pairs", "tokens") for name in ("input_ids", "attention_mask", "token_type_ids")]
    return message(
        *((1, item) for item in nodes), (2, "tiny"), *((5, item) for item in constants),
        *((11, item) for item in inputs), (12, value_info("logits", FLOAT, "pairs", "classes")),
    )  # fmt: skip


def make_cross_encoder(
    folder: Path,
    texts: Sequence[str],
    *,
    slope: float = SLOPE,
    bias: float = BIAS,
    per_token: float = 0.0,
    classes: int = 1,
    file: str = "model.onnx",
) -> Path:
    """Write it into `folder`; it knows the words of `texts`. [SEP] stands in both parts: one match always."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    model = message((1, 8), (7, graph(slope, bias, per_token, classes)), (8, message((2, 13))))
    (folder / file).write_bytes(model)
    words = sorted({word for text in texts for word in re.findall(r"\w+|[^\w\s]+", text.lower())})
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
