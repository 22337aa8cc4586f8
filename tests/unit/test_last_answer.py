"""What a message wants of the last answer: an example, the reason, the shortest of what it lists, another language. And what of
its sources is that: right, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from cairn.answer.asked_on import (
    BEHIND,
    find_example,
    find_extreme,
    find_item,
    find_reason,
    find_shown,
    find_sources,
    find_stated,
    places_quoted,
)
from cairn.answer.candidates import Candidate, candidates
from cairn.domain.passage import Passage
from cairn.domain.plan import LastAnswerWish
from cairn.domain.question import SourceRef, Turn
from cairn.language.lexicon import languages, replies
from cairn.query.last_answer import gives, language_wished, question_again, titles_examples, wish_of
from cairn.strategies.wishes import where_said

EXAMPLE, REASON = LastAnswerWish("example"), LastAnswerWish("reason")
SHORTEST = LastAnswerWish("extreme", ("length", "time"), least=True, word="shortest")
CHEAPEST = LastAnswerWish("extreme", ("money",), least=True, word="cheapest")
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
        (
            "source",
            "where does it say that?; where is that written?; on which page?; which page is that on?; source?; how do you know?",
        ),
        (
            "source",
            "wo steht das?; Auf welcher Seite steht das?; woher weißt du das?; où est-ce écrit ?; à quelle page ?",
        ),
        (
            "source",
            "¿dónde dice eso?; ¿dónde está escrito?; ¿en qué página?; dove sta scritto?; in quale documento?; fonte?",
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
        "where does the manual say how to start?", "where is the log written?", "on which page is the log?", "wo steht der Zug?",
        "où est écrit le journal ?", "¿dónde está el registro?", "dove è scritto il registro?", "sources of energy",
        "for example the tariff of Bonn", "pourquoi Colmar ?", "gib mir ein Beispiel für einen Antrag", "which is the best?",
    ],
)  # fmt: skip
def test_what_says_more_is_a_question_of_its_own(message: str) -> None:
    assert wish_of(message) is None


@pytest.mark.parametrize(("characters", "wish"), [(120, REASON), (121, None)])
def test_a_wish_has_a_hundred_and_twenty_characters(characters: int, wish: LastAnswerWish | None) -> None:
    words = "for what reason"
    assert wish_of(words + "?" * (characters - len(words))) == wish


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
    again = question_again(said("What is Alder?", "A tree.", "since when is that?", "…"))
    assert again is not None
    assert again[0] == "since when is that?"


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
    return [one.text for one in find_extreme(candidates([passage(content)]), names, wish, ["en"])]


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


@pytest.mark.parametrize(
    ("mill", "chapel", "shortest"),
    [
        ("It lasts 2 hours and has a break of 10 minutes", "It lasts 2 hours 5 minutes", "Mill"),
        ("5 h on foot, 2 h 10 min by bike", "5 h 5 min", "Mill"),
        ("5 h on foot and 2 h 10 min by bike", "5 h 5 min", "Mill"),
        ("2 hours and 10 minutes", "2 hours 5 minutes", "Chapel"),
        ("1 day 2 hours 10 minutes", "1 day 2 hours 5 minutes", "Chapel"),
        ("2 h; 10 min more with children", "2 h 5 min", "Mill"),
    ],
)
def test_only_what_stands_together_is_one_time(mill: str, chapel: str, shortest: str) -> None:
    found = extremes(f"- Mill Path: {mill}.\n- Chapel Way: {chapel}.\n", ("Mill Path", "Chapel Way"), SHORTEST)
    assert [one.split()[0] for one in found] == [shortest]


def test_what_is_denied_is_no_amount() -> None:
    plans = "- Alder costs no more than it did, 10 euros.\n- Birch has no fee of 5 euros.\n"
    assert extremes(plans, ("Alder", "Birch"), CHEAPEST) == []
    plans += "- Birch is 12 euros, not with a card.\n"
    assert extremes(plans, ("Alder", "Birch"), CHEAPEST) == ["Alder costs no more than it did, 10 euros."]


def test_an_age_asks_for_no_extreme() -> None:
    assert wish_of("Was ist das Alter?") is None
    oldest = wish_of("Welche davon ist die ältere?")
    assert oldest is not None
    assert (oldest.measures, oldest.least) == (("year",), True)


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
    assert extremes("- Alder: 5 euros.\n- Birch: 7 dollars.\n", ("Alder", "Birch"), CHEAPEST) == []
    assert extremes("- Alder: 5 euros.\n- Birch: 7 euros.\n", ("Alder", "Birch"), CHEAPEST) == ["Alder: 5 euros."]


def test_what_a_sentence_says_of_one_of_them_needs_no_number() -> None:
    found = candidates([passage("The tariffs are Basic and Pro. Nothing is cheaper. Basic is cheaper than Pro.")])
    stated = find_stated(found, ("Basic", "Pro"), replace(CHEAPEST, word="cheaper"), ["en"])
    assert stated is not None
    assert stated.text == "Basic is cheaper than Pro."
    assert find_stated(found, ("Basic", "Pro"), replace(CHEAPEST, word="cheap"), ["en"]) is None


@pytest.mark.parametrize(
    ("code", "text", "word", "told"),
    [
        ("en", "Mill Path is the shortest.", "shortest", True),
        ("en", "Mill Path is not the shortest.", "shortest", False),
        ("en", "Mill Path isn't the shortest.", "shortest", False),
        ("en", "Mill Path is no longer the cheapest.", "cheapest", False),
        ("en", "Mill Path is shorter than the old road, but steep.", "shorter", False),
        ("en", "Mill Path is the shorter one.", "shorter", True),
        ("en", "Mill Path costs at least 20 euros.", "least", False),
        ("en", "Mill Path is loved by most hikers.", "most", False),
        ("es", "Mill Path es la más corta.", "mas corta", True),
        ("es", "Mill Path no es la más corta.", "mas corta", False),
        ("fr", "Mill Path n'est pas le plus court.", "plus court", False),
        ("fr", "Mill Path est plus court que l'ancienne route.", "plus court", False),
        ("fr", "Mill Path est le plus court.", "plus court", True),
        ("de", "Mill Path ist seit Mai am kürzesten.", "kurzesten", True),
        ("de", "Mill Path ist nicht am kürzesten.", "kurzesten", False),
        ("it", "Mill Path è il più corto.", "piu corto", True),
        ("it", "Mill Path non è il più corto.", "piu corto", False),
    ],
)
def test_only_the_shortest_of_them_is_called_so(code: str, text: str, word: str, told: bool) -> None:
    found, wish = candidates([passage(text)]), replace(SHORTEST, word=word)
    assert (find_stated(found, ("Mill Path", "Chapel Way"), wish, [code]) is not None) is told


def test_what_is_the_most_does_not_say_of_what() -> None:
    found = candidates([passage("Mill Path gets the most visitors.")])
    most = wish_of("which one has the most?")
    assert most is not None
    assert find_stated(found, ("Mill Path", "Chapel Way"), most, ["en"]) is None
    assert find_stated(found, ("Mill Path", "Chapel Way"), replace(most, measures=("length",)), ["en"]) is not None


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


def fits(wish: LastAnswerWish, code: str = "en") -> Callable[[Candidate], bool]:
    return lambda one: gives(wish, code, one.text)


def reason_behind(text: str, quoted: int) -> str | None:
    given = find_reason(candidates([passage(text)]), [quoted], fits(REASON))
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
    given = find_example(found, [hotel], "What is paid?", fits(EXAMPLE))
    assert given is not None
    assert "Bonn" in given.text
    elsewhere = find_example(found, [], "When are taxis paid?", fits(EXAMPLE))
    assert elsewhere is not None
    assert "airport" in elsewhere.text
    assert find_example(found, [], "Who directs the harbour?", fits(EXAMPLE)) is None


DIRECTIVE = """# tls

