"""Who asks what a manual has as a heading is answered by the beginning of that section."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.answer.asked_heading import ends_with_asked, is_below_asked, with_section_first
from cairn.answer.candidates import candidates
from cairn.answer.extract import extract
from tests.unit.test_extract import SETTINGS, WordEmbedder, ask, passage


def is_asked(question: str, heading: str) -> bool:
    found = candidates([passage(f"# Manual\n\n{heading}\n\nIt is old, and it lies on the ridge.\n")])
    return bool(is_below_asked(question, found)[-1])


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("What does mise activate do?", "## What does `mise activate` do?"),
        ("what does MISE activate do", "## What does `mise activate` do? {#activate}"),
        ("What does it do?", "### 3. What does it do?"),
        ("What does it do?", "**What does it do?**"),
        ("What does it do?", "What does it do?"),
        ("How is nodejs unlike node?", '## How is "nodejs" unlike "node" (or "golang" unlike "go")?'),
        ("¿Qué hace la grabación?", "## Qué hace la grabación"),
        ("error: no tasks build found", "## no tasks `<name>` found"),
        ("What means “node@20.1.0 not installed”?", "## <tool>@<version> not installed"),
        ("set it now", "## Set it now"),
    ],
)
def test_a_heading_in_the_words_of_the_question_is_found(question: str, heading: str) -> None:
    assert is_asked(question, heading)


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("What does mise activate do?", "## What does `mise deactivate` do?"),
        ("What does it do?", "## What does it do in winter?"),
        ("Set it", "## Set it"),  # two words are a name
        ("error: no tasks found", "## no tasks `<name>` found"),
        ("is node not installed?", "## <tool>@<version> not installed"),
        ("@20 not installed", "## <tool>@<version> not installed"),
        ("node@ not installed", "## <tool>@<version> not installed"),
        ("what is node needed", "## <name> needed"),  # one word beside it
        ("How do I get the last element of an array?", "## The `<button>` element"),
        ("How do I set the clock?", "## Set the `<title>`"),
    ],
)
def test_another_heading_is_not(question: str, heading: str) -> None:
    assert not is_asked(question, heading)


MANUAL = (
    "# Questions\n\n## Does it walk?\n\nA hook is put in the shell. It runs whenever the prompt is shown.\n\n"
    "Whether it does walk you can see: it does walk.\n\n## Walking\n\nIt does walk.\n"
)


def test_the_first_place_of_the_section_comes_first() -> None:
    passages = [passage(MANUAL)]
    found = candidates(passages)
    below = is_below_asked("Does it walk?", found)
    made = with_section_first(range(len(found) - 1, -1, -1), below, found, passages)
    assert found[made[0]].text == "A hook is put in the shell."
    assert sorted(made) == [*range(len(found))]
    assert with_section_first([1, 0, 2], np.zeros(len(found), np.bool_), found, passages) == [1, 0, 2]


async def test_the_section_is_quoted_from_its_first_sentence() -> None:
    draft = await ask("Does it walk?", passage(MANUAL))
    assert draft.citations[0].quote.startswith("A hook is put in the shell.")


async def test_what_is_asked_for_by_its_form_is_quoted_from_where_the_section_says_it() -> None:
    text = "# Bridge\n\n## When was the bridge built?\n\nThe bridge is old. The bridge was built in 1842.\n"
    draft = await ask("When was the bridge built?", passage(text))
    assert "1842" in draft.citations[0].quote


@pytest.mark.parametrize(("gap", "begins"), [(286, True), (287, False)])  # 300, or one more, with the heading
async def test_a_passage_without_the_heading_begins_the_section_where_the_document_says_so(
    gap: int, *, begins: bool
) -> None:
    content = "A hook is put in the shell. It runs whenever the prompt is shown.\n\nThat it does walk you can see.\n"
    document = "x\n\nDoes it walk?\n" + "\n" * gap + content
    one = passage(content, len(document) - len(content), headings=("Questions", "Does it walk?"))

    async def between(_: object, start: int, end: int) -> str:
        return document[start:end]

    draft = await extract("Does it walk?", [one], WordEmbedder(), SETTINGS, between=between)
    assert draft.citations[0].quote.startswith("A hook") is begins


@pytest.mark.parametrize(
    ("before", "ends"),
    [
        ("# A\n\n## Does it walk?\n\n", True),
        ("Does it walk?\n=============\n", True),
        ("1. **Does it walk?**\n", True),
        ("## Does it walk?\n\nIt is old.\n", False),
        ("", False),
    ],
)
def test_a_section_begins_behind_its_heading(before: str, *, ends: bool) -> None:
    assert ends_with_asked("Does it walk?", before) is ends
