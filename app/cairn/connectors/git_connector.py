"""A git repository, read over HTTP: the files of one state, without its history. Nothing of it is checked out or run."""

from __future__ import annotations

import asyncio
import stat
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from cairn.connectors.choose_files import PathFilter
from cairn.connectors.connector import (
    RemoteFile,
    SourceError,
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    bound_names,
)
from cairn.connectors.source_http import SourceHttp
from cairn.connectors.threads import iterate_in_thread

if TYPE_CHECKING:
    from dulwich.repo import Repo

MOST_PACK_BYTES: Final = 512 * 2**20
"""Of all files of one state, packed: it is held in memory once."""
MOST_KEPT: Final = 8
LARGE_FILES: Final = b"version https://git-lfs.github.com/spec/"
"""So begins what stands in a repository for a file that lies elsewhere (Git LFS)."""


@dataclass(frozen=True)
class RepositoryOnDisk:
    """A repository on disk with the files of one commit. `folder`: removed when nothing holds it any more."""

    folder: TemporaryDirectory[str]
    commit: bytes


_kept: OrderedDict[str, RepositoryOnDisk] = OrderedDict()
"""What this process fetched last, by all that was asked for it, credentials included."""


@dataclass(frozen=True, slots=True)
class RepositoryAddress:
    """`url`: where git asks. `ref`: a branch or tag; "": what the repository shows first. `folder`: read that alone."""

    url: str
    ref: str = ""
    folder: str = ""

    def key(self, secrets: Mapping[str, str]) -> str:
        """Names what is kept of it."""
        return sha256(repr((self.url, self.ref, sorted(secrets.items()))).encode()).hexdigest()


class GitConnector:
    """Fetches again when the commit is another one than last time. Links and submodules are left out."""

    def __init__(self, address: RepositoryAddress, key: str, http: SourceHttp, chosen: PathFilter) -> None:
        self.address = address
        self._key = key
        self._http = http
        self._chosen = chosen
        self._fetched: RepositoryOnDisk | None = None

    async def list_files(self) -> AsyncIterator[RemoteFile]:
        """As Connector says, in the order of git."""
        await self._fetch()
        async for file in iterate_in_thread(self._walk()):
            yield file

    async def read_file(self, file: RemoteFile, most_bytes: int) -> bytes:
        """As Connector says. It is the state that was listed, whatever was pushed meanwhile."""
        if self._fetched is None:
            await self._fetch()
        return await asyncio.to_thread(self._read, file, most_bytes)

    async def close(self) -> None:
        """Keeps what was fetched for the next time, and of the repositories of this process the last ones."""
        if self._fetched is not None:
            _kept[self._key] = self._fetched
            _kept.move_to_end(self._key)
            while len(_kept) > MOST_KEPT:
                _kept.popitem(last=False)
            self._fetched = None

    async def _fetch(self) -> None:
        """The state that the repository has now. What was kept is taken only by one at a time."""
        loop = asyncio.get_running_loop()
        known = self._fetched or _kept.pop(self._key, None)
        self._fetched = await asyncio.to_thread(self._fetch_in_thread, loop, known)

    def _fetch_in_thread(self, loop: asyncio.AbstractEventLoop, known: RepositoryOnDisk | None) -> RepositoryOnDisk:
        from dulwich.errors import NotGitRepository
        from dulwich.repo import Repo

        folder = TemporaryDirectory(prefix="cairn-git-")
        wanted: list[bytes] = []

        def choose(refs: Mapping[bytes, bytes | None], depth: int | None = None) -> list[bytes]:
            wanted.append(self._choose(refs))
            return [] if known is not None and known.commit == wanted[0] else wanted

        try:
            with Repo.init_bare(folder.name) as repo:
                _client(self.address.url, self._http, loop).fetch(b"", repo, choose, depth=1)
                if known is not None and known.commit == wanted[0]:
                    folder.cleanup()
                    return known
                return RepositoryOnDisk(folder, _peel(repo, wanted[0]) and wanted[0])
        except SourceError:
            raise
        except NotGitRepository:
            raise SourceRefused(f"{self.address.url} is no git repository") from None
        except _failures() as error:
            raise SourceRefused(
                f"{self.address.url} does not answer as git does: {error or type(error).__name__}"
            ) from None

    def _choose(self, refs: Mapping[bytes, bytes | None]) -> bytes:
        ref = self.address.ref.encode()
        names = [b"refs/heads/" + ref, b"refs/tags/" + ref] if ref else [b"HEAD"]
        for name in names:
            if found := refs.get(name):
                return found
        said = f"no branch or tag {self.address.ref}" if ref else "no commit yet"
        raise SourceRefused(f"{self.address.url} has {said}")

    def _walk(self) -> Iterator[RemoteFile]:
        from dulwich.repo import Repo

        assert self._fetched is not None
        with Repo(self._fetched.folder.name) as repo:
            tree = self._tree(repo, _peel(repo, self._fetched.commit).tree)
            for entry in bound_names(repo.object_store.iter_tree_contents(tree)):
                path = entry.path.decode("utf-8", "replace")
                if stat.S_ISREG(entry.mode) and self._chosen.takes(path):
                    blob = entry.sha.decode("ascii")
                    yield RemoteFile(path, blob, self._page(path), content_id=blob)

    def _tree(self, repo: Repo, tree: Any) -> Any:
        """The tree of the folder that is read."""
        for name in filter(None, self.address.folder.split("/")):
            entries = repo.object_store[tree]
            try:
                mode, tree = entries[name.encode()]  # type: ignore[index]
            except KeyError:
                mode = 0
            if not stat.S_ISDIR(mode):
                raise SourceRefused(f"{self.address.url} has no folder {self.address.folder}")
        return tree

    def _page(self, path: str) -> str:
        """Where the usual servers show a file."""
        whole = "/".join(filter(None, (self.address.folder, path)))
        return f"{self.address.url.removesuffix('.git')}/blob/{quote(self.address.ref or 'HEAD')}/{quote(whole)}"

    def _read(self, file: RemoteFile, most_bytes: int) -> bytes:
        from dulwich.repo import Repo

        assert self._fetched is not None
        with Repo(self._fetched.folder.name) as repo:
            try:
                _, content = repo.object_store.get_raw((file.content_id or file.version).encode())  # type: ignore[arg-type]
            except (KeyError, ValueError):
                raise SourceFileGone(f"{file.path} is not there any more") from None
        if len(content) > most_bytes:
            raise SourceFileTooLarge(f"{file.path} has more than {most_bytes:,} bytes")
        if content.startswith(LARGE_FILES):
            raise SourceFileGone(f"{file.path} lies in Git LFS, and not in the repository")
        return content


