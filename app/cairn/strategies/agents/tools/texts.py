"""Making something of what was found: putting it together, and checking a claim."""

from __future__ import annotations

from pydantic import Field

from cairn.answer.cite import marks, named_sources
from cairn.answer.context import rendered
from cairn.answer.extract import extract
from cairn.answer.ground.check import ground
from cairn.answer.reply import tidy
from cairn.domain.passage import Passage
from cairn.language.fence import as_json, fenced
from cairn.prompts import prompt
from cairn.providers.protocols import Message
from cairn.strategies.agents.tools.show import numbered, quoted
from cairn.strategies.agents.tools.tool import Arguments, Text, Tool, Toolbox, ToolResult
from cairn.strategies.check import check_settings
from cairn.strategies.reading import reader_for

MAX_TOKENS = 700
"""Of what is put together."""
CHECKED = 5
"""Passages that a claim is compared with."""


class Focus(Arguments):
    question: Text = Field(description="what is to be put together from all passages found so far")


class Claim(Arguments):
    claim: Text = Field(description="one statement")


async def synthesize(toolbox: Toolbox, asked: Focus) -> ToolResult:
    """What the passages found so far say together; by the sentences that fit best where there is no model."""
    passages = _that_fit(toolbox)
    if not passages:
        return ToolResult("Nothing was found yet that could be put together; search first.", data=None)
    text = await (_written if toolbox.run.deps.chat else _quoted)(toolbox, asked.question, passages)
    said = fenced(text) if text else f"The passages found say nothing about {quoted(asked.question)}."
    return ToolResult(said, data=text or None)


def _that_fit(toolbox: Toolbox) -> list[Passage]:
    """From the first one on, so that their numbers stay those of the toolbox."""
    left, fitting = toolbox.run.settings.answer.max_context_tokens, list[Passage]()
    for passage in toolbox.passages:
        if (left := left - passage.token_count - 30) < 0 and fitting:
            break
        fitting.append(passage)
    return fitting


async def _written(toolbox: Toolbox, question: str, passages: list[Passage]) -> str:
    run = toolbox.run
    assert run.deps.chat is not None
    asked = as_json(question)
    filled = prompt("synthesize", context=fenced(rendered(passages).text), question=asked)
    reply = await run.record.metered("synthesize", run.deps.chat, run.settings).complete(
        [Message("system", filled.system), Message("user", filled.user)],
        temperature=run.settings.agents.temperature,
        max_tokens=MAX_TOKENS,
        timeout=min(run.settings.agents.call_seconds, run.settings.agents.tool_seconds),
    )
    return real_marks(tidy(reply.text), len(passages))


def real_marks(text: str, most: int) -> str:
    """Without citations of sources that there are not."""
    pieces, done = [], 0
    for mark in marks(text):
        real = [n for n in named_sources(mark) if 1 <= n <= most]
        pieces += [text[done : mark.start()], " " if real else "", "".join(f"[{n}]" for n in real)]
        done = mark.end()
    return "".join([*pieces, text[done:]]).strip()


async def _quoted(toolbox: Toolbox, question: str, passages: list[Passage]) -> str:
    run = toolbox.run
    by = await reader_for(run, question, passages)
    draft = await extract(question, passages, run.deps.judge, run.settings.answer, by=by)
    place = {passage.passage_id: n for n, passage in enumerate(passages, 1)}
    return "\n".join(f"{quoted(cited.quote)} [{place[cited.passage_id]}]" for cited in draft.citations)


async def verify_claim(toolbox: Toolbox, asked: Claim) -> ToolResult:
    """Whether passages that a search for it finds support a claim."""
    run = toolbox.run
    found = await run.search(asked.claim, CHECKED, purpose="tool", filters=toolbox.filters)
    if not found.passages:
        return ToolResult(f"The documents contain no passage about {quoted(asked.claim)}.", data={"supported": None})
    chat = run.deps.chat and run.record.metered("verify", run.deps.chat, run.settings)
    verdict = await ground(
        asked.claim, found.passages, embedder=run.deps.judge, chat=chat, settings=check_settings(run.settings)
    )
    run.record.degraded += verdict.degraded if verdict.grounded is not None else ()
    backing = [found.passages[n - 1] for one in verdict.sentences for n in one.sources if n <= len(found.passages)]
    shown = backing or list(found.passages)[:2]
    match verdict.grounded:
        case True:
            told = "The documents support it"
        case False:
            told = "The documents do not support it"
        case None:
            told = "It could not be checked"
    issues = "; ".join(quoted(issue, 200) for issue in verdict.issues[:3])
    head = f"{told}: {quoted(asked.claim)}{f' ({issues})' if issues else ''}. Nearest passages:"
    data = {"supported": verdict.grounded, "score": verdict.score}
    return ToolResult(f"{head}\n{numbered(toolbox, shown[:3], 400)}", data=data, passages=tuple(shown[:3]))


TOOLS = (
    Tool(
        "synthesize",
        "text",
        "put together what was found so far, for a comparison or a longer answer",
        Focus,
        synthesize,
        rereads=True,
    ),
    Tool("verify_claim", "text", "whether the documents support a statement", Claim, verify_claim),
)
