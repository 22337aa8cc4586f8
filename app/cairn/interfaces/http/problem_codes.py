"""What the codes of errors mean and what to do about them, where the class of the error does not say it."""

from __future__ import annotations

from typing import Final

MEANINGS: Final = {
    "address-refused": "Nothing is fetched from this address: its host is not in `urls.allowedHosts`, or it lies "
    "in a private network. Add the host to the settings, or upload the page as a file.",
    "backup-failed": "A backup could not be made or restored; `detail` says why.",
    "bad-request": "The request is not HTTP or JSON that can be read, such as a body that breaks off; `detail` says where.",
    "budget-exceeded": "The run has used up what it may spend (settings `agents`). Ask for less, or raise the limit.",
    "conflict": "Something else stands in the way, such as a name or an id that is in use; `detail` says "
    "what. Sending it again changes nothing.",
    "database-ahead": "The database was migrated by newer, incompatible code, and this process must not serve it. "
    "Install that release.",
    "database-unavailable": "PostgreSQL does not answer or took too long. Try again after `Retry-After`; "
    "`/health/ready` says how it is.",
    "embedded-server": "The PostgreSQL server that Cairn runs itself could not be started; `detail` and its log say why.",
    "empty-document": "The document has no text at all. Only it fails, never its batch.",
    "encrypted-document": "The document has a password. Remove it and upload the document again; only it fails, never its batch.",
    "epoch-not-reached": "`min_epoch` asks for a later state of a collection than there is: the collection was deleted and made "
    "anew, or the epoch is that of another one. Leave it out, or send one that this collection has had (`epochs` of a search).",
    "fetch-failed": "A page could not be fetched from its host; `detail` has its answer. Try again later.",
    "forbidden": "The key is valid and lacks the scope that the route asks for, which `scope` names. Use a key that has it.",
    "foreign-origin": "A web page of another host sent the request. Send it from this host's own page, or from a program.",
    "idempotency-key-reused": "The Idempotency-Key was given to another request: other method, path, query or body. Make "
    "a new one for this request.",
    "internal": "A mistake of the server's. The log has it under the `request_id`.",
    "invalid-input": "A value of the request is wrong: `errors` says which and why, or `detail`.",
    "invalid-settings": "settings.json or the environment is not usable; `detail` says where. A running process "
    "keeps the settings before.",
    "issuer-unavailable": "The keys of the issuer of access tokens cannot be had, so no token can be checked. Try "
    "again later; keys of Cairn work.",
    "method-not-allowed": "The path is there and cannot be asked with this method; `Allow` names those that it takes.",
    "migration-failed": "The database could not be brought to the schema of this release; nothing of the step that "
    "failed was kept.",
    "no-text-layer": "The PDF has pictures of pages and no text. Run OCR on it and upload it again.",
    "not-found": "What the path or the body names is not there, or is not the caller's. Lists say what there is.",
    "not-ready": "The process cannot serve now: `problems` says why, for callers with the scope admin.",
    "package-missing": "A package that is fetched when it is first needed could not be; `detail` says which. Let the server "
    "reach a package index, or install it there.",
    "part-missing": "What was asked for needs libraries that are not installed on the server; `detail` has the command "
    "that does.",
    "parser-limit": "Reading the document took more memory, time, pages or decompressed bytes than `ingest` "
    "allows. Split it, or raise the limit; only it fails, never its batch.",
    "program-missing": "A program of PostgreSQL is not installed on the server; `detail` names it.",
    "prepared-statements": "A connection pooler loses the statements that the server prepares. Set "
    "`CAIRN_PREPARED_STATEMENTS=off`, or let the pooler keep them; `detail` says how.",
    "provider-bad-response": "The provider answered with something that is not what its protocol promises (malformed, "
    "truncated, empty). Try again later; the log has it.",
    "provider-failed": "The model's provider could not be reached or refused the request. Try again later; the log "
    "has its answer.",
    "provider-input-too-long": "A text, or all texts of one request together, are longer than the model takes. Send less "
    "at once.",
    "provider-timeout": "The model's provider took longer than the settings allow. Try again later.",
    "query-timeout": "A statement took longer than the database may take for it. Ask for less, or try again later.",
    "read-only": "The database is a standby that follows another server. It answers searches, questions and lists; send what "
    "changes something to a server at the primary, or promote the standby.",
    "rate-limited": "The key has used up its requests, runs, tokens or cost; `Retry-After` says when there is "
    "more, GET /usage how much.",
    "request-timeout": "The request came too slowly, and the connection was closed. Send it again.",
    "run-lost": "The process of a resumable run died before the run ended. Ask again.",
    "stopping": "The server was asked to stop while a run or a stream was open. Go on at another process, "
    "or after `Retry- After`.",
    "text-deleted": "What a run said is gone, with a document that it quoted or with its conversation. Ask again.",
    "too-large": "The body, a file of it or its JSON is larger than the settings allow; `detail` names the setting.",
    "unauthenticated": "The request has no key or token that counts. Send `Authorization: Bearer` with one.",
    "unavailable": "The server cannot do it now. Try again after `Retry-After`.",
    "unknown-host": "The request names a host in `Host` that this server does not go by; see `api.allowedHosts`.",
    "unknown-route": "There is no such path; `/docs` has all of them.",
    "unreadable-document": "The document could not be turned into text; `detail` says why. Only it fails, never its batch.",
    "unsafe-role": "The server's connection has rights for which row security does not hold, so it is never "
    "used. Give it a role without them.",
    "unsupported-parameter": "A request of another API asks for what this server does not do. Leave out the parameter "
    "that `param` names.",
    "unsupported-type": "The body comes under the wrong media type, or a file is of a format that is not read; "
    "`detail` says which.",
}
