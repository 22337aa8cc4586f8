"""The page in a browser: how long until something is seen, and what pages that are only open cost the API.

Goals: the first paint under 2 s on loopback; 50 open pages leave the latency of a request as it was, and the server idle.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import httpx2
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.benchmarks.conftest import Serving
from tests.benchmarks.timing import ROUNDS, SECONDS, percentile, processor_seconds, record, resident_mb
from tests.surface.browser.conftest import CHROMIUM, FLAGS

PAGES = 50
_PAINTED = """() => new Promise(resolve => {
  const look = () => {
    const seen = performance.getEntriesByName('first-contentful-paint')[0];
    seen ? resolve(seen.startTime) : setTimeout(look, 10);
  };
  look();
})"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: apt install chromium, or set CAIRN_CHROMIUM")
    with sync_playwright() as playwright:
        flags = [*FLAGS, "--renderer-process-limit=1"]  # fifty processes would be measured otherwise
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


def test_first_paint_and_open_pages(
    dsn: str, serve: Callable[..., AbstractContextManager[Serving]], chromium: Browser
) -> None:
    with serve(dsn) as serving, httpx2.Client(base_url=f"http://127.0.0.1:{serving.port}", trust_env=False) as client:
        paints: dict[str, list[float]] = {"first_visit_ms": [], "later_visits_ms": []}
        for _ in range(ROUNDS):
            context = chromium.new_context()
            for name in ("first_visit_ms", "later_visits_ms"):
                paints[name].append(_paint(context.new_page(), serving.port))
            context.close()
        alone = _cost(client, serving.pid)
        memory = resident_mb(serving.pid)
        context = chromium.new_context()
        for _ in range(PAGES):
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{serving.port}/ui/")
            page.get_by_role("textbox", name="Ask your documents").wait_for()
        beside = _cost(client, serving.pid)
        grown = resident_mb(serving.pid) - memory
        context.close()
    result = {
        **{name: round(statistics.median(values)) for name, values in paints.items()},
        "alone": alone, "with_open_pages": beside, "pages": PAGES, "mb_per_page": round(grown / PAGES, 2),
    }  # fmt: skip
    print(f"\nFirst paint {result['first_visit_ms']} ms at the first visit, {result['later_visits_ms']} ms later (goal 2,000); "
          f"{PAGES} open pages: {json.dumps(beside)} against {json.dumps(alone)} without, "
          f"{result['mb_per_page']} MB each")  # fmt: skip
    record("page", result)


def _paint(page: Page, port: int) -> float:
    page.goto(f"http://127.0.0.1:{port}/ui/")
    return float(page.evaluate(_PAINTED))


def _cost(client: httpx2.Client, pid: int) -> dict[str, float]:
    """Processor time of a server that is asked nothing, as a share of one processor, and the latency of requests then."""
    before, began = processor_seconds(pid), time.perf_counter()
    time.sleep(SECONDS)
    idle = (processor_seconds(pid) - before) / (time.perf_counter() - began)
    latencies = []
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        began = time.perf_counter()
        assert client.get("/collections").status_code == 200
        latencies.append(1000 * (time.perf_counter() - began))
    return {
        "idle_percent": round(100 * idle, 2), "p50_ms": round(percentile(latencies, 50), 2),
        "p95_ms": round(percentile(latencies, 95), 2),
    }  # fmt: skip
