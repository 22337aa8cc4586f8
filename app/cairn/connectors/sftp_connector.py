"""A folder of a machine that is reached by SSH."""

from __future__ import annotations

import asyncio
import posixpath
import socket
import stat
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from cairn.connectors.choose_files import PathFilter, is_hidden
from cairn.connectors.connector import (
    RemoteFile,
    SourceError,
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    SourceUnreachable,
    refuse_endless,
)
from cairn.errors import FetchError, InputError
from cairn.providers.address_guard import AddressGuard

if TYPE_CHECKING:
    import asyncssh

PORT: Final = 22
DEEPEST: Final = 100


@dataclass(frozen=True, slots=True)
class SshServer:
    """`host_keys`: fingerprints of its keys ("SHA256:..."), of which it must show one. `seconds`: for it to answer."""

    host: str
    port: int
    username: str
    host_keys: frozenset[str]
    seconds: float
    password: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)
    passphrase: str | None = field(default=None, repr=False)


def ssh_server(
    host: str, port: int, options: Mapping[str, str], secrets: Mapping[str, str], seconds: float
) -> SshServer:
    """What an address and its options say. Raises SourceRefused."""
    if not options.get("username"):
        raise SourceRefused("option username is missing: who logs in at the SFTP server")
    if not secrets.get("password") and not secrets.get("private_key"):
        raise SourceRefused(
            "an SFTP server wants the secret password, or private_key (OpenSSH or PEM, with its passphrase)"
        )
    keys = frozenset(key.strip() for key in options.get("host_key", "").split(",") if key.strip())
    if not keys or not all(key.startswith("SHA256:") for key in keys):
        raise SourceRefused(
            "option host_key is missing: the fingerprint of the server's key (SHA256:...), as its administrator tells it, or "
            f"`ssh-keyscan {host} | ssh-keygen -lf -` does"
        )
    return SshServer(
        host, port, options["username"], keys, seconds, secrets.get("password") or None, secrets.get("private_key") or None,
        secrets.get("passphrase") or None,
    )  # fmt: skip


