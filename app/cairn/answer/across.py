"""The one best quotation from documents in another language than the question's, for collections whose model reads
both.

Words say little there: what both languages spell alike, numbers and names. So each place that can be quoted is compared with the
question by the vectors of the collection's own model, and whether the documents answer is told by how near the nearest is. The
model that thresholds elsewhere were fitted to knows English alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cairn.answer.answer_type import Asked, holds_asked
from cairn.answer.candidates import Candidate, candidates
from cairn.answer.confidence import (
    FACT_DOUBTED,
    RIGHT_ENOUGH,
    UNCALIBRATED,
    Calibration,
    Confidence,
)
from cairn.answer.evidence import COLUMN, Measured, QuestionTerms, measure, question_terms
from cairn.answer.extract import (
    OTHERS,
    choose_nearest,
    may_show_sum,
    not_found,
    other_places,
    quoted_draft,
    saying_what_it_costs,
    selection_features,
    unsaid,
    with_sum_first,
)
from cairn.answer.named_entry import find_entries, without_entries_like_it
from cairn.answer.quotation import Excerpt, lead_over_others, quote
from cairn.answer.reading import UNREAD, Chunks, as_stretch, choose_places, nearest_cosines
from cairn.answer.shown import as_markdown, surroundings
from cairn.domain.answer import Draft
from cairn.domain.passage import Passage
from cairn.language.tokens import terms as words_of
from cairn.providers.answer_reader import AnswerReader
from cairn.providers.protocols import Embedder, embed_questions_as_published

MOST_EMBEDDED: Final = 32  # bound: tests/unit/test_edges_answer.py
"""Places that are compared, those in the nearest chunks; each costs some milliseconds."""
READ_ACROSS: Final = 10  # bound: tests/db/test_two_models.py
"""Passages that places are taken from: words of another language bring the right one less often to the first five."""
EVEN: Final = 0.05  # measured: tests/unit/test_edges_answer.py
"""Added to the spread of cosines, so that few places that are alike do not make the best one stand out."""
ALONE_AHEAD, ALONE_APART = 0.1, 0.4  # measured: tests/unit/test_edges_answer.py
"""Where there is one passage, or one place, it cannot be ahead of others: what those have on average that answer."""
SELECTION: Final[Mapping[str, float]] = {  # fitted: tests/benchmarks/fit_across.py
    "cosine": 11.03, "idf_direct": 1.84, "fits": 0.94, "misfits": -0.94, "retrieval": 6.55,
}  # fmt: skip
"""What a place is chosen by: a conditional logit, as in quotation_choice.py."""
PRESENT: Final[Mapping[str, float]] = {  # fitted: tests/benchmarks/fit_across.py
    "cosine": 7.36, "passages": 3.53, "words": 1.25, "margin": 0.30, "short": 0.51, "apart": 4.23, "": -4.17,
}  # fmt: skip
# fitted: tests/benchmarks/fit_across.py
RIGHT: Final[Mapping[str, float]] = {"cosine": 1.41, "margin": 3.03, "": -0.47}
"""Whether the documents answer, and if they do, whether the quotation does: logistic regressions, "" the constant. All three were
fitted by tests/benchmarks/fit_across.py to encyclopaedia in three languages, each question asked of paragraphs of another, with
that which answers, without it, and of others about something else (docs/adr/0094-two-local-models.md)."""
# measured: tests/unit/test_read_across.py
STRETCH, PLACE = 1.5, 0.5
"""What a log odd of the reader counts beside one of SELECTION, on a stretch and on a place in it: of 66 questions
the best place holds the answer to .83, to .74 without it (docs/adr/0119-what-is-not-said.md)."""
MOST_SURE: Final = 6.0  # measured: tests/unit/test_read_across.py
# measured: tests/unit/test_read_across.py
PRESENT_READ, RIGHT_READ = 4.0, 1.3
"""Log odds of PRESENT and RIGHT for the reader's word on the stretch that is quoted, as a share of MOST_SURE. A question that
names what a manual is about is near to all of it, whatever it asks: the reader tells that better
(docs/adr/0141-asked-in-another-language.md)."""
ENOUGH: Final = 0.25  # measured: tests/unit/test_edges_answer.py
"""Probability that the documents answer from which a quotation is shown."""
BESIDE: Final = 0.0  # measured: tests/unit/test_read_across.py
"""Log odds of the reader below which nothing is shown that lacks a name of the question, or the kind of thing asked for: names
may be spelled otherwise, and things said in words, but then the reader takes it for an answer."""

Floats = NDArray[np.float64]


def selection_table(cosines: Floats, measured: Measured) -> Floats:
    """A row for each place, a column for each of SELECTION."""
    return np.column_stack([cosines, *(measured[:, COLUMN[name]] for name in list(SELECTION)[1:])])


def evidence_of(
    cosines: Floats, measured: Measured, order: Sequence[int], found: Sequence[Candidate], scores: Floats, asked: int
) -> dict[str, float]:
    """What the regressions see of the best place. `passages`: by how much the nearest passage is ahead of the mean of them.
    `asked`: words of content of the question; cosines of short ones are lower."""
    best = order[0]
    nearest: dict[int, float] = {}
    for candidate, cosine in zip(found, cosines, strict=True):
        nearest[candidate.rank] = max(nearest.get(candidate.rank, -1.0), float(cosine))
    top = max(nearest.values())
    rest = [float(cosine) for at, cosine in enumerate(cosines) if at != best]
    spread = float(np.std(rest)) if rest else 0.0
    return {
        "cosine": float(cosines[best]),
        "short": 1 / max(asked, 1),
        "apart": min((float(cosines[best]) - float(np.mean(rest))) / (spread + EVEN), 5.0) / 5 if rest else ALONE_APART,
        "passages": top - sum(nearest.values()) / len(nearest) if len(nearest) > 1 else ALONE_AHEAD,
        "words": float(measured[best, COLUMN["idf_around"]]),
        "margin": min(5.0, lead_over_others(order, found, scores)) / 5,
    }


def nearest_places(found: list[Candidate], chunks: Chunks | None) -> list[Candidate]:
    """As many as are compared, in their order: those in the nearest chunks, where these are known, else the first."""
    if len(found) <= MOST_EMBEDDED or not chunks:
        return found[:MOST_EMBEDDED]
    nearest = np.argsort(-nearest_cosines(found, chunks), kind="stable")[:MOST_EMBEDDED]
    return [found[at] for at in sorted(map(int, nearest))]


def without_words(terms: QuestionTerms) -> QuestionTerms:
    """Nothing is said to be missing but numbers and what is written with some: words stand there in another language."""
    return replace(terms, missing=tuple(one for one in terms.missing if any(map(str.isdigit, one))))


async def extract_across(
    question: str,
    language: str,
    passages: Sequence[Passage],
    embedder: Embedder,
    *,
    first: int = 1,
    known: str = "",
    calibration: Calibration = UNCALIBRATED,
    reader: AnswerReader | None = None,
    chunks: Chunks | None = None,
    names_all: Callable[[Passage], bool] = lambda _: True,
) -> Draft:
    """The best quotation `[1]` of passages in other languages than `language`, that of the question; where there is a `reader`,
    of the places that are nearest the one that it takes for an answer. Not found where none is near enough. `chunks`: cosines of
    the question and the chunks of each passage; `names_all`: whether a passage has all names of the question as they are spelled
    there. See `extract` for the rest. Raises ProviderError."""
    found = unsaid(candidates(passages), known)
    found = without_entries_like_it(question, found, passages, find_entries(question, found, passages))
    found = nearest_places(found, chunks)
    found = saying_what_it_costs(question, found) if reader else found
    terms = without_words(question_terms(question, found))
    if not found or not terms.words:
        return not_found(question, passages, terms)
    vectors = await embedder.embed([one.under(passages[one.rank].title) for one in found])
    # the weights here were fitted to cosines of the model itself
    (asked,) = await embed_questions_as_published(embedder, [question])
    cosines = (vectors @ asked).astype(np.float64)
    measured = measure(terms, found, passages)
    scores: Floats = selection_table(cosines, measured) @ np.array(list(SELECTION.values()))
    reading = await _read(question, found, scores, passages, reader) if reader else None
    scores = scores if reading is None else weigh_reading(scores, reading)
    order = with_sum_first([int(at) for at in np.argsort(-scores, kind="stable")], found, scores, terms, passages)
    values = evidence_of(cosines, measured, order, found, scores, len(terms.words))
    reads = 0.0 if reading is None else float(reading.stretch[order[0]])
    confidence = calibration.apply(estimate_across(values, reads))
    features = selection_features(terms, passages, found, measured, scores, order, values["cosine"])
    best = quote(order[0], found, scores, terms, passages)
    lacks = reads < BESIDE and not (_shows_asked(best, terms, passages) and names_all(passages[best.rank]))
    if lacks or not _is_enough(confidence, terms.asked, None if reading is None else reads):
        worth = order if reading else []
        near = choose_nearest(worth, found, scores, terms, passages, OTHERS + 1, confidence)
        return replace(not_found(question, passages, terms, confidence.value), evidence=features, near=near)
    confidence = confidence if may_show_sum(best, terms.asked, passages) else confidence.unsure()
    draft = quoted_draft(best, (), passages, first, language, terms.asked)
    others = other_places(draft, (best,), order, found, scores, terms, passages, OTHERS) if reading else ()
    return replace(draft, confidence=confidence.value, evidence=features, others=others, across=True)


def _shows_asked(best: Excerpt, terms: QuestionTerms, passages: Sequence[Passage]) -> bool:
    """Whether what is shown of it may be a thing of the kind asked for."""
    around = surroundings(passages[best.rank].content, best.spans[-1], said_briefly=terms.asked.said_briefly)
    text = f"{best.shown}\n{as_markdown(around)}"
    return holds_asked(terms.asked, terms.text, text, frozenset(words_of(text))) is not False


def _is_enough(confidence: Confidence, asked: Asked, read: float | None) -> bool:
    """Whether the quotation is shown: as within one language, nothing that was read and is hardly right, and a guess that the
    reader doubts (`read`: its log odds) says no number, time, sum or name (docs/adr/0133-whole-lists.md)."""
    if read is not None and confidence.value < RIGHT_ENOUGH:
        return False
    fact = asked.anything and not asked.way
    return confidence.present >= (FACT_DOUBTED if fact and confidence.is_doubted(read) else ENOUGH)


@dataclass(frozen=True, slots=True)
class PlacesRead:
    """Of each place what the reader says of its stretch, and of it there; 0 where it was not `read`."""

    stretch: Floats
    unit: Floats
    read: NDArray[np.bool_]


async def _read(
    question: str, found: Sequence[Candidate], scores: Floats, passages: Sequence[Passage], reader: AnswerReader
) -> PlacesRead | None:
    """The stretches with the places that score best; None where nothing can be read. Raises ProviderError."""
    places = choose_places(found, scores, passages)
    if not places:
        return None
    made = PlacesRead(np.zeros(len(found)), np.zeros(len(found)), np.zeros(len(found), np.bool_))
    readings = await reader.read(question, [as_stretch(place, found, passages) for place in places])
    for place, reading in zip(places, readings, strict=True):
        for at, number in place.inside.items():
            made.stretch[at], made.unit[at], made.read[at] = reading.score, reading.units[number], True
    return made


def weigh_reading(scores: Floats, reading: PlacesRead) -> Floats:
    """One score a place; those that were not read come last."""
    weighed: Floats = scores + STRETCH * reading.stretch + PLACE * reading.unit - UNREAD * ~reading.read
    return weighed


def estimate_across(values: Mapping[str, float], said: float = 0.0) -> Confidence:
    """By `evidence_of` the best place, and what the reader `said` of its stretch, 0 where none did."""
    sure = max(-MOST_SURE, min(MOST_SURE, said)) / MOST_SURE
    return Confidence(_chance(PRESENT, values, PRESENT_READ * sure), _chance(RIGHT, values, RIGHT_READ * sure))


def _chance(weights: Mapping[str, float], values: Mapping[str, float], more: float = 0.0) -> float:
    total = more + sum(weight * (values[name] if name else 1.0) for name, weight in weights.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))
