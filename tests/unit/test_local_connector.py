"""A folder of this machine as a source, and the addresses that are refused before anything is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from cairn.connectors.connector import (
    Connector,
    RemoteFile,
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    SourceUnreachable,
)
from cairn.connectors.registry import check_address, open_connector
from cairn.settings import UrlSettings


def opened(folder: Path, folders: Sequence[Path] | None = None, **options: str) -> Connector:
    return open_connector(str(folder), options, {}, allow=UrlSettings(), folders=folders or [folder])


async def listed(source: Connector) -> dict[str, RemoteFile]:
    return {file.path: file async for file in source.list_files()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "docs/hr/leave.md",
        "docs/b.md",
        "docs/a.md",
        "docs/.git/config",
        "docs/.env",
        "docs/env/pyvenv.cfg",
        "secret",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    return tmp_path / "docs"


async def test_files_are_listed_in_order_and_read(folder: Path) -> None:
    source = opened(folder)
    files = await listed(source)
    assert list(files) == ["a.md", "b.md", "hr/leave.md"]
    leave = files["hr/leave.md"]
    assert await source.read_file(leave, 1000) == b"text of docs/hr/leave.md"
    assert (leave.size, leave.address) == (24, (folder / "hr/leave.md").as_uri())
    assert leave.modified is not None
    assert leave.modified.tzinfo is not None
    assert list(await listed(opened(folder, include="hr/**"))) == ["hr/leave.md"]
    assert list(await listed(opened(folder, exclude="hr"))) == ["a.md", "b.md"]


async def test_a_change_is_a_new_version_whatever_its_size_and_time(folder: Path) -> None:
    source = opened(folder)
    before = await listed(source)
    times = (folder / "a.md").stat()
    (folder / "a.md").write_text("TEXT OF docs/a.md")
    (folder / "new").write_text("text of docs/B.md")
    os.utime(folder / "new", ns=(before_ns := (folder / "b.md").stat().st_mtime_ns, before_ns))
    os.replace(folder / "new", folder / "b.md")
    os.utime(folder / "a.md", ns=(times.st_mtime_ns + 1, times.st_mtime_ns + 1))
    after = await listed(source)
    assert {path for path in after if after[path].version != before[path].version} == {"a.md", "b.md"}
    assert after["a.md"].size == before["a.md"].size


async def test_what_was_deleted_or_is_too_large_is_said(folder: Path) -> None:
    source = opened(folder)
    files = await listed(source)
    with pytest.raises(SourceFileTooLarge, match=r"a\.md has more than 16 bytes"):
        await source.read_file(files["a.md"], 16)
    assert len(await source.read_file(files["a.md"], 17)) == 17
    (folder / "a.md").unlink()
    with pytest.raises(SourceFileGone, match=r"a\.md is not there any more"):
        await source.read_file(files["a.md"], 100)
    assert "a.md" not in await listed(source)


async def test_links_are_not_followed(folder: Path) -> None:
    (folder / "inside.md").symlink_to(folder / "a.md")
    (folder / "outside.md").symlink_to(folder.parent / "secret")
    (folder / "broken.md").symlink_to(folder / "none")
    (folder / "up").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe")
    source = opened(folder)
    files = await listed(source)
    assert list(files) == ["a.md", "b.md", "hr/leave.md"]
    (folder / "b.md").unlink()
    (folder / "b.md").symlink_to(folder / "hr" / "leave.md")
    with pytest.raises(SourceFileGone, match="is a link now"):
        await source.read_file(files["b.md"], 100)
    (folder / "a.md").unlink()
    os.mkfifo(folder / "a.md")
    with pytest.raises(SourceFileGone, match="no file any more"):
        await source.read_file(files["a.md"], 100)


async def test_a_folder_that_is_gone_is_not_an_empty_one(folder: Path) -> None:
    source = opened(folder)
    files = await listed(source)
    os.rename(folder, folder.parent / "elsewhere")
    with pytest.raises(SourceUnreachable, match="there is no folder"):
        await listed(source)
    with pytest.raises(SourceUnreachable, match="there is no folder"):
        await source.read_file(files["a.md"], 100)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_folder_that_may_not_be_read_breaks_the_listing_off(folder: Path) -> None:
    (folder / "hr").chmod(0)
    try:
        with pytest.raises(SourceRefused, match="may not be read"):
            await listed(opened(folder))
    finally:
        (folder / "hr").chmod(0o755)


async def test_a_folder_that_vanishes_in_the_middle_of_a_listing_breaks_it_off(folder: Path) -> None:
    for number in range(300):  # more than one visit to the disk brings
        (folder / f"c{number:03}.md").write_text("x")
    listing = opened(folder).list_files()
    await anext(listing)
    os.rename(folder, folder.parent / "elsewhere")
    with pytest.raises(SourceUnreachable, match="there is no folder"):
        _ = [file async for file in listing]


def test_only_folders_that_are_open_are_read(folder: Path) -> None:
    for outside in (folder.parent, folder / "..", folder.parent / "docs2"):
        with pytest.raises(SourceRefused, match="is not one of those"):
            opened(outside, [folder])
    (folder.parent / "link").symlink_to("/etc")
    with pytest.raises(SourceRefused, match="/etc is not one of those"):
        opened(folder.parent / "link", [folder.parent])
    with pytest.raises(SourceRefused, match="is not one of those"):
        open_connector(str(folder), {}, {}, allow=UrlSettings())
    opened(folder / "hr", [folder])


@pytest.mark.parametrize(
    ("address", "options", "secrets", "said"),
    [
        ("gopher://x", {}, [], "gopher:// is no source that Cairn reads; it reads file://"),
        ("docs/hr", {}, [], "is no address of a source: it begins with one of file://"),
        ("http://[::1", {}, [], "is no address"),
        ("file:///srv" + "/a" * 300, {}, [], "at most 512 characters, this one 611"),
        ("file://user:pw@host/srv", {}, [], "no user name or password"),
        ("file:///srv", {"depth": "2"}, [], "option depth is none of a folder: it takes exclude, include"),
        ("file:///srv", {}, ["password"], "secret password is none of a folder: it takes none"),
        ("file:///srv", {"include": "a" * 301}, [], "option include"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused(
    address: str, options: dict[str, str], secrets: list[str], said: str
) -> None:
    with pytest.raises(SourceRefused, match=said) as refused:
        check_address(address, options, secrets)
    assert "pw" not in str(refused.value)


def test_a_host_in_the_address_of_a_folder_is_refused() -> None:
    with pytest.raises(SourceRefused, match="three strokes"):
        open_connector("file://srv/documents", {}, {}, allow=UrlSettings(), folders=[Path("/")])


async def test_a_folder_that_becomes_a_link_leads_nowhere_at_any_moment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "open" / "sub").mkdir(parents=True)
    (folder / "open" / "sub" / "leave.md").write_text("nothing")
    source = opened(folder)
    file = (await listed(source))["open/sub/leave.md"]
    really_open = os.open

    def open_late(path: str | Path, *arguments: int, dir_fd: int | None = None) -> int:
        if Path(path).name == "leave.md":  # the last moment
            (folder / "open" / "sub").rename(folder / "open" / "before")
            (folder / "open" / "sub").symlink_to("../hr")
        return really_open(path, *arguments, dir_fd=dir_fd)

    monkeypatch.setattr("cairn.connectors.local_connector.os.open", open_late)
    assert await source.read_file(file, 100) == b"nothing"
    monkeypatch.undo()
    with pytest.raises(SourceFileGone, match="not there any more"):
        await source.read_file(file, 100)
    assert list(await listed(source)) == ["a.md", "b.md", "hr/leave.md", "open/before/leave.md"]
    os.rename(folder, folder.parent / "elsewhere")
    os.symlink(folder.parent / "elsewhere", folder)
    with pytest.raises(SourceUnreachable, match="there is no folder"):
        await listed(source)
