"""Files to the page and from it: three routes of the API once more below /ui, where a browser's cookie says who asks."""

from __future__ import annotations

from fastapi import APIRouter

from cairn.interfaces.http.authenticate import PAGE
from cairn.interfaces.http.documents import KNOWN_FIELDS, upload_documents
from cairn.interfaces.http.originals import get_file
from cairn.interfaces.http.proofs import prove_run
from cairn.interfaces.http.running import TypedRoute

router = APIRouter(route_class=TypedRoute, include_in_schema=False)
router.add_api_route(
    f"{PAGE}/collections/{{name}}/documents",
    upload_documents,
    methods=["POST"],
    status_code=202,
    dependencies=[KNOWN_FIELDS],
)
router.add_api_route(f"{PAGE}/collections/{{name}}/documents/{{document_id}}/file", get_file, methods=["GET"])
router.add_api_route(f"{PAGE}/runs/{{run_id}}/proof", prove_run, methods=["GET"])
