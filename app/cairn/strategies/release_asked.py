"""Questions that name a release: "What changed in 0.28.0?", "When was 0.27.0 released?". The section stands in a change log, and
seldom in a passage that was found: of fifty releases the words are much the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cairn.answer.answer_type import read_asked
from cairn.answer.change_log import ReleaseSection, find_release, has_version, is_change_log, release_asked
from cairn.answer.release_told import LONGEST, as_section, tell_date, tell_release
from cairn.answer.sections_below import MOST_MARKS
from cairn.domain.answer import Draft
from cairn.domain.document import Landmark
from cairn.domain.passage import Passage
from cairn.runs.context import Run

MOST_LOGS: Final = 2
"""Change logs that are looked through."""
MOST_READ: Final = 10
"""Times that MOST_MARKS beginnings of sections are read of one."""


async def tell_asked_release(run: Run, question: str, passages: Sequence[Passage], first: int) -> Draft | None:
    """The section of the release that the question names, or its date; None where it asks something else, or no change log that
    was found has it."""
    if not has_version(question):
        return None
    logs = {one.document_id: one for one in passages if not one.url and is_change_log(one)}
    asked = read_asked(question)
    for log in list(logs.values())[:MOST_LOGS]:
        version = release_asked(question, asked, (log.title, log.external_id.replace("/", " "), log.collection))
        if not version:
            return None
        section = await _find(run, log, version, question)
        if section is None:
            continue
        held = (await run.deps.library.passages_at(log.document_id, [section.start])).get(section.start)
        end = min(section.end, section.start + LONGEST)
        text = await run.deps.library.text_between(log.document_id, log.version, section.start, end)
        if held is None or not text or held.version != log.version:
            continue
        whole = as_section(held, text, section)
        told = tell_date(whole, first) if asked.time else tell_release(whole, first)
        if told:
            return told
    return None


async def _find(run: Run, log: Passage, version: str, question: str) -> ReleaseSection | None:
    marks: list[Landmark] = []
    for _ in range(MOST_READ):
        more = await run.deps.library.marks_behind(log.document_id, marks[-1].start + 1 if marks else 0)
        marks += more
        if len(more) < MOST_MARKS:
            break
    return find_release(marks, version, question)
