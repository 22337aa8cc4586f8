"""The next query after a round that was not good enough, out of what it did find: by the chat model, else by rules."""

from __future__ import annotations

from collections.abc import Sequence

from app.answering.context import Run
from app.domain.passage import Passage
from app.errors import ProviderError
from app.query.by_model import requery_by_model
from app.query.rewrite_after import rewrite_after
from app.retrieve.operators import parse_operators


async def requery(
    run: Run, relevant: Sequence[Passage], irrelevant: Sequence[Passage], tried: Sequence[str]
) -> str | None:
    """A query that was not tried; None where there is nothing new to try. A model that fails is reported."""
    question = parse_operators(run.plan.text).text  # what the message excludes is not looked for
    if run.deps.chat is not None and run.settings.rewrite.model:
        chat = run.record.metered("requery", run.deps.chat, run.settings)
        try:
            return await requery_by_model(question, relevant, irrelevant, tried, chat, run.settings.rewrite)
        except ProviderError as error:
            run.record.degraded.append(
                f"rewriting by the model failed ({error.code}: {error.detail}): rewritten by rules"
            )
    found = rewrite_after(question, relevant, irrelevant, tried).text
    return None if found in (question, *tried) else found
