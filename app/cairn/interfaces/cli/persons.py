"""`cairn export PERSON` and `cairn forget PERSON`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import IO, Any

import typer

from cairn.errors import InputError
from cairn.interfaces.cli.terminal import note, say, say_json, services
from cairn.service import persons as person_service
from cairn.service.keys import of_tenant


async def export(person: str, out: Path | None, tenant: str | None) -> int:
    """To a file that must not exist, and is gone again where it is not whole, or to stdout. Raises InputError."""
    async with services(tenant) as opened:
        lines = person_service.export_person(await of_tenant(opened, tenant), person)
        if out is None:
            records = await _write(lines, sys.stdout)
        else:
            with _new_file(out) as file:
                records = await _write(lines, file)
    if not records:
        note(f"Nothing is kept because of {person}: is that how the audit log and access lists call them?")
    return 0


@contextmanager
def _new_file(path: Path) -> Iterator[IO[str]]:
    """For nobody else to read; gone again where it is not whole. Raises InputError."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise


async def _write(lines: Any, file: IO[str]) -> int:
    """How many records."""
    written = 0
    async with aclosing(lines) as found:
        async for line in found:
            file.write(f"{json.dumps(line, ensure_ascii=False)}\n")
            written += "record" in line
    return written


async def forget(person: str, dry_run: bool, yes: bool, as_json: bool, tenant: str | None) -> int:
    """Counts first, and asks. Raises InputError."""
    async with services(tenant) as opened:
        of = await of_tenant(opened, tenant)
        done = await person_service.forget_person(of, person, dry_run=True)
        if not dry_run:
            if not yes:
                _show(done.counts)
                if typer.prompt("This cannot be undone. Their name, to forget them", err=True) != person:
                    say("Nobody was forgotten.")
                    return 1
            done = await person_service.forget_person(of, person)
    if as_json:
        say_json({"mark": None if dry_run else done.mark, "dry_run": dry_run, "counts": dict(done.counts)})
        return 0
    _show(done.counts)
    if not dry_run:
        say(
            f"Forgotten. Where the audit log and access lists named them stands {done.mark}. Backups have what they had."
        )
    return 0


def _show(counts: Mapping[str, int]) -> None:
    for kind, number in counts.items():
        if number:
            say(f"{number:>7,}  {kind.replace('_', ' ')}")
    if not any(counts.values()):
        note("Nothing is kept because of them: is that how the audit log and access lists call them?")
