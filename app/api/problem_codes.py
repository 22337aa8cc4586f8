"""What the codes of errors mean and what to do about them, where the class of the error does not say it."""

from __future__ import annotations

from typing import Final

MEANINGS: Final = {
    "bad-request": "The request is not HTTP or JSON that can be read, such as a body that breaks off; `detail` says where.",
    "conflict": "Something else stands in the way, such as a name or an id that is in use; `detail` says what. Sending it again "
    "changes nothing.",
    "database-unavailable": "PostgreSQL does not answer or took too long. Try again after `Retry-After`; `/health/ready` says "
    "how it is.",
    "embedded-server": "The PostgreSQL server that Cairn runs itself could not be started; `detail` and its log say why.",
    "empty-document": "The document has no text at all. Only it fails, never its batch.",
    "encrypted-document": "The document has a password. Remove it and upload the document again; only it fails, never its batch.",
    "foreign-origin": "A web page of another host sent the request. Send it from this host's own page, or from a program.",
    "internal": "A mistake of the server's. The log has it under the `request_id`.",
    "invalid-input": "A value of the request is wrong: `errors` says which and why, or `detail`.",
    "method-not-allowed": "The path is there and cannot be asked with this method; `Allow` names those that it takes.",
    "migration-failed": "The database could not be brought to the schema of this release; nothing of the "
    "step that failed was kept.",
    "no-text-layer": "The PDF has pictures of pages and no text. Run OCR on it and upload it again.",
    "not-found": "What the path or the body names is not there, or is not the caller's. Lists say what there is.",
    "not-ready": "The process cannot serve now: `problems` says why, for callers with the scope admin.",
    "provider-failed": "The model's provider could not be reached or refused the request. Try again later; "
    "the log has its answer.",
    "provider-timeout": "The model's provider took longer than the settings allow. Try again later.",
    "query-timeout": "A statement took longer than the database may take for it. Ask for less, or try again later.",
    "rate-limited": "The key has used up its requests, runs, tokens or cost; `Retry-After` says when there is "
    "more, GET /usage how much.",
    "request-timeout": "The request came too slowly, and the connection was closed. Send it again.",
    "too-large": "The body, a file of it or its JSON is larger than the settings allow; `detail` names the setting.",
    "unauthenticated": "The request has no key or token that counts. Send `Authorization: Bearer` with one.",
    "unavailable": "The server cannot do it now. Try again after `Retry-After`.",
    "unknown-host": "The request names a host in `Host` that this server does not go by; see `api.allowedHosts`.",
    "unknown-route": "There is no such path; `/docs` has all of them.",
    "unsupported-type": "The body comes under the wrong media type, or a file is of a format that is not read; "
    "`detail` says which.",
}
