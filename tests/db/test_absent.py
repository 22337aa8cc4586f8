"""What is not in the documents is not answered, whatever else of the question stands somewhere in them."""

from __future__ import annotations

from datetime import UTC, datetime

import asyncpg
import pytest

from cairn.answer.confidence import GUESS
from cairn.answer.missing import subjects
from cairn.domain.answer import Draft
from cairn.domain.document import Indexed, Source
from cairn.domain.ids import new_id
from cairn.domain.passage import Passage
from cairn.domain.question import Question, Turn
from cairn.runs import library
from cairn.runs.choose import Route
from cairn.runs.context import Record, Run
from cairn.runs.run import understand_question
from cairn.runs.sources import sources_of
from cairn.service.ask import deps_for
from cairn.service.documents import index_now
from cairn.store.holdings import find_mentioned
from cairn.strategies.draft import said_in
from cairn.strategies.missing_names import find_absent, only_about_what_is_asked
from cairn.wiring import Services
from tests.db.runs import answered
from tests.sharing import ALONE, SHARED

pytestmark = SHARED

DOCUMENTS = {
    "broker.md": "# Choosing a broker\n\nOrchard queues its jobs in a broker. Kafka keeps the messages on disk, and Redis keeps "
    "them in memory. The broker is chosen with the option `broker_url`, whose default is redis://localhost.\n",
    "retention.md": "# Keeping finished jobs\n\nThe retention of finished jobs is seven days by default. It is changed with "
    "the option `keep_days`. Older jobs are deleted every night.\n",
    "harvest_2021.md": "# Harvest report\n\nHarrow Farms reported revenue of 4,200 thousand euros in 2021. The fruit was "
    "sold in Bremen. Miller Mills bought most of it.\n",
    "stations.md": "# Stations\n\nHarrow Farms packs fruit.\n\n## Packing\n\n"
    + "It is weighed, washed, and put into boxes of wood, and of paper where it is small. " * 40
    + "\n\n## Places\n\nHarrow Farms has stations in Bremen and in Quebec.\n\n"
    + "Fruit is weighed, washed and packed there. " * 25
    + "\n\nHarrow Farms operates 66 fuel stations, and sells diesel at each of them.\n\n"
    + "Fuel is bought once a week, and kept below ground. " * 25,
    "norwood_2021.md": "# Annual report\n\nThe company is Norwood Dairy.\n\n## Results\n\n"
    + "Milk was sold to many shops all over the country, and cheese to some of them. " * 40
    + "\n\n## Income\n\nNet income was 310 thousand euros.\n",
}


async def index(services: Services, collection: str, documents: dict[str, str]) -> None:
    for name, text in documents.items():
        [outcome] = await index_now(services, collection, [Source(name, name, text.encode())])
        assert isinstance(outcome, Indexed), outcome


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Kafka retention: what is the default?", "Kafka"),
        ("What is the price of Kafka?", "price"),
        ("Miller Mills reported which revenue in 2019?", "2019"),
        ("Tesla reported which revenue in 2021?", "Tesla"),
        ("Who founded Miller Mills?", "founded"),
        ("What does the option keep_hours do?", "keep_hours"),
        ("What does --keep-hours do?", "--keep-hours"),
        ('What does the message "older jobs were kept" mean?', "older jobs were kept"),
        ("What did Miller Cinema buy?", "Miller Cinema"),
        ("What was the revenue of Redis in 2021?", "Redis"),
    ],
)
async def test_a_name_that_stands_elsewhere_makes_no_answer(services: Services, question: str, missing: str) -> None:
    await index(services, "absent", DOCUMENTS)
    answer = await answered(services, question, collection="absent")
    assert answer.answered != "yes"
    if answer.answered == "no":
        assert missing in answer.answer
    assert not answer.answer.startswith("Harrow Farms reported")


async def test_a_word_is_no_slip_for_another_one(services: Services) -> None:
    """ "Reset" is a word, and "brokre" is none."""
    rests = {"rest.md": "# Rest\n\nEvery machine has a rest of an hour. The rest of the boxes is packed on Fridays.\n"}
    await index(services, "absent", {**DOCUMENTS, **rests})
    told = await answered(services, "How do I reset the machine?", collection="absent")
    assert "Read as" not in told.answer
    slip = await answered(services, "Which option chooses the brokre?", collection="absent")
    assert "Read as “broker”." in slip.answer


async def test_a_name_that_is_not_shown_makes_no_sure_answer(services: Services) -> None:
    """It stands in the passage, far above what is quoted."""
    await index(services, "absent", DOCUMENTS)
    told = await answered(services, "How many fuel stations does Harrow Farms operate?", collection="absent")
    assert ("66" in told.answer, told.answered) == (True, "yes")
    elsewhere = await answered(
        services, "How many fuel stations does Harrow Farms operate in Quebec?", collection="absent"
    )
    assert elsewhere.answered != "yes"
    assert elsewhere.insufficiencies == ("Quebec is mentioned in these documents, but not together with what you ask.",)


