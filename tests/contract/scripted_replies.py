"""Bodies that the scripted server sends, good and wrong: pure functions of the request and of what is scripted."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What becomes of one request, `seconds` after it arrived; `text` is said instead of the default answer, in a stream
    as `pieces` where they are given. `finish` is the finish reason. `field`: see `refuse` and `too long`. `message`: the
    whole message of a chat, as odd as it may be."""

    kind: str = "ok"
    text: str | None = None
    retry_after: float | str | None = None
    seconds: float = 0.0
    finish: str = "stop"
    pieces: tuple[str, ...] = ()
    field: str = ""
    message: Json | None = None


LASTING = Reply("drip", text=" ".join(f"word{number}" for number in range(1_000)))
"""More than three minutes, and no word twice: a reply that repeats itself is stopped after a quarter of a minute of it."""


def vector(text: str, dimensions: int) -> list[float]:
    """A deterministic, not normalised vector: equal for equal texts only."""
    raw = b"".join(hashlib.sha256(f"{i}:{text}".encode()).digest() for i in range(dimensions // 32 + 1))
    return [byte / 16 - 8 + 0.01 for byte in raw[:dimensions]]


def overlap(query: str, document: str) -> float:
    """Share of the query's words that the document has."""
    wanted = set(query.lower().split())
    return len(wanted & set(document.lower().split())) / (len(wanted) or 1)


def echo(messages: list[Json]) -> str:
    """The default chat model repeats what the user said last."""
    return "You said: " + str(messages[-1]["content"])


def score_passages(messages: list[Json]) -> str:
    """What a chat model says that follows the prompt of reranking: ten times the overlap, a line for each passage."""
    lines = str(messages[-1]["content"]).split("\n")
    query = json.loads(lines[0].removeprefix("Question: "))
    passages = (line.split(": ", 1) for line in lines if line[:1].isdigit())
    return "\n".join(f"{number}: {10 * overlap(query, json.loads(text)):g}" for number, text in passages)


def chat_body(text: str | None, finish: str | None, model: str) -> Json:
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def chunk_body(model: str, delta: Json, finish: str | None = None) -> Json:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices}


def chat_reply(reply: Reply, text: str, model: str, message: Json | None = None) -> Json:
    """`message` instead of the text, where it is given: one with tool calls."""
    if message is not None and reply.kind == "ok":
        finish = reply.finish if reply.finish != "stop" or "tool_calls" not in message else "tool_calls"
        body = chat_body(text, finish, model)
        body["choices"][0]["message"] = {"role": "assistant", "content": None, **message}
        return body
    match reply.kind:
        case "empty":
            return chat_body("", "stop", model)
        case "length_empty":
            return chat_body(None, "length", model)
        case "length":
            return chat_body(text[:5], "length", model)
        case "no_finish":
            return chat_body(text, None, model)
    return chat_body(text, reply.finish, model)


def embedding_reply(reply: Reply, body: Json, dimensions: int) -> Json:
    texts = [body["input"]] if isinstance(body["input"], str) else list(body["input"])
    size = int(body.get("dimensions") or dimensions) + (1 if reply.kind == "dimension" else 0)
    rows = [vector(text, size) for text in texts]
    if reply.kind == "zero":
        rows[-1] = [0.0] * size
    if reply.kind == "ragged":
        rows[-1] = rows[-1][:-1]
    places = list(range(len(rows)))
    if reply.kind == "fewer":
        rows, places = rows[:-1], places[:-1]
    if reply.kind == "more":
        rows, places = [*rows, rows[0]], [*places, len(places)]
    if reply.kind == "repeated":
        places = [0] * len(rows)
    as_base64 = body.get("encoding_format") == "base64" and reply.kind != "floats"
    data = [
        {"object": "embedding", "index": place, "embedding": _base64(row) if as_base64 else row}
        for place, row in zip(places, rows, strict=True)
    ]
    if reply.kind == "shuffled":
        data.reverse()
    usage = {} if reply.kind == "unmetered" else {"usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return {"object": "list", "model": body["model"], "data": data, **usage}


def _base64(row: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode()


def rerank_reply(reply: Reply, body: Json) -> Json:
    scores = [(overlap(body["query"], text), index) for index, text in enumerate(body["documents"])]
    best = sorted(scores, key=lambda pair: (-pair[0], pair[1]))[: body["top_n"]]
    results = [{"index": index, "relevance_score": score} for score, index in best]
    match reply.kind:
        case "out_of_range":
            results[0]["index"] = len(scores)
        case "negative":
            results[0]["index"] = -1
        case "repeated":
            results[-1]["index"] = results[0]["index"]
        case "fewer":
            results.pop()
        case "score":
            results[0]["relevance_score"] = 1.5
    meta = {"api_version": {"version": "2"}, **({"tokens": {"input_tokens": 40}} if reply.kind == "metered" else {})}
    return {"id": "r", "results": results, "meta": meta}
