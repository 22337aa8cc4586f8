"""Who asks about an option, a setting or a variable by its name is answered where it has an entry of its own."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.answer.candidates import candidates
from cairn.answer.named_entry import (
    LONGEST_HEAD,
    OWN_ENOUGH,
    OWN_NEAR,
    OWN_PROMISE,
    find_entries,
    has_label,
    name_asked,
    with_entry_first,
)
from tests.unit.test_extract import passage

SETTINGS = (
    "# Settings\n\n## DNS_RESOLVER\n\nThe class that resolves names, which takes DNS_TIMEOUT into account.\n\n"
    "## DNS_TIMEOUT\n\nSeconds that it waits for an answer. Default: 60\n\n"
    "## build.target\n\n- **Type:** `string`\n- **Default:** `modern`\n\nOther values are taken, too.\n"
)
OPTIONS = (
    "# Forget\n\n- `-d`, `--keep-daily=0`: keep the last n daily ones. Not those\nof other hosts.\n"
    "- `--keep-within-daily=`: keep daily ones of a time\n- lb_policy is the name of the policy\n\n"
    "| Name | Meaning |\n| --- | --- |\n| `KEEP_ALL` | keeps all of them |\n| `KEEP_ONE` | keeps one of them |\n"
)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What does --keep-daily do?", "--keep-daily"), ("what is -d", "-d"), ("DNS_TIMEOUT default", "dns_timeout"),
        ("¿Qué valor tiene build.target?", "build.target"), ("Was macht die Variable $in?", "$in"),
        ("what does `ls` show", "ls"), ("what is the rule between loop_wait and ttl_max", None),
        ("Which PostgreSQL does NetBox want?", None),
        ("values of blockPullOrder", "blockpullorder"), ("on macOS and iPhone", None),
        ("Is it well-known?", None), ("What does HTTP/2 do?", None),
    ],
)  # fmt: skip
def test_the_name_of_an_option_or_setting_is_read(question: str, name: str | None) -> None:
    assert name_asked(question) == name


def entries(question: str, text: str) -> list[str]:
    passages = [passage(text)]
    found = candidates(passages)
    return [one.text for one, own in zip(found, find_entries(question, found, passages), strict=True) if own]


@pytest.mark.parametrize(
    ("question", "text", "own"),
    [
        ("What is DNS_TIMEOUT?", SETTINGS, ["Seconds that it waits for an answer."]),
        (
            "What is build.target?",
            SETTINGS,
            ["**Type:** `string`", "**Default:** `modern`", "Other values are taken, too."],
        ),
        (
            "What does --keep-daily do?",
            OPTIONS,
            ["`-d`, `--keep-daily=0`: keep the last n daily ones.", "Not those\nof other hosts."],
        ),
        ("What does --keep-within-daily do?", OPTIONS, ["`--keep-within-daily=`: keep daily ones of a time"]),
        ("What does -D do?", OPTIONS, []),
        ("What does --keep do?", OPTIONS, []),
        ("What is KEEP_ONE?", OPTIONS, ["`KEEP_ONE` | keeps one of them"]),
    ],
)
def test_an_entry_is_a_section_an_item_or_a_row(question: str, text: str, own: list[str]) -> None:
    assert entries(question, text) == own


@pytest.mark.parametrize(("behind", "first"), [(OWN_NEAR - 0.01, "Seconds"), (OWN_NEAR + 0.01, "The class")])
def test_an_entry_comes_before_what_only_mentions_the_name(behind: float, first: str) -> None:
    passages = [passage(SETTINGS)]
    found = candidates(passages)
    scores = np.array([0.0 if one.text.startswith("The class") else -behind for one in found])
    order = [int(at) for at in np.argsort(-scores, kind="stable")]
    question = "What is DNS_TIMEOUT?"
    made = with_entry_first(order, find_entries(question, found, passages), found, scores, question)
    assert sorted(made) == sorted(order)
    assert found[made[0]].text.startswith(first)


def test_of_an_entry_the_label_that_is_asked_for_comes_first() -> None:
    passages = [passage(SETTINGS)]
    found = candidates(passages)
    scores = np.linspace(0, -1, len(found))
    for question, first in (("What is the default of build.target?", "**Default:**"), ("build.target", "**Type:**")):
        made = with_entry_first(range(len(found)), find_entries(question, found, passages), found, scores, question)
        assert found[made[0]].text.startswith(first)
        assert has_label(found[made[0]], question) == (first == "**Default:**")


def test_the_name_itself_is_no_label_that_is_asked_for() -> None:
    found = candidates([passage("# Tuning\n\n- maxOpen: how many are open at once.\n- limit: of them, how many.\n")])
    assert not any(has_label(one, "What is maxOpen?") for one in found)
    assert [has_label(one, "What is the limit of maxOpen?") for one in found] == [False, True]


def test_numbers_of_entries() -> None:
    assert (OWN_NEAR, OWN_PROMISE, OWN_ENOUGH) == (3.0, 2.0, 0.08), "measured on eight manuals: docs/adr/0171"
    for length, own in ((LONGEST_HEAD, 1), (LONGEST_HEAD + 1, 0)):
        before = f"`--{'x' * (length - len('`--`, `-q'))}`, "
        assert len(entries("What does -q do?", f"# Options\n\n- {before}`-q`: is quiet about it\n")) == own
