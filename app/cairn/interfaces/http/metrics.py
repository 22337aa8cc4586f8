"""Prometheus metrics of one application, in a registry of its own (tests run several in one process)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from cairn.domain.job import QueueState
from cairn.domain.replicas import ReplicasState

disable_created_metrics()  # type: ignore[no-untyped-call]  # twice the series, and nobody asks when a counter began
CONTENT_TYPE = CONTENT_TYPE_LATEST
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counters that requests feed, and gauges that are set when somebody looks."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._count_requests()
        self._look_at_databases()
        self._look_at_models()
        self.settings_failed = self._gauge(
            "cairn_settings_reload_failed", "1 while settings.json is unusable and the old settings are kept."
        )
        self.traces_dropped = self._gauge("cairn_traces_dropped", "Traces lost since the start.")

    def _count_requests(self) -> None:
        # the route's template, never the path: labels must stay few
        self._requests = Counter(
            "cairn_http_requests", "Requests by route template and status.", ["method", "route", "status"],
            registry=self.registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "cairn_http_request_seconds", "Time to the end of the response.", ["method", "route"],
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        self._admission = {
            name: Gauge(f"cairn_admission_{name}", meaning, ["kind"], registry=self.registry)
            for name, meaning in (
                ("running", "Places taken, by kind of work."),
                ("waiting", "Requests in the queue for a place."),
                ("refused", "Requests refused since the start because the queue was full or too slow."),
            )
        }
        self._stages = Histogram(
            "cairn_stage_seconds", "Time per stage of searches and answers.", ["stage"],
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        # looking a series up by its labels costs more than counting
        self._of_status, self._of_route = cache(self._requests.labels), cache(self._seconds.labels)
        self._of_stage = cache(self._stages.labels)
        self.in_flight = self._gauge("cairn_http_in_flight", "Requests being answered.")

    def _look_at_databases(self) -> None:
        self._up = self._gauge("cairn_database_up", "1 when the database answered the question for the queue.")
        self._queue = Gauge("cairn_queue_depth", "Jobs by state, all tenants.", ["state"], registry=self.registry)
        self._tenants_up = Gauge(
            "cairn_tenant_database_up", "1 when it answered; where tenants live in several databases.", ["database"],
            registry=self.registry,
        )  # fmt: skip
        self._tenants_oldest = Gauge(
            "cairn_tenant_database_queue_oldest_seconds", "Age of the oldest job there that could run; 0: none.",
            ["database"], registry=self.registry,
        )  # fmt: skip
        self._recall = Gauge(
            "cairn_vector_recall", "Recall@10 of the vector leg at the last check; the 100 worst collections.",
            ["collection"], registry=self.registry,
        )  # fmt: skip
        self._oldest = self._gauge("cairn_queue_oldest_seconds", "Age of the oldest job that could run; 0: none.")
        self.read_only = self._gauge("cairn_database_read_only", "1 while the database is a standby.")
        self._replicas = {
            name: Gauge(f"cairn_replica_{name}", meaning, ["replica"], registry=self.registry)
            for name, meaning in (
                ("up", "1 while reads may go there."),
                ("lag_bytes", "Write-ahead log of the primary that it has not replayed."),
                ("lag_seconds", "Age of the oldest of that."),
                ("reads", "Reads since the start; `primary`: that a replica might have answered."),
                ("failed_over", "Reads since the start that began there and went on at the primary."),
            )
        }

    def _look_at_models(self) -> None:
        self._circuits = Gauge(
            "cairn_provider_circuit", "Circuit of a model: 0 closed, 1 half open, 2 open.", ["model"],
            registry=self.registry,
        )  # fmt: skip
        self._model_tokens = Gauge(
            "cairn_model_tokens", "Tokens that models of providers read and wrote since the start.", ["model"],
            registry=self.registry,
        )  # fmt: skip
        self.tokenizer_fallback = self._gauge("cairn_tokenizer_fallback", "1 while token counts are estimates.")

    def _gauge(self, name: str, meaning: str) -> Gauge:
        return Gauge(name, meaning, registry=self.registry)

    def request(self, method: str, route: str, status: str, seconds: float) -> None:
        """One request is over; `status` is a number, or `cancelled` where the client left before an answer."""
        method = method if method in _METHODS else "other"
        self._of_status(method, route, status).inc()
        self._of_route(method, route).observe(seconds)

    def admission(self, kind: str, running: int, waiting: int, refused: int) -> None:
        for name, value in (("running", running), ("waiting", waiting), ("refused", refused)):
            self._admission[name].labels(kind).set(value)

    def stages(self, timings_ms: Mapping[str, float]) -> None:
        for stage, milliseconds in timings_ms.items():
            self._of_stage(stage).observe(milliseconds / 1000)

    def queue(self, state: QueueState | None) -> None:
        """None: the database did not answer."""
        self._up.set(state is not None)
        if state is not None:
            for name in ("queued", "running", "runnable"):
                self._queue.labels(name).set(getattr(state, name))
            self._oldest.set(state.oldest_runnable_seconds or 0)

    def tenant_databases(self, states: Mapping[str, QueueState | None]) -> None:
        """By name of the database; None: it did not answer. Nothing where there is one."""
        self._tenants_oldest.clear()
        for database, state in states.items():
            self._tenants_up.labels(database).set(state is not None)
            if state is not None:
                self._tenants_oldest.labels(database).set(state.oldest_runnable_seconds or 0)

    def recall(self, found: Mapping[str, float]) -> None:
        """By name of the collection."""
        self._recall.clear()
        for collection, share in found.items():
            self._recall.labels(collection).set(share)

    def circuits(self, states: Mapping[str, str]) -> None:
        """By name of the model."""
        self._circuits.clear()
        for model, state in states.items():
            self._circuits.labels(model).set({"closed": 0, "half_open": 1, "open": 2}[state])

    def model_tokens(self, used: Mapping[str, int]) -> None:
        """By name of the model."""
        for model, tokens in used.items():
            self._model_tokens.labels(model).set(tokens)

    def replicas(self, state: ReplicasState) -> None:
        """Nothing where there are none."""
        for gauge in self._replicas.values():
            gauge.clear()
        for one in state.replicas:
            values = {"up": one.problem is None, "reads": one.reads, "failed_over": one.failed_over}
            lag = {"lag_bytes": one.lag_bytes, "lag_seconds": one.lag_seconds}
            for name, value in {**values, **lag}.items():
                if value is not None:
                    self._replicas[name].labels(one.name).set(value)
        if state.replicas:
            self._replicas["reads"].labels("primary").set(state.primary_reads)

    def text(self) -> bytes:
        return generate_latest(self.registry)
