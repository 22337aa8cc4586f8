"""The table parser as an ONNX graph: multilingual-e5-small with an adapter merged into it, without heads.

`table_parser.npz` is the adapter (scripts/train_table_parser.py makes it), as that of the reader is (answer_reader_graph.py), and
the heads, which are small and computed where the graph is run (table_parser.py).

The graph takes `input_ids` and `attention_mask` (int64, batch x length) and returns `states` (batch x length x hidden).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from cairn.providers.e5_graph import OUTLIERS, AdaptedWeights, E5Graph, Floats, encode, finish

ADAPTER: Final = Path(__file__).with_name("table_parser.npz")


@cache
def table_parser_file() -> str:
    """Name of the model's file beside that of the embedder; another adapter has another one."""
    return f"tables-{hashlib.sha256(ADAPTER.read_bytes()).hexdigest()[:12]}.int8.onnx"


def table_parser_graph(raw: bytes, adapter: Mapping[str, Floats]) -> Any:
    """The fp32 model (an onnx.ModelProto) of the published data file `raw` and the adapter."""
    weights = AdaptedWeights(raw, adapter)
    graph = E5Graph(weights, OUTLIERS)
    graph.node("Identity", "states", encode(graph))
    return finish(graph, "cairn-table-parser", {"states": ["batch", "length", weights.hidden]})
