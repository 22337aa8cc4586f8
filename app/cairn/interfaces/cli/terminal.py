"""How commands speak: results on stdout, everything else on stderr; opening of services; progress."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import structlog
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cairn.distribution import packages
from cairn.domain.secrets import strike_secrets
from cairn.language.text import normalise
from cairn.settings import SettingsStore, read_environment

if TYPE_CHECKING:
    from cairn.wiring import Services


class Step(Protocol):
    """Says that one more is done; or, with `share`, that so much of this one is, 0 to 1."""

    def __call__(self, item: str, share: float | None = None) -> None: ...


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class _Stdout(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


STDOUT = _Stdout(highlight=False, markup=False, emoji=False)
STDERR = Console(stderr=True, highlight=False, markup=False, emoji=False)


def printable(text: str) -> str:
    """Without control characters, because a document must not be able to steer the terminal, and in valid Unicode,
    because the name of a file need not be."""
    return _CONTROLS.sub("", normalise(text))


def say(text: str = "", style: str | None = None, end: str = "\n") -> None:
    """Text on stdout, coloured on a terminal only. Raises BrokenPipeError when the reader has gone."""
    STDOUT.print(printable(text), style=style, soft_wrap=True, end=end)


def say_json(value: Any) -> None:
    print(normalise(json.dumps(value, indent=2, ensure_ascii=False, default=str)), flush=True)


def note(text: str) -> None:
    """A line on stderr: what was not asked for but should be known."""
    STDERR.print(printable(text), soft_wrap=True)


@asynccontextmanager
async def services(tenant: str | None = None, *, database: str | None = None) -> AsyncIterator[Services]:
    """Everything that a command works with, of the database where the tenant lives, by default that of CAIRN_TENANT; or of a
    database of the map. Says what it waits for, because the first start takes seconds. Raises CairnError."""
    told = read_environment()
    environment = told.at(database) if database else told.for_tenant(tenant or told.tenant)
    store = SettingsStore(environment.settings_path)
    quiet_logs()
    packages.tell.set(note)
    async with AsyncExitStack() as stack:
        with STDERR.status("Connecting" if environment.database_url else "Starting PostgreSQL"):
            from cairn.wiring import open_services

            opened = await stack.enter_async_context(open_services(environment, store))
        yield opened


def quiet_logs() -> None:
    """Only warnings, and on stderr: stdout belongs to the result. Stack traces are plain: structlog's own show the values of
    variables, among which may be keys; what looks like one is struck out."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.dev.set_exc_info,
            structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
            lambda _logger, _method, line: strike_secrets(str(line)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


@contextmanager
def progress(label: str, total: int | None) -> Iterator[Step]:
    """A bar on stderr while the block runs; nothing where stderr is no terminal. `total` None: not known before."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("{task.fields[item]}", style="dim"))  # fmt: skip
    with Progress(*columns, console=STDERR, transient=True, disable=not STDERR.is_terminal) as bar:
        task = bar.add_task(label, total=total, item="")

        def step(item: str, share: float | None = None) -> None:
            shown = printable(item if len(item) <= 40 else f"…{item[-39:]}")
            bar.update(task, advance=share is None, item=shown if share is None else f"{shown} {share:.0%}")

        yield step


def count(number: int, noun: str) -> str:
    """`1 document`, `1,200 documents`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shorten(text: str, length: int) -> str:
    """The text on one line of at most `length` characters, cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rsplit(" ", 1)[0] + "…"
