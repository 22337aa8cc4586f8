"""Errors of the server as the exceptions that they were there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from cairn import errors
from cairn.errors import CairnError


class UnreachableError(CairnError):
    """The server did not answer, or the connection broke before the answer was complete."""

    status, code, title = 503, "unreachable", "Server unreachable"


class UnfinishedError(CairnError):
    """A job had not ended when the client stopped waiting for it; it goes on. `extra` has its `job_id`."""

    status, code, title = 504, "unfinished", "Job not ended"


MEMBERS = frozenset({"type", "title", "detail", "instance"})
"""Of a problem, which are not repeated in `extra`."""


def problem_of(status: int, body: bytes) -> CairnError:
    """The error that a response stands for: by its code, or, where this release does not know the code, by its status."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or "code" not in found:
        said = body[:200].decode("utf-8", "replace").strip()
        return _made(_by_status(status), f"HTTP {status}: {said or 'no reason given'}", {"status": status})
    return error_of(found)


def error_of(problem: Mapping[str, Any]) -> CairnError:
    """The error of a problem. `extra` has its status, code, request_id and what else it tells, such as `retry_after`."""
    status = int(problem.get("status", 500))
    kind = _by_code().get(str(problem.get("code"))) or _by_status(status)
    extra = {name: value for name, value in problem.items() if name not in MEMBERS}
    return _made(kind, str(problem.get("detail") or problem.get("title") or f"HTTP {status}"), extra)


def _made(kind: type[CairnError], detail: str, extra: Mapping[str, Any]) -> CairnError:
    """Without the constructor of the kind: it words what the server has worded already."""
    error = kind.__new__(kind, detail)
    CairnError.__init__(error, detail, **extra)
    return error


@cache
def _by_code() -> dict[str, type[CairnError]]:
    """The nearest to the root, where several share a code."""
    found: dict[str, type[CairnError]] = {}
    for kind in _kinds():
        found.setdefault(kind.code, kind)
    return found


def _by_status(status: int) -> type[CairnError]:
    return next((kind for kind in _kinds() if kind.status == status), CairnError)


def _kinds() -> Iterator[type[CairnError]]:
    """Of cairn.errors, in the order in which they are defined."""
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, CairnError):
            yield kind
