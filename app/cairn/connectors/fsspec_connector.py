"""Stores of objects by way of fsspec: S3 and what speaks like it, Google Cloud Storage, Azure."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from cairn.connectors.choose_files import PathFilter, is_hidden
from cairn.connectors.connector import (
    RemoteFile,
    SourceError,
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    SourceUnreachable,
    bound_names,
)
from cairn.connectors.source_http import seconds_to_wait
from cairn.connectors.threads import BATCH, iterate_in_thread

TAGS: Final = ("ETag", "etag", "generation", "md5Hash", "version_id")
"""What stores call that which changes with the content."""
TIMES: Final = ("LastModified", "last_modified", "updated", "modified", "mtime", "created")
SIZES: Final = ("size", "Size")
DEEPEST: Final = 100
WRONG: Final = frozenset({errno.EINVAL, errno.EREMCHG, errno.ENOSYS, errno.EPERM})
"""How s3fs says that a request can never be answered: a wrong region, a name that no bucket has."""

Entries = Callable[[Any, str], Iterator[Mapping[str, Any]]]
"""The files below a root of a file system, as it describes them. Raises what the file system raises."""


class FsspecConnector:
    """Each has a file system of its own, which remembers nothing of earlier listings."""

    def __init__(
        self, make: Callable[[], Any], root: str, scheme: str, chosen: PathFilter, *, entries: Entries | None = None,
        check: Callable[[], Any] | None = None,
    ) -> None:  # fmt: skip
        """`make`: opens the file system; called in a thread. `root`: bucket and folder. `check`: a coroutine that raises where
        the host may not be reached."""
        self._make = make
        self._root = root.strip("/")
        self._scheme = scheme
        self._chosen = chosen
        self._entries = entries or walk_folders
        self._check = check
        self._files: Any = None

    async def list_files(self) -> AsyncIterator[RemoteFile]:
        """As Connector says; in the order of the store."""
        await self._open()
        async for file in iterate_in_thread(self._list()):
            yield file

    def _list(self) -> Iterator[RemoteFile]:
        with self._failures(self._root):
            try:
                for info in bound_names(self._entries(self._files, self._root)):
                    name = str(info["name"])
                    path = name.removeprefix(self._root).lstrip("/")
                    if path and not path.endswith("/") and name.startswith(self._root) and self._chosen.takes(path):
                        yield self._describe(path, info)
            except FileNotFoundError:
                raise SourceRefused(f"there is no {self._scheme}://{self._root}") from None

    def _describe(self, path: str, info: Mapping[str, Any]) -> RemoteFile:
        tag = next((str(info[name]) for name in TAGS if info.get(name)), None)
        when = next((info[name] for name in TIMES if info.get(name)), None)
        size = next((int(info[name]) for name in SIZES if info.get(name) is not None), None)
        if tag is None and when is None:
            raise SourceRefused(
                f"{self._scheme}:// tells neither entity tag nor time of {path}, so no change would be seen"
            )
        address = f"{self._scheme}://{self._root}/{path}"
        return RemoteFile(path, tag or f"{size}-{when}", address, size, _read_time(when))

    async def read_file(self, file: RemoteFile, most_bytes: int) -> bytes:
        """As Connector says."""
        await self._open()
        return await asyncio.to_thread(self._read, file.path, most_bytes)

    def _read(self, path: str, most_bytes: int) -> bytes:
        with self._failures(path), self._files.open(f"{self._root}/{path}", "rb", cache_type="none") as remote:
            content = bytes(remote.read(most_bytes + 1))
        if len(content) > most_bytes:
            raise SourceFileTooLarge(f"{path} has more than {most_bytes:,} bytes")
        return content

    async def close(self) -> None:
        """Lets go of the file system, which ends its connections."""
        self._files = None

    async def _open(self) -> None:
        if self._files is None:
            if self._check is not None:
                await self._check()
            self._files = await asyncio.to_thread(self._make)

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        """Raises what failed as what it means for a source. What nobody foresaw is for now: nothing is deleted for it."""
        try:
            yield
        except (SourceError, GeneratorExit):
            raise
        except FileNotFoundError:
            raise SourceFileGone(f"{what} is not there any more") from None
        except PermissionError as error:
            raise SourceRefused(f"{self._scheme}:// does not take the credentials for {what}: {_line(error)}") from None
        except Exception as error:
            status, wait = _said_by_server(error)
            said = f"{self._scheme}:// cannot give {what}: {_line(error)}"
            is_wrong = isinstance(error, ValueError) or (isinstance(error, OSError) and error.errno in WRONG)
            if (is_wrong and (status or 400) < 500) or status in (400, 401, 403):
                raise SourceRefused(said) from None
            raise SourceUnreachable(said, retry_after_s=wait) from None


def walk_folders(files: Any, root: str) -> Iterator[Mapping[str, Any]]:
    """Folder by folder, so that one that cannot be listed breaks the listing off."""
    folders = [(root, 0)]
    while folders:
        folder, depth = folders.pop()
        if depth > DEEPEST:
            raise SourceRefused(f"{root} has folders in each other, more than {DEEPEST}")
        for info in files.ls(folder, detail=True):
            name = str(info["name"]).rstrip("/")
            if info["type"] == "directory":
                if name != folder and not is_hidden(name.removeprefix(root).strip("/")):
                    folders.append((name, depth + 1))
            elif info["type"] == "file":
                yield info


def list_bucket(files: Any, root: str) -> Iterator[Mapping[str, Any]]:
    """Of S3, page by page: the whole bucket is never held, however much lies in one folder."""
    from fsspec.asyn import sync

    bucket, _, folder = root.partition("/")
    names = files._iterdir(bucket, delimiter="", prefix=f"{folder}/" if folder else "")

    async def take() -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        async for info in names:
            found.append(info)
            if len(found) == BATCH:
                break
        return found

    while batch := sync(files.loop, take):
        yield from batch


def _read_time(when: object) -> datetime | None:
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError:
            return None
    if isinstance(when, int | float):
        return datetime.fromtimestamp(when, UTC)
    if not isinstance(when, datetime):
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _said_by_server(error: BaseException) -> tuple[int | None, float | None]:
    """Status and Retry-After of the reply that an error of botocore, of Azure's library or of gcsfs comes of."""
    cause: BaseException | None = error
    while cause is not None:
        response = getattr(cause, "response", None)
        if isinstance(response, Mapping):
            said = response.get("ResponseMetadata", {})
            return said.get("HTTPStatusCode"), seconds_to_wait(said.get("HTTPHeaders", {}).get("retry-after"))
        status = getattr(cause, "status_code", None) or getattr(cause, "code", None)
        if isinstance(status, int):
            headers = getattr(response, "headers", None) or {}
            return status, seconds_to_wait(headers.get("Retry-After"))
        if type(cause) is OSError and str(cause).startswith("Forbidden:"):  # so gcsfs says 403
            return 403, None
        cause = cause.__cause__
    return None, None


def _line(error: BaseException) -> str:
    """One line of an error, which may have the whole reply of a server in it."""
    return " ".join(str(error).split())[:300] or type(error).__name__
