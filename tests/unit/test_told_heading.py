"""Who asks how something is done is answered below the heading that says what is done, and to what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cairn.answer.candidates import candidates
from cairn.answer.extract import extract
from cairn.answer.told_heading import Told, find_told, with_told_first
from tests.unit.test_extract import SETTINGS, WordEmbedder, ask, passage

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
        ("Comment configurer les réseaux ?", "## Configurer le réseau"),
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
        ("How do I configure a server?", "## Configure serverless"),
        ("superuser", "## Superuser superuser"),
    ],
)
def test_another_heading_is_not(question: str, heading: str) -> None:
    assert not is_told(question, heading)


@pytest.mark.parametrize(
    ("question", "title", "told"),
    [
        ("How do I remove tickets?", "Remove tickets", True),
        ("How do I remove tickets?", "`remove tickets`", False),  # a command
        ("How do I remove tickets of guests?", "Tickets of guests", False),  # what all of it is about
    ],
)
def test_a_title_tells_it_where_it_has_all_of_the_question_and_is_no_command(
    question: str, title: str, *, told: bool
) -> None:
    one = passage("You can remove them in the menu.\n", title=title, headings=(title.strip("`"),))
    assert find_told(question, candidates([one]), [one]).below[0] == told


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
        "# Manual\n\n## Users\n\nA superuser may be made there.\n\n## Create superuser\n\nRun the tool with the name.\n"
    )
    draft = await ask("How do I create a superuser?", passage(text))
    assert draft.citations[0].quote.startswith("Run the tool")


@pytest.mark.parametrize(("heading", "shown"), [("Create superuser", True), ("Superuser", False)])
async def test_the_section_is_shown_however_unsure(heading: str, *, shown: bool) -> None:
    one = passage(f"# Manual\n\n## {heading}\n\nRun the tool that makes a superuser.\n")
    draft = await extract("How do I create a superuser?", [one], WordEmbedder(), SETTINGS, enough=1.1)
    assert draft.found is shown


async def test_what_is_right_below_is_read_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    promised: list[bool] = []

    async def read(*given: Any) -> None:
        promised.extend(given[-1])

    monkeypatch.setattr("cairn.answer.extract.read_candidates", read)
    text = "# Manual\n\nIt is an old tool here.\n\n## Create superuser\n\nRun the tool that makes a superuser.\n"
    by: Any = object()
    await extract("How do I create a superuser?", [passage(text)], WordEmbedder(), SETTINGS, by=by)
    assert promised == [False, True]
