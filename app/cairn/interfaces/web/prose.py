"""Answers as they are shown: Markdown without foreign markup, whose [1] lead to the sources."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from nicegui import ui

from cairn.domain.question import SourceRef
from cairn.language.quoted import locate_quotation

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


_BEGINS, _ENDS = "\ue000", "\ue001"
"""Around what is marked, until the text is free of the markup of others: characters for private use, which mean nothing."""


def to_markdown(text: str, sources: frozenset[int], marked: tuple[int, int] | None = None) -> str:
    """The text with links in place of the numbers of `sources`, and what stands at `marked` marked, where that is on one line and
    no code. Markup in it is shown, not followed; code stays as it is."""
    if marked:
        start, end = marked
        start -= text[start - 1 : start] == "`"
        said = text[start:end]
        if "\n" not in said and said.count("`") % 2 == 0 and not _PRIVATE.search(text):
            shown = to_markdown(f"{text[:start]}{_BEGINS}{said}{_ENDS}{text[end:]}", sources)
            return shown.replace(_BEGINS, "<mark>").replace(_ENDS, "</mark>")
    parts = text.split(
        "`"
    )  # every second one is code, between single backticks as between fences; the last is never closed
    texts = [*range(0, len(parts), 2), len(parts) - 1]
    for at in dict.fromkeys(texts):
        parts[at] = _CITED.sub(lambda found: _link(found, sources), _plain(parts[at]))
    return "`".join(parts)


_PRIVATE: Final = re.compile(f"[{_BEGINS}{_ENDS}]")


def _plain(part: str) -> str:
    return part.replace("&", "&amp;").replace("<", "&lt;").replace("![", "!&#91;")


def _link(found: re.Match[str], sources: frozenset[int]) -> str:
    number = int(found[1])
    return f"[\\[{number}\\]](#source-{number})" if number in sources else found[0]


def show_answer(
    text: str, sources: tuple[SourceRef, ...], open_source: Callable[[SourceRef], Any], *, quoted: bool = False
) -> ui.markdown:
    """The answer; `open_source` is called with what a clicked number names. `quoted`: it is a quotation with what stands around
    it, in which it is marked."""
    by_number = {source.n: source for source in sources if source.cited}
    first = by_number.get(1) if quoted else None
    marked = locate_quotation(text, 1, first.preview, first.end - first.start) if first else None
    shown = ui.markdown(to_markdown(text, frozenset(by_number), marked), extras=_EXTRAS).classes("w-full answer")

    async def follow(event: Any) -> None:
        if source := by_number.get(event.args):
            await open_source(source)

    return shown.on("click", follow, js_handler=_FOLLOW)
