"""Measures what the graph adds to retrieval, in memory: no database, no chat model (docs/adr/0024-graph-leg.md).

    python scripts/graph_experiment.py ~/beir/hotpotqa ~/beir/2wiki

Each folder is a data set as BEIR lays it out. Passages, chunks, embeddings, fusion, extraction and ranking are the
product's own; BM25 is computed here, over words cut to their stems by a simple rule. Prints nDCG@10 and recall@5 over
documents without and with the graph, and the difference with a 95 % bootstrap interval.
"""

from __future__ import annotations

import asyncio
import math
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_OID, UUID, uuid5

import numpy as np

from cairn.domain.document import LoadedDocument
from cairn.domain.passage import Fused, Hit, Leg, LegResult
from cairn.errors import EmptyDocumentError
from cairn.evals.datasets import RetrievalSet, load
from cairn.evals.metrics import estimate, ndcg, recall
from cairn.graph.extract import PassageSpan, extract
from cairn.graph.keys import key_of
from cairn.graph.link import keys_of
from cairn.graph.rank import MOST_PASSAGES, SEEDS, NamingPassage, RankedPassage, Seed, SharedEntity, Term, rank
from cairn.graph.relations import sentences
from cairn.ingest.prepare import prepare
from cairn.language.text import fold
from cairn.language.tokens import ALL_STOP_WORDS
from cairn.providers.minilm import MiniLM
from cairn.providers.protocols import TokenCounter
from cairn.retrieve.fuse import relative_score_fusion, with_graph
from cairn.settings import Settings

HOME: Final = Path.home() / ".cairn"
DEPTH: Final = 99
K1, B = 1.2, 0.75
_ENDINGS: Final = re.compile(r"(?<=\w{4})(?:ations?|ingly|edly|ings?|ie[sd]|e[ds]|e?s|ly|er|or|ed|en|e)$")


def stems(text: str) -> list[str]:
    return [_ENDINGS.sub("", word) for word in re.findall(r"\w+", fold(text)) if word not in ALL_STOP_WORDS]


