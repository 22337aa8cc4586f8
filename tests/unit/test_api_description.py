"""What the OpenAPI document says: every event that is streamed, every method that is allowed, links that lead somewhere."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic.warnings import UnsupportedFieldAttributeWarning
from starlette.requests import HTTPConnection

from cairn.domain.event import Cancelled, Failed, Progress, RunStarted, SourcesFound, Token
from cairn.errors import ConflictError
from cairn.interfaces.http.chat_frames import CHAT_EVENTS, chat_frames
from cairn.interfaces.http.links import LINKS
from cairn.interfaces.http.policy import POLICIES
from cairn.interfaces.http.problems import known_problems, methods_of
from cairn.interfaces.http.query import EVENTS, query_frames
from cairn.interfaces.http.shapes import COMPATIBILITY
from cairn.interfaces.server import create_app
from cairn.settings import SettingsStore, read_environment

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import make_typescript


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = Path(tmp_path_factory.mktemp("settings")) / "settings.json"
    path.write_text("{}")
    return create_app(read_environment(), SettingsStore(path)).openapi()


def test_it_is_made_once_though_several_ask(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{}")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        app = create_app(read_environment(), SettingsStore(tmp_path / "settings.json"))
        with ThreadPoolExecutor(4) as threads:
            first, *others = [asked.result() for asked in [threads.submit(app.openapi) for _ in range(4)]]
        # what FastAPI silences for one thread, another may have switched on again meanwhile
        warnings.warn("only for annotations", UnsupportedFieldAttributeWarning, stacklevel=1)
    assert all(other is first for other in others)
    others_garbage = ResourceWarning  # sockets of tests before, if they are collected now
    assert not [str(one.message) for one in warned if not issubclass(one.category, others_garbage)]


def test_the_types_of_the_typescript_client_are_those_of_the_document(document: dict[str, Any]) -> None:
    """Without Node; what is committed of it besides is compiled again in tests/surface/test_typescript_client.py."""
    made, folder = make_typescript.render(document), make_typescript.FILE.parent.parent
    assert make_typescript.FILE.read_text(encoding="utf-8") == made, "make reference"
    declared = (folder / "dist" / "schemas.d.ts").read_text(encoding="utf-8")
    assert _words(declared) == _words(made.removeprefix(make_typescript.NOTE)), "npm run build in clients/typescript"


@pytest.mark.parametrize(
    ("schema", "written"),
    [({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, "(number | null)[]"),
     ({"anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "string"}]}, '"a" | "b" | (string & {})'),
     ({"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Way"}}, "Record<string, Way>"),
     ({"const": 1}, "1"), ({"title": "Anything"}, "unknown")],
)  # fmt: skip
def test_a_schema_is_written_as_the_type_that_it_is(schema: dict[str, Any], written: str) -> None:
    assert make_typescript.type_of(schema, "") == written


@pytest.mark.parametrize("schema", [{"allOf": []}, {"type": "array", "prefixItems": []}, {"type": ["string", "null"]}])
def test_a_schema_that_no_rule_reads_is_an_error_and_no_type(schema: dict[str, Any]) -> None:
    with pytest.raises((ValueError, KeyError)):
        make_typescript.type_of(schema, "")


def _words(text: str) -> list[str]:
    return text.split()


def events_of(document: dict[str, Any], method: str, path: str) -> set[str]:
    content = document["paths"][path][method]["responses"]["200"]["content"]["text/event-stream"]
    return set(content["itemSchema"]["properties"]["event"]["enum"])


def test_every_event_of_a_run_is_declared_wherever_it_is_streamed(document: dict[str, Any]) -> None:
    request = HTTPConnection(
        {"type": "http", "path": "/", "headers": [], "server": ("localhost", 80), "scheme": "http"}
    )
    events = [RunStarted(uuid4(), "fast"), Progress("retract", 90), SourcesFound(()), Token("x"),
              Failed(ConflictError("no")), Cancelled(uuid4())]  # fmt: skip
    asked = {frame.event for event in events for frame in query_frames(request, event, without=frozenset())} | {
        "answer"
    }
    chatted = {frame.event for event in events for frame in chat_frames(request, event)} | {"sources", "done"}
    assert asked == set(EVENTS) == events_of(document, "post", "/query")
    assert chatted == set(CHAT_EVENTS) == events_of(document, "post", "/chat/stream")
    assert events_of(document, "get", "/runs/{run_id}/events") == asked | chatted


def test_every_operation_declares_who_may_not_and_what_is_too_much(document: dict[str, Any]) -> None:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert operation["responses"].keys() >= {"401", "403", "408", "413", "421", "429", "500", "503"}, (
                method,
                path,
            )


def test_links_lead_to_parameters_that_are_there(document: dict[str, Any]) -> None:
    for link in LINKS:
        method, path = link.target.split(" ")
        named = {parameter["name"] for parameter in document["paths"][path][method.lower()]["parameters"]}
        assert link.parameters.keys() <= named, link


def test_allmethods_of_a_path_are_named() -> None:
    assert methods_of("/collections") == {"GET", "HEAD", "POST"}
    assert methods_of("/collections/x") == {"GET", "HEAD", "PATCH", "DELETE"}
    assert methods_of("/ws/runs/x") == set()
    assert methods_of("/nowhere/at/all") == set()
    assert all(name.split(" ")[0] in methods_of(name.split(" ")[1]) for name in POLICIES if not name.startswith("WS"))


def test_keys_that_are_shown_once_are_stored_nowhere() -> None:
    assert not POLICIES["POST /keys"].creates


def test_operations_are_named_for_what_they_do(document: dict[str, Any]) -> None:
    """Generated clients call their methods so."""
    ids = [operation["operationId"] for item in document["paths"].values() for operation in item.values()]
    assert len(set(ids)) == len(ids), [name for name in ids if ids.count(name) > 1]
    wrong = [name for name in ids if not re.fullmatch(r"[a-z]+(_[a-z]+){1,4}", name)]
    assert not wrong


def test_every_operation_is_in_one_group_that_is_explained(document: dict[str, Any]) -> None:
    explained = [tag["name"] for tag in document["tags"]]
    used = {tuple(operation["tags"]) for item in document["paths"].values() for operation in item.values()}
    assert all(len(tags) == 1 for tags in used), used
    assert {tag for (tag,) in used} == set(explained)
    assert explained[-1] == COMPATIBILITY
    shown = {
        path for path, item in document["paths"].items() for one in item.values() if one["tags"] == [COMPATIBILITY]
    }
    assert {path.split("/")[1] for path in shown} == {"chat", "qa", "api"}


def test_every_code_of_an_error_is_explained() -> None:
    for code, known in known_problems().items():
        assert known["meaning"] != known["title"], code
        assert len(known["meaning"]) > 30, code
        assert known["meaning"].endswith("."), code


def test_the_page_about_the_api_names_every_route(document: dict[str, Any]) -> None:
    """docs/api.md has a row for every operation, and none for one that is gone; methods stand before their paths."""
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `") and "/" in line.split("|")[1]]
    told = {(method, path) for row in rows for method, path in routes_of(row)}
    there = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert there - told == set()
    assert {(method, path) for method, path in told - there if method != "WS"} == set()


def routes_of(row: str) -> Iterator[tuple[str, str]]:
    """Methods and paths of a row of the table: "`GET DELETE /a/{id}`, `/a`" has three; without a method it is GET."""
    for quoted in re.findall(r"`([^`]+)`", row):
        *methods, path = quoted.split(" ")
        if path.startswith("/"):
            yield from ((method, path) for method in methods or ["GET"])
