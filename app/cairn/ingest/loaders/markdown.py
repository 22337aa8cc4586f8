"""Markdown: front matter and images go, entities become their characters, long tables repeat their header, the rest stays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

from cairn.ingest.chunkers.headings import scan
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.front_matter import LONGEST, read_front_matter
from cairn.ingest.loaders.inline_html import ELEMENTS
from cairn.ingest.loaders.item_numbers import count_items
from cairn.ingest.loaders.site_markup import plain_markup
from cairn.ingest.loaders.text import decode
from cairn.language.stretches import stretches
from cairn.language.tables import PIECE_CHARS, TableWriter, tables_in

_HEADING = re.compile(r"^ {0,3}#[ \t]+(\S.*)$", re.MULTILINE)
_FENCED = re.compile(r"^ {0,3}(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
# No nested brackets or newlines inside: every alternative stops at the next opening character, so time stays linear.
_IMAGE = re.compile(
    r"(?P<code>``[^`\n]{1,300}``|`[^`\n]*`"  # quoted syntax stays
    r"|(?<![`\\])`[^`\n]+\n(?![ \t]*(?:[-*+#>\n]|\d{1,9}[.)]))[^`\n]+`(?!`)"  # also over the end of a line
    r"|(?<![\w\\$])\$(?![\s$])(?:[^$`\n!&<\\]|\\.){1,300}+(?<!\s)\$(?!\d)"  # and formulas do
    r"|(?<![\w\\$])\$\$(?:[^$`\n\\]|\\.|\n(?![ \t]*\n)){1,500}+\$\$)"
    # no blank before a stop
    r"|(?<=[\w)\]\"'`*])[ \t]{1,9}!\[[^\[\]]*\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^\[\]\n]*\])(?=[\].,;:])"
    # ![alt](url "title"), one level of brackets in the url; without a url it is the caption of a picture that is gone
    r"|!\[[^\[\]]*\](?:(?<=!\[\])|(?!\(\)))\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
    r"|!\[[^\[\]]*\]\[[^\[\]\n]*\]"  # ![alt][label]
    r"|<img\b[^<>]*>"
    r"|(?P<bracketed>(?<!`)&lt;/?(?P<name>[a-z][a-z0-9]{0,15})(?:\s[^&<>`\n]{0,200})?/?&gt;(?!`))"
    r"|(?P<entity>&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});)"
    r"|(?P<escaped>\\(?<!\\\\)(?:(?<![\w:]\\)[&'@](?!\w{1,30};)|(?<=\w\\)'(?=[^\W\d_])|\.(?=\.)|(?<=[\w)]\\)\.(?=\s)(?<!\d\\.)"
    r"|\[(?!x\\?\])(?=\w)[^\[\]\\\n`=^{}$<]{1,60}>?\\?\](?![(:\[\\])))",
    re.IGNORECASE,
)
_TEMPLATE_TITLE = re.compile(
    r"\A\s*(#{1,6}[ \t]+)\{\{-?[ \t]*(?:page\.)?title[ \t]*(?:\|[^{}\n]{0,80})?-?\}\}[ \t#]*(?:\n|\Z)"
)
_STARRED = re.compile(r"(?<![\w*])(\*{1,3})([^\s*](?:[^*\n]{0,300}[^\s*])?)\1(?![\w*])")
_EMPTY_LINK = re.compile(r"(?<!\!)\[[ \t]*\]\([^()\n]*\)")


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Title from the front matter, else from the first heading of level 1. Where that heading is the title by a template of a
    site ("# {{ page.title }}"), it is that title, or goes."""
    text = _decoded(content)
    front = read_front_matter(text)
    text = strip_images(plain_markup(text[front.end :]))
    title = " ".join((front.title or "").split()).lstrip("# ")
    text = _TEMPLATE_TITLE.sub(lambda match: f"{match[1]}{title}\n" if title else "", text)
    return LoadedText(repeat_headers(count_items(text)), title=front.title or _title(text))


def stated_metadata(content: bytes) -> Mapping[str, Any]:
    """What the front matter says of the document besides its title. Raises nothing."""
    return read_front_matter(_decoded(content[: 4 * LONGEST])).metadata


def states_only(content: bytes) -> bool:
    """Whether there is nothing but front matter. Raises nothing."""
    text = _decoded(content)
    front = read_front_matter(text)
    return front.end > 0 and not text[front.end :].strip()


def _decoded(content: bytes) -> str:
    # line ends first: the patterns know only LF, and a lone CR ends a line as well (CommonMark, "Lines")
    return decode(content).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")


def repeat_headers(text: str) -> str:
    """The text with long tables in pieces that have the header each, the rest as it stands."""
    parts: list[str] = []
    position = 0
    for table in tables_in(text):
        start, end = table.span
        if table.header and end - start > PIECE_CHARS:
            writer = TableWriter(table.header)
            for row in table.rows:
                writer.add(row.cells)
            parts += [text[position:start], writer.text()]
            position = end
    return "".join((*parts, text[position:]))


def strip_images(text: str) -> str:
    """Without images, except where image syntax is quoted inside a fenced block."""
    parts: list[str] = []
    position = 0
    for start, end in _fenced(text):
        parts += [_strip(text[position:start]), text[start:end]]
        position = end
    return "".join((*parts, _strip(text[position:])))


def _fenced(text: str) -> Iterator[tuple[int, int]]:
    """Where fenced blocks stand; one that is not closed goes on to the end."""
    begins, fence = 0, ""
    for match in _FENCED.finditer(text):
        mark = match.group(1)
        if not fence:
            begins, fence = match.start(), mark
        elif mark.startswith(fence) and not text[match.end() : _line_end(text, match.end())].strip():
            yield begins, match.end()
            fence = ""
    if fence:
        yield begins, len(text)


def _strip(text: str) -> str:
    parts = (text[start:end] for start, end in stretches(text))
    return "".join(_EMPTY_LINK.sub("", _IMAGE.sub(_shown, part)) for part in parts)


def _shown(match: re.Match[str]) -> str:
    if match["bracketed"]:  # without code around it whoever shows it takes it for a tag
        bracketed = unescape(match["bracketed"])
        begins = match.string.rfind("\n", 0, match.start()) + 1
        is_code = match.string.startswith("    ", begins)  # or what an item goes on with, where it is text as it is
        return f"`{bracketed}`" if match["name"].lower() in ELEMENTS and not is_code else bracketed
    if escaped := match["escaped"]:  # what is the same without a backslash; in code it is no escape
        is_code = match.string.startswith(("    ", "\t"), match.string.rfind("\n", 0, match.start()) + 1)
        return escaped if is_code else escaped.replace("\\", "")
    # a bar would end the cell of a table that it stands in
    return match["code"] or (unescape(match["entity"]).replace("|", "\\|") if match["entity"] else "")


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _title(text: str) -> str | None:
    """Of the first heading of level 1, or the one that all others stand below; a comment in a fenced block is none."""
    position = 0
    for start, end in (*_fenced(text), (len(text), len(text))):
        if first := _HEADING.search(text, position, start):
            return _STARRED.sub(r"\2", first.group(1).rstrip("# \t")) or None
        position = end
    return _only_heading(text)


def _only_heading(text: str) -> str | None:
    """That of a text which begins with it and has all others below it: of a part that pages include it is the title, though
    it is of a lower level."""
    first, *others = scan(text.lstrip("\n"))
    return first.path[0] if first.path and all(len(one.path) > 1 for one in others) else None
