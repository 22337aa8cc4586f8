"""A corpus of any size that behaves like text: Zipfian words of which the most frequent are stop words, topics, headings,
documents cut by the product's own chunker.

Vectors are drawn to be as far from each other as those of all-MiniLM-L6-v2, measured on 9,609 passages of nine collections of
text (in brackets this corpus at 9,600 chunks): cosine of any two .03 with a deviation of .10 (.02, .10), of the nearest .63 (.64)
and of the tenth .46 (.49); half of the variance in 50 dimensions and 90 % in 196 (35, 161), participation ratio of the covariance
103 (98), local intrinsic dimension 19 (13). So an HNSW index neither has it easy (few far clusters) nor impossibly hard (uniform
noise). Everything follows from the seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cairn.domain.document import LoadedDocument, PreparedDocument, Source
from cairn.ingest.prepare import prepare
from cairn.providers.protocols import Vectors
from cairn.settings import IngestSettings, Settings

DIMENSIONS = 384
"""Of all-MiniLM-L6-v2, the default model."""
WORDS = 30_000
TOPICS = 200
TOPIC_WORDS = 300
FIELDS = 20
"""Each topic is of a field."""
SPECTRUM = np.exp(-((np.arange(DIMENSIONS) / 44) ** 0.7))
"""How the variance falls from dimension to dimension."""
SHARES = {"field": 0.2, "topic": 0.2, "document": 0.12, "section": 0.08, "chunk": 0.4}
"""Of the variance of a vector."""
TOUCHED = 0.3
"""Most that a section has of the topic of another, instead of its own."""
SECTION_CHUNKS = 6
QUERY_SPREAD = 0.5
"""The same for a query around the chunk that it asks for: cosine about .9."""
QUESTION_SPREAD = 1.2
"""For a question: cosine about .6, as of a question and the passage nearest to it by MiniLM (.61)."""
STOP_WORDS = [
    "the", "of", "and", "to", "a", "in", "is", "it", "you", "that", "he", "was", "for", "on", "are", "with", "as", "i", "his",
    "they", "be", "at", "have", "this", "from", "or", "had", "by", "but", "what", "some", "we", "can", "out", "other", "were",
    "all", "there", "when", "up", "your", "how", "an", "each", "she", "which", "do", "their", "if", "will", "more", "about",
    "no", "my", "than", "them", "its", "who", "most", "very", "after", "any", "our", "same", "so", "those", "both", "between",
    "few", "own", "through", "while",
]  # fmt: skip
"""The most frequent words, as in English; to search they are nothing."""
CHARS_PER_CHUNK = 225
"""New text per chunk of 400 characters with 50 overlap, as the chunker really cuts this text."""


class WordCount:
    """TokenCounter that counts words: the corpus needs no tokenizer, and loading it should not wait for one."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]


@dataclass(frozen=True)
class Query:
    """Words that stand together in some chunk, and a vector near that chunk's."""

    text: str
    vector: NDArray[np.float32]


@dataclass(frozen=True)
class Loadable:
    """A document and the vectors of its chunks (float32, normalised)."""

    document: PreparedDocument
    vectors: Vectors


@dataclass
class Corpus:
    """`documents()` begins anew at each call and gives the same; `queries`, known items, and `questions` are filled by the first
    pass."""

    chunks: int
    per_document: int = 20
    seed: int = 7
    query_count: int = 200
    queries: list[Query] = field(default_factory=list)
    questions: list[Query] = field(default_factory=list)

    def documents(self, prefix: str = "") -> Iterator[Loadable]:
        """Documents until there are so many chunks; `prefix` makes their ids others."""
        asking = Language(self.seed)  # of its own, so that questions leave the corpus as it was without them
        language, settings = Language(self.seed), Settings(ingest=IngestSettings(detect_language=False))
        wanted = np.random.default_rng(self.seed + 1).choice(self.chunks, min(self.query_count, self.chunks), False)
        asked, made, first = {int(number) for number in wanted}, 0, not self.queries
        for number in itertools.count():
            loadable = self.document(language, settings, f"{prefix}document-{number:06}", self.chunks - made)
            if first:
                places = [place for place in range(len(loadable.vectors)) if made + place in asked]
                self.queries += [language.query(loadable, place) for place in places]
                self.questions += [asking.question(loadable, place) for place in places]
            made += len(loadable.vectors)
            yield loadable
            if made >= self.chunks:
                return

    def document(self, language: Language, settings: Settings, name: str, room: int) -> Loadable:
        topic = language.topic()
        text = language.text(topic, min(self.per_document, max(room, 1)) * CHARS_PER_CHUNK)
        source = Source(name, name, text.encode(), title=None, media_type="text/markdown", metadata={}, is_text=True)
        document = prepare(source, LoadedDocument(text, "text/markdown", markup="markdown"), settings, WordCount())
        return Loadable(document, language.vectors(topic, len(document.chunks)))


