"""A folder of a WebDAV server: Nextcloud, ownCloud, Apache and others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from cairn.connectors.choose_files import PathFilter, is_hidden
from cairn.connectors.connector import RemoteFile, SourceFileGone, SourceFileTooLarge, SourceRefused, refuse_endless
from cairn.connectors.source_http import SourceHttp, read_http_date
from cairn.connectors.xml_elements import DamagedXmlError, XmlElements

MOST_FOLDER_BYTES: Final = 100 * 2**20
"""Of the list of one folder: some hundred thousand files."""
DEEPEST: Final = 100
"""Folders in each other: more is a folder that holds itself."""
ASKED: Final = (
    b'<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop>'
    b"<resourcetype/><getetag/><getlastmodified/><getcontentlength/></prop></propfind>"
)


@dataclass(frozen=True, slots=True)
class DavEntry:
    """A file or folder, as its server describes it. `path`: of the address, decoded."""

    path: str
    is_folder: bool
    etag: str
    modified: str
    size: int | None


class WebdavConnector:
    """`base`: the address of the folder, as http:// or https://."""

    def __init__(self, base: str, http: SourceHttp, chosen: PathFilter) -> None:
        self._base = base.rstrip("/")
        self._http = http
        self._chosen = chosen

    async def list_files(self) -> AsyncIterator[RemoteFile]:
        """As Connector says, folder by folder."""
        folders, looked_at = [""], 0
        while folders:
            folder = folders.pop()
            inner: list[str] = []
            entries = await self._list_folder(folder)
            looked_at += len(entries)
            refuse_endless(looked_at)
            for path, entry in sorted(entries.items()):
                if entry.is_folder and not is_hidden(path):
                    inner.append(path)
                elif not entry.is_folder and self._chosen.takes(path):
                    yield self._describe(path, entry)
            folders += reversed(inner)

    async def _list_folder(self, folder: str) -> dict[str, DavEntry]:
        """What lies in a folder, by its path in the source."""
        if folder.count("/") > DEEPEST:
            raise SourceRefused(f"{self._base} has folders in each other, more than {DEEPEST}")
        try:
            reply = await self._http.ask(
                "PROPFIND", self._url(folder) + "/", MOST_FOLDER_BYTES, body=ASKED,
                headers={"Depth": "1", "Content-Type": "application/xml"},
            )  # fmt: skip
        except SourceFileGone as error:
            if folder:
                return {}
            raise SourceRefused(str(error)) from None
        except SourceFileTooLarge as error:
            raise SourceRefused(str(error)) from None
        if reply.status != 207:
            raise SourceRefused(
                f"{reply.url} answered {reply.status} where WebDAV answers 207: it is no folder of WebDAV"
            )
        # where the server sent us to, paths are those of there
        before = unquote(urlsplit(reply.url).path).rstrip("/") + "/"
        found = {}
        for entry in await asyncio.to_thread(read_multistatus, reply.content, reply.url):
            name = entry.path.rstrip("/").removeprefix(before)
            if entry.path.startswith(before) and name and "/" not in name:
                found[f"{folder}/{name}" if folder else name] = entry
        return found

    def _describe(self, path: str, entry: DavEntry) -> RemoteFile:
        if not entry.etag and not entry.modified:
            raise SourceRefused(f"{self._base} tells neither entity tag nor time of {path}, so no change would be seen")
        modified: datetime | None = read_http_date(entry.modified)
        return RemoteFile(path, entry.etag or f"{entry.size}-{entry.modified}", self._url(path), entry.size, modified)

    def _url(self, path: str) -> str:
        return f"{self._base}/{quote(path)}".rstrip("/")

    async def read_file(self, file: RemoteFile, most_bytes: int) -> bytes:
        """As Connector says."""
        return (await self._http.ask("GET", self._url(file.path), most_bytes)).content

    async def close(self) -> None:
        """Nothing is open."""


def read_multistatus(content: bytes, url: str) -> list[DavEntry]:
    """The reply to a PROPFIND. Raises SourceRefused for what is none."""
    try:
        elements = XmlElements(content)
        if elements.root != "{DAV:}multistatus":
            raise SourceRefused(f"{url} did not answer as WebDAV does")
        return [_read_response(element) for element in elements.find("{DAV:}response".__eq__)]
    except DamagedXmlError as error:
        raise SourceRefused(f"{url} did not answer as WebDAV does: {error}") from None


def _read_response(element: object) -> DavEntry:
    def text(name: str) -> str:
        return (element.findtext(f".//{{DAV:}}{name}") or "").strip()  # type: ignore[attr-defined]

    size = text("getcontentlength")
    return DavEntry(
        path=_path(text("href")),
        is_folder=element.find(".//{DAV:}resourcetype/{DAV:}collection") is not None,  # type: ignore[attr-defined]
        etag=text("getetag"),
        modified=text("getlastmodified"),
        size=int(size) if size.isascii() and size.isdigit() and len(size) < 20 else None,
    )


def _path(href: str) -> str:
    """Decoded; "" of what is no address, which lies nowhere."""
    try:
        return unquote(urlsplit(href).path)
    except ValueError:
        return ""
