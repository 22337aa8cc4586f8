"""Traces by OpenTelemetry, sent where `OTEL_EXPORTER_OTLP_ENDPOINT` says by the SDK of the extra `otel`; else there are none.

FastAPI makes a span of each request, child of what `traceparent` names; cairn/telemetry.py those of what happens within. The SDK
reads its own variables: OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS and so on.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import structlog

from cairn import telemetry
from cairn.distribution import install_command
from cairn.domain.secrets import strike_secrets

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig
    from opentelemetry.sdk.trace import TracerProvider

log = structlog.get_logger(__name__)

FLUSH_SECONDS: Final = 1.5
"""For the last spans when the process ends; a collector that is away does not hold it up."""
_UNTRACED: Final = ("/health/", "/metrics")


def _is_untraced(scope: MutableMapping[str, Any]) -> bool:
    return str(scope.get("path", "")).startswith(_UNTRACED)


OF_REQUESTS: Final[TelemetryConfig] = {
    "logs": False, "metrics": False, "operation_spans": False, "auto_configure": False, "exclude": _is_untraced,
}  # fmt: skip
"""What FastAPI is to trace by itself: requests and sockets, but for probes. Logs and metrics are ours."""


@asynccontextmanager
async def traced() -> AsyncIterator[None]:
    """While the process works. A tracer provider that was set before (opentelemetry-instrument) is used as it is."""
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if not endpoint or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield
        return
    try:
        provider = _provider()
    except ImportError:
        log.warning("tracing.off", problem="OpenTelemetry's SDK is not installed", hint=install_command("otel"))
        yield
        return
    telemetry.switch_on(provider.get_tracer("cairn"))
    log.info("tracing.on", collector=urlsplit(endpoint).hostname or endpoint)
    try:
        yield
    finally:
        telemetry.switch_off()
        # a thread that nobody waits for: the exporter may be in the middle of trying again
        last = threading.Thread(target=provider.force_flush, args=(int(FLUSH_SECONDS * 1000),), daemon=True)
        last.start()
        await asyncio.to_thread(last.join, FLUSH_SECONDS)
        if last.is_alive():
            log.warning("tracing.not_flushed", seconds=FLUSH_SECONDS)


def _provider() -> TracerProvider:
    """Of the process: there can be one. Raises ImportError."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    class Discretion(SpanProcessor):
        """Queries of addresses have what users look for, and paths may have what they should not."""

        def on_start(self, span: Span, parent_context: Any = None) -> None:
            for name, value in dict(span.attributes or {}).items():
                if name == "url.query":
                    span.set_attribute(name, "REDACTED")
                elif isinstance(value, str):
                    span.set_attribute(name, strike_secrets(value[:300] if name == "url.path" else value))

        def on_end(self, span: ReadableSpan) -> None: ...

    known = trace.get_tracer_provider()
    if isinstance(known, TracerProvider):
        return known
    name = os.environ.get("OTEL_SERVICE_NAME") or "cairn"
    provider = TracerProvider(resource=Resource.create({"service.name": name}), shutdown_on_exit=False)
    provider.add_span_processor(Discretion())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider
