"""What to do when the documents do not answer, in the language of the message. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cairn.answer.quotation import placeholders_as_code
from cairn.domain.answer import Draft
from cairn.domain.document import landmark_at
from cairn.domain.passage import Passage
from cairn.language.lexicon import replies
from cairn.language.text import fold_line

LONGEST_TITLE: Final = 80  # bound: tests/unit/test_edges_answer.py


def empty_collection(language: str, collection: str, others: Sequence[str]) -> Draft:
    """The draft for a collection without documents. `others`: collections that have some."""
    say = replies(language)
    advice = say.empty.format(name=collection)
    if others:
        advice += " " + say.others.format(names=join_or(others, language))
    reasons = (f"The collection {collection!r} is empty.",)
    return Draft(f"{say.refusal} {advice}", (), False, 0.0, reasons)


def rephrase(language: str, topics: Sequence[str], nearest: Sequence[str] = ()) -> str:
    """What to say after a refusal: where the nearest of what was read stands, else what there is to ask about; empty where there
    is neither."""
    say = replies(language)
    if nearest:
        return say.look_at.format(places=join_or(nearest, language))
    return say.rephrase.format(titles=join_or(topics, language)) if topics else ""


def places(passages: Sequence[Passage], most: int) -> list[str]:
    """Where the first of the passages stand, each place once: the title of the document and the heading above what was found."""
    found: dict[str, None] = {}
    for passage in passages:
        at = passage.matched[0] if passage.matched else passage.start
        headings = landmark_at(passage.landmarks, at).headings if passage.landmarks else passage.headings
        title, heading = _line(passage.title or passage.external_id), _line(headings[-1] if headings else "")
        apart = heading and fold_line(heading) != fold_line(title)
        found.setdefault(f"{title} › {heading}" if apart else title)
        if len(found) == most:
            break
    return list(found)


def join_or(names: Sequence[str], language: str) -> str:
    """Names in quotation marks of the language: “a”, “b” or “c”."""
    say = replies(language)
    lines = (" › ".join(map(_line, name.split(" › "))) for name in names)
    quoted = [say.quotes.format(placeholders_as_code(line)) for line in lines]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {say.alternative} {quoted[-1]}"


def _line(name: str) -> str:
    """In one line, shortened."""
    return " ".join(name.split())[:LONGEST_TITLE]
