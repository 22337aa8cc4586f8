"""/docs: the page that shows the OpenAPI document, with nothing of another host: many of us have no way out.

Addresses are relative, so that the page works behind a proxy that speaks TLS or adds a path; its script is a file, so that the
Content-Security-Policy needs no exception.
"""

from __future__ import annotations

from importlib import resources
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from cairn.interfaces.http.shapes import COMPATIBILITY

router = APIRouter(include_in_schema=False)

_MEDIA_TYPES: Final = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}
_CACHED: Final = {"Cache-Control": "public, max-age=3600"}

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cairn: API</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_START: Final = f"""const page = SwaggerUIBundle({{
  url: new URL("openapi.json", document.baseURI).href,
  dom_id: "#swagger-ui",
  deepLinking: true,
  tryItOutEnabled: true,
  filter: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
  onComplete: () => page.layoutActions.show(["operations-tag", "{COMPATIBILITY}"], false),
}});
"""


@router.get("/docs")
async def page() -> HTMLResponse:
    return HTMLResponse(_PAGE)


@router.get("/docs/start.js")
async def start() -> Response:
    return Response(_START, media_type="text/javascript", headers=_CACHED)


def _add_asset(name: str, media_type: str) -> None:
    async def asset() -> Response:
        content = resources.files("fastapi_swagger.resources").joinpath(name).read_bytes()
        return Response(content, media_type=media_type, headers=_CACHED)

    router.add_api_route(f"/docs/{name}", asset, name=name)


for _name, _media_type in _MEDIA_TYPES.items():
    _add_asset(_name, _media_type)
