"""`cairn chat` and `cairn history`: a conversation in the terminal, and what was said in one."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator

from cairn.domain.question import SavedMessage, SourceRef
from cairn.errors import CairnError, NotFoundError
from cairn.interfaces.cli.ask import answer_question, show_sources
from cairn.interfaces.cli.search import require_documents, where
from cairn.interfaces.cli.terminal import STDOUT, count, note, say, say_json, services
from cairn.service import conversations as conversation_service
from cairn.service.search import check_query
from cairn.wiring import Services

QUIT = "/quit"
_PAGE = 200


async def chat(session: str | None, collection: str | None) -> int:
    """Answer line by line until /quit or the end of the input. What cannot be answered is said, and the conversation goes
    on; without a person at the keyboard the exit code is 1 then. Raises NotFoundError for a collection without documents.
    """
    async with services() as opened:
        named = (
            conversation_service.check_session_id(session)
            if session is not None
            else conversation_service.new_session()
        )
        found = await require_documents(opened, collection)
        note(f"Session {named}, collection {found.name}. {QUIT} ends; cairn history {named} shows what was said.")
        await _note_changed(opened, named)
        interactive = sys.stdin.isatty()
        failed = False
        async for line in _lines("\n> " if interactive and STDOUT.is_terminal else ""):
            if line == QUIT:
                break
            if line:
                failed |= not await _exchange(opened, line, found.name, named)
    return int(failed and not interactive)


async def _note_changed(opened: Services, session: str) -> None:
    changed = sum([message.source_changed async for message in _messages(opened, session)])
    if changed:
        note(
            f"Source changed: {count(changed, 'answer')} of this conversation cite documents that have other content by now."
        )


async def _exchange(opened: Services, line: str, collection: str, session: str) -> bool:
    try:
        text = check_query(line, opened.settings.current)
        show_sources(await answer_question(opened, text, collection, session=session))
    except CairnError as error:
        note(f"cairn: {error.detail}")
        return False
    return True


async def _lines(prompt: str) -> AsyncIterator[str]:
    """Lines of stdin, stripped, as they come. Waiting for one does not hold up the rest of the process, nor Ctrl-C: a thread
    in input() would do the second, a blocking read both."""
    descriptor, held = sys.stdin.fileno(), b""
    if prompt:
        say(prompt, end="")
    while data := await _read(descriptor):
        *lines, held = (held + data).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace").strip()
            if prompt:
                say(prompt, end="")
    if held:
        yield held.decode("utf-8", "replace").strip()


async def _read(descriptor: int) -> bytes:
    """What there is to read, at least a byte; none at the end."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a regular file never makes anybody wait
        return os.read(descriptor, 65536)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, 65536)


# --- history ------------------------------------------------------------------------------------------------------------


async def history(session: str, delete: bool, as_json: bool) -> int:
    """Show a conversation, or delete it. Raises NotFoundError for an unknown one."""
    async with services() as opened:
        unknown = NotFoundError(f"there is no conversation {session}")
        if delete:
            if not await conversation_service.delete_history(opened, session):
                raise unknown
            say(f"The conversation {session} is deleted, also in traces.")
            return 0
        messages = [message async for message in _messages(opened, session)]
    if not messages:
        raise unknown
    if as_json:
        from cairn.interfaces.http.conversations import message_out

        say_json({"session_id": session, "messages": [message_out(one).model_dump(mode="json") for one in messages]})
    else:
        for message in messages:
            _show(message)
    return 0


async def _messages(opened: Services, session: str) -> AsyncIterator[SavedMessage]:
    after = 0
    while found := await conversation_service.get_history(opened, session, after=after, limit=_PAGE):
        for message in found:
            yield message
        after = found[-1].position


def _show(message: SavedMessage) -> None:
    turn, notes = message.turn, message.notes
    if turn.role == "user":
        outcome = f" ({notes['outcome']})" if "outcome" in notes else ""
        say(f"{turn.at:%Y-%m-%d %H:%M} you{outcome}", style="bold")
        say(turn.content + "\n")
        return
    say(turn.content or "(deleted with a document that this answer stood on)")
    for source in turn.sources:
        if source.cited:
            say(f"[{source.n}] {_source(source)}{' (source changed since)' if source.changed else ''}", style="cyan")
    say()


def _source(source: SourceRef) -> str:
    if source.deleted:
        return "a document that is deleted"
    place = where(source.page, "")
    return f"{source.filename}, {place}" if place else source.filename
