"""What happened to a source, told from two listings."""

from __future__ import annotations

import pytest

from cairn.connectors.changes import FEW, find_changes, refuse_deletions
from cairn.connectors.connector import RemoteFile
from cairn.domain.sources import KnownFile


def listed(**versions: str) -> list[RemoteFile]:
    return [
        RemoteFile(path, version, f"https://example.org/{path}", content_id=version)
        for path, version in versions.items()
    ]


def known(**versions: str) -> dict[str, KnownFile]:
    return {path: KnownFile(path, version, version) for path, version in versions.items()}


def test_files_are_new_changed_gone_and_as_they_were() -> None:
    changes = find_changes(listed(a="1", b="2", c="1"), known(b="1", c="1", d="9"))
    assert [file.path for file in changes.added] == ["a"]
    assert [file.path for file in changes.changed] == ["b"]
    assert (changes.gone, changes.unchanged, changes.moved) == (("d",), 1, {})


def test_a_moved_file_has_the_bytes_of_one_that_is_gone() -> None:
    changes = find_changes(listed(new="7", copy="7"), known(old="7"))
    assert changes.moved == {"new": "old"}
    assert {file.path for file in changes.added} == {"new", "copy"}
    assert not find_changes(listed(copy="7", old="7"), known(old="7")).moved


def test_bytes_that_a_source_does_not_name_tell_no_move() -> None:
    changes = find_changes([RemoteFile("new", "7", "x")], {"old": KnownFile("old", "7")})
    assert (changes.moved, changes.gone) == ({}, ("old",))


def refusal(there: int, gone: int, most_deleted: float = 0.5, *, emptied_before: bool = False) -> str | None:
    before = known(**{f"f{number}": "1" for number in range(there + gone)})
    now = listed(**{f"f{number}": "1" for number in range(there)})
    changes = find_changes(now, before)
    return refuse_deletions(changes, len(now), before, most_deleted=most_deleted, emptied_before=emptied_before)


@pytest.mark.parametrize(
    ("there", "gone", "share", "kept"),
    [
        (1, FEW, 0.5, False), (1, FEW + 1, 0.5, True), (50, 50, 0.5, False), (49, 51, 0.5, True), (1, 99, 1.0, False),
        (99, 1, 0, False),
    ],
)  # fmt: skip
def test_many_deletions_at_once_are_asked_about(there: int, gone: int, share: float, kept: bool) -> None:
    said = refusal(there, gone, share)
    assert (said is not None) == kept
    if said:
        assert f"{gone} of {there + gone} documents" in said


def test_an_empty_listing_is_believed_the_second_time() -> None:
    assert "lists no file, where 3 were" in (refusal(0, 3) or "")
    assert refusal(0, 3, emptied_before=True) is None


def test_what_was_moved_and_what_was_no_document_are_not_deleted() -> None:
    before = known(**{f"f{number}": str(number) for number in range(20)})
    now = [RemoteFile(f"x{number}", str(number), "x", content_id=str(number)) for number in range(20)]
    assert refuse_deletions(find_changes(now, before), 20, before, most_deleted=0, emptied_before=False) is None
    broken = {path: KnownFile(path, "1", error="unsupported") for path in before}
    assert refuse_deletions(find_changes([], broken), 0, broken, most_deleted=0, emptied_before=False) is None
