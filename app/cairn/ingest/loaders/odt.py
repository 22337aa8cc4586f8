"""OpenDocument text (.odt) as Markdown: headings, lists, tables, footnotes.

Read by lxml from content.xml; changes that were tracked are accepted, remarks in the margin are left out.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final

from lxml import etree

from cairn.errors import EncryptedDocumentError, ParseError
from cairn.ingest.loaders import archive, render
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.language.tables import COVERED, render_table

_OFFICE: Final = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT_BOX: Final = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}text-box"
_HEADING, _PARAGRAPH, _LIST, _ITEM = (
    f"{_TEXT}h",
    f"{_TEXT}p",
    f"{_TEXT}list",
    (f"{_TEXT}list-item", f"{_TEXT}list-header"),
)
_ROW, _ROWS = f"{_TABLE}table-row", (f"{_TABLE}table-header-rows", f"{_TABLE}table-rows", f"{_TABLE}table-row-group")
_CELLS: Final = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
_ENCRYPTED: Final = b"encryption-data"
"""Stands in the manifest of a file under a password."""
_SKIPPED: Final = frozenset(
    (
        f"{_TEXT}tracked-changes",
        f"{_OFFICE}annotation",
        f"{_TEXT}sequence-decls",
        f"{_OFFICE}forms",
        f"{_TEXT}ruby-text",
    )
)
_BREAKS: Final = {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n", f"{_TEXT}soft-page-break": ""}
_BLOCKS_INSIDE: Final = frozenset((f"{_TEXT}p", f"{_TEXT}h", f"{_TABLE}table", f"{_TEXT}list"))
_MOST_REPEATED: Final = 200
"""A row or cell is written down at most so often; more is the empty rest of a table."""
_DEEPEST: Final = 100


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises EncryptedDocumentError, ParserLimitError for a zip bomb, or ParseError for a damaged or unsafe file."""
    archive.check(content, limits.max_unpacked_bytes)
    with zipfile.ZipFile(BytesIO(content)) as document:
        files = frozenset(document.namelist())
        _require_readable(document, files)
        root = _xml(document.read("content.xml"))
        title = _xml(document.read("meta.xml")).findtext(".//{*}meta/{*}title") if "meta.xml" in files else None
    body = root.find(f"{_OFFICE}body/{_OFFICE}text")
    if body is None:
        raise ParseError("the OpenDocument file holds no text document; save it as .odt")
    reader = _Reader()
    blocks = [*reader.blocks(body), *reader.notes]
    return LoadedText(render.join(filter(None, blocks)), title=title)


def _require_readable(document: zipfile.ZipFile, files: frozenset[str]) -> None:
    if "META-INF/manifest.xml" in files and _ENCRYPTED in document.read("META-INF/manifest.xml"):
        raise EncryptedDocumentError("the OpenDocument file is protected by a password; remove it and send it again")
    if "content.xml" not in files:
        raise ParseError(
            "the OpenDocument file is damaged: it has no content; open it in LibreOffice and save it again"
        )


def _xml(content: bytes) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise ParseError(
            f"the OpenDocument file is damaged: {error.msg}; open it in LibreOffice and save it again"
        ) from None


class _Reader:
    """Walks the body once. `notes`: footnotes and endnotes, which come after the text."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def blocks(self, parent: Any, depth: int = 0) -> Iterator[str]:
        if depth > _DEEPEST:
            return
        for node in parent:
            if not isinstance(node.tag, str) or node.tag in _SKIPPED:
                continue
            if node.tag == _HEADING:
                if text := self._line(node):
                    yield render.heading(_count(node.get(f"{_TEXT}outline-level"), 1), text)
            elif node.tag == _PARAGRAPH:
                yield from self._paragraph(node, depth)
            elif node.tag == _LIST:
                yield from self._list(node, 0)
            elif node.tag == f"{_TABLE}table":
                yield render_table([self._row(row) for row in _rows(node)])
            else:
                yield from self.blocks(node, depth + 1)  # sections, indexes, frames

    def _paragraph(self, node: Any, depth: int) -> Iterator[str]:
        if text := render.paragraph(self._text(node)):
            yield text
        for box in node.iter(_TEXT_BOX):
            yield from self.blocks(box, depth + 1)

    def _list(self, node: Any, depth: int) -> Iterator[str]:
        for item in node:
            if item.tag not in _ITEM or depth > _DEEPEST:
                continue
            for child in item:
                if child.tag == _LIST:
                    yield from self._list(child, depth + 1)
                elif isinstance(child.tag, str) and (text := self._line(child)):
                    yield render.item(depth, "-", render.paragraph(text))

    def _row(self, row: Any) -> list[str]:
        cells: list[str] = []
        for cell in row:
            if cell.tag in _CELLS:
                text = COVERED if cell.tag == _CELLS[1] else self._line(cell)
                cells += [text] * min(_count(cell.get(f"{_TABLE}number-columns-repeated"), 1), _MOST_REPEATED)
        return cells

    def _line(self, node: Any) -> str:
        return render.collapse(self._text(node)).strip()

    def _text(self, node: Any) -> str:
        """Text of an element; paragraphs inside of a cell are parted by a space."""
        parts: list[str] = []
        walk = etree.iterwalk(node, events=("start", "end"))
        for event, child in walk:
            if event == "end":
                parts.append(child.tail or "" if child is not node else "")
                parts.append(" " if child.tag in _BLOCKS_INSIDE and child is not node else "")
            elif self._is_apart(child) and child is not node:
                walk.skip_subtree()
            else:
                spaces = _count(child.get(f"{_TEXT}c"), 1) if child.tag == f"{_TEXT}s" else 0
                parts.append(_BREAKS.get(child.tag, "") + " " * min(spaces, _MOST_REPEATED) + (child.text or ""))
        return "".join(parts)

    def _is_apart(self, node: Any) -> bool:
        """Whether an element stands elsewhere than in the line: a note, which is kept for the end, a frame, a remark."""
        if node.tag == f"{_TEXT}note":
            body = node.find(f"{_TEXT}note-body")
            if body is not None:
                self.notes.append(render.paragraph(self._line(body)))
            return True
        return not isinstance(node.tag, str) or node.tag in _SKIPPED or node.tag == _TEXT_BOX


def _rows(table: Any) -> Iterator[Any]:
    for node in table:
        if node.tag == _ROW:
            for _ in range(min(_count(node.get(f"{_TABLE}number-rows-repeated"), 1), _MOST_REPEATED)):
                yield node
        elif node.tag in _ROWS:
            yield from _rows(node)


def _count(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else default
