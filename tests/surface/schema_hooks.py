"""Loaded by schemathesis (test_api_schema.py), which would try everything of everything, as it does in a siege. Values of a
wrong type are refused by the same lines, so of the four and more wrong types of a place one is tried, and of different places
different ones. Of bodies that are as they should be, which the server has to work for, every third of each operation is sent."""

from __future__ import annotations

from collections import Counter

import schemathesis
from schemathesis import Case, HookContext

RIGHT = ("valid_object", "object_required_and_optional")
LEAST_WRONG = 4
"""Wrong types of a place, at least."""
_seen: Counter[object] = Counter()
_tried: dict[object, int] = {}
"""Which of the wrong types of a place: operation, part of the request, parameter, and where in its value."""


@schemathesis.hook
def filter_case(context: HookContext, case: Case) -> bool:
    phase = case.meta.phase.data if case.meta else None
    scenario = str(getattr(phase, "scenario", None))
    if phase is None or scenario not in (*RIGHT, "incorrect_type"):
        return True
    if scenario in RIGHT:
        return _number((case.operation.label, scenario)) % 3 == 0
    alternatives = (phase.location or "").partition("/anyOf/")[0]  # null beside what else may stand there
    place = (case.operation.label, phase.parameter_location, phase.parameter, alternatives.removesuffix("/type"))
    return _number(place) == _tried.setdefault(place, len(_tried) % LEAST_WRONG)


def _number(what: object) -> int:
    _seen[what] += 1
    return _seen[what] - 1
