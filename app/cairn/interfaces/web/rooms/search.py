"""The room of searches: what was found and how, stage by stage, and the same query under two settings side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from nicegui import ui

from cairn.domain.passage import Passage, SearchResult
from cairn.interfaces.web.candidates import Candidates, explain, load_shown
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.knobs import Knobs
from cairn.interfaces.web.parts import (
    BAD,
    LINE,
    choose_from,
    draw_when_opened,
    icon_button,
    keep_address,
    list_shown_names,
    read_address,
    show_empty,
)
from cairn.interfaces.web.prose import cut_around, find_words, show_text
from cairn.interfaces.web.texts import Texts
from cairn.interfaces.web.viewer import ShownPlace, open_document
from cairn.service import search
from cairn.wiring import Services

PREVIEW = 400
"""Characters of a passage by which it is found again."""


async def show(page: Page) -> None:
    """Draw it into the open frame."""
    services = await page.session.services("read")
    names, usual = await list_shown_names(services), services.settings.current.rag.collection_name
    room = _Room(page, choose_from(list(names), read_address("collection"), usual), read_address("q"))
    await room.draw(names)


@dataclass
class _Room:
    page: Page
    collection: str
    query: str
    knobs: list[Knobs] = field(default_factory=list)
    compared: bool = False

    async def draw(self, names: dict[str, str]) -> None:
        text = self.page.text
        self.knobs = [Knobs.read(""), Knobs.read("b_")]
        with ui.row().classes("w-full items-center gap-2"):
            ui.select(
                {self.collection: self.collection} | names, label=text("documents.collection"), with_input=True
            ).bind_value(self, "collection").classes("min-w-40")
            asked = ui.input(text("search.query"), placeholder=text("search.hint")).bind_value(self, "query")
            asked.classes("grow min-w-60").props("autofocus").on("keydown.enter", self._search)
            ui.button(text("frame.search"), icon="search", on_click=self._search).props("no-caps")
            icon_button("link", text("search.share"), self._share)
        self.compared = read_address("compare") == "1"
        panel = ui.expansion(text("search.settings"), icon="tune").classes("w-full")
        draw_when_opened(panel, self._draw_settings)
        self.found = ui.element("div").classes("w-full flex flex-col gap-4").props("role=region aria-live=polite")
        if self.query:
            await self._search()
        else:
            with self.found:
                show_empty("search", text("search.empty_title"), text("search.empty_hint"))

    def _draw_settings(self) -> None:
        self.knobs[0].draw(self.page)
        compare = ui.switch(self.page.text("search.compare")).bind_value(self, "compared")
        with ui.column().bind_visibility_from(compare, "value"):
            self.knobs[1].draw(self.page)

    def _address(self) -> dict[str, str]:
        shown = {"q": self.query, "collection": self.collection, **self.knobs[0].address("")}
        return {**shown, "compare": "1", **self.knobs[1].address("b_")} if self.compared else shown

    def _share(self) -> None:
        keep_address(self._address())
        ui.run_javascript("navigator.clipboard?.writeText(location.href)")
        ui.notify(self.page.text("search.shared"))

    async def _search(self) -> None:
        text, both = self.page.text, self.knobs if self.compared else self.knobs[:1]
        self.found.clear()
        if not self.query.strip():
            return
        with shown_errors():
            services = await self.page.session.services("read")
            settings = services.settings.current
            results = []
            for knobs in both:  # one after the other: neither slows the other down
                request = knobs.request(settings, self.query, self.collection)
                results.append(await search.run_search(services, request))
            keep_address(self._address())
            with self.found:
                if len(results) == 1:
                    await _Column(self.page, self.query, results[0]).draw(services)
                    return
                first, other = results
                ui.label(_say_moves(text, first, other)).classes("font-medium break-words")
                with ui.element("div").classes("w-full grid gap-6 grid-cols-1 lg:grid-cols-2"):
                    for result, beside, key, knobs, others in (
                        (first, other, "search.first_settings", both[0], both[1]),
                        (other, first, "search.other_settings", both[1], both[0]),
                    ):
                        told = text(key), knobs.describe(text, others)
                        await _Column(self.page, self.query, result, beside, told).draw(services)


def _say_moves(text: Texts, first: SearchResult, other: SearchResult) -> str:
    """What became of the passages of one in the other."""
    before, after = ([one.passage_id for one in result.passages] for result in (first, other))
    both = set(before) & set(after)
    same = sum(one == two for one, two in zip(before, after, strict=False))
    return text(
        "search.moves", first=len(before), other=len(after), same=same, moved=len(both) - same,
        left=len(before) - len(both), right=len(after) - len(both),
    )  # fmt: skip


@dataclass
class _Column:
    """One result. `beside`: the one that it is compared with; `told`: by which settings it was found."""

    page: Page
    query: str
    result: SearchResult
    beside: SearchResult | None = None
    told: tuple[str, str] | None = None

    async def draw(self, services: Services) -> None:
        text, result = self.page.text, self.result
        with ui.column().classes("min-w-0 w-full gap-2"):
            if self.told:
                ui.label(self.told[0]).classes("text-lg font-medium").props("role=heading aria-level=2")
                ui.label(self.told[1]).classes("text-sm opacity-70 break-words")
            for problem in result.degraded:
                ui.label(problem).classes(f"text-sm {BAD}").props("role=alert")
            if result.passages:
                said = text.count("search.found", result.visible_passages, best=len(result.passages))
                ui.label(said).classes("text-sm opacity-70")
            with ui.column().classes("w-full gap-0").props("role=list"):
                for rank, passage in enumerate(result.passages, 1):
                    self._draw_passage(rank, passage)
            if not result.passages:
                ui.label(text("search.nothing")).classes("py-4")
            if result.legs:
                known = await load_shown(services, result.legs)
                with ui.expansion(text("search.order"), icon="help_outline").classes("w-full"):
                    self._draw_order(Candidates(self.page, result.trace_id, result.legs, known))

    def _draw_passage(self, rank: int, passage: Passage) -> None:
        text, result_id = self.page.text, self.result.trace_id
        with ui.column().classes(f"w-full gap-1 py-3 {LINE}").props("role=listitem"):
            with ui.row().classes("w-full items-start gap-2 no-wrap"):
                ui.label(f"{rank}.").classes("opacity-70 w-6 shrink-0")
                with ui.column().classes("grow gap-0 min-w-0"):
                    title = ui.label(passage.title).classes("font-medium break-words cursor-pointer hover:underline")
                    title.props("role=link tabindex=0").on("click", partial(self._open, passage))
                    title.on("keydown.enter", partial(self._open, passage))
                    ui.label(" · ".join(self._place(passage))).classes("text-xs opacity-70 break-words")
                if self.beside is not None:
                    self._draw_move(rank, passage, self.beside)
                icon_button("help_outline", text("search.why"), partial(explain, self.page, result_id, passage))
            with ui.element("div").classes("pl-8"):
                shown, marks = cut_around(passage.content, find_words(passage.content, self.query), PREVIEW)
                show_text(shown, marks=marks).classes("text-sm measure")

    def _draw_move(self, rank: int, passage: Passage, beside: SearchResult) -> None:
        """Where it stands by the other settings."""
        text = self.page.text
        others = [one.passage_id for one in beside.passages]
        at = others.index(passage.passage_id) + 1 if passage.passage_id in others else None
        if at is None:
            icon, said = "add_circle_outline", text("search.only_here")
        elif at == rank:
            icon, said = "drag_handle", text("search.same_place")
        else:
            icon = "arrow_upward" if at > rank else "arrow_downward"
            said = text("search.up" if at > rank else "search.down", count=abs(at - rank))
        with ui.row().classes("items-center gap-1 no-wrap shrink-0 text-sm opacity-80"):
            ui.icon(icon).props("aria-hidden=true")
            ui.label(said)

    def _place(self, passage: Passage) -> list[str]:
        name = [passage.external_id] if passage.external_id != passage.title else []
        page = [self.page.text("search.page", page=passage.page)] if passage.page else []
        return [*name, *page, *(one for one in passage.headings[-2:] if one != passage.title)]

    def _draw_order(self, candidates: Candidates) -> None:
        """How it was found, for who wants to know."""
        text, result = self.page.text, self.result
        ui.label(text("search.exact") if result.exact else text("search.approximate")).classes("text-sm")
        reranked = text("search.reranked", name=result.reranker) if result.reranker else text("search.not_reranked")
        ui.label(reranked).classes("text-sm")
        if result.from_cache:
            ui.label(text("search.cached")).classes("text-sm")
        if result.weights:
            counted = {leg: share for leg, share in result.weights.legs.items() if share}
            shares = " · ".join(f"{text.say('finders', leg)} {share:.0%}" for leg, share in counted.items())
            by = text.say("merges", result.weights.fusion)
            ui.label(f"{text('search.counts_for', shares=shares)} ({by})").classes("text-sm break-words")
        if result.confidence:
            sure = " · ".join(f"{text.say('finders', leg)} {value:.2f}" for leg, value in result.confidence.items())
            ui.label(text("search.confidence", legs=sure)).classes("text-sm break-words")
        spent = [f"{text.say('stages', name)} {ms:.0f} ms" for name, ms in result.timings_ms.items() if name != "total"]
        total = f"{result.timings_ms.get('total', 0):.0f} ms"
        ui.label(f"{text('search.how_long')}: {total} ({' · '.join(spent)})").classes("text-sm break-words")
        with ui.expansion(text("search.legs"), icon="view_column").classes("w-full"):
            candidates.draw_legs()
        with ui.expansion(text("search.dropped"), icon="filter_alt").classes("w-full"):
            candidates.draw_dropped()

    async def _open(self, passage: Passage) -> None:
        span = passage.matched or (passage.start, passage.end)
        await open_document(
            self.page, ShownPlace(passage.document_id, span, passage.version, passage.content[:PREVIEW], passage.page)
        )
