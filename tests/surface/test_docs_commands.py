"""The commands of the documents that talk to a server, typed as they stand there, one page after the other."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from serving import REPO, Api

from tests.waiting import patience

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CURL = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
CAREFUL = """
set -eu
curl() { command curl --silent --show-error --fail-with-body "$@"; echo; }
"""


def blocks(page: str, language: str, api: Api) -> list[str]:
    """Its blocks in a language, with the address of the test's server for the usual one."""
    text = (REPO / "docs" / page).read_text(encoding="utf-8")
    found = [body for kind, body in BLOCK.findall(text) if kind == language]
    return [re.sub(r"(?:127\.0\.0\.1|localhost):8000", f"127.0.0.1:{api.port}", body) for body in found]


@pytest.mark.sweep(3)
@CURL
@pytest.mark.parametrize(
    ("page", "said"),
    [
        (
            "tutorials/first-answer.md",
            ["Employees have 30 days of leave per year. [1]", '"external_id":"README.md"'],
        ),
        (
            "api.md",
            [
                '"start":9,"end":49,"length":85,"text":"Employees have 30 days of leave per year"',
                'Part-time staff have their share.","start":9,"end":84}',
                '"title":"Leave 2026"',
                '"name":"Royal Astronomical Society"',
                '"name":"minutes"',
            ],
        ),
        ("dify.md", ['"metadata":{"team":"people"', '"path":"guides/leave.md","page":null,"start":0,"end":41']),
    ],
)
def test_what_a_page_says_to_type_is_answered(page: str, said: list[str], api: Api, tmp_path: Path) -> None:
    """Each request with less than 400, and with what the page shows of its answer; by somebody who has nothing yet."""
    for collection in api.client.get("/collections").json()["items"]:
        api.client.delete(f"/collections/{collection['name']}")
    shutil.copy(REPO / "README.md", tmp_path)
    scripts = [body for body in blocks(page, "sh", api) if "curl" in body or "printf" in body]
    out = type_all("".join(scripts), tmp_path)
    assert [words for words in said if words not in out] == []


@pytest.mark.siege
@CURL
def test_an_agent_may_ask_as_the_page_on_mcp_says(api: Api, tmp_path: Path) -> None:
    """By curl, and by its program."""
    api.index("handbook", leave="Employees have 30 days of leave per year.")
    (request,) = [body for body in blocks("mcp.md", "sh", api) if "curl" in body]
    found = type_all(request, tmp_path)
    assert '"isError":false' in found
    assert "Employees have 30 days of leave per year." in found
    (program,) = blocks("mcp.md", "python", api)
    assert "Employees have 30 days of leave per year. [1]" in run([sys.executable, "-c", program], tmp_path)


def type_all(script: str, folder: Path) -> str:
    assert "curl" in script
    return run(["bash", "-c", CAREFUL + script], folder)


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=patience(300), check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return done.stdout
