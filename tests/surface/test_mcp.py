"""MCP as agents meet it: the SDK's own client and the Inspector, over HTTP with keys and over stdio."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TextIO

import anyio
import httpx2
import jsonschema
import pytest
from keyed import COLLECTION, MARKER, TEXT, Keys, bearer, make_keys
from scripted_server import ScriptedServer
from serving import REPO, Api, serving, starter

from tests.waiting import hang_guard, patience, until, wait_until

if TYPE_CHECKING:
    from mcp.client.client import (
        Client,
    )  # .45 s of a processor, for each process that collects the tests: imported where it is used

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
TOOLS = [
    "answer_research_question", "agentic_research_question", "search_documents", "read_document", "list_collections",
    "list_documents", "explore_graph", "optimize_search", "index_document", "reindex_collection", "create_custom_index",
    "get_job",
]  # fmt: skip
QUESTION = f"How heavy is the {MARKER}?"
CALL = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "answer_research_question", "arguments": {"question": QUESTION, "strategy": "fast"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=lambda _: f"The {MARKER} of the vault weighs 17 tons [1].") as running:
        yield running


@pytest.fixture(scope="module")
def dsn(fresh_database: Callable[[], str]) -> str:
    return fresh_database()


@pytest.fixture(scope="module")
def secrets(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return make_keys(dsn, str(tmp_path_factory.mktemp("keys")))


@pytest.fixture(scope="module")
def keyed(
    dsn: str, secrets: Keys, tmp_path_factory: pytest.TempPathFactory, model: Path, chat: ScriptedServer
) -> Iterator[Api]:
    environment = {"CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
    settings = {"admission": {"searches": 1, "searchesWaiting": 0}}
    with serving(dsn, tmp_path_factory.mktemp("mcp"), settings=settings, **environment) as running:
        documents = [{"external_id": f"{n}.md", "title": f"Vault {n}", "text": f"{TEXT} Number {n}."} for n in range(3)]
        body = {"collection": COLLECTION, "documents": documents}
        assert running.client.post("/index", headers=bearer(secrets.victim), json=body).status_code == 200
        yield running


@asynccontextmanager
async def talking(api: Api, key: str, mode: Literal["auto", "legacy"] = "auto") -> AsyncIterator[Client]:
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        hang_guard(60),
        httpx2.AsyncClient(headers=bearer(key), timeout=patience(60), trust_env=False, verify=False) as http,
        Client(streamable_http_client(f"{api.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured result of a call that went well."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return str(result.content[0].text)  # type: ignore[union-attr]


def mcp_error(match: str) -> AbstractContextManager[Any]:
    from mcp.shared.exceptions import MCPError

    return pytest.raises(MCPError, match=match)


# --- what there is ------------------------------------------------------------------------------------------------------


@pytest.mark.sweep(2)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_twelve_tools_do_what_they_say(keyed: Api, secrets: Keys, mode: Literal["auto", "legacy"]) -> None:
    """Each once, in both forms of the protocol: results have the shapes that the list declares."""
    async with talking(keyed, secrets.victim, mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(listed) == TOOLS
        name = f"about-{mode}"
        new = await call(client, "index_document", text="Basalt is a dark rock.", external_id="b.md", collection=name)
        reindexed = await call(client, "reindex_collection", collection=name, force=True)
        given = {
            "answer_research_question": {"question": QUESTION},
            "agentic_research_question": {"question": QUESTION},
            "search_documents": {"query": MARKER, "top_k": 2},
            "read_document": {"document": "1.md", "start": 4, "length": 8},
            "list_collections": {},
            "list_documents": {"title": "vault 2"},
            "explore_graph": {"entity": "Ada Lovelace", "related_to": "London"},
            "optimize_search": {"queries": [MARKER, "London"]},
            "create_custom_index": {"index_name": f"chosen-{mode}", "topic_filter": MARKER, "max_documents": 2},
            "get_job": {"job_id": reindexed["id"]},
        }
        found = {"index_document": new, "reindex_collection": reindexed}
        for tool, arguments in given.items():
            named = {"collection": COLLECTION} if "collection" in listed[tool].input_schema["properties"] else {}
            found[tool] = await call(client, tool, **named, **arguments)
    for tool, result in found.items():
        jsonschema.validate(result, listed[tool].output_schema or {})
    assert "17 tons" in found["answer_research_question"]["answer"]
    assert found["answer_research_question"]["citations"][0]["quote"] in TEXT
    assert "switched off" in found["agentic_research_question"]["fallback"]
    assert len(found["search_documents"]["results"]) == 2
    assert found["read_document"]["text"] == TEXT[4:12]
    assert [one["external_id"] for one in found["list_documents"]["documents"]] == ["2.md"]
    assert found["explore_graph"]["ways"][0][0]["quote"] in TEXT
    assert found["optimize_search"]["queries"] == 2
    assert found["optimize_search"]["reranking"]["reranker"]
    assert (reindexed["status"], reindexed["result"]["redone"]) == ("succeeded", 1)
    assert found["create_custom_index"]["job"]["status"] == "succeeded"
    assert len(found["create_custom_index"]["documents"]) == 2
    assert found["get_job"]["status"] == "succeeded"


async def test_agents_work_where_the_settings_allow_it(keyed: Api, secrets: Keys) -> None:
    before = keyed.settings_file.read_text()
    keyed.write_settings(json.dumps({**json.loads(before), "rag": {"agenticRetrieval": {"enabled": True}}}))
    async with talking(keyed, secrets.victim) as client:

        async def agentic() -> bool:
            found = await call(client, "agentic_research_question", question=QUESTION, collection=COLLECTION)
            return found["fallback"] is None and found["strategy"] == "corrective"

        await until(agentic)
    keyed.write_settings(before)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_progress_is_told_to_who_asks_for_it(keyed: Api, secrets: Keys, mode: Literal["auto", "legacy"]) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with talking(keyed, secrets.victim, mode) as client:
        arguments = {"question": QUESTION, "collection": COLLECTION, "strategy": "fast"}
        await client.call_tool("answer_research_question", arguments, progress_callback=note)
    steps = [progress for progress, _, _ in told]
    assert steps == sorted(set(steps))
    assert told[-1][:2] == (100, 100)
    assert all(message for _, _, message in told)


async def test_resources_are_listed_page_by_page_and_read(keyed: Api, secrets: Keys) -> None:
    async with talking(keyed, secrets.victim) as client:
        listed, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            listed += page.resources
            if (cursor := page.next_cursor) is None:
                break
        names = [one.name for one in listed]
        assert names[names.index(COLLECTION) :][:4] == [COLLECTION, "0.md", "1.md", "2.md"]
        by_name = {one.name: one.uri for one in listed}
        document = (await client.read_resource(by_name["1.md"])).contents[0]
        assert document.text == f"{TEXT} Number 1."  # type: ignore[union-attr]
        assert by_name["1.md"] in (await client.read_resource(by_name[COLLECTION])).contents[0].text  # type: ignore[union-attr]
        found = await call(client, "search_documents", query=MARKER, collection=COLLECTION)
        passage = (await client.read_resource(found["results"][0]["uri"])).contents[0]
        assert passage.text == found["results"][0]["content"]  # type: ignore[union-attr]
        assert (passage.meta or {})["external_id"] == found["results"][0]["external_id"]
        assert len((await client.list_resource_templates()).resource_templates) == 3
        for uri in (
            "cairn://collections/none",
            "cairn://passages/x",
            f"cairn://passages/{'0' * 36}",
            "file:///etc/passwd",
        ):
            with mcp_error("no "):
                await client.read_resource(uri)
        with mcp_error("cursor"):
            await client.list_resources(cursor="nonsense")


async def test_prompts_and_names_of_collections_are_offered(keyed: Api, secrets: Keys) -> None:
    from mcp_types import ResourceTemplateReference

    async with talking(keyed, secrets.victim) as client:
        for prompt in (await client.list_prompts()).prompts:
            needed = [one.name for one in prompt.arguments or [] if one.required]
            made = await client.get_prompt(prompt.name, {needed[0]: MARKER, "collection": COLLECTION})
            assert MARKER in made.messages[0].content.text  # type: ignore[union-attr]
            assert COLLECTION in made.messages[0].content.text  # type: ignore[union-attr]
            with mcp_error(needed[0]):
                await client.get_prompt(prompt.name, {})
        asked = ResourceTemplateReference(uri="cairn://collections/{collection}")
        offered = await client.complete(asked, {"name": "collection", "value": COLLECTION[:3]})
        assert offered.completion.values == [COLLECTION]


# --- who may what -------------------------------------------------------------------------------------------------------


async def test_what_is_wrong_is_told_to_the_model(keyed: Api, secrets: Keys) -> None:
    async with talking(keyed, secrets.victim) as client:
        assert COLLECTION in await refused(client, "search_documents", query="x", collection="nope")
        assert "queri: there is no such argument, but" in await refused(client, "search_documents", queri="x")
        assert "empty" in await refused(client, "search_documents", query=" ", collection=COLLECTION)
        assert "strategy" in await refused(
            client, "answer_research_question", question="x", strategy="best", collection=COLLECTION
        )
        assert "Ada Lovelace" in await refused(client, "explore_graph", entity="Ada Lovelaci", collection=COLLECTION)
        assert "exists" in await refused(
            client, "create_custom_index", index_name=COLLECTION, topic_filter=MARKER, collection=COLLECTION
        )
        with mcp_error("there is no tool"):
            await client.call_tool("delete_everything", {})


async def test_tools_respect_scopes_and_tenants(keyed: Api, secrets: Keys) -> None:
    async with talking(keyed, secrets.without["write"]) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [*TOOLS[:8], "get_job"]
        assert "scope write" in await refused(client, "index_document", text="x")
    async with talking(keyed, secrets.without["admin"]) as client:
        assert "scope admin" in await refused(client, "index_document", text="x", access=["group:hr"])
    async with talking(keyed, secrets.victim) as client:
        assert "nobody who may read" in await refused(client, "index_document", text="x", access=["hr"])
        await call(client, "index_document", text="x", external_id="pay", collection="lists", access=["group:hr"])
        listed = (await call(client, "list_documents", collection="lists"))["documents"]
        assert [(one["external_id"], one["access"]) for one in listed] == [("pay", ["group:hr"])]
        passage = (await call(client, "search_documents", query=MARKER, collection=COLLECTION))["results"][0]
    async with talking(keyed, secrets.without["ask"]) as client:
        assert "scope ask" in await refused(client, "answer_research_question", question="x")
    async with talking(keyed, secrets.without["read"]) as client:
        assert "scope read" in await refused(client, "search_documents", query="x")
        assert "scope read" in await refused(client, "create_custom_index", index_name="mine", topic_filter=MARKER)
        with mcp_error("scope read"):
            await client.list_resources()
    async with talking(keyed, secrets.other) as client:
        assert MARKER not in await refused(client, "search_documents", query=MARKER, collection=COLLECTION)
        with mcp_error("no passage"):
            await client.read_resource(passage["uri"])
        assert (await client.list_resources()).resources == []


def post(api: Api, key: str | None, body: Any = CALL, **headers: str) -> httpx2.Response:
    own = {"accept": "application/json, text/event-stream", **(bearer(key) if key else {}), **headers}
    return api.client.post("/mcp", json=body, headers=own)


def test_the_layers_of_the_api_stand_before_it(keyed: Api, secrets: Keys) -> None:
    for key in (None, secrets.revoked, secrets.expired):
        answer = post(keyed, key)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert "resource_metadata" not in answer.headers["www-authenticate"], "no issuer is configured"
        assert (answer.json()["jsonrpc"], answer.json()["error"]["data"]["code"]) == ("2.0", "unauthenticated")
    assert post(keyed, secrets.victim, Origin="https://evil.example").status_code == 403
    assert post(keyed, secrets.victim, **{"content-type": "text/plain"}).status_code == 415
    assert (
        post(
            keyed, secrets.victim, {"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"x": "y" * 1_100_000}}
        ).status_code
        == 413
    )
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/session/oidc"):
        assert keyed.client.get(path).status_code == 404
    for method in ("GET", "DELETE"):
        answer = keyed.client.request(method, "/mcp", headers=bearer(secrets.victim))
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    for body in ("nonsense", [], [CALL], {"jsonrpc": "2.0"}, {**CALL, "params": None}):
        assert 200 <= post(keyed, secrets.victim, body).status_code < 500


@pytest.mark.parametrize(
    ("body", "code", "told", "answers"),
    [
        ([CALL], -32600, "batches are not supported: send one message at a time", None),
        ([], -32600, "batches are not supported", None),
        (None, -32600, "a message is a JSON object", None),
        (3, -32600, "a message is a JSON object", None),
        ("nonsense", -32600, "a message is a JSON object", None),
        (b"nonsense", -32700, "not valid JSON", None),
        (b"[" * 100_000, -32700, "not valid JSON", None),
        (b"\xff\xfe{", -32700, "not valid JSON", None),
        ({}, -32600, 'jsonrpc must be "2.0"', None),
        ({**CALL, "jsonrpc": "1.0", "id": "x"}, -32600, 'jsonrpc must be "2.0"', "x"),
        ({**CALL, "id": {}}, -32600, "id must be a string or a whole number", None),
        ({**CALL, "id": 7, "method": 3}, -32600, "method must be a string", 7),
        ({**CALL, "id": 7, "params": [1]}, -32600, "params must be a JSON object", 7),
    ],
)  # fmt: skip
def test_what_is_no_message_is_told_in_our_words(
    keyed: Api, secrets: Keys, body: Any, code: int, told: str, answers: Any
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    answer = keyed.client.post("/mcp", content=content, headers=headers | bearer(secrets.victim))
    if content.startswith(b"[["):
        assert answer.status_code in (400, 413)  # so many brackets are refused before anything parses them
        return
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")
    found = answer.json()
    assert (found["jsonrpc"], found["id"], found["error"]["code"]) == ("2.0", answers, code)
    assert told in found["error"]["message"]
    assert "validation" not in answer.text.lower()


def test_a_plain_request_gets_a_plain_answer_and_no_session(keyed: Api, secrets: Keys) -> None:
    answer = post(
        keyed,
        secrets.victim,
        {**CALL, "params": {**CALL["params"], "arguments": {"question": QUESTION, "collection": COLLECTION}}},
    )
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert "mcp-session-id" not in answer.headers
    assert "17 tons" in answer.json()["result"]["structuredContent"]["answer"]


async def test_requests_of_a_key_are_counted_and_searches_have_places(keyed: Api, secrets: Keys) -> None:
    made = keyed.client.post(
        "/keys", headers=bearer(secrets.victim),
        json={"name": "few", "scopes": ["read"], "limits": {"requests_per_minute": 3}},
    ).json()  # fmt: skip
    answers = [post(keyed, made["key"], {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}) for _ in range(7)]
    assert {answer.status_code for answer in answers[-3:]} <= {200, 429}
    assert 429 in {answer.status_code for answer in answers}
    told = next(answer for answer in answers if answer.status_code == 429)
    assert "3 requests in any minute" in told.json()["error"]["message"]
    async with talking(keyed, secrets.victim) as client:
        searches = [
            client.call_tool("search_documents", {"query": f"{MARKER} {n}", "collection": COLLECTION})
            for n in range(12)
        ]
        found = await asyncio.gather(*searches)
    full = [one.content[0].text for one in found if one.is_error]  # type: ignore[union-attr]
    assert 0 < len(full) < 12
    assert all("too many searches" in text and "try again" in text for text in full)


# --- leaving ------------------------------------------------------------------------------------------------------------


@pytest.mark.sweep(4)
@pytest.mark.parametrize("token", [None, 1])
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
async def test_a_client_that_leaves_ends_what_it_asked_for(
    keyed: Api, secrets: Keys, chat: ScriptedServer, token: int | None, version: str
) -> None:
    chat.script("stall")
    asked = len(chat.requests)
    meta: dict[str, Any] = {} if token is None else {"progressToken": token}
    if version > "2026":
        meta |= {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    arguments = {"question": QUESTION, "collection": COLLECTION, "strategy": "fast"}
    params = {"name": "answer_research_question", "arguments": arguments, "_meta": meta}
    headers = {
        **bearer(secrets.victim), "accept": "application/json, text/event-stream", "mcp-protocol-version": version,
        "mcp-method": "tools/call", "mcp-name": "answer_research_question",
    }  # fmt: skip
    async with httpx2.AsyncClient(base_url=keyed.url, headers=headers, trust_env=False, verify=False) as client:
        asking = asyncio.create_task(client.post("/mcp", json={**CALL, "params": params}, timeout=patience(60)))
        await until(lambda: len(chat.requests) > asked or asking.done())
        assert not asking.done(), asking.result().text
        asking.cancel()
        await asyncio.wait([asking])
    keyed.await_until(lambda: 'running{kind="answer"} 0.0' in metrics(keyed, secrets))
    chat._script.clear()


def metrics(api: Api, secrets: Keys) -> str:
    return api.client.get("/metrics", headers=bearer(secrets.victim)).text


# --- stdio and the Inspector --------------------------------------------------------------------------------------------


@pytest.fixture
def at_home(dsn: str, keyed: Api, tmp_path: Path, model: Path, chat: ScriptedServer) -> dict[str, str]:
    """Environment of `cairn mcp` on the same data."""
    own = {
        "CAIRN_DATABASE_URL": dsn, "CAIRN_TENANT": "victim", "CAIRN_HOME": str(tmp_path), "CAIRN_MODEL_DIR": str(model),
        "PYTHONPATH": str(REPO / "app"), "OPENAI_BASE_URL": chat.openai_url, "CAIRN_SETTINGS": str(keyed.settings_file),
    }  # fmt: skip
    return {**os.environ, **own}


class Pipes(Protocol):
    """A process that serves over its input and output, by whichever way it was started."""

    def terminate(self) -> None: ...

    def wait(self, timeout: float | None = None) -> int: ...


Started = tuple[Pipes, TextIO, TextIO]


def from_nothing(environment: dict[str, str], folder: Path) -> Started:
    process = subprocess.Popen(
        [sys.executable, "-m", "cairn", "mcp"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    return process, process.stdin, process.stdout


def as_a_fork(environment: dict[str, str], folder: Path) -> Started:
    """Of what servers are forked from: the imports are four fifths of what it takes."""
    pipes = folder / "in", folder / "out"
    for pipe in pipes:
        os.mkfifo(pipe)
    process = starter().start(environment, folder / "log", "mcp", pipes=pipes)
    [asked] = wait_until(lambda: opened_by_reader(pipes[0]))  # without waiting for a fork that has ended
    return process, asked, pipes[1].open()


def opened_by_reader(pipe: Path) -> list[TextIO]:
    """The pipe for writing, if something reads from it."""
    try:
        descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as failure:
        if failure.errno != errno.ENXIO:
            raise
        return []
    os.set_blocking(descriptor, True)
    return [os.fdopen(descriptor, "w")]


@pytest.mark.parametrize("start", [as_a_fork, pytest.param(from_nothing, marks=pytest.mark.siege)])
async def test_stdio_serves_who_started_it_says_nothing_but_messages_and_obeys_a_signal(
    at_home: dict[str, str], tmp_path: Path, start: Callable[[dict[str, str], Path], Started]
) -> None:
    from mcp.client.client import Client
    from mcp.server.stdio import stdio_server

    said: list[str] = []
    process, asked, answered = start(at_home, tmp_path)
    with asked, answered:
        out = anyio.wrap_file(answered)

        async def lines() -> AsyncIterator[str]:
            async for line in out:
                said.append(line)
                yield line

        pipes = stdio_server(lines(), anyio.wrap_file(asked))  # type: ignore[arg-type]  # of its other end
        async with hang_guard(60), Client(pipes) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            found = await call(client, "answer_research_question", question=QUESTION, collection=COLLECTION)
            process.terminate()
            assert await asyncio.to_thread(process.wait, patience(15)) == 0
        said.extend(answered)  # what the client did not wait for
    assert "17 tons" in found["answer"]
    assert {json.loads(line)["jsonrpc"] for line in said} == {"2.0"}


@pytest.mark.siege
def test_the_inspector_gets_an_answer(keyed: Api, secrets: Keys, tmp_path: Path) -> None:
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("MCP Inspector NOT run: there is no npx (Node.js) on this machine")
    command = [
        npx, "--yes", "--prefer-offline", INSPECTOR, "--cli", f"{keyed.url}/mcp", "--transport", "http",
        "--header", f"Authorization: Bearer {secrets.victim}", "--method", "tools/call",
        "--tool-name", "answer_research_question",
        "--tool-arg", f"question={QUESTION}", "--tool-arg", f"collection={COLLECTION}",
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=patience(60), check=False, cwd=tmp_path)
    if run.returncode and "npm error" in run.stderr:
        pytest.skip(f"MCP Inspector NOT run: npx could not install it: {run.stderr[:300]}")
    assert run.returncode == 0, run.stderr
    assert "17 tons" in json.loads(run.stdout)["structuredContent"]["answer"]
