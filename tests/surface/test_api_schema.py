"""The API against its own description, by schemathesis: no 500, no status, content type, header or shape that is not declared,
examples that are taken, and links that lead somewhere.

Bounded here. CAIRN_SCHEMA_SECONDS and CAIRN_SCHEMA_EXAMPLES make it longer, CAIRN_SCHEMA_SEED makes it another one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted_server import ScriptedServer
from serving import REPO, Api, serving

from tests.waiting import patience

pytestmark = pytest.mark.siege

HERE = Path(__file__).parent
SECONDS = int(os.environ.get("CAIRN_SCHEMA_SECONDS", "8"))
EXAMPLES = os.environ.get("CAIRN_SCHEMA_EXAMPLES", "3")
SEED = os.environ.get("CAIRN_SCHEMA_SEED", "62")
EVERYTHING_ON = {
    "rag": {"contextualEnrichmentEnabled": True},
    "graph": {"enabled": True, "model": {"enabled": True}},
    "urls": {"allowedHosts": ["docs.example.org"]},  # there is no such host: what an example orders looks in vain
}


@pytest.fixture(scope="module")
def complete(fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[Api]:
    """A server on which nothing is off, with what the examples name."""
    with ScriptedServer(answer=lambda _: "Employees have 30 days of leave per year [1].") as chat:
        own = {"CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
        with serving(fresh_database(), tmp_path_factory.mktemp("schema"), settings=EVERYTHING_ON, **own) as api:
            api.index("handbook", leave="Employees have 30 days of leave per year. Ada Lovelace wrote it.")
            yield api


def run(api: Api, folder: Path, *arguments: str, **variables: str) -> None:
    variables["HYPOTHESIS_STORAGE_DIRECTORY"] = str(REPO / ".hypothesis")  # its tables of Unicode, once for all tests
    program = [str(Path(sys.executable).parent / "st"), "--config-file", str(HERE / "schemathesis.toml"), "run"]
    command = [*program, f"{api.url}/openapi.json", "--seed", SEED, "--no-color", "--warnings", "off", *arguments]
    command += ["--continue-on-failure", "--request-timeout", "60", "--generation-database", "none"]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True,
        timeout=patience(SECONDS + 120), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-3000:]
    assert "request.bug" not in api.log


def test_examples_are_taken_and_edges_are_answered_as_declared(complete: Api, tmp_path: Path) -> None:
    run(complete, tmp_path, "--phases", "examples,coverage", SCHEMATHESIS_HOOKS=str(HERE / "schema_hooks.py"))


def test_whatever_fits_the_description_is_answered_as_declared(complete: Api, tmp_path: Path) -> None:
    """And every wrong type at every place."""
    run(complete, tmp_path, "--phases", "coverage")
    run(complete, tmp_path, "--phases", "fuzzing,stateful", "--max-examples", EXAMPLES, "--max-time", str(SECONDS))
