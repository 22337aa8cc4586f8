"""All sections as one value, what is wrong with a file, and the settings in force, which follow their file."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import structlog
from pydantic import BaseModel, Field, ValidationError, model_validator

from cairn.errors import SettingsError
from cairn.settings import released
from cairn.settings.released import find_older_defaults, flatten, note_older_defaults, read_released
from cairn.settings.sections import (
    AUTO,
    AdmissionSettings,
    AgentSettings,
    AnalystSettings,
    AnswerSettings,
    ApiSettings,
    AuditSettings,
    CacheSettings,
    ChunkingSettings,
    EnrichmentSettings,
    GraphSettings,
    GroundSettings,
    IngestSettings,
    IterativeSettings,
    JobsSettings,
    LexicalSettings,
    LimitSettings,
    MemorySettings,
    PageSettings,
    PlannedSettings,
    ProviderSettings,
    RagSettings,
    ReplicaSettings,
    RetrieveSettings,
    RewriteSettings,
    RoutingSettings,
    RunSettings,
    SettingsSection,
    TraceSettings,
    UrlSettings,
    VectorSettings,
    WebSettings,
)


class Settings(SettingsSection):
    """The whole file."""

    rag: RagSettings = Field(default_factory=RagSettings)  # not made at import: the environment may say the model
    chunking: ChunkingSettings = ChunkingSettings()
    ingest: IngestSettings = IngestSettings()
    enrichment: EnrichmentSettings = EnrichmentSettings()
    vector: VectorSettings = VectorSettings()
    lexical: LexicalSettings = LexicalSettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    cache: CacheSettings = CacheSettings()
    graph: GraphSettings = GraphSettings()
    rewrite: RewriteSettings = RewriteSettings()
    routing: RoutingSettings = RoutingSettings()
    answer: AnswerSettings = AnswerSettings()
    ground: GroundSettings = GroundSettings()
    web: WebSettings = WebSettings()
    urls: UrlSettings = UrlSettings()
    agents: AgentSettings = AgentSettings()
    planned: PlannedSettings = PlannedSettings()
    iterative: IterativeSettings = IterativeSettings()
    providers: ProviderSettings = ProviderSettings()
    memory: MemorySettings = MemorySettings()
    jobs: JobsSettings = JobsSettings()
    runs: RunSettings = RunSettings()
    trace: TraceSettings = TraceSettings()
    audit: AuditSettings = AuditSettings()
    replicas: ReplicaSettings = ReplicaSettings()
    analysts: AnalystSettings = AnalystSettings()
    limits: LimitSettings = LimitSettings()
    admission: AdmissionSettings = AdmissionSettings()
    page: PageSettings = PageSettings()
    api: ApiSettings = ApiSettings()

    @model_validator(mode="after")
    def _check_web_search(self) -> Settings:
        if self.rag.agentic_retrieval.web_search_fallback_enabled and not self.web.searxng_url:
            raise ValueError(
                "rag.agenticRetrieval.webSearchFallbackEnabled needs web.searxngUrl, the address of a SearXNG server: set it, or "
                "switch the fallback off"
            )
        return self

    @cached_property
    def revision(self) -> str:
        """Twelve hex digits that identify the effective values; stored with every trace."""
        canonical = json.dumps(self.model_dump(by_alias=True, mode="json"), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def changed_keys(before: Settings, after: Settings) -> list[str]:
    """Names (`retrieve.rrfK`) of what differs, without their values."""
    old, new = flatten_settings(before), flatten_settings(after)
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def flatten_settings(settings: Settings) -> dict[str, Any]:
    """Every setting by its name (`retrieve.rrfK`)."""
    return dict(flatten(settings.model_dump(by_alias=True, mode="json")))


def shipped_defaults() -> dict[str, Any]:
    """Every default by its name, whatever the environment says of the embedding model."""
    return flatten_settings(Settings()) | {"rag.embeddingModel": AUTO}


def describe_fields(model: type[BaseModel] = Settings, above: str = "") -> Iterator[tuple[str, str]]:
    """The sentence of every setting by its name."""
    for name, one in model.model_fields.items():
        key = above + (one.alias or name)
        if isinstance(one.annotation, type) and issubclass(one.annotation, BaseModel):
            yield from describe_fields(one.annotation, f"{key}.")
        else:
            yield key, one.description or ""


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
        elif not item["loc"]:
            problems.append(str(item["ctx"]["error"]))  # of several sections
        else:
            problems.append(f"{name}: {item['msg']}")
    return "; ".join(problems)


WITHDRAWN: Final = ("graph.vectors", "ingest.embedBatch")
"""Keys of earlier releases that mean nothing any more: a file that still has one is used without it, and a note says so."""


def parse_settings(raw: bytes) -> Settings:
    """Settings from the bytes of a file. Raises SettingsError that names every problem."""
    return read_settings(raw)[0]


def read_settings(raw: bytes) -> tuple[Settings, tuple[str, ...]]:
    """The same, with notes on what the file asks for in vain, or because an older release shipped it. Raises SettingsError."""
    if not raw.strip():
        raise SettingsError("the file is empty; write {} for the defaults")
    try:
        data = json.loads(raw)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise SettingsError(f"not valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise SettingsError(f"must be a JSON object, found {type(data).__name__}")
    notes = [f"{key} is of an earlier release and means nothing any more: remove it" for key in _drop_withdrawn(data)]
    try:
        # JSON mode, so that arrays become tuples under strict validation
        settings = Settings.model_validate_json(json.dumps(data), by_alias=True, by_name=False)
    except ValidationError as error:
        raise SettingsError(_explain(error)) from None
    if older := find_older_defaults(data, shipped_defaults(), read_released(released.FOLDER)):
        notes.append(note_older_defaults(older))
    return settings, tuple(notes)


def _drop_withdrawn(data: dict[str, Any]) -> Iterator[str]:
    """Remove withdrawn keys, and name those that were there."""
    for key in WITHDRAWN:
        *sections, last = key.split(".")
        section: Any = data
        for name in sections:
            section = section.get(name) if isinstance(section, dict) else None
        if isinstance(section, dict) and last in section:
            del section[last]
            yield key


# --- The settings in force, and the file that they follow ---

log = structlog.get_logger(__name__)


class SettingsStore:
    """Holds the snapshot in force and replaces it whole when the file changes to something valid. `problem` is what makes the
    present file unusable, `notes` what it asks for in vain or without need."""

    def __init__(self, path: Path | None = None, initial: Settings | None = None) -> None:
        """Read `path` now. Raises SettingsError when it is unusable: at start there are no old settings to keep."""
        self.path = path
        self.problem: str | None = None
        self.notes: tuple[str, ...] = ()
        self.current = initial or Settings()
        if path and not initial:
            self.current, self.notes = self._read()
            self._log_notes()

    def _read(self) -> tuple[Settings, tuple[str, ...]]:
        assert self.path is not None
        try:
            raw = self.path.read_bytes()
        except OSError as error:
            raise SettingsError(f"{self.path}: {error.strerror or error}") from None
        try:
            return read_settings(raw)
        except SettingsError as error:
            raise SettingsError(f"{self.path}: {error.detail}") from None

    def reload(self) -> bool:
        """Read the file again; True when the snapshot changed. A bad file is reported once and changes nothing."""
        try:
            fresh, self.notes = self._read()
        except SettingsError as error:
            if error.detail != self.problem:
                log.error("settings.rejected", problem=error.detail, kept=self.current.revision)
            self.problem = error.detail
            return False
        self.problem = None
        if fresh == self.current:
            return False
        log.info("settings.reloaded", old=self.current.revision, new=fresh.revision)
        self.current = fresh
        self._log_notes()
        return True

    def _log_notes(self) -> None:
        for note in self.notes:
            log.warning("settings.note", note=note)

    async def watch(
        self, stop: asyncio.Event | None = None, on_reload: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Follow the file until cancelled; `on_reload` after each time it was read. The folder is watched: an atomic rename
        replaces the file's inode."""
        from watchfiles import awatch

        if self.path is None:
            return
        target = self.path.resolve()
        async for changes in awatch(target.parent, stop_event=stop, debounce=50, step=20, recursive=False):
            if any(Path(name).name == target.name for _, name in changes):
                self.reload()
                if on_reload is not None:
                    await on_reload()
