"""Names in a request that its route does not know: refused, with the one that was probably meant.

A parameter that is silently ignored is a filter that does not hold: `DELETE ...?external_id=a&statsu=failed` would delete more
than it says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel
from starlette.datastructures import FormData
from starlette.requests import Request

from cairn.errors import InputError
from cairn.language.text import normalise

_MOST = 20
"""Unknown names that one answer tells of."""


def check_parameters(request: Request, known: Collection[str]) -> None:
    """Raises InputError where the query has a parameter that is not `known`, with `errors` as for other parameters."""
    _refuse_unknown(request.query_params, known, "query", "unknown_parameter")


def check_form(form: FormData, known: Collection[str]) -> None:
    """The same of the fields of a form: a list of readers that is ignored would leave a document open. `_charset_` is of HTML."""
    _refuse_unknown([name for name in form if name != "_charset_"], known, "body", "extra_forbidden")


def _refuse_unknown(given: Iterable[str], known: Collection[str], place: str, kind: str) -> None:
    unknown = [name for name in dict.fromkeys(given) if name not in known][:_MOST]
    if not unknown:
        return
    errors = [
        {"location": f"{place}.{normalise(name[:100])}", "message": explain(name, known), "type": kind}
        for name in unknown
    ]
    raise InputError("; ".join(f"{one['location']}: {one['message']}" for one in errors), errors=errors)


def explain(name: str, known: Collection[str]) -> str:
    """What is said of an unknown name: the nearest known one, or all of them."""
    if near := get_close_matches(name[:100], sorted(known), n=1):
        return f"there is no such name here; did you mean {near[0]}?"
    return f"there is no such name here, but {', '.join(sorted(known))}" if known else "there is no such name here"


def fields_at(model: Any, path: Sequence[Any]) -> list[str]:
    """Names of the fields that a body has at a place; none where the place is unknown or free."""
    found = _model_in(model)
    for part in path:
        if isinstance(part, int):
            continue
        fields = {_name(name, field): field.annotation for name, field in found.model_fields.items()} if found else {}
        found = _model_in(fields.get(part))
    return [_name(name, field) for name, field in found.model_fields.items()] if found else []


def _name(name: str, field: Any) -> str:
    return str(field.alias or name)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation is or has in it, as in `list[Model] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
