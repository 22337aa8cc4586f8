"""LlamaIndex: passages of Cairn as nodes of a retriever. `from cairn.llama_index import CairnNodeRetriever` (docs/clients.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from cairn.client.http import AsyncClient, Client
from cairn.client.passages import metadata_of
from cairn.domain.passage import Mode, Passage

__all__ = ["CairnNodeRetriever"]


class CairnNodeRetriever(BaseRetriever):
    """Finds passages by POST /search. `filters`: only documents whose metadata contain this object. `url` and `key` default to
    CAIRN_URL and CAIRN_API_KEY. Raises the CairnError that the server answered with."""

    def __init__(
        self, *, url: str | None = None, key: str | None = None, collection: str | Sequence[str] | None = None,
        top_k: int = 5, mode: Mode | None = None, filters: Mapping[str, Any] | None = None, rerank: bool | None = None,
        **base: Any,
    ) -> None:  # fmt: skip
        """`base`: what every retriever of LlamaIndex takes, such as a callback manager."""
        self._server = (url, key)
        self._wanted: dict[str, Any] = {
            "collection": collection, "top_k": top_k, "mode": mode, "filters": filters, "rerank": rerank,
        }  # fmt: skip
        super().__init__(**base)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with Client(*self._server) as client:
            return [*map(_node, client.search(query_bundle.query_str, **self._wanted).passages)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        async with AsyncClient(*self._server) as client:
            return [*map(_node, (await client.search(query_bundle.query_str, **self._wanted)).passages)]


def _node(passage: Passage) -> NodeWithScore:
    told = metadata_of(passage)
    # for people and programs; a model is told the text with its title
    hidden = [name for name in told if name not in ("title", "page")]
    node = TextNode(
        id_=str(passage.passage_id), text=passage.content, metadata=told, excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=list(told), start_char_idx=passage.start, end_char_idx=passage.end,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=str(passage.document_id))},
    )  # fmt: skip
    return NodeWithScore(node=node, score=passage.score)
