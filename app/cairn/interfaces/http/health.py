"""Is it alive, can it serve, how is it doing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from cairn.domain.job import QueueState
from cairn.errors import CairnError, NotFoundError
from cairn.interfaces.http import problems
from cairn.interfaces.http.authorize import is_admin
from cairn.interfaces.http.metrics import CONTENT_TYPE
from cairn.interfaces.http.models import example
from cairn.interfaces.http.running import (
    Running,
    RunningDep,
    ServicesDep,
    TypedRoute,
    databases_of,
    process_services,
    services_of,
)
from cairn.service.documents import list_recall
from cairn.service.models import outdated_notes
from cairn.service.operation import DatabaseState, describe_service
from cairn.service.tenant_databases import TenantDatabases
from cairn.settings import DEFAULT
from cairn.wiring import Services

router = APIRouter(tags=["operating"], route_class=TypedRoute)

STALLED_SECONDS = 60.0
"""A job that could run and waits this long, while the worker gets no answer: the worker is a zombie."""


READ_ONLY = (
    "the database is a standby: reads are answered, writes are refused (read-only), no job is done, and traces, usage and "
    "counters are not kept"
)


class Live(BaseModel):
    model_config = example({"status": "live"})

    status: str = "live"


class Ready(BaseModel):
    """What the process depends on. `problems` is empty when all is well; a warning there need not mean not ready."""

    model_config = example(
        {
            "status": "ready", "problems": [],
            "database": {"answer_ms": 0.8, "iterative_scan": "relaxed_order", "revision": "0003", "read_only": False},
            "replicas": [{"name": "replica.example.org:5432", "problem": None, "lag_bytes": 0, "lag_seconds": 0.0, "reads": 912,
                          "failed_over": 0}], "primary_reads": 14,
            "worker": {"here": True, "seconds_since_progress": 0.4},
            "queue": {"queued": 0, "running": 0, "runnable": 0, "oldest_runnable_seconds": None},
            "settings": {"revision": "1f0c9a7be402", "problem": None},
            "models": {"embedding": "all-MiniLM-L6-v2:int8", "chat": None, "reranker": None},
            "vector": {"ef_search": 80, "exact_below": 3000}, "traces_dropped": 0,
            "circuits": [{"name": "chat gpt-4o-mini", "state": "closed", "failures": 0, "retry_in_seconds": 0, "problem": None}],
        }
    )  # fmt: skip

    status: str
    problems: list[str]
    database: dict[str, Any]
    replicas: list[dict[str, Any]] = Field([], description="Where reads go besides the primary (CAIRN_REPLICA_URL).")
    primary_reads: int = Field(0, description="Reads that a replica might have answered and the primary did.")
    databases: list[dict[str, Any]] = Field(
        [], description="All that the process serves, the default one first, where tenants live in several."
    )
    worker: dict[str, Any]
    queue: dict[str, Any] | None
    settings: dict[str, Any]
    models: dict[str, Any]
    vector: dict[str, Any]
    traces_dropped: int = Field(description="Traces lost since the start.")
    circuits: list[dict[str, Any]] = Field(
        [],
        description="Models of providers. `problem`: why the last call failed, where the server or the settings are to blame; it "
        "stands in `problems` too.",
    )


@router.get("/health/live", summary="Is the process alive?")
async def get_liveness() -> Live:
    """Asks nobody."""
    return Live()


@router.get("/health/ready", response_model=Ready, summary="Can it serve?")
async def get_readiness(request: Request, running: RunningDep) -> Response:
    """200, or a 503 problem with the same members, when the database does not answer or the worker is stuck. A broken
    settings.json is reported in `problems`; the settings before it stay in force. Where callers need keys, only one with the
    scope `admin` sees more than the status. Where tenants live in several databases, one that is away stands in `problems` and
    takes nothing from the others: 503 when all are."""
    services = process_services(request)
    assert running.databases is not None
    databases = databases_of(request)
    admin = is_admin(request)
    states = await (databases.check() if admin else databases.check(others_seconds=0))
    workers = {name: _worker(running.workers.get(name), state.queue) for name, state in states.items()}
    troubles = {name: [*filter(None, (state.problem, workers[name][1]))] for name, state in states.items()}
    several = len(states) > 1
    told = [f"database {name}: {one}" if several else one for name, found in troubles.items() for one in found]
    stopping = ["the server is stopping"] if running.stopping.is_set() else []
    blocking = [*stopping, *(told if all(troubles.values()) else [])]
    if not admin:
        return _ready_for_anybody(request, bool(blocking))
    notes = [] if told else await _outdated(request, running)
    found = _report(services, states[DEFAULT], workers[DEFAULT][0], [*stopping, *told], notes, ready=not blocking)
    if several:
        found.databases = [
            _database(databases, name, state, workers[name][0], troubles[name]) for name, state in states.items()
        ]
    if not blocking:
        return Response(found.model_dump_json(), media_type="application/json")
    extra = found.model_dump(mode="json", exclude={"status"})
    return problems.plain(request.scope, 503, "; ".join(blocking), code="not-ready", **extra)


def _ready_for_anybody(request: Request, blocked: bool) -> Response:
    if not blocked:
        return JSONResponse({"status": "ready"})
    return problems.plain(request.scope, 503, "the server cannot serve now", code="not-ready")


COUNTED_SHARE = 0.01
"""Of the time at most, documents are counted for probes that come as often as they like."""
LONGEST_COUNT = 1.0


async def _outdated(request: Request, running: Running) -> list[str]:
    """Of the caller's tenant: another's names of collections are nobody else's. What cannot be counted now is not told."""
    services, began = services_of(request), time.monotonic()
    tenant = (services.principal.tenant_id, services.principal.tenant)  # the number is one of each database
    until, notes = running.outdated.get(tenant, (0.0, []))
    if began < until:
        return notes
    notes = []
    with suppress(CairnError, TimeoutError):
        async with asyncio.timeout(LONGEST_COUNT):
            notes = await outdated_notes(services)
    ended = time.monotonic()
    running.outdated[tenant] = (ended + (ended - began) / COUNTED_SHARE, notes)
    return notes


