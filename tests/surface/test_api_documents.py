"""Documents over HTTP: by whose id, which of them, their text and files, changes and deletions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from serving import Api

from tests.pdf_files import Sheet, pdf_file

STONES = "/collections/stones/documents"
BY_ID = f"{STONES}/by-external-id"
GRANITE = b"# Granite\n\nGranite is hard. It cools slowly, deep below."


def upload(api: Api, collection: str, metadata: dict[str, Any] | None = None, **files: bytes) -> list[dict[str, Any]]:
    answer = api.client.post(
        f"/collections/{collection}/documents", params={"wait": "true"},
        files=[("files", (name.replace("__", "/").replace("_", "."), content)) for name, content in files.items()],
        data={"metadata": json.dumps(metadata or {})},
    )  # fmt: skip
    assert answer.status_code == 200, answer.text
    assert not answer.json()["failed"], answer.text
    uploaded: list[dict[str, Any]] = answer.json()["uploaded"]
    return uploaded


@pytest.fixture(scope="module")
def stones(api: Api) -> Api:
    upload(api, "stones", {"team": "geology", "year": 2024}, rocks__granite_md=GRANITE)
    upload(
        api, "stones", {"team": "mining"}, rocks__Zinc_txt=b"Zinc is a metal.", notes_txt=b"Chalk is soft and white."
    )
    page = Sheet()
    page.text(50, 100, "Basalt is a dark rock. Its grains are small.")
    upload(api, "stones", basalt_pdf=pdf_file(page))
    return api


def names(api: Api, **query: Any) -> list[str]:
    answer = api.client.get(STONES, params=query)
    assert answer.status_code == 200, answer.text
    return [one["external_id"] for one in answer.json()["items"]]


def problem(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    detail: str = answer.json()["detail"]
    return detail


# --- addresses --------------------------------------------------------------------------------------------------------


def test_a_document_has_two_addresses(stones: Api) -> None:
    by_external = stones.client.get(BY_ID, params={"external_id": "rocks/granite.md"}).json()
    assert by_external == stones.client.get(f"{STONES}/{by_external['id']}").json()
    for part in ("text", "file", "pages"):
        one = stones.client.get(f"{BY_ID}/{part}", params={"external_id": "rocks/granite.md"})
        other = stones.client.get(f"{STONES}/{by_external['id']}/{part}")
        assert (one.status_code, one.content) == (200, other.content)


def test_an_address_that_means_nothing_says_why(stones: Api) -> None:
    assert "rocks/none.md" in problem(stones.client.get(BY_ID, params={"external_id": "rocks/none.md"}), 404)
    assert "?external_id=" in problem(stones.client.get(BY_ID), 422)
    assert "by-external-id" in problem(stones.client.get(f"{STONES}/granite.md"), 422)
    one = stones.client.get(BY_ID, params={"external_id": "notes.txt"}).json()["id"]
    assert "external id" in problem(
        stones.client.get(f"{STONES}/{one}", params={"external_id": "rocks/granite.md"}), 404
    )


# --- lists ------------------------------------------------------------------------------------------------------------


def test_lists_are_filtered(stones: Api) -> None:
    assert names(stones, q="ROCKS/") == ["rocks/Zinc.txt", "rocks/granite.md"]
    assert names(stones, external_id=["notes.txt", "basalt.pdf"]) == ["basalt.pdf", "notes.txt"]
    assert names(stones, media_type="application/pdf") == ["basalt.pdf"]
    assert names(stones, metadata='{"team": "geology"}') == ["rocks/granite.md"]
    assert names(stones, metadata='{"team": "geology"}', q="zinc") == []
    assert names(stones, status=["failed", "pending"]) == []
    assert len(names(stones, status="indexed")) == 4
    moment = stones.client.get(BY_ID, params={"external_id": "basalt.pdf"}).json()["updated_at"]
    assert names(stones, updated_since=moment) == ["basalt.pdf"]
    assert names(stones, mentions="dark rocks") == ["basalt.pdf"], "in any inflection"
    assert names(stones, mentions="rock dark") == [], "one word after the other"
    assert names(stones, mentions="metals", sort="-title") == ["rocks/Zinc.txt"]
    assert names(stones, mentions="metal", metadata='{"team": "geology"}') == []
    assert names(stones, mentions="the") == [], "says nothing"
    one = stones.client.get(BY_ID, params={"external_id": "notes.txt"}).json()["id"]
    assert names(stones, id=one) == ["notes.txt"]
    for wrong in (
        {"metadata": "[1]"},
        {"metadata": "{"},
        {"status": "lost"},
        {"updated_since": "2026-01-01"},
        {"sort": "x"},
    ):
        problem(stones.client.get(STONES, params=wrong), 422)


def test_a_list_is_of_what_somebody_may_read(api: Api) -> None:
    documents = [
        {"external_id": "open.md", "text": "Chalk is soft."},
        {"external_id": "hr.md", "text": "The pay is nine.", "access": ["group:hr", "person:ada"]},
        {"external_id": "board.md", "text": "The house is sold.", "access": ["group:board"]},
    ]
    assert not api.client.post("/index", json={"collection": "letters", "documents": documents}).json()["failed"]
    where = "/collections/letters/documents"

    def readable(*who: str, **query: Any) -> list[str]:
        answer = api.client.get(where, params={"readable_by": who, **query})
        assert answer.status_code == 200, answer.text
        return [one["external_id"] for one in answer.json()["items"]]

    assert readable() == ["board.md", "hr.md", "open.md"]
    assert readable("group:hr") == readable("person:ada") == ["hr.md", "open.md"]
    assert readable("group:hr", "group:board") == ["board.md", "hr.md", "open.md"], "what one of them may read"
    assert readable("group:nobody") == ["open.md"]
    assert readable("group:hr", q="hr") == ["hr.md"]
    for wrong in (["hr"], ["group:"], ["group:hr", "team:x"], [""], [f"group:{n}" for n in range(101)]):
        problem(api.client.get(where, params={"readable_by": wrong}), 422)


@pytest.mark.parametrize("sort", ["external_id", "-external_id", "title", "-updated_at", "created_at", "-byte_size"])
def test_a_sorted_list_pages_through_all_of_it(stones: Api, sort: str) -> None:
    key, descending = sort.removeprefix("-"), sort.startswith("-")
    listed, cursor = [], None
    while cursor or not listed:
        page = stones.client.get(
            STONES, params={"sort": sort, "limit": 2, **({"cursor": cursor} if cursor else {})}
        ).json()
        listed += page["items"]
        cursor = page["next_cursor"]
    shown = [one[key].lower() if key == "title" else one[key] for one in listed]
    assert len(listed) == 4
    assert shown == sorted(shown, reverse=descending)


def test_a_cursor_of_another_order_is_refused(stones: Api) -> None:
    cursor = stones.client.get(STONES, params={"limit": 1}).json()["next_cursor"]
    assert "another order" in problem(stones.client.get(STONES, params={"sort": "title", "cursor": cursor}), 422)


# --- text, file, pages ------------------------------------------------------------------------------------------------


def test_text_can_be_read_in_part(stones: Api) -> None:
    whole = stones.client.get(f"{BY_ID}/text", params={"external_id": "rocks/granite.md"}).json()
    assert (whole["text"], whole["start"], whole["end"]) == (GRANITE.decode(), 0, len(GRANITE))
    part = stones.client.get(f"{BY_ID}/text", params={"external_id": "rocks/granite.md", "start": 11, "end": 26}).json()
    assert part == {**whole, "start": 11, "end": 26, "text": "Granite is hard"}
    beyond = stones.client.get(f"{BY_ID}/text", params={"external_id": "rocks/granite.md", "start": 999}).json()
    assert (beyond["text"], beyond["length"]) == ("", len(GRANITE))


def test_a_file_is_downloaded_as_it_came(stones: Api) -> None:
    answer = stones.client.get(f"{BY_ID}/file", params={"external_id": "rocks/granite.md"})
    assert answer.content == GRANITE
    assert answer.headers["content-type"] == "text/markdown"
    assert answer.headers["content-disposition"] == 'attachment; filename="granite.md"'
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    upload(stones, "names", **{"räum'e\".txt": b"A room."})
    named = stones.client.get("/collections/names/documents").json()["items"][0]["id"]
    header = stones.client.get(f"/collections/names/documents/{named}/file").headers["content-disposition"]
    assert header.startswith("attachment; filename*=utf-8''r%C3%A4um%27e")


def test_a_text_that_was_handed_over_has_no_file(stones: Api) -> None:
    stones.index("texts", a="Written out.")
    one = stones.client.get("/collections/texts/documents").json()["items"][0]
    assert one["has_file"] is False
    assert "handed over as text" in problem(stones.client.get(f"/collections/texts/documents/{one['id']}/file"), 404)


def test_a_quotation_is_marked_on_the_picture_of_its_page(stones: Api) -> None:
    document = stones.client.get(BY_ID, params={"external_id": "basalt.pdf"}).json()
    pages = stones.client.get(f"{STONES}/{document['id']}/pages").json()
    assert [page["page"] for page in pages["items"]] == [1]
    assert pages["pictures"]
    picture = stones.client.get(f"{STONES}/{document['id']}/pages/1.png", params={"width": 300})
    assert (picture.headers["content-type"], picture.content[1:4]) == ("image/png", b"PNG")
    text = stones.client.get(f"{STONES}/{document['id']}/text").json()["text"]
    start = text.index("Its grains")
    marks = stones.client.get(
        f"{STONES}/{document['id']}/pages/1/marks", params={"start": start, "end": start + 10}
    ).json()
    [mark] = marks["marks"]
    assert mark["left"] > 50 / 600
    assert mark["top"] < 97 / 800 < mark["top"] + mark["height"]
    problem(stones.client.get(f"{STONES}/{document['id']}/pages/2.png"), 404)
    problem(stones.client.get(f"{BY_ID}/pages/1.png", params={"external_id": "notes.txt"}), 404)
    problem(stones.client.get(f"{STONES}/{document['id']}/pages/0.png"), 422)


def test_what_is_known_already_is_not_sent_again(stones: Api) -> None:
    document = stones.client.get(BY_ID, params={"external_id": "basalt.pdf"}).json()
    one = f"{STONES}/{document['id']}"
    for path in ("/collections", "/collections/stones", STONES, one, f"{one}/text", f"{one}/file", f"{one}/pages",
                 f"{one}/pages/1.png", f"{one}/pages/1/marks?start=0&end=5"):  # fmt: skip
        first = stones.client.get(path)
        again = stones.client.get(path, headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"]), path
        assert stones.client.get(path, headers={"If-None-Match": '"other"'}).content == first.content
        assert first.headers["cache-control"] == "private, no-cache"
    before = stones.client.get(one).headers["etag"]
    stones.client.patch(one, json={"metadata": {"seen": True}})
    assert stones.client.get(one, headers={"If-None-Match": before}).status_code == 200


# --- changes and deletions ----------------------------------------------------------------------------------------------


def found(api: Api, collection: str, query: str, **filters: Any) -> list[str]:
    answer = api.client.post("/search", json={"query": query, "collection": collection, "filters": filters})
    assert answer.status_code == 200, answer.text
    return [one["external_id"] for one in answer.json()["results"]]


def test_filters_follow_changed_metadata(api: Api) -> None:
    upload(api, "changed", {"team": "people", "more": {"a": 1, "b": 2}}, leave_txt=b"Employees have thirty days.")
    one = "/collections/changed/documents/by-external-id?external_id=leave.txt"
    assert found(api, "changed", "days", team="people") == ["leave.txt"]
    changed = api.client.patch(one, json={"metadata": {"team": "hr", "more": {"a": None, "c": 3}}})
    assert changed.status_code == 200, changed.text
    assert changed.json()["metadata"] == {"team": "hr", "more": {"b": 2, "c": 3}}
    assert changed.json() == api.client.get(one).json()
    assert found(api, "changed", "days", team="hr") == ["leave.txt"]
    assert found(api, "changed", "days", team="people") == []
    for wrong in ({}, {"titel": "x"}, {"title": " "}, {"metadata": [1]}, {"metadata": {"a": "x" * 70_000}}):
        problem(api.client.patch(one, json=wrong), 422)


def test_a_document_is_found_by_its_new_title(api: Api) -> None:
    upload(api, "titled", leave_txt=b"Thirty days for everybody.", other_txt=b"Twenty cups for everybody.")
    one = "/collections/titled/documents/by-external-id?external_id=leave.txt"
    before = api.client.get(one).json()
    changed = api.client.patch(one, json={"title": "Sabbatical"}).json()
    assert (changed["title"], changed["version"]) == ("Sabbatical", before["version"])
    assert found(api, "titled", "sabbatical")[0] == "leave.txt"
    upload(api, "titled", leave_txt=b"Thirty days for everybody.")
    assert api.client.get(one).json()["title"] == "Sabbatical"
    upload(api, "titled", leave_txt=b"Forty days for everybody.")
    assert api.client.get(one).json()["title"] == before["title"]


def test_many_documents_are_deleted_by_filter_or_id(api: Api) -> None:
    api.index("many", **{f"{kind}-{number}": f"Stone {number}." for kind in ("old", "new") for number in range(23)})
    path = "/collections/many/documents"
    assert "delete the collection" in problem(api.client.delete(path), 422)
    assert "delete the collection" in problem(api.client.delete(path, params={"q": "", "metadata": "{}"}), 422)
    before = api.client.get("/collections/many").json()["epoch"]
    assert api.client.delete(path, params={"q": "old-"}).json() == {"deleted": 23, "more": False, "epoch": before + 23}
    kept = api.client.get(path).json()["items"]
    assert {one["external_id"][:4] for one in kept} == {"new-"}
    assert api.client.get("/collections/many").json()["document_count"] == 23
    ids = [one["id"] for one in kept[:2]]
    assert api.client.delete(path, params={"id": ids}).json() == {"deleted": 2, "more": False, "epoch": before + 25}
    assert api.client.delete(path, params={"id": ids}).json() == {"deleted": 0, "more": False, "epoch": before + 25}
    assert api.client.delete(path, params={"external_id": "new-9"}).json()["deleted"] == 1


def test_a_collection_has_a_name_for_people(api: Api) -> None:
    made = api.client.post("/collections", json={"display_name": "Staff handbook"})
    assert (made.status_code, made.headers["location"]) == (201, "/collections/Staff-handbook")
    assert made.json()["display_name"] == "Staff handbook"
    renamed = api.client.patch("/collections/Staff-handbook", json={"display_name": "Handbook of 2026"})
    assert renamed.json()["display_name"] == "Handbook of 2026"
    listed = {one["name"]: one["display_name"] for one in api.client.get("/collections?limit=200").json()["items"]}
    assert listed["Staff-handbook"] == "Handbook of 2026"
    assert api.client.patch("/collections/Staff-handbook", json={"display_name": None}).json()["display_name"] is None
    assert api.client.patch("/collections/Staff-handbook", json={}).status_code == 422
    assert api.client.patch("/collections/missing", json={"display_name": "x"}).status_code == 404
    assert api.client.post("/collections", json={"embedding_model": "e5"}).status_code == 422
