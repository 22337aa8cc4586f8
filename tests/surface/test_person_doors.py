"""A person who comes by every door, with a token and a key: exported, forgotten, and nothing of them is left in any table."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest
from commands import Cairn
from keyed import bearer, make_keys
from scripted_issuer import AUDIENCE, ScriptedIssuer, scripted_issuer
from serving import Api, serving

from tests.waiting import wait_until

NAME, WORD = "ada.lovelace", "zanzibarquartz"


@dataclass(frozen=True)
class Place:
    api: Api
    dsn: str
    root: dict[str, str]
    her: dict[str, str]
    bob: dict[str, str]


@pytest.fixture(scope="module")
def issuer() -> Iterator[ScriptedIssuer]:
    with scripted_issuer() as running:
        yield running


@pytest.fixture(scope="module")
def place(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Any, issuer: ScriptedIssuer
) -> Iterator[Place]:
    dsn = fresh_database()
    keys = make_keys(dsn, str(tmp_path_factory.mktemp("keys")))
    environment = {
        "CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model), "CAIRN_OIDC_ISSUER": issuer.url, "CAIRN_OIDC_AUDIENCE": AUDIENCE,
    }  # fmt: skip

    def token(subject: str) -> dict[str, str]:
        return bearer(issuer.token(sub=subject, tenant="victim", scope="read ask write"))

    with serving(dsn, tmp_path_factory.mktemp("doors"), **environment) as api:
        made = Place(api, dsn, bearer(keys.victim), token(NAME), token("bob"))
        text = "Basalt is a dark rock. Lava cools and becomes basalt."
        body = {"collection": "default", "documents": [{"external_id": "rocks.md", "text": text}]}
        assert api.client.post("/index", json=body, headers=made.root).status_code < 300
        yield made


def by_every_door(place: Place, headers: dict[str, str], word: str) -> None:
    """Questions, searches and a judgement; each with a word that stands in no document."""

    def post(path: str, body: dict[str, Any], **more: str) -> Any:
        answer = place.api.client.post(path, json=body, headers={**headers, **more})
        assert answer.status_code < 300, f"{path}: {answer.text}"
        return answer

    asked = f"Is {word} a dark rock?"
    run = post("/query", {"question": asked, "session_id": f"rest-{word}"}).json()
    post("/feedback", {"run_id": run["run_id"], "rating": -1, "comment": f"no {word}"})
    post("/query", {"question": asked, "resumable": True, "session_id": f"res-{word}"})
    post("/search", {"query": asked})
    post("/chat/", {"message": asked, "session_id": f"chat-{word}"})
    post("/qa/ask", {"question": asked, "session_id": f"qa-{word}"})
    post("/v1/chat/completions", {"model": "default", "user": NAME, "messages": [{"role": "user", "content": asked}]})
    post("/v1/responses", {"model": "default", "input": asked})
    post(
        "/retrieval",
        {"knowledge_id": "default", "query": asked, "retrieval_setting": {"top_k": 2, "score_threshold": 0}},
    )
    for tool, arguments in (("answer_research_question", {"question": asked}), ("search_documents", {"query": asked})):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        post("/mcp", call, Accept="application/json, text/event-stream")


def rows_with(dsn: str, *words: str) -> dict[str, int]:
    """Tables with a row in which one of these words stands, whoever's, and how many rows."""

    async def look() -> dict[str, int]:
        connection = await asyncpg.connect(dsn)
        try:
            names = await connection.fetch(
                "SELECT c.relname::text AS name FROM pg_class c WHERE c.relnamespace = 'rag'::regnamespace "
                "AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1"
            )
            pattern = "|".join(word.replace(".", r"\.") for word in (*words, *(w.encode().hex() for w in words)))
            found = {
                one["name"]: await connection.fetchval(
                    f"SELECT count(*) FROM rag.{one['name']} AS t WHERE t::text ~* $1", pattern
                )
                for one in names
            }
            return {name: count for name, count in found.items() if count}
        finally:
            await connection.close()

    return asyncio.run(look())


