"""Who asks how something is done is answered below the heading that says what is done, and to what."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.answer.candidates import candidates
from cairn.answer.told_heading import Told, find_told, with_told_first
from tests.unit.test_extract import ask, passage

SECTION = "Put the old name in place of the tag of the default one. Then it is done."


def is_told(question: str, heading: str, text: str = SECTION) -> bool:
    passages = [passage(f"# Manual\n\nIt is old, and it lies on the ridge.\n\n{heading}\n\n{text}\n")]
    return bool(find_told(question, candidates(passages), passages).below[-1])


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("How do I create a superuser?", "### Create superuser"),
        ("How do I customize the table name?", "## Customizing the Table Name"),
        ("How do I create a user?", "## Creating users"),
        ("How do I add a label?", "## Adding labels"),
        ("How do I disable the default stylesheet?", "## Disable the stylesheet"),  # the section says "default"
        ("Wie kann ich Spalten umbenennen?", "## Spalten umbenennen"),
        ("How do I create a superuser in the manual?", "## Create superuser"),  # the title says "manual"
    ],
)
def test_a_heading_that_says_what_is_done_is_found(question: str, heading: str) -> None:
    assert is_told(question, heading)


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("How do I create a superuser?", "## Delete superuser"),
        ("How do I create a superuser?", "## Superuser"),  # one word names it
        ("How do I create a superuser?", "## Create superuser groups"),
        ("How do I disable the printed stylesheet?", "## Disable the stylesheet"),  # nothing below says "printed"
        ("How do I disable the old default stylesheet?", "## Disable the stylesheet"),  # two words
        ("How do I go up a hill?", "## Going hills"),  # "go" is too short to be known in "going"
        ("superuser", "## Superuser superuser"),
    ],
)
def test_another_heading_is_not(question: str, heading: str) -> None:
    assert not is_told(question, heading)


@pytest.mark.parametrize(
    ("title", "told"), [("Remove tickets", True), ("Tickets of guests", False), ("`remove tickets`", False)]
)
def test_a_title_tells_it_where_it_has_all_of_the_question_and_is_no_command(title: str, *, told: bool) -> None:
    passages = [passage(f"# {title}\n\nYou can remove them in the menu.\n")]
    assert find_told("How do I remove tickets of guests?" if "of" in title else "How do I remove tickets?",
                     candidates(passages), passages).below[0] == told  # fmt: skip


def test_the_heading_that_has_most_of_the_question_counts() -> None:
    text = "# Manual\n\n## Removing tags\n\nThe old ones go.\n\n## Removing old tags\n\nThe others stay.\n"
    passages = [passage(text)]
    assert [*find_told("How do I remove old tags?", candidates(passages), passages).below] == [False, True]


@pytest.mark.parametrize(
    ("scores", "first"),
    [
        ([5.0, 3.0, 2.5, 2.0], 2),  # right below the heading, and no code
        ([5.0, 3.0, 1.0, 2.0], 3),  # code, where that is near enough alone
        ([5.0, 3.0, 1.0, 1.0], 1),  # below a heading beneath it
        ([5.0, 1.0, 1.0, 1.0], 0),
        ([1.0, 2.0, 1.5, 1.0], 1),  # the best stands there already
    ],
)
def test_the_best_place_of_the_section_comes_first_where_it_is_near(scores: list[float], first: int) -> None:
    text = "It is old here.\n\nIt is low here.\n\nIt is new here.\n\n```\nremove it\n```\n"
    found = candidates([passage(text)])
    assert [one.unit.kind for one in found] == ["prose", "prose", "prose", "code"]
    told = Told(np.array([False, False, True, True]), np.array([False, True, True, True]))
    order = [int(at) for at in np.argsort(-np.array(scores), kind="stable")]
    assert with_told_first(order, told, found, np.array(scores), 3.0)[0] == first


async def test_the_section_is_quoted() -> None:
    text = (
        "# Manual\n\n## Users\n\nWhoever begins makes a superuser by hand.\n\n"
        "## Create superuser\n\nRun the tool that makes a superuser.\n"
    )
    draft = await ask("How do I create a superuser?", passage(text))
    assert draft.citations[0].quote.startswith("Run the tool")
