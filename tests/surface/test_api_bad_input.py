"""Whatever arrives, the answer is a success or a 4xx that says what is wrong: never a 500."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import Api

from tests.waiting import patience

PROBLEM = "application/problem+json"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module", autouse=True)
def stones(api: Api) -> Iterator[None]:
    api.index("stones", a="A cairn is a pile of stones that marks a trail.")
    yield
    bugs = [line for line in api.log.splitlines() if "request.bug" in line or "stream.bug" in line or "run.bug" in line]
    assert not bugs


def problem(answer: Any, status: int, code: str | None = None) -> dict[str, Any]:
    """The answer is a complete problem of this status."""
    assert answer.status_code == status, answer.text[:500]
    assert answer.headers["content-type"] == PROBLEM
    body: dict[str, Any] = answer.json()
    assert set(body) >= {"type", "title", "status", "detail", "instance", "code", "request_id"}
    assert body["status"] == status
    assert body["detail"]
    assert body["request_id"] == answer.headers["x-request-id"]
    if code:
        assert body["code"] == code
    return body


def search(api: Api, **body: Any) -> Any:
    return api.client.post("/search", json={"query": "stones", "collection": "stones", **body})


# --- what HTTP itself says ----------------------------------------------------------------------------------------------


def test_unknown_route_and_wrong_method(api: Api) -> None:
    problem(api.client.get("/nothing/here"), 404, "unknown-route")
    wrong = api.client.put("/search", json={})
    problem(wrong, 405, "method-not-allowed")
    assert wrong.headers["allow"] == "POST"
    assert api.client.put("/jobs").headers["allow"] == "GET, HEAD"
    read, asked = (api.client.request(method, "/collections/stones") for method in ("GET", "HEAD"))
    assert (asked.status_code, asked.content, asked.headers["etag"]) == (200, b"", read.headers["etag"])


def test_unknown_names_are_refused_with_the_nearest(api: Api) -> None:
    """A filter that is ignored would not hold, as in a deletion."""
    wrong = problem(
        api.client.delete("/collections/stones/documents?external_id=x&statsu=failed"), 422, "invalid-input"
    )
    assert wrong["errors"] == [
        {"location": "query.statsu", "message": "there is no such name here; did you mean status?", "type": "unknown_parameter"}
    ]  # fmt: skip
    nested = problem(api.client.post("/index", json={"documents": [{"texts": "x"}]}), 422)
    assert "body.documents.0.texts: there is no such name here; did you mean text?" in nested["detail"]
    for name, meant in (("acess", "did you mean access?"), ("readers", "access, files, metadata")):  # it would be open
        parts = [("files", ("a.txt", b"Soup."))]
        sent = problem(api.client.post("/collections/stones/documents", files=parts, data={name: "group:hr"}), 422)
        assert sent["errors"][0]["location"] == f"body.{name}"
        assert meant in sent["errors"][0]["message"]
    assert api.client.get("/health/live?_=1").status_code == 200


@pytest.mark.parametrize(
    "sent", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x" * 500]
)
def test_json_bodies_come_as_application_json_only(api: Api, sent: str) -> None:
    """Design section 4: a form of a foreign page cannot pretend to be JSON."""
    headers = {"Content-Type": sent} if sent else {}
    body = json.dumps({"query": "stones", "collection": "stones"}).encode()
    problem(api.client.post("/search", content=body, headers=headers), 415, "unsupported-type")


def test_json_with_a_charset_is_json_and_uploads_are_multipart(api: Api) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    body = json.dumps({"query": "stones", "collection": "stones"}).encode()
    assert api.client.post("/search", content=body, headers=headers).status_code == 200
    problem(api.client.post("/collections/stones/documents", json={"files": []}), 415)


@pytest.mark.parametrize(
    "body",
    [b"{", b"", b"\xff\xfe\xfa", b'{"query": "\xe9"}', b'{"query": "x",}', b'{"a":' * 4000, b"[" * 5000 + b"]" * 5000,
     b'{"query": ' + b"9" * 5000 + b"}"],
    ids=["cut", "empty", "binary", "latin-1", "comma", "deep open", "deep", "5000 digits"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/search", "/index", "/query", "/collections"])
def test_bodies_that_are_not_json(api: Api, path: str, body: bytes) -> None:
    answer = api.client.post(path, content=body, headers=JSON)
    problem(answer, 422 if body == b"" or (body.startswith(b"[[") and answer.status_code == 422) else 400)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.nip.io"])
def test_unknown_host_is_misdirected(api: Api, host: str) -> None:
    problem(api.client.get("/collections", headers={"Host": host}), 421, "unknown-host")


def test_known_hosts_with_any_port(api: Api) -> None:
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:9"):
        assert api.client.get("/health/live", headers={"Host": host}).status_code == 200


def test_missing_host_is_a_bad_request(api: Api) -> None:
    with socket.create_connection(("127.0.0.1", api.port)) as plain:
        plain.sendall(b"GET /health/live HTTP/1.0\r\n\r\n")
        answer = plain.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400")
    assert PROBLEM.encode() in answer


def test_pages_of_other_sites_cannot_change_anything(api: Api) -> None:
    files = [("files", ("a.txt", b"Injected."))]
    for origin in ("https://evil.example", "null", "http://localhost.evil.example", "http://["):
        answer = api.client.post("/collections/csrf/documents", files=files, headers={"Origin": origin})
        problem(answer, 403, "foreign-origin")
    assert api.client.get("/collections/csrf").status_code == 404
    own = {"Origin": api.url}
    assert api.client.post("/search", json={"query": "x", "collection": "stones"}, headers=own).status_code == 200


# --- size ---------------------------------------------------------------------------------------------------------------


def test_announced_body_over_the_limit_is_refused_before_it_is_read(api: Api) -> None:
    with socket.create_connection(("127.0.0.1", api.port)) as plain:
        plain.settimeout(patience())
        plain.sendall(
            b"POST /collections/stones/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000000\r\n"
            b"Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        )
        answer = plain.recv(65536)  # although not one byte of the body was sent
    assert answer.startswith(b"HTTP/1.1 413")
    assert PROBLEM.encode() in answer


def test_a_client_that_sends_everything_first_gets_to_read_the_413(api: Api) -> None:
    problem(api.client.post("/search", content=b"x" * 65_000_000, headers=JSON), 413, "too-large")


def test_chunked_body_over_the_limit_is_cut(api: Api) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b" " * 1_000_000

    problem(api.client.post("/search", content=endless(), headers=JSON), 413, "too-large")


def test_file_over_the_limit(api: Api) -> None:
    files = [("files", ("small.txt", b"Small.")), ("files", ("big.txt", b"x" * 50_000_001))]
    body = problem(api.client.post("/collections/big/documents", files=files), 413, "too-large")
    assert "big.txt" in body["detail"]


@pytest.mark.siege
def test_large_query_and_long_words(api: Api) -> None:
    problem(search(api, query="stone " * 900_000), 413, "too-large")
    problem(search(api, query="stone " * 150_000), 422)
    for query in ("s" * 4000, "-" * 1000, "stone " * 666, "🗿" * 2000, "ä" * 3999):
        for mode in ("hybrid", "lexical", "vector"):
            assert search(api, query=query, mode=mode).status_code == 200, (query[:5], mode)


@pytest.mark.siege
def test_document_of_4_000_distinct_words(api: Api) -> None:
    """In passages as large as the settings allow: more to the tsvector of each."""
    before = api.revision
    api.write_settings('{"chunking": {"passageSize": 20000, "chunkSize": 8000}}')
    api.await_until(lambda: api.revision != before)
    words = " ".join(f"w{n:07d}" for n in range(4_000))
    try:
        api.index("words", w=words)
    finally:
        api.restore_settings()
        api.await_until(lambda: api.revision == before)
    found = api.client.post("/search", json={"query": "w0003999", "collection": "words", "mode": "lexical"}).json()
    assert "w0003999" in found["results"][0]["content"]


def test_document_of_one_endless_word(api: Api) -> None:
    api.index("endless", a="x" * 12_000 + " and a cairn")
    assert api.client.post("/search", json={"query": "cairn", "collection": "endless"}).json()["results"]


# --- characters ---------------------------------------------------------------------------------------------------------

NASTY = [
    "\x00",
    "a\x00b",
    "\ud800",
    "x\udfffy",
    "\ufffe",
    "\u202e",
    "'; DROP TABLE rag.runs; --",
    "%s {0} $1",
    "\\u0000",
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("text", NASTY)
def test_nasty_characters_in_every_text_field(api: Api, text: str) -> None:
    inside = {text: text, "deep": {text: [text, {text: text}]}}
    named = "id" if text in ("\ufffe", "\u202e") else f"id {text}"  # what cannot be seen is no part of an id
    document = {"external_id": named, "title": text, "text": f"Stones {text} stones", "metadata": inside}
    # json.dumps escapes the surrogates, as hostile clients do
    for path, body in (
        ("/index", {"collection": "nasty", "documents": [document]}),
        ("/search", {"query": f"stones {text}", "collection": "nasty", "filters": inside}),
        ("/query", {"question": f"stones {text}?", "collection": "nasty", "filters": inside, "session_id": text}),
    ):
        answer = api.client.post(path, content=json.dumps(body).encode(), headers=JSON)
        assert answer.status_code == 200, (path, answer.text)
    for path, body in (
        ("/search", {"query": text, "collection": text}),
        ("/search", {"query": "x", "collections": [text]}),
        ("/collections", {"name": text}),
        ("/index", {"collection": text, "documents": [document]}),
        ("/query", {"question": "x", "collection": text}),
        ("/search", {"query": "x", text: text}),
    ):
        answer = api.client.post(path, content=json.dumps(body).encode(), headers=JSON)
        assert answer.status_code in (404, 422), (path, answer.text)
        problem(answer, answer.status_code)
    (stored,) = [
        item
        for item in api.client.get("/collections/nasty/documents", params={"limit": 200}).json()["items"]
        if item["external_id"]
        == named.replace("\x00", "\ufffd").replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")
    ]
    assert "\x00" not in json.dumps(stored["metadata"], ensure_ascii=False)


def test_nothing_but_characters_that_mean_nothing_is_an_empty_query(api: Api) -> None:
    for query in ("", "   ", "\x00", "\n\t", "\ud800"):
        body = json.dumps({"query": query, "collection": "stones"}).encode()
        assert "empty" in problem(api.client.post("/search", content=body, headers=JSON), 422)["detail"]
        body = json.dumps({"question": query, "collection": "stones"}).encode()
        problem(api.client.post("/query", content=body, headers=JSON), 422)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "query", ["foo & (bar", "!!", "a <-> b:*", '"', "' | '", ":*", "\\", "(((", "stones -cairn or ("]
)
def test_operators_of_text_search_are_only_text(api: Api, query: str) -> None:
    for mode in ("lexical", "hybrid"):
        assert search(api, query=query, mode=mode).status_code == 200
    asked = {"question": query, "collection": "stones"}
    assert api.client.post("/query?include=all", json=asked).status_code == 200


@settings(max_examples=2 * settings().max_examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(st.characters(codec=None), max_size=60))
def test_any_text_is_a_query_or_an_empty_one(api: Api, query: str) -> None:
    body = json.dumps({"query": query, "collection": "stones", "mode": "lexical", "filters": {query: query}}).encode()
    assert api.client.post("/search", content=body, headers=JSON).status_code in (200, 422)


# --- values -------------------------------------------------------------------------------------------------------------

DEEP: Any = {}
for _ in range(200):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(
    "field",
    [
        {"top_k": 0}, {"top_k": 201}, {"top_k": "x"}, {"top_k": None}, {"top_k": 2**70}, {"filters": [1]}, {"filters": "x"},
        {"filters": DEEP}, {"legs": []}, {"legs": ["bm25"]}, {"mode": "bm25"}, {"legs": ["vector"], "mode": "lexical"},
        {"group_by": "page"}, {"expand_parents": "perhaps"}, {"rerank": 7}, {"topK": 3}, {"query": None}, {"query": 5},
        {"collections": []}, {"collections": ["a"], "collection": "stones"}, {"collection": 5}, {"filters": {"n": 10**400}},
    ],
    ids=lambda field: json.dumps(field)[:30],
)  # fmt: skip
def test_search_refuses_what_it_does_not_understand(api: Api, field: dict[str, Any]) -> None:
    body = problem(search(api, **field), 422)
    if "errors" in body:
        assert body["errors"][0]["location"].startswith("body")


@pytest.mark.parametrize(
    "filters", [{"year": {"$in": [2020, 2021]}}, {"$or": [{"year": 2020}]}, {"a": [{"b": {"$gte": 1}}]}]
)
@pytest.mark.parametrize("path", ["/search", "/query"])
def test_operators_of_other_databases_are_no_filters(api: Api, path: str, filters: dict[str, Any]) -> None:
    """They would be looked for as members, and nothing found without a word."""
    asked = {"query": "x"} if path == "/search" else {"question": "x"}
    answer = api.client.post(path, json={**asked, "collection": "stones", "filters": filters})
    assert "no operators such as $" in problem(answer, 422)["detail"]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "1" * 400])
@pytest.mark.parametrize("field", ["filters", "metadata"])
def test_numbers_that_json_does_not_have(api: Api, number: str, field: str) -> None:
    if field == "filters":
        body = '{"query": "x", "collection": "stones", "filters": {"n": [' + number + "]}}"
        answer = api.client.post("/search", content=body.encode(), headers=JSON)
    else:
        body = '{"collection": "numbers", "documents": [{"text": "x", "metadata": {"n": ' + number + "}}]}"
        answer = api.client.post("/index", content=body.encode(), headers=JSON)
    problem(answer, 422)


def test_large_and_odd_numbers_that_are_fine(api: Api) -> None:
    metadata = {"big": 10**200, "small": 1e-300, "zero": -0.0, "long": 2**63}
    body = {"collection": "numbers", "documents": [{"external_id": "n", "text": "Numbers.", "metadata": metadata}]}
    assert api.client.post("/index", json=body).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {}, [], "x", {"documents": []}, {"documents": "x"}, {"documents": [{}]}, {"documents": [{"text": None}]},
        {"documents": [{"text": "x", "metadata": "y"}]}, {"documents": [{"text": "x", "more": 1}]},
        {"documents": [{"text": "x"}] * 1001},
        {"documents": [{"external_id": "a", "text": "x"}, {"external_id": "a", "text": "y"}]},
        {"collection": "a/b", "documents": [{"text": "x"}]}, {"collection": "", "documents": [{"text": "x"}]},
        {"collection": "größe", "documents": [{"text": "x"}]}, {"collection": "x" * 129, "documents": [{"text": "x"}]},
        {"documents": [{"text": "x", "metadata": DEEP}]},
    ],
    ids=lambda body: json.dumps(body)[:40],
)  # fmt: skip
def test_index_refuses_what_it_does_not_understand(api: Api, body: Any) -> None:
    problem(api.client.post("/index", json=body), 422)


@pytest.mark.parametrize(
    "field",
    [{"strategy": "magic"}, {"run_id": "x"}, {"session_id": "s" * 201}, {"resumable": "perhaps"}, {"stream": "x"},
     {"filters": 1}, {"extra": 1}, {"question": ["x"]}],
    ids=json.dumps,
)  # fmt: skip
def test_query_refuses_what_it_does_not_understand(api: Api, field: dict[str, Any]) -> None:
    problem(api.client.post("/query", json={"question": "What is a cairn?", "collection": "stones", **field}), 422)


@pytest.mark.parametrize("name", ["a/b", "../x", "", " ", "größe", "-x", ".x", "x" * 129, "a b", "a\nb"])
def test_names_that_are_no_collection_names(api: Api, name: str) -> None:
    problem(api.client.post("/collections", json={"name": name}), 422)


@pytest.mark.parametrize(
    "path",
    ["/collections/none", "/collections/a%2Fb", "/collections/%00", "/collections/%F0%9F%97%BF", "/collections/%ff%fe",
     "/collections/none/documents", "/collections/" + "x" * 5000, "/traces/x", "/jobs/x",
     "/collections/stones/documents/x", "/collections/stones/documents/01932f4e-5c1a-7b3e-9f00-2b1c3d4e5f60"],
    ids=lambda path: path[:40],
)  # fmt: skip
def test_paths_that_lead_nowhere(api: Api, path: str) -> None:
    answer = api.client.get(path)
    assert answer.status_code in (404, 422)
    problem(answer, answer.status_code)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "cursor=%00", "cursor=***", "cursor=_w", "cursor=ä"]
)
def test_paging_parameters_that_are_wrong(api: Api, query: str) -> None:
    for path in ("/collections", "/collections/stones/documents"):
        problem(api.client.get(f"{path}?{query}"), 422)


# --- uploads ------------------------------------------------------------------------------------------------------------


def upload(api: Api, files: list[tuple[str, Any]], **more: Any) -> Any:
    return api.client.post("/collections/uploads/documents", params={"wait": "true"}, files=files, **more)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("filename", "identity"),
    [
        ("a/./b//c.txt", "a/b/c.txt"), ("grö ße.txt", "grö ße.txt"), ("sub/dir/file.txt", "sub/dir/file.txt"),
        ("C:\\fakepath\\f.txt", "f.txt"), ("notes\\g.txt", "notes/g.txt"), ("می\u200cخواهم.txt", "می\u200cخواهم.txt"),
    ],
)  # fmt: skip
def test_file_names_become_relative_paths(api: Api, filename: str, identity: str) -> None:
    body = upload(api, [("files", (filename, f"Stones of {filename}".encode()))]).json()
    assert [item["external_id"] for item in body["uploaded"]] == [identity]


PATHS = (
    "../../etc/passwd", "/same.txt", "C:\\same.txt", "C:\\temp\\same.txt", "C:/same.txt", "\\\\server\\share\\same.txt",
    "..\\..\\same.txt", "x/../same.txt", "a\\..\\..\\same.txt", "\\same.txt",
)  # fmt: skip


@pytest.mark.parametrize("filename", PATHS)
def test_a_path_does_not_become_the_name_of_another_file(api: Api, filename: str) -> None:
    """Three files of three folders would replace each other, and nobody would know."""
    body = upload(api, [("files", ("same.txt", b"The one that is there."))]).json()
    assert [item["external_id"] for item in body["uploaded"]] == ["same.txt"]
    refused = problem(upload(api, [("files", (filename, b"Another one."))]), 422)
    assert "absolute path" in refused["detail"] or "'..'" in refused["detail"]
    assert "external_id" in refused["detail"]
    again = upload(api, [("files", ("same.txt", b"The one that is there."))]).json()
    assert again["uploaded"][0]["duplicate"], "it is what it was"
    chat = api.client.post("/chat/paths/documents", files=[("files", (filename, b"Another one."))])
    assert problem(chat, 422)["detail"] == refused["detail"]


def test_two_names_of_one_file_are_one_name(api: Api) -> None:
    refused = upload(api, [("files", ("x/./same.txt", b"One.")), ("files", ("x\\same.txt", b"Two."))])
    detail = problem(refused, 422)["detail"]
    assert "'x/./same.txt'" in detail
    assert repr("x\\same.txt") in detail


HIDDEN = (
    "\u200b", "\u200d", "\u200e", "\u2060", "\ufeff", "\u202e", "\u2066", "\u00ad", "\u2028", "\x07", "\u3164", "\ue000",
    "\ufe0f", "\U000e0041",
)  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda sign: f"U+{ord(sign):04X}")
def test_what_cannot_be_seen_makes_no_second_name(api: Api, hidden: str) -> None:
    said = "U+000A" if hidden == "\u2028" else f"U+{ord(hidden):04X}"  # as a line end, which it is
    documents = [
        {"external_id": f"le{hidden}ave", "text": "One."},
        {"external_id": "leave", "title": f"My{hidden}title", "text": "Two."},
    ]
    answer = api.client.post("/index", json={"collection": "hidden", "documents": documents}).json()
    assert [item["external_id"] for item in answer["indexed"]] == ["leave"]
    assert said in answer["failed"][0]["error"]
    [shown] = api.client.get("/collections/hidden/documents").json()["items"]
    assert shown["title"] in ("My\u200dtitle", "Mytitle", "My title", "My\ufe0ftitle"), "joiners stay in titles"
    if hidden != "\x07":  # which a client of HTTP writes as %07
        assert said in problem(upload(api, [("files", (f"le{hidden}ave.txt", b"Three."))]), 422)["detail"]
    assert said in problem(api.client.post("/keys", json={"name": f"a{hidden}b", "scopes": ["read"]}), 422)["detail"]
    problem(api.client.post("/collections", json={"name": f"hid{hidden}den"}), 422)


@pytest.mark.parametrize("name", ["..", "../x", "a/../b", "a\\..\\b", "a/.."])
def test_ids_that_may_be_other_ids_are_refused(api: Api, name: str) -> None:
    documents = [
        {"external_id": name, "text": "Hidden stones."},
        {"external_id": "v1..v2", "text": "Stones between two versions."},
    ]
    answer = api.client.post("/index", json={"collection": "dots", "documents": documents}).json()
    assert [item["external_id"] for item in answer["indexed"]] == ["v1..v2"]
    assert (answer["failed"][0]["code"], "'..'" in answer["failed"][0]["error"]) == ("invalid-input", True)


def multipart(filename: bytes, content: bytes = b"Stones.", name: bytes = b"files") -> dict[str, Any]:
    """A body as no decent client would send it."""
    disposition = b'Content-Disposition: form-data; name="' + name + b'"; filename="' + filename + b'"'
    body = b"--x\r\n" + disposition + b"\r\nContent-Type: text/plain\r\n\r\n" + content + b"\r\n--x--\r\n"
    return {"content": body, "headers": {"Content-Type": "multipart/form-data; boundary=x"}}


@pytest.mark.parametrize("filename", [b"", b"..", b"../..", b"/", b"\\", b" ", b"C:\\", b"x" * 600, b"%00" * 300])
def test_file_names_that_name_nothing(api: Api, filename: bytes) -> None:
    answer = api.client.post("/collections/uploads/documents?wait=true", **multipart(filename))
    problem(answer, 422)


@pytest.mark.parametrize("filename", [b"a\xff\xfe.txt", b"a\x00b.txt", "🗿.txt".encode(), b"a;b=c.txt", b"a%22b.txt"])
def test_odd_file_names_are_cleaned_or_refused(api: Api, filename: bytes) -> None:
    answer = api.client.post("/collections/uploads/documents?wait=true", **multipart(filename))
    assert answer.status_code in (200, 400, 422), answer.text


def test_uploads_without_files(api: Api) -> None:
    problem(upload(api, [], data={"metadata": "{}"}), 415)  # without a file this is no multipart body at all
    problem(api.client.post("/collections/uploads/documents", **multipart(b"a.txt", name=b"other")), 422)
    empty = {"content": b"--x--\r\n", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}
    problem(api.client.post("/collections/uploads/documents", **empty), 422)
    text = {"content": b'--x\r\nContent-Disposition: form-data; name="files"\r\n\r\nhi\r\n--x--\r\n',
            "headers": {"Content-Type": "multipart/form-data; boundary=x"}}  # fmt: skip
    problem(api.client.post("/collections/uploads/documents", **text), 422)


def test_multipart_bodies_that_are_broken(api: Api) -> None:
    for headers, content in (
        ({"Content-Type": "multipart/form-data"}, b"--x\r\n"),
        ({"Content-Type": "multipart/form-data; boundary=x"}, b"--x\r\nnonsense"),
        ({"Content-Type": "multipart/form-data; boundary=x"}, b"--y\r\n\r\n"),
    ):
        answer = api.client.post("/collections/uploads/documents", headers=headers, content=content)
        assert answer.status_code in (400, 422)
        problem(answer, answer.status_code)


@pytest.mark.parametrize(
    "metadata",
    ["x", "[1]", "5", '"x"', '{"a": NaN}', '{"a": 1e400}', '{"a":' * 2000 + "1" + "}" * 2000, '{"a": ' + "9" * 5000],
)
def test_metadata_of_an_upload_is_an_object(api: Api, metadata: str) -> None:
    problem(upload(api, [("files", ("a.txt", b"x"))], data={"metadata": metadata}), 422)


def test_metadata_of_an_upload_is_cleaned(api: Api) -> None:
    metadata = '{"a\\u0000": "b\\ud800"}'
    body = upload(api, [("files", ("clean.txt", b"Clean."))], data={"metadata": metadata}).json()
    document = api.client.get(f"/collections/uploads/documents/{body['uploaded'][0]['id']}").json()
    assert document["metadata"] == {"a\ufffd": "b\ufffd"}


def test_files_that_cannot_be_read_fail_alone(api: Api) -> None:
    files = [
        ("files", ("program.exe", b"MZ\x90\x00\x03\x00\x00\x00" + bytes(range(256)) * 8)),
        ("files", ("empty.txt", b"")),
        ("files", ("nul.txt", b"Stones\x00and\x00cairns")),
        ("files", ("latin.txt", "Größe der Steine".encode("latin-1"))),
        ("files", ("good.txt", b"A good file.")),
    ]
    body = upload(api, files).json()
    assert {"good.txt", "latin.txt"} <= {item["external_id"] for item in body["uploaded"]}
    codes = {item["external_id"]: item["code"] for item in body["failed"]}
    assert (codes["program.exe"], codes["empty.txt"]) == ("unsupported-type", "empty-document")


def test_the_same_name_twice_in_one_upload(api: Api) -> None:
    problem(upload(api, [("files", ("a.txt", b"x")), ("files", ("./a.txt", b"y"))]), 422)
