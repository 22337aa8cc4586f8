"""A source for a collection is asked for, and what becomes of its documents when it goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from nicegui import ui

from cairn.domain.connected_source import ConnectedSource, SourceWish
from cairn.errors import CairnError
from cairn.interfaces.web.access_form import list_readers
from cairn.interfaces.web.frame import Page
from cairn.interfaces.web.texts import Texts
from cairn.service import sources

_EVERY: Final = {"ten_minutes": 600, "hour": 3600, "day": 86_400, "asked": 0}
"""Seconds between two synchronisations that are offered; others are for the command line and the API."""
_MULTILINE: Final = frozenset({"private_key", "service_account"})
"""Secrets that are files."""


@dataclass
class _KindFields:
    """Fields for the options and secrets that the kind of an address takes, drawn anew where it is another kind. What was typed
    is kept while an address is retyped, which is of another kind or of none meanwhile, and given to whichever takes it, too."""

    text: Texts
    options: dict[str, ui.input] = field(default_factory=dict)
    secrets: dict[str, ui.input | ui.textarea] = field(default_factory=dict)
    typed: dict[str, str] = field(default_factory=dict)

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
                ui.label(self.text("sources.secret_hint")).classes("text-xs opacity-70")

    def _draw_secret(self, name: str, value: str) -> ui.input | ui.textarea:
        label = self.text(f"sources.secret_{name}")
        if name in _MULTILINE:
            return ui.textarea(label, value=value).props("autocomplete=off autogrow").classes("font-mono")
        return ui.input(label, password=True, value=value).props("autocomplete=new-password")

    @staticmethod
    def values(fields: dict[str, Any]) -> dict[str, str]:
        """What was typed, by name."""
        return {name: one.value for name, one in fields.items() if one.value}


async def add_source(page: Page, collection: str) -> bool:
    """Ask until one is added; False where the reader gives up. What is refused is said in the form, which stays as it is."""
    text = page.text
    fields = _KindFields(text)

    async def add() -> None:
        where = (address.value or "").strip()
        fields.suit(where)
        readers = list_readers(who.value or "")
        chosen = {name: one.value for name, one in (("include", include), ("exclude", exclude)) if one.value}
        wish = SourceWish(
            where, (prefix.value or "").strip() or sources.default_prefix(where),
            options={**fields.values(fields.options), **chosen}, interval_seconds=_EVERY[every.value],
            access={"": readers} if readers else {}, most_deleted=(most.value or 0) / 100,
            requests_per_second=rate.value or None, replaces=replace.value,
        )  # fmt: skip
        try:
            services = await page.session.services("admin")
            await sources.add_source(services, collection, wish, fields.values(fields.secrets))
        except CairnError as error:
            refused.text = error.detail
            refused.set_visibility(True)
        else:
            dialog.submit(True)

    with ui.dialog() as dialog, ui.card().classes("w-[32rem] max-w-full gap-2"):
        dialog.props["aria-label"] = text("sources.add")
        ui.label(text("sources.add")).classes("text-lg font-medium").props("role=heading aria-level=2")
        address = ui.input(text("sources.address"), placeholder="https://docs.example.org/sitemap.xml").classes(
            "w-full"
        )
        address.props("autofocus")
        address.on_value_change(lambda: fields.suit((address.value or "").strip()))
        ui.label(text("sources.address_hint")).classes("text-xs opacity-70")
        fields.draw()
        prefix = ui.input(text("sources.prefix")).classes("w-full")
        offered = {name: text(f"sources.every_{name}") for name in _EVERY}
        every = ui.select(offered, value="hour", label=text("sources.every"))
        every.classes("w-full")
        who = ui.textarea(text("access.readers")).classes("w-full font-mono").props("autogrow")
        ui.label(text("sources.readers_hint")).classes("text-xs opacity-70")
        with ui.expansion(text("sources.which")).classes("w-full").props("dense"):
            include = ui.input(text("sources.include"), placeholder="*.md, hr/**/*.pdf").classes("w-full")
            exclude = ui.input(text("sources.exclude"), placeholder="drafts, *.tmp").classes("w-full")
            with ui.row().classes("w-full gap-2"):
                most = ui.number(text("sources.most_deleted"), value=50, min=0, max=100).classes("grow basis-40")
                rate = ui.number(text("sources.rate"), min=0).classes("grow basis-40")
            ui.label(text("sources.most_deleted_hint")).classes("text-xs opacity-70")
            replace = ui.checkbox(text("sources.replace"))
        refused = ui.label().classes("text-sm text-negative break-words w-full").props("role=alert")
        refused.set_visibility(False)
        with ui.row().classes("w-full justify-end"):
            ui.button(text("documents.cancel"), on_click=lambda: dialog.submit(False)).props("flat no-caps")
            ui.button(text("sources.follow"), on_click=add).props("unelevated no-caps")
    added = bool(await dialog)
    dialog.delete()
    return added


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
