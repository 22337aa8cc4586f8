"""Which embedding model serves a collection from its first documents on, where the settings leave that to what these are
(rag.embeddingModel: auto): one that knows source code, or one that knows many languages (docs/adr/0094-two-local-models.md)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import PurePath
from typing import Final, Literal

from cairn.domain.document import CODE, CONFIGURATION_TYPES, Source, is_code_type
from cairn.ingest.loaders import code
from cairn.providers.protocols import Embedder
from cairn.store.vectors import EmbeddingModel

Writing = Literal["prose", "code"]
"""What most documents of a collection are."""
ChooseModel = Callable[[Writing], Awaitable[tuple[EmbeddingModel, Embedder]]]
"""The model for a new collection, registered. Raises ProviderError where it cannot be had."""

PEEKED: Final = 32
"""Documents that are looked at before the first is stored, and how many bytes of them are held at most."""
PEEKED_BYTES: Final = 8_000_000

_SUFFIXES: Final = frozenset(
    suffix for language, suffixes in code.SUFFIXES.items() if is_code_type(CODE + language) for suffix in suffixes
)


def is_code(name: str, media_type: str | None = None) -> bool:
    """Whether a document is source code, by what it is called; its media type decides where it says so. Configuration is none."""
    if media_type and media_type.startswith(CODE):
        return is_code_type(media_type) and media_type not in CONFIGURATION_TYPES
    return PurePath(name).suffix.lower() in _SUFFIXES


def writing_of(kinds: Iterable[bool]) -> Writing:
    """Code where most documents are. `kinds`: of each, whether it is code."""
    found = list(kinds)
    return "code" if 2 * sum(found) > len(found) else "prose"


async def peek(sources: AsyncIterator[Source]) -> tuple[Writing, AsyncIterator[Source]]:
    """What the first documents are, and all of them."""
    first: list[Source] = []
    held = 0
    async for source in sources:
        first.append(source)
        held += len(source.content)
        if len(first) >= PEEKED or held > PEEKED_BYTES:
            break
    return writing_of(is_code(one.name, one.media_type) for one in first), _chained(first, sources)


async def _chained(first: list[Source], rest: AsyncIterator[Source]) -> AsyncIterator[Source]:
    first.reverse()
    while first:
        yield first.pop()  # not held any longer
    async for source in rest:
        yield source
