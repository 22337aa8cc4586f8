"""What a passage has to hold, and what it must not hold, to be found at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Field = Literal["text", "title", "id", "path", "lang"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One operator of a query.

    text: the words stand in the passage (or its title and headings) one after the other, in any inflection. title: the
    document's title contains the value, path: its external id does, in any case; id: the external id is the value.
    lang: the text search configuration of the passage is the value.
    """

    field: Field
    value: str


@dataclass(frozen=True, slots=True)
class Conditions:
    """A passage is found when all of `must` hold (of several languages one) and none of `must_not`."""

    must: tuple[Condition, ...] = ()
    must_not: tuple[Condition, ...] = ()

    @property
    def inclusive(self) -> bool:
        """Whether the passages that may be found are listed; else, with words to avoid alone, those that may not."""
        return bool(self.must) or any(condition.field != "text" for condition in self.must_not)

    def as_json(self, *, filtered: bool) -> dict[str, Any]:
        """As rag.scope_passages reads it. `filtered`: a filter on metadata comes with it, so passages are listed."""
        return {
            "inclusive": self.inclusive or filtered,
            "must": [{"field": item.field, "value": item.value} for item in self.must],
            "must_not": [{"field": item.field, "value": item.value} for item in self.must_not],
        }
