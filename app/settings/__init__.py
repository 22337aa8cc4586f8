"""settings.json as a typed, immutable value, and the environment.

The file has Thoth's `rag` block (same camelCase keys) and one section per room. It is read at start and again
whenever it changes; a file that cannot be used (unknown key, wrong type, empty, half-written) never replaces the
settings in force: `SettingsStore.problem` says what is wrong, for the log and /health/ready. One request uses one
snapshot: take `store.current` once.

Each file here has the sections of some rooms.
"""

from __future__ import annotations

from app.settings.agents import AgentSettings, IterativeSettings, PlannedSettings
from app.settings.documents import ChunkingSettings, IngestSettings
from app.settings.environment import Environment, default_home, read_environment
from app.settings.graph import CommunitySettings, GraphModelSettings, GraphSettings, GraphVectorSettings
from app.settings.operating import ApiSettings, JobsSettings, ProviderSettings, RunSettings, TraceSettings
from app.settings.questions import AnswerSettings, GroundSettings, MemorySettings, RewriteSettings, RoutingSettings
from app.settings.rag import AgenticSettings, QaSettings, RagSettings
from app.settings.retrieval import CacheSettings, LexicalSettings, RetrieveSettings, VectorSettings
from app.settings.root import Settings, parse_settings
from app.settings.section import Price, Section
from app.settings.store import SettingsStore

__all__ = [
    "AgentSettings",
    "AgenticSettings",
    "AnswerSettings",
    "ApiSettings",
    "CacheSettings",
    "ChunkingSettings",
    "CommunitySettings",
    "Environment",
    "GraphModelSettings",
    "GraphSettings",
    "GraphVectorSettings",
    "GroundSettings",
    "IngestSettings",
    "IterativeSettings",
    "JobsSettings",
    "LexicalSettings",
    "MemorySettings",
    "PlannedSettings",
    "Price",
    "ProviderSettings",
    "QaSettings",
    "RagSettings",
    "RetrieveSettings",
    "RewriteSettings",
    "RoutingSettings",
    "RunSettings",
    "Section",
    "Settings",
    "SettingsStore",
    "TraceSettings",
    "VectorSettings",
    "default_home",
    "parse_settings",
    "read_environment",
]
