"""A writer of documents in a process of its own, for bench_workers.py.

The first line on standard input says where and what: {"dsn", "collection", "documents", "per_document", "seed", "together"}; it
says when it is ready, begins at the next line, and tells what it took.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cairn.domain.document import Indexed
from cairn.ingest import publish_queue
from cairn.ingest.pipeline import ingest
from cairn.providers.protocols import Vectors
from cairn.service.documents import ensure_collection
from tests.benchmarks.corpus import DIMENSIONS, Corpus, ReadyVectors, normalised
from tests.benchmarks.loading import opened


class AnyVectors(ReadyVectors):
    """A vector for each text, at once."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        made = [np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMENSIONS) for text in texts]
        return normalised(np.stack(made))


async def main() -> None:
    order = json.loads(sys.stdin.readline())
    publish_queue.TOGETHER_CHUNKS = order["together"]
    corpus = Corpus(10**6, per_document=order["per_document"], seed=order["seed"], query_count=0)
    made = list(itertools.islice(corpus.documents(f"{order['seed']}-"), order["documents"]))
    async with opened(order["dsn"]) as services:
        found = await ensure_collection(services, order["collection"])
        target = replace(services.target(services.principal, found.id), embedder=AnyVectors({}))
        print(json.dumps({"ready": True}), flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        started = time.perf_counter()
        outcomes = await ingest(services.database, target, [one.document.source for one in made])
        indexed = sum(isinstance(one, Indexed) for one in outcomes)
        print(json.dumps({"seconds": time.perf_counter() - started, "indexed": indexed}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
