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
        usual = {"": text("search.as_set")}
        with ui.row().classes("w-full items-center gap-3"):
            self._choice("mode", text("search.mode"), usual | {one: text.say("modes", one) for one in get_args(Mode)})
            self._choice(
                "fusion", text("search.fusion"), usual | {one: text.say("merges", one) for one in get_args(FusionForm)}
            )
            yes_no = {"yes": text("search.yes"), "no": text("search.no")}
            self._choice("rerank", text("search.rerank"), usual | yes_no)
            self._choice(
                "top_k", text("search.top_k"), {one: one for one in ("3", "5", "10", "20", "50", "100", "200")}
            )
            one_of = {"passage": text("search.passage"), "document": text("search.document")}
            self._choice("group_by", text("search.group_by"), one_of)
            self._choice(
                "text", text("search.shown"), {"passage": text("search.passage"), "chunk": text("search.chunk")}
            )
            self._choice("cache", text("search.cache"), yes_no)
            ui.input(text("search.filters"), placeholder='{"team": "people"}').bind_value(self, "filters").props(
                "dense"
            )
            ui.input(text("search.model")).bind_value(self, "model").props("dense")

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
