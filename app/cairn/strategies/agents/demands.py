"""What a prompt demands of how it is answered, and how many calls of tools it may take for that. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cairn.domain.plan import PromptConstraints
from cairn.settings import PlannedSettings
from cairn.strategies.agents.tools.tool import Toolbox


@dataclass(frozen=True, slots=True)
class Demands:
    """`constraints` as far as they are required, within `limit` calls of tools; `notes`: what of the prompt is not."""

    constraints: PromptConstraints
    limit: int
    notes: tuple[str, ...] = ()

    def left(self, toolbox: Toolbox) -> int:
        """Calls that may still be made. What was found before, and what was called wrongly, costs nothing."""
        budget, calls = toolbox.budget, toolbox.calls
        return max(0, min(self.limit - calls, budget.limits.tool_calls - budget.tool_calls))

    @property
    def listed(self) -> str:
        """A line for each constraint, for a model."""
        wanted, lines = self.constraints, []
        if wanted.min_searches > 1:
            topics = f" (on: {', '.join(wanted.required_search_topics)})" if wanted.required_search_topics else ""
            lines.append(f"Perform at least {wanted.min_searches} separate searches{topics}")
        if wanted.min_open_citations:
            lines.append(f"Open at least {wanted.min_open_citations} citation(s)")
        if wanted.requires_exact_quote:
            lines.append(f"Quote exact text, between quotation marks, for: {', '.join(wanted.exact_quote_indicators)}")
        if wanted.conflict_resolution_rule:
            lines.append(f"Where documents contradict each other: {wanted.conflict_resolution_rule}")
        if wanted.required_sections:
            lines.append(f"Write these sections: {', '.join(wanted.required_sections)}")
        if wanted.requires_insufficiency_disclosure:
            lines.append(
                "Where documentation is missing, write 'Insufficient documentation' and list it in insufficiencies"
            )
        return "\n".join(f"- {line}" for line in lines)


def read_demands(wanted: PromptConstraints, settings: PlannedSettings) -> Demands:
    """With the calls that the prompt's constraints need, as far as that is allowed."""
    most = max(settings.tool_calls, settings.most_tool_calls)
    limit = max(settings.tool_calls, min(wanted.needed_calls, most))
    if wanted.needed_calls <= most:
        return Demands(wanted, limit)
    openings = min(wanted.min_open_citations, most // 2)
    met = replace(wanted, min_searches=max(1, min(wanted.min_searches, most - openings)), min_open_citations=openings)
    note = (
        f"The prompt demands {wanted.min_searches} searches and {wanted.min_open_citations} opened citations; at most "
        f"{most} calls are made: {met.min_searches} and {met.min_open_citations} were required instead."
    )
    return Demands(met, limit, (note,))
