"""The one exception tree.

Every error that a user may meet derives from `CairnError` and carries what each edge needs: an HTTP status, a short
machine-readable `code`, and a `detail` that says what happened and, where possible, what to do. The API renders it as
RFC 9457 problem+json, the CLI as one line and an exit code. Anything else that escapes is a bug and becomes a 500.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal


class CairnError(Exception):
    """Base of all expected errors. `extra` is shown to the caller next to the detail (never secrets); `headers` go with the
    response over HTTP."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    title: ClassVar[str] = "Internal error"
    exit_code: ClassVar[int] = 1

    def __init__(self, detail: str, **extra: Any) -> None:
        super().__init__(detail)
        self.detail = detail or self.title
        self.extra = extra
        self.headers: dict[str, str] = {}


def reason_of(error: BaseException) -> str:
    """What an error says, on one line; its kind where it says nothing, as a TimeoutError does. Never empty."""
    return " ".join(str(error).split()) or type(error).__name__


def named_reason(error: BaseException) -> str:
    """The kind of an error, and what it says where it says anything: for what nobody foresaw."""
    said = reason_of(error)
    return said if said == type(error).__name__ else f"{type(error).__name__}: {said}"


# --- who is calling -------------------------------------------------------------------------------------------------


class UnauthenticatedError(CairnError):
    """The request names nobody who may ask: there is no key, or one that is malformed, unknown, revoked or expired."""

    status, code, title = 401, "unauthenticated", "Not authenticated"

    def __init__(self, detail: str, *, presented: bool = True, readable: bool = True) -> None:
        """`presented`: there was a key or token, which does not count. `readable`: it could be read; where there was none, or
        it could not, `expected` says in what form."""
        super().__init__(detail, **({} if presented and readable else {"expected": "Bearer"}))
        error = ', error="invalid_token"' if presented else ""
        self.headers["WWW-Authenticate"] = f'Bearer realm="cairn"{error}'


class IssuerUnavailableError(CairnError):
    """The keys of the issuer of access tokens cannot be had, so no token can be checked."""

    status, code, title = 503, "issuer-unavailable", "Issuer of tokens unavailable"


