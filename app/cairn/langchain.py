"""LangChain: passages of Cairn as documents of a retriever. `from cairn.langchain import CairnRetriever` (docs/clients.md)."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from pydantic import SecretStr

from cairn.client.http import AsyncClient, Client
from cairn.client.passages import metadata_of
from cairn.domain.passage import Mode, Passage

__all__ = ["CairnRetriever"]


class CairnRetriever(BaseRetriever):
    """Finds passages by POST /search. `filters`: only documents whose metadata contain this object. `url` and `key` default to
    CAIRN_URL and CAIRN_API_KEY. Raises the CairnError that the server answered with."""

    url: str | None = None
    key: SecretStr | None = None
    collection: str | list[str] | None = None
    top_k: int = 5
    mode: Mode | None = None
    filters: dict[str, Any] | None = None
    rerank: bool | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[LangChainDocument]:
        with Client(self.url, self._secret()) as client:
            return [*map(_document, client.search(query, **self._wanted()).passages)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[LangChainDocument]:
        async with AsyncClient(self.url, self._secret()) as client:
            return [*map(_document, (await client.search(query, **self._wanted())).passages)]

    def _secret(self) -> str | None:
        return self.key.get_secret_value() if self.key else None

    def _wanted(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("collection", "top_k", "mode", "filters", "rerank")}


def _document(passage: Passage) -> LangChainDocument:
    return LangChainDocument(passage.content, id=str(passage.passage_id), metadata=metadata_of(passage))
