"""Which documents an answer has words of besides those that it cites: what it says has to go with them. Pure.

Rather too many than too few: an answer that is blanked although it had no word of a deleted document can be asked for again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from cairn.answer.advice import LONGEST_TITLE
from cairn.domain.passage import Passage
from cairn.language.text import fold
from cairn.runs.context import Outcome, Run

SHORTEST_NAME: Final = 3
"""Letters: a shorter name of a document stands in any text."""
_WORD: Final = re.compile(r"\w{4,}")


def drawn_on(run: Run, outcome: Outcome, route: Mapping[str, Any]) -> tuple[UUID, ...]:
    """Documents whose names stand in the answer or in how it came to be; and whose words do.

    Of an answer that cites nothing (a list, a refusal with advice) all that were read; of one that a model wrote those that
    have a word of it which neither the question nor what it cites has; quotations have no words but of what they cite.
    """
    library, draft = run.deps.library, outcome.draft
    read = [*(p for item in run.record.searches for p in item.result.passages), *outcome.sources]
    read = [passage for passage in read if passage.url is None]
    names = library.names | {p.document_id: (p.external_id, p.title) for p in read}
    told = json.dumps([draft.text, draft.insufficiencies, route], ensure_ascii=False, default=str)
    drawn = [one for one, known in names.items() if any(_stands_in(name, told) for name in known)]
    if not draft.found or not draft.citations:
        drawn += [*(passage.document_id for passage in read), *library.opened]
    elif outcome.answerer != "extractive":
        drawn += _sources_of_words(run, outcome, read)
    return tuple(dict.fromkeys(drawn))


def _stands_in(name: str, text: str) -> bool:
    """Also as it was quoted: without its folders, in one line, shortened."""
    short = " ".join(name.rsplit("/", 1)[-1].split())[:LONGEST_TITLE]
    return len(short) >= SHORTEST_NAME and json.dumps(short, ensure_ascii=False)[1:-1] in text


def _sources_of_words(run: Run, outcome: Outcome, read: Iterable[Passage]) -> list[UUID]:
    """Documents that were read, now or for what was said before, and alone explain a word of the answer."""
    draft = outcome.draft
    cited = {citation.document_id for citation in draft.citations}
    known = words(run.question.text).union(*(words(p.content) for p in read if p.document_id in cited))
    own = words(" ".join((draft.text, *draft.insufficiencies))) - known
    drawn = [p.document_id for p in read if p.document_id not in cited and own & words(f"{p.title} {p.content}")]
    for turn in run.question.history:
        if own & words(turn.content):
            drawn += [source.document_id for source in turn.sources if source.url is None]
    return drawn


def words(text: str) -> set[str]:
    """Of four letters or more, folded."""
    return set(_WORD.findall(fold(text)))