class Index:
    """A corpus in memory: passages with their words, chunks with their vectors, entities with their passages."""

    def __init__(self, data: RetrievalSet, tokens: TokenCounter, language: str) -> None:
        settings = Settings.model_validate({"ingest": {"detectLanguage": False}})
        self.language, self.documents = language, dict[UUID, str]()
        self.words, self.said = dict[UUID, Counter[str]](), dict[tuple[UUID, str], frozenset[str]]()
        self.entities = defaultdict[UUID, dict[str, bool]](dict)
        self.mentioned = defaultdict[str, set[UUID]](set)
        self.chunks: list[tuple[str, UUID]] = []
        for source in data.documents():
            loaded = LoadedDocument(source.content.decode(), "text/plain", "plain")
            try:
                prepared = prepare(source, loaded, settings, tokens)
            except EmptyDocumentError:
                continue
            spans = [PassageSpan(p.draft.start, p.draft.end, p.draft.headings) for p in prepared.passages]
            found = extract(loaded.text, spans, title=source.title or "", language=language)
            for passage, extraction in zip(prepared.passages, found, strict=True):
                self.documents[passage.id] = source.external_id
                self.words[passage.id] = Counter(stems(f"{source.title or ''} {passage.content}"))
                units = [*sentences(loaded.text, passage.draft.start, passage.draft.end)]
                for mention in extraction.entities:
                    self._mention(passage.id, key_of(mention.name, mention.kind), mention.kind == "topic")
                    here = [text for a, b in units if a <= mention.start < b for text in stems(loaded.text[a:b])]
                    key = passage.id, key_of(mention.name, mention.kind)
                    self.said[key] = self.said.get(key, frozenset()) | frozenset(here)
            self.chunks += [(chunk.embed_text, chunk.passage_id) for chunk in prepared.chunks]
        frequencies = Counter(word for held in self.words.values() for word in held)
        self.rarest = math.log(1 + (len(self.words) + 0.5) / 0.5)
        self.idf = {w: math.log(1 + (len(self.words) - n + 0.5) / (n + 0.5)) for w, n in frequencies.items()}
        self.lengths = {passage: sum(held.values()) for passage, held in self.words.items()}
        self.average = sum(self.lengths.values()) / len(self.words)
        self.postings = defaultdict[str, list[tuple[UUID, int]]](list)
        for found_in, held in self.words.items():
            for word, times in held.items():
                self.postings[word].append((found_in, times))

    def _mention(self, passage: UUID, key: str, topic: bool) -> None:
        if len(key) > 1:
            self.entities[passage][key] = topic or self.entities[passage].get(key, False)
            self.mentioned[key].add(passage)

    async def embed(self, model: MiniLM) -> None:
        texts = [text for text, _ in self.chunks]
        parts = [await model.embed(texts[at : at + 256]) for at in range(0, len(texts), 256)]
        self.vectors = np.concatenate(parts)

    def text_legs(self, question: str, vector: np.ndarray | None = None) -> list[Fused]:
        """The order of the text legs; without a vector, of BM25 alone."""
        legs: dict[Leg, LegResult] = {"lexical": _leg("lexical", self._bm25(Counter(stems(question))))}
        if vector is not None:
            cosines: dict[UUID, float] = {}
            for (_, passage), score in zip(self.chunks, self.vectors @ vector, strict=True):
                cosines[passage] = max(cosines.get(passage, -1.0), float(score))
            legs["vector"] = _leg("vector", cosines)
        return relative_score_fusion(legs, {"vector": 0.7, "lexical": 0.3})

    def _bm25(self, asked: Mapping[str, int]) -> dict[UUID, float]:
        scores = defaultdict[UUID, float](float)
        for word, weight in asked.items():
            for passage, times in self.postings.get(word, ()):
                norm = K1 * (1 - B + B * self.lengths[passage] / self.average)
                scores[passage] += weight * self.idf[word] * times * (K1 + 1) / (times + norm)
        return scores

    def graph_leg(self, question: str, text: list[Fused]) -> list[RankedPassage]:
        named = set(keys_of(question, self.language))
        if not named:
            return []
        weights: dict[Term, float] = {word: self.idf.get(word, self.rarest) for word in stems(question)}
        best = text[0].score if text else 1.0
        seeds = [
            Seed(t.passage_id, t.score / best, self._held(t.passage_id, weights), bool(named & {*self.entities[t.passage_id]}))
            for t in text[:SEEDS]
        ]  # fmt: skip
        links = [link for seed in seeds for link in self._links(seed, weights)]
        terms = {link.passage_id: self._held(link.passage_id, weights) for link in links}
        return rank(weights, seeds, links, terms, [*self._named(named)])

    def _named(self, keys: set[str]) -> Iterator[NamingPassage]:
        for key in keys & self.mentioned.keys():
            passages = self.mentioned[key]
            about = [passage for passage in passages if self.entities[passage][key]]
            yield from (NamingPassage(passage, _id(key), len(passages), False) for passage in passages)
            yield from (NamingPassage(passage, _id(key), len(about), True) for passage in about)

    def rankings(self, question: str, vector: np.ndarray | None = None) -> tuple[list[str], list[str]]:
        """Documents in the order of the text legs, and with the graph."""
        text = self.text_legs(question, vector)
        hits = tuple(Hit(one.passage_id, one.passage_id, one.score) for one in self.graph_leg(question, text))
        both = with_graph(text, LegResult("graph", hits, 1.0, True, True)) if hits else text
        text_order, both_order = (
            [*dict.fromkeys(self.documents[p.passage_id] for p in order)] for order in (text, both)
        )
        return text_order, both_order

    def _held(self, passage: UUID, weights: Mapping[Term, float]) -> frozenset[Term]:
        return frozenset(weights) & self.words[passage].keys()

    def _links(self, seed: Seed, weights: Mapping[Term, float]) -> Iterator[SharedEntity]:
        for key in self.entities[seed.passage_id]:
            others = self.mentioned[key]
            if 2 <= len(others) <= MOST_PASSAGES:
                said = self.said[seed.passage_id, key] & weights.keys()
                for other in others - {seed.passage_id}:
                    topic = self.entities[other][key]
                    yield SharedEntity(seed.passage_id, other, _id(key), len(others), topic, said)


def _id(key: str) -> UUID:
    return uuid5(NAMESPACE_OID, key)


def _leg(name: Leg, scores: Mapping[UUID, float]) -> LegResult:
    order = sorted(scores, key=lambda passage: (-scores[passage], passage))[:DEPTH]
    hits = tuple(Hit(passage, passage, scores[passage]) for passage in order)
    return LegResult(name, hits, 1.0, True, len(scores) <= DEPTH)


async def measure(folder: Path, model: MiniLM, language: str, most: int) -> None:
    data = load(folder).first(most)
    began = time.perf_counter()
    index = Index(data, model.tokens, language)
    await index.embed(model)
    built = time.perf_counter() - began
    rows = []
    for number, question in data.queries.items():
        rankings = index.rankings(question, (await model.embed([question]))[0])
        rows.append([m(r, data.judgements[number], k) for m, k in ((ndcg, 10), (recall, 5)) for r in rankings])
    table = np.array(rows)
    print(f"{data.name}: {len(rows)} questions, {len(index.words)} passages, {built:.0f} s to build")
    for label, at in (("nDCG@10", 0), ("recall@5", 2)):
        gain = estimate([float(value) for value in table[:, at + 1] - table[:, at]])
        means = f"text {table[:, at].mean():.4f}  with graph {table[:, at + 1].mean():.4f}"
        print(f"  {label}  {means}  difference {gain.mean:+.4f} ({gain.low:+.4f} to {gain.high:+.4f})", flush=True)


async def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER[:LANGUAGE]...")
    model = MiniLM.open(HOME)
    for argument in sys.argv[1:]:
        folder, _, language = argument.partition(":")
        await measure(Path(folder), model, language or "en", 400)
    await model.close()


if __name__ == "__main__":
    asyncio.run(main())
