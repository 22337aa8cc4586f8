"""One script, played both ways: what a scripted model says in words, as the tool calls or the JSON that a request asks for.

Scripts are written in words (THOUGHT, ACTION, ARGUMENTS; a JSON action; ANSWER and MISSING). A request with `tools` gets the
same as `tool_calls`, whose arguments are the script's to the letter, broken ones too; words that call nothing stay words.
A request with a `response_format` gets the same as JSON. `flat` makes one text of a conversation with tool messages.
"""

from __future__ import annotations

import json
import re
from typing import Any

Json = dict[str, Any]

_ACTION = re.compile(
    r"^ACTION(?:_\d)?: *(?P<tool>[\w.-]*)[^\n]*\nARGUMENTS(?:_\d)?: *(?P<given>.*?)(?=\nACTION|\nOBSERVATION|\Z)",
    re.MULTILINE | re.DOTALL,
)
_THOUGHT = re.compile(r"^THOUGHT: *(.*)$", re.MULTILINE)
_PARTS = re.compile(r"ANSWER:\s*(?P<answer>.*?)\s*MISSING:(?P<missing>.*)", re.DOTALL)
_ITEM = re.compile(r"^[ \t]*[-*•] *", re.MULTILINE)


def flat(messages: list[Json]) -> list[Json]:
    """System and user; what was called and answered since stands in the user's text, as in a conversation in words."""
    if len(messages) < 3 or not any(message.get("tool_calls") for message in messages):
        return messages
    told = [str(messages[1]["content"]), "Steps so far:"]
    for message in messages[2:]:
        if message["role"] == "tool":
            told.append(f"OBSERVATION: {message['content']}")
            continue
        told.append(f"THOUGHT: {message.get('content') or ''}")
        for call in message.get("tool_calls") or ():
            told.append(f"ACTION: {call['function']['name']}\nARGUMENTS: {call['function']['arguments']}")
    return [messages[0], {"role": "user", "content": "\n".join(told)}]


def rendered(text: str, body: Json) -> Json | None:
    """The message that says natively what the script says in words; None where it is to be said in words."""
    if "tools" in body:
        calls = _calls(text)
        if not calls:
            return None
        thought = _THOUGHT.search(text)
        listed = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": given}}
            for n, (name, given) in enumerate(calls, 1)
        ]
        return {"content": thought[1] if thought else None, "tool_calls": listed}
    if "response_format" in body:
        value = _value(text, _wanted(body))
        return None if value is None else {"content": json.dumps(value)}
    return None


def _calls(text: str) -> list[tuple[str, str]]:
    if found := [(match["tool"], match["given"].strip()) for match in _ACTION.finditer(text)]:
        return found
    try:
        said = json.loads(text)
    except ValueError:
        return []
    if not isinstance(said, dict):
        return []
    if said.get("type") == "tool_call" and isinstance(said.get("tool"), str):
        return [(said["tool"], json.dumps(said.get("input", {})))]
    if said.get("type") == "final":
        return [("final_answer", json.dumps({key: value for key, value in said.items() if key != "type"}))]
    return []


def _wanted(body: Json) -> set[str]:
    """Names of the fields of the JSON that is asked for; empty where any object will do."""
    schema = (body["response_format"].get("json_schema") or {}).get("schema") or {}
    return set(schema.get("properties") or ())


def _value(text: str, wanted: set[str]) -> Any:
    if "missing" in wanted and "answer" in wanted and (found := _PARTS.search(text)):
        lines = (_ITEM.sub("", line).strip() for line in found["missing"].splitlines())
        return {"answer": found["answer"], "missing": [line for line in lines if line and line.upper() != "NONE"]}
    if "enough" in wanted and "ACTION:" in text:
        return {"missing": text.partition("ACTION:")[0].strip(), "enough": text.rstrip().endswith("final_answer")}
    return None
