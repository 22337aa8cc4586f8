"""Numbers that decide whether an answer is supported, each at its edge."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from cairn.answer.attribution import Holders
from cairn.answer.cite import citation
from cairn.answer.context import rendered
from cairn.answer.grade import grade_by_model
from cairn.answer.ground.binding import SourceText, other_fact, other_value, substituted, swapped
from cairn.answer.ground.check import (
    _Checked,
    _Claim,
    _Decision,
    _fast,
    _issues,
    _judged,
    _meant,
    _on_side,
    _without_echo,
)
from cairn.answer.ground.contradiction import turned
from cairn.answer.ground.evidence import SentenceEvidence, gather_evidence, read_sources
from cairn.answer.ground.facts import Facts, check_facts, read_facts
from cairn.answer.ground.places import Cell, stem
from cairn.answer.ground.verdict import read_verdict
from cairn.answer.reply import Spoken
from cairn.domain.answer import Draft, SentenceSupport
from cairn.language.numbers import Quantity
from cairn.language.tokens import all_terms
from cairn.providers.protocols import Completion, Usage
from cairn.settings import GroundSettings
from cairn.strategies.draft import passages_to_check
from tests.unit.test_extract import passage

EVIDENCE = SentenceEvidence(
    words=5, near=1.0, pair=1.0, exact=1.0, missing=(), speaker=0.0, numbers=(), names=(), turned="", commands=(), best=(),
)  # fmt: skip


def odds(p: float) -> float:
    return math.log(p / (1 - p))


def checked(*chances: float, fast: float | None = None) -> _Checked:
    """Of an answer of sentences that are supported with these probabilities; each is ten characters long."""
    claims = tuple(_Claim((10 * n, 10 * n + 10), EVIDENCE, odds(p)) for n, p in enumerate(chances))
    return _Checked(claims, (), False, fast, ())


# --- layers -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("chance", "supported"), [(0.501, True), (0.499, False)])
def test_a_sentence_is_supported_from_one_half(chance: float, supported: bool) -> None:
    judged = _judged(checked(0.1, chance), "x" * 20, _Decision(False, 0.2, "sentences"))
    assert judged[1].supported is supported


@pytest.mark.parametrize(
    ("fast", "chance", "grounded"),
    [
        (0.8, 0.6, True),
        (0.799, 0.6, None),
        (0.8, 0.499, None),
        (0.299, 0.199, False),
        (0.3, 0.199, None),
        (0.299, 0.201, None),
    ],
)
def test_shared_words_settle_what_is_clear(fast: float, chance: float, grounded: bool | None) -> None:
    decided = _fast(checked(chance, fast=fast), GroundSettings())
    assert (decided.grounded if decided else None) is grounded


def test_the_score_of_what_is_not_grounded_is_a_hundredth_below_the_threshold() -> None:
    assert _on_side(0.9, False, 0.5) == 0.49
    assert _on_side(0.3, False, 0.5) == 0.3


@pytest.mark.parametrize(("share", "echo"), [(0.75, True), (0.74, False)])
def test_three_quarters_of_an_order_are_an_echo(share: float, echo: bool) -> None:
    found = _without_echo("The bill is paid.", replace(EVIDENCE, exact=0.1), replace(EVIDENCE, exact=share))
    assert found.echo is echo


@pytest.mark.parametrize(("reason", "meant"), [("kestrel anchor", 0), ("kestrel boats anchor ladder funnel", None)])
def test_a_reason_is_about_the_sentence_that_has_half_its_words(reason: str, meant: int | None) -> None:
    answer = "Kestrel.  Boats sail."
    claims = (_Claim((0, 8), EVIDENCE, 0.0), _Claim((10, 21), EVIDENCE, 0.0))
    assert _meant(reason, claims, answer) == meant
    assert _meant("kestrel row boat anchor sail", claims, answer) is None, "two words of five"


def test_ten_issues_are_told() -> None:
    assert len(_issues(checked(0.5), "x" * 10, (), tuple(f"reason {n}" for n in range(20)))) == 10


@pytest.mark.parametrize(("length", "whole"), [(160, True), (161, False)])
def test_a_sentence_in_an_issue_is_shown_up_to_160_characters(length: int, whole: bool) -> None:
    judged = SentenceSupport(0, length, 0.1, False, issues=("no",), kinds=("unstated",))
    (issue,) = _issues(checked(0.1), "x" * length, (judged,), ())
    assert ("…" not in issue) is whole
    assert issue.count("x") == 160


@pytest.mark.parametrize(("sources", "compared"), [(20, 20), (21, 1)])
def test_up_to_twenty_sources_are_compared_whole(sources: int, compared: int) -> None:
    passages = [passage("Short.", passage_id=UUID(int=n)) for n in range(1, sources + 1)]
    draft = Draft("Short. [1]", (citation(1, passages[0], (0, 6)),), True, 1.0)
    assert len(passages_to_check(draft, rendered(passages))) == compared


# --- what is tied to what ---------------------------------------------------------------------------------------------------


def source(text: str, cells: tuple[Cell, ...] = ()) -> SourceText:
    return SourceText(text, "", frozenset(), cells)


def weighing(word: str, weight: float, rest: float) -> Any:
    return lambda one: weight if one == stem(word) else rest


@pytest.mark.parametrize(("share", "other"), [(0.66, True), (0.64, False)])
def test_a_place_that_has_most_of_a_sentence_speaks_of_the_same(share: float, other: bool) -> None:
    weigh = weighing("kestrel", share, 1 - share)
    assert bool(other_fact("Kestrel carries 30 tonnes.", [source("Kestrel has 45 tonnes.")], weigh)) is other


@pytest.mark.parametrize(("value", "compared"), [("blue sails and oars", True), ("blue sails and long oars", False)])
def test_cells_of_up_to_four_words_are_compared(value: str, compared: bool) -> None:
    rows = [source("", (Cell(0, "Kestrel", "Rig", "red masts"),)), source("", (Cell(0, "Heron", "Rig", value),))]
    assert bool(other_value(f"Kestrel has {value}.", rows)) is compared
    rows = [source("", (Cell(0, "Kestrel", "Rig", value),)), source("", (Cell(0, "Heron", "Rig", "red masts"),))]
    assert bool(other_value("Kestrel has red masts.", rows)) is compared


@pytest.mark.parametrize(
    ("between", "way"), [("then at long last gladly bought", True), ("then at long last most gladly bought", False)]
)
def test_six_words_between_two_names_say_what_one_does_to_the_other(between: str, way: bool) -> None:
    assert bool(swapped(f"Dorrit {between} Kestrel.", [source(f"Kestrel {between} Dorrit.")])) is way


@pytest.mark.parametrize(("between", "way"), [("gladly bought", True), ("gladly quickly bought", False)])
def test_a_source_may_have_one_word_more_between_them(between: str, way: bool) -> None:
    assert bool(swapped("Dorrit bought Kestrel.", [source(f"Kestrel {between} Dorrit.")])) is way


@pytest.mark.parametrize(("share", "other"), [(0.81, True), (0.79, False)])
def test_another_name_in_a_place_that_says_four_fifths_contradicts(share: float, other: bool) -> None:
    said = "Some province Arctic sold coal."
    told = source("Some province Poland bought ships.")
    weigh = weighing("province", share, (1 - share) / 2)
    assert bool(substituted(said, [told], weigh)) is other


def test_a_sentence_is_read_with_its_neighbours() -> None:
    read = read_sources(["Kestrels sail. Herons row. Merlins drift. Ospreys dive."])
    near = read.sentences[1].near
    assert {stem("kestrels"), stem("merlins")} <= near
    assert stem("ospreys") not in near
    assert stem("merlins") not in read.sentences[0].near


def test_twelve_sentences_are_compared_closely() -> None:
    sources = read_sources([f"Kestrel number {n} sails." for n in range(30)])
    assert len(gather_evidence("The kestrel sails.", sources).best) == 12


@pytest.mark.parametrize(("kestrels", "both"), [(7, True), (8, False)])
def test_eight_of_them_are_paired(kestrels: int, both: bool) -> None:
    sources = read_sources(["kestrel oak"] * kestrels + ["riga elm"] * 9)
    evidence = gather_evidence("kestrel riga", sources)
    assert (evidence.pair == 1.0) is both


@pytest.mark.parametrize(("name", "known"), [("Parisien", True), ("Barispark", False)])
def test_a_name_is_known_by_what_begins_it(name: str, known: bool) -> None:
    sources = read_sources(["He went to Paris by train. Then came the bark."])
    assert (gather_evidence(f"He met the {name} there.", sources).names == ()) is known


@pytest.mark.parametrize(("numbers", "computed"), [(24, True), (25, False)])
def test_sums_are_made_of_twenty_four_numbers(numbers: int, computed: bool) -> None:
    """Of the first and the last of so many, which no other two make."""
    told = tuple(Quantity(str(2**n), "", "") for n in range(numbers))
    said = read_facts(f"That makes {1 + 2 ** (numbers - 1)} in total.")
    unheld = check_facts("That makes so many in total.", said, told, (), [Facts(told, ())])
    assert bool(unheld.computed) is computed


def test_six_letters_of_a_word_are_its_stem() -> None:
    assert stem("internationally") == "intern"


@pytest.mark.parametrize(("told", "found"), [("kestrel carries no coal", True), ("kestrel carries no oil", False)])
def test_a_place_with_three_quarters_of_the_words_may_turn_them_round(told: str, found: bool) -> None:
    said = "Kestrel carries black coal"
    assert bool(turned(said, all_terms(said), [all_terms(told)])) is found
    two_thirds = "Kestrel carries coal"
    assert not turned(two_thirds, all_terms(two_thirds), [all_terms("kestrel carries no oil")])


@pytest.mark.parametrize(("fillers", "found"), [(5, True), (6, False)])
def test_a_place_is_half_as_long_again_as_the_sentence(fillers: int, found: bool) -> None:
    """And three words: nine, of four."""
    told = f"kestrel carries no {' '.join('abcdefghijk'[:fillers])} coal"
    said = "Kestrel carries black coal"
    assert bool(turned(said, all_terms(said), [all_terms(told)])) is found


@pytest.mark.parametrize(
    ("said", "told", "found"),
    [
        ("The unpaid bill reached Riga harbour yesterday", "The paid bill reached Riga harbour yesterday", True),
        ("The unfit man reached Riga harbour yesterday", "The fit man reached Riga harbour yesterday", False),
    ],
)
def test_a_prefix_turns_words_of_four_letters_round(said: str, told: str, found: bool) -> None:
    assert bool(turned(said, all_terms(said), [all_terms(told)])) is found


# --- which source holds a sentence ------------------------------------------------------------------------------------------


def holders(*texts: str) -> Holders:
    return Holders([passage(text) for text in texts], "The Kestrel carries coal to Riga.")


@pytest.mark.parametrize(("claim", "held"), [("kestrels sail", 0), ("kestrels", None)])
def test_a_claim_has_two_words_of_content(claim: str, held: int | None) -> None:
    assert holders("Kestrels sail.").holder(claim) == held


@pytest.mark.parametrize(("others", "held"), [(19, 19), (20, None)])
def test_a_source_is_looked_for_among_twenty(others: int, held: int | None) -> None:
    assert holders(*["Herons row."] * others, "The Kestrel carries coal.").holder("The Kestrel carries coal.") == held


@pytest.mark.parametrize(("decoys", "held"), [(2, 2), (3, None)])
def test_three_sources_are_read_closely(decoys: int, held: int | None) -> None:
    """Those that share most words, though they have another number."""
    claim = "The black Kestrel carries 40 tonnes coal gladly."
    texts = ["The black Kestrel carries tonnes coal gladly, not oil, in 1931."] * decoys
    assert holders(*texts, "The black Kestrel carries 40 tonnes coal.").holder(claim) == held


WORDS = [
    "kestrel",
    "carries",
    "black",
    "coal",
    "gladly",
    "north",
    "every",
    "winter",
    "morning",
    "past",
    "riga",
    "harbour",
    "toward",
]


@pytest.mark.parametrize(("words", "cited", "other", "moves"), [(13, 7, 9, True), (8, 5, 6, False)])
def test_a_citation_moves_where_another_source_speaks_clearly_more_for_a_sentence(
    words: int, cited: int, other: int, moves: bool
) -> None:
    """By 1.11 and by .95 in log odds, of sources that hold so many of its words."""
    claim, *texts = (f"The {' '.join(WORDS[:count])}." for count in (words, cited, other))
    assert holders(*texts).holding(claim, [0]) == [1 if moves else 0]


# --- what models are shown and what is read of their replies ----------------------------------------------------------------


class Listening:
    """A chat model that keeps what it was asked, and says what it was told to say."""

    name = "listening"

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.asked: dict[str, Any] = {}
        self.shown = ""

    async def complete(self, messages: list[Any], **how: Any) -> Any:
        self.asked, self.shown = how, messages[-1].content
        return Completion(self.reply, "stop", Usage(0, 0), "listening")


async def test_a_grade_is_asked_of_2400_characters_within_ten_seconds_and_1024_tokens() -> None:
    chat = Listening(json.dumps([{"n": 1, "relevant": True}]))
    await grade_by_model("Which?", (), [passage("ß" * 3000)], chat)  # type: ignore[arg-type]
    assert chat.shown.count("ß") == 2400
    assert chat.asked["timeout"] == 10.0
    assert chat.asked["max_tokens"] == 1024


@pytest.mark.parametrize(("score", "clear"), [("0.5", True), ("0.49", False)])
def test_a_verdict_and_its_score_are_on_the_same_side_of_one_half(score: str, clear: bool) -> None:
    reply = f"GROUNDED: yes\nSCORE: {score}"
    if clear:
        assert read_verdict(reply).score == 0.5
    else:
        with pytest.raises(ValueError, match="grounded with a score"):
            read_verdict(reply)


def test_ten_issues_of_five_hundred_characters_are_read() -> None:
    issues = "\n".join(f"- {n} {'x' * 600}" for n in range(20))
    found = read_verdict(f"GROUNDED: no\nSCORE: 0.1\nISSUES:\n{issues}").issues
    assert len(found) == 10
    assert {len(one) for one in found} == {500}


@pytest.mark.parametrize(("blanks", "held"), [(6, True), (7, False)])
def test_the_end_of_a_piece_may_begin_a_tag_of_sixteen_characters(blanks: int, held: bool) -> None:
    """< / reasoning and white space."""
    begun = f"<{' ' * blanks}reasoning"
    assert (Spoken().hear(f"So {begun}") == "So ") is held
