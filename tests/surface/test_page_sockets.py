"""A page's socket is its reader's: neither ids of a page nor another key open it. Played as a browser plays it, by socket.io."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import socketio
from keyed import bearer, make_keys
from serving import Api, serving

from tests.waiting import hang_guard, patience, until


@pytest.fixture(scope="module")
def keyed(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path
) -> Iterator[tuple[Api, str, str]]:
    """A server, and the keys of two persons."""
    dsn = fresh_database()
    whole = bearer(make_keys(dsn, str(tmp_path_factory.mktemp("keys"))).victim)
    environment = {"CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model)}
    with serving(dsn, tmp_path_factory.mktemp("keyed"), page=True, **environment) as api:
        person = {"name": "person", "scopes": ["read", "ask"]}
        made = [api.client.post("/keys", json=person, headers=whole).json()["key"] for _ in range(2)]
        yield api, made[0], made[1]


def open_page(api: Api, key: str) -> tuple[str, str]:
    """The id of a page that somebody loaded, and what it holds."""
    text = api.client.get("/ui/", headers={"cookie": f"cairn_key={key}"}).text
    found = re.search(r"client_id[\"']?: ?[\"']([\w-]+)", text)
    assert found
    return found[1], text


@asynccontextmanager
async def socket(api: Api, page: str, key: str | None) -> AsyncIterator[tuple[socketio.AsyncClient, list[Any]]]:
    """A connected socket, and what it is sent."""
    client, sent = socketio.AsyncClient(reconnection=False), list[Any]()
    client.on("*", lambda _, *said: sent.append(said))
    headers = {"Origin": api.url, **({"Cookie": f"cairn_key={key}"} if key else {})}
    await client.connect(
        f"{api.url}/ui?client_id={page}&next_message_id=0", headers=headers, transports=["websocket"],
        socketio_path="/ui/_nicegui_ws/socket.io", wait_timeout=patience(10),
    )  # fmt: skip
    try:
        yield client, sent
    finally:
        await client.disconnect()


async def shake_hands(client: socketio.AsyncClient, page: str, document: str = "one") -> bool:
    said = {"client_id": page, "tab_id": "tab", "old_tab_id": None, "document_id": document, "next_message_id": 0}
    return bool(await client.call("handshake", said, timeout=patience(10)))


async def test_a_socket_needs_what_the_page_was_loaded_with(keyed: tuple[Api, str, str]) -> None:
    api, own, other = keyed
    page, _ = open_page(api, own)
    async with socket(api, page, own) as (mine, _):
        assert await shake_hands(mine, page)
        for key in (None, other, "cairn_no_key"):
            async with socket(api, page, key) as (foreign, told):
                assert not await shake_hands(foreign, page, "two"), key
                assert told == []
    async with socket(api, page, own) as (again, _):
        assert await shake_hands(again, page, "three"), "the reader's next socket is welcome"


async def test_a_socket_speaks_of_no_other_page(keyed: tuple[Api, str, str]) -> None:
    """Which it may know in every detail."""
    api, own, other = keyed
    (page, text), (theirs, _) = open_page(api, own), open_page(api, other)
    pressed = {"client_id": page, **press_of_the_menu(text)}
    async with socket(api, page, own) as (mine, sent), socket(api, theirs, other) as (foreign, _):
        assert await shake_hands(mine, page)
        assert await shake_hands(foreign, theirs)
        await foreign.emit("event", pressed)
        assert not await shake_hands(foreign, page), "an answer: what was said before is done with"
        await mine.emit("event", pressed)
        async with hang_guard():
            await until(lambda: states_of_the_menu(sent))
        assert states_of_the_menu(sent) == [True], "it was pressed once"


async def test_no_address_is_enough_to_go_on_with_a_connection(keyed: tuple[Api, str, str]) -> None:
    """As it is where a browser polls: each of its addresses names the connection."""
    api, own, _ = keyed
    begun = api.client.get(
        "/ui/_nicegui_ws/socket.io/?EIO=4&transport=polling", headers={"cookie": f"cairn_key={own}", "origin": api.url}
    )
    assert begun.status_code == 400
    assert "websocket" in open_page(api, own)[1]


def press_of_the_menu(text: str) -> dict[str, Any]:
    """What the browser says when the button is pressed that opens the menu."""
    found = re.search(
        r'"(\d+)":\{"tag":"q-btn"[^}]*"aria-label":"Menu"\},"events":\[\{"listener_id":"([\w-]+)"', unescape(text)
    )
    assert found
    return {"id": int(found[1]), "listener_id": found[2], "args": ["{}"]}


def states_of_the_menu(sent: list[Any]) -> list[bool]:
    """Whether it is open, each time that the page is told."""
    parts = [part for said in sent for one in said for part in one.values() if isinstance(part, dict)]
    return [part["props"]["model-value"] for part in parts if part.get("tag") == "q-drawer"]
