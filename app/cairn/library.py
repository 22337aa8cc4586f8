"""The library: what `import cairn` gives (docs/library.md). Six verbs, over the same services as CLI and HTTP.

    async with cairn.open() as rag:
        await rag.ingest("papers/")
        answer = await rag.ask("What limits the recall of the index?")

Needs no model service: an embedding model runs in the process, and PostgreSQL is started under the home where no other is
named. Every expected error is a CairnError.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import structlog

from cairn.domain.access import check_access
from cairn.domain.answer import Answer
from cairn.domain.document import Indexed, Rejected, Source
from cairn.domain.event import Event, Failed
from cairn.domain.ids import new_id
from cairn.domain.passage import FusionForm, Mode, SearchResult
from cairn.domain.question import Question
from cairn.errors import ConflictError, InputError
from cairn.service.access import remove_folder_access, set_folder_access
from cairn.service.ask import ask, held, start
from cairn.service.bulk import PreparedRow, load_prepared, open_folder, prepare_one
from cairn.service.bulk import write_prepared as write_rows
from cairn.service.conversations import check_session_id
from cairn.service.documents import check_collection_name, check_source, index_now, rename_collection
from cairn.service.files import IngestReport, ingest_files, select_files
from cairn.service.runs import cancel_run
from cairn.service.search import check_query, make_request, run_search
from cairn.settings import Environment, Settings, SettingsStore, TenantMap, parse_settings, read_environment
from cairn.wiring import Services, open_services

OnProgress = Callable[[int, int, str], None]
"""Documents that are done, of how many, and the name of the last one."""


@asynccontextmanager
async def open(
    home: str | PathLike[str] | None = None,
    *,
    database_url: str | None = None,
    tenant: str | None = None,
    settings: str | PathLike[str] | Mapping[str, Any] | None = None,
) -> AsyncIterator[Cairn]:
    """Open the database, migrated to this release, and the models; closed in reverse order.

    What is left out comes from the environment, as for the commands: CAIRN_HOME, CAIRN_DATABASE_URL (without it a PostgreSQL of
    its own under the home), CAIRN_TENANT, CAIRN_SETTINGS, OPENAI_API_KEY and OPENAI_BASE_URL. `settings`: a file like
    settings.json, or its content. Raises SettingsError, MigrationError, EmbeddedServerError, ProviderError.
    """
    _quiet_logs()
    environment = _environment(home, database_url, tenant)
    store = _settings(settings, environment)
    async with open_services(environment, store) as services:
        rag = Cairn(services)
        try:
            yield rag
        finally:
            rag._closed = True


def prepare_document(source: Source, *, settings: str | PathLike[str] | Mapping[str, Any] | None = None) -> PreparedRow:
    """A document parsed, cut and embedded, without a database: a row for `write_prepared` and `Cairn.load`.

    A function of its arguments, the models and the settings, so any engine may map it over documents, in any number of
    processes; arguments and result can be pickled. `settings` as for `open`. Raises InputError, ParseError (a CairnError) for a
    document that cannot be read, ProviderError when the embedding model fails, SettingsError.
    """
    _quiet_logs()
    environment = read_environment()
    now = _settings(settings, environment).current
    return prepare_one(_checked(source, now), environment, now)


def write_prepared(
    rows: Iterable[PreparedRow],
    folder: str | PathLike[str],
    *,
    settings: str | PathLike[str] | Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write rows of `prepare_document` into Parquet files of a folder, which others may write to at the same time; the files.

    `settings`: those that the rows were made with. Raises InputError where the folder cannot be written, or holds documents
    prepared by another model or other settings.
    """
    return write_rows(rows, Path(folder).expanduser().absolute(), _settings(settings, read_environment()).current)


def _settings(given: str | PathLike[str] | Mapping[str, Any] | None, environment: Environment) -> SettingsStore:
    if isinstance(given, Mapping):
        return SettingsStore(initial=parse_settings(json.dumps(given).encode()))
    return SettingsStore(Path(given) if given is not None else environment.settings_path)


def _checked(source: Source, settings: Settings) -> Source:
    if not isinstance(source.content, bytes):
        raise InputError(f"the content of {source.name} is {type(source.content).__name__}, not bytes: text.encode()")
    return check_source(source, settings)


