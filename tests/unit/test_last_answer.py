"""What a message wants of the last answer: an example, the reason, the shortest of what it lists, another language. And what of
its sources is that: right, or nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from cairn.answer.asked_on import BEHIND, find_example, find_extreme, find_item, find_reason, find_stated, places_quoted
from cairn.answer.candidates import candidates
from cairn.domain.passage import Passage
from cairn.domain.plan import LastAnswerWish
from cairn.domain.question import SourceRef, Turn
from cairn.language.lexicon import languages
from cairn.query.last_answer import LONGEST, gives, language_wished, question_again, wish_of

EXAMPLE, REASON = LastAnswerWish("example"), LastAnswerWish("reason")
SHORTEST = LastAnswerWish("extreme", ("length", "time"), least=True, word="shortest")
LONGEST_ONE = LastAnswerWish("extreme", ("length", "time"), word="longest")


@pytest.mark.parametrize(
    ("wanted", "messages"),
    [
        (
            "example",
            "give me an example; for example?; Can you give me a concrete example please?; donne-moi un exemple",
        ),
        (
            "example",
            "par exemple ?; gib mir ein Beispiel; zum Beispiel?; dame un ejemplo; ¿por ejemplo?; fammi un esempio",
        ),
        (
            "reason",
            "why?; but why; why was that?; how come; pourquoi ?; et pourquoi ?; warum?; wieso das; ¿por qué?; perché?",
        ),
        ("least", "which of them is the shortest?; and the cheapest?; which one is the lightest?; la moins chère ?"),
        ("least", "lequel est le plus court ?; welcher davon ist der kürzeste?; welche von ihnen ist am billigsten?"),
        ("least", "¿cuál de ellos es el más corto?; ¿y el más barato?; quale di questi è il più corto?"),
        ("most", "which one is the longest?; which of those is the most expensive?; lesquels sont les plus chers ?"),
        ("most", "welches ist das längste?; ¿cuál es el más caro?; qual è il più lungo?"),
    ],
)
def test_whole_messages_want_something_of_the_last_answer(wanted: str, messages: str) -> None:
    for message in messages.split("; "):
        wish = wish_of(message)
        assert wish is not None, message
        assert wanted == (wish.wants if wish.wants != "extreme" else "least" if wish.least else "most"), message


@pytest.mark.parametrize(
    "message",
    [
        "which of the trails is the shortest?", "why did it grow?", "give me an example of a contract of sale",
        "an example of this pattern in the code", "which of them is open on Sundays?", "What is the shortest way to the lake?",
        "for example the tariff of Bonn", "pourquoi Colmar ?", "gib mir ein Beispiel für einen Antrag", "which is the best?",
    ],
)  # fmt: skip
def test_what_says_more_is_a_question_of_its_own(message: str) -> None:
    assert wish_of(message) is None


def test_a_long_message_is_none() -> None:
    padded = "give me an example" + " please" * 20
    assert len(padded) > LONGEST
    assert wish_of(padded) is None
    assert wish_of("give me an example please") == EXAMPLE


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("in French please", "fr"), ("in French", "fr"), ("can you say that in German?", "de"),
        ("translate it into Spanish", "es"), ("Italian please", "it"), ("en allemand, s'il te plaît", "de"),
        ("dis-le en anglais", "en"), ("auf Englisch bitte", "en"),
        ("sag das bitte auf Französisch", "fr"), ("en inglés, por favor", "en"), ("dímelo en italiano", "it"),
        ("in spagnolo, per favore", "es"),
        ("in French?", None), ("and in German?", None), ("in Japanese please", None), ("What is in French wine?", None),
        ("which documents are in French please", None), ("French", None),
    ],
)  # fmt: skip
def test_another_language_is_asked_for(message: str, code: str | None) -> None:
    assert language_wished(message) == code


def said(*messages: str) -> list[Turn]:
    """Question and answer in turn."""
    at = datetime.now(UTC)
    return [Turn(uuid4(), "assistant" if n % 2 else "user", text, at) for n, text in enumerate(messages)]


def test_the_question_that_is_asked_again_is_the_last_one_that_asks() -> None:
    talk = said(
        "Who leads the South?",
        "Pedro Amaral.",
        "and the West?",
        "Tom Calder.",
        "thanks!",
        "You're welcome!",
        "in French",
        "…",
    )
    again = question_again(talk)
    assert again is not None
    assert (again[0], len(again[1])) == ("and the West?", 2)
    assert question_again(said("hello", "Hello!")) is None


def test_every_language_has_all_of_it() -> None:
    for one in languages():
        empty = [key for key, value in one.last_answer if not value]
        assert (one.code, empty) == (one.code, [])


# --- what of the sources is it -------------------------------------------------------------------------------------------


WALKS = """# Walks

- Mill Path: 4.5 km along the stream.
- Ridge Walk: 12 km over three summits, 640 metres of climb.
- Chapel Way: 900 m to the chapel.

