"""Figures in the metrics of others, and the table of docs/leaderboards.md.

    python -m tests.benchmarks.leaderboards --data DIR [--tasks NAME...] [--models auto minilm] [--page docs/leaderboards.md]

DIR holds a folder for each set, as its publishers lay it out (docs/leaderboards.md says where it is had); a set that is not there
is skipped, and one that cannot be read ends in exit code 1 when the others are done. What was measured is kept in the file OUT,
task by task, and documents are indexed in HOME once for each commit of the product: a run that was ended goes on with the --tasks
that it has not done. What the environment says of models, keys and databases does not count.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from cairn.distribution import release
from cairn.errors import CairnError
from tests.benchmarks.leaderboards.measure import Place, Say, measure_claims, measure_retrieval, measure_tables
from tests.benchmarks.leaderboards.published import Task, tasks
from tests.benchmarks.leaderboards.sets import read_beir, read_hops
from tests.benchmarks.leaderboards.table import put_into, render

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = ("app", "sql", "requirements")
MODELS = ["auto", "minilm"]
THEIRS = ("CAIRN_", "OPENAI_", "ANTHROPIC_", "COHERE_")
"""How variables begin that say how somebody's Cairn is to be: models of others, keys, a database. Those of KEPT are about this
machine."""
KEPT = frozenset({"CAIRN_SHARED", "CAIRN_EMBEDDING_MODEL", "CAIRN_MODEL_DIR"})
READERS = {"beir": read_beir, "hops": read_hops}


async def run_task(task: Task, place: Place, folder: Path, say: Say) -> list[dict[str, Any]]:
    """Raises CairnError."""
    if task.form == "tables":
        measured = await measure_tables(place, task.name, folder, say)
    elif task.form == "claims":
        measured = await measure_claims(place, task.name, folder, say)
    else:
        data = READERS[task.form](folder)
        measured = await measure_retrieval(place, task.name, data, task.metrics, say)
    return [asdict(one) for one in measured]


def circumstances(name: str, other: str) -> dict[str, Any]:
    """What the figures of a task depend on; `other`: arguments that are not the usual ones."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "release": release(),
        "commit": product_commit(),
        "machine": machine(),
        "command": shlex.join(["make", "leaderboards", f"TASKS={name}", *([f"ARGS={other}"] if other else [])]),
    }


def product_commit() -> str:
    """The last one that changed the product, and whether something has been changed since."""
    git = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, check=False)
    commit = git(["git", "log", "-1", "--format=%h", "--", *PRODUCT]).stdout.strip() or "unknown"
    return f"{commit}, changed" if git(["git", "status", "--porcelain", *PRODUCT]).stdout.strip() else commit


def forget_theirs() -> None:
    """No language model of the user's, whose figures these would be, and no database, which would be filled."""
    for name in [name for name in os.environ if name.startswith(THEIRS) and name not in KEPT]:
        del os.environ[name]


def machine() -> str:
    """Processor, cores and memory; the load, since speed is not what is measured, is left out."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = "unknown processor"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GB"


def keep(path: Path, results: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(path)


async def main(arguments: Sequence[str]) -> int:
    known = tasks()
    parser = argparse.ArgumentParser(prog="leaderboards", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("CAIRN_SHARED") or ROOT.parent / "shared") / "data"
    )
    parser.add_argument("--home", type=Path, default=ROOT / ".cache" / "leaderboards")
    parser.add_argument("--database-url", help="a database instead of a PostgreSQL of its own in the home")
    parser.add_argument("--out", type=Path, default=Path("bench-leaderboards.json"))
    parser.add_argument("--page", type=Path, help="a Markdown file, between two marks of which the table stands")
    parser.add_argument("--tasks", nargs="*", choices=list(known), default=list(known), metavar="NAME")
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--limit", type=int, help="only so many questions of a set; the table says so")
    given = parser.parse_args(arguments)
    data = given.data.expanduser()
    if not data.is_dir():
        parser.error(f"--data {data} is no folder (make leaderboards DATA=folder)")
    commit = product_commit().replace(", ", "-")
    place = Place(given.home.expanduser(), commit, given.database_url, given.models, given.limit)
    results = json.loads(given.out.read_text(encoding="utf-8")) if given.out.is_file() else {}

    def say(text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    other = [] if given.models == MODELS else ["--models", *given.models]
    other += [] if given.limit is None else ["--limit", str(given.limit)]
    failed: list[str] = []
    for name in given.tasks:
        folder = data / known[name].folder
        if not folder.is_dir():
            say(f"{name}: not at hand in {folder}. {known[name].source}")
            continue
        about = circumstances(name, shlex.join(other))
        try:
            measured = await run_task(known[name], place, folder, say)
        except CairnError as error:
            failed.append(name)
            say(f"{name}: {error.detail}")
            continue
        results[name] = about | {"measured": measured}
        keep(given.out, results)
    text = render(known.values(), results)
    if given.page:
        put_into(given.page, text)
    print(text)
    return 1 if failed else 0


if __name__ == "__main__":
    forget_theirs()
    sys.exit(asyncio.run(main(sys.argv[1:])))
