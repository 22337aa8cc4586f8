"""The page is loaded when a browser asks for it, and not by the start of a server."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.siege

MAKES = """
import sys
from cairn.interfaces.server import create_app
from cairn.settings import SettingsStore, read_environment
app = create_app(read_environment({}), SettingsStore(None), web=True)
assert app.state.running.page == "/ui"
print("nicegui" in sys.modules)
"""


def test_a_server_with_a_page_loads_none() -> None:
    pytest.importorskip("nicegui", reason="the page needs the extra `web`")
    made = subprocess.run([sys.executable, "-c", MAKES], capture_output=True, text=True, check=True)
    assert made.stdout == "False\n"
