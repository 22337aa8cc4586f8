"""The questions over manuals that models are trained and fitted with (training/asked): each can be found in its manual."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from dataclasses import replace

from tests.benchmarks.asked import FOLDER, AskedOfManual, find_words, read_manuals

MANUALS = read_manuals()
with gzip.open(FOLDER / "questions.jsonl.gz", "rt", encoding="utf-8") as _lines:
    ROWS = [json.loads(line) for line in _lines]


def test_each_question_is_of_a_manual_and_has_a_place_in_one_of_its_files() -> None:
    for row in ROWS:
        files = MANUALS[row["manual"]]["files"]
        if row["style"] == "absent":
            assert not {"path", "start", "end", "key"} & row.keys(), row
        else:
            assert row["path"] in files, row
            assert row["start"] <= row["key"][0] < row["key"][1] <= row["end"], row


def test_each_manual_says_where_it_comes_from_and_what_it_is_used_for() -> None:
    for name, told in MANUALS.items():
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", told["repository"]), name
        assert re.fullmatch(r"[0-9a-f]{40}", told["commit"]), name
        assert told["licence"], name
        assert told["use"] in ("train", "fit", "exam"), name
    assert {row["manual"] for row in ROWS} == MANUALS.keys()


def test_manuals_of_one_shelf_have_one_use() -> None:
    """What is learnt from is not measured with."""
    uses = {(told["shelf"], told["use"]) for told in MANUALS.values()}
    assert len(uses) == len({shelf for shelf, _ in uses})


def test_no_question_is_asked_twice_of_a_manual() -> None:
    asked = Counter((row["manual"], row["question"]) for row in ROWS)
    assert max(asked.values()) == 1


def test_a_place_is_found_by_its_words_whatever_marks_stand_between() -> None:
    text = "Set the limit. Use `max_size = 10`, **at most**; then restart."
    assert find_words(text, "use max_size 10 at most") == (15, text.index("; then") - 2)
    assert find_words(text, "max_size = 11") is None
    assert find_words(text, "") is None
    start, end = find_words("İİİİ Set the limit to 10 now.", "Limit to 10") or (0, 0)
    assert "İİİİ Set the limit to 10 now."[start:end] == "limit to 10"


def test_a_short_key_is_said_only_where_its_quotation_is() -> None:
    asked = AskedOfManual("m", "s", "fit", "en", "plain", "How many?", "a.md", "up to **8** shelves", "8")
    assert asked.is_said_by("It holds up to 8 shelves.")
    assert not asked.is_said_by("Restart within 8 days.")
    signs = replace(asked, quote="Write `%` before it", key="%")
    assert signs.is_said_by("Write % before it.")
    assert not signs.is_said_by("Nothing.")
