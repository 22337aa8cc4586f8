"""pyarrow and dask, which the environment of the tests is too small for: `make test` makes one of their own (BULK_VENV)."""

from __future__ import annotations

import importlib.util
import os
import site
import sys
from pathlib import Path
from typing import Any

import pytest

VENV = Path(os.environ.get("CAIRN_BULK_VENV") or f"{sys.prefix}-bulk")
"""Read while tests are collected: those that run see no variables of the product's from outside."""
LIBRARIES = [str(folder) for folder in VENV.glob("lib/python*/site-packages")]

HASHED = '''
import asyncio
import hashlib
import os
import numpy as np
from cairn.providers.protocols import Provider

class Words:
    name = "words"
    def count(self, text):
        return len(text.split())
    def count_batch(self, texts):
        return [self.count(text) for text in texts]

class Hashed:
    """Vectors that follow from each text alone."""
    name, dimensions, max_tokens, tokens = "hashed:one", 32, 10_000, Words()
    async def embed(self, texts):
        await asyncio.sleep(float(os.environ.get("HASHED_SECONDS", "0")))
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") for text in texts]
        made = np.stack([np.random.default_rng(seed).standard_normal(32) for seed in seeds]).astype(np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)
    async def close(self):
        pass

HASHED = Provider("hashed", embedder=lambda model: Hashed())
'''
"""A package of providers: an embedding model whose vectors do not depend on what else is embedded with a text."""


def need_pyarrow() -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet. Skips the module, and says how to get them, where there are none."""
    for folder in LIBRARIES:
        site.addsitedir(folder)  # behind all others
    if importlib.util.find_spec("pyarrow") is None or importlib.util.find_spec("dask") is None:
        pytest.skip(
            f"BULK NOT TESTED: there is no pyarrow or dask in {VENV}; `make test` makes it, or name one in CAIRN_BULK_VENV",
            allow_module_level=True,
        )
    import pyarrow
    import pyarrow.parquet

    return pyarrow, pyarrow.parquet
