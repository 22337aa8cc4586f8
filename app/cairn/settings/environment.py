"""What the process is told from outside."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from cairn.errors import SettingsError
from cairn.settings.tenant_map import DEFAULT, MOVING, VARIABLE, TenantMap, read_tenant_map


@dataclass(frozen=True, slots=True)
class OidcIssuer:
    """Whose access tokens count, and which of their claims name the tenant, the scopes and the groups. `audiences`: one of them
    must be in the token; the first is asked for where somebody signs in. `jwks_url`: where the issuer's keys are; None: where its
    discovery document says. `client_id`: as whom the page sends people there to sign in, None: it does not; `client_secret`: None
    for a public client. `name`: what people call the issuer. `scopes`: what the page asks for, and agents are told to ask for."""

    issuer: str
    audiences: tuple[str, ...]
    tenant_claim: str = "tenant"
    scope_claim: str = "scope"
    jwks_url: str | None = None
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    name: str = ""
    scopes: tuple[str, ...] = ("openid",)
    groups_claim: str = "groups"


@dataclass(frozen=True, slots=True)
class Environment:
    """What the process is told from outside. Unset database URL: the embedded server. `allowed_hosts`: names that this process is
    called by, besides those of the settings; a container's, which its settings cannot know. `prepared_statements`: whether the
    connections that serve keep them, which some poolers cannot carry. `replica_urls`: of standbys that may answer reads.
    `tenant_map`: which tenants live in another database than that of `database_url`. `secrets_key`: what secrets of sources are
    encrypted with (cairn/connectors/seal_secrets.py)."""

    database_url: str | None
    app_database_url: str | None
    analyst_database_url: str | None
    prepared_statements: bool
    replica_urls: tuple[str, ...]
    tenant_map: TenantMap
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
    secrets_key: str | None = field(default=None, repr=False)

    @property
    def chat_configured(self) -> bool:
        """Whether a chat model can be called; without one the extractive answerer works."""
        return bool(self.openai_api_key or self.openai_base_url)

    def at(self, database: str) -> Environment:
        """The same, working with that database of the map. Raises SettingsError where it has none of that name."""
        if database == DEFAULT:
            return self
        urls = self.tenant_map.databases.get(database)
        if urls is None:
            known = ", ".join(self.tenant_map.names)
            raise SettingsError(
                f"there is no database {database[:40]!r}; {VARIABLE} and CAIRN_DATABASE_URL name {known}"
            )
        return replace(
            self, database_url=urls.url, app_database_url=urls.app_url, replica_urls=urls.replica_urls,
            analyst_database_url=None,
        )  # fmt: skip

    def for_tenant(self, tenant: str) -> Environment:
        """The same, working with the database where the tenant lives. Raises SettingsError while it is nowhere."""
        place = self.tenant_map.place_of(tenant)
        if place == MOVING:
            raise SettingsError(
                f"tenant {tenant!r} is being moved ({VARIABLE}): nothing works for it until that names a database"
            )
        return self.at(place)


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
    named, mapped = environ.get("CAIRN_SETTINGS"), environ.get("CAIRN_TENANT_DATABASES")
    local = Path("settings.json")
    return Environment(
        database_url=environ.get("CAIRN_DATABASE_URL") or None,
        app_database_url=environ.get("CAIRN_APP_DATABASE_URL") or None,
        analyst_database_url=environ.get("CAIRN_ANALYST_DATABASE_URL") or None,
        prepared_statements=prepared == "on",
        replica_urls=_read_replicas(environ.get("CAIRN_REPLICA_URL") or ""),
        tenant_map=read_tenant_map(Path(mapped)) if mapped else TenantMap(),
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
        secrets_key=environ.get("CAIRN_SECRETS_KEY") or None,
    )


def check_process(environment: Environment, *, serves: bool) -> None:
    """What a process that works for several tenants asks of its map. Raises SettingsError."""
    tenant_map = environment.tenant_map
    if environment.tenant in tenant_map.tenants:
        raise SettingsError(
            f"CAIRN_TENANT={environment.tenant} names the tenant of this process, which lives in the database of "
            f"CAIRN_DATABASE_URL, and {VARIABLE} says otherwise: name another in CAIRN_TENANT"
        )
    if serves and tenant_map.databases and environment.auth != "keys":
        raise SettingsError(f"{VARIABLE} is for a server that tells callers apart: set CAIRN_AUTH=keys")


def _read_replicas(text: str) -> tuple[str, ...]:
    """URLs separated by commas. One may have commas itself, between hosts."""
    urls = tuple(url.strip() for url in re.split(r",\s*(?=postgres(?:ql)?://)", text) if url.strip())
    if wrong := [url for url in urls if not url.startswith(("postgresql://", "postgres://"))]:
        raise SettingsError(f"CAIRN_REPLICA_URL has {len(wrong)} that is no URL of PostgreSQL (postgresql://...)")
    return urls


def _read_issuer(environ: Mapping[str, str], keys: bool) -> OidcIssuer | None:
    issuer = environ.get("CAIRN_OIDC_ISSUER")
    audiences = tuple(name.strip() for name in environ.get("CAIRN_OIDC_AUDIENCE", "").split(",") if name.strip())
    client_id, client_secret = (
        environ.get("CAIRN_OIDC_CLIENT_ID") or None,
        environ.get("CAIRN_OIDC_CLIENT_SECRET") or None,
    )
    if client_secret and not client_id:
        raise SettingsError("CAIRN_OIDC_CLIENT_SECRET is set and CAIRN_OIDC_CLIENT_ID is not: whose secret is it?")
    if not issuer and not audiences and not client_id:
        return None
    if not issuer or not audiences:
        raise SettingsError(
            "CAIRN_OIDC_ISSUER and CAIRN_OIDC_AUDIENCE go together: a token for somebody else must not count"
        )
    if not keys:
        raise SettingsError("CAIRN_OIDC_ISSUER is set and CAIRN_AUTH is not: set CAIRN_AUTH=keys")
    asked = tuple((environ.get("CAIRN_OIDC_SCOPES") or "").split())
    return OidcIssuer(
        issuer,
        audiences,
        environ.get("CAIRN_OIDC_TENANT_CLAIM") or "tenant",
        environ.get("CAIRN_OIDC_SCOPE_CLAIM") or "scope",
        environ.get("CAIRN_OIDC_JWKS_URL") or None,
        client_id,
        client_secret,
        environ.get("CAIRN_OIDC_NAME") or urlsplit(issuer).hostname or issuer,
        ("openid", *(scope for scope in asked if scope != "openid")),
        environ.get("CAIRN_OIDC_GROUPS_CLAIM") or "groups",
    )
