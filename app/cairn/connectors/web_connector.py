"""The pages of a site, as its sitemaps or a feed of it name them, and as its robots.txt allows."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from cairn.connectors.choose_files import PathFilter
from cairn.connectors.connector import (
    RemoteFile,
    SourceFileElsewhere,
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    SourceUnreachable,
)
from cairn.connectors.site_lists import MOST_LIST_BYTES, ListedPage, ListKind, Robots, read_list, read_robots, unpack
from cairn.connectors.source_http import SourceHttp, version_in
from cairn.connectors.threads import iterate_in_thread, one_thread
from cairn.providers.guarded_http import HttpReply

MOST_ROBOTS_BYTES: Final = 500 * 1024
"""Crawlers need not read more of it."""
MOST_LISTS: Final = 1000
MOST_PAGES: Final = 200_000
MOST_ENTRIES: Final = 2_000_000
"""Of all lists, chosen or not."""
MOST_TRIES: Final = 3
LONGEST_WAIT_S: Final = 30.0
"""Longer ones are for whoever keeps the source in step."""
MOST_HASHED_BYTES: Final = 50 * 2**20
NO_HEAD: Final = frozenset({405, 501})
MADE_BY: Final = frozenset({".php", ".asp", ".aspx", ".jsp", ".cgi"})
"""Programs that make a page: it is no code of theirs."""
_STROKES: Final = re.compile(r"(?:/|\\|%2F|%5C)+", re.IGNORECASE)
_PARAMETERS: Final = re.compile(r";[^/]*")


class WebConnector:
    """`pages_per_second`: requests, at most; robots.txt may ask for fewer."""

    def __init__(self, address: SplitResult, http: SourceHttp, chosen: PathFilter, pages_per_second: float) -> None:
        self._start = urlsplit(http.spell(address.geturl()) or address.geturl())
        self._http = http
        self._chosen = chosen
        self._not_excluded = PathFilter(exclude=chosen.exclude)
        self._pause_s = 1 / pages_per_second
        self._next_at = 0.0
        self._robots: dict[str, Robots] = {}

    async def list_files(self) -> AsyncIterator[RemoteFile]:
        """As Connector says, in the order of the lists. Pages of hosts that may not be asked are passed over."""
        seen: set[str] = set()
        async for path, page in self._listed():
            if path in seen:
                continue
            seen.add(path)
            if len(seen) > MOST_PAGES:
                raise SourceRefused(f"the lists of {self._start.netloc} name more than {MOST_PAGES:,} pages")
            await asyncio.sleep(
                0
            )  # a page that is passed over asks nobody, and many of them would let nobody else work
            if not await self._is_open(urlsplit(page.url)):
                continue
            try:
                version = page.stamp or await self._version(page.url)
            except SourceFileGone:
                continue
            yield RemoteFile(path, version, page.url, modified=page.modified)

    async def read_file(self, file: RemoteFile, most_bytes: int) -> bytes:
        """As Connector says."""
        if not await self._is_open(urlsplit(file.address)):
            raise SourceFileGone(f"{file.address} is not open to Cairn any more, by robots.txt or urls.allowedHosts")
        page = await self._ask("GET", file.address, most_bytes)
        await self._refuse_elsewhere(file.address, page.url)
        return page.content

    async def close(self) -> None:
        """Nothing is open."""

    async def _listed(self) -> AsyncIterator[tuple[str, ListedPage]]:
        """Pages that are chosen by their paths; their addresses are absolute and have no fragments."""
        robots = await self._robots_of(self._start)
        home = f"{self._start.scheme}://{self._start.netloc}"
        named = [there for url in robots.sitemaps[:MOST_LISTS] if (there := join_address(home, url))]
        lists = deque([self._start.geturl()] if self._start.path.strip("/") else named or [f"{home}/sitemap.xml"])
        known, entries_left = set(lists), MOST_ENTRIES
        while lists:
            url = lists.popleft()
            content = await self._read_list(url)
            with one_thread() as run:  # a parser that changes threads ends the process
                kind, entries = await run(_open_list, content, url)
                async for entry in iterate_in_thread(self._join(url, entries, kind), run):
                    entries_left -= 1
                    if entries_left < 0:
                        raise SourceRefused(
                            f"the lists of {self._start.netloc} have more than {MOST_ENTRIES:,} entries"
                        )
                    if entry is None:
                        continue
                    path, page = entry
                    if kind == "pages":
                        yield path, page
                    elif page.url not in known:
                        known.add(page.url)
                        lists.append(page.url)
                        if len(known) > MOST_LISTS:
                            raise SourceRefused(f"{self._start.netloc} has more than {MOST_LISTS:,} sitemaps")

    def _join(
        self, base: str, entries: Iterator[ListedPage], kind: ListKind
    ) -> Iterator[tuple[str, ListedPage] | None]:
        """Each with its path, both in one spelling; None for what is not chosen, or has no address that may be asked."""
        for entry in entries:
            there = join_address(base, entry.url)
            there = self._http.spell(there) if there else None
            path = _path(urlsplit(there), _host(self._start)) if there else ""
            taken = there and (kind == "lists" or (self._chosen.takes(path) and not self._excludes(path)))
            yield (path, ListedPage(there, entry.stamp, entry.modified)) if there and taken else None

    def _excludes(self, path: str) -> bool:
        """However the path is written."""
        return not self._not_excluded.takes(_as_served(path))

    async def _refuse_elsewhere(self, listed: str, reached: str) -> None:
        """Raises SourceFileElsewhere where a server leads to another page, which would come in by the name of the listed one,
        with the readers that has; or to what it or the source does not want to be read."""
        one, other = urlsplit(listed), urlsplit(reached)
        shown = other._replace(query="").geturl()
        if not _is_same_page(one, other):
            raise SourceFileElsewhere(f"{listed} leads to another page, {shown}")
        if listed == reached:
            return
        if not await self._is_open(other) or self._excludes(_path(other, _host(self._start))):
            raise SourceFileElsewhere(f"{listed} leads to {shown}, which robots.txt or option exclude keeps out")

    async def _read_list(self, url: str) -> bytes:
        try:
            return (await self._ask("GET", url, MOST_LIST_BYTES)).content
        except SourceFileGone as error:
            raise SourceRefused(f"{error}: name the address of the sitemap or feed") from None
        except SourceFileTooLarge as error:
            raise SourceRefused(str(error)) from None

    async def _version(self, url: str) -> str:
        """What the server says of the page's state, else its hash; of a page that leads to another one, where that is."""
        head = await self._ask("HEAD", url, 0, takes=NO_HEAD)
        if not _is_same_page(urlsplit(url), urlsplit(head.url)):
            return head.url
        if head.status not in NO_HEAD and (version := version_in(head.headers)):
            return version
        try:
            page = await self._ask("GET", url, MOST_HASHED_BYTES)
        except SourceFileTooLarge:
            return "too large"
        if not _is_same_page(urlsplit(url), urlsplit(page.url)):
            return page.url
        return version_in(page.headers) or sha256(page.content).hexdigest()

    async def _is_open(self, url: SplitResult) -> bool:
        if self._http.spell(url.geturl()) is None:
            return False
        robots, asked = await self._robots_of(url), f"?{url.query}" if url.query else ""
        return all(robots.allow(f"{path}{asked}") for path in {url.path or "/", _as_served(url.path) or "/"})

    async def _robots_of(self, url: SplitResult) -> Robots:
        """Where there is none everything is open; where a server fails, nothing is known, so the listing breaks off."""
        home = f"{url.scheme}://{url.netloc}"
        if home not in self._robots:
            try:
                content = (await self._ask("GET", f"{home}/robots.txt", MOST_ROBOTS_BYTES)).content
            except SourceFileTooLarge as error:
                raise SourceRefused(str(error)) from None
            except (SourceFileGone, SourceRefused):  # what refuses a page as well says so when it is asked for
                content = b""
            self._robots[home] = await asyncio.to_thread(read_robots, content)
        return self._robots[home]

    async def _ask(self, method: str, url: str, most_bytes: int, takes: frozenset[int] = frozenset()) -> HttpReply:
        """One request, not sooner than is polite; again where the server asks to wait for a little."""
        for left in reversed(range(MOST_TRIES)):
            await self._wait(urlsplit(url))
            try:
                return await self._http.ask(method, url, most_bytes, takes=takes)
            except SourceUnreachable as error:
                if not left or error.retry_after_s is None or error.retry_after_s > LONGEST_WAIT_S:
                    raise
                self._next_at = time.monotonic() + error.retry_after_s
        raise AssertionError("the last try returns or raises")

    async def _wait(self, url: SplitResult) -> None:
        robots = self._robots.get(f"{url.scheme}://{url.netloc}", Robots())
        await asyncio.sleep(max(0.0, self._next_at - time.monotonic()))
        self._next_at = time.monotonic() + max(self._pause_s, min(robots.delay_s, LONGEST_WAIT_S))


