"""What was fitted makes these numbers of these answers. Who fits anew (the mark of each constant names the script) writes here
what comes out, and into docs/quality.md how good it is."""

from __future__ import annotations

import math
from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest

from cairn.answer import across
from cairn.answer.across import selection_table
from cairn.answer.confidence import Confidence, estimate_confidence
from cairn.answer.evidence import COLUMN, FEATURES
from cairn.answer.grade import relevance
from cairn.answer.ground.evidence import SentenceEvidence, read_sources
from cairn.answer.ground.score import foreign_logits, logit
from cairn.answer.quotation_choice import score_quotations
from cairn.answer.reading import ReadCandidates, score_read
from cairn.domain.answer import SelectionFeatures
from cairn.domain.passage import Passage

ENGLISH = SelectionFeatures(
    kind="row", english=True, question_words=5, missing=1, idf_direct=0.8, idf_around=0.9, topic_direct=0.8,
    topic_around=0.7, adjacent=0.5, numbers=1, names=1, fits=True, label=0, rank=1, retrieval=1, matched=True, score=9,
    margin=3, cosine=0.7, anywhere=0.9, lead=0.6,
)  # fmt: skip
ANOTHER = replace(ENGLISH, english=False, fits=False, missing=2)
READ = {"read": 3.0, "read_most": 4.0, "read_margin": 2.5}


@pytest.mark.parametrize(
    ("found", "present", "right"),
    [
        (ENGLISH, 0.9507, 0.8690),
        (ANOTHER, 0.8086, 0.8698),
        (replace(ENGLISH, **READ), 0.8692, 0.9140),
        (replace(ANOTHER, **READ), 0.6224, 0.8783),
    ],
    ids=["English", "another language", "English, read", "another language, read"],
)
def test_confidence(found: SelectionFeatures, present: float, right: float) -> None:
    assert estimate_confidence(found) == Confidence(pytest.approx(present, abs=1e-4), pytest.approx(right, abs=1e-4))


def test_what_is_chosen_by_words() -> None:
    """Each thing that speaks for a candidate, by itself."""
    scores = dict(zip(FEATURES, score_quotations(np.eye(len(FEATURES))), strict=True))
    assert scores == pytest.approx({
        "idf_direct": 3.98, "idf_around": 4.70, "fits": 0.87, "misfits": -0.87, "defines": 2.03, "reasons": 1.43, "label": 2.34,
        "cell": 1.22, "row": -2.87, "row_fits": 1.76, "retrieval": 3.32, "matched": 0.57, "code": -3.0,
    })  # fmt: skip


VALUES = {"cosine": 0.6, "passages": 0.2, "words": 0.4, "margin": 0.5, "short": 0.25, "apart": 0.5}


def test_confidence_across_languages() -> None:
    assert across._chance(across.PRESENT, VALUES) == pytest.approx(0.97905, abs=1e-4)
    assert across._chance(across.RIGHT, VALUES) == pytest.approx(0.86887, abs=1e-4)


@pytest.mark.parametrize(
    ("column", "odds"), [("idf_direct", 1.84), ("fits", 0.94), ("misfits", -0.94), ("retrieval", 6.55), (None, 11.03)]
)
def test_what_is_chosen_across_languages(column: str | None, odds: float) -> None:
    measured, cosine = np.zeros((1, len(FEATURES))), np.array([float(column is None)])
    if column:
        measured[0, COLUMN[column]] = 1.0
    assert selection_table(cosine, measured) @ np.array(list(across.SELECTION.values())) == pytest.approx([odds])


# --- groundedness -----------------------------------------------------------------------------------------------------------

SAID = SentenceEvidence(
    words=5, near=1.0, pair=1.0, exact=1.0, missing=(), speaker=0.0, numbers=(), names=(), turned="", commands=(), best=(),
)  # fmt: skip
UNHELD = replace(SAID, near=0.0, pair=0.0)


@pytest.mark.parametrize(
    ("evidence", "odds"),
    [
        (UNHELD, -3.30),
        (replace(UNHELD, near=1.0), -3.30 + 4.56),
        (replace(UNHELD, pair=1.0), -3.30 + 2.60),
        (replace(UNHELD, missing=("a", "b")), -3.30 - 0.41 * math.log(3)),
        (replace(UNHELD, speaker=0.2), -3.30 - 2.23),
        (replace(UNHELD, numbers=("7",)), -3.30 - 1.87),
        (replace(UNHELD, strange=True), -3.30 - 0.90),
        (replace(SAID, numbers=("7",)), math.log(0.2 / 0.8)),
        (replace(SAID, turned="the other way"), math.log(0.2 / 0.8)),
        (replace(SAID, names=("Bob",)), math.log(0.4 / 0.6)),
    ],
    ids=["nothing", "near", "pair", "missing", "speaker", "numbers", "strange", "a number", "turned", "a name"],
)
def test_what_speaks_for_a_sentence(evidence: SentenceEvidence, odds: float) -> None:
    assert logit(evidence) == pytest.approx(odds, abs=0.005)


class Same:
    """All texts are alike, by .5."""

    async def embed(self, texts: list[str]) -> np.ndarray:
        self.texts = texts
        return np.full((len(texts), 2), 0.5, np.float32)


@pytest.mark.parametrize(
    ("near", "numbers", "odds"),
    [(0.0, (), -2.2 + 4.7 / 2), (0.1, (), -2.2 + 4.7 / 2 + 1.43), (0.1, ("7",), -2.2 + 4.7 / 2 + 1.43 - 3)],
)
async def test_what_speaks_for_a_sentence_in_another_language(
    near: float, numbers: tuple[str, ...], odds: float
) -> None:
    sources = read_sources(["Es regnet heute."])
    found = replace(SAID, near=near, numbers=numbers)
    assert await foreign_logits(["It rains."], [found], sources, Same()) == pytest.approx([odds], abs=0.01)  # type: ignore[arg-type]


async def test_eight_sentences_of_another_language_are_compared() -> None:
    """Each costs about 8 ms."""
    embedder = Same()
    await foreign_logits(
        ["It rains."], [SAID], read_sources([" ".join(f"Satz {n} ist kurz." for n in range(20))]), embedder
    )  # type: ignore[arg-type]
    assert len(embedder.texts) == 1 + 8


# --- grading, and what is not read ---------------------------------------------------------------------------------------------

LEAVE = Passage(
    UUID(int=1), UUID(int=2), "leave.md", "Leave", "Employees have 30 days of leave.", 0, 32, None, (), 10, 1, "hr",
    "text/markdown", {},
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "cosine", "odds"),
    [
        ("Who composed this opera?", 0.0, -4.64),
        ("Who composed this opera?", 0.5, -4.64 + 5.95 / 2),
        ("How many days of leave?", 0.0, -4.64 + 3.96),
        ("Wer hat diese Oper komponiert?", 0.0, -5.56),
        ("Wer hat diese Oper komponiert?", 0.5, -5.56 + 4.89 / 2),
    ],
)
def test_a_grade_by_vectors_and_words(question: str, cosine: float, odds: float) -> None:
    assert relevance(question, LEAVE, cosine) == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-4)


def test_what_the_reader_did_not_read_is_far_behind() -> None:
    """Further than cosines, ranks and words can make up for, and no infinity, which JSON does not know."""
    nothing = np.zeros(2)
    read = ReadCandidates(nothing, nothing, nothing, nothing, nothing, np.array([True, False]))
    assert score_read(read) == pytest.approx([0, -100])
