"""What a prompt demands of the way to its answer, and of the answer (A10.01)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PromptConstraints:
    """`conflict_resolution_rule`: the prompt's own words. `estimated_min_answer_length` in characters, 0: any.
    `required_search_topics` and `required_sections` as the prompt spells them."""

    min_searches: int = 1
    required_search_topics: tuple[str, ...] = ()
    min_open_citations: int = 0
    requires_exact_quote: bool = False
    exact_quote_indicators: tuple[str, ...] = ()
    requires_conflict_resolution: bool = False
    conflict_resolution_rule: str | None = None
    required_sections: tuple[str, ...] = ()
    requires_insufficiency_disclosure: bool = False
    estimated_min_answer_length: int = 0

    @property
    def needed_calls(self) -> int:
        """Tool calls without which the constraints cannot be met."""
        return self.min_searches + self.min_open_citations

    @property
    def is_complex_query(self) -> bool:
        """Whether anything is demanded that a plain question does not."""
        return self != PromptConstraints(estimated_min_answer_length=self.estimated_min_answer_length)

    @property
    def explicit(self) -> bool:
        """Whether the prompt tells how to work, or several things about the answer, so that a plan is worth making."""
        ways = self.min_searches > 1 or self.min_open_citations > 0
        demands = (
            self.requires_exact_quote,
            self.requires_conflict_resolution,
            self.requires_insufficiency_disclosure,
            len(self.required_sections) > 1,
        )
        return ways or sum(demands) > 1
