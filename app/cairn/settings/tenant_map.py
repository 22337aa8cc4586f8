"""Which tenant lives in which database: the file that CAIRN_TENANT_DATABASES names. Tenants that it does not name live in the
default database, that of CAIRN_DATABASE_URL."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from cairn.errors import SettingsError

VARIABLE: Final = "CAIRN_TENANT_DATABASES"
DEFAULT: Final = "default"
"""Name of the database of CAIRN_DATABASE_URL."""
MOVING: Final = "moving"
"""Stands in place of a database for a tenant that is nowhere until it has moved."""


@dataclass(frozen=True, slots=True)
class DatabaseUrls:
    """How one database is reached, as by CAIRN_DATABASE_URL, CAIRN_APP_DATABASE_URL and CAIRN_REPLICA_URL."""

    url: str = field(repr=False)
    app_url: str | None = field(default=None, repr=False)
    replica_urls: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class TenantMap:
    """`databases` by name, without the default one. `tenants`: the name of a database, or MOVING, by that of a tenant."""

    databases: Mapping[str, DatabaseUrls] = field(default_factory=dict)
    tenants: Mapping[str, str] = field(default_factory=dict)

    def place_of(self, tenant: str) -> str:
        """The name of the database where a tenant lives, or MOVING."""
        return self.tenants.get(tenant, DEFAULT)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all databases, the default one first."""
        return (DEFAULT, *self.databases)


def _check_url(url: str) -> str:
    if not url.startswith(("postgresql://", "postgres://")):
        raise ValueError("is no URL of PostgreSQL (postgresql://...)")
    return url


_Url = Annotated[str, AfterValidator(_check_url)]
_Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
_STRICT = ConfigDict(extra="forbid", strict=True)


class _Database(BaseModel):
    model_config = _STRICT

    url: _Url
    app_url: _Url | None = None
    replica_urls: list[_Url] = []


class _File(BaseModel):
    model_config = _STRICT

    databases: dict[_Name, _Database] = {}
    tenants: dict[str, str] = {}


def read_tenant_map(path: Path) -> TenantMap:
    """Raises SettingsError with one line for a file that cannot be used: what it says is never guessed at, because who is
    served from where depends on it."""
    try:
        given = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SettingsError(f"{VARIABLE}={path}: {error.strerror or error}") from None
    except ValidationError as error:
        raise SettingsError(f"{VARIABLE}={path}: {_explain(error)}") from None
    except ValueError as error:  # no UTF-8, no TOML
        raise SettingsError(f"{VARIABLE}={path} is not TOML: {error}") from None
    known = sorted({DEFAULT, MOVING, *given.databases})
    problems = [
        f"databases.{name}: the name is taken, choose another" for name in (DEFAULT, MOVING) if name in given.databases
    ]
    problems += [
        f"tenant {tenant!r} is to live in {place!r}, which is no database of the file (there are {', '.join(known)})"
        for tenant, place in given.tenants.items()
        if place not in known
    ]
    problems += [
        f"tenant {name!r} is no name of a tenant: it has spaces around it or within, or nothing in it"
        for name in given.tenants
        if not name or name != " ".join(name.split())
    ]
    if problems:
        raise SettingsError(f"{VARIABLE}={path}: {'; '.join(problems)}")
    databases = {
        name: DatabaseUrls(one.url, one.app_url, tuple(one.replica_urls)) for name, one in given.databases.items()
    }
    return TenantMap(databases, dict(given.tenants))


def _explain(error: ValidationError) -> str:
    """Without what stands in the file: URLs have passwords."""
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc'] if part != '[key]')}: "
        + ("unknown key" if item["type"] == "extra_forbidden" else item["msg"].removeprefix("Value error, "))
        for item in error.errors(include_input=False, include_url=False)
    )
