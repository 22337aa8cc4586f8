"""What every loader is given and what the table of formats is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class Limits(Protocol):
    """Bounds of one document; `IngestSettings` is one. A protocol, so that the parsing child need not load pydantic."""

    @property
    def max_pages(self) -> int: ...

    @property
    def max_text_chars(self) -> int: ...

    @property
    def max_unpacked_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table of formats; the loader is `load` in the module of the same name in this package.

    `recognises` looks at content alone and wins over every name; `isolated` formats have a parser that an attacker
    can make misbehave, so they are read in a subprocess.
    """

    name: str
    media_type: str
    extensions: frozenset[str] = frozenset()
    recognises: Callable[[bytes], bool] | None = None
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """What a file turned out to be."""

    format: Format
    media_type: str
    code_language: str | None = None
