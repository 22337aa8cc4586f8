"""Every setting that one search can have, as the page offers them and as its address carries them."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, get_args

from nicegui import ui

from cairn.domain.passage import FusionForm, Mode, SearchRequest
from cairn.errors import InputError
from cairn.interfaces.web.frame import Page
from cairn.interfaces.web.parts import read_address
from cairn.interfaces.web.texts import Texts
from cairn.service.search import make_request
from cairn.settings import Settings

MOST_FILTERS = 4000
"""Characters."""


@dataclass
class Knobs:
    """As they stand in the fields of the page. "" is: as the settings say."""

    mode: str = ""
    fusion: str = ""
    rerank: str = ""
    top_k: str = "10"
    group_by: str = "passage"
    text: str = "passage"
    cache: str = "no"
    filters: str = ""
    model: str = ""

    @classmethod
    def read(cls, prefix: str) -> Knobs:
        """Of the page's address, by names that begin so."""
        return cls(**{one.name: read_address(prefix + one.name) or str(one.default) for one in fields(cls)})

    def address(self, prefix: str) -> dict[str, str]:
        """What differs from the beginning."""
        return {
            prefix + one.name: value
            for one in fields(self)
            if (value := str(getattr(self, one.name) or "")) != one.default
        }

    def draw(self, page: Page) -> None:
        text = page.text
        with ui.row().classes("w-full items-center gap-3"):
            for name, (label, options) in _choices(text).items():
                self._choice(name, label, options)
            ui.input(text("search.filters"), placeholder='{"team": "people"}').bind_value(self, "filters").props(
                "dense"
            )
            ui.input(text("search.model")).bind_value(self, "model").props("dense")

    def describe(self, text: Texts, other: Knobs) -> str:
        """What is set otherwise than in the other, in words."""
        choices = _choices(text)
        said = []
        for one in fields(self):
            value = getattr(self, one.name)
            if value != getattr(other, one.name):
                label, options = choices.get(one.name, (text(f"search.{one.name}"), {}))
                said.append(f"{label}: {options.get(value, value) or text('search.as_set')}")
        return " · ".join(said) or text("search.as_usual")

    def _choice(self, name: str, label: str, options: dict[str, str]) -> None:
        if getattr(self, name) not in options:  # of an address that somebody wrote
            setattr(self, name, next(iter(options)))
        ui.select(options, label=label).bind_value(self, name).props("dense").classes("min-w-32")

    def request(self, settings: Settings, query: str, collection: str) -> SearchRequest:
        """Raises InputError for what cannot be searched so."""
        return make_request(
            settings, query, (collection,),
            mode=self.mode or None,  # type: ignore[arg-type]
            fusion=self.fusion or None,  # type: ignore[arg-type]
            rerank={"yes": True, "no": False}.get(self.rerank),
            top_k=int(self.top_k),
            group_by="document" if self.group_by == "document" else "passage",
            expand_parents=self.text != "chunk",
            cache=self.cache == "yes",
            filters=_filters(self.filters),
            model=self.model.strip() or None,
        )  # fmt: skip


def _choices(text: Texts) -> dict[str, tuple[str, dict[str, str]]]:
    """Of each field that is chosen from some: its label, and the values with their words."""
    usual, yes_no = {"": text("search.as_set")}, {"yes": text("search.yes"), "no": text("search.no")}
    return {
        "mode": (text("search.mode"), usual | {one: text.say("modes", one) for one in get_args(Mode)}),
        "fusion": (text("search.fusion"), usual | {one: text.say("merges", one) for one in get_args(FusionForm)}),
        "rerank": (text("search.rerank"), usual | yes_no),
        "top_k": (text("search.top_k"), {one: one for one in ("3", "5", "10", "20", "50", "100", "200")}),
        "group_by": (
            text("search.group_by"), {"passage": text("search.passage"), "document": text("search.document")},
        ),
        "text": (text("search.shown"), {"passage": text("search.passage"), "chunk": text("search.chunk")}),
        "cache": (text("search.cache"), yes_no),
    }  # fmt: skip


def _filters(written: str) -> dict[str, Any] | None:
    if not written.strip():
        return None
    try:
        found = json.loads(written[:MOST_FILTERS])
    except (ValueError, RecursionError) as error:
        raise InputError(f"the filters are no JSON object: {error}") from None
    if not isinstance(found, dict):
        raise InputError('the filters are a JSON object, such as {"team": "people"}')
    return found
