"""The packages of docs/extending.md, as they stand there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.conftest import InstallPackage

RECIPES = (Path(__file__).resolve().parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")


def install_recipe(package: str, install_package: InstallPackage) -> Path:
    """Its Python block, with the entry points of the block before; the folder it is in."""
    declared, source = next(
        (toml, python)
        for toml, name, python in re.findall(
            r"```toml\n(.*?)```\n\n```python\n# (\w+)\.py\n(.*?)```", RECIPES, re.DOTALL
        )
        if name == package
    )
    groups = tomllib.loads(declared)["project"]["entry-points"]
    return install_package(package, source, **{name.removeprefix("cairn."): named for name, named in groups.items()})
