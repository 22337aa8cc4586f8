"""Lists and counts in words, and where they are cited. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from cairn.answer.advice import join_or
from cairn.answer.cite import citation
from cairn.domain.answer import Citation
from cairn.domain.document import DateFound, Holdings, ListedDocument, Volume
from cairn.domain.passage import Passage
from cairn.domain.plan import LISTED, ListRequest
from cairn.language.dates import read_date
from cairn.language.lexicon import every, replies
from cairn.language.sentences import split_sentences
from cairn.language.text import fold

LONGEST_QUOTE: Final = 250
"""Characters of what is cited."""
SENTENCE: Final = 4
"""Words; fewer are a heading."""

_KINDS: Final = {
    "application/pdf": "PDF",
    "text/markdown": "Markdown",
    "text/html": "HTML",
    "text/x-rst": "reStructuredText",
    "text/plain": "text",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel",
    "application/vnd.ms-excel": "Excel",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint",
    "application/vnd.oasis.opendocument.text": "OpenDocument",
    "application/vnd.oasis.opendocument.spreadsheet": "OpenDocument",
    "application/rtf": "RTF",
    "application/epub+zip": "EPUB",
    "application/x-ipynb+json": "Jupyter",
    "message/rfc822": "mail",
}


@dataclass(frozen=True, slots=True)
class Found:
    """The documents that meet a request, of `total`. `loosely`: terms were looked for word by word, not in one piece."""

    request: ListRequest
    listed: tuple[ListedDocument, ...]
    total: int
    loosely: bool = False
    kind_known: bool = False
    """Whether the documents say of what kind they are."""
    among: tuple[UUID, ...] | None = None
    """Those that were looked into, where it names some."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Names or dates with the number of documents, the first passage and how they are spelled there; `total` of all.
    `shown`: those of the answer."""

    shown: Sequence[tuple[str, int, UUID, str]]
    total: int


def catalogue(language: str, collection: str, holdings: Holdings, found: Found, marks: Mapping[UUID, int]) -> str:
    """How many documents of which kinds, and which they are."""
    say = replies(language)
    one, many = say.holds
    head = (one if holdings.documents == 1 else many).format(name=join_or([collection], language), n=holdings.documents)
    kinds = Counter[str]()
    for media_type, count in holdings.media_types.items():
        kinds[kind(media_type)] += count
    if len(kinds) > 1:
        head += f" ({', '.join(f'{count} {name}' for name, count in kinds.most_common())})"
    lines = [f"{head}:", *_lines(found, language, marks)]
    if holdings.unready:
        lines.append(say.unready.format(n=holdings.unready))
    return "\n".join(lines)


def documents_text(language: str, found: Found, marks: Mapping[UUID, int]) -> str:
    """Which documents meet the request, of how many, and what it was."""
    say, request, count = replies(language), found.request, len(found.listed)
    only_mentions = request == ListRequest(request.form, "documents", mentioned=request.mentioned, shown=request.shown)
    if only_mentions and all(len(group) == 1 for group in request.mentioned) and not found.loosely:
        one, many = say.mentions
        words = ", ".join(join_or(group, language) for group in request.mentioned)
        head = (one if count == 1 else many).format(n=count, all=found.total, words=words)
    else:
        one, many = say.fits
        head = (one if count == 1 else many).format(n=count, all=found.total, conditions=conditions(language, found))
    return "\n".join([f"{head}{':' if shown_of(found) else '.'}", *_lines(found, language, marks)])


def newest_text(language: str, found: Found, marks: Mapping[UUID, int], *, by_year: bool) -> str:
    """The first of them."""
    say, age = replies(language), found.request.age or "newest"
    head = say.newest[age if by_year else f"{age}_added"]
    first = found.listed[0] if found.listed else None
    if first is None:
        return documents_text(language, found, marks)
    year = f", {first.stated_year}" if by_year else f", {first.updated_at:%Y-%m-%d}"
    asked = conditions(language, found)
    return f"{head}{f' ({asked})' if asked else ''}:\n- {_line(first, language, marks)}{year}"


def volume_text(language: str, found: Found, volume: Volume) -> str:
    """Pages or words, of how many documents."""
    say, unit = replies(language), found.request.unit
    number = volume.pages if unit == "pages" else volume.words
    one, many = say.named[unit]
    head = (one if number == 1 else many).format(n=number)
    within = _in_documents(language, volume.documents)
    asked = conditions(language, found)
    noted = ""
    if unit == "pages" and volume.paged < volume.documents:
        one, many = say.named["paged"]
        noted = f"; {(one if volume.paged == 1 else many).format(n=volume.paged)}"
    return f"{head} {within}{f' ({asked})' if asked else ''}{noted}."


def named_text(language: str, found: Found, naming: Naming, marks: Mapping[str, int]) -> str:
    """Names with the number of documents that have them."""
    say = replies(language)
    one, many = say.named[found.request.unit]
    head = (one if naming.total == 1 else many).format(n=naming.total)
    asked = conditions(language, found)
    head = f"{head[:1].upper()}{head[1:]} {_in_documents(language, len(found.listed))}{f' ({asked})' if asked else ''}"
    lines = [f"{head}{':' if naming.shown else '.'}"]
    several = len(found.listed) > 1
    for name, count, _, _ in naming.shown[:LISTED]:
        where = f" ({_in_documents(language, count)})" if several else ""
        lines.append(f"- {name}{where}{f' [{marks[name]}]' if name in marks else ''}")
    if (more := naming.total - found.request.shown - LISTED) > 0:
        lines.append(f"- {say.more.format(n=more)}")
    return "\n".join(lines)


def conditions(language: str, found: Found) -> str:
    """What was asked for, in the order in which it restricts."""
    say, request = replies(language), found.request
    quoted = [join_or(group, language) for group in request.mentioned]
    said = [say.conditions["mentioned"].format(one) for one in quoted]
    said += [say.conditions["excluded"].format(join_or([one], language)) for one in request.excluded]
    for field in ("authors", "sources", "within"):
        said += [say.conditions[field].format(one) for one in getattr(request, field)]
    if request.years:
        low, high = request.years
        said.append(
            say.conditions["since"].format(low) if high == _OPEN
            else say.conditions["before"].format(high + 1) if low == 0
            else say.conditions["years"].format(low if low == high else f"{low}-{high}")
        )  # fmt: skip
    for field in ("language", "format", "kind"):
        if value := getattr(request, field):
            said.append(say.conditions[field].format(value))
    if unknown := unknown_kind(language, found):
        said[-1] = unknown
    if found.loosely:
        said.append(say.conditions["all_words"].format(words=", ".join(quoted)))
    return "; ".join(said)


def unstated_notes(language: str, found: Found, unstated: Mapping[str, int]) -> tuple[str, ...]:
    """That other documents may belong to the list too, since they do not say what it was made by."""
    say, notes = replies(language), []
    for field in stated_fields(found):
        if field == "kind" and not found.kind_known:
            continue  # all are listed
        if count := unstated["authors" if field == "sources" else field]:
            one, many = say.unstated[field]
            notes.append((one if count == 1 else many).format(n=count))
    return tuple(notes)


def unknown_kind(language: str, found: Found) -> str:
    """That no document says of itself that it is of the kind which was asked for; empty where one does."""
    kind = found.request.kind
    return replies(language).conditions["kind_unknown"].format(kind) if kind and not found.kind_known else ""


def stated_fields(found: Found) -> tuple[str, ...]:
    """What a list is made by that documents say of themselves, or do not."""
    request = found.request
    asked = {"authors": request.authors, "sources": request.sources, "years": request.years, "kind": request.kind}
    return tuple(field for field, wanted in asked.items() if wanted)


_OPEN: Final = 9999
"""The last year of a period without end."""


def kind(media_type: str) -> str:
    """What people call a media type: PDF, Markdown, Python."""
    return _KINDS.get(media_type) or media_type.removeprefix("text/x-").removeprefix("text/").capitalize()


def _in_documents(language: str, count: int) -> str:
    one, many = replies(language).in_documents
    return (one if count == 1 else many).format(n=count)


def _lines(found: Found, language: str, marks: Mapping[UUID, int]) -> list[str]:
    lines = [f"- {_line(item, language, marks)}" for item in shown_of(found)]
    more = len(found.listed) - found.request.shown - LISTED
    return [*lines, f"- {replies(language).more.format(n=more)}"] if more > 0 else lines


def shown_of(found: Found) -> Sequence[ListedDocument]:
    """Those that the answer names."""
    return found.listed[found.request.shown : found.request.shown + LISTED]


def _line(item: ListedDocument, language: str, marks: Mapping[UUID, int]) -> str:
    title = " ".join(item.title.split()) or item.external_id
    facts = [] if item.external_id == title else [item.external_id]
    facts += [f"{item.pages} {replies(language).pages}"] if item.pages and item.pages > 1 else []
    told = f"{title} ({', '.join(facts)})" if facts else title
    return f"{told} [{marks[item.id]}]" if item.id in marks else told


# --- where it stands --------------------------------------------------------------------------------------------------

_WORD: Final = re.compile(r"\w+")
_ELIDED: Final = every(lambda one: one.words.elided)


def place_of(n: int, passage: Passage, term: str | None) -> Citation | None:
    """The sentence in which a term stands, in any inflection, else the first one; None where there is no text."""
    content = passage.content
    spans = split_sentences(content)
    if not spans:
        return None
    at = _find(content, term) if term else None
    if at is None:
        start, end = spans[0]
    else:
        start, end = next(((a, b) for a, b in spans if a <= at < b), _line_at(content, at))
        if len(content[start:end].split()) < SENTENCE:  # a heading; a sentence says more
            for a, b in spans:
                inside = _find(content[a:b], term or "") if a > at and b - a > end - start else None
                if inside is not None and len(content[a:b].split()) >= SENTENCE:
                    start, end, at = a, b, a + inside
                    break
    if end - start > LONGEST_QUOTE:
        start = max(start, (at or start) - LONGEST_QUOTE // 2)
        end = min(end, start + LONGEST_QUOTE)
        while start and start < end and content[start - 1].isalnum() and content[start].isalnum():
            start += 1
        while end < len(content) and end > start and content[end - 1].isalnum() and content[end].isalnum():
            end -= 1
    return citation(n, passage, (start, end)) if end > start else None


def _line_at(content: str, at: int) -> tuple[int, int]:
    """The line, where no sentence is: a row, a line of code."""
    end = content.find("\n", at)
    return content.rfind("\n", 0, at) + 1, len(content) if end < 0 else end


def _find(content: str, term: str) -> int | None:
    """Where the words of the term begin, each with the same beginning as in it."""
    wanted = [fold(word) for word in _WORD.findall(term) if fold(word) not in _ELIDED]
    said = [(match.start(), fold(match.group())) for match in _WORD.finditer(content)]
    for size in (len(wanted), 1):
        for at in range(len(said) - size + 1):
            if size and all(_same_word(wanted[k], said[at + k][1]) for k in range(size)):
                return said[at][0]
    return None


def _same_word(one: str, other: str) -> bool:
    most = max(len(one), len(other))
    shared = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= most - 3 and shared >= min(3, most)


def dated(found: Sequence[DateFound]) -> Naming:
    """One line for the spellings of a date, those of most documents first."""
    by_date: dict[str, list[DateFound]] = {}
    for one in found:
        by_date.setdefault(read_date(one.said), []).append(one)
    rows = []
    for spellings in by_date.values():
        documents = frozenset[UUID]().union(*(one.documents for one in spellings))
        first = min(spellings, key=lambda one: one.said)
        rows.append((" ".join(first.said.split()), len(documents), first.passage_id, first.said))
    order = {" ".join(min(group, key=lambda one: one.said).said.split()): date for date, group in by_date.items()}
    rows.sort(key=lambda row: (-row[1], order[row[0]]))
    return Naming(rows, len(rows))
