"""`cairn demo`: from nothing to cited answers in one command.

Without a folder it reads Cairn itself in two collections: the guides first, which take seconds, so that the first answer comes
soon; then the code of four rooms, which takes a minute or two.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from cairn.distribution import NAME
from cairn.distribution.resources import resource_path
from cairn.domain.document import Document
from cairn.domain.ids import new_id
from cairn.errors import ConflictError
from cairn.interfaces.cli.ask import answer_question, show_sources
from cairn.interfaces.cli.ingest import ingest_selection, show_failures, summary
from cairn.interfaces.cli.terminal import count, note, say, services
from cairn.service.documents import collection_of, create_collection, delete_document, get_document, list_documents
from cairn.service.files import Selection, describe_formats, select_files
from cairn.wiring import Services

COLLECTION: Final = "demo"
LEFT_OUT: Final = ("cairn/interfaces/cli/demo.py", "cairn/_resources/")
"""This file, which holds the questions and no answers; and what is no code."""
TOP: Final = frozenset({"README.md", "docs", "cairn", "app"})
"""What ids of Cairn's own files begin with, or did in earlier versions."""
SHOWN_FAILURES: Final = 5


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the project, read into a collection of its own and asked about. `paths`: below its root (resources). `talks`:
    questions, each with what follows it in the same conversation."""

    what: str
    collection: str
    root: Literal["guides", "source"]
    paths: tuple[str, ...]
    talks: tuple[tuple[str, ...], ...]


CHAPTERS: Final = (
    Chapter(
        "the guides of Cairn",
        COLLECTION,
        "guides",
        ("README.md", "docs"),
        (
            ("Which exit code says that the database is newer than the code?", "And which one Ctrl-C?"),
            ("Why does PostgreSQL not run as root?",),
            ("How many documents mention HNSW?",),
            ("Who won the World Cup in 1998?",),
        ),
    ),
    Chapter(
        "the code of Cairn that reads, finds and answers",
        f"{COLLECTION}-code",
        "source",
        ("cairn/errors.py", *(f"cairn/{room}" for room in ("ingest", "query", "retrieve", "answer"))),
        (("Who calls embed_documents?",), ("Which classes inherit from ParseError?",)),
    ),
)
"""A quarter of the code: all of it takes four times as long, and nobody waits for that."""


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
        return await _read_folder(opened, selection, f"{COLLECTION}-{collection_of(path)}")


async def _read_cairn(opened: Services, started: float) -> int:
    read = []
    for chapter in CHAPTERS:
        selection = _own(chapter)
        if selection.files:
            say(f"\nReading {chapter.what}: {count(len(selection.files), 'file')} ...", style="bold")
            await _choose_quick(opened, chapter.collection)
            if await _read(opened, chapter.collection, selection):
                await _remove_others(opened, chapter.collection, selection)
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
    note("Name a folder with documents: cairn demo PATH, or make demo DOCS=PATH in a checkout")
    return 1


def _own(chapter: Chapter) -> Selection:
    """Files of Cairn itself, in a checkout and in an installed wheel by the same ids."""
    root = resource_path(chapter.root)
    selection = select_files([root / name for name in chapter.paths], base=root)
    selection.files = [found for found in selection.files if not found.external_id.startswith(LEFT_OUT)]
    return selection


async def _choose_quick(opened: Services, collection: str) -> None:
    """The guides and the questions are English: by the model for that the first answer comes in half the time. Where the settings
    name a model it stays, and so does that of a collection which is there."""
    if opened.chooser is not None:
        with suppress(ConflictError):
            await create_collection(opened, collection, "minilm")


async def _remove_others(opened: Services, collection: str, selection: Selection) -> None:
    """Files of the project that an earlier version read into this collection: moved since, or read into another one now.
    Documents of somebody else stay."""
    here = {found.external_id for found in selection.files}
    others, after = list[Document](), ""
    while listed := await list_documents(opened, collection, after=after, limit=200):
        after = listed[-1].external_id
        others += [one for one in listed if one.external_id not in here and one.external_id.split("/")[0] in TOP]
    for document in others:
        await delete_document(opened, collection, document.id)
    if others:
        say(f"Removed {count(len(others), 'document')} of an earlier version.")


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


def _command() -> str:
    """How this program is started from here."""
    started = Path(sys.argv[0])
    if shutil.which("cairn") or started.name not in ("cairn", NAME):
        return "cairn"
    here = Path.cwd()
    return str(started.relative_to(here) if started.is_relative_to(here) else started)


def _say_goodbye(collections: Sequence[str]) -> None:
    cairn = _command()
    asks = "\n".join(f'  {cairn} ask "..." --collection {name}' for name in collections)
    say(
        f"""
