"""The Python that has the libraries of clients, and none of the server: `make test` makes its environment (CLIENTS_VENV)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


def clients_python() -> str:
    """Its path. Skips the test, and says how to get it, where there is none."""
    named = os.environ.get("CAIRN_CLIENTS_PYTHON")
    python = Path(named) if named else Path(f"{sys.prefix}-clients") / "bin" / "python"
    if not python.exists():
        pytest.skip(
            f"CLIENTS NOT TESTED: there is no {python}; `make test` makes it, or name one in CAIRN_CLIENTS_PYTHON"
        )
    return str(python)
