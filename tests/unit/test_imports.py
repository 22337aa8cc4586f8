"""Who reaches what: the import contracts of pyproject.toml, kept for objects as well. What a start must not wait for:
test_package.py."""

from __future__ import annotations

import ast
from pathlib import Path

ENGINE = {"chat_for", "circuits", "database", "exemplars", "enriching_chat", "extracting_chat", "owner_dsn", "register_model",
          "routing_chat", "runs",
          "search_deps", "target", "traces", "web_search", "worker"}  # fmt: skip
"""What `Services` holds for cairn.service; edges take its settings, environment and principal only."""
REPO = Path(__file__).resolve().parents[2]


def test_edges_reach_into_no_engine() -> None:
    """The import contract keeps the modules of interfaces/ and the library away from it; this the objects behind `Services`."""
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