def test_who_comes_by_every_door_is_exported_and_forgotten(place: Place) -> None:
    client = place.api.client
    body = {"name": NAME, "scopes": ["read", "ask"]}
    hers = bearer(client.post("/keys", json=body, headers=place.root).json()["key"])
    once = {**place.her, "Idempotency-Key": f"k-{WORD}"}
    assert client.post("/collections", json={"name": "minerals"}, headers=once).status_code == 201
    by_every_door(place, place.her, WORD)
    by_every_door(place, hers, f"{WORD}2")
    by_every_door(place, place.bob, "obsidian")
    for word, runs in ((WORD, 20), ("token:bob", 10)):  # each of a door; traces are written beside the requests
        wait_until(lambda word=word, runs=runs: rows_with(place.dsn, word).get("runs", 0) == runs)
    assert set(rows_with(place.dsn, NAME, WORD)) >= {
        "api_keys", "audit_events", "feedback", "idempotency_keys", "messages", "resumable_runs", "retrieval_cache", "run_events",
        "runs", "sessions",
    }  # fmt: skip
    of_bob = rows_with(place.dsn, "token:bob")

    told = client.get(f"/persons/{NAME}/export", headers=place.root)
    assert told.status_code == 200
    assert told.headers["content-type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in told.text.splitlines()]
    assert lines[-1]["kind"] == "end"
    assert sum(lines[-1]["counts"].values()) == len(lines) - 2
    assert {line["record"]["id"] for line in lines if line["kind"] == "conversation"} == {
        f"{door}-{word}" for door in ("rest", "res", "chat") for word in (WORD, f"{WORD}2")
    }
    assert "obsidian" not in told.text

    for headers in (place.her, place.bob, hers):
        assert client.get(f"/persons/{NAME}/export", headers=headers).status_code == 403
        assert client.delete(f"/persons/{NAME}", headers=headers).status_code == 403
    dry = client.delete(f"/persons/person:{NAME}", params={"dry_run": True}, headers=place.root).json()
    assert (dry["mark"], dry["dry_run"], dry["counts"]["keys"], dry["counts"]["conversations"]) == (None, True, 1, 6)
    done = client.delete(f"/persons/person:{NAME}", headers=place.root).json()
    assert done["counts"] == dry["counts"]
    assert client.get("/collections", headers=hers).status_code == 401, "the key is gone"
    assert rows_with(place.dsn, NAME, WORD) == {}
    assert rows_with(place.dsn, "token:bob") == of_bob
    assert client.get("/chat/sessions", headers=place.bob).json()["items"]

    deeds = client.get("/audit", params={"action": "person"}, headers=place.root).json()["items"]
    assert [(one["action"], one["target"]) for one in deeds] == [("person.forget", done["mark"]), ("person.export", "")]
    by_every_kind = client.delete("/persons/group:hr", headers=place.root)
    assert (by_every_kind.status_code, by_every_kind.json()["code"]) == (422, "invalid-input")


def test_commands_count_ask_and_forget(cairn: Cairn, monkeypatch: pytest.MonkeyPatch) -> None:
    cairn("keys", "create", "ada", "--scope", "read")
    assert cairn("export", "ada", "--out", "ada.jsonl").code == 0
    with open("ada.jsonl", encoding="utf-8") as file:
        kinds = [json.loads(line)["kind"] for line in file]
    assert kinds == ["export", "key", "audit", "end"]
    assert cairn("export", "ada").out.count("\n") == 4
    again = cairn("export", "ada", "--out", "ada.jsonl")
    assert (again.code, again.err) == (2, "cairn: cannot write ada.jsonl: File exists\n")
    assert cairn("export", "group:x").code == 2

    assert cairn("forget", "ada", "--dry-run", "--json").json["counts"]["keys"] == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO("someone\n"))
    kept = cairn("forget", "ada")
    assert (kept.code, "1  keys" in kept.out, "Nobody was forgotten." in kept.out) == (1, True, True)
    assert len(cairn("keys", "list", "--json").json) == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO("ada\n"))
    done = cairn("forget", "ada")
    assert done.code == 0
    assert "forgotten:" in done.out
    assert cairn("keys", "list").out == "No keys.\n"
    assert "Nothing is kept because of them" in cairn("forget", "ada", "--yes").err
    assert "Nothing is kept because of ada" in cairn("export", "ada").err
    missing = cairn("forget", "ada", "--yes", "--tenant", "nowhere")
    assert (missing.code, "there is no tenant nowhere" in missing.err) == (1, True)
