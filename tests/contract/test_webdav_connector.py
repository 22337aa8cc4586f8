"""A WebDAV server as a source: WsgiDAV, on loopback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_servers import HOST, Gate, listed, opened, serving_wsgi
from webdav_server import Dav, serving_webdav

from cairn.connectors.connector import (
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    SourceUnreachable,
)
from cairn.connectors.webdav_connector import read_multistatus


@pytest.fixture
def dav(tmp_path: Path) -> Iterator[Dav]:
    for name in ("docs/a.md", "docs/hr/leave plan.md", "docs/hr/x/ü#%.md", "docs/.hidden/b.md", "secret.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    with serving_webdav(tmp_path) as made:
        yield made


async def test_files_of_all_folders_are_listed_and_read(dav: Dav) -> None:
    source = dav.source()
    files = await listed(source)
    assert list(files) == ["a.md", "hr/leave plan.md", "hr/x/ü#%.md"]
    assert await source.read_file(files["hr/x/ü#%.md"], 1000) == "text of docs/hr/x/ü#%.md".encode()
    leave = files["hr/leave plan.md"]
    assert (leave.size, leave.address) == (29, f"http://{HOST}:{dav.port}/docs/hr/leave%20plan.md")
    assert leave.modified is not None
    assert list(await listed(dav.source("/docs/hr/", exclude="x"))) == ["leave plan.md"]
    assert not [path for _, path in dav.gate.requests if "hidden" in path]


async def test_folders_without_end_are_refused(dav: Dav, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.connectors.connector.MOST_NAMES", 1)
    with pytest.raises(SourceRefused, match="more than 1 files"):
        await listed(dav.source())


async def test_a_change_is_seen_and_a_deletion(dav: Dav) -> None:
    source = dav.source()
    before = await listed(source)
    (dav.folder / "a.md").write_text("TEXT OF docs/a.md")
    os.utime(dav.folder / "a.md", (1, 1))
    (dav.folder / "hr" / "leave plan.md").unlink()
    after = await listed(source)
    assert list(after) == ["a.md", "hr/x/ü#%.md"]
    assert {path for path in after if after[path].version != before[path].version} == {"a.md"}
    with pytest.raises(SourceFileGone):
        await source.read_file(before["hr/leave plan.md"], 100)
    with pytest.raises(SourceFileTooLarge, match="more than 16 bytes"):
        await source.read_file(after["a.md"], 16)
    assert len(await source.read_file(after["a.md"], 17)) == 17


async def test_wrong_credentials_are_refused_and_never_shown(dav: Dav) -> None:
    with pytest.raises(SourceRefused, match="credentials") as refused:
        await listed(dav.source(password="wrong-secret"))
    assert "wrong-secret" not in str(refused.value)
    with pytest.raises(SourceRefused, match="username is missing"):
        opened(f"webdav://{HOST}/", {}, {"password": "x"})
    with pytest.raises(SourceRefused, match="is not there"):
        await listed(dav.source("/none"))


async def test_a_token_is_sent_as_one(dav: Dav) -> None:
    with pytest.raises(SourceRefused):
        await listed(opened(f"webdav://{HOST}:{dav.port}/docs", {}, {"token": "abc"}, port=dav.port))
    assert dav.gate.authorizations == ["Bearer abc"]
    with pytest.raises(SourceRefused):
        await listed(opened(f"webdav://{HOST}:{dav.port}/docs", {}, {"token": " abc\r\n"}, port=dav.port))
    assert dav.gate.authorizations == ["Bearer abc"] * 2


@pytest.mark.parametrize("token", ["corvid\nlantern", "corvidé", "corvid lantern"])
def test_a_token_that_fits_into_no_header_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(SourceRefused, match="secret token") as refused:
        opened(f"webdav://{HOST}/docs", {}, {"token": token})
    assert "corvid" not in str(refused.value)


async def test_a_server_that_fails_in_the_middle_breaks_the_listing_off(dav: Dav) -> None:
    dav.gate.fail = lambda method, path: ("503 Busy", {"Retry-After": "7"}) if path.endswith("/x/") else None
    listing = dav.source().list_files()
    assert (await anext(listing)).path == "a.md"
    with pytest.raises(SourceUnreachable, match="503") as later:
        _ = [file async for file in listing]
    assert later.value.retry_after_s == 7
    dav.gate.fail = lambda method, path: ("404 Gone", {}) if path.endswith("/x/") else None
    assert list(await listed(dav.source())) == ["a.md", "hr/leave plan.md"]


async def test_a_server_that_is_gone_is_for_now(tmp_path: Path) -> None:
    with serving_wsgi(Gate(lambda environment, start: [])) as port:
        pass
    with pytest.raises(SourceUnreachable, match="cannot be reached"):
        await listed(opened(f"webdav://{HOST}:{port}/", port=port))


async def test_credentials_follow_no_redirect_to_another_host(dav: Dav) -> None:
    there = f"http://elsewhere.example.org:{dav.port}/docs/"
    dav.gate.fail = lambda method, path: ("302 Found", {"Location": there}) if len(dav.gate.requests) == 1 else None
    with pytest.raises(SourceRefused):
        await listed(dav.source())
    first, second = dav.gate.authorizations
    assert first is not None
    assert second is None


async def test_no_private_network_is_reached(dav: Dav) -> None:
    with pytest.raises(SourceRefused, match="private network"):
        await listed(opened(f"webdav://{HOST}:{dav.port}/", private=(), port=dav.port))
    assert dav.gate.requests == []


@pytest.mark.parametrize("reply", [b"<html/>", b"no xml", b"<multistatus xmlns='DAV:'><response>"])
def test_what_does_not_answer_as_webdav_is_refused(reply: bytes) -> None:
    with pytest.raises(SourceRefused, match="as WebDAV does"):
        read_multistatus(reply, "https://x")


async def test_names_of_elsewhere_are_passed_over_and_what_tells_no_change_is_refused() -> None:
    replies = iter([_reply("/docs/", folder=True) + _reply("/other/x.md") + _reply("/docs/../up.md") + _reply("/docs/a.md"),
                    _reply("/docs/a.md", etag="")])  # fmt: skip

    def application(environment: dict[str, object], start: object) -> list[bytes]:
        start("207 Multi-Status", [("Content-Type", "application/xml")])  # type: ignore[operator]
        return [f"<multistatus xmlns='DAV:'>{next(replies)}</multistatus>".encode()]

    with serving_wsgi(application) as port:
        source = opened(f"webdav://{HOST}:{port}/docs", port=port)
        assert list(await listed(source)) == ["a.md"]
        with pytest.raises(SourceRefused, match="neither entity tag nor time"):
            await listed(source)


def _reply(path: str, *, folder: bool = False, etag: str = "1") -> str:
    kind = "<resourcetype><collection/></resourcetype>" if folder else f"<getetag>{etag}</getetag>"
    return f"<response><href>{path}</href><propstat><prop>{kind}</prop></propstat></response>"
