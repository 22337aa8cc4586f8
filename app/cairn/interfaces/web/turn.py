"""One question with its answer: what is done as it is done, the text as it is written, what answers first, its sources as chips,
and what the reader thinks of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from nicegui import ui

from cairn.domain.event import Answered, Cancelled, Event, Failed, Judgement, Progress, Token
from cairn.domain.question import SavedMessage, SourceRef
from cairn.interfaces.web.answer_card import AnswerCard, card_of
from cairn.interfaces.web.badge import show_worth
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import cost_of, icon_button
from cairn.interfaces.web.prose import render, show_answer
from cairn.interfaces.web.texts import Texts
from cairn.interfaces.web.viewer import SourcePanel, open_source
from cairn.service import runs
from cairn.service.ask import sources_of

REFRESH_SECONDS: Final = 0.1
"""Between two looks of a page at what has been said since."""
SHOWN_NUMBERS: Final = 6
"""Of citations of one place, on its chip."""
SHOWN_SOURCES: Final = 8
"""Sources that the answer does not cite."""


class ShownTurn:
    """Drawn where it is made. `panel`: where its sources are opened. `ask`: asks its question again."""

    def __init__(
        self, page: Page, question: str, panel: SourcePanel, collection: str, ask: Callable[[str], Awaitable[object]]
    ) -> None:
        self.page, self.question, self.panel, self.collection, self.ask = page, question, panel, collection, ask
        self._words: list[str] = []
        self._steps: list[str] = []
        self._stale = self._silent = False
        with ui.column().classes("w-full turn").props("role=group"):
            ui.label(question).classes("self-end question px-4 py-2 whitespace-pre-wrap break-words")
            self.body = ui.column().classes("card")
            self.body.set_visibility(False)

    # --- while it runs ------------------------------------------------------------------------------------------------------

    def begin(self, quote_instead: Callable[[], None], model: str) -> None:
        """Show what happens; `see` is told, and the reader sees it REFRESH_SECONDS later. `quote_instead`: wait for the chat
        model no longer, which is offered where it is silent. `model`: the chat model that may write, or ""."""
        text = self.page.text
        self.body.set_visibility(True)
        with self.body:
            with ui.row().classes("items-center gap-3 no-wrap w-full") as self.doing:
                ui.element("div").classes("stones").props("aria-hidden=true")
                with ui.column().classes("gap-0 min-w-0 grow").props("role=status"):
                    self.step = ui.label(text("ask.begins")).classes("text-sm break-words")
                    if model:
                        ui.label(text("ask.with_model", model=model)).classes("text-xs muted break-words")
                self.quote = ui.button(text("ask.quote_instead"), on_click=quote_instead).props("flat dense")
                self.quote.set_visibility(False)
            self.draft = ui.html("").classes("prose w-full draft")
            self.timer = ui.timer(REFRESH_SECONDS, self._refresh)

    def see(self, event: Event) -> None:
        """Take note of what the run said."""
        self._stale = True
        match event:
            case Progress(step=step):
                said = step_in_words(self.page.text, event)
                self._silent = self._silent or step == "silent"
                if not self._steps or self._steps[-1] != said:
                    self._steps.append(said)
            case Token(text=text):
                self._words.append(text)
                self._silent = False

    def _refresh(self) -> None:
        if not self._stale:
            return
        self._stale = False
        self.quote.set_visibility(self._silent)
        if self._steps:
            self.step.set_text(self._steps[-1])
        self.draft.set_content(render("".join(self._words)))

    def end(self, event: Event, run_id: UUID) -> None:
        """Show how the run ended."""
        self.timer.cancel()
        self.doing.delete()
        match event:
            case Answered(answer=answer):
                self.draft.delete()
                notes = {
                    "confidence": answer.confidence,
                    "confidence_word": answer.confidence_word,
                    "answered": answer.answered,
                    "grounded": answer.grounded,
                    "usage": answer.usage,
                    "written_by": answer.written_by,
                    "details": answer.model_failure.details if answer.model_failure else (),
                    "steps": self._steps,
                }
                remarks = [*answer.insufficiencies, *answer.remarks]
                self.show(answer.answer, sources_of(answer), notes, run_id, remarks)
            case Failed(error=error):
                self._refresh()
                self.fail(error.detail)
            case Cancelled():
                self._refresh()
                self.fail(self.page.text("ask.stopped"), stopped=True)

    def fail(self, why: str, *, stopped: bool = False) -> None:
        """That there is no answer, in one sentence, and a way on."""
        text = self.page.text
        self.body.set_visibility(True)
        self.body.classes(remove="card")
        with self.body, ui.element("div").classes("notice" if stopped else "notice bad").props("role=alert"):
            ui.icon("stop_circle" if stopped else "error_outline", size="sm").props("aria-hidden=true")
            with ui.column().classes("gap-1 min-w-0 grow"):
                if not stopped:
                    ui.label(text("ask.failed")).classes("font-semibold")
                ui.label(why).classes("break-words min-w-0")
            self._draw_again()

    def _draw_again(self) -> None:
        if self.page.session.may("ask"):
            ui.button(self.page.text("ask.again"), icon="refresh", on_click=self._ask_again).props("flat dense")

    async def _ask_again(self) -> None:
        await self.ask(self.question)

    # --- the answer ---------------------------------------------------------------------------------------------------------

    def show_saved(self, message: SavedMessage, judgement: Judgement | None) -> None:
        """The answer as the conversation remembers it, and what was thought of it."""
        notes = dict(message.notes)
        remarks = list(notes.get("remarks") or ([notes["model_failure"]] if notes.get("model_failure") else []))
        remarks += [self.page.text("ask.source_changed")] if message.source_changed else []
        if message.source_changed:
            notes["grounded"] = None
        notes["steps"] = [step_in_words(self.page.text, Progress(**one)) for one in notes.get("steps") or ()]
        content = message.turn.content or self.page.text("ask.blanked")
        self.show(content, message.turn.sources, notes, message.turn.run_id, remarks, judgement)

    def show(
        self,
        text: str,
        sources: tuple[SourceRef, ...],
        notes: Mapping[str, Any],
        run_id: UUID | None,
        remarks: list[str],
        judgement: Judgement | None = None,
    ) -> None:
        """`notes`: what a conversation keeps of an answer; `steps` in words, `details` of a failure of the model in those of its
        server. `remarks`: what a reader should know besides."""
        words = self.page.text
        refused = notes.get("answered") == "no" and bool(sources)  # else it asks back, or there are no documents
        self.body.set_visibility(True)
        with self.body:
            if refused:
                self._show_refusal(text, sources)
            else:
                with ui.element("div").classes("w-full answer").props("aria-live=polite"):
                    self._show_card(card_of(text, sources, notes), sources)
            for remark in (one for one in remarks if one not in text):
                with ui.row().classes("gap-2 no-wrap items-start text-sm muted remark"):
                    ui.icon("info", size="1.15rem").props("aria-hidden=true").classes("mt-0.5")
                    ui.label(remark).classes("break-words min-w-0")
            if not refused:
                with ui.row().classes("items-center gap-2 w-full"):
                    show_worth(
                        self.page, notes.get("answered"), notes.get("grounded"), notes.get("confidence_word"),
                        notes.get("confidence"),
                    )  # fmt: skip
                    self._show_sources(sources)
            with ui.row().classes("items-center gap-1 w-full foot") as foot:
                if run_id is not None:
                    Feedback(self.page, run_id, judgement).draw()
                copied = words("ask.copied")
                copy = icon_button("content_copy", words("ask.copy_answer"), lambda: ui.notify(copied, timeout=1500))
                copy.props("size=sm color=grey").props["data-said"] = text
                copy.on("click", js_handler=_COPY)
                if self.page.session.may("ask"):
                    icon_button("refresh", words("ask.again"), self._ask_again).props("size=sm color=grey")
            self._show_details(notes, foot)

    def _show_card(self, card: AnswerCard, sources: tuple[SourceRef, ...]) -> None:
        """What answers, and what stands around it."""
        text = self.page.text
        copy = text("ask.copy"), text("ask.copied")
        show = partial(show_answer, sources=sources, open_source=self._open, copy=copy)
        if card.value:
            show(card.value).classes("value")
        if card.about:
            ui.label(card.about).classes("muted about break-words")
        if card.lead:
            show(card.lead).classes("lead")
        if card.body:
            around = show(card.body, marks=card.marks)
            if card.lead or card.value:
                around.classes("around")
            if card.folded:
                self._fold(around)
        if card.also:
            others = tuple(
                replace(source, cited=True) for source in sources
            )  # what else may answer is not cited, and is named
            also = show(card.also, sources=others).classes("around")
            if card.also_folded:
                self._fold(also)

    def _fold(self, around: ui.html) -> None:
        """Only its beginning, and a button for the rest."""
        around.classes("folded")
        text = self.page.text
        more = ui.button(text("ask.show_more"), icon="expand_more").props("flat dense aria-expanded=false")
        more.classes("self-start more")

        def toggle() -> None:
            around.classes(toggle="folded")
            folded = "folded" in around.classes
            more.set_text(text("ask.show_more" if folded else "ask.show_less"))
            more.props(f"icon={'expand_more' if folded else 'expand_less'} aria-expanded={str(not folded).lower()}")

        more.on_click(toggle)

    def _show_refusal(self, text: str, sources: tuple[SourceRef, ...]) -> None:
        """Not a failure: the documents were read, and it is not in them. With what to do now."""
        words = self.page.text
        self.body.classes("refusal")
        with ui.element("div").classes("notice plain"):
            ui.icon("search_off", size="sm").props("aria-hidden=true")
            with ui.column().classes("gap-2 min-w-0 grow"):
                ui.label(words("ask.refused")).classes("font-semibold")
                with ui.element("div").classes("answer").props("aria-live=polite"):
                    show_answer(text, tuple(replace(one, cited=True) for one in sources), self._open)
                with ui.row().classes("gap-2"):
                    address = urlencode({"collection": self.collection, "q": self.question})
                    ui.button(
                        words("ask.search_instead"),
                        icon="search",
                        on_click=lambda: ui.navigate.to(f"/search?{address}"),
                    ).props("outline dense").classes("px-3")
        self._show_sources(sources, words("ask.nearest"))

    async def _open(self, source: SourceRef) -> None:
        await open_source(self.page, source, self.panel)

    def _show_sources(self, sources: tuple[SourceRef, ...], told: str = "") -> None:
        """Chips: those that the answer cites, and behind a word what was read besides; of a refusal, all of them."""
        cited = [source for source in sources if source.cited]
        others = [source for source in sources if not source.cited][:SHOWN_SOURCES]
        words = self.page.text
        with ui.row().classes("gap-2 items-center min-w-0"):
            if told:
                ui.label(told).classes("text-sm muted")
            chips = ui.row().classes("gap-2 items-center min-w-0").props("role=list")
            more = ui.button(words.count("ask.read_besides", len(others))).props("flat dense aria-expanded=false")
            more.classes("more").set_visibility(bool(others) and not told)
        chips.set_visibility(bool(cited or told))  # a list of nothing is none
        with chips:
            for alike in _by_place(cited):
                self._draw_source(*alike)
            for source in _one_each(others)[:3] if told else ():
                self._draw_source(source)

        def unfold() -> None:
            more.delete()
            chips.set_visibility(True)
            with chips:
                for alike in _by_place(others):
                    self._draw_source(*alike)

        more.on_click(unfold)

    def _draw_source(self, source: SourceRef, *alike: SourceRef) -> None:
        """A chip; `alike`: further ones of the same place, whose numbers it has as well."""
        words = self.page.text
        name = source.title or source.filename or words("ask.deleted")
        label = words("ask.open_source", number=source.n, title=name)
        with ui.element("div").classes("min-w-0").props("role=listitem"):
            chip = ui.button(on_click=lambda: self._open(source), color=None).props("flat dense padding=none")
        chip.classes("chip" if source.cited else "chip besides").props["aria-label"] = label
        with chip:
            if source.cited:
                for one in (source, *alike)[:SHOWN_NUMBERS]:
                    ui.label(str(one.n)).classes("number")
            ui.label(name).classes("name")
            if source.page:
                ui.label(words("viewer.page", page=source.page)).classes("place")
        place = source.url or source.filename
        if place and place != name:
            chip.tooltip(place)

    def _show_details(self, notes: Mapping[str, Any], foot: ui.row) -> None:
        """Behind a word: what was done, what a model's server said; in sight, which model wrote and what it cost."""
        text, steps, details = self.page.text, notes.get("steps") or (), notes.get("details") or ()
        written_by, cost = notes.get("written_by"), cost_of(text, notes.get("usage"))
        with foot:
            if steps or details:
                more = ui.button(text("ask.details"), icon="expand_more").props("flat dense aria-expanded=false")
                more.classes("more")
            if written_by or cost:
                ui.label(" · ".join(filter(None, (written_by, cost)))).classes("text-xs muted break-words ml-2")
        if not steps and not details:
            return
        with ui.column().classes("w-full gap-2 text-sm details") as shown:
            for detail in details:
                ui.label(detail).classes("break-words")
            with ui.element("ol").classes("list-decimal pl-6"):
                for said in steps:
                    with ui.element("li"):
                        ui.label(said).classes("break-words")
        shown.set_visibility(False)

        def toggle() -> None:
            shown.set_visibility(not shown.visible)
            open_now = str(shown.visible).lower()
            more.props(f"icon={'expand_less' if shown.visible else 'expand_more'} aria-expanded={open_now}")

        more.on_click(toggle)


