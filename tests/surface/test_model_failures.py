"""What readers are told, at every surface, of a chat model that fails; which one wrote, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import Cairn
from keyed import bearer, make_keys
from scripted_replies import Reply
from scripted_server import ScriptedServer
from serving import Api, read_events, serving

SETTINGS: dict[str, Any] = {
    "providers": {"circuitFailures": 1000},
    "rag": {"rerankerProvider": "none"},
    "answer": {"prices": {"gpt-4o-mini": [1000, 2000]}, "silentSeconds": 0.05},
}
QUESTION = {"question": "What is a cairn?", "collection": "notes"}
QUOTED = "This answer is a quotation."


@pytest.fixture(scope="module")
def remote() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture(scope="module")
def api(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, remote: ScriptedServer
) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("failing")
    with serving(
        fresh_database(), folder, settings=SETTINGS, CAIRN_MODEL_DIR=str(model), OPENAI_API_KEY="key",
        OPENAI_BASE_URL=remote.openai_url,
    ) as running:  # fmt: skip
        running.index("notes", a="A cairn is a pile of stones that marks a trail.")
        yield running


@pytest.fixture(autouse=True)
def _fresh(remote: ScriptedServer) -> None:
    remote.begin(lambda _: "A cairn is a pile of stones that marks a trail [1].")


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("reply", "cause", "sentence"),
    [
        (Reply("401"), "key", f"The chat model rejects its key (401). {QUOTED}"),
        (
            Reply("too long", text="model 'm' not found", field="404"), "model",
            f"The server of the chat model does not have the model that is set up (404). {QUOTED}",
        ),
        (Reply("429", retry_after=99), "busy", f"The chat model takes no more requests for now (429). {QUOTED}"),
        (Reply("500"), "server", f"The server of the chat model reports an error of its own (500). {QUOTED}"),
        (Reply("disconnect"), "broken", f"The connection to the chat model broke off. {QUOTED}"),
        (Reply("malformed"), "nonsense", f"The chat model sent something that is no answer. {QUOTED}"),
    ],
    ids=["key", "model", "busy", "server", "broken", "nonsense"],
)  # fmt: skip
def test_one_sentence_says_what_failed_and_what_was_done(
    api: Api, remote: ScriptedServer, reply: Reply, cause: str, sentence: str
) -> None:
    remote.script(*[reply] * 20)
    answer = api.client.post("/query", json=QUESTION).json()
    assert "pile of stones" in answer["answer"]
    failure = answer["model_failure"]
    assert (failure["cause"], failure["sentence"]) == (cause, sentence)
    assert answer["degraded"] == [sentence, *failure["details"]]
    assert failure["details"], "what the server said is there for whoever operates it"
    assert answer["written_by"] is None
    with api.client.stream("POST", "/query", json={**QUESTION, "stream": True}) as response:
        told = list(read_events(response))
    [fallback] = [one.data for one in told if one.event == "progress" and one.data["step"] == "fallback"]
    assert fallback["message"] == sentence.replace(f". {QUOTED}", ": quoting the sources instead")
    assert told[-1].data["model_failure"]["sentence"] == sentence


def test_a_reader_is_told_where_the_model_says_nothing(api: Api, remote: ScriptedServer) -> None:
    remote.script(Reply("ok", seconds=600))  # until it is released
    told = []
    with api.client.stream("POST", "/query", json={**QUESTION, "stream": True}) as response:
        for event in read_events(response):
            told.append(event)
            if event.event == "progress" and event.data["step"] == "silent":
                remote.released.set()
    remote.released.clear()
    percents = [one.data["percent"] for one in told if one.event == "progress"]
    assert percents == sorted(percents)
    [silent] = [one.data for one in told if one.event == "progress" and one.data["step"] == "silent"]
    assert silent["message"] == "The chat model has not answered for 0.05 s"
    assert told[-1].data["written_by"] == "gpt-4o-mini", "it is waited for all the same"


def test_it_is_said_in_the_language_of_the_question(api: Api, remote: ScriptedServer) -> None:
    remote.script(*["401"] * 9)
    answer = api.client.post("/query", json={**QUESTION, "question": "Was ist ein Steinmann aus Steinen?"}).json()
    assert answer["model_failure"]["sentence"].startswith("Das Sprachmodell weist seinen Schlüssel zurück (401). ")


def test_an_answer_says_which_model_wrote_it_and_what_it_cost(api: Api) -> None:
    answer = api.client.post("/query", json=QUESTION).json()
    assert (answer["written_by"], answer["model_failure"]) == ("gpt-4o-mini", None)
    usage = answer["usage"]
    assert usage["model"] == "gpt-4o-mini"
    assert usage["input_tokens"] > 0
    assert usage["cost"] == pytest.approx((usage["input_tokens"] * 1000 + usage["output_tokens"] * 2000) / 1e6)


def test_the_command_says_it_too(
    api: Api, remote: ScriptedServer, model: Path, monkeypatch: pytest.MonkeyPatch, cairn: Cairn
) -> None:
    values = {
        "CAIRN_DATABASE_URL": api.dsn, "CAIRN_HOME": str(api.folder), "CAIRN_SETTINGS": str(api.settings_file),
        "CAIRN_MODEL_DIR": str(model), "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": remote.openai_url,
    }  # fmt: skip
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "300")
    written = cairn("ask", QUESTION["question"], "-c", "notes")
    assert "written by gpt-4o-mini, " in written.out
    assert "at the prices of the settings" in written.out
    remote.script(*["401"] * 9)
    quoted = cairn("ask", QUESTION["question"], "-c", "notes")
    assert f"note: The chat model rejects its key (401). {QUOTED}" in quoted.err
    assert "HTTP 401" not in quoted.out + quoted.err, "what the server said is asked for with -v"
    remote.script(*["401"] * 9)
    assert "HTTP 401" in cairn("ask", QUESTION["question"], "-c", "notes", "-v").out


@pytest.mark.siege
def test_a_start_without_an_answering_model_is_told(
    fresh_database: Callable[[], str], tmp_path: Path, model: Path
) -> None:
    with serving(
        fresh_database(),
        tmp_path,
        settings=SETTINGS,
        CAIRN_MODEL_DIR=str(model),
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
    ) as api:
        api.await_until(lambda: "chat.not_answering" in api.log)
        ready = api.client.get("/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (200, "ready"), "quotations need no model"
        [problem] = [one for one in ready.json()["problems"] if "chat" in one]
        assert "connection failed" in problem


@pytest.mark.siege
def test_the_only_model_of_a_server_is_taken_and_of_several_none(
    fresh_database: Callable[[], str], tmp_path: Path, model: Path, remote: ScriptedServer
) -> None:
    remote.models = ["small", "large"]
    with serving(
        fresh_database(), tmp_path, settings=SETTINGS, CAIRN_MODEL_DIR=str(model), OPENAI_BASE_URL=remote.openai_url
    ) as api:
        api.index("notes", a="A cairn is a pile of stones that marks a trail.")
        api.await_until(lambda: "several models (small, large)" in api.log)
        assert "name one of them in the settings (rag.qa.model)" in str(
            api.client.get("/health/ready").json()["problems"]
        )
        failure = api.client.post("/query", json=QUESTION).json()["model_failure"]
        assert failure["sentence"] == (
            f"The server of the chat model has several models, and none of them is chosen. {QUOTED}"
        )
        remote.models = ["large"]
        answer = api.client.post("/query", json=QUESTION).json()
        assert (answer["written_by"], answer["usage"]["model"]) == ("large", "large")
        ready = api.client.get("/health/ready").json()
        assert (ready["models"]["chat"], ready["problems"]) == ("large", [])


def test_what_a_server_said_to_one_tenant_is_told_to_no_other(
    fresh_database: Callable[[], str], tmp_path: Path, model: Path, remote: ScriptedServer
) -> None:
    """Servers quote in their errors what the model read or wrote, and all tenants share the model and its circuit."""
    dsn, asked = fresh_database(), len(remote.requests)
    keys = make_keys(dsn, str(tmp_path / "keys"))
    told = {"CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model), "OPENAI_API_KEY": "key"}
    limits = {"providers": {"circuitFailures": 2, "circuitSeconds": 600}, "rag": {"rerankerProvider": "none"}}
    said = Reply("too long", text="Failed to parse: the pay of Grace Hopper is 412,000", field="403")
    remote.script(*[said] * 2)
    with serving(dsn, tmp_path / "home", settings=limits, OPENAI_BASE_URL=remote.openai_url, **told) as api:

        def post(path: str, key: str, **body: Any) -> dict[str, Any]:
            answer = api.client.post(path, json=body, headers=bearer(key))
            assert answer.status_code == 200, answer.text
            found: dict[str, Any] = answer.json()
            return found

        pay = {"external_id": "pay.md", "text": "The pay of Grace Hopper is 412,000.", "access": ["group:hr"]}
        post("/index", keys.victim, collection="hr", documents=[pay])
        leave = {"external_id": "leave.md", "text": "Employees have 30 days of leave."}
        post("/index", keys.other, collection="notes", documents=[leave])
        for _ in range(2):
            found = post("/query", keys.victim, question="What is the pay of Grace Hopper?", collection="hr")
            assert "Failed to parse" in str(found["degraded"]), "who asked is told what the server said"
        assert len(remote.requests) == asked + 2
        others = [
            post("/query", keys.other, question="How many days of leave do employees have?", collection="notes"),
            api.client.get("/health/ready", headers=bearer(keys.other)).json(),
        ]
    assert len(remote.requests) == asked + 2, "the circuit is open"
    assert "gpt-4o-mini: HTTP 403: the key is rejected; not asked again for" in str(others[0]["degraded"])
    (circuit,) = [one for one in others[1]["circuits"] if one["name"].startswith("chat ")]
    assert (circuit["state"], circuit["problem"]) == ("open", "gpt-4o-mini: HTTP 403: the key is rejected")
    assert not any(word in str(others) for word in ("Failed to parse", "Grace", "412,000"))
