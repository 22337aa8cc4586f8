"""Containers of Azure and buckets of Google as whole servers have them: Azurite and an emulator of Google's, each a process.

The product reaches them by the names and the TLS of the real ones: these lead to a front on loopback, which hands on what
is asked.
For these tests install the extra `sources-cloud`, and name the programs: CAIRN_AZURITE (azurite-blob, `npm install azurite`) and
CAIRN_GCS_EMULATOR (gcp-storage-emulator, from PyPI)."""

from __future__ import annotations

import base64
import json
import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from scripted_web import serve_tls
from source_servers import listed, opened

from cairn.connectors.connector import (
    Connector,
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    SourceUnreachable,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.siege

AZURITE = os.environ.get("CAIRN_AZURITE", "")
EMULATOR = os.environ.get("CAIRN_GCS_EMULATOR", "")
"""Read while tests are collected: those that run see no variables of the product's from outside."""
ACCOUNT = "team"
KEY, WRONG = (base64.b64encode(text * 8).decode() for text in (b"account!", b"unknown!"))
NAMES = (f"{ACCOUNT}.blob.core.windows.net", "storage.googleapis.com", "oauth2.googleapis.com")
FILES = ("a.md", "hr/leave plan.md", "hr/x/ü.md", "hr/.git/c.md")


class Front:
    """By TLS, in the names of the clouds: a token for whoever asks, all else goes to `port`. `refuses`: nobody may read."""

    def __init__(self, port: int) -> None:
        front = self
        self.refuses = False

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *arguments: Any) -> None:
                """Nothing to the terminal."""

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers["Host"].startswith("oauth2."):
                    self.reply(
                        200, {"Content-Type": "application/json"}, b'{"access_token": "granted", "expires_in": 3600}'
                    )
                elif front.refuses:
                    self.reply(
                        403, {"Content-Type": "application/json"}, b'{"error": {"code": 403, "message": "not yours"}}'
                    )
                else:
                    self.hand_on(body)

            do_POST = do_HEAD = do_GET

            def hand_on(self, body: bytes) -> None:
                behind = HTTPConnection("127.0.0.1", port)
                try:
                    behind.request(self.command, self.path, body or None, dict(self.headers))
                    answer = behind.getresponse()
                    self.reply(answer.status, dict(answer.getheaders()), answer.read())
                except OSError:
                    self.close_connection = True
                finally:
                    behind.close()

            def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
                dropped = ("content-length", "transfer-encoding", "connection", "keep-alive")
                self.send_response(status)
                for name, value in headers.items():
                    if name.lower() not in dropped or (self.command == "HEAD" and name.lower() == "content-length"):
                        self.send_header(name, value)
                if self.command != "HEAD":
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(b"" if self.command == "HEAD" else body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.certificate = serve_tls(self.server, NAMES)

    def __enter__(self) -> Front:
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def behind_front(
    command: list[str], port: int, environment: dict[str, str], patch: pytest.MonkeyPatch, folder: Path
) -> Iterator[Any]:
    """(process, front), where names of the clouds lead to the front, whose certificate counts."""
    from aiohttp import connector

    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=os.environ | environment, cwd=folder, **quiet)  # type: ignore[call-overload]
    try:
        wait_until(lambda: process.poll() is not None or _answers(port))
        with Front(port) as front:
            look_up: Callable[..., Any] = socket.getaddrinfo

            def led(host: Any, wanted: Any, *arguments: Any, **options: Any) -> Any:
                known = host in NAMES
                return look_up(
                    *(("127.0.0.1", front.server.server_port) if known else (host, wanted)), *arguments, **options
                )

            trusted = ssl.create_default_context(cadata=front.certificate)
            (folder / "front.pem").write_text(front.certificate)
            patch.setattr(socket, "getaddrinfo", led)
            patch.setattr(connector, "_SSL_CONTEXT_VERIFIED", trusted)
            patch.setenv("REQUESTS_CA_BUNDLE", str(folder / "front.pem"))
            yield process, front
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class Azure:
    scheme, none = "az", "az://none"

    def __init__(self, process: Any, front: Front, port: int) -> None:
        from azure.storage.blob import BlobServiceClient

        self.process, self.front = process, front
        self.client = BlobServiceClient(
            f"http://127.0.0.1:{port}/{ACCOUNT}", credential={"account_name": ACCOUNT, "account_key": KEY}
        )
        for name in ("docs", "other"):
            self.client.create_container(name)

    def put(self, name: str, content: bytes, container: str = "docs") -> None:
        self.client.get_blob_client(container, name).upload_blob(content, overwrite=True)

    def delete(self, name: str) -> None:
        self.client.get_blob_client("docs", name).delete_blob()

    def source(self, address: str = "az://docs", key: str = KEY, **options: str) -> Connector:
        return opened(address, {"account_name": ACCOUNT, **options}, {"account_key": key})

    def refused(self) -> Connector:
        return self.source(key=WRONG)


