"""HTML through libxml2, rendered as Markdown: what a reader sees, in reading order."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree

from cairn.errors import EmptyDocumentError, ParseError, ParserLimitError
from cairn.ingest.loaders import render
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.text import decode
from cairn.language.tables import COVERED, render_table

_CHARSET = re.compile(rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]+)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.-]+)""")

_HIDDEN = frozenset(("script", "style", "noscript", "template", "head", "title", "annotation", "annotation-xml"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCK_NAMES = """address article aside blockquote body button caption center dd details dialog div dl dt fieldset
    figcaption figure footer form header hgroup hr label legend li main menu nav ol optgroup option p pre search
    section select summary table tbody td textarea tfoot th thead tr ul"""
_BLOCKS = frozenset(_BLOCK_NAMES.split()).union(_HEADINGS)
_STRUCTURE_IN_CELL = " or ".join(f"self::{tag}" for tag in ("table", "pre", *_HEADINGS))
_LONGEST_CELL = 1500
"""A table with a cell longer than this (characters) was used for layout, and is read as blocks."""
_LONGEST_BULLET = 10
"""Characters of the first cell of a table of one row, which is an item of a list with its mark: "•", "(iii)", "[12]"."""
_LONGEST_TERM = 200
"""Characters of a term of a list of definitions; a longer one is text."""
_WIDEST_SPAN = 50
_ACTION = re.compile(r"\{\{[^{}]{0,2000}+\}\}|\{%[^{}]{0,2000}?%\}|\{#[^{}]{0,2000}?#\}")
"""What a program that makes the page of the file puts something else in the place of (Go, Jinja, Liquid, Handlebars)."""
_STATEMENT = re.compile(
    r"\{%|\{\{[-~]?\s{0,9}(?:[#/>^!]|\$\w{1,60}\s{0,9}:?=|(?:if|else|end|range|with|block|define|template|partial|include|import)\b)"
)
"""How one begins that is no name of a value."""
_LAYOUT_NAMES = "html head title body div main nav section article header footer aside form ul ol table tbody tr"
_LAYOUT = frozenset(_LAYOUT_NAMES.split())
"""Elements in which one that stands alone is no example of it."""
_AS_WRITTEN = frozenset(("code", "pre", "kbd", "samp", "tt", "var", "textarea", "script", "style"))


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Headings, lists, tables and code as Markdown; scripts and styles dropped, all other text kept.

    Raises EmptyDocumentError, ParserLimitError or ParseError.
    """
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=True)
    try:
        root = etree.fromstring(_decode(content).encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise ParseError(f"the HTML cannot be read: {error.msg}") from None
    if root is None:
        raise EmptyDocumentError("the HTML page holds no text")
    if any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        # libxml2 drops the rest without a word
        raise ParserLimitError("the HTML page is nested more than 2048 elements deep")
    if b"{{" in content or b"{%" in content:
        _drop_actions(root)
    title = render.collapse("".join(root.xpath("(//title)[1]//text()"))).strip()
    if not title:
        title = render.collapse("".join(root.xpath("(//h1)[1]//text()"))).strip()
    return LoadedText(_Renderer().render(root), title=title or None)


def _drop_actions(root: Any) -> None:
    """Of a page that is a template, what is for the program that makes the page of it; in code it is an example. In a title,
    which no reader sees as it stands, it is none in any page."""
    found: list[tuple[Any, str]] = []
    is_template = False
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, node in walk:
        name = "text" if event == "start" else "tail"
        if name == "text" and (
            not isinstance(node.tag, str) or node.tag in _AS_WRITTEN or node.tag in ("script", "style")
        ):
            walk.skip_subtree()
            continue
        said = getattr(node, name) or ""
        if "{" not in said or not _ACTION.search(said):
            continue
        found.append((node, name))
        parent = node if name == "text" else node.getparent()
        alone = not _ACTION.sub("", said).strip() and parent is not None and parent.tag in _LAYOUT
        is_template = is_template or (alone and bool(_STATEMENT.search(said)))
    for node, name in found:
        said = getattr(node, name)
        if node.tag == "title" and name == "text":
            if is_template or _ACTION.match(said.strip()):
                setattr(node, name, _ACTION.sub(" ", said).strip(" \t\n-|:\u2013\u2014\u00b7"))
        elif is_template:  # the value of a name in a sentence may be what the sentence is about
            setattr(node, name, _ACTION.sub(_no_statement if _ACTION.sub("", said).strip() else " ", said))


def _no_statement(action: re.Match[str]) -> str:
    return " " if _STATEMENT.match(action[0]) else action[0]


def _decode(content: bytes) -> str:
    """Text by byte order mark or UTF-8 where it is that, else by what the page declares, else by guess."""
    declared = _CHARSET.search(content[:4096]) or _XML_ENCODING.search(content[:512])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        return content.decode(declared.group(1).decode(), "replace") if declared else decode(content)
    except LookupError:
        return decode(content)


class _Renderer:
    """One pass over the tree without recursion, so that deep nesting costs nothing."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.inline: list[str] = []
        self.lists: list[int | None] = []  # per open list the number of its last item; None: bullets
        self.marker = ""  # of the list item whose first block is still to come

    def render(self, root: Any) -> str:
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, node in walk:
            if event == "end":
                self._close(node)
                self.inline.append(_squeeze(node.tail))
            elif self._open(node):
                self.inline.append(_squeeze(node.text))
            else:
                walk.skip_subtree()
        self._flush()
        return render.join(self.blocks)

    def _open(self, node: Any) -> bool:
        """Begin an element; False when it is dealt with, or dropped, with all that it holds."""
        tag = node.tag
        if not isinstance(tag, str) or tag in _HIDDEN or _is_permalink(node):
            return False
        if tag in _BLOCKS:
            self._flush()
        if tag == "br":
            self.inline.append("\v")
        elif tag == "pre":
            self._emit(render.fence(_preformatted(node), _language(node)))
            return False
        elif tag == "figcaption" and not node.xpath(f"boolean(.//*[self::ul or self::ol or {_STRUCTURE_IN_CELL}])"):
            if said := render.caption(_flat(node)):
                self._emit(said)
            return False
        elif tag == "table" and _holds_data(node):
            self._table(node)
            return False
        elif tag in ("ul", "menu", "ol"):
            self.lists.append(0 if tag == "ol" else None)
        elif tag == "li":
            self._item()
        elif tag == "code":
            self.inline.append("`")
        return True

    def _close(self, node: Any) -> None:
        tag = node.tag
        if tag in _HEADINGS:
            self._flush(heading=_HEADINGS[tag])
        elif tag == "dt":
            self._name_term()
        elif tag in _BLOCKS:
            self._flush()
        elif tag == "code":
            self.inline.append("`")
        if tag in ("ul", "menu", "ol") and self.lists:
            self.lists.pop()

    def _item(self) -> None:
        number = self.lists[-1] if self.lists else None
        if number is None:
            self.marker = "-"
        else:
            self.lists[-1] = number + 1
            self.marker = f"{number + 1}."

    def _flush(self, heading: int = 0) -> None:
        text = _lines("".join(self.inline))
        self.inline.clear()
        if text.strip("`"):
            self._emit(render.heading(heading, text) if heading else render.paragraph(text))

    def _name_term(self) -> None:
        """A term of a list of definitions leads what is said of it: "The default is 100" owes its subject to it."""
        text = _lines("".join(self.inline))
        self.inline.clear()
        if text.strip("`"):
            self._emit(render.paragraph(render.run_in(text) if len(text) <= _LONGEST_TERM else text))

    def _emit(self, block: str) -> None:
        """Add a block; inside a list item behind its marker, items of one list on neighbouring lines."""
        if not self.marker:
            self.blocks.append(block)
            return
        self.blocks.append(render.item(max(len(self.lists) - 1, 0), self.marker, block.lstrip("# ")))
        self.marker = ""

    def _table(self, node: Any) -> None:
        for caption in node.iterchildren("caption"):
            self._emit(render.paragraph(_flat(caption)))
        rows = _grid(node)
        filled = [row for row in rows if any(row)]
        if len(filled) == 1:
            self._emit(
                render.paragraph(" ".join(cell for cell in filled[0] if cell != COVERED))
            )  # a bullet and its text
        elif block := render_table(rows, header_rows=_header_rows(node)):
            self.marker = ""
            self.blocks.append(block)


def _is_permalink(node: Any) -> bool:
    """Whether it is the mark behind a heading that is an address and no word of it."""
    said = (node.text or "").strip() if node.tag == "a" and not len(node) else ""
    return said in render.PERMALINKS and str(node.get("href", "")).startswith("#")


def _squeeze(text: str | None) -> str:
    return render.collapse(text) if text else ""


def _lines(text: str) -> str:
    """Inline text with single spaces and the page's own line breaks."""
    return "\n".join(line for part in text.split("\v") if (line := render.collapse(part).strip()))


def _flat(node: Any) -> str:
    """All visible text of an element on one line; block elements are separated by a space."""
    parts: list[str] = []
    walk = etree.iterwalk(node, events=("start", "end"))
    for event, child in walk:
        if child.tag in _BLOCKS or child.tag == "br":
            parts.append(" ")
        if event == "end":
            parts.append(child.tail or "" if child is not node else "")
        elif not isinstance(child.tag, str) or child.tag in _HIDDEN:
            walk.skip_subtree()
        else:
            parts.append(child.text or "")
    return render.collapse("".join(parts)).strip()


def _preformatted(node: Any) -> str:
    for line_break in node.iter("br"):
        line_break.text = "\n"
    return "".join(node.itertext())


def _language(node: Any) -> str:
    """The language that highlighters put into the class of pre or code."""
    for element in (node, *node.iterchildren("code")):
        match = re.search(r"\b(?:language|lang|highlight-source)-([\w+#-]+)", element.get("class") or "")
        if match:
            return match.group(1)
    return ""


def _holds_data(table: Any) -> bool:
    """Whether a table is one, rather than a way to lay out a page."""
    if table.get("role") in ("presentation", "none") or table.xpath(f"boolean(.//*[{_STRUCTURE_IN_CELL}])"):
        return False
    texts = [[len("".join(cell.itertext()).strip()) for cell in row.iter("td", "th")] for row in table.iter("tr")]
    filled = [[length for length in row if length] for row in texts if any(row)]
    if any(length > _LONGEST_CELL for row in filled for length in row):
        return False
    if len(filled) == 1:
        return len(filled[0]) == 2 and filled[0][0] <= _LONGEST_BULLET
    return any(len(row) > 1 for row in filled)


def _header_rows(table: Any) -> int | None:
    """How many rows at the top the page marks as header; None where it marks none, so that the cells must tell."""
    rows = list(table.iter("tr"))
    count = 0
    for row in rows:
        marked = row.getparent().tag == "thead" or (
            len(row) and all(cell.tag == "th" for cell in row.iterchildren("td", "th"))
        )
        if not marked:
            break
        count += 1
    if 0 < count < len(rows):
        return count
    return 0 if all(_is_headed_row(row) for row in rows) else None


def _is_headed_row(row: Any) -> bool:
    """Whether a row has a th with text at its left, and td after it: a name and what it stands for."""
    cells = list(row.iterchildren("td", "th"))
    names = [cell.tag == "th" for cell in cells]
    return len(cells) > 1 and names == [True] + [False] * (len(cells) - 1) and bool(_flat(cells[0]))


def _grid(table: Any) -> list[list[str]]:
    """Rows of cells."""
    merged, rows = render.MergedCells(), []
    for line in table.iter("tr"):
        row: list[str] = []
        for cell in line.iterchildren("td", "th"):
            merged.add(row, _flat(cell), _span(cell, "colspan"), _span(cell, "rowspan") - 1)
        merged.fill(row)
        rows.append(row)
    return rows


def _span(cell: Any, name: str) -> int:
    value = (cell.get(name) or "1").strip()
    return min(int(value), _WIDEST_SPAN) if value.isascii() and value.isdigit() and value.strip("0") else 1
