"""Follow-ups as people ask them, over real text in a real database, without a chat model: the passage that answers is
found, and the answer is quoted from it. And a new subject is not dragged into the old one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cairn.domain.answer import Answer
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.service.ask import ask
from cairn.service.documents import index_now
from cairn.wiring import Services
from tests.documents import text_source
from tests.sharing import SHARED

pytestmark = SHARED

DOCUMENTS = {
    "timeout.md": (
        "# Session timeout\n\nUsers are signed out when the session timeout has passed. The session timeout is set by the key"
        " auth.timeout. The default of the session timeout is 30 minutes."
    ),
    "retention.md": "# Retention of logs\n\nLogs are kept by the key logs.days. The default of the retention of logs is 14 days.",
    "cancel.md": (
        "# Cancelling a subscription\n\nTo cancel a subscription, open Billing and press Cancel. The fee for cancelling a"
        " subscription is 25 euros."
    ),
    "plans.md": (
        "# Cancelling plans\n\nAnnual plans are cancelled once a year, on the first of January.\n\n"
        "Monthly plans are cancelled at any time, with a notice of seven days."
    ),
    "premium.md": (
        "# The premium plan\n\nThe premium plan includes backups and a direct line to the engineers.\n\n"
        "The premium plan costs 49 euros a month."
    ),
    "transfer.md": "# Bank transfers\n\nBank transfers arrive within two days. The fee for a bank transfer is 3 euros.",
    "acme.md": "# Acme Robotics\n\nMaria Lopez founded Acme Robotics in 1990. Acme Robotics builds arms for factories.",
    "lopez.md": "# Maria Lopez\n\nMaria Lopez studied mathematics at the University of Porto. She was born in Vigo.",
    "brandt.md": "# Otto Brandt\n\nOtto Brandt studied law at the University of Kiel. Otto Brandt directs the harbour of Kiel.",
    "capitals.md": (
        "# Capitals\n\nThe capital of France is Paris.\n\nThe capital of Italy is Rome.\n\nThe capital of Norway is Oslo.\n\n"
        "The population of Rome is 2.8 million.\n\nThe population of Paris is 2.1 million."
    ),
    "kestrel.md": (
        "# The Kestrel report\n\nThe Kestrel report describes wind turbines at sea. Helen Marsh wrote the Kestrel report in 2019."
        " The Kestrel report is available in English. The Kestrel report is available in German from the Vienna office."
    ),
    "heron.md": "# The Heron report\n\nThe Heron report describes tides. Paul Voss wrote the Heron report in 2021.",
    "museum.md": (
        "# The museum\n\nThe museum app guides visitors through the halls. The museum app is free of charge.\n\n"
        "The museum is closed on Mondays. The reason is that the halls are cleaned on that day. This has been so since 2011."
    ),
    "parking.md": "# Parking\n\nThe parking app finds a space near the museum. The parking app costs 4 euros a month.",
    "install.md": (
        "# Installing Cairnfield\n\nOn Ubuntu, install Cairnfield with apt install cairnfield.\n\n"
        "On Windows, install Cairnfield with the file setup.exe."
    ),
    "tariffs.md": (
        "# Tariffs\n\nThe tariffs are Basic, Pro and Max.\n\nThe tariff Basic costs 5 euros a month. The tariff Pro costs"
        " 12 euros a month. The tariff Max costs 30 euros a month. Basic is cheaper than Pro and Max."
    ),
    "canteen.md": "# Canteen\n\nThe canteen opens at noon. The canteen serves soup on Fridays.",
}


@dataclass(frozen=True)
class Kind:
    """What was said, a message and the words that its answer must quote; `document` is the one they stand in."""

    said: tuple[str, ...]
    message: str
    quoted: str
    document: str


TIMEOUT = "What is the session timeout?"
CANCEL = "How do I cancel a subscription?"
KINDS = {
    "a part of the subject": Kind((TIMEOUT,), "what's the default?", "30 minutes", "timeout.md"),
    "is there": Kind((CANCEL,), "is there a fee?", "25 euros", "cancel.md"),
    "the opposite condition": Kind(("How are annual plans cancelled?",), "and monthly ones?", "seven days", "plans.md"),
    "the person just named": Kind(("Who founded Acme Robotics?",), "where did she study?", "Porto", "lopez.md"),
    "why": Kind(("Is the museum closed on Mondays?",), "why?", "cleaned", "museum.md"),
    "a new name": Kind(("What is the capital of France?",), "and Italy?", "Rome", "capitals.md"),
    "how much is that": Kind(("What does the premium plan include?",), "how much is that?", "49 euros", "premium.md"),
    "instead": Kind(("How do I install Cairnfield on Ubuntu?",), "what about Windows instead?", "setup.exe", "install.md"),
    "the second one": Kind(("What are the tariffs?",), "how much is the second one?", "12 euros", "tariffs.md"),
    "in another language": Kind(
        ("Is the Kestrel report available in English?",), "and in German?", "Vienna", "kestrel.md"
    ),
    "who wrote it": Kind(("What does the Kestrel report describe?",), "who wrote it?", "Helen Marsh", "kestrel.md"),
    "since when": Kind(("Is the museum closed on Mondays?",), "since when?", "2011", "museum.md"),
    "more about a part": Kind((CANCEL,), "tell me more about the fee", "25 euros", "cancel.md"),
    "is it free": Kind(("What does the museum app do?",), "is it free?", "free of charge", "museum.md"),
    "which of them": Kind(("What are the tariffs?",), "which of them is cheaper?", "Basic costs 5 euros", "tariffs.md"),
    "what else": Kind(("What does the canteen serve?",), "what else?", "noon", "canteen.md"),
    "a new subject after small talk": Kind(
        (TIMEOUT, "thanks!"), "When does the canteen open?", "noon", "canteen.md"
    ),
    "a chain of two": Kind(
        ("What is the capital of France?", "and Italy?"), "what is its population?", "2.8 million", "capitals.md"
    ),
    "a chain of new names": Kind(("What is the capital of France?", "and Italy?"), "and Norway?", "Oslo", "capitals.md"),
}  # fmt: skip

OTHER_LANGUAGES = {
    "conge.md": (
        "# Congés\n\nLes congés annuels durent 25 jours. Les congés annuels non pris expirent en mars.\n\n"
        "Les congés parentaux durent 28 jours."
    ),
    "clio.md": "# La Renault Clio\n\nLa Renault Clio coûte 15 000 euros. Le poids de la Renault Clio est de 1100 kilos.",
    "torre.md": "# La Torre Eiffel\n\nLa Torre Eiffel se construyó en 1889. Gustave Eiffel diseñó la Torre Eiffel.",
    "abono.md": "# El abono\n\nEl abono se cancela en los ajustes. Cancelar el abono tiene una tarifa de 9 euros.",
    "dom.md": "# Der Kölner Dom\n\nDer Kölner Dom wurde ab 1248 gebaut. Der Kölner Dom ist 157 Meter hoch.",
    "muenster.md": "# Das Ulmer Münster\n\nDas Ulmer Münster wurde ab 1377 gebaut. Das Ulmer Münster ist 161 Meter hoch.",
    "ponte.md": "# Ponte Vecchio\n\nIl Ponte Vecchio è stato costruito nel 1345. Il Ponte Vecchio è lungo 95 metri.",
    "rialto.md": (
        "# Ponte di Rialto\n\nIl Ponte di Rialto è stato costruito nel 1591. Antonio da Ponte ha progettato il Ponte di"
        " Rialto."
    ),
    "abbonamento.md": (
        "# L'abbonamento\n\nL'abbonamento si disdice nelle impostazioni. Disdire l'abbonamento ha una penale di 9 euro."
    ),
    "abo.md": "# Das Abo\n\nDas Abo wird unter Konto gekündigt. Die Gebühr für die Kündigung des Abos beträgt 9 Euro.",
}
BRIDGE = "Quando è stato costruito il Ponte Vecchio?"
IN_OTHER_LANGUAGES = {
    "fr pronoun": Kind(("Quel est le prix de la Renault Clio ?",), "et son poids ?", "1100 kilos", "clio.md"),
    "fr new focus": Kind(("Combien de jours durent les congés annuels ?",), "et les congés parentaux ?", "28 jours", "conge.md"),
    "es pronoun": Kind(("¿Cuándo se construyó la Torre Eiffel?",), "¿quién la diseñó?", "Gustave Eiffel", "torre.md"),
    "es is there": Kind(("¿Cómo se cancela el abono?",), "¿hay una tarifa?", "9 euros", "abono.md"),
    "de pronoun": Kind(("Wann wurde der Kölner Dom gebaut?",), "und wie hoch ist er?", "157 Meter", "dom.md"),
    "de new name": Kind(("Wann wurde der Kölner Dom gebaut?",), "Und das Ulmer Münster?", "1377", "muenster.md"),
    "it owner": Kind((BRIDGE,), "qual è la sua lunghezza?", "95 metri", "ponte.md"),
    "it pronoun": Kind(("Dove si trova il Ponte di Rialto?",), "e chi lo ha progettato?", "Antonio da Ponte", "rialto.md"),
    "it new name": Kind((BRIDGE,), "e il Ponte di Rialto?", "1591", "rialto.md"),
    "it is there": Kind(("Come si disdice l'abbonamento?",), "c'è una penale?", "9 euro", "abbonamento.md"),
    "de is there": Kind(("Wie wird das Abo gekündigt?",), "gibt es eine Gebühr?", "9 Euro", "abo.md"),
}  # fmt: skip


async def index(services: Services, documents: dict[str, str]) -> None:
    await index_now(services, "guide", [text_source(name, text) for name, text in documents.items()])


async def say(services: Services, text: str, session: str) -> Answer:
    question = Question(text=text, collection="guide", run_id=new_id(), session_id=session)
    return await ask(services, question)


async def check(services: Services, kinds: dict[str, Kind]) -> None:
    failed = []
    for name, kind in kinds.items():
        said = [(await say(services, text, name)).answer for text in kind.said]
        answer = await say(services, kind.message, name)
        at_hand = [passage.external_id for passage in answer.sources[:3]]
        if kind.quoted not in answer.answer or kind.document not in at_hand:
            failed.append(
                (name, said, answer.route["rewritten_query"], answer.route["strategy"], answer.answer, at_hand)
            )
    assert not failed, "\n".join(map(str, failed))


async def test_everyday_follow_ups_are_answered_from_the_right_passage(services: Services) -> None:
    await index(services, DOCUMENTS)
    await check(services, KINDS)


async def test_follow_ups_in_french_spanish_german_and_italian(services: Services) -> None:
    await index(services, OTHER_LANGUAGES)
    await check(services, IN_OTHER_LANGUAGES)


ROUTES = (
    "# Routes\n\nThe routes are Alder, Birch and Cedar. Alder is the shortest in name. Alder takes 5 hours. Birch takes 3 hours."
    " Cedar takes 4 hours. Cedar is the most expensive.\n\n"
    "# Rental\n\nGuests of the mountain lodge travel by train. They may rent a car of the middle class."
)


async def test_numbers_say_which_is_the_shortest_and_a_sentence_where_there_are_none(services: Services) -> None:
    await index_now(services, "guide", [text_source("routes.md", ROUTES)])
    for message, quoted in (
        ("which one is the shortest?", "Birch takes 3 hours."),
        ("which one is the most expensive?", "Cedar is the most expensive."),
    ):
        await say(services, "What are the routes?", message)
        answer = await say(services, message, message)
        assert (answer.answered, [one.quote for one in answer.citations]) == ("yes", [quoted])


async def test_a_word_of_another_language_gives_no_reason(services: Services) -> None:
    await index_now(services, "guide", [text_source("routes.md", ROUTES)])
    await say(services, "How do guests of the mountain lodge travel?", "lodge")
    answer = await say(services, "why?", "lodge")
    assert answer.answered == "unsure"


@pytest.mark.parametrize(
    ("said", "message", "quoted"),
    [
        (TIMEOUT, "Who directs the harbour of Kiel?", "Otto Brandt"),
        ("Who founded Acme Robotics?", "What does the canteen serve on Fridays?", "soup"),
        ("How do I install Cairnfield on Ubuntu?", "fee for a bank transfer", "3 euros"),
    ],
)
async def test_a_new_question_stands_alone_and_costs_no_more(
    services: Services, said: str, message: str, quoted: str
) -> None:
    await index(services, DOCUMENTS)
    await say(services, said, "s1")
    answer = await say(services, message, "s1")
    assert quoted in answer.answer
    assert answer.route["rewritten_query"] is None
    assert answer.route["carried"] == []
