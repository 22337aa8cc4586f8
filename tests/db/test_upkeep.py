"""What the daily upkeep deletes is as old as the settings say; what is younger stays."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg
import pytest

from cairn.service.operation import do_upkeep
from cairn.settings import ApiSettings, JobsSettings, RunSettings, Settings, TraceSettings
from cairn.wiring import Services

AGED = (
    "INSERT INTO rag.jobs (tenant_id, id, kind, status, finished_at) "
    "SELECT $1, gen_random_uuid(), n, 'succeeded', now() - make_interval(days => n) FROM unnest($2::int[]) n",
    "INSERT INTO rag.resumable_runs (tenant_id, id, surface, owner, status, lease_until, started_at) "
    "SELECT $1, gen_random_uuid(), n, gen_random_uuid(), 'ok', now(), now() - make_interval(days => n) FROM unnest($2::int[]) n",
    "INSERT INTO rag.idempotency_keys (tenant_id, caller, key, fingerprint, status, body, claim, claimed_until, created_at) "
    "SELECT $1, '', n, '', 200, '', gen_random_uuid(), now(), now() - make_interval(hours => n) FROM unnest($2::int[]) n",
    "SELECT rag.add_partition('rag.runs', (now() AT TIME ZONE 'UTC')::date - n), $1::int FROM unnest($2::int[]) n",
)
LEFT = (
    "SELECT kind FROM rag.jobs WHERE status = 'succeeded'",
    "SELECT surface FROM rag.resumable_runs",
    "SELECT key FROM rag.idempotency_keys",
    "SELECT (now() AT TIME ZONE 'UTC')::date - to_date(substring(relname FROM '\\d{8}$'), 'YYYYMMDD') FROM pg_class "
    "WHERE relname ~ '^runs_\\d{8}$' AND relkind = 'r'",
)


@pytest.mark.parametrize("kept", [(3, 4, 5, 6), (12, 9, 8, 7)])
async def test_each_kind_of_record_is_kept_as_long_as_its_setting_says(services: Services, kept: Sequence[int]) -> None:
    """Days of jobs, runs and traces, hours of idempotency keys."""
    jobs, runs, traces, hours = kept
    services.settings.current = Settings(
        jobs=JobsSettings(retention_days=jobs), runs=RunSettings(retention_days=runs),
        trace=TraceSettings(retention_days=traces), api=ApiSettings(idempotency_hours=hours),
    )  # fmt: skip
    owner = await asyncpg.connect(services.owner_dsn)
    for statement in AGED:
        await owner.execute(statement, services.principal.tenant_id, list(range(1, 20)))
    await do_upkeep(services)
    left = [max(int(row[0]) for row in await owner.fetch(statement)) for statement in LEFT]
    await owner.close()
    assert left == [jobs - 1, runs - 1, hours - 1, traces]
