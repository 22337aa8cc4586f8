"""llama-index that reads a folder into PostgreSQL; run by the Python of `.venv-peers`, with Cairn's own local model.

The first line on standard input says where: {"dsn", "paths": where Cairn and its libraries are, "model": the model's folder}.
Each further line is an order, {"folder"}, and gets a line of JSON back: seconds in all and to the first row that others see, and
chunks. It runs as its documentation sets it up: SimpleDirectoryReader, SentenceSplitter, VectorStoreIndex over PGVectorStore
(hybrid, HNSW). Chunks are as long as Cairn's, so that both embed about the same text.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

CHUNK_TOKENS, OVERLAP_TOKENS = 100, 12
"""About 400 and 50 characters. A heading that Cairn embeds with each chunk is not repeated here."""


def embedding_model(folder: str) -> Any:
    from llama_index.core.base.embeddings.base import BaseEmbedding

    from cairn.providers.e5 import E5

    model = E5(Path(folder))

    class Local(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return asyncio.run(model.embed(texts)).tolist()

        def _get_query_embedding(self, query: str) -> list[float]:
            return asyncio.run(model.embed_questions([query]))[0].tolist()

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return (await model.embed_questions([query]))[0].tolist()

    return Local(model_name=model.name, embed_batch_size=128)


def main() -> None:
    setup = json.loads(sys.stdin.readline())
    sys.path += setup["paths"]  # behind its own libraries
    from llama_index.core import SimpleDirectoryReader, StorageContext, VectorStoreIndex
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.vector_stores.postgres import PGVectorStore

    url = setup["dsn"].replace("postgresql://", "postgresql+psycopg2://")
    embedding = embedding_model(setup["model"])
    embedding.get_text_embedding("warm")
    seen = {"first": 0.0, "chunks": 0}

    class Timed(PGVectorStore):
        def add(self, nodes: Any, **more: Any) -> list[str]:
            added = super().add(nodes, **more)
            seen["first"] = seen["first"] or time.perf_counter()
            seen["chunks"] += len(added)
            return added

    for number, line in enumerate(sys.stdin):
        seen.update(first=0.0, chunks=0)
        started = time.perf_counter()
        store = Timed.from_params(
            connection_string=url, async_connection_string=url.replace("psycopg2", "asyncpg"), table_name=f"folder_{number}",
            hybrid_search=True, text_search_config="english", embed_dim=384,
            hnsw_kwargs={"hnsw_m": 16, "hnsw_ef_construction": 64, "hnsw_ef_search": 80,
                         "hnsw_dist_method": "vector_cosine_ops"},
        )  # fmt: skip
        documents = SimpleDirectoryReader(json.loads(line)["folder"]).load_data()
        for document in documents:
            document.excluded_embed_metadata_keys = list(document.metadata)  # else the path is embedded with each chunk
        VectorStoreIndex.from_documents(
            documents,
            storage_context=StorageContext.from_defaults(vector_store=store), embed_model=embedding,
            transformations=[SentenceSplitter(chunk_size=CHUNK_TOKENS, chunk_overlap=OVERLAP_TOKENS, include_metadata=False)],
        )  # fmt: skip
        ended = time.perf_counter()
        print(
            json.dumps({"seconds": ended - started, "first": seen["first"] - started, "chunks": seen["chunks"]}),
            flush=True,
        )


if __name__ == "__main__":
    main()