def _environment(home: str | PathLike[str] | None, database_url: str | None, tenant: str | None) -> Environment:
    environment = read_environment()
    if home is not None:
        environment = replace(environment, home=Path(home).expanduser().absolute())
    if database_url is not None:
        environment = replace(environment, database_url=database_url, app_database_url=None, tenant_map=TenantMap())
    if tenant is not None:
        environment = replace(environment, tenant=tenant)
    return environment.for_tenant(environment.tenant)


class Cairn:
    """One tenant's documents, and what can be done with them. Made by `open`; its methods may run at the same time."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._closed = False

    async def ingest(
        self,
        what: str | PathLike[str] | Source | Sequence[str | PathLike[str] | Source],
        *,
        collection: str | None = None,
        prefix: str | None = None,
        replace_others: bool = False,
        prune: bool = False,
        access: Sequence[str] | None = None,
        on_progress: OnProgress | None = None,
    ) -> IngestReport:
        """Make files, folders with all below them, and documents given as `Source` searchable; searchable when it returns.

        What is indexed already costs nothing. A file that cannot be read stands in `failed`, and the others go on. The
        collection is created if need be; without a name it is that of the settings. Ids of files begin with `prefix`.
        `replace_others`: files may take the place of others with the same ids. `prune`: documents whose files are gone from
        the given paths are removed. `access`: who may read them (`group:hr`, `person:ada`), nobody: as `set_access` says; None:
        as they are, and of a `Source` as it says. Raises InputError for a path that does not exist and for a name that cannot be
        one, ConflictError where ids belong to other files, ProviderError when the embedding model fails.
        """
        given = [what] if isinstance(what, str | PathLike | Source) else list(what)
        name = self._collection(collection)
        sources = [_checked(one, self._services.settings.current) for one in given if isinstance(one, Source)]
        selection = select_files([Path(one) for one in given if not isinstance(one, Source)], prefix=prefix)
        step = _counting(on_progress, len(sources) + len(selection.files))
        report = await ingest_files(
            self._services, name, selection, step, replace=replace_others, prune=prune, access=access
        )
        if not sources:
            return report
        if access is not None:
            sources = [replace(one, access=check_access(access)) for one in sources]
        started = time.monotonic()
        outcomes = await index_now(self._services, name, sources, lambda outcome: step(outcome.external_id))
        return replace(
            report,
            indexed=(*report.indexed, *(one for one in outcomes if isinstance(one, Indexed))),
            failed=(*report.failed, *(one for one in outcomes if isinstance(one, Rejected))),
            seconds=report.seconds + time.monotonic() - started,
        )

    async def name_collection(self, collection: str, display_name: str | None) -> None:
        """Say what people are to call it, spaces and capitals included; None: its name again. Raises NotFoundError,
        InputError."""
        self._check_open()
        await rename_collection(self._services, collection, display_name)

    async def set_access(self, access: Sequence[str] | None, *, collection: str | None = None, folder: str = "") -> int:
        """Say who may read the documents of a collection, or of a folder of it, that have no access list of their own, now and
        later; how many have another list now. `access`: `group:hr`, `person:ada`, `key:<id>`; nobody: everybody in the tenant,
        also where a folder above is restricted; None: as the folder above. Raises InputError, NotFoundError."""
        name = self._collection(collection)
        if access is None:
            return (await remove_folder_access(self._services, name, folder)).changed
        return (await set_folder_access(self._services, name, folder, access)).changed

    async def load(
        self,
        folder: str | PathLike[str],
        *,
        collection: str | None = None,
        replace_others: bool = False,
        on_progress: OnProgress | None = None,
    ) -> IngestReport:
        """Make prepared documents searchable: a folder that `cairn prepare` or `write_prepared` wrote. What is indexed already
        costs nothing; documents that the folder does not hold stay. Raises InputError, before anything is stored, for a folder
        that holds something else, or vectors of another model; else as `ingest`."""
        name = self._collection(collection)
        prepared = await asyncio.to_thread(open_folder, Path(folder))
        step = _counting(on_progress, len(prepared.places))
        return await load_prepared(self._services, name, prepared, step, replace=replace_others)

    async def search(
        self,
        query: str,
        *,
        collection: str | Sequence[str] | None = None,
        top_k: int = 10,
        mode: Mode | None = None,
        filters: Mapping[str, Any] | None = None,
        rerank: bool | None = None,
        group_by: Literal["passage", "document"] = "passage",
        fusion: FusionForm | None = None,
    ) -> SearchResult:
        """Passages, best first; `degraded` says what did not work as asked.

        `mode`: hybrid, text (without the graph), vector, lexical or graph. `filters`: only documents whose metadata contain
        this object. `rerank`, `fusion` (relative_score, rrf) None: as the settings say. Raises NotFoundError for an unknown
        collection, InputError.
        """
        names = [self._collection(collection)] if isinstance(collection, str | None) else list(collection)
        request = make_request(
            self._services.settings.current, query, names, top_k=top_k, mode=mode, filters=filters, rerank=rerank,
            group_by=group_by, fusion=fusion,
        )  # fmt: skip
        return await run_search(self._services, request)

    def ask(
        self,
        question: str,
        *,
        collection: str | None = None,
        strategy: str = "auto",
        session: str | None = None,
        filters: Mapping[str, Any] | None = None,
    ) -> Asking:
        """A question about the documents: `await` it for the answer, or iterate over it for the events on the way.

        `session`: the conversation that it belongs to, which is remembered. `strategy`: auto chooses by the question;
        others as in POST /query. A collection that does not exist is an empty one: the answer says that nothing was found.
        Raises InputError.
        """
        text = check_query(question, self._services.settings.current)
        asked = Question(
            text, self._collection(collection), new_id(), strategy=strategy, filters=filters,
            session_id=None if session is None else check_session_id(session),
        )  # fmt: skip
        return Asking(self._services, asked)

    async def cancel(self, run_id: UUID) -> None:
        """End a run, `Asking.run_id`, of this process; who waits for it learns of it. One that has ended stays as it is. Raises
        NotFoundError, InputError."""
        self._check_open()
        if not isinstance(run_id, UUID):
            raise InputError(f"a run id is a UUID, `run_id` of what `ask` gave, not {str(run_id)[:80]!r}")
        await cancel_run(self._services, run_id)

    def _check_open(self) -> None:
        if self._closed:
            raise ConflictError("this Cairn is closed; use it inside of `async with cairn.open() as rag:`")

    def _collection(self, name: str | None) -> str:
        self._check_open()
        return check_collection_name(name if name is not None else self._services.settings.current.rag.collection_name)


class Asking:
    """A question that is answered when it is awaited or iterated over, once.

        answer = await rag.ask("...")               # Raises the CairnError that ended the run
        async for event in rag.ask("..."): ...      # RunStarted, Progress, SourcesFound, Token; the last one is Answered

    The text of Answered is the checked one and replaces the tokens. Iterating raises the error that ended the run, too; of a
    run that was cancelled the last event is Cancelled, and awaiting it raises ConflictError.
    """

    def __init__(self, services: Services, question: Question) -> None:
        self._services = services
        self._question = question
        self._asked = False

    @property
    def run_id(self) -> UUID:
        """For `Cairn.cancel`, GET /traces/{run_id}, and feedback."""
        return self._question.run_id

    def __await__(self) -> Generator[Any, None, Answer]:
        return self._answer().__await__()

    def __aiter__(self) -> AsyncGenerator[Event]:
        return self._events()

    def _ask_once(self) -> None:
        if self._asked:
            raise ConflictError("this question was asked already; call `ask` again for another answer")
        self._asked = True

    async def _answer(self) -> Answer:
        self._ask_once()
        return await ask(self._services, self._question)

    async def _events(self) -> AsyncGenerator[Event]:
        self._ask_once()
        async with held(await start(self._services, self._question)) as task:
            async for item in task.events():
                if isinstance(item.event, Failed):
                    raise item.event.error
                yield item.event


def _counting(on_progress: OnProgress | None, total: int) -> Callable[[str], None]:
    done = 0

    def step(name: str) -> None:
        nonlocal done
        done += 1
        if on_progress:
            on_progress(done, total, name)

    return step


def _quiet_logs() -> None:
    """Logs go where those of the program go, by the standard `logging`; what the program has configured stays."""
    if not structlog.is_configured():
        structlog.configure(
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.processors.format_exc_info,
                structlog.processors.KeyValueRenderer(key_order=["event"]),
            ],
            wrapper_class=structlog.stdlib.BoundLogger,
            logger_factory=structlog.stdlib.LoggerFactory(),
        )
