"""The answerer with a model: numbered sources in, tokens out, then the same text with citations that exist."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from app.answer.cite import Cited, cite, unmarked
from app.answer.context import Context
from app.answer.refusal import is_refusal, refusal
from app.answer.reply import Spoken, complete_part, loop_start, tidy
from app.domain.answer import Draft
from app.domain.question import Turn
from app.domain.trace import one_call
from app.errors import ProviderResponseError
from app.language.fence import fenced, quoted
from app.prompts import Prompt, prompt, prompt_part
from app.providers.protocols import ChatModel, Message, Usage
from app.settings import AnswerSettings

HISTORY_MESSAGES: Final = 5
"""Messages of the conversation that generation sees."""
MESSAGE_CHARS: Final = 2000
"""Of each of them, and of each issue of a failed check."""
FIRST_PIECES: Final = 16
"""After each of these who reads has a turn, so that the first words come at once also where a server sends all in one; a turn
after each of hundreds would slow both."""
LOOKED_FOR_LOOPS: Final = 200
"""Characters between two looks for a loop."""


async def generate(
    question: str,
    context: Context,
    chat: ChatModel,
    settings: AnswerSettings,
    *,
    temperature: float,
    confidence: float,
    on_text: Callable[[str], None],
    feedback: Sequence[str] = (),
    history: Sequence[Turn] = (),
    task: str = "",
) -> Draft:
    """The answer as a draft. `on_text` gets its pieces as the model writes them (with its own source numbers); the draft's
    text replaces them.

    `feedback`: what a check found unsupported in the previous answer to the same question. `history`: the
    conversation before, of which the last HISTORY_MESSAGES are shown as data. `task`: our own instruction where more than
    answering is wanted. `confidence` is that of the retrieval; the
    draft has it, or 0 where the model cited nothing that exists. A model's reasoning is neither streamed nor kept.

    Raises ProviderError, also for a stream that breaks off and for a reply that is nothing but reasoning;
    `settings.timeout_seconds` limits the whole.
    """
    begun, reply, spoken = time.perf_counter(), _Reply(on_text), Spoken()
    stream = chat.stream(
        _messages(_filled(question, context, feedback, history, task)),
        temperature=temperature,
        max_tokens=settings.max_output_tokens,
        timeout=settings.timeout_seconds,
    )
    # closed with us: an abandoned answer must not go on costing tokens
    async with aclosing(stream) as deltas:
        async for delta in deltas:
            reply.finish, reply.usage = delta.finish_reason or reply.finish, delta.usage or reply.usage
            reply.add(spoken.hear(delta.text))
            if reply.pieces < FIRST_PIECES:
                await asyncio.sleep(0)
            if reply.loops():
                break
    reply.add(spoken.end())
    reply.unfinished_thought = spoken.thinking
    seconds = time.perf_counter() - begun
    spent = one_call(chat.name, reply.usage.input_tokens, reply.usage.output_tokens, seconds, settings.prices)
    return _draft(chat.name, reply, context, confidence, spent.usage())


# --- the prompt -----------------------------------------------------------------------------------------------------


def _filled(question: str, context: Context, feedback: Sequence[str], history: Sequence[Turn], task: str) -> Prompt:
    turns = "\n".join(
        f"{turn.role}: {quoted(unmarked(turn.content), MESSAGE_CHARS)}" for turn in history[-HISTORY_MESSAGES:]
    )
    issues = "\n".join(f"- {quoted(issue, MESSAGE_CHARS)}" for issue in feedback)
    before = [prompt_part("generate", "history", turns=turns)] if turns else []
    before += [task] if task else []
    before += [prompt_part("generate", "feedback", issues=issues)] if issues else []
    return prompt(
        "generate",
        context=fenced(context.text),
        question=question,
        refusal=refusal(question),
        before="".join(f"{part}\n\n" for part in before),
    )


def _messages(filled: Prompt) -> list[Message]:
    return [Message("system", filled.system), Message("user", filled.user)]


# --- the reply ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reply:
    """What the model said so far, and how it ended. `looped`: where the text goes round in circles."""

    on_text: Callable[[str], None]
    text: str = ""
    pieces: int = 0
    finish: str | None = None
    usage: Usage = field(default_factory=Usage)
    looped: int | None = None
    unfinished_thought: bool = False
    _looked: int = 0

    def add(self, piece: str) -> None:
        if piece:
            self.text += piece
            self.pieces += 1
            self.on_text(piece)

    def loops(self) -> bool:
        """Whether the model repeats itself; looked for now and then."""
        if len(self.text) - self._looked >= LOOKED_FOR_LOOPS:
            self._looked = len(self.text)
            self.looped = loop_start(self.text)
        return self.looped is not None


def _draft(model: str, reply: _Reply, context: Context, confidence: float, usage: dict[str, Any]) -> Draft:
    text, degraded = _mended(model, reply)
    if not text:
        raise ProviderResponseError(f"{model}: the reply has no text besides reasoning")
    cited = cite(text, context.passages)
    if is_refusal(cited.text, cited=bool(cited.citations)):
        reason = f"The model found no answer in the {len(context.passages)} passages it was given."
        return Draft(unmarked(cited.text), (), False, 0.0, (reason,), usage, degraded)
    problems = _problems(cited, context) + degraded
    return Draft(cited.text, cited.citations, True, confidence if cited.citations else 0.0, problems, usage, degraded)


def _mended(model: str, reply: _Reply) -> tuple[str, tuple[str, ...]]:
    """The reply's text with what could be saved of it, and what was wrong."""
    text = tidy(reply.text if reply.looped is None else reply.text[: reply.looped])
    if reply.looped is not None:
        return complete_part(text), (f"{model} repeated itself and was stopped.",)
    if reply.finish == "length":
        return complete_part(text), ("The answer was cut off at the token limit.",)
    if reply.finish == "content_filter":
        return complete_part(text), (f"A content filter of {model} cut the answer off.",)
    if reply.unfinished_thought:
        return text, (f"{model} ended within its reasoning; what it said before is kept.",)
    return text, ()


def _problems(cited: Cited, context: Context) -> tuple[str, ...]:
    problems = []
    if not cited.citations:
        problems.append("The answer cites no source.")
    if cited.stripped:
        problems.append(f"{cited.stripped} citations of sources that do not exist were removed.")
    if context.left_out:
        problems.append(f"{context.left_out} passages found did not fit into the context.")
    return tuple(problems)
