"""What every connector gives to those who keep a collection in step with a source: its files, and the bytes of one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, TypeVar

T = TypeVar("T")
MOST_NAMES: Final = 2_000_000
"""Names that a listing looks at, chosen or not: few bytes can tell of files without end."""


@dataclass(frozen=True)
class RemoteFile:
    """One file or page of a source, as a listing names it."""

    path: str
    """Relative to the source, with "/" between folders; unique in it, and the same at each listing while the file is there."""
    version: str
    """Changes whenever the content may have changed: an entity tag, a blob's id, or size and time of the last change. Never
    empty; two files with one version need not be the same."""
    address: str
    """Where a person finds it, without credentials: what a citation shows."""
    size: int | None = None
    """Bytes, where the listing says so."""
    modified: datetime | None = None
    """When it was last changed, aware of its zone, where the listing says so."""
    content_id: str | None = None
    """The same for the same bytes wherever they lie, such as a blob's id, by which a moved file is known; or None."""


class Connector(Protocol):
    """A source that is open. Used by one task at a time."""

    def list_files(self) -> AsyncIterator[RemoteFile]:
        """All files, in the order of their paths where the source keeps one. A listing that breaks off raises: what it did not
        name must never be taken for deleted.

        Raises:
            SourceUnreachable: try later.
            SourceRefused: the credentials, or the address, do not count there.
        """
        ...

    async def read_file(self, file: RemoteFile, most_bytes: int) -> bytes:
        """The bytes of a file that was listed.

        Raises:
            SourceFileGone: it is not there any more.
            SourceFileElsewhere: it leads to another one.
            SourceFileTooLarge: it has more than `most_bytes`; not more than that was fetched.
            SourceUnreachable, SourceRefused: as above.
        """
        ...

    async def close(self) -> None:
        """Ends connections and removes what was kept on disk for them; never raises."""
        ...


class SourceError(Exception):
    """What a source did not give; the text says why, in one sentence without credentials."""


class SourceUnreachable(SourceError):
    """For now: time-outs, refused connections, 5xx, "slow down"."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class SourceRefused(SourceError):
    """Until somebody changes the source or its credentials."""


class SourceFileGone(SourceError):
    """Deleted between the listing and the reading."""


class SourceFileElsewhere(SourceError):
    """Its name leads to another file, or to what is not to be read: whoever may read the one need not be let read the other."""


class SourceFileTooLarge(SourceError):
    """More bytes than may be read of one file."""


def refuse_endless(looked_at: int) -> None:
    """Raises SourceRefused for more names than a listing may look at."""
    if looked_at > MOST_NAMES:
        raise SourceRefused(f"it has more than {MOST_NAMES:,} files and folders: let the source be a folder of it")


def bound_names(names: Iterable[T]) -> Iterator[T]:
    """The same names, as many as a listing may look at. Raises SourceRefused behind them."""
    for number, name in enumerate(names, 1):
        refuse_endless(number)
        yield name
