"""Outlines of source code in every language that is read: definitions with lines, and what they refer to."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.domain.code import Outline
from cairn.graph.code.outline import MOST_DEFINITIONS, outline_of
from tests.waiting import patience

PYTHON = '''\
"""Ünïcode before everything: 長い."""
import os.path
from . import util
from .parts import Http, Pool, Store
from ..core import Base as Root, helper

class Client(Root[int], Exception):
    store: "Store"

    def __init__(self, http: Http | None):
        self.http = http
        self.pool = Pool()

    async def send(self, items: list[Item]):
        self.check()
        self.pool.take()
        self.inherited()
        self.store.save()
        util.log2(helper(items))
        os.path.join("a")
        items.unknown()
        return len(items)

    @staticmethod
    def check():
        def inner():
            return make()
        return inner()

def make(client: Client, **more):
    client.send([])
    unknown_name()
    return Client(None)
'''
TYPESCRIPT = """\
import { Base, helper as h } from "./lib/base";
import * as util from '../util';
export interface Shape extends Named { area(): number; }
export class Circle extends Base implements Shape {
  private store: Store;
  constructor(private r: number, client: Client) { super(); client.send(1); }
  area(): number { return h(this.r) * util.pi() + this.twice(); }
  twice = () => { this.store.save(); return 2; };
}
export const make = (r: number): Circle => new Circle(r);
"""
JAVASCRIPT = """\
const { helper, other: o } = require('./util');
class A extends big.B { go() { helper(); o(); this.run(); } run() {} }
exports.start = function () { return new A(); };
"""
GO = """\
package server
import r "github.com/x/y/render"
type Handler interface { Serve(w int) error }
type Server struct { Base; h Handler }
func New(h Handler) *Server { s := &Server{h: h}; s.Start(); return s }
func (s *Server) Start() { s.h.Serve(1); r.JSON(1); helper() }
"""
JAVA = """\
package com.x;
import com.y.Util;
public class A extends Base implements Runnable {
  private Store store;
  public void run() { helper(); Util.go(); store.save(1); inherited(); }
  private void helper() {}
  static class Inner { }
}
"""
RUST = """\
use crate::store::{Store, open as o};
pub trait Shape: Named { fn area(&self) -> f64; }
pub struct Circle { store: Store }
impl Shape for Circle { fn area(&self) -> f64 { self.store.save(); helper(1.0) } }
impl Circle { pub fn new() -> Self { o(); Self::new() } }
fn helper(r: f64) -> f64 { r }
"""
C = """\
#include "x.h"
typedef struct { int a; } point;
static int helper(int x) { return x + other(x); }
int *main2(void) { return helper(1); }
"""
CPP = """\
namespace ns {
class Base { public: void f() { g(); } void g(); };
class D : public Base { Store store; void h() { f(); store.save(); make<int>(1); } };
template <typename T> T make(T x) { return x; }
}
void ns::Base::g() { helper(2); }
static int helper(int x) { return x; }
"""
CASES = {
    "python": (PYTHON, "src/pkg/sub/client.py"),
    "ts": (TYPESCRIPT, "web/a.ts"),
    "js": (JAVASCRIPT, "web/a.js"),
    "go": (GO, "server/a.go"),
    "java": (JAVA, "src/com/x/A.java"),
    "rust": (RUST, "src/a.rs"),
    "c": (C, "a.c"),
    "cpp": (CPP, "a.cpp"),
}
DEFINED = {
    "python": {
        ("Client", "class", 7), ("Client.__init__", "method", 10), ("Client.send", "method", 14),
        ("Client.check", "method", 25), ("Client.check.inner", "function", 26), ("make", "function", 30),
    },
    "ts": {
        ("Shape", "class", 3), ("Shape.area", "method", 3), ("Circle", "class", 4), ("Circle.constructor", "method", 6),
        ("Circle.area", "method", 7), ("Circle.twice", "method", 8), ("make", "function", 10),
    },
    "js": {("A", "class", 2), ("A.go", "method", 2), ("A.run", "method", 2), ("start", "function", 3)},
    "go": {
        ("Handler", "class", 3), ("Handler.Serve", "method", 3), ("Server", "class", 4), ("New", "function", 5),
        ("Server.Start", "method", 6),
    },
    "java": {("A", "class", 3), ("A.run", "method", 5), ("A.helper", "method", 6), ("A.Inner", "class", 7)},
    "rust": {
        ("Shape", "class", 2), ("Shape.area", "method", 2), ("Circle", "class", 3), ("Circle.area", "method", 4),
        ("Circle.new", "method", 5), ("helper", "function", 6),
    },
    "c": {("point", "class", 2), ("helper", "function", 3), ("main2", "function", 4)},
    "cpp": {
        ("ns.Base", "class", 2), ("ns.Base.f", "method", 2), ("ns.Base.g", "method", 2),
        ("ns.D", "class", 3), ("ns.D.h", "method", 3),
        ("ns.make", "function", 4), ("ns.Base.g", "method", 6), ("helper", "function", 7),
    },
}  # fmt: skip
REFERRED = {
    "python": {
        ("Client", "inherits", "src.pkg.core.Base"), ("Client", "inherits", "Exception"), ("", "imports", "os.path"),
        ("", "imports", "src.pkg.sub.util"), ("", "imports", "src.pkg.core.helper"),
    },
    "ts": {("Shape", "inherits", "Named"), ("Circle", "inherits", "web.lib.base.Base"), ("Circle", "inherits", "Shape")},
    "js": {("A", "inherits", "big.B"), ("", "imports", "web.util.helper")},
    "go": {("Server", "inherits", "server.Base"), ("", "imports", "github_com.x.y.render")},
    "java": {("A", "inherits", "src.com.x.Base"), ("A", "inherits", "src.com.x.Runnable"), ("", "imports", "com.y.Util")},
    "rust": {("Shape", "inherits", "Named"), ("Circle", "inherits", "Shape"), ("", "imports", "store.Store")},
    "c": {("", "imports", "x")},
    "cpp": {("ns.D", "inherits", "ns.Base")},
}  # fmt: skip
CALLED = {
    "python": {
        ("Client.__init__", "src.pkg.sub.parts.Pool"), ("Client.send", "src.pkg.sub.parts.Pool.take"),
        ("Client.send", "src.pkg.sub.parts.Store.save"), ("Client.send", "Client.check"),
        ("Client.send", "src.pkg.core.Base.inherited"),
        ("Client.send", "src.pkg.sub.util.log2"), ("Client.send", "src.pkg.core.helper"), ("Client.send", "os.path.join"),
        ("Client.send", ".unknown"), ("Client.check", "Client.check.inner"), ("Client.check.inner", "make"),
        ("make", "Client.send"), ("make", "Client"),
    },
    "ts": {
        ("Circle.constructor", "Client.send"), ("Circle.area", "web.lib.base.helper"), ("Circle.area", "util.pi"),
        ("Circle.area", "Circle.twice"), ("Circle.twice", "Store.save"), ("make", "Circle"),
    },
    "js": {("A.go", "web.util.helper"), ("A.go", "web.util.other"), ("A.go", "A.run"), ("start", "A")},
    "go": {
        ("New", "Server.Start"), ("Server.Start", "Handler.Serve"), ("Server.Start", "github_com.x.y.render.JSON"),
        ("Server.Start", "server.helper"),
    },
    "java": {
        ("A.run", "A.helper"), ("A.run", "com.y.Util.go"), ("A.run", "src.com.x.Store.save"),
        ("A.run", "src.com.x.Base.inherited"),
    },
    "rust": {
        ("Circle.area", "store.Store.save"), ("Circle.area", "helper"), ("Circle.new", "store.open"),
        ("Circle.new", "Circle.new"),
    },
    "c": {("helper", "other"), ("main2", "helper")},
    "cpp": {
        ("ns.Base.f", "ns.Base.g"), ("ns.D.h", "ns.Base.f"), ("ns.D.h", "Store.save"), ("ns.D.h", "ns.make"),
        ("ns.Base.g", "helper"),
    },
}  # fmt: skip


def outline(language: str) -> tuple[str, Outline]:
    text, path = CASES[language]
    found = outline_of(text, language, path)
    assert found
    return text, found


@pytest.mark.parametrize("language", CASES)
def test_definitions_have_their_kinds_and_lines(language: str) -> None:
    text, found = outline(language)
    assert {(one.name, one.kind, text.count("\n", 0, one.start) + 1) for one in found.definitions} == DEFINED[language]


@pytest.mark.parametrize("language", CASES)
def test_bases_and_imports_are_named_in_full(language: str) -> None:
    _, found = outline(language)
    assert REFERRED[language] <= {(one.source, one.relation, one.target) for one in found.references}
    inherits = {fact for fact in REFERRED[language] if fact[1] == "inherits"}
    assert inherits == {
        (one.source, one.relation, one.target) for one in found.references if one.relation == "inherits"
    }


@pytest.mark.parametrize("language", CASES)
def test_calls_lead_where_the_file_says(language: str) -> None:
    """Those of builtins and of what everything has (`len`, `append`) lead nowhere."""
    _, found = outline(language)
    called = {(one.source, one.target) for one in found.references if one.relation == "calls"}
    assert called == CALLED[language]


@pytest.mark.parametrize("language", CASES)
def test_spans_hold_what_they_say(language: str) -> None:
    text, found = outline(language)
    for one in found.definitions:
        assert one.name.rpartition(".")[2] in text[one.start : one.end]
    for reference in found.references:
        assert 0 <= reference.start <= reference.end <= len(text)
        if reference.relation == "calls":
            last = reference.target.rpartition(".")[2]
            renamed = ("helper", "other", "open", "Self", "cls", "new")  # called by another name there
            assert last in text[reference.start : reference.end] or last in renamed


@given(st.sampled_from(sorted(CASES)), st.integers(0, 2**32), st.text(max_size=20))
@settings(max_examples=2 * settings().max_examples, deadline=None)
def test_damaged_files_are_read_and_spans_stay_inside(language: str, seed: int, noise: str) -> None:
    text, path = CASES[language]
    chance = random.Random(seed)
    start, end = sorted((chance.randrange(len(text)), chance.randrange(len(text))))
    broken = (text[:start] + noise + text[end:]).encode("utf-8", "replace").decode()
    found = outline_of(broken, language, path)
    assert found
    names = {one.name for one in found.definitions} | {""}
    for one in found.definitions:
        assert 0 <= one.start < one.end <= len(broken)
    for reference in found.references:
        assert 0 <= reference.start <= reference.end <= len(broken)
        assert reference.source in names
        assert not reference.local or reference.target in names


@pytest.mark.sweep(4)
@pytest.mark.parametrize("language", CASES)
@pytest.mark.parametrize("what", ["(", "{", "a(", "[", "class A {", "if x:\n "])
@pytest.mark.parametrize("deep", [3_000, pytest.param(10_000, marks=pytest.mark.siege)])
def test_deep_nesting_ends(language: str, what: str, deep: int) -> None:
    began = time.thread_time()
    assert outline_of(what * deep, language, "a") is not None
    assert time.thread_time() - began < patience(60, least=0)


@pytest.mark.siege
def test_a_generated_file_of_megabytes_ends() -> None:
    text = "".join(f"def function_{n}(x):\n    return function_{n + 1}(x) + helper.call(x)\n\n" for n in range(25_000))
    found = outline_of(text, "python", "big.py")
    assert found
    assert len(found.definitions) == MOST_DEFINITIONS
    assert len(found.references) > MOST_DEFINITIONS


def test_other_languages_have_no_outline() -> None:
    assert outline_of("puts 1", "ruby", "a.rb") is None


def test_a_header_is_c_or_cpp_by_what_stands_in_it() -> None:
    cpp, c = outline_of("class A { void f() {} };", "c", "a.h"), outline_of("struct A { int f; };", "c", "a.h")
    assert cpp is not None
    assert c is not None
    assert [one.name for one in cpp.definitions] == ["A", "A.f"]
    assert [one.name for one in c.definitions] == ["A"]
