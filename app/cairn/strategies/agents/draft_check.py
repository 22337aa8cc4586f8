"""An answer that a model has written in the course of its work: cited, checked, and handed over like any other."""

from __future__ import annotations

from typing import Final

from cairn.answer.cite import cite, unmarked
from cairn.answer.refusal import is_refusal
from cairn.answer.reply import complete_part, complete_sentences, loop_start, tidy
from cairn.domain.answer import Draft
from cairn.domain.event import Token
from cairn.runs.context import Run
from cairn.strategies.agents.tools.tool import LONGEST_ANSWER
from cairn.strategies.check import Checked, check, note_attempt
from cairn.strategies.draft import Material

WORDS_AT_ONCE: Final = 3
"""Of an answer that is there already, in a stream."""


def cite_draft(text: str, material: Material) -> Draft:
    """The text with citations of `material.passages`, of which `[n]` means the n-th; numbers of nothing are taken out. Facts
    of SQL need no citation."""
    said, ends = _ended(tidy(text))
    cited = cite(said, material.passages)
    if is_refusal(cited.text, cited=bool(cited.citations)):
        reason = f"The model found no answer in the {len(material.passages)} passages that it looked at."
        return Draft(unmarked(cited.text), (), False, 0.0, (reason,))
    stands = bool(cited.citations or material.facts)
    told = [] if stands else ["The answer cites no source."]
    if cited.stripped:
        told.append(f"{cited.stripped} citations of sources that do not exist were removed.")
    return Draft(cited.text, cited.citations, True, material.confidence if stands else 0.0, (*told, *ends))


def _ended(text: str) -> tuple[str, tuple[str, ...]]:
    """Without what a model says in circles, and not without end, since servers may ignore max_tokens; and that it is so."""
    loop = loop_start(text)
    if loop is not None:
        return complete_part(text[:loop]), ("The model repeated itself; the answer was cut there.",)
    if len(text) > LONGEST_ANSWER:
        return complete_part(text[:LONGEST_ANSWER]), ("The answer was too long; it was cut.",)
    return text, ()


def has_answer(text: str) -> bool:
    """Whether a sentence is left of what a model gives as its answer, where it goes round in circles."""
    said = tidy(text)
    loop = loop_start(said)
    return bool(said if loop is None else complete_sentences(said[:loop]))


async def check_answer(run: Run, text: str, material: Material) -> Checked:
    """The draft with its check, noted in the record as an attempt."""
    found = await check(run, cite_draft(text, material), material.passages, material.confidence)
    note_attempt(run, len(run.record.attempts) + 1, found)
    return found


def stream_text(run: Run, text: str) -> None:
    """A text that is there already, in pieces of a few words, white space kept."""
    words = text.split(" ")
    for at in range(0, len(words), WORDS_AT_ONCE):
        run.emit(Token(f"{' ' if at else ''}{' '.join(words[at : at + WORDS_AT_ONCE])}"))
