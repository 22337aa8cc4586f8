"""What servers that speak the OpenAI protocol really send, read as far as it is unmistakable. Pure.

content          a string, null, or parts of which some are thoughts (Mistral)
reasoning        beside the content (reasoning_content, reasoning, thinking): never read
usage            of a reply, of the last chunk, of none, null
tool calls       whole, in pieces without names, with ids that are missing, empty or the same; with arguments as a string,
                 as an object, or empty; several under one index (Ollama), or without any (Gemini)
errors           an object, its text alone, in a list (Gemini), or under status 200
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Final

from cairn.language.linear import bounded
from cairn.language.text import storable
from cairn.providers.protocols import ToolCall, Usage
from cairn.providers.reader import read_arguments, storable_json

NAME_CHARS: Final = 80
RETURNED: Final = "extra_content"
"""Field of a tool call that its server wants back with it (Gemini: the signature of its thought)."""


_EVENTS: Final = bounded(r"\s*(?::|data:|event:|id:|retry:)")


class ServerSaidError(Exception):
    """A reply under status 200 that is an error, in the server's words."""


def field_of(thing: Any, name: str) -> Any:
    """Of an object that the SDK made of the reply without checking it, or of a plain one."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def usage_of(reply: Any) -> Usage:
    """Reported token counts of a reply or chunk; None for what a server leaves out."""
    reported = field_of(reply, "usage")
    counts = (field_of(reported, name) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(*(count if isinstance(count, int) else None for count in counts))


def text_of(content: Any) -> str:
    """What a message or delta says; some servers send it in parts, of which only texts are said."""
    parts = content if isinstance(content, list) else [content]
    said = (part if isinstance(part, str) else field_of(part, "text") for part in parts)
    return storable("".join(text for text in said if isinstance(text, str)))


def choice_of(reply: Any) -> Any:
    """The first choice of a reply. Raises ServerSaidError where it has an error instead, TypeError, IndexError or
    AttributeError where it has neither."""
    choices, problem = field_of(reply, "choices"), field_of(reply, "error")
    if not choices and problem:
        raise ServerSaidError(words_of(problem))
    return reply.choices[0]


def whole_reply(reply: Any) -> Any:
    """The reply as one object, also of a server that streams though it was not asked to: its events put together. Raises
    ValueError for what is neither."""
    if not isinstance(reply, str):
        return reply
    if not _EVENTS.match(reply):
        raise ValueError("neither JSON nor a stream of events")
    lines = (line.removeprefix("data:").strip() for line in reply.splitlines() if line.startswith("data:"))
    chunks = [json.loads(line) for line in lines if line and line != "[DONE]"]
    if problem := next((chunk["error"] for chunk in chunks if chunk.get("error")), None):
        raise ServerSaidError(words_of(problem))
    choices = [choice for chunk in chunks for choice in chunk.get("choices") or ()]
    deltas = [choice.get("delta") or {} for choice in choices]
    said = {
        "content": "".join(text_of(delta.get("content")) for delta in deltas),
        "tool_calls": [call for delta in deltas for call in delta.get("tool_calls") or ()],
    }
    finish = next((choice["finish_reason"] for choice in reversed(choices) if choice.get("finish_reason")), None)
    usage = next((chunk["usage"] for chunk in reversed(chunks) if chunk.get("usage")), None)
    made = SimpleNamespace(message=SimpleNamespace(**said), finish_reason=finish)
    return SimpleNamespace(choices=[made], usage=usage, model=chunks[-1].get("model") if chunks else None)


def words_of(problem: Any) -> str:
    """What the body of an error says, in whichever shape."""
    if isinstance(problem, list):
        return words_of(problem[0]) if problem else ""
    if not isinstance(problem, Mapping):
        return str(problem)
    for name in ("message", "error", "detail", "msg"):
        if said := problem.get(name):
            return words_of(said)
    return json.dumps(dict(problem), default=str)


def calls_of(said: Any, *, cut_off: bool) -> tuple[ToolCall, ...]:
    """The tool calls of a message, each with an id of its own; where the token limit was hit, without a last one that is
    not whole."""
    calls: list[ToolCall] = []
    for given_id, name, given, returned in _joined(said):
        arguments, whole = read_arguments(given)
        calls.append(
            ToolCall(
                storable(name.strip())[:NAME_CHARS], storable_json(dict(arguments)),
                _own_id(given_id, [call.id for call in calls]), whole,
                storable_json(dict(returned)) if isinstance(returned, Mapping) else {},
            )
        )  # fmt: skip
    if cut_off and calls and not (calls[-1].whole and calls[-1].arguments):
        calls.pop()
    return tuple(calls)


def _joined(said: Any) -> list[tuple[Any, str, Any, Any]]:
    """Id, name, arguments and what is to be returned of each call; pieces without a name go on with the arguments of the
    last one under their index. An older form has one `function_call`."""
    joined: list[tuple[Any, str, Any, Any]] = []
    indexes: list[Any] = []
    for key, index, function, returned in _listed(said):
        name, given = field_of(function, "name"), field_of(function, "arguments")
        if isinstance(name, str) and name.strip():
            joined.append((key, name, given, returned))
            indexes.append(index)
        elif joined and isinstance(given, str):
            at = max((n for n, one in enumerate(indexes) if one == index), default=len(joined) - 1)
            first, of, before, kept = joined[at]
            if isinstance(before or "", str):
                joined[at] = first, of, (before or "") + given, kept or returned
    return joined


def _listed(said: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    listed = field_of(said, "tool_calls")
    if isinstance(listed, list) and listed:
        for one in listed:
            yield field_of(one, "id"), field_of(one, "index"), field_of(one, "function"), field_of(one, RETURNED)
    else:
        yield None, None, field_of(said, "function_call"), None


def _own_id(given: Any, taken: list[str]) -> str:
    if isinstance(given, str) and given and given not in taken:
        return given
    own = f"call_{len(taken) + 1}"
    return own if own not in taken else f"{own}_again"


def call_on_wire(call: ToolCall) -> dict[str, Any]:
    """A call as it is told to the model that made it."""
    function = {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)}
    returned = {RETURNED: dict(call.returned)} if call.returned else {}
    return {"id": call.id, "type": "function", "function": function, **returned}


def without_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same for a model that knows no instructions of the system: they stand before the first message of the user."""
    told = "\n\n".join(str(one["content"]) for one in messages if one["role"] == "system")
    rest = [one for one in messages if one["role"] != "system"]
    at = next((n for n, one in enumerate(rest) if one["role"] == "user"), None)
    if at is None:
        return [{"role": "user", "content": told}, *rest]
    rest[at] = {**rest[at], "content": f"{told}\n\n{rest[at]['content']}"}
    return rest