def pages_per_second(options: Mapping[str, str]) -> float:
    """Of the option with this name. Raises SourceRefused."""
    try:
        found = float(options.get("pages_per_second", "4"))
    except ValueError:
        found = 0.0
    if not 0.01 <= found <= 1000:
        raise SourceRefused("option pages_per_second: a number from 0.01 to 1000")
    return found


def join_address(base: str, url: str) -> str | None:
    """Absolute and without a fragment; None for what is no address."""
    try:
        there = urljoin(base, url).partition("#")[0]
        _ = urlsplit(there).port
    except ValueError:
        return None
    return there


def _open_list(content: bytes, url: str) -> tuple[ListKind, Iterator[ListedPage]]:
    return read_list(unpack(content, url), url)


def _path(url: SplitResult, home: str) -> str:
    """Of a page in its source; pages of other hosts lie in a folder with the name of the host."""
    path = unquote(url.path).lstrip("/")
    if not path or path.endswith("/"):
        path += "index.html"
    if url.query:
        path += f"?{url.query}"
    if PurePosixPath(url.path).suffix.lower() in MADE_BY:
        path += ".html"
    host = _host(url)
    return path if host == home else f"{host}/{path}"


def _as_served(path: str) -> str:
    """As many servers take a path: "\\" and escaped strokes for strokes, several for one, and parameters for nothing."""
    path, asked, query = path.partition("?")
    return _STROKES.sub("/", _PARAMETERS.sub("", path)) + asked + query


def _is_same_page(one: SplitResult, other: SplitResult) -> bool:
    """In another spelling at most: by http or https, with or without a stroke at its end, or what a folder shows by name."""

    def place(url: SplitResult) -> str:
        return _as_served(unquote(url.path)).removesuffix("/index.html").rstrip("/")

    return (_host(one), place(one), one.query) == (_host(other), place(other), other.query)


def _host(url: SplitResult) -> str:
    """As one host is always written: in lower case, without a dot at its end or the port that goes without saying."""
    port = url.port
    usual = {"http": 80, "https": 443}.get(url.scheme)
    name = (url.hostname or "").rstrip(".")
    name = f"[{name}]" if ":" in name else name
    return name if port in (None, usual) else f"{name}:{port}"
