"""Where the files are that are no Python: beside the source root in a checkout, inside the package in an installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from cairn.distribution import NAME

_PACKAGE = Path(__file__).resolve().parents[1]


def resource_path(name: Literal["sql", "migrations", "requirements", "guides", "source"]) -> Path:
    """The folder of that name; `guides` is where README.md and `docs` lie, and `source` where the package `cairn` lies.

    Raises FileNotFoundError when the installation is incomplete.
    """
    if name == "source":
        return _PACKAGE.parent
    below, wanted = (".", "README.md") if name == "guides" else (name, name)
    for folder in (_PACKAGE / "_resources", _PACKAGE.parents[1]):
        if (folder / wanted).exists():
            return (folder / below).resolve()
    raise FileNotFoundError(f"this installation of {NAME} has no {wanted}; install it again")
