"""The viewer of documents: the text with the quoted words marked and scrolled to, and the page of a PDF as a picture; over the
room, or in a panel beside it that stays."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from nicegui import ui

from cairn.domain.document import is_code_type
from cairn.domain.question import SourceRef
from cairn.errors import CairnError
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import download_link, icon_button
from cairn.interfaces.web.prose import show_code, show_text
from cairn.service import excerpts, originals
from cairn.service.excerpts import QuotedText

PDF = "application/pdf"
_TO_MARK = """() => {
  const mark = document.querySelector('.viewer mark, .viewer .spot'), within = mark?.closest('.scroller');
  if (within) within.scrollTop += mark.getBoundingClientRect().top - within.getBoundingClientRect().top - within.clientHeight / 3;
}"""
"""Within the viewer: the room behind it stays where it is."""
_TAKE_FOCUS = f"""setTimeout(() => {{
  const panel = document.querySelector('.panel');
  if (!panel.contains(document.activeElement)) window.openedFrom = document.activeElement;
  panel.focus({{preventScroll: true}});
  ({_TO_MARK})();
}}, 50)"""
"""The keyboard goes on in the panel, and back to where it was opened from when it closes."""


@dataclass(frozen=True, slots=True)
class ShownPlace:
    """What to open. `span`: code points of the text of `version`, which `quote` begins; None: the document's beginning.
    `page`: of a PDF, where the span begins."""

    document_id: UUID
    span: tuple[int, int] | None = None
    version: int | None = None
    quote: str = ""
    page: int | None = None


def place_of(source: SourceRef) -> ShownPlace:
    return ShownPlace(source.document_id, (source.start, source.end), source.version, source.preview, source.page)


async def open_source(page: Page, source: SourceRef, panel: SourcePanel | None = None) -> None:
    """Show what an answer cites, in the panel where there is one; a web page opens in a window of its own."""
    if source.url:
        ui.navigate.to(source.url, new_tab=True)
    elif source.deleted:
        ui.notify(page.text("viewer.deleted"))
    elif panel is not None:
        await panel.show(place_of(source))
    else:
        await open_document(page, place_of(source))


async def open_document(page: Page, place: ShownPlace) -> None:
    """Show a document at a place, over the room."""
    with shown_errors():
        excerpt = await _read(page, place)
        with ui.dialog() as dialog, ui.card().classes("viewer w-full max-w-5xl h-full no-wrap gap-2 p-3 md:p-4"):
            dialog.props["aria-label"] = excerpt.document.title
            viewer = _Viewer(page, place, excerpt, dialog.close)
            viewer.draw()
        dialog.on("show", js_handler=_TO_MARK)
        dialog.on("hide", dialog.delete)
        dialog.open()
        await viewer.begin()


async def _read(page: Page, place: ShownPlace) -> QuotedText:
    services = await page.session.services("read")
    return await excerpts.read_excerpt(
        services, place.document_id, place.span, version=place.version, quote=place.quote
    )


class SourcePanel:
    """Beside the room while one reads on; it covers the room on a narrow screen. Drawn where it is made."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.body = ui.column().classes("viewer panel gap-2 no-wrap")
        self.body.props("role=complementary tabindex=-1").on("keydown.escape", self.close)
        self.body.props["aria-label"] = page.text("ask.sources")
        self.body.set_visibility(False)

    async def show(self, place: ShownPlace) -> None:
        """Raises nothing: what goes wrong is told."""
        with shown_errors():
            excerpt = await _read(self.page, place)
            self.body.clear()
            self.body.set_visibility(True)
            with self.body:
                viewer = _Viewer(self.page, place, excerpt, self.close)
                viewer.draw(self._enlarge(place))
            ui.run_javascript(_TAKE_FOCUS)
            await viewer.begin()

    def _enlarge(self, place: ShownPlace) -> Callable[[], None]:
        async def enlarge() -> None:
            await open_document(self.page, place)

        def draw() -> None:
            icon_button("open_in_full", self.page.text("viewer.larger"), enlarge).classes("max-lg:hidden")

        return draw

    def close(self) -> None:
        self.body.set_visibility(False)
        self.body.clear()
        ui.run_javascript("window.openedFrom?.focus()")


