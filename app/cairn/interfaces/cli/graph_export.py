"""`cairn graph export`: the graph as GraphML or as JSON of nodes and edges, written as it is read."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import IO, Any, Final, cast
from xml.sax.saxutils import escape, quoteattr

from cairn.domain.graph_view import GraphEdge, GraphNode
from cairn.errors import InputError
from cairn.interfaces.cli.search import require_documents
from cairn.interfaces.cli.terminal import count, note, services
from cairn.language.text import normalise
from cairn.service import graph as graph_service

Write = Callable[[str], object]
GraphPart = GraphNode | GraphEdge

NODE_FIELDS: Final = {"name": "string", "kind": "string", "passage_count": "int", "other_names": "string"}
EDGE_FIELDS: Final = {
    "kind": "string", "weight": "double", "evidence_count": "int", "document": "string", "evidence": "string",
}  # fmt: skip
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""


async def export(form: str, output: Path | None, collection: str | None) -> int:
    """To a file, which takes its name when it is complete, or to stdout. Raises NotFoundError, InputError."""
    async with services() as opened:
        found = await require_documents(opened, collection)
        parts = graph_service.export_graph(opened, found.name)
        written = graphml if form == "graphml" else node_link
        if output is None:
            nodes, edges = await written(parts, sys.stdout.write, found.name)
        else:
            nodes, edges = await _to_file(output, lambda write: written(parts, write, found.name))
    note(f"{count(nodes, 'node')}, {count(edges, 'edge')} of {found.name}")
    if not nodes:
        note(f"The graph is empty. If the documents were indexed before there were graphs: cairn reindex {found.name}")
    return 0


async def _to_file(output: Path, work: Callable[[Write], Any]) -> tuple[int, int]:
    unfinished = output.with_name(f"{output.name}.part")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            counts = cast("tuple[int, int]", await work(cast("IO[str]", file).write))
        unfinished.replace(output)
        return counts
    except OSError as error:
        raise InputError(f"cannot write {output}: {error.strerror or error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


# --- GraphML ------------------------------------------------------------------------------------------------------------


async def graphml(parts: AsyncIterator[GraphPart], write: Write, name: str) -> tuple[int, int]:
    """GraphML 1.0, all edges directed, though co_occurs has no direction: readers dislike a mix. How many nodes and edges."""
    write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for target, fields in (("node", NODE_FIELDS), ("edge", EDGE_FIELDS)):
        for field, kind in fields.items():
            write(f'  <key id="{target}_{field}" for="{target}" attr.name="{field}" attr.type="{kind}"/>\n')
    write(f'  <graph id={quoteattr(_xml(name))} edgedefault="directed">\n')
    nodes = edges = 0
    async with aclosing(cast("Any", parts)) as found:
        async for part in found:
            if isinstance(part, GraphNode):
                nodes += 1
                write(f'    <node id="{part.id}">{_data("node", _of_node(part))}</node>\n')
            else:
                edges += 1
                ends = f'id="{part.id}" source="{part.source}" target="{part.target}"'
                write(f"    <edge {ends}>{_data('edge', _of_link(part))}</edge>\n")
    write("  </graph>\n</graphml>\n")
    return nodes, edges


def _data(target: str, values: dict[str, Any]) -> str:
    return "".join(
        f'<data key="{target}_{field}">{escape(_xml(_plain(value)))}</data>' for field, value in values.items()
    )


def _plain(value: Any) -> str:
    return " | ".join(value) if isinstance(value, list) else str(value)


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


# --- JSON ---------------------------------------------------------------------------------------------------------------


async def node_link(parts: AsyncIterator[GraphPart], write: Write, name: str) -> tuple[int, int]:
    """The node-link form of networkx (`node_link_graph(data, edges="edges")`) and d3. How many nodes and edges."""
    write(f'{{"directed": true, "multigraph": true, "graph": {{"name": {_json(name)}}}, "nodes": [')
    nodes = edges = 0
    async with aclosing(cast("Any", parts)) as found:
        async for part in found:
            if isinstance(part, GraphNode):
                write(f"{',' if nodes else ''}\n{_json({'id': str(part.id), **_of_node(part)})}")
                nodes += 1
            else:
                write("," if edges else '\n], "edges": [')
                ends = {"key": str(part.id), "source": str(part.source), "target": str(part.target)}
                write(f"\n{_json({**ends, **_of_link(part)})}")
                edges += 1
    write("\n]}\n" if edges else '\n], "edges": []}\n')
    return nodes, edges


def _json(value: Any) -> str:
    return normalise(json.dumps(value, ensure_ascii=False))


# --- both ---------------------------------------------------------------------------------------------------------------


def _of_node(node: GraphNode) -> dict[str, Any]:
    return {"name": node.name, "kind": node.kind, "passage_count": node.passage_count, "other_names": list(node.names)}


def _of_link(link: GraphEdge) -> dict[str, Any]:
    return {
        "kind": link.kind, "weight": round(link.weight, 6), "evidence_count": link.evidence_count,
        "document": link.document, "evidence": link.evidence,
    }  # fmt: skip
