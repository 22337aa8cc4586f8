"""Search with the retrieval cache before it and behind it: look up -> embed -> look up alike -> search -> store.

A cache that does not work never fails a search: it is reported in `degraded`, and the search goes on. What decides a result
is in its key, so that equal keys mean equal searches.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Sequence
from dataclasses import astuple, replace
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

import structlog
from pgvector import HalfVector

from cairn.domain.passage import CacheAddress, CacheCounts, SearchRequest, SearchResult
from cairn.domain.principal import Principal
from cairn.domain.secrets import has_secrets
from cairn.errors import ReadOnlyError, named_reason
from cairn.language.identifiers import identifier_terms
from cairn.language.lexicon import every
from cairn.language.linear import bounded
from cairn.providers.metered import Meter
from cairn.providers.question_encoder import question_encoder_file
from cairn.retrieve.context import SearchContext, SearchDeps
from cairn.retrieve.embed import embed_query
from cairn.retrieve.graph import question_keys
from cairn.retrieve.plan import plan_search
from cairn.retrieve.search import search_planned
from cairn.settings import Settings
from cairn.store import cache, vectors

T = TypeVar("T")
log = structlog.get_logger(__name__)

FORMAT = 4  # bound: tests/unit/test_edges_retrieve.py
"""Of keys and stored results: one more when either changes its meaning, so that old entries are never read."""
_TRAILING = "?.!,;: "
_QUICKLY = {"statement_timeout": "1000"}
"""A cache that makes a search wait longer (ms) is none."""


class LookUp(NamedTuple):
    """Where the result of a search belongs, and what is there. `alike`: the model of the settings serves all collections;
    `counted`: whether the use of the result is."""

    address: CacheAddress
    result: SearchResult | None
    alike: bool
    counted: bool


async def cached_search(
    deps: SearchDeps,
    principal: Principal,
    request: SearchRequest,
    settings: Settings,
    run_id: UUID | None = None,
    *,
    answering: bool = False,
    strategy: str = "search",
    meter: Meter | None = None,
) -> SearchResult:
    """Like `search`, from the cache where the same was searched before and nothing has changed since.

    `strategy` is part of the key. Filters bypass the cache, and so does a query with what looks like a key; so does
    `request.model`, because its vectors may still be in the making, and `request.cache` False, which uses no query embeddings
    either. Raises what `search` raises.
    """
    context = plan_search(deps, principal, request, settings, run_id, answering=answering, meter=meter)
    if _bypasses(context):
        if settings.cache.enabled:
            deps.ledger.count(principal, CacheCounts(bypassed=1))
        return await search_planned(context)
    problems: list[str] = []
    entry = await _attempt(problems, "look-up", context.stopwatch.measure("cache", _look_up(context, strategy)))
    if entry and entry.result:
        return _hit(context, entry.result, entry.address.key if entry.counted else None, problems)
    vector = None
    if entry and _compares_meaning(context, entry):
        context = await embed_query(context, [deps.model])
        vector = context.vectors.by_model.get(deps.model.id)
    if entry and vector is not None:
        near = await _attempt(problems, "semantic look-up", _look_up_similar(context, entry.address, vector))
        if near is not None:
            return _hit(context, near.result, near.key if near.counted else None, problems)
    deps.ledger.count(principal, CacheCounts(misses=1))
    result = await search_planned(context)
    if entry and is_storable(result):
        storing = _store(context, entry.address, result, vector)
        await _attempt(problems, "storing", context.stopwatch.measure("store", storing))
    return _finish(context, result, problems)


def _bypasses(context: SearchContext) -> bool:
    request = context.request
    if not request.cache or request.filters or request.model or not context.settings.cache.enabled:
        return True
    return has_secrets(request.query)  # an entry says what was searched for


def _compares_meaning(context: SearchContext, entry: LookUp) -> bool:
    """Whether the result of nearly the same query may answer. Operators do not show in a vector."""
    vector = "vector" in context.request.legs and entry.alike
    # what "nearly the same" is was measured for the model that judges; others put any two questions nearer or farther
    measured = context.deps.model == context.deps.judge_model
    return vector and measured and context.settings.cache.semantic and not context.conditions


async def _look_up(context: SearchContext, strategy: str) -> LookUp:
    """One statement where the model of the settings serves all collections, as it nearly always does; else two."""
    deps, settings = context.deps, context.settings
    default = deps.model.id
    reranker, encoder = context.reranker_choice.reranker, question_encoder_file("int8")
    serving = [default] * len(set(context.request.collections))
    async with deps.database.reading(context.principal) as connection:
        while True:
            where = cache_address(
                context.principal, context.request, settings, model_id=default, encoder=encoder, serving=serving,
                reranker=reranker.name if reranker and context.reranks else None, strategy=strategy,
                answering=context.answering,
            )  # fmt: skip
            models, found, counted = await cache.look_up(
                connection, context.principal, where, settings.cache, context.run_id
            )
            really = [model or default for model in models]
            if really == serving or len(models) < len(serving):  # a collection that is not there has no results
                await _note_serving(connection, context, models)
                return LookUp(where, found, set(really) <= {default}, counted)
            serving = really


async def _note_serving(connection: Any, context: SearchContext, models: Sequence[int | None]) -> None:
    """Remember which model serves the one collection that is searched, so that the question is embedded by it."""
    serving = context.deps.serving
    if len(models) != 1 or (model_id := models[0]) is None or model_id == context.deps.model.id:
        return
    model = serving.by_id(model_id) or (await vectors.models(connection, [model_id])).get(model_id)
    if model is not None:
        serving.note(context.principal, context.request.collections[0], model)


async def _look_up_similar(context: SearchContext, where: CacheAddress, vector: HalfVector) -> cache.Similar | None:
    settings = context.settings.cache
    async with context.deps.database.transaction(context.principal, readonly=True, config=_QUICKLY) as connection:
        found = await cache.look_up_similar(connection, context.principal, where, vector, settings, context.run_id)
    query = normalise_query(context.request.query)
    return next((entry for entry in found if not is_reordered(entry.query, query)), None)


async def _store(context: SearchContext, where: CacheAddress, result: SearchResult, vector: HalfVector | None) -> None:
    await context.deps.ledger.settle(context.principal)
    async with context.deps.database.bookkeeping.transaction(
        context.principal, config={**_QUICKLY, "synchronous_commit": "off"}
    ) as connection:
        await cache.store(connection, context.principal, where, result, vector, context.settings.cache)


def _hit(context: SearchContext, result: SearchResult, key: str | None, problems: Sequence[str]) -> SearchResult:
    """`key`: of the entry whose use is noted; None: of who asked others must not learn it."""
    assert result.hit is not None
    semantic = result.hit.similarity is not None
    ledger = context.deps.ledger
    ledger.count(context.principal, CacheCounts(hits=1, semantic_hits=int(semantic)))
    if key is not None:
        ledger.use(context.principal, key)
    return _finish(context, result, problems)


def _finish(context: SearchContext, result: SearchResult, problems: Sequence[str]) -> SearchResult:
    """With the time since the beginning, and what did not work so far."""
    degraded = tuple(dict.fromkeys((*result.degraded, *problems)))
    return replace(result, timings_ms=context.stopwatch.timings(), degraded=degraded)


async def _attempt(problems: list[str], what: str, work: Awaitable[T]) -> T | None:
    """None and a problem where the cache does not work."""
    try:
        return await work
    except ReadOnlyError:
        return None  # a standby stores nothing, which is as it should be
    except Exception as error:
        log.exception("cache.failed", step=what)
        problems.append(f"cache: {what} failed ({named_reason(error)})")
        return None


# --- where a result belongs -------------------------------------------------------------------------------------------


def normalise_query(query: str) -> str:
    """Lower case, single spaces, no trailing ?.!,;:; no stemming, no stop words.

    A query of nothing but such signs stays as it is: all of them would be the same otherwise.
    """
    words = " ".join(query.lower().split())
    return words.rstrip(_TRAILING) or words


def cache_address(
    principal: Principal,
    request: SearchRequest,
    settings: Settings,
    *,
    model_id: int,
    encoder: str,
    serving: Sequence[int] = (),
    reranker: str | None,
    strategy: str,
    answering: bool,
) -> CacheAddress:
    """Where the result of this search belongs.

    The key is CogniDoc's (query, top_k, reranking, strategy) with what it lacks: tenant, collections, embedding
    models, encoder of questions (this release's), settings revision, retrievers, grouping, expansion and reranker. `reranker` is
    the name of the one that will run, `serving` the ids of the models whose vectors are compared in each collection. Epochs are
    no part of it: they are compared when the entry is read. Parts of identifiers and names stand beside the query, because the
    lexical retriever takes `getUserName` for more words than `getusername`, and the graph retriever Turkey for another thing
    than turkey.
    """
    query = normalise_query(request.query)
    names = tuple(sorted(set(request.collections)))
    rest = [
        FORMAT, principal.tenant_id, request.top_k, request.rerank, reranker, strategy, answering, names, model_id,
        settings.revision, sorted(set(request.legs)), request.group_by, request.expand_parents,
        request.model, list(serving), request.explicit, request.weights and astuple(request.weights), request.fusion,
        request.asked and normalise_query(request.asked), encoder,
    ]  # fmt: skip
    named = question_keys(request.query) if "graph" in request.legs else ()
    return CacheAddress(
        key=_digest([query, identifier_terms(request.query), named, *rest]),
        scope=_digest(rest),
        query=query,
        guards=guards(request.query),
        collections=names,
    )


def is_storable(result: SearchResult) -> bool:
    """Only what everything worked for: a failed retriever or reranker may work the next time."""
    return not result.legs_failed and not result.degraded and bool(result.snapshot)


def _digest(parts: list[Any]) -> str:
    """As JSON, so that no part can run into the next one."""
    return hashlib.md5(json.dumps(parts).encode(), usedforsecurity=False).hexdigest()


# --- what two queries must share before one may answer for the other --------------------------------------------------

NEGATIONS: Final = every(lambda one: one.guards.negations)
NUMBERS: Final = every(lambda one: one.guards.numbers)
DIRECTIONS: Final = every(lambda one: one.guards.directions)
COMMON_FIRST: Final = every(lambda one: one.guards.first)

_WORD = re.compile(r"[^\W_](?:[\w'’.:/@+#-]*[\w+#])?", re.UNICODE)
_QUOTED = re.compile(r"[\"“„«‹`]([^\"“”„«»‹›`]+)[\"”“»›`]|(?<!\w)'([^']+)'(?!\w)")
_ENGLISH_NOT = bounded(r"\w+n['’]t")


def guards(query: str) -> tuple[str, ...]:
    """Numbers, negations, directions, names, identifiers and quoted terms of a query, in their order."""
    found: list[str] = ["quote:" + " ".join((a or b).lower().split()) for a, b in _QUOTED.findall(query)]
    for place, match in enumerate(_WORD.finditer(query)):
        word = match.group()
        if (kind := _kind(word, first=place == 0)) is not None:
            found.append(f"{kind}:{word.lower()}")
    return tuple(found)


def _kind(word: str, *, first: bool) -> str | None:
    lower = word.lower()
    if lower in NEGATIONS or _ENGLISH_NOT.fullmatch(lower):
        return "not"
    if lower in NUMBERS or any(map(str.isdigit, word)):
        return "number"
    if lower in DIRECTIONS:
        return "direction"
    if any(sign in word for sign in "_./:@+#") or any(map(str.isupper, word[1:])):
        return "identifier"
    if word[0].isupper() and not (first and lower in COMMON_FIRST) and lower != "i":
        return "name"
    return None


def is_reordered(one: str, other: str) -> bool:
    """The same words in another order: "does the dog bite the man" is not "does the man bite the dog"."""
    first, second = _WORD.findall(one.lower()), _WORD.findall(other.lower())
    return first != second and sorted(first) == sorted(second)
