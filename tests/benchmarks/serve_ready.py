"""`cairn serve` with query vectors from a file in place of the model: what HTTP costs, without what embedding costs.

python serve_ready.py FILE.npz; the environment is that of `cairn serve`.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from cairn.interfaces.server import serve
from cairn.providers.minilm import MiniLM
from cairn.settings import SettingsStore, read_environment
from tests.benchmarks.corpus import ReadyVectors

if __name__ == "__main__":
    stored = np.load(sys.argv[1])
    known = dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))
    MiniLM.open = staticmethod(lambda home, precision: ReadyVectors(known))  # type: ignore[assignment, method-assign]
    environment = read_environment()
    serve(environment, SettingsStore(environment.settings_path))
