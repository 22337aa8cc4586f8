"""`cairn audit`: who did what, when."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

from cairn.interfaces.cli.terminal import note, say, say_json, services
from cairn.service.audit import list_events


async def audit(action: str | None, caller: str | None, since: datetime | None, limit: int, json: bool) -> int:
    """Newest first."""
    if since is not None and since.tzinfo is None:
        since = since.astimezone()  # as the clock on the wall says
    async with services() as opened:
        found = await list_events(opened, action=action, caller=caller, since=since, limit=limit)
    if json:
        say_json([asdict(event) for event in found])
        return 0
    for event in found:
        when = event.occurred_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        name = (
            "" if event.caller_name in ("", event.caller.partition(":")[2], event.caller) else f" ({event.caller_name})"
        )
        detail = ", ".join(f"{key} {value}" for key, value in event.detail.items())
        say(f"{when}  {event.caller}{name}  {event.action}  {event.target}", end="")
        say(f"  {detail}" if detail else "", style="dim")
    if not found:
        note("Nothing that matches was recorded.")
    return 0
