"""The answerer with a model: numbered sources in, tokens out, then the same text with citations that exist."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from cairn.answer.cite import Cited, cite, unmarked
from cairn.answer.context import Context
from cairn.answer.refusal import is_refusal, refusal
from cairn.answer.reply import Spoken, complete_sentences, loop_start, tidy
from cairn.domain.answer import Draft
from cairn.domain.question import Turn
from cairn.errors import ProviderResponseError
from cairn.language.fence import fenced, quoted
from cairn.prompts import Prompt, prompt, prompt_part
from cairn.providers.protocols import ChatModel, Message
from cairn.settings import AnswerSettings

MESSAGE_CHARS: Final = 2000  # bound: tests/unit/test_edges_shown.py
"""Of each of them, and of each issue of a failed check."""
FIRST_PIECES: Final = 16  # bound: tests/unit/test_edges_shown.py
"""After each of these who reads has a turn, so that the first words come at once also where a server sends all in one; a turn
after each of hundreds would slow both."""
LOOKED_FOR_LOOPS: Final = 200  # bound: tests/unit/test_edges_shown.py
"""Characters between two looks for a loop."""
CHARS_PER_TOKEN: Final = 8  # bound: tests/unit/test_edges_shown.py
"""A reply with more characters for each token that it may have comes from a server that does not keep to the limit."""
THOUGHTS: Final = 8  # bound: tests/unit/test_edges_shown.py
"""How many times the limit of the answer a reply may have with its reasoning, and with white space that is not said."""


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
    conversation before, as much of it as is to be shown, as data. `task`: our own instruction where more than
    answering is wanted. `confidence` is that of the retrieval; the
    draft has it, or 0 where the model cited nothing that exists. A model's reasoning is neither streamed nor kept.

    Raises ProviderError, also for a stream that breaks off, that a content filter ends, or of which no whole sentence is
    left, and for a reply that is nothing but reasoning. `settings.timeout_seconds` limits the whole, and
    `settings.max_output_tokens` how much of it is read, whatever the server makes of that.
    """
    reply, spoken = _Reply(on_text, settings.max_output_tokens * CHARS_PER_TOKEN), Spoken()
    stream = chat.stream(
        _messages(_filled(question, context, feedback, history, task)),
        temperature=temperature,
        max_tokens=settings.max_output_tokens,
        timeout=settings.timeout_seconds,
    )
    # closed with us: an abandoned answer must not go on costing tokens
    async with aclosing(stream) as deltas:
        async for delta in deltas:
            reply.finish = delta.finish_reason or reply.finish
            reply.heard += len(delta.text)
            reply.add(spoken.hear(delta.text))
            if reply.pieces < FIRST_PIECES:
                await asyncio.sleep(0)
            if reply.too_long or reply.loops():
                break
    reply.add(spoken.end())
    reply.unfinished_thought = spoken.thinking
    return _draft(chat.name, reply, context, confidence)


# --- the prompt -----------------------------------------------------------------------------------------------------


def _filled(question: str, context: Context, feedback: Sequence[str], history: Sequence[Turn], task: str) -> Prompt:
    issues = "\n".join(f"- {quoted(issue, MESSAGE_CHARS)}" for issue in feedback)
    before = [told] if (told := told_conversation(history)) else []
    before += [task] if task else []
    before += [prompt_part("generate", "feedback", issues=issues)] if issues else []
    return prompt(
        "generate",
        context=fenced(context.text),
        question=question,
        refusal=refusal(question),
        before="".join(f"{part}\n\n" for part in before),
    )


def told_conversation(history: Sequence[Turn]) -> str:
    """What was said before, for a prompt; "" where nothing was. Numbers of sources are taken out: they are others now."""
    turns = "\n".join(f"{turn.role}: {quoted(unmarked(turn.content), MESSAGE_CHARS)}" for turn in history)
    return prompt_part("generate", "history", turns=turns) if turns else ""


def _messages(filled: Prompt) -> list[Message]:
    return [Message("system", filled.system), Message("user", filled.user)]


# --- the reply ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reply:
    """What the model said so far, at most `longest` characters of it, and how it ended. `heard`: characters with its
    reasoning. `looped`: where the text goes round in circles."""

    on_text: Callable[[str], None]
    longest: int
    text: str = ""
    heard: int = 0
    pieces: int = 0
    finish: str | None = None
    looped: int | None = None
    unfinished_thought: bool = False
    _looked: int = 0

    @property
    def too_long(self) -> bool:
        return len(self.text) >= self.longest or self.heard >= self.longest * THOUGHTS

    def add(self, piece: str) -> None:
        piece = piece[: self.longest - len(self.text)]
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


def _draft(model: str, reply: _Reply, context: Context, confidence: float) -> Draft:
    text, degraded = _mended(model, reply)
    if not text:
        raise ProviderResponseError(f"{model}: the reply has no text besides reasoning")
    cited = cite(text, context.passages)
    if is_refusal(cited.text, cited=bool(cited.citations)):
        reason = f"The model found no answer in the {len(context.passages)} passages it was given."
        return Draft(unmarked(cited.text), (), False, 0.0, (reason,), degraded)
    problems = _problems(cited, context) + degraded
    return Draft(cited.text, cited.citations, True, confidence if cited.citations else 0.0, problems, degraded)


def _mended(model: str, reply: _Reply) -> tuple[str, tuple[str, ...]]:
    """The reply's text with what could be saved of it, and what was wrong. Raises ProviderResponseError where nothing could."""
    text = tidy(reply.text if reply.looped is None else reply.text[: reply.looped])
    if reply.finish == "content_filter":  # it ends at any word, like a connection that is lost
        raise ProviderResponseError(f"{model}: a content filter cut the reply off", blames_server=False)
    why = _cut_off(model, reply)
    if why is None:
        return text, ()
    whole = complete_sentences(text)
    if not whole:
        raise ProviderResponseError(f"{why} No sentence of it was complete.", blames_server=False)
    return whole, (why,)


def _cut_off(model: str, reply: _Reply) -> str | None:
    """Why a reply is not whole, if it is not."""
    if reply.looped is not None:
        return f"{model} repeated itself and was stopped."
    if reply.too_long:
        return f"{model} did not keep to the token limit; its answer was cut off after {reply.longest:,} characters."
    if reply.finish == "length":
        return "The answer was cut off at the token limit."
    if reply.unfinished_thought:
        return f"{model} ended within its reasoning; what it said before is kept."
    return None


def _problems(cited: Cited, context: Context) -> tuple[str, ...]:
    problems = []
    if not cited.citations:
        problems.append("The answer cites no source.")
    if cited.stripped:
        problems.append(f"{cited.stripped} citations of sources that do not exist were removed.")
    if context.left_out:
        problems.append(f"{context.left_out} passages found did not fit into the context.")
    return tuple(problems)
