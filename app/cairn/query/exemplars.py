"""Layer 1 of the intent router: the nearest of some hundred example messages, by embedding."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray

from cairn.domain.plan import Intent, IntentMatch, Vocabulary
from cairn.language.lexicon import DEFAULT, languages
from cairn.language.linear import bounded
from cairn.language.text import fold_line, window
from cairn.language.tokens import ALL_IDLE_WORDS, words
from cairn.providers.protocols import Embedder, Vectors
from cairn.query.small_talk import COMPANIONS, HOW_TO, OFF_TOPIC_CUES, frequent
from cairn.settings import RoutingSettings

RETRIEVED: Final[frozenset[Intent]] = frozenset({"question", "command"})
"""Intents that are answered from the documents."""
MOST_WORDS: Final = 20  # bound: tests/unit/test_edges_query.py
"""Longer messages have something to say: they are questions."""
FOREIGN_LIKE: Final = 0.88  # measured: tests/unit/test_edges_query.py
"""Cosine from which a message is like an exemplar that is not in English, which the local model speaks best."""
AHEAD_OF_QUESTIONS: Final = 0.1  # measured: tests/unit/test_edges_query.py
"""By how much that must exceed the cosine to the nearest exemplar of a question."""
UNDECIDED_FROM: Final = 0.45  # measured: tests/unit/test_edges_query.py
"""Cosine from which on an undecided message may go to the intent model."""
_BATCH: Final = 32  # bound: tests/unit/test_edges_query.py
_CODE = bounded(r"\w[_./]\w")
_LIKE_A_COMMAND: Final = 0.6  # measured: tests/unit/test_edges_query.py


@dataclass(frozen=True, slots=True)
class Exemplar:
    intent: Intent
    text: str
    language: str


@cache
def exemplars() -> tuple[Exemplar, ...]:
    """The examples of each intent, of all languages."""
    return tuple(
        Exemplar(intent, text, one.code)
        for intent in get_args(Intent)
        for one in languages()
        for text in one.exemplars.get(intent, ())
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """Vectors in the order of `exemplars()`; `retrieved` marks those of questions and commands."""

    vectors: Vectors
    retrieved: NDArray[np.bool_]


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
        place, asked = (int(np.argmax(np.where(table.retrieved == which, cosines, -1.0))) for which in (False, True))
        nearest, near = exemplars()[place], min(float(cosines[place]), 1.0)
        margin = near - float(cosines[asked])
        if has_subject(message, nearest.intent, vocabulary):
            return _retrieved(asked, cosines, "it has a subject of its own")
        threshold = limits.new_word_threshold if _new_words(message, nearest.intent) else limits.exemplar_threshold
        if nearest.language != DEFAULT:
            threshold = max(threshold, FOREIGN_LIKE)
        if near >= threshold and margin >= AHEAD_OF_QUESTIONS:
            return IntentMatch(nearest.intent, near, 1, f"like {nearest.text!r}")
        if near < UNDECIDED_FROM or margin < 0:
            return _retrieved(asked, cosines, f"little like {nearest.text!r} ({near:.2f})")
        return None

    async def _table(self) -> _Table:
        name = self._embedder.name
        async with self._lock:
            if name not in self._tables:
                self._tables[name] = await self._embedded()
            return self._tables[name]

    async def _embedded(self) -> _Table:
        texts = [one.text for one in exemplars()]
        parts = [await self._embedder.embed(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
        return _Table(np.concatenate(parts), np.array([one.intent in RETRIEVED for one in exemplars()]))


def _retrieved(nearest: int, cosines: NDArray[np.float32], why: str) -> IntentMatch:
    """A command where the nearest example is one, else a question."""
    near = float(min(cosines[nearest], 1.0))
    if exemplars()[nearest].intent == "command" and near >= _LIKE_A_COMMAND:
        return IntentMatch("command", near, 1, f"like {exemplars()[nearest].text!r}")
    return IntentMatch("question", 0.9, 1, why)


def has_subject(message: str, intent: Intent, vocabulary: Vocabulary | None) -> bool:
    """Whether the message talks of something, so that it cannot be small talk of that kind, whatever it resembles.

    Small talk about nothing has no word that its examples lack. The off-topic talks of anything; there a word counts
    that is a subject of the collection, and asking how something is done.
    """
    folded = fold_line(window(message))
    if len(words(folded)) > MOST_WORDS or _CODE.search(folded):
        return True
    if intent != "off_topic":
        return bool(_new_words(message, intent))
    content = _content(folded)
    return (
        not OFF_TOPIC_CUES.intersection(words(folded.replace("'", "")))
        or any(frequent(word, vocabulary) for word in content)
        or any(pattern.search(folded) for pattern in HOW_TO)
    )


def _content(folded: str) -> list[str]:
    return [word for word in words(folded.replace("'", "")) if word not in ALL_IDLE_WORDS and not word.isdigit()]


def _new_words(message: str, intent: Intent) -> list[str]:
    """Content words that no example of the intent has."""
    usual = _usual(intent)
    return [word for word in _content(fold_line(window(message))) if not _like(word, usual)]


@cache
def _usual(intent: Intent) -> frozenset[str]:
    """Words of the examples of an intent, and what may stand beside."""
    spoken = {word for one in exemplars() if one.intent == intent for word in words(fold_line(one.text))}
    return frozenset(word.replace("'", "") for word in spoken | COMPANIONS.get(intent, frozenset()))


def _like(word: str, usual: frozenset[str]) -> bool:
    if word in usual or len(word) < 2:
        return True
    # measured: tests/unit/test_edges_query.py
    return len(word) >= 5 and any(other[:4] == word[:4] and abs(len(other) - len(word)) <= 3 for other in usual)
