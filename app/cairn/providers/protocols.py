"""What a model provider must be able to do. Implementations live beside this file; wiring.py chooses among them.

Every implementation raises only ProviderError and its children; vectors are float32, L2-normalised.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cairn.settings import Settings

Vectors = NDArray[np.float32]


class TokenCounter(Protocol):
    """Counts tokens as an embedding model's own tokenizer does."""

    @property
    def name(self) -> str:
        """Recorded with each chunk: the tokenizer's name, or "estimate-v1" where the vocabulary cannot be had."""
        ...

    def count(self, text: str) -> int: ...

    def count_batch(self, texts: Sequence[str]) -> list[int]: ...


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Name of the model as settings and traces show it."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """What the model reads of one content at once, without tokens that it adds by itself."""
        ...

    @property
    def tokens(self) -> TokenCounter: ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Array of shape (len(texts), dimensions). Order is kept, and nothing of a longer text is left out: those of the
        built-in models, and of other packages as they are wrapped (windows.py). Raises ProviderError."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class EmbedsQuestions(Protocol):
    """What an embedder has besides that reads questions otherwise than the texts that may answer them, as models do that were
    trained with a word before each of the two. For others both sides are the same."""

    async def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """As `Embedder.embed`, for what is asked; to be compared with vectors of `embed`. Raises ProviderError."""
        ...


@runtime_checkable
class HasQuestionEncoder(Protocol):
    """What an embedder has besides whose questions are read by something that a release may change, while its texts stay."""

    @property
    def questions_by(self) -> str:
        """Its name, another one for each change; "" where the model itself reads them."""
        ...


@runtime_checkable
class EmbedsQuestionsAsPublished(Protocol):
    """An embedder with such an encoder that has the model's own vectors of questions, too."""

    async def embed_questions_as_published(self, texts: Sequence[str]) -> Vectors:
        """As `EmbedsQuestions.embed_questions`, by the model itself. Raises ProviderError."""
        ...


def question_encoder(embedder: Embedder) -> str:
    """By what vectors of questions are known besides model and text, where they are kept."""
    return embedder.questions_by if isinstance(embedder, HasQuestionEncoder) else ""


