"""A machine that is reached by SSH as a source: an SFTP server of asyncssh, on loopback."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import asyncssh
import pytest
from sftp_server import CLIENT_KEY, HOST_KEY, USER, Sftp, serving_sftp
from source_servers import HOST, listed, opened

from cairn.connectors.connector import (
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    SourceUnreachable,
)


@pytest.fixture
async def sftp(tmp_path: Path) -> AsyncIterator[Sftp]:
    for name in ("docs/a.md", "docs/hr/leave plan.md", "docs/hr/x/ü.md", "docs/.hidden/b.md", "secret.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    (tmp_path / "docs" / "link.md").symlink_to(tmp_path / "secret.md")
    async with serving_sftp(tmp_path) as made:
        yield made


async def test_files_of_all_folders_are_listed_and_read_over_one_connection(sftp: Sftp) -> None:
    source = sftp.source()
    files = await listed(source)
    assert sorted(files) == ["a.md", "hr/leave plan.md", "hr/x/ü.md"]
    leave = files["hr/leave plan.md"]
    assert await source.read_file(leave, 29) == b"text of docs/hr/leave plan.md"
    assert (leave.size, leave.address) == (29, f"sftp://{HOST}:{sftp.port}/docs/hr/leave plan.md")
    assert leave.modified is not None
    assert sftp.logins == 1
    await source.close()
    assert list(await listed(sftp.source("/docs/hr", exclude="x"))) == ["leave plan.md"]


async def test_folders_without_end_are_refused(sftp: Sftp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.connectors.connector.MOST_NAMES", 3)
    source = sftp.source()
    with pytest.raises(SourceRefused, match="more than 3 files"):
        await listed(source)
    await source.close()


async def test_a_change_is_seen_and_a_deletion(sftp: Sftp) -> None:
    source, docs = sftp.source(), sftp.folder / "docs"
    before = await listed(source)
    (docs / "a.md").write_text("TEXT OF docs/a.md")
    os.utime(docs / "a.md", (1, 1))
    (docs / "hr" / "leave plan.md").unlink()
    after = await listed(source)
    assert sorted(after) == ["a.md", "hr/x/ü.md"]
    assert {path for path in after if after[path].version != before[path].version} == {"a.md"}
    with pytest.raises(SourceFileGone, match="is not there"):
        await source.read_file(before["hr/leave plan.md"], 100)
    with pytest.raises(SourceFileTooLarge, match="more than 16 bytes"):
        await source.read_file(after["a.md"], 16)
    assert len(await source.read_file(after["a.md"], 17)) == 17
    await source.close()


@pytest.mark.filterwarnings("ignore:.*bcrypt")
async def test_a_key_logs_in_and_wrong_credentials_are_refused(sftp: Sftp) -> None:
    key = CLIENT_KEY.export_private_key("openssh", passphrase="open", rounds=1).decode()
    source = sftp.source(secrets={"private_key": key, "passphrase": "open"})
    assert await listed(source)
    await source.close()
    for secrets, said in (
        ({"password": "wrong-secret"}, "does not take the credentials"),
        ({"private_key": key, "passphrase": "wrong-secret"}, "cannot be read"),
        ({"private_key": "wrong-secret"}, "cannot be read"),
        ({"private_key": asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()}, "does not take"),
    ):
        with pytest.raises(SourceRefused, match=said) as refused:
            await listed(sftp.source(secrets=secrets))
        assert "wrong-secret" not in str(refused.value)
    with pytest.raises(SourceRefused, match="is not there"):
        await listed(sftp.source("/none"))


async def test_another_host_key_is_refused_before_the_password_is_sent(sftp: Sftp) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").get_fingerprint()
    with pytest.raises(SourceRefused, match="does not show the key") as refused:
        await listed(sftp.source(host_key=other))
    assert HOST_KEY.get_fingerprint() in str(refused.value)
    source = sftp.source(host_key=f"{other}, {HOST_KEY.get_fingerprint()}")
    assert await listed(source)
    await source.close()


async def test_keys_of_the_user_that_cairn_runs_as_are_not_used(
    sftp: Sftp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home" / ".ssh"
    os.makedirs(home)
    CLIENT_KEY.write_private_key(str(home / "id_ed25519"))
    monkeypatch.setenv("HOME", str(home.parent))
    with pytest.raises(SourceRefused, match="does not take the credentials"):
        await listed(sftp.source(secrets={"password": "wrong"}))


async def test_a_server_that_goes_away_breaks_the_listing_off(sftp: Sftp) -> None:
    source = sftp.source()
    sftp.breaks_at = b"/hr"
    listing = source.list_files()
    assert (await anext(listing)).path == "a.md"
    with pytest.raises(SourceUnreachable):
        _ = [file async for file in listing]
    sftp.breaks_at = None
    files = await listed(source)  # by a new connection
    assert len(files) == 3
    assert sftp.logins == 2
    sftp.server.close()
    await source.close()
    with pytest.raises(SourceUnreachable, match="does not answer"):
        await source.read_file(files["a.md"], 100)


async def test_no_private_network_is_reached(sftp: Sftp) -> None:
    options = {"username": USER, "host_key": HOST_KEY.get_fingerprint()}
    with pytest.raises(SourceRefused, match="private network"):
        await listed(opened(f"sftp://{HOST}:{sftp.port}/", options, {"password": "x"}, private=(), port=sftp.port))
    assert sftp.logins == 0
    with pytest.raises(SourceRefused, match="not among the hosts"):
        opened(f"sftp://{HOST}:{sftp.port}/", options, {"password": "x"})
    opened(f"sftp://{HOST}/", options, {"password": "x"})  # its own port need not be named


@pytest.mark.parametrize(
    ("options", "secrets", "said"),
    [
        ({"host_key": "SHA256:x"}, {"password": "x"}, "username is missing"),
        ({"username": "x", "host_key": "SHA256:x"}, {}, "secret password, or private_key"),
        ({"username": "x"}, {"password": "x"}, "ssh-keyscan"),
        ({"username": "x", "host_key": "MD5:x"}, {"password": "x"}, "ssh-keyscan"),
    ],
)
def test_what_is_missing_is_said_at_once(options: dict[str, str], secrets: dict[str, str], said: str) -> None:
    with pytest.raises(SourceRefused, match=said):
        opened(f"sftp://{HOST}/", options, secrets)


async def test_links_that_come_after_the_listing_are_not_followed(sftp: Sftp) -> None:
    source, docs = sftp.source(), sftp.folder / "docs"
    files = await listed(source)
    (docs / "a.md").unlink()
    (docs / "a.md").symlink_to("hr/leave plan.md")
    (docs / "hr" / "x").rename(docs / "y")
    (docs / "hr" / "x").symlink_to("../y")
    for path in ("a.md", "hr/x/ü.md"):
        with pytest.raises(SourceFileGone, match="by a link now"):
            await source.read_file(files[path], 100)
    assert sorted(await listed(source)) == ["hr/leave plan.md", "y/ü.md"]
    docs.rename(sftp.folder / "other")
    docs.symlink_to("other")
    with pytest.raises(SourceRefused, match="the folder is reached by a link now"):
        await listed(source)
    assert sorted(await listed(sftp.source())) == ["hr/leave plan.md", "y/ü.md"]  # whoever adds it names the link


async def test_a_folder_that_becomes_a_link_while_it_is_listed_is_not_entered(sftp: Sftp) -> None:
    source, docs = sftp.source(), sftp.folder / "docs"
    listing = source.list_files()
    assert (await anext(listing)).path == "a.md"
    (docs / "hr").rename(sftp.folder / "closed")
    (docs / "hr").symlink_to("../closed")
    assert [file.path async for file in listing] == []
    await source.close()


@pytest.mark.parametrize("knows_links", [True, False], ids=["between", "not told of"])
async def test_what_was_exchanged_when_it_is_opened_is_not_read(sftp: Sftp, knows_links: bool) -> None:
    source, docs = sftp.source(), sftp.folder / "docs"
    file = (await listed(source))["a.md"]
    sftp.tidies_only = not knows_links
    if knows_links:
        sftp.before_opening = lambda: (docs / "a.md").unlink() or (docs / "a.md").symlink_to("hr/leave plan.md")
    else:
        (docs / "a.md").unlink()
        (docs / "a.md").symlink_to("hr/leave plan.md")
    with pytest.raises(SourceFileGone, match="another file now" if knows_links else "by a link now"):
        await source.read_file(file, 100)
    await source.close()
