"""Answers as they are shown: Markdown without foreign markup, whose [1] lead to the sources."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from nicegui import ui

from cairn.domain.question import SourceRef

_CITED: Final = re.compile(r"\[(\d{1,3})\](?!\()")
_EXTRAS: Final = ["fenced-code-blocks", "tables", "code-friendly", "cuddled-lists", "break-on-newline"]
_FOLLOW: Final = """(event) => {
  const link = event.target.closest('a');
  if (!link) return;
  event.preventDefault();
  const address = link.getAttribute('href') || '';
  if (address.startsWith('#source-')) emit(Number(address.slice(8)));
  else if (/^https?:/.test(address)) window.open(address, '_blank', 'noopener,noreferrer');
}"""
"""Links open sources here, and everything else in a window that knows nothing of this one."""


def to_markdown(text: str, sources: frozenset[int]) -> str:
    """The text with links in place of the numbers of `sources`. Markup in it is shown, not followed; code stays as it is."""
    parts = text.split(
        "`"
    )  # every second one is code, between single backticks as between fences; the last is never closed
    texts = [*range(0, len(parts), 2), len(parts) - 1]
    for at in dict.fromkeys(texts):
        parts[at] = _CITED.sub(lambda found: _link(found, sources), _plain(parts[at]))
    return "`".join(parts)


def _plain(part: str) -> str:
    return part.replace("&", "&amp;").replace("<", "&lt;").replace("![", "!&#91;")


def _link(found: re.Match[str], sources: frozenset[int]) -> str:
    number = int(found[1])
    return f"[\\[{number}\\]](#source-{number})" if number in sources else found[0]


def show_answer(text: str, sources: tuple[SourceRef, ...], open_source: Callable[[SourceRef], Any]) -> ui.markdown:
    """The answer; `open_source` is called with what a clicked number names."""
    by_number = {source.n: source for source in sources if source.cited}
    shown = ui.markdown(to_markdown(text, frozenset(by_number)), extras=_EXTRAS).classes("w-full answer")

    async def follow(event: Any) -> None:
        if source := by_number.get(event.args):
            await open_source(source)

    return shown.on("click", follow, js_handler=_FOLLOW)