def _worker(progress: Callable[[], float] | None, queue: QueueState | None) -> tuple[dict[str, Any], str | None]:
    """What is told of a worker, and what is wrong with it."""
    if progress is None:
        return {"here": False, "seconds_since_progress": None}, None
    silent = time.monotonic() - progress()
    oldest = (queue.oldest_runnable_seconds or 0) if queue else 0
    stuck = silent > STALLED_SECONDS and (queue is None or oldest > STALLED_SECONDS)
    problem = f"the worker has made no progress for {silent:.0f} s while jobs wait" if stuck else None
    return {"here": True, "seconds_since_progress": round(silent, 1)}, problem


def _database(
    databases: TenantDatabases, name: str, state: DatabaseState, worker: dict[str, Any], problems_here: list[str]
) -> dict[str, Any]:
    return {
        "name": name, "problems": problems_here, "answer_ms": state.answer_ms, "revision": state.revision,
        "read_only": state.read_only, "worker": worker, "queue": _queue(state.queue),
        "replicas": [asdict(one) for one in databases.replicas(name).replicas],
    }  # fmt: skip


def _queue(queue: QueueState | None) -> dict[str, Any] | None:
    return {name: getattr(queue, name) for name in QueueState.__dataclass_fields__} if queue else None


def _report(
    services: Services,
    database: DatabaseState,
    worker: dict[str, Any],
    told: list[str],
    notes: list[str],
    *,
    ready: bool,
) -> Ready:
    settings, state = services.settings.current, describe_service(services)
    answered = {"iterative_scan": database.scan} if database.scan else {}
    return Ready(
        status="ready" if ready else "not ready",
        problems=[*told, *([READ_ONLY] if database.read_only else []), *state.warnings, *notes],
        database={
            "answer_ms": database.answer_ms,
            **answered,
            "revision": database.revision,
            "read_only": database.read_only,
        },
        replicas=[asdict(one) for one in state.replicas.replicas],
        primary_reads=state.replicas.primary_reads,
        worker=worker,
        queue=_queue(database.queue),
        settings={"revision": settings.revision, "problem": services.settings.problem},
        models={"embedding": state.embedding_model, "chat": state.chat_model, "reranker": state.reranker},
        vector={"ef_search": settings.vector.ef_search, "exact_below": settings.vector.exact_below},
        traces_dropped=state.traces_dropped,
        circuits=[
            {"name": c.name, "state": c.state, "failures": c.failures, "retry_in_seconds": round(c.retry_in, 1),
             "problem": c.reason.detail if c.reason else None}
            for c in state.circuits
        ],
    )  # fmt: skip


_METRICS_EXAMPLE = {"text/plain": {"example": 'cairn_queue_depth{state="queued"} 0.0\n'}}


@router.get(
    "/metrics", response_class=Response, responses={200: {"content": _METRICS_EXAMPLE}}, summary="Prometheus metrics"
)
async def get_metrics(request: Request, services: ServicesDep, running: RunningDep) -> Response:
    """In the text format. The queue is asked for at each scrape; `cairn_database_up` says whether it answered. Where tenants live
    in several databases, these are of the default one, and `cairn_tenant_database_*` of each."""
    assert running.databases is not None
    found, databases, state = running.metrics, databases_of(request), describe_service(process_services(request))
    states = await databases.check()
    found.queue(states[DEFAULT].queue)
    found.tenant_databases({name: one.queue for name, one in states.items()} if len(states) > 1 else {})
    found.read_only.set(states[DEFAULT].read_only)
    found.replicas(databases.all_replicas())
    for kind, gates in databases.gates().items():
        found.admission(
            kind, sum(gate.running for gate in gates), sum(gate.waiting for gate in gates),
            sum(gate.refused for gate in gates),
        )  # fmt: skip
    found.recall({})  # names of collections: never those of another tenant, whatever fails
    with suppress(CairnError):
        found.recall(await list_recall(services, limit=100))
    found.settings_failed.set(services.settings.problem is not None)
    found.tokenizer_fallback.set(state.estimated_tokens)
    found.traces_dropped.set(databases.traces_dropped)
    found.circuits({circuit.name: circuit.state for circuit in state.circuits})
    found.model_tokens(state.tokens_by_model)
    return Response(found.text(), media_type=CONTENT_TYPE)


class ProblemMeaning(BaseModel):
    model_config = example({
        "code": "not-found", "status": 404, "title": "Not found",
        "meaning": "What the path or the body names is not there, or is not the caller's. Lists say what there is.",
    })  # fmt: skip

    code: str
    status: int
    title: str
    meaning: str


@router.get("/problems/{code}", summary="What an error code means")
async def get_problem(
    code: Annotated[str, Path(description="`code` of a problem.", examples=["not-found"])],
) -> ProblemMeaning:
    """Where the `type` of every problem points."""
    known = problems.known_problems()
    if code not in known:
        raise NotFoundError(f"there is no problem {code[:100]}; known are {', '.join(sorted(known))}")
    return ProblemMeaning(**known[code])
