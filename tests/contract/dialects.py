"""How servers of the OpenAI protocol differ in what they take and send, as their documentation and their users report it.

A dialect dresses what the scripted server says: `ScriptedServer(dialect=DIALECTS["ollama"])`. `refuses` looks at a request and
gives the status and the body of the refusal, if there is one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Json = dict[str, Any]
Refusal = tuple[int, Any] | None

USAGE: Json = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
THOUGHT = "The user asks; SECRET-THOUGHT; I look."


def _takes_all(body: Json) -> Refusal:
    return None


@dataclass(frozen=True)
class Dialect:
    """`thought`: the field of reasoning beside the content. `tagged`: reasoning stands in the content, in tags. `parts`: content
    is a list. `usage`: where streams report it (`last`: without choices; `null`: null in all but the last; `finish`: with
    the finish reason; `never`). `index`, `ids`, `as_object`: of tool calls. `finish`, `call_finish`: finish reasons."""

    thought: str = ""
    tagged: bool = False
    parts: bool = False
    usage: Literal["last", "null", "finish", "never"] = "last"
    finish: str = "stop"
    call_finish: str = "tool_calls"
    ids: Callable[[int], Any] = lambda n: f"call_{n}x"
    index: Callable[[int], Any] = lambda n: n - 1
    as_object: bool = False
    split: bool = False
    role_first: bool = True
    newline: bytes = b"\n"
    space: bytes = b" "
    comment: bytes = b""
    done: bool = True
    refuses: Callable[[Json], Refusal] = _takes_all
    formats: bool = True
    more: Json = field(default_factory=dict)

    # --- in one piece -------------------------------------------------------------------------------------------------

    def message(self, text: str | None, calls: list[Json]) -> Json:
        said = f"<think>{THOUGHT}</think>\n{text}" if self.tagged and text is not None else text
        made: Json = {"role": "assistant", "content": self._content(said) if said is not None else None}
        if self.thought:
            made[self.thought] = THOUGHT
        return made | (
            {"tool_calls": [one for n, call in enumerate(calls, 1) for one in self._call(n, call)]} if calls else {}
        )

    def whole(self, model: str, text: str | None, calls: list[Json], finish: str) -> Json:
        finish = self._finish(finish, calls)
        choice = {"index": 0, "message": self.message(text, calls), "finish_reason": finish}
        usage = {} if self.usage == "never" else {"usage": USAGE}
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [choice],
            **usage,
            **self.more,
        }

    def _content(self, text: str) -> Any:
        if not self.parts:
            return text
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
        return [thinking, {"type": "text", "text": text}]

    def _finish(self, finish: str, calls: list[Json]) -> str:
        return finish if finish not in ("stop", "tool_calls") else self.call_finish if calls else self.finish

    def _call(self, n: int, call: Json) -> list[Json]:
        function = call["function"]
        arguments = json.loads(function["arguments"]) if self.as_object else function["arguments"]
        place = {} if self.index(n) is None else {"index": self.index(n)}
        key = {} if self.ids(n) is None else {"id": self.ids(n)}
        first = {
            **key,
            **place,
            "type": "function",
            "function": {"name": function["name"], "arguments": arguments},
            **self.more,
        }
        if not self.split:
            return [first]
        half = len(arguments) // 2
        return [
            {**first, "function": {"name": function["name"], "arguments": arguments[:half]}},
            {**place, "function": {"arguments": arguments[half:]}},
        ]

    # --- as a stream --------------------------------------------------------------------------------------------------

    def events(self, model: str, pieces: list[str], finish: str, *, asked_usage: bool) -> Iterator[bytes]:
        """The bytes of each event."""
        for delta in self._deltas(pieces):
            yield self._event(model, [{"index": 0, "delta": delta, "finish_reason": None}], null=self.usage == "null")
        usage = {"usage": USAGE} if self.usage == "finish" else {}
        yield self._event(model, [{"index": 0, "delta": {}, "finish_reason": self._finish(finish, [])}], **usage)
        if self.usage in ("last", "null") and asked_usage:
            yield self._event(model, [], usage=USAGE)
        if self.done:
            yield self._line(b"[DONE]")

    def _deltas(self, pieces: list[str]) -> Iterator[Json]:
        if self.role_first:
            yield {"role": "assistant", "content": None if self.thought else ""}
        if self.thought:
            yield from ({self.thought: word + " "} for word in THOUGHT.split())
        if self.parts:
            yield {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}]}
        if self.tagged:
            yield from ({"content": part} for part in ("<thi", "nk>", THOUGHT, "</think", ">\n\n"))
        for piece in pieces:
            yield {"content": [{"type": "text", "text": piece}] if self.parts else piece}

    def _event(self, model: str, choices: list[Json], *, null: bool = False, **more: Any) -> bytes:
        body = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices, **more}
        return self._line(json.dumps(body | ({"usage": None} if null else {})).encode())

    def _line(self, data: bytes) -> bytes:
        return self.comment + b"data:" + self.space + data + self.newline * 2


# --- what is refused --------------------------------------------------------------------------------------------------


def openai_error(message: str, param: str | None = None, code: str | None = None) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def _reasoning_model(body: Json) -> Refusal:
    for name, instead in (
        ("max_tokens", "Use 'max_completion_tokens' instead."),
        ("temperature", "Only the default (1) is."),
    ):
        if name in body:
            said = f"Unsupported parameter: '{name}' is not supported with this model. {instead}"
            return 400, openai_error(said, name, "unsupported_parameter")
    if body["messages"][0]["role"] == "system":
        said = "Unsupported value: 'messages[0].role' does not support 'system' with this model."
        return 400, openai_error(said, "messages[0].role", "unsupported_value")
    return None


def _ollama(body: Json) -> Refusal:
    if body["model"] == "absent":
        said = 'model "absent" not found, try pulling it first'
        return 404, {"error": {"message": said, "type": "api_error", "param": None, "code": None}}
    return None


def _ollama_plain(body: Json) -> Refusal:
    if "tools" in body:
        return 400, {
            "error": {"message": "registry.ollama.ai/library/gemma:2b does not support tools", "type": "api_error"}
        }
    return _ollama(body)


def _vllm(body: Json) -> Refusal:
    if body["model"] == "absent":
        return 404, {
            "object": "error",
            "message": "The model `absent` does not exist.",
            "type": "NotFoundError",
            "code": 404,
        }
    if "tools" in body:
        said = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        return 400, {"object": "error", "message": said, "type": "BadRequestError", "param": None, "code": 400}
    if body["messages"][0]["role"] == "system":
        return 400, {"object": "error", "message": "System role not supported", "type": "BadRequestError", "code": 400}
    return None


def _lmstudio(body: Json) -> Refusal:
    if (body.get("response_format") or {}).get("type") == "json_object":
        return 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}
    if body.get("response_format"):
        return 400, {"error": "Invalid schema: 'strict' is not supported"}
    return None


def _llamacpp(body: Json) -> Refusal:
    if "tools" in body:
        return 500, {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}
    return None


def _mistral(body: Json) -> Refusal:
    for name in ("max_completion_tokens", "stream_options"):
        if name in body:
            detail = [
                {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 1}
            ]
            return 422, {
                "object": "error",
                "message": {"detail": detail},
                "type": "invalid_request_error",
                "code": None,
            }
    for message in body["messages"]:
        keys = [call["id"] for call in message.get("tool_calls", ())] + [message.get("tool_call_id", "a" * 9)]
        if any(len(key) != 9 or not key.isalnum() for key in keys):
            return 400, {
                "object": "error",
                "message": "Tool call id must be a-z, A-Z, 0-9, with a length of 9.",
                "code": "3280",
            }
    return None


SIGNED: Json = {"extra_content": {"google": {"thought_signature": "c2ln"}}}


def _gemini(body: Json) -> Refusal:
    """Errors come in a list; its calls must come back with their signature."""
    if body["model"] == "absent":
        said = "models/absent is not found for API version v1main"
        return 404, [{"error": {"code": 404, "message": said, "status": "NOT_FOUND"}}]
    if "additionalProperties" in json.dumps(body.get("response_format") or {}):
        said = "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'generation_config.response_schema'"
        return 400, [{"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}]
    calls = [call for message in body["messages"] for call in message.get("tool_calls", ())]
    if any("extra_content" not in call for call in calls):
        return 400, [{"error": {"code": 400, "message": "Function call is missing a thought_signature", "status": "X"}}]
    return None


def _anthropic(body: Json) -> Refusal:
    if body["model"] == "absent":
        return 404, {"error": {"code": "not_found_error", "message": "model: absent", "type": "invalid_request_error"}}
    return None


_PLAIN = Dialect()
DIALECTS: dict[str, Dialect] = {
    "openai": _PLAIN,
    "openai-reasoning": replace(_PLAIN, refuses=_reasoning_model),
    "ollama": replace(
        _PLAIN, thought="reasoning", index=lambda n: 0, call_finish="stop", as_object=True, refuses=_ollama, usage="null"
    ),
    "ollama-plain": replace(_PLAIN, tagged=True, refuses=_ollama_plain),
    "anthropic": replace(_PLAIN, usage="finish", formats=False, ids=lambda n: f"toolu_0{n}", refuses=_anthropic),
    "vllm": replace(_PLAIN, thought="reasoning_content", usage="null", role_first=True, refuses=_vllm, split=True),
    "lmstudio": replace(_PLAIN, usage="never", refuses=_lmstudio, ids=lambda n: "123456789", finish="eos"),
    "llamacpp": replace(_PLAIN, thought="reasoning_content", refuses=_llamacpp, done=False),
    "mistral": replace(_PLAIN, parts=True, usage="finish", refuses=_mistral, split=True, index=lambda n: 0, ids=lambda n: None),
    "gemini": replace(_PLAIN, ids=lambda n: "", index=lambda n: None, call_finish="stop", role_first=False, more=SIGNED,
                      usage="finish", refuses=_gemini),
    "openrouter": replace(_PLAIN, thought="thinking", comment=b": OPENROUTER PROCESSING\r\n\r\n", newline=b"\r\n", space=b""),
}  # fmt: skip
