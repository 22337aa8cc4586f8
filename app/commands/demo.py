"""`cairn demo`: from nothing to cited answers in one command.

Without a folder it reads Cairn itself in two collections: the guides first, which take seconds, so that the first answer comes
soon; then the code, which takes a minute or two.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import app
from app.commands.ask import answer_question, show_sources
from app.commands.ingest import ingest_selection, show_failures, summary
from app.commands.questions import questions_about
from app.commands.terminal import count, note, say, services
from app.domain.ids import new_id
from app.service.files import Selection, describe_formats, select_files
from app.wiring import Services

COLLECTION: Final = "demo"
LEFT_OUT: Final = frozenset({"app/commands/demo.py"})
"""This file: it holds the questions, and no answers."""
SHOWN_FAILURES: Final = 5


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the project, read into a collection of its own and asked about. `talks`: questions, each with what follows it in
    the same conversation."""

    what: str
    collection: str
    paths: tuple[str, ...]
    talks: tuple[tuple[str, ...], ...]


CHAPTERS: Final = (
    Chapter(
        "the guides",
        COLLECTION,
        ("README.md", "docs"),
        (
            ("Which exit code says that the database is newer than the code?", "And which one Ctrl-C?"),
            ("Why does PostgreSQL not run as root?",),
            ("How many documents mention HNSW?",),
            ("Who won the World Cup in 1998?",),
        ),
    ),
    Chapter(
        "the code",
        f"{COLLECTION}-code",
        ("app",),
        (("Who calls embed_documents?",), ("Which classes inherit from ParseError?",)),
    ),
)
"""The SQL and the tests are left out: they would double the time, and the guides say what is in them."""


async def demo(path: Path | None) -> int:
    """Exit code 1 when there was nothing to ask about."""
    selection = None if path is None else select_files([path])
    if selection is not None and not selection.files:
        return _nothing(selection)
    started = time.monotonic()
    async with services() as opened:
        say(f"Services are up after {time.monotonic() - started:.1f} s.")
        if path is None or selection is None:
            return await _read_cairn(opened, started)
        return await _read_folder(opened, selection, _collection(path))


async def _read_cairn(opened: Services, started: float) -> int:
    read = []
    for chapter in CHAPTERS:
        selection = _own(chapter.paths)
        if selection.files:  # of an installed wheel only the code is there
            say(f"\nReading {chapter.what} of Cairn: {count(len(selection.files), 'file')} ...", style="bold")
            if await _read(opened, chapter.collection, selection):
                read.append(chapter.collection)
                await _ask_all(opened, chapter.collection, chapter.talks, None if len(read) > 1 else started)
    say(f"\nAll of it took {time.monotonic() - started:.0f} s; the next time what is read is known.")
    _say_goodbye(read)
    return 0 if read else 1


async def _read_folder(opened: Services, selection: Selection, collection: str) -> int:
    if not await _read(opened, collection, selection):
        return _nothing(selection)
    questions = await questions_about(opened, collection)
    say("\nQuestions made from what is there (definitions, headings, titles):")
    await _ask_all(opened, collection, [(question,) for question in questions])
    _say_goodbye([collection])
    return 0


def _nothing(selection: Selection) -> int:
    for skipped in selection.skipped[:SHOWN_FAILURES]:
        note(f"skipped: {skipped.path}: {skipped.reason}")
    left = f" ({count(len(selection.skipped), 'item')} skipped)" if selection.skipped else ""
    note(f"Found nothing to ask about{left}. Cairn reads {describe_formats()}.")
    note("Name a folder with documents: make demo DOCS=PATH")
    return 1


def _own(paths: Sequence[str]) -> Selection:
    """Files of the project."""
    root = Path(app.__file__ or "").resolve().parent.parent
    selection = select_files([root / name for name in paths if (root / name).exists()], base=root)
    selection.files = [found for found in selection.files if found.external_id not in LEFT_OUT]
    return selection


def _collection(path: Path) -> str:
    """`demo-` and the name of the folder, as far as a collection may be called so."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.expanduser().absolute().name)[:100].strip("-")
    return f"{COLLECTION}-{name or 'documents'}"


async def _read(opened: Services, collection: str, selection: Selection) -> bool:
    """Whether there is something to ask about now."""
    report = await ingest_selection(opened, collection, selection)
    show_failures(report, SHOWN_FAILURES)
    say(summary(report))
    return bool(report.indexed)


async def _ask_all(
    opened: Services, collection: str, talks: Iterable[Sequence[str]], started: float | None = None
) -> None:
    """`started`: say how long it took to the first answer from there."""
    for talk in talks:
        session = f"demo-{new_id()}" if len(talk) > 1 else None
        for question in talk:
            say(f"\n> {question}\n", style="bold")
            show_sources(await answer_question(opened, question, collection, session=session))
            if started is not None:
                say(f"(the first answer, {time.monotonic() - started:.0f} s after the start)", style="dim")
                started = None


def _say_goodbye(collections: Sequence[str]) -> None:
    asks = "\n".join(f'  .venv/bin/cairn ask "..." --collection {name}' for name in collections)
    say(
        f"""
Go on:
  make serve                                     then open http://127.0.0.1:8000/docs
  make demo DOCS=PATH                            the same with your own files
{asks}
  .venv/bin/cairn ingest PATH                    then: .venv/bin/cairn ask "..."
Without a chat model the answers are sentences of the documents; set OPENAI_API_KEY, or OPENAI_BASE_URL for a local
server, to have them written."""
    )
