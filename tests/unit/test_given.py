"""Answers that agents write themselves: cited, and with an end."""

from __future__ import annotations

from cairn.runs.context import Material
from cairn.strategies.agents.finish import cite_draft
from cairn.strategies.agents.policies.iterative import read_pass
from cairn.strategies.agents.tools.tool import LONGEST_ANSWER
from cairn.strategies.check import facts_as_sources

PASSAGES = facts_as_sources(["Employees have 30 days of leave per year."])
MATERIAL = Material("How many?", PASSAGES, 0.9, 1)


def test_a_model_that_goes_in_circles_is_cut_there() -> None:
    draft = cite_draft("There are 30 days [1]. " + "It is so. " * 50_000, MATERIAL)
    assert draft.text == "There are 30 days [1]. It is so."
    assert any("repeated itself" in told for told in draft.insufficiencies)


def test_an_answer_without_end_is_cut_after_a_sentence() -> None:
    draft = cite_draft(" ".join(f"Day {n} is a day of leave [1]." for n in range(5000)), MATERIAL)
    assert LONGEST_ANSWER - 100 < len(draft.text) <= LONGEST_ANSWER
    assert draft.text.endswith("is a day of leave [1].")
    assert any("too long" in told for told in draft.insufficiencies)


def test_a_good_answer_stays_as_it_is() -> None:
    draft = cite_draft("There are 30 days [1].", MATERIAL)
    assert (draft.text, draft.insufficiencies, len(draft.citations)) == ("There are 30 days [1].", (), 1)


def test_a_pass_is_read_to_a_limit() -> None:
    assert len(read_pass(None, "ANSWER:\n" + "x" * 10**6).answer) <= 30_000
