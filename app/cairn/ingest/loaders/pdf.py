"""PDF through PDFium: the text layer, page by page, in the order in which it was drawn, with its headings and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from cairn.domain.document import PageStart
from cairn.errors import EncryptedDocumentError, ParseError, ParserLimitError
from cairn.ingest.loaders.base import LoadedText, LoadLimits, counted
from cairn.ingest.loaders.pdf_headings import PlacedHeading, find_headings
from cairn.ingest.loaders.pdf_layout import PlacedTable, read_characters, read_rulings, read_words
from cairn.ingest.loaders.pdf_margins import MarginLine, margin_lines, without_running_lines
from cairn.ingest.loaders.pdf_rtl import join_marks, restore_order
from cairn.ingest.loaders.pdf_scans import read_scans
from cairn.ingest.loaders.pdf_tables import find_tables, with_header_of
from cairn.ingest.loaders.render import paragraph
from cairn.language.tables import render_table
from cairn.language.text import normalise

_MARGIN_WORDS = 25
"""Words before or behind a table that goes on over a page break: running titles, page numbers."""

_HYPHEN = re.compile(r"(?<!\w)(\w+)\x02(\w+)")  # PDFium's mark for a hyphen at a line end, which it joins
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\ufeff\ufffe\uffff]+")
_WORD = re.compile(r"\w+(?:-\w+)*")
_FOOT = re.compile(r"\n(?=(?:\d{1,4}|[ivxlc]{1,7})\Z)")
"""The line break before the number of a page, which ends no sentence."""
_LINE_TAIL = re.compile(r"(?<![ \t])[ \t]++(?=\n)")


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Text of all pages, two line breaks between them; `pages` counts from 1.

    Raises EncryptedDocumentError, NoTextLayerError, EmptyDocumentError, ParserLimitError or ParseError.
    """
    document = open_pdf(content)
    if len(document) > limits.max_pages:
        raise ParserLimitError(
            f"the PDF has {len(document)} pages, more than ingest.maxPages ({limits.max_pages}); split it"
        )
    margins: list[list[MarginLine]] = []
    texts = list(_page_texts(document, limits, margins))
    notes = read_scans(document, texts, limits.parse_seconds)
    text, pages = _join(_mend_hyphens(without_running_lines(texts, margins)))
    return LoadedText(text, title=_title(document), pages=pages, notes=notes)


def open_pdf(content: bytes) -> Any:
    """Raises EncryptedDocumentError or ParseError."""
    try:
        return pdfium.PdfDocument(content)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
            raise EncryptedDocumentError(
                "the PDF is encrypted and needs a password; remove the password and send it again"
            ) from None
        raise ParseError(
            "the PDF is damaged or cut off: its structure cannot be read; open and save it again with a PDF viewer"
        ) from None


def _page_texts(document: Any, limits: LoadLimits, margins: list[list[MarginLine]]) -> Iterator[str]:
    """`margins` gets the outermost lines of each page."""
    total = 0
    open_table: PlacedTable | None = None
    for index in counted(range(len(document))):
        try:
            page = document[index]
        except pdfium.PdfiumError:
            margins.append([])
            yield ""  # one damaged page does not cost the others
            continue
        layer = page.get_textpage()
        text, open_table, outermost = _page_text(page, layer, open_table)
        margins.append(outermost)
        layer.close()
        page.close()
        total += len(text)
        if total > limits.max_text_chars:
            raise ParserLimitError(
                f"the PDF has more than {limits.max_text_chars} characters of text (ingest.maxTextChars); split it"
            )
        yield normalise(text).strip()


def _page_text(page: Any, layer: Any, before: PlacedTable | None) -> tuple[str, PlacedTable | None, list[MarginLine]]:
    """The text of a page with its tables, the one with which it ends, and its outermost lines; `before`: the table with which the
    page before ends."""
    text = restore_order(layer, read_characters(layer))
    words = read_words(page, layer, text)
    tables = find_tables(words, read_rulings(page), before)
    if before and tables and _is_margin(text[: tables[0].start]):
        tables[0] = with_header_of(before, tables[0])
    last = tables[-1] if tables and _is_margin(text[tables[-1].end :]) else None
    headings = find_headings(layer, text, words, tables)
    margins = margin_lines(text, words, tables, headings)
    text = join_marks(_written(text, tables, headings))
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), last, margins


def _is_margin(text: str) -> bool:
    """Whether it is no more than what is printed at the top or the foot of each page."""
    return len(text.split()) <= _MARGIN_WORDS


def _written(text: str, tables: Sequence[PlacedTable], headings: Sequence[PlacedHeading]) -> str:
    """The text with each heading marked, and each table, written as one, in the place where its first cell stood."""
    cuts = [(start, end, at) for at, table in enumerate(tables) for start, end in table.taken]
    cuts += [(one.start, one.end, at) for at, one in enumerate(headings, start=len(tables))]
    parts: list[str] = []
    written: set[int] = set()
    position = 0
    for start, end, at in sorted(cuts):
        if kept := text[position:start].strip():
            parts.append(paragraph(kept))
        if at not in written:
            written.add(at)
            parts.append(render_table(tables[at].rows) if at < len(tables) else headings[at - len(tables)].text)
        position = end
    parts.append(paragraph(text[position:]))
    return "\n\n".join(part for part in parts if part)


def _mend_hyphens(texts: list[str]) -> list[str]:
    """Words broken at a line end: joined or hyphenated as the rest of the document writes them; joined if unseen."""
    known = {word.lower() for text in texts for word in _WORD.findall(text)}

    def mend(match: re.Match[str]) -> str:
        left, right = match.groups()
        joined, hyphenated = left + right, f"{left}-{right}"
        if joined.lower() in known:
            return joined
        proper = right[0].isupper() or right[0].isdigit()
        return hyphenated if proper or hyphenated.lower() in known else joined

    return [_tidy(_HYPHEN.sub(mend, text)) for text in texts]


def _tidy(text: str) -> str:
    return _FOOT.sub("\n\n", _LINE_TAIL.sub("", _CONTROL.sub(" ", text)).strip())


def _join(texts: list[str]) -> tuple[str, tuple[PageStart, ...]]:
    starts, position = [], 0
    for number, text in enumerate(texts, 1):
        starts.append(PageStart(position, number))
        position += len(text) + 2
    return "\n\n".join(texts), tuple(starts)


def _title(document: Any) -> str | None:
    return normalise(document.get_metadata_dict().get("Title") or "").strip("\ufffd \t\n") or None
