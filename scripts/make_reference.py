"""Writes docs/reference/ (settings, REST routes, commands and SQL views, as the code describes them) and the list of decisions.

    python scripts/make_reference.py [--check]

`make reference` runs it. `--check` writes nothing; it exits with 1 and names the pages that are not what the code says.
A test asks the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

REPO: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = REPO / "docs" / "reference"
NOTE: Final = "<!-- Made by `make reference` from the code; do not edit. -->\n"


def row(*cells: str) -> str:
    """Of a Markdown table."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def table(*headings: str) -> Iterator[str]:
    yield row(*headings)
    yield "|" + "---|" * len(headings)


# --- settings ---


def describe_settings() -> str:
    """Every key of settings.json: its default, its bounds, and what it does."""
    from pydantic import BaseModel

    from cairn.service.restart import READ_AT_START
    from cairn.settings import AUTO, Settings

    def keys(model: type[BaseModel], path: str) -> Iterator[str]:
        for name, field in model.model_fields.items():
            key = f"{path}.{field.alias or name}"
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                yield from keys(field.annotation, key)
            else:
                default = (
                    f'"{AUTO}"'
                    if key == "rag.embeddingModel"
                    else as_json(field.get_default(call_default_factory=True))
                )
                restart = " **Needs a restart.**" if key in READ_AT_START else ""
                yield row(f"`{key}`", f"`{default}`", bounds(field), f"{field.description or ''}{restart}")

    def lines() -> Iterator[str]:
        yield "# Settings\n"
        yield (
            "`settings.json` (or the file that `CAIRN_SETTINGS` names) needs only what differs from these defaults. "
            "It is read again when it changes, but for what needs a restart; unknown keys and wrong values are "
            "refused by name, and the settings before stay in force ([how](../operations.md#settings)).\n"
        )
        for name, field in Settings.model_fields.items():
            section = field.annotation
            if not (isinstance(section, type) and issubclass(section, BaseModel)):
                continue
            yield f"## {field.alias or name}\n"
            if about := own_docstring(section):
                yield about + "\n"
            yield from table("key", "default", "values", "what it does")
            yield from keys(section, field.alias or name)
            yield ""

    return "\n".join(lines())


def own_docstring(model: type[Any]) -> str:
    return " ".join((model.__dict__.get("__doc__") or "").split())


def as_json(value: Any) -> str:
    from pydantic_core import to_json

    return to_json(value).decode()


def bounds(field: Any) -> str:
    """What may stand there, such as "0 to 1", "true, false" or a list of words."""
    import typing

    from annotated_types import Ge, Gt, Le, Lt

    if typing.get_origin(field.annotation) is typing.Literal:
        return ", ".join(f"`{choice}`" for choice in typing.get_args(field.annotation))
    if field.annotation is bool:
        return "`true`, `false`"
    low = next((f"{found.ge:g}" for found in field.metadata if isinstance(found, Ge)), "") or next(
        (f"above {found.gt:g}" for found in field.metadata if isinstance(found, Gt)), ""
    )
    high = next((f"{found.le:g}" for found in field.metadata if isinstance(found, Le)), "") or next(
        (f"below {found.lt:g}" for found in field.metadata if isinstance(found, Lt)), ""
    )
    if low and high:
        return f"{low} to {high}"
    return f"from {low}" if low and not low.startswith("above") else low or (f"to {high}" if high else "")


# --- REST ---


def describe_routes() -> str:
    """Every route of the OpenAPI document, by group."""
    from cairn.interfaces.http.description import GROUPS
    from cairn.interfaces.server import create_app
    from cairn.settings import SettingsStore, read_environment

    paths: Mapping[str, Any] = create_app(read_environment({}), SettingsStore()).openapi()["paths"]

    def lines() -> Iterator[str]:
        yield "# REST routes\n"
        yield (
            "What a running server describes itself at `/docs` and `/openapi.json`, with every field. How to use it is told in "
            "[the API](../api.md).\n"
        )
        for group, about in GROUPS.items():
            routes = [
                (path, method, told)
                for path, item in paths.items()
                for method, told in item.items()
                if group in told.get("tags", [])
            ]
            if not routes:
                continue
            yield f"## {group}\n\n{about}\n"
            yield from table("route", "what it does")
            for path, method, told in routes:
                yield row(f"`{method.upper()} {path}`", told.get("summary", ""))
            yield ""

    return "\n".join(lines())


