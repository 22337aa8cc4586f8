"""What names mean across files, in every language, and which calls of a name are known, unresolved or something else."""

from __future__ import annotations

from uuid import UUID

import pytest

from cairn.domain.code import SEPARATOR
from cairn.graph.code.callers import lines_that_name, split_calls
from cairn.graph.code.declaration import hide, read_declaration
from cairn.graph.code.links import CodeLinks, NamedDefinition, Tie
from cairn.graph.code.outline import outline_of
from cairn.store.code_calls import PlacedCall

LANGUAGES = {
    "py": "python",
    "ts": "ts",
    "tsx": "ts",
    "js": "js",
    "go": "go",
    "java": "java",
    "rs": "rust",
    "c": "c",
    "h": "c",
}
Project = dict[str, str]


def read(files: Project) -> tuple[CodeLinks, list[PlacedCall]]:
    definitions, ties, calls = [], [], []
    for path, text in files.items():
        outline = outline_of(text, LANGUAGES[path.rpartition(".")[2]], path)
        assert outline
        definitions.append(NamedDefinition(path, "module"))
        definitions += [NamedDefinition(f"{path}{SEPARATOR}{one.name}", one.kind) for one in outline.definitions]
        calls += [PlacedCall(UUID(int=0), path, one) for one in outline.calls]
        for one in outline.references:
            source = f"{path}{SEPARATOR}{one.source}" if one.source else path
            target = f"{path}{SEPARATOR}{one.target}" if one.local else one.target
            if one.relation == "imports" or one.relation == "inherits":
                ties.append(Tie(one.relation, source, target, one.local))
    return CodeLinks(definitions, ties), calls


def split(files: Project, definition: str) -> tuple[list[str], list[str], list[str]]:
    """Files and lines of known, unresolved and other calls."""
    links, calls = read(files)
    name = definition.rpartition(SEPARATOR)[2].rpartition(".")[2]
    found = split_calls(
        definition,
        [one for one in calls if name in (one.call.name, one.call.target.replace(SEPARATOR, ".").rpartition(".")[2])],
        links,
    )

    def told(part: tuple[PlacedCall, ...]) -> list[str]:
        return [f"{one.path}:{files[one.path].count(chr(10), 0, one.call.end - 1) + 1}" for one in part]

    return told(found.known), told(found.unresolved), told(found.others)


PYTHON = {
    "pkg/__init__.py": "from .core import run as start\nfrom .core import *\n",
    "pkg/core.py": "class Base:\n    def go(self): pass\n\n\ndef run():\n    pass\n",
    "pkg/sub.py": "from .core import Base\n\n\nclass Sub(Base):\n    def all(self):\n        self.go()\n",
    "app/other.py": "from pkg.core import run as start\n\n\ndef again():\n    start()\n",
    "app/main.py": (
        "import pkg\nfrom pkg import Base\nfrom pkg.sub import Sub\nimport subprocess\n\n\n"
        "def main(thing, text: str):\n    pkg.run()\n    subprocess.run([])\n    thing.run()\n    Sub().go()\n"
        "    s: Sub = make()\n    s.go()\n    getattr(thing, 'go')()\n    ','.join(text)\n"
    ),
}
TYPESCRIPT = {
    "web/lib/sum.ts": "export function total(x: number) { return x; }\nexport class Cart { pay(): void {} }\n",
    "web/lib/index.ts": 'export { total, Cart } from "./sum";\n',
    "web/page.tsx": (
        'import { total, Cart } from "@/lib";\nimport { total as other } from "lodash";\n'
        'export function Page(c: Cart, d: any) {\n  total(1);\n  other(2);\n  c.pay();\n  d.pay();\n  d["pay"]();\n'
        "  return <Button/>;\n}\n"
    ),
    "web/main.ts": 'import total from "./lib/sum";\ntotal(1);\n',
    "web/button.tsx": "export function Button() { return null; }\n",
}
GO = {
    "shop/price/price.go": "package price\nfunc Total(x int) int { return x }\ntype Cart struct{}\nfunc (c *Cart) Pay() {}\n",
    "shop/main.go": (
        'package main\nimport (\n"example.com/shop/price"\n"fmt"\n)\nfunc main() {\n  price.Total(1)\n  fmt.Total(2)\n'
        "  var c price.Cart\n  c.Pay()\n  get().Pay()\n}\n"
    ),
}
JAVA = {
    "src/com/x/Prices.java": "package com.x;\nclass Prices {\n  static int total(int x) { return x; }\n  void load() {}\n}\n",
    "src/com/y/Main.java": (
        "package com.y;\nimport com.x.Prices;\nimport java.util.Totals;\nclass Main {\n  void run(Prices p, Object o) {\n"
        "    Prices.total(1);\n    p.load();\n    Totals.total(2);\n    find().load();\n  }\n}\n"
    ),
}
RUST = {
    "src/shape.rs": "pub struct Shape;\nimpl Shape { pub fn area(&self) -> f64 { 1.0 } }\npub fn total(x: i32) -> i32 { x }\n",
    "src/main.rs": (
        "use crate::shape::{total, Shape};\nfn main() {\n  total(1);\n  assert_eq!(total(2), 2);\n  let s: Shape = make();\n"
        "  s.area();\n  get().area();\n  other::total(3);\n}\n"
    ),
}
C = {
    "src/list.c": '#include "list.h"\nint list_add(int a) { return a; }\n',
    "src/list.h": "int list_add(int a);\n#define ADD(x) list_add(x)\n",
    "src/main.c": '#include "list.h"\nint main(void) {\n  list_add(1);\n  s->list_add(2);\n  return ADD(3);\n}\n',
}


