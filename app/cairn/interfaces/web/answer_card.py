"""What of an answer is shown first and large, and what around it. Pure.

An answer is one text; how it begins tells what it is: a value of a table's row, a number that was computed, a sentence that is
quoted with what stands around it, steps, code, a list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cairn.domain.question import SourceRef
from cairn.interfaces.web.prose import quotation_in
from cairn.language.blocks import block_at, blocks_in
from cairn.language.lexicon import languages
from cairn.language.sentences import Span
from cairn.language.tables import Row, Table, tables_in

LONGEST_VALUE: Final = 60
"""Characters that are shown as large as a value."""
LONGEST_LEAD: Final = 320
"""Of a sentence that stands first; longer ones are text."""
LONG_BODY: Final = 600  # bound: tests/unit/test_answer_card.py
"""Of what stands around it, before it is folded; steps, lists and code never are."""
LONG_ALSO: Final = 400  # bound: tests/unit/test_answer_card.py
"""Of what else may answer, before it is folded."""
ROWS_AROUND: Final = 2
"""Rows of a table that are shown before the one that answers, and behind it."""
_LAST_CITE: Final = re.compile(r"\s?\[\d{1,3}\]\Z")
_CITES_HERE: Final = re.compile(r"(?:[ \t]?\[\d{1,3}\])+")
_ALSO: Final = tuple(
    f"\n\n{said}\n- " for one in languages() for said in (one.replies.perhaps, one.replies.also) if said
)
_STEP: Final = re.compile(r"\d{1,3}[.)] ")
_DIGIT: Final = re.compile(r"\d")
_IN_ONE_LINE: Final = re.compile(r"\s+")
_AS_A_BLOCK: Final = re.compile(r"\A(\d*)([-+#>.)])")
"""What Markdown would take for a list, a heading or a quotation: a value such as "- 1,234" or "1." is none."""


@dataclass(frozen=True, slots=True)
class AnswerCard:
    """`value`: a number or a name that answers, with the numbers of its sources; `about`: of what. `lead`: the sentence, where
    there is no value. `body`: what stands around, `marks` in it. `also`: what else may answer."""

    value: str = ""
    about: str = ""
    lead: str = ""
    body: str = ""
    marks: tuple[Span, ...] = ()
    also: str = ""

    @property
    def folded(self) -> bool:
        """Whether the body is too long to be shown at once beside what answers, and is text or a table around it."""
        if not (self.value or self.lead) or len(self.body) <= LONG_BODY:
            return False
        return not any(block.kind in ("list", "code") for block in blocks_in(self.body))

    @property
    def also_folded(self) -> bool:
        """Whether what else may answer would push what answers out of sight."""
        return len(self.also) > LONG_ALSO


def card_of(text: str, sources: tuple[SourceRef, ...], notes: Mapping[str, Any]) -> AnswerCard:
    """`notes`: what a conversation keeps of an answer besides its text."""
    begins = min((at for said in _ALSO if (at := text.find(said)) > 0), default=len(text))
    text, further = text[:begins], text[begins:].strip("\n")
    made = _made_of(text.strip(), sources, notes)
    return AnswerCard(made.value, made.about, made.lead, made.body, made.marks, further)


def _split_cites(line: str) -> tuple[str, str]:
    """A line, and the numbers of sources at its end."""
    at = end = len(line.rstrip(" \t"))
    while found := _LAST_CITE.search(line, max(0, at - 6), at):
        at = found.start()
    return (line[:at], line[at:]) if at < end else (line, "")


def _without_lonely_cites(text: str) -> str:
    """Numbers of sources alone in the last line, as behind code: the chips below say as much."""
    before, line, last = text.rpartition("\n")
    return before.rstrip() if line and not _CITES_HERE.sub("", last).strip() else text


def _made_of(text: str, sources: tuple[SourceRef, ...], notes: Mapping[str, Any]) -> AnswerCard:
    if notes.get("grounded") is not None:
        return _sentence_first(text)
    first, _, rest = text.partition("\n\n")
    table = next(iter(tables_in(rest)), None)
    if table and not rest[: table.span[0]].strip() and (row := _from_row(first, rest, table)):
        return row
    if notes.get("confidence_word") == "computed" and "\n" not in first:
        shown = len(_split_cites(first)[0])
        return AnswerCard(value=first, body=rest) if shown <= LONGEST_VALUE else AnswerCard(lead=first, body=rest)
    if not sources:
        return AnswerCard(body=text)  # small talk, a question back
    span = quotation_in(text, sources)
    return _around(text, span) if span else _sentence_first(text)


def _sentence_first(text: str) -> AnswerCard:
    """A first paragraph of one line that is short, or announces a list; other text is as it is."""
    first, _, rest = text.partition("\n")
    is_text = not first.startswith(("#", "-", "*", "|", "`", ">", "1."))
    if (
        is_text
        and len(first) <= LONGEST_LEAD
        and (not rest or rest.startswith("\n") or _split_cites(first)[0].endswith(":"))
    ):
        return AnswerCard(lead=first, body=rest.strip("\n"))
    return AnswerCard(body=text)


def _around(text: str, span: Span) -> AnswerCard:
    """A sentence of a paragraph stands first; steps, code and lists are the answer as they are, with the quotation marked."""
    start, end = span
    blocks = blocks_in(text)
    at = block_at(blocks, start)
    cites = _CITES_HERE.match(text, end)
    behind = cites.end() if cites else end
    said = text[start:end]
    if at is not None and (blocks[at].kind == "code" or _STEP.match(text, blocks[at].start)):
        return AnswerCard(body=_without_lonely_cites(text))  # all of it answers
    if at is None or blocks[at].kind != "prose" or "\n" in said.strip() or len(said) > LONGEST_LEAD:
        return AnswerCard(body=text, marks=(span,))
    lead = _balanced(said) + text[end:behind]
    if not text[:start].strip(" *_`\"'(\n"):
        return AnswerCard(lead=lead, body=text[behind:].strip())
    return AnswerCard(lead=lead, body=text, marks=(span,))


def _balanced(said: str) -> str:
    """Without marks of emphasis or code that have no partner."""
    for mark in ("**", "`"):
        if said.count(mark) % 2:
            said = said.replace(mark, "")
    return said


def _from_row(first: str, body: str, table: Table) -> AnswerCard | None:
    """A row of the table below: its value, what it is of, and the rows around it with the cell marked."""
    line, tail = _split_cites(first)
    if "\n" in line:
        return None
    found = _named_cell(line, table) or _told_cells(line, table)
    if found is None:
        return None
    at, column, about = found
    cells = table.rows[at]
    value = cells.cells[column].strip()
    shown, mark = _rows_around(body, table, at, cells.cell_spans[column])
    if not value or len(value) > LONGEST_VALUE:
        return AnswerCard(lead=first, body=shown, marks=(mark,))
    return AnswerCard(value=_AS_A_BLOCK.sub(r"\1\\\2", value) + tail, about=about, body=shown, marks=(mark,))


def _named_cell(line: str, table: Table) -> tuple[int, int, str] | None:
    """`label | column | value`: the row and column of it."""
    *about, value = line.split(" | ")
    if not about:
        return None
    label, column = about[0], about[-1] if len(about) > 1 else ""
    best: tuple[int, int, int] | None = None
    for at, row in enumerate(table.rows):
        for place, cell in enumerate(row.cells):
            if cell.strip() != value.strip() or (place == 0 and len(row.cells) > 1):
                continue
            header = table.header[place] if place < len(table.header) else ""
            fit = 2 * (bool(column) and _same(header, column)) + (_same(row.label, label) or label.endswith(row.label))
            if best is None or fit > best[0]:
                best = fit, at, place
    return (best[1], best[2], _name(*about)) if best else None


def _told_cells(line: str, table: Table) -> tuple[int, int, str] | None:
    """`label: column value; column value`: the row, and the first of at most two that has a figure."""
    label, colon, told = line.partition(": ")
    if not colon:
        return None
    for at, row in enumerate(table.rows):
        if not _same(row.label, label.rpartition(" / ")[2]):
            continue
        places = [
            place for place, cell in enumerate(row.cells[: len(table.header)])
            if place and cell.strip() and f"{table.header[place]} {cell}".strip() in told
        ]  # fmt: skip
        if not 0 < len(places) <= 2:
            continue
        place = next((one for one in places if _DIGIT.search(row.cells[one])), places[0])
        return at, place, _name(label, table.header[place])
    return None


def _same(one: str, other: str) -> bool:
    return _IN_ONE_LINE.sub(" ", one).strip() == _IN_ONE_LINE.sub(" ", other).strip()


def _name(*parts: str) -> str:
    """As a reader says it: groups and the headers above a column, in order."""
    return " · ".join(part.replace(", / ", ", ").replace(" / ", " › ").strip() for part in parts if part.strip())


def _rows_around(body: str, table: Table, at: int, cell: Span) -> tuple[str, Span]:
    """The table with the rows next to one, and where the cell stands in it."""
    kept: list[Row] = [row for place, row in enumerate(table.rows) if abs(place - at) <= ROWS_AROUND]
    header = body[table.header_span[0] : table.header_span[1]].rstrip("\n")
    parts = [header] if header else []
    mark = (0, 0)
    for row in kept:
        start = body.rfind("\n", 0, row.start) + 1
        end = body.find("\n", row.end)
        end = len(body) if end < 0 else end
        if row is table.rows[at]:
            offset = sum(len(part) + 1 for part in parts) - start
            mark = cell[0] + offset, cell[1] + offset
        parts.append(body[start:end])
    return "\n".join(parts) + "\n" + body[table.span[1] :], mark
