"""A collection that is kept in step with sources of other machines: git, WebDAV, SFTP and feeds, each a real server on loopback,
read by the worker of the product."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from git_server import Git
from scripted_web import ScriptedWeb
from sftp_server import HOST_KEY, serving_sftp
from source_servers import LOOPBACK, Gate, serving_wsgi
from webdav_server import PASSWORD, USER, serving_webdav

from cairn.connectors.seal_secrets import make_key
from cairn.domain.connected_source import ConnectedSource, SourceWish
from cairn.domain.passage import SearchRequest
from cairn.domain.principal import Caller
from cairn.interfaces.cli.sources import say_state
from cairn.jobs import sources as job
from cairn.service import sources
from cairn.service.access import list_access_rules
from cairn.service.documents import find_document_id, get_document
from cairn.service.jobs import get_job
from cairn.service.search import run_search
from cairn.service.sources import SourceChange
from cairn.settings import Settings, UrlSettings
from cairn.wiring import Services
from tests.db.synchronising import again, ids, stop_waiting, stranger, work
from tests.sharing import SHARED

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]

Files = Mapping[str, str]
"""Texts by path, without the ending that they have in a place."""


# --- places that documents live at ------------------------------------------------------------------------------------


@dataclass
class Place:
    """A server, and the address of a source of it. `put` makes its files these and no others; a file whose text is the same is
    left as it is. `shown`: where a person finds its files. `asked`: how often the server was turned to."""

    host: str
    address: str
    shown: str
    put: Callable[[Files], None]
    asked: Callable[[], int]
    options: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    ending: str = "md"
    gate: Gate | None = None

    def named(self, *names: str) -> set[str]:
        """Ids of the documents of these files."""
        return {f"docs/{name}.{self.ending}" for name in names}

    def expected(self, files: Files) -> dict[str, str]:
        """What the collection has to hold: texts by the ids of documents."""
        return {f"docs/{name}.{self.ending}": text for name, text in files.items()}


def fill(folder: Path, files: Files) -> None:
    for path in folder.rglob("*.md"):
        if path.relative_to(folder).with_suffix("").as_posix() not in files:
            path.unlink()
    for name, text in files.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


@asynccontextmanager
async def a_repository(root: Path) -> AsyncIterator[Place]:
    git = Git(root / "docs.git")

    def put(files: Files) -> None:
        git.commit({f"{name}.md": text.encode() for name, text in files.items()})

    with serving_wsgi(git.gate) as port:
        host = f"127.0.0.1:{port}"
        shown = f"http://{host}/team/docs/blob/HEAD"
        yield Place(host, f"git+http://{host}/team/docs.git", shown, put, lambda: len(git.gate.requests))


@asynccontextmanager
async def a_webdav_folder(root: Path) -> AsyncIterator[Place]:
    (root / "docs").mkdir()
    with serving_webdav(root) as dav:
        host, gate = f"127.0.0.1:{dav.port}", dav.gate
        yield Place(
            host, f"webdav://{host}/docs", f"http://{host}/docs", lambda files: fill(dav.folder, files),
            lambda: len(gate.requests), {"username": USER}, {"password": PASSWORD}, gate=gate,
        )  # fmt: skip


@asynccontextmanager
async def an_sftp_folder(root: Path) -> AsyncIterator[Place]:
    (root / "docs").mkdir()
    async with serving_sftp(root) as sftp:
        host = f"127.0.0.1:{sftp.port}"
        address = f"sftp://{host}/docs"
        options = {"username": USER, "host_key": HOST_KEY.get_fingerprint()}
        yield Place(
            host, address, address, lambda files: fill(root / "docs", files), lambda: sftp.logins, options,
            {"password": PASSWORD},
        )  # fmt: skip


def rss(pages: Mapping[str, datetime]) -> str:
    """Without dates, so that the pages themselves tell of a change."""
    items = "".join(f"<item><title>{path}</title><link>{path}</link></item>" for path in pages)
    return f"<rss version='2.0'><channel><title>News</title>{items}</channel></rss>"


def dated_rss(pages: Mapping[str, datetime]) -> str:
    items = "".join(
        f"<item><link>{path}</link><pubDate>{format_datetime(changed)}</pubDate></item>"
        for path, changed in pages.items()
    )
    return f"<rss version='2.0'><channel><title>News</title>{items}</channel></rss>"


def atom(pages: Mapping[str, datetime]) -> str:
    entries = "".join(
        f"<entry><link href='{path}'/><updated>{changed.isoformat()}</updated></entry>"
        for path, changed in pages.items()
    )
    return f"<feed xmlns='http://www.w3.org/2005/Atom'><title>News</title>{entries}</feed>"


@contextmanager
def a_feed(write: Callable[[Mapping[str, datetime]], str]) -> Iterator[Place]:
    with ScriptedWeb({}) as web:
        changed: dict[str, datetime] = {}
        times = (datetime(2026, 1, 15, tzinfo=UTC) + timedelta(hours=hour) for hour in range(1000))

        def put(files: Files) -> None:
            pages = {f"/{name}.html": f"<p>{text}</p>" for name, text in files.items()}
            for path in changed.keys() - pages.keys():
                del changed[path], web.pages[path]
            for path, page in pages.items():
                if web.pages.get(path) != page:
                    web.pages[path], changed[path] = page, next(times)
            web.pages["/news.xml"] = write(changed)

        host = f"127.0.0.1:{web.port}"
        yield Place(
            host, f"http://{host}/news.xml", f"http://{host}", put, lambda: len(web.requests),
            {"pages_per_second": "1000"}, ending="html",
        )  # fmt: skip


@asynccontextmanager
async def place_of(kind: str, root: Path) -> AsyncIterator[Place]:
    if kind in FEEDS:
        with a_feed(FEEDS[kind]) as place:
            yield place
    else:
        async with FOLDERS[kind](root) as place:
            yield place


FOLDERS = {"git": a_repository, "WebDAV": a_webdav_folder, "SFTP": an_sftp_folder}
FEEDS = {"RSS": rss, "RSS with dates": dated_rss, "Atom": atom}


# --- what is done and looked at ---------------------------------------------------------------------------------------


def reaching(services: Services, place: Place, key: str | None = None) -> Services:
    """These may ask the server of the place, and have a key for its secrets."""
    services.settings.current = Settings(urls=UrlSettings(allowed_hosts=(place.host,), private_networks=LOOPBACK))
    return with_key(services, key or make_key())


def with_key(services: Services, key: str | None) -> Services:
    """As in a process whose environment has this key."""
    return replace(services, environment=replace(services.environment, secrets_key=key))


async def follow(services: Services, place: Place, **wish: Any) -> ConnectedSource:
    """A source that was read once."""
    asked = SourceWish(place.address, "docs", place.options, **wish)
    source, _ = await sources.add_source(services, "default", asked, place.secrets)
    await work(services)
    return await sources.get_source(services, source.id)


async def texts(services: Services) -> dict[str, str]:
    """What the passages of each document say, as the database has it."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        rows = await connection.fetch(
            "SELECT d.external_id, string_agg(p.content, '' ORDER BY p.ordinal) AS text FROM rag.documents d "
            "JOIN rag.passages p ON p.tenant_id = d.tenant_id AND p.document_id = d.id WHERE d.tenant_id = $1 GROUP BY 1",
            services.principal.tenant_id,
        )
    return {row["external_id"]: row["text"] for row in rows}


