"""Figures that must not fall: a file of what was measured once, and which runs are below it. Pure but for reading the file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cairn.domain.evaluation import EvalRun
from cairn.errors import InputError


@dataclass(frozen=True, slots=True)
class Floors:
    """Means by `<data set>/<mode or strategy>` and metric; a run may be `margin` below before it counts as fallen."""

    margin: float
    figures: Mapping[str, Mapping[str, float]]

    def below(self, runs: Sequence[EvalRun]) -> list[str]:
        """What fell, in words. Raises InputError where a run has no floor, or not such a metric: nothing would be checked."""
        fallen = []
        for run in runs:
            name = f"{run.data_set}/{run.mode}"
            if name not in self.figures:
                raise InputError(f"the floors have none for {name}; they have {', '.join(sorted(self.figures))}")
            for metric, floor in self.figures[name].items():
                if metric not in run.metrics:
                    raise InputError(f"{name} has no metric {metric!r}; it has {', '.join(sorted(run.metrics))}")
                if (mean := run.metrics[metric].mean) < floor - self.margin:
                    fallen.append(f"{name}: {metric} {mean:.4f} is more than {self.margin:g} below {floor:.4f}")
        return fallen


def load_floors(path: Path) -> Floors:
    """`{"margin": .02, "figures": {"cranfield/hybrid": {"ndcg@10": .41}}}`; other keys are notes. Raises InputError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        figures = {
            name: {metric: float(value) for metric, value in values.items()} for name, values in data["figures"].items()
        }
        return Floors(float(data.get("margin", 0)), figures)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f'{path}: wanted {{"margin": .02, "figures": {{"<set>/<mode>": {{"ndcg@10": .41}}}}}} with numbers'
        ) from None