The tls directive sets how certificates are had, e.g. by ACME.

## Syntax

```
tls <cert> <key>
```

## Examples

Use your own certificate:

```
tls cert.pem key.pem
```
"""
LOG = "# log\n\nThe log directive writes.\n\n```\nlog <name>\n```\n\n# Other\n\nIt is other.\n\n```\nother\n```\n"


@pytest.mark.parametrize(
    ("text", "quoted", "shown"),
    [
        (DIRECTIVE, "The tls directive", "tls cert.pem key.pem"),
        (LOG, "The log directive", "log <name>"),
        (LOG, "It is other", "other"),
        (f"{DIRECTIVE}\n{LOG}", "The log directive", "log <name>"),
        ("# Log\n\n## Writing\n\nIt writes.\n\n## Example\n\nIt writes to disk here.\n", "It writes.", "It writes to disk here."),
        ("# Log\n\nIt writes well.\n\n# Disk\n\n## Example\n\n```\ndisk\n```\n", "It writes well.", None),
        (DIRECTIVE, None, None),
    ],
)  # fmt: skip
def test_an_example_is_what_the_document_shows_as_one(text: str, quoted: str | None, shown: str | None) -> None:
    made = [passage(text)]
    found = candidates(made)
    places = [at for at, one in enumerate(found) if quoted and one.text.startswith(quoted)]
    given = find_shown(found, made, places, titles_examples)
    assert (given and shown and shown in given.text) or given is shown


@pytest.mark.parametrize(
    ("heading", "told"),
    [
        ("Examples", True), ("Example", True), ("Usage examples", True), ("Example configuration", True),
        ("Examples of use", True), ("Beispiele", True), ("Anwendungsbeispiel", True), ("Exemples d'utilisation", True),
        ("Ejemplos", True), ("Esempio di uso", True),
        ("Syntax", False), ("For the example above to work", False), ("Counterexamples in logic", False),
        ("An example is not all that you need here", False), ("", False),
    ],
)  # fmt: skip
def test_the_heading_of_examples_is_told(heading: str, *, told: bool) -> None:
    assert titles_examples(heading) is told


@pytest.mark.parametrize(
    ("wish", "code", "sentence", "given"),
    [
        (REASON, "fr", "Le train est cher car il est rapide.", True),
        (REASON, "en", "They may rent a car of the middle class.", False),
        (REASON, "fr", "Il est gratuit grâce au sponsor.", True),
        (REASON, "en", "The grace period is ten days.", False),
        (REASON, "de", "Damit fährt man nach Bonn.", False),
        (REASON, "en", "Revenue is shown since 2020.", False),
        (REASON, "en", "The hall is shut, since it is damp.", True),
        (EXAMPLE, "de", "Das Ticket kostet etwa 49 Euro.", False),
        (EXAMPLE, "de", "Das gilt zum Beispiel für Hotels.", True),
        (EXAMPLE, "en", "Zum Beispiel is a song.", False),
    ],
)
def test_a_sentence_gives_it_by_words_of_its_own_language(
    wish: LastAnswerWish, code: str, sentence: str, given: bool
) -> None:
    assert gives(wish, code, sentence) is given


def test_where_it_is_said_are_the_sections_that_were_quoted() -> None:
    sections = [f"# Part {n}\n\nThe hall {n} is shut. It has a door." for n in range(4)]
    found = candidates([passage("\n\n".join(sections))])
    told = [one.text for one in find_sources(found, range(len(found)))]
    assert told == [f"The hall {n} is shut." for n in range(3)]
    assert find_sources(found, ()) == []


@pytest.mark.parametrize(("code", "place"), [("en", "page 3"), ("de", "Seite 3")])
def test_where_it_is_said_is_a_place_and_what_stands_there(code: str, place: str) -> None:
    made = replace(passage("The hall is shut. It has a door."), page=3)
    told = where_said(candidates([made])[:1], [made], code)
    assert told.text == f"A, {place}:\n\nThe hall is shut. [1]"
    assert [one.quote for one in told.citations] == ["The hall is shut."]
    nowhere = where_said((), [made], code)
    assert (nowhere.found, nowhere.text) == (False, replies(code).refusal)


def test_what_was_quoted_is_found_by_its_place() -> None:
    text = "The hall is shut. It has a very old door."
    made = passage(text)
    source = SourceRef(1, made.document_id, made.passage_id, None, "a.md", "A", None, 18, len(text), 1, 1.0, "")
    found = candidates([made])
    assert places_quoted(found, [made], [source]) == [1]
    assert places_quoted(found, [made], [replace(source, cited=False)]) == []