async def found(services: Services, phrase: str) -> set[str]:
    """Documents in which a search finds these words, one behind the other."""
    result = await run_search(services, SearchRequest(f'"{phrase}"', ("default",), top_k=50))
    return {one.external_id for one in result.passages}


def counted(source: ConnectedSource) -> dict[str, int]:
    """What the last synchronisation did; what it did of nothing is left out."""
    assert source.last_error is None
    return {name: number for name, number in (source.counts or {}).items() if number}


FIRST = {
    "one": "The first paper is about harbours at dawn.",
    "two": "The second paper is about granite bridges.",
    "three": "The third paper is about salted herring.",
    "hr/pay": "The paper on wages is about silver coins.",
}
SECOND = {
    "one": "The first paper is about copper lanterns now.",
    "hr/two": FIRST["two"],
    "four": "The fourth paper is about quiet lighthouses.",
    "hr/pay": FIRST["hr/pay"],
}
"""Of FIRST one is changed, one moved, one deleted and one left; and there is a new one."""


# --- what is tested ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*FOLDERS, *FEEDS])
async def test_what_is_new_changed_moved_and_deleted_there_is_so_in_the_collection(
    services: Services, tmp_path: Path, kind: str
) -> None:
    async with place_of(kind, tmp_path) as place:
        place.put(FIRST)
        here = reaching(services, place)
        source = await follow(here, place)
        assert counted(source) == {"new": 4}
        assert await texts(here) == place.expected(FIRST)
        assert await found(here, "salted herring") == place.named("three")
        [one] = place.named("one")
        document, _ = await get_document(here, "default", await find_document_id(here, "default", one))
        assert document.metadata["url"] == f"{place.shown}/one.{place.ending}"
        source = await again(here, source.id)
        assert counted(source) == {"unchanged": 4}
        place.put(SECOND)
        source = await again(here, source.id)
        assert counted(source) == {"new": 1, "changed": 1, "moved": 1, "deleted": 1, "unchanged": 1}
        assert (source.note, source.paused, source.failed) == (None, False, 0)
        assert await ids(here) == place.named(*SECOND)
        assert await texts(here) == place.expected(SECOND)
        document, _ = await get_document(here, "default", await find_document_id(here, "default", one))
        assert document.version == 2
        for phrase, names in (
            ("copper lanterns", ["one"]), ("quiet lighthouses", ["four"]), ("granite bridges", ["hr/two"]),
            ("silver coins", ["hr/pay"]), ("harbours at dawn", []), ("salted herring", []),
        ):  # fmt: skip
            assert await found(here, phrase) == place.named(*names), phrase


