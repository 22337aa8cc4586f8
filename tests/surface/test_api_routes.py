"""Every route does what the API promises, over real HTTP."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import pytest
from serving import Api, read_events

LEAVE = "Employees have 30 days of leave per year. Leave is requested from the manager in writing."
PAY = "Salaries are paid on the 25th of each month. A bonus is paid in December."
BROKEN_PDF = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog"


@pytest.fixture(scope="module")
def handbook(api: Api) -> Api:
    api.index("handbook", **{"guides/leave.md": LEAVE, "guides/pay.md": PAY})
    return api


# --- collections --------------------------------------------------------------------------------------------------------


def test_collection_is_created_once_listed_and_deleted(api: Api) -> None:
    made = api.client.post("/collections", json={"name": "notes"})
    assert made.status_code == 201
    assert made.headers["location"] == "/collections/notes"
    assert made.json()["document_count"] == 0
    assert api.client.post("/collections", json={"name": "notes"}).json()["code"] == "conflict"
    assert api.client.get("/collections/notes").json()["name"] == "notes"
    assert "notes" in [item["name"] for item in api.client.get("/collections").json()["items"]]
    assert api.client.delete("/collections/notes").status_code == 204
    gone = api.client.get("/collections/notes")
    assert (gone.status_code, gone.json()["code"]) == (404, "not-found")
    assert api.client.delete("/collections/notes").status_code == 404


def test_collections_page_by_cursor_without_gaps_or_repeats(api: Api) -> None:
    names = [f"page-{n}" for n in range(5)]
    for name in names:
        api.client.post("/collections", json={"name": name})
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = api.client.get("/collections", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        assert len(page["items"]) <= 2
        seen += [item["name"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == sorted(seen)
    assert len(set(seen)) == len(seen)
    assert set(names) <= set(seen)
    for name in names:
        api.client.delete(f"/collections/{name}")


# --- index and documents ------------------------------------------------------------------------------------------------


def test_index_reports_new_duplicate_and_failed(api: Api) -> None:
    documents: list[dict[str, Any]] = [
        {"external_id": "a", "title": "A", "text": "Cairns mark the trail.", "metadata": {"kind": "note"}},
        {"external_id": "empty", "text": "   "},
        {"external_id": "x" * 3000, "text": "The id is too long."},
        {"text": "No id at all."},
    ]
    first = api.client.post("/index", json={"collection": "idx", "documents": documents}).json()
    assert first["indexed"][0]["external_id"] == "a"
    assert len(first["indexed"]) == 2
    assert not first["indexed"][0]["duplicate"]
    assert first["indexed"][0]["chunk_count"] == 1
    assert {item["code"] for item in first["failed"]} == {"empty-document", "invalid-input"}
    again = api.client.post("/index", json={"collection": "idx", "documents": [documents[0], documents[3]]}).json()
    assert [item["duplicate"] for item in again["indexed"]] == [True, True]
    assert again["indexed"][0]["id"] == first["indexed"][0]["id"]


def test_new_content_under_the_same_id_is_a_new_version(api: Api) -> None:
    api.index("versions", a="First text.")
    api.index("versions", a="Second text, other than the first.")
    (document,) = api.client.get("/collections/versions/documents").json()["items"]
    assert document["version"] == 2
    one = api.client.get(f"/collections/versions/documents/{document['id']}", params={"include": "text"}).json()
    assert one["text"] == "Second text, other than the first."
    assert "text" not in api.client.get(f"/collections/versions/documents/{document['id']}").json()


def test_documents_page_and_go(api: Api) -> None:
    api.index("many", **{f"d{n}": f"Document number {n} about stones." for n in range(5)})
    first = api.client.get("/collections/many/documents", params={"limit": 3}).json()
    rest = api.client.get("/collections/many/documents", params={"limit": 3, "cursor": first["next_cursor"]}).json()
    assert [item["external_id"] for item in first["items"] + rest["items"]] == [f"d{n}" for n in range(5)]
    assert rest["next_cursor"] is None
    url = f"/collections/many/documents/{first['items'][0]['id']}"
    assert api.client.delete(url).status_code == 204
    assert api.client.get(url).status_code == 404
    assert api.client.delete(url).status_code == 404
    assert api.client.get("/collections/many").json()["document_count"] == 4
    found = api.client.post("/search", json={"query": "document number 0", "collection": "many"}).json()
    assert "d0" not in [item["external_id"] for item in found["results"]]


# --- uploads and jobs ---------------------------------------------------------------------------------------------------


def test_upload_waited_for_with_one_broken_pdf(api: Api) -> None:
    files = [
        ("files", ("guides/leave.md", LEAVE.encode(), "text/markdown")),
        ("files", ("broken.pdf", BROKEN_PDF, "application/pdf")),
    ]
    answer = api.client.post(
        "/collections/up/documents", params={"wait": "true"}, files=files, data={"metadata": '{"team": "people"}'}
    )
    assert answer.status_code == 200
    body = answer.json()
    assert [(item["external_id"], item["duplicate"]) for item in body["uploaded"]] == [("guides/leave.md", False)]
    assert body["uploaded"][0]["chunk_count"] >= 1
    assert [item["external_id"] for item in body["failed"]] == ["broken.pdf"]
    assert body["failed"][0]["error"]
    by_id = {item["external_id"]: item for item in api.client.get("/collections/up/documents").json()["items"]}
    assert by_id["guides/leave.md"]["metadata"] == {"team": "people"}
    assert by_id["guides/leave.md"]["id"] == body["uploaded"][0]["id"]
    assert by_id["broken.pdf"]["status"] == "failed"


def test_upload_is_a_job_whose_events_end_in_one_done(api: Api) -> None:
    files = [("files", (f"n{n}.txt", f"Note number {n} says that stones are heavy.".encode())) for n in range(3)]
    files.append(("files", ("broken.pdf", BROKEN_PDF)))
    accepted = api.client.post("/collections/later/documents", files=files)
    assert accepted.status_code == 202
    assert accepted.json()["kind"] == "index_uploads"
    path = accepted.headers["location"]
    assert path == f"/jobs/{accepted.json()['id']}"
    with api.client.stream("GET", path + "/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = list(read_events(stream))
    assert [event.event for event in events][-1] == "done"
    assert [event.event for event in events[:-1]] == ["progress"] * (len(events) - 1)
    assert all(before.data != after.data for before, after in pairwise(events))
    done = events[-1].data
    assert done["status"] == "succeeded"
    assert sorted(item["external_id"] for item in done["result"]["uploaded"]) == ["n0.txt", "n1.txt", "n2.txt"]
    assert [item["external_id"] for item in done["result"]["failed"]] == ["broken.pdf"]
    assert api.client.get(path).json() == done


def test_events_of_an_ended_job_are_one_done_also_after_a_reconnect(api: Api) -> None:
    answer = api.client.post("/collections/ended/documents", files=[("files", ("a.txt", b"Stones."))])
    path = answer.headers["location"]
    api.await_until(lambda: api.client.get(path).json()["status"] == "succeeded", 30)
    headers = {"Last-Event-ID": "7"}
    with api.client.stream("GET", path + "/events", headers=headers) as stream:
        assert [event.event for event in read_events(stream)] == ["done"]
    # an ended job stays as it is
    assert api.client.post(path + "/cancel").json()["status"] == "succeeded"


def test_unknown_job_is_a_404_before_the_stream_begins(api: Api) -> None:
    for method, suffix in (("GET", ""), ("GET", "/events"), ("POST", "/cancel")):
        answer = api.client.request(method, f"/jobs/{uuid4()}{suffix}")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


# --- search -------------------------------------------------------------------------------------------------------------


def test_search_returns_the_fields_of_the_contract(handbook: Api) -> None:
    body = handbook.client.post("/search", json={"query": "how many days of leave", "collection": "handbook"}).json()
    assert set(body) >= {"results", "legs_used", "legs_failed", "exact", "from_cache", "timings_ms", "trace_id",
                         "degraded"}  # fmt: skip
    best = body["results"][0]
    assert set(best) >= {"passage_id", "chunk_id", "document_id", "external_id", "title", "content", "start", "end",
                         "matched", "page", "headings", "score", "ranks", "metadata"}  # fmt: skip
    assert best["external_id"] == "guides/leave.md"
    assert best["content"] == LEAVE[best["start"] : best["end"]]
    assert best["start"] <= best["matched"]["start"] < best["matched"]["end"] <= best["end"]
    assert best["ranks"] == {"vector": 1, "lexical": 1}
    assert (body["legs_used"], body["legs_failed"], body["from_cache"]) == (["vector", "lexical"], {}, False)


@pytest.mark.parametrize(
    ("ask", "legs"),
    [
        ({"mode": "lexical"}, ["lexical"]),
        ({"mode": "vector"}, ["vector"]),
        ({"mode": "hybrid"}, ["vector", "lexical"]),
        ({"legs": ["lexical"]}, ["lexical"]),
        ({"legs": ["lexical", "lexical"], "mode": "lexical"}, ["lexical"]),
    ],
)
def test_search_runs_the_legs_asked_for(handbook: Api, ask: dict[str, Any], legs: list[str]) -> None:
    body = handbook.client.post("/search", json={"query": "leave", "collection": "handbook"} | ask).json()
    assert body["legs_used"] == legs
    assert body["results"][0]["external_id"] == "guides/leave.md"


def test_search_follows_the_graph(api: Api) -> None:
    """From the film to its director, whose passage shares no word with the question; `mode` is shorthand."""
    texts = {"film": "The film Big Eyes was directed by Tim Burton.", "other": "Rules tell who may marry in secret.",
             "director": "In 2001 Tim Burton was in Prague, where the wedding with Lena Gieseke took place."}  # fmt: skip
    documents = [{"external_id": name, "text": text} for name, text in texts.items()]
    assert api.client.post("/index", json={"collection": "films", "documents": documents}).status_code == 200
    ask = {"query": "Who did the director of Big Eyes marry?", "collection": "films", "cache": False}

    def found(**more: Any) -> dict[str, Any]:
        body = api.client.post("/search", json=ask | more)
        assert body.status_code == 200, body.text
        return dict(body.json())

    for more in ({}, {"mode": "hybrid"}, {"legs": ["vector", "lexical", "graph"]}, {"legs": ["lexical", "graph"]}):
        body = found(**more)
        assert body["legs_used"] == more.get("legs", ["vector", "lexical", "graph"])
        director = next(one for one in body["results"] if one["external_id"] == "director")
        assert director["ranks"]["graph"] >= 1
        assert 0 < body["confidence"]["graph"] <= 1
        assert not body["legs_failed"]
        assert not body["degraded"]
    assert found(mode="text")["legs_used"] == ["vector", "lexical"]
    alone = found(mode="graph")
    assert [one["external_id"] for one in alone["results"]] == ["film", "director"]
    assert [one["ranks"] for one in alone["results"]] == [{"graph": 1}, {"graph": 2}]
    assert alone["legs_used"] == ["graph"]
    assert found(query="who may marry?")["legs_used"] == ["vector", "lexical"], "it names nothing"
    refused = api.client.post("/search", json=ask | {"mode": "graph", "legs": ["vector"]})
    assert refused.status_code == 422


def test_search_options(handbook: Api) -> None:
    text = " ".join(f"Sentence {n} is about trail marker {n}." for n in range(300))
    documents = [
        {"external_id": "long", "text": text, "metadata": {"kind": "trail", "tags": ["x"]}},
        {"external_id": "short", "text": "One trail marker.", "metadata": {"kind": "note"}},
    ]
    handbook.client.post("/index", json={"collection": "trails", "documents": documents})

    def search(**more: Any) -> list[dict[str, Any]]:
        ask = {"query": "trail marker 299", "collection": "trails", "top_k": 5, **more}
        results: list[dict[str, Any]] = handbook.client.post("/search", json=ask).json()["results"]
        return results

    assert len(search()) == 5
    assert len(search(top_k=1)) == 1
    assert {item["external_id"] for item in search(filters={"kind": "note"})} == {"short"}
    assert {item["external_id"] for item in search(filters={"tags": ["x"]})} == {"long"}
    assert sorted(item["external_id"] for item in search(group_by="document")) == ["long", "short"]
    only_long = {"mode": "vector", "top_k": 1, "filters": {"kind": "trail"}}
    whole, chunk = search(**only_long)[0], search(**only_long, expand_parents=False)[0]
    assert chunk["content"] == text[chunk["start"] : chunk["end"]]
    assert chunk["content"] in whole["content"]
    assert len(chunk["content"]) < len(whole["content"])


def test_search_over_several_collections_and_the_default_one(handbook: Api) -> None:
    handbook.index("default", x="The default collection talks about leave too.")
    by_default = handbook.client.post("/search", json={"query": "leave"}).json()
    assert {item["collection"] for item in by_default["results"]} == {"default"}
    both = handbook.client.post("/search", json={"query": "leave", "collections": ["default", "handbook"]}).json()
    assert {item["collection"] for item in both["results"]} == {"default", "handbook"}


def test_a_search_waits_for_no_epoch_that_never_was(handbook: Api) -> None:
    epoch = handbook.client.get("/collections/handbook").json()["epoch"]
    body = {"query": "leave", "collection": "handbook", "min_epoch": epoch}
    assert handbook.client.post("/search", json=body).json()["results"]
    refused = handbook.client.post("/search", json={**body, "min_epoch": 10**9})
    assert (refused.status_code, refused.json()["code"]) == (409, "epoch-not-reached")
    asked = {"question": "How many days of leave?", "collection": "handbook", "min_epoch": 10**9}
    assert handbook.client.post("/query", json=asked).status_code == 409
    assert handbook.client.post("/search", json={**body, "min_epoch": {"others": 1}}).status_code == 422


def test_trace_of_a_search_can_be_read_at_once(handbook: Api) -> None:
    found = handbook.client.post("/search", json={"query": "bonus in december", "collection": "handbook"}).json()
    trace = handbook.client.get(f"/traces/{found['trace_id']}").json()
    assert (trace["kind"], trace["question"], trace["outcome"]) == ("search", "bonus in december", "ok")
    legs = {leg["leg"]: leg["candidates"] for leg in trace["legs"]}
    assert set(legs) == {"vector", "lexical", "fused"}
    assert [item["passage_id"] for item in legs["fused"]] == [item["passage_id"] for item in found["results"]]
    assert {item["fate"] for item in legs["fused"]} == {"kept"}
    missing = handbook.client.get(f"/traces/{uuid4()}")
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")


# --- questions ----------------------------------------------------------------------------------------------------------


def test_query_answers_with_citations_that_stand_in_the_document(handbook: Api) -> None:
    run_id = str(uuid4())
    ask = {"question": "How many days of leave do employees have?", "collection": "handbook", "run_id": run_id}
    body = handbook.client.post("/query?include=all", json=ask | {"session_id": "s1"}).json()
    assert set(body) >= {"answer", "citations", "sources", "confidence", "grounded", "groundedness_score",
                         "insufficiencies", "coverage", "route", "degraded", "session_id", "run_id",
                         "timings_ms"}  # fmt: skip
    assert "30 days" in body["answer"]
    assert (body["run_id"], body["session_id"]) == (run_id, "s1")
    (first, *_) = body["citations"]
    assert set(first) >= {"n", "document_id", "passage_id", "chunk_id", "title", "page", "quote", "start", "end"}
    assert first["quote"] == LEAVE[first["start"] : first["end"]]
    assert [source["n"] for source in body["sources"]] == list(range(1, len(body["sources"]) + 1))
    trace = handbook.client.get(f"/traces/{run_id}").json()
    assert (trace["kind"], trace["outcome"]) == ("query", "ok")


@pytest.mark.parametrize("how", ["body", "accept"])
def test_query_streams_run_first_and_one_terminal_event(handbook: Api, how: str) -> None:
    ask = {"question": "When are salaries paid?", "collection": "handbook", "stream": how == "body"}
    headers = {"Accept": "text/event-stream"} if how == "accept" else {}
    with handbook.client.stream("POST", "/query?include=sources", json=ask, headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = list(read_events(stream))
    names = [event.event for event in events]
    assert names[0] == "run"
    assert UUID(events[0].data["run_id"])
    assert names[-1] == "answer"
    assert names.count("sources") == 1
    assert not {"answer", "error", "cancelled"} & set(names[:-1])
    assert [event.id for event in events] == [str(n) for n in range(1, len(events) + 1)]
    # the same body as the JSON answer
    whole = handbook.client.post("/query?include=sources", json={**ask, "stream": False}).json()
    streamed = events[-1].data
    assert set(whole) == set(streamed)
    assert (streamed["answer"], streamed["citations"]) == (whole["answer"], whole["citations"])
    assert "".join(event.data["text"] for event in events if event.event == "token") == whole["answer"]


@pytest.mark.parametrize("strategy", ["react", "planned", "iterative"])
def test_query_with_an_agent_and_no_model_for_it_says_so(handbook: Api, strategy: str) -> None:
    ask = {"question": "When are salaries paid?", "collection": "handbook", "strategy": strategy}
    notes = handbook.client.post("/query", json=ask).json()["degraded"]
    assert any(note.startswith(f"{strategy} needs a chat model") for note in notes)


def test_query_of_an_unknown_collection_is_a_404_also_as_a_stream(api: Api) -> None:
    for stream in (False, True):
        answer = api.client.post("/query", json={"question": "Why?", "collection": "nowhere", "stream": stream})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


# --- the rest -----------------------------------------------------------------------------------------------------------


def test_request_ids_are_taken_over_or_made(api: Api) -> None:
    assert api.client.get("/health/live", headers={"X-Request-ID": "abc-1"}).headers["x-request-id"] == "abc-1"
    made = api.client.get("/nope", headers={"X-Request-ID": "not good"})
    assert UUID(made.headers["x-request-id"])
    assert made.json()["request_id"] == made.headers["x-request-id"]


def test_root_without_the_page_says_what_there_is(api: Api) -> None:
    assert "page.enabled" in api.client.get("/").json()["page"]
    assert api.client.get("/ui/").status_code == 404
    assert "text/html" in api.client.get("/docs").headers["content-type"]


def test_metadata_and_text_keep_their_characters(api: Api) -> None:
    metadata = {"größe": "5 m²", "nested": {"emoji": "🗿", "list": [1, 2.5, None, True]}}
    text = "Ein Steinmännchen 🗿 zeigt den Weg."
    api.client.post(
        "/index", json={"collection": "uni", "documents": [{"external_id": "ä/ö", "text": text, "metadata": metadata}]}
    )
    (document,) = api.client.get("/collections/uni/documents").json()["items"]
    assert (document["external_id"], document["metadata"]) == ("ä/ö", metadata)
    found = api.client.post(
        "/search", json={"query": "Steinmännchen", "collection": "uni", "filters": {"größe": "5 m²"}}
    )
    assert found.json()["results"][0]["content"] == text
    assert json.loads(found.text)["results"][0]["metadata"] == metadata


# --- parts of an answer -------------------------------------------------------------------------------------------------


LEAN_BYTES = 3_000
"""Of an answer to a short question: its text, one citation, and what they are worth."""
PARTS = {"sources", "route", "grounding", "timings_ms"}


def test_an_answer_has_the_parts_that_are_named(handbook: Api) -> None:
    body = {"question": "How many days of leave are there?", "collection": "handbook"}
    plain = handbook.client.post("/query", json=body)
    assert plain.json().keys() >= {"answer", "citations", "confidence", "coverage", "usage", "run_id"}
    assert len(plain.content) < LEAN_BYTES
    for include, named in (
        ("", set()),
        ("route", {"route"}),
        ("timings_ms, sources", {"timings_ms", "sources"}),
        ("all", PARTS),
    ):
        larger = handbook.client.post("/query", params={"include": include}, json=body).json()
        assert larger.keys() - plain.json().keys() == named
        assert larger["answer"] == plain.json()["answer"]
    refused = handbook.client.post("/query?include=answers", json=body)
    assert (refused.status_code, "takes sources, route" in refused.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    ("include", "named"), [("", set()), ("?include=sources", {"sources"}), ("?include=all", PARTS)]
)
def test_a_stream_and_its_run_read_again_have_the_parts_that_are_named(
    handbook: Api, include: str, named: set[str]
) -> None:
    body = {
        "question": "How many days of leave are there?",
        "collection": "handbook",
        "stream": True,
        "resumable": True,
    }
    with handbook.client.stream("POST", f"/query{include}", json=body) as stream:
        events = list(read_events(stream))
    with handbook.client.stream("GET", f"/runs/{events[0].data['run_id']}/events{include}") as stream:
        again = list(read_events(stream))
    for read in (events, again):
        assert ("sources" in {event.event for event in read}) == ("sources" in named)
        assert read[-1].data.keys() & PARTS == named
