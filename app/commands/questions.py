"""Questions that documents can be asked, made from their own words: definitions, headings, titles. For the demo."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app import actions
from app.domain.document import Document
from app.wiring import Services

_LOOKED_AT = 12
_TEXT_START = 20_000
"""Characters of each document that are searched for something to ask."""
_DEFINITION = re.compile(r"(?:^|(?<=[.!?] ))([A-Z][\w-]*(?: [\w-]+){0,3}) (?:is|are) (?:an?|the) [a-z]", re.MULTILINE)
_HEADING = re.compile(r"^#{1,4} +(?:\d+(?:\.\d+)*\.? +)?(.{6,70}?)\s*#*$", re.MULTILINE)
_POINTS_ELSEWHERE = re.compile(
    r"(?:this|that|these|those|it|its|there|here|he|she|they|we|you|one|what|which|who|if|when|where|each|all|our|my|"
    r"his|her|their|but|and|so|in|on|for|as|at|by|with|another|both|such|some|most|to|of|only|then)\b",
    re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(
    r"(?:table of )?contents|introduction|overview|summary|abstract|references|conclusions?|appendix|background|notes",
    re.IGNORECASE,
)
_WITH_HEADINGS = ("text/markdown", "text/html", "application/vnd.openxmlformats")


async def questions_about(opened: Services, collection: str, wanted: int = 3) -> list[str]:
    """At most `wanted` questions, about as many documents as possible."""
    indexed = [document for document in await actions.list_documents(opened, collection, limit=200)
               if document.status == "indexed"]  # fmt: skip
    step = max(1, len(indexed) // _LOOKED_AT)
    asked = [list(await _questions(opened, collection, document)) for document in indexed[::step][:_LOOKED_AT]]
    # one of each document first, and among these the definitions first
    ranked = [(turn, kind, text) for made in asked for turn, (kind, text) in enumerate(made)]
    return list(dict.fromkeys(text for _, _, text in sorted(ranked, key=lambda item: item[:2])))[:wanted]


async def _questions(opened: Services, collection: str, document: Document) -> list[tuple[int, str]]:
    """(kind, question), best first; kind 0 asks for a definition, 1 for a section, 2 for the document."""
    _, text = await actions.get_document(opened, collection, document.id)
    start = (text or "")[:_TEXT_START]
    made = [(0, f"What is {name}?") for name in _defined(start)][:2]
    if document.media_type.startswith(_WITH_HEADINGS):
        made += [(1, f"What is said about {heading}?") for heading in _headings(start)][:2]
    return [*made, (2, f"What is {document.title} about?")]


def _defined(text: str) -> Iterator[str]:
    for found in _DEFINITION.finditer(" ".join(text.split())):
        if not _POINTS_ELSEWHERE.match(found[1]):
            yield found[1]


def _headings(text: str) -> Iterator[str]:
    for found in _HEADING.finditer(text):
        if not _SAYS_NOTHING.fullmatch(found[1]) and " " in found[1]:
            yield found[1].strip("*_`")
