"""Reading what a model says in the text format of react: a thought, then one action or two.

    THOUGHT: why                       THOUGHT: why
    ACTION: retrieve_vector            ACTION_1: lookup_entity
    ARGUMENTS: {"query": "leave"}      ARGUMENTS_1: {"name": "Curie"}
                                       ACTION_2: ...

Models bend it, so much is understood: the numbered form first, then the single one, then a JSON object; arguments that are
no JSON are read pair by pair. What a model invents after its actions (observations, further steps) is not read. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from app.answer.reply import Spoken, tidy
from app.providers.reader import storable_json

MOST_ACTIONS: Final = 2
LONGEST_NAME: Final = 80
DEEPEST: Final = 4
"""Levels of lists and objects in arguments."""
TERMINAL: Final = ("final_answer", "ask_clarification")

_EDGE = r"^[ \t>*_#`\"'-]*"
_ACTION = _EDGE + r"(?:ACTION|TOOL){n}\b[ \t*_`]*[:=][ \t*_`\"']*(?P<tool>[\w.-]*)(?P<rest>[^\n]*)"
_NUMBERED = re.compile(_ACTION.replace("{n}", r"[ _]?(?P<n>[12])"), re.IGNORECASE | re.MULTILINE)
_SINGLE = re.compile(_ACTION.replace("{n}", ""), re.IGNORECASE | re.MULTILINE)
_ARGUMENTS = re.compile(
    _EDGE + r"(?:ARGUMENTS?|ARGS|ACTION[ _]INPUT|INPUT|PARAMETERS)(?:[ _]?\d)?[ \t*_`]*[:=]",
    re.IGNORECASE | re.MULTILINE,
)
_THOUGHT = re.compile(_EDGE + r"(?:THOUGHT|REASONING)[ \t*_`]*[:=][ \t*_]*", re.IGNORECASE | re.MULTILINE)
_INVENTED = re.compile(
    _EDGE + r"(?:OBSERVATION|REFLECTION|RESULT)(?:[ _]?\d)?[ \t*_`]*[:=(]", re.IGNORECASE | re.MULTILINE
)
_FINAL = re.compile(_EDGE + r"FINAL[ _]ANSWER[ \t*_`]*[:=][ \t*_]*", re.IGNORECASE | re.MULTILINE)
_CONCLUDES = re.compile(r"ACTION[ \t*_`]*:[ \t*_`\"']*(final_answer|continue)", re.IGNORECASE)
_PAIR = re.compile(
    r"[\"']?(?<!\w)(?P<key>[A-Za-z_]\w*)[\"']?\s*[:=]\s*"
    r"(?:\"(?P<double>(?:[^\"\\]|\\.)*)(?:\"|\Z)|'(?P<single>(?:[^'\\]|\\.)*?)'(?=\s*[,}\])]|\s*\Z)"
    r"|(?P<list>\[[^\[\]]*\])|(?P<bare>[^,\n{}\"]+))",
    re.DOTALL,
)

_FIELD = re.compile(r"[\"']?(?P<key>answer|question)[\"']?\s*[:=]\s*(?P<quote>[\"'])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Action:
    """A tool as the model named it, with arguments; `repaired`: they were no JSON object."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """One step; no actions where the reply has none that can be read."""

    thought: str
    actions: tuple[Action, ...] = ()


def read_decision(reply: str) -> Decision:
    """Never raises, whatever was said."""
    text = spoken(reply)
    actions = _actions(_NUMBERED, text) or _actions(_SINGLE, text)[:1] or _object(text) or _plain_final(text)
    thought = _thought(text)
    actions = [
        replace(one, tool=one.tool[:LONGEST_NAME], arguments=storable_json(one.arguments, DEEPEST)) for one in actions
    ]
    ends = [action for action in actions if action.tool in TERMINAL]
    if ends:  # a terminal action beside another one stands alone
        return Decision(thought, (ends[0],))
    unique = {(action.tool, repr(action.arguments)): action for action in actions}
    return Decision(thought, tuple(unique.values())[:MOST_ACTIONS])


def spoken(reply: str) -> str:
    """Without reasoning in tags, and what stands after it."""
    hearing = Spoken()
    return tidy(hearing.hear(reply) + hearing.end())


def answer_of(arguments: Mapping[str, Any], name: str = "answer") -> str:
    """The field of that name, else the first string."""
    texts = [value for value in (arguments.get(name), *arguments.values()) if isinstance(value, str) and value.strip()]
    return texts[0].strip() if texts else ""


def concludes(reflection: str) -> bool:
    """Whether a reflection says that enough is known; its last word counts."""
    said = _CONCLUDES.findall(spoken(reflection))
    return bool(said) and said[-1].lower() == "final_answer"


# --- actions --------------------------------------------------------------------------------------------------------


def _actions(pattern: re.Pattern[str], text: str) -> list[Action]:
    found = list(pattern.finditer(text))
    actions = []
    for place, match in enumerate(found[:MOST_ACTIONS]):
        end = found[place + 1].start() if place + 1 < len(found) else len(text)
        if tool := match["tool"].strip(".-_").lower():
            body = text[match.end() : end]
            actions.append(_with_arguments(tool, match["rest"], body))
    return actions


def _with_arguments(tool: str, rest: str, body: str) -> Action:
    """Arguments after their label; else those in brackets or braces after the tool's name; else what follows it."""
    labelled = _ARGUMENTS.search(body)
    given = body[labelled.end() :] if labelled else rest if re.search(r"[({]", rest) else body
    return Action(tool, *_arguments(given, labelled=labelled is not None, of=tool))


