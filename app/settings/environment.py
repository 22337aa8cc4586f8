"""What the process is told from outside."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.errors import SettingsError


@dataclass(frozen=True, slots=True)
class OidcIssuer:
    """Whose access tokens count, and which of their claims name the tenant and the scopes. `jwks_url`: where the issuer's keys
    are; None: where its discovery document says."""

    issuer: str
    audience: str
    tenant_claim: str = "tenant"
    scope_claim: str = "scope"
    jwks_url: str | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """What the process is told from outside. Unset database URL: the embedded server. `allowed_hosts`: names that this process is
    called by, besides those of the settings; a container's, which its settings cannot know. `prepared_statements`: whether the
    connections that serve keep them, which some poolers cannot carry. `replica_urls`: of standbys that may answer reads."""

    database_url: str | None
    app_database_url: str | None
    analyst_database_url: str | None
    prepared_statements: bool
    replica_urls: tuple[str, ...]
    home: Path
    tenant: str
    settings_path: Path | None
    host: str
    port: int
    allow_open: bool
    allowed_hosts: tuple[str, ...]
    auth: Literal["off", "keys"]
    oidc: OidcIssuer | None
    openai_api_key: str | None
    openai_base_url: str | None
    cohere_api_key: str | None
    cohere_base_url: str | None

    @property
    def chat_configured(self) -> bool:
        """Whether a chat model can be called; without one the extractive answerer works."""
        return bool(self.openai_api_key or self.openai_base_url)


def default_home() -> Path:
    """The user's data folder; for root a folder that an unprivileged server user can reach."""
    if os.geteuid() == 0:
        return Path("/var/lib/cairn")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "cairn"


def read_environment(environ: Mapping[str, str] = os.environ) -> Environment:
    """The process environment as a value. Raises SettingsError for what cannot be meant."""
    port = environ.get("CAIRN_PORT") or "8000"
    if not port.isdigit() or not 0 <= int(port) < 65536:
        raise SettingsError(f"CAIRN_PORT must be a port number, not {port!r}")
    auth = environ.get("CAIRN_AUTH") or "off"
    if auth not in ("off", "keys"):
        raise SettingsError(f"CAIRN_AUTH must be off or keys, not {auth!r}")
    prepared = environ.get("CAIRN_PREPARED_STATEMENTS") or "on"
    if prepared not in ("on", "off"):
        raise SettingsError(f"CAIRN_PREPARED_STATEMENTS must be on or off, not {prepared!r}")
    named = environ.get("CAIRN_SETTINGS")
    local = Path("settings.json")
    return Environment(
        database_url=environ.get("CAIRN_DATABASE_URL") or None,
        app_database_url=environ.get("CAIRN_APP_DATABASE_URL") or None,
        analyst_database_url=environ.get("CAIRN_ANALYST_DATABASE_URL") or None,
        prepared_statements=prepared == "on",
        replica_urls=_read_replicas(environ.get("CAIRN_REPLICA_URL") or ""),
        home=Path(environ.get("CAIRN_HOME") or default_home()).expanduser().absolute(),
        tenant=environ.get("CAIRN_TENANT") or "default",
        settings_path=Path(named) if named else (local if local.exists() else None),
        host=environ.get("CAIRN_HOST") or "127.0.0.1",
        port=int(port),
        allow_open=environ.get("CAIRN_ALLOW_OPEN") == "1",
        allowed_hosts=tuple(name.strip() for name in environ.get("CAIRN_ALLOWED_HOSTS", "").split(",") if name.strip()),
        auth="keys" if auth == "keys" else "off",
        oidc=_read_issuer(environ, auth == "keys"),
        openai_api_key=environ.get("OPENAI_API_KEY") or None,
        openai_base_url=environ.get("OPENAI_BASE_URL") or None,
        cohere_api_key=environ.get("COHERE_API_KEY") or None,
        cohere_base_url=environ.get("COHERE_BASE_URL") or None,
    )


def _read_replicas(text: str) -> tuple[str, ...]:
    """URLs separated by commas. One may have commas itself, between hosts."""
    urls = tuple(url.strip() for url in re.split(r",\s*(?=postgres(?:ql)?://)", text) if url.strip())
    if wrong := [url for url in urls if not url.startswith(("postgresql://", "postgres://"))]:
        raise SettingsError(f"CAIRN_REPLICA_URL has {len(wrong)} that is no URL of PostgreSQL (postgresql://...)")
    return urls


def _read_issuer(environ: Mapping[str, str], keys: bool) -> OidcIssuer | None:
    issuer, audience = environ.get("CAIRN_OIDC_ISSUER"), environ.get("CAIRN_OIDC_AUDIENCE")
    if not issuer and not audience:
        return None
    if not issuer or not audience:
        raise SettingsError(
            "CAIRN_OIDC_ISSUER and CAIRN_OIDC_AUDIENCE go together: a token for somebody else must not count"
        )
    if not keys:
        raise SettingsError("CAIRN_OIDC_ISSUER is set and CAIRN_AUTH is not: set CAIRN_AUTH=keys")
    return OidcIssuer(
        issuer,
        audience,
        environ.get("CAIRN_OIDC_TENANT_CLAIM") or "tenant",
        environ.get("CAIRN_OIDC_SCOPE_CLAIM") or "scope",
        environ.get("CAIRN_OIDC_JWKS_URL") or None,
    )