def _peel(repo: Repo, commit: bytes) -> Any:
    """The commit that a tag names."""
    from dulwich.objects import Commit, Tag

    found = repo.object_store[commit]  # type: ignore[index]
    while isinstance(found, Tag):
        found = repo.object_store[found.object[1]]
    if not isinstance(found, Commit):
        raise ValueError("what it names is no commit")
    return found


def _failures() -> tuple[type[Exception], ...]:
    """What comes of a server that speaks no git, or breaks off."""
    from dulwich.errors import ChecksumMismatch, FileFormatException, GitProtocolError, ObjectFormatException

    return (
        GitProtocolError, ChecksumMismatch, FileFormatException, ObjectFormatException, ValueError, KeyError, AssertionError,
        EOFError, OSError, zlib.error,
    )  # fmt: skip


def _client(url: str, http: SourceHttp, loop: asyncio.AbstractEventLoop) -> Any:
    """A client of git whose requests are ours: guarded, and with our credentials."""
    from dulwich.client import AbstractHttpGitClient

    class Reply:
        def __init__(self, content_type: str | None, redirect_location: str, body: BytesIO) -> None:
            self.content_type = content_type
            self.redirect_location = redirect_location
            self.body = body

        def close(self) -> None:
            self.body.close()

    class GuardedGitClient(AbstractHttpGitClient):
        def _http_request(
            self, url: str, headers: dict[str, str] | None = None, data: Any = None, raise_for_status: bool = True
        ) -> tuple[Any, Callable[[int], bytes]]:
            body = data if isinstance(data, bytes) else b"".join(data or ())
            asked = http.ask("GET" if data is None else "POST", url, MOST_PACK_BYTES, body=body, headers=headers)
            try:
                reply = asyncio.run_coroutine_threadsafe(asked, loop).result()
            except SourceFileGone:
                raise SourceRefused(
                    f"{self._base_url.rstrip('/')} is no git repository, or not for these credentials"
                ) from None
            except SourceFileTooLarge as error:
                raise SourceRefused(f"{error}: name a folder of its own repository") from None
            content = BytesIO(reply.content)
            return Reply(
                reply.headers.get("content-type"), "" if reply.url == url else reply.url, content
            ), content.read

        def _get_url(self, path: Any) -> str:
            return self._base_url

    return GuardedGitClient(url)
