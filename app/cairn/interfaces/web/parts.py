"""What several rooms draw: the choice of a collection, rooms that are empty, times and numbers, what stands in the address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from nicegui import context, ui

from cairn.domain.document import Document
from cairn.interfaces.web.texts import Texts
from cairn.service import documents
from cairn.wiring import Services

COLLECTIONS_SHOWN: Final = 200
BAD: Final = "text-negative"
"""Of what failed; readable on both grounds."""
GOOD: Final = "text-positive"
LINE: Final = "border-b border-[var(--line)]"
"""Below each row of a list."""


def read_address(name: str) -> str:
    """A value of the query string by which the page was opened; "" where it has none."""
    request = ui.context.client.request
    return str(request.query_params.get(name, ""))[:4000] if request else ""


def keep_address(values: Mapping[str, Any]) -> None:
    """Make the address of the page lead to what it shows now; empty values are left out."""
    kept = {name: value for name, value in values.items() if value not in (None, "", False)}
    ui.navigate.history.replace(f"?{urlencode(kept)}")


async def list_shown_names(services: Services, *others: str) -> dict[str, str]:
    """Collections by name, as a choice offers them to people, in the order of what they are called; `others` as they are."""
    found = {one.name: one.shown_name for one in await documents.list_collections(services, limit=COLLECTIONS_SHOWN)}
    often = Counter(found.values())
    named = {name: f"{shown} ({name})" if often[shown] > 1 else shown for name, shown in found.items()}
    return dict(sorted(({one: one for one in others} | named).items(), key=lambda item: item[1].casefold()))


def choose_from(names: list[str], wanted: str, usual: str) -> str:
    """What a room begins with: what the address names, else the collection of the settings, else the first one there is."""
    if wanted:
        return wanted
    return usual if usual in names or not names else names[0]


def show_empty(icon: str, title: str, hint: str) -> None:
    """Nothing is here yet, and what to do about it."""
    with ui.column().classes("w-full items-center empty gap-2 text-center"):
        ui.icon(icon, size="3rem").classes("text-primary").props("aria-hidden=true")
        ui.label(title).classes("text-lg")
        ui.label(hint).classes("text-sm max-w-xl muted")


def beside_rows() -> ui.element:
    """In a list, round what is no row of it: the way to more of them, that there are none."""
    return ui.element("div").classes("w-full").props("role=listitem")


def icon_button(icon: str, label: str, act: Callable[[], Awaitable[None] | None]) -> ui.button:
    """A button of an icon, with its name for screen readers and on hovering."""
    button = ui.button(icon=icon, on_click=lambda: act()).props("flat round dense")
    button.props["aria-label"] = label
    return button.tooltip(label)


def file_address(document: Document, collection: str) -> str:
    """Of the file as it came, below the page, where the cookie says who asks."""
    return f"/collections/{collection}/documents/{document.id}/file"


def download_link(document: Document, collection: str, label: str) -> None:
    """To the file as it came."""
    file = file_address(document, collection)
    with ui.link(target=file).props("download").classes("text-primary p-1") as link:
        ui.icon("download", size="sm").props("aria-hidden=true")
    link.props["aria-label"] = label


async def confirm(question: str, yes: str, no: str) -> bool:
    """Ask before what cannot be taken back."""
    with ui.dialog() as dialog, ui.card():
        ui.label(question).classes("whitespace-pre-line")
        with ui.row().classes("w-full justify-end"):
            ui.button(no, on_click=lambda: dialog.submit(False)).props("flat autofocus")
            ui.button(yes, on_click=lambda: dialog.submit(True)).props("color=negative")
    agreed = bool(await dialog)
    dialog.delete()
    return agreed


class Repetition:
    """Something that is done again and again while it is under way. A page with a timer of NiceGUI is sent before it is drawn,
    and what comes after that is sent as a change of it: so there is none before it is needed."""

    def __init__(self, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
        self._seconds, self._act, self._slot = seconds, act, context.slot
        self._timer: ui.timer | None = None

    def run(self, *, on: bool) -> None:
        """Go on, beginning at once, or stop."""
        if self._timer is not None:
            self._timer.active = on
        elif on:
            with self._slot:
                self._timer = ui.timer(self._seconds, self._act)


def draw_when_opened(panel: ui.expansion, draw: Callable[[], None]) -> None:
    """Draw what is in a panel that most readers never open, once."""

    def open_first() -> None:
        if panel.default_slot.children:
            return
        with panel:
            draw()

    panel.on_value_change(open_first)


class Moment(ui.element, component="moment.js"):
    """A time as people say it, "2 minutes ago", as it goes on; pointed at, to the second in the reader's zone."""

    def __init__(self, moment: datetime) -> None:
        super().__init__()
        self._props["moment"] = moment.isoformat()


Fact = str | datetime | tuple[str, datetime]
"""Words, a time, or words with a {time} in them."""


def show_facts(*facts: Fact | None, classes: str = "text-xs opacity-70") -> None:
    """In one line, with dots between them; empty ones are left out."""
    said = ""
    with ui.element("div").classes(f"{classes} w-full break-words"):
        for number, fact in enumerate(one for one in facts if one):
            said += " · " if number else ""
            if isinstance(fact, str):
                said += fact
                continue
            words, moment = ("{time}", fact) if isinstance(fact, datetime) else fact
            before, _, after = words.partition("{time}")
            _show_words(said + before)
            Moment(moment)
            said = after
        _show_words(said)


def _show_words(words: str) -> None:
    if words:
        ui.label(words).classes("inline whitespace-pre-wrap")


def bytes_of(text: Texts, size: int) -> str:
    """12.3 MB: as files are spoken of."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{text.number(amount, int(unit != 'B'))} {unit}"
        amount /= 1000
    return f"{text.number(amount, 1)} GB"


def cost_of(text: Texts, usage: Mapping[str, Any] | None) -> str:
    """Tokens and money of calls of chat models, as far as they are known; "" where there was none."""
    tokens = usage.get("input_tokens", 0) + usage.get("output_tokens", 0) if usage else 0
    if not usage or not tokens:
        return ""
    cost = usage.get("cost")
    return text("ask.tokens", count=text.number(tokens)) + ("" if cost is None else f" · {text.number(cost, 4)}")