_COPY: Final = """(event) => {
  const said = event.currentTarget.dataset.said;
  if (navigator.clipboard) { navigator.clipboard.writeText(said); return; }
  const box = Object.assign(document.createElement('textarea'), {value: said});
  document.body.append(box); box.select(); document.execCommand('copy'); box.remove();
}"""
"""Also where the page does not come over TLS, and browsers keep the clipboard back."""


def _one_each(sources: list[SourceRef]) -> list[SourceRef]:
    """The first of each document."""
    found: dict[UUID, SourceRef] = {}
    for source in sources:
        found.setdefault(source.document_id, source)
    return list(found.values())


def _by_place(sources: list[SourceRef]) -> list[list[SourceRef]]:
    """Those of one page of one document together, in order."""
    found: dict[tuple[UUID, int | None, str | None], list[SourceRef]] = {}
    for source in sources:
        found.setdefault((source.document_id, source.page, source.url), []).append(source)
    return list(found.values())


COUNTED: Final = {
    "generate": ("doing_generate", "passages"), "grade": ("doing_grade", "passages"),
    "observing": ("doing_observing", "passages"),
    "hallucination": ("doing_hallucination", "sources"), "decompose": ("doing_decompose", "parts"),
    "summarize": ("doing_summarize", "parts"),
}  # fmt: skip
"""Steps that say of how many things they are: their text, and by which of their numbers."""


