"""More ways to look for what an enhanced question asks, by a chat model: its parts and other phrasings.

Without a model the parts are those that rules found, and there are no other phrasings. What the model does not give, or
gives in an unusable form, is reported and done without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from app.answering.context import Run
from app.errors import ProviderError
from app.providers.protocols import ChatModel
from app.query.by_model import expand_by_model, split_by_model
from app.settings import RewriteSettings

ByModel = Callable[[str, ChatModel, RewriteSettings], Awaitable[tuple[str, ...]]]


def can_widen(run: Run) -> bool:
    """Whether a model is asked at all."""
    return run.route.strategy == "enhanced" and run.deps.chat is not None and run.settings.rewrite.model


async def widen(run: Run, *, split: bool = True, expand: bool = True) -> Run:
    """The run with what the model added to its plan; parts that rules have found are kept. Without `split` the question is
    one, whatever the rules found; without `expand` it has no other phrasings."""
    ruled = run.plan.subquestions if split else ()
    asks = run.deps.chat is not None and run.settings.rewrite.model
    parts, phrasings = await asyncio.gather(
        _asked(run, "decompose", split_by_model) if asks and split and not ruled else _nothing(),
        _asked(run, "expand", expand_by_model) if asks and expand else _nothing(),
    )
    plan = replace(run.plan, subquestions=ruled or parts, expansions=phrasings)
    run.record.plan = plan
    return replace(run, plan=plan)


async def _nothing() -> tuple[str, ...]:
    return ()


async def _asked(run: Run, purpose: str, ask: ByModel) -> tuple[str, ...]:
    assert run.deps.chat is not None
    chat = run.record.metered(purpose, run.deps.chat, run.settings)
    try:
        return await ask(run.plan.text, chat, run.settings.rewrite)
    except ProviderError as error:
        run.record.degraded.append(f"{purpose} by the model failed ({error.code}: {error.detail})")
        return ()
