"""The routes of the knowledge graph, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from graph_library import COLLECTION, TEXTS
from serving import Api, serving


@pytest.fixture
def people(api: Api) -> Iterator[Api]:
    """The library in a collection of its own."""
    api.index(COLLECTION, **TEXTS)
    yield api
    api.client.delete(f"/collections/{COLLECTION}")


def get(api: Api, path: str, status: int = 200, **query: Any) -> Any:
    answer = api.client.get(path, params={"collection": COLLECTION, **query})
    assert answer.status_code == status, answer.text
    return answer.json()


def named(api: Api, name: str) -> dict[str, Any]:
    found = get(api, "/graph/entities", q=name)["items"]
    return next(item for item in found if item["name"] == name)


def test_entities_are_listed_and_suggested_by_prefix_and_word(people: Api) -> None:
    listed = get(people, "/graph/entities")["items"]
    names = {item["name"] for item in listed}
    assert {"Ada Lovelace", "Charles Babbage", "Analytical Engine", "London", "Marylebone"} <= names
    assert [item["name"] for item in get(people, "/graph/entities", q="ada lo")["items"]] == ["Ada Lovelace"]
    assert [item["name"] for item in get(people, "/graph/entities", q="Babb")["items"]] == ["Charles Babbage"]
    assert get(people, "/graph/entities", q="xyzzy") == {"items": [], "next_cursor": None}
    assert get(people, "/graph/entities", q="???") == {"items": [], "next_cursor": None}
    kinds = {item["kind"] for item in get(people, "/graph/entities", kind="place")["items"]}
    assert kinds <= {"place"}


@pytest.mark.parametrize("q", ["", "a"])
def test_pages_of_entities_are_complete_and_disjoint(people: Api, q: str) -> None:
    whole = [item["id"] for item in get(people, "/graph/entities", q=q, limit=200)["items"]]
    paged: list[str] = []
    cursor = None
    while True:
        page = get(people, "/graph/entities", q=q, limit=1, **({"cursor": cursor} if cursor else {}))
        paged += [item["id"] for item in page["items"]]
        if not (cursor := page["next_cursor"]):
            break
    assert paged == whole
    assert len(set(whole)) == len(whole) > 1


def test_an_entity_shows_its_relations_with_what_proves_them(people: Api) -> None:
    found = named(people, "Ada Lovelace")
    detail = people.client.get(f"/graph/entities/{found['id']}").json()
    assert detail["collection"] == COLLECTION
    assert (detail["total_passage_count"], detail["document_count"]) == (1, 1)
    assert {one["name"] for one in detail["names"]} == {"Ada Lovelace"}
    assert [one["external_id"] for one in detail["mentions"]] == ["lovelace"]
    by_target = {one["target"]["name"]: one for one in detail["relations"] if one["source"]["name"] == "Ada Lovelace"}
    born = by_target["London"]
    assert (born["kind"], born["proof"]["quote"]) == ("born_in", "Ada Lovelace was born in London.")
    others = [{one["source"]["name"], one["target"]["name"]} - {"Ada Lovelace"} for one in detail["relations"]]
    assert len({name for ends in others for name in ends}) == len(others), "one relation for each neighbour"
    for relation in detail["relations"]:
        assert_proved(people, relation)


def assert_proved(api: Api, relation: dict[str, Any]) -> None:
    """The quote stands at its span of the document, and 0 < weight < 1."""
    proof = relation["proof"]
    path = f"/collections/{COLLECTION}/documents/{proof['document_id']}"
    text = api.client.get(path, params={"include": "text"}).json()["text"]
    assert text[proof["start"] : proof["end"]] == proof["quote"] != ""
    assert 0 < relation["weight"] < 1
    assert relation["evidence_count"] >= 1


def test_the_neighborhood_has_paths_weights_and_evidence(people: Api) -> None:
    one = get(people, "/graph/neighborhood", entity="ada lovelace", hops=1)
    two = get(people, "/graph/neighborhood", entity="Ada Lovelace", hops=2)
    assert one["nodes"][0]["name"] == two["nodes"][0]["name"] == "Ada Lovelace"
    assert (one["nodes"][0]["hop"], one["nodes"][0]["path"]) == (0, [])
    assert max(node["hop"] for node in one["nodes"]) == 1
    names = {node["name"] for node in one["nodes"]}
    assert "Wigmore Hall" not in names < {node["name"] for node in two["nodes"]}
    assert not two["truncated"]
    edges = {edge["id"]: edge for edge in two["edges"]}
    for node in two["nodes"]:
        at = two["nodes"][0]["id"]
        for step in node["path"]:
            ends = [edges[step]["source"]["id"], edges[step]["target"]["id"]]
            assert at in ends, "each step begins where the one before ended"
            at = ends[1 - ends.index(at)]
        assert at == node["id"]
        assert len(node["path"]) == node["hop"]
    for edge in two["edges"]:
        assert_proved(people, edge)
    cut = get(people, "/graph/neighborhood", entity=one["nodes"][0]["id"], hops=1, limit=1)
    assert (len(cut["nodes"]), cut["truncated"]) == (2, True)


def test_how_two_entities_are_related(people: Api) -> None:
    found = get(people, "/graph/path", **{"from": "Ada Lovelace", "to": "Wigmore Hall"})
    assert (found["source"]["name"], found["target"]["name"]) == ("Ada Lovelace", "Wigmore Hall")
    assert 1 <= len(found["paths"]) <= 3
    lengths = [len(way["relations"]) for way in found["paths"]]
    assert lengths == sorted(lengths)
    for way in found["paths"]:
        nodes = [one["id"] for one in way["entities"]]
        assert (nodes[0], nodes[-1]) == (found["source"]["id"], found["target"]["id"])
        assert len(set(nodes)) == len(nodes) == len(way["relations"]) + 1 <= 4
        for at, relation in enumerate(way["relations"]):
            assert {relation["source"]["id"], relation["target"]["id"]} == {nodes[at], nodes[at + 1]}
            assert_proved(people, relation)
    direct = get(people, "/graph/path", **{"from": "London", "to": "Ada Lovelace", "hops": 1})["paths"]
    assert [[one["kind"] for one in way["relations"]] for way in direct] == [["born_in"]]
    assert get(people, "/graph/path", **{"from": "Wigmore Hall", "to": "Ada Lovelace", "hops": 1})["paths"] == []


def test_unknown_names_are_answered_with_near_ones(people: Api) -> None:
    problem = get(people, "/graph/neighborhood", 404, entity="Ada Lovelase")
    assert (problem["code"], problem["did_you_mean"][0]) == ("not-found", "Ada Lovelace")
    assert "did you mean Ada Lovelace" in problem["detail"]
    assert get(people, "/graph/neighborhood", 404, entity="Zorro")["did_you_mean"] == []
    by_part = get(people, "/graph/neighborhood", entity="Lovelace", hops=1)
    assert by_part["nodes"][0]["name"] == "Ada Lovelace"
    gone = people.client.get("/graph/entities/00000000-0000-0000-0000-000000000001")
    assert (gone.status_code, gone.json()["code"]) == (404, "not-found")


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/graph/entities", {"collection": "nowhere"}, 404),
        ("/graph/neighborhood", {"collection": "nowhere", "entity": "x"}, 404),
        ("/graph/path", {"collection": "nowhere", "from": "x", "to": "y"}, 404),
        ("/graph/merges", {"collection": "nowhere"}, 404),
        ("/graph/entities", {"limit": 0}, 422),
        ("/graph/entities", {"limit": 201}, 422),
        ("/graph/entities", {"kind": "dragon"}, 422),
        ("/graph/entities", {"cursor": "WzEsMl0"}, 422),
        ("/graph/entities", {"cursor": "WyJhIiwgImIiLCAiYyJd"}, 422),
        ("/graph/entities/nonsense", {}, 422),
        ("/graph/neighborhood", {}, 422),
        ("/graph/neighborhood", {"entity": ""}, 422),
        ("/graph/neighborhood", {"entity": "Ada Lovelace", "hops": 4}, 422),
        ("/graph/neighborhood", {"entity": "Ada Lovelace", "hops": 0}, 422),
        ("/graph/neighborhood", {"entity": "Ada Lovelace", "limit": 1001}, 422),
        ("/graph/neighborhood", {"entity": "\x00"}, 404),
        ("/graph/neighborhood", {"entity": "' OR 1=1 --"}, 404),
        ("/graph/path", {"from": "London", "to": "london"}, 422),
        ("/graph/path", {"from": "London"}, 422),
        ("/graph/merges", {"cursor": "WzEsMl0"}, 422),
    ],
)
def test_what_cannot_be_answered_is_a_problem(people: Api, path: str, query: dict[str, Any], status: int) -> None:
    answer = people.client.get(path, params={"collection": COLLECTION, **query})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def merge(api: Api, status: int = 201, **body: Any) -> Any:
    answer = api.client.post("/graph/merges", json={"collection": COLLECTION, **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_merge_is_a_redirect_that_can_be_undone(people: Api) -> None:
    before = get(people, "/graph/neighborhood", entity="Charles Babbage", hops=1)
    marylebone = named(people, "Marylebone")
    made = merge(people, into="London", **{"from": marylebone["id"]}, reason="one town")
    assert (made["from_name"], made["into_name"], made["reason"], made["undone_at"]) == (
        "Marylebone", "London", "one town", None,
    )  # fmt: skip
    assert merge(people, 409, into="London", **{"from": "Marylebone"})["code"] == "conflict"
    after = get(people, "/graph/neighborhood", entity="Charles Babbage", hops=1)
    assert "Marylebone" not in {node["name"] for node in after["nodes"]}
    assert "London" in {node["name"] for node in after["nodes"]}
    detail = people.client.get(f"/graph/entities/{marylebone['id']}").json()
    assert (detail["name"], [one["id"] for one in detail["merged"]]) == ("London", [made["id"]])
    assert {"London", "Marylebone"} <= {one["name"] for one in detail["names"]}
    assert get(people, "/graph/merges")["items"] == [made]
    undone = people.client.delete(f"/graph/merges/{made['id']}")
    assert (undone.status_code, undone.json()["undone_at"] is not None) == (200, True)
    assert people.client.delete(f"/graph/merges/{made['id']}").status_code == 409
    assert get(people, "/graph/neighborhood", entity="Charles Babbage", hops=1) == before
    assert [one["undone_at"] is not None for one in get(people, "/graph/merges")["items"]] == [True]


def test_merges_that_cannot_be(people: Api) -> None:
    assert merge(people, 404, into="London", **{"from": "Atlantis"})["did_you_mean"] == []
    assert merge(people, 409, into="London", **{"from": "london"})["code"] == "conflict"
    assert merge(people, 422, into="London")["errors"][0]["location"] == "body.from"
    assert people.client.delete("/graph/merges/00000000-0000-0000-0000-000000000001").status_code == 404
    people.index("elsewhere", paris="Gustave Eiffel built towers. Gustave Eiffel lived in Paris.")
    eiffel = people.client.get("/graph/entities", params={"collection": "elsewhere", "q": "eiffel"}).json()["items"][0]
    assert merge(people, 404, into="London", **{"from": eiffel["id"]})
    answer = people.client.post("/graph/merges", json={"into": named(people, "London")["id"], "from": eiffel["id"]})
    assert answer.status_code in (404, 422)
    people.client.delete("/collections/elsewhere")


def test_what_is_deleted_is_gone_from_the_graph(people: Api) -> None:
    documents = people.client.get(f"/collections/{COLLECTION}/documents").json()["items"]
    hall = named(people, "Wigmore Hall")
    one = next(item for item in documents if item["external_id"] == "marylebone")
    people.client.delete(f"/collections/{COLLECTION}/documents/{one['id']}")
    assert people.client.get(f"/graph/entities/{hall['id']}").status_code == 404
    assert "Wigmore" not in str(get(people, "/graph/neighborhood", entity="Charles Babbage", hops=3))


def test_another_tenant_sees_nothing_of_it(people: Api, tmp_path_factory: pytest.TempPathFactory, model: Path) -> None:
    ada = named(people, "Ada Lovelace")
    folder = tmp_path_factory.mktemp("tenant")
    with serving(people.dsn, folder, CAIRN_MODEL_DIR=str(model), CAIRN_TENANT="another") as other:
        other.index(COLLECTION, only="Gustave Eiffel built towers. Gustave Eiffel lived in Paris.")
        assert other.client.get(f"/graph/entities/{ada['id']}").status_code == 404
        assert "Ada" not in str(get(other, "/graph/entities", q="a"))
        assert get(other, "/graph/neighborhood", 404, entity="Ada Lovelace")["did_you_mean"] == []
        assert get(other, "/graph/neighborhood", 404, entity=ada["id"])
        assert merge(other, 404, into="Paris", **{"from": ada["id"]})
        assert other.client.get("/graph/merges").json()["items"] == []


def test_openapi_describes_the_graph(api: Api) -> None:
    paths = api.client.get("/openapi.json").json()["paths"]
    wanted = {
        ("/graph/entities", "get"), ("/graph/entities/{entity_id}", "get"), ("/graph/neighborhood", "get"),
        ("/graph/path", "get"),
        ("/graph/merges", "get"), ("/graph/merges", "post"), ("/graph/merges/{merge_id}", "delete"),
    }  # fmt: skip
    assert wanted <= {(path, method) for path, operations in paths.items() for method in operations}
    names = {one["name"] for one in paths["/graph/path"]["get"]["parameters"]}
    assert {"from", "to", "hops", "limit", "collection"} == names
