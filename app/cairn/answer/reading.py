"""Which stretches of the passages the reader reads, and what it says of each candidate.

A passage is cut into stretches of whole units, one after the other, as the reader was trained on them. To read all of five
passages would cost more than the rest of a question together, so only the stretches are read that hold the candidates which count
best without a model; what is not read cannot win.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cairn.answer.candidates import Candidate, is_run_in
from cairn.answer.named_entry import OWN_PROMISE
from cairn.answer.quotation import lead_over_others
from cairn.domain.answer import SelectionFeatures
from cairn.domain.document import is_code_type
from cairn.domain.passage import Passage
from cairn.language.sentences import Unit, split_units
from cairn.providers.answer_reader import AnswerReader, Stretch, StretchReading

STRETCH_CHARS: Final = 420  # bound: tests/unit/test_reading.py
"""As in training."""
MOST_READ: Final = 5  # bound: tests/unit/test_reading.py
"""Stretches of that length, or as many shorter ones as cost no more; each costs some twenty milliseconds."""
FRAME: Final = 160  # bound: tests/unit/test_reading.py
"""Characters, about, of the question and of what stands above a stretch, which are read with each."""

UNREAD: Final = 100.0  # bound: tests/unit/test_fitted.py
"""Log odds by which what was not read is behind."""
# fitted: tests/benchmarks/fit_reading.py
PROMISING: Final[dict[str, float]] = {"words": 0.58, "cosine": 8.81, "rank": -0.45}
"""Weights by which the stretches are chosen that are read;"""
# fitted: tests/benchmarks/fit_reading.py
READ: Final[dict[str, float]] = {"words": 0.28, "cosine": 4.18, "rank": -0.55, "stretch": 0.54, "unit": 0.52}
"""and those by which a candidate is chosen. Both were fitted by tests/benchmarks/fit_reading.py (a conditional logit, as in
quotation_choice.py; docs/adr/0095-a-reader-of-our-own.md)."""

Floats = NDArray[np.float64]
Chunks = Sequence[Sequence[tuple[int, int, float]]]
"""Of each passage the cosine of the question and each of its chunks, by the model of the collection (start and end in the
passage's content, cosine), none where there are none."""


@dataclass(frozen=True, slots=True)
class StretchPlace:
    """A stretch of passage `rank`: its units, and the candidates in it (places in the list of them) with their unit there."""

    rank: int
    units: tuple[Unit, ...]
    inside: Mapping[int, int]


def cut_stretches(text: str) -> list[tuple[Unit, ...]]:
    """Whole units one after the other, as many together as have STRETCH_CHARS; a longer unit alone. A section begins a stretch,
    so that it is read under its own heading and not under that of the one before; so does a term that something is said of."""
    found: list[list[Unit]] = []
    led = True
    for unit in split_units(text):
        leads = unit.kind == "heading" or is_run_in(text[unit.start : unit.end])
        begins, led = leads and not led, leads
        if found and not begins and unit.end - found[-1][0].start <= STRETCH_CHARS:
            found[-1].append(unit)
        else:
            found.append([unit])
    return [tuple(units) for units in found]


@dataclass(frozen=True, slots=True)
class ReadBy:
    """The reader with what it needs to know of the passages."""

    reader: AnswerReader
    chunks: Chunks


def nearest_cosines(found: Sequence[Candidate], chunks: Chunks) -> Floats:
    """Of each candidate that of the nearest chunk that it stands in; the mean of all where it stands in none. Less the highest of
    all, so that they say how far behind it is."""
    cosines = np.full(len(found), np.nan)
    for at, candidate in enumerate(found):
        here = [
            cosine
            for start, end, cosine in chunks[candidate.rank]
            if start < candidate.unit.end and candidate.unit.start < end
        ]
        if here:
            cosines[at] = max(here)
    if np.isnan(cosines).all():
        return np.zeros(len(found))
    cosines[np.isnan(cosines)] = np.nanmean(cosines)
    behind: Floats = cosines - cosines.max()
    return behind


def choose_places(
    found: Sequence[Candidate], scores: Floats, passages: Sequence[Passage], most: int = MOST_READ
) -> list[StretchPlace]:
    """The stretches with the candidates that score best, best first, `most` long ones or as many as cost no more. Source code is
    not read: the reader knows none."""
    cut = {rank: cut_stretches(passages[rank].content) for rank in {candidate.rank for candidate in found}}
    where: dict[tuple[int, int], dict[int, int]] = {}
    for at in map(int, np.argsort(-scores, kind="stable")):
        candidate = found[at]
        if is_code_type(passages[candidate.rank].media_type):
            continue
        for number, units in enumerate(cut[candidate.rank]):
            if units[0].start <= candidate.unit.start < units[-1].end:
                unit = max(n for n, one in enumerate(units) if one.start <= candidate.unit.start)
                where.setdefault((candidate.rank, number), {})[at] = unit
                break
    places = [StretchPlace(rank, cut[rank][number], inside) for (rank, number), inside in where.items()]
    costs = (FRAME + min(place.units[-1].end - place.units[0].start, STRETCH_CHARS) for place in places)
    room = most * (FRAME + STRETCH_CHARS)
    return [place for place, taken in zip(places, accumulate(costs), strict=True) if taken <= room]


def as_stretch(place: StretchPlace, found: Sequence[Candidate], passages: Sequence[Passage]) -> Stretch:
    """What the reader sees of it: under the title, and what stands above its first candidate."""
    passage = passages[place.rank]
    first = min(place.inside)
    above = found[first].path
    path = above if passage.title in above else f"{passage.title}. {above}".rstrip(". ")
    return Stretch(path, tuple(passage.content[unit.start : unit.end] for unit in place.units))


@dataclass(frozen=True, slots=True)
class ReadCandidates:
    """What speaks for each candidate: its score by words, cosine and rank of its passage, and what the reader says of its stretch
    and of its unit there (log odds); those that were not read have what the worst has. `read`: which were."""

    words: Floats
    cosine: Floats
    rank: Floats
    stretch: Floats
    unit: Floats
    read: NDArray[np.bool_]


def join_readings(
    places: Sequence[StretchPlace], readings: Sequence[StretchReading], words: Floats, cosines: Floats, ranks: Floats
) -> ReadCandidates:
    """At least one place was read."""
    count = len(words)
    stretch, unit, read = np.zeros(count), np.zeros(count), np.zeros(count, np.bool_)
    for place, reading in zip(places, readings, strict=True):
        for at, number in place.inside.items():
            stretch[at], unit[at], read[at] = reading.score, reading.units[number], True
    stretch[~read], unit[~read] = stretch[read].min(), unit[read].min()
    return ReadCandidates(words, cosines, ranks, stretch, unit, read)


def is_figures_of_one_document(best: Candidate, passages: Sequence[Passage]) -> bool:
    """Whether the best candidate by words is a row of figures, and all passages are of one document. Then words choose: rank and
    cosine tell rows of one table apart as little as the reader does (docs/adr/0095-a-reader-of-our-own.md). What a row says in
    words is read as any sentence is."""
    if best.cells is None or len({passage.document_id for passage in passages}) > 1:
        return False
    return any(character.isdigit() for cell in best.cells.row.cells[1:] for character in cell)


async def read_candidates(
    question: str,
    found: Sequence[Candidate],
    words: Floats,
    passages: Sequence[Passage],
    by: ReadBy,
    entries: NDArray[np.bool_] | None = None,
) -> ReadCandidates | None:
    """What the reader says of the candidates that are most promising by `words` (score_quotations), cosine and rank, and more so
    where they are `entries` of what is named (named_entry.py); None where nothing can be read. Raises ProviderError."""
    cosines, ranks = nearest_cosines(found, by.chunks), np.array([float(candidate.rank) for candidate in found])
    promise = PROMISING["words"] * words + PROMISING["cosine"] * cosines + PROMISING["rank"] * ranks
    if entries is not None:
        promise = promise + OWN_PROMISE * entries
    places = choose_places(found, promise, passages)
    if not places:
        return None
    readings = await by.reader.read(question, [as_stretch(place, found, passages) for place in places])
    return join_readings(places, readings, words, cosines, ranks)


def score_read(read: ReadCandidates) -> Floats:
    """One score a candidate, as score_quotations; those that were not read come last."""
    scores: Floats = np.where(read.read, 0.0, -UNREAD)
    for name, weight in READ.items():
        scores += weight * getattr(read, name)
    return scores


def with_reading(
    features: SelectionFeatures, order: Sequence[int], found: Sequence[Candidate], scores: Floats, read: ReadCandidates
) -> SelectionFeatures:
    """The features of the best candidate with what the reader says of it; `scores` are those that made the `order`."""
    return replace(
        features,
        read=float(read.stretch[order[0]]),
        read_most=float(read.stretch[read.read].max()),
        read_margin=lead_over_others(order, found, scores),
    )
