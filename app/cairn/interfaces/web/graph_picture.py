"""Entities and relations as a drawing; whoever cannot see it has the list of relations beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

from nicegui import events, ui

from cairn.domain.graph import SYMMETRIC, EntitySummary
from cairn.domain.graph_view import Relation
from cairn.interfaces.web.texts import Texts
from cairn.interfaces.web.theme import DRAWN

LARGEST, SMALLEST = 46, 14
"""Pixels of a node."""


def draw_graph(
    text: Texts, entities: Sequence[EntitySummary], relations: Sequence[Relation], centre: UUID | None, label: str,
    on_node: Callable[[str], Awaitable[None]], on_edge: Callable[[Relation], Awaitable[None]],
) -> None:  # fmt: skip
    """`centre` stands out. Clicks tell the id of an entity, or a relation. A label that would lie on another one is left out;
    it is shown where the mouse is."""
    kinds = sorted({one.kind for one in entities})
    words = [text.say("kinds", kind) for kind in kinds]
    most = max((one.passage_count for one in entities), default=1) or 1
    few = len(relations) <= 15
    nodes = [
        {
            "name": str(one.id), "value": one.name, "category": kinds.index(one.kind),
            "symbolSize": SMALLEST + (LARGEST - SMALLEST) * (one.passage_count / most) ** 0.5,
            "itemStyle": {"borderColor": DRAWN["warn"], "borderWidth": 4} if one.id == centre else {},
            "label": {"show": True, "formatter": _short(one.name), "color": DRAWN["muted"], "position": "right"},
        }
        for one in entities
    ]  # fmt: skip
    links = [
        {
            "source": str(one.source.id), "target": str(one.target.id), "value": text.say("relations", one.kind),
            "lineStyle": {"width": 1 + 3 * min(1.0, one.weight)},
            "label": {
                "show": few and one.kind not in SYMMETRIC, "formatter": text.say("relations", one.kind), "fontSize": 10,
                "color": DRAWN["muted"],
            },
        }
        for one in relations
    ]  # fmt: skip
    options: dict[str, Any] = {
        "legend": [{"data": words, "textStyle": {"color": DRAWN["muted"]}, "type": "scroll", "top": 0}],
        "animation": False,
        "series": [
            {
                "type": "graph", "layout": "force", "roam": True, "draggable": True, "data": nodes, "links": links,
                "categories": [{"name": word} for word in words], "top": 44, "bottom": 16, "left": 90, "right": 130,
                "labelLayout": {"hideOverlap": True}, "edgeSymbol": ["none", "arrow"], "edgeSymbolSize": 7,
                "force": {"repulsion": 420, "edgeLength": [90, 190], "gravity": 0.1, "layoutAnimation": False},
                "emphasis": {"focus": "adjacency", "label": {"show": True}}, "lineStyle": {"curveness": 0.1},
            }
        ],
    }  # fmt: skip

    async def click(event: events.EChartPointClickEventArguments) -> None:
        if event.data_type == "edge" and event.data_index < len(relations):
            await on_edge(relations[event.data_index])
        elif event.data_type == "node" and event.data_index < len(entities):
            await on_node(str(entities[event.data_index].id))

    chart = ui.echart(options, on_point_click=click).classes("w-full h-[26rem]")
    chart.props["role"], chart.props["aria-label"] = "img", label


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"
