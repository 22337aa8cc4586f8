"""XML of other machines, read element by element: what it takes does not grow with what stands between them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, Final

MOST_PARTS: Final = 10_000
"""Elements within one that is wanted: a page of a sitemap has some, with a thousand pictures some thousand."""


class DamagedXmlError(Exception):
    """What is no XML, or breaks off, or has an element of too many parts; the text says where or which."""


class XmlElements:
    """`root`: the tag of the outermost element. Entities stay what they are, and nothing is fetched. It stays in its thread: a
    parser of libxml2 that another one goes on with corrupts memory."""

    def __init__(self, content: bytes) -> None:
        """Raises DamagedXmlError for what does not begin as XML does."""
        from lxml import etree

        self._events = etree.iterparse(
            BytesIO(content), events=("start", "end"), resolve_entities=False, no_network=True, load_dtd=False,
            remove_comments=True, remove_pis=True,
        )  # fmt: skip
        self._damaged = etree.XMLSyntaxError
        self._thread = threading.get_ident()
        try:
            self.root: str = next(self._events)[1].tag
        except (etree.XMLSyntaxError, StopIteration) as error:
            raise DamagedXmlError(str(error)) from None

    def _next(self) -> tuple[str, Any] | None:
        if threading.get_ident() != self._thread:
            raise RuntimeError("XML is read in the thread that has opened it")
        return next(self._events, None)

    def find(self, wanted: Callable[[str], bool]) -> Iterator[Any]:
        """Elements whose tag is wanted, each whole until the next is asked for. Raises DamagedXmlError where it is come to."""
        inside, parts = None, 0
        try:
            while (found := self._next()) is not None:
                event, element = found
                if event == "start":
                    parts += 1
                    if inside is None and wanted(element.tag):
                        inside, parts = element, 0
                    if inside is not None and parts > MOST_PARTS:
                        raise DamagedXmlError(f"an element <{inside.tag}> has more than {MOST_PARTS:,} parts")
                elif inside is None or element is inside:
                    if inside is not None:
                        yield element
                        inside = None
                    # whatever it was: a long document is never held as a whole
                    element.clear()
                    while element.getprevious() is not None:
                        del element.getparent()[0]
        except self._damaged as error:
            raise DamagedXmlError(str(error)) from None
