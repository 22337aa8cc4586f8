"""What ends a run: an answer, or a question back. None is ever carried out: a policy reads the arguments."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from cairn.strategies.agents.tools.tool import Answer, Arguments, Tool, Toolbox, ToolResult


class PlainAnswer(Arguments):
    answer: Answer = Field(description="the answer, in the user's language, each sentence with its sources like [1]")


class Lack(Arguments):
    section: str = Field("", description="the part of the answer that something is missing from")
    missing: str = Field("", description="what the documents do not say")
    queries_tried: list[str] = Field(default_factory=list, description="searches that did not find it")


class FinalArguments(Arguments):
    answer: Answer = Field(description="the whole answer, each sentence with the numbers of opened citations like [1]")
    used_citations: list[dict[str, str]] = Field(
        default_factory=list, description="docId and chunkId of each that it cites"
    )
    insufficiencies: list[Lack] = Field(default_factory=list, description="what the documents do not say")


class Clarification(Arguments):
    question: Answer = Field(description="what the user is asked, in their language")


async def final_answer(toolbox: Toolbox, asked: PlainAnswer | FinalArguments) -> ToolResult:
    return ToolResult(asked.answer, data=asked.answer)


async def ask_clarification(toolbox: Toolbox, asked: Clarification) -> ToolResult:
    return ToolResult(asked.question, data=asked.question)


TOOLS = (
    Tool(
        "ask_clarification", "end", "ask the user, only if the question cannot be understood without it", Clarification,
        ask_clarification,
    ),
    Tool("final_answer", "end", "give the answer; ends the work", PlainAnswer, final_answer),
)  # fmt: skip
FINAL: Final = Tool("final_answer", "end", "give the whole answer; ends the work", FinalArguments, final_answer)
"""That of planned, which tells the gate what it used and what is missing."""
