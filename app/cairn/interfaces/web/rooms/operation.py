"""The room of quality and operation: health, evaluations, cache, models and indexes, settings in force, keys, audit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from nicegui import ui

from cairn.domain.job import QueueState
from cairn.domain.principal import Scope
from cairn.interfaces.web.audit_list import show_audit
from cairn.interfaces.web.evaluations import show_evaluations
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.key_table import show_keys
from cairn.interfaces.web.parts import (
    BAD,
    GOOD,
    LINE,
    bytes_of,
    confirm,
    draw_when_opened,
    icon_button,
    keep_address,
    list_shown_names,
    read_address,
    show_facts,
)
from cairn.interfaces.web.texts import Texts
from cairn.service import documents, models, operation, search, settings_in_force
from cairn.service.limits import get_usage
from cairn.service.status import LATE_SECONDS
from cairn.wiring import Services

RECALLS_SHOWN: Final = 50
Draw = Callable[[Page, Services], Awaitable[None]]


async def show(page: Page) -> None:
    """Draw it into the open frame. What only an operator may see is left out for others."""
    await page.session.services("read")
    offered = {name: part for name, part in PARTS.items() if page.session.may(part.scope)}
    wanted = read_address("part")
    first = wanted if wanted in offered else next(iter(offered))
    with ui.tabs().props("no-caps outside-arrows mobile-arrows align=left").classes("w-full") as tabs:
        for name, part in offered.items():
            ui.tab(name, label=page.text(f"operation.{name}"), icon=part.icon)
    tabs.set_value(first)
    if len(offered) < len(PARTS):
        ui.label(page.text("operation.some_left_out")).classes("text-sm opacity-70")
    stage = ui.column().classes("w-full gap-3").props("role=tabpanel")
    tabs.on_value_change(lambda event: _turn_to(page, stage, str(event.value)))
    await _turn_to(page, stage, first)


async def _turn_to(page: Page, stage: ui.column, name: str) -> None:
    stage.clear()
    keep_address({"part": name})
    with stage, shown_errors():
        await PARTS[name].draw(page, await page.session.services(PARTS[name].scope))


def _fact(name: str, value: object, *, bad: bool = False) -> None:
    with ui.row().classes(f"w-full gap-x-3 gap-y-0 {LINE}"):
        ui.label(name).classes("opacity-70 w-64 max-w-full break-words")
        ui.label("–" if value is None else str(value)).classes(f"grow min-w-0 break-words {BAD if bad else ''}")


def _heading(text: str) -> None:
    ui.label(text).classes("text-lg font-medium mt-2").props("role=heading aria-level=2")


# --- health -------------------------------------------------------------------------------------------------------------


async def _show_health(page: Page, services: Services) -> None:
    text = page.text
    database, state = await operation.check_database(services), operation.describe_service(services)
    outdated = [] if database.problem else await models.outdated_notes(services)
    with ui.element("div").classes("w-full grid gap-3 grid-cols-1 sm:grid-cols-2"):
        _show_model(text, state)
        if database.problem or database.answer_ms is None:
            _state("storage", text("operation.database_title"), database.problem or "", bad=True)
        else:
            said = text("operation.database_answers", ms=f"{database.answer_ms:.0f}")
            _state("storage", text("operation.database_title"), said)
        _show_worker(page, database.queue)
        if database.problem is None:
            await _show_disk(text, services)
    for problem in [*state.warnings, *outdated]:
        ui.label(problem).classes(f"break-words {BAD}").props("role=alert")
    more = ui.expansion(text("operation.more"), icon="more_horiz").classes("w-full")
    draw_when_opened(more, partial(_show_more, text, services, database, state))
    await _show_usage(page, services)


def _show_more(
    text: Texts, services: Services, database: operation.DatabaseState, state: operation.ServiceState
) -> None:
    _fact(text("operation.revision"), database.revision)
    _fact(text("operation.embedding"), state.embedding_model)
    _fact(text("operation.reranker"), state.reranker)
    _fact(text("operation.traces_dropped"), state.traces_dropped, bad=state.traces_dropped > 0)
    for kind, gate in services.admission.gates.items():
        said = text("operation.gate", running=gate.running, waiting=gate.waiting, refused=gate.refused)
        _fact(text("operation.admission", kind=text.say("gates", kind)), said)


def _state(icon: str, title: str, said: str, *, bad: bool | None = False, moment: datetime | None = None) -> None:
    """One of the four things that make a server. `bad` None: it is neither well nor bad; `moment`: the {time} in what is said."""
    with ui.card().classes("w-full p-4 gap-1").props("flat bordered"):
        with ui.row().classes("items-center gap-2 no-wrap"):
            ui.icon(icon, size="sm").classes("opacity-70").props("aria-hidden=true")
            ui.label(title).classes("font-medium").props("role=heading aria-level=2")
            if bad is not None:
                ui.icon("error" if bad else "check_circle").classes(BAD if bad else GOOD).props("aria-hidden=true")
        if moment:
            show_facts((said, moment), classes=f"text-sm {BAD if bad else ''}")
        else:
            ui.label(said).classes(f"text-sm break-words {BAD if bad else 'opacity-80'}")


def _show_model(text: Texts, state: operation.ServiceState) -> None:
    title = text("operation.model_title")
    failed = next((one for one in state.circuits if one.reason is not None and one.name.startswith("chat ")), None)
    if state.chat_model is None:
        _state("smart_toy", title, text("operation.no_model"), bad=None)
    elif failed and failed.reason:
        why = failed.reason.detail.replace("{", "(").replace(
            "}", ")"
        )  # what a server said, in which only one place is filled
        said = text("operation.model_failed", name=state.chat_model, time="{time}", why=why)
        _state("smart_toy", title, said, bad=True, moment=datetime.now(UTC) - timedelta(seconds=failed.failed_ago))
    else:
        _state("smart_toy", title, text("operation.model_answers", name=state.chat_model))


def _show_worker(page: Page, queue: QueueState | None) -> None:
    text, title = page.text, page.text("operation.worker_title")
    waited = (queue.oldest_runnable_seconds if queue else None) or 0.0
    if queue is None:
        _state("engineering", title, text("operation.worker_elsewhere", queue="–"), bad=True)
    elif waited > LATE_SECONDS and not queue.running:
        _state("engineering", title, text("operation.worker_late", seconds=f"{waited:.0f}"), bad=True)
    else:
        said = text("operation.queue_is", queued=queue.queued, running=queue.running)
        here = "operation.worker_works" if page.session.running.workers else "operation.worker_elsewhere"
        _state("engineering", title, text(here, queue=said))


async def _show_disk(text: Texts, services: Services) -> None:
    disk = await operation.measure_disk(services)
    used = bytes_of(text, disk.byte_size)
    if disk.free_bytes is None:
        said = text("operation.disk_unknown", used=used)
    else:
        said = text("operation.disk_free", free=bytes_of(text, disk.free_bytes), used=used)
    low = services.embedded.warning() if services.embedded else None
    _state("save", text("operation.disk_title"), said, bad=low is not None)


async def _show_usage(page: Page, services: Services) -> None:
    usage, text = await get_usage(services), page.text
    _heading(text("operation.usage"))
    for name in ("documents", "bytes", "chunks"):
        kept, most = getattr(usage.tenant.kept, name) or 0, getattr(usage.tenant.most, name)
        said = partial(bytes_of, text) if name == "bytes" else text.number
        full = said(kept) if most is None else text("operation.of", kept=said(kept), most=said(most))
        _fact(text(f"operation.{name}"), full)


# --- cache --------------------------------------------------------------------------------------------------------------


async def _show_cache(page: Page, services: Services) -> None:
    text, settings = page.text, services.settings.current.cache
    stats = await search.get_cache_stats(services)
    _fact(text("operation.enabled"), text("operation.value_yes") if settings.enabled else text("operation.value_no"))
    _fact(
        text("operation.entries"),
        text("operation.of", kept=text.number(stats.size), most=text.number(settings.capacity)),
    )
    _fact(text("operation.hit_rate"), None if stats.hit_rate is None else f"{stats.hit_rate:.1%}")
    _fact(text("operation.hits"), f"{text.number(stats.counts.hits)} ({text.number(stats.counts.semantic_hits)})")
    _fact(text("operation.misses"), text.number(stats.counts.misses))
    _fact(text("operation.bypassed"), text.number(stats.counts.bypassed))
    _fact(text("operation.query_embeddings"), text.number(stats.query_embeddings))

    async def empty() -> None:
        if not await confirm(text("operation.empty_cache_question"), text("operation.empty_cache"), text("ask.cancel")):
            return
        with shown_errors():
            removed = await search.clear_cache(await page.session.services("admin"))
            ui.notify(text("operation.emptied", count=removed))

    ui.button(text("operation.empty_cache"), icon="delete_sweep", on_click=empty).props("outline no-caps")


# --- models and indexes -------------------------------------------------------------------------------------------------


async def _show_models(page: Page, services: Services) -> None:
    text, found, names = page.text, await models.list_models(services), await list_shown_names(services)
    _heading(text("operation.embedding_models"))
    for model in found.models:
        _fact(model.name, text("operation.dimensions", count=model.dimensions))
    _heading(text("operation.per_collection"))
    if not found.collections:
        ui.label(text("operation.no_collections")).classes("opacity-80")
    for one in found.collections:
        _fact(names.get(one.collection, one.collection), " · ".join(filter(None, (one.model, one.state))))
    _heading(text("operation.indexes"))
    vector = services.settings.current.vector
    for collection in await documents.list_collections(services, limit=RECALLS_SHOWN):
        shown = names.get(collection.name, collection.name)
        way = "exact" if collection.chunk_count < vector.exact_below else "approximate"
        with ui.row().classes("w-full items-center no-wrap gap-2"):
            _fact(shown, text(f"operation.{way}", chunks=text.number(collection.chunk_count)))
            if page.session.may("write"):
                label = text("operation.reindex", collection=shown)
                icon_button("autorenew", label, partial(_reindex, page, collection.name, shown))
    recalls = await documents.list_recall(services, RECALLS_SHOWN)
    for name, recall in recalls.items():
        _fact(
            text("operation.recall", collection=names.get(name, name)), f"{recall:.3f}", bad=recall < vector.min_recall
        )


async def _reindex(page: Page, collection: str, shown: str) -> None:
    text = page.text
    question = text("operation.reindex_question", collection=shown)
    if not await confirm(question, text("operation.reindex_yes"), text("ask.cancel")):
        return
    with shown_errors():
        await models.start_reindex(await page.session.services("write"), collection, force=False)
        ui.notify(text("operation.reindex_begun"))


# --- settings -----------------------------------------------------------------------------------------------------------


async def _show_settings(page: Page, services: Services) -> None:
    text, state = page.text, settings_in_force.describe_settings(services)
    if state.problem:
        ui.label(text("operation.refused", problem=state.problem)).classes(f"break-words {BAD}").props("role=alert")
    for note in state.notes:
        ui.label(note).classes(f"break-words {BAD}")
    _fact(text("operation.file"), state.path or text("operation.no_file"))
    _fact(text("operation.in_force"), state.revision)
    ui.label(text("operation.applies")).classes("text-sm opacity-80 break-words")
    with ui.row().classes("w-full items-center gap-3"):
        words = ui.input(text("operation.setting_contains")).props("clearable dense debounce=200").classes("min-w-64")
        only = ui.switch(text("operation.only_changed", count=len(state.changed)), value=bool(state.changed))
    rows = ui.column().classes("w-full gap-0").props("role=list")
    settings = settings_in_force.list_settings(services)

    def fill() -> None:
        rows.clear()
        wanted = (words.value or "").casefold()
        with rows:
            for one in settings:
                if wanted in f"{one.name} {one.sentence}".casefold() and (one.changed or not only.value):
                    _show_setting(text, one)

    words.on_value_change(fill)
    only.on_value_change(fill)
    fill()


def _show_setting(text: Texts, one: settings_in_force.Setting) -> None:
    with ui.column().classes(f"w-full gap-0 py-2 {LINE}").props("role=listitem"):
        with ui.row().classes("w-full items-baseline gap-x-3 gap-y-0"):
            ui.label(one.name).classes("font-mono text-sm break-all")
            ui.label(_say_value(text, one.value)).classes("font-medium break-all")
            if one.changed:
                ui.badge(text("operation.changed"), color="primary").props("outline")
        ui.label(one.sentence).classes("text-sm break-words")
        notes = [text("operation.default", value=_say_value(text, one.default))]
        notes += [text("operation.needs_restart")] if one.restart else []
        ui.label(" · ".join(notes)).classes("text-xs opacity-70 break-words")


def _say_value(text: Texts, value: object) -> str:
    """As a person writes it."""
    if value is None:
        return text("operation.value_none")
    if isinstance(value, bool):
        return text("operation.value_yes" if value else "operation.value_no")
    if isinstance(value, int | float):
        return text.number(value)
    if value in ("", [], {}):
        return text("operation.value_empty")
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@dataclass(frozen=True, slots=True)
class _Part:
    icon: str
    scope: Scope
    draw: Draw


PARTS: Final = {
    "health": _Part("monitor_heart", "admin", _show_health),
    "quality": _Part("query_stats", "read", show_evaluations),
    "cache": _Part("cached", "admin", _show_cache),
    "models": _Part("model_training", "admin", _show_models),
    "settings": _Part("settings", "admin", _show_settings),
    "keys": _Part("key", "admin", show_keys),
    "audit": _Part("history", "admin", show_audit),
}
