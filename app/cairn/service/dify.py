"""A collection as knowledge of somebody else's application: passages whose score says how sure a search is, and conditions on
metadata.

Conditions that say what a value is are filters of the search. All others are looked at in what it finds: in its first LOOKED_AT
passages, so that a condition that few documents meet may leave fewer passages than there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, get_args

from cairn.domain.passage import Passage, SearchResult
from cairn.errors import InputError
from cairn.service.documents import get_collection
from cairn.service.search import make_request, run_search
from cairn.wiring import Services

LOOKED_AT: Final = 200
Operator = Literal[
    "contains", "not contains", "start with", "end with", "is", "is not", "in", "not in", "empty", "not empty", "=", "≠",
    ">", "<", "≥", "≤", "before", "after",
]  # fmt: skip
_NEGATED: Final[Mapping[str, Operator]] = {
    "not contains": "contains", "is not": "is", "not in": "in", "not empty": "empty", "≠": "=",
}  # fmt: skip
_VALUELESS: Final = ("empty", "not empty")


@dataclass(frozen=True, slots=True)
class FieldCondition:
    """Of metadata: one of these fields, compared with the value. A negation speaks of all of them. A field that is a list meets
    it where one of its items does."""

    names: tuple[str, ...]
    operator: Operator
    value: str | float | tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """A passage and its `score` in 0..1: the best one has the confidence of the search, the others their share of it; where a
    reranker made the order, its scores. Never more than that of the one before."""

    passage: Passage
    score: float


async def find_knowledge(
    services: Services,
    collection: str,
    query: str,
    *,
    top_k: int,
    threshold: float = 0.0,
    conditions: Sequence[FieldCondition] = (),
    every: bool = True,
) -> list[Knowledge]:
    """Passages with a score of `threshold` at least, best first. `every`: all conditions must hold, else one. Raises
    NotFoundError, InputError."""
    for condition in conditions:
        check_condition(condition)
    found = await get_collection(services, collection)
    filters, rest = split_conditions(conditions) if every else ({}, list(conditions))
    request = make_request(
        services.settings.current, query, [found.name], top_k=max(top_k, LOOKED_AT) if rest else top_k,
        filters=filters or None,
    )  # fmt: skip
    scored = score_passages(await run_search(services, request))
    met = all if every else any
    kept = [one for one in scored if not rest or met(holds(condition, one.passage.metadata) for condition in rest)]
    return [one for one in kept if one.score >= threshold][:top_k]


def score_passages(result: SearchResult) -> list[Knowledge]:
    """In their order."""
    best = max((passage.score for passage in result.passages), default=0.0)
    sure, least, scored = max(result.confidence.values(), default=0.0), 1.0, []
    for passage in result.passages:
        own = passage.score / best * sure if best > 0 else 0.0
        score = own if passage.rerank_score is None else passage.rerank_score
        least = max(0.0, min(least, score))
        scored.append(Knowledge(passage, round(least, 4)))
    return scored


# --- conditions ---------------------------------------------------------------------------------------------------------


def split_conditions(conditions: Sequence[FieldCondition]) -> tuple[dict[str, Any], list[FieldCondition]]:
    """Those of which all must hold: as filters, and the rest. A value that may be meant as a number is compared here."""
    filters: dict[str, Any] = {}
    rest: list[FieldCondition] = []
    for one in conditions:
        is_text = one.operator == "is" and isinstance(one.value, str) and _number(one.value) is None
        if is_text and len(one.names) == 1 and filters.get(one.names[0], one.value) == one.value:
            filters[one.names[0]] = one.value
        else:
            rest.append(one)
    return filters, rest


def holds(condition: FieldCondition, metadata: Mapping[str, Any]) -> bool:
    """Whether metadata meet it."""
    if positive := _NEGATED.get(condition.operator):
        return not holds(FieldCondition(condition.names, positive, condition.value), metadata)
    if condition.operator == "empty":
        return all(metadata.get(name) in (None, "", [], {}) for name in condition.names)
    compare = _COMPARISONS[condition.operator]
    return any(
        compare(item, condition.value)
        for name in condition.names if (value := metadata.get(name)) is not None
        for item in (value if isinstance(value, list) else [value])
    )  # fmt: skip


def check_condition(condition: FieldCondition) -> None:
    """Raises InputError for one that no metadata can meet or miss."""
    if not condition.names:
        raise InputError("a condition names the field of metadata that it is about")
    if condition.operator in _VALUELESS:
        return
    if condition.value is None:
        raise InputError(f"the condition {condition.operator!r} on {condition.names[0][:100]!r} needs a value")
    if condition.operator in _NUMERIC and _number(condition.value) is None:
        raise InputError(f"{condition.operator} compares numbers, and {str(condition.value)[:100]!r} is none")
    if condition.operator in ("before", "after") and _moment(condition.value) is None:
        raise InputError(
            f"{condition.operator} compares dates, and {str(condition.value)[:100]!r} is none; write 2026-11-21, or seconds "
            "since 1970"
        )


def _text(value: Any) -> str:
    number = _number(value)
    return str(value).casefold() if number is None else f"{number:g}"


def _number(value: Any) -> float | None:
    if isinstance(value, bool | tuple) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _moment(value: Any) -> datetime | None:
    """A date, a moment, or seconds since 1970."""
    try:
        number = _number(value)
        if number is not None:
            return datetime.fromtimestamp(number, UTC)
        made = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return made if made.tzinfo else made.replace(tzinfo=UTC)


def _by_number(compare: Callable[[float, float], bool]) -> Callable[[Any, Any], bool]:
    def compared(value: Any, wanted: Any) -> bool:
        own, other = _number(value), _number(wanted)
        return own is not None and other is not None and compare(own, other)

    return compared


def _by_moment(compare: Callable[[datetime, datetime], bool]) -> Callable[[Any, Any], bool]:
    def compared(value: Any, wanted: Any) -> bool:
        own, other = _moment(value), _moment(wanted)
        return own is not None and other is not None and compare(own, other)

    return compared


def _is(value: Any, wanted: Any) -> bool:
    if _number(value) is None and _number(wanted) is None:
        return str(value) == str(wanted)
    return _number(value) == _number(wanted)


def _is_one_of(value: Any, wanted: Any) -> bool:
    return any(_is(value, one) for one in (wanted if isinstance(wanted, tuple) else (wanted,)))


_NUMERIC: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": _by_number(lambda own, other: own == other), ">": _by_number(lambda own, other: own > other),
    "<": _by_number(lambda own, other: own < other), "≥": _by_number(lambda own, other: own >= other),
    "≤": _by_number(lambda own, other: own <= other),
}  # fmt: skip
_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    **_NUMERIC,
    "contains": lambda value, wanted: _text(wanted) in _text(value),
    "start with": lambda value, wanted: _text(value).startswith(_text(wanted)),
    "end with": lambda value, wanted: _text(value).endswith(_text(wanted)),
    "is": _is,
    "in": _is_one_of,
    "before": _by_moment(lambda own, other: own < other),
    "after": _by_moment(lambda own, other: own > other),
}
assert {*_COMPARISONS, *_NEGATED, "empty"} == {*get_args(Operator)}
