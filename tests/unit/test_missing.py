"""What a question names, and whether a text mentions it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.answer.missing import (
    Subject,
    is_whole_in,
    mentioned,
    misspelled,
    named_identifiers,
    names_other_years,
    number_pattern,
    quotations,
    subjects,
    word_pattern,
)
from cairn.answer.refusal import not_mentioned
from cairn.language.linear import needed_literal
from cairn.strategies.missing_names import is_bound, refused_below
from tests.growth import repeated, takes_linear_time
from tests.waiting import patience

TEXT = """
Apple Inc., annual report for fiscal 2018-19 and FY17. Net sales of Apple rose, says the most valuable player of
International Business Machines. Beyoncé met Iranian guests of Teekay; 1,000 units were sold, 12,019 ordered.
"""


def absent(question: str, language: str = "en", known: tuple[str, ...] = ()) -> list[str]:
    return [one.text for one in subjects(question, language, known) if not mentioned(one, TEXT)]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("with Docker I cannot log in", ["Docker"]), ("After upgrading Caddy I see an error", ["Caddy"]),
        ("Since Firefox I can't log in", ["Firefox"]), ("when did World War I begin", ["World War I"]),
        ("how did World War I get its name", ["World War I"]), ("who fought in World War I", ["World War I"]),
    ],
)  # fmt: skip
def test_who_speaks_is_no_part_of_a_name(question: str, names: list[str]) -> None:
    assert [one.text for one in subjects(question, "en")] == names


@pytest.mark.parametrize(
    ("question", "language", "names"),
    [
        ("Tesla's revenue in 2019?", "en", ["Tesla"]),
        ("tesla's net sales", "en", ["tesla"]),
        ("tesla net sales 2019", "en", ["tesla"]),
        ("TESLA NET SALES", "en", ["TESLA"]),
        ("Tesla net sales 2019", "en", ["Tesla"]),
        ("Did Tesla pay a dividend?", "en", ["Tesla"]),
        ("did tesla pay a dividend?", "en", ["tesla"]),
        ("what are the net sales of tesla?", "en", ["tesla"]),
        ("Who founded the University of Atlantis?", "en", ["University of Atlantis"]),
        ("What were net sales in 2031?", "en", ["2031"]),
        ("What were net sales in FY2031?", "en", ["FY2031"]),
        ("How many of the 4,711 units were sold?", "en", ["4,711"]),
        ("In report7.pdf: what were net sales?", "en", ["report7.pdf"]),
        ("Wie hoch war der Umsatz von Tesla im Jahr 2019?", "de", ["Tesla"]),
        ("Teslas Umsatz 2019?", "de", ["Teslas"]),
        ("Quel est le chiffre d'affaires de Tesla en 2019 ?", "fr", ["Tesla"]),
        ("¿Cuáles fueron los ingresos de Telefónica en 2019?", "es", ["Telefónica"]),
        ("Qual è il fatturato di Tesla?", "it", ["Tesla"]),
    ],
)
def test_names_numbers_and_years_are_told_wherever_they_stand(question: str, language: str, names: list[str]) -> None:
    assert absent(question, language) == names


@pytest.mark.parametrize(
    ("name", "text", "is_there"),
    [
        ("OCR_LANGUAGE", "set ocr_language=eng", True), ("OCR_LANGUAGE", "set OCR_LANGUAGES", False),
        ("OCR_LANGUAGES", "set OCR_LANGUAGE", False), ("GeventScheduler", "the gevent schedulers", True),
        ("max_open", "by max open", True), ("ISO9001", "an ISO-9001", False),
        ("session.timeout", "the session.timeouts", False),
    ],
)  # fmt: skip
def test_a_setting_is_not_mentioned_by_another_with_one_letter_more(name: str, text: str, is_there: bool) -> None:
    [one] = named_identifiers(f"what is {name}")
    assert mentioned(one, text) is is_there


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Apples Umsatz 2019?", "de"),
        ("apple's profit in 2019", "en"),
        ("What did IBM do in FY2019?", "en"),
        ("What did I.B.M. sell in 2017?", "en"),
        ("Who was the MVP?", "en"),
        ("Where did Beyonce sing?", "en"),
        ("Which guests came from Iran?", "en"),
        ("Were 1000 units sold?", "en"),
        ("Were 1.000 units sold?", "en"),
        ("How many points did the defense surrender?", "en"),
        ("Summarize the dividend policy", "en"),
        ("Calculate earnings growth", "en"),
        ("If I earn 45,000, what do I pay?", "en"),
        ("Welche Möglichkeiten gibt es für die Nutzung?", "de"),
        ("Quelles démarches faut-il faire ?", "fr"),
        ("What happened in March?", "en"),
        ("What does this PDF say about Mr. Apple?", "en"),
    ],
)
def test_what_is_mentioned_and_common_words_refuse_nothing(question: str, language: str) -> None:
    assert absent(question, language) == []


@pytest.mark.parametrize(
    ("question", "text", "there"),
    [
        ("How many died 2000 to 2014?", "airline,fatalities_00_14", True),
        ("How many died between 1985 and 1999?", "airline,fatalities_85_99", True),
        ("How many died between 1985 and 1999?", "Deaths, 85-99", True),
        ("How many died in 1999?", "airline,fatalities_85_99", True),
        ("What was sold in 2014?", "Sales 2013_14", True),
        ("What was sold in 2014?", "It takes 10-14 days", False),
        ("How many died 2000 to 2014?", "Call 555-00-14-2", False),
        ("What was sold in 2014?", "build 3_12_14", False),
        ("What was sold in 2012?", "airline,fatalities_00_14", False),
    ],
)
def test_years_are_named_by_periods_in_two_digits(question: str, text: str, there: bool) -> None:
    assert all(mentioned(one, text) for one in subjects(question, "en") if one.kind == "year") == there


@pytest.mark.parametrize(
    ("question", "language", "words"),
    [
        ("malaysia airlines deaths 2014", "en", ["malaysia", "airlines", "deaths"]),
        ("What are the sales of Tesla?", "en", []),
        ("does redis_url have a default?", "en", []),
        ("was ist der umsatz von tesla?", "de", ["tesla"]),
        ("quel est le chiffre d'affaires de tesla ?", "fr", ["tesla"]),
        ("cuales son los ingresos de tesla?", "es", ["tesla"]),
        ("qual è il fatturato di tesla?", "it", ["tesla"]),
    ],
)
def test_what_is_written_as_any_word_may_be_one(question: str, language: str, words: list[str]) -> None:
    assert [one.text for one in subjects(question, language) if one.may_be_word] == words


def test_names_of_collections_and_documents_need_not_stand_in_a_text() -> None:
    assert absent("What does Falcon say about Apple?") == ["Falcon"]
    assert absent("What does Falcon say about Apple?", known=("falcon", "a/leave.md")) == []


def test_a_letter_more_or_less_is_a_slip_and_no_other_name() -> None:
    (slip,) = subjects("What does Teekey own?", "en")
    (swapped,) = subjects("What does Tekeay own?", "en")
    assert not mentioned(slip, TEXT)
    assert misspelled(swapped, TEXT)
    (tesla,) = subjects("What does Tesla own?", "en")
    assert not misspelled(tesla, "Tesco and Tessa own it.")


def test_the_refusal_names_what_is_missing_in_the_language() -> None:
    draft = not_mentioned(("Tesla",), "en")
    assert draft.text == "Tesla is not mentioned in these documents."
    assert (draft.found, draft.confidence) == (False, 0.0)
    assert not_mentioned(("Tesla", "Nvidia"), "de").text == "Tesla, Nvidia werden in diesen Dokumenten nicht erwähnt."
    assert "Tesla" in not_mentioned(("Tesla",), "it").text


def test_long_messages_are_read_in_linear_time() -> None:
    began = time.thread_time()
    for piece in ("Aa. ", "a-", "9,", "'s ", "FY'", "A.A."):
        for one in subjects(piece * 5000, "en"):
            mentioned(one, piece * 2000)
    assert time.thread_time() - began < patience(2, least=0)


@pytest.mark.parametrize(
    ("question", "language", "text"),
    [
        ("What was the revenue in FY 2019?", "en", "Fiscal 2019 brought revenue."),
        ("What was the revenue in FY19?", "en", "Revenue 2019"),
        ("Wer ist Herr Mueller?", "de", "Hans Müller leitet das Werk."),
        ("Wer ist Herr Müller?", "de", "Hans Mueller leitet das Werk."),
        ("What family is Anatidæ?", "en", "The family Anatidae has ducks."),
        ("What family is Anatidae?", "en", "The family Anatidæ has ducks."),
        ("Was steht in der Weissenburger Akte?", "de", "Die Weißenburger Akte fehlt."),
    ],
)
def test_what_is_written_otherwise_is_there(question: str, language: str, text: str) -> None:
    assert [one.text for one in subjects(question, language) if not mentioned(one, text)] == []


@pytest.mark.parametrize(
    ("question", "text", "there"),
    [
        ("How many visitors does Mills have?", "It has two million visitors.", False),
        ("How many visitors does Mills have?", "The Mill has two visitors.", True),
        ("How many visitors does Mills have?", "Mills's visitors are few.", True),
        ("Does it play mp3s?", "It plays MP3 files.", True),
        ("Does it play mp4s?", "It plays MP3 files.", False),
        ("Who leads Maroons?", "He was marooned.", False),
        ("Where does Luis live?", "Il vit chez lui.", False),
        ("What did Lois sign?", "La loi de 1901.", False),
        ("Who leads the IRS?", "She wrote to IR about it.", False),
        ("Who leads Ross?", "He was at the Ros festival.", False),
        ("Wem gehört Teslas Werk?", "Tesla besitzt es.", True),
        ("Who plays for Brazil?", "The Brazilian team.", True),
        ("Who governs Athens?", "The Athenian council.", True),
        ("Who governs Athens?", "The Athenians do.", True),
        ("Who governs Texas?", "A Texan governor.", True),
        ("Who governs Honduras?", "The Honduran president.", True),
        ("What grows in the Andes?", "Andean potatoes.", True),
        ("Wer regiert Texas?", "Die Texaner.", True),
        ("Where do Kurds live?", "A Kurdish village.", True),
        ("Where do Hindus live?", "Hinduism began in India.", True),
        ("Where do Arabs live?", "An Arabic book.", True),
        ("Who lives in Brussels?", "Ein Brusseler.", True),
    ],
)
def test_the_beginning_of_another_word_is_no_name(question: str, text: str, there: bool) -> None:
    [name] = [one for one in subjects(question, "en") if one.kind == "name"]
    assert mentioned(name, text) is there


NAME, NOUN, OPENING = (
    Subject("Zebulon", "name", ("zebulon",)),
    Subject("Miete", "name", ("miete",), sure=False),
    Subject("Adding", "opening", ("adding",), sure=False),
)


@pytest.mark.parametrize(
    ("lacking", "absent", "was_read", "refused", "kept"),
    [
        (NAME, [NAME], True, 0.99, None),
        (NAME, [], False, 0.99, None),
        (NAME, [], True, 0.34, 0.36),  # it stands elsewhere, and a model has read what is quoted
        (NAME, None, False, None, 0.01),  # nobody knows
        (NOUN, [NOUN], True, None, 0.01),
        (OPENING, [OPENING], True, 0.69, 0.71),
        (OPENING, [], True, None, 0.01),
    ],
)
def test_a_quotation_without_a_name_is_refused_unless_it_is_sure_enough(
    lacking: Subject, absent: list[Subject] | None, was_read: bool, refused: float | None, kept: float | None
) -> None:
    least = refused_below([lacking], absent, was_read)
    assert refused is None or refused < least
    assert kept is None or kept >= least


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("Net sales of Apple in 2018?", "They were 12 in 2019.", True),
        ("Net sales of Apple in 2018?", "They were 12 in 2019, and 11 in 2018.", False),
        ("Net sales of Apple in 2018?", "They were 12 in fiscal 2018-19.", False),
        ("Net sales of Apple in 2018?", "They were 12.", False),
        ("Net sales of Apple?", "They were 12 in 2019.", False),
        ("Net sales of Apple in 2018 and 2019?", "They were 12 in 2019.", False),
    ],
)
def test_an_answer_that_names_years_names_one_that_is_asked_about(question: str, text: str, other: bool) -> None:
    assert names_other_years(subjects(question, "en"), text) is other


@pytest.mark.parametrize(
    ("question", "bound"),
    [
        ("What was sold since 2019?", True),
        ("What was sold after the end of 2019?", True),
        ("Sales from 2019 to 2021?", True),
        ("ventes de 2019 à 2021", True),
        ("Umsatz zwischen 2019 und 2021", True),
        ("¿Qué pasó antes de 1935?", True),
        ("¿Cuáles fueron los ingresos de Bodegas Olmedo en 2021?", False),
        ("Quel était le chiffre d'affaires de Morel en 2021 ?", False),
        ("the report from 2019", False),
        ("What was named after Tesla by the men who met in 1960?", False),
    ],
)
def test_years_that_bound_a_period_need_not_stand_in_a_text_about_it(question: str, bound: bool) -> None:
    years = [one for one in subjects(question, "en") if one.kind == "year"]
    assert {is_bound(one, question) for one in years} == {bound}


# --- what a pattern needs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (word_pattern("Zanzibar"), "zanzibar"),
        (word_pattern("Müller"), "ller"),
        (word_pattern("Texas"), "texa"),
        (word_pattern("Strasse"), "stra"),
        (word_pattern("x-ray"), "ray"),
        (number_pattern("12345"), "345"),
        (r"main\.py", "main"),
        ("(ab|cd)e?f{0,2}g[h]i+", "g"),
        ("one|only", ""),
        ("", ""),
    ],
)
def test_a_literal_is_what_every_match_has(pattern: str, literal: str) -> None:
    assert needed_literal(pattern) == literal


NAMED = st.text(st.sampled_from("abcesuxyäöüßæéœ129-. "), min_size=2, max_size=12)


@given(st.data(), NAMED.filter(lambda text: any(char.isalnum() for char in text)))
def test_whatever_a_name_matches_has_its_literal(data: st.DataObject, name: str) -> None:
    pattern = word_pattern(name)
    assert needed_literal(pattern) in data.draw(st.from_regex(pattern))


@pytest.mark.parametrize(
    ("question", "language", "text", "is_there"),
    [
        ("What does --keep-daily do?", "en", "with `--keep-daily=7`", True),
        ("What does --keep-daily do?", "en", "with --keep-daily-of", False),
        ("What does --keep-daily do?", "en", "--within-keep-daily", False),
        ("À quoi sert --no-cache ?", "fr", "with `--[no-]cache`", True),
        ("Was macht --cache?", "de", "with `--[no-]cache`", True),
        ("Was macht --no-cache?", "de", "with `--cache`", False),
        ("What does -v do?", "en", "`-v`, `--verbose`", True),
        ("What does -v do?", "en", "tar -xv, v", False),
        ("What does make -j4 do?", "en", "`make -j N`", True),
        ("What does make -j4 do?", "en", "`make -j9`", False),
    ],
)  # fmt: skip
def test_an_option_is_mentioned_letter_for_letter(question: str, language: str, text: str, is_there: bool) -> None:
    [one] = subjects(question, language)
    assert one.is_option
    assert one.is_spelled_alike
    assert mentioned(one, text) is is_there


@pytest.mark.parametrize(
    "question", ["Vor- und -nachteile?", "Leser/-innen", "Geburtsdatum und -ort", "a - b", "-5 degrees"]
)
def test_a_dash_makes_no_option(question: str) -> None:
    assert not any(one.is_option for one in subjects(question, "de"))


@pytest.mark.parametrize(
    ("question", "text", "whole"),
    [
        ("Does Acme support the Nintendo Switch?", "a switch in the settings", False),
        ("Does Acme support the Nintendo Switch?", "on the Nintendo-Switches", True),
        ("How much does Acme Premium cost?", "Acme has no premium licenses", False),
        ("How much does Acme Premium cost?", "of Acme Premium", True),
        ("Was kostet Acme Premium?", "Acme hat keine Premium-Lizenzen", False),
        ("What does International Business Machines sell?", "IBM sells them", True),
        ("What did Acme Widgets Inc sell?", "Acme Widgets sold them", True),
        ("What did Obama say?", "nothing", True),
    ],
)
def test_a_name_of_several_words_is_there_where_they_stand_together(question: str, text: str, whole: bool) -> None:
    known = subjects(question, "de" if question.startswith("Was") else "en", ("acme",))
    assert all(is_whole_in(one, [text]) for one in known) is whole


@pytest.mark.parametrize(
    ("question", "text", "is_there"),
    [
        ('What does "no callout found for" mean?', "no callouts refer to it", False),
        ('What does "no task 5 found" mean?', "error: no task 17 found", True),
        ("Was heißt „no style for listing block“?", "no style for `<x>` block", True),
        ("Que signifie « accès refusé » ?", "Accès  refusé.", True),
        ("What is 'access denied'?", "denied access", False),
        ('What about "the wrong password"?', "it says wrong password", True),
    ],
)
def test_what_is_quoted_is_there_word_for_word(question: str, text: str, is_there: bool) -> None:
    [one] = quotations(question)
    assert mentioned(one, text) is is_there


def test_numbers_of_a_message_stand_between_its_words() -> None:
    [one] = quotations('When does the log have "error 1 2 3 4 5 timeout"?')
    assert mentioned(one, "error 7 2 30 4 5 timeout")
    assert takes_linear_time(lambda text: mentioned(one, text), repeated("error 1 - 2 - 3 "), 400)


@pytest.mark.parametrize(
    "question", ["it's what's there", '27" monitors and 32" ones', 'What is "it"?', 'What is ""?', "What is meant?"]
)
def test_what_is_no_quotation(question: str) -> None:
    assert quotations(question) == ()


@pytest.mark.parametrize(("words", "quoted"), [(20, 1), (21, 0)])
def test_a_long_quotation_is_pasted(words: int, quoted: int) -> None:
    assert len(quotations(f'What is "{" ".join(["granite"] * words)}"?')) == quoted
