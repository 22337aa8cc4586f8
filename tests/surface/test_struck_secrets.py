"""What looks like a key and is typed into a question: in no trace, no log line, no event that is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from scripted_server import ScriptedServer
from serving import Api, serving

from cairn.domain.key import new_secret

Psql = Callable[..., str]
SECRETS = {
    "ours": new_secret(),
    "openai": "sk-proj-" + "A1b2C3d4E5f6G7h8" * 4,
    "anthropic": "sk-ant-api03-" + "z9Y8-x7W6_v5U4" * 5,
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + "a1B2c3D4e5F6" * 3,
    "bearer": "f3Kq9-Zr8.Tn2_Lm5Vx7Bc4",
}
ASKED = (
    f"What is {SECRETS['ours']} worth, and {SECRETS['openai']}, {SECRETS['anthropic']}, {SECRETS['aws']} or "
    f"{SECRETS['github']} with Authorization: Bearer {SECRETS['bearer']} in basalt?"
)


def _found(psql: Psql, database: str, secret: str) -> set[str]:
    """Tables of the whole database with a row that has the secret, as text or as bytes."""
    tables = psql(
        "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
        "WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')",
        database,
    ).split()
    sought = f"t::text LIKE '%{secret.replace('_', chr(92) + '_')}%' OR t::text LIKE '%{secret.encode().hex()}%'"
    each = " UNION ALL ".join(
        f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table} AS t WHERE {sought})" for table in tables
    )
    return set(psql(each, database).split())


@pytest.fixture(scope="module")
def api(fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[Api]:
    """With a chat model that repeats what it was asked."""
    with ScriptedServer(answer=lambda _: f"{ASKED} Basalt is a dark rock of lava [1].") as chat:
        told = {"CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
        with serving(fresh_database(), tmp_path_factory.mktemp("struck"), **told) as running:
            running.index("stones", basalt="Basalt is a dark rock of lava.")
            yield running


def test_a_key_in_a_question_is_in_no_trace_no_log_and_no_event(api: Api, psql: Psql) -> None:
    asked = {"question": ASKED, "collection": "stones"}
    ways: list[dict[str, object]] = [
        {}, {"stream": True, "resumable": True}, {"strategy": "react"}, {"strategy": "corrective"}, {"strategy": "iterative"},
    ]  # fmt: skip
    for more in ways:
        answer = api.client.post("/query", json={**asked, "run_id": str(uuid4()), **more})
        assert answer.status_code == 200, answer.text
    told = answer.json()["answer"]
    assert SECRETS["aws"] in told, "who asks gets the answer as it is"
    for query in (ASKED, f'"{ASKED}"'):
        body = {"query": query, "collection": "stones", "filters": {"key": SECRETS["ours"]}}
        for more in (body, {**body, "filters": None}):
            assert api.client.post("/search", json=more).status_code == 200
    api.client.get(f"/collections/{SECRETS['openai']}")

    _await_traces(api, psql, len(ways) + 4)
    asked_for = psql(
        "SELECT count(*) FROM rag.runs WHERE question LIKE '%sk-p%' OR question LIKE '%•••%'", api.database
    )
    assert int(asked_for) == len(ways) + 4, "what was asked can still be told"
    for name, secret in SECRETS.items():
        assert (name, _found(psql, api.database, secret)) == (name, set())
        assert secret not in api.log, name
    everything = psql("SELECT lower(r::text) FROM rag.runs AS r UNION ALL SELECT lower(e::text) FROM rag.run_events AS e",
                      api.database)  # fmt: skip
    for piece in ("a1b2c3", "z9y8", "iosfodnn7", "f3kq9", "zr8", "lm5", SECRETS["ours"][6:16]):
        assert piece not in everything, "nor made into words to look for"
    told = psql("SELECT string_agg(substr(answer ->> 'text', 1 + (s ->> 'start')::int, 6), ',') FROM rag.runs, "
                "jsonb_array_elements(answer #> '{grounding,sentences}') AS s", api.database)  # fmt: skip
    assert set(told.split(",")) == {"What i", "Basalt"}, "places in an answer stay what they are"


@pytest.mark.siege
def test_a_conversation_keeps_what_was_said(api: Api, psql: Psql) -> None:
    """It is the user's own; who deletes it takes the key along."""
    body = {"question": ASKED, "collection": "stones", "session_id": "said"}
    assert api.client.post("/query", json=body).status_code == 200
    messages = api.client.get("/chat/sessions/said/messages").json()
    assert SECRETS["github"] in json.dumps(messages)
    _await_traces(api, psql, 1, "session_id = 'said'")
    assert _found(psql, api.database, SECRETS["github"]) == {"rag.messages"}
    assert api.client.delete("/chat/sessions/said").status_code in (200, 204)
    assert _found(psql, api.database, SECRETS["github"]) == set()


def _await_traces(api: Api, psql: Psql, number: int, where: str = "true") -> None:
    written = f"SELECT count(*) FROM rag.runs WHERE outcome <> 'running' AND {where}"
    api.await_until(lambda: int(psql(written, api.database)) >= number)