@pytest.mark.parametrize(
    ("files", "definition", "known", "unresolved", "others"),
    [
        (PYTHON, "pkg/core.py::run", ["app/other.py:5", "app/main.py:8"], ["app/main.py:10"], ["app/main.py:9"]),
        (
            PYTHON, "pkg/core.py::Base.go", ["pkg/sub.py:6", "app/main.py:13"], ["app/main.py:11", "app/main.py:14"], [],
        ),
        (TYPESCRIPT, "web/lib/sum.ts::total", ["web/page.tsx:4"], ["web/main.ts:2"], ["web/page.tsx:5"]),
        (TYPESCRIPT, "web/lib/sum.ts::Cart.pay", ["web/page.tsx:6"], ["web/page.tsx:7", "web/page.tsx:8"], []),
        (TYPESCRIPT, "web/button.tsx::Button", [], ["web/page.tsx:9"], []),
        (GO, "shop/price/price.go::Total", ["shop/main.go:7"], [], ["shop/main.go:8"]),
        (GO, "shop/price/price.go::Cart.Pay", ["shop/main.go:10"], ["shop/main.go:11"], []),
        (JAVA, "src/com/x/Prices.java::Prices.total", ["src/com/y/Main.java:6"], [], ["src/com/y/Main.java:8"]),
        (JAVA, "src/com/x/Prices.java::Prices.load", ["src/com/y/Main.java:7"], ["src/com/y/Main.java:9"], []),
        (RUST, "src/shape.rs::total", ["src/main.rs:3", "src/main.rs:4"], ["src/main.rs:8"], []),
        (RUST, "src/shape.rs::Shape.area", ["src/main.rs:6"], ["src/main.rs:7"], []),
        (C, "src/list.c::list_add", ["src/list.h:2", "src/main.c:3"], ["src/main.c:4"], []),
        (C, "src/list.h::ADD", ["src/main.c:5"], [], []),
    ],
)  # fmt: skip
def test_every_call_by_a_name_is_known_unresolved_or_something_else(
    files: Project, definition: str, known: list[str], unresolved: list[str], others: list[str]
) -> None:
    assert split(files, definition) == (known, unresolved, others)


def test_a_module_of_the_language_is_none_of_a_package() -> None:
    links, _ = read({"pkg/__init__.py": "", "pkg/types.py": "", "pkg/a.py": "import types\n", "tools/run.py": ""})
    assert links.meaning("types", "pkg/a.py").definitions == ()
    assert links.meaning("pkg.types", "pkg/a.py").definitions == ("pkg/types.py",)
    assert links.meaning("run", "tools/b.py").definitions == ("tools/run.py",)


