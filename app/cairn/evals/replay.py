"""Judged questions asked again with other settings: do these find what users were content with, and less of what they were not?

A rated-up answer makes the passages that it cites relevant; a rated-down one makes them unhelpful. Both were found by the
settings of their time, which favors those, so that others are called better rather too seldom than too often.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final
from uuid import UUID

import numpy as np

from cairn.domain.answer import Answer, Citation
from cairn.domain.passage import Passage
from cairn.errors import CairnError, InputError
from cairn.evals.metrics import Comparison, compare, ndcg
from cairn.language.text import fold
from cairn.settings import Settings
from cairn.settings.changes import Changes, change_settings

FEWEST: Final = 20
"""Judged questions that a verdict takes,"""
FEWEST_KEPT: Final = 10
"""and those of them that were rated up: what is only disliked does not say what would be better."""
MOST_ALTERNATIVES: Final = 32
PLACES: Final = 10
"""Passages that count."""
GROUPS: Final = ("language", "strategy", "query_type")

TRIED: Final = (
    "rag.topK", "rag.hybridSearchEnabled", "rag.hybridSearchWeight", "rag.rerankingEnabled", "rag.rerankerProvider",
    "rag.rerankerModel", "rag.adaptiveRoutingEnabled", "rag.qa", "rag.agenticRetrieval", "retrieve", "rewrite", "routing",
    "answer", "ground", "graph.search", "graph.routing", "graph.fusion", "graph.weight", "graph.hops", "graph.perNodeCap",
    "graph.beam", "graph.top", "vector.candidates", "vector.efSearch", "vector.exactBelow", "lexical.candidates", "agents",
    "planned", "iterative",
)  # fmt: skip
"""Settings, or sections of them, that asking again tells something about; others act when documents are indexed, or on the
server."""


# --- what users judged ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A place that a judged answer cites: code points of a version of a document."""

    document_id: UUID
    passage_id: UUID
    version: int
    start: int
    end: int

    def is_in(self, passage: Passage) -> bool:
        """Whether the passage holds some of it; ids of passages change when a document is indexed again, its text does not."""
        if passage.passage_id == self.passage_id:
            return True
        same = (passage.document_id, passage.version) == (self.document_id, self.version)
        return same and passage.start < self.end and self.start < passage.end

    def is_cited(self, citation: Citation) -> bool:
        """Whether a citation quotes some of it."""
        same = (citation.document_id, citation.version) == (self.document_id, self.version)
        return same and citation.start < self.end and self.start < citation.end


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """One rated run: what was asked, as understood (a follow-up stands alone), and what the answer cites."""

    run_id: UUID
    rating: int
    text: str
    collection: str
    strategy: str
    filters: Mapping[str, Any]
    cited: tuple[CitedPassage, ...]
    settings_revision: str
    groups: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question with all that users said of its answers. `kept`: cited by answers that were rated up; `unhelpful`: by those
    that were rated down. `run_id`: of the run that was judged last."""

    run_id: UUID
    text: str
    collection: str
    strategy: str
    filters: Mapping[str, Any]
    kept: tuple[CitedPassage, ...]
    unhelpful: tuple[CitedPassage, ...]
    groups: Mapping[str, str]

    @property
    def chooses(self) -> bool:
        """Whether it belongs to the half that alternatives are chosen on; always the same for the same words."""
        return hashlib.sha256(fold(self.text).encode()).digest()[0] % 2 == 0


def pool_questions(runs: Sequence[JudgedRun]) -> list[JudgedQuestion]:
    """Runs of the same question together, newest first. A passage that was cited by answers rated up and down counts as most
    of them say, and not at all where they are even."""
    pooled: dict[str, list[JudgedRun]] = {}
    for run in runs:
        key = json.dumps([fold(run.text), run.collection, run.strategy, dict(run.filters)], sort_keys=True, default=str)
        pooled.setdefault(key, []).append(run)
    questions = []
    for same in pooled.values():
        votes: Counter[UUID] = Counter()
        places = {place.passage_id: place for run in same for place in run.cited}
        for run in same:
            for passage_id in {place.passage_id for place in run.cited}:
                votes[passage_id] += run.rating
        kept = tuple(place for place in places.values() if votes[place.passage_id] > 0)
        unhelpful = tuple(place for place in places.values() if votes[place.passage_id] < 0)
        if kept or unhelpful:
            last = same[0]
            questions.append(
                JudgedQuestion(
                    last.run_id, last.text, last.collection, last.strategy, last.filters, kept, unhelpful, last.groups
                )
            )
    return questions


# --- what is tried ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Alternative:
    """Settings to compare with the present ones; `changes` from those."""

    changes: Changes
    settings: Settings


def list_alternatives(present: Settings, tried: Mapping[str, Sequence[Any]]) -> list[Alternative]:
    """All combinations of the values, without the one in force. Raises InputError, SettingsError."""
    for key in tried:
        if not any(key == known or key.startswith(f"{known}.") for known in TRIED):
            raise InputError(
                f"{key} cannot be judged by asking again: it acts when documents are indexed, or on the server. "
                f"What can: {', '.join(TRIED)}"
            )
    combined = [dict(zip(tried, values, strict=True)) for values in product(*tried.values())]
    if len(combined) > MOST_ALTERNATIVES:
        raise InputError(
            f"{len(combined)} combinations are too many to compare; try up to {MOST_ALTERNATIVES} at a time"
        )
    made = [Alternative(changes, change_settings(present, changes)) for changes in combined]
    different = [one for one in made if one.settings != present]
    if not different:
        raise InputError("nothing to compare: these are the settings in force")
    return different


# --- asking again -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replayed:
    """A question asked again: the passages found, best first."""

    answer: Answer
    passages: tuple[Passage, ...]


AskAgain = Callable[[JudgedQuestion, Settings], Awaitable[Replayed]]
"""Raises CairnError."""


@dataclass(frozen=True, slots=True)
class ReplayedScore:
    """How one question went. `helpful`: nDCG@10 of the kept passages; where only unhelpful ones are known, 1 minus theirs.
    `cited`: the answer cites a kept passage, or none of the unhelpful ones. `ranking`: passages by id; a judged one by the id
    that it was judged under."""

    helpful: float
    cited: float
    ranking: tuple[str, ...]
    judgements: Mapping[str, int]
    total_ms: float


def score_replay(question: JudgedQuestion, replayed: Replayed) -> ReplayedScore:
    """Where the judged passages stand now."""
    judged = question.kept or question.unhelpful
    ranking = _ranking(replayed.passages, judged)
    judgements = {str(place.passage_id): 1 for place in judged}
    quality = ndcg(ranking, judgements, PLACES)
    cites = any(place.is_cited(one) for one in replayed.answer.citations if not one.instead for place in judged)
    return ReplayedScore(
        quality if question.kept else 1 - quality,
        float(cites == bool(question.kept)),
        ranking,
        judgements if question.kept else {},
        replayed.answer.timings_ms.get("total", 0.0),
    )


def rates_quotation(question: JudgedQuestion, answer: Answer) -> bool | None:
    """What users said of the first quotation; None where they have not seen it."""
    if not answer.citations or answer.citations[0].instead:
        return None
    first = answer.citations[0]
    if any(place.is_cited(first) for place in question.kept):
        return True
    return False if any(place.is_cited(first) for place in question.unhelpful) else None


FAILED: Final = ReplayedScore(0.0, 0.0, (), {}, 0.0)
"""Of a question that only the present settings can answer."""


def _ranking(passages: Iterable[Passage], judged: Sequence[CitedPassage]) -> tuple[str, ...]:
    """Each once; of several passages that hold the same judged place the first."""
    keys: dict[str, None] = {}
    for passage in passages:
        held = next((place for place in judged if place.is_in(passage)), None)
        keys[str(held.passage_id if held else passage.passage_id)] = None
    return tuple(keys)


async def ask_all(
    ask: AskAgain, questions: Sequence[JudgedQuestion], settings: Settings, step: Callable[[str], None]
) -> dict[UUID, ReplayedScore | CairnError]:
    """Every question, one after the other: the times are those of a quiet server."""
    found: dict[UUID, ReplayedScore | CairnError] = {}
    for question in questions:
        try:
            found[question.run_id] = score_replay(question, await ask(question, settings))
        except CairnError as error:
            found[question.run_id] = error
        step(question.text)
    return found


# --- the verdict ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tried:
    """What an alternative does on some questions, alternative minus present: to what is read (`helpful`), to that of questions
    that were rated up (`kept`), and to what is cited."""

    changes: Changes
    revision: str
    helpful: Comparison
    kept: Comparison | None
    cited: Comparison

    @property
    def better(self) -> bool:
        """The interval lies above 0, and nothing is lost of what users were content with."""
        return self.helpful.difference.low > 0 and (self.kept is None or self.kept.difference.mean >= 0)


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """`tried` are figures of all alternatives, on the half of the questions that they are chosen on where there are several;
    `chosen` is the best of them on the other questions (`held_out`), or on all where it is the only one. `groups`: its
    differences by language, strategy and type. `needed`: how many questions would tell a difference as large as that;
    None where it is told, or is none. `rated_under`: judged runs by revision of the settings in force then."""

    revision: str
    questions: int
    rated_up: int
    left_out: Mapping[str, int]
    rated_under: Mapping[str, int]
    tried: tuple[Tried, ...]
    chosen: Tried
    held_out: bool
    judged_on: int
    groups: Mapping[str, Mapping[str, Comparison]]
    needed: int | None
    problems: tuple[str, ...]


def check_enough(questions: Sequence[JudgedQuestion], alternatives: int, left_out: Mapping[str, int]) -> None:
    """Raises InputError that says how many are missing."""
    halves = [[one for one in questions if one.chooses == half] for half in (True, False)]
    parts = [list(questions)] if alternatives == 1 else halves
    kept = [sum(bool(one.kept) for one in part) for part in parts]
    if all(len(part) >= FEWEST for part in parts) and all(number >= FEWEST_KEPT for number in kept):
        return
    wanted, wanted_kept = FEWEST * len(parts), FEWEST_KEPT * len(parts)
    unusable = "".join(f"; {number} {why}" for why, number in left_out.items())
    halved = " (half of them choose among the alternatives, the others judge the choice)" if len(parts) > 1 else ""
    raise InputError(
        f"{len(questions)} judged questions with citations are too few, {sum(kept)} of them rated up{unusable}. About "
        f"{wanted} are needed, {wanted_kept} of them rated up{halved}: POST /feedback, or the thumbs of a chat"
    )


def compare_alternatives(
    questions: Sequence[JudgedQuestion],
    present: Mapping[UUID, ReplayedScore],
    others: Sequence[tuple[Alternative, Mapping[UUID, ReplayedScore]]],
) -> tuple[tuple[Tried, ...], Tried, Sequence[JudgedQuestion]]:
    """All alternatives; the best of them judged on questions that did not choose it, and these questions."""
    choosing = [one for one in questions if one.chooses] if len(others) > 1 else list(questions)
    judging = [one for one in questions if not one.chooses] if len(others) > 1 else list(questions)
    tried = [_tried(one, choosing, present, scores) for one, scores in others]
    best = max(range(len(tried)), key=lambda at: tried[at].helpful.difference.mean)
    return tuple(tried), _tried(others[best][0], judging, present, others[best][1]), judging


def _tried(
    alternative: Alternative,
    questions: Sequence[JudgedQuestion],
    present: Mapping[UUID, ReplayedScore],
    scores: Mapping[UUID, ReplayedScore],
) -> Tried:
    pairs = [(one, present[one.run_id], scores.get(one.run_id, FAILED)) for one in questions]
    up = [(old.helpful, new.helpful) for one, old, new in pairs if one.kept]
    return Tried(
        dict(alternative.changes),
        alternative.settings.revision,
        compare([old.helpful for _, old, _ in pairs], [new.helpful for _, _, new in pairs]),
        compare(*zip(*up, strict=True)) if up else None,
        compare([old.cited for _, old, _ in pairs], [new.cited for _, _, new in pairs]),
    )


def compare_groups(
    questions: Sequence[JudgedQuestion], present: Mapping[UUID, ReplayedScore], scores: Mapping[UUID, ReplayedScore]
) -> dict[str, dict[str, Comparison]]:
    """Differences by language, strategy and type."""
    groups: dict[str, dict[str, Comparison]] = {}
    for name in GROUPS:
        for value in sorted({one.groups.get(name, "") for one in questions} - {""}):
            members = [one for one in questions if one.groups.get(name) == value]
            groups.setdefault(name, {})[value] = compare(
                [present[one.run_id].helpful for one in members],
                [scores.get(one.run_id, FAILED).helpful for one in members],
            )
    return groups


def count_needed(differences: Sequence[float]) -> int | None:
    """Questions after which the 95 % interval of a mean like this one leaves out 0: (1.96 s / mean)^2."""
    values = np.asarray(differences, dtype=np.float64)
    mean = float(values.mean())
    if mean <= 0:
        return None
    return max(len(values) + 1, math.ceil((1.96 * float(values.std()) / mean) ** 2))