class Language:
    """Words by frequency rank, and the words and the direction of each topic."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.words = _words(self.random)
        shares = 1 / (np.arange(WORDS) + 2.7)  # Zipf and Mandelbrot
        self.cumulative = np.cumsum(shares / shares.sum())
        self.topic_words = self.random.integers(200, WORDS, (TOPICS, TOPIC_WORDS))
        fields = self._drawn("field", FIELDS)
        self.centres = fields[self.random.integers(0, FIELDS, TOPICS)] + self._drawn("topic", TOPICS)

    def topic(self) -> int:
        return int(self.random.integers(TOPICS))

    def text(self, topic: int, characters: int) -> str:
        """Sections with headings, paragraphs of sentences."""
        parts, length = [f"# {self._sentence(topic, 4)}"], 0
        while length < characters:
            if self.random.random() < 0.15:
                parts.append(f"## {self._sentence(topic, 3)}")
            parts.append(" ".join(self._sentence(topic) + "." for _ in range(self.random.integers(3, 7))))
            length += len(parts[-1])
        return "\n\n".join(parts)

    def _sentence(self, topic: int, length: int = 0) -> str:
        length = length or int(self.random.integers(8, 22))
        ranks = np.searchsorted(self.cumulative, self.random.random(length))
        themed = self.topic_words[topic][self.random.integers(0, TOPIC_WORDS, length)]
        chosen = np.where(self.random.random(length) < 0.25, themed, ranks)
        return " ".join(self.words[rank] for rank in chosen).capitalize()

    def vectors(self, topic: int, count: int) -> Vectors:
        sections = -(-count // SECTION_CHUNKS)
        document = self.centres[topic] + self._drawn("document", 1)
        touched = self.centres[self.random.integers(0, TOPICS, sections)]
        share = self.random.uniform(0, TOUCHED, (sections, 1))
        centres = np.sqrt(1 - share) * document + np.sqrt(share) * touched + self._drawn("section", sections)
        return normalised(np.repeat(centres, SECTION_CHUNKS, axis=0)[:count] + self._drawn("chunk", count))

    def query(self, loadable: Loadable, place: int) -> Query:
        """6 to 11 words of the chunk (known-item queries)."""
        words = loadable.document.chunks[place].content.replace(".", "").replace("#", "").split()
        length = int(self.random.integers(6, 12))
        start = int(self.random.integers(0, max(1, len(words) - length)))
        vector = self._around(loadable.vectors[place : place + 1], QUERY_SPREAD)[0]
        return Query(" ".join(words[start : start + length]), vector)

    def question(self, loadable: Loadable, place: int) -> Query:
        """What a person asks: some words of the chunk, in no order that stands there, between words that stand everywhere."""
        words = loadable.document.chunks[place].content.replace(".", "").replace("#", "").lower().split()
        chosen = self.random.choice(words, min(len(words), int(self.random.integers(3, 7))), replace=False)
        between = self.random.choice(self.words[: len(STOP_WORDS)], len(chosen) + 2)
        text = " ".join(word for pair in zip(between, chosen, strict=False) for word in pair)
        vector = self._around(loadable.vectors[place : place + 1], QUESTION_SPREAD)[0]
        return Query(f"what is the {text} {between[-1]}?", vector)

    def _around(self, centre: Vectors, spread: float) -> Vectors:
        return normalised(centre + spread * self._drawn("", len(centre)))

    def _drawn(self, part: str, count: int) -> NDArray[np.float64]:
        """Vectors with the spectrum, whose length is 1 or by the part's share."""
        deviations = np.sqrt(SPECTRUM / SPECTRUM.sum() * SHARES.get(part, 1.0))
        return self.random.standard_normal((count, DIMENSIONS)) * deviations


def normalised(vectors: NDArray[np.floating]) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _words(random: np.random.Generator) -> list[str]:
    """Distinct pronounceable words; frequent ones are shorter."""
    syllables = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "en", "il", "on", "ust")]
    found = dict.fromkeys(STOP_WORDS)
    while len(found) < WORDS:
        length = 2 + (len(found) > 300) + (random.random() < 0.3)
        found["".join(syllables[i] for i in random.integers(0, len(syllables), length))] = None
    return list(found)


class ReadyVectors:
    """Embedder that looks up what the corpus brought: search and storage are measured without the model's time."""

    name, dimensions, max_tokens, tokens = "ready-vectors", DIMENSIONS, 256, WordCount()

    def __init__(self, known: Mapping[str, NDArray[np.float32]]) -> None:
        self._known = known

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._known[text] for text in texts])

    async def close(self) -> None:
        pass
