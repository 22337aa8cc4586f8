"""What /qa/ask says of its searches."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from cairn.domain.question import Question
from cairn.runs.context import Record
from cairn.service.qa import summarize_searches
from tests.unit.test_extract import passage
from tests.unit.test_task import answer


def test_what_was_found_by_name_or_in_the_session_was_found() -> None:
    question = Question("Where are tokens checked?", "default", uuid4())
    read = [passage(text) for text in ("In tokens.py.", "In keys.py.")]
    made = replace(answer(question), sources=(*read, read[0]))
    summary = summarize_searches(Record(question), made)
    assert (summary.found, summary.used) == (2, 2)