@pytest.mark.parametrize("kind", ["WebDAV", "SFTP"])
async def test_a_password_is_kept_sealed_and_opened_by_its_key_alone(
    services: Services, tmp_path: Path, kind: str
) -> None:
    async with place_of(kind, tmp_path) as place:
        place.put(FIRST)
        right, wrong = make_key(), make_key()
        here = reaching(services, place, right)
        source = await follow(here, place)
        assert counted(source) == {"new": 4}
        assert (source.wish.secret_names, PASSWORD in repr(source)) == (["password"], False)
        async with here.database.transaction(here.principal) as connection:
            kept = await connection.fetchrow("SELECT s::text FROM rag.source_secrets s WHERE source_id = $1", source.id)
        assert kept is not None
        assert not any(form in kept[0] for form in (PASSWORD, PASSWORD.encode().hex(), '"password"'))

        place.put(SECOND)
        asked = place.asked()
        for failures, (key, said) in enumerate(
            (
                (wrong, "encrypted with another key than that of CAIRN_SECRETS_KEY: set that one, behind a comma"),
                (None, "set CAIRN_SECRETS_KEY first"),
            ),
            1,
        ):
            source = await again(with_key(here, key), source.id)
            assert said in (source.last_error or "")
            assert (source.failures, source.paused, source.files) == (failures, False, 4)
            assert source.job_id is not None
            ended = await get_job(here, source.job_id)
            assert (ended.status, said in (ended.error or "")) == ("failed", True)
        assert await texts(here) == place.expected(FIRST)
        assert place.asked() == asked

        source = await again(with_key(here, f"{wrong},{right}"), source.id)
        assert counted(source) == {"new": 1, "changed": 1, "moved": 1, "deleted": 1, "unchanged": 1}
        assert source.failures == 0
        assert await texts(here) == place.expected(SECOND)


async def test_a_key_that_can_be_none_leaves_the_source_to_a_process_with_another(
    services: Services, tmp_path: Path
) -> None:
    async with place_of("WebDAV", tmp_path) as place:
        place.put(FIRST)
        here = reaching(services, place)
        source = await follow(here, place)
        place.put(SECOND)
        source = await again(with_key(here, "no key"), source.id)
        assert source.job_id is not None
        waiting = await get_job(here, source.job_id)
        [told, _] = await sources.list_runs(here, source.id)
        assert (waiting.status, source.failures) == ("queued", 0)
        assert "CAIRN_SECRETS_KEY is one key or several" in (told.error or "")
        assert (source.running, source.last_error) == (True, told.error)
        assert say_state(source) == f"being synchronised; last error: {told.error}"
        assert await texts(here) == place.expected(FIRST)
        await stop_waiting(here, waiting.id)
        await work(here)
        assert await texts(here) == place.expected(SECOND)
        source = await sources.get_source(here, source.id)
        assert (source.running, source.last_error) == (False, None)


@pytest.mark.parametrize(
    ("kind", "said"), [("WebDAV", "the credentials do not count there"), ("SFTP", "does not take the credentials")]
)
async def test_a_password_that_counts_no_longer_deletes_nothing_and_is_not_told(
    services: Services, tmp_path: Path, kind: str, said: str
) -> None:
    async with place_of(kind, tmp_path) as place:
        place.put(FIRST)
        here = reaching(services, place)
        source = await follow(here, place)
        place.put(SECOND)
        await sources.change_source(here, source.id, SourceChange(secrets={"password": "corvid"}))
        source = await again(here, source.id)
        assert said in (source.last_error or "")
        assert "corvid" not in repr(source) + repr(await sources.list_runs(here, source.id))
        assert await texts(here) == place.expected(FIRST)
        await sources.change_source(here, source.id, SourceChange(secrets=place.secrets))
        await again(here, source.id)
        assert await texts(here) == place.expected(SECOND)