class SignInError(UnauthenticatedError):
    """Signing in at the issuer did not come to its end. `reason`: which sentence of the page says why (cairn.domain.sign_in)."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"signing in at the issuer failed: {reason}")
        self.reason = reason


class ForbiddenError(CairnError):
    """The key is valid and lacks the scope that the route asks for."""

    status, code, title = 403, "forbidden", "Forbidden"

    def __init__(self, scope: str) -> None:
        super().__init__(f"this needs the scope {scope}, which the key does not have", scope=scope)
        self.headers["WWW-Authenticate"] = f'Bearer realm="cairn", error="insufficient_scope", scope="{scope}"'


# --- what the caller sent -------------------------------------------------------------------------------------------


class InputError(CairnError):
    """The request is well-formed but cannot be carried out as it stands."""

    status, code, title, exit_code = 422, "invalid-input", "Invalid input", 2


class UnsupportedParameterError(InputError):
    """A request of another API asks for what this server does not do. `param` is the parameter."""

    code, title = "unsupported-parameter", "Unsupported parameter"


class NotFoundError(CairnError):
    status, code, title = 404, "not-found", "Not found"


class ConflictError(CairnError):
    status, code, title = 409, "conflict", "Conflict"


class WithheldError(ConflictError):
    """What is to be written would take the place of something that the caller may not read, or lie in a folder that they may
    not."""


class EpochNotReachedError(ConflictError):
    """`min_epoch` asks for a later state of a collection than the database has. `epochs`: where those collections are."""

    code, title = "epoch-not-reached", "Epoch not reached"

    def __init__(self, epochs: Mapping[str, int], least: Mapping[str, int]) -> None:
        told = ", ".join(f"{name} is at {epoch} and not at {least[name]}" for name, epoch in sorted(epochs.items()))
        super().__init__(
            f"min_epoch is beyond what was ever written: {told}. It was deleted and made anew, or the epoch is that of "
            "another collection",
            epochs=dict(epochs),
        )


class IdempotencyReusedError(InputError):
    """The Idempotency-Key was given to another request: other method, path, query or body."""

    code, title = "idempotency-key-reused", "Idempotency-Key of another request"

    def __init__(self, key: str) -> None:
        super().__init__(f"the Idempotency-Key {key} belongs to another request of yours; make a new key for this one")


class IdempotencyInFlightError(ConflictError):
    """The request of this Idempotency-Key is being carried out; its answer comes there, and here if it is sent again later."""

    code, title = "idempotency-key-in-flight", "Request is under way"

    def __init__(self, key: str) -> None:
        super().__init__(f"the request of the Idempotency-Key {key} is under way; send it again for its answer")
        self.headers["Retry-After"] = "2"


class TooLargeError(CairnError):
    status, code, title = 413, "too-large", "Too large"


class UnsupportedTypeError(CairnError):
    status, code, title = 415, "unsupported-type", "Unsupported type"


class AddressRefusedError(InputError):
    """Nothing is fetched from this address: its host is not in `urls.allowedHosts`, or it lies in a private network."""

    code, title = "address-refused", "Address refused"


class FetchError(CairnError):
    """A page could not be fetched from its host."""

    status, code, title = 502, "fetch-failed", "Page not fetched"


# --- limits of keys and tenants -------------------------------------------------------------------------------------


class OverloadedError(CairnError):
    """The server does as much of this as it can, and enough are waiting. `retry_after` seconds later there may be room."""

    status, code, title = 503, "overloaded", "Overloaded"

    def __init__(self, kind: str, retry_after: int) -> None:
        super().__init__(f"too many {kind} at once; try again in {retry_after} s", retry_after=retry_after)
        self.headers["Retry-After"] = str(retry_after)


class RequestTimeoutError(CairnError):
    """A request did not arrive in time."""

    status, code, title = 408, "request-timeout", "Request timeout"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.headers["Connection"] = "close"


class RateLimitedError(CairnError):
    """A limit of the key is used up: requests per minute, concurrent runs, or tokens or cost per day. `policy` says which;
    Retry-After and `retry_after` when some of it is there again."""

    status, code, title = 429, "rate-limited", "Too many requests"

    def __init__(
        self, detail: str, *, policy: str, limit: int | None, retry_after: float, window: int | None = None,
        unit: str = "requests",
    ) -> None:  # fmt: skip
        seconds = max(1, math.ceil(retry_after))
        super().__init__(detail, policy=policy, limit=limit, retry_after=seconds, window=window, unit=unit)
        self.headers["Retry-After"] = str(seconds)
        if limit is not None:
            self.headers |= rate_limit_fields(policy, limit, 0, seconds, window, unit)


def rate_limit_fields(
    policy: str, limit: int, remaining: int, seconds: int, window: int | None, unit: str = "requests"
) -> dict[str, str]:
    """RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11): quota, its unit and its window in seconds; what
    is left of it, and seconds until there is more."""
    named = (
        f'"{policy}";q={limit}' + (f";w={window}" if window else "") + (f';qu="{unit}"' if unit != "requests" else "")
    )
    return {"RateLimit-Policy": named, "RateLimit": f'"{policy}";r={remaining};t={seconds}'}


class TenantFullError(CairnError):
    """The tenant may not keep so many documents, bytes or chunks. Documents that are there already can be replaced by ones that
    are not larger."""

    status, code, title = 429, "tenant-full", "Tenant is full"

    def __init__(self, detail: str, **extra: Any) -> None:
        super().__init__(detail, **extra)
        self.headers["Retry-After"] = str(FULL_SECONDS)


FULL_SECONDS = 3600
"""Retry-After of a full tenant: somebody has to delete something, or allow more."""


# --- documents that cannot be read ----------------------------------------------------------------------------------


class ParseError(CairnError):
    """A document could not be turned into text. Only this document fails, never its batch."""

    status, code, title = 422, "unreadable-document", "Unreadable document"


class EmptyDocumentError(ParseError):
    code, title = "empty-document", "Empty document"


class EncryptedDocumentError(ParseError):
    code, title = "encrypted-document", "Encrypted document"


class NoTextLayerError(ParseError):
    code, title = "no-text-layer", "No text layer"


class ParserLimitError(ParseError):
    """A limit of the parsing subprocess was hit: memory, CPU, time, pages or decompressed size."""

    code, title = "parser-limit", "Parser limit exceeded"


# --- things Cairn depends on ----------------------------------------------------------------------------------------


FailureCause = Literal[
    "key",
    "credit",
    "model",
    "choice",
    "address",
    "busy",
    "server",
    "unreachable",
    "broken",
    "silent",
    "nonsense",
    "refused",
    "failed",
]
"""Why a model provider failed, as somebody has to know who is to mend it: its key, the account behind it, the name of the model
that the settings give, or that they give none of several, or the address; too many requests, an error of the server, no
connection, one that broke off, no answer in time, a reply that cannot be read, a request that is refused; or something else."""


class ProviderError(CairnError):
    """A model provider failed. `retryable` says whether the same call may succeed later; `blames_server` False that the
    failure tells nothing about other calls. `cause`: by the HTTP status that it answered with, unless told. `outline`: what
    happened without the provider's own words, which may quote what it was asked; the detail itself where it has none."""

    status, code, title = 502, "provider-failed", "Model provider failed"
    usual_cause: ClassVar[FailureCause] = "failed"

    def __init__(
        self, detail: str, *, retryable: bool = False, blames_server: bool = True, cause: FailureCause | None = None,
        outline: str = "", **extra: Any,
    ) -> None:  # fmt: skip
        super().__init__(detail, **extra)
        self.outline = outline or self.detail
        self.retryable = retryable
        self.blames_server = blames_server
        self.answered: int | None = extra.get("upstream_status")
        """The HTTP status of the provider's answer."""
        self.cause: FailureCause = cause or cause_of_status(self.answered) or self.usual_cause

    def outlined(self) -> ProviderError:
        """The same failure as others than who made the call may know of it."""
        told = ProviderError(self.outline, retryable=self.retryable, blames_server=self.blames_server, cause=self.cause)
        told.answered = self.answered
        return told


