"""All sections as one value, and what is wrong with a file."""

from __future__ import annotations

import difflib
import hashlib
import json
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ValidationError

from app.errors import SettingsError
from app.settings.agents import AgentSettings, IterativeSettings, PlannedSettings
from app.settings.documents import ChunkingSettings, IngestSettings
from app.settings.graph import GraphSettings
from app.settings.operating import ApiSettings, JobsSettings, ProviderSettings, RunSettings, TraceSettings
from app.settings.questions import AnswerSettings, GroundSettings, MemorySettings, RewriteSettings, RoutingSettings
from app.settings.rag import RagSettings
from app.settings.retrieval import CacheSettings, LexicalSettings, RetrieveSettings, VectorSettings
from app.settings.section import Section


class Settings(Section):
    """The whole file."""

    rag: RagSettings = RagSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    ingest: IngestSettings = IngestSettings()
    vector: VectorSettings = VectorSettings()
    lexical: LexicalSettings = LexicalSettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    cache: CacheSettings = CacheSettings()
    graph: GraphSettings = GraphSettings()
    rewrite: RewriteSettings = RewriteSettings()
    routing: RoutingSettings = RoutingSettings()
    answer: AnswerSettings = AnswerSettings()
    ground: GroundSettings = GroundSettings()
    agents: AgentSettings = AgentSettings()
    planned: PlannedSettings = PlannedSettings()
    iterative: IterativeSettings = IterativeSettings()
    providers: ProviderSettings = ProviderSettings()
    memory: MemorySettings = MemorySettings()
    jobs: JobsSettings = JobsSettings()
    runs: RunSettings = RunSettings()
    trace: TraceSettings = TraceSettings()
    api: ApiSettings = ApiSettings()

    @cached_property
    def revision(self) -> str:
        """Twelve hex digits that identify the effective values; stored with every trace."""
        canonical = json.dumps(self.model_dump(by_alias=True, mode="json"), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def _known_keys(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    """Names allowed where an unknown key stood, to suggest the nearest."""
    for part in path:
        found = next((f for n, f in model.model_fields.items() if (f.alias or n) == part), None)
        if found is None or not (isinstance(found.annotation, type) and issubclass(found.annotation, BaseModel)):
            return []
        model = found.annotation
    return [f.alias or n for n, f in model.model_fields.items()]


def _explain(error: ValidationError) -> str:
    problems = []
    for item in error.errors():
        *where, last = item["loc"] or ("",)
        name = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            near = difflib.get_close_matches(str(last), _known_keys(Settings, tuple(where)), n=1, cutoff=0.5)
            problems.append(f"unknown key {name!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
        else:
            problems.append(f"{name}: {item['msg']}")
    return "; ".join(problems)


def parse_settings(raw: bytes) -> Settings:
    """Settings from the bytes of a file. Raises SettingsError that names every problem."""
    if not raw.strip():
        raise SettingsError("the file is empty; write {} for the defaults")
    try:
        data = json.loads(raw)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise SettingsError(f"not valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise SettingsError(f"must be a JSON object, found {type(data).__name__}")
    try:
        # JSON mode, so that arrays become tuples under strict validation
        return Settings.model_validate_json(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        raise SettingsError(_explain(error)) from None
