"""The models that the environment and the settings name: one client for each, made when it is first needed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from cairn.errors import SettingsError
from cairn.providers import e5, minilm
from cairn.providers.circuit import Circuits
from cairn.providers.cohere import DEFAULT_MODEL, CohereReranker
from cairn.providers.cross_encoder import CrossEncoder, find_cross_encoder
from cairn.providers.e5 import E5
from cairn.providers.llm_reranker import Filled, LlmReranker
from cairn.providers.metered import Meter
from cairn.providers.minilm import MiniLM
from cairn.providers.onnx_embedder import Precision
from cairn.providers.openai_chat import DEFAULT_CHAT_MODEL, OpenAIChat
from cairn.providers.openai_embeddings import MAX_INPUT_TOKENS, OpenAIEmbedder
from cairn.providers.plugins import added_chat_model, added_embedder, added_reranker
from cairn.providers.protocols import ChatMeter, ChatModel, Embedder, Reranker, RerankerChoice
from cairn.providers.windows import WholeTexts
from cairn.settings import AUTO, Environment, ProviderSettings, Settings, SettingsStore

LOCAL_MODELS: Final[Mapping[str, type[MiniLM] | type[E5]]] = {minilm.NAME: MiniLM, e5.NAME: E5}
"""Models that are built at install or at first use, by name."""
SHORT_NAMES: Final[Mapping[str, str]] = {"minilm": minilm.NAME, "e5": e5.NAME}
"""As settings and callers may call them."""
PRECISIONS: Final[tuple[Precision, ...]] = ("int8", "fp32")


def is_local(name: str) -> bool:
    """Whether a name, as settings have it, is that of a local model."""
    return name == AUTO or SHORT_NAMES.get(name, name) in LOCAL_MODELS


def registered_name(name: str, precision: Precision) -> str:
    """Under which its vectors are stored. Those of another precision are of another model: their cosine is about .99, not 1."""
    name = SHORT_NAMES.get(name, name)
    return f"{name}:{precision}" if name in LOCAL_MODELS else name


def chosen_model_name(settings: Settings, *, code: bool) -> str:
    """The model for a new collection of source code or of prose, as it is registered. Where CAIRN_MODEL_DIR names a folder that
    has MiniLM alone, that is all there is."""
    precision = settings.vector.precision
    if settings.rag.embedding_model != AUTO:
        return embedding_model_name(settings)
    alone = bool(os.environ.get("CAIRN_MODEL_DIR")) and e5.find_e5(Path(), precision) is None
    return registered_name(minilm.NAME if code or alone else e5.NAME, precision)


def embedding_model_name(settings: Settings) -> str:
    """The model of the settings, as it is registered; where the documents of each collection decide, the one that is always
    there."""
    if settings.rag.embedding_model == AUTO:
        return registered_name(minilm.NAME, settings.vector.precision)
    return registered_name(settings.rag.embedding_model, settings.vector.precision)


def judge_model_name(settings: Settings) -> str:
    """The model that thresholds and regressions are read by. They were fitted to MiniLM, whichever local model serves a
    collection. Who named a model of a provider may not have a local one: there that judges, as well as it can."""
    if is_local(settings.rag.embedding_model):
        return registered_name(minilm.NAME, settings.vector.precision)
    return embedding_model_name(settings)


class ConfiguredEmbedders:
    """Embedding models by name: built in, or of the provider that OPENAI_BASE_URL or OPENAI_API_KEY gives."""

    def __init__(self, environment: Environment, circuits: Circuits, hosted: ProviderSettings) -> None:
        """`hosted`: what hosted models read of one text, and how long a request may take."""
        self._environment = environment
        self._circuits = circuits
        self._hosted = hosted
        self._made: dict[str, Embedder] = {}

    def get(self, name: str) -> Embedder:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Embedder:
        environment = self._environment
        local, _, precision = name.rpartition(":")
        if local in LOCAL_MODELS and precision in PRECISIONS:
            return LOCAL_MODELS[local].open(environment.home, precision)
        if added := added_embedder(name):
            return WholeTexts(added)
        if not environment.chat_configured:
            raise SettingsError(
                f"the embedding model {name!r} needs OPENAI_API_KEY or OPENAI_BASE_URL; without them use one "
                f"of {', '.join(map(repr, SHORT_NAMES))}"
            )
        url = environment.openai_base_url
        circuit = self._circuits.get("embedding", url, name)
        return OpenAIEmbedder(
            name, environment.openai_api_key, url, max_tokens=self._hosted.embedding_tokens or MAX_INPUT_TOKENS,
            seconds=self._hosted.embedding_seconds, circuit=circuit,
        )  # fmt: skip

    async def close(self) -> None:
        for embedder in self._made.values():
            await embedder.close()


class ConfiguredChatModels:
    """One client per model name, since settings may name another model while running."""

    def __init__(self, environment: Environment, circuits: Circuits) -> None:
        self._environment = environment
        self._circuits = circuits
        self._clients: dict[str, ChatModel] = {}

    def get(self, settings: Settings) -> ChatModel | None:
        """None where no provider is configured: the extractive answerer takes over."""
        name = settings.rag.qa.model
        if name not in self._clients and (added := added_chat_model(name)):
            self._clients[name] = added
        if name not in self._clients:
            if not self._environment.chat_configured:
                return None
            key, url = self._environment.openai_api_key, self._environment.openai_base_url
            circuit = self._circuits.get("chat", url, name or DEFAULT_CHAT_MODEL)
            self._clients[name] = OpenAIChat(name, key, url, circuit=circuit)
        return self._clients[name]

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


LOOK_SECONDS: Final = 5.0
"""A cross-encoder that is put on the disk is found this soon."""


class ConfiguredRerankers:
    """One client per provider and model, made when settings first name it."""

    def __init__(
        self,
        environment: Environment,
        settings: SettingsStore,
        chats: ConfiguredChatModels,
        circuits: Circuits,
        rerank_prompt: Callable[..., Filled],
    ) -> None:
        self._environment = environment
        self._circuits = circuits
        self._settings = settings
        self._chats = chats
        self._rerank_prompt = rerank_prompt
        self._made: dict[tuple[object, ...], Reranker] = {}
        self._looked: dict[str, tuple[float, bool]] = {}

    @property
    def name(self) -> str | None:
        """Of the one in force now; None where nothing reranks unless it is asked to."""
        choice = self.get(self._settings.current)
        return choice.reranker.name if choice.reranker and not choice.on_request else None

    def get(self, settings: Settings, meter: ChatMeter | None = None) -> RerankerChoice:
        meter = meter or Meter(settings.answer.prices)
        match settings.rag.reranker_provider:
            case "cohere":
                found = self._cohere(settings)
                return RerankerChoice(found, None if found else _unusable("cohere", "COHERE_API_KEY is not set"))
            case "llm":
                found = self._llm(settings, meter, settings.rag.reranker_model)
                problem = None if found else _unusable("llm", "no chat model is configured")
                return RerankerChoice(found, problem, by_chat=True)
            case "cross-encoder":
                return RerankerChoice(self._cross_encoder(settings))
            case "auto":
                return self._auto(settings, meter)
            case "none":
                return RerankerChoice()
        return self._added(settings.rag.reranker_provider, settings.rag.reranker_model)

    def _added(self, provider: str, model: str) -> RerankerChoice:
        """Of another package."""
        if known := self._made.get((provider, model)):
            return RerankerChoice(known)
        found, problem = added_reranker(provider, model)
        if found is None:
            return RerankerChoice(problem=_unusable(provider, problem or ""))
        return RerankerChoice(self._once((provider, model), lambda: found))

    def _auto(self, settings: Settings, meter: ChatMeter) -> RerankerChoice:
        if found := self._cohere(settings):
            return RerankerChoice(found)
        if self._on_disk(settings.rag.reranker_model):
            return RerankerChoice(self._cross_encoder(settings))
        found = self._llm(settings, meter)
        return RerankerChoice(found, on_request=found is not None, by_chat=found is not None)

    def _on_disk(self, model: str) -> bool:
        """Whether the cross-encoder is there, as of LOOK_SECONDS ago at most: each search asks."""
        looked, found = self._looked.get(model, (-LOOK_SECONDS, False))
        if time.monotonic() - looked >= LOOK_SECONDS:
            found = find_cross_encoder(self._environment.home, model) is not None
            self._looked[model] = time.monotonic(), found
        return found

    def _cohere(self, settings: Settings) -> Reranker | None:
        key, url = self._environment.cohere_api_key, self._environment.cohere_base_url
        model, seconds = settings.rag.reranker_model, settings.retrieve.rerank_seconds
        if not key:
            return None
        circuit = self._circuits.get("rerank", url, model or DEFAULT_MODEL)
        return self._once(
            ("cohere", model, seconds), lambda: CohereReranker(key, model, url, seconds=seconds, circuit=circuit)
        )

    def _llm(self, settings: Settings, meter: ChatMeter, model: str = "") -> Reranker | None:
        """By the chat model of that name, else by the one that answers. Holds nothing, so it is made each time."""
        if model:
            qa = settings.rag.qa.model_copy(update={"model": model})
            chat = self._chats.get(settings.model_copy(update={"rag": settings.rag.model_copy(update={"qa": qa})}))
        else:
            chat = self._chats.get(settings)
        if chat is None:
            return None
        return LlmReranker(meter.chat(chat, "rerank"), self._rerank_prompt, seconds=settings.retrieve.rerank_seconds)

    def _cross_encoder(self, settings: Settings) -> Reranker:
        model, download = settings.rag.reranker_model, settings.retrieve.reranker_download
        return self._once(
            ("cross-encoder", model, download),
            lambda: CrossEncoder(self._environment.home, model, may_download=download),
        )

    def _once(self, key: tuple[object, ...], make: Callable[[], Reranker]) -> Reranker:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    async def close(self) -> None:
        for reranker in self._made.values():
            await reranker.close()


def _unusable(provider: str, reason: str) -> str:
    return f"rag.rerankerProvider is {provider}, but {reason}: not reranked"
