"""The dashboard and the alert rules name metrics that there are, with labels that they have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cairn.interfaces.http.metrics import Metrics

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "cairn.json").read_text(encoding="utf-8"))
RULES: list[dict[str, Any]] = yaml.safe_load((DEPLOY / "prometheus" / "cairn.rules.yml").read_text(encoding="utf-8"))[
    "groups"
][0]["rules"]
_NAME = re.compile(r"\b(cairn_[a-z_]+)(?:\{([^}]*)\})?")
OF_PROMETHEUS = {"job", "instance", "le"}


def expressions() -> list[str]:
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    return [*panels, *(str(rule["expr"]) for rule in RULES)]


def series() -> dict[str, set[str]]:
    """Names that a scrape has, with their labels."""
    return {
        f"{metric.name}{ending}": set(one._labelnames)
        for one in Metrics().registry._collector_to_names
        for metric in one.describe()
        for ending in {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(metric.type, ("",))
    }  # fmt: skip


@pytest.mark.parametrize("expression", expressions())
def test_every_metric_and_label_exists(expression: str) -> None:
    known = series()
    found = _NAME.findall(expression)
    assert found or "up{" in expression
    for name, matchers in found:
        assert name in known
        labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
        assert labels <= known[name] | OF_PROMETHEUS, name
    for listed in re.findall(r"\bby \(([^)]*)\)", expression):
        of_metrics = set().union(*(known[name] for name, _ in found))
        assert {label.strip() for label in listed.split(",")} <= of_metrics | OF_PROMETHEUS


def test_every_metric_is_looked_at_somewhere() -> None:
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for text in expressions() for name, _ in _NAME.findall(text)}
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in series()} - shown == set()


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"].keys() == {"summary", "action"}
        used = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        names = [name for name, _ in _NAME.findall(str(rule["expr"]))]
        assert used <= OF_PROMETHEUS.union(*(series()[name] for name in names)), rule["alert"]


def test_panels_do_not_overlap_and_say_what_they_show() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
        assert panel["type"] == "row" or panel["description"].endswith(".")
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
