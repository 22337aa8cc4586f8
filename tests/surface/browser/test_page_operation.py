"""The room of quality and operation: what a reload refused, a key made and revoked, evaluation runs compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import structlog
from playwright.sync_api import Page, expect
from serving import Api

from cairn.interfaces.cli.main import run
from tests.waiting import patience

Shoot = Callable[[Page, str], None]


@pytest.mark.siege
def test_health_and_what_a_reload_refused(api: Api, tab: Page, shoot: Shoot) -> None:
    tab.goto(f"{api.url}/ui/operation")
    headings = tab.get_by_role("heading", level=2)
    expect(headings).to_have_text(["Chat model", "Database", "Worker", "Disk", "Stored"])
    expect(tab.get_by_text("None is set up: answers are quotations.")).to_be_visible()
    expect(tab.get_by_text(re.compile("^Answers in [0-9]+ ms"))).to_be_visible()
    expect(tab.get_by_text("Works in this process. 0 waiting, 0 running.")).to_be_visible()
    expect(
        tab.get_by_text(re.compile("^The database has .*MB; how much is free, its own server knows"))
    ).to_be_visible()
    shoot(tab, "operation")
    before, revision = api.settings_file.read_text(), _settings_of(api)["revision"]
    api.write_settings(json.dumps({**json.loads(before), "retrieve": {"rrfK": 61}}))
    api.await_until(lambda: _settings_of(api)["revision"] != revision)
    api.write_settings(json.dumps({"cache": {"capacity": "many"}}))
    api.await_until(lambda: _settings_of(api)["problem"])
    tab.get_by_role("tab", name="Settings").click()
    expect(tab.get_by_role("alert")).to_contain_text("cache.capacity")
    rows = tab.get_by_role("listitem")
    expect(rows).to_have_count(1)  # what was changed
    for said in ("retrieve.rrfK", "61", "changed", "Default: 60"):
        expect(rows).to_contain_text(said)
    tab.get_by_role("switch").click()
    expect(rows.nth(100)).to_be_visible()
    tab.get_by_label("Name or sentence contains").fill("arithmetic of the local")
    expect(rows.filter(has_text="vector.precision")).to_contain_text("Default: int8 · A change needs a restart")
    expect(rows).to_have_count(1)
    shoot(tab, "operation-settings")
    api.write_settings(before)
    tab.set_viewport_size({"width": 400, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400, "nothing has to be scrolled sideways"
    shoot(tab, "operation-narrow")


def _settings_of(api: Api) -> dict[str, Any]:
    found: dict[str, Any] = api.client.get("/health/ready").json()["settings"]
    return found


def test_a_key_is_made_and_revoked_and_the_audit_tells(api: Api, tab: Page, shoot: Shoot) -> None:
    tab.goto(f"{api.url}/ui/operation?part=keys")
    tab.get_by_label("Name of the key").fill("reader of the page")
    tab.get_by_role("button", name="Create").click()
    secret = tab.locator("[data-secret]")
    expect(secret).to_be_visible()
    assert len(secret.inner_text()) > 20
    tab.get_by_role("button", name="Dismiss").click()
    key = tab.get_by_role("listitem").filter(has_text="reader of the page")
    expect(key).to_contain_text("ask, read")
    shoot(tab, "operation-keys")
    key.get_by_label("Revoke").click()
    tab.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(key).to_contain_text("revoked")
    tab.get_by_role("tab", name="Audit").click()
    expect(tab.get_by_role("listitem").filter(has_text="key.revoke").first).to_be_visible()


@pytest.mark.siege
def test_models_and_cache_are_changed_and_the_audit_tells(api: Api, tab: Page) -> None:
    api.index("handbook", leave="Employees have 30 days of leave per year.")
    tab.goto(f"{api.url}/ui/operation?part=models")
    expect(tab.get_by_text("384 dimensions")).to_be_visible()
    expect(tab.get_by_text("pieces · every one compared")).to_be_visible()
    tab.get_by_role("button", name="Reindex ").first.click()
    tab.get_by_role("dialog").get_by_role("button", name="Reindex").click()
    expect(tab.get_by_text("Begun: see the jobs")).to_be_visible()
    assert api.client.get("/jobs").json()["items"][0]["kind"] == "reindex"
    tab.get_by_role("tab", name="Remembered results").click()
    tab.get_by_role("button", name="Forget the results").click()
    tab.get_by_role("dialog").get_by_role("button", name="Forget the results").click()
    expect(tab.get_by_text("Removed: 0")).to_be_visible(timeout=patience(5) * 1000)
    tab.get_by_role("tab", name="Audit").click()
    expect(tab.get_by_role("listitem").filter(has_text="cache.clear").first).to_be_visible()


def _evaluate(folder: Path) -> None:
    """By words and by vectors, as `cairn eval` does; in a thread, since Playwright keeps an event loop in this one."""
    folder.mkdir()
    texts = {
        "rope": "Wash ropes in cold water without soap.",
        "tent": "Pitch the tent with its narrow end to the wind.",
    }
    corpus = [{"_id": key, "title": key, "text": text} for key, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "how do I clean a rope"}))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\trope\t1\n")
    with ThreadPoolExecutor(1) as other:
        assert other.submit(run, ["eval", "retrieval", str(folder), "--mode", "all"]).result(patience(60)) == 0
    structlog.reset_defaults()


@pytest.mark.siege
def test_evaluations_are_compared(
    api: Api, tab: Page, shoot: Shoot, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_DATABASE_URL", api.dsn)
    monkeypatch.setenv("CAIRN_HOME", str(api.folder))
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(model))
    monkeypatch.chdir(tmp_path)
    tab.goto(f"{api.url}/ui/operation?part=quality")
    expect(tab.get_by_text("No evaluations yet")).to_be_visible()
    _evaluate(tmp_path / "ropes")
    tab.reload()
    boxes = tab.get_by_role("listitem").get_by_role("checkbox")
    expect(boxes.first).to_be_visible()
    assert boxes.count() > 1
    boxes.last.click()
    expect(tab.get_by_text("better,").first).to_be_visible()
    expect(tab.locator("canvas")).to_be_visible()
    shoot(tab, "operation-quality")


@pytest.mark.siege
def test_answers_are_counted_by_day(api: Api, tab: Page, shoot: Shoot) -> None:
    """Refusals, what was not sure, failures and thumbs, as the database has them."""
    api.index("handbook", leave="Employees have 30 days of leave per year.")
    for question in ("How many days of leave do employees have?", "Who is the king of Norway?", "thanks!"):
        asked = api.client.post("/query", json={"question": question, "collection": "handbook"}).json()
        rating = {"run_id": asked["run_id"], "rating": 1 if "leave" in question else -1}
        assert api.client.post("/feedback", json=rating).status_code < 300
    tab.goto(f"{api.url}/ui/operation?part=quality")
    expect(tab.get_by_role("heading", name="Answers of the last 30 days")).to_be_visible()
    cells = tab.locator("table.days tbody tr").first.locator("td")
    expect(cells).to_have_text([re.compile(r"^20\d\d-\d\d-\d\d$"), "3", "0", "1", "0", "1", "2"])
    expect(tab.get_by_role("img", name="Answers by day as bars")).to_be_visible()
    shoot(tab, "operation-days")
