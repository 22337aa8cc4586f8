"""A source for a collection is asked for and changed, and what becomes of its documents when it goes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from nicegui import ui

from cairn.domain.access import parse_readers, write_readers
from cairn.domain.connected_source import ConnectedSource, SourceWish
from cairn.errors import CairnError, InputError
from cairn.interfaces.web.frame import Page
from cairn.interfaces.web.texts import Texts
from cairn.service import sources
from cairn.service.sources import SourceChange

_EVERY: Final = {"ten_minutes": 600, "hour": 3600, "day": 86_400, "asked": 0}
"""Seconds between two synchronisations that are offered; others are for the command line and the API."""
_MULTILINE: Final = frozenset({"private_key", "service_account"})
"""Secrets that are files."""
_CHOOSING: Final = ("include", "exclude")
"""Options that every kind has: of which files."""


@dataclass
class _KindFields:
    """Fields for the options and secrets that the kind of an address takes, drawn anew where it is another kind. What was typed
    is kept while an address is retyped, which is of another kind or of none meanwhile, and given to whichever takes it, too.
    `kept`: its secrets are there, and stay where none is typed."""

    text: Texts
    options: dict[str, ui.input] = field(default_factory=dict)
    secrets: dict[str, ui.input | ui.textarea] = field(default_factory=dict)
    typed: dict[str, str] = field(default_factory=dict)
    kept: bool = False

    def draw(self) -> None:
        self._place = ui.column().classes("w-full gap-2")

    def suit(self, address: str) -> None:
        """Show what an address of this kind takes."""
        names = sources.list_fields(address)
        if names == (list(self.options), list(self.secrets)):
            return
        self.typed |= {name: one.value or "" for name, one in (self.options | self.secrets).items()}
        self.options, self.secrets = {}, {}
        self._place.clear()
        with self._place:
            with ui.row().classes("w-full gap-2"):
                for name in names[0]:
                    self.options[name] = ui.input(self.text(f"sources.option_{name}"), value=self.typed.get(name, ""))
                for name in names[1]:
                    self.secrets[name] = self._draw_secret(name, self.typed.get(name, ""))
                for one in (*self.options.values(), *self.secrets.values()):
                    one.classes("grow basis-40")
            if names[1]:
                ui.label(self.text("sources.secret_kept" if self.kept else "sources.secret_hint")).classes(
                    "text-xs opacity-70"
                )

    def _draw_secret(self, name: str, value: str) -> ui.input | ui.textarea:
        label = self.text(f"sources.secret_{name}")
        if name in _MULTILINE:
            return ui.textarea(label, value=value).props("autocomplete=off autogrow").classes("font-mono")
        return ui.input(label, password=True, value=value).props("autocomplete=new-password")

    @staticmethod
    def values(fields: dict[str, Any]) -> dict[str, str]:
        """What was typed, by name."""
        return {name: one.value for name, one in fields.items() if one.value}


class _Fields:
    """What is asked of a new source and of one that is changed alike; with `wish` as that has it."""

    def __init__(self, text: Texts, wish: SourceWish | None = None) -> None:
        self._text = text
        self._wish = wish or SourceWish("", interval_seconds=_EVERY["hour"])
        self.kind = _KindFields(text, typed=dict(self._wish.options), kept=wish is not None)

    def draw(self) -> None:
        """All but those of its kind, which stand elsewhere."""
        text, wish = self._text, self._wish
        offered = {seconds: text(f"sources.every_{name}") for name, seconds in _EVERY.items()}
        offered.setdefault(wish.interval_seconds, text("sources.every_other", seconds=wish.interval_seconds))
        self._every = ui.select(offered, value=wish.interval_seconds, label=text("sources.every")).classes("w-full")
        self._who = ui.textarea(text("access.readers"), value="\n".join(write_readers(wish.access)))
        self._who.classes("w-full font-mono").props("autogrow")
        ui.label(text("sources.readers_hint")).classes("text-xs opacity-70")
        with ui.expansion(text("sources.which")).classes("w-full").props("dense"):
            shown = {name: wish.options.get(name, "") for name in _CHOOSING}
            self._include = ui.input(text("sources.include"), value=shown["include"], placeholder="*.md, hr/**/*.pdf")
            self._exclude = ui.input(text("sources.exclude"), value=shown["exclude"], placeholder="drafts, *.tmp")
            for one in (self._include, self._exclude):
                one.classes("w-full").props("stack-label")
            with ui.row().classes("w-full gap-2"):
                share = round(100 * wish.most_deleted, 2)
                self._most = ui.number(text("sources.most_deleted"), value=share, min=0, max=100)
                self._rate = ui.number(text("sources.rate"), value=wish.requests_per_second, min=0)
                for number in (self._most, self._rate):
                    number.classes("grow basis-40")
            ui.label(text("sources.most_deleted_hint")).classes("text-xs opacity-70")
        self._shown = self.read()

    def read_changes(self) -> SourceChange:
        """What of it is other than was shown."""
        typed, shown = asdict(self.read()), asdict(self._shown)
        return SourceChange(**{name: value for name, value in typed.items() if value != shown[name]})

    def read(self) -> SourceChange:
        """What was typed. Options for which there is no field stay; secrets that nobody typed, too."""
        given = self.kind.values(self.kind.options)
        chosen = {
            name: one.value for name, one in (("include", self._include), ("exclude", self._exclude)) if one.value
        }
        shown = {*self.kind.options, *_CHOOSING}
        kept = {name: value for name, value in self._wish.options.items() if name not in shown}
        return SourceChange(
            options={**kept, **given, **chosen}, secrets=self.kind.values(self.kind.secrets) or None,
            interval_seconds=self._every.value, access=parse_readers((self._who.value or "").splitlines()),
            most_deleted=(self._most.value or 0) / 100, requests_per_second=self._rate.value or 0,
        )  # fmt: skip


async def _ask(title: str, done: str, page: Page, fill: Callable[[], None], act: Callable[[], Awaitable[None]]) -> bool:
    """A form until it is taken; False where the reader gives up. What is refused is said in the form, which stays as it is."""

    async def submit() -> None:
        try:
            await act()
        except CairnError as error:
            refused.text = error.detail
            refused.set_visibility(True)
        else:
            dialog.submit(True)

    with ui.dialog() as dialog, ui.card().classes("w-[32rem] max-w-full gap-2"):
        dialog.props["aria-label"] = title
        ui.label(title).classes("text-lg font-medium break-all").props("role=heading aria-level=2")
        fill()
        refused = ui.label().classes("text-sm text-negative break-words w-full").props("role=alert")
        refused.set_visibility(False)
        with ui.row().classes("w-full justify-end"):
            ui.button(page.text("documents.cancel"), on_click=lambda: dialog.submit(False)).props("flat no-caps")
            ui.button(done, on_click=submit).props("unelevated no-caps")
    taken = bool(await dialog)
    dialog.delete()
    return taken


async def add_source(page: Page, collection: str) -> bool:
    """Ask until one is added; False where the reader gives up."""
    text, fields = page.text, _Fields(page.text)
    inputs: dict[str, ui.input] = {}
    replaces: list[ui.checkbox] = []

    def fill() -> None:
        address = inputs["address"] = ui.input(
            text("sources.address"), placeholder="https://docs.example.org/sitemap.xml"
        ).classes("w-full")
        address.props("autofocus stack-label")
        address.on_value_change(lambda: fields.kind.suit(read("address")))
        ui.label(text("sources.address_hint")).classes("text-xs opacity-70")
        fields.kind.draw()
        inputs["prefix"] = ui.input(text("sources.prefix")).classes("w-full")
        fields.draw()
        replaces.append(ui.checkbox(text("sources.replace")))

    def read(name: str) -> str:
        return (inputs[name].value or "").strip()

    async def add() -> None:
        where = read("address")
        fields.kind.suit(where)
        asked = asdict(fields.read())
        secrets, _ = asked.pop("secrets"), asked.pop("paused")
        prefix = read("prefix") or sources.default_prefix(where)
        wish = SourceWish(where, prefix, replaces=replaces[0].value, **asked)
        await sources.add_source(await page.session.services("admin"), collection, wish, secrets)

    return await _ask(text("sources.add"), text("sources.follow"), page, fill, add)


async def edit_source(page: Page, source: ConnectedSource) -> bool:
    """Ask how a source is read from now on, and who may read it; whether it was changed."""
    text = page.text
    # somebody may have changed it since it was listed
    source = await sources.get_source(await page.session.services("admin"), source.id)
    fields = _Fields(text, source.wish)

    def fill() -> None:
        fields.kind.draw()
        fields.kind.suit(source.wish.address)
        fields.draw()

    async def change() -> None:
        services, changes = await page.session.services("admin"), fields.read_changes()
        now = (await sources.get_source(services, source.id)).wish
        if changes.access is not None and now.access != source.wish.access:
            raise InputError(text("sources.meanwhile", readers="; ".join(write_readers(now.access)) or "–"))
        if changes.access is not None and parse_readers(write_readers(now.access)) != now.access:
            raise InputError(
                "a folder of it is called as readers are, or ends in a blank: change its readers by the API"
            )
        if changes.options is not None:
            changes = replace(changes, options=_lay_over(now.options, source.wish.options, changes.options))
        await sources.change_source(services, source.id, changes)

    return await _ask(text("sources.edit", address=source.wish.address), text("documents.save"), page, fill, change)


def _lay_over(now: Mapping[str, str], shown: Mapping[str, str], typed: Mapping[str, str]) -> dict[str, str]:
    """Options as they are now, with those that were typed in the place of what was shown: others somebody may have changed."""
    changed = {name for name in {*shown, *typed} if shown.get(name) != typed.get(name)}
    kept = {name: value for name, value in now.items() if name not in changed}
    return kept | {name: typed[name] for name in changed if name in typed}


async def ask_what_stays(page: Page, source: ConnectedSource) -> bool | None:
    """Before a source is removed: whether its documents go, too; None where it stays."""
    text = page.text
    with ui.dialog() as dialog, ui.card().classes("w-[32rem] max-w-full"):
        dialog.props["aria-label"] = text("sources.remove", address=source.wish.address)
        ui.label(text("sources.remove_question", address=source.wish.address)).classes("break-words max-w-full")
        with ui.row().classes("w-full justify-end"):
            ui.button(text("documents.cancel"), on_click=lambda: dialog.submit(None)).props("flat no-caps autofocus")
            ui.button(text("sources.keep_documents"), on_click=lambda: dialog.submit(False)).props("flat no-caps")
            gone = ui.button(text("sources.delete_documents"), on_click=lambda: dialog.submit(True))
            gone.props("no-caps color=negative")
    answer = await dialog
    dialog.delete()
    return answer if isinstance(answer, bool) else None
