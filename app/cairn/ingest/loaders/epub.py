"""EPUB books: the chapters in the order of the spine, each read as the HTML that it is.

A chapter whose text has no heading gets that of the table of contents. The format (EPUB 2 and 3) is a zip archive with a list of
files; there is no maintained library for it under a permissive licence.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from posixpath import dirname, join, normpath
from typing import Any, Final
from urllib.parse import unquote

from lxml import etree

from cairn.errors import EmptyDocumentError, EncryptedDocumentError, ParseError
from cairn.ingest.loaders import archive, html, render
from cairn.ingest.loaders.base import LoadedText, LoadLimits

_CHAPTERS: Final = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
_FONT_OBFUSCATION: Final = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_SELF_CLOSED: Final = re.compile(
    rb"<(?!(?:br|hr|img|col|meta|link|input|area|base|wbr)\b)([A-Za-z][A-Za-z0-9]{0,20})(\s[^<>]*)?/>"
)
"""An empty element as XML writes it; HTML takes it for one that is left open."""
_HEADING: Final = re.compile(r"^#{1,6} ", re.MULTILINE)


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises EncryptedDocumentError for a protected book, ParserLimitError for a zip bomb, ParseError for a damaged one."""
    archive.check(content, limits.max_unpacked_bytes, declares_types=True)
    with zipfile.ZipFile(BytesIO(content)) as book:
        files = frozenset(book.namelist())
        _require_readable(book, files)
        package = _package_path(book, files)
        root = _xml(book.read(package))
        chapters = list(_chapters(root, package, files))
        labels = _labels(book, root, package, files)
        texts = [text for path in chapters if (text := _chapter(book.read(path), labels.get(path), limits))]
    if not chapters:
        raise ParseError("the EPUB book names no chapter that it holds; convert it anew, for example with Calibre")
    if not texts:
        raise EmptyDocumentError("the EPUB book holds no text; its pages may be images")
    title = root.findtext("{*}metadata/{*}title") or root.findtext("{*}metadata/{*}dc-metadata/{*}Title")
    return LoadedText("\n\n".join(texts), title=render.collapse(title or "").strip() or None)


def _require_readable(book: zipfile.ZipFile, files: frozenset[str]) -> None:
    """Raise for a book under digital rights management; scrambled fonts are none."""
    if "META-INF/encryption.xml" not in files:
        return
    root = _xml(book.read("META-INF/encryption.xml"))
    methods = {node.get("Algorithm") for node in root.iterfind(".//{*}EncryptedData/{*}EncryptionMethod")}
    if methods - {*_FONT_OBFUSCATION}:
        raise EncryptedDocumentError("the EPUB book is protected (DRM); get a copy without protection and send that")


def _package_path(book: zipfile.ZipFile, files: frozenset[str]) -> str:
    if "META-INF/container.xml" in files:
        for node in _xml(book.read("META-INF/container.xml")).iterfind(".//{*}rootfile"):
            if (path := node.get("full-path") or "") in files:
                return path
    listed = next((name for name in sorted(files) if name.lower().endswith(".opf")), None)
    if listed is None:
        raise ParseError("the EPUB book has no list of its chapters (.opf); convert it anew, for example with Calibre")
    return listed


def _xml(content: bytes) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=True)
    root = etree.fromstring(content.strip(), parser)
    if root is None:
        raise ParseError("the EPUB book's list of chapters is damaged; convert it anew, for example with Calibre")
    return root


def _chapters(root: Any, package: str, files: frozenset[str]) -> Iterator[str]:
    """Paths of the chapters that are there, each once, without the table of contents."""
    items = {node.get("id"): node for node in root.iterfind("{*}manifest/{*}item")}
    seen: set[str] = set()
    for reference in root.iterfind("{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type") not in _CHAPTERS or "nav" in (item.get("properties") or "").split():
            continue
        path = _resolve(package, item.get("href") or "")
        if path in files and path not in seen:
            seen.add(path)
            yield path


def _resolve(base: str, reference: str) -> str:
    """Path in the archive of what a file refers to."""
    return normpath(join(dirname(base), unquote(reference.partition("#")[0])))


def _labels(book: zipfile.ZipFile, root: Any, package: str, files: frozenset[str]) -> Mapping[str, str]:
    """What the table of contents calls a file: by its first entry."""
    labels: dict[str, str] = {}
    for item in root.iterfind("{*}manifest/{*}item"):
        path = _resolve(package, item.get("href") or "")
        is_nav = "nav" in (item.get("properties") or "").split()
        if path not in files or not (is_nav or item.get("media-type") == "application/x-dtbncx+xml"):
            continue
        contents = _xml(book.read(path))
        for point in contents.iter("{*}navPoint"):
            target, text = point.find("{*}content"), point.findtext("{*}navLabel/{*}text")
            if target is not None:
                labels.setdefault(_resolve(path, target.get("src") or ""), text or "")
        for link in contents.iterfind(".//{*}nav//{*}a"):
            labels.setdefault(_resolve(path, link.get("href") or ""), "".join(link.itertext()))
    return {path: label for path, text in labels.items() if (label := render.collapse(text).strip())}


def _chapter(content: bytes, label: str | None, limits: LoadLimits) -> str:
    try:
        text = html.load(_SELF_CLOSED.sub(rb"<\1\2></\1>", content), limits).text
    except EmptyDocumentError:
        return ""
    if not text.strip() or not label or _HEADING.search(text):
        return text.strip()
    return f"{render.heading(1, label)}\n\n{text}"