@dataclass
class _Viewer:
    page: Page
    place: ShownPlace
    excerpt: QuotedText
    close: Callable[[], object]
    shown_page: int = field(init=False)
    pages: int = 0
    """Of a PDF; 0 until a page was drawn."""

    def __post_init__(self) -> None:
        self.shown_page = self.place.page or 1

    def draw(self, more: Callable[[], None] | None = None) -> None:
        """`more` draws further buttons."""
        document, text = self.excerpt.document, self.page.text
        with ui.row().classes("w-full items-start no-wrap gap-1"):
            with ui.column().classes("gap-0 min-w-0 grow"):
                ui.label(document.title).classes("text-lg break-words").props("role=heading aria-level=2")
                ui.label(self._about()).classes("text-xs muted break-words max-w-full")
            if document.has_file:
                download_link(document, self.excerpt.collection, text("documents.download"))
            if more:
                more()
            close = ui.button(icon="close", on_click=self.close).props("flat round dense autofocus")
            close.props["aria-label"] = text("viewer.close")
        if self.excerpt.moved:
            told = "viewer.changed" if self.excerpt.marked else "viewer.gone"
            with ui.element("div").classes("notice text-sm"):
                ui.icon("info").props("aria-hidden=true")
                ui.label(text(told))
        if document.media_type == PDF:
            self._draw_tabs()
        else:
            self._draw_text()

    async def begin(self) -> None:
        """Once it is drawn: the page of a PDF."""
        if self.excerpt.document.media_type == PDF:
            await self._draw_page()

    def _about(self) -> str:
        document, text = self.excerpt.document, self.page.text
        parts = [document.external_id, self.excerpt.collection, text("viewer.version", version=document.version)]
        if self.place.page:
            parts.append(text("viewer.page", page=self.place.page))
        return " · ".join(dict.fromkeys(parts))

    # --- the text -----------------------------------------------------------------------------------------------------------

    def _draw_text(self) -> None:
        with (
            ui.element("div")
            .classes("w-full grow overflow-auto min-h-0 scroller")
            .props("tabindex=0 role=document") as self.body
        ):
            self._fill()

    def _fill(self) -> None:
        excerpt, text = self.excerpt, self.page.text
        if excerpt.offset:
            self._show_more(text("viewer.left_out", count=excerpt.offset))
        show = show_code if is_code_type(excerpt.document.media_type) else show_text
        show(excerpt.text, marks=[excerpt.marked] if excerpt.marked else ()).classes("measure")
        left = excerpt.length - excerpt.offset - len(excerpt.text)
        if left:
            self._show_more(text("viewer.left_out", count=left))
        if not excerpt.length:
            ui.label(text("viewer.empty")).classes("opacity-70")

    def _show_more(self, told: str) -> None:
        ui.button(told, icon="unfold_more", on_click=self._read_more).props("flat dense no-caps")

    async def _read_more(self) -> None:
        with shown_errors():
            services = await self.page.session.services("read")
            self.excerpt = await excerpts.read_excerpt(
                services, self.place.document_id, self.place.span, version=self.place.version, quote=self.place.quote,
                around=2 * len(self.excerpt.text),
            )  # fmt: skip
            self.body.clear()
            with self.body:
                self._fill()

    # --- the page of a PDF --------------------------------------------------------------------------------------------------

    def _draw_tabs(self) -> None:
        text = self.page.text
        with ui.tabs().props("dense no-caps align=left").classes("w-full") as tabs:
            as_page = ui.tab("page", label=text("viewer.as_page"), icon="picture_as_pdf")
            ui.tab("text", label=text("viewer.as_text"), icon="notes")
        with ui.tab_panels(tabs, value=as_page, animated=False).classes("w-full grow min-h-0"):
            with ui.tab_panel(as_page).classes("p-0 h-full column no-wrap"):
                with ui.row().classes("items-center gap-1 self-center"):
                    self.back = self._turn(-1, "chevron_left", "viewer.page_before")
                    self.number = ui.label().classes("text-sm").props("aria-live=polite")
                    self.forth = self._turn(1, "chevron_right", "viewer.page_after")
                with ui.element("div").classes("w-full grow overflow-auto min-h-0 scroller").props("tabindex=0"):
                    self.sheet = ui.element("div").classes("relative w-full max-w-3xl mx-auto")
            with ui.tab_panel("text").classes("p-0 h-full column no-wrap"):
                self._draw_text()
        tabs.on("update:model-value", js_handler=f"() => setTimeout({_TO_MARK}, 50)")

    def _turn(self, by: int, icon: str, label: str) -> ui.button:
        async def turn() -> None:
            if 1 <= self.shown_page + by <= self.pages:  # whoever clicks quickly is ahead of what the button knows
                self.shown_page += by
                await self._draw_page()

        button = ui.button(icon=icon, on_click=turn).props("flat round dense")
        button.disable()
        button.props["aria-label"] = self.page.text(label)
        return button

    async def _draw_page(self) -> None:
        """The page that is shown now, and the marks on it; why not, where there is no picture. Of a page that was turned
        meanwhile, nothing."""
        document, span, number = self.excerpt.document, self._span(), self.shown_page
        where = (self.excerpt.collection, document.id, number)
        self.sheet.clear()
        with self.sheet:
            ui.spinner(size="lg").classes("m-8")
        try:
            services = await self.page.session.services("read")
            picture = await originals.draw_page(services, *where)
            marks = await originals.find_marks(services, *where, *span) if span else ()
        except CairnError as error:
            if number != self.shown_page:
                return
            self.sheet.clear()
            with self.sheet:
                ui.label(error.detail).classes("p-4 opacity-80")
            self._show_place()
            return
        if number != self.shown_page:
            return
        self.sheet.clear()
        with self.sheet:
            image = (
                ui.element("img")
                .classes("w-full block bg-white")
                .style(f"aspect-ratio: {picture.width} / {picture.height}")
            )
            image.props["src"] = f"data:image/png;base64,{base64.b64encode(picture.png).decode()}"
            image.props["alt"] = self.page.text("viewer.picture", page=number, title=document.title)
            for mark in marks:
                ui.element("div").classes("spot").style(
                    f"left: {mark.left:.3%}; top: {mark.top:.3%}; width: {mark.width:.3%}; height: {mark.height:.3%}"
                )
        self.pages = picture.pages
        self._show_place()
        ui.run_javascript(f"setTimeout({_TO_MARK}, 50)")

    def _show_place(self) -> None:
        """Which page it is, and where one can go from there."""
        number, pages = self.shown_page, self.pages
        self.number.set_text(self.page.text("viewer.page_of", page=number, pages=pages) if pages else "")
        self.back.set_enabled(1 < number <= pages)
        self.forth.set_enabled(number < pages)

    def _span(self) -> tuple[int, int] | None:
        """Of the quotation in the text of today."""
        if self.excerpt.marked is None:
            return None
        start, end = self.excerpt.marked
        return self.excerpt.offset + start, self.excerpt.offset + end
