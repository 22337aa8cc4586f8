"""The room of documents: files and folders go in, what fails says why, and what is not wanted any more goes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from keyed import bearer, make_keys
from playwright.sync_api import Locator, Page, expect
from scripted_web import ScriptedWeb
from serving import Api, serving

from tests.waiting import patience

Shoot = Callable[[Page, str], None]


def test_files_go_in_and_out(api: Api, tab: Page, shoot: Shoot, tmp_path: Path) -> None:
    tab.goto(f"{api.url}/ui/documents?collection=library")
    expect(tab.get_by_text("No collection yet")).to_be_visible()
    shoot(tab, "documents-empty")
    folder = tmp_path / "handbook"
    (folder / "people").mkdir(parents=True)
    (folder / "people" / "leave.md").write_text("# Leave\n\nEmployees have 30 days of leave per year.\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 no more of it")
    (folder / ".secret").write_text("hidden files stay where they are")
    tab.get_by_label("Choose a folder").set_input_files(folder)
    status = tab.get_by_role("status")
    expect(status.get_by_text("1 document added, 1 failed")).to_be_visible(timeout=patience(30) * 1000)
    expect(status.get_by_role("listitem")).to_have_count(1)
    expect(status.get_by_role("listitem").filter(has_text="handbook/broken.pdf").get_by_text("Failed")).to_be_visible()
    shoot(tab, "documents-added")
    status.get_by_label("Dismiss").click()
    rows = tab.get_by_role("listitem")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="handbook/broken.pdf").get_by_text("Failed")).to_be_visible()
    changed = rows.filter(has_text="handbook/people/leave.md").locator("time")
    expect(changed).to_have_text(re.compile("^(now|[0-9]+ (second|minute)s? ago)$"))
    expect(changed).to_have_attribute("title", re.compile("at .* UTC$"))  # the zone of the browser
    expect(tab.get_by_text("Drop files or folders here")).to_be_hidden()
    expect(tab.get_by_role("button", name="Add files")).to_be_visible()
    shoot(tab, "documents")
    tab.get_by_text("Jobs", exact=True).click()
    expect(tab.get_by_text("Add files library")).to_be_visible()
    with tab.expect_download() as downloading:
        _choose(tab, rows.filter(has_text="leave.md"), "Download")
    assert "30 days of leave" in downloading.value.path().read_text()
    tab.get_by_label("Name contains").fill("broken")
    expect(rows).to_have_count(1)
    tab.get_by_label("Name contains").fill("")
    expect(rows).to_have_count(2)
    _choose(tab, rows.filter(has_text="leave.md"), "Delete")
    tab.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(rows).to_have_count(1)
    listed = api.client.get("/collections/library/documents").json()["items"]
    assert [one["external_id"] for one in listed] == ["handbook/broken.pdf"]


@pytest.mark.siege
def test_titles_and_metadata_are_changed_and_jobs_cancelled_and_tried_again(
    api: Api, tab: Page, shoot: Shoot, psql: Callable[..., str]
) -> None:
    files = {"files": ("leave.md", b"# Leave\n\nEmployees have 30 days of leave per year.\n", "text/markdown")}
    stored = api.client.post("/collections/library/documents", params={"wait": "true"}, files=files)
    assert stored.status_code < 300, stored.text
    tab.goto(f"{api.url}/ui/documents?collection=library")
    tab.get_by_text("Jobs", exact=True).click()
    _cancel_and_retry_jobs(api, tab, psql)
    _change_title(api, tab, tab.get_by_role("listitem").filter(has_text="leave.md"))
    _look_narrow_and_dark(tab, shoot)


def _choose(tab: Page, row: Locator, action: str) -> None:
    """Of the menu of a document."""
    row.get_by_label("What to do with").click()
    tab.locator(".q-menu").get_by_text(action, exact=True).click()


def _cancel_and_retry_jobs(api: Api, tab: Page, psql: Callable[..., str]) -> None:
    tenant = psql("SELECT id FROM rag.tenants LIMIT 1", api.database)
    collection = psql("SELECT id FROM rag.collections WHERE name = 'library'", api.database)
    job = "INSERT INTO rag.jobs (tenant_id, id, kind, payload, status, run_at) VALUES ({}, gen_random_uuid(), {})"
    payload = json.dumps({"collection": "library", "collection_id": collection, "force": False})
    psql(job.format(tenant, f"'reindex', '{payload}', 'parked', now()"), api.database)
    psql(
        job.format(tenant, "'reindex', '{\"collection\": \"later\"}', 'queued', now() + interval '50 minutes'"),
        api.database,
    )
    tab.get_by_label("Refresh").click()
    jobs = tab.locator(".job")
    jobs.filter(has_text="later").get_by_label("Cancel job").click()
    expect(jobs.filter(has_text="later").get_by_text("cancelled", exact=True)).to_be_visible()
    parked = jobs.filter(has_text="Cut and index anew library")
    expect(parked.get_by_text("set aside after failing", exact=True)).to_be_visible()
    parked.get_by_label("Retry").click()
    expect(parked.get_by_text("done", exact=True)).to_be_visible(timeout=patience(30) * 1000)  # by itself


def _change_title(api: Api, tab: Page, row: Locator) -> None:
    _choose(tab, row, "Edit title and metadata")
    form = tab.get_by_role("dialog")
    form.get_by_label("Metadata (JSON)").fill("[1]")
    form.get_by_role("button", name="Save").click()
    expect(tab.get_by_text("the metadata are a JSON object")).to_be_visible()
    form.get_by_label("Title").fill("Days off")
    form.get_by_label("Metadata (JSON)").fill('{"team": "people"}')
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    expect(row.get_by_text("Days off", exact=True)).to_be_visible()
    changed = next(
        one for one in api.client.get("/collections/library/documents").json()["items"] if one["title"] == "Days off"
    )
    assert changed["metadata"]["team"] == "people"
    row.get_by_role("link", name="Days off").click()
    with tab.expect_download() as downloading:
        tab.locator(".viewer").get_by_label("Download").click()
    assert "30 days of leave" in downloading.value.path().read_text()
    tab.keyboard.press("Escape")
    expect(tab.locator(".viewer")).to_have_count(0)


def _look_narrow_and_dark(tab: Page, shoot: Shoot) -> None:
    tab.set_viewport_size({"width": 400, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400, "nothing has to be scrolled sideways"
    tab.get_by_label("Dark or light").click()
    shoot(tab, "documents-narrow-dark")
    tab.set_viewport_size({"width": 1280, "height": 800})


@pytest.mark.siege
def test_files_can_be_dropped(api: Api, tab: Page) -> None:
    tab.goto(f"{api.url}/ui/documents?collection=dropped")
    expect(tab.get_by_text("Drop files or folders here")).to_be_visible()
    dropped = tab.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['The lift is closed on Mondays.'], 'lift.txt'));"
        " return data; }"
    )
    tab.locator("[data-url]").dispatch_event("drop", {"dataTransfer": dropped})
    expect(tab.get_by_role("status").get_by_text("1 document added")).to_be_visible(timeout=patience(30) * 1000)
    expect(tab.get_by_role("listitem").get_by_role("link", name="lift.txt")).to_be_visible()


@pytest.mark.siege
def test_a_new_collection_is_served_by_the_model_that_was_chosen(api: Api, tab: Page, shoot: Shoot) -> None:
    tab.goto(f"{api.url}/ui/documents?collection=library")
    minilm = "minilm: source code, and English at half the time to add it."
    for name, sentence, served_by in (("made-auto", None, None), ("made-minilm", minilm, "all-MiniLM-L6-v2:int8")):
        tab.get_by_label("New collection").click()
        form = tab.get_by_role("dialog")
        choices = form.get_by_role("radio")
        expect(choices).to_have_count(3)
        expect(form.get_by_role("radio", name="Automatic:")).to_be_checked()
        expect(form.get_by_role("radio", name="e5: prose in many languages")).to_have_count(1)
        if sentence:
            form.get_by_role("radio", name=sentence).click()
            expect(form.get_by_role("radio", name=sentence)).to_be_checked()
        shoot(tab, f"documents-{name}")
        form.get_by_label("Name", exact=True).fill(name)
        form.get_by_role("button", name="Create").click()
        expect(form).to_have_count(0)
        expect(tab.get_by_label("Collection", exact=True)).to_have_value(name)
        assert api.client.get(f"/collections/{name}").json()["embedding_model"] == served_by
        if served_by:
            expect(tab.get_by_text(served_by.partition(":")[0], exact=True)).to_be_visible()


@pytest.mark.siege
def test_documents_that_an_earlier_release_read_are_counted(
    api: Api, tab: Page, shoot: Shoot, psql: Callable[..., str]
) -> None:
    said = "1 document was read by an earlier release, and may be read better today."
    api.index("aged", leave="Employees have 30 days of leave.", pay="Salaries are paid on the 25th.")
    tab.goto(f"{api.url}/ui/documents?collection=aged")
    expect(tab.get_by_role("listitem")).to_have_count(2)
    expect(tab.get_by_text("an earlier release")).to_be_hidden()
    psql("UPDATE rag.documents SET loader_revision = 0 WHERE external_id = 'leave'", api.database)
    tab.reload()
    expect(tab.get_by_text(said)).to_be_visible()
    shoot(tab, "documents-outdated")
    old = tab.get_by_role("listitem").filter(has_text="Read by an earlier release")
    expect(old).to_have_count(1)
    tab.goto(f"{api.url}/ui/operation")
    expect(tab.get_by_role("alert").get_by_text("cairn reread aged")).to_be_visible()
    tab.goto(f"{api.url}/ui/documents?collection=aged")
    _choose(tab, old, "Read again")
    expect(tab.get_by_text("Begun: the old text serves")).to_be_visible()
    api.await_until(lambda: [one for one in _jobs(api, "reread") if one["result"]])
    assert [(one["result"]["unchanged"], one["result"]["left"]) for one in _jobs(api, "reread")] == [(1, 0)]
    tab.reload()
    expect(tab.get_by_role("listitem")).to_have_count(2)
    expect(tab.get_by_text(said)).to_be_hidden()


def _jobs(api: Api, kind: str) -> list[dict[str, Any]]:
    return [one for one in api.client.get("/jobs").json()["items"] if one["kind"] == kind]


@pytest.mark.siege
def test_a_collection_is_called_as_people_call_it(api: Api, tab: Page, shoot: Shoot) -> None:
    """And what is refused is said in the form, which keeps what was typed."""
    api.client.post("/collections", json={"name": "Personnel-2023"})
    tab.goto(f"{api.url}/ui/documents?collection=library")
    tab.get_by_label("New collection").click()
    form = tab.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("Personnel 2023")
    expect(form.get_by_text("Programs call it Personnel-2023")).to_be_visible()
    form.get_by_role("button", name="Create").click()
    expect(form.get_by_text("exists already")).to_be_visible()
    shoot(tab, "documents-name-taken")
    expect(form.get_by_label("Name", exact=True)).to_have_value("Personnel 2023")
    form.get_by_label("Name", exact=True).fill("Personnel 2024")
    form.get_by_role("button", name="Create").click()
    expect(form).to_have_count(0)
    expect(tab.get_by_label("Collection", exact=True)).to_have_value("Personnel 2024")
    assert api.client.get("/collections/Personnel-2024").json()["display_name"] == "Personnel 2024"
    tab.get_by_label("Rename the collection").click()
    tab.get_by_role("dialog").get_by_label("Name", exact=True).fill("People of 2024")
    tab.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(tab.get_by_label("Collection", exact=True)).to_have_value("People of 2024")
    tab.goto(f"{api.url}/ui/search?collection=Personnel-2024")
    expect(tab.get_by_label("Collection", exact=True)).to_have_value("People of 2024")


@pytest.mark.siege
def test_who_may_read_is_shown_and_changed(api: Api, tab: Page, shoot: Shoot) -> None:
    """On a server without keys everybody operates. What is for some has a lock that says for whom, in words."""
    texts = [{"external_id": name, "text": f"The pay of {name}."} for name in ("hr/pay.md", "hr/open.md", "menu.md")]
    api.client.post("/index", json={"collection": "readers", "documents": texts})
    tab.goto(f"{api.url}/ui/documents?collection=readers")
    rows = tab.get_by_role("main").get_by_role("listitem").filter(has=tab.get_by_label("What to do with"))
    expect(rows).to_have_count(3)
    assert tab.get_by_text("Only for").count() == 0
    tab.get_by_label("Who may read this collection").click()
    form = tab.get_by_role("dialog")
    form.get_by_label("Folder; empty").fill("/")
    form.get_by_label("Readers, one a line").fill("group:hr\nperson:ada")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_text("a folder is what ids of documents begin with")).to_be_visible()
    form.get_by_label("Folder; empty").fill("hr/")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("listitem").filter(has_text="hr/").get_by_text("group hr, ada")).to_be_visible()
    shoot(tab, "documents-access")
    form.get_by_role("button", name="Save").click()  # once more: what was emptied opens nothing
    expect(form.get_by_text("Name readers, or tick Everybody")).to_be_visible()
    form.get_by_label("Folder; empty").fill("hr/open.md")
    form.get_by_role("checkbox", name="Everybody").click()
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("listitem").filter(has_text="hr/open.md").get_by_text("Everybody")).to_be_visible()
    form.get_by_label("Take the rule away: hr/open.md").click()
    expect(form.get_by_role("listitem")).to_have_count(1)
    form.get_by_role("button", name="Dismiss").click()
    expect(tab.get_by_text("1 access rule of a folder")).to_be_visible()
    ruled = rows.filter(has_text="hr/pay.md")
    expect(ruled.get_by_text("Only for group hr, ada (as hr/)")).to_be_visible()
    assert api.client.get("/collections/readers/documents").json()["items"][1]["access"] == ["group:hr", "person:ada"]
    _choose(tab, ruled, "Who may read it …")
    tab.get_by_role("dialog").get_by_label("Readers, one a line").fill("group:board")
    tab.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(ruled.get_by_text("Only for group board", exact=True)).to_be_visible()
    expect(rows.filter(has_text="menu.md").get_by_text("Only for")).to_have_count(0)
    tab.emulate_media(color_scheme="dark")
    shoot(tab, "documents-access-dark")
    tab.get_by_label("Who may read this collection").click()
    tab.get_by_role("dialog").get_by_label("Take the rule away: hr/").click()
    expect(tab.get_by_role("dialog").get_by_role("listitem")).to_have_count(0)
    tab.get_by_role("dialog").get_by_role("button", name="Dismiss").click()
    expect(tab.get_by_text("Only for group hr")).to_have_count(0)
    expect(ruled.get_by_text("Only for group board", exact=True)).to_be_visible()
    tab.goto(f"{api.url}/ui/search?collection=readers&q=pay.md&mode=lexical")
    tab.get_by_label("Why this place?").first.click()
    why = tab.get_by_role("dialog")
    why.get_by_label("On behalf of").fill("person:bob, group:sales")
    why.get_by_label("On behalf of").press("Enter")
    expect(why.get_by_text("withheld by access: its document is only for group:board")).to_be_visible()


@pytest.mark.siege
def test_who_does_not_operate_sees_who_may_read_and_is_offered_no_change_of_it(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, tab: Page, shoot: Shoot
) -> None:
    """On a server with keys, by one that writes and one that only reads; and by one with the scope admin, who is offered it."""
    dsn = fresh_database()
    whole = make_keys(dsn, str(tmp_path_factory.mktemp("keys"))).victim
    environment = {"CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model)}
    with serving(dsn, tmp_path_factory.mktemp("guarded"), page=True, **environment) as api:
        rule = {"folder": "hr/", "access": ["group:hr", "person:ada"]}
        ruled = api.client.put("/collections/readers/access", json=rule, headers=bearer(whole))
        assert ruled.status_code == 200, ruled.text
        texts: list[dict[str, Any]] = [
            {"external_id": "hr/pay.md", "text": "The pay of all."},
            {"external_id": "memo.md", "text": "A memo for some.", "access": ["group:hr"]},
            {"external_id": "board.md", "text": "A memo for others.", "access": ["group:board"]},
            {"external_id": "menu.md", "text": "The menu of today."},
        ]
        body = {"collection": "readers", "documents": texts}
        assert not api.client.post("/index", json=body, headers=bearer(whole)).json()["failed"]
        for scopes in (["read", "ask", "write"], ["read"]):
            person = {"name": "person", "scopes": scopes, "groups": ["hr"]}
            made = api.client.post("/keys", json=person, headers=bearer(whole))
            rows = _enter_readers(api, tab, made.json()["key"])
            expect(rows).to_have_count(3)
            expect(tab.get_by_text(re.compile("board.md|group board"))).to_have_count(0)
            _expect_locks(tab, rows)
            shoot(tab, f"documents-access-{scopes[-1]}")
            expect(tab.get_by_label("Who may read this collection")).to_have_count(0)
            expect(tab.get_by_text("Add a source")).to_have_count(0)
            for name in ("hr/pay.md", "memo.md", "menu.md"):
                rows.filter(has_text=name).get_by_label("What to do with").click()
                menu = tab.locator(".q-menu")
                expect(menu.get_by_text("Open", exact=True)).to_be_visible()
                expect(menu.get_by_text("Delete", exact=True)).to_have_count(int("write" in scopes))
                expect(menu.get_by_text("Who may read it")).to_have_count(0)
                tab.keyboard.press("Escape")
                expect(menu).to_have_count(0)
            tab.goto(f"{api.url}/ui/search?collection=readers&q=pay.md&mode=lexical")
            tab.get_by_label("Why this place?").first.click()
            expect(tab.get_by_role("dialog").get_by_text("it is in readers, which was searched")).to_be_visible()
            expect(tab.get_by_label("On behalf of")).to_have_count(0)
        rows = _enter_readers(api, tab, whole)
        expect(rows).to_have_count(4)
        _expect_locks(tab, rows)
        expect(tab.get_by_label("Who may read this collection")).to_be_visible()
        rows.filter(has_text="memo.md").get_by_label("What to do with").click()
        expect(tab.locator(".q-menu").get_by_text("Who may read it …", exact=True)).to_be_visible()


def _enter_readers(api: Api, tab: Page, key: str) -> Locator:
    """The documents, as who has the key sees them."""
    assert tab.context.request.post(f"{api.url}/session", data={"key": key}).ok
    tab.goto(f"{api.url}/ui/documents?collection=readers")
    return tab.get_by_role("main").get_by_role("listitem").filter(has=tab.get_by_label("What to do with"))


def _expect_locks(tab: Page, rows: Locator) -> None:
    """For whom documents are, and that the collection has a rule."""
    expect(tab.get_by_text("1 access rule of a folder")).to_be_visible()
    said = {"hr/pay.md": "Only for group hr, ada (as hr/)", "memo.md": "Only for group hr"}
    for name, words in said.items():
        row = rows.filter(has_text=name)
        expect(row.get_by_text(words, exact=True)).to_be_visible()
        expect(row.get_by_text("lock", exact=True)).to_be_visible()
    expect(rows.filter(has_text="menu.md").get_by_text("Only for")).to_have_count(0)
    expect(rows.filter(has_text="menu.md").get_by_text("lock", exact=True)).to_have_count(0)


@pytest.mark.siege
def test_a_source_is_added_synchronised_paused_and_removed(api: Api, tab: Page, shoot: Shoot) -> None:
    entries = "".join(f"<url><loc>/{name}</loc></url>" for name in ("leave.html", "plan.pdf"))
    lists = {"/sitemap.xml": f"<urlset>{entries}</urlset>".encode()}
    pages = {"/leave.html": b"<h1>Leave</h1><p>Thirty days a year.</p>", "/plan.pdf": b"%PDF-1.4 no more of it"}
    with ScriptedWeb({**lists, **pages}) as site:
        allowed = {"allowedHosts": [f"127.0.0.1:{site.port}"], "privateNetworks": ["127.0.0.0/8"]}
        before = api.revision
        api.write_settings(json.dumps({**json.loads(api.began_with), "urls": allowed}))
        api.await_until(lambda: api.revision != before)
        try:
            _follow_site(api, tab, shoot, f"http://127.0.0.1:{site.port}/sitemap.xml")
        finally:
            api.restore_settings()


def _follow_site(api: Api, tab: Page, shoot: Shoot, address: str) -> None:
    tab.goto(f"{api.url}/ui/documents?collection=followed")
    tab.get_by_text("Sources", exact=True).click()
    sources = tab.get_by_role("list", name="Sources")
    expect(sources.get_by_text("No source yet")).to_be_visible()
    shoot(tab, "documents-sources-empty")
    tab.get_by_role("button", name="Add a source").click()
    form = tab.get_by_role("dialog")
    form.get_by_label("Address", exact=True).fill("https://elsewhere.example/sitemap.xml")
    form.get_by_role("button", name="Follow it").click()
    expect(form.get_by_role("alert")).to_contain_text("urls.allowedHosts")
    form.get_by_label("Address", exact=True).fill(address)
    form.get_by_label("Folder that its ids begin with").fill("site")
    form.get_by_label("Readers, one a line").fill("group:staff")
    form.get_by_label("Pages a second at most").fill("many")
    form.get_by_text("Which files, and how fast").click()
    form.get_by_label("Not these files").fill("*.tmp")
    form.get_by_label("Most that may be gone at once").fill("20")
    form.get_by_label("Files a second at most").fill("100")
    form.get_by_role("button", name="Follow it").click()
    expect(form.get_by_role("alert")).to_contain_text("pages_per_second")
    shoot(tab, "documents-sources-form")
    form.get_by_label("Address", exact=True).fill("sftp://files.example.org/srv")
    expect(form.get_by_label("Fingerprint of the server's key")).to_be_visible()
    expect(form.get_by_label("Password", exact=True)).to_have_attribute("type", "password")
    form.get_by_label("Password", exact=True).fill("open sesame")
    for retyped, shown in (
        ("sf", 0),
        ("sftp://files.example.org/srv/a", 1),
        (address, 0),
    ):  # what was typed is not lost
        form.get_by_label("Address", exact=True).fill(retyped)
        expect(form.get_by_label("Password", exact=True)).to_have_count(shown)
        if shown:
            expect(form.get_by_label("Password", exact=True)).to_have_value("open sesame")
    expect(form.get_by_label("Pages a second at most")).to_have_value("many")
    form.get_by_label("Pages a second at most").fill("50")
    form.get_by_role("button", name="Follow it").click()
    row = sources.get_by_role("listitem").filter(has_text=address)
    expect(row.get_by_text("In step since")).to_be_visible(timeout=patience(30) * 1000)  # by itself
    expect(row).to_contain_text(re.compile("2 files.*2 new.*1 failed.*next look in"))
    row.get_by_text("1 file could not be read").click()
    expect(row.get_by_text("plan.pdf", exact=True)).to_be_visible()
    assert [(one["external_id"], one["access"]) for one in _listed(api) if one["status"] == "indexed"] == [
        ("site/leave.html", ["group:staff"])
    ]
    [source] = api.client.get("/sources").json()["items"]
    assert source["options"] == {"pages_per_second": "50", "exclude": "*.tmp"}
    assert (source["most_deleted"], source["requests_per_second"]) == (0.2, 100)
    row.get_by_text("Earlier synchronisations").click()
    expect(row).to_contain_text(re.compile("done.* s.*2 new"))
    shoot(tab, "documents-sources")
    _change_source(api, tab, shoot)
    row.get_by_label("Synchronise now").click()
    expect(row).to_contain_text("2 unchanged", timeout=patience(30) * 1000)
    tab.set_viewport_size({"width": 400, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400, "nothing has to be scrolled sideways"
    tab.emulate_media(color_scheme="dark")
    row.get_by_label("Remove").scroll_into_view_if_needed()
    shoot(tab, "documents-sources-narrow-dark")
    tab.set_viewport_size({"width": 1280, "height": 800})
    row.get_by_label("Pause").click()
    expect(row.get_by_text("Paused", exact=True)).to_be_visible()
    expect(row.get_by_label("Synchronise now")).to_have_count(0)
    row.get_by_label("Resume").click()
    expect(row.get_by_text("In step since")).to_be_visible()
    row.get_by_label("Remove").click()
    tab.get_by_role("dialog").get_by_role("button", name="Delete its documents").click()
    expect(sources.get_by_text("No source yet")).to_be_visible(timeout=patience(30) * 1000)
    assert _listed(api) == []
    assert api.client.get("/sources").json()["items"] == []


def _change_source(api: Api, tab: Page, shoot: Shoot) -> None:
    """Who may read it and its folders, and how it is read: what is not touched stays, what is refused is said."""
    before = api.client.get("/sources").json()["items"][0]
    row = tab.get_by_role("list", name="Sources").get_by_role("listitem").filter(has_text=before["address"])
    expect(row).to_contain_text("Only for group staff")
    row.get_by_label("Change").click()
    form = tab.get_by_role("dialog")
    readers = form.get_by_label("Readers, one a line")
    expect(readers).to_have_value("group:staff")
    expect(form.get_by_label("Pages a second at most")).to_have_value("50")
    readers.fill("everyone")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("group:<name>")
    readers.fill("group:staff\nperson:ada=\nplans = group:hr")
    form.get_by_text("Which files, and how fast").click()
    form.get_by_label("Files a second at most").fill("")
    shoot(tab, "documents-sources-change")
    form.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Only for group staff, ada=")
    [after] = api.client.get("/sources").json()["items"]
    changed = {name: value for name, value in after.items() if value != before[name]}
    access = {"": ["group:staff", "person:ada="], "plans": ["group:hr"]}
    assert changed == {"access": access, "requests_per_second": None}
    indexed = [one["access"] for one in _listed(api) if one["status"] == "indexed"]
    assert indexed == [["group:staff", "person:ada="]]
    _change_what_somebody_else_changed(api, tab, row, after["id"])


def _change_what_somebody_else_changed(api: Api, tab: Page, row: Locator, source_id: str) -> None:
    """A form that was opened on an old list, or before somebody else was done, opens nothing."""
    now = {"": ["group:staff"], "plans": [], "hr": ["group:personnel"]}
    api.client.patch(f"/sources/{source_id}", json={"access": now}).raise_for_status()
    row.get_by_label("Change").click()
    form = tab.get_by_role("dialog")
    readers = form.get_by_label("Readers, one a line")
    expect(readers).to_have_value("group:staff\nhr=group:personnel\nplans=")
    options = {"pages_per_second": "50", "exclude": "drafts"}
    api.client.patch(f"/sources/{source_id}", json={"options": options}).raise_for_status()
    form.get_by_label("Pages a second at most").fill("40")
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    source = api.client.get(f"/sources/{source_id}").json()
    assert (source["access"], source["options"]) == (now, {"pages_per_second": "40", "exclude": "drafts"})
    row.get_by_label("Change").click()
    api.client.patch(f"/sources/{source_id}", json={"access": {"": ["group:board"]}}).raise_for_status()
    readers.fill("group:staff")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("Somebody has changed who may read it")
    form.get_by_role("button", name="Cancel").click()
    assert api.client.get(f"/sources/{source_id}").json()["access"] == {"": ["group:board"]}


def _listed(api: Api) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.client.get("/collections/followed/documents").json()["items"]
    return found
