"""The sockets of pages: each is of the reader whose page it is.

NiceGUI takes a socket for a page's that knows the ids of the page, and handles what any socket says of a page. These ids stand in
addresses, and so in logs. Here a socket has to present what the page was loaded with, and speaks of no other page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from cairn.domain.principal import Principal
from cairn.interfaces.http.authorize import PRINCIPAL

EVENTS: Final = ("event", "javascript_response", "ack", "log")
"""What a browser says of a page after the handshake."""


def tie_to_reader(client: Any, reader: Principal) -> None:
    """Let only sockets of this reader shake hands for a page (a NiceGUI client)."""
    accept: Callable[[str, str, Mapping[str, Any] | None], bool] = client.accept_handshake

    def accept_reader(socket_id: str, tab_id: str, environ: Mapping[str, Any] | None) -> bool:
        scope = (environ or {}).get("asgi.scope", {})
        caller: Principal | None = scope.get("state", {}).get(PRINCIPAL)
        known = caller is not None and (caller, caller.caller.id) == (reader, reader.caller.id)
        return known and accept(socket_id, tab_id, environ)

    client.accept_handshake = accept_reader


def tie_events_to_pages(server: Any) -> None:
    """Let the events of a socket.io server be of pages alone for which their socket has shaken hands. By WebSocket alone: polling
    says in each address which connection it is of, and that is all that is asked for."""
    server.eio.transports = ["websocket"]
    handlers: dict[str, Callable[[str, Any], Any]] = server.handlers["/"]
    for name in EVENTS:
        server.on(name, _only_of_own_pages(server, handlers[name]))


def _only_of_own_pages(server: Any, handle: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    def handle_of_own(socket_id: str, said: Any) -> Any:
        if isinstance(said, dict) and said.get("client_id") in server.rooms(socket_id):
            return handle(socket_id, said)
        return None

    return handle_of_own
