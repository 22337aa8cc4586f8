"""Layer 1 of the intent router: the nearest of some hundred example messages, by embedding (A1.20, A1.21)."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray

from app.domain.plan import Intent, IntentMatch, Vocabulary
from app.providers.protocols import Embedder, Vectors
from app.query.patterns.forms import frequent
from app.query.patterns.intents import COMPANIONS
from app.query.patterns.lexicon import ALL_STOP_WORDS
from app.query.patterns.text import fold, window, words
from app.settings import RoutingSettings

RETRIEVED: Final[frozenset[Intent]] = frozenset({"question", "command"})
"""Intents that are answered from the documents (A1.22)."""
MOST_WORDS: Final = 20
"""Longer messages have something to say: they are questions."""
_BATCH: Final = 32


@cache
def exemplar_texts() -> Mapping[Intent, tuple[str, ...]]:
    """The examples of each intent, in four languages (patterns/exemplars.toml)."""
    raw = tomllib.loads((resources.files("app.query.patterns") / "exemplars.toml").read_text(encoding="utf-8"))
    return {intent: tuple(raw[intent]) for intent in get_args(Intent) if intent in raw}


@dataclass(frozen=True, slots=True)
class _Table:
    intents: tuple[Intent, ...]
    texts: tuple[str, ...]
    vectors: Vectors


class Exemplars:
    """The examples as vectors of one embedder, which stays its owner's to close."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._tables: dict[str, _Table] = {}
        self._lock = asyncio.Lock()

    async def warm(self) -> None:
        """Embed the examples now instead of at the first message. Raises ProviderError."""
        await self._table()

    async def match(
        self,
        message: str,
        vector: NDArray[np.float32],
        *,
        settings: RoutingSettings | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> IntentMatch | None:
        """Layer 1 for a message and its vector (of shape (dimensions,) or (1, dimensions), L2-normalised).

        A match with `question` or `command`: to be answered from documents. None: near to small talk, but not near
        enough; a question unless layer 2 says otherwise. Raises ProviderError when the examples cannot be embedded.
        """
        limits = settings or RoutingSettings()
        table = await self._table()
        cosines = table.vectors @ np.asarray(vector, np.float32).reshape(-1)
        retrieved = np.array([intent in RETRIEVED for intent in table.intents])
        other = int(np.argmax(np.where(retrieved, -1.0, cosines)))
        asked = int(np.argmax(np.where(retrieved, cosines, -1.0)))
        near, margin = float(cosines[other]), float(cosines[other] - cosines[asked])
        if _has_subject(message, table.intents[other], vocabulary):
            return _question(table, asked, cosines, "has a subject of its own")
        if near >= limits.exemplar_threshold and margin >= limits.exemplar_margin:
            return IntentMatch(table.intents[other], min(near, 1.0), 1, f"like {table.texts[other]!r}")
        if near < limits.uncertain_from or margin < 0:
            return _question(table, asked, cosines, f"little like {table.texts[other]!r} ({near:.2f})")
        return None

    async def _table(self) -> _Table:
        name = self._embedder.name
        async with self._lock:
            if name not in self._tables:
                self._tables[name] = await self._embedded()
            return self._tables[name]

    async def _embedded(self) -> _Table:
        pairs = [(intent, text) for intent, texts in exemplar_texts().items() for text in texts]
        texts = [text for _, text in pairs]
        parts = [await self._embedder.embed(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
        return _Table(tuple(intent for intent, _ in pairs), tuple(texts), np.concatenate(parts))


def _question(table: _Table, nearest: int, cosines: NDArray[np.float32], why: str) -> IntentMatch:
    """A command where the nearest example is one, else a question; as confident as it is unlike small talk."""
    intent: Intent = "command" if table.intents[nearest] == "command" and cosines[nearest] >= 0.6 else "question"
    return IntentMatch(intent, 0.9 if intent == "question" else float(min(cosines[nearest], 1.0)), 1, why)


def _has_subject(message: str, intent: Intent, vocabulary: Vocabulary | None) -> bool:
    """Whether the message talks of something, so that it cannot be small talk of that kind, whatever it resembles.

    Small talk about nothing has no word that its examples lack. The off-topic talks of anything; there a word counts
    that is a subject of the collection.
    """
    text = fold(window(message))
    found = words(text)
    if len(found) > MOST_WORDS or re.search(r"\w[_./]\w", text):
        return True
    content = [word for word in found if word not in ALL_STOP_WORDS]
    if intent == "off_topic":
        return vocabulary is not None and any(frequent(word, vocabulary) for word in content)
    usual = _usual(intent)
    return any(not _like(word, usual) for word in content)


@cache
def _usual(intent: Intent) -> frozenset[str]:
    """Words of the examples of an intent, and what may stand beside."""
    spoken = {word for text in exemplar_texts().get(intent, ()) for word in words(fold(text))}
    return frozenset(spoken | {word.replace("'", "") for word in COMPANIONS.get(intent, frozenset())})


def _like(word: str, usual: frozenset[str]) -> bool:
    if word in usual or len(word) < 2:
        return True
    return len(word) >= 5 and any(other[:4] == word[:4] and abs(len(other) - len(word)) <= 3 for other in usual)
