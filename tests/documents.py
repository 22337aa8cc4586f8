"""Small helpers for tests that index text."""

from __future__ import annotations

from dataclasses import replace

from cairn.domain.document import Indexed, Outcome, Source
from cairn.domain.passage import SearchRequest, SearchResult
from cairn.providers.openai_embeddings import OpenAIEmbedder
from cairn.providers.retry import RetryPolicy
from cairn.service.documents import index_now
from cairn.service.search import run_search
from cairn.settings import Settings, SettingsStore
from cairn.wiring import Services


def text_source(external_id: str, text: str, title: str | None = None, **metadata: object) -> Source:
    return Source(
        external_id, external_id, text.encode(), title=title, media_type="text/plain", metadata=metadata, is_text=True
    )


async def index_texts(services: Services, texts: dict[str, str], collection: str = "test") -> list[Outcome]:
    outcomes = await index_now(services, collection, [text_source(name, text) for name, text in texts.items()])
    assert all(isinstance(outcome, Indexed) for outcome in outcomes), outcomes
    return outcomes


async def find(services: Services, query: str, collection: str = "test", **more: object) -> SearchResult:
    return await run_search(services, SearchRequest(query=query, collections=(collection,), **more))  # type: ignore[arg-type]


def unreachable_embedder() -> OpenAIEmbedder:
    """A real provider whose server is down."""
    return OpenAIEmbedder("unreachable", "key", "http://127.0.0.1:9/v1", dimensions=384, retry=RetryPolicy(attempts=1))


def with_sections(services: Services, **sections: object) -> Services:
    """The same services under other settings, where a section is given."""
    return replace(services, settings=SettingsStore(initial=Settings(**sections)))  # type: ignore[arg-type]
