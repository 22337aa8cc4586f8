"""Which lines of AsciiDoc a condition on values (`ifeval::`) leaves out. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from operator import eq, ge, gt, le, lt, ne
from typing import Final

from cairn.language.linear import bounded

_DIRECTIVE: Final = bounded(r"(ifdef|ifndef|ifeval|endif)::([^\[\]]*)\[(.*)\][ \t]*+")
_ATTRIBUTE: Final = re.compile(r":(!?)([\w-]{1,80})(!?):(?:[ \t]++(.*))?")
_COMPARED: Final = bounded(
    r"\s*(\"[^\"]*\"|'[^']*'|[^\s\"'=!<>]+)\s*(==|!=|<=|>=|<|>)\s*(\"[^\"]*\"|'[^']*'|[^\s\"'=!<>]+)\s*"
)
_REFERENCE: Final = re.compile(r"\{([A-Za-z0-9_][\w-]{0,80})\}")
_OF_TEXTS: Final[Mapping[str, Callable[[str, str], bool]]] = {"==": eq, "!=": ne}
_OF_NUMBERS: Final[Mapping[str, Callable[[float, float], bool]]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_SWITCHED_ON: Final = "true"
_LONGEST: Final = 1000


def without_unmet(lines: Sequence[str]) -> Sequence[str]:
    """The lines without those below an `ifeval::` that does not hold. What cannot be told stays, and so does all of a document
    whose conditions do not end."""
    if not any(line.startswith("ifeval::") and _REFERENCE.search(line) for line in lines):
        return lines
    told = {said[2] for line in lines if line.startswith(":") and (said := _ATTRIBUTE.fullmatch(line.rstrip()))}
    values: dict[str, str] = {}
    kept: list[str] = []
    opened: list[bool] = []
    for line in lines:
        if (line.startswith(("if", "endif"))) and (said := _DIRECTIVE.fullmatch(line)):
            kept.append(line)
            if said[1] == "ifeval":
                opened.append(_holds(said[3], values, told))
            elif said[1] == "endif":
                del opened[-1:]
            elif not said[3]:
                opened.append(True)
        elif all(opened):
            kept.append(line)
            if line.startswith(":") and (named := _ATTRIBUTE.fullmatch(line.rstrip())):
                values.pop(named[2], None)
                if not (named[1] or named[3]):
                    values[named[2]] = _filled(named[4] or "", values)[:_LONGEST]
    return lines if opened else kept


def _holds(condition: str, values: Mapping[str, str], told: Set[str]) -> bool:
    """Whether two values compare as the condition says. What the document does not set may be set where a site is built; only
    what it sets or takes away somewhere (`told`) is not switched on where it has no value."""
    said = _COMPARED.fullmatch(condition)
    if said is None:
        return True
    left, right = (_filled(said[side].strip("\"'"), values) for side in (1, 3))
    if unknown := {*_REFERENCE.findall(left), *_REFERENCE.findall(right)}:
        return not unknown <= told or said[2] != "==" or _SWITCHED_ON not in (left, right)
    if compare := _OF_TEXTS.get(said[2]):
        return compare(left, right)
    try:
        return _OF_NUMBERS[said[2]](float(left), float(right))
    except ValueError:
        return True


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda found: values.get(found[1], found[0]), text) if "{" in text else text
