"""What `cairn graph communities` and `cairn graph extract` print."""

from __future__ import annotations

from app.commands.models import follow
from app.commands.search import filled_collection
from app.commands.terminal import note, say, say_json, services, shorten
from app.domain.graph_view import CommunitySummary
from app.errors import InputError
from app.service import graph as graph_actions
from app.service import jobs as job_actions

_SENTENCE = 240


async def communities(text: str, collection: str | None, level: int | None, limit: int, as_json: bool) -> int:
    """Exit code 0 also when there are none. Raises InputError for a level of what a text is about."""
    if text.strip() and level is not None:
        raise InputError("--level goes without TEXT")
    async with services() as opened:
        name = (await filled_collection(opened, collection)).name
        if text.strip():
            found = await graph_actions.find_communities(opened, text, name, limit=limit)
        else:
            found, _ = await graph_actions.list_communities(opened, name, level=level or 0, limit=limit)
    if as_json:
        from app.api.graph_render import community_out

        say_json([community_out(one).model_dump(mode="json") for one in found])
        return 0
    for one in found:
        _show(one)
    if not found:
        note(
            f"No community of {name} fits."
            if text.strip() or level
            else f"Collection {name} has no communities: too little is related, or they are still to be found (a worker does it)."
        )
    return 0


def _show(one: CommunitySummary) -> None:
    say(f"{one.title}  ({one.size:,} entities, level {one.level})", style="bold")
    if one.written:
        say(f"    {one.written}")
    for said in one.sentences:
        say(f"    “{shorten(said.text, _SENTENCE)}”")


async def extract(collection: str | None, wait: bool, as_json: bool) -> int:
    """Exit code 1 where the job ends otherwise than well. Raises NotFoundError, InputError where no model may be asked."""
    async with services() as opened:
        job = await job_actions.extract_with_model(opened, collection)
        if wait:
            return await follow(opened, job, as_json)
    if as_json:
        from app.api.models import job_out

        say_json(job_out(job).model_dump(mode="json"))
    else:
        say(f"Ordered; a worker does it: cairn jobs show {job.id}")
    return 0
