"""What agents may spend, and how they work."""

from __future__ import annotations

from pydantic import Field

from app.settings.section import Section


class AgentSettings(Section):
    """What one run of an agent strategy (react, iterative, planned, corrective) may spend, and how react works."""

    seconds: float = Field(120, gt=0, le=3600, description="Wall clock of a run; a quarter, at most, is the answer's.")
    model_calls: int = Field(30, ge=1, le=500, description="Calls of the chat model, failed ones and checks included.")
    tokens: int = Field(150_000, ge=1000, description="Tokens read and written; estimated where none are reported.")
    cost: float = Field(
        0, ge=0, description="Most money, by answer.prices; 0: no limit. Models without a price are free."
    )
    tool_calls: int = Field(20, ge=1, le=500, description="Calls of tools that do something; repeated ones are free.")
    tool_seconds: float = Field(30, gt=0, description="Longest one call of a tool may take.")
    call_seconds: float = Field(60, gt=0, description="Longest the model may think about one step.")
    reflect_seconds: float = Field(30, gt=0, description="Longest a reflection may take.")
    max_steps: int = Field(7, ge=1, le=50, description="Steps of react; then it must conclude.")
    temperature: float = Field(0.3, ge=0, le=2, description="Sampling temperature of a step.")
    step_tokens: int = Field(1024, ge=64, description="Most tokens of a step or a reflection; some models think first.")


class PlannedSettings(Section):
    """How the planned strategy works: by a plan, with searches and openings that are counted."""

    tool_calls: int = Field(5, ge=1, le=50, description="Searches and openings of a run (MAX_TOOL_CALLS).")
    most_tool_calls: int = Field(
        10, ge=1, le=50, description="Where the prompt demands more than that, at most so many."
    )
    iterations: int = Field(10, ge=1, le=100, description="Replies of the model in all (MAX_ITERATIONS).")
    reprompts: int = Field(3, ge=0, le=20, description="Answers that are sent back (MAX_REPROMPTS).")
    context_citations: int = Field(
        5, ge=1, le=50, description="Opened citations a prompt shows (MAX_CONTEXT_CITATIONS)."
    )
    citation_chars: int = Field(2000, ge=200, description="Characters of each (MAX_CITATION_TEXT_FOR_LLM).")
    question_chars: int = Field(1000, ge=1, description="Longest question of /api/agent (MAX_QUESTION_LENGTH).")
    plan_seconds: float = Field(300, gt=0, description="Longest the model may plan; agents.seconds limits the run.")
    call_seconds: float = Field(600, gt=0, description="Longest it may think about one action.")


class IterativeSettings(Section):
    """How the iterative strategy fetches what an answer says is missing (A9), and what its sessions keep."""

    max_passes: int = Field(3, ge=1, le=10, description="Answers of a run, each with what is missing.")
    targeted_top_k: int = Field(3, ge=1, le=50, description="Passages that a search for one gap brings.")
    min_confidence: float = Field(0.3, ge=0, le=1, description="Least confidence with which a search has found a gap.")
    idle_minutes: int = Field(30, ge=1, description="Sessions are forgotten when they were not used for so long.")
    session_nodes: int = Field(
        50, ge=1, le=1000, description="Passages that a session keeps; the least recently read go."
    )
