"""The scripted model server lives with the tests that it was made for, and so does what starts servers and workers."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("contract", "surface")]
