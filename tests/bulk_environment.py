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


def need_pyarrow() -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet. Skips the module, and says how to get them, where there are none."""
    for folder in VENV.glob("lib/python*/site-packages"):
        site.addsitedir(str(folder))  # behind all others
    if importlib.util.find_spec("pyarrow") is None or importlib.util.find_spec("dask") is None:
        pytest.skip(
            f"BULK NOT TESTED: there is no pyarrow or dask in {VENV}; `make test` makes it, or name one in CAIRN_BULK_VENV",
            allow_module_level=True,
        )
    import pyarrow
    import pyarrow.parquet

    return pyarrow, pyarrow.parquet