def step_in_words(text: Texts, step: Progress) -> str:
    """What a step does, in the reader's language; in English, in which steps are told, with what it is about."""
    if step.step == "silent":
        return text("ask.silent", seconds=step.numbers.get("seconds", 0))
    if step.message and text.language == "en":
        return step.message
    name, counted = COUNTED.get(step.step, ("", ""))
    if (number := step.numbers.get(counted)) is not None:
        many = f"ask.{name}_{'one' if number == 1 else 'many'}"
        return text(many, count=text.number(number), done=step.numbers.get("read", 0))
    try:
        return text(f"ask.doing_{step.step}")
    except KeyError:  # of a strategy that a plug-in brings
        return step.message or step.step.replace("_", " ")


class Feedback:
    """Thumbs, and a comment."""

    def __init__(self, page: Page, run_id: UUID, judgement: Judgement | None) -> None:
        self.page, self.run_id = page, run_id
        self.rating = judgement.rating if judgement else 0
        self.comment = (judgement.comment if judgement else None) or ""

    def draw(self) -> None:
        if not self.page.session.may("ask"):
            return
        self.up = self._thumb("thumb_up", "ask.good", 1)
        self.down = self._thumb("thumb_down", "ask.bad", -1)
        self.said = self._button("add_comment", "ask.comment", self._comment)
        self._show()

    def _thumb(self, icon: str, label: str, rating: int) -> ui.button:
        async def rate() -> None:
            await self._store(0 if self.rating == rating else rating, self.comment)

        return self._button(icon, label, rate)

    def _button(self, icon: str, label: str, act: Callable[[], Awaitable[None]]) -> ui.button:
        return icon_button(icon, self.page.text(label), act).props("size=sm")

    async def _store(self, rating: int, comment: str) -> None:
        with shown_errors():
            await runs.rate_run(await self.page.session.services("ask"), self.run_id, rating, comment)
            self.rating, self.comment = rating, comment
            self._show()
            ui.notify(self.page.text("ask.thanks"), type="positive", timeout=2000)

    def _show(self) -> None:
        """What is stored."""
        for button, on in (
            (self.up, self.rating == 1),
            (self.down, self.rating == -1),
            (self.said, bool(self.comment)),
        ):
            button.props(f"aria-pressed={'true' if on else 'false'} color={'primary' if on else 'grey'}")

    async def _comment(self) -> None:
        text = self.page.text
        with ui.dialog() as dialog, ui.card().classes("w-96 max-w-full"):
            said = ui.textarea(text("ask.comment_hint")).props("autofocus autogrow maxlength=4000").classes("w-full")
            said.value = self.comment
            with ui.row().classes("w-full justify-end"):
                ui.button(text("ask.cancel"), on_click=lambda: dialog.submit(None)).props("flat")
                ui.button(text("ask.send_comment"), on_click=lambda: dialog.submit(said.value))
        comment = await dialog
        dialog.delete()
        if comment is not None:
            await self._store(self.rating, comment)
