"""What scripted agents say: actions of the planned strategy, made of the prompt where they need ids from it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_PLACE = re.compile(r"docId=([0-9a-f-]{36})\s+chunkId=([0-9a-f-]{36})")


def search(query: str) -> str:
    return json.dumps({"type": "tool_call", "tool": "search_docs", "input": {"query": query}})


def opening(number: int) -> Callable[[str], str]:
    """Opens the n-th search result that the prompt shows."""

    def act(user: str) -> str:
        results = user.partition("=== SEARCH RESULTS ===")[2].partition("=== OPENED CITATIONS ===")[0]
        document, chunk = list(dict.fromkeys(_PLACE.findall(results)))[number - 1]
        return json.dumps(
            {"type": "tool_call", "tool": "open_citation", "input": {"docId": document, "chunkId": chunk}}
        )

    return act


def final(text: str, **more: Any) -> str:
    return json.dumps({"type": "final", "answer": text, "used_citations": [], "insufficiencies": [], **more})
