"""What of the settings waits for a restart: read once at the start, and changed in the file since."""

from __future__ import annotations

from typing import Any, Final

from cairn.errors import CairnError
from cairn.providers.configured import embedding_model_name, is_local
from cairn.settings import Settings
from cairn.wiring import Services

READ_AT_START: Final = (
    "rag.embeddingModel", "vector.precision", "providers.embeddingTokens", "providers.embeddingSeconds", "trace.queueSize",
)  # fmt: skip
"""All settings that are not read anew: cairn/wiring.py makes embedding models and the queue of traces of them."""


def restart_warnings(services: Services) -> list[str]:
    """A sentence for each setting of the file that a restart would put in force, and why a start with them would fail as far as
    that can be known without one. Asks no server."""
    started, now = services.started_with, services.settings.current
    warnings = [
        f"needs a restart: {key} ({_value(now, key)!r} in the settings, {_value(started, key)!r} in force)"
        for key in READ_AT_START
        if _value(now, key) != _value(started, key) and _matters(key, now)
    ]
    name = embedding_model_name(now)
    made_at_start = is_local(now.rag.embedding_model)  # and making it may take a minute
    if name != embedding_model_name(started) and not made_at_start:
        try:
            services.search_deps.embedders.get(name)
        except CairnError as error:
            warnings.append(f"the next start would fail: {error.detail}")
    return warnings


def _matters(key: str, settings: Settings) -> bool:
    """Only local models have a precision."""
    return key != "vector.precision" or is_local(settings.rag.embedding_model)


def _value(settings: Settings, key: str) -> Any:
    section, _, name = key.partition(".")
    return getattr(settings, section).model_dump(by_alias=True)[name]
