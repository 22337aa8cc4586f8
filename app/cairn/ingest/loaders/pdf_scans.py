"""Pages of a PDF that are pictures of text: which they are, reading them by OCR, and saying what was not read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from cairn.errors import EmptyDocumentError, NoTextLayerError
from cairn.ingest.loaders import ocr
from cairn.ingest.loaders.base import counted
from cairn.language.text import normalise

_SPARSE: Final = 50
"""A page with fewer characters may be a scan with a caption or a page number."""
_COVERED: Final = 0.3
"""Share of a page that images cover at least when the page is a scan."""
_SHARE_OF_TIME: Final = 0.8
"""Of the time that a file may take; what is left is for the text of the other pages."""
_MOST_LISTED: Final = 12


def read_scans(document: Any, texts: list[str], seconds: float) -> tuple[str, ...]:
    """Put what OCR reads into the place of pages that are pictures. Returns notes on such pages, for people.

    Raises NoTextLayerError where no page has text and none can be read, EmptyDocumentError where nothing is shown at all.
    """
    scans, blank = _find_scans(document, texts)
    read: list[int] = []
    late: list[int] = []
    failed: dict[int, str] = {}
    end = time.monotonic() + _SHARE_OF_TIME * seconds
    if scans and ocr.installed_languages():
        for index in counted(scans):
            try:
                text = normalise(ocr.read_page(document[index], end - time.monotonic())).strip()
            except TimeoutError:
                late.append(index)
                continue
            except OSError as error:
                failed[index] = str(error)
                continue
            if len(text) > len(texts[index]):
                texts[index] = text
                read.append(index)
    if blank == len(texts):
        raise EmptyDocumentError("the PDF has no text and no images on any page")
    if scans and not read and len(scans) + blank == len(texts):
        raise NoTextLayerError(f"the pages hold images and hardly any text (a scan); {_why(late, failed)}")
    unread = [index for index in scans if index not in {*read, *late, *failed}]
    return tuple(_notes(read, late, failed, unread))


def _why(late: Sequence[int], failed: Mapping[int, str]) -> str:
    if not ocr.installed_languages():
        return f"Tesseract, which reads them by OCR, is not installed ({ocr.HOW_TO_INSTALL}); or run ocrmypdf over the file"
    if failed:
        return next(iter(failed.values()))
    return (
        "reading them by OCR took longer than ingest.parseSeconds allows"
        if late
        else "OCR by Tesseract found no text in them"
    )


def _notes(read: Sequence[int], late: Sequence[int], failed: Mapping[int, str], unread: Sequence[int]) -> Iterable[str]:
    if read:
        yield f"{_pages(read)} read by OCR ({'+'.join(ocr.installed_languages())}), which may misread"
    if late:
        yield f"{_pages(late)} not read: images, and OCR took longer than ingest.parseSeconds allows"
    if failed:
        yield f"{_pages([*failed])} not read: {next(iter(failed.values()))}"
    if unread and ocr.installed_languages():
        yield f"{_pages(unread)} without text: images in which Tesseract found none"
    elif unread:
        yield f"{_pages(unread)} not read: images; Tesseract, which reads them, is not installed ({ocr.HOW_TO_INSTALL})"


def _pages(indexes: Sequence[int]) -> str:
    """Numbers of pages, ranges shortened: "pages 2, 5-7"."""
    ranges: list[list[int]] = []
    for number in (index + 1 for index in indexes):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    parts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    more = f" and {len(parts) - _MOST_LISTED} more" if len(parts) > _MOST_LISTED else ""
    return f"page{'s' if len(indexes) > 1 else ''} {', '.join(parts[:_MOST_LISTED])}{more}"


def _find_scans(document: Any, texts: Sequence[str]) -> tuple[list[int], int]:
    """Indexes of the pages that are pictures with hardly any text, and how many pages show nothing at all."""
    scans, blank = [], 0
    for index, text in enumerate(texts):
        if len("".join(text.split())) >= _SPARSE:
            continue
        shown, images = _coverage(document, index)
        if images >= _COVERED or (shown and not text):
            scans.append(index)
        blank += not text and not shown
    return scans, blank


def _coverage(document: Any, index: int) -> tuple[bool, float]:
    """Whether the page shows anything, and the share of it that images cover."""
    try:
        page = document[index]
    except pdfium.PdfiumError:
        return False, 0.0
    width, height = page.get_size()
    shown, covered = False, 0.0
    for item in page.get_objects(max_depth=3):
        shown = True
        if item.type == raw.FPDF_PAGEOBJ_IMAGE:
            left, bottom, right, top = item.get_bounds()
            covered += max(right - left, 0) * max(top - bottom, 0)
    return shown, covered / max(width * height, 1)
