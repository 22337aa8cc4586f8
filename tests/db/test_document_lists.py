"""Lists of documents read no more than a page where the index has the order."""

from __future__ import annotations

import json
from typing import Any

from cairn.service.documents import ensure_collection
from cairn.store.documents import PAGE
from cairn.wiring import Services

MANY = 3000


async def test_a_page_in_the_usual_order_is_read_from_the_index(services: Services) -> None:
    collection = await ensure_collection(services, "big")
    tenant = services.principal.tenant_id
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.documents (tenant_id, id, collection_id, external_id, title, version, status, content_hash,"
            " media_type) SELECT $1, gen_random_uuid(), $2, 'd-' || lpad(i::text, 6, '0'), 'D', 1, 'indexed', '', 'text/plain'"
            f" FROM generate_series(1, {MANY}) i",
            tenant, collection.id,
        )  # fmt: skip
        await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await connection.execute(
            "PREPARE page (bigint, uuid, uuid[], text[], text, text[], text, jsonb, timestamptz, text, text[], bigint, text) AS "
            + PAGE
        )
        explained = await connection.fetchval(
            "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE page"
            f" ({tenant}, '{collection.id}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 50, 'd-001000')"
        )
    plan = (json.loads(explained) if isinstance(explained, str) else explained)[0]["Plan"]
    read = [node["Actual Rows"] for node in _nodes(plan) if node.get("Relation Name") == "documents"]
    assert max(read) <= 51, plan


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", ()) for node in _nodes(child))]
