"""What the model of a planned run is told: for its plan, for each action, and for a synthesis."""

from __future__ import annotations

from typing import Final

from cairn.answer.generate import told_conversation
from cairn.language.fence import quoted
from cairn.prompts import prompt, prompt_part
from cairn.providers.protocols import Message, ToolProtocol
from cairn.strategies.agents.demands import Demands
from cairn.strategies.agents.memory import Memory
from cairn.strategies.agents.plan import Plan
from cairn.strategies.agents.tools.citations import SNIPPET
from cairn.strategies.agents.tools.show import excerpt, related

CONTEXT_CITATIONS: Final = 5
"""Opened citations that a prompt shows (MAX_CONTEXT_CITATIONS of DocuChat)."""
CITATION_CHARS: Final = 2000
"""Characters of each (MAX_CITATION_TEXT_FOR_LLM)."""


def plan_messages(memory: Memory, demands: Demands) -> list[Message]:
    """The call that makes the plan."""
    in_words = memory.run.settings.agents.protocol == "text"
    filled = prompt(
        "plan",
        form=prompt_part("plan", "array" if in_words else "object"),
        question=quoted(memory.run.question.text),
        before=_before(memory),
        requirements=f"Requirements:\n{demands.listed}\n" if demands.listed else "",
    )
    return [Message("system", filled.system), Message("user", filled.user)]


def action_messages(memory: Memory, demands: Demands, plan: Plan, protocol: ToolProtocol) -> list[Message]:
    """The call that asks for the next action. All that was found stands in it: there is no conversation to go on with."""
    left = demands.left(memory.toolbox)
    filled = prompt(
        "planned",
        how=prompt_part("planned", protocol),
        plan="\n".join(f"{n}. {step}" for n, step in enumerate(plan.steps, 1)),
        step=str(min(memory.toolbox.calls + 1, len(plan.steps))),
        steps=str(len(plan.steps)),
        question=quoted(memory.run.question.text),
        before=_before(memory),
        results=_results(memory) or "(none)",
        opened=_opened(memory) or "(none)",
        budget=str(left),
        searches=str(len(memory.looks)),
        opens=str(len(memory.opened)),
        requirements=demands.listed or "- none besides the rules",
        feedback=_feedback(memory, left),
        next="Your next action as JSON:" if protocol == "text" else "Call your next tool.",
    )
    return [Message("system", filled.system), Message("user", filled.user)]


def synthesis_task(demands: Demands) -> str:
    """What a model is told besides the sources, where no answer of its own was accepted."""
    return prompt_part("planned", "synthesis", requirements=demands.listed or "- none")


def _before(memory: Memory) -> str:
    """The conversation, which tells what the question means."""
    told = told_conversation(memory.run.history)
    return f"{told}\n\n" if told else ""


def _results(memory: Memory) -> str:
    """All results of all searches."""
    lines = []
    for look in memory.looks:
        lines.append(f"Query: {quoted(look.query)}" + ("" if look.passages else ": nothing was found"))
        for passage in look.passages:
            lines += [f"  - {quoted(passage.external_id)}: {quoted(excerpt(passage, SNIPPET))}",
                      f"    docId={passage.document_id}", f"    chunkId={passage.passage_id}"]  # fmt: skip
    return "\n".join(lines)


def _opened(memory: Memory) -> str:
    """The last of them, each with its number, and what the graph says of them."""
    numbered = list(enumerate(memory.opened, 1))[-CONTEXT_CITATIONS:]
    lines = [
        f"[{n}] {quoted(passage.external_id)} (chunk {place}, docId={passage.document_id}, "
        f"chunkId={passage.passage_id}): {quoted(passage.content[:CITATION_CHARS])}"
        for n, (passage, place) in numbered
    ]
    numbers = {passage.passage_id: n for n, (passage, _) in numbered}
    return "\n".join(lines) + related(memory.run, memory.run.record.graph, numbers)


def _feedback(memory: Memory, left: int) -> str:
    """What was wrong with the last reply, and what is to be done."""
    if not memory.unmet:
        return ""
    order = "You MUST output a TOOL_CALL now if anything is missing, and correct the rest." if left else (
        "No call can be made any more: you MUST output a final action, with insufficiencies for what is missing."
    )  # fmt: skip
    errors = "\n".join(f"- {one}" for one in memory.unmet)
    return prompt_part("planned", "feedback", errors=errors, budget=str(left), order=order)
