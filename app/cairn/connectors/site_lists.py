"""What a site says of its pages: robots.txt, sitemaps and feeds, read without asking anybody."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal
from urllib.parse import quote

from cairn.connectors.connector import SourceRefused
from cairn.connectors.source_http import read_http_date
from cairn.connectors.xml_elements import DamagedXmlError, XmlElements

AGENT: Final = "cairn"
MOST_LIST_BYTES: Final = 50 * 2**20
"""Of a sitemap, unpacked: the protocol allows no more."""
MOST_RULES: Final = 1000
"""Each is tried on each page."""
GZIP: Final = b"\x1f\x8b"
_DAY: Final = re.compile(r"\d{4}(-\d{2}){0,2}")
_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED: Final = re.compile(r"[A-Za-z0-9._~-]")
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")

ListKind = Literal["pages", "lists"]


@dataclass(frozen=True, slots=True)
class ListedPage:
    """`stamp`: what the list says of its last change, as it says it."""

    url: str
    stamp: str | None = None
    modified: datetime | None = None


@dataclass
class Robots:
    """What robots.txt allows Cairn: the longest rule that fits counts, and of two that are as long the one that allows."""

    rules: list[tuple[str, bool]] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)
    delay_s: float = 0.0

    def allow(self, path: str) -> bool:
        """`path` with its query, as it stands in an address."""
        path = spell_path(path)
        fitting = [(len(pattern), allowed) for pattern, allowed in self.rules if _fits(pattern, path)]
        return max(fitting)[1] if fitting else True


def read_robots(content: bytes) -> Robots:
    """The group of Cairn, else that of all; what cannot be read is passed over."""
    groups: dict[str, Robots] = {}
    sitemaps: list[str] = []
    current: list[Robots] = []
    naming = False
    for line in content.decode("utf-8", "replace").removeprefix("\ufeff").splitlines():
        key, _, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        key = key.lower()
        if key == "sitemap":
            sitemaps.append(value)
        elif key == "user-agent":
            group = groups.setdefault(value.lower(), Robots())
            current = [*current, group] if naming else [group]
        elif key in ("allow", "disallow") and value:
            for group in current:
                group.rules.append((spell_path(value), key == "allow"))
        elif key == "crawl-delay":
            for group in current:
                group.delay_s = float(value) if re.fullmatch(r"\d{1,4}(\.\d{1,3})?", value) else 0.0
        naming = key == "user-agent" or (naming and not key)
    found = groups.get(AGENT) or groups.get("*") or Robots()
    return Robots(found.rules[:MOST_RULES], sitemaps, found.delay_s)


def spell_path(path: str) -> str:
    """As paths are compared (RFC 9309, 2.2.2): letters and digits as such, all else that is an escape in capitals, and as an
    escape what no address has otherwise."""

    def spell(escape: re.Match[str]) -> str:
        meant = chr(int(escape[0][1:], 16))
        return meant if _UNRESERVED.fullmatch(meant) else escape[0].upper()

    return _BEYOND_ASCII.sub(lambda found: quote(found[0], errors="replace"), _ESCAPE.sub(spell, path))


def _fits(pattern: str, path: str) -> bool:
    """`*` is anything, `$` at the end is the end. Each part is looked for once, from where the last one ended."""
    whole = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if whole and not others:
        return at == len(path)
    last = others.pop() if whole else ""
    for part in others:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return not whole or (len(path) - at >= len(last) and path.endswith(last))


def unpack(content: bytes, url: str, most_bytes: int = MOST_LIST_BYTES) -> bytes:
    """A list, unpacked where it is packed. Raises SourceRefused for one that is too large, or damaged."""
    if not content.startswith(GZIP):
        return content
    inflate = zlib.decompressobj(wbits=31)
    try:
        text = inflate.decompress(content, most_bytes + 1)
    except zlib.error as error:
        raise SourceRefused(f"{url} is packed, and damaged: {error}") from None
    if len(text) > most_bytes:
        raise SourceRefused(f"{url} has more than {most_bytes:,} bytes when it is unpacked")
    if not inflate.eof:
        raise SourceRefused(f"{url} is packed, and its end is missing")
    return text


def read_list(content: bytes, url: str) -> tuple[ListKind, Iterator[ListedPage]]:
    """What a sitemap or feed names: pages, or other lists. Raises SourceRefused for what is neither, or is damaged: now, or
    when the damaged place is come to."""
    try:
        elements = XmlElements(content)
    except DamagedXmlError as error:
        raise SourceRefused(f"{url} is neither a sitemap nor a feed: {error}") from None
    root = _name(elements.root)
    entry = {"urlset": "url", "sitemapindex": "sitemap", "rss": "item", "RDF": "item", "feed": "entry"}.get(root)
    if entry is None:
        raise SourceRefused(f"{url} is neither a sitemap nor a feed: it begins with <{root}>")

    def entries() -> Iterator[ListedPage]:
        try:
            for element in elements.find(lambda tag: _name(tag) == entry):
                if page := _read_entry(element):
                    yield page
        except DamagedXmlError as error:
            raise SourceRefused(f"{url} is damaged: {error}") from None

    return ("lists" if entry == "sitemap" else "pages"), entries()


def _name(tag: object) -> str:
    """Without its namespace; "" of what is no element, such as an entity."""
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _read_entry(element: object) -> ListedPage | None:
    url = stamp = None
    for child in element:  # type: ignore[attr-defined]
        name, text = _name(child.tag), (child.text or "").strip()
        if name == "loc" or (name == "link" and text):
            url = url or text
        elif name == "link" and child.get("rel", "alternate") == "alternate":
            url = url or (child.get("href") or "").strip()
        elif name in ("lastmod", "updated", "pubDate", "date") or (name == "published" and stamp is None):
            stamp = text or stamp
    return ListedPage(url, stamp or None, _read_date(stamp)) if url else None


def _read_date(text: str | None) -> datetime | None:
    """By the W3C (sitemaps, Atom) or as mails write it (RSS)."""
    if not text:
        return None
    if not _DAY.match(text):
        return read_http_date(text)
    try:
        found = datetime.fromisoformat(f"{text}-01-01"[:10] if len(text) < 10 else text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
