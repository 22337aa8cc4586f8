"""Citations: from a passage and a span to a checked quote, and from a model's `[n]` to the sentence that supports it.

Everything here is pure. A citation's quote always equals the document's text at its span, because it is cut from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from cairn.answer.attribution import Holders
from cairn.answer.refusal import is_refusal
from cairn.domain.answer import Citation
from cairn.domain.document import landmark_at
from cairn.domain.passage import Passage
from cairn.language.linear import bounded
from cairn.language.sentences import Span, Unit, split_sentences, split_units
from cairn.language.text import normalise
from cairn.language.tokens import terms


def citation(n: int, passage: Passage, span: Span) -> Citation:
    """`[n]` for a span of the passage's content, with the page and section of the quote itself.

    The chunk is named where it overlaps the quote.
    """
    start, end = passage.start + span[0], passage.start + span[1]
    matched = passage.matched
    place = landmark_at(passage.landmarks, start) if passage.landmarks else None
    return Citation(
        n=n,
        document_id=passage.document_id,
        external_id=passage.external_id,
        passage_id=passage.passage_id,
        chunk_id=passage.chunk_id if matched and matched[0] < end and start < matched[1] else None,
        title=passage.title,
        headings=place.headings if place else passage.headings,
        page=place.page if place else passage.page,
        quote=passage.content[span[0] : span[1]],
        start=start,
        end=end,
        version=passage.version,
        url=passage.url,
    )


# --- what a model wrote ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cited:
    """Text whose `[n]` are exactly the citations 1..m; `stripped` counts numbers that named no source."""

    text: str
    citations: tuple[Citation, ...]
    stripped: int


@dataclass(slots=True)
class _Book:
    """Citations in order of first appearance; one span of one passage has one number."""

    sources: Sequence[Passage]
    numbers: dict[tuple[int, Span], int] = field(default_factory=dict)
    stripped: int = 0
    spans: dict[int, list[Span]] = field(default_factory=dict)

    def number(self, source: int, claim: str) -> int:
        if source not in self.spans:
            self.spans[source] = split_sentences(self.sources[source].content)
        span = supporting_span(claim, self.sources[source].content, self.spans[source])
        return self.numbers.setdefault((source, span), len(self.numbers) + 1)


def cite(text: str, sources: Sequence[Passage]) -> Cited:
    """Map the source numbers in a model's text (`[1]`, `[Source 2]`, `[1, 3]`, ...) to real spans.

    `sources[0]` is number 1. A number without a source is removed from the text. A sentence whose cited sources do not hold it
    cites the one that does, where there is one; a sentence that cites none, too. Each citation becomes the sentence of its
    source that supports the citing sentence best, or the quotation in it that stands there verbatim; the same span keeps its
    number, and numbers run 1..m in order of first appearance. Brackets in code are left alone.
    """
    book = _Book(sources)
    pieces: list[str] = []
    done = 0
    for edit in _edits(text, book):
        pieces += [text[done : edit.start], _rewritten(edit, book)]
        done = edit.end
    pieces.append(text[done:])
    made = tuple(citation(n, sources[source], span) for (source, span), n in book.numbers.items())
    return Cited("".join(pieces).strip(), made, book.stripped)


@dataclass(frozen=True, slots=True)
class _Edit:
    """What becomes of start..end of the text: `space`, and a mark for each of `cited`, places of sources."""

    start: int
    end: int
    space: str
    claim: str
    cited: Sequence[int]


def _edits(text: str, book: _Book) -> list[_Edit]:
    """Marks as they are rewritten, and new ones, in order."""
    bare = without_marks(text)
    units = split_units(bare)
    holders = Holders(book.sources, bare)
    marked: dict[Span, list[re.Match[str]]] = {}
    for mark in marks(text):
        before = [unit for unit in units if unit.start < mark.end()]
        unit = before[-1] if before else (units[0] if units else Unit(0, 0, "prose"))
        marked.setdefault((unit.start, unit.end), []).append(mark)
    edits = [edit for span, its in marked.items() for edit in _of_sentence(bare[span[0] : span[1]], its, book, holders)]
    if book.sources:
        edits += [
            edit for unit in units if (unit.start, unit.end) not in marked for edit in _added(bare, unit, holders)
        ]
    return sorted(edits, key=lambda edit: edit.start)


def _of_sentence(claim: str, its: Sequence[re.Match[str]], book: _Book, holders: Holders) -> Iterator[_Edit]:
    """The marks of a sentence; where another source holds it, the first mark names that one and the others go."""
    real: list[list[int]] = []
    for mark in its:
        named = named_sources(mark)
        real.append([n - 1 for n in named if 1 <= n <= len(book.sources)])
        book.stripped += len(named) - len(real[-1])
    cited = list(dict.fromkeys(place for places in real for place in places))
    kept = holders.holding(claim, cited) if cited else cited
    if kept != cited:
        first = next(at for at, places in enumerate(real) if places)
        real = [list(kept) if at == first else [] for at in range(len(its))]
    for mark, places in zip(its, real, strict=True):
        yield _Edit(mark.start(), mark.end(), mark[0][: len(mark[0]) - len(mark[0].lstrip())], claim, places)


_ENDING: Final = " \t\n.!…"
_OPEN_ENDS: Final = ":?"
"""What announces something, or asks, is supported by nothing."""


def _added(bare: str, unit: Unit, holders: Holders) -> Iterator[_Edit]:
    """A citation for a sentence that has none, before its full stop."""
    claim = bare[unit.start : unit.end]
    if unit.kind not in ("prose", "item") or claim.rstrip().endswith(tuple(_OPEN_ENDS)) or is_refusal(claim):
        return
    place = holders.holder(claim)
    if place is not None:
        at = unit.start + len(claim.rstrip(_ENDING))
        yield _Edit(at, at, " ", claim, [place])


def _rewritten(edit: _Edit, book: _Book) -> str:
    numbers = dict.fromkeys(book.number(place, edit.claim) for place in edit.cited)
    return edit.space + "".join(f"[{n}]" for n in numbers) if numbers else ""


# --- which sentence supports a claim --------------------------------------------------------------------------------

_QUOTED = bounded(r"[\"“”„«»]\s*([^\"“”„«»]{8,600}?)\s*[\"“”«»]")


def supporting_span(claim: str, content: str, spans: Sequence[Span]) -> Span:
    """Where `content` supports the claim best: a quotation of it that stands there, else the sentence in `spans` that
    shares most words with it (F1; the first among equals), else the whole content.
    """
    for quoted in _QUOTED.finditer(claim):
        at = content.find(quoted[1])
        if at >= 0:
            return at, at + len(quoted[1])
    wanted = set(terms(claim))
    best, best_score = (spans[0] if spans else (0, len(content))), 0.0
    for start, end in spans:
        held = set(terms(content[start:end]))
        score = 2 * len(wanted & held) / (len(wanted) + len(held)) if wanted or held else 0.0
        if score > best_score:
            best, best_score = (start, end), score
    return best


# --- how models cite ------------------------------------------------------------------------------------------------
# `[1]`, `[Source 2]`, `[1, 3]`, `[Source 1: notes.md (page 3)]`, `【1†source】`, `(Source 2)`

MOST_IN_RANGE: Final = 20  # bound: tests/unit/test_edges_answer.py
"""`[1-3]` means three sources; `[1-400]` is no list of sources."""

_WORD = r"(?:sources?|src|quellen?|fuentes?|documents?|docs?)"
_NUMBER = r"\d{1,4}(?:\s*[-–]\s*\d{1,4})?"
_AND = r"\s*(?:[,;&]|and|et|y|und)\s*"
_LIST = rf"{_WORD}?\s*\^?#?{_NUMBER}(?:{_AND}{_WORD}?\s*#?{_NUMBER})*"
_NAMED = rf"{_WORD}\s*#?{_NUMBER}(?:{_AND}{_WORD}?\s*#?{_NUMBER})*"
_LABEL = r"(?:\s*[:†,]\s*[^\[\]【】\n]{1,200}|\s*\(page\s+\d+\))?"
_MARK = bounded(
    rf"[ \t\u00a0]{{0,4}}(?:[\[【［]\s*(?P<numbers>{_LIST})\s*[\]】］]"
    rf"|[\[【［]\s*(?P<labelled>{_NAMED}|{_LIST}(?=†)){_LABEL}\s*[\]】］]"
    rf"|\(\s*(?P<named>{_NAMED})\s*\))(?!\()",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def marks(text: str) -> Iterator[re.Match[str]]:
    """Marks outside code, with the white space before them, in order."""
    code = [found.span() for found in _CODE.finditer(text)]
    for mark in _MARK.finditer(text):
        if not any(start <= mark.start() < end for start, end in code):
            yield mark


def named_sources(mark: re.Match[str]) -> list[int]:
    """The numbers in a mark, in order; a range stands for all in it."""
    numbers = mark["numbers"] or mark["labelled"] or mark["named"]
    return [n for found in _RANGE.finditer(numbers) for n in _listed(found)]


def _listed(found: re.Match[str]) -> list[int]:
    first, last = int(found[1]), int(found[2] or found[1])
    return list(range(first, last + 1)) if first <= last < first + MOST_IN_RANGE else [first]


_JOINER: Final = "\u2060"
"""Neither white space nor part of a word."""


def without_marks(text: str) -> str:
    """Marks blanked, not removed, so that everything else keeps its offset. Before a full stop they are blanked by
    joiners: after white space it would end no sentence."""
    bare = list(text)
    for mark in reversed(list(marks(text))):
        after = bare[mark.end()] if mark.end() < len(bare) else ""
        blank = _JOINER if after and after in f".!?…,;:){_JOINER}" else " "
        bare[mark.start() : mark.end()] = blank * (mark.end() - mark.start())
    return "".join(bare)


def unmarked(text: str) -> str:
    """Without marks: their numbers mean the sources of another answer."""
    pieces, done = [], 0
    for mark in marks(text):
        pieces.append(text[done : mark.start()])
        done = mark.end()
    return "".join((*pieces, text[done:]))


# --- quotations in an answer, and whether they stand in the sources ---------------------------------------------------

_QUOTATION = re.compile(
    r"\"([^\"\n]{1,1200})\"|“([^“”\n]{1,1200})”|„([^„“”\n]{1,1200})[“”]|«([^«»\n]{1,1200})»|»([^«»\n]{1,1200})«"
)
FEWEST_WORDS: Final = 3  # measured: tests/unit/test_edges_answer.py
"""Shorter ones are mostly terms, titles or irony ("cloud", "The Hobbit"), which quote nobody."""
_WHITE = re.compile(r"\s+")
_SAME = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "–": "-", "—": "-", "…": "..."}
)
_OMISSION = bounded(r"\s*(?:\[\s*(?:\.\.\.|…)\s*\]|\(\s*(?:\.\.\.|…)\s*\)|\.\.\.|…)\s*")
_EDGES: Final = " .,;:!?'\""


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words in quotation marks at `span` of the answer, marks included."""

    span: Span
    text: str


def quotations(answer: str) -> list[Quotation]:
    """Those of at least FEWEST_WORDS words, in order."""
    found = ((m.span(), next(g for g in m.groups() if g is not None)) for m in _QUOTATION.finditer(answer))
    return [Quotation(span, text) for span, text in found if len(text.split()) >= FEWEST_WORDS]


def stands_in(quotation: str, source: str) -> bool:
    """Whether the words stand in the source one after the other, white space and typography (kind of quotation marks,
    dashes) apart. A quotation with omissions ("a [...] b") needs its pieces, in order."""
    text, at = plain(source), 0
    for piece in _OMISSION.split(plain(quotation)):
        wanted = piece.strip(_EDGES)
        if (found := text.find(wanted, at)) < 0:
            return False
        at = found + len(wanted)
    return True


def plain(text: str) -> str:
    return _WHITE.sub(" ", normalise(text).translate(_SAME)).strip()


def missing_quotations(answer: str, sources: Sequence[str]) -> list[Quotation]:
    """Those that stand in no source."""
    return [found for found in quotations(answer) if not any(stands_in(found.text, source) for source in sources)]
