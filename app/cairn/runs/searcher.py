"""What runs search, and what understanding a message looks up in the collection that is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cairn.domain.passage import Passage, SearchRequest, SearchResult
from cairn.domain.plan import Vocabulary
from cairn.domain.principal import Principal
from cairn.domain.question import Question
from cairn.errors import NotFoundError, ProviderError, SettingsError
from cairn.language.lexicon import DEFAULT
from cairn.providers.answer_reader import AnswerReader
from cairn.providers.e5 import E5
from cairn.providers.metered import Meter
from cairn.providers.minilm import MiniLM
from cairn.providers.protocols import Embedder, Vectors
from cairn.providers.table_parser import TableParser
from cairn.query.filters import Restricted, Wish, restrict
from cairn.retrieve.cache import cached_search
from cairn.retrieve.context import SearchDeps
from cairn.retrieve.embed import query_vectors, serving_model
from cairn.retrieve.rerank import Reranked, rerank, wants_reranking
from cairn.retrieve.search import nothing_found
from cairn.runs.library import Library
from cairn.settings import Settings
from cairn.store.holdings import look_up_words
from cairn.store.vectors import EmbeddingModel


def reads_answers(settings: Settings, embedder: Embedder | None) -> bool:
    """Whether the reader is asked about a collection that `embedder` serves."""
    wanted = settings.answer.reader
    return wanted == "on" or (wanted == "auto" and isinstance(embedder, E5))


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches for one caller, with one snapshot of the settings, each text embedded once."""

    deps: SearchDeps
    principal: Principal
    settings: Settings

    async def search(self, request: SearchRequest, question: Question, strategy: str, meter: Meter) -> SearchResult:
        """A search for the answer to a question; a collection that does not exist is an empty one. Raises CairnError."""
        try:
            return await cached_search(
                self.deps, self.principal, request, self.settings, question.run_id, answering=True, strategy=strategy,
                meter=meter,
            )  # fmt: skip
        except NotFoundError:
            return nothing_found(request, question.run_id)

    def serving(self, collection: str) -> EmbeddingModel:
        """The model that serves a collection, as far as is known."""
        return serving_model(self.deps, self.principal, collection)

    def embedder_across(self, collection: str) -> E5 | None:
        """The collection's own embedding model, where that reads many languages alike; known once the collection was searched."""
        try:
            found = self.deps.embedder_of(self.serving(collection))
        except (ProviderError, SettingsError):
            return None
        return found if isinstance(found, E5) else None

    async def embed(self, texts: Sequence[str], by: tuple[EmbeddingModel, Embedder]) -> Vectors:
        """Vectors of questions; searching for the same texts does not make them again. Raises ProviderError."""
        return await query_vectors(self.deps, self.principal, texts, self.settings, by)

    def has_word(self, collection: str, word: str, language: str) -> bool:
        """Whether a local model has a word whole in its vocabulary, as it has common words and hardly any slip of the finger
        (docs/adr/0141-asked-in-another-language.md): MiniLM those of English, the model of many languages others too."""
        judge, many = self.deps.judge, self.embedder_across(collection) if language != DEFAULT else None
        known = [model.tokens for model in (judge, many) if isinstance(model, (MiniLM, E5))]
        return any(tokens.count(spelled) == 1 for tokens in known for spelled in {word, word.lower()})

    def reader(self, collection: str) -> AnswerReader | None:
        """What finds in passages what answers, where that is installed, and on; it belongs to the model of prose."""
        return self.deps.reader() if reads_answers(self.settings, self.embedder_across(collection)) else None

    def table_parser(self, collection: str) -> TableParser | None:
        """What reads questions about tables, under the same conditions."""
        return self.deps.table_parser() if self.reader(collection) is not None else None

    async def rerank(self, text: str, passages: Sequence[Passage], meter: Meter) -> Reranked:
        """Never raises: `problem` tells what went wrong, and `reranker` is None where the order is the one it was given."""
        choice = self.deps.reranker.get(self.settings, meter)
        if not wants_reranking(choice, self.settings):
            return Reranked(list(passages))
        return await rerank(choice, text, passages, self.settings.retrieve)


@dataclass(frozen=True, slots=True)
class Scope:
    """What understanding a message looks up in the collection that is asked. `filters`: the caller's own."""

    searcher: Searcher
    library: Library
    collection: str
    filters: Mapping[str, Any] | None = None

    async def vocabulary(self, words: Sequence[str]) -> Vocabulary:
        """How common these words are there."""
        principal = self.searcher.principal
        async with self.searcher.deps.database.transaction(principal, readonly=True) as connection:
            return await look_up_words(connection, principal, self.collection, words)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts; searching for the same texts does not make them again. Raises ProviderError."""
        deps = self.searcher.deps
        return await self.searcher.embed(texts, (deps.judge_model, deps.judge))

    async def find(self, wishes: Sequence[Wish]) -> Restricted:
        """Which documents have what a message asks to be restricted to."""
        database, principal = self.searcher.deps.database, self.searcher.principal
        return await restrict(database, principal, self.collection, wishes, self.filters or {})
