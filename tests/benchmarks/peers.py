"""langchain-postgres and llama-index behind one shape; run by the Python of `.venv-peers`, which knows nothing of Cairn.

The first line on standard input says where: {"dsn", "chunks": FILE.npz with texts and vectors, "queries": FILE.npz};
each further line is an order: {"peer", "load": true}, {"peer", "number"} for one query, or {"peer", "clients", "seconds",
"between"} for a window with some of them; each gets a line of JSON back.
Both run as their documentation sets them up, with HNSW m 16, ef_construction 64, ef_search 80 and 10 results.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np

BATCH = 500
DIMENSIONS = 384


class LangChain:
    """PGVectorStore, hybrid: 50 candidates of each leg, reciprocal rank fusion."""

    def __init__(self, url: str, known: dict[str, list[float]]) -> None:
        from langchain_core.embeddings import Embeddings
        from langchain_postgres import PGEngine

        class Ready(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [known[text] for text in texts]

            def embed_query(self, text: str) -> list[float]:
                return known[text]

            async def aembed_query(self, text: str) -> list[float]:
                return known[text]

        self.engine, self.embeddings = PGEngine.from_connection_string(url), Ready()
        self.store: Any = None

    def _config(self) -> Any:
        """A fresh one for each query: a configuration keeps the text of the first query that it serves."""
        from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion

        return HybridSearchConfig(
            tsv_column="content_tsv", tsv_lang="pg_catalog.english", fusion_function=reciprocal_rank_fusion,
            fusion_function_parameters={"rrf_k": 60, "fetch_top_k": 10}, primary_top_k=50, secondary_top_k=50,
        )  # fmt: skip

    async def load(self, texts: list[str], vectors: np.ndarray) -> None:
        from langchain_postgres import PGVectorStore
        from langchain_postgres.v2.indexes import HNSWIndex, HNSWQueryOptions

        await self.engine.ainit_vectorstore_table("langchain_peer", DIMENSIONS, hybrid_search_config=self._config())
        self.store = await PGVectorStore.create(
            self.engine, self.embeddings, "langchain_peer", k=10, hybrid_search_config=self._config(),
            index_query_options=HNSWQueryOptions(ef_search=80),
        )  # fmt: skip
        for first in range(0, len(texts), BATCH):
            part = slice(first, first + BATCH)
            await self.store.aadd_embeddings(texts[part], vectors[part].tolist())
        await self.store.aapply_hybrid_search_index()
        await self.store.aapply_vector_index(HNSWIndex(m=16, ef_construction=64))

    async def ask(self, text: str, vector: list[float]) -> int:
        return len(await self.store.asimilarity_search(text, k=10, hybrid_search_config=self._config()))


class LlamaIndex:
    """PGVectorStore with hybrid_search=True."""

    def __init__(self, url: str, known: dict[str, list[float]]) -> None:
        from llama_index.vector_stores.postgres import PGVectorStore

        self.store = PGVectorStore.from_params(
            connection_string=url.replace("+asyncpg", "+psycopg2"), async_connection_string=url,
            table_name="llama_peer", hybrid_search=True, text_search_config="english", embed_dim=DIMENSIONS,
            hnsw_kwargs={"hnsw_m": 16, "hnsw_ef_construction": 64, "hnsw_ef_search": 80,
                         "hnsw_dist_method": "vector_cosine_ops"},
        )  # fmt: skip

    async def load(self, texts: list[str], vectors: np.ndarray) -> None:
        from llama_index.core.schema import TextNode

        nodes = [
            TextNode(id_=f"node-{number}", text=text, embedding=vector.tolist())
            for number, (text, vector) in enumerate(zip(texts, vectors, strict=True))
        ]
        for first in range(0, len(nodes), BATCH):
            await self.store.async_add(nodes[first : first + BATCH])

    async def ask(self, text: str, vector: list[float]) -> int:
        from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

        query = VectorStoreQuery(
            query_str=text, query_embedding=vector, similarity_top_k=10, sparse_top_k=10,
            mode=VectorStoreQueryMode.HYBRID,
        )  # fmt: skip
        return len((await self.store.aquery(query)).nodes or [])


async def drive(ask: Callable[..., Awaitable[object]], queries: list[Any], clients: int, seconds: float) -> Any:
    """As tests/benchmarks/timing.py has it, which this environment cannot import."""
    latencies: list[float] = []
    started = time.perf_counter()

    async def client(number: int) -> None:
        place = number * len(queries) // clients
        while time.perf_counter() - started < seconds:
            begun = time.perf_counter()
            await ask(*queries[place % len(queries)])
            latencies.append((time.perf_counter() - begun) * 1000)
            place += 1

    await asyncio.gather(*(client(number) for number in range(clients)))
    return {"latencies": latencies, "seconds": time.perf_counter() - started}


async def main() -> None:
    loop = asyncio.get_running_loop()
    setup = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    chunks, asked = np.load(setup["chunks"]), np.load(setup["queries"])
    queries = [(text, vector.tolist()) for text, vector in zip(asked["texts"].tolist(), asked["vectors"], strict=True)]
    url = setup["dsn"].replace("postgresql://", "postgresql+asyncpg://")
    makers = {"langchain": LangChain, "llama-index": LlamaIndex}
    peers: dict[str, Any] = {}
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        name = order["peer"]
        if order.get("load"):
            peers[name] = makers[name](url, dict(queries))
            started = time.perf_counter()
            await peers[name].load(chunks["texts"].tolist(), chunks["vectors"])
            answer: Any = {"seconds": time.perf_counter() - started, "found": await peers[name].ask(*queries[0])}
        elif "number" in order:
            started = time.perf_counter()
            found = await peers[name].ask(*queries[order["number"]])
            answer = {"ms": (time.perf_counter() - started) * 1000, "found": found}
        else:
            first, last = order["between"]
            answer = await drive(peers[name].ask, queries[first:last], order["clients"], order["seconds"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
