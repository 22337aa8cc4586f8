"""Notes of a text that is too long to be read at once: one model call for each part, two at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.answer.context import rendered
from app.answering.context import Run
from app.domain.event import Progress
from app.domain.passage import Passage
from app.errors import ProviderError
from app.prompts import prompt
from app.providers.protocols import Message

AT_ONCE: Final = 2
SENTENCES: Final = 8
"""Of notes for each part."""
MAX_TOKENS: Final = 700
HEADER_TOKENS: Final = 30
"""What the header of a source takes, about."""


@dataclass(frozen=True, slots=True)
class Noted:
    """`text`: the notes in order, with numbers of the passages in all parts together. `passages_lost`: those of parts of
    which no notes could be taken."""

    text: str
    passages_lost: int
    degraded: tuple[str, ...]


def batches(passages: Sequence[Passage], max_tokens: int) -> list[list[Passage]]:
    """Passages in order, in parts of at most `max_tokens` (at least one passage each)."""
    parts: list[list[Passage]] = []
    room = 0
    for passage in passages:
        size = passage.token_count + HEADER_TOKENS
        if not parts or size > room:
            parts.append([])
            room = max_tokens
        parts[-1].append(passage)
        room -= size
    return parts


async def take_notes(run: Run, parts: Sequence[Sequence[Passage]], question: str) -> Noted:
    """Tells the progress as parts are read. Raises ProviderError when no part could be read."""
    gate = asyncio.Semaphore(AT_ONCE)
    firsts = [1 + sum(map(len, parts[:at])) for at in range(len(parts))]

    async def take(part: Sequence[Passage], first: int) -> str | ProviderError:
        async with gate:
            try:
                return await _note(run, part, first, question)
            except ProviderError as error:
                return error

    tasks = [asyncio.create_task(take(part, first)) for part, first in zip(parts, firsts, strict=True)]
    try:
        for done, finished in enumerate(asyncio.as_completed(tasks), start=1):
            await finished
            run.emit(Progress("summarize", 40 + 40 * done // len(tasks)))
        return _noted([task.result() for task in tasks], parts)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _note(run: Run, part: Sequence[Passage], first: int, question: str) -> str:
    assert run.deps.chat is not None
    asked = json.dumps(question, ensure_ascii=False)
    filled = prompt("summarize", context=rendered(part, first).text, question=asked, sentences=str(SENTENCES))
    reply = await run.record.metered("notes", run.deps.chat, run.settings).complete(
        [Message("system", filled.system), Message("user", filled.user)],
        temperature=run.settings.rag.qa.temperature,
        max_tokens=MAX_TOKENS,
        timeout=run.settings.answer.timeout_seconds,
    )
    return reply.text.strip()


def _noted(taken: Sequence[str | ProviderError], parts: Sequence[Sequence[Passage]]) -> Noted:
    failed = [(part, reply) for part, reply in zip(parts, taken, strict=True) if isinstance(reply, ProviderError)]
    if len(failed) == len(parts):
        raise failed[0][1]
    text = "\n\n".join(f"Part {n}:\n{reply}" for n, reply in enumerate(taken, 1) if isinstance(reply, str))
    degraded = tuple(f"no notes of {len(part)} passages ({error.code}: {error.detail})" for part, error in failed)
    return Noted(text, sum(len(part) for part, _ in failed), degraded)
