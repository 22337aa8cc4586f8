"""Real texts in the place of the synthetic ones: retrieval sets in folders as BEIR lays them out (`BENCH_CORPUS=DIR,DIR`), cut by
the product's chunker, with vectors of the default model. They are computed once and kept in a file (`BENCH_CORPUS_VECTORS`,
default bench-vectors.npz)."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import random
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from cairn.domain.document import LoadedDocument, PreparedDocument
from cairn.evals import datasets
from cairn.ingest.prepare import prepare
from cairn.providers.minilm import MiniLM, find_model
from cairn.providers.protocols import Vectors
from cairn.retrieve.operators import parse_operators
from cairn.settings import IngestSettings, Settings
from tests.benchmarks.corpus import Corpus, Loadable, Query, WordCount

ENTRIES = [Path(entry) for entry in os.environ.get("BENCH_CORPUS", "").split(",") if entry]
VECTORS = Path(os.environ.get("BENCH_CORPUS_VECTORS", "bench-vectors.npz"))


def corpus_of(size: int) -> Corpus | RealCorpus:
    """Of so many chunks: synthetic, or real where BENCH_CORPUS names folders (then of at most as many as they hold)."""
    return RealCorpus(size, ENTRIES) if ENTRIES else Corpus(size)


@dataclass
class RealCorpus:
    """Documents of all sets in turn. `queries` are known items, 6 to 11 words that stand together in a chunk; `questions` are
    those of the sets. Both are filled by the first pass."""

    chunks: int
    folders: Sequence[Path]
    query_count: int = 200
    queries: list[Query] = field(default_factory=list)
    questions: list[Query] = field(default_factory=list)

    def documents(self) -> Iterator[Loadable]:
        sets = [datasets.load(folder) for folder in self.folders]
        documents = list(self._prepared(sets))
        texts = [chunk.content for document in documents for chunk in document.chunks]
        order = random.Random(7)
        known = [_words(order, texts[place]) for place in order.sample(range(len(texts)), self.query_count)]
        judged = [text for one in sets for text in one.queries.values() if parse_operators(text).text == text]
        asked = order.sample(judged, min(len(judged), self.query_count))
        vectors = _vectors(texts + known + asked)
        if not self.queries:
            rows = vectors[len(texts) :]
            self.queries += [Query(text, row) for text, row in zip(known, rows, strict=False)]
            self.questions += [Query(text, row) for text, row in zip(asked, rows[len(known) :], strict=True)]
        start = 0
        for document in documents:
            yield Loadable(document, vectors[start : start + len(document.chunks)])
            start += len(document.chunks)

    def _prepared(self, sets: Sequence[datasets.RetrievalSet]) -> Iterator[PreparedDocument]:
        settings, made, counter = Settings(ingest=IngestSettings(detect_language=False)), 0, WordCount()
        for sources in itertools.zip_longest(*(one.documents() for one in sets)):
            for one, source in zip(sets, sources, strict=True):
                if source is None or not source.content.strip():
                    continue
                named = replace(source, external_id=f"{one.name}/{source.external_id}", is_text=True)
                document = prepare(
                    named, LoadedDocument(source.content.decode(), "text/plain", markup="text"), settings, counter
                )
                yield document
                made += len(document.chunks)
                if made >= self.chunks:
                    return


def _words(order: random.Random, text: str) -> str:
    words = re.findall(r"\w+", text)  # signs may be operators of a query
    length = order.randint(6, 11)
    start = order.randint(0, max(0, len(words) - length))
    return " ".join(words[start : start + length])


def _vectors(texts: Sequence[str]) -> Vectors:
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    if VECTORS.exists() and (kept := np.load(VECTORS))["digest"] == digest:
        return np.asarray(kept["vectors"])
    folder = find_model(Path.home())
    assert folder is not None, "no embedding model: run make install"
    with ThreadPoolExecutor(1) as pool:  # benchmarks have a loop of their own in this thread
        vectors = pool.submit(asyncio.run, _embed(MiniLM(folder), texts)).result()
    np.savez(VECTORS, digest=digest, vectors=vectors)
    return vectors


async def _embed(model: MiniLM, texts: Sequence[str]) -> Vectors:
    try:
        return np.concatenate([await model.embed(texts[at : at + 512]) for at in range(0, len(texts), 512)])
    finally:
        await model.close()
