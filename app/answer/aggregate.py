"""Answers about documents as such: how many there are, and which. Pure; the numbers come from SQL, so they are complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from app.answer.advice import join_or
from app.domain.document import Holdings, ListedDocument
from app.language.lexicon import replies

LISTED: Final = 20
"""Documents that an answer names; the rest is counted."""

_KINDS: Final = {
    "application/pdf": "PDF",
    "text/markdown": "Markdown",
    "text/html": "HTML",
    "text/plain": "text",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
}


def catalogue(language: str, collection: str, holdings: Holdings, listed: Sequence[ListedDocument]) -> str:
    """How many documents of which kinds, and which they are."""
    say = replies(language)
    one, many = say.holds
    said = (one if holdings.documents == 1 else many).format(name=join_or([collection], language), n=holdings.documents)
    kinds = Counter[str]()
    for media_type, count in holdings.media_types.items():
        kinds[kind(media_type)] += count
    if len(kinds) > 1:
        said += f" ({', '.join(f'{count} {name}' for name, count in kinds.most_common())})"
    lines = [f"{said}{':' if listed else '.'}", *_lines(listed, holdings.documents, language)]
    if holdings.unready:
        lines.append(say.unready.format(n=holdings.unready))
    return "\n".join(lines)


def mentions(language: str, words: Sequence[str], listed: Sequence[ListedDocument], total: int) -> str:
    """Which of all documents mention these words."""
    one, many = replies(language).mentions
    quoted = ", ".join(join_or([word], language) for word in words)
    said = (one if len(listed) == 1 else many).format(n=len(listed), all=total, words=quoted)
    return "\n".join([f"{said}{':' if listed else '.'}", *_lines(listed, len(listed), language)])


def kind(media_type: str) -> str:
    """What people call a media type: PDF, Markdown, Python."""
    return _KINDS.get(media_type) or media_type.removeprefix("text/x-").removeprefix("text/").capitalize()


def _lines(listed: Sequence[ListedDocument], total: int, language: str) -> list[str]:
    shown = listed[:LISTED]
    lines = [f"- {_line(item, language)}" for item in shown]
    return [*lines, f"- {replies(language).more.format(n=total - len(shown))}"] if total > len(shown) else lines


def _line(item: ListedDocument, language: str) -> str:
    title = " ".join(item.title.split()) or item.external_id
    facts = [] if item.external_id == title else [item.external_id]
    facts += [f"{item.pages} {replies(language).pages}"] if item.pages and item.pages > 1 else []
    return f"{title} ({', '.join(facts)})" if facts else title
