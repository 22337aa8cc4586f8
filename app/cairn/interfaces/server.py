"""The application: routes over services, and what runs beside them while it lives.

`uvicorn --factory cairn.interfaces.server:from_environment` serves it. `serve` is what `cairn serve` does: loopback only while
there is no authentication, an end within 10 s of SIGTERM, and a failed start as one CairnError.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict
from functools import partial

import structlog
import uvicorn
from fastapi import FastAPI

from cairn.distribution import install_command, release
from cairn.errors import CairnError
from cairn.interfaces.guardian import GuardedProcess
from cairn.interfaces.http import (
    access_rules,
    agent,
    audit,
    chat,
    collections,
    conversations,
    description,
    dify,
    docs_page,
    document_edits,
    documents,
    embedding_models,
    graph,
    health,
    jobs,
    keys,
    logs,
    messages,
    originals,
    otel,
    persons,
    problems,
    proofs,
    qa,
    query,
    runs,
    search,
    sources,
    traces,
    urls,
    usage,
    widget,
)
from cairn.interfaces.http.admission import AdmissionMiddleware, RefuseUsedUp, RefuseWhenFull, find_full
from cairn.interfaces.http.authenticate import AuthenticateMiddleware, check_listen
from cairn.interfaces.http.bodies import BodiesMiddleware
from cairn.interfaces.http.browser import BrowserMiddleware
from cairn.interfaces.http.connections import parser_name, punctual
from cairn.interfaces.http.direct import direct_routes
from cairn.interfaces.http.middleware import RequestMiddleware
from cairn.interfaces.http.openai import completions, embeddings, responses
from cairn.interfaces.http.openai import models as openai_models
from cairn.interfaces.http.running import Running
from cairn.interfaces.mcp import http as mcp
from cairn.interfaces.web import mount
from cairn.language.deadline import own_process
from cairn.service.audit import follow_settings
from cairn.service.authenticate import KeyRings, open_issuer
from cairn.service.operation import do_upkeep, wait_for_primary, watch_analysts, watch_chat
from cairn.service.sources import keep_schedule
from cairn.service.status import older_in_a_line
from cairn.service.tenant_databases import TenantDatabases
from cairn.settings import DEFAULT, Environment, SettingsStore, check_process, read_environment
from cairn.wiring import Services, open_services

__all__ = ["check_listen", "create_app", "from_environment", "serve"]

log = structlog.get_logger(__name__)

GRACEFUL_SECONDS = 4
"""For requests in flight after SIGTERM. With WORKER_SECONDS it keeps the exit within 10 s."""
RUN_SECONDS = 1.5
"""For resumable runs after SIGTERM; then they end as failed, while their readers are still there (api.sse)."""
PLAIN_SECONDS = 3.5
"""The same for other runs: a request in flight may get its answer."""
WORKER_SECONDS = 3.0
"""For the worker's job to be handed back after that; then its lease decides."""
KEEP_ALIVE_SECONDS = 15
EXIT_SECONDS = 8.0
"""After SIGTERM the process ends, whatever still computes: threads cannot be stopped, and everything durable is in
PostgreSQL."""
GARBAGE_OBJECTS = 20_000
"""More than were freed, after which garbage is looked for; Python's 700 come together several times in one search."""
DAY_SECONDS = 24 * 3600.0
HOUR_SECONDS = 3600.0

_ROUTERS = (
    collections, access_rules, documents, document_edits, originals, urls, sources, embedding_models, search, query, qa, agent,
    runs, proofs, conversations, messages, chat, graph, jobs, traces, audit, keys, persons, usage, openai_models,
    completions, responses, embeddings, dify, health, docs_page, widget,
)  # fmt: skip


