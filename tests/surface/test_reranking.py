"""Reranking as users of the API meet it: order, fallback that says so, providers chosen while running (A5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Reply, overlap, score_passages
from scripted_server import ScriptedServer
from serving import Api, serving
from tiny_cross_encoder import make_cross_encoder

from cairn.settings import parse_settings
from tests.waiting import wait_until

KEY = "co-secret-91d2"
QUERY = "granite cairn on the ridge"
TEXTS = {
    "walls": "Granite walls. Granite roofs. Granite floors. Granite, granite and granite again.",
    "bread": "Bread rises in a warm place for two hours.",
    "ridge": "The granite cairn stands on the ridge.",
    "paths": "A ridge has paths, and a cairn marks each.",
    "notes": "Some notes on cairns: a cairn is a cairn is a cairn.",
}


@pytest.fixture(scope="module")
def remote() -> Iterator[ScriptedServer]:
    """A Cohere and a chat model in one: it judges passages when asked to, and answers questions otherwise."""

    def say(messages: list[dict[str, Any]]) -> str:
        judging = str(messages[-1]["content"]).startswith("Question: ")
        return score_passages(messages) if judging else "The cairn stands on the ridge [1]."

    with ScriptedServer(answer=say) as running:
        yield running


Serve = Callable[..., Any]


@pytest.fixture(scope="module")
def serve(fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path) -> Serve:
    def start(**environment: str) -> Any:
        folder = tmp_path_factory.mktemp("reranking")
        return serving(fresh_database(), folder, CAIRN_MODEL_DIR=str(model), **environment)

    return start


def filled(api: Api) -> Api:
    api.index("stones", **TEXTS)
    return api


@pytest.fixture(scope="module")
def with_cohere(serve: Serve, remote: ScriptedServer) -> Iterator[Api]:
    with serve(COHERE_API_KEY=KEY, COHERE_BASE_URL=remote.url) as api:
        yield filled(api)


@pytest.fixture(scope="module")
def with_chat(serve: Serve, remote: ScriptedServer) -> Iterator[Api]:
    with serve(OPENAI_BASE_URL=remote.openai_url) as api:
        yield filled(api)


@pytest.fixture(scope="module")
def bare(serve: Serve) -> Iterator[Api]:
    """Without a key or a model for reranking."""
    with serve() as api:
        yield filled(api)


@pytest.fixture
def calls(remote: ScriptedServer) -> list[Any]:
    """What the server was asked in this test."""
    remote.requests.clear()
    return remote.requests


def use(api: Api, rag: dict[str, Any] | None = None, **retrieve: Any) -> None:
    """Put settings in force."""
    # each search must meet the reranker
    whole = {"simpleShare": 0.0}  # what is read is shortened by reranking alone
    raw = json.dumps({"rag": rag or {}, "retrieve": retrieve, "answer": whole, "cache": {"enabled": False}})
    api.write_settings(raw)
    revision = parse_settings(raw.encode()).revision
    api.await_until(lambda: api.revision == revision)


def search(api: Api, **more: Any) -> dict[str, Any]:
    answer = api.client.post("/search", json={"query": QUERY, "collection": "stones", "cache": False} | more)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def ask(api: Api) -> dict[str, Any]:
    answer = api.client.post("/query?include=sources", json={"question": QUERY, "collection": "stones"})
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


def order(found: dict[str, Any]) -> list[str]:
    return [item["external_id"] for item in found["results"]]


def in_force(api: Api) -> Any:
    return api.client.get("/health/ready").json()["models"]["reranker"]


# --- Cohere -----------------------------------------------------------------------------------------------------------


@pytest.mark.siege
def test_auto_takes_cohere_where_there_is_a_key(with_cohere: Api, calls: list[Any]) -> None:
    use(with_cohere)
    found = search(with_cohere)
    scores = [overlap(QUERY, TEXTS[name]) for name in order(found)]
    assert scores == sorted(scores, reverse=True) == [0.8, 0.4, 0.4, 0.2, 0.0]
    assert [call.path for call in calls] == ["/v2/rerank"]
    assert calls[0].body["query"] == QUERY
    assert sorted(calls[0].body["documents"]) == sorted(TEXTS.values())
    assert found["degraded"] == []
    assert "rerank" in found["timings_ms"]
    assert found["reranker"] == "rerank-v3.5"
    assert in_force(with_cohere) == calls[0].body["model"] == "rerank-v3.5"


def test_the_trace_has_the_scores_of_the_reranker(with_cohere: Api) -> None:
    use(with_cohere)
    found = search(with_cohere, top_k=1)
    trace = with_cohere.client.get(f"/traces/{found['trace_id']}").json()
    fused = next(leg for leg in trace["legs"] if leg["leg"] == "fused")
    assert trace["plan"]["reranker"] == "rerank-v3.5"
    shares = sorted((item["share"] for item in fused["candidates"]), reverse=True)
    assert shares == pytest.approx([0.8, 0.4, 0.4, 0.2, 0.0])
    assert {item["fate"] for item in fused["candidates"]} == {"kept", "below top_k after reranking"}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("kind", ["401", "malformed", "html_200", "wrong_shape", "out_of_range", "score"])
def test_a_failure_leaves_the_fused_order_and_says_so(
    with_cohere: Api, remote: ScriptedServer, calls: list[Any], kind: str
) -> None:
    use(with_cohere)
    remote.script(kind)
    found = search(with_cohere)
    assert len(calls) == 1
    assert order(found) == order(search(with_cohere, rerank=False)) != order(search(with_cohere))
    assert len(found["degraded"]) == 1
    assert found["reranker"] is None
    assert found["degraded"][0].startswith("reranker rerank-v3.5 failed: rerank-v3.5: ")
    assert KEY not in json.dumps(found)
    trace = with_cohere.client.get(f"/traces/{found['trace_id']}").json()
    assert trace["degraded"] == found["degraded"]


def test_an_answer_says_so_too(with_cohere: Api, remote: ScriptedServer) -> None:
    use(with_cohere)
    remote.script("malformed")
    assert any("reranker rerank-v3.5 failed" in reason for reason in ask(with_cohere)["degraded"])
    assert ask(with_cohere)["degraded"] == []


def test_a_reranker_that_hangs_costs_no_more_than_its_deadline(with_cohere: Api, remote: ScriptedServer) -> None:
    use(with_cohere, rerankSeconds=0.5)
    remote.script("stall")
    found = search(with_cohere)
    assert len(found["results"]) == 5
    assert "in time" in found["degraded"][0]


def test_rerank_false_and_reranking_disabled_ask_nobody(with_cohere: Api, calls: list[Any]) -> None:
    use(with_cohere)
    plain = search(with_cohere, rerank=False)
    use(with_cohere, {"rerankingEnabled": False})
    assert order(search(with_cohere)) == order(plain)
    assert not calls
    search(with_cohere, rerank=True)
    assert len(calls) == 1


def test_only_the_first_candidates_are_reranked(with_cohere: Api, calls: list[Any]) -> None:
    """At most retrieve.rerankCandidates; the others keep their place behind them."""
    use(with_cohere, rerankCandidates=2)
    fused = order(search(with_cohere, rerank=False))
    found = order(search(with_cohere))
    assert sorted(calls[0].body["documents"]) == sorted(TEXTS[name] for name in fused[:2])
    assert found[2:] == fused[2:]


def test_settings_change_provider_and_model_while_running(with_cohere: Api, calls: list[Any]) -> None:
    use(with_cohere, {"rerankerModel": "rerank-v9"})
    search(with_cohere)
    assert in_force(with_cohere) == calls[-1].body["model"] == "rerank-v9"
    use(with_cohere, {"rerankerProvider": "none"})
    assert in_force(with_cohere) is None
    assert search(with_cohere)["degraded"] == []
    assert len(calls) == 1
    assert "no reranker is configured" in search(with_cohere, rerank=True)["degraded"][0]
    use(with_cohere, {"rerankerProvider": "llm"})
    assert "no chat model is configured" in search(with_cohere)["degraded"][0]
    use(with_cohere, {"rerankerProvider": "cohere"})
    search(with_cohere)
    assert calls[-1].body["model"] == "rerank-v3.5"


# --- the chat model ---------------------------------------------------------------------------------------------------


def test_auto_asks_the_chat_model_only_when_a_search_asks_for_it(with_chat: Api, calls: list[Any]) -> None:
    use(with_chat)
    assert in_force(with_chat) is None, "nothing unless it is asked for"
    plain = search(with_chat)
    assert not calls
    assert plain["degraded"] == []
    assert "rerank" not in plain["timings_ms"]
    found = search(with_chat, rerank=True)
    assert [call.path for call in calls] == ["/v1/chat/completions"]
    assert order(found)[0] == "ridge"
    assert found["degraded"] == []


def test_llm_is_asked_for_every_search(with_chat: Api, calls: list[Any]) -> None:
    use(with_chat, {"rerankerProvider": "llm", "rerankerModel": "judge"})
    assert order(search(with_chat))[0] == "ridge"
    assert in_force(with_chat) == "llm:judge"
    assert [call.body["model"] for call in calls] == ["judge"]


def test_passages_that_the_model_forgot_stand_below_and_are_reported(with_chat: Api, remote: ScriptedServer) -> None:
    use(with_chat, {"rerankerProvider": "llm"})
    fused = order(search(with_chat, rerank=False))
    remote.script(Reply(text="4: 2\n2: 9"))
    found = search(with_chat)
    assert order(found) == [fused[1], fused[3], fused[0], fused[2], fused[4]]
    assert found["degraded"] == ["reranker llm:gpt-4o-mini scored 2 of 5 passages"]


def test_a_model_that_rambles_leaves_the_fused_order(with_chat: Api, remote: ScriptedServer) -> None:
    use(with_chat, {"rerankerProvider": "llm"})
    remote.script(Reply(text="All of these are fine passages."))
    found = search(with_chat)
    assert order(found) == order(search(with_chat, rerank=False))
    assert found["degraded"] == ["reranker llm:gpt-4o-mini failed: llm:gpt-4o-mini: the reply has no scores"]


@pytest.mark.parametrize(("rag", "reranks"), [({}, False), ({"rerankerProvider": "llm"}, True)])
def test_an_answer_spends_tokens_on_reranking_only_where_the_settings_ask_for_it(
    with_chat: Api, calls: list[Any], rag: dict[str, Any], reranks: bool
) -> None:
    use(with_chat, rag)
    said = ask(with_chat)
    judged = [str(call.body["messages"][-1]["content"]).startswith("Question: ") for call in calls]
    assert judged == ([True, False] if reranks else [False]), "first to judge the passages, then to answer from them"
    assert said["degraded"] == []
    trace = with_chat.client.get(f"/traces/{said['run_id']}").json()
    spent = {one["purpose"]: one["input_tokens"] + one["output_tokens"] for one in trace["usage"]["by_purpose"]}
    assert (spent.get("rerank", 0) > 0) == reranks
    assert sum(spent.values()) == sum(said["usage"][kind] for kind in ("input_tokens", "output_tokens"))
    assert trace["plan"]["reranker"] == ("llm:gpt-4o-mini" if reranks else None)
    if reranks:
        assert said["sources"][0]["external_id"] == "ridge"


@pytest.mark.parametrize("path", ["/query", "/chat/", "/api/agent/run"])
def test_no_door_pays_for_reranking_unasked(with_chat: Api, calls: list[Any], path: str) -> None:
    use(with_chat)
    bodies = {
        "/query": {"question": QUERY, "collection": "stones"},
        "/chat/": {"message": QUERY, "collection_name": "stones"},
        "/api/agent/run": {"question": QUERY, "collection": "stones"},
    }
    assert with_chat.client.post(path, json=bodies[path]).status_code == 200
    assert calls
    assert not [call for call in calls if str(call.body["messages"][-1]["content"]).startswith("Question: ")]


@pytest.mark.siege
def test_a_cross_encoder_on_disk_comes_before_the_chat_model(
    serve: Serve, remote: ScriptedServer, calls: list[Any]
) -> None:
    with serve(OPENAI_BASE_URL=remote.openai_url) as api:
        make_cross_encoder(api.folder / "models" / "ms-marco-MiniLM-L-6-v2", [QUERY, *TEXTS.values()])
        filled(api)
        use(api)
        wait_until(lambda: in_force(api) == "cross-encoder/ms-marco-MiniLM-L-6-v2")
        assert search(api)["reranker"] == search(api, rerank=True)["reranker"] == "cross-encoder/ms-marco-MiniLM-L-6-v2"
        ask(api)
        assert [call.path for call in calls] == ["/v1/chat/completions"], "the answer"


def test_without_its_reranker_an_answer_keeps_to_what_is_relevant(with_chat: Api, remote: ScriptedServer) -> None:
    """Fused scores under the threshold are left out, but never the best; a search is not shortened."""
    scores = {}
    for threshold in (0.0, 0.6, 1.0):
        use(with_chat, {"rerankerProvider": "cohere"}, relevanceThreshold=threshold)
        scores[threshold] = [source["score"] for source in ask(with_chat)["sources"]]
    assert len(scores[0.0]) == 5
    assert scores[0.6] == [score for score in scores[0.0] if score >= 0.6]
    assert scores[1.0] == scores[0.0][:1]
    assert len(search(with_chat)["results"]) == 5


# --- neither ----------------------------------------------------------------------------------------------------------


@pytest.mark.siege
def test_auto_without_anything_reranks_nothing_and_finds_nothing_wrong(bare: Api) -> None:
    use(bare)
    assert in_force(bare) is None
    assert search(bare)["degraded"] == []
    assert "no reranker is configured" in search(bare, rerank=True)["degraded"][0]


@pytest.mark.siege
@pytest.mark.parametrize(
    ("provider", "reason"),
    [
        ("cohere", "rag.rerankerProvider is cohere, but COHERE_API_KEY is not set: not reranked"),
        ("llm", "rag.rerankerProvider is llm, but no chat model is configured: not reranked"),
        ("cross-encoder", "reranker own/model failed: cross-encoder own/model is not on disk"),
    ],
)
def test_a_named_provider_that_cannot_work_is_reported_at_each_search(bare: Api, provider: str, reason: str) -> None:
    use(bare, {"rerankerProvider": provider, "rerankerModel": "own/model"})
    for found in (search(bare), search(bare), ask(bare)):
        assert [said for said in found["degraded"] if said.startswith(reason)]
    assert search(bare, rerank=False)["degraded"] == []


def test_a_cross_encoder_is_fetched_only_where_the_settings_say_so(bare: Api) -> None:
    """A name that the hub cannot have tells which way was gone, without any network."""
    for may, said in ((False, "is not on disk"), (True, "is no model of the Hugging Face hub")):
        use(bare, {"rerankerProvider": "cross-encoder", "rerankerModel": "nobodys"}, rerankerDownload=may)
        assert said in search(bare)["degraded"][0]


def test_a_cross_encoder_that_is_put_on_disk_is_used(bare: Api) -> None:
    """Within seconds: searches do not look at the disk each time."""
    use(bare)
    plain = search(bare)
    make_cross_encoder(bare.folder / "models" / "ms-marco-MiniLM-L-6-v2", [QUERY, *TEXTS.values()])
    wait_until(lambda: in_force(bare) == "cross-encoder/ms-marco-MiniLM-L-6-v2")
    found = search(bare)
    assert found["degraded"] == []
    assert order(found) != order(plain)
    own = make_cross_encoder(bare.folder / "turned", [QUERY, *TEXTS.values()], slope=-1.0)
    use(bare, {"rerankerProvider": "cross-encoder", "rerankerModel": str(own)})
    assert order(search(bare))[0] == "bread"
    assert in_force(bare) == "turned"
