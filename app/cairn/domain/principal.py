"""Who is asking: the tenant that every row, statement and cache entry belongs to, and by what right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args
from uuid import UUID

Scope = Literal["read", "ask", "write", "admin"]
"""What a caller may do: read documents, search and look at runs; ask questions, which may cost model calls; add, change and
delete documents; operate (keys, cache, models, audit). A scope does not include another one."""

ALL_SCOPES: Final[frozenset[Scope]] = frozenset(get_args(Scope))


PERSON: Final = "person"
"""What access lists call who signs in with a token: person:<subject>."""


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """What a key may use; None: as much as the settings say for keys without limits of their own."""

    requests_per_minute: int | None = None
    concurrent_runs: int | None = None
    tokens_per_day: int | None = None
    cost_per_day: float | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who it is within the tenant. `id` names it in the audit log: `local` (command line, library, a server without
    authentication), `key:<uuid>` or `token:<subject>`. `key_id` is what limits are counted by; None: nothing is
    counted. `groups`: which it belongs to, by access lists of documents. `asked_as`: while a question of it is answered,
    names of it that access lists named when that began (rag.asked_as)."""

    id: str = "local"
    name: str = "local"
    scopes: frozenset[Scope] = ALL_SCOPES
    key_id: UUID | None = None
    limits: KeyLimits = KeyLimits()
    groups: frozenset[str] = frozenset()
    asked_as: tuple[str, ...] = ()

    @property
    def reads_all(self) -> bool:
        """Whether no access list keeps anything from it: who operates, and the process itself."""
        return "admin" in self.scopes

    @property
    def names(self) -> tuple[str, ...]:
        """By which access lists name it: its groups, and itself."""
        kind, _, subject = self.id.partition(":")
        return (
            *(f"group:{name}" for name in sorted(self.groups)),
            f"{PERSON if kind == 'token' else kind}:{subject}",
            self.id,
        )


LOCAL: Final = Caller()
EVERYTHING: Final = "*"
"""In the place of principals: all access lists let it pass."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller. Principals of one tenant are equal, whoever calls: what is kept by principal is kept by tenant."""

    tenant_id: int
    tenant: str
    caller: Caller = field(default=LOCAL, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """By which access lists let it pass: * for who reads everything, else the caller's names."""
        return (EVERYTHING,) if self.caller.reads_all else tuple(dict.fromkeys(self.caller.names))

    @property
    def principals(self) -> str:
        """As the database is told (app.principals): * for who reads everything, else an array of the caller's names."""
        return EVERYTHING if self.caller.reads_all else array_of(self.names)

    @property
    def house(self) -> Principal:
        """For what is due after the caller's work and is of the whole collection: it reads everything, tells the caller nothing,
        and is counted on the caller's key."""
        return replace(self, caller=replace(self.caller, scopes=ALL_SCOPES))


def array_of(names: Iterable[str]) -> str:
    """An array of texts as PostgreSQL reads it."""
    return "{" + ",".join('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in names) + "}"
