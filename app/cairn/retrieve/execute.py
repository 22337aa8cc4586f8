"""Executing a search: in one statement where that suits, else stepwise, always out of one snapshot; and when to go again.

An attempt ends with passages or with a reason to make another one, which is the only thing that decides on the next:

    OTHER_MODEL, COLLECTION_CHANGED     stepwise, in one transaction
    STATEMENT_FAILED, RETRIEVER_FAILED  stepwise, each retriever in a savepoint, so that it fails alone
    VECTORS_MISSING                     the same again, after embedding: no transaction waits for a model
    GRAPH_UNSURE                        from the beginning, with all retrievers that were requested

Nearly all searches need one attempt. It ends: a savepoint leaves nothing to fail but the search, each model is asked for
vectors once, and the graph runs alone once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from cairn.retrieve import single_statement, stepwise
from cairn.retrieve.context import Executed, Reason, SearchContext
from cairn.retrieve.embed import embed_query, serving_model
from cairn.retrieve.plan import graph_is_unsure
from cairn.store.session import reads_contents

Way = Literal["single statement", "stepwise", "isolated"]


@reads_contents
async def execute(context: SearchContext) -> Executed:
    """Passages of all retrievers that work, and why the others do not; `retry` is None.

    Raises NotFoundError for an unknown collection, DatabaseUnavailableError and QueryTimeoutError where nothing can be read.
    """
    retries: list[Reason] = []
    context = await _with_expected_vector(context)
    way = _first_way(context)
    while True:
        executed = await _attempt(context, way)
        reason = executed.retry
        if reason is None:
            return replace(executed, retries=tuple(retries), degraded=context.vectors.degraded)
        retries.append(reason)
        if reason is Reason.VECTORS_MISSING:
            context = await embed_query(context, executed.models)
        elif reason is Reason.GRAPH_UNSURE:
            context = await _with_expected_vector(replace(context, legs=context.request.legs))
            way = _first_way(context)
        elif reason in (Reason.STATEMENT_FAILED, Reason.RETRIEVER_FAILED):
            way = "isolated"
        else:
            way = "stepwise"


async def _attempt(context: SearchContext, way: Way) -> Executed:
    if way == "single statement":
        executed = await single_statement.retrieve(context)
    else:
        executed = await stepwise.retrieve(context, isolated=way == "isolated")
    if executed.found is not None and graph_is_unsure(context, executed.found.legs):
        return Executed(retry=Reason.GRAPH_UNSURE)
    return executed


def _first_way(context: SearchContext) -> Way:
    return "single statement" if single_statement.suits(context) else "stepwise"


async def _with_expected_vector(context: SearchContext) -> SearchContext:
    """With the vectors of the models that serve the collections, as far as that is known; a request for another model may need
    none."""
    if "vector" not in context.legs or context.request.model is not None:
        return context
    names = set(context.request.collections)
    expected = {serving_model(context.deps, context.principal, name) for name in names}
    if len(names) == 1:
        context = replace(context, expected=next(iter(expected)))
    return await embed_query(context, context.vectors.missing(expected))