The Mill Path is nearer than the Chapel Way.
"""
NAMES = ("Mill Path", "Ridge Walk", "Chapel Way")


def passage(content: str) -> Passage:
    ids = UUID(int=1), UUID(int=2)
    return Passage(*ids, "a.md", "A", content, 0, len(content), None, (), 9, 1, "c", "text/markdown", {})


def extremes(content: str, names: tuple[str, ...], wish: LastAnswerWish) -> list[str]:
    return [one.text for one in find_extreme(candidates([passage(content)]), names, wish)]


def test_the_shortest_is_that_with_the_least_of_what_all_have() -> None:
    assert extremes(WALKS, NAMES, SHORTEST) == ["Chapel Way: 900 m to the chapel."]
    assert extremes(WALKS, NAMES, LONGEST_ONE) == ["Ridge Walk: 12 km over three summits, 640 metres of climb."]


def test_where_one_has_no_such_number_none_is_the_shortest() -> None:
    assert extremes(WALKS, (*NAMES, "Lake Round"), SHORTEST) == []
    assert extremes(WALKS, NAMES, LastAnswerWish("extreme", ("money",), least=True, word="cheapest")) == []
    assert extremes(WALKS, NAMES, LastAnswerWish("extreme", ("year",), least=True, word="oldest")) == []


def test_hours_and_minutes_are_one_time_and_units_are_compared() -> None:
    programmes = "- Wool: 1 hour 50 minutes.\n- Cotton: 1 hour 40 minutes.\n- Quick: 105 minutes.\n"
    names = ("Wool", "Cotton", "Quick")
    assert extremes(programmes, names, SHORTEST) == ["Cotton: 1 hour 40 minutes."]
    assert extremes(programmes, names, LONGEST_ONE) == ["Wool: 1 hour 50 minutes."]


def test_the_oldest_is_that_of_the_first_year() -> None:
    houses = "- Mill: built in 1889.\n- Barn: built in 1920.\n"
    wish = LastAnswerWish("extreme", ("year",), least=True, word="oldest")
    assert extremes(houses, ("Mill", "Barn"), wish) == ["Mill: built in 1889."]


def test_the_largest_is_known_where_all_have_one_kind_of_number() -> None:
    largest = LastAnswerWish("extreme", ("any",), word="largest")
    weights = "- Alder: 40 kg.\n- Birch: 70 kg.\n"
    assert extremes(weights, ("Alder", "Birch"), largest) == ["Birch: 70 kg."]
    assert extremes(weights.replace("kg", "kg, 9 m"), ("Alder", "Birch"), largest) == []


def test_all_that_have_the_least_are_named() -> None:
    assert (
        len(extremes("- Alder: 5 kg.\n- Birch: 5 kg.\n", ("Alder", "Birch"), replace(SHORTEST, measures=("mass",))))
        == 2
    )


def test_prices_in_two_currencies_are_not_compared() -> None:
    cheapest = LastAnswerWish("extreme", ("money",), least=True, word="cheapest")
    assert extremes("- Alder: 5 euros.\n- Birch: 7 dollars.\n", ("Alder", "Birch"), cheapest) == []
    assert extremes("- Alder: 5 euros.\n- Birch: 7 euros.\n", ("Alder", "Birch"), cheapest) == ["Alder: 5 euros."]


def test_what_a_sentence_says_of_one_of_them_needs_no_number() -> None:
    found = candidates([passage("The tariffs are Basic and Pro. Nothing is cheaper. Basic is cheaper than Pro.")])
    stated = find_stated(found, ("Basic", "Pro"), "cheaper")
    assert stated is not None
    assert stated.text == "Basic is cheaper than Pro."
    assert find_stated(found, ("Basic", "Pro"), "cheap") is None


def test_an_item_is_told_by_what_is_said_of_it_alone() -> None:
    told = find_item(candidates([passage(WALKS)]), "Chapel Way", NAMES)
    assert told is not None
    assert told.text == "Chapel Way: 900 m to the chapel."
    assert (
        find_item(
            candidates([passage("Chapel Way.\n\nThe Mill Path is nearer than the Chapel Way.")]), "Chapel Way", NAMES
        )
        is None
    )


def reason_behind(text: str, quoted: int) -> str | None:
    given = find_reason(candidates([passage(text)]), [quoted], gives(REASON))
    return given.text if given else None


def test_the_reason_is_in_the_quotation_or_close_behind_it() -> None:
    assert (
        reason_behind("The hall is shut because it is damp. It has a door.", 0)
        == "The hall is shut because it is damp."
    )
    dull = ["The hall is shut today.", *["It has a very old door."], "It opens to the yard."]
    why = "That is because of the damp."
    assert BEHIND == 2
    assert reason_behind(" ".join([dull[0], dull[1], why]), 0) == why
    assert reason_behind(" ".join([*dull, why]), 0) is None
    assert reason_behind(f"{why} The hall is shut today.", 1) is None
    assert reason_behind(f"# Hall\n\nThe hall is shut today.\n\n# Yard\n\n{why}", 0) is None


def test_the_example_is_of_the_section_that_was_quoted() -> None:
    text = (
        "# Taxis\n\nTaxis are paid at night. For example, one from the airport is paid.\n\n"
        "# Hotels\n\nHotels are paid up to a limit. For example, a hotel in Bonn is paid.\n"
    )
    found = candidates([passage(text)])
    hotel = next(at for at, one in enumerate(found) if one.text.startswith("Hotels"))
    given = find_example(found, [hotel], "What is paid?", gives(EXAMPLE))
    assert given is not None
    assert "Bonn" in given.text
    elsewhere = find_example(found, [], "When are taxis paid?", gives(EXAMPLE))
    assert elsewhere is not None
    assert "airport" in elsewhere.text
    assert find_example(found, [], "Who directs the harbour?", gives(EXAMPLE)) is None


def test_what_was_quoted_is_found_by_its_place() -> None:
    text = "The hall is shut. It has a very old door."
    made = passage(text)
    source = SourceRef(1, made.document_id, made.passage_id, None, "a.md", "A", None, 18, len(text), 1, 1.0, "")
    found = candidates([made])
    assert places_quoted(found, [made], [source]) == [1]
    assert places_quoted(found, [made], [replace(source, cited=False)]) == []
