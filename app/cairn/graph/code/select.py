"""Which definitions a question means by a name, and names that are nearly like it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from cairn.domain.code import SEPARATOR, SymbolQuery
from cairn.graph.code.callers import CONSTRUCTORS
from cairn.graph.code.links import CodeLinks
from cairn.graph.code.matching import fits, qualify_name
from cairn.graph.code.questions import is_file
from cairn.language.linear import bounded
from cairn.language.text import fold

MOST_NEAR: Final = 5
_LIKE: Final = 0.75
"""Likeness from which a name may have been meant."""
_HEADER: Final = re.compile(r"\.(?:h|hh|hpp)$")


def select_definitions(query: SymbolQuery, links: CodeLinks) -> list[str]:
    """Definitions that a query means, the outermost first: those spelled as it is, else whatever their capitals. Where none
    has the whole name, what a module offers under it or a class inherits."""
    bare = query.name.rpartition("/")[2] if is_file(query.name) else query.name.rpartition(".")[2]
    found = [one for one in links.called(bare) if fits(one, query)]
    if not found and "." in query.name:
        found = [one for one in links.full_name(query.name) if fits(one, SymbolQuery("", query.path))]
    spelled = [one for one in found if f".{'.'.join(qualify_name(one))}".endswith(f".{query.name}")]
    chosen = [one for one in spelled or found if _is_meant(one, query, links)]
    return sorted(set(chosen), key=lambda one: (one.rpartition(SEPARATOR)[2].count("."), len(one), one))


def _is_meant(normal: str, query: SymbolQuery, links: CodeLinks) -> bool:
    """A file is meant where it is named as one, or asked for what only files have; a constructor is called by its class."""
    if links.kind(normal) == "module":
        return is_file(query.name) or query.relation in ("imports", "contains") or query.aspect == "defined"
    owner, _, name = normal.rpartition(".")
    return not (name == owner.rpartition(SEPARATOR)[2].rpartition(".")[2] and links.kind(owner) == "class") or (
        name in CONSTRUCTORS
    )


def near_names(name: str, links: CodeLinks) -> list[str]:
    """Definitions by names that may have been meant, as they are written."""
    wanted = fold(name.rpartition(".")[2])
    known = list(links.names)
    found = get_close_matches(wanted, known, MOST_NEAR, _LIKE)
    if len(wanted) > 3:
        found += [one for one in known if wanted in one and one not in found]
    short = (_short(normal) for one in found for normal in links.called(one)[:1])
    return list(dict.fromkeys(filter(None, short)))[:MOST_NEAR]


def _short(normal: str) -> str:
    path, separator, name = normal.rpartition(SEPARATOR)
    return name if separator else path.rpartition("/")[2]


def module_forms(name: str) -> tuple[str, ...]:
    """How files may refer to a module: "a/b" is a.b, "stdio.h" stdio, "github.com/x/y" github_com.x.y."""
    plain = _HEADER.sub("", name.strip("<>\"'").removesuffix("/"))
    parts = [part for part in plain.replace("::", "/").split("/") if part not in ("", ".", "..")]
    if not parts:
        return ()
    forms = [".".join(parts), ".".join([parts[0].replace(".", "_"), *parts[1:]]), ".".join(parts).lower()]
    return tuple(dict.fromkeys(forms))


def assignments(name: str, text: str, most: int) -> Iterator[tuple[int, int]]:
    """Spans of a name where a line gives it a value or a type: a constant, a variable, a field."""
    pattern = bounded(
        rf"^[ \t]*(?:[\w.<>\[\]*&]+[ \t]+){{0,6}}(?:self\.|this\.)?(?P<name>{re.escape(name)})[ \t]*"
        rf"(?::(?!:)|:?=(?!=)|[ \t]+[\d\"'(])",
        re.MULTILINE,
    )
    for number, found in enumerate(pattern.finditer(text)):
        if number >= most:
            return
        yield found.span("name")


def lines_with(name: str, text: str, most: int) -> Sequence[tuple[int, int]]:
    """Spans of a name as a whole word."""
    found = re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return [one.span() for _, one in zip(range(most), found, strict=False)]
