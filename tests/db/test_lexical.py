"""BM25 in SQL: equal to a reference implementation, and exact after any mix of writes."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections import Counter
from contextlib import suppress
from typing import Any

import asyncpg
import pytest

from cairn.errors import NotFoundError
from cairn.ingest.reweight import reweight_if_drifted
from cairn.service.documents import delete_document, get_collection, index_now
from cairn.settings import ChunkingSettings, LexicalSettings
from cairn.store import lexical
from cairn.wiring import Services
from tests.documents import find, index_texts, text_source, with_sections
from tests.sharing import SHARED

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]

WORDS = [
    "granite",
    "basalt",
    "marble",
    "quartz",
    "feldspar",
    "mica",
    "gneiss",
    "schist",
    "slate",
    "sandstone",
    "limestone",
    "chalk",
    "flint",
    "obsidian",
    "pumice",
    "trail",
    "summit",
    "ridge",
    "valley",
    "glacier",
    "moraine",
    "cairn",
    "path",
    "marker",
    "weather",
    "climber",
    "rope",
    "anchor",
    "river",
    "bridge",
    "forest",
]


def make_texts(count: int, seed: int = 7) -> dict[str, str]:
    """Texts of very different lengths, with repeated words."""
    chance = random.Random(seed)
    return {f"d{i}": " ".join(chance.choices(WORDS, k=chance.randint(3, 120))) for i in range(count)}


async def index_passages(services: Services, texts: dict[str, str], parts: int = 10) -> int:
    """The texts as short passages of few documents, which is faster to index; how many passages."""
    small = with_sections(services, chunking=ChunkingSettings(passage_size=200, passage_overlap=0, chunk_overlap=0))
    whole = list(texts.values())
    await index_texts(small, {f"part{at}": "\n\n".join(whole[at::parts]) for at in range(parts)})
    return (await get_collection(services, "test")).passage_count


class Okapi:
    """Reference BM25 (Lucene's idf, k1 = 1.2, b = .75), written from the formula, over stored lexemes."""

    def __init__(self, passages: dict[str, Counter[str]]) -> None:
        self.passages = passages
        self.average = sum(sum(c.values()) for c in passages.values()) / len(passages)
        self.df = Counter(word for counts in passages.values() for word in counts)

    def score(self, passage: str, query: Counter[str]) -> float:
        counts, total = self.passages[passage], 0.0
        norm = 1.2 * (0.25 + 0.75 * sum(counts.values()) / self.average)
        for word, times in query.items():
            if counts[word]:
                idf = math.log(1 + (len(self.passages) - self.df[word] + 0.5) / (self.df[word] + 0.5))
                total += times * idf * counts[word] * 2.2 / (counts[word] + norm)
        return total


async def lexemes(connection: Any, sql: str, *arguments: Any) -> dict[str, Counter[str]]:
    rows = await connection.fetch(sql, *arguments)
    found: dict[str, Counter[str]] = {}
    for row in rows:
        found.setdefault(str(row["id"]), Counter())[row["lexeme"]] += row["times"]
    return found


async def reference(services: Services, collection: str = "test") -> Okapi:
    async with services.database.transaction(services.principal) as connection:
        return Okapi(
            await lexemes(
                connection,
                "SELECT p.id, w.lexeme, cardinality(w.positions) AS times FROM rag.passages p "
                "JOIN rag.collections c ON c.id = p.collection_id, unnest(p.search_vector) w WHERE c.name = $1",
                collection,
            )
        )


async def query_lexemes(services: Services, query: str) -> Counter[str]:
    async with services.database.transaction(services.principal) as connection:
        sql = "SELECT 'q' AS id, lexeme, cardinality(positions) AS times FROM unnest(to_tsvector('english', $1))"
        return (await lexemes(connection, sql, query))["q"]


async def assert_statistics_exact(services: Services, collection: str = "test") -> None:
    """Stored df, N and lengths equal a recount; nothing is left of what was removed."""
    async with services.database.transaction(services.principal) as connection:
        found = await connection.fetchrow("SELECT id FROM rag.collections WHERE name = $1", collection)
        counted = await connection.fetch(
            "SELECT key, count(*) AS df FROM rag.lexical_index, unnest(keys) key WHERE collection_id = $1 GROUP BY 1",
            found["id"],
        )
        stored = await connection.fetch(
            "SELECT key, document_frequency FROM rag.lexical_terms WHERE collection_id = $1", found["id"]
        )
        assert {r["key"]: r["df"] for r in counted} == {r["key"]: r["document_frequency"] for r in stored}
        totals = await connection.fetch(
            "SELECT regconfig, count(*) AS n, sum(rag.lexical_length(search_vector)) AS length "
            "FROM rag.passages WHERE collection_id = $1 GROUP BY 1",
            found["id"],
        )
        kept = await connection.fetch(
            "SELECT regconfig, passage_count, total_length FROM rag.lexical_stats WHERE collection_id = $1",
            found["id"],
        )
        assert {tuple(r) for r in totals} == {tuple(r) for r in kept}
        counts = await connection.fetchrow(
            "SELECT (SELECT count(*) FROM rag.documents WHERE collection_id = c.id AND status = 'indexed') = document_count "
            "AND (SELECT coalesce(sum(byte_size), 0) FROM rag.documents WHERE collection_id = c.id AND status = 'indexed') "
            "= byte_count "
            "AND (SELECT count(*) FROM rag.passages WHERE collection_id = c.id) = passage_count "
            "AND (SELECT count(*) FROM rag.chunks WHERE collection_id = c.id) = chunk_count FROM rag.collections c WHERE id = $1",
            found["id"],
        )
        assert counts[0]


async def test_scores_equal_reference_right_after_weighting(services: Services) -> None:
    """True BM25; relative error below 1e-5, the same order, and repeated query words count as often."""
    assert await index_passages(services, make_texts(80)) > 150
    collection = await get_collection(services, "test")
    async with services.database.transaction(services.principal) as connection:
        await lexical.reweight(connection, services.principal, collection.id, "english")
    okapi = await reference(services)
    for query in (
        "granite summit",
        "cairn cairn cairn path",
        "weathered climbers and rope",
        "flint chalk slate trail river",
    ):
        expected = {
            passage: score
            for passage in okapi.passages
            if (score := okapi.score(passage, await query_lexemes(services, query))) > 0
        }
        result = await find(services, query, legs=("lexical",), top_k=100)
        assert len(result.passages) == min(100, len(expected))
        hits = {str(i): s for i, s in zip(result.legs[0].passage_ids, result.legs[0].scores, strict=True)}
        assert len(hits) == len(expected)
        for passage, score in hits.items():
            assert score == pytest.approx(expected[passage], rel=1e-5)


async def test_words_of_one_language_weigh_as_beside_another_that_holds_nothing(services: Services) -> None:
    """A collection of one language has a plan of its own, which must reckon as the one for several does."""
    await index_passages(services, make_texts(60))
    collection = await get_collection(services, "test")
    owner, tenant = await asyncpg.connect(services.owner_dsn), services.principal.tenant_id
    asked = "The cairn, the cairns and obsidian beside unheard rivers"

    async def weighed() -> list[float]:
        row = await owner.fetchrow("SELECT * FROM rag.lexical_question($1, $2, $3)", tenant, collection.id, asked)
        mass = json.loads(row["masses"])["english"]
        return [*row["terms"], *row["frequencies"], *row["idfs"], *row["bounds"], mass]

    try:
        async with owner.transaction():
            await owner.execute("SELECT set_config('app.tenant', $1, true)", str(tenant))
            await owner.execute("SET LOCAL ROLE cairn_definer")
            alone = await weighed()
            await owner.execute(
                "INSERT INTO rag.lexical_stats SELECT tenant_id, collection_id, 'simple', 0, 0, 1 FROM rag.lexical_stats"
            )
            assert len(alone) == 4 * 3 + 1
            assert await weighed() == pytest.approx(alone, rel=1e-9)
    finally:
        await owner.close()


@pytest.mark.siege
async def test_two_passes_give_the_same_list_as_the_full_scan(services: Services) -> None:
    """Rank-safe pruning: with the smallest budget the list and its scores are those of a scan of all candidates."""
    assert await index_passages(services, make_texts(200, seed=3)) > 300
    collection = await get_collection(services, "test")
    small = LexicalSettings(candidate_budget=100, candidate_cap=1_000_000)
    full = LexicalSettings(candidate_budget=1_000_000, candidate_cap=1_000_000)
    async with services.database.transaction(services.principal) as connection:
        for query in (
            "granite summit ridge",
            "cairn",
            "river bridge forest trail anchor rope",
            "mica gneiss path marker",
        ):
            pruned = await lexical.search(connection, [collection.id], query, 10, small, None)
            scanned = await lexical.search(connection, [collection.id], query, 10, full, None)
            assert pruned.exact
            assert pruned.hits == scanned.hits


async def test_passages_that_cannot_win_do_not_change_the_list(services: Services) -> None:
    """Words of all frequencies, as in real text: the second pass drops passages without the words that they would need."""
    chance = random.Random(11)
    words = [
        f"{first}{second}" for first in ("gra", "bal", "mos", "fel", "kor") for second in ("nit", "sem", "rok", "lud")
    ]
    shares = [1 / (place + 1) for place in range(len(words))]
    texts = {f"d{i}": " ".join(chance.choices(words, shares, k=chance.randint(5, 40))) for i in range(300)}
    assert await index_passages(services, texts) > 250
    collection = await get_collection(services, "test")
    small = LexicalSettings(candidate_budget=100, candidate_cap=1_000_000)
    full = LexicalSettings(candidate_budget=1_000_000, candidate_cap=1_000_000)
    async with services.database.transaction(services.principal) as connection:
        for number in range(40):
            query, k = " ".join(chance.sample(words, chance.randint(2, 7))), (3, 10, 50)[number % 3]
            pruned = await lexical.search(connection, [collection.id], query, k, small, None)
            scanned = await lexical.search(connection, [collection.id], query, k, full, None)
            assert pruned.exact
            assert pruned.hits == scanned.hits, query
            assert pruned.confidence == scanned.confidence > 0


async def test_capped_candidates_are_reported(services: Services) -> None:
    """A list that may miss a passage says so."""
    texts = {f"d{i}": "common words everywhere " * 8 + ("rare" if i == 5 else "") for i in range(300)}
    assert await index_passages(services, texts) > 250
    collection = await get_collection(services, "test")
    capped = LexicalSettings(candidate_budget=100, candidate_cap=200)
    async with services.database.transaction(services.principal) as connection:
        result = await lexical.search(connection, [collection.id], "rare common words", 10, capped, None)
        assert not result.exact
        assert result.hits
        # of a collection of a million, 4.5 times as many may be scored
        await connection.execute("RESET ROLE")
        await connection.execute("UPDATE rag.collections SET passage_count = 1000000 WHERE id = $1", collection.id)
        assert (await lexical.search(connection, [collection.id], "rare common words", 10, capped, None)).exact


async def test_statistics_exact_after_any_mix_of_writes(services: Services) -> None:
    """Inserts, replacements and deletions, one after the other."""
    texts = make_texts(30)
    outcomes = await index_texts(services, texts)
    await assert_statistics_exact(services)
    await index_texts(services, {name: text + " replaced obsidian" for name, text in list(texts.items())[:10]})
    await assert_statistics_exact(services)
    for outcome in outcomes[5:15]:
        await delete_document(services, "test", outcome.document_id)  # type: ignore[union-attr]
    await assert_statistics_exact(services)


@pytest.mark.siege
async def test_concurrent_writers_neither_deadlock_nor_drift(services: Services) -> None:
    """Statistics change by one net delta under the collection's lock: eight writers replace and delete at once."""
    await index_texts(services, make_texts(16))
    chance = random.Random(11)

    async def writer(number: int) -> None:
        for turn in range(3):
            name = f"d{chance.randrange(16)}"
            text = " ".join(chance.choices(WORDS, k=60)) + f" {number} {turn}"
            outcome = (await index_now(services, "test", [text_source(name, text)]))[0]
            if turn == 2:
                with suppress(NotFoundError):  # another writer deleted it first
                    await delete_document(services, "test", outcome.document_id)  # type: ignore[union-attr]

    await asyncio.gather(*(writer(number) for number in range(8)))
    await assert_statistics_exact(services)


async def test_weights_follow_the_average_length(services: Services) -> None:
    """Stored weights freeze avgdl; a drift above the setting renews them, and scores equal the reference again."""
    await index_texts(services, {f"s{i}": f"short granite {i}" for i in range(20)})
    await index_texts(services, {f"l{i}": "granite " + " ".join(WORDS * 3) + f" {i}" for i in range(20)})
    settings = services.settings.current
    collection = await get_collection(services, "test")
    assert await reweight_if_drifted(services.database, services.principal, collection.id, settings) == 0
    okapi = await reference(services)
    result = await find(services, "granite", legs=("lexical",), top_k=40)
    query = await query_lexemes(services, "granite")
    for passage, score in zip(result.legs[0].passage_ids, result.legs[0].scores, strict=True):
        assert score == pytest.approx(okapi.score(str(passage), query), rel=0.05)
