"""The room of quality and operation: health, evaluations, cache, models and indexes, settings in force, keys, audit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from nicegui import ui

from cairn.domain.principal import Scope
from cairn.interfaces.web.audit_list import show_audit
from cairn.interfaces.web.evaluations import show_evaluations
from cairn.interfaces.web.frame import Page, shown_errors
from cairn.interfaces.web.key_table import show_keys
from cairn.interfaces.web.parts import BAD, LINE, confirm, icon_button, keep_address, read_address
from cairn.service import documents, models, operation, search, settings_in_force
from cairn.service.limits import get_usage
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
    text, progress = page.text, page.session.running.workers
    database, state = await operation.check_database(services), operation.describe_service(services)
    outdated = [] if database.problem else await models.outdated_notes(services)
    problems = [*([database.problem] if database.problem else []), *state.warnings, *outdated]
    for problem in problems:
        ui.label(problem).classes(f"break-words {BAD}").props("role=alert")
    if not problems:
        ui.label(text("operation.all_well")).classes("text-green-700 dark:text-green-300")
    _fact(text("operation.database"), None if database.answer_ms is None else f"{database.answer_ms} ms")
    _fact(text("operation.revision"), database.revision)
    if queue := database.queue:
        waiting = text("operation.queue_is", queued=queue.queued, running=queue.running)
        _fact(text("operation.queue"), waiting)
    _fact(text("operation.worker"), text("operation.here") if progress else text("operation.elsewhere"))
    _fact(text("operation.embedding"), state.embedding_model)
    _fact(text("operation.chat"), state.chat_model)
    _fact(text("operation.reranker"), state.reranker)
    for circuit in state.circuits:
        _fact(circuit.name, circuit.state, bad=circuit.state != "closed")
    _fact(text("operation.traces_dropped"), state.traces_dropped, bad=state.traces_dropped > 0)
    for kind, gate in services.admission.gates.items():
        said = text("operation.gate", running=gate.running, waiting=gate.waiting, refused=gate.refused)
        _fact(text("operation.admission", kind=text.say("gates", kind)), said)
    await _show_usage(page, services)


async def _show_usage(page: Page, services: Services) -> None:
    usage, text = await get_usage(services), page.text
    _heading(text("operation.usage"))
    for name in ("documents", "bytes", "chunks"):
        kept, most = getattr(usage.tenant.kept, name), getattr(usage.tenant.most, name)
        limit = text("operation.no_limit") if most is None else f"{most:,}"
        _fact(text(f"operation.{name}"), text("operation.of", kept=f"{kept or 0:,}", most=limit))


# --- cache --------------------------------------------------------------------------------------------------------------


async def _show_cache(page: Page, services: Services) -> None:
    text, settings = page.text, services.settings.current.cache
    stats = await search.get_cache_stats(services)
    _fact(text("operation.enabled"), text("search.yes") if settings.enabled else text("search.no"))
    _fact(text("operation.entries"), text("operation.of", kept=f"{stats.size:,}", most=f"{settings.capacity:,}"))
    _fact(text("operation.hit_rate"), None if stats.hit_rate is None else f"{stats.hit_rate:.1%}")
    _fact(text("operation.hits"), f"{stats.counts.hits:,} ({stats.counts.semantic_hits:,})")
    _fact(text("operation.misses"), f"{stats.counts.misses:,}")
    _fact(text("operation.bypassed"), f"{stats.counts.bypassed:,}")
    _fact(text("operation.query_embeddings"), f"{stats.query_embeddings:,}")

    async def empty() -> None:
        if not await confirm(text("operation.empty_cache_question"), text("operation.empty_cache"), text("ask.cancel")):
            return
        with shown_errors():
            removed = await search.clear_cache(await page.session.services("admin"))
            ui.notify(text("operation.emptied", count=removed))

    ui.button(text("operation.empty_cache"), icon="delete_sweep", on_click=empty).props("outline no-caps")


# --- models and indexes -------------------------------------------------------------------------------------------------


async def _show_models(page: Page, services: Services) -> None:
    text, found = page.text, await models.list_models(services)
    _heading(text("operation.embedding_models"))
    for model in found.models:
        _fact(model.name, text("operation.dimensions", count=model.dimensions))
    _heading(text("operation.per_collection"))
    if not found.collections:
        ui.label(text("operation.no_collections")).classes("opacity-80")
    for one in found.collections:
        _fact(one.collection, " · ".join(filter(None, (one.model, one.state))))
    _heading(text("operation.indexes"))
    vector = services.settings.current.vector
    for collection in await documents.list_collections(services, limit=RECALLS_SHOWN):
        way = "exact" if collection.chunk_count < vector.exact_below else "approximate"
        with ui.row().classes("w-full items-center no-wrap gap-2"):
            _fact(collection.name, text(f"operation.{way}", chunks=f"{collection.chunk_count:,}"))
            if page.session.may("write"):
                label = text("operation.reindex", collection=collection.name)
                icon_button("autorenew", label, partial(_reindex, page, collection.name))
    recalls = await documents.list_recall(services, RECALLS_SHOWN)
    for name, recall in recalls.items():
        _fact(text("operation.recall", collection=name), f"{recall:.3f}", bad=recall < vector.min_recall)


async def _reindex(page: Page, collection: str) -> None:
    text = page.text
    question = text("operation.reindex_question", collection=collection)
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
    words = ui.input(text("operation.setting_contains")).props("clearable dense debounce=200")
    only = ui.switch(text("operation.only_changed", count=len(state.changed)), value=bool(state.changed))
    rows = ui.column().classes("w-full gap-0")

    def fill() -> None:
        rows.clear()
        wanted = (words.value or "").lower()
        with rows:
            for name, value in state.values.items():
                if wanted in name.lower() and (name in state.changed or not only.value):
                    _fact(name + (" *" if name in state.changed else ""), value)

    words.on_value_change(fill)
    only.on_value_change(fill)
    fill()


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
