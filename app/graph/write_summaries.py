"""Summaries of communities by a chat model, where settings ask for them: the largest first, so many per refresh.

The model reads the sentences of the community and nothing else, so all it writes comes from the documents that are kept
with it, and goes in the transaction in which one of them goes (rag.settle_graph).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from app.domain.graph_view import CommunitySummary
from app.domain.principal import Principal
from app.domain.trace import Spend
from app.errors import ProviderError
from app.language.text import normalise
from app.prompts import prompt
from app.providers.metered import MeteredChat
from app.providers.protocols import Message
from app.settings import CommunitySettings
from app.store import communities
from app.store.session import Database

SENTENCES: Final = 4
LONGEST_TITLE: Final = 120
"""Code points."""
TEMPERATURE: Final = 0.0


@dataclass(frozen=True, slots=True)
class WrittenSummaries:
    """How many communities were summed up, what that cost, and why the model was not asked for the others."""

    count: int = 0
    spend: Spend = field(default_factory=Spend)
    problem: str | None = None


async def write_summaries(
    database: Database,
    principal: Principal,
    collection_id: UUID,
    chat: MeteredChat,
    settings: CommunitySettings,
    seconds: float,
) -> WrittenSummaries:
    """At most `settings.written` of the communities that have none. A model that fails leaves the others as they are."""
    async with database.transaction(principal, readonly=True) as connection:
        ids = await communities.unwritten(connection, principal, collection_id, settings.written)
        found = await communities.described(connection, principal, dict.fromkeys(ids, 0.0))
    count = 0
    for summary in found:
        try:
            title, text = await _write(chat, summary, settings.written_tokens, seconds)
        except ProviderError as error:
            return WrittenSummaries(count, chat.spend, f"{error.code}: {error.detail}")
        if not title or not text:
            continue
        async with database.transaction(principal) as connection:
            await communities.lock(connection, principal, collection_id)
            await communities.write_summary(connection, principal, summary, title, text)
        count += 1
    return WrittenSummaries(count, chat.spend)


async def _write(chat: MeteredChat, summary: CommunitySummary, tokens: int, seconds: float) -> tuple[str, str]:
    said = "\n".join(json.dumps(sentence.text, ensure_ascii=False) for sentence in summary.sentences)
    filled = prompt("community", context=said, sentences=str(SENTENCES))
    messages = [Message("system", filled.system), Message("user", filled.user)]
    reply = await chat.complete(messages, temperature=TEMPERATURE, max_tokens=tokens, timeout=seconds)
    return parsed(reply.text)


def parsed(reply: str) -> tuple[str, str]:
    """Title and summary; empty where the reply has not both. Pure."""
    lines = [line.strip() for line in normalise(reply).splitlines() if line.strip()]
    if len(lines) < 2:
        return "", ""
    title = lines[0].removeprefix("Title:").strip(" #*\"'.")
    return title[:LONGEST_TITLE], " ".join(lines[1:])
