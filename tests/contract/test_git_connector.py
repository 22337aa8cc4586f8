"""A git repository as a source: a real one, served over HTTP by dulwich, on loopback."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from dulwich.objects import Blob
from dulwich.repo import Repo
from git_server import AUTHOR, Git
from source_servers import HOST, listed, opened, serving_wsgi

from cairn.connectors import git_connector
from cairn.connectors.connector import (
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    SourceUnreachable,
)


@pytest.fixture
def git(tmp_path: Path) -> Iterator[Git]:
    git_connector._kept.clear()
    made = Git(tmp_path / "docs.git")
    made.commit({"old.md": b"old"})
    made.commit({
        "a.md": b"A", "hr/leave.md": b"Leave", "hr/x/b.md": b"B", ".github/c.md": b"C", "link.md": (0o120000, b"/etc/passwd"),
        "sub": (0o160000, b"1" * 40), "run.sh": (0o100755, b"#!/bin/sh"),
    })  # fmt: skip
    with serving_wsgi(made.gate) as made.port:
        yield made


async def test_the_files_of_the_first_branch_are_listed_and_read(git: Git) -> None:
    source = git.source()
    files = await listed(source)
    assert list(files) == ["a.md", "hr/leave.md", "hr/x/b.md", "run.sh"]
    leave = files["hr/leave.md"]
    assert await source.read_file(leave, 5) == b"Leave"
    assert leave.version == leave.content_id == Blob.from_string(b"Leave").id.decode()
    assert leave.address == f"http://{HOST}:{git.port}/team/docs/blob/HEAD/hr/leave.md"
    with pytest.raises(SourceFileTooLarge, match="more than 4 bytes"):
        await source.read_file(leave, 4)
    inner = await listed(git.source(folder="hr", exclude="x"))
    assert list(inner) == ["leave.md"]
    assert inner["leave.md"].address == leave.address


async def test_trees_that_name_files_without_end_are_refused(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.connectors.connector.MOST_NAMES", 6)
    with pytest.raises(SourceRefused, match="more than 6 files"):  # seven, of which four would be read
        await listed(git.source())


async def test_the_history_is_not_fetched(git: Git) -> None:
    source = git.source()
    await listed(source)
    fetched = source._fetched  # type: ignore[attr-defined]
    with Repo(fetched.folder.name) as repo:
        assert Blob.from_string(b"A").id in repo.object_store
        assert Blob.from_string(b"old").id not in repo.object_store


async def test_a_change_is_seen_a_move_known_and_a_deletion(git: Git) -> None:
    source = git.source()
    before = await listed(source)
    git.commit({"a.md": b"AA", "moved.md": b"Leave"})
    after = await listed(source)
    assert list(after) == ["a.md", "moved.md"]
    assert after["a.md"].version != before["a.md"].version
    assert after["moved.md"].content_id == before["hr/leave.md"].content_id
    assert await source.read_file(after["a.md"], 10) == b"AA"
    with pytest.raises(SourceFileGone):
        await source.read_file(before["hr/x/b.md"], 10)


async def test_what_is_the_same_is_not_fetched_again(git: Git) -> None:
    source = git.source()
    files = await listed(source)
    await source.close()
    first = git.packs
    source = git.source()
    assert await listed(source) == files
    assert await source.read_file(files["a.md"], 10) == b"A"
    await source.close()
    asked = git.packs - first
    git.commit({"a.md": b"AA"})
    await listed(git.source())
    assert git.packs - first - asked > asked
    await listed(git.source({"token": "of another tenant"}))
    assert git.packs - first - asked > 2 * asked


async def test_of_many_repositories_the_last_ones_are_kept(git: Git) -> None:
    for number in range(git_connector.MOST_KEPT + 2):
        source = git.source({"token": str(number)})
        await listed(source)
        folder = source._fetched.folder.name  # type: ignore[attr-defined]
        if number == 0:
            first = folder
        await source.close()
    assert len(git_connector._kept) == git_connector.MOST_KEPT
    assert os.listdir(folder)
    with pytest.raises(FileNotFoundError):
        os.listdir(first)


async def test_a_branch_or_a_tag_is_read(git: Git) -> None:
    from dulwich import porcelain

    commit = git.commit({"b.md": b"branch"}, branch="next")
    porcelain.tag_create(git.repo, b"v1", author=AUTHOR, message=b"m", annotated=True, objectish=commit)
    git.repo.refs[b"refs/tags/light"] = commit
    for ref in ("next", "v1", "light"):
        files = await listed(git.source(ref=ref))
        assert [*files] == ["b.md"]
        assert files["b.md"].address.endswith(f"/blob/{ref}/b.md")
    for options, said in (({"ref": "none"}, "no branch or tag none"), ({"folder": "none"}, "no folder none"),
                          ({"folder": "a.md"}, r"no folder a\.md")):  # fmt: skip
        with pytest.raises(SourceRefused, match=said):
            await listed(git.source(**options))


async def test_credentials_are_sent_and_wrong_ones_refused(git: Git) -> None:
    git.gate.fail = lambda method, path: ("401 Unauthorized", {})
    with pytest.raises(SourceRefused, match="credentials") as refused:
        await listed(git.source({"token": "secret-token"}))
    assert "secret-token" not in str(refused.value)
    assert git.gate.authorizations == ["Basic " + b64encode(b"git:secret-token").decode()]
    git.gate.fail = lambda method, path: None
    with pytest.raises(SourceRefused, match="is no git repository"):
        await listed(opened(f"git+http://{HOST}:{git.port}/team/none.git", port=git.port))


async def test_credentials_go_to_no_host_that_the_repository_has_moved_to(git: Git) -> None:
    there = f"http://elsewhere.example.org:{git.port}/team/docs.git/info/refs?service=git-upload-pack"
    git.gate.fail = lambda method, path: ("302 Found", {"Location": there}) if len(git.gate.requests) == 1 else None
    address = f"git+http://{HOST}:{git.port}/team/docs.git"
    source = opened(address, {}, {"token": "t"}, hosts=[HOST, "elsewhere.example.org"], port=git.port)
    assert "a.md" in await listed(source)
    first, *others = git.gate.authorizations
    assert first is not None
    assert others == [None, None]


async def test_a_server_that_fails_or_is_gone_in_the_middle_is_for_now(git: Git) -> None:
    git.gate.fail = lambda method, path: ("503 Busy", {"Retry-After": "9"}) if method == "POST" else None
    with pytest.raises(SourceUnreachable) as later:
        await listed(git.source())
    assert later.value.retry_after_s == 9
    with serving_wsgi(git.gate) as port:
        pass
    with pytest.raises(SourceUnreachable, match="cannot be reached"):
        await listed(opened(f"git+http://{HOST}:{port}/team/docs.git", port=port))


async def test_what_does_not_speak_git_is_refused() -> None:
    replies = [
        (b"<html>", "text/html"),
        (b"001e# service=git-upload-pack\n0000zzzz", "application/x-git-upload-pack-advertisement"),
    ]
    for body, kind in replies:

        def application(environment: object, start: object, body: bytes = body, kind: str = kind) -> list[bytes]:
            start("200 OK", [("Content-Type", kind)])  # type: ignore[operator]
            return [body]

        with serving_wsgi(application) as port, pytest.raises(SourceRefused, match="git"):
            await listed(opened(f"git+http://{HOST}:{port}/x.git", port=port))


async def test_no_private_network_is_reached_and_no_other_way_taken(git: Git) -> None:
    with pytest.raises(SourceRefused, match="private network"):
        await listed(opened(f"git+http://{HOST}:{git.port}/team/docs.git", private=(), port=git.port))
    assert git.gate.requests == []
    for address in ("git+file:///srv/docs.git", "ext::sh -c id", "git+ssh://host/x.git"):
        with pytest.raises(SourceRefused, match=r"no source that Cairn reads|no address of a source"):
            opened(address)


async def test_what_lies_in_git_lfs_is_said(git: Git) -> None:
    git.commit({"large.pdf": b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n"})
    source = git.source()
    with pytest.raises(SourceFileGone, match="lies in Git LFS"):
        await source.read_file((await listed(source))["large.pdf"], 1000)
