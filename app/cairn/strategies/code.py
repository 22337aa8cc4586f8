"""Questions about code, answered by its symbols: who calls, imports, inherits; where something is defined, what it takes, returns
and raises. Every line has its file, its number and its quotation; what could not be resolved is listed apart, and an answer is
complete only where nothing is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from cairn.answer.cite import citation
from cairn.domain.answer import Citation, Coverage, Draft, Origin
from cairn.domain.code import CodeFinding, CodeSubject, SymbolPlace
from cairn.domain.event import Progress, Token
from cairn.domain.passage import Passage
from cairn.runs.context import Outcome, Run
from cairn.runs.progress import NAMED, counted
from cairn.strategies.code_words import write_finding

NOUNS: Final[Mapping[tuple[str, bool], str]] = {
    ("calls", True): "callers",
    ("calls", False): "calls",
    ("inherits", True): "subclasses",
    ("inherits", False): "bases",
    ("imports", True): "importers",
    ("imports", False): "imports",
    ("contains", True): "holders",
    ("contains", False): "members",
}
LONGEST_QUOTE: Final = 250
"""Code points of a line that is quoted."""
LISTED: Final = 50
"""Known lines of a symbol that an answer names, and as many unresolved ones; the rest is counted."""


UNRESOLVED: Final = 0.25
"""How sure an answer is that shows only lines of which nothing tells: not an answer (below cairn.answer.confidence.SURE)."""


async def code(run: Run) -> Outcome:
    """Raises CairnError."""
    began, findings = time.perf_counter(), run.code
    asked = list(dict.fromkeys(one.query.name or one.query.path for one in findings))
    run.emit(
        Progress("retrieve", 40, f"Looking up {', '.join(asked[:NAMED])} in the code", numbers={"symbols": len(asked)})
    )
    places = list(dict.fromkeys(place for finding in findings for place in _shown(finding)))
    sources = await run.deps.library.passages([place.passage_id for place in places])
    cited = _citations(places, sources, from_end=any(one.query.aspect == "returns" for one in findings))
    text = "\n\n".join(write_finding(run.plan.language, finding, cited, LISTED) for finding in findings)
    sure = min(map(_sureness, findings))
    draft = Draft(text, tuple(cited.values()), any(one.subjects for one in findings), sure)
    run.record.spent("answer", began)
    run.emit(Progress("generate", 85, f"Listing {counted(len(cited), 'place')}", numbers={"places": len(cited)}))
    run.emit(Token(text))
    first = findings[0].query
    names = dict.fromkeys(one.name for finding in findings for one in finding.subjects)
    more = {"symbols": list(names), "relation": first.relation or first.aspect}
    coverage = _coverage_of_all(findings)
    origin: Origin = "exact" if coverage.complete else "recognised"
    return Outcome(draft, "graph", tuple(sources), confidence=sure, coverage=coverage, more=more, origin=origin)


def _sureness(finding: CodeFinding) -> float:
    """Whether what is shown first answers: a line that is known does; of one that could not be resolved nothing tells."""
    if not finding.subjects:
        return 0.0
    found = any(one.known for one in finding.subjects)
    return 1.0 if found or not finding.open_lines() else UNRESOLVED


def _shown(finding: CodeFinding) -> Iterator[SymbolPlace]:
    """Places in the order in which the answer names them."""
    declared = finding.query.relation is None
    for subject in finding.subjects:
        told = bool(subject.declaration and subject.declaration.told)
        if declared and subject.place and not told:
            yield subject.place
        yield from (one.place for one in subject.known[:LISTED])
        yield from _statements(finding, subject)
        if (not declared or told) and subject.place:
            yield subject.place
    yield from (one.place for one in finding.open_lines()[:LISTED])
    yield from (one.place for one in finding.seen)


def _statements(finding: CodeFinding, subject: CodeSubject) -> Iterator[SymbolPlace]:
    if subject.declaration and finding.query.aspect == "returns":
        yield from (one.place for one in subject.declaration.gives)
    if subject.declaration and finding.query.aspect == "raises":
        yield from (one.place for one in subject.declaration.raises)


def _citations(
    places: Sequence[SymbolPlace], sources: Sequence[Passage], *, from_end: bool
) -> dict[SymbolPlace, Citation]:
    """The lines of each place, in order; a place whose passage is gone has none. `from_end`: of long ones the last count."""
    by_id: dict[UUID, Passage] = {passage.passage_id: passage for passage in sources}
    made: dict[SymbolPlace, Citation] = {}
    for place in places:
        passage = by_id.get(place.passage_id)
        at = place.start - passage.start if passage else -1
        if passage is not None and 0 <= at < len(passage.content):
            made[place] = citation(
                len(made) + 1, passage, _quoted(passage.content, at, place.end - passage.start, from_end=from_end)
            )
    return made


def _quoted(content: str, start: int, end: int, *, from_end: bool) -> tuple[int, int]:
    """The lines from start to end without what stands around them; of long ones a part."""
    first = content.rfind("\n", 0, start) + 1
    last = content.find("\n", max(min(end, len(content)) - 1, start))
    last = last if last >= 0 else len(content)
    if last - first > LONGEST_QUOTE and from_end:
        first = content.find("\n", last - LONGEST_QUOTE, last) + 1 or last - LONGEST_QUOTE
    elif last - first > LONGEST_QUOTE:
        first, last = (
            (start, min(last, start + LONGEST_QUOTE)) if start - first > 50 else (first, first + LONGEST_QUOTE)
        )
    line = content[first:last]
    first += len(line) - len(line.lstrip())
    return first, first + max(1, len(line.strip()))


def _coverage_of_all(findings: Sequence[CodeFinding]) -> Coverage:
    """Of several parts together; the unit is the first one's where all count the same."""
    parts = [_coverage(finding) for finding in findings]
    unit = parts[0].unit if len({part.unit for part in parts}) == 1 else "lines"
    return Coverage(
        all(part.complete for part in parts), sum(part.read for part in parts), sum(part.of for part in parts), unit
    )


def _coverage(finding: CodeFinding) -> Coverage:
    """Of the lines that may belong to what was asked those that do for sure; complete only where that is all."""
    if finding.query.relation is None or not finding.subjects:
        count = len(finding.subjects)
        return Coverage(not finding.left_out, count, count + len(finding.left_out), "definitions")
    known = sum(len(one.known) for one in finding.subjects)
    unresolved = len(finding.open_lines())
    noun = NOUNS[finding.query.relation, finding.query.incoming]
    whole = not unresolved and finding.complete and not finding.left_out
    return Coverage(whole, known, known + unresolved, noun)
