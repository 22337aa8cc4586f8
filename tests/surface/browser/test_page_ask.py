"""The room where one asks, and the viewer of what an answer cites."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from serving import Api

from tests.pdf_files import Sheet, pdf_file

Shoot = Callable[[Page, str], None]

LEAVE = (
    "Employees have 30 days of leave per year. Part-time employees have leave in proportion to their hours. Days that are "
    "not taken by the end of March of the next year are lost, unless the department asked for them to be moved."
)
WORK = "Working hours are agreed in each department, and every department keeps its own calendar. " * 12
TEXTS = {
    "leave": f"# Leave and working hours\n\n{WORK}\n\n## Days of leave\n\n{LEAVE}" + f"\n\n{WORK}" * 6,
    "travel": "# Business trips\n\nTrips by train are booked in second class. Trips by plane need the consent of the head of "
    "department.",
    "hostile": "# Stones\n\nThe gate stone of <b>Xanadu</b> weighs <img src=x onerror=alert(1)> 812 pounds.",
}
REPORT = (
    "The quarry worked on 231 days of the year, eleven more than the year before, since the",
    "winter was mild and the new crane needed fewer repairs than had been expected.",
    "",
    "The quarry sold 4200 tons of granite in 2024. Most of it went to the harbor of Brest,",
    "where the mole is being renewed until 2027; the rest was cut for kerbs and steps.",
    "",
    "Sales of slate fell for the third year. Roofers in the region turn to tiles, which are",
    "lighter and cost half as much; the slate pit will therefore be closed in autumn.",
)
SALES = (
    ("Tons sold", "2022", "2023", "2024"),
    ("Granite", "3,350", "3,900", "4,200"),
    ("Slate", "1,120", "970", "810"),
    ("Gravel", "9,800", "9,640", "10,050"),
)


@pytest.fixture(scope="module")
def handbook(api: Api) -> Api:
    """A server with a few documents, one of them a PDF."""
    api.index("handbook", **TEXTS)
    sheets = [Sheet(), Sheet()]
    sheets[0].text(50, 80, "Annual report of the quarry", size=18)
    sheets[0].text(50, 120, "This page has no figures.")
    sheets[1].text(50, 80, "2. Output and sales", size=18)
    for at, line in enumerate(REPORT):
        sheets[1].text(50, 120 + 18 * at, line, size=12)
    sheets[1].rows(320, SALES, (300, 400, 500), pitch=20)
    sheets[1].grid((45, 220, 310, 410, 510), [306 + 20 * at for at in range(len(SALES) + 1)])
    files = {"files": ("report.pdf", pdf_file(*sheets), "application/pdf")}
    answer = api.client.post("/collections/handbook/documents", params={"wait": "true"}, files=files)
    assert answer.status_code < 300, answer.text
    return api


def ask(tab: Page, question: str) -> None:
    """As soon as the page takes a question: it takes one at a time."""
    expect(tab.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    box = tab.get_by_role("textbox", name="Ask your documents")
    box.fill(question)
    box.press("Enter")


def open_room(api: Api, tab: Page, address: str = "?collection=handbook") -> None:
    tab.goto(f"{api.url}/ui/{address}")
    expect(tab.get_by_role("button", name="Ask", exact=True)).to_be_visible()


def test_an_answer_leads_to_the_words_where_they_stand_and_keeps_what_the_reader_thinks_and_what_it_is_worth(
    handbook: Api, tab: Page, shoot: Shoot
) -> None:
    """Also where the conversation is opened again."""
    open_room(handbook, tab)
    shoot(tab, "ask-empty")
    ask(tab, "How many days of leave do employees have?")
    expect(tab.locator(".answer")).to_contain_text("30 days of leave")
    expect(tab.locator(".answer .lead")).to_contain_text("30 days of leave")  # first and large
    expect(tab.locator(".answer .around")).to_contain_text("Part-time employees")
    expect(tab).to_have_url(re.compile("conversation="))
    shoot(tab, "ask-answer")
    tab.locator(".answer a").first.click()
    marked = tab.locator(".viewer mark")
    expect(marked).to_contain_text("30 days of leave")
    expect(marked).to_be_in_viewport()
    shoot(tab, "ask-viewer")
    tab.keyboard.press("Escape")
    expect(tab.locator(".viewer mark")).to_have_count(0)
    first = tab.locator(".turn").nth(0)
    commented = _rate(tab)
    tab.reload()
    expect(first.locator(".answer")).to_contain_text("30 days of leave")
    expect(commented).to_have_attribute("aria-pressed", "true")
    expect(first.get_by_role("button", name="Good answer")).to_have_attribute("aria-pressed", "true")
    expect(first.get_by_role("button", name="Bad answer")).to_have_attribute("aria-pressed", "false")
    commented.click()
    expect(tab.get_by_role("textbox", name="What was good or bad about it?")).to_have_value("short and right")
    tab.keyboard.press("Escape")
    expect(first.locator(".word")).to_contain_text(re.compile("Found|Likely|Not sure"))
    first.locator(".word").hover()
    expect(tab.get_by_text(re.compile(r"Of quotations like this one \d+% were right"))).to_be_visible()


@pytest.mark.siege
def test_a_badge_says_what_an_answer_is_worth_and_nothing_of_small_talk_and_links_of_other_programs_open_sources(
    handbook: Api, tab: Page
) -> None:
    """Also where the conversation is opened again."""
    open_room(handbook, tab)
    ask(tab, "How many days of leave do employees have?")
    _ask_for_badges(tab)
    tab.reload()
    first = tab.locator(".turn").nth(0)
    expect(first.locator(".answer")).to_contain_text("30 days of leave")
    expect(tab.locator(".turn").nth(1).locator(".word")).to_contain_text("Found")
    first.get_by_role("button", name="Open source 1").click()
    expect(tab.locator(".viewer mark")).to_contain_text("30 days")
    said = {"role": "user", "content": "How many days of leave do employees have?"}
    told = handbook.client.post("/v1/chat/completions", json={"model": "handbook", "messages": [said]}).json()
    tab.goto(told["choices"][0]["message"]["annotations"][0]["url_citation"]["url"])  # from another program
    expect(tab.locator(".viewer mark")).to_contain_text("30 days of leave")


def _rate(tab: Page) -> Locator:
    """A thumb up and a comment for the first answer; its button of comments."""
    good = tab.get_by_role("button", name="Good answer").first
    good.click()
    expect(good).to_have_attribute("aria-pressed", "true")
    commented = tab.get_by_role("button", name="Comment on the answer").first
    commented.click()
    tab.get_by_role("textbox", name="What was good or bad about it?").fill("short and right")
    tab.get_by_role("button", name="Send", exact=True).click()
    expect(commented).to_have_attribute("aria-pressed", "true")  # it is stored
    return commented


NOT_THERE = ("What was the revenue of Tesla in 2022?", "what?")


def _ask_for_badges(tab: Page) -> None:
    """After the first answer, which has one of its own."""
    for number, (question, words) in enumerate(
        [
            ("", "Found|Likely|Not sure"),
            ("How many documents are there?", "Found"),
            ("Which people are mentioned?", "Likely"),
            (NOT_THERE[0], ""),
            (NOT_THERE[1], ""),
            ("thanks!", ""),
        ]
    ):
        if question:
            ask(tab, question)
        turn = tab.locator(".turn").nth(number)
        expect(turn.locator(".answer")).to_be_visible()
        expect(turn.locator(".word")).to_have_text([re.compile(f"({words})$")] if words else [])
        expect(turn.locator(".refusal")).to_have_count(int(question in NOT_THERE))


@pytest.mark.siege
def test_what_answers_stands_first_and_its_source_stays_open_beside_the_next_question(
    handbook: Api, tab: Page, shoot: Shoot
) -> None:
    """The cell of a table, code that can be copied, what was read of a refusal; notes and steps are there after a reload."""
    handbook.index(
        "machines", press="# Press\n\n| Property | Value | Note |\n|---|---|---|\n| Pressure | 15 bar | at the pump |\n"
        "| Weight | 7.4 kg | without water |\n\n## Firmware\n\nUpdate the firmware from a computer:\n\n"
        "```bash\npress-cli update --port /dev/ttyUSB0\n```\n",
    )  # fmt: skip
    open_room(handbook, tab, "?collection=machines")
    ask(tab, "What is the pressure of the press?")
    turns = tab.locator(".turn")
    expect(turns.nth(0).locator(".value")).to_contain_text("15 bar")
    expect(turns.nth(0).locator("td mark")).to_have_text("15 bar")
    turns.nth(0).get_by_role("button", name="Open source 1").click()
    panel = tab.get_by_role("complementary")
    expect(panel.locator("td mark").first).to_have_text("Pressure")
    ask(tab, "How do I update the firmware?")
    expect(turns.nth(1).locator("pre")).to_contain_text("press-cli update")
    expect(panel.locator("td mark").first).to_be_visible()
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    turns.nth(1).get_by_role("button", name="Copy", exact=True).click()
    expect(turns.nth(1).get_by_role("button", name="Copied")).to_be_visible()
    assert tab.evaluate("navigator.clipboard.readText()") == "press-cli update --port /dev/ttyUSB0\n"
    shoot(tab, "ask-card")
    panel.get_by_role("button", name="Close").click()
    expect(tab.locator(".viewer mark")).to_have_count(0)
    for _ in range(2):
        turns.nth(1).get_by_role("button", name="Details").click()
        expect(turns.nth(1).get_by_text("Reading the message")).to_be_visible()
        tab.reload()
        expect(turns).to_have_count(2)
    expect(tab.locator("body")).not_to_contain_text(re.compile(r"###|\| ---|```"))
    ask(tab, "How do I update the firmware of the Zanzibar?")
    refused = turns.nth(2).locator(".refusal")
    expect(refused).to_contain_text("What comes nearest, and may not answer it:")
    refused.get_by_role("button", name="Open source 1").first.click()
    expect(panel.locator("mark").first).to_contain_text("firmware")


HOLD_CONNECTION = """
let connected = false, held = [], real = window.setTimeout;
Object.defineProperty(window, 'did_handshake', {get: () => connected && !held, set: value => connected = value});
window.setTimeout = (call, wait, ...rest) => held && wait <= 20 ? held.push(call) : real(call, wait, ...rest);
window.isConnected = () => connected;
window.connectNow = () => { const last = held.reverse(); held = null; last.forEach(call => call()); };
"""
"""What waits for the connection goes on when the test says so, and what began to wait last goes first."""


@pytest.mark.siege
def test_a_question_that_is_sent_before_the_page_is_connected_is_answered(handbook: Api, tab: Page) -> None:
    """By Enter. What the document says of markup is shown as text."""
    box = _open_unconnected(handbook, tab)
    box.fill("How much does the gate stone of Xanadu weigh?")
    box.press("Enter")
    _connect(tab)
    expect(tab.locator(".answer")).to_contain_text("812 pounds")
    assert tab.locator(".turn img").count() == 0


@pytest.mark.siege
def test_a_narrow_screen_asks_and_reads(handbook: Api, tab: Page, shoot: Shoot) -> None:
    """Also where the button is pressed before the page is connected."""
    tab.set_viewport_size({"width": 400, "height": 750})
    tab.emulate_media(color_scheme="dark")
    _open_unconnected(handbook, tab).fill("How many days of leave do employees have?")
    tab.get_by_role("button", name="Ask", exact=True).click()
    _connect(tab)
    expect(tab.locator(".answer")).to_contain_text("30 days of leave")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    shoot(tab, "ask-narrow")
    tab.locator(".answer a").first.click()
    expect(tab.locator(".viewer mark")).to_be_in_viewport()
    shoot(tab, "ask-narrow-viewer")


def _open_unconnected(api: Api, tab: Page) -> Locator:
    """The box for questions of a page that is not connected until `_connect`."""
    tab.add_init_script(HOLD_CONNECTION)
    open_room(api, tab)
    return tab.get_by_role("textbox", name="Ask your documents")


def _connect(tab: Page) -> None:
    tab.wait_for_function("isConnected()")
    tab.evaluate("connectNow()")


@pytest.mark.siege
def test_a_pdf_is_shown_as_a_page_with_the_words_marked_and_its_pages_are_turned(
    handbook: Api, tab: Page, shoot: Shoot
) -> None:
    """Also quickly: clicks come before the page that a click before them asked for. None leads out of the document, and an older
    page is not drawn over a newer one."""
    open_room(handbook, tab)
    ask(tab, "How many tons of granite did the quarry sell in 2024?")
    expect(tab.locator(".answer")).to_contain_text("4200 tons")
    tab.get_by_role("button", name="Open source 1").click()
    expect(tab.get_by_role("img", name="Page 2 of")).to_be_visible()
    expect(tab.locator(".viewer .spot").first).to_be_visible()
    shoot(tab, "ask-page")
    tab.get_by_role("button", name="Previous page").click()
    expect(tab.get_by_role("img", name="Page 1 of")).to_be_visible()
    expect(tab.locator(".viewer .spot")).to_have_count(0)
    turns = "(viewer, labels) => labels.forEach(label => viewer.querySelector(`[aria-label='${label}']`).click())"
    back, forth = "Previous page", "Next page"
    for clicks, page in (([forth] * 3, 2), ([back] * 3, 1), ([forth, back, forth], 2)):
        tab.locator(".viewer").evaluate(turns, clicks)
        expect(tab.get_by_role("img", name=f"Page {page} of")).to_be_visible()
        expect(tab.locator(".viewer").get_by_text(f"{page} / 2")).to_be_visible()
        expect(tab.locator(".viewer").get_by_role("button", name=back if page == 2 else forth)).to_be_enabled()
        tab.wait_for_timeout(500)
        expect(tab.get_by_role("img", name=f"Page {page} of")).to_be_visible()
    tab.get_by_role("tab", name="Text").click()
    expect(tab.locator(".viewer mark")).to_contain_text("4200 tons")


@pytest.mark.siege
def test_conversations_are_found_renamed_and_deleted(handbook: Api, tab: Page, shoot: Shoot) -> None:
    open_room(handbook, tab)
    for question in ("Who has to consent to trips by plane?", "What sold the quarry in 2024?"):
        if tab.locator(".turn").count():
            tab.get_by_role("button", name="New conversation").click()
            expect(tab.locator(".turn")).to_have_count(0)
        ask(tab, question)
        expect(tab.locator(".answer")).to_be_visible()
        expect(tab.locator(".conversations").get_by_text(question)).to_be_visible()
    listed = tab.locator(".conversations")
    listed.get_by_role("textbox", name="Search conversations").fill("consent to trips")
    expect(listed.get_by_role("listitem")).to_have_count(1)
    listed.get_by_role("link", name="Who has to consent").click()
    expect(tab.locator(".answer")).to_contain_text("head of department")
    listed.get_by_role("button", name="Rename: Who has to consent").click()
    tab.get_by_role("textbox", name="Name of the conversation").fill("Travelling")
    tab.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(listed.get_by_role("link", name="Travelling")).to_be_visible()
    shoot(tab, "ask-conversations")
    listed.get_by_role("button", name="Delete: Travelling").click()
    tab.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(tab).not_to_have_url(re.compile("conversation="))
    expect(listed.get_by_role("link", name="Travelling")).to_have_count(0)