def _arguments(given: str, *, labelled: bool, of: str) -> tuple[Mapping[str, Any], bool]:
    start = given.find("{")
    if start >= 0:
        try:
            data, _ = json.JSONDecoder(strict=False).raw_decode(given, start)
            if isinstance(data, dict):
                return data, False
        except (ValueError, RecursionError):
            pass
    invented = _INVENTED.search(given)
    given = given[: invented.start()] if invented else given
    given = given if start < 0 else given[start:]
    if of in TERMINAL and (told := _field(given)):
        return told, True
    if pairs := _pairs(given, of):
        return pairs, True
    plain = given.strip().strip("(){}[]`\"' \n")
    return (
        {"answer" if of == "final_answer" else "input": plain} if plain and (labelled or of in TERMINAL) else {}
    ), True


def _field(text: str) -> dict[str, str]:
    """The one text of a terminal action, up to the end of what was said: quotation marks within it do not end it."""
    text = text.lstrip().removeprefix("{").lstrip()
    found = _FIELD.match(text)
    if not found:
        return {}
    said = text[found.end() :].rstrip(" \n\t`").removesuffix("}").rstrip().removesuffix(found["quote"])
    return {found["key"].lower(): said.replace('\\"', '"').replace("\\n", "\n")}


def _pairs(text: str, of: str) -> dict[str, Any]:
    """`key: value` pairs of something that was to be JSON. Text that is plainly prose has none."""
    if of in TERMINAL and not re.match(r"\s*[({]?\s*[\"']?\w+[\"']?\s*[:=]\s*[\"']", text):
        return {}
    pairs: dict[str, Any] = {}
    for found in _PAIR.finditer(text):
        quoted = found["double"] if found["double"] is not None else found["single"]
        if quoted is not None:
            value: Any = quoted.replace('\\"', '"').replace("\\n", "\n")
        elif found["list"]:
            value = [part.strip(" \"'") for part in found["list"][1:-1].split(",") if part.strip(" \"'")]
        else:
            value = found["bare"].strip(" )]`'")
        if value and found["key"].lower() not in ("thought", "action", "arguments"):
            pairs.setdefault(found["key"], value)
    return pairs


def _object(text: str) -> list[Action]:
    """A JSON object {"thought", "action", "arguments"}, as models say that know nothing else."""
    try:
        data, _ = json.JSONDecoder(strict=False).raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return []
    if not isinstance(data, dict):
        return []
    listed = data.get("actions") if isinstance(data.get("actions"), list) else [data]
    actions = []
    for item in listed or []:
        tool = item.get("action") or item.get("tool") or item.get("name") if isinstance(item, dict) else None
        given: Any = (
            next((item[key] for key in ("arguments", "args", "input", "action_input") if key in item), {})
            if tool
            else {}
        )
        if isinstance(tool, str) and tool.strip():
            actions.append(
                Action(tool.strip().lower(), given if isinstance(given, dict) else {"input": str(given)}, True)
            )
    return actions


def _plain_final(text: str) -> list[Action]:
    """`Final Answer: ...` in words."""
    found = _FINAL.search(text)
    said = text[found.end() :].strip() if found else ""
    return [Action("final_answer", {"answer": said}, True)] if said else []


def _thought(text: str) -> str:
    begun = _THOUGHT.search(text)
    rest = text[begun.end() :] if begun else text
    ends = [match.start() for pattern in (_NUMBERED, _SINGLE, _FINAL, _INVENTED) if (match := pattern.search(rest))]
    said = rest[: min(ends)] if ends else rest
    return " ".join(said.split())[:1000] if begun or ends else ""
