"""An SFTP server of asyncssh, on loopback, for tests of sources."""

from __future__ import annotations

import posixpath
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncssh
from source_servers import HOST, opened

from cairn.connectors.connector import Connector

USER, PASSWORD = "reader", "pass word"
HOST_KEY = asyncssh.generate_private_key("ssh-ed25519")
CLIENT_KEY = asyncssh.generate_private_key("ssh-ed25519")


class Login(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == (USER, PASSWORD)

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return key == CLIENT_KEY.convert_to_public()


class Sftp:
    """`breaks_at`: the folder at whose listing the server goes away. `tidies_only`: its real paths have links in them, as those
    of some servers. `before_opening`: what happens before a file is opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.breaks_at: bytes | None = None
        self.tidies_only = False
        self.before_opening: Callable[[], object] = lambda: None
        self.logins = 0
        self.server: Any = None

    def files(self, channel: asyncssh.SSHServerChannel) -> asyncssh.SFTPServer:
        sftp = self

        class Files(asyncssh.SFTPServer):
            def scandir(self, path: bytes) -> Any:
                if sftp.breaks_at is not None and path.endswith(sftp.breaks_at):
                    channel.get_connection().abort()
                return super().scandir(path)

            def realpath(self, path: bytes) -> Any:
                return posixpath.normpath(path) if sftp.tidies_only else super().realpath(path)

            def open(self, path: bytes, *arguments: Any) -> Any:
                sftp.before_opening()
                return super().open(path, *arguments)

        return Files(channel, chroot=str(self.folder))

    def login(self) -> Login:
        self.logins += 1
        return Login()

    @property
    def port(self) -> int:
        return int(self.server.get_port())

    def source(self, path: str = "/docs", secrets: dict[str, str] | None = None, **options: str) -> Connector:
        given = {"username": USER, "host_key": HOST_KEY.get_fingerprint(), **options}
        return opened(f"sftp://{HOST}:{self.port}{path}", given, secrets or {"password": PASSWORD}, port=self.port)


@asynccontextmanager
async def serving_sftp(folder: Path) -> AsyncIterator[Sftp]:
    """It shows `folder` as its root."""
    made = Sftp(folder)
    made.server = await asyncssh.listen(
        "127.0.0.1", 0, server_factory=made.login, server_host_keys=[HOST_KEY], sftp_factory=made.files
    )
    async with made.server:
        yield made
