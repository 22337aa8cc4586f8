"""The answerer with a model: numbered sources in, tokens out, then the same text with citations that exist."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

from app.answer.cite import Cited, cite
from app.answer.context import Context
from app.answer.refusal import is_refusal, refusal
from app.domain.answer import Draft
from app.domain.event import Token
from app.prompts import prompt
from app.providers.protocols import ChatModel, Delta, Message, Usage
from app.settings import AnswerSettings


async def generate(
    question: str,
    context: Context,
    chat: ChatModel,
    settings: AnswerSettings,
    *,
    temperature: float,
    confidence: float,
) -> AsyncIterator[Token | Draft]:
    """Tokens as the model writes them (with its own source numbers), then one Draft whose text replaces them.

    `confidence` is that of the retrieval; the draft has it, or 0 where the model cited nothing that exists. Raises
    ProviderError, also for a stream that breaks off; `settings.timeout_seconds` limits the whole.
    """
    filled = prompt("generate", context=context.text, question=question, refusal=refusal(question))
    messages = [Message("system", filled.system), Message("user", filled.user)]
    text, finish, usage = "", None, Usage()
    stream = chat.stream(
        messages,
        temperature=temperature,
        max_tokens=settings.max_output_tokens,
        timeout=settings.timeout_seconds,
    )
    # closed with us: an abandoned answer must not go on costing tokens
    async with aclosing(cast("Any", stream)) as deltas:
        async for delta in deltas:
            delta = cast(Delta, delta)
            finish, usage = delta.finish_reason or finish, delta.usage or usage
            if delta.text:
                text += delta.text
                yield Token(delta.text)
    yield _draft(text, context, finish, confidence, _usage(chat.name, usage))


def _draft(text: str, context: Context, finish: str | None, confidence: float, usage: dict[str, Any]) -> Draft:
    cited = cite(text, context.passages)
    if is_refusal(cited.text) and not cited.citations:
        reason = f"The model found no answer in the {len(context.passages)} passages it was given."
        return Draft(cited.text, (), False, 0.0, (reason,), usage)
    problems = _problems(cited, finish, context)
    return Draft(cited.text, cited.citations, True, confidence if cited.citations else 0.0, problems, usage)


def _problems(cited: Cited, finish: str | None, context: Context) -> tuple[str, ...]:
    problems = []
    if not cited.citations:
        problems.append("The answer cites no source.")
    if cited.stripped:
        problems.append(f"{cited.stripped} citations of sources that do not exist were removed.")
    if finish == "length":
        problems.append("The answer was cut off at the token limit.")
    if context.left_out:
        problems.append(f"{context.left_out} passages found did not fit into the context.")
    return tuple(problems)


def _usage(model: str, usage: Usage) -> dict[str, Any]:
    return {"model": model, "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
