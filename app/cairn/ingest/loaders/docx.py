"""Word documents through python-docx, rendered as Markdown: headings, lists, tables, text boxes, footnotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final

import docx
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from lxml import etree

from cairn.errors import ParseError
from cairn.ingest.loaders import archive, render
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.numbering import Numbering, Styles
from cairn.language.tables import COVERED, render_table

_P, _TBL, _TR, _TC = qn("w:p"), qn("w:tbl"), qn("w:tr"), qn("w:tc")
_TEXT_BOX = qn("w:txbxContent")
_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
# deleted or moved text, properties, and the second rendering that old Word versions read
_SKIPPED = frozenset(
    (
        qn("w:pPr"),
        qn("w:rPr"),
        qn("w:del"),
        qn("w:moveFrom"),
        "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    )
)
_BREAKS = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
_NOTES = ("/footnotes", "/endnotes")


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises ParserLimitError for a zip bomb, ParseError for a damaged or unsafe file."""
    archive.check(content, limits.max_unpacked_bytes)
    try:
        document = docx.Document(BytesIO(content))
    except Exception as error:  # python-docx lets KeyError, ValueError and lxml's errors through
        raise ParseError(
            f"the Word file is damaged: {error or type(error).__name__}; open it in Word and save it again"
        ) from None
    reader = _Reader(document)
    text = render.join((*reader.blocks(document.element.body), *reader.notes()))
    title = (document.core_properties.title or "").strip() or reader.title
    return LoadedText(text, title=title)


class _Reader:
    """Walks the body once. `title` is the first paragraph in the style Title, with the subtitle right below it, or the first
    heading."""

    def __init__(self, document: Any) -> None:
        self.part = document.part
        self.styles = Styles(document)
        self.numbering = Numbering(document)
        self.title: str | None = None
        self.just_titled = False

    def blocks(self, parent: Any) -> Iterator[str]:
        for node in parent:
            if node.tag == _P:
                yield from self._paragraph(node)
            elif node.tag == _TBL:
                yield from self._table(node)
            elif node.tag not in _SKIPPED and len(node):
                yield from self.blocks(node)  # content controls, insertions, custom XML

    def _paragraph(self, node: Any) -> Iterator[str]:
        text, boxes = _text(node)
        if text.strip():
            yield self._block(node, text)
        for box in boxes:
            yield from self.blocks(box)

    def _block(self, node: Any, text: str) -> str:
        level = self.styles.heading_level(node)
        if self.just_titled and self.styles.is_subtitle(node):
            self.title = f"{self.title}: {render.collapse(text).strip()}"
        self.just_titled = level is not None and self.title is None
        label, depth = self.numbering.label(node, self.styles)
        if level is not None:
            line = render.collapse(f"{label} {text}" if label not in ("", "-") else text).strip()
            self.title = self.title or line
            return render.heading(level, line)
        if label:
            return render.item(depth, label, render.paragraph(text))
        return render.paragraph(text)

    def notes(self) -> Iterator[str]:
        """Footnotes and endnotes, after the text."""
        for relation in self.part.rels.values():
            if not relation.is_external and relation.reltype.endswith(_NOTES):
                for note in parse_xml(relation.target_part.blob):
                    if note.get(qn("w:type")) is None:  # the separators have a type
                        yield from self.blocks(note)

    def _table(self, table: Any) -> Iterator[str]:
        """A table; where it has one row or one column, which frames text, the text."""
        rows = self._rows(table)
        if len(rows) < 2 or max(map(len, rows)) < 2:
            for cell in (cell for line in _within(table, _TR) for cell in _within(line, _TC)):
                yield from self.blocks(cell)
        elif block := render_table(rows, header_rows=_header_rows(table)):
            yield block

    def _rows(self, table: Any) -> list[list[str]]:
        """Rows of cells; text merged over columns stands in the first, over rows in each (render.REPEATED_CELL)."""
        above: list[str] = []
        rows = []
        for line in _within(table, _TR):
            row = [""] * _skipped_columns(line)
            for cell in _within(line, _TC):
                text = render.collapse(" ".join(self._cell(cell))).strip()
                if not text and _continues_merge(cell) and len(row) < len(above):
                    text = above[len(row)] if len(above[len(row)]) <= render.REPEATED_CELL else ""
                row.extend([text] + [COVERED if text else ""] * (_width(cell) - 1))
            rows.append(row)
            above = row
        return rows

    def _cell(self, cell: Any) -> Iterator[str]:
        """Texts of a cell, nested tables and text boxes flattened."""
        for node in _paragraphs(cell):
            text, boxes = _text(node)
            yield text
            for box in boxes:
                yield from self.blocks(box)


def _paragraphs(node: Any) -> Iterator[Any]:
    for child in node:
        if child.tag == _P:
            yield child
        elif child.tag not in _SKIPPED:
            yield from _paragraphs(child)


def _text(paragraph: Any) -> tuple[str, list[Any]]:
    """Text of a paragraph as it reads with all changes accepted, and the text boxes anchored in it."""
    parts: list[str] = []
    boxes: list[Any] = []
    walk = etree.iterwalk(paragraph, events=("start",))
    for _, node in walk:
        tag = node.tag
        if tag == _TEXT_BOX:
            boxes.append(node)
            walk.skip_subtree()
        elif tag in _SKIPPED:
            walk.skip_subtree()
        elif tag in (qn("w:t"), _MATH_TEXT):
            parts.append(node.text or "")
        elif tag in _BREAKS:
            parts.append(_BREAKS[tag])
    return _AROUND_BREAK.sub("\n", "".join(parts)).strip(), boxes


_AROUND_BREAK: Final = re.compile(r"(?<![ \t])[ \t]*+\n[ \t]*+")


def _within(node: Any, tag: str) -> Iterator[Any]:
    """Children with this tag, also those inside content controls."""
    for child in node:
        if child.tag == tag:
            yield child
        elif child.tag not in (_TBL, _TC, _P) and child.tag not in _SKIPPED:
            yield from _within(child, tag)


def _header_rows(table: Any) -> int | None:
    """How many rows at the top are marked to be repeated on each page; None for none."""
    count = 0
    for row in _within(table, _TR):
        mark = row.find(f"{qn('w:trPr')}/{qn('w:tblHeader')}")
        if mark is None or mark.get(qn("w:val"), "true") in ("0", "false", "off"):
            break
        count += 1
    return count or None


def _continues_merge(cell: Any) -> bool:
    merge = cell.find(f"{qn('w:tcPr')}/{qn('w:vMerge')}")
    return merge is not None and merge.get(qn("w:val"), "continue") == "continue"


def _skipped_columns(row: Any) -> int:
    """Columns that the table grid has before the row's first cell."""
    before = row.find(f"{qn('w:trPr')}/{qn('w:gridBefore')}")
    return 0 if before is None else _small_int(before.get(qn("w:val"), "0"))


def _width(cell: Any) -> int:
    span = cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}")
    return 1 if span is None else max(_small_int(span.get(qn("w:val"), "1")), 1)


def _small_int(value: str) -> int:
    return min(int(value), 63) if value.isascii() and value.isdigit() else 0