async def embed_questions(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Vectors of questions, to be compared with those of `embed`. Raises ProviderError."""
    if isinstance(embedder, EmbedsQuestions):
        return await embedder.embed_questions(texts)
    return await embedder.embed(texts)


async def embed_questions_as_published(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """For what is weighed by numbers that were fitted to the cosines of the model itself. Raises ProviderError."""
    if isinstance(embedder, EmbedsQuestionsAsPublished):
        return await embedder.embed_questions_as_published(texts)
    return await embed_questions(embedder, texts)


class Embedders(Protocol):
    """Embedding models by the name under which their vectors are registered, e.g. all-MiniLM-L6-v2:int8."""

    def get(self, name: str) -> Embedder:
        """The same one each time. Raises ProviderError or SettingsError when it cannot be had."""
        ...


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a chat model is told of it; `parameters` is the JSON schema of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model wants called, as the model named it. `whole`: the arguments were complete JSON; others were
    repaired, or read out of words. `id` ties the tool's answer to the call; unique within a message. `returned`: what its
    server wants to see again with the call, when the conversation goes on."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    whole: bool = True
    returned: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """`calls`: of an assistant that called tools. `call_id`: which call a message of the role `tool` answers."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed completion; the last one has the finish reason and, if reported, the usage."""

    text: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    finish_reason: str
    usage: Usage
    model: str


ToolProtocol = Literal["native", "text"]
"""How a model is told of tools, and calls them: by `tools` and `tool_calls` of the API, or in words."""
ToolChoice = Literal["auto", "native", "text"]
"""auto: native, and in words where the server refuses tools or answers in words."""


@dataclass(frozen=True, slots=True)
class Acted:
    """What a model does next. `calls`: tools to be called, in order, none where it only said something. `text`: what it
    said beside them, or instead. `protocol`: how it was asked, or how it answered where that differs.

    `unproven`: it only said something, and nothing shows yet that the server knows tools at all; with `auto` the next
    request is in words, so it is worth asking again.
    """

    calls: tuple[ToolCall, ...]
    text: str
    usage: Usage
    finish_reason: str
    protocol: ToolProtocol
    unproven: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """What a structured reply must look like: the JSON schema of an object, with a name for it. All properties are
    required and no others allowed, as servers demand that keep to a schema strictly."""

    name: str
    properties: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return strict_object(self.properties)


def strict_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with exactly these properties."""
    return {
        "type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Structured:
    """`value`: the first JSON object or array of the reply, None where it has none; a server may not have kept to the
    schema. Of a reply that was cut off it has what is whole. `text`: the reply as it was. `protocol`: native where the
    server took a `response_format`, text where JSON was only asked for in words."""

    value: Any
    text: str
    usage: Usage
    finish_reason: str
    protocol: ToolProtocol = "text"


class ChatModel(Protocol):
    @property
    def name(self) -> str: ...

    async def complete(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> Completion:
        """One whole answer. Raises ProviderError; a truncated or empty reply is an error."""
        ...

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> AsyncGenerator[Delta]:
        """Deltas as they come. Raises ProviderError, also when the stream ends without a finish reason."""
        ...

    async def act(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, in_words: Sequence[Message],
        choice: ToolChoice = "auto", temperature: float, max_tokens: int, timeout: float,
    ) -> Acted:  # fmt: skip
        """What to do next, with these tools. `in_words` asks the same of a server that takes no tools: it names them and
        says how they are called. A call that the token limit cut off is left out. Raises ProviderError."""
        ...

    async def structured(
        self, messages: Sequence[Message], schema: Schema, *, choice: ToolChoice = "auto", temperature: float,
        max_tokens: int, timeout: float,
    ) -> Structured:  # fmt: skip
        """One JSON value. The messages say what it looks like as well, for servers that take no schema (or with `text`,
        where they are not asked to). Raises ProviderError; a reply without JSON is none here."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Ranked:
    """`index` into the documents that were given; `score` in 0..1, higher is better."""

    index: int
    score: float


@runtime_checkable
class ServedModel(Protocol):
    """What a chat model may have besides: a server that can be asked which models it has. `problem`: why it did not answer when
    it was last looked at."""

    name: str
    problem: str | None

    async def learn_name(self) -> None:
        """Find out which model answers, where nobody named one. Raises ProviderError."""
        ...

    async def look(self) -> None:
        """See whether the server answers; says it in `problem` and raises nothing."""
        ...


class Reranker(Protocol):
    @property
    def name(self) -> str: ...

    async def rerank(self, query: str, documents: Sequence[str], *, top_n: int) -> list[Ranked]:
        """Best first, at most `top_n`. Raises ProviderError: the caller falls back to fused order and says so."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RerankerChoice:
    """The reranker in force under one state of the settings.

    `problem`: why the provider that the settings name cannot be used. `on_request`: too dear to run unless a
    search asks for it. `by_chat`: it calls a chat model.
    """

    reranker: Reranker | None = None
    problem: str | None = None
    on_request: bool = False
    by_chat: bool = False


class ChatMeter(Protocol):
    """What chat models are taken from, so that their calls are counted (metered.py)."""

    def chat(self, chat: ChatModel, purpose: str, *, for_answer: bool = False) -> ChatModel: ...


class Rerankers(Protocol):
    """Chooses by settings, which may name another provider while running."""

    @property
    def name(self) -> str | None:
        """Of the one in force now."""
        ...

    def get(self, settings: Settings, meter: ChatMeter | None = None) -> RerankerChoice:
        """The calls of one that asks a chat model are the meter's; without it, of one that nobody reads."""
        ...


@dataclass(frozen=True, slots=True)
class WebResult:
    """A page that a web search names, with an excerpt of it, all on one line each. The address is http or https."""

    url: str
    title: str
    excerpt: str


class WebSearch(Protocol):
    async def search(self, query: str) -> list[WebResult]:
        """Best first, each address once. Raises ProviderError: the answer of the documents stands, and `degraded` says so."""
        ...


@dataclass(frozen=True, slots=True)
class Provider:
    """Models of another package: what its entry point in the group `cairn.providers` names (docs/extending.md).

    Settings name one as `NAME` or `NAME:MODEL`; each function is given MODEL, empty for the provider's default, and is called
    when the model is first needed. Keys are the package's own business. What a function raises makes its models unusable, which
    is said wherever they would have been used.
    """

    name: str
    embedder: Callable[[str], Embedder] | None = None
    chat: Callable[[str], ChatModel] | None = None
    reranker: Callable[[str], Reranker] | None = None
