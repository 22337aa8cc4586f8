"""What `cairn eval groundedness` does. It needs an embedding model, and no database."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from app.answer.ground.check import ground
from app.commands.evaluation_tables import measured_groundedness
from app.commands.evaluations import check_plot, write, write_json
from app.commands.terminal import note, progress, quiet_logs
from app.evals import roc_chart
from app.evals.groundedness import Check, LabelledSet, judge, load, measure
from app.settings import SettingsStore, read_environment
from app.wiring import open_models


async def groundedness(paths: Sequence[Path], json: Path | None, plot: Path | None, *, with_model: bool) -> int:
    """Exit code 1 when part of the check failed for some response: the figures are not what they seem."""
    check_plot(plot)
    sets = [data for path in paths for data in load(path)]
    environment = read_environment()
    settings = SettingsStore(environment.settings_path).current
    quiet_logs()
    async with open_models(environment, settings) as (embedder, chat):
        if with_model and chat is None:
            note("warning: no chat model is configured; the deterministic layers decide")
        check = partial(ground, embedder=embedder, chat=chat if with_model else None, settings=settings.ground)
        measured = [await _measure(data, check) for data in sets]
    if plot:
        write(plot, roc_chart.page(measured) if plot.suffix == ".html" else roc_chart.chart(measured))
    if json:
        write_json(json, {"sets": measured})
    if str(json) != "-":
        measured_groundedness(measured)
    problems = {one["set"]: one["degraded"] for one in measured if one["degraded"]}
    for name, number in problems.items():
        note(f"warning: {name}: part of the check failed for {number} responses")
    return 1 if problems else 0


async def _measure(data: LabelledSet, check: Check) -> dict[str, Any]:
    judged = []
    with progress(data.name, len(data.items)) as step:
        for item in data.items:
            judged.append(await judge(item, check, time.perf_counter))
            step(item.id)
    return measure(data, judged)
