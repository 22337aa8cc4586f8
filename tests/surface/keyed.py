"""A server that asks for keys, two tenants on it, and every operation of its OpenAPI document with the ids of the first."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import asyncpg
import httpx2
from serving import Api

from cairn.domain.principal import ALL_SCOPES, Scope
from cairn.interfaces.http.models import ID_EXAMPLE
from cairn.interfaces.http.policy import POLICIES
from cairn.service.keys import create_key, of_tenant, revoke_key
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import open_services
from tests.pdf_files import Sheet, pdf_file
from tests.waiting import patience

MARKER = "zanzibarquartz"
TEXT = f"Ada Lovelace moved to London in 1835. The {MARKER} of the vault weighs 17 tons, said Ada Lovelace in London."
COLLECTION, SESSION, CHAT = "vault", "vault-session", "vault-chat"


@dataclass(frozen=True)
class Keys:
    """Secrets. `without` has all scopes but one."""

    victim: str
    other: str
    revoked: str
    expired: str
    without: dict[Scope, str]

    @property
    def all(self) -> list[str]:
        return [self.victim, self.other, self.revoked, self.expired, *self.without.values()]


def make_keys(dsn: str, home: str) -> Keys:
    """Of the tenants `victim` and `other`, which needs no server."""

    async def make() -> Keys:
        environment = read_environment({"CAIRN_DATABASE_URL": dsn, "CAIRN_HOME": home})
        async with open_services(environment, SettingsStore()) as services:
            victim, other = [await of_tenant(services, name, create=True) for name in ("victim", "other")]
            revoked, revoked_secret = await create_key(victim, "revoked", ALL_SCOPES)
            await revoke_key(victim, revoked.id)
            expired, expired_secret = await create_key(victim, "expired", ALL_SCOPES, expires_in=timedelta(hours=1))
            async with services.database.transaction(victim.principal) as connection:
                await connection.execute("UPDATE rag.api_keys SET expires_at = now() WHERE id = $1", expired.id)
            return Keys(
                (await create_key(victim, "whole", ALL_SCOPES))[1],
                (await create_key(other, "whole", ALL_SCOPES))[1],
                revoked_secret,
                expired_secret,
                {scope: (await create_key(victim, scope, ALL_SCOPES - {scope}))[1] for scope in sorted(ALL_SCOPES)},
            )

    with ThreadPoolExecutor(1) as thread:  # in this one Playwright may keep an event loop
        return thread.submit(asyncio.run, make()).result()


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def refusal(answer: httpx2.Response) -> tuple[str, str]:
    """Code and detail of an error, also in the shapes of protocols that are not ours, which have other codes."""
    body = answer.json()
    if "error_code" in body:
        return str(body["error_code"]), body["error_msg"]
    if isinstance(body.get("error"), dict):
        return body["error"]["code"], body["error"]["message"]
    return body["code"], body["detail"]


@dataclass(frozen=True)
class Operation:
    """A request that would succeed, were it the victim's."""

    method: str
    path: str
    template: str
    scope: Scope | None
    options: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.method} {self.template}"

    def send(self, api: Api, key: dict[str, str], **instead: Any) -> httpx2.Response:
        options: dict[str, Any] = {**self.options, **instead}
        return api.client.request(self.method, self.path, headers={**options.pop("headers", {}), **key}, **options)


@dataclass(frozen=True)
class Victim:
    """Ids of what the first tenant has, by the name of the parameter that takes them."""

    ids: dict[str, str]

    def of(self, template: str, parameter: str) -> str:
        """Raises KeyError for a parameter of a new route: say here what the victim has for it."""
        return self.ids.get(f"{template} {parameter}") or self.ids[parameter]


def one_page() -> bytes:
    """A PDF: the document that stands first in the collection, of which there is everything that a document may have."""
    page = Sheet()
    page.text(50, 100, f"The {MARKER} lies here.")
    return pdf_file(page)


NOWHERE = "127.0.0.1:9"
"""Where nobody listens; `urls` of the settings of a server that `furnish` is for."""
URLS = {"allowedHosts": [NOWHERE], "privateNetworks": ["127.0.0.0/8", "::1/128"]}


