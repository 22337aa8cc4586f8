"""What ends a run: an answer, or a question back."""

from __future__ import annotations

from pydantic import Field

from cairn.strategies.agents.tools.tool import (
    Answer,
    Arguments,
    Tool,
    Toolbox,
    ToolResult,
)


class Final(Arguments):
    answer: Answer = Field(description="the answer, in the user's language, each sentence with its sources like [1]")


class Clarification(Arguments):
    question: Answer = Field(description="what the user is asked, in their language")


async def final_answer(toolbox: Toolbox, asked: Final) -> ToolResult:
    return ToolResult(asked.answer, data=asked.answer)


async def ask_clarification(toolbox: Toolbox, asked: Clarification) -> ToolResult:
    return ToolResult(asked.question, data=asked.question)


TOOLS = (
    Tool(
        "ask_clarification", "end", "ask the user, only if the question cannot be understood without it", Clarification,
        ask_clarification,
    ),
    Tool("final_answer", "end", "give the answer; ends the work", Final, final_answer),
)  # fmt: skip
