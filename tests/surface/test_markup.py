"""Documents whose texts, titles and names hold markup: whatever door answers with text, nothing in it is alive."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest
from serving import Api, read_events

from tests.waiting import hang_guard, patience

PAYLOADS = [
    '<q title="<script src=http://evil.example/s.js></script>">herring</q>',
    '<q title="![](http://evil.example/4.png)">herring</q>',
    "<q title='<img src=http://evil.example/9.png>'>herring</q>",
    "![x](http://evil.example/1.png)",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<svg/onload=alert(1)>",
    "<!--<img src=x>-->",
    "<iframe src=//evil.example>",
    '<a href="javascript:alert(1)">x</a>',
    "<details open ontoggle=alert(1)>",
    "<b/x=y>",
    "<http://evil.example/x>",
]
ALIVE = re.compile(r"<[A-Za-z/!?]|!\[[^\[\]\n]*\][(\[]")
QUESTIONS = [
    "List all documents.", "Which documents mention herring?", "How many documents are there?", "Summarize the documents.",
    "What does herring number 0 weigh?", "What does herring number 1 weigh?", "What does herring number 7 weigh?",
    "Compare herring number 2 and herring number 5.",
]  # fmt: skip


@pytest.fixture(scope="module")
def filled(api: Api) -> Api:
    documents = [
        {
            "external_id": f"fish/{n} {payload}.md", "title": f"Herring {n} {payload}",
            "text": f"The herring number {n} weighs {n + 10} kg {payload} in all.", "metadata": {"note": payload},
        }
        for n, payload in enumerate(PAYLOADS)
    ]  # fmt: skip
    answer = api.client.post("/index", json={"collection": "markup", "documents": documents})
    assert answer.status_code == 200, answer.text
    return api


def shown(text: str) -> str:
    """Asserts that it is dead."""
    found = ALIVE.search(text)
    assert found is None, text[max(0, found.start() - 80) : found.end() + 80]
    return text


def test_answers_over_rest_openai_and_streams(filled: Api) -> None:
    said = []
    for question in QUESTIONS:
        answer = filled.client.post("/query", json={"question": question, "collection": "markup"}).json()
        said.append(shown(answer["answer"]))
        body: dict[str, Any] = {"model": "markup", "messages": [{"role": "user", "content": question}]}
        message = filled.client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]
        shown(message["content"])
        for one in message.get("annotations") or []:
            shown(one["url_citation"]["title"])
        with filled.client.stream(
            "POST", "/query", json={"question": question, "collection": "markup", "stream": True}
        ) as live:
            tokens = [event.data["text"] for event in read_events(live) if event.event == "token"]
        shown("".join(tokens))
    assert sum("herring" in text.lower() for text in said) >= 6


@pytest.mark.siege
async def test_answers_searches_and_lists_over_mcp(filled: Api) -> None:
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        hang_guard(60),
        httpx2.AsyncClient(timeout=patience(60), trust_env=False, verify=False) as http,
        Client(streamable_http_client(f"{filled.url}/mcp", http_client=http)) as client,
    ):
        calls: list[tuple[str, dict[str, Any]]] = [
            ("answer_research_question", {"question": question}) for question in QUESTIONS[:5]
        ]
        calls += [("search_documents", {"query": "herring"}), ("list_documents", {})]
        for tool, arguments in calls:
            result = await client.call_tool(tool, arguments | {"collection": "markup"})
            assert not result.is_error, result.content
            assert "herring" in shown(str(result.content[0].text)).lower()  # type: ignore[union-attr]
