"""Scripts of the page that no element of NiceGUI has, read into it once."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources


@lru_cache
def read_script(name: str) -> str:
    """As an element of a page's head."""
    return f"<script>{resources.files(__package__).joinpath(name).read_text('utf-8')}</script>"
