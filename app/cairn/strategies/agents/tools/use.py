"""Calling a tool by name with whatever a model has written: never raises for what a model, a tool or a database does."""

from __future__ import annotations

import asyncio
import difflib
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import structlog
from pydantic import ValidationError

from cairn.errors import BudgetExceededError, CairnError
from cairn.strategies.agents.tools.tool import Arguments, Tool, Toolbox, ToolResult, Used
from cairn.telemetry import span

log = structlog.get_logger(__name__)

REPEATED_CHARS: Final = 400
"""Of the first result, when a call is repeated."""


async def use(toolbox: Toolbox, name: str, arguments: Mapping[str, Any]) -> ToolResult:
    """The tool's result, or a failed one that says what to do instead. At most `agents.toolSeconds`, and no longer than
    the budget. A call that was made before is not made again, and says so."""
    began = time.perf_counter()
    tool = toolbox.tools.get(name.strip().lower())
    if tool is None:
        return _noted(toolbox, name[:60], {}, _unknown(toolbox, name), began, reason="unknown tool")
    checked = _checked(tool, arguments)
    if isinstance(checked, str):
        return _noted(toolbox, tool.name, {}, ToolResult(checked, False), began, reason="wrong arguments")
    given = checked.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    so_far = len(toolbox.passages) if tool.rereads else 0
    key = f"{tool.name} {so_far} {json.dumps(given, sort_keys=True, ensure_ascii=False).casefold()}"
    if (before := toolbox.done.get(key)) and tool.kind != "end":
        toolbox.repeated += 1
        return _noted(toolbox, tool.name, given, _again(tool, given, before), began, repeated=True)
    if tool.kind != "end" and (reason := toolbox.budget.take_tool_call()):
        spent = ToolResult("No tool can be called any more: give the final answer from what was found.", False)
        return _noted(toolbox, tool.name, given, spent, began, reason=f"the run has used up {reason}")
    result, problem = await _called(toolbox, tool, checked)
    if not problem:  # what failed may be tried again
        toolbox.done[key] = result
    for passage in result.passages:
        toolbox.number(passage)
        toolbox.run.record.read.add(passage.document_id)
    if result.fact and result.fact not in toolbox.facts:
        toolbox.facts.append(result.fact)
    return _noted(toolbox, tool.name, given, result, began, reason=problem)


async def _called(toolbox: Toolbox, tool: Tool, checked: Arguments) -> tuple[ToolResult, str]:
    """The result, and what went wrong; observations tell only that, since they may end up in an answer."""
    limit = toolbox.run.settings.agents.tool_seconds
    try:
        async with asyncio.timeout(max(0.05, min(limit, toolbox.budget.seconds_left()))):
            with span(f"tool {tool.name}"):
                return await tool.run(toolbox, checked), ""
    except TimeoutError:
        said, problem = "took too long and was stopped", "timed out"
    except BudgetExceededError as error:
        said, problem = "cannot be used any more: give the final answer", error.code
    except CairnError as error:
        said, problem = "did not work this time", f"{error.code}: {error.detail}"
    except Exception as error:
        log.exception("tool.bug", tool=tool.name)
        said, problem = "did not work", f"internal ({type(error).__name__})"
    toolbox.run.record.degraded.append(f"tool {tool.name}: {problem}")
    return ToolResult(f"{tool.name} {said}.", False), problem


# --- arguments ------------------------------------------------------------------------------------------------------


def _checked(tool: Tool, arguments: Mapping[str, Any]) -> Arguments | str:
    """The arguments, or what is wrong with them. Where one text is required and one is given under another name, that is
    what is meant."""
    try:
        return tool.arguments.model_validate(dict(arguments))
    except ValidationError as error:
        first = error
    known = {name for name, _ in tool.fields} | set(tool.arguments.model_fields)
    required = [name for name, info in tool.fields if info.is_required()]
    texts = [value for name, value in arguments.items() if isinstance(value, str) and name not in known]
    if len(required) == 1 and texts:
        try:
            return tool.arguments.model_validate({**arguments, required[0]: texts[0]})
        except ValidationError as error:
            first = error
    problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {_said(item['msg'])}" for item in first.errors()[:3])
    return f"{tool.name} was not called, because its arguments are wrong ({problems}). It is used so: {tool.line[2:]}"


def _said(message: str) -> str:
    return message.removeprefix("Value error, ")[:200]


def _unknown(toolbox: Toolbox, name: str) -> ToolResult:
    near = difflib.get_close_matches(name.strip().lower(), toolbox.tools, n=3, cutoff=0.4)
    which = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(toolbox.tools)}."
    return ToolResult(f"There is no tool {json.dumps(name[:60], ensure_ascii=False)}. {which}", False)


def _again(tool: Tool, given: Mapping[str, Any], before: ToolResult) -> ToolResult:
    said = before.observation
    short = said if len(said) <= REPEATED_CHARS else f"{said[:REPEATED_CHARS]}…"
    asked = json.dumps(given, ensure_ascii=False)[:200]
    told = f"{tool.name} {asked} was called before; its result has not changed. Do something else, or answer. It was: {short}"
    return replace(before, observation=told)


def _noted(
    toolbox: Toolbox,
    name: str,
    given: Mapping[str, Any],
    result: ToolResult,
    began: float,
    *,
    repeated: bool = False,
    reason: str = "",
) -> ToolResult:
    ms = round((time.perf_counter() - began) * 1000, 1)
    found = tuple(passage.passage_id for passage in result.passages)
    toolbox.used.append(Used(name, given, result.success, ms, found, repeated, reason))
    return replace(result, arguments=given, repeated=repeated)
