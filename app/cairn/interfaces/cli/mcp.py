"""`cairn mcp`: the Model Context Protocol over stdin and stdout, for clients that start their servers themselves."""

from __future__ import annotations

import asyncio
import os

from cairn.distribution import require_part
from cairn.interfaces.cli.terminal import services
from cairn.interfaces.guardian import GuardedProcess
from cairn.service.operation import run_worker
from cairn.wiring import Services

GRACE_SECONDS = 4.0
"""For a job under way after the client has left; then it is handed back."""


def serve_stdio() -> int:
    """Serve one client until it closes stdin, or SIGTERM. Raises CairnError when it cannot start."""
    require_part("mcp", "cairn mcp")
    with GuardedProcess() as ending:
        return asyncio.run(_serve(ending))


async def _serve(ending: GuardedProcess) -> int:
    async with services() as opened:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        ending.obey(lambda: loop.call_soon_threadsafe(stop.set))
        working = asyncio.create_task(run_worker(opened, stop, grace_seconds=GRACE_SECONDS))
        talking = asyncio.create_task(_talk(opened))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([talking, stopping], return_when=asyncio.FIRST_COMPLETED)
        stop.set()
        talking.cancel()
        await asyncio.wait([working], timeout=GRACE_SECONDS + 1)
        working.cancel()
    if not talking.done():
        os._exit(0)  # everything is closed, but a thread reads stdin, and nothing but its end would end that
    talking.result()
    return 0


async def _talk(opened: Services) -> None:
    from mcp.server.stdio import stdio_server

    from cairn.interfaces.mcp.server import make_server

    server = make_server(lambda _: opened)
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())
