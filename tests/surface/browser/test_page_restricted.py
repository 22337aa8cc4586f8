"""The rooms of the page in a browser, as a person whom no access list names: what the server sends to it, and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from keyed import bearer, make_keys
from playwright.sync_api import Page, expect
from serving import Api, serving

from cairn.interfaces.web.frame import ROOMS

pytestmark = pytest.mark.siege

OPEN = "Nora Finch works for Harbour Lights. Harbour Lights was founded in Bergen by Nora Finch."
SECRET = "Tomas Okafor was born in Lisbon. The quartzite weighs seventeen tons. Tomas Okafor works for Pelagic Survey."
UNSAID = ("Okafor", "seventeen", "Pelagic", "hidden-pay", "vaulted")
"""Words of the restricted document, and its id and title, that the person says nowhere."""


@pytest.fixture(scope="module")
def guarded(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path
) -> Iterator[tuple[Api, str]]:
    """A server with a document for everybody and one for a group, of which somebody was told; the key of a person without it."""
    dsn = fresh_database()
    whole = bearer(make_keys(dsn, str(tmp_path_factory.mktemp("keys"))).victim)
    environment = {"CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model)}
    with serving(dsn, tmp_path_factory.mktemp("guarded"), page=True, **environment) as api:
        documents = [
            {"external_id": "open.md", "title": "Open", "text": OPEN},
            {"external_id": "hidden-pay.md", "title": "vaulted", "text": SECRET, "access": ["group:vault"]},
        ]
        body = {"collection": "stones", "documents": documents}
        assert not api.client.post("/index", json=body, headers=whole).json()["failed"]
        asked = {"message": "How heavy is the quartzite?", "session_id": "theirs", "collection_name": "stones"}
        assert "seventeen" in api.client.post("/chat", json=asked, headers=whole).text
        person = {"name": "person", "scopes": ["read", "ask", "write"]}
        yield api, api.client.post("/keys", json=person, headers=whole).json()["key"]


def test_no_room_shows_a_person_what_no_list_lets_them_read(guarded: tuple[Api, str], tab: Page) -> None:
    api, key = guarded
    sent: list[str] = []
    tab.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sent.append(str(frame))))
    assert tab.context.request.post(f"{api.url}/session", data={"key": key}).ok

    def enter(room: str, more: str = "") -> None:
        tab.goto(f"{api.url}/ui{ROOMS[room][0]}?collection=stones{more}")
        expect(tab.get_by_role("banner")).to_be_visible()
        rooms.add(room)

    def seen(what: str) -> None:
        for word in UNSAID:
            assert word not in tab.content(), f"{what} shows {word}"

    rooms: set[str] = set()
    enter("documents")
    expect(tab.get_by_text("open.md").first).to_be_visible()
    expect(tab.get_by_text("1 document").first).to_be_visible()
    seen("the list of documents")
    enter("search", "&q=How+heavy+is+the+quartzite%3F")
    expect(tab.get_by_text("Nora Finch").first).to_be_visible()
    seen("a search")
    enter("ask")
    box = tab.get_by_role("textbox", name="Ask your documents")
    box.fill("How heavy is the quartzite?")
    box.press("Enter")
    expect(tab.get_by_text("I don't know").first).to_be_visible()
    seen("an answer, or the list of conversations")
    enter("graph")
    expect(tab.get_by_text("Nora Finch").first).to_be_visible()
    seen("the graph")
    tab.get_by_label("Find a name").fill("Lis")
    tab.wait_for_load_state("networkidle")
    seen("names that are suggested")
    enter("runs")
    expect(tab.get_by_text("How heavy is the quartzite?").first).to_be_visible()
    seen("the history")
    enter("operation")
    tab.wait_for_load_state("networkidle")
    seen("operation")
    assert rooms == set(ROOMS), "a new room is looked into here"
    told = "\n".join(sent)
    assert "quartzite" in told, "what the sockets bring is looked at"
    for word in UNSAID:
        assert word not in told, f"a socket brought {word}"