async def test_orders_to_a_model_name_nothing_that_documents_must_mention(services: Services) -> None:
    await index(services, "absent", DOCUMENTS)
    orders = "Quote exact SQL. Explicitly say 'Insufficient documentation' where it is missing."
    kept = await answered(services, f"What is the retention of finished jobs? {orders}", collection="absent")
    assert "seven days" in kept.answer
    refused = await answered(services, f"What was the revenue of Tesla? {orders}", collection="absent")
    assert refused.insufficiencies == ("Tesla is not mentioned in these documents.",)
    written = "Which option changes how long finished jobs are kept? Write these sections: Retention, Zoning."
    made = await answered(services, written, collection="absent")
    assert "keep_days" in made.answer


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "question",
    [
        "what is the price of kafka?",
        "which revenue did miller mills report in 2019?",
        "what was tesla's revenue in 2021?",
        "what was the revenue of redis in 2021?",
    ],
)
async def test_a_name_without_capitals_makes_no_sure_answer(services: Services, question: str) -> None:
    await index(services, "absent", DOCUMENTS)
    answer = await answered(services, question, collection="absent")
    assert answer.answered != "yes"
    assert not answer.answer.startswith("Harrow Farms reported")


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is the default of broker_url?", "redis://localhost"),
        ("What was the revenue of Harrow Farms in 2021?", "4,200"),
        ("What was the net income of Norwood Dairy?", "310 thousand"),
        ("Harrow Farms reported which revenue?", "4,200"),
        ("Retention of jobs: how long is it?", "seven days"),
    ],
)
async def test_a_name_of_the_document_or_of_its_first_page_is_enough(
    services: Services, question: str, said: str
) -> None:
    await index(services, "absent", DOCUMENTS)
    answer = await answered(services, question, collection="absent")
    assert answer.answered != "no"
    assert said in answer.answer


async def test_the_database_finds_what_is_written_otherwise(services: Services) -> None:
    """In whatever case, with accents and curly apostrophes, in the text or in the title; of this collection alone."""
    await index(services, "elsewhere", {"bern.md": "# Bern\n\nThe bears live in Bern.\n"})
    text = "# Zoë Šimek\n\nBeyoncé met MÜLLER on l’Île-d’Orléans. The columns are fatalities_85_99 and deaths 00-14.\n"
    plain = {"plain.md": "# Tides\n\nIt’s Harlow’s tide table.\n", "hanoi.md": "# Hanoi\n\nHo Việt came.\n"}
    await index(services, "written", {"people.md": text, **plain})
    there = {"Zoe", "Simek", "Beyonce", "Muller", "Orléans", "Harlow", "1985", "1999", "2000", "2014", "Viet"}
    patterns = {
        one.text: one.words
        for question in (
            "Are Zoe and Simek and Beyonce and Muller and Orléans and Harlow here, or Bern?",
            "What was 1985 to 1999?",
            "What was 2000 to 2014?",
            "What was 2013?",
            "Is Viet here?",
        )
        for one in subjects(question, "en")
    }
    asked = sorted({pattern for words in patterns.values() for pattern in words})
    async with services.database.transaction(services.principal) as connection:
        found = await find_mentioned(connection, services.principal, "written", asked)
    assert {name for name, words in patterns.items() if not found.isdisjoint(words)} == there
    assert patterns.keys() - there == {"Bern", "2013"}


