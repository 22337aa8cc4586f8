"""One run step by step: what was decided, searched, called and found, and how its answer was judged; live while it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

from nicegui import background_tasks, ui

from cairn.domain.answer import PROBABLE
from cairn.domain.event import TERMINAL, Progress
from cairn.domain.trace import RunTrace
from cairn.errors import ConflictError, NotFoundError
from cairn.interfaces.web.badge import show_worth
from cairn.interfaces.web.candidates import Candidates, load_shown
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.parts import BAD, LINE, icon_button, list_shown_names, show_facts
from cairn.interfaces.web.prose import show_text
from cairn.interfaces.web.turn import step_in_words
from cairn.interfaces.web.viewer import ShownPlace, open_document
from cairn.service import runs, search
from cairn.wiring import Services

LOOK_SECONDS: Final = 2.0
"""Between two looks at a run of another process."""
DECIDED: Final = (
    "intent", "query_type", "query_class", "asked_strategy", "strategy", "reason", "language", "rewritten_query",
    "subquestions", "expansions", "entities", "filters", "answerer", "reranker", "iterations", "from_cache",
    "budget_exceeded",
)  # fmt: skip
"""Of the plan, what is shown by itself; all of it stands below."""


@dataclass
class RunDetail:
    page: Page
    run_id: UUID

    async def draw(self) -> None:
        """Raises NotFoundError for a run that is not traced."""
        self.timers = ui.element("div")  # not in what they draw anew: whoever clears it would end them with it
        self.body = ui.column().classes("w-full gap-4")
        services = await self.page.session.services("read")
        await self._fill(services, await search.get_trace(services, self.run_id))

    async def _reload(self) -> None:
        with shown_errors():
            services = await self.page.session.services("read")
            trace = await search.get_trace(services, self.run_id)
            self.body.clear()
            await self._fill(services, trace)

    async def _fill(self, services: Services, trace: RunTrace) -> None:
        with self.body:
            self._draw_head(trace, await list_shown_names(services))
            if trace.outcome == "running":
                await self._follow(services)
                return
            self._draw_answer(trace)
            self._draw_stages(trace.timings_ms)
            self._draw_plan(trace.plan)
            self._draw_steps(trace.plan)
            self._draw_searches(trace.plan)
            self._draw_calls(trace.usage)
            if trace.legs:
                text = self.page.text
                candidates = Candidates(self.page, self.run_id, trace.legs, await load_shown(services, trace.legs))
                with ui.expansion(text("search.legs"), icon="view_column").classes("w-full"):
                    candidates.draw_legs()
                with ui.expansion(text("search.dropped"), icon="filter_alt").classes("w-full"):
                    candidates.draw_dropped()
            with ui.expansion(self.page.text("runs.everything"), icon="data_object").classes("w-full"):
                whole = json.dumps(dict(trace.plan), indent=2, ensure_ascii=False)
                ui.label(whole).classes("font-mono text-xs whitespace-pre-wrap break-all")

    def _heading(self, key: str) -> None:
        ui.label(self.page.text(key)).classes("text-lg font-medium").props("role=heading aria-level=3")

    def _draw_head(self, trace: RunTrace, names: Mapping[str, str]) -> None:
        text = self.page.text
        ui.label(trace.question or text("runs.no_words")).classes("text-xl break-words").props(
            "role=heading aria-level=2"
        )
        total = trace.timings_ms.get("total")
        facts = [
            text(f"runs.{trace.outcome}"), text(f"runs.{trace.kind}"), trace.strategy and text.say("ways", trace.strategy),
            trace.started_at, f"{text.number(total, 0)} ms" if total is not None else "",
            ", ".join(names.get(one, one) for one in trace.collections),
        ]  # fmt: skip
        show_facts(*facts, classes="text-sm opacity-70")
        for problem in (trace.error, *trace.degraded):
            if problem:
                ui.label(problem).classes(f"break-words {BAD}").props("role=alert")

    # --- while it runs ------------------------------------------------------------------------------------------------------

    async def _follow(self, services: Services) -> None:
        """Show its steps as they come; of a run of another process that stores no events, look at the trace now and then."""
        self._heading("runs.steps")
        steps = ui.column().classes("w-full gap-0").props("role=log aria-live=polite")
        ui.spinner()
        try:
            events = await runs.watch_run(services, self.run_id)
        except (ConflictError, NotFoundError):
            with self.timers:
                ui.timer(LOOK_SECONDS, self._reload, once=True)
            return

        async def read() -> None:
            async with aclosing(events):
                async for item in events:
                    if isinstance(item.event, Progress):
                        with steps:
                            ui.label(f"{item.event.percent} % · {step_in_words(self.page.text, item.event)}")
                    elif isinstance(item.event, TERMINAL):
                        with self.timers:  # when its trace is written, which follows the last event
                            ui.timer(LOOK_SECONDS / 4, self._reload, once=True)

        reading = background_tasks.create(read(), name=f"page of run {self.run_id}")
        ui.context.client.on_delete(reading.cancel)

    # --- what was done ------------------------------------------------------------------------------------------------------

    def _draw_answer(self, trace: RunTrace) -> None:
        answer, text = trace.answer, self.page.text
        if not answer:
            return
        self._heading("runs.answer")
        if answer.get("text"):
            show_text(str(answer["text"])).classes("measure")
        elif answer.get("source_deleted_at"):
            ui.label(text("runs.blanked")).classes("opacity-80")
        confidence = answer.get("confidence")
        word, grounded = answer.get("confidence_word"), answer.get("grounded")
        facts = [text(f"ask.answered_{answer['answered']}")] if answer.get("answered") else []
        if word in PROBABLE:
            facts.append(text("runs.confidence", value=_number(confidence)))
        if grounded is not None:
            score = _number(answer.get("groundedness_score"))
            told = text("ask.grounded" if grounded else "ask.not_grounded")
            facts.append(f"{told} ({score})")
        with ui.row().classes("items-center gap-2"):
            show_worth(self.page, answer.get("answered"), grounded, word, confidence)
            ui.label(" · ".join(facts)).classes("text-sm opacity-80")
        for lacking in answer.get("insufficiencies", ()):
            ui.label(str(lacking)).classes("text-sm break-words")
        with ui.row().classes("gap-1"):
            for citation in answer.get("citations", ()):
                if citation.get("document_id"):
                    icon_button(
                        "format_quote", text("ask.open_source", number=citation["n"], title=""),
                        partial(self._open, citation),
                    ).props(f'label="{int(citation["n"])}"')  # fmt: skip
        if trace.outcome == "ok" and answer.get("text"):
            proof = ui.link(text("runs.proof"), f"/runs/{trace.id}/proof").tooltip(text("runs.proof_hint"))
            proof.props(f'download="proof-{trace.id}.json"').classes("text-sm")

    async def _open(self, citation: Mapping[str, Any]) -> None:
        place = ShownPlace(
            UUID(citation["document_id"]),
            (citation["start"], citation["end"]),
            citation["version"],
            page=citation["page"],
        )
        await open_document(self.page, place)

    def _draw_stages(self, timings: Mapping[str, float]) -> None:
        stages = sorted(((ms, name) for name, ms in timings.items() if name != "total"), reverse=True)
        if not stages:
            return
        self._heading("runs.stages")
        longest = max(stages[0][0], 0.001)
        with ui.column().classes("w-full gap-1"):
            for ms, name in stages:
                with ui.row().classes("w-full items-center gap-2 no-wrap"):
                    ui.label(self.page.text.say("stages", name)).classes("w-44 max-sm:w-28 shrink-0 text-sm")
                    with ui.element("div").classes("grow"):
                        ui.element("div").classes("h-3 rounded bg-primary").style(f"width: {100 * ms / longest:.1f}%")
                    ui.label(f"{self.page.text.number(ms, 1)} ms").classes("w-24 shrink-0 text-sm text-right")

    def _draw_plan(self, plan: Mapping[str, Any]) -> None:
        known = [(name, plan[name]) for name in DECIDED if plan.get(name) not in (None, "", [], {})]
        if not known:
            return
        self._heading("runs.plan")
        with ui.element("dl").classes(
            "w-full grid gap-x-4 gap-y-1 grid-cols-[10rem_1fr] max-sm:grid-cols-[7rem_1fr] text-sm"
        ):
            for name, value in known:
                with ui.element("dt").classes("opacity-70"):
                    ui.label(self.page.text.say("decisions", name))
                with ui.element("dd").classes("min-w-0"):
                    ui.label(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).classes(
                        "break-words"
                    )

    def _draw_steps(self, plan: Mapping[str, Any]) -> None:
        """Of an agent: what it thought, did and saw."""
        steps = [*plan.get("agent_steps", ()), *plan.get("attempts", ())]
        if not steps:
            return
        self._heading("runs.steps")
        for number, step in enumerate(steps, 1):
            with ui.column().classes(f"w-full gap-0 py-1 {LINE}"):
                ui.label(f"{number}.").classes("font-medium")
                for name, value in step.items():
                    if value not in (None, "", [], {}):
                        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                        ui.label(f"{name}: {said}").classes("text-sm break-words line-clamp-6")

    def _draw_searches(self, plan: Mapping[str, Any]) -> None:
        text, searches = self.page.text, plan.get("searches", ())
        if not searches:
            return
        self._heading("runs.searches")
        for one in searches:
            with ui.column().classes(f"w-full gap-0 py-1 {LINE}"):
                ui.label(f"{one['n']}. {one['query']}").classes("break-words")
                facts = [
                    one["purpose"], text.count("runs.found", one["found"]), f"{text.number(one.get('total_ms') or 0, 1)} ms",
                    " · ".join(f"{text.say('finders', leg)} {sure:.2f}" for leg, sure in one["confidence"].items()),
                    text("search.cached") if one.get("from_cache") else "",
                    text("search.reranked", name=one["reranker"]) if one.get("reranker") else "",
                ]  # fmt: skip
                ui.label(" · ".join(filter(None, facts))).classes("text-xs opacity-70 break-words")
                for leg, why in one["legs_failed"].items():
                    ui.label(f"{text.say('finders', leg)}: {why}").classes(f"text-sm {BAD}")

    def _draw_calls(self, usage: Mapping[str, Any]) -> None:
        text = self.page.text
        self._heading("runs.calls")
        if not usage:
            ui.label(text("runs.no_calls")).classes("text-sm")
            return
        together = [{"purpose": text("runs.total"), **usage}] if usage.get("calls") else []
        for call in (*usage.get("by_purpose", ()), *together):
            cost = text("runs.unpriced") if call.get("cost") is None else f"{call['cost']:.6f}"
            facts = text(
                "runs.call", model=call.get("model"), calls=call.get("calls"), input=text.number(call.get("input_tokens", 0)),
                output=text.number(call.get("output_tokens", 0)), cost=cost, seconds=call.get("seconds"),
            )  # fmt: skip
            ui.label(f"{call['purpose']}: {facts}").classes(f"text-sm w-full break-words {LINE}")


def _number(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, int | float) else "–"
