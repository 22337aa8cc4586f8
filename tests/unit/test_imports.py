"""What a start must not wait for: the SDKs of models that are not configured, and what the first use can load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ("openai", "cohere", "onnxruntime", "tokenizers", "pypdfium2", "docx", "tiktoken", "httpx2")
SCRIPT = f"import sys, app.main, app.commands.operate; print(*[name for name in {HEAVY} if name in sys.modules])"


def test_starting_imports_no_sdk_and_no_parser() -> None:
    repo = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=repo, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