async def test_a_folder_of_a_server_is_for_its_readers_from_the_first_moment(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who does not belong to them looks each time the server is asked for a file; each is published before the next is read."""
    monkeypatch.setattr(job, "CLAIMED", 1)
    async with place_of("WebDAV", tmp_path) as place:
        assert place.gate is not None
        looks, loop = list[tuple[set[str], set[str]]](), asyncio.get_running_loop()

        async def look() -> None:
            looks.append((await ids(here), await ids(stranger(here))))

        def look_first(method: str, path: str) -> None:
            if method == "GET":
                asyncio.run_coroutine_threadsafe(look(), loop).result()

        place.gate.fail = look_first
        place.put({**FIRST, "hr/old/wages": "The wages of old were paid in amber beads.", "z/last": "The last paper."})
        here = reaching(services, place)
        personnel = Caller("key:1", "pay", frozenset({"read"}), groups=frozenset({"personnel"}))
        clerk = replace(here, principal=replace(here.principal, caller=personnel))
        source = await follow(here, place, access={"hr": ["group:personnel"]})
        assert counted(source) == {"new": 6}
        closed = place.named("hr/pay", "hr/old/wages")
        assert len(looks) == 6
        assert looks[-1][0] >= closed  # they were there while the last file was read
        assert await ids(stranger(here)) == await ids(here) - closed

        looks.clear()
        place.put({
            **{name: text for name, text in FIRST.items() if name != "two"}, "hr/two": FIRST["two"],
            "hr/new": "The new wages are paid in pearls.", "z/last": "The last paper is longer now.",
        })  # fmt: skip
        source = await again(here, source.id)
        assert counted(source) == {"new": 1, "changed": 1, "moved": 1, "deleted": 1, "unchanged": 3}
        closed |= place.named("hr/new", "hr/two")
        assert looks[-1][0] >= place.named("hr/new", "hr/two")
        assert not any(seen & closed for _, seen in looks)
        assert await ids(stranger(here)) == place.named("one", "three", "z/last")
        assert await ids(clerk) == place.named("one", "three", "z/last", "hr/pay", "hr/new", "hr/two")
        for phrase, names in (("paid in pearls", ["hr/new"]), ("granite bridges", ["hr/two"])):
            assert (await found(stranger(here), phrase), await found(clerk, phrase)) == (set(), place.named(*names))
        [rule] = await list_access_rules(here, "default")
        assert (rule.prefix, list(rule.access)) == ("docs/hr", ["group:personnel"])


class Clock:
    """Time that passes only where somebody waits by it: it stands for the clock that a module has, and for its `asyncio`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)


async def test_no_more_files_are_read_in_a_second_than_was_said(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, asked = Clock(), list[tuple[float, str]]()
    monkeypatch.setattr(job, "time", clock)
    monkeypatch.setattr(job, "asyncio", clock)
    async with place_of("WebDAV", tmp_path) as place:
        assert place.gate is not None
        busy = ["b"]

        def note(method: str, path: str) -> tuple[str, Mapping[str, str]] | None:
            name = Path(path).stem
            if method != "GET":
                return None
            asked.append((clock.now - began, name))
            if name == "slow":
                clock.now += 2.0
            if name in busy:
                busy.remove(name)
                return "503 Busy", {"Retry-After": "0"}
            return None

        place.gate.fail = note
        files = {name: f"The paper {name} is about harbours." for name in ("a", "b", "c", "slow", "t", "u")}
        place.put(files)
        here, began = reaching(services, place), clock.now
        source = await follow(here, place, requests_per_second=2.0)
        assert counted(source) == {"new": 6}
        # b is asked for twice, and what the slow one took is not made up for
        assert asked == [(0.0, "a"), (0.5, "b"), (1.0, "b"), (1.5, "c"), (2.0, "slow"), (4.0, "t"), (4.5, "u")]
        assert await texts(here) == place.expected(files)

        asked.clear()
        began = clock.now
        source = await again(here, source.id)
        assert (counted(source), asked, clock.now) == ({"unchanged": 6}, [], began)  # to list is not counted

        await sources.change_source(here, source.id, SourceChange(requests_per_second=0.25))
        place.put({**files, "a": "Another paper, on bridges.", "c": "Another paper, on granite."})
        await again(here, source.id)
        assert asked == [(0.0, "a"), (4.0, "c")]
