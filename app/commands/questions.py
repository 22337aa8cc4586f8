"""Questions that documents can be asked, made from their own words: definitions, headings, titles. For the demo."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.domain.document import Document
from app.service.documents import get_document, list_documents
from app.wiring import Services

LOOKED_AT = 40
"""Documents that are searched for something to ask, spread over the collection."""
TEXT_START = 30_000
"""Characters of each document that are searched."""
SECTION_PROSE = 150
"""Characters below a heading from which it is worth a question."""

_DEFINITION = re.compile(
    r"(?:^|(?<=[.!?] ))([A-Z][\w-]*(?: [\w-]+){0,3}) (is|are) (?:an?|the) (?!same\b|only\b|one\b)[a-z]", re.MULTILINE
)
_POINTS_ELSEWHERE = re.compile(
    r"(?:this|that|these|those|it|its|there|here|he|she|they|we|you|one|what|which|who|if|when|where|each|all|our|my|"
    r"his|her|their|but|and|so|in|on|for|as|at|by|with|another|both|such|some|most|to|of|only|then|not|no)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{2,4} +(?:\d+(?:\.\d+)*\.? +)?(.{6,70}?)[ #]*$", re.MULTILINE)
_SAYS_NOTHING = re.compile(
    r"(?:table of )?contents|introduction|overview|summary|abstract|references|conclusions?|appendix|background|notes",
    re.IGNORECASE,
)
_WITH_HEADINGS = ("text/markdown", "text/html", "application/vnd.openxmlformats")


async def questions_about(opened: Services, collection: str, wanted: int = 3) -> list[str]:
    """At most `wanted` questions: of each document its best one, definitions first; then the second ones."""
    listed = await list_documents(opened, collection, limit=200)
    indexed = [document for document in listed if document.status == "indexed"]
    step = max(1, len(indexed) // LOOKED_AT)
    made: list[tuple[int, int, str]] = []
    for document in indexed[::step][:LOOKED_AT]:
        _, text = await get_document(opened, collection, document.id)
        found = questions_in(document, (text or "")[:TEXT_START])
        made += [(turn, kind, question) for turn, (kind, question) in enumerate(found)]
    ordered = sorted(made, key=lambda item: item[:2])
    return list(dict.fromkeys(question for _, _, question in ordered))[:wanted]


def questions_in(document: Document, text: str) -> list[tuple[int, str]]:
    """(kind, question), best first; kind 0 asks for a definition, 1 for a section, 2 for the document. Pure."""
    made = [(0, question) for question in _definitions(text)][:3]
    if document.media_type.startswith(_WITH_HEADINGS):
        made += [(1, f"What is said about {heading}?") for heading in _sections(text)][:3]
    return [*made, (2, f"What is {document.title} about?")]


def _definitions(text: str) -> Iterator[str]:
    for found in _DEFINITION.finditer(" ".join(text.split())):
        name, verb = re.split(r" (?=(?:A|An|The) )", found[1])[-1], found[2]
        if not _POINTS_ELSEWHERE.match(name) and not _POINTS_ELSEWHERE.fullmatch(name.split()[-1]):
            yield f"What {verb} {re.sub(r'^(A|An|The) ', lambda article: article[0].lower(), name)}?"


def _sections(text: str) -> Iterator[str]:
    """Headings below the title whose section speaks of them."""
    found = list(_HEADING.finditer(text))
    ends = [*(following.start() for following in found[1:]), len(text)]
    for heading, end in zip(found, ends, strict=False):
        name, prose = heading[1].strip("*_`:"), text[heading.end() : end].strip().lower()
        words = re.findall(r"\w{4,}", name.lower())
        spoken_of = sum(word[:5] in prose for word in words) * 3 >= len(words) * 2
        if (
            words
            and spoken_of
            and name[0].isalpha()
            and len(prose) >= SECTION_PROSE
            and not _SAYS_NOTHING.fullmatch(name)
        ):
            yield name