def furnish(api: Api, key: str) -> Victim:
    """Give the victim something of everything."""
    client, headers = api.client, bearer(key)

    def ask(method: str, path: str, **options: Any) -> Any:
        answer = client.request(method, path, headers=headers, **options)
        assert answer.status_code < 300, f"{method} {path}: {answer.text}"
        return answer.json() if answer.content else None

    documents = [
        {"external_id": "secret.md", "text": TEXT},
        {"external_id": "b.md", "text": f"Another {MARKER}. Ada King was Ada Lovelace."},
    ]
    ask("POST", "/index", json={"collection": COLLECTION, "documents": documents})
    ask("POST", f"/collections/{COLLECTION}/documents", files=[("files", ("a.pdf", one_page()))], params={"wait": True})
    ask("POST", f"/chat/{CHAT}/documents", files=[("files", ("note.txt", TEXT.encode()))], params={"wait": True})
    found = ask("POST", "/search", json={"query": f"{MARKER} of the vault", "collection": COLLECTION})
    question = {"question": f"How heavy is the {MARKER}?", "collection": COLLECTION}
    run = ask("POST", "/query", json={**question, "session_id": SESSION, "resumable": True})
    ask("POST", "/chat/", json={"message": f"What about the {MARKER}?", "session_id": SESSION})
    ask("POST", "/feedback", json={"run_id": run["run_id"], "rating": 1, "comment": MARKER})
    document = ask("GET", f"/collections/{COLLECTION}/documents")["items"][0]
    chat_document = ask("GET", f"/chat/{CHAT}/documents")["items"][0]
    entities = ask("GET", "/graph/entities", params={"collection": COLLECTION})["items"]
    one, other = "Ada King", "Ada Lovelace"  # the examples of other operations name Ada Lovelace and London
    merge = ask("POST", "/graph/merges", json={"collection": COLLECTION, "from": one, "into": other})
    key_id = ask("GET", "/keys")["items"][0]["id"]
    job = ask("POST", f"/collections/{COLLECTION}/reindex", json={})["id"]
    followed = {"collection": COLLECTION, "address": f"webdav://{NOWHERE}/{MARKER}", "interval_seconds": 0}
    source = ask("POST", "/sources", json=followed)
    return Victim(
        {
            "name": COLLECTION, "document_id": document["id"], "run_id": run["run_id"], "session_id": SESSION,
            "chat_id": CHAT, "page": "1", "job_id": job, "key_id": key_id, "code": "not-found",
            "entity_id": entities[0]["id"], "merge_id": merge["id"], "trace_id": run["run_id"],
            "/chat/{chat_id}/documents/{document_id} document_id": chat_document["id"],
            "model": COLLECTION, "owner": "cairn", "passage_id": found["results"][0]["passage_id"],
            "principal": "person:grace", "source_id": source["id"],
        }
    )  # fmt: skip


def operations(api: Api, victim: Victim) -> list[Operation]:
    """All of them, from the document that the server gives out."""
    schema = api.client.get("/openapi.json").json()
    return [
        _operation(schema, template, method, operation, victim)
        for template, methods in schema["paths"].items() for method, operation in methods.items()
    ]  # fmt: skip


def _operation(
    schema: dict[str, Any], template: str, method: str, operation: dict[str, Any], victim: Victim
) -> Operation:
    path, params = template, {}
    for parameter in operation.get("parameters", []):
        name, example = (
            parameter["name"],
            (parameter["schema"].get("examples") or parameter.get("examples") or [None])[0],
        )
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", victim.of(template, name))
        elif parameter["in"] == "query" and (parameter.get("required") or name == "collection"):
            params[name] = COLLECTION if name == "collection" else example
        elif name == "include":
            params[name] = "text" if template.endswith("/{document_id}") else "all"
    scope = operation.get("security") and POLICIES[f"{method.upper()} {template}"].scope
    options: dict[str, Any] = {"params": params} if params else {}
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        options["json"] = _body(schema, content["application/json"]["schema"], victim)
    elif content:
        options["files"] = [("files", ("mine.txt", b"A stone."))]
    return Operation(method.upper(), path, template, scope or None, options)


def _body(schema: dict[str, Any], shape: dict[str, Any], victim: Victim) -> Any:
    while "$ref" in shape:
        shape = schema["components"]["schemas"][shape["$ref"].rpartition("/")[2]]
    text = json.dumps(shape["examples"][0])
    for example, own in [(ID_EXAMPLE, victim.ids["run_id"]), ("handbook", COLLECTION), ("alice-1", SESSION)]:
        text = text.replace(example, own)
    return json.loads(text)


def assert_knows_nothing(operation: Operation, text: str, victim: Victim) -> None:
    sent = json.dumps([operation.path, operation.options], default=str)
    for word in (MARKER, "17 tons", *(value for value in victim.ids.values() if len(value) == 36)):
        assert word in sent or word not in text, f"{operation.name} told {word}: {text[:2000]}"
    assert '"victim"' not in text
    assert 'collection="vault"' not in text or operation.template != "/metrics"


def settled(dsn: str) -> dict[str, tuple[int, int]]:
    """Rows of the victim and a sum over them, by table, once they stand still. `last_used_at` of its keys may change."""

    async def look() -> dict[str, tuple[int, int]]:
        connection = await asyncpg.connect(dsn)
        try:
            tenant = await connection.fetchval("SELECT id FROM rag.tenants WHERE name = 'victim'")
            tables = await connection.fetch(
                "SELECT c.oid::regclass::text FROM pg_class AS c WHERE c.relnamespace = 'rag'::regnamespace "
                "AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname NOT IN ('api_keys', 'key_requests') "
                "AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')"
            )
            found = {}
            for (table,) in tables:
                statement = (
                    f"SELECT count(*), coalesce(sum(hashtext(t::text)), 0) FROM {table} AS t WHERE tenant_id = $1"
                )
                found[table] = tuple(map(int, await connection.fetchrow(statement, tenant)))
            busy = await connection.fetchval("SELECT count(*) FROM rag.jobs WHERE status IN ('queued', 'running')")
            return {} if busy else found
        finally:
            await connection.close()

    async def wait() -> dict[str, tuple[int, int]]:
        async with asyncio.timeout(patience(60)):
            last: dict[str, tuple[int, int]] = {}
            while True:
                found = await look()
                if found and found == last:
                    return found
                last = found
                await asyncio.sleep(0.5)

    return asyncio.run(wait())
