"""`Client` and `AsyncClient`: the same methods, blocking and with `await`, over the same calls."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import httpx2

from cairn.client import calls
from cairn.client.calls import ApiCall, FoundPassages, Ingested
from cairn.client.events import EventReader
from cairn.client.problems import UnfinishedError, UnreachableError, problem_of
from cairn.domain.answer import Answer
from cairn.domain.document import Document
from cairn.domain.event import Event
from cairn.domain.passage import FusionForm, Mode
from cairn.errors import CairnError

T = TypeVar("T")
CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 300.0
"""Longest silence of the server: an answer of an agent takes up to `agents.seconds`; streams are never silent for so long."""
LOOK_SECONDS: Final = 0.5
"""How often a job is looked at."""
FETCH_SECONDS: Final = 600.0
"""How long `fetch` waits for its job, unless told otherwise."""
ENDED: Final = frozenset({"succeeded", "failed", "parked", "cancelled"})


class Client:
    """Blocking calls; safe to share between threads. `url` and `key` default to CAIRN_URL (http://127.0.0.1:8000) and
    CAIRN_API_KEY. Every method raises the CairnError that the server answered with (`detail`, `code`, and `extra` with the
    request_id), UnreachableError where it did not answer."""

    def __init__(self, url: str | None = None, key: str | None = None, *, seconds: float = READ_SECONDS) -> None:
        self._http = httpx2.Client(**_options(url, key, seconds))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def search(
        self, query: str, *, collection: str | Sequence[str] | None = None, top_k: int = 10, mode: Mode | None = None,
        filters: Mapping[str, Any] | None = None, rerank: bool | None = None, fusion: FusionForm | None = None,
        min_epoch: int | Mapping[str, int] | None = None,
    ) -> FoundPassages:  # fmt: skip
        """Passages, best first. Without a collection it is that of the server's settings. `min_epoch`: the least state of the
        collection that is to be searched, as what wrote returned it."""
        return self._send(calls.search_call(query, collection, top_k, mode, filters, rerank, fusion, min_epoch))

    def ask(
        self, question: str, *, collection: str | None = None, strategy: str = "auto", session: str | None = None,
        filters: Mapping[str, Any] | None = None, min_epoch: int | None = None,
    ) -> Answer:  # fmt: skip
        """The answer, with citations. `session`: the conversation that the question belongs to, which is remembered."""
        return self._send(calls.ask_call(question, collection, strategy, session, filters, min_epoch))

    def stream(
        self, question: str, *, collection: str | None = None, strategy: str = "auto", session: str | None = None,
        filters: Mapping[str, Any] | None = None, min_epoch: int | None = None,
    ) -> Iterator[Event]:  # fmt: skip
        """The same run as it goes: RunStarted, Progress, SourcesFound, Token; the last one is Answered or Cancelled. Closing the
        iterator ends the run."""
        call, reader = (
            calls.ask_call(question, collection, strategy, session, filters, min_epoch, stream=True),
            EventReader(),
        )
        with _reached(), self._http.stream(call.method, call.path, **_parts(call)) as response:
            if response.status_code >= 300:
                raise problem_of(response.status_code, response.read())
            for piece in response.iter_bytes():
                yield from reader.feed(piece)
            _check_end(reader)

    def cancel(self, run_id: UUID) -> None:
        """End a run; RunStarted tells its id."""
        self._send(calls.cancel_call(run_id))

    def upload(
        self, paths: str | Path | Sequence[str | Path], *, collection: str, metadata: Mapping[str, Any] | None = None,
        access: Sequence[str] | None = None,
    ) -> Ingested:  # fmt: skip
        """Files, and folders with all below them; searchable when it returns. Each file's name, or its path from the folder's
        parent, is its external id. `access`: who may read them (`group:hr`, `person:ada`); None: as they are. Raises
        InputError for a path that does not exist."""
        files, said, done = _files(paths), _json(metadata), Ingested()
        for batch in calls.batches(files):
            done += self._send(calls.upload_call(collection, batch, said, access))
        return done

    def index(self, documents: Sequence[Mapping[str, Any]], *, collection: str | None = None) -> Ingested:
        """Texts that the caller has: objects with `text`, and `id`, `title`, `metadata` where there are any, as POST /index has
        them; searchable when it returns."""
        return self._send(calls.index_call(collection, documents))

    def fetch(
        self, urls: str | Sequence[str], *, collection: str, metadata: Mapping[str, Any] | None = None,
        seconds: float = FETCH_SECONDS,
    ) -> Ingested:  # fmt: skip
        """Let the server fetch pages of hosts that its settings allow (`urls.allowedHosts`), and wait until they are
        searchable. Raises UnfinishedError after `seconds`; the job goes on."""
        job_id, end = self._send(calls.urls_call(collection, _listed(urls), metadata)), time.monotonic() + seconds
        while (job := self._send(calls.job_call(job_id)))["status"] not in ENDED:
            _check_time(job, end, seconds)
            time.sleep(LOOK_SECONDS)
        return _result(job)

    def collections(self) -> list[str]:
        """Names of all collections."""
        return self._all(calls.collections_call)

    def documents(self, collection: str) -> list[Document]:
        """All documents of a collection, in order of external id."""
        return self._all(partial(calls.documents_call, collection))

    def delete(self, document_id: UUID, *, collection: str) -> None:
        """Remove a document with everything derived from it."""
        self._send(calls.delete_call(collection, document_id))

    def _send(self, call: ApiCall[T]) -> T:
        with _reached():
            return _read(call, self._http.request(call.method, call.path, **_parts(call)))

    def _all(self, page: Callable[[str | None], ApiCall[tuple[list[T], str | None]]]) -> list[T]:
        found, cursor = self._send(page(None))
        while cursor:
            more, cursor = self._send(page(cursor))
            found += more
        return found


class AsyncClient:
    """The methods of `Client`, to be awaited; `stream` is iterated over with `async for`."""

    def __init__(self, url: str | None = None, key: str | None = None, *, seconds: float = READ_SECONDS) -> None:
        self._http = httpx2.AsyncClient(**_options(url, key, seconds))

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """See Client.close."""
        await self._http.aclose()

    async def search(
        self, query: str, *, collection: str | Sequence[str] | None = None, top_k: int = 10, mode: Mode | None = None,
        filters: Mapping[str, Any] | None = None, rerank: bool | None = None, fusion: FusionForm | None = None,
        min_epoch: int | Mapping[str, int] | None = None,
    ) -> FoundPassages:  # fmt: skip
        """See Client.search."""
        return await self._send(calls.search_call(query, collection, top_k, mode, filters, rerank, fusion, min_epoch))

    async def ask(
        self, question: str, *, collection: str | None = None, strategy: str = "auto", session: str | None = None,
        filters: Mapping[str, Any] | None = None, min_epoch: int | None = None,
    ) -> Answer:  # fmt: skip
        """See Client.ask."""
        return await self._send(calls.ask_call(question, collection, strategy, session, filters, min_epoch))

    async def stream(
        self, question: str, *, collection: str | None = None, strategy: str = "auto", session: str | None = None,
        filters: Mapping[str, Any] | None = None, min_epoch: int | None = None,
    ) -> AsyncIterator[Event]:  # fmt: skip
        """See Client.stream."""
        call, reader = (
            calls.ask_call(question, collection, strategy, session, filters, min_epoch, stream=True),
            EventReader(),
        )
        with _reached():
            async with self._http.stream(call.method, call.path, **_parts(call)) as response:
                if response.status_code >= 300:
                    raise problem_of(response.status_code, await response.aread())
                async for piece in response.aiter_bytes():
                    for event in reader.feed(piece):
                        yield event
                _check_end(reader)

    async def cancel(self, run_id: UUID) -> None:
        """See Client.cancel."""
        await self._send(calls.cancel_call(run_id))

    async def upload(
        self, paths: str | Path | Sequence[str | Path], *, collection: str, metadata: Mapping[str, Any] | None = None,
        access: Sequence[str] | None = None,
    ) -> Ingested:  # fmt: skip
        """See Client.upload."""
        files, said, done = await asyncio.to_thread(_files, paths), _json(metadata), Ingested()
        waiting = iter(calls.batches(files))
        while batch := await asyncio.to_thread(next, waiting, None):
            done += await self._send(calls.upload_call(collection, batch, said, access))
        return done

    async def index(self, documents: Sequence[Mapping[str, Any]], *, collection: str | None = None) -> Ingested:
        """See Client.index."""
        return await self._send(calls.index_call(collection, documents))

    async def fetch(
        self, urls: str | Sequence[str], *, collection: str, metadata: Mapping[str, Any] | None = None,
        seconds: float = FETCH_SECONDS,
    ) -> Ingested:  # fmt: skip
        """See Client.fetch."""
        job_id, end = await self._send(calls.urls_call(collection, _listed(urls), metadata)), time.monotonic() + seconds
        while (job := await self._send(calls.job_call(job_id)))["status"] not in ENDED:
            _check_time(job, end, seconds)
            await asyncio.sleep(LOOK_SECONDS)
        return _result(job)

    async def collections(self) -> list[str]:
        """See Client.collections."""
        return await self._all(calls.collections_call)

    async def documents(self, collection: str) -> list[Document]:
        """See Client.documents."""
        return await self._all(partial(calls.documents_call, collection))

    async def delete(self, document_id: UUID, *, collection: str) -> None:
        """See Client.delete."""
        await self._send(calls.delete_call(collection, document_id))

    async def _send(self, call: ApiCall[T]) -> T:
        with _reached():
            return _read(call, await self._http.request(call.method, call.path, **_parts(call)))

    async def _all(self, page: Callable[[str | None], ApiCall[tuple[list[T], str | None]]]) -> list[T]:
        found, cursor = await self._send(page(None))
        while cursor:
            more, cursor = await self._send(page(cursor))
            found += more
        return found


def _options(url: str | None, key: str | None, seconds: float) -> dict[str, Any]:
    key = key or os.environ.get("CAIRN_API_KEY")
    return {
        "base_url": (url or os.environ.get("CAIRN_URL") or "http://127.0.0.1:8000").rstrip("/"),
        "headers": {"Authorization": f"Bearer {key}"} if key else {},
        "timeout": httpx2.Timeout(seconds, connect=CONNECT_SECONDS),
    }


def _parts(call: ApiCall[Any]) -> dict[str, Any]:
    if call.files:
        files = [("files", (name, content)) for name, content in call.files]
        return {"params": call.query, "files": files, "data": dict(call.form)}
    return {"params": call.query, **({"json": call.body} if call.body is not None else {})}


@contextmanager
def _reached() -> Iterator[None]:
    try:
        yield
    except httpx2.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise UnreachableError(f"no answer from the server: {reason}; is `cairn serve` running there?") from error
    except httpx2.InvalidURL as error:
        raise UnreachableError(f"that is no address of a server: {error}") from error


def _read(call: ApiCall[T], response: httpx2.Response) -> T:
    if response.status_code >= 300:  # a redirect too: it would take the key elsewhere
        raise problem_of(response.status_code, response.content)
    try:
        body = json.loads(response.content) if response.content else None
    except ValueError:
        raise UnreachableError(f"what answers at {response.url} is no Cairn: it answers in no JSON") from None
    return call.read(body)


def _check_end(reader: EventReader) -> None:
    if not reader.ended:
        raise UnreachableError("the connection ended before the answer")


def _files(paths: str | Path | Sequence[str | Path]) -> list[tuple[str, Path]]:
    return calls.files_below([paths] if isinstance(paths, str | Path) else paths)


def _json(metadata: Mapping[str, Any] | None) -> str | None:
    return None if metadata is None else json.dumps(metadata)


def _listed(urls: str | Sequence[str]) -> list[str]:
    return [urls] if isinstance(urls, str) else list(urls)


def _check_time(job: Mapping[str, Any], end: float, seconds: float) -> None:
    if time.monotonic() >= end:
        hint = "no worker has taken it (does `cairn worker` run?)" if job["status"] == "queued" else "it goes on"
        told = f"job {job['id']} is {job['status']} after {seconds:g} s: {hint}; see GET /jobs/{job['id']}"
        raise UnfinishedError(told, job_id=job["id"])


def _result(job: Mapping[str, Any]) -> Ingested:
    if job["status"] != "succeeded":
        raise CairnError(f"job {job['id']} is {job['status']}: {job['error'] or 'no reason given'}", job_id=job["id"])
    return calls.read_ingested(job["result"])
