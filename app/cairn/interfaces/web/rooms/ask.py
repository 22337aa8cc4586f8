"""The room where one asks: a conversation whose answers are written as one reads, with their sources beside them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from uuid import UUID

from nicegui import background_tasks, ui

from cairn.domain.event import TERMINAL, Judgement, Numbered
from cairn.domain.ids import new_id
from cairn.domain.question import Question, SavedMessage
from cairn.interfaces.http.asking import measure
from cairn.interfaces.web.conversation_list import ConversationList
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import choose_from, keep_address, list_shown_names, read_address, show_empty
from cairn.interfaces.web.turn import ShownTurn
from cairn.interfaces.web.viewer import SourcePanel
from cairn.service.ask import Task, model_name, start, strategy_names
from cairn.service.conversations import check_session_id, get_history, new_session
from cairn.service.documents import check_collection_name
from cairn.service.runs import list_judgements, record_watching
from cairn.service.search import check_query
from cairn.wiring import Services

SHOWN: Final = 20
"""Messages of an old conversation at first, and more at each demand."""
HISTORY_PAGE: Final = 200
_SEND: Final = "const send = () => setTimeout(window.did_handshake ? emit : send, 20); send();"
"""Once the page is connected, and after the text: until then NiceGUI lets each event wait in a loop of 10 ms of its own, and
whose turn comes first is chance. A question that came before its text was an empty one, and lost."""
_ON_ENTER: Final = f"""(event) => {{
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {{ event.preventDefault(); {_SEND} }}
}}"""
_ON_CLICK: Final = f"() => {{ {_SEND} }}"
_KEYS: Final = """
document.addEventListener('keydown', (event) => {
  const within = event.target.closest('input, textarea, [contenteditable], [role=dialog]');
  if (event.key === '/' && !within) { event.preventDefault(); document.querySelector('.ask textarea')?.focus(); }
});"""
_TO_LAST: Final = """{
  const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth';
  [...document.querySelectorAll('.turn')].pop()?.scrollIntoView({block: 'start', behavior});
}"""


async def show(page: Page) -> None:
    """Draw it into the open frame."""
    services = await page.session.services("read")
    names, settings = await list_shown_names(services), services.settings.current
    collection = choose_from(list(names), read_address("collection"), settings.rag.collection_name)
    task = await _find_run(services, read_address("run"))
    session = read_address("conversation") or (task.question.session_id if task else None) or new_session()
    room = _Room(page, collection, session, model=model_name(services))
    room.draw(names)
    with shown_errors():
        await room.load(task)


@dataclass
class _Room:
    """`model`: the chat model that writes answers, or "".
    `task`: the run under way; it goes on when the page is left, and the page that comes back reads on."""

    page: Page
    collection: str
    session_id: str
    model: str = ""
    strategy: str = "auto"
    task: Task | None = None
    saved: list[SavedMessage] = field(default_factory=list)
    judgements: dict[UUID, Judgement] = field(default_factory=dict)
    shown: int = SHOWN

    def __post_init__(self) -> None:
        self.list = ConversationList(self.page, lambda: self.session_id, lambda: self.collection)

    def draw(self, names: dict[str, str]) -> None:
        text = self.page.text
        ui.add_body_html(f"<script>{_KEYS}</script>")
        columns = ui.row().classes("w-full items-start gap-6 no-wrap max-lg:flex-col")
        with columns:
            self.list.draw()
        with columns, ui.column().classes("grow min-w-0 w-full gap-4 ask"):
            with ui.column().classes("w-full middle"):
                self.empty = ui.column().classes("w-full")
                with self.empty:
                    self._show_empty(names)
                self.turns = ui.column().classes("w-full gap-8 turns").props("role=log")
            self._draw_form(names)
        with columns:
            self.panel = SourcePanel(self.page)
        if not self.page.session.may("ask"):
            self.box.disable()
            self.send.disable()
            with self.empty:
                ui.label(text("ask.read_only")).classes("self-center")

    def _show_empty(self, names: dict[str, str]) -> None:
        text = self.page.text
        if not names:
            show_empty("upload_file", text("ask.no_documents_title"), text("ask.no_documents_hint"))
            ui.button(text("ask.add_documents"), icon="upload", on_click=lambda: ui.navigate.to("/documents")).classes(
                "self-center"
            ).props("no-caps")
            return
        show_empty("forum", text("ask.empty_title"), text("ask.empty_hint" if self.model else "ask.empty_hint_quotes"))

    def _draw_form(self, names: dict[str, str]) -> None:
        text = self.page.text
        with ui.column().classes("w-full gap-1 sticky bottom-0 form pt-2 pb-3"):
            with ui.row().classes("w-full items-end gap-2 no-wrap"):
                self.box = ui.textarea(placeholder=text("ask.question")).classes("grow min-w-0")
                self.box.props("outlined autogrow dense autofocus rows=1")
                self.box.props["aria-label"] = text("ask.question")
                self.box.value = read_address("question")  # one that is asked again
                self.box.on("keydown", self.ask, js_handler=_ON_ENTER)
                self.send = ui.button(icon="send").props("round").on("click", self.ask, js_handler=_ON_CLICK)
                self.send.props["aria-label"] = text("ask.send")
                self.stop = ui.button(icon="stop", on_click=self._stop).props("round color=negative")
                self.stop.props["aria-label"] = text("ask.stop")
                self.stop.set_visibility(False)
            with ui.row().classes("w-full items-center gap-2"):
                options = {self.collection: self.collection} | names
                ui.select(options, value=self.collection, label=text("ask.collection"), on_change=self._choose).props(
                    "dense options-dense borderless"
                ).classes("min-w-36")
                ways = {name: self._way(name) for name in strategy_names()}
                ui.select(ways, value="auto", label=text("ask.strategy"), on_change=self._set_strategy).props(
                    "dense options-dense borderless"
                ).classes("min-w-36")

    def _way(self, name: str) -> str:
        try:
            return self.page.text(f"ask.way_{name}")
        except KeyError:
            return name  # of an installed package

    def _choose(self, event: Any) -> None:
        self.collection = event.value
        self._keep_address()

    def _set_strategy(self, event: Any) -> None:
        self.strategy = event.value

    def _keep_address(self) -> None:
        run = str(self.task.id) if self.task else ""
        session = self.session_id if self.task or self.saved else ""
        keep_address({"collection": self.collection, "conversation": session, "run": run})

    # --- what was said ------------------------------------------------------------------------------------------------------

    async def load(self, task: Task | None) -> None:
        """Show the conversation, and go on with a run that is under way."""
        services = await self.page.session.services("read")
        self.session_id = check_session_id(self.session_id)
        self.saved = await _read_all(services, self.session_id)
        answered = [message.turn.run_id for message in self.saved if message.turn.run_id is not None]
        self.judgements = await list_judgements(services, answered)
        self._draw_saved()
        if task is not None and task.question.session_id == self.session_id:
            self._follow(task)
        await self.list.refresh()

    def _draw_saved(self) -> None:
        self.turns.clear()
        self.empty.set_visibility(not self.saved)
        with self.turns:
            if len(self.saved) > self.shown:
                ui.button(self.page.text("ask.earlier"), icon="history", on_click=self._show_earlier).props(
                    "flat no-caps dense"
                ).classes("self-center")
            turn: ShownTurn | None = None
            for message in self.saved[-self.shown :]:
                if message.turn.role == "user":
                    turn = self._turn(message.turn.content or self.page.text("ask.blanked"))
                    if outcome := message.notes.get("outcome"):
                        error = message.notes.get("error") or {}
                        stopped = outcome == "cancelled"
                        why = error.get("detail") or self.page.text("ask.stopped" if stopped else "ask.no_reason")
                        turn.fail(why, stopped=stopped)
                elif turn is not None:
                    run_id = message.turn.run_id
                    turn.show_saved(message, self.judgements.get(run_id) if run_id else None)
        ui.run_javascript(_TO_LAST)

    def _turn(self, question: str) -> ShownTurn:
        return ShownTurn(self.page, question, self.panel, self.collection, self._ask)

    def _show_earlier(self) -> None:
        self.shown *= 4
        self._draw_saved()

    # --- asking -------------------------------------------------------------------------------------------------------------

    async def ask(self) -> None:
        """What stands in the box."""
        said = (self.box.value or "").strip()
        if said and self.task is None and await self._ask(said):
            self.box.set_value("")

    async def _ask(self, said: str) -> bool:
        """Whether it is under way now."""
        if self.task is not None:
            return False
        with shown_errors():
            services = await self.page.session.services("ask")
            question = Question(
                text=check_query(said, services.settings.current),
                collection=check_collection_name(self.collection),
                run_id=new_id(),
                strategy=self.strategy,
                session_id=self.session_id,
            )
            task = await start(services, question, on_end=partial(measure, self.page.session.running))
            self.model = model_name(services)
            self._follow(task)
            return True
        return False

    def _follow(self, task: Task) -> None:
        """Show the run in a turn of its own, until it ends or the page is left."""
        self.task = task
        self.empty.set_visibility(False)
        self.send.set_visibility(False)
        self.stop.set_visibility(True)
        self._keep_address()
        with self.turns:
            turn = self._turn(task.question.text)
        turn.begin(task.give_up_model, self.model)
        ui.run_javascript(_TO_LAST)
        reading = background_tasks.create(self._read(task, turn), name=f"page of run {task.id}")
        ui.context.client.on_delete(reading.cancel)

    async def _read(self, task: Task, turn: ShownTurn) -> None:
        events: AsyncGenerator[Numbered] = task.events()
        async with aclosing(events):
            async for item in events:
                turn.see(item.event)
                if isinstance(item.event, TERMINAL):
                    turn.end(item.event, task.id)
        with self.turns:
            self.task = None
            self.send.set_visibility(True)
            self.stop.set_visibility(False)
            keep_address({"collection": self.collection, "conversation": self.session_id})
            ui.run_javascript(_TO_LAST)
            with shown_errors():
                await self.list.refresh()

    def _stop(self) -> None:
        if self.task is not None:
            self.task.cancel()


async def _read_all(services: Services, session_id: str) -> list[SavedMessage]:
    messages: list[SavedMessage] = []
    while True:
        found = await get_history(
            services, session_id, after=messages[-1].position if messages else 0, limit=HISTORY_PAGE
        )
        messages += found
        if len(found) < HISTORY_PAGE:
            return messages


async def _find_run(services: Services, run: str) -> Task | None:
    """The run of an address, while it is under way in this process, for who asked it and who reads everything, of whom that is
    on record."""
    try:
        task = services.runs.find(services.principal, UUID(run))
    except ValueError:
        return None
    caller = services.principal.caller
    if task is None or not (caller.reads_all or task.asked_by == caller.id):
        return None
    await record_watching(services, task)
    return task
