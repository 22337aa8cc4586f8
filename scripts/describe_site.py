"""Gives each page of the built site a description of its own, for search engines: the beginning of its first paragraph.

    python scripts/describe_site.py site

`make docs` runs it. Without it every page says the one of mkdocs.yml, and front matter would stand as a table above each page
where its Markdown is read.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Final

LONGEST: Final = 160
"""Characters; search engines show about so many."""
META: Final = re.compile(r'(<meta name="?description"? content=")[^"]*(")')
FIRST: Final = re.compile(r"<article\b.*?<p>(.*?)</p>", re.DOTALL)


def first_words(page: str) -> str | None:
    """The beginning of a page's first paragraph as plain text: whole sentences if one fits, else whole words; or None."""
    found = FIRST.search(page)
    if found is None:
        return None
    text = " ".join(html.unescape(re.sub(r"<[^>]*>", "", found[1])).split())
    if len(text) <= LONGEST:
        return text
    start = text[: LONGEST + 1]
    sentences, dot, _ = start.rpartition(". ")
    return sentences + dot.strip() if dot else start[: LONGEST - 1].rpartition(" ")[0].rstrip(",;:(") + "…"


def describe(page: str) -> str:
    """The page with that as its description; unchanged without a paragraph."""
    words = first_words(page)
    return page if words is None else META.sub(lambda meta: meta[1] + html.escape(words) + meta[2], page, count=1)


def main(folder: Path) -> None:
    for path in sorted(folder.rglob("*.html")):
        path.write_text(describe(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
