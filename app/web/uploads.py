"""Files that come from the page: the route of the API once more below /ui, where a browser's cookie says who sends them."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.authenticate import PAGE
from app.api.documents import upload_documents
from app.api.running import TypedRoute

router = APIRouter(route_class=TypedRoute, include_in_schema=False)
router.add_api_route(f"{PAGE}/collections/{{name}}/documents", upload_documents, methods=["POST"], status_code=202)
