"""Where the SQL files and migrations lie: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent


def resource_path(name: Literal["sql", "migrations"]) -> Path:
    """Folder of that name. Raises FileNotFoundError when the installation is incomplete."""
    for base in (_PACKAGE / "_resources", _PACKAGE.parent):
        if (base / name).is_dir():
            return base / name
    raise FileNotFoundError(f"{name}/ is missing from this installation of cairn-rag; install it again")