class Google:
    scheme, none = "gs", "gs://none"

    def __init__(self, process: Any, front: Front, port: int) -> None:
        self.process, self.front, self.port = process, front, port
        for name in ("docs", "other"):
            self.ask("POST", "/storage/v1/b?project=test", json.dumps({"name": name}).encode())

    def ask(self, method: str, path: str, body: bytes = b"") -> None:
        asked = HTTPConnection("127.0.0.1", self.port)
        asked.request(method, path, body, {"Content-Type": "application/json" if body[:1] == b"{" else "text/markdown"})
        assert asked.getresponse().status < 300, path
        asked.close()

    def put(self, name: str, content: bytes, bucket: str = "docs") -> None:
        self.ask("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(name, safe='')}", content)

    def delete(self, name: str) -> None:
        self.ask("DELETE", f"/storage/v1/b/docs/o/{quote(name, safe='')}")

    def source(self, address: str = "gs://docs", **options: str) -> Connector:
        return opened(address, options, {"service_account": json.dumps(service_account())})

    def refused(self) -> Connector:
        self.front.refuses = True
        return self.source()


def service_account() -> dict[str, str]:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    private = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        "type": "service_account", "project_id": "test", "private_key_id": "1", "private_key": private.decode(), "client_id": "1",
        "client_email": "reader@test.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
    }  # fmt: skip


@pytest.fixture(params=["azure", "google"])
def cloud(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Azure | Google]:
    azure, port = request.param == "azure", free_port()
    program = AZURITE if azure else EMULATOR
    if not program or not find_spec("adlfs") or not find_spec("gcsfs"):
        pytest.skip(
            f"{request.param.upper()} NOT TESTED: {'CAIRN_AZURITE' if azure else 'CAIRN_GCS_EMULATOR'} and sources-cloud lack"
        )
    command = ["--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--blobPort", str(port)]
    if not azure:
        command = ["start", "--host=127.0.0.1", f"--port={port}", "--in-memory"]
    accounts = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
    with behind_front([program, *command], port, accounts, monkeypatch, tmp_path) as (process, front):
        made = (Azure if azure else Google)(process, front, port)
        for name in FILES:
            made.put(name, f"text of {name}".encode())
        yield made


async def test_a_bucket_is_listed_and_read_and_its_changes_are_seen(cloud: Azure | Google) -> None:
    source = cloud.source()
    before = await listed(source)
    assert sorted(before) == ["a.md", "hr/leave plan.md", "hr/x/ü.md"]
    odd = before["hr/x/ü.md"]
    assert odd.address == f"{cloud.scheme}://docs/hr/x/ü.md"
    assert await source.read_file(odd, odd.size or 0) == "text of hr/x/ü.md".encode()
    with pytest.raises(SourceFileTooLarge, match=r"a\.md has more than 11 bytes"):
        await source.read_file(before["a.md"], 11)
    assert sorted(await listed(cloud.source(f"{cloud.scheme}://docs/hr", exclude="x"))) == ["leave plan.md"]
    cloud.put("a.md", b"TEXT of a.md")
    cloud.put("new.md", b"text of new.md")
    cloud.delete("hr/leave plan.md")
    after = await listed(source)
    assert sorted(after) == ["a.md", "hr/x/ü.md", "new.md"]
    assert after["a.md"].version != before["a.md"].version
    assert after["hr/x/ü.md"].version == odd.version
    assert await source.read_file(after["a.md"], 100) == b"TEXT of a.md"
    assert await source.read_file(after["new.md"], 100) == b"text of new.md"
    with pytest.raises(SourceFileGone):
        await source.read_file(before["hr/leave plan.md"], 100)
    await source.close()


async def test_who_may_not_read_and_what_is_not_there_is_refused(cloud: Azure | Google) -> None:
    with pytest.raises(SourceRefused, match=f"there is no {cloud.none}"):
        await listed(cloud.source(cloud.none))
    with pytest.raises(SourceRefused) as refused:
        await listed(cloud.refused())
    assert WRONG not in str(refused.value)


async def test_a_server_that_is_gone_deletes_nothing(cloud: Azure | Google) -> None:
    source = cloud.source()
    files = await listed(source)
    cloud.process.kill()
    cloud.process.wait()
    with pytest.raises(SourceUnreachable):
        await listed(source)
    with pytest.raises(SourceUnreachable):
        await source.read_file(files["a.md"], 100)