Go on:
  {f"{cairn} serve":<45}then open http://127.0.0.1:8000 (the API: /docs)
  {f"{cairn} demo PATH":<45}the same with your own files
{asks}
  {f'{cairn} ask PATH "..."':<45}reads files, or a folder, and answers from them
Without a chat model the answers are sentences of the documents; set OPENAI_API_KEY, or OPENAI_BASE_URL for a local
server, to have them written."""
    )


# --- questions that documents of somebody else can be asked, made from their own words --------------------------------

LOOKED_AT = 40
"""Documents that are searched for something to ask, spread over the collection."""
TEXT_START = 30_000
"""Characters of each document that are searched."""
SECTION_PROSE = 150
"""Characters below a heading from which it is worth a question."""

_DEFINITION = re.compile(
    r"(?:^|(?<=[.!?] ))([A-Z][\w-]*(?: [\w-]+){0,3}) (is|are) (?:an?|the) (?!same\b|only\b|one\b)[a-z]", re.MULTILINE
)
_POINTS_ELSEWHERE = re.compile(
    r"(?:this|that|these|those|it|its|there|here|he|she|they|we|you|one|what|which|who|if|when|where|each|all|our|my|"
    r"his|her|their|but|and|so|in|on|for|as|at|by|with|another|both|such|some|most|to|of|only|then|not|no)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{2,4} +(?:\d+(?:\.\d+)*\.? +)?(.{6,70}?)[ #]*$", re.MULTILINE)
_SAYS_NOTHING = re.compile(
    r"(?:table of )?contents|introduction|overview|summary|abstract|references|conclusions?|appendix|background|notes",
    re.IGNORECASE,
)
_WITH_HEADINGS = ("text/markdown", "text/html", "application/vnd.openxmlformats")


async def questions_about(opened: Services, collection: str, wanted: int = 3) -> list[str]:
    """At most `wanted` questions: of each document its best one, definitions first; then the second ones."""
    listed = await list_documents(opened, collection, limit=200)
    indexed = [document for document in listed if document.status == "indexed"]
    step = max(1, len(indexed) // LOOKED_AT)
    made: list[tuple[int, int, str]] = []
    for document in indexed[::step][:LOOKED_AT]:
        _, text = await get_document(opened, collection, document.id)
        found = questions_in(document, (text or "")[:TEXT_START])
        made += [(turn, kind, question) for turn, (kind, question) in enumerate(found)]
    ordered = sorted(made, key=lambda item: item[:2])
    return list(dict.fromkeys(question for _, _, question in ordered))[:wanted]


def questions_in(document: Document, text: str) -> list[tuple[int, str]]:
    """(kind, question), best first; kind 0 asks for a definition, 1 for a section, 2 for the document. Pure."""
    made = [(0, question) for question in _definitions(text)][:3]
    if document.media_type.startswith(_WITH_HEADINGS):
        made += [(1, f"What is said about {heading}?") for heading in _sections(text)][:3]
    return [*made, (2, f"What is {document.title} about?")]


def _definitions(text: str) -> Iterator[str]:
    for found in _DEFINITION.finditer(" ".join(text.split())):
        name, verb = re.split(r" (?=(?:A|An|The) )", found[1])[-1], found[2]
        if not _POINTS_ELSEWHERE.match(name) and not _POINTS_ELSEWHERE.fullmatch(name.split()[-1]):
            yield f"What {verb} {re.sub(r'^(A|An|The) ', lambda article: article[0].lower(), name)}?"


def _sections(text: str) -> Iterator[str]:
    """Headings below the title whose section speaks of them."""
    found = list(_HEADING.finditer(text))
    ends = [*(following.start() for following in found[1:]), len(text)]
    for heading, end in zip(found, ends, strict=False):
        name, prose = heading[1].strip("*_`:"), text[heading.end() : end].strip().lower()
        words = re.findall(r"\w{4,}", name.lower())
        spoken_of = sum(word[:5] in prose for word in words) * 3 >= len(words) * 2
        if (
            words
            and spoken_of
            and name[0].isalpha()
            and len(prose) >= SECTION_PROSE
            and not _SAYS_NOTHING.fullmatch(name)
        ):
            yield name
