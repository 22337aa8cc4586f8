"""Which references mean a definition, by their names alone."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from cairn.domain.code import SymbolQuery
from cairn.graph.code.matching import (
    Meeting,
    fits,
    is_entry,
    qualify_name,
)
from cairn.store.graph_code import NamedSymbol

COLLECTION = UUID(int=1)


def named(normal: str, family: str = "code", kind: str = "function") -> NamedSymbol:
    return NamedSymbol(COLLECTION, uuid4(), family, normal, kind, normal.rpartition(".")[2])


@pytest.mark.parametrize(
    ("normal", "parts"),
    [
        ("src/httpx/_client.py::Client.send", ("src", "httpx", "_client", "Client", "send")),
        ("src/httpx/__init__.py::get", ("src", "httpx", "get")),
        ("src/httpx/__init__.py", ("src", "httpx")),
        ("web/lib/index.ts::total", ("web", "lib", "total")),
        ("render/json.go::Do", ("render", "Do")),
        ("com/x/A.java::A.run", ("com", "x", "A", "run")),
        ("main.go", ("main",)),
        ("a.py", ("a",)),
    ],
)
def test_full_names(normal: str, parts: tuple[str, ...]) -> None:
    assert qualify_name(normal) == parts


@pytest.mark.parametrize(
    ("definition", "kind", "reference", "met"),
    [
        ("src/httpx/_client.py::Client.send", "method", "httpx._client.Client.send", True),
        ("client.py::Client.send", "method", "pkg.client.Client.send", True),
        ("render/json.go::Do", "function", "github_com.x.render.Do", True),
        ("a/store.rs::Store.save", "method", "Store.save", True),
        ("a/other.rs::Shelf.save", "method", "Store.save", False),
        ("a/b.py::load", "function", "a.c.load", False),
        ("a/b.py::load", "function", "load", True),
        ("a/b.py::C.load", "method", "load", False),
        ("a/b.py::C.load", "method", ".load", True),
        ("a/b.py::load", "function", ".load", False),
    ],
)
def test_a_reference_means_what_ends_alike(definition: str, kind: str, reference: str, met: bool) -> None:
    one, other = named(definition, kind=kind), named(reference, "reference")
    assert bool(Meeting.of(one, [one, other]).met) == met


def test_a_bare_name_means_none_of_two() -> None:
    first, second = named("a.py::C.load", kind="method"), named("b.py::D.load", kind="method")
    found = Meeting.of(first, [first, second, reference := named(".load", "reference")])
    assert found.met == ()
    assert found.unsure == (reference,)
    offered = Meeting.of(first, [first, second, named("pkg.C.load", "reference")], [("pkg", "C", "load")])
    assert len(offered.met) == 1


def test_queries_fit_by_the_end_of_path_and_name() -> None:
    assert fits("src/a/b.py::C.m", SymbolQuery("C.m", "a/b.py"))
    assert fits("src/a/b.py::C.m", SymbolQuery("b.c.M"))
    assert not fits("src/xa/b.py::C.m", SymbolQuery("m", "a/b.py"))
    assert not fits("src/a/b.py::C.m", SymbolQuery("D.m"))
    assert fits("src/a/b.py", SymbolQuery("b.py"))
    assert not fits("src/a/b.py::C", SymbolQuery("b.py"))
    assert is_entry("x/__init__.py")
    assert not is_entry("x/__init__.py::f")
