"""What keeps the house in order: settings that are read, one class name for one thing, no path in the docs that is gone, and
tests that wait until something is so, and share no conftest by import."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from math import inf
from pathlib import Path

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from cairn.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "app").rglob("*.py")}


@cache
def nodes_of_tests() -> dict[Path, list[ast.AST]]:
    files = (path for path in (ROOT / "tests").rglob("*.py") if "benchmarks" not in path.parts)
    return {path: list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in files}


def keys(model: type[BaseModel], above: str = "") -> Iterator[tuple[str, str]]:
    """Dotted path and attribute of every setting that is no section."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from keys(kind, f"{above}{name}.")
        else:
            yield f"{above}{name}", name


def test_every_setting_is_read() -> None:
    """By some code outside app/cairn/settings/: a setting that changes nothing is a promise that is not kept."""
    read = {
        node.attr
        for path, tree in trees().items()
        if "settings" not in path.relative_to(ROOT / "app").parts
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    unread = {path for path, name in keys(Settings) if name not in read}
    assert unread == set()


def sections(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield name, kind
            yield from sections(kind)


def named_in(nodes: list[ast.AST]) -> set[str]:
    """Names that a test uses, and words of its texts that may be keys: not those of sentences."""
    found = set()
    for node in nodes:
        match node:
            case ast.Attribute(attr=name) | ast.keyword(arg=name) | ast.Name(id=name):
                found.add(str(name))
            case ast.Constant(value=str() | bytes() as value):
                text = value if isinstance(value, str) else value.decode("latin-1")
                if "{" in text or " " not in text.strip():
                    found.update(re.findall(r"\w+", text))
    return found


def test_every_setting_is_named_in_a_test() -> None:
    """Its key, in a file that names its section too. What none names, none tests."""
    files = defaultdict(set)  # by the word
    for path, nodes in nodes_of_tests().items():
        for word in named_in(nodes) if path != Path(__file__) else ():
            files[word].add(path)
    unnamed = {
        f"{name}.{key}"
        for name, section in sections(Settings)
        for key, _ in keys(section)
        if "." not in key
        and (files[key] | files[to_camel(key)]).isdisjoint(
            files[name] | files[to_camel(name)] | files[section.__name__]
        )
    }
    assert unnamed == set()


def test_every_setting_is_named_in_a_guide() -> None:
    """Besides the reference that is made of them: whole, or its key where the guide names its section. One of which no guide says
    when somebody would change it is to be a constant."""
    guides = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    words = [set(re.findall(r"[\w.]+", " ".join(re.findall(r"`[^`\n]+`", guide)))) for guide in guides]
    unnamed = set()
    for path, _ in keys(Settings):
        section, _, key = ".".join(map(to_camel, path.split("."))).rpartition(".")
        if not any(
            f"{section}.{key}" in named or (key in named and any(word.startswith(section) for word in named))
            for named in words
        ):
            unnamed.add(f"{section}.{key}")
    assert unnamed == set()


def test_one_public_class_name_means_one_thing() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(ROOT).as_posix())
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert not twice


def test_the_documents_name_files_that_exist() -> None:
    """Decisions (docs/adr) tell what was there when they were made; the others tell what is."""
    path = re.compile(r"(?<![\w/.])(?:app|tests|sql|scripts|migrations)/[\w/.-]*\w\.(?:py|sql|toml|md|json)\b")
    gone = {
        f"{document.name}: {name}"
        for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
        for name in path.findall(document.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    }
    assert gone == set()


CLOCKS = {"monotonic", "perf_counter", "time"}


def fixed_waits(nodes: list[ast.AST]) -> Iterator[int]:
    """Lines that wait for a number of seconds that is written there, or say that something takes less than one."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            named = {word.arg: word.value for word in node.keywords}
            waited = {"timeout": node.args[:1], "wait_for": node.args[1:2], "run": [named.get("timeout")]}
            waited |= {"communicate": [named.get("timeout")], "join": node.args[:1]}
            for seconds in waited.get(node.func.attr, ()):
                if isinstance(seconds, ast.Constant) and isinstance(seconds.value, int | float):
                    yield node.lineno
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE):
            clocks = {
                call.func.attr
                for call in ast.walk(node.left)
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
            }
            if clocks & CLOCKS and isinstance(node.comparators[0], ast.Constant):
                yield node.lineno


def test_no_test_waits_for_a_fixed_time() -> None:
    """A deadline is there so that a hang ends (tests/waiting.py, docs/adr/0039-waiting-in-tests.md)."""
    found = {
        f"{path.relative_to(ROOT)}:{line}" for path, nodes in nodes_of_tests().items() for line in fixed_waits(nodes)
    }
    assert found == set()


LONGEST_PAUSE = 0.25
"""In seconds: what is shorter lies between two looks."""
SLEEPS = {
    "tests/faults/soak/": "its users have a pace, and faults come by chance",
    "tests/waiting.py ": "between two looks",
    "tests/citus.py open_cluster": "between two tries to drop a database that Citus has still open",
    "tests/db/test_analyst_limits.py test_owner_servers_and_strangers_are_left_alone": "a transaction becomes old",
    "tests/db/test_replica_reads.py test_a_standby_that_was_promoted_is_never_used_again": "looks go by",
    "tests/faults/by_seed/rim.py StruckConnection": "a statement hangs",
    "tests/faults/database_proxy.py DatabaseProxy": "a slow network",
    "tests/faults/kill_rounds.py Round": "it kills by chance",
    "tests/faults/test_embedded_kill.py test_a_starter_killed_at_any_moment_of_the_first_start": "it kills at moments",
    "tests/faults/test_embedded_kill.py test_killing_one_of_two_owners_leaves_the_other_its_server": "looks go by",
    "tests/faults/test_worker_kill.py test_a_job_that_ends_during_an_outage_keeps_its_result": "an outage lasts",
    "tests/faults/worker_process.py work": "a job lasts as long as its test says, and others are killed in it",
    "tests/migration/test_owner.py test_analysts_are_watched_and_what_is_missing_is_told": "sessions become old",
    "tests/migration/test_releases.py read_until": "between two questions",
    "tests/surface/keyed.py settled": "between two looks at all tables",
    "tests/surface/test_api_admission.py test_a_body_that_comes_steadily_has_its_time": "a slow client",
    "tests/surface/test_api_admission.py test_an_open_connection_may_be_silent_between_requests": "silence",
    "tests/unit/test_budget.py Deaf": "a model that answers in an hour",
}
"""What may sleep for longer, or for as long as somebody says: a fault lasts, or something becomes old. No test fails since that
was too short or too long. By the start of path and outermost name."""


def sleeps(path: Path, module: ast.Module) -> Iterator[str]:
    """Path, outermost name and line of what sleeps for longer than between two looks."""
    for outer in module.body:
        for node in ast.walk(outer):
            match node:
                case ast.Call(func=ast.Attribute(attr="sleep"), args=[argument, *_]) if (
                    longest(argument) > LONGEST_PAUSE
                ):
                    yield f"{path.relative_to(ROOT)} {getattr(outer, 'name', '')}:{node.lineno}"


def longest(argument: ast.expr) -> float:
    match argument:
        case ast.Constant(value=int() | float() as seconds):
            return seconds
        case ast.IfExp(body=one, orelse=other):
            return max(longest(one), longest(other))
    return inf


def test_no_test_sleeps_but_what_holds_a_fault_or_lets_something_become_old() -> None:
    found = {
        place
        for path, (module, *_) in nodes_of_tests().items()
        for place in sleeps(path, module)  # type: ignore[arg-type]
    }
    assert {place for place in found if not place.startswith(tuple(SLEEPS))} == set()
    assert {known for known in SLEEPS if not any(place.startswith(known) for place in found)} == set()


def test_what_tests_import_is_no_conftest_that_pytest_loads_again() -> None:
    """Of a folder that is no package pytest loads it under another name, so that its counters and caches would be there twice."""
    assert [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, nodes in nodes_of_tests().items()
        for node in nodes
        if isinstance(node, ast.ImportFrom) and re.fullmatch(r"tests\.\w+(\.\w+)*\.conftest", node.module or "")
    ] == []


LONG = {"siege", "measurement"}


def marks(nodes: list[ast.expr]) -> set[str]:
    """Names of the marks that are decorators or parts of `pytestmark`; not those of single cases."""
    parts = [part for node in nodes for part in (node.elts if isinstance(node, ast.List) else [node])]
    heads = [part.func if isinstance(part, ast.Call) else part for part in parts]
    return {head.attr for head in heads if isinstance(head, ast.Attribute) and ast.unparse(head.value) == "pytest.mark"}


def test_what_make_test_leaves_out_as_a_whole_is_listed() -> None:
    """Who changes what such a module is about has to know that a change lands without it (docs/contributing.md)."""
    left_out = set()
    for path, (tree, *_) in nodes_of_tests().items():
        assert isinstance(tree, ast.Module)
        own = [node.value for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)]
        tests = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        ]
        if tests and (marks(own) & LONG or all(marks(test.decorator_list) & LONG for test in tests)):
            left_out.add(path.name)
    listed = (ROOT / "docs/contributing.md").read_text(encoding="utf-8").partition("## What `make test` leaves out")[2]
    named = set(re.findall(r"`(test_\w+\.py)`", listed.partition("Whole modules:")[2].partition("\n")[0]))
    assert named == left_out


def test_a_sweep_is_not_left_out_as_a_whole() -> None:
    """Its first case is the one test of what it guarantees."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, nodes in nodes_of_tests().items()
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and "sweep" in (held := marks(node.decorator_list))
        and held & LONG
    ]
    assert wrong == []


def defined_in(tree: ast.Module) -> set[str]:
    """Names that can be imported from a module; what stands in a branch or a `try` too."""
    found = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found.update(one.asname or one.name for one in names)
    return found


def test_what_no_suite_runs_finds_what_it_imports() -> None:
    """Benchmarks and scripts: a name that moved would be noticed only by who needs them next."""
    missing = []
    for path in [*(ROOT / "tests" / "benchmarks").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] not in {
                "cairn",
                "tests",
                "scripts",
            }:
                continue
            place = ROOT / ("app" if node.module.startswith("cairn") else "") / node.module.replace(".", "/")
            home = place.with_suffix(".py") if place.with_suffix(".py").exists() else place / "__init__.py"
            names = defined_in(ast.parse(home.read_text(encoding="utf-8"))) if home.exists() else set()
            missing += [
                f"{path.relative_to(ROOT)}: {node.module}.{one.name}"
                for one in node.names
                if one.name not in names and not list(place.glob(f"{one.name}.py")) and not (place / one.name).is_dir()
            ]
    assert not missing


def test_no_two_files_of_tests_have_one_name() -> None:
    """They are imported by it where they are collected together, and the second one is an error."""
    names = Counter(file.name for file in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
