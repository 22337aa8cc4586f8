"""`cairn demo`: from nothing to cited answers in one command."""

from __future__ import annotations

import re
import time
from pathlib import Path

import app
from app.commands.ask import answer_question, show_sources
from app.commands.ingest import ingest_selection, show_failures, summary
from app.commands.questions import questions_about
from app.commands.terminal import note, say, services
from app.service.files import IngestReport, Selection, select
from app.wiring import Services

COLLECTION = "demo"
OWN = ("README.md", "CHANGELOG.md", "docs", "app", "sql")
"""What the demo reads of the project; only `app` is there in an installed wheel."""
LEFT_OUT = frozenset({"sql/schema.sql", "app/commands/demo.py"})
"""A generated file, and this one: it holds the questions, and no answers."""
QUESTIONS = (
    "Why does PostgreSQL not run as root?",
    "What can an analyst read?",
    "Which exit code says that the database is newer than the code?",
)
SHOWN_FAILURES = 5


async def demo(path: Path | None) -> int:
    """Exit code 1 when there was nothing to ask about."""
    selection, collection = _own() if path is None else (select([path]), _collection(path))
    started = time.monotonic()
    async with services() as opened:
        say(f"Services are up after {time.monotonic() - started:.1f} s.")
        report = await ingest_selection(opened, collection, selection)
        show_failures(report, SHOWN_FAILURES)
        say(summary(report))
        if not report.indexed:
            note("Found nothing to ask about; name a folder with documents: make demo DOCS=PATH")
            return 1
        await _ask_all(opened, report, own=path is None)
    _say_goodbye(collection)
    return 0


def _own() -> tuple[Selection, str]:
    """The project's documents and code."""
    root = Path(app.__file__ or "").resolve().parent.parent
    parts = [root / name for name in OWN] if (root / "README.md").is_file() else [root / "app"]
    selection = select([part for part in parts if part.exists()], base=root)
    selection.files = [found for found in selection.files if found.external_id not in LEFT_OUT]
    return selection, COLLECTION


def _collection(path: Path) -> str:
    """`demo-` and the name of the folder, as far as a collection may be called so."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.expanduser().absolute().name)[:100].strip("-")
    return f"{COLLECTION}-{name or 'documents'}"


async def _ask_all(opened: Services, report: IngestReport, *, own: bool) -> None:
    questions = QUESTIONS if own else await questions_about(opened, report.collection)
    if not own:
        say("\nQuestions made from what is there (definitions, headings, titles):")
    for question in questions:
        say(f"\n> {question}\n", style="bold")
        show_sources(await answer_question(opened, question, report.collection))


def _say_goodbye(collection: str) -> None:
    say(
        f"""
Go on:
  make serve                                     then open http://127.0.0.1:8000/docs
  make demo DOCS=PATH                            the same with your own files
  .venv/bin/cairn ask "..." --collection {collection}
  .venv/bin/cairn ingest PATH                    then: .venv/bin/cairn ask "..."
Without a chat model the answers are sentences of the documents; set OPENAI_API_KEY, or OPENAI_BASE_URL for a local
server, to have them written."""
    )
