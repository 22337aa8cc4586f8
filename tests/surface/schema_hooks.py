"""Loaded by schemathesis (test_api_schema.py): values of a wrong type are refused by the same lines, so of the wrong types of a
place only every third is tried, and of different places different ones. Each place has one."""

from __future__ import annotations

from collections import Counter

import schemathesis
from schemathesis import Case, HookContext

_before: Counter[object] = Counter()
"""Wrong types so far of each place: operation, part of the request, parameter, and where in its value."""


@schemathesis.hook
def filter_case(context: HookContext, case: Case) -> bool:
    phase = case.meta.phase.data if case.meta else None
    if getattr(phase, "scenario", None) != "incorrect_type":
        return True
    alternatives = (phase.location or "").partition("/anyOf/")[0]  # null beside what else may stand there
    place = (case.operation.label, phase.parameter_location, phase.parameter, alternatives.removesuffix("/type"))
    _before[place] += 1
    return (_before[place] + len(_before)) % 3 == 0
