"""What the reader adds where documents are in another language than the question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cairn.answer.across import PlacesRead, estimate_across, extract_across, weigh_reading
from cairn.answer.confidence import Calibration
from cairn.providers.answer_reader import Stretch, StretchReading
from tests.unit.test_extract import WordEmbedder, passage

SURE = Calibration((0.0, 2.0), (0.0, 2.0))
VALUES = {"cosine": 0.6, "passages": 0.2, "words": 0.4, "margin": 0.5, "short": 0.25, "apart": 0.5}


def odds(p: float) -> float:
    return math.log(p / (1 - p))


def test_what_was_read_is_weighed_and_the_rest_comes_last() -> None:
    reading = PlacesRead(np.array([3.0, -1.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.array([True, True, False]))
    assert weigh_reading(np.array([1.0, 1.0, 9.0]), reading) == pytest.approx([6.0, -0.5, -91.0])


@pytest.mark.parametrize(("said", "share"), [(6.0, 1.0), (7.0, 1.0), (5.9, 5.9 / 6), (-3.0, -0.5), (-9.0, -1.0)])
def test_its_word_makes_an_answer_more_or_less_probable(said: float, share: float) -> None:
    silent, read = estimate_across(VALUES), estimate_across(VALUES, said)
    assert odds(read.present) - odds(silent.present) == pytest.approx(4.0 * share)
    assert odds(read.right) - odds(silent.right) == pytest.approx(1.3 * share)


class ReaderOf:
    """A reader that takes what has a word for an answer, and nothing else."""

    name = "of a word"

    def __init__(self, word: str) -> None:
        self.word = word

    async def read(self, question: str, stretches: Sequence[Stretch]) -> list[StretchReading]:
        def score(text: str) -> float:
            return 6.0 if self.word in text else -6.0

        return [StretchReading(score(" ".join(one.units)), tuple(map(score, one.units))) for one in stretches]

    async def close(self) -> None:
        """Nothing is open."""


TEXT = "The Kestrel is a ship of oak.\n\nHer first voyage went to Riga in 1931."


@pytest.mark.parametrize("word", ["oak", "1931"])
async def test_of_the_nearest_places_the_one_that_it_takes_for_an_answer_is_quoted(word: str) -> None:
    draft = await extract_across(
        "Wann fuhr die Kestrel zuerst?", "de", [passage(TEXT)], WordEmbedder(), calibration=SURE, reader=ReaderOf(word)
    )
    assert word in draft.citations[0].quote


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The Kestrel is a ship of oak.\n\nHer first voyage went to Riga.", "oak"),
        ("The Kestrel is of 1931.\n\n# Sale\n\nThe Kestrel was sold for 900 pounds.", "900 pounds"),
    ],
)
async def test_who_asks_for_a_price_is_answered_with_a_sum_where_there_is_one(text: str, shown: str) -> None:
    draft = await extract_across(
        "Wie viel kostete die Kestrel?",
        "de",
        [passage(text)],
        WordEmbedder(),
        calibration=SURE,
        reader=ReaderOf("Kestrel"),
    )
    assert shown in draft.citations[0].quote


class Remembering(WordEmbedder):
    """One that keeps what it embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Any:
        self.seen += texts
        return await super().embed(texts)


@pytest.mark.parametrize(("title", "begins"), [("Kestrel", "Kestrel. Fees: "), ("Fees", "Fees: ")])
async def test_places_are_compared_under_the_title_of_their_document(title: str, begins: str) -> None:
    """Each page of a site has a section of its fees."""
    embedder = Remembering()
    await extract_across(
        "Was kostet die Kestrel?", "de", [passage("She costs 14 EUR.", title=title, headings=("Fees",))], embedder
    )
    assert embedder.seen[0] == f"{begins}She costs 14 EUR."


async def test_of_many_places_those_in_the_nearest_chunks_are_compared_wherever_these_stand() -> None:
    text = " ".join(f"Ship number {n} was built of oak." for n in range(60))
    far, near = text.index("Ship number 10"), text.index("Ship number 50")
    embedder = Remembering()
    await extract_across(
        "Wo wurde die Kestrel gebaut?", "de", [passage(text)], embedder,
        chunks=[[(0, far, 0.3), (far, near, 0.1), (near, len(text), 0.5)]],
    )  # fmt: skip
    seen = [one for one in embedder.seen if one.startswith("Ship")]
    assert [int(one.split()[2]) for one in seen] == [*range(22), *range(50, 60)]


class Doubtful(ReaderOf):
    """One whose word on each stretch is `sure` log odds."""

    def __init__(self, sure: float) -> None:
        super().__init__("")
        self.sure = sure

    async def read(self, question: str, stretches: Sequence[Stretch]) -> list[StretchReading]:
        return [StretchReading(self.sure, one.units) for one in await super().read(question, stretches)]


@pytest.mark.parametrize(
    ("question", "text", "names_all", "sure", "shown"),
    [
        ("Wie viele Masten hat die Kestrel?", "The Kestrel is a ship of oak.", True, -0.01, False),
        ("Wie viele Masten hat die Kestrel?", "The Kestrel is a ship of oak.", True, 0.01, True),
        ("Wie viele Masten hat die Kestrel?", "The Kestrel has 3 masts.", True, -0.01, True),
        ("Woraus ist die Kestrel?", "She is a ship of oak.", False, -0.01, False),
        ("Woraus ist die Kestrel?", "She is a ship of oak.", False, 0.01, True),
    ],
    ids=["no number", "trusted without one", "a number", "no name", "trusted without one"],
)
async def test_what_the_reader_doubts_has_the_names_of_the_question_and_what_it_asks_for(
    question: str, text: str, names_all: bool, sure: float, shown: bool
) -> None:
    draft = await extract_across(
        question,
        "de",
        [passage(text)],
        WordEmbedder(),
        calibration=SURE,
        reader=Doubtful(sure),
        names_all=lambda _: names_all,
    )
    assert draft.found is shown


async def test_a_guess_is_shown_with_what_else_may_answer() -> None:
    passages = [passage("Her first voyage went to Riga in 1931."), passage("The Kestrel is a ship of oak.")]
    draft = await extract_across(
        "Wann fuhr die Kestrel zuerst?", "de", passages, WordEmbedder(), calibration=SURE, reader=ReaderOf("1931")
    )
    assert [shown for _, shown in draft.others] == ["The Kestrel is a ship of oak."]