# --- commands ---


def describe_commands() -> str:
    """Every command with its arguments and options, as --help has them."""
    import typer

    from cairn.interfaces.cli.main import app

    def options(command: Any) -> Iterator[str]:
        shown = [found for found in command.params if not getattr(found, "hidden", False) and found.name != "help"]
        if not shown:
            return
        yield from table("argument or option", "meaning")
        for found in shown:
            if found.param_type_name == "argument":
                name = found.metavar or (found.name or "").upper()
            else:
                name = ", ".join([*found.opts, *found.secondary_opts])
                if not getattr(found, "is_flag", False):
                    name += f" {found.metavar or 'VALUE'}"
            default = found.default
            told = getattr(found, "help", None) or ""
            if default not in (None, False, (), "", []) and not callable(default) and "default" not in told.casefold():
                told += f" Default: {getattr(default, 'value', default)}."
            yield row(f"`{name}`", told)
        yield ""

    def commands(command: Any, path: str, level: int) -> Iterator[str]:
        about = " ".join((command.help or "").split())
        yield f"{'#' * level} {path}\n"
        if about:
            yield about + "\n"
        yield from options(command)
        for name, child in sorted(getattr(command, "commands", {}).items()):
            if not child.hidden:
                yield from commands(child, f"{path} {name}", min(level + 1, 3))

    def lines() -> Iterator[str]:
        yield "# Commands\n"
        yield "`cairn COMMAND --help` says the same. Exit codes stand in [operating](../operations.md).\n"
        yield from commands(typer.main.get_command(app), "cairn", 2)

    return "\n".join(lines())


# --- views ---

ABOUT: Final = re.compile(r"COMMENT ON (VIEW|COLUMN) analyst\.(\w+)(?:\.(\w+))? IS\s+'((?:[^']|'')*)';")


def describe_views() -> str:
    """Every view of schema analyst with its columns, from the comments that the database has."""
    found = [
        (kind, view, column, told.replace("''", "'"))
        for path in sorted((REPO / "sql" / "views").glob("*.sql"))
        for kind, view, column, told in ABOUT.findall(path.read_text(encoding="utf-8"))
    ]

    def lines() -> Iterator[str]:
        yield "# SQL views\n"
        yield (
            "Schema `analyst`, as `\\d+ analyst.documents` in psql tells it, too. How to get in, and queries to begin "
            "with: [for analysts](../analysts.md).\n"
        )
        for view in sorted({view for _, view, _, _ in found}):
            told = next(told for kind, name, _, told in found if (kind, name) == ("VIEW", view))
            yield f"## {view}\n\n{told}\n"
            yield from table("column", "meaning")
            yield from (
                row(f"`{column}`", told) for kind, name, column, told in found if (kind, name) == ("COLUMN", view)
            )
            yield ""

    return "\n".join(lines())


# --- decisions ---


def describe_decisions() -> str:
    """Every decision by its number and title."""

    def lines() -> Iterator[str]:
        yield "# Decisions\n"
        yield (
            "What somebody could reasonably have done otherwise: the question, what was chosen, what was measured. "
            "A later page may end an earlier one; both say so.\n"
        )
        for path in sorted((REPO / "docs" / "adr").glob("[0-9]*.md")):
            title = path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")
            yield f"- [{title}]({path.name})"

    return "\n".join(lines())


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "settings.md": describe_settings,
    "rest.md": describe_routes,
    "commands.md": describe_commands,
    "views.md": describe_views,
    "../adr/README.md": describe_decisions,
}


def make(page: str) -> str:
    """The text of one of PAGES."""
    return NOTE + "\n" + PAGES[page]().rstrip() + "\n"


def stale() -> list[str]:
    """Those of PAGES that are missing or not what the code says."""
    return [
        page
        for page in PAGES
        if not (FOLDER / page).exists() or (FOLDER / page).read_text(encoding="utf-8") != make(page)
    ]


def main() -> int:
    old = stale()
    if "--check" in sys.argv[1:]:
        print(
            "\n".join(f"docs/reference/{page} is not what the code says: make reference" for page in old),
            end="\n" if old else "",
        )
        return int(bool(old))
    FOLDER.mkdir(exist_ok=True)
    for page in PAGES:
        (FOLDER / page).write_text(make(page), encoding="utf-8")
    print(f"{len(PAGES)} pages, {len(old)} of them changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
