"""The OpenAI API with the clients that people have: openai, LangChain's ChatOpenAI and `llm`, against a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clients_environment import clients_python
from keyed import bearer, make_keys
from scripted_server import ScriptedServer
from serving import REPO, Api, serving, starter

from tests.waiting import patience

LEAVE = "# Leave\n\nEmployees have 30 days of leave per year. A manager approves leave.\n"
QUESTION = "How many days of leave do employees have?"
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def handbook(api: Api) -> Api:
    api.index("handbook", leave=LEAVE, pay="# Pay\n\nSalaries are paid on the 25th of each month.\n")
    return api


def run_client(python: str, program: str, *arguments: str, folder: Path, **environment: str) -> str:
    """What a program of tests/surface/clients/ prints."""
    done = subprocess.run(
        [python, str(HERE / "clients" / program), *arguments], capture_output=True, text=True, cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment}, timeout=patience(60), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def complete(api: Api, **changes: Any) -> Any:
    body = {"model": "handbook", "messages": [{"role": "user", "content": QUESTION}], **changes}
    return api.client.post("/v1/chat/completions", json=body)


def chunks(text: str) -> list[Any]:
    """Of a stream: its data, the last one `[DONE]`."""
    found = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert found[-1] == "[DONE]"
    return [json.loads(one) for one in found[:-1]]


def text_of(found: list[Any]) -> str:
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in found if chunk["choices"])


# --- with the clients ---------------------------------------------------------------------------------------------------


@pytest.mark.siege
def test_the_openai_client_does_all_of_it(handbook: Api, tmp_path: Path) -> None:
    client, said = str(HERE / "clients" / "openai_client.py"), tmp_path / "said"
    process = starter().start({"PATH": os.environ["PATH"]}, said, client, f"{handbook.url}/v1", folder=tmp_path)
    assert process.wait(patience(60)) == 0, said.read_text()
    told = json.loads(said.read_text())
    collections = [one["name"] for one in handbook.client.get("/collections").json()["items"]]
    assert sorted(told["models"]) == sorted(collections)
    assert "handbook" in collections
    assert not any(":" in name for name in told["models"]), "strategies are asked for by name, and not listed"
    assert told["retrieved"] == "cairn/handbook:fast"
    assert "30 days" in told["answer"]
    assert told["streamed"] == told["answer"]
    assert told["usage_chunk"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    start, end = told["annotation"]["start_index"], told["annotation"]["end_index"]
    assert re.fullmatch(r"\[\d+\]", told["answer"][start:end])
    assert told["citation"]["quote"] in LEAVE
    assert "30 days" in told["response"]
    assert told["response_streamed"] == told["response_final"] == told["response"]
    assert told["response_annotation"]["type"] == "file_citation"
    assert told["response_annotation"]["filename"] == "leave"
    assert told["events"][:2] == ["response.created", "response.in_progress"]
    assert told["events"][-1] == "response.completed"
    assert len(told["embeddings"]) == 2
    assert told["embeddings"][0] == pytest.approx(told["embeddings_float"][0], abs=1e-6)
    assert told["errors"] == {
        "unknown model": ["NotFoundError", "model_not_found"], "tools": ["BadRequestError", "unsupported_parameter"],
        "no question": ["BadRequestError", "invalid_input"], "unknown embedding": ["NotFoundError", "model_not_found"],
    }  # fmt: skip


@pytest.mark.siege
def test_langchain_asks_and_streams(handbook: Api, tmp_path: Path) -> None:
    told = json.loads(run_client(clients_python(), "langchain_openai_client.py", f"{handbook.url}/v1", folder=tmp_path))
    assert "30 days" in told["answer"]
    assert told["streamed"] == told["answer"]
    assert "25th" in told["follow_up"]


@pytest.mark.siege
def test_the_llm_command_asks(handbook: Api, tmp_path: Path) -> None:
    (tmp_path / "extra-openai-models.yaml").write_text(
        f'- model_id: handbook\n  model_name: handbook\n  api_base: "{handbook.url}/v1"\n'
    )
    command = [str(Path(clients_python()).parent / "llm"), "-m", "handbook", QUESTION]
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LLM_USER_PATH": str(tmp_path), "OPENAI_API_KEY": "none"}
    for more in ([], ["--no-stream"]):
        done = subprocess.run(
            [*command, *more], capture_output=True, text=True, env=own, timeout=patience(60), check=False
        )
        assert done.returncode == 0, done.stderr
        assert "30 days" in done.stdout


# --- what no client shows -----------------------------------------------------------------------------------------------


def test_history_comes_from_the_request(handbook: Api) -> None:
    before = [{"role": "user", "content": "When are salaries paid?"}, {"role": "assistant", "content": "On the 25th."}]
    asked = {"role": "user", "content": [{"type": "text", "text": "And who approves leave?"}]}
    answer = complete(handbook, messages=[{"role": "system", "content": "Be brief."}, *before, asked]).json()
    assert "manager" in answer["choices"][0]["message"]["content"]
    trace = handbook.client.get(f"/traces/{answer['cairn']['run_id']}").json()
    assert trace["session_id"] is None
    assert answer["cairn"]["ignored"] == ["system"]


def test_filters_and_strategies_are_those_of_a_question(handbook: Api) -> None:
    documents = [{"external_id": "old", "text": "Employees had 20 days of leave.", "metadata": {"year": 1990}}]
    assert handbook.client.post("/index", json={"collection": "filtered", "documents": documents}).status_code == 200
    found = complete(handbook, model="cairn/filtered:fast", filters={"year": 1990}, seed=7).json()
    assert "20 days" in found["choices"][0]["message"]["content"]
    assert found["cairn"]["strategy"] == "fast"
    assert found["cairn"]["ignored"] == ["seed"]
    nothing = complete(handbook, model="cairn/filtered:fast", filters={"year": 2024}).json()
    assert nothing["cairn"]["answered"] == "no"
    assert nothing["citations"] == []


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"tools": [{"type": "function"}]}, "tools"), ({"n": 2}, "n"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0"),
        ({"messages": [{"role": "assistant", "content": "Hello"}]}, "messages"), ({"messages": []}, "messages"),
    ],
)  # fmt: skip
def test_what_is_not_done_is_refused_with_its_name(handbook: Api, changes: dict[str, Any], param: str) -> None:
    answer = complete(handbook, **changes)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert error["message"]


def test_every_layer_says_errors_in_the_shape_of_the_protocol(handbook: Api) -> None:
    client = handbook.client
    for answer, status, code in (
        (client.post("/v1/chat/completions", content=b"{", headers={"Content-Type": "application/json"}), 400, "bad_request"),
        (client.post("/v1/chat/completions", content=b"x"), 415, "unsupported_type"),
        (client.post("/v1/embeddings", json={"model": "handbook", "input": ["x" * 2_000_000]}), 413, "too_large"),
        (client.post("/v1/embeddings", json={"model": "handbook", "input": [[1, 2]]}), 400, "invalid_input"),
        (client.get("/v1/chat/completions"), 405, "method_not_allowed"), (client.get("/v1/files"), 404, "unknown_url"),
        (client.get("/v1/models", headers={"Host": "evil.example"}), 421, "unknown_host"),
        (client.get("/v1/models/other"), 404, "model_not_found"), (client.get("/v1/models/openai/x"), 404, "model_not_found"),
    ):  # fmt: skip
        assert answer.status_code == status, answer.text
        assert answer.json()["error"]["code"] == code
        assert answer.headers["content-type"] == "application/json"
    tokens = client.post("/v1/embeddings", json={"model": "handbook", "input": [1, 2]}).json()["error"]
    assert "send texts: tokens are not taken" in tokens["message"]


def test_keys_scopes_and_rates_are_asked_in_it_too(
    fresh_database: Callable[[], str], tmp_path: Path, model: Path
) -> None:
    dsn = fresh_database()
    keys = make_keys(dsn, str(tmp_path / "keys"))
    settings = {"limits": {"requestsPerMinute": 2}}
    with serving(dsn, tmp_path / "api", settings=settings, CAIRN_AUTH="keys", CAIRN_MODEL_DIR=str(model)) as api:
        missing = api.client.get("/v1/models")
        assert (missing.status_code, missing.json()["error"]["code"]) == (401, "invalid_api_key")
        assert missing.json()["error"]["type"] == "authentication_error"
        lacking = api.client.post("/v1/responses", json={}, headers=bearer(keys.without["ask"]))
        assert (lacking.status_code, lacking.json()["error"]["type"]) == (403, "permission_error")
        answers = [api.client.get("/v1/models", headers=bearer(keys.victim)) for _ in range(3)]
        assert answers[0].json() == {"object": "list", "data": []}
        assert answers[2].status_code == 429
        assert answers[2].json()["error"]["type"] == "rate_limit_error"
        assert int(answers[2].headers["retry-after"]) > 0


# --- with a chat model --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path
) -> Iterator[tuple[Api, list[str]]]:
    """A server whose chat model says what the list has last."""
    says = [""]
    with ScriptedServer(answer=lambda _: says[-1]) as chat:
        own = {"CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
        with serving(fresh_database(), tmp_path_factory.mktemp("written"), **own) as api:
            api.index("handbook", pay="Salaries are paid on the 25th.", leave=LEAVE)
            yield api, says


@pytest.mark.siege
def test_numbers_of_citations_are_those_that_were_streamed(written: tuple[Api, list[str]]) -> None:
    api, says = written
    says.append("Salaries are paid on the 25th [2].")
    question = [{"role": "user", "content": "When are salaries paid, and who approves leave?"}]
    found = chunks(complete(api, stream=True, messages=question, stream_options={"include_usage": True}).text)
    last = next(chunk for chunk in found if chunk["choices"] and chunk["choices"][0]["finish_reason"])
    whole = complete(api, messages=question).json()
    streamed = text_of(found)
    for text, told in ((streamed, last), (whole["choices"][0]["message"]["content"], whole)):
        numbers = {int(n) for n in re.findall(r"\[(\d+)\]", text)}
        assert numbers == {one["n"] for one in told["citations"]}
    assert found[-1]["usage"]["total_tokens"] > 0
    assert whole["usage"]["completion_tokens"] > 0
    assert not last["cairn"]["replaced"]


def test_a_text_that_does_not_hold_is_followed_by_the_checked_one(written: tuple[Api, list[str]]) -> None:
    api, says = written
    says.append("Employees have 99 days of leave per year in Paris [1].")
    before = api.revision
    api.write_settings(json.dumps({"ground": {"strict": True, "maxRetries": 0}}))
    api.await_until(lambda: api.revision != before)
    found = chunks(complete(api, stream=True).text)
    last = next(chunk for chunk in found if chunk["choices"] and chunk["choices"][0]["finish_reason"])
    text = text_of(found)
    first, _, checked = text.partition("The checked answer:")
    assert "99 days" in first
    assert "30 days" in checked
    assert "99" not in checked
    assert last["cairn"]["replaced"]
    for annotation in last["choices"][0]["delta"]["annotations"]:
        place = annotation["url_citation"]
        assert re.fullmatch(r"\[\d+\]", text[place["start_index"] : place["end_index"]])
        assert place["start_index"] > len(first)


@pytest.mark.siege
def test_the_programs_of_the_page_work(handbook: Api, tmp_path: Path) -> None:
    page = (REPO / "docs/openai.md").read_text()
    programs = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert programs
    for program in programs:
        file = tmp_path / "program.py"
        file.write_text(program.replace("http://localhost:8000", handbook.url))
        done = subprocess.run(
            [clients_python(), str(file)], capture_output=True, text=True, cwd=tmp_path, timeout=patience(60),
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "30 days" in done.stdout
