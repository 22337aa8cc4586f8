"""Communities and the order of extraction with a model, over HTTP and from the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from commands import Cairn, in_process
from scripted_server import ScriptedServer
from serving import Api, serving

COLLECTION = "circles"
CIRCLES = {
    "stones": ("Granite Hill", "Basalt Bay", "Marble Arch", "Slate Ridge"),
    "ships": ("Aurora Borealis", "Bellerophon Major", "Calypso Minor", "Dauntless Mary"),
    "queens": ("Matilda Flanders", "Eleanor Aquitaine", "Isabella Castile", "Philippa Hainault"),
}
TEXTS = {
    f"{circle}{number}": f"{', '.join(names[:-1])} and {names[-1]} belong together, says note {number} about {circle}."
    for circle, names in CIRCLES.items()
    for number in range(2)
}


@pytest.fixture(scope="module")
def circles(api: Api) -> Api:
    api.index(COLLECTION, **TEXTS)
    return api


def listed(api: Api, status: int = 200, **query: Any) -> Any:
    answer = api.client.get("/graph/communities", params={"collection": COLLECTION, **query})
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.fixture
def cairn(circles: Api, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Cairn]:
    """Commands on the server's database."""
    for name, value in {"DATABASE_URL": circles.dsn, "HOME": str(circles.folder)}.items():
        monkeypatch.setenv(f"CAIRN_{name}", value)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(circles.folder)
    yield in_process(capfd)
    structlog.reset_defaults()  # commands point it at the stderr of their time


def test_communities_are_listed_with_sentences_that_stand_in_their_documents(circles: Api) -> None:
    found = listed(circles)
    assert (len(found["items"]), found["next_cursor"]) == (3, None)
    for one in found["items"]:
        assert (one["level"], one["parent_id"], one["summary"]) == (0, None, None)
        [names] = [names for names in CIRCLES.values() if set(one["title"].split(", ")) <= set(names)]
        assert one["entity_count"] >= 4
        assert one["sentences"]
        for said in one["sentences"]:
            document = circles.client.get(f"/collections/{COLLECTION}/documents/{said['document_id']}").json()
            assert TEXTS[document["external_id"]][said["start"] : said["end"]] == said["text"]
            assert any(name in said["text"] for name in names)


def test_pages_are_complete_and_disjoint(circles: Api) -> None:
    whole = [one["id"] for one in listed(circles)["items"]]
    paged: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = listed(circles, limit=1, **cursor)
        paged += [one["id"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert paged == whole
    assert listed(circles, level=1)["items"] == []


def test_a_text_finds_those_that_it_is_about(circles: Api) -> None:
    found = listed(circles, q="what about the calypso?")["items"]
    assert "Calypso Minor" in found[0]["sentences"][0]["text"]
    assert listed(circles, q="marmalade") == {"items": [], "next_cursor": None}


def test_a_deleted_document_is_quoted_no_more(api: Api) -> None:
    api.index("fewer", **TEXTS)
    documents = api.client.get("/collections/fewer/documents").json()["items"]
    for one in documents:
        if one["external_id"].startswith("ships"):
            api.client.delete(f"/collections/fewer/documents/{one['id']}")
    said = str(listed(api, collection="fewer"))
    assert "Calypso" not in said
    assert "Granite Hill" in said


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"collection": "nowhere"}, 404),
        ({"cursor": "x"}, 422),
        ({"cursor": "WzEsMl0"}, 422),
        ({"cursor": "W251bGwsMSwieCJd"}, 422),
        ({"level": -1}, 422),
        ({"q": "ships", "level": 0}, 422),
        ({"limit": 0}, 422),
    ],
)
def test_what_cannot_be_answered_is_a_problem(circles: Api, query: dict[str, Any], status: int) -> None:
    assert listed(circles, status, **query)["status"] == status


def test_the_command_prints_titles_and_sentences(circles: Api, cairn: Cairn) -> None:
    done = cairn("graph", "communities", "-c", COLLECTION)
    assert done.code == 0, done.err
    assert "belong together" in done.out
    said = cairn("graph", "communities", "granite", "-c", COLLECTION, "--json")
    assert [one["id"] for one in said.json] == [one["id"] for one in listed(circles, q="granite")["items"]]
    none = cairn("graph", "communities", "marmalade", "-c", COLLECTION)
    assert (none.code, none.out) == (0, "")
    assert cairn("graph", "communities", "granite", "-c", COLLECTION, "--level", "1").code == 2


def test_extraction_that_is_switched_off_says_so(circles: Api, cairn: Cairn) -> None:
    answer = circles.client.post("/graph/extract", json={"collection": COLLECTION})
    assert answer.status_code == 422
    assert "graph.model.enabled" in answer.json()["detail"]
    done = cairn("graph", "extract", "-c", COLLECTION)
    assert done.code == 2
    assert "graph.model.enabled" in done.err


@pytest.mark.siege
def test_extraction_is_ordered_once_and_done_by_a_job(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path
) -> None:
    dsn = fresh_database()  # workers of other servers here have no chat model
    folder, settings = tmp_path_factory.mktemp("extract"), {"graph": {"model": {"enabled": True}}}
    own = {"CAIRN_MODEL_DIR": str(model)}
    with serving(dsn, folder, settings=settings, **own) as without:
        without.index(COLLECTION, **TEXTS)
        refused = without.client.post("/graph/extract", json={"collection": COLLECTION})
        assert refused.status_code == 422
        assert "OPENAI_BASE_URL" in refused.json()["detail"]
    with (
        ScriptedServer(answer=lambda messages: '{"entities": [], "relations": []}') as chat,
        serving(dsn, folder, settings=settings, OPENAI_BASE_URL=chat.openai_url, **own) as reading,
    ):
        assert reading.client.post("/graph/extract", json={"collection": "nowhere"}).status_code == 404
        assert reading.client.post("/graph/extract", json={"collection": COLLECTION, "x": 1}).status_code == 422
        ordered = reading.client.post("/graph/extract", json={"collection": COLLECTION})
        assert (ordered.status_code, ordered.json()["kind"]) == (202, "graph_model")
        url = ordered.headers["location"]
        reading.await_until(lambda: reading.client.get(url).json()["status"] == "succeeded", 30)
        assert reading.client.get(url).json()["result"]["documents"] == len(TEXTS)