def cause_of_status(status: int | None) -> FailureCause | None:
    """What an HTTP status alone tells."""
    if status is None:
        return None
    known: dict[int, FailureCause] = {
        401: "key", 402: "credit", 403: "key", 404: "address", 408: "silent", 429: "busy"
    }  # fmt: skip
    if status in known:
        return known[status]
    if status < 400:
        return "address"
    return "refused" if status < 500 else "server"


class ProviderTimeoutError(ProviderError):
    status, code, title = 504, "provider-timeout", "Model provider timed out"
    usual_cause = "silent"


class ProviderResponseError(ProviderError):
    """The provider answered with something that is not what its protocol promises (malformed, truncated, empty)."""

    code, title = "provider-bad-response", "Model provider sent a malformed response"
    usual_cause = "nonsense"


class InputTooLongError(ProviderError):
    """A text, or all texts of one request together, are longer than the model takes."""

    code, title = "provider-input-too-long", "Text too long for the model"


class CircuitOpenError(ProviderError):
    """The model failed so often in a row that it is not called for some seconds; `retry_after` says how many. `reason`: the
    failure for which that is so, whose cause it has."""

    status, code, title = 503, "provider-circuit-open", "Model provider is not called for a while"

    def __init__(self, detail: str, *, reason: ProviderError, retry_after: int) -> None:
        super().__init__(detail, cause=reason.cause, retry_after=retry_after)
        self.answered = reason.answered


class BudgetExceededError(ProviderError):
    """The run has used up what it may spend (settings `agents`), or its key has; the model was not called, or not heard to its
    end. `of_key`: what the caller is told of it where that is the key, and there is no run that could do without the model."""

    status, code, title = 503, "budget-exceeded", "Budget of the run exceeded"

    def __init__(self, reason: str, of_key: RateLimitedError | None = None) -> None:
        whose = "this run" if of_key is None else "this key"
        super().__init__(f"the budget of {whose} is used up: {reason}", blames_server=False)
        self.reason = reason
        self.of_key = of_key


class DatabaseUnavailableError(CairnError):
    status, code, title = 503, "database-unavailable", "Database unavailable"


class ReadOnlyError(CairnError):
    """The database is a standby, which follows another server: it answers reads, and nothing can be changed there."""

    status, code, title = 503, "read-only", "Database is read-only"

    def __init__(self, detail: str = "") -> None:
        super().__init__(
            detail
            or "the database is a standby: it answers reads only. Send what changes something to a server whose "
            "CAIRN_DATABASE_URL is the primary, or promote the standby"
        )


class UnsafeRoleError(DatabaseUnavailableError):
    """A connection came with rights for which row security does not hold: it is never used."""

    code, title = "unsafe-role", "Unsafe database role"


class PreparedStatementsError(DatabaseUnavailableError):
    """A pooler shares server sessions and loses what was prepared in them."""

    code, title = "prepared-statements", "Prepared statements are lost"


class QueryTimeoutError(CairnError):
    status, code, title = 503, "query-timeout", "Query timed out"


# --- runs -----------------------------------------------------------------------------------------------------------


class StoppingError(CairnError):
    """The server was asked to stop while a run or a stream was open."""

    status, code, title = 503, "stopping", "Server is stopping"


class RunLostError(CairnError):
    """The process of a resumable run died before the run ended."""

    status, code, title = 503, "run-lost", "Run lost"


class TextDeletedError(CairnError):
    """What a run said is gone, with a document that it quoted or with its conversation."""

    status, code, title = 410, "text-deleted", "Text deleted"


# --- operating ------------------------------------------------------------------------------------------------------


class SettingsError(CairnError):
    """settings.json or the environment is not usable; while running, the previous settings stay in force."""

    code, title, exit_code = "invalid-settings", "Invalid settings", 2


class MigrationError(CairnError):
    code, title = "migration-failed", "Migration failed"


class DatabaseAheadError(MigrationError):
    """The database was migrated by newer, incompatible code; this process must not serve it."""

    code, title, exit_code = "database-ahead", "Database is newer than this code", 3


class BackupError(CairnError):
    """A backup that could not be made or restored."""

    code, title = "backup-failed", "Backup failed"


class TenantFileError(BackupError):
    """The same of one tenant."""


class ProgramMissingError(CairnError):
    """A program of PostgreSQL that is not installed here."""

    code, title = "program-missing", "A program is missing"


class MissingPartError(CairnError):
    """What is asked for needs an extra (cairn/distribution) that is not installed."""

    status, code, title = 501, "part-missing", "A part of Cairn is not installed"


class PackageFetchError(CairnError):
    """A package that is needed, such as that of PostgreSQL, could not be fetched."""

    status, code, title = 503, "package-missing", "A package that is needed is missing"


class EmbeddedServerError(CairnError):
    code, title = "embedded-server", "Embedded PostgreSQL failed"
