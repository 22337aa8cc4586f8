"""What a listing means for what is known of a source."""

from __future__ import annotations

import pytest

from cairn.connectors.connector import RemoteFile
from cairn.connectors.plan_sync import KnownFile, find_moved, judge_deletions, plan_sync


def listing(**versions: str) -> dict[str, RemoteFile]:
    return {path: RemoteFile(path, version, f"https://example.org/{path}") for path, version in versions.items()}


def known(**versions: str) -> dict[str, KnownFile]:
    return {path: KnownFile(path, version) for path, version in versions.items()}


def test_new_changed_unchanged_and_gone_files_are_told_apart() -> None:
    plan = plan_sync(listing(a="1", b="2", c="1"), known(b="1", c="1", d="1"))
    assert (plan.new, plan.changed, plan.gone, plan.unchanged) == (("a",), ("b",), ("d",), 1)


def test_a_file_whose_reading_was_broken_off_is_read_again() -> None:
    assert plan_sync(listing(a="1"), known(a="")).changed == ("a",)


def test_a_file_that_failed_is_read_again_when_it_changes_or_somebody_asks() -> None:
    failed = {"a": KnownFile("a", "1", failed=True)}
    assert plan_sync(listing(a="1"), failed).changed == ()
    assert plan_sync(listing(a="2"), failed).changed == ("a",)
    assert plan_sync(listing(a="1"), failed, retry_failed=True).changed == ("a",)
    assert plan_sync(listing(a="1"), known(a="1"), retry_failed=True).changed == ()


@pytest.mark.parametrize(
    ("gone", "listed", "empty_before", "accepted", "verdict"),
    [
        (0, 4, 0, False, "delete"),
        (2, 2, 0, False, "delete"),  # half of four: not more than half
        (3, 1, 0, False, "pause"),
        (3, 1, 0, True, "delete"),
        (4, 0, 0, False, "keep"),
        (4, 0, 1, False, "pause"),  # believed, and still too much at once
        (4, 0, 0, True, "delete"),
    ],
)
def test_deletions_that_look_like_a_mishap_are_not_made(
    gone: int, listed: int, empty_before: int, accepted: bool, verdict: str
) -> None:
    found = judge_deletions(gone, 4, listed, most_deleted=0.5, empty_before=empty_before, accepted=accepted)
    assert found.verdict == verdict
    assert (found.note is None) == (verdict == "delete")


def test_the_second_empty_listing_is_believed_where_everything_may_go() -> None:
    assert judge_deletions(4, 4, 0, most_deleted=1, empty_before=0).verdict == "keep"
    assert judge_deletions(4, 4, 0, most_deleted=1, empty_before=1).verdict == "delete"


def test_a_file_with_the_bytes_of_one_that_is_gone_was_moved() -> None:
    assert find_moved({"b": "x", "c": "x", "d": "y"}, {"a": "x", "z": None, "n": "w"}) == {"a": "b"}
    assert find_moved({"b": "x", "c": "x"}, {"p": "x", "q": "x", "r": "x"}) == {"p": "b", "q": "c"}
