"""What an answer is worth is the same word through every door, with the number as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from commands import Cairn
from serving import Api, read_events

QUESTION = "How many days of leave do employees have?"
CASES = {
    QUESTION: {"found", "likely", "not_sure"},
    "How many documents are there?": {"exact"},
    "Which people are mentioned?": {"recognised"},
    "thanks!": {None},
    "What was the revenue of Tesla in 2022?": {None},
}


@pytest.fixture(scope="module")
def handbook(api: Api) -> Api:
    api.index("handbook", leave="Employees have 30 days of leave per year. It expires in March.")
    return api


@pytest.mark.sweep(3)
@pytest.mark.parametrize("question", CASES)
def test_the_word_is_the_same_everywhere(handbook: Api, question: str) -> None:
    client, session = handbook.client, str(uuid4())
    body: dict[str, Any] = {"question": question, "collection": "handbook"}
    answer = client.post("/query", json={**body, "session_id": session}).json()
    assert answer["confidence_word"] in CASES[question]
    expected = (answer["confidence_word"], answer["confidence"])
    told = [_last_event(client, "/query", {**body, "stream": True})]
    told.append(client.get(f"/traces/{answer['run_id']}").json()["answer"])
    told.append(client.get(f"/chat/sessions/{session}/messages").json()["items"][1])
    message = {"message": question, "collection_name": "handbook"}
    told.append(client.post("/chat/", json=message).json())
    told.append(_last_event(client, "/chat/stream", message))
    asked = {"model": "handbook", "messages": [{"role": "user", "content": question}]}
    told.append(client.post("/v1/chat/completions", json=asked).json()["cairn"])
    told.append(client.post("/v1/responses", json={"model": "handbook", "input": question}).json()["cairn"])
    assert [(one["confidence_word"], one["confidence"]) for one in told] == [expected] * len(told)


def _last_event(client: httpx2.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    with client.stream("POST", path, json=body) as response:
        *_, last = read_events(response)
    assert isinstance(last.data, dict)
    return last.data


@pytest.mark.siege
def test_a_terminal_says_it_in_the_language_of_the_answer(cairn: Cairn, tmp_path: Path) -> None:
    for name, text in {
        "a.md": "# Häfen\n\nDie Gebühren hob Dr. Anna Weber an.",
        "b.md": "# Fähren\n\nDie Fähre fährt um neun.",
    }.items():
        (tmp_path / name).write_text(text)
    assert cairn("ingest", "a.md", "b.md", "-c", "akten").code == 0
    asked = {
        "Wie viele Dokumente gibt es?": "\nGenau, ",
        "Combien de documents y a-t-il ?": "\nExact, ",
        "Which people are mentioned?": "\nRecognised by rules, ",
        "¿Cuántos documentos hay?": "\nExacto, ",
    }
    for question, said in asked.items():
        assert said in cairn("ask", question, "-c", "akten").out
    thanked = cairn("ask", "danke!", "-c", "akten").out
    assert not any(word in thanked for word in ("Genau", "Gefunden", "Nicht sicher", "%"))
    assert cairn("ask", "Wie viele Dokumente gibt es?", "-c", "akten", "--json").json["confidence_word"] == "exact"
