"""Several questions in one message, in four languages; names and terms that hold an "and" are not cut."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.query.decompose import split, without_yes_or_no
from tests.waiting import patience


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("What are the prices of Falcon and Eagle?", ("What are the prices of Falcon?", "What are the prices of Eagle?")),
        ("What is the population of Berlin, Hamburg and Munich?", (
            "What is the population of Berlin?", "What is the population of Hamburg?", "What is the population of Munich?")),
        ("Quels sont les prix de Renault et Peugeot ?", ("Quels sont les prix de Renault ?", "Quels sont les prix de Peugeot ?")),
        ("Was sind die Preise von Falke und Adler?", ("Was sind die Preise von Falke?", "Was sind die Preise von Adler?")),
        ("¿Cuáles son los precios de Falcon y Eagle?",
         ("¿Cuáles son los precios de Falcon?", "¿Cuáles son los precios de Eagle?")),
        ("When was it built and who designed it?", ("When was it built?", "who designed it?")),
        ("Wer hat das Buch geschrieben und wann wurde es veröffentlicht?",
         ("Wer hat das Buch geschrieben?", "wann wurde es veröffentlicht?")),
        ("¿Qué es un fiordo y cómo se forma?", ("¿Qué es un fiordo?", "cómo se forma?")),
        ("Où se trouve le musée et combien coûte l'entrée ?", ("Où se trouve le musée?", "combien coûte l'entrée ?")),
        ("What is a GIN index? Who wrote it?", ("What is a GIN index?", "Who wrote it?")),
        ("What is the leave policy; how many days are there", ("What is the leave policy", "how many days are there")),
        ("1. What is BM25?\n2. How is it computed?", ("What is BM25?", "How is it computed?")),
        ("Tell me about the car:\n- price\n- size", ("Tell me about the car: price", "Tell me about the car: size")),
    ],
)  # fmt: skip
def test_several_questions(message: str, parts: tuple[str, ...]) -> None:
    assert split(message, "en") == parts


@pytest.mark.parametrize(
    ("message", "sides"),
    [
        ("Compare PostgreSQL with MySQL", ("PostgreSQL", "MySQL")),
        ("Compare PostgreSQL and MySQL", ("PostgreSQL", "MySQL")),
        ("What is the difference between cats and dogs?", ("cats", "dogs")),
        ("difference between TCP and UDP in terms of latency", ("TCP in terms of latency", "UDP in terms of latency")),
        ("How do the fees differ from the charges?", ("fees", "charges")),
        ("PostgreSQL vs. MySQL", ("PostgreSQL", "MySQL")),
        ("How do TCP and UDP differ?", ("TCP", "UDP")),
        ("Worin unterscheidet sich Leasing von Miete?", ("Leasing", "Miete")),
        ("En quoi l'anonymisation diffère-t-elle de la pseudonymisation ?", ("anonymisation", "pseudonymisation")),
        ("¿En qué se diferencia el CSV del JSON?", ("CSV", "JSON")),
        ("In cosa differiscono il CSV e il JSON?", ("CSV", "JSON")),
        ("Quelle est la différence entre la TVA et l'impôt sur le revenu ?", ("TVA", "impôt sur le revenu")),
        ("¿Cuál es la diferencia entre los pétalos y las hojas?", ("pétalos", "hojas")),
        ("Was ist der Unterschied zwischen GIN und GiST?", ("GIN", "GiST")),
        ("Vergleiche Berlin mit Hamburg", ("Berlin", "Hamburg")),
        ("Compare leave in Germany and in France", ("leave in Germany", "leave in France")),
        ("Vergleiche die Miete in Berlin mit der in Hamburg", ("Miete in Berlin", "Miete in Hamburg")),
        ("Quelle est la différence entre la Clio 4 et la 5 ?", ("Clio 4", "Clio 5")),
        ("Compara el peso de la Kittiwake 300 y la 500", ("peso de la Kittiwake 300", "peso de la Kittiwake 500")),
        ("Compare les avantages et inconvenients du processus X par rapport a Y",
         ("avantages du processus X", "inconvenients du processus X", "avantages et inconvenients Y")),
        ("How does restic compare to borg?", ("restic", "borg")),
        ("Can you compare restic and borg?", ("restic", "borg")),
        ("¿Cómo se compara restic con borg?", ("restic", "borg")),
        ("difference between `--tag foo,bar` and `--tag foo --tag bar`", ("`--tag foo,bar`", "`--tag foo --tag bar`")),
        ("difference between `a, b` and `c`", ("`a, b`", "`c`")),
        ("Compare restic, borg and rsync", ("restic", "borg", "rsync")),
        ("compare `run and start`", ("run", "start")),
    ],
)  # fmt: skip
def test_the_sides_of_a_comparison(message: str, sides: tuple[str, ...]) -> None:
    assert split(message, "en") == sides


@pytest.mark.parametrize(
    ("language", "message", "sides"),
    [
        ("en", "difference between light and dark themes", ("light themes", "dark themes")),
        ("en", "compare Cue and CUP cueing modes", ("Cue cueing modes", "CUP cueing modes")),
        ("en", "difference between the sync lock and the key lock buttons", ("sync lock buttons", "key lock buttons")),
        ("en", "compare read and write timeouts in httpx", ("read timeouts in httpx", "write timeouts in httpx")),
        ("en", "difference between Cue and Hot Cue", ("Cue", "Hot Cue")),
        ("en", "difference between Gitea and GitHub Actions", ("Gitea", "GitHub Actions")),
        ("en", "difference between Mixxx and dark themes", ("Mixxx", "dark themes")),
        ("en", "difference between the library and dark themes", ("library", "dark themes")),
        ("en", "compare httpx and other clients", ("httpx", "other clients")),
        ("en", "compare httpx with slow clients", ("httpx", "slow clients")),
        ("en", "compare hotcues and loop controls", ("hotcues", "loop controls")),
        ("de", "Unterschied zwischen öffentlichen und privaten Kanälen", ("öffentlichen Kanälen", "privaten Kanälen")),
        ("de", "Unterschied zwischen Gruppen und privaten Kanälen", ("Gruppen", "privaten Kanälen")),
        ("fr", "Compare les groupes publics et privés", ("groupes publics", "groupes privés")),
        ("fr", "Compare les groupes publics et les membres", ("groupes publics", "membres")),
        ("fr", "différence entre les pages d'accueil et articles", ("pages d'accueil", "articles")),
        ("es", "diferencia entre canales públicos y privados", ("canales públicos", "canales privados")),
        ("es", "diferencia entre interruptores lógicos y funciones", ("interruptores lógicos", "funciones")),
        ("it", "Qual è la differenza tra canali pubblici e privati?", ("canali pubblici", "canali privati")),
    ],
)  # fmt: skip
def test_a_noun_that_stands_once_is_of_both_sides(language: str, message: str, sides: tuple[str, ...]) -> None:
    assert split(message, language) == sides


@pytest.mark.parametrize(
    ("language", "message", "sides"),
    [
        ("en", "compare httpx and requests when handling redirects",
         ("httpx when handling redirects", "requests when handling redirects")),
        ("en", "difference between static and dynamic groups if a member leaves",
         ("static groups if a member leaves", "dynamic groups if a member leaves")),
        ("en", "What is the difference between a channel and a team in Rocket.Chat?",
         ("channel in Rocket.Chat", "team in Rocket.Chat")),
        ("en", "difference between plain text and text in columns", ("plain text", "text in columns")),
        ("en", "compare the for loop and the while loop", ("for loop", "while loop")),
        ("en", "mise.toml vs .tool-versions", ("mise.toml", ".tool-versions")),
        ("de", "Unterschied zwischen PV und Schnell beim Laden", ("PV beim Laden", "Schnell beim Laden")),
        ("fr", "Compare les groupes et les statuts lorsqu'un membre part",
         ("groupes lorsqu'un membre part", "statuts lorsqu'un membre part")),
        ("es", "Compara las curvas y los expos cuando falla la radio",
         ("curvas cuando falla la radio", "expos cuando falla la radio")),
        ("it", "Confronta canali e squadre per quanto riguarda i ruoli",
         ("canali per quanto riguarda i ruoli", "squadre per quanto riguarda i ruoli")),
    ],
)  # fmt: skip
def test_what_stands_behind_both_sides_limits_both(language: str, message: str, sides: tuple[str, ...]) -> None:
    assert split(message, language) == sides


@pytest.mark.parametrize(
    ("language", "message", "sides"),
    [
        ("en", "Which is better, mise install or mise use?", ()),
        ("en", "Should I use a channel or a team?", ()),
        ("en", "channels or teams, which should I use?", ()),
        ("de", "Was ist besser, PV oder Min+PV?", ()),
        ("de", "Schnell oder PV, welcher Modus ist besser?", ()),
        ("de", "Was unterscheidet den Artikel vom Modul?", ("Artikel", "Modul")),
        ("fr", "Groupes ou statuts, que choisir ?", ()),
        ("es", "Curvas o expo, ¿cuál es mejor?", ()),
        ("it", "Cosa è meglio, canali o squadre?", ()),
        ("en", "Should I report a bug or a feature request?", ()),
        ("en", "Should I prefer tablets with or without food?", ()),
        ("en", "Why should I use a VPN over public Wi-Fi?", ()),
        ("de", "Sollte man die Tabletten mit oder ohne Wasser verwenden?", ()),
    ],
)
def test_which_of_two_is_asked_as_a_whole(language: str, message: str, sides: tuple[str, ...]) -> None:
    assert split(message, language) == sides


@pytest.mark.parametrize(
    "message",
    [
        "What is bread and butter?",
        "How much is spent on research and development?",
        "What are the terms and conditions?",
        "What are the terms and conditions of the contract?",
        "Who wrote Pride and Prejudice?",
        "Who are Simon and Garfunkel?",
        "What did Procter and Gamble sell in 2001?",
        "how and why does it work?",
        "Were Scott Derrickson and Ed Wood of the same nationality?",
        "What is the relationship between Alice and Bob?",
        "Quand et où est né Victor Hugo ?",
        "Who was the singer who wrote it and who lived in Paris?",
        "What role did Ed Roland play, who sang in the band?",
        "What is the capital of France?",
        "How can I compare contents of an archive to my local filesystem?",
        "How do I compare two archives and my disk?",
        "How to compare a snapshot with the files on disk",
        "Wie vergleiche ich den Inhalt eines Archivs mit dem Dateisystem?",
        "Kann ich ein Archiv vergleichen mit dem Dateisystem?",
        "Comment comparer une archive avec le disque ?",
        "¿Cómo puedo comparar un archivo con el disco?",
        "Come posso confrontare un archivio con il disco?",
        "Yes or no: does restic follow symlinks?",
        "Oui ou non : est-ce que restic suit les liens ?",
        "Ja oder nein: folgt restic den Verweisen?",
        "¿Sí o no: sigue restic los enlaces?",
        "What is the (?d) prefix?",
        "What does `x ? y : z` do?",
        'What does the question "Are you sure? (y/n)" mean?',
        "What does https://example.org/a?b=c&d=? hold?",
        "", "?", "and", "A and B",
    ],
)  # fmt: skip
def test_one_question_stays_one(message: str) -> None:
    assert split(message, "en") == ()


def test_entities_with_an_and_are_whole() -> None:
    message = "What are the products of Johnson and Johnson?"
    assert split(message, "en", names=("Johnson and Johnson",)) == ()


def test_no_more_than_the_limit_and_nothing_is_lost() -> None:
    lines = [f"{n}. What is number {n}?" for n in range(1, 8)]
    parts = split("\n".join(lines), "en", limit=3)
    assert len(parts) == 3
    assert all(f"What is number {n}?" in " ".join(parts) for n in range(1, 8))


WORDS = "what is A and B , ; ? between compare with - 1. \n the prices of et y und \" ' ¿"
PIECES = st.sampled_from(WORDS.split(" "))


@given(st.text() | st.lists(PIECES, max_size=60).map(" ".join), st.integers(1, 5))
def test_no_input_crashes(message: str, limit: int) -> None:
    parts = split(message, "en", limit=limit)
    assert len(parts) <= limit
    assert all(part.strip() == part and part for part in parts)


@pytest.mark.parametrize(
    "piece", ["and ", "A and ", "What Foo ", "- a\n", "?", "compare ", "difference between ", '"a', "A, ", "vs "]
)
def test_long_messages_take_bounded_time(piece: str) -> None:
    started = time.thread_time()
    split((piece * 2000)[:2000], "en")
    split("What is " + (piece * 2000)[:1900], "en")
    split((piece * 20_000)[:20_000], "en")
    assert time.thread_time() - started < patience(5, least=0)


def test_what_is_named_together_has_no_sides() -> None:
    assert split("What's the difference between the two batteries in weight and price?", "en") == ()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("revenue of Apple and of Microsoft in 2019", ("revenue of Apple in 2019", "revenue of Microsoft in 2019")),
        ("In report.pdf: What is the revenue and who audits it?", ("What is the revenue?", "who audits it?")),
    ],
)
def test_a_preposition_said_twice_and_a_named_file(text: str, parts: tuple[str, ...]) -> None:
    assert split(text, "en") == parts


@pytest.mark.parametrize(
    ("message", "alone"),
    [
        ("Yes or no: does restic follow symlinks?", "does restic follow symlinks?"),
        ("True or false? The archive is encrypted.", "The archive is encrypted."),
        ("Oui ou non, restic suit-il les liens ?", "restic suit-il les liens ?"),
        ("Vero o falso: l'archivio è cifrato", "l'archivio è cifrato"),
        ("Yes or no", "Yes or no"),
        ("What do yes or no: mean?", "What do yes or no: mean?"),
    ],
)
def test_how_it_may_be_answered_is_no_part_of_a_question(message: str, alone: str) -> None:
    assert without_yes_or_no(message) == alone


@pytest.mark.parametrize(
    ("text", "code", "parts"),
    [
        ("What are the pros and cons of using Tailscale directly?", "en", ()),  # what speaks of both decides
        ("Was sind die Vorteile und Nachteile von Docker?", "de", ()),
        ("What are the advantages and benefits of Docker?", "en", ()),
        (
            "What is the difference between Action and Time Event activators?", "en",
            ("Action activators", "Time Event activators"),
        ),
        ('What is the difference between "Research and Development" and "Sales"?', "en", ("Research and Development", "Sales")),
        ('Difference between "Selective" and "Always"', "en", ("Selective", "Always")),
    ],
)  # fmt: skip
def test_sides_are_names_of_several_words_and_quoted(text: str, code: str, parts: tuple[str, ...]) -> None:
    assert split(text, code) == parts
