"""docs/mcp.md says of the tools, resources and prompts what the code does, and its configurations can be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cairn.interfaces.mcp import addresses
from cairn.interfaces.mcp.prompts import PROMPTS
from cairn.interfaces.mcp.toolbox import TOOLS

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")


def test_the_guide_names_the_tools_and_their_scopes() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \| .* \| (`[a-z`, ]+`) \|$", GUIDE, re.MULTILINE))
    assert list(told) == list(TOOLS)
    for name, scopes in told.items():
        assert tuple(re.findall(r"\w+", scopes)) == TOOLS[name].scopes


def test_the_guide_names_resources_and_prompts() -> None:
    for word in (addresses.COLLECTION, addresses.DOCUMENT, addresses.PASSAGE, *PROMPTS):
        assert f"`{word}`" in GUIDE


def test_configurations_are_json() -> None:
    blocks = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        (servers,) = json.loads(block).values()
        assert set(servers) == {"cairn"}