def create_app(environment: Environment, settings: SettingsStore, *, worker: bool = True, web: bool = False) -> FastAPI:
    """The application; its lifespan opens the services and, unless told not to, runs a worker beside them. `web`: with the
    page, of which a process can have one. Raises SettingsError."""
    check_process(environment, serves=True)
    running = Running(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with (
            otel.traced(),
            open_services(environment, settings, serves=True) as services,
            _companions(running, services, worker, door),
        ):
            running.services = services  # after the authenticator: nobody is served before keys are read
            yield
            running.stopping.set()
            if page is not None:
                await page.close()

    app = FastAPI(
        title="Cairn", version=release(), lifespan=lifespan, openapi_url=None, docs_url=None,
        swagger_ui_oauth2_redirect_url=None, redoc_url=None, redirect_slashes=False,  # a proxy's https would become http
        telemetry=otel.OF_REQUESTS, generate_unique_id_function=description.name_operation,
    )  # fmt: skip
    app.state.running = running
    # each goes around those before it: the last one is outermost
    app.add_middleware(AdmissionMiddleware, running=running)
    app.add_middleware(BodiesMiddleware, running=running)
    app.add_middleware(RefuseUsedUp, running=running)
    app.add_middleware(AuthenticateMiddleware, running=running, keys=environment.auth == "keys")
    app.add_middleware(
        BrowserMiddleware, running=running, keys=environment.auth == "keys", names=environment.allowed_hosts
    )
    app.add_middleware(RequestMiddleware, running=running)
    app.add_middleware(RefuseWhenFull, running=running)
    problems.install(app)
    for module in _ROUTERS:
        app.include_router(module.router)
    app.router.routes[:0] = direct_routes(route for module in _ROUTERS for route in module.router.routes)
    door = mcp.install(app, issuer=environment.oidc)
    page = (
        mount.install(app, running, issuer=environment.oidc)
        if web and settings.current.page.enabled and mount.is_available()
        else None
    )
    if page is None:
        app.add_api_route("/", _root, include_in_schema=False)
    description.install(app, keys=environment.auth == "keys")
    return app


def from_environment() -> FastAPI:
    """For ASGI servers that want a factory. Raises SettingsError."""
    environment = read_environment()
    check_listen(environment)
    return create_app(environment, SettingsStore(environment.settings_path), web=True)


def serve(environment: Environment, settings: SettingsStore, *, worker: bool = True) -> None:
    """Serve until SIGTERM or SIGINT, then be gone within 10 s. Raises CairnError when it cannot start."""
    logs.configure()
    check_listen(environment)
    with GuardedProcess() as ending:
        asyncio.run(_serve(environment, settings, worker, ending))


async def _serve(environment: Environment, settings: SettingsStore, worker: bool, ending: GuardedProcess) -> None:
    app = create_app(environment, settings, worker=worker, web=True)
    running: Running = app.state.running
    # The lifespan is entered here and not by uvicorn, so that a failed start is one CairnError and no stack trace.
    async with app.router.lifespan_context(app):
        build_routes(app)
        collect_rarely()
        config = uvicorn.Config(
            app, environment.host, environment.port, lifespan="off", log_config=None, access_log=False,
            server_header=False, proxy_headers=False,  # api.trustProxy says whom to believe
            timeout_graceful_shutdown=GRACEFUL_SECONDS, timeout_keep_alive=KEEP_ALIVE_SECONDS,
            http=punctual(lambda: settings.current.api.head_seconds, lambda scope: find_full(scope, running) is not None),
        )  # fmt: skip
        log.info("serving", url=f"http://{environment.host}:{environment.port}", docs="/docs", parser=parser_name())
        server, loop = _Server(config), asyncio.get_running_loop()
        ending.obey(lambda: loop.call_soon_threadsafe(_stop, running, server))
        own_process()
        await server.serve()
        left = running.requests
    log.info("serving.stopped", seconds=round(time.monotonic() - running.stopping_since, 1), requests_cut_off=left)


def build_routes(app: FastAPI) -> None:
    """FastAPI makes what it needs of all routes when the first request passes them: .2 s in which nobody else is answered."""
    nowhere = {"type": "http", "method": "GET", "path": "/", "root_path": "", "query_string": b"", "headers": []}
    for route in app.router.routes:
        route.matches(nowhere)


def collect_rarely() -> None:
    """Look for garbage less often, and not among what is there now: a full collection of all of it takes a tenth of a second."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, 20, 20)


class _Server(uvicorn.Server):
    """Signals are ours: streams and readiness learn of the end at once, and everything is closed before the process ends."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _stop(running: Running, server: uvicorn.Server) -> None:
    server.force_exit = server.should_exit  # asked twice
    server.should_exit = True
    if running.stopping.is_set():
        log.info("serving.stopping_at_once", requests=running.requests)
        return
    log.info("serving.stopping", requests=running.requests, sockets=running.sockets, seconds_at_most=EXIT_SECONDS)
    running.stopping_since = time.monotonic()
    running.stopping.set()
    last_resort = threading.Timer(EXIT_SECONDS, _end)
    last_resort.daemon = True
    last_resort.start()


def _end() -> None:
    log.warning("serving.cut_off", seconds=EXIT_SECONDS)
    os._exit(0)


# --- beside the requests ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def _companions(running: Running, services: Services, worker: bool, door: mcp.McpDoor) -> AsyncIterator[None]:
    """What runs once in the process, and beside each of its databases: settings watcher, what is loaded ahead, MCP, keys; ended
    in time."""
    databases = TenantDatabases(services)
    environment = services.environment
    tokens, running.code_flow = open_issuer(services)
    rings = KeyRings(environment.tenant_map, tokens) if environment.auth == "keys" else None
    warming = asyncio.create_task(_warm(services))
    beside = partial(_beside, running, rings, warming if worker else None)
    tasks = [
        warming,
        asyncio.create_task(_keep_on(lambda: follow_settings(services))),
        asyncio.create_task(_keep_on(lambda: watch_chat(services))),
        asyncio.create_task(_keep_on(door.serve)),
    ]
    running.databases, running.authenticator = databases, rings
    try:
        async with beside(DEFAULT, services), databases.opened(beside):
            try:
                yield
            finally:
                running.stopping.set()  # before any of them ends: they do that side by side
    finally:
        await _cancel(tasks)


@asynccontextmanager
async def _beside(
    running: Running, rings: KeyRings | None, warming: asyncio.Task[None] | None, name: str, services: Services
) -> AsyncIterator[None]:
    """Of one database: daily maintenance, its analysts, its keys, and its worker. `warming`: after which that begins;
    None: there is none."""
    tasks = [
        asyncio.create_task(_keep_on(lambda: _tell_older(services))),
        asyncio.create_task(_keep_on(lambda: _maintain(services))),
        asyncio.create_task(_keep_on(lambda: watch_analysts(services))),
    ]
    if rings is not None:
        tasks.append(asyncio.create_task(_keep_on(rings.add(name, services.database.primary).listen)))
    ending = asyncio.create_task(services.runs.close_after(running.stopping, RUN_SECONDS, PLAIN_SECONDS))
    working: asyncio.Task[None] | None = None
    if warming is not None:
        working = asyncio.create_task(_work(running, name, services, warming))
    try:
        yield
    finally:
        running.stopping.set()
        await asyncio.wait([ending], timeout=RUN_SECONDS + WORKER_SECONDS)
        if working is not None:
            await asyncio.wait([working], timeout=WORKER_SECONDS)
            tasks.append(working)
        await _cancel(tasks)


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    with suppress(TimeoutError):
        async with asyncio.timeout(1):
            await asyncio.gather(*tasks, return_exceptions=True)


async def _keep_on(work: Callable[[], Awaitable[None]]) -> None:
    """Start again what ended by an error; its absence would be noticed too late."""
    while True:
        try:
            await work()
            return
        except Exception:
            log.exception("companion.failed")
            await asyncio.sleep(5)


async def _work(running: Running, name: str, services: Services, warming: asyncio.Task[None]) -> None:
    """The worker; on a standby once that is promoted. What it loads would slow down the first search, which comes first."""
    await asyncio.wait([warming])
    await wait_for_primary(services, running.stopping)
    work = services.worker(grace_seconds=WORKER_SECONDS)
    running.workers[name] = lambda: work.last_progress
    schedule = asyncio.create_task(_keep_on(lambda: keep_schedule(services, running.stopping)))
    try:
        await work.run(running.stopping)
    finally:
        await _cancel([schedule])


async def _warm(services: Services) -> None:
    try:
        await services.warm()
    except CairnError as error:  # the request that needs it will say so
        log.warning("warming.failed", problem=error.detail)


async def _tell_older(services: Services) -> None:
    """Once: an upgrade is a start."""
    with suppress(CairnError):  # a database that is away is told of elsewhere
        if line := await older_in_a_line(services):
            log.warning("documents.outdated", note=line)


async def _maintain(services: Services) -> None:
    while True:
        try:
            done = await do_upkeep(services)
            log.info("maintenance", **asdict(done))
            pause = DAY_SECONDS
        except CairnError as error:
            log.warning("maintenance.failed", problem=error.detail)
            pause = HOUR_SECONDS
        await asyncio.sleep(pause)


# --- description ------------------------------------------------------------------------------------------------------


async def _root() -> dict[str, str]:
    return {
        "name": "Cairn",
        "version": release(),
        "docs": "/docs",
        "openapi": "/openapi.json",
        "ready": "/health/ready",
        "page": f"off: set page.enabled, and {install_command('web')}",
    }
