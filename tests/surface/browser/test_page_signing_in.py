"""The page where callers need keys, and answers of a model as they are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from keyed import Keys, bearer, make_keys
from playwright.sync_api import Page, expect
from scripted_replies import Reply
from scripted_server import ScriptedServer
from serving import Api, serving

from tests.waiting import patience

Shoot = Callable[[Page, str], None]

SAID = "A cairn is a pile of stones [1]."
LONG = f"{SAID} " + " ".join(f"Stone {number} lies upon stone {number + 1}." for number in range(150))
"""Three minutes, and no sentence twice: a reply that repeats itself is stopped."""


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=lambda _: SAID) as running:
        yield running


@pytest.fixture(scope="module")
def place(fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Keys]:
    """A database, and keys of it."""
    dsn = fresh_database()
    return dsn, make_keys(dsn, str(tmp_path_factory.mktemp("keys")))


@pytest.fixture(scope="module")
def guarded(
    place: tuple[str, Keys], tmp_path_factory: pytest.TempPathFactory, model: Path, chat: ScriptedServer
) -> Iterator[Api]:
    """A server that asks for keys and has a chat model."""
    own = {"CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
    settings = {"answer": {"silentSeconds": 0.5, "prices": {"gpt-4o-mini": [1000, 2000]}}}
    with serving(place[0], tmp_path_factory.mktemp("guarded"), page=True, settings=settings, **own) as running:
        documents = [
            {"external_id": "cairn.md", "text": f"# Cairn\n\n{SAID.replace(' [1]', '')} It marks a path in the hills."}
        ]
        answer = running.client.post(
            "/index", json={"collection": "stones", "documents": documents}, headers=bearer(place[1].victim)
        )
        assert answer.status_code == 200, answer.text
        yield running


def enter(api: Api, tab: Page, key: str, address: str = "?collection=stones") -> None:
    """With the cookie that signing in leaves."""
    assert tab.context.request.post(f"{api.url}/session", data={"key": key}).ok
    tab.goto(f"{api.url}/ui/{address}")


def ask(tab: Page, question: str = "What is a cairn?") -> None:
    box = tab.get_by_role("textbox", name="Ask your documents")
    expect(box).to_be_editable()
    box.fill(question)
    box.press("Enter")


def test_a_key_opens_the_page_and_signing_out_closes_it(
    guarded: Api, place: tuple[str, Keys], tab: Page, shoot: Shoot
) -> None:
    tab.goto(f"{guarded.url}/ui/?collection=stones")
    key, sign_in = tab.get_by_role("textbox", name="Key"), tab.get_by_role("button", name="Sign in")
    key.fill(place[1].revoked)
    sign_in.click()
    expect(tab.get_by_text("This key is not accepted.")).to_be_visible()
    shoot(tab, "sign-in")
    key.fill(place[1].victim)
    sign_in.click()
    expect(tab).to_have_title("Ask · Cairn")
    assert tab.evaluate("document.cookie") == "", "scripts cannot read the key"
    tab.get_by_role("button", name="Sign out").click()
    expect(tab).to_have_title("Sign in · Cairn")


@pytest.mark.siege
def test_a_key_that_may_only_read_says_so_and_an_open_page_ends_with_its_key(
    guarded: Api, place: tuple[str, Keys], tab: Page
) -> None:
    whole = bearer(place[1].victim)
    made = guarded.client.post("/keys", json={"name": "short", "scopes": ["read"]}, headers=whole).json()
    enter(guarded, tab, made.get("secret") or made["key"])
    expect(tab.get_by_text("Your key may read, not ask.")).to_be_visible()
    expect(tab.get_by_role("textbox", name="Ask your documents")).to_be_disabled()
    assert guarded.client.delete(f"/keys/{made['id']}", headers=whole).status_code == 200
    expect(tab).to_have_title("Sign in · Cairn")


@pytest.mark.siege
def test_an_open_page_reads_with_the_groups_that_its_key_has_now(
    guarded: Api, place: tuple[str, Keys], tab: Page
) -> None:
    whole = bearer(place[1].victim)
    documents = [
        {"external_id": "open.md", "text": "Chalk is soft."},
        {"external_id": "pay.md", "text": "The pay is nine.", "access": ["group:hr"]},
    ]
    index = {"collection": "pay", "documents": documents}
    assert guarded.client.post("/index", json=index, headers=whole).status_code == 200
    made = guarded.client.post(
        "/keys", json={"name": "clerk", "scopes": ["read"], "groups": ["hr"]}, headers=whole
    ).json()
    enter(guarded, tab, made["key"], "documents?collection=pay")
    row, words = tab.get_by_role("listitem").filter(has_text="pay.md"), tab.get_by_label("Name contains")
    expect(row).to_be_visible()
    for groups, typed, count in (([], "p", 0), (["hr"], "pa", 1)):
        changed = guarded.client.patch(f"/keys/{made['id']}", json={"groups": groups}, headers=whole)
        assert changed.status_code == 200
        words.fill(typed)
        expect(row).to_have_count(count)


@pytest.mark.siege
def test_a_key_that_may_not_write_is_offered_no_changes(guarded: Api, place: tuple[str, Keys], tab: Page) -> None:
    enter(guarded, tab, place[1].without["write"], "documents?collection=stones")
    expect(tab.get_by_text("Your key may read documents, not add or delete them.")).to_be_visible()
    row = tab.get_by_role("listitem").filter(has_text="cairn.md")
    expect(row).to_be_visible()
    expect(row.get_by_label("Delete")).to_have_count(0)
    expect(row.get_by_label("Edit title and metadata")).to_have_count(0)
    expect(tab.get_by_label("Choose files")).to_have_count(0)


@pytest.mark.siege
def test_a_key_that_may_not_read_sees_why_there_is_nothing(guarded: Api, place: tuple[str, Keys], tab: Page) -> None:
    enter(guarded, tab, place[1].without["read"])
    expect(tab.get_by_role("alert").first).to_contain_text("read")


def test_an_answer_is_shown_as_it_is_written_and_goes_on_when_the_page_is_loaded_again_or_is_stopped(
    guarded: Api, place: tuple[str, Keys], tab: Page, chat: ScriptedServer, shoot: Shoot
) -> None:
    enter(guarded, tab, place[1].victim)
    chat.streams = Reply("drip", text=LONG)  # longer than all of this
    ask(tab)
    expect(tab.get_by_text("A cairn is", exact=False).last).to_be_visible()
    expect(tab.get_by_role("button", name="Stop")).to_be_visible()
    shoot(tab, "ask-streaming")
    tab.reload()
    expect(tab.get_by_role("button", name="Stop")).to_be_visible()
    chat.released.set()  # what is left of it comes at once
    expect(tab.locator(".answer a").first).to_be_visible(timeout=patience(10) * 1000)
    expect(tab.get_by_role("button", name="Stop")).to_be_hidden()
    expect(tab).not_to_have_url(re.compile("run="))
    chat.released.clear()
    ask(tab, "What is a cairn in the hills?")
    tab.get_by_role("button", name="Stop").click()
    expect(tab.get_by_role("alert")).to_contain_text("Stopped", timeout=patience(10) * 1000)
    chat.streams = None


@pytest.mark.siege
def test_a_silent_model_is_told_and_a_quotation_offered_and_a_failure_is_one_sentence(
    guarded: Api, place: tuple[str, Keys], tab: Page, chat: ScriptedServer, shoot: Shoot
) -> None:
    enter(guarded, tab, place[1].victim)
    chat.streams = Reply("stall")
    ask(tab)
    expect(tab.get_by_role("status")).to_contain_text("The chat model has not answered for")
    shoot(tab, "ask-silent")
    tab.get_by_role("button", name="Quote the sources instead").click()
    sentence = tab.get_by_text("The chat model did not answer in time. This answer is a quotation.")
    expect(sentence).to_be_visible(timeout=patience(10) * 1000)
    expect(tab.locator(".answer a").first).to_be_visible()
    detail = tab.get_by_text("generation failed", exact=False)
    expect(detail).to_be_hidden()
    tab.get_by_role("button", name="Details").click()
    expect(detail).to_be_visible()
    shoot(tab, "ask-model-failed")
    chat.streams = None
    ask(tab, "What does a cairn mark?")
    expect(tab.get_by_text(re.compile(r"gpt-4o-mini · \d+ tokens · \d"))).to_be_visible(timeout=patience(10) * 1000)
    tab.reload()
    expect(sentence).to_be_visible()
    expect(tab.get_by_text(re.compile(r"gpt-4o-mini · \d+ tokens · \d"))).to_be_visible()


@pytest.mark.siege
def test_another_tab_sees_an_answer_come_and_a_link_to_its_run_alone_stops_it(
    guarded: Api, place: tuple[str, Keys], tab: Page, chat: ScriptedServer
) -> None:
    enter(guarded, tab, place[1].victim)
    runs = tab.context.new_page()
    runs.goto(f"{guarded.url}/ui/runs")
    expect(runs.get_by_label("Question contains")).to_be_visible()
    chat.streams = Reply("drip", text=LONG)
    ask(tab, "What is a cairn in the hills?")
    begun = runs.get_by_role("listitem").first
    expect(begun.get_by_text("Running")).to_be_visible(timeout=patience(15) * 1000)
    begun.get_by_role("link").click()
    expect(runs.get_by_role("log")).to_contain_text("%")
    run = re.search(r"run=([0-9a-f-]+)", tab.url)
    assert run is not None
    tab.goto(f"{guarded.url}/ui/?run={run[1]}")
    expect(tab.get_by_text("What is a cairn in the hills?").last).to_be_visible()
    tab.get_by_role("button", name="Stop").click()
    expect(runs.get_by_text("Stopped ·", exact=False)).to_be_visible(timeout=patience(10) * 1000)
    expect(tab.get_by_role("alert")).to_contain_text("Stopped")
    chat.streams = None
    ask(tab, "What does a cairn mark?")
    expect(tab.locator(".answer a").first).to_be_visible()
