"""What a start must not wait for: the SDKs of models that are not configured, and what the first use can load.

And who reaches what: the import contracts of pyproject.toml, kept for objects as well."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

HEAVY = ("openai", "cohere", "onnxruntime", "tokenizers", "pypdfium2", "docx", "tiktoken", "httpx2")
SERVING = "cairn.interfaces.server, cairn.interfaces.cli.operate"
SCRIPT = f"import sys, {SERVING}; print(*[name for name in {HEAVY} if name in sys.modules])"


def test_starting_imports_no_sdk_and_no_parser() -> None:
    repo = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=repo, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


ENGINE = {"chat_for", "circuits", "database", "exemplars", "enriching_chat", "extracting_chat", "owner_dsn", "register_model",
          "routing_chat", "runs",
          "search_deps", "target", "traces", "web_search", "worker"}  # fmt: skip
"""What `Services` holds for cairn.service; edges take its settings, environment and principal only."""
REPO = Path(__file__).resolve().parents[2]


def test_edges_reach_into_no_engine() -> None:
    """The import contract keeps the modules away from api/, commands/ and the library; this the objects behind `Services`."""
    doors = REPO / "app" / "cairn" / "interfaces"
    files = [*doors.glob("http/*.py"), *doors.glob("cli/*.py"), REPO / "app/cairn/library.py"]
    reaches = [
        f"{file.name}:{node.lineno} .{node.attr}"
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in ENGINE
        and (
            (isinstance(node.value, ast.Name) and node.value.id in ("services", "opened"))
            or (isinstance(node.value, ast.Attribute) and node.value.attr in ("services", "_services"))
        )
    ]
    assert not reaches
