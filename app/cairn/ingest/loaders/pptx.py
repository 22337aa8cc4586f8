"""PowerPoint presentations through python-pptx: each slide is a page under its title, with tables, charts, diagrams and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from io import BytesIO
from typing import Any, Final

from lxml import etree
from pptx import Presentation
from pptx.enum.shapes import PP_PLACEHOLDER

from cairn.errors import EmptyDocumentError, ParseError, ParserLimitError
from cairn.ingest.loaders import archive, render
from cairn.ingest.loaders.base import LoadedText, LoadLimits, counted
from cairn.ingest.loaders.cell_formats import show_plainly
from cairn.language.tables import COVERED, render_table

_SURROUNDINGS: Final = (
    PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.HEADER, PP_PLACEHOLDER.SLIDE_NUMBER,
)  # fmt: skip
_LISTS: Final = (
    PP_PLACEHOLDER.BODY,
    PP_PLACEHOLDER.OBJECT,
    PP_PLACEHOLDER.VERTICAL_BODY,
    PP_PLACEHOLDER.VERTICAL_OBJECT,
)
"""Placeholders whose paragraphs have bullets, unless there is only one."""
_DIAGRAM: Final = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
_RELATION: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_LONGEST_HEADING: Final = 120
"""Characters of the first line of a slide that may stand for its title."""
_FIRST_DAY: Final = date(1899, 12, 30)
_DEEPEST_GROUP: Final = 30


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises ParserLimitError for a zip bomb or too many slides, ParseError for a damaged or unsafe file."""
    archive.check(content, limits.max_unpacked_bytes)
    try:
        presentation = Presentation(BytesIO(content))
        slides = list(presentation.slides)
    except Exception as error:  # python-pptx lets KeyError, ValueError and lxml's errors through
        raise ParseError(
            f"the presentation is damaged: {error or type(error).__name__}; open it in PowerPoint and save it again as .pptx"
        ) from None
    if len(slides) > limits.max_pages:
        raise ParserLimitError(
            f"the presentation has {len(slides)} slides, more than ingest.maxPages ({limits.max_pages}); split it"
        )
    texts = [
        (number, text)
        for number, slide in enumerate(counted(slides), 1)
        if (text := render.join(_slide(slide, number)))
    ]
    if not texts:
        raise EmptyDocumentError("the presentation holds no text on any slide; the slides may be pictures")
    text, pages = render.join_pages(texts)
    return LoadedText(text, title=(presentation.core_properties.title or "").strip() or None, pages=pages)


def _slide(slide: Any, number: int) -> Iterator[str]:
    title = slide.shapes.title
    stated = render.collapse(title.text_frame.text).strip() if title is not None else ""
    blocks = [block for shape in slide.shapes if shape != title for block in _shape(shape)]
    if stated or blocks:
        yield render.heading(1, stated or _first_line(blocks) or f"Slide {number}")
    yield from blocks
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame):
        lines = [line for paragraph in notes.paragraphs if (line := _line(paragraph))]
        if lines:
            yield f"Notes: {render.paragraph(chr(10).join(lines))}"


def _first_line(blocks: Iterable[str]) -> str:
    first = next(iter(blocks), "").split("\n")[0]
    return "" if len(first) > _LONGEST_HEADING or first.startswith(("|", "- ")) else first


def _shape(shape: Any, depth: int = 0) -> Iterator[str]:
    """What a shape shows as text."""
    if shape.is_placeholder and shape.placeholder_format.type in _SURROUNDINGS:
        return
    if hasattr(shape, "shapes"):
        if depth < _DEEPEST_GROUP:
            for inner in shape.shapes:
                yield from _shape(inner, depth + 1)
    elif getattr(shape, "has_table", False):
        yield from filter(None, [render_table(_grid(shape.table))])
    elif getattr(shape, "has_chart", False):
        yield from _chart(shape.chart)
    elif shape.has_text_frame:
        yield from _frame(shape)
    elif (relation := shape.element.find(f".//{{{_DIAGRAM}}}relIds")) is not None:
        yield from _diagram(shape.part, relation.get(_RELATION))


def _frame(shape: Any) -> Iterator[str]:
    lines = [(paragraph.level, line) for paragraph in shape.text_frame.paragraphs if (line := _line(paragraph))]
    if len(lines) > 1 and shape.is_placeholder and shape.placeholder_format.type in _LISTS:
        yield from (render.item(level, "-", render.paragraph(line)) for level, line in lines)
    elif lines:
        yield render.paragraph("\n".join(line for _, line in lines))


def _line(paragraph: Any) -> str:
    return render.collapse(paragraph.text.replace("\v", " ")).strip()


def _grid(table: Any) -> list[list[str]]:
    """Rows of cells: what is merged downwards is repeated, what is merged to the right is COVERED."""
    rows: list[list[str]] = []
    for line in table.rows:
        row: list[str] = []
        for at, cell in enumerate(line.cells):
            if not cell.is_spanned:
                row.append(render.collapse(cell.text).strip())
            elif cell._tc.hMerge:
                row.append(COVERED)
            else:
                row.append(rows[-1][at] if rows and at < len(rows[-1]) else "")
        rows.append(row)
    return rows


def _chart(chart: Any) -> Iterator[str]:
    """Its title, and the numbers that it draws as a table: a row for each category, a column for each series.

    Read from the chart's XML: python-pptx knows the plots of most kinds of charts only.
    """
    space = chart._chartSpace
    if (title := space.find(f"{_CHART}chart/{_CHART}title")) is not None:
        yield from filter(None, [render.paragraph(render.collapse("".join(title.itertext(f"{_DRAWING}t"))))])
    names: list[str] = []
    columns: list[dict[int, str]] = []
    rows: dict[int, str] = {}
    for series in space.iter(f"{_CHART}ser"):
        names.append(" ".join(_points(series, "tx").values()))
        columns.append(_points(series, "val", "yVal"))
        rows = dict.fromkeys(columns[-1], "") | rows | _points(series, "cat", "xVal")
    grid = [["", *names], *([rows[at], *(column.get(at, "") for column in columns)] for at in sorted(rows))]
    yield from filter(None, [render_table(grid, header_rows=1)] if rows else [])


def _points(series: Any, *names: str) -> dict[int, str]:
    """What the chart keeps of a range of cells: position -> text."""
    points: dict[int, str] = {}
    for name in names:
        for part in series.iterchildren(f"{_CHART}{name}"):
            code = part.findtext(f".//{_CHART}formatCode", "").lower()
            for at, value in enumerate(part.iter(f"{_CHART}v")):
                index = value.getparent().get("idx")
                place = int(index) if index and index.isdigit() and len(index) < 7 else at
                points[place] = _value(value.text or "", is_date="y" in code and "d" in code)
    return points


def _value(text: str, *, is_date: bool) -> str:
    """A number without the digits that come of binary fractions, a date (days since 1899) as in ISO 8601, or words."""
    try:
        number = float(text)
        return (_FIRST_DAY + timedelta(days=int(number))).isoformat() if is_date else show_plainly(number)
    except (ValueError, OverflowError):
        return render.collapse(text).strip()


def _diagram(part: Any, relation: str | None) -> Iterator[str]:
    """The texts of a SmartArt diagram, as a list."""
    if relation not in part.rels or part.rels[relation].is_external:
        return
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = etree.fromstring(part.rels[relation].target_part.blob, parser)
    for paragraph in () if root is None else root.iter(f"{_DRAWING}p"):
        text = render.collapse("".join(node.text or "" for node in paragraph.iter(f"{_DRAWING}t"))).strip()
        if text:
            yield render.item(0, "-", render.paragraph(text))
