"""One question with its answer: the steps as they happen, the text as it is written, the sources beside it, and what the reader
thinks of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from uuid import UUID

from nicegui import ui

from cairn.domain.answer import PROBABLE, ConfidenceWord
from cairn.domain.event import Answered, Cancelled, Event, Failed, Judgement, Progress, SourcesFound, Token
from cairn.domain.question import SavedMessage, SourceRef
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import cost_of
from cairn.interfaces.web.prose import show_answer
from cairn.interfaces.web.viewer import open_source
from cairn.language.lexicon import replies
from cairn.service import runs
from cairn.service.ask import sources_of

REFRESH_SECONDS: Final = 0.1
"""Between two looks of a page at what has been said since."""
WORD_COLORS: Final[Mapping[ConfidenceWord, str]] = {
    "found": "positive", "exact": "positive", "computed": "positive", "not_sure": "warning",
}  # fmt: skip
SHOWN_SOURCES: Final = 6
"""Sources at first that the answer does not cite."""


class ShownTurn:
    """Drawn where it is made."""

    def __init__(self, page: Page, question: str) -> None:
        self.page = page
        self._words: list[str] = []
        self._steps: list[str] = []
        self._found = 0
        self._stale = self._silent = False
        with ui.column().classes("w-full gap-2 turn").props("role=group"):
            ui.label(question).classes("self-end question rounded-xl px-3 py-2 whitespace-pre-wrap break-words")
            with ui.row().classes("w-full gap-4 items-start max-lg:flex-col no-wrap"):
                self.left = ui.column().classes("grow min-w-0 gap-2 max-lg:w-full")
                self.right = ui.column().classes("w-80 max-lg:w-full shrink-0 gap-1")

    # --- while it runs ------------------------------------------------------------------------------------------------------

    def begin(self, quote_instead: Callable[[], None]) -> None:
        """Show what happens; `see` is told, and the reader sees it REFRESH_SECONDS later. `quote_instead`: wait for the chat
        model no longer, which is offered where it is silent."""
        with self.left:
            with ui.row().classes("items-center gap-2 opacity-80 no-wrap").props("role=status") as self.doing:
                ui.spinner(size="sm")
                self.step = ui.label(self.page.text("ask.begins")).classes("text-sm")
                self.quote = ui.button(self.page.text("ask.quote_instead"), on_click=quote_instead).props(
                    "flat dense no-caps"
                )
                self.quote.set_visibility(False)
            self.draft = ui.label().classes("whitespace-pre-wrap break-words w-full")
            self.timer = ui.timer(REFRESH_SECONDS, self._refresh)

    def see(self, event: Event) -> None:
        """Take note of what the run said."""
        self._stale = True
        match event:
            case Progress(message=message, step=step, numbers=numbers):
                said = message or step
                if step == "silent":
                    said, self._silent = self.page.text("ask.silent", seconds=numbers["seconds"]), True
                if not self._steps or self._steps[-1] != said:
                    self._steps.append(said)
            case SourcesFound(passages=passages):
                self._found = len(passages)
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
        self.draft.set_text("".join(self._words))

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
                }
                details = answer.model_failure.details if answer.model_failure else ()
                remarks = [*answer.insufficiencies, *answer.remarks]
                self.show(answer.answer, sources_of(answer), notes, run_id, remarks, details=details)
            case Failed(error=error):
                self._refresh()
                self.fail(error.detail)
            case Cancelled():
                self._refresh()
                self.fail(self.page.text("ask.stopped"))
        self._show_steps()

    def fail(self, why: str) -> None:
        with self.left, ui.row().classes("items-center gap-2 text-negative no-wrap").props("role=alert"):
            ui.icon("error_outline")
            ui.label(why).classes("break-words min-w-0")

    def _show_steps(self) -> None:
        if not self._steps:
            return
        text = self.page.text
        with self.left:
            folded = ui.expansion(text("ask.steps", count=len(self._steps))).props("dense").classes("text-sm w-full")
        with folded, ui.element("ol").classes("list-decimal pl-6"):
            for said in self._steps:
                with ui.element("li"):
                    ui.label(said).classes("break-words")

    # --- the answer ---------------------------------------------------------------------------------------------------------

    def show_saved(self, message: SavedMessage, judgement: Judgement | None) -> None:
        """The answer as the conversation remembers it, and what was thought of it."""
        notes = dict(message.notes)
        remarks = [notes["model_failure"]] if notes.get("model_failure") else []
        remarks += [self.page.text("ask.source_changed")] if message.source_changed else []
        if message.source_changed:
            notes["grounded"] = None
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
        details: tuple[str, ...] = (),
    ) -> None:
        """`details`: of a failure of the model, in the words of its server."""
        with self.left:
            with ui.element("div").classes("w-full").props("aria-live=polite"):
                show_answer(text, sources, self._open, quoted=notes.get("grounded") is None)
            for remark in (one for one in remarks if one not in text):
                ui.label(remark).classes("text-sm opacity-80 break-words")
            if details:
                with ui.expansion(self.page.text("ask.details")).props("dense").classes("text-sm w-full"):
                    for detail in details:
                        ui.label(detail).classes("break-words")
            with ui.row().classes("items-center gap-1"):
                self._show_verdict(notes, read=bool(sources))
                if run_id is not None:
                    Feedback(self.page, run_id, judgement).draw()
            if told := " · ".join(one for one in (notes.get("written_by"), cost_of(notes.get("usage"))) if one):
                ui.label(told).classes("text-xs opacity-70 break-words")
        with self.right:
            self._show_sources(sources)

    def _show_verdict(self, notes: Mapping[str, Any], *, read: bool) -> None:
        """One badge at most of each: what it is worth, and whether the sources of what a model wrote support it. Small talk has
        none."""
        words, answered, grounded = self.page.text, notes.get("answered"), notes.get("grounded")
        if answered == "no" and read:  # else it asks back, or there are no documents
            ui.badge(words("ask.answered_no"), color="warning", text_color="black")
        word: ConfidenceWord | None = notes.get("confidence_word") or ("not_sure" if answered == "unsure" else None)
        if word:
            show_word(self.page, word, notes.get("confidence"))
        if grounded is not None and (not grounded or answered == "yes"):
            ui.badge(
                words("ask.grounded" if grounded else "ask.not_grounded"), color="positive" if grounded else "negative"
            )

    async def _open(self, source: SourceRef) -> None:
        await open_source(self.page, source)

    def _show_sources(self, sources: tuple[SourceRef, ...]) -> None:
        cited = [source for source in sources if source.cited]
        others = [source for source in sources if not source.cited]
        words = self.page.text
        if cited:
            ui.label(words("ask.sources")).classes("text-sm font-medium").props("role=heading aria-level=3")
            with ui.column().classes("w-full gap-1").props("role=list"):
                for source in cited:
                    self._draw_source(source)
        if others:
            told = words("ask.also_read", count=len(others))
            with ui.expansion(told).props("dense").classes("text-sm w-full"), ui.column().classes("w-full gap-1"):
                for source in others[:SHOWN_SOURCES]:
                    self._draw_source(source)

    def _draw_source(self, source: SourceRef) -> None:
        words = self.page.text
        label = words("ask.open_source", number=source.n, title=source.title or source.filename)
        with (
            ui.button(on_click=lambda: self._open(source), color=None)
            .props("flat no-caps align=left padding=xs")
            .classes("source w-full rounded") as card
        ):
            card.props["aria-label"] = label
            with ui.column().classes("w-full gap-0 min-w-0 items-start text-left font-normal"):
                name = source.title or source.filename or words("ask.deleted")
                number = f"[{source.n}] " if source.cited else ""
                ui.label(number + name).classes("text-sm font-medium break-words w-full")
                place = [source.url or source.filename, words("viewer.page", page=source.page) if source.page else ""]
                told = " · ".join(one for one in place if one and one != name)
                if told:
                    ui.label(told).classes("text-xs opacity-70 break-all w-full")
                ui.label(source.preview).classes("text-xs opacity-90 preview w-full")


def show_word(page: Page, word: ConfidenceWord, confidence: float | None = None) -> None:
    """A badge that says what an answer is worth, and what the word means where somebody points at it."""
    badge = ui.badge(
        replies(page.text.language).confidence[word],
        color=WORD_COLORS.get(word, "grey-7"),
        text_color="black" if word == "not_sure" else "white",
    )
    told = [page.text(f"ask.word_{word}")]
    if confidence and word in PROBABLE:
        told.append(page.text("ask.confidence_hint", share=f"{confidence:.0%}"))
    badge.tooltip(". ".join(told))


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
        button = ui.button(icon=icon, on_click=act).props("flat round dense size=sm")
        button.props["aria-label"] = self.page.text(label)
        return button.tooltip(self.page.text(label))

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
                ui.button(text("ask.cancel"), on_click=lambda: dialog.submit(None)).props("flat no-caps")
                ui.button(text("ask.send_comment"), on_click=lambda: dialog.submit(said.value)).props("no-caps")
        comment = await dialog
        dialog.delete()
        if comment is not None:
            await self._store(self.rating, comment)
