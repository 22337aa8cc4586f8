"""Which lines of AsciiDoc a condition on values (`ifeval::`) leaves out. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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
    asked = {name for line in lines if line.startswith("ifeval::") for name in _REFERENCE.findall(line)}
    if not asked:
        return lines
    values: dict[str, str] = {}
    kept: list[str] = []
    opened: list[bool] = []
    for line in lines:
        if (line.startswith(("if", "endif"))) and (said := _DIRECTIVE.fullmatch(line)):
            kept.append(line)
            if said[1] == "ifeval":
                opened.append(_holds(said[3], values, is_told=not asked.isdisjoint(values)))
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


def _holds(condition: str, values: Mapping[str, str], *, is_told: bool) -> bool:
    """Whether two values compare as the condition says. What the document does not set may be set where a site is built; only
    where it sets another of those that it asks for (`is_told`), the ones that it leaves out are not switched on."""
    said = _COMPARED.fullmatch(condition)
    if said is None:
        return True
    left, right = (_filled(said[side].strip("\"'"), values) for side in (1, 3))
    unknown = [bool(_REFERENCE.search(value)) for value in (left, right)]
    if any(unknown):
        return not is_told or said[2] != "==" or _SWITCHED_ON not in (left, right)
    if compare := _OF_TEXTS.get(said[2]):
        return compare(left, right)
    try:
        return _OF_NUMBERS[said[2]](float(left), float(right))
    except ValueError:
        return True


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda found: values.get(found[1], found[0]), text) if "{" in text else text
