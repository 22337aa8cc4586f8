"""Models of providers that other packages add by entry points of the group `cairn.providers`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, NoReturn

from cairn.errors import CairnError, ProviderError, SettingsError, named_reason
from cairn.plugins import extensions, instance_of, once
from cairn.providers.protocols import (
    Acted,
    ChatModel,
    Completion,
    Delta,
    Embedder,
    Message,
    Provider,
    Reranker,
    Structured,
)


@once
def find_providers() -> Mapping[str, Provider]:
    """By name."""
    return extensions("providers", instance_of(Provider))


def _find(name: str) -> tuple[Provider | None, str]:
    """The provider of `NAME` or `NAME:MODEL`, and the model."""
    provider, _, model = name.partition(":")
    return find_providers().get(provider), model


def added_embedder(name: str) -> Embedder | None:
    """None where no other package has this name. Raises SettingsError or ProviderError when it cannot be had."""
    provider, model = _find(name)
    if provider is None:
        return None
    if provider.embedder is None:
        raise SettingsError(f"the embedding model {name!r} cannot be had: {provider.name} has no embedding models")
    try:
        return provider.embedder(model)
    except CairnError:
        raise
    except Exception as error:
        raise ProviderError(_failure(name, error)) from error


def added_reranker(provider_name: str, model: str) -> tuple[Reranker | None, str | None]:
    """The reranker, or why there is none."""
    provider = find_providers().get(provider_name)
    if provider is None or provider.reranker is None:
        return None, f"{provider_name} has no rerankers"
    try:
        return provider.reranker(model), None
    except Exception as error:
        return None, _failure(provider_name, error)


def added_chat_model(name: str) -> ChatModel | None:
    """None where no other package has this name. One that cannot be had is a model whose every call fails, so that answers say
    why they were not written by it."""
    provider, model = _find(name)
    if provider is None:
        return None
    if provider.chat is None:
        return UnavailableChatModel(name, f"{provider.name} has no chat models")
    try:
        return provider.chat(model)
    except Exception as error:
        return UnavailableChatModel(name, _failure(name, error))


def _failure(name: str, error: Exception) -> str:
    return f"{name} cannot be had: {named_reason(error)[:300]}"


class UnavailableChatModel:
    """A chat model that could not be made: it makes no requests."""

    reports_requests = True

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def _fail(self) -> NoReturn:
        raise ProviderError(self._reason)

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        self._fail()

    async def stream(self, messages: Sequence[Message], **options: Any) -> AsyncGenerator[Delta]:
        self._fail()
        yield

    async def act(self, messages: Sequence[Message], *asked: Any, **options: Any) -> Acted:
        self._fail()

    async def structured(self, messages: Sequence[Message], *asked: Any, **options: Any) -> Structured:
        self._fail()

    async def close(self) -> None:
        """Nothing was opened."""
