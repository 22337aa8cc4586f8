"""Which model embeds questions, where e5 embeds the texts: the same one with an adapter (`question_encoder.npz`, made by
scripts/train_question_encoder.py), so that what people ask in words of their own lies near the text that answers. Texts are
embedded as ever, so vectors that are stored stay what they are (docs/adr/0169-an-encoder-for-questions.md)."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Final

from cairn.providers.e5_graph import OUTLIERS

ADAPTER: Final = Path(__file__).with_name("question_encoder.npz")


@cache
def question_encoder_file(precision: str) -> str:
    """Name of the model's file beside that of the embedder; another adapter, or other outliers, have another one."""
    digest = hashlib.sha256(ADAPTER.read_bytes() + json.dumps(OUTLIERS).encode())
    return f"questions-{digest.hexdigest()[:12]}.{precision}.onnx"
