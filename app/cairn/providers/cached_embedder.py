"""An embedder that keeps what it embedded in files: for texts that are the same at every start, such as exemplars."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import structlog

from cairn.errors import reason_of
from cairn.providers.protocols import Embedder, Vectors
from cairn.providers.windows import EmbedderAround

log = structlog.get_logger(__name__)


class KeptEmbedder(EmbedderAround):
    """Embedder around another one, which stays its owner's to close. The same texts under the same model are embedded once
    for all processes that share `folder`; a folder that cannot be written, or a file that cannot be read, costs that only.
    """

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        super().__init__(embedder)
        self._folder = folder

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        file = self._file(texts)
        if (known := self._read(file, len(texts))) is not None:
            return known
        made = await self._embedder.embed(texts)
        self._write(file, made)
        return made

    async def close(self) -> None:
        """Nothing: the embedder is its owner's."""

    def _file(self, texts: Sequence[str]) -> Path:
        digest = hashlib.sha256("\0".join((self.name, getattr(self._embedder, "precision", ""), *texts)).encode())
        return self._folder / f"{digest.hexdigest()[:32]}.npy"

    def _read(self, file: Path, rows: int) -> Vectors | None:
        try:
            found: Vectors = np.load(file, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        fits = found.dtype == np.float32 and found.shape == (rows, self.dimensions)
        return found if fits and bool(np.isfinite(found).all()) else None

    def _write(self, file: Path, made: Vectors) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".new", delete=False) as fresh:
                np.save(fresh, made.astype(np.float32))
            os.replace(fresh.name, file)
        except OSError as error:
            log.warning("vectors.not_kept", folder=str(self._folder), problem=reason_of(error))
