"""/widget.js: what a page of another site loads to let its readers ask (clients/widget; docs/widget.md)."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

router = APIRouter(include_in_schema=False)

PATH: Final = "/widget.js"
_CACHED: Final = {"Cache-Control": "public, max-age=3600"}


@router.get(PATH)
async def widget() -> Response:
    return Response(_script(), media_type="text/javascript", headers=_CACHED)


@cache
def _script() -> bytes:
    return (resources.files("cairn.interfaces.http") / "widget.js").read_bytes()
