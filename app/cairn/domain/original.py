"""The file that a document was made of: its bytes, its pages as pictures, and where on them some words stand."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Original:
    """A file as it was handed over. `name`: the last part of the document's external id; `version`: of the document that was
    made of it."""

    document_id: UUID
    version: int
    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class PageSpan:
    """A page by its number, from 1, and the half-open range of code points of the document's text that is on it. A page without
    text has none, and is not listed."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page as PNG of so many pixels, of a file with so many `pages`."""

    png: bytes
    width: int
    height: int
    pages: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A rectangle on a page, as shares (0 to 1) of its width and height, from the left and from the top."""

    left: float
    top: float
    width: float
    height: float
