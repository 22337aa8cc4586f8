"""What is installed: the distribution's name, which stands nowhere else in the code, its extras and its version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final, Literal

NAME: Final = "pgcairn"
"""On package indexes. `cairn` and `cairn-rag` are programs of others there."""

Extra = Literal["embedded", "otel", "parquet", "web"]


def install_command(extra: Extra) -> str:
    """What a user types to have one more part of the product."""
    return f"pip install '{NAME}[{extra}]'"


def release() -> str:
    """The version of this program; "0+source" where it runs without having been installed."""
    try:
        return version(NAME)
    except PackageNotFoundError:
        return "0+source"
