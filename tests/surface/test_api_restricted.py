"""Who may read what, asked of every operation of the OpenAPI document by a key of the same tenant whose group was taken off the
access lists, so that none names it; and of keys that they name. A new route is in it by itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from keyed import (
    COLLECTION,
    MARKER,
    Operation,
    Victim,
    bearer,
    furnish,
    make_keys,
    operations,
    settled,
)  # fmt: skip
from serving import Api, serving

GROUP = "vault"


@dataclass(frozen=True)
class Readers:
    """Secrets: of who operates, of members of two groups, and of a key without any."""

    whole: str
    member: str
    former: str
    outsider: str


@pytest.fixture(scope="module")
def place(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Any
) -> Iterator[tuple[Api, Readers, Victim, str]]:
    """A tenant that has everything, all of it restricted after it was asked about, to one group and then to another."""
    dsn = fresh_database()
    keys = make_keys(dsn, str(tmp_path_factory.mktemp("keys")))
    environment = {"CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model)}
    with serving(dsn, tmp_path_factory.mktemp("restricted"), **environment) as api:
        victim = furnish(api, keys.victim)
        settled(dsn)
        secrets = []
        for groups in ([GROUP], ["left"], []):
            body = {"name": "reader", "scopes": ["read", "ask", "write"], "groups": groups}
            made = api.client.post("/keys", json=body, headers=bearer(keys.victim))
            assert made.status_code == 201, made.text
            secrets.append(made.json()["key"])
        for access in ([f"group:{GROUP}", "group:left"], [f"group:{GROUP}"]):
            for path in (f"/collections/{COLLECTION}/documents", f"/chat/{victim.ids['chat_id']}/documents"):
                for one in api.client.get(path, headers=bearer(keys.victim)).json()["items"]:
                    changed = api.client.patch(
                        f"/collections/{one['collection']}/documents/{one['id']}", json={"access": access},
                        headers=bearer(keys.victim),
                    )  # fmt: skip
                    assert changed.json()["access"] == sorted(access), changed.text
        yield api, Readers(keys.victim, *secrets), victim, dsn


def asked_by(place: tuple[Api, Readers, Victim, str], key: str) -> Iterator[tuple[Operation, httpx2.Response]]:
    """Everything that a key without the scope admin may ask, reads first."""
    api, _, victim, _ = place
    every = [one for one in operations(api, victim) if one.scope not in (None, "admin")]
    for operation in sorted(every, key=lambda one: (one.method != "GET", one.method == "DELETE")):
        yield operation, operation.send(api, bearer(key))


def test_no_operation_tells_of_restricted_documents(place: tuple[Api, Readers, Victim, str]) -> None:
    _, readers, victim, _ = place
    asked = 0
    for operation, answer in asked_by(place, readers.former):
        assert answer.status_code < 500, f"{operation.name}: {answer.text}"
        sent = json.dumps([operation.path, operation.options], default=str)
        for word in (MARKER, "17 tons", "Lovelace", *(value for value in victim.ids.values() if len(value) == 36)):
            assert word in sent or word not in answer.text, f"{operation.name} told {word}: {answer.text[:2000]}"
        asked += 1
    assert asked > 50
    api, collection = place[0], f"/collections/{COLLECTION}"
    for key in (readers.former, readers.outsider):
        assert api.client.get("/usage", headers=bearer(key)).json()["tenant"]["kept"]["documents"] < 4
        assert api.client.post(f"{collection}/reindex", json={}, headers=bearer(key)).status_code == 403


def test_who_is_named_reads_them(place: tuple[Api, Readers, Victim, str]) -> None:
    api, readers, victim, _ = place
    for key in (readers.member, readers.whole):
        listed = api.client.get(f"/collections/{COLLECTION}/documents", headers=bearer(key)).json()["items"]
        assert {one["external_id"] for one in listed} >= {"a.pdf", "b.md", "secret.md"}
        body = {"query": f"{MARKER} of the vault", "collection": COLLECTION}
        assert MARKER in api.client.post("/search", json=body, headers=bearer(key)).text
        path = f"/sessions/{victim.ids['session_id']}"
        assert api.client.get(path, headers=bearer(key)).status_code in (200, 404)
    mine = bearer(readers.outsider)  # counts are of what one may read: what the operations above have written
    count = api.client.get(f"/collections/{COLLECTION}", headers=mine).json()["document_count"]
    assert count == len(api.client.get(f"/collections/{COLLECTION}/documents", headers=mine).json()["items"]) < 4
