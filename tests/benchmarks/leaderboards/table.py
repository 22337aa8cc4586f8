"""Results as Markdown: a table for each task, ours among those of others, the best first. Pure but for `put_into`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from cairn.errors import InputError
from tests.benchmarks.leaderboards.published import Task

BEGIN: Final = "<!-- made by make leaderboards -->"
END: Final = "<!-- end -->"


def render(known: Iterable[Task], results: Mapping[str, Any]) -> str:
    """Measured tasks, then those that were not."""
    measured, absent = [], []
    for task in known:
        if task.name in results:
            measured.append(_section(task, results[task.name]))
        else:
            absent.append(f"- **{task.title}**: {task.source}")
    missing = (
        ["### Not run", "What these tables do not have, and where the sets are had:\n\n" + "\n".join(absent)]
        if absent
        else []
    )
    return "\n\n".join([*measured, *missing]) + "\n"


def _section(task: Task, run: Mapping[str, Any]) -> str:
    main = task.metrics[0]
    rows = [(one["figures"][main]["mean"], _our_row(task, one)) for one in run["measured"]]
    rows += [(other.figures.get(main, -1.0), _their_row(task, other)) for other in task.others]
    rows.sort(key=lambda row: -row[0])
    head = ["system", "language model", *task.metrics]
    lines = [_line(head), "|---" * len(head) + "|", *(line for _, line in rows)]
    asked = run["measured"][0]["questions"]
    notes = list(dict.fromkeys(note for one in run["measured"] for note in one["notes"]))
    told = f"{asked:,} questions, {run['date']}, commit {run['commit']}, {run['machine']}: `{run['command']}`."
    below = " ".join([told, *(f"{note}." for note in notes), task.note]).strip()
    return "\n\n".join([f"### {task.title}", "\n".join(lines), below])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _our_row(task: Task, one: Mapping[str, Any]) -> str:
    figures = [_estimate(one["figures"][metric]) for metric in task.metrics]
    return _line([f"**{one['system']}**", "none", *(f"**{figure}**" for figure in figures)])


def _their_row(task: Task, other: Any) -> str:
    figures = [_short(other.figures[metric]) if metric in other.figures else "" for metric in task.metrics]
    return _line([f"[{other.system}]({other.where}), {other.year}", other.model or "none", *figures])


def _estimate(value: Mapping[str, float]) -> str:
    return f"{_short(value['mean'])} ({_short(value['low'])} to {_short(value['high'])})"


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def put_into(page: Path, text: str) -> None:
    """In the place of what stands between the two marks. Raises InputError where they are not there."""
    old = page.read_text(encoding="utf-8")
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"{page} has no {BEGIN} followed by {END}")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
