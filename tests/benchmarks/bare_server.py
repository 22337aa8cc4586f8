"""What an ASGI application costs that refuses whatever comes and does nothing else: the floor of refusals.

python bare_server.py PORT
"""

from __future__ import annotations

import sys
from typing import Any

import uvicorn

BODY = b'{"type": "/problems/overloaded", "status": 503, "code": "overloaded", "detail": "%s"}' % (b"x" * 200)
HEADERS = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(BODY)).encode())]


async def refuse(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 503, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


if __name__ == "__main__":
    uvicorn.run(refuse, port=int(sys.argv[1]), lifespan="off", log_level="warning", access_log=False)