@ALONE
async def test_where_the_documents_could_not_be_looked_through_nothing_is_refused(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it said that the name stands elsewhere; an answer is a guess."""
    await index(services, "elsewhere", {"bern.md": "# Bern\n\nThe bears live in Bern.\n"})
    asked = Question("Where does Zebulon live?", "elsewhere", new_id())
    deps, record = deps_for(services, services.settings.current), Record(asked)
    run = Run(
        asked, await understand_question(asked, deps, record), Route("fast", "a test"), deps, record, lambda _: None
    )
    draft = Draft("In a pit.", (), True, 0.9, ())

    async def again(_: tuple[Passage, ...]) -> Draft:
        return draft

    owner = await asyncpg.connect(database)
    with monkeypatch.context() as patched:
        patched.setitem(library._QUICKLY, "statement_timeout", "100")  # while it waits for the lock, and no longer
        async with owner.transaction():
            await owner.execute("LOCK TABLE rag.passages IN ACCESS EXCLUSIVE MODE")
            assert await find_absent(run, asked.text, ()) == ()
            told = await only_about_what_is_asked(run, asked.text, (), draft, again)
    await owner.close()
    assert (told.text, told.confidence, told.insufficiencies) == (
        draft.text,
        GUESS,
        ("Not mentioned where the answer was taken from: Zebulon.",),
    )
    [degraded] = record.degraded
    assert "could not be checked" in degraded
    refused = await only_about_what_is_asked(run, asked.text, (), draft, again)
    assert not refused.found


LOGS = {
    "logs.md": "# Logs\n\nThe command `orchard log` shows the log of runs of the timer.\n",
    "news.md": "# News\n\nEarlier the presses were hired.\n",
}


KAFKA = {
    "kafka.md": "# Kafka\n\nKafka was sold.\n",
    "brokers.md": "# Brokers\n\nThen\nKafka was sold, and (Kafka) closed.\n",
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "question",
    [
        "command to see the log of earlier runs",
        "command to see the log of Kafka runs",
        "command to see the log of kafka runs",
    ],
)
@pytest.mark.parametrize("named", KAFKA)
async def test_a_word_in_a_message_without_capitals_is_no_name_where_it_is_answered(
    services: Services, question: str, named: str
) -> None:
    await index(services, "logs", LOGS | {named: KAFKA[named]})
    answer = await answered(services, question, collection="logs")
    assert ("orchard log" in answer.answer) == ("kafka" not in question.lower())


async def test_a_refusal_names_titles_and_the_language_of_the_documents(services: Services) -> None:
    form = (
        "# {0}\n\nSales\n\n## EUR\n\nWashington, D.C. 20549\n\n## Figures\n\n{0} : les arbres sont taillés en hiver et "
        "arrosés en été.\n"
    )
    named = {f"{n}.md": form.format(title) for n, title in enumerate(("Les pommiers", "Les poiriers", "Les cerisiers"))}
    await index(services, "verger", named)
    answer = await answered(services, "Which company builds the Zeppelin?", collection="verger")
    assert answer.answered == "no"
    assert "Zeppelin" in answer.answer
    assert "These documents are in French." in answer.answer
    assert all(f"“{title}”" in answer.answer for title in ("Les pommiers", "Les poiriers", "Les cerisiers"))
    assert not any(form in answer.answer for form in ("EUR", "Figures", "Washington"))


SHEDS = {
    "sheds.md": "# Sheds\n\nOrchard has two sheds.\n\n## Opening hours\n\nThe sheds open at seven in the morning.\n",
    "presses.md": "# Presses\n\nThe presses stand in the cellar.\n",
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("Who paints the sheds?", "What comes nearest, and may not answer it:\n- Sheds: Orchard has two sheds. [1]"),
        ("Who paints the ceilings?", "or see what comes nearest, without answering this: “Presses"),
        ("Qui a peint les hangars Zeppelin ?", "ou voyez ce qui s'en approche le plus, sans y répondre : « "),
        (
            "Wer hat die Hallen von Zeppelin gestrichen?",
            "oder sehen Sie nach, was dem am nächsten kommt, ohne es zu",
        ),
        ("¿Quién pintó los cobertizos de Zeppelin?", "o consulte lo que más se acerca, sin responder a esto: «"),
        ("Chi ha dipinto i capannoni di Zeppelin?", "o guarda ciò che più si avvicina, senza rispondere a questo: «"),
    ],
)
async def test_a_refusal_says_what_comes_nearest_or_where(services: Services, question: str, says: str) -> None:
    await index(services, "sheds", SHEDS)
    answer = await answered(services, question, collection="sheds")
    assert answer.answered == "no"
    assert says in answer.answer
    near = answer.answer.partition("\n\nWhat comes nearest, and may not answer it:\n")[2]
    assert [cited.n for cited in answer.citations] == list(range(1, len(answer.citations) + 1))
    assert all(cited.instead and f"[{cited.n}]" in near for cited in answer.citations)


async def test_a_quotation_that_is_withheld_is_what_comes_nearest(services: Services) -> None:
    await index(services, "absent", DOCUMENTS)
    answer = await answered(services, "What was the revenue of Tesla in 2021?", collection="absent")
    refusal, _, near = answer.answer.partition("\n\nWhat comes nearest, and may not answer it:\n")
    assert (answer.answered, refusal) == ("no", "Tesla is not mentioned in these documents.")
    assert near.startswith("- Harvest report: Harrow Farms reported revenue of 4,200 thousand euros in 2021. [1]")
    assert answer.confidence == 0
    said = Turn(new_id(), "assistant", answer.answer, datetime.now(UTC), sources_of(answer))
    assert said.sources
    assert said_in(said) == "", "who asks on is told of it again"


async def test_a_refusal_names_nothing_of_a_document_that_was_not_found_for_who_asks(services: Services) -> None:
    await index(services, "sheds", SHEDS)
    await index(services, "cellar", {"cellar.md": "# Casks\n\nThe casks were bought from a cooper.\n"})
    answer = await answered(services, "Who paints the casks?", collection="cellar")
    assert answer.answered == "no"
    assert "- Casks: " in answer.answer
    assert not any(title in answer.answer for title in ("Sheds", "Presses"))


async def test_where_nothing_was_read_a_refusal_names_what_there_is_to_ask_about(services: Services) -> None:
    await index(services, "sheds", SHEDS)
    answer = await answered(services, "Summarise the presentation of May", collection="sheds")
    assert answer.answered == "no"
    assert answer.answer.endswith("ask about what is there, such as “Presses” or “Sheds”.")
