"""What a database of a release holds, as its users see it: written down when that is made (scripts/make_release_fixture.py), and
asked again of what later releases make of its dump (tests/migration/test_releases.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from cairn.domain.answer import Answer
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.service.ask import ask
from cairn.service.conversations import get_history, list_conversations
from cairn.service.graph import get_neighborhood
from cairn.service.search import make_request, run_search
from cairn.wiring import Services

FOLDER: Final = Path(__file__).parent / "data" / "releases"
"""A dump and a description for each release."""
COLLECTION: Final = "old"
SESSION: Final = "an-old-conversation"
QUESTIONS: Final = ("How many days of leave do employees have?", "And who approves it?")
FOLLOW_UP: Final = "How many of them may be carried over?"
QUERIES: Final = {
    "days of leave": "handbook/leave.md", "price of coffee": "handbook/prices.csv", "read_config": "handbook/config.py",
    "storm on the coast": "handbook/storm.pdf",
}  # fmt: skip
"""Words, and the document that has to come first."""
CENTRES: Final = ("Ada Lovelace", "ConfigReader")
"""Whose neighbours are walked to: a person, and a class of code."""
COUNTED: Final = (
    "documents", "passages", "chunks", "embeddings", "originals", "document_tables", "table_columns", "code_calls", "mentions",
    "evidence", "entities", "relations", "sessions", "messages",
)  # fmt: skip
TRACES: Final = """
SELECT r.id::text AS id, (r.answer -> 'citations')::text AS citations,
  (SELECT count(*) FROM rag.run_legs l WHERE l.tenant_id = r.tenant_id AND l.run_id = r.id) AS legs
FROM rag.runs r WHERE r.id = ANY ($1::uuid[]) ORDER BY r.id
"""


def read_description(release: str) -> dict[str, Any]:
    """What users saw in the database of a release."""
    return dict(json.loads((FOLDER / f"{release}.json").read_text(encoding="utf-8")))


async def question(services: Services, text: str, session: str | None = None) -> Answer:
    return await ask(services, Question(text, COLLECTION, new_id(), session_id=session))


def cited(answer: Answer) -> list[str]:
    return [one.external_id for one in answer.citations]


async def first_found(services: Services) -> dict[str, str]:
    """Of each of QUERIES the document of the best passage."""
    return {text: await find_first(services, text) for text in QUERIES}


async def find_first(services: Services, text: str) -> str:
    """The document of the best passage, with nothing left out of the search."""
    request = make_request(services.settings.current, text, [COLLECTION], top_k=3)
    result = await run_search(services, request)
    assert not result.degraded, result.degraded
    return result.passages[0].external_id


async def count_rows(services: Services) -> dict[str, int]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return {name: await connection.fetchval(f"SELECT count(*) FROM rag.{name}") for name in COUNTED}


async def describe(services: Services) -> dict[str, Any]:
    """Without what it would change by asking."""
    history = await get_history(services, SESSION)
    return {
        "rows": await count_rows(services),
        "first": await first_found(services),
        "conversations": [one.session_id for one in await list_conversations(services)],
        "history": [
            {
                "role": one.turn.role, "content": one.turn.content, "run": str(one.turn.run_id),
                "sources": [[ref.n, ref.filename, ref.start, ref.end, ref.cited] for ref in one.turn.sources],
            }
            for one in history
        ],
        "traces": await read_traces(services, [one.turn.run_id for one in history if one.turn.role == "assistant"]),
        "walks": {name: await walk(services, name) for name in CENTRES},
    }  # fmt: skip


async def read_traces(services: Services, runs: list[UUID | None]) -> list[list[Any]]:
    """Of each answer its citations, and how many retrievers it rests on."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        rows = await connection.fetch(TRACES, runs)
    return [[row["id"], json.loads(row["citations"]), row["legs"]] for row in rows]


async def walk(services: Services, name: str) -> list[str]:
    """Who is around an entity."""
    return sorted(place.entity.name for place in (await get_neighborhood(services, name, COLLECTION, hops=1)).places)
