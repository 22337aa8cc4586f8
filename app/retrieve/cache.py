"""Keys of the retrieval cache. Pure: what decides a result is in the key, so that equal keys mean equal searches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from app.domain.passage import CacheAddress, SearchRequest, SearchResult
from app.domain.principal import Principal
from app.language.identifiers import identifier_terms
from app.retrieve.graph import question_keys
from app.retrieve.guards import guards
from app.settings import Settings

FORMAT = 3
"""Of keys and stored results: one more when either changes its meaning, so that old entries are never read."""
_TRAILING = "?.!,;: "


def normalise_query(query: str) -> str:
    """Lower case, single spaces, no trailing ?.!,;:; no stemming, no stop words.

    A query of nothing but such signs stays as it is: all of them would be the same otherwise.
    """
    words = " ".join(query.lower().split())
    return words.rstrip(_TRAILING) or words


def address(
    principal: Principal,
    request: SearchRequest,
    settings: Settings,
    *,
    model_id: int,
    serving: Sequence[int] = (),
    reranker: str | None,
    strategy: str,
    answering: bool,
) -> CacheAddress:
    """Where the result of this search belongs.

    The key is CogniDoc's (query, top_k, reranking, strategy) with what it lacks: tenant, collections, embedding
    models, settings revision, legs, grouping, expansion and reranker. `reranker` is the name of the one that will run,
    `serving` the ids of the models whose vectors are compared in each collection. Epochs are no part of it: they are
    compared when the entry is read. Parts of identifiers and names stand beside the query, because the lexical leg takes
    `getUserName` for more words than `getusername`, and the graph leg Turkey for another thing than turkey.
    """
    query = normalise_query(request.query)
    names = tuple(sorted(set(request.collections)))
    rest = [
        FORMAT, principal.tenant_id, request.top_k, request.rerank, reranker, strategy, answering, names, model_id,
        settings.revision, sorted(set(request.legs)), request.group_by, request.expand_parents,
        request.model, list(serving), request.explicit, request.weights and astuple(request.weights),
    ]  # fmt: skip
    named = question_keys(request.query) if "graph" in request.legs else ()
    return CacheAddress(
        key=_digest([query, identifier_terms(request.query), named, *rest]),
        scope=_digest(rest),
        query=query,
        guards=guards(request.query),
        collections=names,
    )


def storable(result: SearchResult) -> bool:
    """Only what everything worked for: a failed leg or reranker may work the next time."""
    return not result.legs_failed and not result.degraded and bool(result.snapshot)


def _digest(parts: list[Any]) -> str:
    """As JSON, so that no part can run into the next one."""
    return hashlib.md5(json.dumps(parts).encode(), usedforsecurity=False).hexdigest()
