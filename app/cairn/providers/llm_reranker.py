"""Reranking by a chat model: it gives each passage a score from 0 to 10, ten passages a call."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

from cairn.errors import ProviderResponseError
from cairn.language.fence import quoted
from cairn.language.linear import bounded
from cairn.language.text import normalise
from cairn.providers.protocols import ChatModel, Message, Ranked
from cairn.providers.reader import without_thought
from cairn.providers.retry import now
from cairn.providers.tokens import BYTES_PER_TOKEN

BATCH_PASSAGES: Final = 10
CONCURRENT_CALLS: Final = 3
PASSAGE_TOKENS: Final = 600
"""By estimate; a default passage (2000 characters) fits in whole. Longer ones are cut."""
REPLY_TOKENS: Final = 2048
"""Ten scores need about 50; the rest is for models that think first."""
RERANK_SECONDS: Final = 10.0
BEST_SCORE: Final = 10.0

_FENCE = re.compile(r"^\s*```\w*\s*\n(.*?)\n\s*```\s*$", re.DOTALL)
_LINE = bounded(
    r"""^[\s*\#>-]* (?:passage\s*)? [\[(]? (?P<number>\d{1,3}) [\])]? \**   # `1`, `[1]`, `- Passage 1`
        \s*(?: [:=|] | [.)]\s | -+>?\s | \s )\s* (?:score\s*[:=]?\s*)? \**  # `:`, `. `, ` - `, `: score `
        (?P<score>-?\d+(?:\.\d+)?) (?![\d.]*\d) """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)


class Filled(Protocol):
    """A prompt with its values in it."""

    @property
    def system(self) -> str: ...

    @property
    def user(self) -> str: ...


class LlmReranker:
    """Reranker over any ChatModel, which stays its owner's to close."""

    def __init__(self, chat: ChatModel, fill: Callable[..., Filled], *, seconds: float = RERANK_SECONDS) -> None:
        """`fill` makes the prompt of `question` and `passages` (prompts/rerank.md); `seconds` is the deadline of one
        ranking with all its calls: a search waits for it."""
        self.name = f"llm:{chat.name}"
        self._chat = chat
        self._fill = fill
        self._seconds = seconds

    async def rerank(self, query: str, documents: Sequence[str], *, top_n: int) -> list[Ranked]:
        """See `Reranker.rerank`. A document that the model gave no score is not in the result.

        Raises ProviderResponseError for a reply without scores, or with scores of passages that were not given.
        """
        if not documents or top_n < 1:
            return []
        deadline, gate = now() + self._seconds, asyncio.Semaphore(CONCURRENT_CALLS)

        async def scored(start: int) -> list[Ranked]:
            async with gate:
                scores = await self._scores(query, documents[start : start + BATCH_PASSAGES], deadline)
            return [Ranked(start + place, score) for place, score in scores.items()]

        try:
            async with asyncio.TaskGroup() as group:
                starts = range(0, len(documents), BATCH_PASSAGES)
                tasks = [group.create_task(scored(start)) for start in starts]
        except ExceptionGroup as failed:  # one failure ends the other calls: half a ranking is none
            raise failed.exceptions[0] from None
        ranked = [item for task in tasks for item in task.result()]
        return sorted(ranked, key=lambda item: (-item.score, item.index))[:top_n]

    async def _scores(self, query: str, documents: Sequence[str], deadline: float) -> dict[int, float]:
        """Score in 0..1 by place in `documents`."""
        lines = (f"{number}: {quoted(_cut(text))}" for number, text in enumerate(documents, 1))
        filled = self._fill(question=quoted(_cut(query)), passages="\n".join(lines))
        reply = await self._chat.complete(
            [Message("system", filled.system), Message("user", filled.user)],
            temperature=0.0,
            max_tokens=REPLY_TOKENS,
            timeout=deadline - now(),
        )
        if reply.finish_reason == "length":  # a last score of 1 may be the beginning of 10
            raise ProviderResponseError(f"{self.name}: the scores were cut off at the token limit")
        try:
            return read_scores(reply.text, len(documents))
        except ValueError as error:
            raise ProviderResponseError(f"{self.name}: {error}") from None

    async def close(self) -> None:
        """Nothing: the chat model is its owner's."""


def _cut(text: str) -> str:
    return normalise(text).encode()[: PASSAGE_TOKENS * BYTES_PER_TOKEN].decode("utf-8", "ignore")


# --- the reply --------------------------------------------------------------------------------------------------------


def read_scores(reply: str, passages: int) -> dict[int, float]:
    """Scores in 0..1 by place from 0, out of numbered lines or JSON; what is outside 0 to 10 is clamped.

    Raises ValueError when there is no score, one of a passage that was not given, or two different ones of a passage.
    """
    scores: dict[int, float] = {}
    for number, score in _pairs(without_thought(reply)):
        if not 1 <= number <= passages:
            raise ValueError(f"scores passage {number}, but {passages} were given")
        share = min(max(score, 0.0), BEST_SCORE) / BEST_SCORE
        if scores.setdefault(number - 1, share) != share:
            raise ValueError(f"scores passage {number} twice, differently")
    if not scores:
        raise ValueError("the reply has no scores")
    return scores


def _pairs(reply: str) -> Iterator[tuple[int, float]]:
    """Passage number and score, as the reply has them."""
    fenced = _FENCE.match(reply)
    text = fenced[1] if fenced else reply
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        yield from ((int(match["number"]), float(match["score"])) for match in _LINE.finditer(text))
    else:
        yield from _json_pairs(data)


def _json_pairs(data: Any) -> Iterator[tuple[int, float]]:
    """From {"1": 7}, [7, 0], [{"passage": 1, "score": 7}], or one of these under "scores"."""
    if isinstance(data, dict) and isinstance(data.get("scores"), dict | list):
        data = data["scores"]
    items: Any = data.items() if isinstance(data, dict) else enumerate(data, 1) if isinstance(data, list) else ()
    for name, value in items:
        if isinstance(value, dict):
            name = next((value[key] for key in ("passage", "number", "id", "index") if key in value), name)
            value = value.get("score")
        yield _whole(name), _finite(value)


def _whole(value: Any) -> int:
    if not str(value).isdecimal():
        raise ValueError(f"{str(value)[:40]!r} is no passage number")
    return int(value)


def _finite(value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{str(value)[:40]!r} is no score")
    return number
