"""`cairn cache`: what the retrieval cache did, and emptying it."""

from __future__ import annotations

from dataclasses import asdict

from app.commands.terminal import count, say, say_json, services
from app.service.search import cache_stats, clear_cache


async def show(json: bool) -> int:
    """Counts of the tenant over all processes and restarts."""
    async with services() as opened:
        settings, stats = opened.settings.current.cache, await cache_stats(opened)
    counts, rate = stats.counts, stats.hit_rate
    if json:
        say_json(
            {
                "enabled": settings.enabled, "size": stats.size, "capacity": settings.capacity,
                "ttl_seconds": settings.ttl_seconds, **asdict(counts), "hit_rate": rate,
                "semantic": settings.semantic, "query_embeddings": stats.query_embeddings,
            }
        )  # fmt: skip
        return 0
    if not settings.enabled:
        say("The cache is switched off (cache.enabled).")
    say(f"{count(stats.size, 'result')} that can answer now, of at most {settings.capacity:,}")
    share = "" if rate is None else f" ({rate:.0%} of those that asked it)"
    near = f", {counts.semantic_hits:,} of them for nearly the same query" if counts.semantic_hits else ""
    say(f"Searches: {counts.hits:,} answered{share}{near}, {counts.misses:,} not, {counts.bypassed:,} passed it by")
    say(f"{count(stats.query_embeddings, 'query embedding')} stored")
    return 0


async def clear(collection: str | None, json: bool) -> int:
    """Remove cached results, of one collection or all. Raises NotFoundError for an unknown collection."""
    async with services() as opened:
        removed = await clear_cache(opened, collection)
    if json:
        say_json({"removed": removed})
    else:
        say(f"{count(removed, 'cached result')} removed.")
    return 0
