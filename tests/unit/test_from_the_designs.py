"""docs/from-the-designs.md: every name in its column "here" is there, with the default that is told, and every link leads on.

A name says by its shape or by the word before it what it is: "tool `search_docs`", "class `Run` in `app/cairn/runs/context.py`".
It is looked up where such names are made: what is renamed, moved or set to another default fails here with its line.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, get_args

import pytest
import typer

from cairn.db.tables import metadata
from cairn.domain.document import Status
from cairn.domain.event import RunStatus
from cairn.domain.job import JobStatus
from cairn.domain.plan import Intent, Level, QueryType, WeightMode
from cairn.errors import SettingsError
from cairn.evals import answers, metrics
from cairn.interfaces.cli.main import app as command_line
from cairn.interfaces.http.metrics import Metrics
from cairn.interfaces.http.policy import POLICIES
from cairn.interfaces.http.problems import known_problems
from cairn.interfaces.mcp.toolbox import TOOLS as MCP_TOOLS
from cairn.interfaces.server import create_app
from cairn.query.multi_hop import QueryClass
from cairn.settings import Settings, SettingsStore, read_environment
from cairn.settings.changes import change_settings, read_value
from cairn.settings.store import flatten_settings
from cairn.strategies.agents.gate import Code
from cairn.strategies.agents.tools.registry import TOOLS
from cairn.strategies.registry import STRATEGIES

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "from-the-designs.md"
NOTHING: Final = "–"


# --- the page: rows, and the names of a cell ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    line: int
    design: str
    there: str
    here: str
    note: str


@dataclass(frozen=True)
class Name:
    """`kind`: by its shape, or the word before it. `near`: what else stands in its part of the cell, between semicolons. `said`:
    what follows it in parentheses."""

    row: Row
    kind: str
    text: str
    near: tuple[str, ...]
    said: str | None = None


def rows() -> list[Row]:
    found, design = [], ""
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            design = line[3:]
        if line.startswith("| ") and not line.startswith(("| there ", "| kind ")) and design:
            there, here, note = (cell.strip() for cell in line.strip("|").split(" | "))
            found.append(Row(number, design, there, here, note.rstrip(" |")))
    return found


SHAPES: Final[Mapping[str, str]] = {
    "route": r"(?:GET|POST|PUT|PATCH|DELETE|WS) /\S*",
    "value": r"[a-z]+(?:\.\w+)+: [\w-]+",
    "command": r"cairn [a-z ]+",
    "key of route": r"route\.\w+",
    "table": r"(?:rag|analyst)\.[a-z0-9_]+(?:\.[a-z0-9_]+)?",
    "setting": r"[a-z]+(?:\.[a-z]\w*)+",
    "path": r"[\w.-]+(?:/[\w.-]+)+/?",
    "variable": r"(?:CAIRN|OPENAI|COHERE)_[A-Z_]+",
    "header": r"[A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)+",
    "metric": r"cairn_\w+|\w+@\d+",
}  # fmt: skip
WORDS: Final = (
    "field", "event", "tool", "intent", "type", "level", "mode", "strategy", "code", "step", "status", "constant", "function",
    "class", "metric", "query class", "part",
)  # fmt: skip
PLURALS: Final = {"strategies": "strategy", "statuses": "status", "classes": "class", "query classes": "query class"}
KIND_WORD: Final = re.compile(
    rf"\b({'|'.join(sorted([*PLURALS, *(f'{word}s' for word in WORDS), *WORDS], key=len, reverse=True))})\b"
)
CODE: Final = re.compile(r"`([^`]+)`(?: \(([^()]*)\))?")


def shape_of(text: str) -> str | None:
    return next((kind for kind, pattern in SHAPES.items() if re.fullmatch(pattern, text)), None)


def names(row: Row) -> Iterator[Name]:
    """All of the column "here"; of the last one those that their shape tells."""
    for text in re.findall(r"`([^`]+)`", row.note):
        if kind := shape_of(text):
            yield Name(row, kind, text, ())
    for part in row.here.split(";"):
        near = tuple(re.findall(r"`([^`]+)`", part))
        for match in CODE.finditer(part):
            said = KIND_WORD.findall(CODE.sub(lambda found: "`" * len(found[0]), part[: match.start()]))
            word = said[-1] if said else "nothing that is said"
            kind = shape_of(match[1]) or PLURALS.get(word, word.removesuffix("s") if word not in WORDS else word)
            yield Name(row, kind, match[1], near, match[2])


# --- what there is ------------------------------------------------------------------------------------------------------


@cache
def openapi() -> Mapping[str, Any]:
    return create_app(read_environment(), SettingsStore()).openapi()


@cache
def routes() -> frozenset[str]:
    """Those of the description; of the policies, without which no route starts, what no description has."""
    described = {f"{method.upper()} {path}" for path, item in openapi()["paths"].items() for method in item}
    return frozenset(described | {one for one in POLICIES if one.startswith("WS ") or one == "POST /mcp"})


def operation(route: str) -> Mapping[str, Any]:
    method, _, path = route.partition(" ")
    found: Mapping[str, Any] = openapi()["paths"].get(path, {}).get(method.lower(), {})
    return found


@cache
def fields(route: str) -> frozenset[str]:
    """Of the bodies that a route takes and gives, in whatever depth, and its parameters."""
    one, found, seen = operation(route), set[str](), set[str]()

    def look(schema: Any) -> None:
        if isinstance(schema, list):
            for item in schema:
                look(item)
        if not isinstance(schema, dict):
            return
        if (reference := schema.get("$ref")) and reference not in seen:
            seen.add(reference)
            look(openapi()["components"]["schemas"][reference.rsplit("/", 1)[-1]])
        for key, value in schema.items():
            if key == "properties":
                found.update(value)
                look(list(value.values()))
            elif key not in ("example", "examples", "default", "enum"):
                look(value)

    look([one.get("requestBody", {}), one.get("responses", {}).get("200", {}), one.get("responses", {}).get("202", {})])
    return frozenset(found | {given["name"] for given in one.get("parameters", ())})


def events(route: str) -> frozenset[str]:
    content = operation(route).get("responses", {}).get("200", {}).get("content", {})
    streamed = content.get("text/event-stream", {}).get("itemSchema", {})
    return frozenset(streamed.get("properties", {}).get("event", {}).get("enum", ()))


@cache
def views() -> Mapping[str, str]:
    return {f"analyst.{path.stem}": path.read_text(encoding="utf-8") for path in (ROOT / "sql" / "views").glob("*.sql")}


@cache
def functions_of_sql() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "sql" / "functions").glob("*.sql"))


def is_table(name: str) -> bool:
    """A table or one of its columns; a view, or a column of one, each of which has a comment; a function."""
    schema, relation, *column = name.split(".")
    whole = f"{schema}.{relation}"
    if schema == "analyst" and whole in views():
        return not column or f"COMMENT ON COLUMN {name} IS" in views()[whole]
    if whole in metadata.tables:
        return not column or column[0] in metadata.tables[whole].columns
    return not column and f"CREATE OR REPLACE FUNCTION {whole}(" in functions_of_sql()


@cache
def sources() -> Mapping[str, str]:
    """Of the code, by path. To parse all of it takes seconds."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in (ROOT / "app").rglob("*.py")
    }


