"""The OpenAPI document as a whole: what it says first, its groups of operations, and what is added to every operation."""

from __future__ import annotations

import threading
import warnings
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic.warnings import UnsupportedFieldAttributeWarning

from cairn.interfaces.http import conditional, idempotency, links, problems
from cairn.interfaces.http.authenticate import describe_keys
from cairn.interfaces.http.shapes import COMPATIBILITY

TEXT: Final = """Answers questions from your documents. Every answer cites spans that exist, and every search can be
read back with `GET /traces/{trace_id}`.

`POST /query` is the way to ask. The group *compatibility* has the same answers in shapes that other programs know.

`id` is the id that Cairn gave to a thing, `external_id` the one that the caller gave to a document, and collections, keys and
embedding models have a `name`. `<thing>_id` refers to a thing.

Errors are RFC 9457 `application/problem+json` with a stable `code`; `GET /problems/{code}` says what it means. Lists
page by cursor: pass `next_cursor` as `cursor`. Every response has an `X-Request-ID`, which the log knows.

These paths have no version. Fields may be added at any time; what is taken away or renamed stands in the changelog under a new
version of the server, which `info.version` names.
"""

GROUPS: Final = {
    "collections": "Named sets of documents.",
    "documents": "What is searched: files, texts and pages.",
    "sources": "Places that a collection is kept in step with.",
    "search": "Passages, and how they were found.",
    "questions": "Answers with citations.",
    "conversations": "What was said under a `session_id`.",
    "runs": "Questions under way: their events, their end, and what users think of the answers.",
    "traces": "Searches and questions, read back step by step.",
    "graph": "Entities, relations and communities, each with its proof.",
    "jobs": "Work that outlives its request.",
    "models": "Embedding models, and which collections they serve.",
    "cache": "The retrieval cache.",
    "keys": "Who may call.",
    "operating": "Health, metrics, limits, the audit log and the codes of errors.",
    "openai": "The OpenAI API: collections as models.",
    "dify": "External knowledge for Dify.",
    COMPATIBILITY: "The answers of `/query` in other shapes, each with words of its own. Nothing new begins here.",
}
"""Groups in the order in which they are shown, and what they are for."""


def name_operation(route: APIRoute) -> str:
    """The operation id: the name of the function, such as `list_collections`, which generated clients call their methods."""
    return route.name


def install(app: FastAPI, *, keys: bool) -> None:
    """`app.openapi` and `/openapi.json`. The document takes half a second: it is made once, and never on the loop. `keys`:
    callers need one."""
    making = threading.Lock()

    def describe_once() -> dict[str, Any]:
        with making:
            if app.openapi_schema is None:
                app.openapi_schema = _describe(app, keys)
            return app.openapi_schema

    def serve(request: Request) -> JSONResponse:  # no coroutine: those who ask while it is made wait in threads
        schema = describe_once()
        if below := request.scope.get("root_path", "").rstrip("/"):
            schema = {**schema, "servers": [{"url": below}]}
        return JSONResponse(schema)

    app.openapi = describe_once  # type: ignore[method-assign]
    app.add_route("/openapi.json", serve, include_in_schema=False)
    # FastAPI silences this for each of its own fields by changing the filters of the process, which another thread that
    # does so at that moment may undo.
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)


def _describe(app: FastAPI, keys: bool) -> dict[str, Any]:
    schema = get_openapi(title=app.title, version=app.version, description=TEXT, routes=app.routes)
    used = {tag for item in schema["paths"].values() for operation in item.values() for tag in operation["tags"]}
    schema["tags"] = [{"name": name, "description": text} for name, text in GROUPS.items() if name in used]
    idempotency.describe(schema)
    problems.describe(schema)
    conditional.describe(schema)
    links.describe(schema)
    if keys:
        describe_keys(schema)
    return schema
