"""A folder of this machine."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cairn.connectors.choose_files import PathFilter, is_hidden
from cairn.connectors.connector import RemoteFile, SourceFileGone, SourceFileTooLarge, SourceRefused, SourceUnreachable
from cairn.connectors.threads import iterate_in_thread

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""How they are opened: where they are no links, and without waiting for the other end of a pipe."""


def version_of(found: os.stat_result) -> str:
    """Of a file of this machine. With its inode: programs that keep times put another file in the place of the old one."""
    return f"{found.st_size}-{found.st_mtime_ns}-{found.st_ino}"


class LocalConnector:
    """Links are not followed: what lies in the folder is read by its own name, under which it has its readers."""

    def __init__(self, folder: Path, chosen: PathFilter) -> None:
        """`folder`: its links are followed once, here: what lies in it afterwards is what it led to."""
        self._root = Path(os.path.realpath(folder))
        self._chosen = chosen

    def list_files(self) -> AsyncIterator[RemoteFile]:
        """As Connector says; in the order of names, folder by folder."""
        return iterate_in_thread(self._walk())

    def _walk(self) -> Iterator[RemoteFile]:
        self._need_root()
        for current, folders, names in os.walk(self._root, onerror=self._fail):
            relative = Path(current).relative_to(self._root)
            folders[:] = sorted(name for name in folders if self._is_entered(relative / name))
            for name in sorted(names):
                path = (relative / name).as_posix()
                if self._chosen.takes(path) and (found := self._describe(path)) is not None:
                    yield found
        self._need_root()  # what vanished with it was not deleted

    def _need_root(self) -> None:
        if self._root.is_symlink() or not self._root.is_dir():
            raise SourceUnreachable(f"there is no folder {self._root}: is what it lies on connected?")

    def _is_entered(self, relative: Path) -> bool:
        return not is_hidden(relative.name) and not (self._root / relative / "pyvenv.cfg").exists()

    def _fail(self, error: OSError) -> None:
        """A folder that is gone by now has no files; one that cannot be read must not look as if it had none."""
        if isinstance(error, FileNotFoundError):
            return self._need_root()
        if isinstance(error, PermissionError):
            raise SourceRefused(f"the folder {error.filename} may not be read by the user that Cairn runs as") from None
        raise SourceUnreachable(f"the folder {error.filename} cannot be read: {error.strerror or error}") from None

    def _describe(self, path: str) -> RemoteFile | None:
        """None for what is no file of the folder: a pipe, a link, one that was just deleted."""
        try:
            with self._folder_of(path) as folder:
                found = os.stat(path.rpartition("/")[2], dir_fd=folder, follow_symlinks=False)
        except OSError:
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return RemoteFile(
            path,
            version=version_of(found),
            address=(self._root / path).as_uri(),
            size=found.st_size,
            modified=datetime.fromtimestamp(found.st_mtime, UTC),
        )

    @contextmanager
    def _folder_of(self, path: str) -> Iterator[int]:
        """The folder that a file lies in, come to from the root part by part: a link that is put in the place of any of them, at
        whatever moment, leads nowhere. Raises OSError."""
        folder = os.open(self._root, FOLDER)
        try:
            for name in path.split("/")[:-1]:
                inner = os.open(name, FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)

    async def read_file(self, file: RemoteFile, most_bytes: int) -> bytes:
        """As Connector says."""
        return await asyncio.to_thread(self._read, file.path, most_bytes)

    def _read(self, path: str, most_bytes: int) -> bytes:
        try:
            with self._folder_of(path) as folder:
                opened = os.open(path.rpartition("/")[2], FILE, dir_fd=folder)
            with open(opened, "rb") as handle:
                if not stat.S_ISREG(os.fstat(opened).st_mode):
                    raise SourceFileGone(f"{path} is no file any more")
                content = handle.read(most_bytes + 1)
        except (FileNotFoundError, NotADirectoryError):
            self._need_root()
            raise SourceFileGone(f"{path} is not there any more") from None
        except PermissionError:
            raise SourceRefused(f"{path} may not be read by the user that Cairn runs as") from None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise SourceFileGone(f"{path} is a link now") from None
            raise SourceUnreachable(f"{path} cannot be read: {error.strerror or error}") from None
        if len(content) > most_bytes:
            raise SourceFileTooLarge(f"{path} has more than {most_bytes:,} bytes")
        return content

    async def close(self) -> None:
        """Nothing is open."""
