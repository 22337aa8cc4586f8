"""Who asks about an option, a setting or a variable by its name is answered where it has an entry of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cairn.answer.candidates import candidates
from cairn.answer.confidence import RIGHT_ENOUGH
from cairn.answer.extract import extract
from cairn.answer.named_entry import (
    LONGEST_HEAD,
    find_entries,
    find_own_places,
    has_label,
    name_asked,
    with_entry_first,
    without_entries_like_it,
)
from cairn.answer.reading import PROMISING, ReadBy, read_candidates
from cairn.providers.answer_reader import Stretch, StretchReading
from cairn.settings import AnswerSettings
from tests.unit.test_extract import WordEmbedder, passage

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
SENTENCES = (
    "# Exporter\n\nIf `-s` or `--split` is given, there is a file for each. They are small.\n\n"
    "The `-f` option replaces them. It can be used with `-s` and `--split`.\n"
)
KEYS = (
    "# Settings\n\n- `FROM`: who sends it\n- From all: who reads it\n- MODE: what it runs as\n\n## HTTP settings\n\n"
    "They are set for it. HTTP needs them.\n\n| Key | Meaning |\n| --- | --- |\n| HOST | where it runs |\n| HOST name | who |\n"
)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What does --keep-daily do?", "--keep-daily"), ("what is -d", "-d"), ("DNS_TIMEOUT default", "dns_timeout"),
        ("¿Qué valor tiene build.target?", "build.target"), ("Was macht die Variable $in?", "$in"),
        ("what does `ls` show", "ls"), ("what is the rule between loop_wait and ttl_max", None),
        ("Which PostgreSQL does NetBox want?", None),
        ("values of blockPullOrder", "blockpullorder"), ("on macOS and iPhone", None),
        ("What does PROTOCOL accept?", "protocol"), ("How are PEP and HTTP meant?", None), ("WHAT IS FROM?", None),
        ("What is FROM in `mail_from`?", "mail_from"), ("What is an IP?", None),
        ("Is it well-known?", None), ("What does HTTP/2 do?", None),
        ("Which values has the :safe option?", "safe"), ("what does :toc-title: set", "toc-title"), ("Is it at 10:30?", None),
        ("Where is https://host:port/a?", None), ("What does a::b do?", None), ("Note:this is it", None),
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
        (
            "What does --split do?",
            SENTENCES,
            ["If `-s` or `--split` is given, there is a file for each.", "They are small."],
        ),
        (
            "What does the option -f do?",
            SENTENCES,
            ["The `-f` option replaces them.", "It can be used with `-s` and `--split`."],
        ),
        ("What is FROM in the settings?", KEYS, ["`FROM`: who sends it"]),
        ("What is MODE?", KEYS, ["MODE: what it runs as"]),
        ("What is HOST?", KEYS, ["HOST | where it runs"]),
        ("What is HTTP?", KEYS, []),
        ("What is KEEP_ONE?", OPTIONS, ["`KEEP_ONE` | keeps one of them"]),
    ],
)
def test_an_entry_is_a_section_an_item_or_a_row(question: str, text: str, own: list[str]) -> None:
    assert entries(question, text) == own


@pytest.mark.parametrize(("behind", "first"), [(2.99, "Seconds"), (3.01, "The class")])
def test_an_entry_comes_before_what_only_mentions_the_name(behind: float, first: str) -> None:
    passages = [passage(SETTINGS)]
    found = candidates(passages)
    scores = np.array([0.0 if one.text.startswith("The class") else -behind for one in found])
    order = [int(at) for at in np.argsort(-scores, kind="stable")]
    question = "What is DNS_TIMEOUT?"
    made = with_entry_first(order, find_entries(question, found, passages), found, scores, question)
    assert sorted(made) == sorted(order)
    assert found[made[0]].text.startswith(first)


@pytest.mark.parametrize(("heading", "first"), [("Memory (RAM)", "At least 8 GB."), ("Memory", "RAM: 4 GB")])
def test_a_section_of_a_name_in_capitals_needs_no_entry(heading: str, first: str) -> None:
    passages = [
        passage(f"# Hardware\n\n## {heading}\n\nAt least 8 GB.\n\n## Old machines\n\n- RAM: 4 GB\n- CPU: two\n")
    ]
    found = candidates(passages)
    question = "How much RAM do I need?"
    made = with_entry_first([0, 1, 2], find_entries(question, found, passages), found, np.zeros(3), question)
    assert found[made[0]].text == first


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


ALIKE = (
    "# Settings\n\n## LANGUAGES=<list>\n\nAll that there are.\n\n"
    "## [`OCR_LANGUAGES=<list>`](#o)\n\nThose that are installed. By default there are five.\n\nSet OCR_LANGUAGE, too.\n\n"
    "## [`OCR_LANGUAGE=<code>`](#p)\n\nThe one that is read. OCR_LANGUAGES are installed.\n"
)


@pytest.mark.parametrize(
    ("question", "left_out"),
    [
        ("What is the default of OCR_LANGUAGE?", ["Those that are installed.", "By default there are five."]),
        ("What is the default of OCR_LANGUAGES?", ["The one that is read."]),
        ("OCR_LANGUAGE and OCR_LANGUAGES", []),
        ("What is the default of OCR_LANG?", []),
    ],
)
def test_an_entry_of_a_name_with_one_letter_more_is_left_out(question: str, left_out: list[str]) -> None:
    passages = [passage(ALIKE)]
    found = candidates(passages)
    kept = without_entries_like_it(question, found, passages, find_entries(question, found, passages))
    assert [one.text for one in found if one not in kept] == left_out


@pytest.mark.parametrize(
    ("question", "labelled"),
    [
        ("What replaces DB_POOL?", [True, False]), ("What is the replacement for DB_POOL?", [True, False]),
        ("Par quoi remplacer DB_POOL ?", [False, False]), ("What is DB_POOL?", [False, False]),
        ("Who replaces the tyres of DB_POOL?", [False, False]),
    ],
)  # fmt: skip
def test_of_a_row_the_column_that_is_asked_for_is_its_label(question: str, labelled: list[bool]) -> None:
    rows = "| DB_POOL | `pool.max` |\n| DB_MODE | |"
    found = candidates([passage(f"# Migration\n\n| Removed | Replacement in OPTIONS |\n| --- | --- |\n{rows}\n")])
    assert [has_label(one, question) for one in found] == labelled


class Noted:
    """A reader that doubts all, and notes what it was given."""

    name = "doubts all"

    def __init__(self, odds: float = -6.0) -> None:
        self.odds, self.given = odds, list[str]()

    async def read(self, question: str, stretches: Sequence[Stretch]) -> list[StretchReading]:
        self.given += [" ".join(one.units) for one in stretches]
        return [StretchReading(self.odds, (self.odds,) * len(one.units)) for one in stretches]

    async def close(self) -> None:
        """Holds nothing."""


@pytest.mark.parametrize(("behind", "is_read"), [(1.9, True), (2.1, False)])
async def test_an_entry_is_read_before_what_promises_little_more(behind: float, is_read: bool) -> None:
    said = [" ".join(f"Part {n} says {n * k} of this and that." for k in range(10, 22)) for n in range(1, 9)]
    filler = "\n\n".join(f"## Part {n}\n\n{text}" for n, text in enumerate(said))
    passages = [passage(f"# Tuning\n\n{filler}\n\n## max_open\n\nHow many are open at once, of all that there are.\n")]
    found = candidates(passages)
    entries = find_entries("What is max_open?", found, passages)
    words = np.where(entries, 0.0, behind / PROMISING["words"])
    reader = Noted()
    await read_candidates("What is max_open?", found, words, passages, ReadBy(reader, [()]), entries)
    assert any("open at once" in text for text in reader.given) is is_read


@pytest.mark.parametrize(("question", "odds", "shown"), [
    ("What does build.target do?", -4.1, True), ("What does build.target do?", -4.2, False),  # .082, .080
    ("What is the default of build.target?", -6.0, True),
])  # fmt: skip
async def test_an_entry_is_shown_although_the_reader_doubts_it(question: str, odds: float, shown: bool) -> None:
    passages = [passage(SETTINGS)]
    by = ReadBy(Noted(odds), [()])
    draft = await extract(question, passages, WordEmbedder(), AnswerSettings(), by=by)
    assert draft.found is shown
    assert draft.confidence < RIGHT_ENOUGH  # of any other place


def test_names_stand_at_the_head_of_an_entry() -> None:
    for length, own in ((LONGEST_HEAD, 1), (LONGEST_HEAD + 1, 0)):
        before = f"`--{'x' * (length - len('`--`, `-q'))}`, "
        assert len(entries("What does -q do?", f"# Options\n\n- {before}`-q`: is quiet about it\n")) == own


@pytest.mark.parametrize(
    ("question", "own"),
    [
        ("What does tool use do?", ["Installs it, and notes the version.", "Overwrites what is there."]),
        ("What is the --force flag of `tool use`?", ["Overwrites what is there."]),
        ("What does tool bootstrap use do?", ["Installs all of them at once."]),
        ("What is the --force flag?", ["Overwrites what is there."]),
        ("How do I use the tool?", []), ("What does the tool user do?", []), ("What is a tool for?", []),
    ],
)  # fmt: skip
def test_a_command_that_is_named_is_told_of_in_its_own_document(question: str, own: list[str]) -> None:
    pages = [
        passage("# Questions\n\nThe tool is not for all that there is.", title="Tool use"),
        passage("Installs it, and notes the version.\n\n## `--force`\n\nOverwrites what is there.", title="`tool use`"),
        passage("Installs all of them at once.", title="`tool bootstrap use`"),
    ]
    found = candidates(pages)
    places = find_own_places(question, found, pages, find_entries(question, found, pages))
    assert [one.text for one, is_own in zip(found, places, strict=True) if is_own] == own
