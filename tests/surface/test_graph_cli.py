"""`cairn graph ...` what is printed, and exports that other programs read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx
import pytest
import structlog
from commands import Done, in_process
from graph_library import COLLECTION, TEXTS
from lxml import etree

from cairn.interfaces.cli.main import run

GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


@dataclass(frozen=True)
class Cairn:
    """Runs the command in a folder of its own."""

    folder: Path
    run: Callable[..., Done]

    def __call__(self, *arguments: str) -> Done:
        return self.run(*arguments)

    def json(self, *arguments: str) -> Any:
        done = self(*arguments, "--json")
        assert done.code == 0, done.err
        return done.json


@pytest.fixture(scope="module")
def environment(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path
) -> dict[str, str]:
    """Where the library was ingested."""
    folder = tmp_path_factory.mktemp("graph")
    own = {
        "CAIRN_DATABASE_URL": fresh_database(), "CAIRN_HOME": str(folder), "CAIRN_MODEL_DIR": str(model), "COLUMNS": "200",
    }  # fmt: skip
    library = folder / "library"
    library.mkdir()
    for name, text in TEXTS.items():
        (library / f"{name}.md").write_text(text)
    (library / "odd.md").write_text(
        "# Odd\n\nMonsieur Dupont & Söhne <Paris> met Ada Lovelace in Łódź \x0b near London."
    )
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        assert run(["ingest", "library", "--collection", COLLECTION]) == 0
    structlog.reset_defaults()
    return own


@pytest.fixture
def cairn(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Cairn]:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    folder = Path(environment["CAIRN_HOME"])
    monkeypatch.chdir(folder)
    yield Cairn(folder, in_process(capfd))
    structlog.reset_defaults()  # commands point it at the stderr of their time


def test_show_is_a_tree_of_relations_with_quotations_and_files(cairn: Cairn) -> None:
    done = cairn("graph", "show", "ada lovelace", "--collection", COLLECTION, "--hops", "2")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("Ada Lovelace  (")
    born = next(at for at, line in enumerate(lines) if line.startswith("-- born in --> London"))
    assert lines[born + 1 : born + 3] == [
        "    “Ada Lovelace was born in London.”",
        "    Ada Lovelace (library/lovelace.md)",
    ]
    assert any(line.startswith("    ") and "Marylebone  (" in line for line in lines), "two hops away, indented"
    said = cairn.json("graph", "show", "Ada Lovelace", "--collection", COLLECTION)
    assert said["entity"]["name"] == said["neighborhood"]["nodes"][0]["name"] == "Ada Lovelace"
    by_id = cairn.json("graph", "show", said["entity"]["id"])
    assert by_id["entity"] == said["entity"]


def test_path_quotes_what_proves_each_step(cairn: Cairn) -> None:
    done = cairn("graph", "path", "Ada Lovelace", "Wigmore Hall", "-c", COLLECTION)
    assert done.code == 0, done.err
    assert done.out.startswith("1. Ada Lovelace - ")
    assert "“The Wigmore Hall is located in Marylebone" in done.out
    assert "(library/marylebone.md)" in done.out
    none = cairn("graph", "path", "Ada Lovelace", "Wigmore Hall", "-c", COLLECTION, "--hops", "1")
    assert (none.code, none.out) == (1, "")
    assert none.err.startswith("No way of at most 1 relation leads from Ada Lovelace to Wigmore Hall")


def test_entities_are_listed_and_an_unknown_one_is_met_with_near_names(cairn: Cairn) -> None:
    assert {one["name"] for one in cairn.json("graph", "entities", "babb", "-c", COLLECTION)} == {"Charles Babbage"}
    listed = cairn("graph", "entities", "-c", COLLECTION)
    assert (listed.code, "Ada Lovelace  (" in listed.out) == (0, True)
    unknown = cairn("graph", "show", "Ada Lovelase", "-c", COLLECTION)
    assert unknown.code == 1
    assert "did you mean Ada Lovelace" in unknown.err
    nothing = cairn("graph", "entities", "xyzzy", "-c", COLLECTION)
    assert (nothing.code, nothing.out) == (0, "")
    assert "`cairn graph entities` lists" in nothing.err


def test_a_merge_is_made_listed_and_undone(cairn: Cairn) -> None:
    done = cairn("graph", "merge", "Marylebone", "London", "-c", COLLECTION, "--reason", "a part of it")
    assert done.code == 0, done.err
    merge = cairn.json("graph", "merges", "-c", COLLECTION)[0]
    assert (merge["from_name"], merge["into_name"], merge["reason"]) == ("Marylebone", "London", "a part of it")
    assert done.out == f"Marylebone is taken for London now. Undo: cairn graph unmerge {merge['id']}\n"
    shown = cairn("graph", "show", "Marylebone", "-c", COLLECTION)
    assert shown.out.startswith("London  (")
    assert f"Stands for Marylebone too (a part of it; cairn graph unmerge {merge['id']})" in shown.out
    assert cairn("graph", "unmerge", merge["id"]).out == "Marylebone is itself again.\n"
    assert cairn("graph", "unmerge", merge["id"]).code == 1


def test_graphml_is_read_by_others_and_holds_the_whole_graph(cairn: Cairn) -> None:
    done = cairn("graph", "export", "-c", COLLECTION, "--output", "graph.graphml")
    assert done.code == 0, done.err
    assert done.out == ""
    assert not (cairn.folder / "graph.graphml.part").exists()
    tree = etree.parse(cairn.folder / "graph.graphml")
    assert tree.getroot().tag == f"{GRAPHML}graphml"
    keys = {key.get("id") for key in tree.iter(f"{GRAPHML}key")}
    assert {data.get("key") for data in tree.iter(f"{GRAPHML}data")} == keys
    graph = networkx.read_graphml(cairn.folder / "graph.graphml", force_multigraph=True)
    names = {node: values["name"] for node, values in graph.nodes(data=True)}
    assert {"Ada Lovelace", "London", "Wigmore Hall"} <= set(names.values())
    born = [
        values for source, target, values in graph.edges(data=True)
        if (names[source], names[target], values["kind"]) == ("Ada Lovelace", "London", "born_in")
    ]  # fmt: skip
    assert [(one["evidence"], one["document"]) for one in born] == [
        ("Ada Lovelace was born in London.", "library/lovelace.md")
    ]
    assert 0 < born[0]["weight"] < 1
    assert any("<Paris>" in values["evidence"] for _, _, values in graph.edges(data=True)), (
        "what XML would take for markup"
    )
    listed = cairn.json("graph", "entities", "-c", COLLECTION, "--everything", "--limit", "1000")
    assert {(one["id"], one["name"], one["passage_count"]) for one in listed} == {
        (node, values["name"], values["passage_count"]) for node, values in graph.nodes(data=True)
    }


def test_json_is_the_same_graph_in_node_link_form(cairn: Cairn) -> None:
    done = cairn("graph", "export", "-c", COLLECTION, "--format", "json")
    assert done.code == 0, done.err
    graph = networkx.node_link_graph(json.loads(done.out), edges="edges")
    assert (graph.is_directed(), graph.is_multigraph(), graph.graph) == (True, True, {"name": COLLECTION})
    cairn("graph", "export", "-c", COLLECTION, "-o", "same.graphml")
    same = networkx.read_graphml(cairn.folder / "same.graphml", force_multigraph=True)
    assert set(graph.nodes) == set(same.nodes)
    ends = {(source, target, key) for source, target, key in graph.edges(keys=True)}
    assert ends == {(source, target, key) for source, target, key in same.edges(keys=True)}
    assert done.err.startswith(f"{graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges of {COLLECTION}")


def test_an_export_that_cannot_be_written_is_one_line(cairn: Cairn) -> None:
    done = cairn("graph", "export", "-c", COLLECTION, "-o", "no/such/folder/x")
    assert done.code == 2
    assert done.err == "cairn: cannot write no/such/folder/x: No such file or directory\n"


def test_empty_states_say_what_to_do(cairn: Cairn) -> None:
    for command in (["entities"], ["show", "Ada"], ["path", "Ada", "Ben"], ["export"]):
        done = cairn("graph", *command, "--collection", "nothing")
        assert done.code == 1
        assert "add some: cairn ingest PATH --collection nothing" in done.err


def test_a_collection_older_than_the_graph_is_told_to_be_reindexed(cairn: Cairn) -> None:
    (cairn.folder / "settings.json").write_text('{"graph": {"enabled": false}}')
    (cairn.folder / "old.md").write_text("Ada Lovelace was born in London.")
    assert cairn("ingest", "old.md", "--collection", "old").code == 0
    (cairn.folder / "settings.json").unlink()
    listed = cairn("graph", "entities", "-c", "old")
    assert (listed.code, listed.out) == (0, "")
    assert "cairn reindex old" in listed.err
    shown = cairn("graph", "show", "Ada Lovelace", "-c", "old")
    assert (shown.code, "cairn reindex old" in shown.err) == (1, True)
    exported = cairn("graph", "export", "-c", "old", "-f", "json")
    assert json.loads(exported.out)["nodes"] == json.loads(exported.out)["edges"] == []
    assert "cairn reindex old" in exported.err
    assert cairn("reindex", "old").code == 0
    assert "Ada Lovelace" in cairn("graph", "show", "Ada Lovelace", "-c", "old").out
