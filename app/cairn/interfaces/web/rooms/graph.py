"""The room of the graph: entities, what is around one, the sentence behind each relation, ways between two, communities."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from nicegui import ui

from cairn.domain.graph import EntityKind, EntitySummary
from cairn.domain.graph_view import CommunitySummary, Proof, Relation
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.graph_picture import draw_graph
from cairn.interfaces.web.parts import (
    LINE,
    choose_from,
    icon_button,
    keep_address,
    list_shown_names,
    read_address,
    show_empty,
)
from cairn.interfaces.web.viewer import ShownPlace, open_document
from cairn.service import graph

ENTITIES_SHOWN: Final = 30
SECTIONS: Final[Mapping[str, Sequence[EntityKind]]] = {
    "people": ("person",), "organisations": ("organisation",), "places": ("place",), "others": ("name", "identifier"),
    "code": ("module", "class", "function", "method"),
}  # fmt: skip
"""What the list begins with, in this order."""
OF_A_SECTION: Final = 6
NEIGHBOURS_SHOWN: Final = 24
NEIGHBOURS_READ: Final = 80
"""Headings and phrases among them are drawn when they are asked for."""
ASIDE: Final = ("topic", "term")
COMMUNITIES_SHOWN: Final = 20
SECTIONS_FIRST: Final = frozenset({"person", "organisation", "place"})
MEMBERS: Final = 6
"""Sentences of a community."""


async def show(page: Page) -> None:
    """Draw it into the open frame."""
    services = await page.session.services("read")
    names, usual = await list_shown_names(services), services.settings.current.rag.collection_name
    if not names:
        show_empty("hub", page.text("ask.no_documents_title"), page.text("graph.no_documents_hint"))
        return
    room = _Room(page, choose_from(list(names), read_address("collection"), usual))
    await room.draw(names)


@dataclass
class _Room:
    page: Page
    collection: str

    async def draw(self, names: dict[str, str]) -> None:
        text = self.page.text
        ui.label(text("graph.purpose")).classes("opacity-80")
        self.tries = ui.row().classes("w-full items-center gap-2")
        with ui.row().classes("w-full items-center gap-2"):
            ui.select(
                {self.collection: self.collection} | names, value=self.collection, label=text("documents.collection"),
                on_change=lambda event: self._choose(event.value),
            ).classes("min-w-40")  # fmt: skip
            self.words = ui.input(text("graph.find"), on_change=self._list).props("clearable debounce=250")
            self.words.classes("grow min-w-48")
            self.words.on("keydown.enter", self._open_first)
            self.hops = ui.select({1: "1", 2: "2", 3: "3"}, value=1, label=text("graph.hops")).classes("w-44")
        with ui.row().classes("w-full items-center gap-2"):
            self.source = ui.input(text("graph.source"), value=read_address("from")).classes("grow min-w-40")
            self.target = ui.input(text("graph.target"), value=read_address("to")).classes("grow min-w-40")
            self.target.on("keydown.enter", self._connect)
            ui.button(text("graph.connect"), icon="route", on_click=self._connect).props("no-caps outline")
        with ui.element("div").classes("w-full grid gap-4 grid-cols-1 lg:grid-cols-[18rem_1fr]"):
            with ui.column().classes("gap-0 min-w-0 w-full"):
                self.entities = ui.column().classes("w-full gap-0 max-h-96 lg:max-h-[36rem] overflow-auto no-wrap")
                self.entities.props("role=list")
                self.everything = ui.checkbox(text("graph.everything"), on_change=self._list).classes("text-sm")
            self.stage = ui.column().classes("gap-3 min-w-0 w-full").props("role=region aria-live=polite")
        panel = ui.expansion(text("graph.communities"), icon="bubble_chart").classes("w-full")
        panel.on_value_change(lambda event: self._show_communities() if event.value else None)
        with panel:
            self.communities = ui.column().classes("w-full gap-2")
        await self._list()
        await self._suggest()
        if read_address("from") and read_address("to"):
            await self._connect()
        elif entity := read_address("entity"):
            await self._open(entity)

    async def _choose(self, name: str) -> None:
        self.collection = name
        keep_address({"collection": name})
        self.stage.clear()
        self.communities.clear()
        await self._list()
        await self._suggest()

    async def _suggest(self) -> None:
        """Two things to try, with names of the collection: the one most spoken of, and the two that words relate best."""
        text = self.page.text
        self.tries.clear()
        if not self.first:
            return
        with shown_errors():
            services = await self.page.session.services("read")
            detail = await graph.get_entity(services, str(self.first.id), self.collection, mentions=0, relations=20)
            related = [
                one for one in _typed_first(detail.relations) if {one.source.kind, one.target.kind}.isdisjoint(ASIDE)
            ]
            with self.tries:
                _suggestion(text("graph.try_one", name=self.first.name), partial(self._open, str(self.first.id)))
                if related:
                    source, target = related[0].source, related[0].target
                    _suggestion(
                        text("graph.try_two", source=source.name, target=target.name),
                        partial(self._relate, source.name, target.name),
                    )

    async def _relate(self, source: str, target: str) -> None:
        self.source.value, self.target.value = source, target
        await self._connect()

    # --- entities -----------------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        text = self.page.text
        with shown_errors():
            services = await self.page.session.services("read")
            words = self.words.value or ""
            sections: dict[str, list[EntitySummary]] = {}
            if words or self.everything.value:
                sections[""] = await graph.list_entities(
                    services, self.collection, text=words, everything=True, limit=ENTITIES_SHOWN
                )
            for name, kinds in SECTIONS.items() if not sections else ():
                sections[name] = await graph.list_entities(services, self.collection, kinds=kinds, limit=OF_A_SECTION)
            found = [one for section in sections.values() for one in section]
            self.first = max(found, key=lambda one: (one.kind in SECTIONS_FIRST, one.passage_count), default=None)
            self.entities.clear()
            with self.entities:
                for name, section in sections.items():
                    if name and section:
                        ui.label(text(f"graph.{name}")).classes("font-medium px-1 pt-2").props("role=presentation")
                    for one in section:
                        self._draw_entity(one)
                if not found and self.words.value:
                    ui.label(text("graph.none_found"))
                elif not found:
                    show_empty("hub", text("graph.empty_title"), text("graph.empty_hint"))

    def _draw_entity(self, one: EntitySummary) -> None:
        said = self.page.text.count("graph.entity", one.passage_count, kind=self.page.text.say("kinds", one.kind))
        with ui.column().classes(f"w-full gap-0 {LINE}").props("role=listitem"):
            opener = ui.button(one.name, on_click=partial(self._open, str(one.id)))
            opener.props("flat dense no-caps align=left").classes("max-w-full break-words text-left")
            ui.label(said).classes("text-xs opacity-70 px-1")

    async def _open_first(self) -> None:
        await self._list()
        if self.first:
            await self._open(str(self.first.id))

    # --- around one ---------------------------------------------------------------------------------------------------------

    async def _open(self, entity: str, aside: bool = False) -> None:
        """Draw what is around it; headings and phrases, too, with `aside`."""
        text = self.page.text
        with shown_errors():
            services = await self.page.session.services("read")
            found = await graph.get_neighborhood(
                services, entity, self.collection, hops=self.hops.value, limit=NEIGHBOURS_READ
            )
            detail = await graph.get_entity(services, entity, self.collection, mentions=0, relations=1)
            centre = found.places[0].entity
            keep_address({"collection": self.collection, "entity": centre.name})
            self.source.value = centre.name
            self.stage.clear()
            with self.stage:
                ui.label(centre.name).classes("text-xl break-words").props("role=heading aria-level=2")
                where = text.count("graph.entity", detail.passages, kind=text.say("kinds", centre.kind))
                where += f" {text.count('graph.of_documents', detail.documents)}"
                ui.label(f"{where} · {text.count('graph.connections', detail.relation_count)}").classes(
                    "text-sm opacity-70"
                )
                other = [name.name for name in detail.names if name.name != centre.name]
                if other:
                    ui.label(text("graph.other_names", names=", ".join(other[:10]))).classes("text-sm break-words")
                shown, left = _choose_relations(found.relations, centre, aside=aside)
                if left:
                    more = text("graph.hidden", count=left)
                    ui.button(more, on_click=partial(self._open, entity, True)).props("flat dense no-caps")
                if shown:
                    self._draw([centre], shown, centre)
                else:
                    ui.label(text("graph.alone"))
                if found.truncated:
                    ui.label(text("graph.truncated")).classes("text-sm opacity-70")

    def _draw(
        self, entities: Sequence[EntitySummary], relations: Sequence[Relation], centre: EntitySummary | None
    ) -> None:
        ends = {one.id: one for relation in relations for one in (relation.source, relation.target)}
        shown = list({one.id: one for one in (*entities, *ends.values())}.values())
        label = self.page.text("graph.picture", entities=len(shown), relations=len(relations))
        draw_graph(self.page.text, shown, relations, centre.id if centre else None, label, self._open, self._prove)
        with ui.column().classes("w-full gap-0").props("role=list"):
            for relation in relations:
                self._draw_relation(relation)

    def _draw_relation(self, relation: Relation) -> None:
        text, proof = self.page.text, relation.proof
        with ui.row().classes(f"w-full items-center gap-2 no-wrap {LINE}").props("role=listitem"):
            with ui.column().classes("grow gap-0 min-w-0"):
                ui.label(self._say(relation)).classes("break-words")
                ui.label(proof.quote).classes("text-sm opacity-80 break-words line-clamp-3")
                ui.label(text.count("graph.evidence", relation.evidence_count, title=proof.title)).classes(
                    "text-xs opacity-70 break-words"
                )
            icon_button("open_in_full", text("graph.proof"), partial(self._open_proof, proof))

    def _say(self, relation: Relation) -> str:
        return f"{relation.source.name} – {self.page.text.say('relations', relation.kind)} – {relation.target.name}"

    async def _prove(self, relation: Relation) -> None:
        text, proof = self.page.text, relation.proof
        with ui.dialog() as dialog, ui.card().classes("max-w-2xl"):
            ui.label(self._say(relation)).classes("font-medium").props("role=heading aria-level=2")
            ui.label(proof.quote).classes("break-words whitespace-pre-line")
            ui.label(text.count("graph.evidence", relation.evidence_count, title=proof.title)).classes(
                "text-xs opacity-70"
            )
            with ui.row().classes("w-full justify-end"):
                ui.button(text("documents.dismiss"), on_click=dialog.close).props("flat")
                ui.button(text("graph.proof"), on_click=partial(self._open_proof, proof)).props("no-caps")
        dialog.on("hide", dialog.delete)
        dialog.open()

    async def _open_proof(self, proof: Proof) -> None:
        place = ShownPlace(proof.document_id, (proof.start, proof.end), quote=proof.quote, page=proof.page)
        await open_document(self.page, place)

    # --- between two --------------------------------------------------------------------------------------------------------

    async def _connect(self) -> None:
        text = self.page.text
        if not (self.source.value and self.target.value):
            ui.notify(text("graph.name_two"))
            return
        with shown_errors():
            services = await self.page.session.services("read")
            found = await graph.get_paths(services, self.source.value, self.target.value, self.collection)
            keep_address({"collection": self.collection, "from": self.source.value, "to": self.target.value})
            self.stage.clear()
            with self.stage:
                heading = f"{found.source.name} – {found.target.name}"
                ui.label(heading).classes("text-xl break-words").props("role=heading aria-level=2")
                for number, way in enumerate(found.ways, 1):
                    along = " – ".join(one.name for one in way.entities)
                    ui.label(f"{number}. {along}").classes("break-words")
                if not found.ways:
                    ui.label(text("graph.no_way"))
                    return
                entities = {one.id: one for way in found.ways for one in way.entities}
                relations = {one.id: one for way in found.ways for one in way.relations}
                self._draw(list(entities.values()), list(relations.values()), None)

    # --- communities --------------------------------------------------------------------------------------------------------

    async def _show_communities(self) -> None:
        with shown_errors():
            services = await self.page.session.services("read")
            found, _ = await graph.list_communities(services, self.collection, limit=COMMUNITIES_SHOWN)
            self.communities.clear()
            with self.communities:
                for one in found:
                    self._draw_community(one)
                if not found:
                    ui.label(self.page.text("graph.no_communities"))

    def _draw_community(self, one: CommunitySummary) -> None:
        text = self.page.text
        with ui.column().classes(f"w-full gap-0 py-1 {LINE}"):
            ui.label(one.title).classes("font-medium break-words")
            ui.label(text("graph.community", size=one.size, level=one.level)).classes("text-xs opacity-70")
            if one.written:
                ui.label(one.written).classes("text-sm break-words")
            for sentence in one.sentences[:MEMBERS]:
                with ui.row().classes("w-full items-center no-wrap gap-1"):
                    ui.label(sentence.text).classes("text-sm grow break-words min-w-0")
                    place = ShownPlace(sentence.document_id, (sentence.start, sentence.end), quote=sentence.text)
                    icon_button("format_quote", text("graph.proof"), partial(open_document, self.page, place))


def _suggestion(said: str, act: Callable[[], Awaitable[None]]) -> None:
    ui.button(said, icon="north_east", on_click=act).props("outline no-caps").classes("max-w-full break-words")


def _typed_first(relations: Sequence[Relation]) -> list[Relation]:
    """What words state before what is only named together; in their order else."""
    return sorted(relations, key=lambda one: one.kind == "co_occurs")


def _choose_relations(
    relations: Sequence[Relation], centre: EntitySummary, *, aside: bool
) -> tuple[list[Relation], int]:
    """Those to be drawn, and how many are left out because a heading or a phrase is at their other end."""
    told = [
        one
        for one in relations
        if aside or all(end.kind not in ASIDE or end.id == centre.id for end in (one.source, one.target))
    ]
    return _typed_first(told)[:NEIGHBOURS_SHOWN], len(relations) - len(told)