def nodes(*rooms: str, holding: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Of files in these rooms whose text holds that; each with the room it stands in."""
    for path, source in sources().items():
        room = path.split("/")[2]
        if (room in rooms or not rooms) and holding in source:
            yield from ((room, node) for node in ast.walk(ast.parse(source)))


@cache
def texts() -> frozenset[tuple[str, str]]:
    """Texts that stand alone, each with the room that it stands in."""
    return frozenset(
        (room, node.value)
        for room, node in nodes("settings", "interfaces")
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


@cache
def keys_of_routes() -> frozenset[str]:
    """Keys of the dicts that runs and strategies write down."""
    written = (node for _, node in nodes("runs", "strategies") if isinstance(node, ast.Dict))
    return frozenset(str(key.value) for one in written for key in one.keys if isinstance(key, ast.Constant))


@cache
def steps() -> frozenset[str]:
    """First arguments of Progress(...)."""
    calls = (node for _, node in nodes(holding="Progress(") if isinstance(node, ast.Call))
    told = (node.args[0] for node in calls if getattr(node.func, "id", "") == "Progress" and node.args)
    return frozenset(str(one.value) for one in told if isinstance(one, ast.Constant))


@cache
def defined(path: str) -> Mapping[str, ast.AST]:
    """Functions and classes of a file, in whatever depth, and what its constants are set to."""
    tree = ast.parse(sources().get(path, ""))
    found: dict[str, ast.AST] = {
        node.name: node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    for node in tree.body:
        if isinstance(node, ast.AnnAssign | ast.Assign) and node.value is not None:
            target, value = node.target if isinstance(node, ast.AnnAssign) else node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            found |= {one.id: set_to for one, set_to in pairs if isinstance(one, ast.Name)}
    return found


@cache
def commands() -> frozenset[str]:
    def below(group: Any, above: str) -> Iterator[str]:
        yield above
        for name, one in getattr(group, "commands", {}).items():
            yield from below(one, f"{above} {name}")

    return frozenset(below(typer.main.get_command(command_line), "cairn"))


@cache
def defaults() -> Mapping[str, Any]:
    return flatten_settings(Settings())


def is_valid(text: str) -> bool:
    key, value = text.split(": ")
    try:
        change_settings(Settings(), {key: read_value(value)})
    except SettingsError:
        return False
    return True


def in_file(name: Name) -> bool:
    made = [defined(path)[name.text] for path in name.near if name.text in defined(path)]
    return any(isinstance(one, DEFINITIONS[name.kind]) for one in made)


# --- the checks ----------------------------------------------------------------------------------------------------------

METRICS: Final = frozenset(
    {*metrics.METRICS, *answers.ANSWER_METRICS, *(one.name for one in Metrics().registry.collect())}
)
STATUSES: Final = frozenset({*get_args(Status), *get_args(JobStatus), *get_args(RunStatus)})
DEFINITIONS: Final[Mapping[str, tuple[type[ast.AST], ...]]] = {
    "function": (ast.FunctionDef, ast.AsyncFunctionDef), "class": (ast.ClassDef,), "constant": (ast.expr,),
}  # fmt: skip

Check = Callable[[Name], bool]
CHECKS: Final[Mapping[str, Check]] = {
    "route": lambda name: name.text in routes(),
    "value": lambda name: is_valid(name.text),
    "command": lambda name: name.text in commands(),
    "key of route": lambda name: name.text.removeprefix("route.") in keys_of_routes(),
    "table": lambda name: is_table(name.text) or name.text in defaults(),
    "setting": lambda name: name.text in defaults(),
    "path": lambda name: (ROOT / name.text).exists(),
    "variable": lambda name: ("settings", name.text) in texts(),
    "header": lambda name: ("interfaces", name.text) in texts(),
    "metric": lambda name: name.text in METRICS,
    "field": lambda name: any(name.text in fields(one) for one in name.near if " /" in one),
    "event": lambda name: any(name.text in events(one) for one in name.near if " /" in one),
    "tool": lambda name: name.text in {**TOOLS, **MCP_TOOLS},
    "intent": lambda name: name.text in get_args(Intent),
    "type": lambda name: name.text in get_args(QueryType),
    "level": lambda name: name.text in get_args(Level),
    "mode": lambda name: name.text in get_args(WeightMode),
    "query class": lambda name: name.text in get_args(QueryClass),
    "strategy": lambda name: name.text in STRATEGIES,
    "code": lambda name: name.text in get_args(Code) or name.text in known_problems(),
    "step": lambda name: name.text in steps(),
    "status": lambda name: name.text in STATUSES,
    "part": lambda name: any(f"\n## {name.text}\n" in (ROOT / path).read_text() for path in name.near if path.endswith(".md")),
    "constant": lambda name: in_file(name),
    "function": lambda name: in_file(name),
    "class": lambda name: in_file(name),
}  # fmt: skip


def test_every_name_here_is_there() -> None:
    told = [name for row in rows() for name in names(row)]
    assert len(told) > 300  # the page is read at all
    gone = [name for name in told if name.kind not in CHECKS or not CHECKS[name.kind](name)]
    assert not gone, "\n".join(f"line {name.row.line}: {name.kind} `{name.text}`" for name in gone)


@pytest.mark.parametrize("kind", CHECKS)
def test_a_name_that_is_not_there_is_found_out(kind: str) -> None:
    """One letter more makes another name of any."""
    name = next(name for row in rows() for name in names(row) if name.kind == kind)
    longer = Name(name.row, kind, f"{name.text}x", (*name.near, f"{name.text}x"))
    assert CHECKS[kind](name)
    assert not CHECKS[kind](longer)


def test_defaults_are_those_of_the_code() -> None:
    """`rag.topK` (5), constant `SHORT` (15) in a file: what stands in parentheses behind a name is its value."""
    wrong = []
    for name in (name for row in rows() for name in names(row) if name.said):
        if name.kind in ("setting", "table") and name.text in defaults():
            value = defaults()[name.text]
        elif name.kind == "constant":
            value = ast.literal_eval(next(defined(path)[name.text] for path in name.near if name.text in defined(path)))
        else:
            wrong.append(f"line {name.row.line}: `{name.text}` ({name.said}) is no value")
            continue
        if read_value(name.said or "") != value:
            wrong.append(f"line {name.row.line}: `{name.text}` is {json.dumps(value)}, not {name.said}")
    assert not wrong, "\n".join(wrong)


def test_rows_say_something() -> None:
    """Each name of a design stands once in its part; where there is nothing here, the row says why."""
    told = [(row, name) for row in rows() for name in re.findall(r"`([^`]+)`", row.there)]
    times = Counter((row.design, name) for row, name in told)
    assert [f"line {row.line}: `{name}` stands twice" for row, name in told if times[row.design, name] > 1] == []
    assert [row for row in rows() if not (row.there and row.here)] == []
    assert [f"line {row.line}: nothing, and no reason" for row in rows() if row.here == NOTHING and not row.note] == []


def test_links_lead_somewhere() -> None:
    wrong = []
    for target in re.findall(r"\]\(([^()\s]+)\)", PAGE.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = PAGE.parent / path if path else PAGE
        if not file.exists() or (anchor and anchor not in anchors(file)):
            wrong.append(target)
    assert wrong == []
    for name in ("README.md", "docs/architecture.md", "docs/adr/0056-left-out.md"):
        assert PAGE.name in (ROOT / name).read_text(encoding="utf-8"), f"{name} does not lead to it"


def anchors(file: Path) -> frozenset[str]:
    text = file.read_text(encoding="utf-8")
    headings = (re.sub(r"[^\w\- ]", "", line).strip().lower() for line in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return frozenset({*re.findall(r'<a id="([^"]+)"', text), *(one.replace(" ", "-") for one in headings)})
