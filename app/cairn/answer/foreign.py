"""Which passages are written in another language than the question. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.domain.document import is_code_type
from cairn.domain.passage import Passage
from cairn.language.identify import passage_language


def is_foreign(question_language: str, passage: Passage) -> bool:
    """Whether a passage is clearly written in another language than the question."""
    return written_in(passage) not in (None, question_language)


def foreign_among(question_language: str, passages: Sequence[Passage]) -> list[Passage]:
    """Passages in another language than the question. Those whose language is not clear (tables, lists of commands) are what most
    of the others are."""
    told = [(passage, written_in(passage)) for passage in passages]
    clear = [code for _, code in told if code]
    abroad = 2 * sum(code != question_language for code in clear) > len(clear)
    return [
        passage
        for passage, code in told
        if (code != question_language if code else abroad and not is_code_type(passage.media_type))
    ]


def most_are_foreign(question_language: str, passages: Sequence[Passage]) -> bool:
    """Whether most are in another language than the question, whose words they cannot have."""
    return 2 * len(foreign_among(question_language, passages)) > len(passages)


def written_in(passage: Passage) -> str | None:
    """The language of a passage, where that is clear; source code has none."""
    return None if is_code_type(passage.media_type) else passage_language(passage.content)
