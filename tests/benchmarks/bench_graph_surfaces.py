"""What people look at in a graph of 100,000 entities and 500,000 relations: lists, an entity, its surroundings, ways, export."""

from __future__ import annotations

import os
import random
import resource
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from cairn.db.migrate import migrate
from cairn.interfaces.cli.graph_export import graphml
from cairn.service import graph as graph_service
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import open_services
from tests.benchmarks.graph_data import load_graph
from tests.benchmarks.timing import percentile, record

ENTITIES = int(os.environ.get("BENCH_ENTITIES", "100000"))
RELATIONS = int(os.environ.get("BENCH_RELATIONS", "500000"))
TIMES = int(os.environ.get("BENCH_LOOKS", "40"))


async def test_surfaces(dsn: str, tmp_path: Path) -> None:
    await migrate(dsn)
    await load_graph(dsn, ENTITIES, RELATIONS)
    chance, result = random.Random(2), dict[str, Any](entities=ENTITIES, relations=RELATIONS)
    environment = read_environment({"CAIRN_DATABASE_URL": dsn, "CAIRN_TENANT": "graph", "CAIRN_HOME": str(tmp_path)})
    async with open_services(environment, SettingsStore()) as services:

        def name() -> str:
            return f"Entity {chance.randrange(ENTITIES)}"

        looks: dict[str, Callable[[], Awaitable[object]]] = {
            "list": lambda: graph_service.list_entities(services, "graph"),
            "suggest": lambda: graph_service.list_entities(services, "graph", text=name()[:-1]),
            "suggest_all": lambda: graph_service.list_entities(services, "graph", text="entity"),
            "entity": lambda: graph_service.get_entity(services, name(), "graph"),
            "hub": lambda: graph_service.get_entity(services, "Entity 0", "graph"),
            "neighborhood_2": lambda: graph_service.get_neighborhood(services, name(), "graph", hops=2),
            "hub_neighborhood_3": lambda: graph_service.get_neighborhood(services, "Entity 0", "graph", hops=3, limit=200),
            "path": lambda: graph_service.get_paths(services, name(), name(), "graph"),
            "path_from_hub": lambda: graph_service.get_paths(services, "Entity 0", name(), "graph"),
        }  # fmt: skip
        for what, look in looks.items():
            times = []
            for _ in range(TIMES):
                begun = time.perf_counter()
                await look()
                times.append((time.perf_counter() - begun) * 1000)
            result[what] = {"p50_ms": round(percentile(times, 50), 1), "p95_ms": round(percentile(times, 95), 1)}
            print(f"\n{what}: {result[what]}", end="")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.perf_counter()
        with (tmp_path / "graph.graphml").open("w") as file:
            nodes, edges = await graphml(graph_service.export_graph(services, "graph"), file.write, "graph")
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        size = (tmp_path / "graph.graphml").stat().st_size / 2**20
        result["export"] = {
            "seconds": round(time.perf_counter() - begun, 1),
            "grown_mb": round(grown),
            "file_mb": round(size),
        }
        print(f"\nexport of {nodes} nodes, {edges} edges: {result['export']}")
    print(f"load average {os.getloadavg()[0]:.1f}")
    record("graph_surfaces", result)
