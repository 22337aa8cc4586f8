"""What the model of a planned run is told: for its plan, for each action, and for a synthesis."""

from __future__ import annotations

from typing import Final

from cairn.answer.generate import told_conversation
from cairn.domain.plan import PromptConstraints
from cairn.language.fence import quoted
from cairn.prompts import prompt, prompt_part
from cairn.providers.protocols import Message, ToolProtocol
from cairn.strategies.agents.planned_work import CITATION_CHARS, CONTEXT_CITATIONS, PlannedWork
from cairn.strategies.agents.tools.show import related

SNIPPET: Final = 300
"""Characters of a search result that a prompt shows; all results of all searches are shown."""


def plan_messages(work: PlannedWork) -> list[Message]:
    """The call that makes the plan."""
    listed = requirements(work.constraints)
    in_words = work.run.settings.agents.protocol == "text"
    filled = prompt(
        "plan",
        form=prompt_part("plan", "array" if in_words else "object"),
        question=quoted(work.run.question.text),
        before=_before(work),
        requirements=f"Requirements:\n{listed}\n" if listed else "",
    )
    return [Message("system", filled.system), Message("user", filled.user)]


def action_messages(work: PlannedWork, protocol: ToolProtocol) -> list[Message]:
    """The call that asks for the next action. All that was found stands in it: there is no conversation to go on with."""
    steps = work.plan.steps
    filled = prompt(
        "planned",
        how=prompt_part("planned", protocol),
        plan="\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1)),
        step=str(min(work.calls + 1, len(steps))),
        steps=str(len(steps)),
        question=quoted(work.run.question.text),
        before=_before(work),
        results=_results(work) or "(none)",
        opened=_opened(work) or "(none)",
        budget=str(work.left),
        searches=str(len(work.searches)),
        opens=str(len(work.opened)),
        requirements=requirements(work.constraints) or "- none besides the rules",
        feedback=_feedback(work),
        next="Your next action as JSON:" if protocol == "text" else "Call your next tool.",
    )
    return [Message("system", filled.system), Message("user", filled.user)]


def synthesis_task(work: PlannedWork) -> str:
    """What a model is told besides the sources, where no answer of its own was accepted."""
    return prompt_part("planned", "synthesis", requirements=requirements(work.constraints) or "- none")


def requirements(wanted: PromptConstraints) -> str:
    """A line for each constraint."""
    lines = []
    if wanted.min_searches > 1:
        topics = f" (on: {', '.join(wanted.required_search_topics)})" if wanted.required_search_topics else ""
        lines.append(f"Perform at least {wanted.min_searches} separate searches{topics}")
    if wanted.min_open_citations:
        lines.append(f"Open at least {wanted.min_open_citations} citation(s)")
    if wanted.requires_exact_quote:
        lines.append(f"Quote exact text, between quotation marks, for: {', '.join(wanted.exact_quote_indicators)}")
    if wanted.conflict_resolution_rule:
        lines.append(f"Where documents contradict each other: {wanted.conflict_resolution_rule}")
    if wanted.required_sections:
        lines.append(f"Write these sections: {', '.join(wanted.required_sections)}")
    if wanted.requires_insufficiency_disclosure:
        lines.append(
            "Where documentation is missing, write 'Insufficient documentation' and list it in insufficiencies"
        )
    return "\n".join(f"- {line}" for line in lines)


def _before(work: PlannedWork) -> str:
    """The conversation, which tells what the question means."""
    told = told_conversation(work.run.history)
    return f"{told}\n\n" if told else ""


def _results(work: PlannedWork) -> str:
    lines = []
    for query, items in work.searches.items():
        lines.append(f"Query: {quoted(query)}" + ("" if items else ": nothing was found"))
        for item in items:
            name = work.seen[str(item["chunkId"])].external_id
            snippet = quoted(str(item["snippet"])[:SNIPPET])
            lines += [f"  - {quoted(name)}: {snippet}",
                      f"    docId={item['docId']}", f"    chunkId={item['chunkId']}"]  # fmt: skip
    return "\n".join(lines)


def _opened(work: PlannedWork) -> str:
    """The last of them, each with its number, and what the graph says of them."""
    numbered = list(enumerate(work.opened, 1))[-CONTEXT_CITATIONS:]
    lines = [
        f"[{n}] {quoted(passage.external_id)} (chunk {item['chunkIndex']}, docId={item['docId']}, "
        f"chunkId={item['chunkId']}): {quoted(passage.content[:CITATION_CHARS])}"
        for n, (item, passage) in numbered
    ]
    numbers = {passage.passage_id: n for n, (_, passage) in numbered}
    return "\n".join(lines) + related(work.run, work.run.record.graph, numbers)


def _feedback(work: PlannedWork) -> str:
    """What was wrong with the last reply, and what is to be done."""
    if not work.unmet:
        return ""
    order = "You MUST output a TOOL_CALL now if anything is missing, and correct the rest." if work.left else (
        "No call can be made any more: you MUST output a final action, with insufficiencies for what is missing."
    )  # fmt: skip
    return prompt_part(
        "planned", "feedback", errors="\n".join(f"- {one}" for one in work.unmet), budget=str(work.left), order=order
    )
