"""Where the files that are no Python are: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent


def resource_path(name: Literal["sql", "migrations"]) -> Path:
    """The folder `sql` or `migrations`. Raises FileNotFoundError when the installation is incomplete."""
    for folder in (_PACKAGE / "_resources" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"this installation of cairn-rag has no folder {name!r}")
