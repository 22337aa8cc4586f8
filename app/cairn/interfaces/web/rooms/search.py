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
    icon_button,
    keep_address,
    list_shown_names,
    read_address,
    show_empty,
)
from cairn.interfaces.web.prose import cut_around, find_words, show_text
from cairn.interfaces.web.viewer import ShownPlace, open_document
from cairn.service import search
from cairn.wiring import Services

PREVIEW = 400
"""Characters of a passage."""


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
        with ui.expansion(text("search.settings"), icon="tune").classes("w-full"):
            self.knobs[0].draw(self.page)
            self.compare = ui.switch(text("search.compare"), value=read_address("compare") == "1")
            with ui.column().bind_visibility_from(self.compare, "value"):
                self.knobs[1].draw(self.page)
        self.found = ui.element("div").classes("w-full grid gap-6 grid-cols-1").props("role=region aria-live=polite")
        if self.query:
            await self._search()
        else:
            with self.found:
                show_empty("search", text("search.empty_title"), text("search.empty_hint"))

    def _address(self) -> dict[str, str]:
        shown = {"q": self.query, "collection": self.collection, **self.knobs[0].address("")}
        return {**shown, "compare": "1", **self.knobs[1].address("b_")} if self.compare.value else shown

    def _share(self) -> None:
        keep_address(self._address())
        ui.run_javascript("navigator.clipboard?.writeText(location.href)")
        ui.notify(self.page.text("search.shared"))

    async def _search(self) -> None:
        both = self.knobs if self.compare.value else self.knobs[:1]
        self.found.clear()
        self.found.classes(replace="w-full grid gap-6 grid-cols-1" + (" lg:grid-cols-2" if len(both) > 1 else ""))
        with shown_errors():
            services = await self.page.session.services("read")
            settings, first = services.settings.current, None
            for knobs in both:  # one after the other: neither slows the other down
                request = knobs.request(settings, self.query, self.collection)
                result = await search.run_search(services, request)
                with self.found:
                    await _Column(self.page, self.query, result, first).draw(services)
                first = result
            keep_address(self._address())


@dataclass
class _Column:
    """One result. `beside`: the one that it is compared with."""

    page: Page
    query: str
    result: SearchResult
    beside: SearchResult | None

    async def draw(self, services: Services) -> None:
        text, result = self.page.text, self.result
        known = await load_shown(services, result.legs)
        with ui.column().classes("min-w-0 gap-2"):
            self._draw_summary()
            with ui.column().classes("w-full gap-0").props("role=list"):
                for rank, passage in enumerate(result.passages, 1):
                    self._draw_passage(rank, passage)
            if not result.passages:
                ui.label(text("search.nothing")).classes("py-4")
            if result.legs:
                candidates = Candidates(self.page, result.trace_id, result.legs, known)
                with ui.expansion(text("search.legs"), icon="view_column").classes("w-full"):
                    candidates.draw_legs()
                with ui.expansion(text("search.dropped"), icon="filter_alt").classes("w-full"):
                    candidates.draw_dropped()

    def _draw_summary(self) -> None:
        text, result = self.page.text, self.result
        facts = [
            text("search.found", count=len(result.passages), total=f"{result.visible_passages:,}"),
            f"{result.timings_ms.get('total', 0):.0f} ms",
            text("search.exact") if result.exact else text("search.approximate"),
            text("search.reranked", name=result.reranker) if result.reranker else text("search.not_reranked"),
            text("search.cached") if result.from_cache else "",
        ]
        ui.label(" · ".join(filter(None, facts))).classes("font-medium")
        stages = [f"{name} {ms:.1f} ms" for name, ms in result.timings_ms.items() if name != "total"]
        ui.label(" · ".join(stages)).classes("text-xs opacity-70 break-words")
        if result.weights:
            legs = " · ".join(f"{leg} {share:.2f}" for leg, share in result.weights.legs.items())
            ui.label(f"{result.weights.fusion}: {legs} ({result.weights.reason})").classes("text-xs opacity-70")
        sure = " · ".join(f"{leg} {value:.2f}" for leg, value in result.confidence.items())
        if sure:
            ui.label(text("search.confidence", legs=sure)).classes("text-xs opacity-70")
        for problem in result.degraded:
            ui.label(problem).classes(f"text-sm {BAD}")

    def _draw_passage(self, rank: int, passage: Passage) -> None:
        text, result_id = self.page.text, self.result.trace_id
        with ui.column().classes(f"w-full gap-0 py-2 {LINE}").props("role=listitem"):
            with ui.row().classes("w-full items-start gap-2 no-wrap"):
                ui.label(f"{rank}.").classes("font-bold")
                with ui.column().classes("grow gap-0 min-w-0"):
                    ui.label(passage.title).classes("font-medium break-words")
                    ui.label(" · ".join(self._place(passage))).classes("text-xs opacity-70 break-all")
                icon_button(
                    "help_outline", text("search.why"), partial(explain, self.page, result_id, passage.passage_id)
                )
                icon_button("open_in_full", text("documents.open"), lambda: self._open(passage))
            shown, marks = cut_around(passage.content, find_words(passage.content, self.query), PREVIEW)
            show_text(shown, marks=marks).classes("text-sm measure")
            ui.label(" · ".join(self._scores(rank, passage))).classes("text-xs")

    def _place(self, passage: Passage) -> list[str]:
        page = [self.page.text("search.page", page=passage.page)] if passage.page else []
        return [passage.external_id, *page, *passage.headings[-2:]]

    def _scores(self, rank: int, passage: Passage) -> list[str]:
        text = self.page.text
        parts = [text("search.score", score=f"{passage.score:.4f}")]
        parts += [f"{leg} #{place}" for leg, place in passage.ranks.items()]
        if passage.rerank_score is not None:
            parts.append(text("search.rerank_score", score=f"{passage.rerank_score:.4f}"))
        if self.beside is not None:
            before = [one.passage_id for one in self.beside.passages]
            at = before.index(passage.passage_id) + 1 if passage.passage_id in before else None
            if at is None:
                parts.append(text("search.only_here"))
            elif at != rank:
                parts.append(text("search.other_rank", rank=at))
        return parts

    async def _open(self, passage: Passage) -> None:
        span = passage.matched or (passage.start, passage.end)
        await open_document(
            self.page, ShownPlace(passage.document_id, span, passage.version, passage.content[:PREVIEW], passage.page)
        )
