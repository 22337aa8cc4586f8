"""Providers, jobs, runs, traces and the API."""

from __future__ import annotations

from pydantic import Field

from app.settings.section import Section


class ProviderSettings(Section):
    """When calls of a model that keeps failing are not tried any more for a while."""

    circuit_failures: int = Field(5, ge=1, description="Consecutive failed calls that open the circuit of a model.")
    circuit_seconds: float = Field(20, gt=0, description="So long it stays open; then one call tries again, seconds.")


class JobsSettings(Section):
    lease_seconds: float = Field(30, gt=0, description="A job whose worker is silent this long is taken over.")
    heartbeat_seconds: float = Field(5, gt=0, description="How often a worker renews its lease.")
    poll_seconds: float = Field(1, gt=0, description="How often an idle worker looks for work.")
    max_attempts: int = Field(3, ge=1, description="A job claimed this often without finishing is parked.")
    retry_seconds: float = Field(5, ge=0, description="Base of the exponential backoff between attempts.")
    retention_days: int = Field(
        30, ge=1, description="Jobs that ended longer ago are deleted, with the files that parked and failed ones keep."
    )


class RunSettings(Section):
    """Resumable runs: those that go on without their client."""

    lease_seconds: float = Field(
        15, ge=3, description="A resumable run whose process is silent this long counts as failed, seconds."
    )
    retention_days: int = Field(
        7, ge=1, description="Resumable runs that began longer ago are deleted with their events."
    )


class TraceSettings(Section):
    enabled: bool = Field(True, description="Write a trace of each run.")
    sample_rate: float = Field(
        1.0, ge=0, le=1, description="Share of successful runs whose candidates are kept; failed and degraded keep all."
    )
    retention_days: int = Field(30, ge=1, description="Traces older than this are dropped.")
    queue_size: int = Field(1000, ge=1, description="Traces waiting to be written; more are counted as dropped.")


class ApiSettings(Section):
    max_body_bytes: int = Field(64_000_000, ge=1000, description="Largest request body, bytes (413 above).")
    max_query_chars: int = Field(20_000, ge=10, description="Longest query or question, code points.")
    allowed_hosts: tuple[str, ...] = Field(
        ("localhost", "127.0.0.1", "[::1]", "testserver"), description="Host headers answered while open."
    )
    ping_seconds: float = Field(
        15, gt=0, le=300, description="After so long a silence a stream sends a comment, so that proxies keep it open."
    )
