"""`cairn status`: is all well, and what is there to do? Migrates nothing."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cairn.errors import CairnError
from cairn.interfaces.cli.operate import owned_server
from cairn.interfaces.cli.terminal import quiet_logs, say, say_json, services
from cairn.settings import SettingsStore, read_environment

if TYPE_CHECKING:
    from cairn.db.migrate import SchemaState
    from cairn.service.status import OverallState


async def status(json: bool) -> int:
    """0 where all is well, 1 where something is wrong. Raises SettingsError, DatabaseAheadError."""
    from cairn.db.migrate import look_at_schema
    from cairn.distribution import release

    quiet_logs()
    environment = read_environment()
    SettingsStore(environment.settings_path)  # a file that no start can use is an error of its own
    with contextlib.ExitStack() as stack:
        try:
            server = await asyncio.to_thread(owned_server, environment.for_tenant(environment.tenant), stack)
            schema = await look_at_schema(server.dsn)
            if schema.revision is not None and not schema.waits:
                from cairn.service.status import check_status

                async with services() as opened:
                    found = await check_status(opened)
                return _tell(_as_values(found, schema), json)
        except CairnError as error:
            if error.exit_code != 1:  # of settings, or of newer code: nothing can be looked at
                raise
            return _tell({"well": False, "release": release(), "problems": [error.detail], "notes": []}, json)
    return _tell({"release": release(), "database": {"revision": schema.revision}, **_waiting(schema)}, json)


def _waiting(schema: SchemaState) -> dict[str, Any]:
    if schema.revision is None:
        return {
            "well": True,
            "problems": [],
            "notes": ["the database is empty: cairn serve or cairn ingest makes its tables"],
        }
    behind = f"the database is at revision {schema.revision}"
    to = f"of {schema.head}" if schema.revision == schema.head else f"and this release is at {schema.head}"
    problem = (
        f"{behind} {to}, and has not all that this release brings: back it up, then cairn migrate, or start cairn serve"
    )
    return {"well": False, "problems": [problem], "notes": []}


def _as_values(found: OverallState, schema: SchemaState) -> dict[str, Any]:
    """As --json prints it."""
    database = found.database
    return {
        "well": not found.problems,
        "release": found.release,
        "database": {
            "answer_ms": database.answer_ms, "revision": schema.revision, "read_only": database.read_only,
            "bytes": found.disk.byte_size if found.disk else None, "free_bytes": found.disk.free_bytes if found.disk else None,
        },
        "models": {
            "embedding": found.service.embedding_model, "chat": found.service.chat_model, "reranker": found.service.reranker,
        },
        "queue": asdict(database.queue) if database.queue else None,
        "older": {name: asdict(older) for name, older in found.older.items()},
        "problems": list(found.problems),
        "notes": list(found.notes),
    }  # fmt: skip


def _tell(found: dict[str, Any], json: bool) -> int:
    if json:
        say_json(found)
    else:
        _show(found)
    return 0 if found["well"] else 1


def _show(found: dict[str, Any]) -> None:
    say(f"release    {found['release']}")
    if database := found.get("database"):
        said = [f"revision {database['revision'] or 'none'}"]
        if database.get("answer_ms") is not None:
            said += [f"answers in {database['answer_ms']:.0f} ms", "a standby" if database["read_only"] else ""]
        if database.get("bytes"):
            said.append(f"{database['bytes'] / 1e6:,.1f} MB")
        if database.get("free_bytes") is not None:
            said.append(f"{database['free_bytes'] / 1e9:,.1f} GB free")
        say(f"database   {', '.join(filter(None, said))}")
    if models := found.get("models"):
        chat = models["chat"] or "none, answers are quotations"
        say(f"models     embedding {models['embedding']}; chat {chat}; reranker {models['reranker'] or 'none'}")
    if queue := found.get("queue"):
        say(f"jobs       {queue['running']:,} under way, {queue['queued']:,} queued")
    for kind, mark in (("problems", "problem"), ("notes", "to do")):
        for one in found[kind]:
            say(f"{mark:<10} {one}")
    if found["well"] and not found["notes"]:
        say("all is well")
