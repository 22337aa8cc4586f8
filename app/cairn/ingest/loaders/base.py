"""What a loader is: the declaration of a file format, and the function that reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from cairn.distribution import Extra
from cairn.domain.document import CODE, Markup, PageStart

REVISION: Final = 12
"""Raised by 1 when a loader of this package gives another text, title or media type for the same file: what an earlier revision
read is then read anew by `cairn reread`, or when it is handed over again. tests/unit/test_loader_revision.py sees it."""
READ_BY_OTHERS: Final = 2**31 - 1
"""In the place of a revision: the text is of another program, and no loader of ours replaces it."""


T = TypeVar("T")
TELL_SHARE: ContextVar[Callable[[float], None] | None] = ContextVar("tell_share", default=None)
"""Who wants to know how much of a file is read: 0 to 1."""


def counted(parts: Sequence[T]) -> Iterator[T]:
    """Pages, slides or sheets one by one; each that was read is told, of many every hundredth part."""
    tell, told = TELL_SHARE.get(), 0
    for number, part in enumerate(parts):
        yield part
        if tell is not None and (percent := 100 * (number + 1) // len(parts)) > told:
            told = percent
            tell(percent / 100)


class LoadLimits(Protocol):
    """Bounds of one document; `IngestSettings` is one. A protocol, so that the parsing child need not load pydantic."""

    @property
    def max_pages(self) -> int: ...

    @property
    def max_text_chars(self) -> int: ...

    @property
    def max_unpacked_bytes(self) -> int: ...

    @property
    def parse_seconds(self) -> int: ...


@dataclass(frozen=True, slots=True)
class LoadedText:
    """What a loader reads out of a file. The text is normalised afterwards (`cairn.language.text`), page by page where there are
    `pages`, which begin where the text says now. `notes`: what was not read, for people."""

    text: str
    title: str | None = None
    pages: tuple[PageStart, ...] = ()
    notes: tuple[str, ...] = ()


Load = Callable[[bytes, LoadLimits], LoadedText]
"""Raises a ParseError that says what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class Loader:
    """A file format. All that Cairn knows of it stands here, so that a document can be cut anew from its stored text.

    `media_types`: each with the suffixes (lower case, with the dot) that stand for it; the first is that of a file known by
    its content. A document is stored with its media type.
    `markup`: how headings are found in the text. Of code, the media type is text/x- and the name of its language.
    `recognizes`: whether the content alone says so. `accepts`: whether a name or a media type that says so is to be believed;
    where it is left out, `recognizes` decides, and without either any text is.
    `binary`: not text. `isolated`: the parser can be made to misbehave by a file, so it runs in a confined process of its own,
    which reads no file but code, writes none and has no network. `programs`: there it may start others, such as Tesseract.
    `extra`: the part of Cairn that has its libraries; without it the file is refused, with what to install.
    """

    name: str
    load: Load
    media_types: Mapping[str, tuple[str, ...]]
    markup: Markup = "plain"
    recognizes: Callable[[bytes], bool] | None = None
    accepts: Callable[[bytes], bool] | None = None
    binary: bool = False
    isolated: bool = False
    programs: bool = False
    extra: Extra | None = None

    def believes(self, content: bytes) -> bool:
        """Whether content under one of its suffixes or media types is of this format."""
        check = self.accepts or self.recognizes
        return check is None or check(content)


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a file turned out to be."""

    loader: Loader
    media_type: str

    @property
    def code_language(self) -> str | None:
        """Name of its programming language (of langchain_text_splitters.Language), None for what is no code."""
        return self.media_type.removeprefix(CODE) if self.loader.markup == "code" else None
