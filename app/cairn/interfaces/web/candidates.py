"""What the legs of a search found and what became of it after fusion; of each passage, why it was returned or not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from nicegui import ui

from cairn.domain.passage import Passage
from cairn.domain.trace import LegTrace, StageVerdict
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import LINE, icon_button
from cairn.interfaces.web.texts import Texts
from cairn.service import search
from cairn.wiring import Services

LEG_SHOWN: Final = 10
"""Candidates of each leg."""
DROPPED_SHOWN: Final = 30


async def load_shown(services: Services, legs: Sequence[LegTrace]) -> Mapping[UUID, Passage]:
    """The passages that are shown by name."""
    return await search.load_passages(services, {key for leg in legs for key in leg.passage_ids[: 2 * DROPPED_SHOWN]})


async def explain(page: Page, run_id: UUID, passage: Passage | UUID) -> None:
    """Show why a run returned a passage or not: in a sentence of one that was returned, and stage by stage."""
    with shown_errors():
        services = await page.session.services("read")
        passage_id = passage if isinstance(passage, UUID) else passage.passage_id
        verdicts = await search.explain_passage(services, run_id, passage_id)
        sentence = "" if isinstance(passage, UUID) else _say_why(page.text, passage)
        _show_verdicts(page, sentence, verdicts, partial(_ask_for_others, page, run_id, passage_id))


async def _ask_for_others(page: Page, run_id: UUID, passage_id: UUID, principals: str) -> Sequence[StageVerdict]:
    """The same on behalf of who has these principals, with commas between them. Raises InputError, ForbiddenError."""
    services = await page.session.services("read")
    named = [one.strip() for one in principals.split(",") if one.strip()]
    return await search.explain_passage(services, run_id, passage_id, named)


def _say_why(text: Texts, passage: Passage) -> str:
    """What the searches thought of it, for people."""
    ranks = passage.ranks
    if len(ranks) > 1 and set(ranks.values()) == {1}:
        said = [text("search.both_first")]
    else:
        said = [text("search.placed", finder=text.say("finders", leg), rank=rank) for leg, rank in ranks.items()]
    return " ".join([*said, *([text("search.read_again")] if passage.rerank_score is not None else [])])


def _show_verdicts(
    page: Page,
    sentence: str,
    verdicts: Sequence[StageVerdict],
    ask: Callable[[str], Awaitable[Sequence[StageVerdict]]],
) -> None:
    """`ask`: the same for others, which who operates may."""

    async def ask_again() -> None:
        with shown_errors():
            told = await ask(others.value or "")
            listed.clear()
            with listed:
                _draw_verdicts(page, told)

    with ui.dialog() as dialog, ui.card().classes("max-w-2xl"):
        ui.label(page.text("search.why")).classes("text-lg font-medium").props("role=heading aria-level=2")
        if sentence:
            ui.label(sentence).classes("break-words")
            ui.label(page.text("search.stage_by_stage")).classes("text-sm font-medium mt-2")
        with ui.column().classes("w-full gap-0") as listed:
            _draw_verdicts(page, verdicts)
        if page.session.may("admin"):
            others = ui.input(page.text("access.on_behalf"), placeholder="person:ada, group:hr").classes("w-full")
            others.on("keydown.enter", ask_again)
        ui.button(page.text("documents.dismiss"), on_click=dialog.close).props("flat no-caps").classes("self-end")
    dialog.on("hide", dialog.delete)
    dialog.open()


def _draw_verdicts(page: Page, verdicts: Sequence[StageVerdict]) -> None:
    for one in verdicts:
        with ui.column().classes(f"w-full gap-0 pb-1 {LINE}"):
            numbers = [f"#{one.rank}"] if one.rank is not None else []
            numbers += [f"{one.score:.4f}"] if one.score is not None else []
            ui.label(" · ".join((page.text.say("stages", one.stage), *numbers))).classes("text-xs opacity-70")
            ui.label(one.verdict).classes("break-words")


@dataclass(frozen=True, slots=True)
class Candidates:
    """Of one run. `known`: the passages that are still there."""

    page: Page
    run_id: UUID
    legs: Sequence[LegTrace]
    known: Mapping[UUID, Passage]

    def draw_legs(self) -> None:
        """The best of each, side by side."""
        with ui.element("div").classes("w-full grid gap-4 grid-cols-1 md:grid-cols-3"):
            for leg in self.legs:
                if leg.leg.startswith(("fused", "merged")):
                    continue
                with ui.column().classes("gap-0 min-w-0"):
                    ui.label(f"{self._search(leg.leg)} ({len(leg.passage_ids)})").classes("font-bold")
                    columns = list(zip(leg.passage_ids, leg.scores, leg.shares, strict=True))[:LEG_SHOWN]
                    for rank, (key, score, share) in enumerate(columns, 1):
                        ui.label(f"{rank}. {self._name(key)}").classes("text-sm break-words")
                        numbers = self.page.text("search.leg_scores", score=f"{score:.4f}", share=f"{share:.4f}")
                        ui.label(numbers).classes("text-xs opacity-70")

    def draw_dropped(self) -> None:
        """What fusion had and the result has not."""
        text = self.page.text
        dropped = [
            (rank, key, fate)
            for leg in self.legs if leg.leg == "fused"
            for rank, (key, fate) in enumerate(zip(leg.passage_ids, leg.fates, strict=True), 1) if fate != "kept"
        ]  # fmt: skip
        for rank, key, fate in dropped[:DROPPED_SHOWN]:
            with ui.row().classes(f"w-full items-center gap-2 no-wrap {LINE}"):
                ui.label(f"{rank}. {self._name(key)}").classes("grow text-sm min-w-0 break-words")
                ui.label(text.say("fates", fate)).classes("text-xs opacity-70")
                icon_button("help_outline", text("search.why"), partial(explain, self.page, self.run_id, key))
        if len(dropped) > DROPPED_SHOWN:
            ui.label(text.count("search.more_dropped", len(dropped) - DROPPED_SHOWN)).classes("text-sm opacity-70")
        if not dropped:
            ui.label(text("search.none_dropped")).classes("text-sm")

    def _search(self, leg: str) -> str:
        """Of the n-th search of a run, from the second on, with its number."""
        name, _, number = leg.partition("#")
        return f"{self.page.text.say('finders', name)} {number}".strip()

    def _name(self, key: UUID) -> str:
        passage = self.known.get(key)
        return " › ".join((passage.title, *passage.headings[-1:])) if passage else str(key)
