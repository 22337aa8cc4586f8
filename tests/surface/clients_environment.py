"""The Python that has the libraries of clients, and none of the server: `make test-all` makes its environment (CLIENTS_VENV)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

PYTHON = Path(os.environ.get("CAIRN_CLIENTS_PYTHON") or f"{sys.prefix}-clients/bin/python")
"""Read while tests are collected: those that run see no variables of the product's from outside."""


def clients_python() -> str:
    """Its path. Skips the test, and says how to get it, where there is none."""
    if not PYTHON.exists():
        pytest.skip(
            f"CLIENTS NOT TESTED: there is no {PYTHON}; `make test-all` makes it, or name one in CAIRN_CLIENTS_PYTHON"
        )
    return str(PYTHON)
