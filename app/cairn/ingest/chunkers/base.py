"""What a chunker is: the function that cuts a document into passages, and these into chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cairn.domain.document import LoadedDocument
    from cairn.ingest.chunkers.headings import HeadedSection
    from cairn.language.tables import Table
    from cairn.providers.protocols import TokenCounter
    from cairn.settings import ChunkingSettings, RagSettings

Span = tuple[int, int]
"""Half-open range of code points of the document's text."""


@dataclass(frozen=True, slots=True)
class CutRequest:
    """What there is to cut. `sections`: where headings stand in Markdown, in order; empty for other text. `tables`: in order."""

    document: LoadedDocument
    sections: Sequence[HeadedSection]
    chunking: ChunkingSettings
    rag: RagSettings
    counter: TokenCounter
    tables: Sequence[Table] = ()


@dataclass(frozen=True, slots=True)
class PassageCut:
    """A passage and the chunks in it, at least one. `tokens` of the passage, where they have been counted."""

    span: Span
    chunks: tuple[Span, ...]
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Chunker:
    """A value of the setting chunking.strategy. `cut` gives passages in the order of the text, each with text in it; together
    they should cover all of it. `heading_levels`: deeper Markdown headings are text."""

    name: str
    cut: Callable[[CutRequest], Iterable[PassageCut]]
    heading_levels: int = 6
