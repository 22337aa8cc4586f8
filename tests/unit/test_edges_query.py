"""Numbers that decide how a message is read, each at its edge."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from cairn.domain.plan import Vocabulary
from cairn.domain.question import Turn
from cairn.errors import InputError, ProviderResponseError
from cairn.language.text import tidy
from cairn.language.tokens import same_word
from cairn.providers.protocols import Completion, Usage
from cairn.query.bare_subject import as_question
from cairn.query.classify import classify
from cairn.query.constraints import constraints_of
from cairn.query.decompose import split
from cairn.query.entities import entities
from cairn.query.exemplars import Exemplars, _like, _retrieved, exemplars, has_subject
from cairn.query.filters import scoped, wishes
from cairn.query.intent import by_model, hard_rules, read_intent
from cairn.query.listing import list_request, says_much
from cairn.query.related import ends_of
from cairn.query.rewrite_after import rewrite_after
from cairn.query.rewrite_by_model import (
    checked,
    expand_by_model,
    rewrite_by_model,
    rewrite_query_by_model,
    split_by_model,
)
from cairn.query.table_words import SCALES, read_question, scale_of
from cairn.service import search
from cairn.settings import RewriteSettings, RoutingSettings, Settings
from tests.unit.test_edges_quotation import sketch
from tests.unit.test_extract import passage

# --- what a prompt demands --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "read"), [(4000 - 25, True), (4000 - 20, False)])
def test_a_prompt_is_read_up_to_four_thousand_characters(before: int, read: bool) -> None:
    demand = "Use 3 separate searches."
    assert (constraints_of("x" * (before - 1) + " " + demand).min_searches == 3) is read


@pytest.mark.parametrize(("named", "kept"), [(12, 12), (13, 12)])
def test_twelve_sections_are_demanded_at_most(named: int, kept: int) -> None:
    sections = ", ".join(f"Part{n}" for n in range(named))
    assert len(constraints_of(f"Write a report with sections: {sections}.").required_sections) == kept


@pytest.mark.parametrize(("words", "characters"), [(999, 999 * 5)])
def test_words_of_an_answer(words: int, characters: int) -> None:
    assert constraints_of(f"Write at least {words} words.").estimated_min_answer_length == characters


def test_a_section_is_worth_forty_characters() -> None:
    assert constraints_of("Write a report with sections: Cost, Risk.").estimated_min_answer_length == 80


def some(words: int) -> tuple[str, str]:
    """Two things of so many words."""
    hull = ["keel", "rudder", "deck", "mast", "boom", "sail", "rope", "helm", "bow"]
    shore = ["quay", "crane", "shed", "gate", "tower", "light", "bank", "reef", "sand"]
    return " ".join(hull[:words]), " ".join(shore[:words])


@pytest.mark.parametrize(("words", "topics"), [(8, 2), (9, 0)])
def test_a_topic_has_eight_words(words: int, topics: int) -> None:
    topic, other = some(words)
    asked = f"Do separate searches for: {topic}, {other}."
    assert len(constraints_of(asked).required_search_topics) == topics


@pytest.mark.parametrize(("words", "sections"), [(6, 2), (7, 0)])
def test_a_section_has_six(words: int, sections: int) -> None:
    one, other = some(words)
    assert len(constraints_of(f"Write a report with sections: {one}, {other}.").required_sections) == sections


# --- several questions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "parts"), [(2000, 2), (2001, 0)])
def test_a_message_of_two_thousand_characters_is_split(length: int, parts: int) -> None:
    first = "What is the price of the Kestrel?"
    second = f"Who built {'x' * (length - len(first) - 12)}?"
    assert len(f"{first} {second}") == length
    assert len(split(f"{first} {second}", "en")) == parts


@pytest.mark.parametrize(
    ("message", "parts"),
    [("Who am I now? Who are?", 2), ("Who am I now? Who is?", 0), ("Who am? Who are?", 2), ("Who a? Who are?", 0)],
)
def test_a_question_has_eight_characters(message: str, parts: int) -> None:
    """A shorter one is joined to that before it; a message has twice as many."""
    assert len(split(message, "en")) == parts


@pytest.mark.parametrize(
    ("message", "parts"), [("Who built ships and who sold them?", 2), ("Who came and who sold them?", 0)]
)
def test_a_clause_has_three_words(message: str, parts: int) -> None:
    assert len(split(message, "en")) == parts


@pytest.mark.parametrize(("questions", "parts"), [(4, 4), (5, 4), (7, 4)])
def test_a_message_is_split_into_four(questions: int, parts: int) -> None:
    assert len(split(" ".join(f"Who built ship {n}?" for n in range(questions)), "en")) == parts


@pytest.mark.parametrize(("length", "led"), [(200, True), (201, False)])
def test_a_lead_of_two_hundred_characters_stands_before_each_item(length: int, led: bool) -> None:
    lead = "Tell me of " + "x" * (length - 11)
    parts = split(f"{lead}:\n- the hull of it\n- the mast of it", "en")
    assert (parts[0] != "the hull of it") is led


@pytest.mark.parametrize(("words", "parts"), [(12, 2), (13, 0)])
def test_sides_of_a_comparison_have_twelve_words(words: int, parts: int) -> None:
    side, other = " ".join(f"a{n}" for n in range(words)), " ".join(f"b{n}" for n in range(words))
    assert len(split(f"Compare {side} with {other}", "en")) == parts


# --- names ------------------------------------------------------------------------------------------------------------------


def test_twenty_names_are_read() -> None:
    assert len(entities(" and ".join(f'"Ship {n} of Riga"' for n in range(30)), "en", None)) == 20


def vocabulary(passages: int, **frequencies: int) -> Vocabulary:
    return Vocabulary(frequencies=frequencies, passages=passages)


@pytest.mark.parametrize(
    ("passages", "count", "named"), [(1000, 10, True), (1000, 11, False), (20, 1, True), (19, 1, False)]
)
def test_a_rare_word_of_the_collection_may_be_a_name(passages: int, count: int, named: bool) -> None:
    """In one passage of a hundred, of at least twenty."""
    found = entities("what does kestrel do", "en", vocabulary(passages, kestrel=count))
    assert (found == ("kestrel",)) is named


@pytest.mark.parametrize(("word", "named"), [("kest", True), ("kes", False)])
def test_a_rare_word_has_four_letters(word: str, named: bool) -> None:
    assert bool(entities(f"what does {word} do", "en", vocabulary(1000, **{word: 1}))) is named


# --- what is like small talk ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "subject"), [(20, False), (21, True)])
def test_a_message_of_more_than_twenty_words_has_a_subject(words: int, subject: bool) -> None:
    assert has_subject(" ".join(["hi"] * words), "greeting", None) is subject


@pytest.mark.parametrize(
    ("word", "usual", "like"),
    [
        ("helping", "help", True),
        ("helpings", "help", False),
        ("help", "helps", False),
        ("helpx", "helps", True),
        ("hel", "help", False),
    ],
)
def test_a_word_is_like_another_by_four_letters_and_three_more(word: str, usual: str, like: bool) -> None:
    """If it has five itself."""
    assert _like(word, frozenset({usual})) is like


def cosine(of: dict[int, float]) -> np.ndarray:
    found = np.full(len(exemplars()), 0.0, np.float32)
    for at, value in of.items():
        found[at] = value
    return found


def place(intent: str, language: str = "en") -> int:
    return next(at for at, one in enumerate(exemplars()) if one.intent == intent and one.language == language)


@pytest.mark.parametrize(("near", "intent"), [(0.61, "command"), (0.59, "question")])
def test_what_is_like_a_command_is_one(near: float, intent: str) -> None:
    at = place("command")
    match = _retrieved(at, cosine({at: near}), "")
    assert match.intent == intent


class Apart:
    """Each example is a direction of its own, so that a message is as near to each as its vector says."""

    name, dimensions, max_tokens = "apart", 0, 9

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def embed(self, texts: list[str]) -> np.ndarray:
        done, count = sum(self.batches), len(exemplars())
        self.batches.append(len(texts))
        return np.eye(count, dtype=np.float32)[done : done + len(texts)]

    async def close(self) -> None:
        return None


GREETING, FOREIGN, QUESTION = place("greeting"), place("greeting", "de"), place("question")


@pytest.mark.parametrize(
    ("near", "of", "asked", "intent"),
    [
        (0.881, FOREIGN, 0.1, "greeting"),
        (0.879, FOREIGN, 0.1, None),
        (0.95, GREETING, 0.849, "greeting"),
        (0.95, GREETING, 0.851, None),
        (0.451, GREETING, 0.1, None),
        (0.449, GREETING, 0.1, "question"),
    ],
)
async def test_a_message_is_small_talk_where_it_is_near_and_nearer_than_to_questions(
    near: float, of: int, asked: float, intent: str | None
) -> None:
    """In another language than English from .88 on; .1 ahead of questions; below .45 nothing is left to decide."""
    table = Exemplars(Apart())  # type: ignore[arg-type]
    match = await table.match(
        "hi", cosine({of: near, QUESTION: asked}), settings=RoutingSettings(exemplar_threshold=0.8)
    )
    assert (match.intent if match else None) == intent


async def test_examples_are_embedded_thirty_two_at_a_time() -> None:
    """More at once would hold up what else is embedded."""
    embedder = Apart()
    await Exemplars(embedder).warm()  # type: ignore[arg-type]
    assert max(embedder.batches) == 32


# --- restrictions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "read"), [(1000 - 17, True), (1000 - 16, False)])
def test_restrictions_are_read_within_a_thousand_characters(before: int, read: bool) -> None:
    assert len("reports from 2021") == 17
    assert bool(wishes("x" * (before - 1) + " reports from 2021", "en")) is read


def test_the_longest_words_that_lead_to_documents_are_seen() -> None:
    """With as much white space behind them as is read."""
    (wish,) = wishes(f"what is said according to all of the{' ' * 16}reports by Kim", "en")
    assert len(wish.spans) == 2


def test_six_wishes_are_kept() -> None:
    assert len(wishes(" ".join(f"report{n}.pdf," for n in range(9)), "en")) == 6


@pytest.mark.parametrize(("length", "kept"), [(200, True), (201, False)])
def test_a_named_document_has_two_hundred_characters(length: int, kept: bool) -> None:
    """As much as an operator may have."""
    assert (scoped("what", ["x" * length]) != "what") is kept


# --- what rules say ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "intent"), [("what is it about then", "clarify_needed"), ("what is it about then and", None)]
)
def test_five_stop_words_are_looked_at(message: str, intent: str | None) -> None:
    found = hard_rules(message, has_history=False)
    assert (found.intent if found else None) == intent


@pytest.mark.parametrize(("message", "garbage"), [("aaaaaaaaab", False), ("aaaaaaaaaaaab", True)])
def test_one_character_more_than_nine_times_in_ten_is_garbage(message: str, garbage: bool) -> None:
    found = hard_rules(message, has_history=False)
    assert (found is not None and found.reason == "one character repeated") is garbage


@pytest.mark.parametrize(("message", "garbage"), [("BABABABA", False), ("BABABABAB", True)])
def test_capitals_shorter_than_nine_are_an_abbreviation(message: str, garbage: bool) -> None:
    found = hard_rules(message, has_history=False)
    assert (found is not None and found.intent == "garbage") is garbage


@pytest.mark.parametrize(
    ("message", "garbage"), [("xyxy", True), ("xyx", False), ("xyxyz", False), ("zz", False), ("zzz", True)]
)
def test_two_characters_in_turn_are_garbage(message: str, garbage: bool) -> None:
    """From four on, and of one character from three."""
    found = hard_rules(message, has_history=False)
    assert (found is not None and "repeated" in found.reason) is garbage


@pytest.mark.parametrize(
    ("message", "known", "garbage"),
    [
        ("prhlhvh", False, True),
        ("yxuecqls", False, False),
        ("pvlifrgj", True, True),
        ("ekdtsz", True, False),
        ("Lcovqdyf", False, True),
        ("Lqvrfozn", False, False),
    ],
)
def test_a_word_of_random_keys_is_stranger_than_4_8(message: str, known: bool, garbage: bool) -> None:
    """In a collection whose words are known, than 4.6; if it is written like a name, than 5.2."""
    found = hard_rules(message, has_history=False, vocabulary=vocabulary(9) if known else None)
    assert (found is not None and found.reason == "random letters") is garbage


@pytest.mark.parametrize(("words", "garbage"), [(12, True), (13, False)])
def test_twelve_words_of_nonsense_are_garbage(words: int, garbage: bool) -> None:
    found = hard_rules(" ".join(["asdf"] * words), has_history=False)
    assert (found is not None and found.intent == "garbage") is garbage


def said(text: str) -> Turn:
    return Turn(UUID(int=1), "user", text, datetime(2026, 1, 1, tzinfo=UTC))


# --- what models are shown, and what is read of their replies ---------------------------------------------------------------


class Listening:
    """A chat model that keeps what it was asked, and says what it was told to say."""

    name = "listening"

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.asked: dict[str, Any] = {}
        self.shown = ""

    async def complete(self, messages: list[Any], **how: Any) -> Completion:
        self.asked, self.shown = how, messages[-1].content
        return Completion(self.reply, "stop", Usage(0, 0), "listening")


async def test_the_intent_model_is_shown_the_beginnings_and_believed_seven_times_in_ten() -> None:
    chat = Listening("greeting")
    match = await by_model("ß" * 3000, [said("ø" * 900)], chat, RoutingSettings())  # type: ignore[arg-type]
    assert match.confidence == 0.70
    assert chat.asked["max_tokens"] == 256
    assert (chat.shown.count("ß"), chat.shown.count("ø")) == (1999, 599)


@pytest.mark.parametrize(("length", "intent"), [(80, "greeting"), (81, None)])
def test_an_intent_is_read_out_of_a_reply_of_eighty_characters(length: int, intent: str | None) -> None:
    assert read_intent("a greeting " + "x" * (length - 11)) == intent


HISTORY = [said("ø" * 1500)]


async def test_what_the_rewriting_model_is_shown() -> None:
    settings = RewriteSettings()
    chat = Listening('{"query": "kestrel"}')
    await rewrite_by_model(f"kestrel {'ß' * 5000}", HISTORY, chat, settings)  # type: ignore[arg-type]
    assert (chat.shown.count("ß"), chat.shown.count("ø")) == (4000 - len("kestrel "), 1200)
    chat = Listening('["kestrel one", "kestrel two"]')
    await split_by_model(f"kestrel one two {'ß' * 5000}", chat, settings)  # type: ignore[arg-type]
    assert chat.shown.count("ß") == 4000 - len("kestrel one two ")
    chat = Listening('{"query": "kestrel riga"}')
    found = [passage(f"riga {'ø' * 900}") for _ in range(9)]
    await rewrite_query_by_model("kestrel", found, [], (), chat, settings)  # type: ignore[arg-type]
    assert chat.shown.count("ø") == 5 * (500 - len("riga "))


async def test_three_other_phrasings_are_taken() -> None:
    chat = Listening(json.dumps([f"kestrel {word}" for word in ("sails", "rows", "drifts", "dives", "waits")]))
    assert len(await expand_by_model("kestrel moves", chat, RewriteSettings())) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize(("length", "fine"), [(3 * 7 + 400, True), (3 * 7 + 401, False)])
def test_a_rewritten_message_grows_by_four_hundred_characters_beyond_three_times(length: int, fine: bool) -> None:
    text = "kestrel " + "s" * (length - 8)
    if fine:
        assert checked(text, "kestrel", ["kestrel"]) == text
    else:
        with pytest.raises(ProviderResponseError, match="too long"):
            checked(text, "kestrel", ["kestrel"])


# --- lists, relations, subjects ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "read"), [(300, True), (301, False)])
def test_a_list_is_asked_for_in_three_hundred_characters(length: int, read: bool) -> None:
    names = [letter * 90 for letter in "xy"]
    asked = f'how many documents mentioning "{names[0]}" not mentioning "{names[1]}" about "'
    assert (list_request(f'{asked}{"z" * (length - len(asked) - 2)}"?', "en") is not None) is read


@pytest.mark.parametrize(("length", "read"), [(160, True), (161, False)])
def test_a_mentioned_term_has_160_characters(length: int, read: bool) -> None:
    assert (list_request(f"how many documents mention {'x' * length}", "en") is not None) is read


@pytest.mark.parametrize(("clauses", "read"), [(8, True), (9, False)])
def test_a_list_is_restricted_by_eight_clauses(clauses: int, read: bool) -> None:
    assert (list_request(f"how many documents{' from 2019' * clauses}?", "en") is not None) is read


@pytest.mark.parametrize(("words", "read"), [(6, True), (7, False)])
def test_a_mentioned_term_has_six_words(words: int, read: bool) -> None:
    term = " ".join(["kestrel", "heron", "merlin", "osprey", "falcon", "buzzard", "harrier"][:words])
    assert (list_request(f"how many documents mention {term}?", "en") is not None) is read


@pytest.mark.parametrize(("length", "read"), [(300, True), (301, False)])
def test_a_relation_is_asked_for_in_three_hundred_characters(length: int, read: bool) -> None:
    asked = "how are the Kestrel and Riga related"
    assert bool(ends_of(f"{'x' * (length - len(asked) - 1)} {asked}", "en")) is read


@pytest.mark.parametrize(("side", "asks"), [("old kestrel of riga", True), ("old kestrel of riga harbour", False)])
def test_a_side_of_a_comparison_of_four_words_is_a_subject(side: str, asks: bool) -> None:
    assert (as_question(side, "en", side=True) != side) is asks


@pytest.mark.parametrize(
    "message", ["who is Ada?", "what themes are there", "is there sso?", "how to install", "¿qué es pip?"]
)
def test_a_message_that_asks_already_is_no_subject(message: str) -> None:
    assert as_question(message, "en") == message
    assert as_question("WHO", "en") == "What is WHO?"


@pytest.mark.parametrize(
    ("message", "kind"),
    [("kestrel heron merlin what costs", "FACTUAL"), ("kestrel heron merlin osprey what costs", "UNKNOWN")],
)
def test_a_question_word_among_four_makes_a_question(message: str, kind: str) -> None:
    assert classify(message, "en").type == kind


@pytest.mark.parametrize(("astray", "kept"), [(7, "kestrel oak sail"), (8, "sail")])
def test_words_that_lead_astray_are_left_out(astray: int, kept: str) -> None:
    """Those that stand in eight of ten passages that were not relevant, and in none that was."""
    irrelevant = [passage("kestrel oak." if n < astray else "heron.") for n in range(10)]
    tried = () if "kestrel" in kept else ("kestrel oak sail",)
    assert rewrite_after("how do the kestrel oak sail", (), irrelevant, tried) == kept


# --- words of tables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("crisis", "crises", True),
        ("basis", "bases", False),
        ("car", "cars", False),
        ("ship", "ships", True),
        ("posta", "poste", True),
        ("rosa", "rose", False),
    ],
)
def test_a_word_is_another_one_in_another_number(one: str, other: str, same: bool) -> None:
    """From as many letters on as make it no accident."""
    assert same_word(one, other) is same


def test_plurals_are_made_of_scales_of_four_letters() -> None:
    assert {"milas", "milles", "millions"} <= set(SCALES)
    assert not {"mios", "mils", "bns"} & set(SCALES)


@pytest.mark.parametrize(
    ("counted", "scale"),
    [("in billions", 1_000_000_000), ("Mio EUR", 1_000_000), ("in thousands", 1_000), ("in pieces", None)],
)
def test_what_a_table_is_counted_in(counted: str, scale: int | None) -> None:
    assert scale_of(sketch(title=f"Sales, {counted}")) == scale


@pytest.mark.parametrize(("words", "read"), [(60, True), (61, False)])
def test_a_question_of_sixty_words_asks_for_a_computation(words: int, read: bool) -> None:
    assert (read_question("what is the total " + "x " * (words - 4)) is not None) is read


def test_names_of_twelve_words_are_looked_for() -> None:
    found = read_question("what is the total " + " ".join(f"x{n}" for n in range(20)))
    assert found is not None
    assert max(len(name.split()) for name in found.names) == 12


@pytest.mark.parametrize(("term", "describes"), [("old kestrel ship", False), ("old kestrel ship sails", True)])
def test_a_name_has_three_words(term: str, describes: bool) -> None:
    assert says_much(term) is describes


def test_a_query_whose_words_are_too_long_is_refused_before_its_lines_are_put_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings, put_in_order = Settings(), list[str]()
    monkeypatch.setattr(search, "tidy", lambda text: put_in_order.append(text) or tidy(text))
    limit = settings.api.max_query_chars
    for text in ("a\n" + " " * limit, "a" + "\0" * limit):
        assert search.check_query(text, settings) == "a"
    for text, tidied in (("a " * limit, 3), ("ab\n" * limit, 3)):
        with pytest.raises(InputError, match=r"api\.maxQueryChars"):
            search.check_query(text, settings)
        assert len(put_in_order) == tidied
