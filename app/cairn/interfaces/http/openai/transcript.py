"""The text of an answer as a client of the OpenAI API gets it: what was streamed cannot be taken back.

Where the checked answer is the streamed text with other numbers, its citations take the numbers that the reader has seen. Where
it is another text, it follows after a line that says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from cairn.domain.answer import Answer, Citation
from cairn.domain.event import Answered
from cairn.interfaces.http.openai.dialogue import DialogueQuestion, Extension
from cairn.interfaces.http.query import CitationOut, answer_out
from cairn.language.outbound import without_links

REPLACED: Final = "\n\n---\nThe text above did not hold against the sources. The checked answer:\n\n"
_MARK: Final = re.compile(r"\[(\d{1,4})\]")
"""A citation in an answer."""


@dataclass(frozen=True, slots=True)
class SentText:
    """The end of a message: `rest` is what the client has not been sent, `text` all of it. `answer`: with its citations numbered
    as in the text; `begin`: where it begins there, in code points."""

    rest: str
    text: str
    answer: Answer
    replaced: bool
    begin: int = 0


class Transcript:
    """Collects what is sent."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        self._pieces.append(piece)

    def end(self, answered: Answered) -> SentText:
        """What is missing of the checked answer."""
        answer, sent = answered.answer, "".join(self._pieces)
        if answer.answer.startswith(sent):
            return SentText(answer.answer[len(sent) :], answer.answer, answer, replaced=False)
        if (renumbered := _as_shown(answer, sent)) is not None:
            return SentText("", sent, renumbered, replaced=False)
        rest = REPLACED + answer.answer
        return SentText(rest, sent + rest, answer, replaced=True, begin=len(sent) + len(REPLACED))


def _as_shown(answer: Answer, sent: str) -> Answer | None:
    """The answer with its citations numbered as in the text that was sent; None where the two differ in more than numbers."""
    if _MARK.sub("", sent).split() != _MARK.sub("", answer.answer).split():
        return None
    shown, checked = _MARK.findall(sent), _MARK.findall(answer.answer)
    numbers: dict[int, int] = {}
    for old, new in zip(shown, checked, strict=False):
        numbers.setdefault(int(new), int(old))
        if numbers[int(new)] != int(old):
            return None
    if len(shown) != len(checked) or len(set(numbers.values())) != len(numbers):
        return None
    return replace(answer, citations=tuple(_numbered(one, numbers) for one in answer.citations))


def _numbered(citation: Citation, numbers: Mapping[int, int]) -> Citation:
    return replace(citation, n=numbers.get(citation.n, citation.n))


# --- what stands beside the text ----------------------------------------------------------------------------------------


def citations_out(ending: SentText) -> list[CitationOut]:
    return answer_out(ending.answer).citations


def extension(ending: SentText, asked: DialogueQuestion) -> Extension:
    answer = ending.answer
    return Extension(
        run_id=str(answer.run_id), collection=asked.question.collection, strategy=answer.route.get("strategy"),
        answered=answer.answered, confidence=answer.confidence,
        confidence_word=answer.confidence_word, grounded=answer.grounded,
        coverage=asdict(answer.coverage), insufficiencies=list(answer.insufficiencies), degraded=list(answer.degraded),
        replaced=ending.replaced, ignored=list(asked.ignored),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CitationMark:
    """`[n]` in the text at start..end, with what it cites."""

    start: int
    end: int
    citation: Citation


def marks(ending: SentText) -> list[CitationMark]:
    """Every place where the answer cites something."""
    cited = {citation.n: citation for citation in ending.answer.citations}
    return [
        CitationMark(found.start(), found.end(), cited[int(found.group(1))])
        for found in _MARK.finditer(ending.text, ending.begin) if int(found.group(1)) in cited
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Links:
    """Where citations lead. `base`: the address of this server as its client knows it; `page`: the path of its page, "" where it
    has none."""

    base: str
    page: str

    def to(self, collection: str, citation: Citation) -> str:
        """The web page; or the page of Cairn, which shows the document with the quoted words marked; or the document's text,
        with the quoted characters in the fragment (RFC 5147)."""
        if citation.url is not None:
            return citation.url
        if not self.page:
            place = f"{self.base}/collections/{collection}/documents/{citation.document_id}"
            return f"{place}?include=text#char={citation.start},{citation.end}"
        shown = {
            "collection": collection, "document": citation.document_id, "version": citation.version, "start": citation.start,
            "end": citation.end, **({"page": citation.page} if citation.page else {}),
        }  # fmt: skip
        return f"{self.base}{self.page}/documents?{urlencode(shown)}"


def title_of(citation: Citation) -> str:
    return without_links(citation.title or citation.external_id, None) + (
        f", p. {citation.page}" if citation.page else ""
    )


def tokens_used(answer: Answer) -> tuple[int, int]:
    """Tokens that the chat model read and wrote for the answer, all its calls together; none where the answer is a quotation."""
    usage: Mapping[str, Any] = answer.usage
    return int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0)
