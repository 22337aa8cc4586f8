"""What to do when the documents do not answer, in the language of the message. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cairn.domain.answer import Draft
from cairn.language.lexicon import replies

LONGEST_TITLE: Final = 80


def empty_collection(language: str, collection: str, others: Sequence[str]) -> Draft:
    """The draft for a collection without documents. `others`: collections that have some."""
    say = replies(language)
    advice = say.empty.format(name=collection)
    if others:
        advice += " " + say.others.format(names=join_or(others, language))
    reasons = (f"The collection {collection!r} is empty.",)
    return Draft(f"{say.refusal} {advice}", (), False, 0.0, reasons)


def rephrase(language: str, topics: Sequence[str]) -> str:
    """What to say after a refusal; empty where there is no topic to name."""
    return replies(language).rephrase.format(titles=join_or(topics, language)) if topics else ""


def join_or(names: Sequence[str], language: str) -> str:
    """Names in quotation marks of the language: “a”, “b” or “c”."""
    say = replies(language)
    quoted = [say.quotes.format(" ".join(name.split())[:LONGEST_TITLE]) for name in names]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {say.alternative} {quoted[-1]}"