class SftpConnector:
    """Links are not followed, also those that come after the listing: what lies in the folder is read by its own name, under
    which it has its readers. Nothing of the user that Cairn runs as is used: no keys, no agent, no settings of SSH."""

    def __init__(self, server: SshServer, folder: str, guard: AddressGuard, chosen: PathFilter) -> None:
        """`folder`: its links are followed once, when it is first asked for."""
        self._server = server
        self._root = folder or "."
        self._real_root: str | None = None
        self._guard = guard
        self._chosen = chosen
        self._connection: asyncssh.SSHClientConnection | None = None
        self._client: asyncssh.SFTPClient | None = None

    async def list_files(self) -> AsyncIterator[RemoteFile]:
        """As Connector says; the order is the server's."""
        sftp = await self._connected()
        folders, looked_at = [""], 0
        while folders:
            folder = folders.pop()
            if folder.count("/") > DEEPEST:
                raise SourceRefused(f"{self._server.host} has folders in each other, more than {DEEPEST}")
            if not await self._is_entered(sftp, folder):
                continue
            names = aiter(sftp.scandir(self._there(folder)))
            while (found := await self._next(names, folder)) is not None:
                looked_at += 1
                refuse_endless(looked_at)
                path = posixpath.join(folder, str(found.filename))
                mode = found.attrs.permissions or 0
                if stat.S_ISDIR(mode) and not is_hidden(path):
                    folders.append(path)
                elif stat.S_ISREG(mode) and self._chosen.takes(path):
                    yield self._describe(path, found.attrs)

    async def _is_entered(self, sftp: asyncssh.SFTPClient, folder: str) -> bool:
        """Whether a folder is there still, and no link stands in its place or that of one around it. Raises SourceRefused for the
        folder of the source."""
        try:
            with self._failures(folder or "the folder"):
                async with asyncio.timeout(self._server.seconds):
                    await self._refuse_links(sftp, folder)
        except SourceFileGone as error:
            if folder:
                return False
            raise SourceRefused(f"{self._server.host}: {error}") from None
        return True

    async def _refuse_links(self, sftp: asyncssh.SFTPClient, path: str) -> None:
        """Raises SourceFileGone for what a link leads to. Some servers only tidy a path when they are asked what it really is, so
        each part of it is looked at, too."""
        if self._real_root is None:
            self._real_root = await sftp.realpath(self._root)
        parts = path.split("/") if path else []
        around = [self._there("/".join(parts[: number + 1])) for number in range(len(parts))]
        looking = asyncio.gather(*map(sftp.lstat, around))
        real, found = await asyncio.gather(sftp.realpath(self._there(path)), looking)
        if real != self._there(path) or any(stat.S_ISLNK(one.permissions or 0) for one in found):
            raise SourceFileGone(f"{path or 'the folder'} is reached by a link now")

    def _there(self, path: str) -> str:
        root = self._real_root or self._root
        return posixpath.join(root, path) if path else root

    async def _next(self, names: AsyncIterator[Any], folder: str) -> Any | None:
        """The next name in a folder; None at its end, or where it was deleted meanwhile."""
        try:
            with self._failures(folder or "the folder"):
                async with asyncio.timeout(self._server.seconds):
                    return await anext(names)
        except StopAsyncIteration:
            return None
        except SourceFileGone as error:
            if folder:
                return None
            raise SourceRefused(f"{self._server.host}: {error}") from None

    def _describe(self, path: str, attributes: Any) -> RemoteFile:
        if attributes.mtime is None:
            raise SourceRefused(
                f"{self._server.host} does not tell when {path} was changed, so no change would be seen"
            )
        modified = datetime.fromtimestamp(attributes.mtime, UTC)
        port = "" if self._server.port == PORT else f":{self._server.port}"
        there = posixpath.join("/", self._root, path)
        return RemoteFile(
            path, _version(attributes), f"sftp://{self._server.host}{port}{there}", attributes.size, modified
        )

    async def read_file(self, file: RemoteFile, most_bytes: int) -> bytes:
        """As Connector says."""
        sftp = await self._connected()
        with self._failures(file.path):
            async with asyncio.timeout(max(self._server.seconds, most_bytes / 100_000)):
                await self._refuse_links(sftp, file.path)
                async with sftp.open(self._there(file.path), "rb") as remote:
                    # SFTP opens what a link leads to that was put there since: seldom what has this size and time
                    if _version(await remote.stat()) != file.version:
                        raise SourceFileGone(f"{file.path} is another file now")
                    content: Any = await remote.read(most_bytes + 1)
        if len(content) > most_bytes:
            raise SourceFileTooLarge(f"{file.path} has more than {most_bytes:,} bytes")
        return bytes(content)

    async def close(self) -> None:
        """Ends the connection."""
        if self._connection is not None:
            self._connection.abort()
            self._connection = self._client = None

    async def _connected(self) -> asyncssh.SFTPClient:
        if self._client is None or self._connection is None or self._connection.is_closed():
            await self.close()
            try:
                addresses = await self._guard.find_addresses(self._server.host, self._server.port)
            except InputError as error:
                raise SourceRefused(error.detail) from None
            except FetchError as error:
                raise SourceUnreachable(error.detail) from None
            with self._failures("the connection"):
                async with asyncio.timeout(self._server.seconds):
                    self._connection = await self._connect(str(addresses[0]))
                    self._client = await self._connection.start_sftp_client()
        return self._client

    async def _connect(self, address: str) -> asyncssh.SSHClientConnection:
        import asyncssh

        server, shown = self._server, list[str]()

        class HostKeyCheck(asyncssh.SSHClient):
            def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
                shown.append(key.get_fingerprint())
                return shown[-1] in server.host_keys

        try:
            keys = [asyncssh.import_private_key(server.private_key, server.passphrase)] if server.private_key else None
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError):
            raise SourceRefused(
                "the secret private_key cannot be read: is it whole, and its passphrase right?"
            ) from None
        try:
            return await asyncssh.connect(
                address, server.port, username=server.username, password=server.password, client_keys=keys,
                client_factory=HostKeyCheck,
                config=None, agent_path=None, known_hosts=([], [], []), gss_host=None, x509_trusted_certs=None,
                family=socket.AF_UNSPEC, keepalive_interval=server.seconds,
            )  # fmt: skip
        except asyncssh.HostKeyNotVerifiable:
            said = f"it shows {shown[-1]}" if shown else "it shows none of a known kind"
            raise SourceRefused(
                f"{server.host} does not show the key that option host_key names: {said}. Somebody may stand in between"
            ) from None

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        """Raises what failed as what it means for a source."""
        import asyncssh

        try:
            yield
        except (SourceError, StopAsyncIteration):
            raise
        except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath):
            raise SourceFileGone(f"{what} is not there") from None
        except asyncssh.SFTPPermissionDenied:
            raise SourceRefused(f"{what} may not be read by {self._server.username} at {self._server.host}") from None
        except asyncssh.PermissionDenied:
            raise SourceRefused(
                f"{self._server.host} does not take the credentials of {self._server.username}"
            ) from None
        except TimeoutError:
            raise SourceUnreachable(f"{self._server.host} did not answer in time ({what})") from None
        except (asyncssh.Error, OSError) as error:
            raise SourceUnreachable(f"{self._server.host} does not answer: {error or type(error).__name__}") from None


def _version(attributes: Any) -> str:
    return f"{attributes.size}-{attributes.mtime}-{attributes.mtime_ns or 0}"
