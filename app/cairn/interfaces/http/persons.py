"""What is kept because of a person: shown to them, and forgotten."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from cairn.domain.person import read_principal
from cairn.interfaces.http import problems
from cairn.interfaces.http.models import example
from cairn.interfaces.http.running import RunningDep, ServicesDep, TypedRoute
from cairn.service import persons as person_service

router = APIRouter(tags=["operating"], route_class=TypedRoute)

MEDIA_TYPE = "application/x-ndjson"
_EXAMPLE = """\
{"kind": "export", "version": 2, "person": "person:ada", "keys": []}
{"kind": "access", "record": {"document_id": "01932f4e-5c1a-7b3e-9f00-2b1c3d4e5f60", "external_id": "pay.md", "title": "Pay"}}
{"kind": "end", "counts": {"access": 1}}
"""
Principal = Annotated[
    str,
    Path(
        min_length=1, max_length=2000, examples=["person:ada"],
        description="As access lists have it: `person:<subject of a token>` or `key:<id>`; a bare name is a person's.",
    ),
]  # fmt: skip
_MARK = "forgotten:0f8e2c51b7a94d06a3e1c5d2f4b69870"


class ForgottenOut(BaseModel):
    model_config = example({"mark": _MARK, "dry_run": False, "counts": {"conversations": 3, "runs": 12, "keys": 1}})

    mark: str | None = Field(description="What stands in the place of the person now; null where it was only counted.")
    dry_run: bool
    counts: dict[str, int] = Field(description="How much of each kind went, or would go, or lost the name.")


@router.get(
    "/persons/{principal}/export",
    summary="Export what is kept because of a person",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}, "example": _EXAMPLE}},
            "description": "JSON Lines (docs/privacy.md).",
        },
        **problems.declare(403),
    },
)
async def export_person(principal: Principal, services: ServicesDep) -> StreamingResponse:
    """Conversations, runs, feedback, keys, usage, jobs, access lists and audit lines of a person of the caller's tenant, as JSON
    Lines: a header, a record a line, and an end that counts them. Without it, the file is not whole."""
    read_principal(principal)
    lines = (
        f"{json.dumps(line, ensure_ascii=False)}\n" async for line in person_service.export_person(services, principal)
    )
    headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="person.jsonl"'}
    return StreamingResponse(lines, media_type=MEDIA_TYPE, headers=headers)


@router.delete("/persons/{principal}", summary="Forget a person", responses=problems.declare(403, 409))
async def forget_person(
    principal: Principal,
    services: ServicesDep,
    running: RunningDep,
    dry_run: Annotated[bool, Query(description="Only count what would go.")] = False,
) -> ForgottenOut:
    """Removes what is kept because of a person of the caller's tenant, and their keys. Their name in the audit log and in access
    lists becomes a mark that nobody can turn back; a document that only they could read is for the scope `admin` then. This
    cannot be undone, and does not reach backups."""
    done = await person_service.forget_person(services, principal, dry_run=dry_run)
    if not dry_run and running.authenticator is not None:
        running.authenticator.forget()
    return ForgottenOut(mark=None if dry_run else done.mark, dry_run=dry_run, counts=dict(done.counts))
