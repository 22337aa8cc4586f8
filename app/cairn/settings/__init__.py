"""settings.json as a typed, immutable value, and the environment.

The file has Thoth's `rag` block (same camelCase keys) and one section per room. It is read at start and again
whenever it changes; a file that cannot be used (unknown key, wrong type, empty, half-written) never replaces the
settings in force: `SettingsStore.problem` says what is wrong, for the log and /health/ready. One request uses one
snapshot: take `store.current` once.

sections.py has a section for each room.
"""

from __future__ import annotations

from cairn.settings.environment import Environment, OidcIssuer, check_process, default_home, read_environment
from cairn.settings.sections import (
    AdmissionSettings,
    AgenticSettings,
    AgentSettings,
    AnalystSettings,
    AnswerSettings,
    ApiSettings,
    AuditSettings,
    CacheSettings,
    ChunkingSettings,
    CommunitySettings,
    EnrichmentSettings,
    GraphModelSettings,
    GraphSettings,
    GroundSettings,
    IngestSettings,
    IterativeSettings,
    JobsSettings,
    LexicalSettings,
    LimitSettings,
    MemorySettings,
    PlannedSettings,
    Price,
    ProviderSettings,
    QaSettings,
    RagSettings,
    ReplicaSettings,
    RetrieveSettings,
    RewriteSettings,
    RoutingSettings,
    RunSettings,
    SettingsSection,
    SpendingCaps,
    TraceSettings,
    UrlSettings,
    VectorSettings,
    WebSettings,
)
from cairn.settings.store import Settings, SettingsStore, parse_settings
from cairn.settings.tenant_map import DEFAULT, MOVING, DatabaseUrls, TenantMap

__all__ = [
    "DEFAULT",
    "MOVING",
    "AdmissionSettings",
    "AgentSettings",
    "AgenticSettings",
    "AnalystSettings",
    "AnswerSettings",
    "ApiSettings",
    "AuditSettings",
    "CacheSettings",
    "ChunkingSettings",
    "CommunitySettings",
    "DatabaseUrls",
    "EnrichmentSettings",
    "Environment",
    "GraphModelSettings",
    "GraphSettings",
    "GroundSettings",
    "IngestSettings",
    "IterativeSettings",
    "JobsSettings",
    "LexicalSettings",
    "LimitSettings",
    "MemorySettings",
    "OidcIssuer",
    "PlannedSettings",
    "Price",
    "ProviderSettings",
    "QaSettings",
    "RagSettings",
    "ReplicaSettings",
    "RetrieveSettings",
    "RewriteSettings",
    "RoutingSettings",
    "RunSettings",
    "Settings",
    "SettingsSection",
    "SettingsStore",
    "SpendingCaps",
    "TenantMap",
    "TraceSettings",
    "UrlSettings",
    "VectorSettings",
    "WebSettings",
    "check_process",
    "default_home",
    "parse_settings",
    "read_environment",
]
