"""Traces by OpenTelemetry, received by a collector that speaks OTLP over real HTTP; off, nothing."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from serving import Api, serving

from cairn import telemetry
from tests.waiting import wait_until

pytest.importorskip("opentelemetry.sdk", reason="the extra `otel` is not installed: traces are not tested")

TRACE = "0af7651916cd43dd8448eb211c80319c"
SECRET_WORDS = "obsidian"


class Collector:
    """`spans` has everything that arrived."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.services: set[str] = set()
        self.raw = b""
        collector = self

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self) -> None:

                from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

                body = self.rfile.read(int(self.headers["content-length"]))
                body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
                collector.raw += body
                sent = ExportTraceServiceRequest.FromString(body)
                for group in sent.resource_spans:
                    named = {one.key: one.value.string_value for one in group.resource.attributes}
                    collector.services.add(named["service.name"])
                    collector.spans += [span for scope in group.scope_spans for span in scope.spans]
                self.send_response(200 if self.path == "/v1/traces" else 404)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


@pytest.fixture(scope="module")
def api(
    fresh_database: Callable[[], str], model: Path, tmp_path_factory: pytest.TempPathFactory, collector: Collector
) -> Iterator[Api]:
    told = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "OTEL_SERVICE_NAME": "our-cairn",
    }
    folder = tmp_path_factory.mktemp("traced")
    with serving(fresh_database(), folder, CAIRN_MODEL_DIR=str(model), **told) as served:
        served.index("stones", basalt="Basalt is a dark rock of lava.", glass="Obsidian is a glass of lava.")
        yield served


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def test_a_request_is_one_trace_from_its_caller_to_the_statements(api: Api, collector: Collector) -> None:
    parent = f"00-{TRACE}-b7ad6b7169203331-01"
    body = {"collection": "stones", "question": f"What is {SECRET_WORDS}?"}
    answer = api.client.post("/query", json=body, headers={"traceparent": parent}).json()
    wait_until(lambda: collector.named("POST /query"))

    [request] = collector.named("POST /query")
    assert request.trace_id.hex() == TRACE
    assert request.parent_span_id.hex() == "b7ad6b7169203331"
    assert attributes(request)["http.response.status_code"] == 200
    assert collector.services == {"our-cairn"}

    wait_until(lambda: collector.named("run"))
    of_trace = [span for span in collector.spans if span.trace_id.hex() == TRACE]
    ids = {span.span_id: span for span in of_trace}

    def path(span: Any) -> list[str]:
        return [*(path(ids[span.parent_span_id]) if span.parent_span_id in ids else []), span.name]

    paths = {" > ".join(path(span)) for span in of_trace}
    assert "POST /query > run > understand" in paths
    assert "POST /query > run > strategy fast > search > search.vector" in paths
    assert "POST /query > run > strategy fast > search > search.lexical" in paths
    statements = [span for span in of_trace if span.name.startswith("sql ")]
    assert statements
    assert all("db.query.text" in attributes(span) for span in statements)
    [run] = [span for span in of_trace if span.name == "run"]
    told = attributes(run)
    assert (told["cairn.run_id"], told["cairn.strategy"], told["cairn.answered"]) == (
        answer["run_id"], "fast", answer["answered"]
    )  # fmt: skip
    assert f'"otel_trace": "{TRACE}"' in api.log


def test_spans_have_no_words_of_questions_documents_or_errors(api: Api, collector: Collector) -> None:
    before = len(collector.named("GET /graph/entities"))
    api.client.get("/graph/entities", params={"q": SECRET_WORDS, "collection": "stones"})
    api.client.post("/search", json={"collection": "nowhere", "query": SECRET_WORDS})
    wait_until(lambda: len(collector.named("GET /graph/entities")) > before and collector.named("POST /search"))
    assert attributes(collector.named("GET /graph/entities")[-1])["url.query"] == "REDACTED"
    assert SECRET_WORDS.encode() not in collector.raw.lower()


def test_spans_have_no_keys_wherever_they_were_sent(api: Api, collector: Collector) -> None:
    key, before = "sk-proj-" + "A1b2" * 10, len(collector.named("POST /query"))
    headers = {"User-Agent": f"client {key}"}
    api.client.post("/query", json={"collection": "stones", "question": f"What is {key}?"}, headers=headers)
    api.client.get(f"/collections/{key}", headers=headers)
    wait_until(lambda: len(collector.named("POST /query")) > before and collector.named("GET /collections/{name}"))
    assert b"A1b2" not in collector.raw
    assert "A1b2" not in api.log


def test_probes_are_not_traced_and_jobs_are(api: Api, collector: Collector) -> None:
    api.client.get("/health/ready")
    api.client.get("/metrics")
    files = {"files": ("a.txt", b"Granite is a coarse rock.")}
    answer = api.client.post("/collections/stones/documents", files=files)
    assert answer.status_code == 202, answer.text
    wait_until(lambda: any(span.name.startswith("job ") for span in collector.spans))
    [job] = [span for span in collector.spans if span.name.startswith("job ")]
    assert attributes(job)["cairn.outcome"] == "succeeded"
    assert not job.parent_span_id
    assert not [span for span in collector.spans if "health" in span.name or "metrics" in span.name]
    assert not [span for span in collector.spans if span.name.startswith("sql ") and not span.parent_span_id]


@pytest.mark.siege
def test_a_dead_collector_disturbs_nobody_and_the_end_sends_what_is_left(
    database: str, model: Path, tmp_path: Path, collector: Collector
) -> None:
    told = {"CAIRN_MODEL_DIR": str(model), "OTEL_BSP_SCHEDULE_DELAY": "600000"}
    with serving(database, tmp_path / "dead", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", **told) as dead:
        assert dead.client.get("/collections").status_code == 200
        dead.terminate()
        assert dead.process.returncode == 0
    ends = [line for line in dead.log.splitlines() if '"serving.sto' in line]
    assert len(ends) == 2, "it says when it is asked to stop, and when it has stopped"
    before = len(collector.spans)
    with serving(database, tmp_path / "late", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **told) as late:
        assert late.client.get("/collections").status_code == 200
        assert len(collector.spans) == before
        late.terminate()
    assert "GET /collections" in {span.name for span in collector.spans[before:]}


def test_off_it_makes_nothing() -> None:
    """One object stands for all spans. That nothing of it is imported says `test_cli.py`."""
    assert not telemetry.is_on()
    with telemetry.span("x") as one, telemetry.span("y", {"of": 1}) as other:
        assert one is other