def test_two_that_end_alike_are_ambiguous() -> None:
    links, _ = read({"a/util/text.py": "def f(): pass\n", "b/util/text.py": "def f(): pass\n"})
    assert links.meaning("util.text.f", "c.py").certainty == "ambiguous"
    assert links.meaning("a.util.text.f", "c.py").certainty == "sure"
    assert links.meaning("json.f", "c.py").certainty == "outside"
    assert links.meaning("util.f", "c.py").certainty == "unknown"


def test_names_that_lead_to_each_other_end() -> None:
    links, _ = read(
        {"p/a.py": "from p.b import x\nfrom p.b import *\n", "p/b.py": "from p.a import x\nfrom p.a import *\n"}
    )
    assert links.meaning("p.a.x", "p/a.py").certainty == "unknown"


def test_functions_that_are_passed_on_are_seen() -> None:
    code = hide("import f\nf()\nrun(f)\nf = 1\ng(f=2)\n# f\nx.f\n'f'\n", "python")
    assert [code.count("\n", 0, at) + 1 for at, _ in lines_that_name("f", code, member=False, most=9)] == [3]
    assert [code.count("\n", 0, at) + 1 for at, _ in lines_that_name("f", code, member=True, most=9)] == [7]


@pytest.mark.parametrize(
    ("path", "text", "name", "parameters", "returns", "gives", "raises", "documented"),
    [
        (
            "a.py", 'def f(a: dict[str, int] = {}, *, b="x:(", **kw) -> list[int]:\n    """Adds. More."""\n'
            "    def g():\n        return 1\n    if a:\n        raise ValueError(a)\n    return [\n        1,\n    ]\n",
            "f", ("a: dict[str, int] = {}", 'b="x:("', "**kw"), "list[int]", ["return [\n        1,\n    ]"],
            ["raise ValueError(a)"], "Adds.",
        ),
        (
            "a.ts", "/** Sums up. */\nfunction f(x: Map<string, number>, y = 1): number { if (!x) throw new E(); return y; }\n",
            "f", ("x: Map<string, number>", "y = 1"), "number", ["return y"], ["throw new E()"], "Sums up.",
        ),
        (
            "a.go", "// F saves.\nfunc (s *S) F(x int) (int, error) { return 0, nil }\n",
            "F", ("x int",), "(int, error)", ["return 0, nil"], [], "F saves.",
        ),
        (
            "A.java", "class A { public static Map<String, Integer> f(final int a) { return m; } }",
            "f", ("final int a",), "Map<String, Integer>", ["return m"], [], "",
        ),
        (
            "a.rs", "/// Area.\npub fn f(&self, x: f64) -> Result<f64, E> { Ok(x) }",
            "f", ("x: f64",), "Result<f64, E>", [], [], "Area.",
        ),
        (
            "a.c", "static struct s *f(int a, char *b) { return 0; }",
            "f", ("int a", "char *b"), "struct s *", ["return 0"], [], "",
        ),
    ],
)  # fmt: skip
def test_declarations_are_read_in_every_language(
    path: str,
    text: str,
    name: str,
    parameters: tuple[str, ...],
    returns: str,
    gives: list[str],
    raises: list[str],
    documented: str,
) -> None:
    outline = outline_of(text, LANGUAGES[path.rpartition(".")[2]], path)
    assert outline
    found = next(one for one in outline.definitions if one.name.rpartition(".")[2] == name)
    read_ = read_declaration(text, (found.start, found.end), name, path)
    assert (read_.parameters, read_.returns, read_.documented) == (parameters, returns, documented)
    assert [text[slice(*one)] for one in read_.gives] == gives
    assert [text[slice(*one)] for one in read_.raises] == raises


def test_strange_sources_end() -> None:
    for text in ("def f(" + "(" * 5000, 'def f(): """' + '"' * 5001, "def f" + ":" * 5000, "f" * 9000, ""):
        read_declaration(text, (0, len(text)), "f", "a.py")
        read_declaration(text, (0, len(text)), "f", "a.ts")
        list(lines_that_name("f", text, member=False, most=9))
