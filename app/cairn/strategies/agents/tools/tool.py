"""What a tool is, and what the tools of one run have found.

A tool is a function of the run's toolbox and of its arguments, a pydantic model. There is no argument for a tenant or a
collection: tools see what the question's own search would see, whatever a model asks for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from cairn.domain.passage import Passage
from cairn.language.text import normalise
from cairn.providers.protocols import ToolSpec
from cairn.runs.budget import Budget
from cairn.runs.context import Run

LONGEST_TEXT = 1000
"""Characters of an argument; the rest is cut off."""
LONGEST_ANSWER = 20_000
MOST_FOUND = 20
"""Passages that one call of a tool may ask for."""


class Arguments(BaseModel):
    """Base of all arguments. What a tool does not know is ignored; its description says what it knows."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


def _line(text: str) -> str:
    return " ".join(normalise(text).replace("\ufffd", " ").split())[:LONGEST_TEXT].strip()


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _clamped(value: Any) -> Any:
    try:
        return max(1, min(MOST_FOUND, int(float(value))))
    except (TypeError, ValueError, OverflowError):
        return value


Maybe = Annotated[str, BeforeValidator(_as_text), AfterValidator(_line)]
"""A line of text, of which the beginning counts."""
Text = Annotated[Maybe, AfterValidator(_not_empty)]
"""The same, and not empty."""
Answer = Annotated[
    str, BeforeValidator(_as_text), AfterValidator(lambda text: _not_empty(normalise(text).strip()[:LONGEST_ANSWER]))
]
"""Longer text, lines kept."""
Count = Annotated[int, BeforeValidator(_clamped), Field(ge=1, le=MOST_FOUND)]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`observation` is what the model reads; what is quoted in it stands in JSON strings, which are data. `data` is
    the same for programs: empty (None, []) where there is nothing. `passages`: what was found, best first; `[n]` in the
    observation are their numbers in the toolbox. `fact`: a statement of SQL that is complete and needs no citation.
    `arguments` as they were checked, and `repeated`, for a call that was made before, are filled in by `use`."""

    observation: str
    success: bool = True
    data: Any = None
    passages: tuple[Passage, ...] = ()
    fact: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    repeated: bool = False


Kind = Literal["search", "entity", "facts", "text", "end"]
"""search and entity look for something and may find nothing, which is a dead end; facts come from SQL; text is
made of what was found; end ends the run."""


@dataclass(frozen=True, slots=True)
class Tool:
    """`description` is a line of the prompt. `run` may raise CairnError; `use` makes a failed result of it. `rereads`: it works
    on all passages found so far, so that the same call may bring something else after more were found."""

    name: str
    kind: Kind
    description: str
    arguments: type[Arguments]
    run: Callable[[Toolbox, Any], Awaitable[ToolResult]]
    rereads: bool = False

    @property
    def line(self) -> str:
        """Its line in a prompt: name, arguments, description."""
        return f"- {self.name}({', '.join(_argument(name, f) for name, f in self.fields)}): {self.description}"

    @property
    def spec(self) -> ToolSpec:
        """As a model is given it natively."""
        return ToolSpec(self.name, self.description, _parameters(self.arguments))

    @property
    def fields(self) -> list[tuple[str, Any]]:
        return [(info.alias or name, info) for name, info in self.arguments.model_fields.items()]


_FOR_PEOPLE = ("title", "description")


@cache
def _parameters(arguments: type[Arguments]) -> Mapping[str, Any]:
    """The schema of a tool's arguments. A model is told it with each question, and to make it takes longer than to send it."""
    schema = arguments.model_json_schema(by_alias=True)
    properties = {name: _plain(field) for name, field in schema.get("properties", {}).items()}
    return {name: value for name, value in {**schema, "properties": properties}.items() if name not in _FOR_PEOPLE}


def _plain(field: Any) -> Any:
    return {key: value for key, value in field.items() if key != "title"} if isinstance(field, dict) else field


def _argument(name: str, info: Any) -> str:
    shown = info.description or "text"
    return f"{name}: {shown}" if info.is_required() else f"{name}: {shown}, optional"


@dataclass(frozen=True, slots=True)
class Used:
    """One call of a tool, for the trace: `found` passages by id, never their words. `reason`: why it failed."""

    tool: str
    arguments: Mapping[str, Any]
    success: bool
    ms: float
    found: tuple[UUID, ...] = ()
    repeated: bool = False
    reason: str = ""

    def told(self) -> dict[str, Any]:
        """As analyst.agent_steps reads it."""
        return {
            "tool": self.tool, "arguments": dict(self.arguments), "success": self.success, "ms": self.ms,
            "found": [str(key) for key in self.found], "repeated": self.repeated, "reason": self.reason,
        }  # fmt: skip


@dataclass(slots=True)
class Toolbox:
    """Of one run. `passages[n - 1]` is what `[n]` means; `facts` are statements of SQL. `done` has the result of each call
    by tool and arguments; `repeated` counts calls that had been made before."""

    run: Run
    budget: Budget
    tools: Mapping[str, Tool]
    passages: list[Passage] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    done: dict[str, ToolResult] = field(default_factory=dict)
    used: list[Used] = field(default_factory=list)
    repeated: int = 0

    def number(self, passage: Passage) -> int:
        """The number of a passage, a new one where it has none."""
        for at, known in enumerate(self.passages):
            if known.passage_id == passage.passage_id:
                return at + 1
        self.passages.append(passage)
        return len(self.passages)

    @property
    def calls(self) -> int:
        """That did what they were asked, for the first time."""
        return sum(used.success and not used.repeated for used in self.used)

    @property
    def documents(self) -> tuple[UUID, ...]:
        """Of the passages."""
        return tuple({passage.document_id for passage in self.passages})

    @property
    def filters(self) -> dict[str, Any]:
        """The caller's own; every tool applies them."""
        return dict(self.run.question.filters or {})

    @property
    def collection(self) -> str:
        return self.run.question.collection

    def described(self) -> str:
        """All tools, a line each, for a prompt."""
        return "\n".join(tool.line for tool in self.tools.values())
