"""Which answer leads to which request: links of the OpenAPI document, for readers and for programs that follow them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class Link(NamedTuple):
    """From an answer of an operation to a request: its parameters, by where in the exchange they stand."""

    source: str
    status: str
    name: str
    target: str
    parameters: dict[str, str]


_BODY, _PATH = "$response.body#/", "$request.path."
_JOB = {"job_id": f"{_BODY}id"}
_MODEL_JOB = {"job_id": f"{_BODY}job_id"}
_RUN = {"run_id": f"{_BODY}run_id"}
_COLLECTION = {"name": f"{_BODY}name"}
_DOCUMENT = {"name": f"{_PATH}name", "document_id": f"{_BODY}items/0/id"}
_ENTITY = {"entity_id": f"{_BODY}items/0/id"}

LINKS: Final = (
    Link("POST /collections", "201", "collection", "GET /collections/{name}", _COLLECTION),
    Link("POST /collections", "201", "documents", "GET /collections/{name}/documents", _COLLECTION),
    Link("POST /collections", "201", "upload", "POST /collections/{name}/documents", _COLLECTION),
    Link("POST /collections", "201", "reindex", "POST /collections/{name}/reindex", _COLLECTION),
    Link("POST /collections", "201", "delete", "DELETE /collections/{name}", _COLLECTION),
    Link("POST /collections/{name}/documents", "202", "job", "GET /jobs/{job_id}", _JOB),
    Link("POST /collections/{name}/documents", "202", "events", "GET /jobs/{job_id}/events", _JOB),
    Link(
        "GET /collections/{name}/documents",
        "200",
        "document",
        "GET /collections/{name}/documents/{document_id}",
        _DOCUMENT,
    ),
    Link(
        "GET /collections/{name}/documents",
        "200",
        "delete",
        "DELETE /collections/{name}/documents/{document_id}",
        _DOCUMENT,
    ),
    Link("POST /collections/{name}/reindex", "202", "job", "GET /jobs/{job_id}", _JOB),
    Link("POST /collections/{name}/reindex", "202", "cancel", "POST /jobs/{job_id}/cancel", _JOB),
    Link("POST /collections/{name}/reread", "202", "job", "GET /jobs/{job_id}", _JOB),
    Link("POST /collections/{name}/enrich", "202", "job", "GET /jobs/{job_id}", _JOB),
    Link("POST /collections/{name}/models", "202", "job", "GET /jobs/{job_id}", _MODEL_JOB),
    Link("POST /graph/extract", "202", "job", "GET /jobs/{job_id}", _JOB),
    Link("POST /jobs/{job_id}/cancel", "200", "retry", "POST /jobs/{job_id}/retry", _JOB),
    Link("POST /search", "200", "trace", "GET /traces/{trace_id}", {"trace_id": f"{_BODY}trace_id"}),
    Link("POST /query", "200", "run", "GET /runs/{run_id}", _RUN),
    Link("POST /query", "200", "trace", "GET /traces/{trace_id}", {"trace_id": f"{_BODY}run_id"}),
    Link("POST /query", "200", "proof", "GET /runs/{run_id}/proof", _RUN),
    Link("POST /query", "200", "events", "GET /runs/{run_id}/events", _RUN),
    Link(
        "POST /chat/",
        "200",
        "messages",
        "GET /chat/sessions/{session_id}/messages",
        {"session_id": f"{_BODY}session_id"},
    ),
    Link("POST /chat/", "200", "history", "GET /chat/history/{session_id}", {"session_id": f"{_BODY}session_id"}),
    Link("POST /chat/", "200", "forget", "DELETE /chat/history/{session_id}", {"session_id": f"{_BODY}session_id"}),
    Link("GET /graph/entities", "200", "entity", "GET /graph/entities/{entity_id}", _ENTITY),
    Link("POST /graph/merges", "201", "undo", "DELETE /graph/merges/{merge_id}", {"merge_id": f"{_BODY}id"}),
)


def describe(schema: dict[str, Any]) -> None:
    """Declare them. Raises KeyError for one of an operation or answer that is not there."""
    operations = {
        f"{method.upper()} {path}": operation
        for path, item in schema["paths"].items()
        for method, operation in item.items()
    }
    for link in LINKS:
        links = operations[link.source]["responses"][link.status].setdefault("links", {})
        links[link.name] = {"operationId": operations[link.target]["operationId"], "parameters": link.parameters}
