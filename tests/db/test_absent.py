"""What is not in the documents is not answered, whatever else of the question stands somewhere in them."""

from __future__ import annotations

import pytest

from cairn.domain.document import Indexed, Source
from cairn.service.documents import index_now
from cairn.wiring import Services
from tests.db.runs import answered
from tests.sharing import SHARED

pytestmark = SHARED

DOCUMENTS = {
    "broker.md": "# Choosing a broker\n\nOrchard queues its jobs in a broker. Kafka keeps the messages on disk, and Redis keeps "
    "them in memory. The broker is chosen with the option `broker_url`, whose default is redis://localhost.\n",
    "retention.md": "# Keeping finished jobs\n\nThe retention of finished jobs is seven days by default. It is changed with "
    "the option `keep_days`. Older jobs are deleted every night.\n",
    "harvest_2021.md": "# Harvest report\n\nHarrow Farms reported revenue of 4,200 thousand euros in 2021. The fruit was "
    "sold in Bremen. Miller Mills bought most of it.\n",
    "norwood_2021.md": "# Annual report\n\nThe company is Norwood Dairy.\n\n## Results\n\n"
    + "Milk was sold to many shops all over the country, and cheese to some of them. " * 40
    + "\n\n## Income\n\nNet income was 310 thousand euros.\n",
}


async def index(services: Services, collection: str, documents: dict[str, str]) -> None:
    for name, text in documents.items():
        [outcome] = await index_now(services, collection, [Source(name, name, text.encode())])
        assert isinstance(outcome, Indexed), outcome


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Kafka retention: what is the default?", "Kafka"),
        ("What is the price of Kafka?", "price"),
        ("Miller Mills reported which revenue in 2019?", "2019"),
        ("Tesla reported which revenue in 2021?", "Tesla"),
        ("Who founded Miller Mills?", "founded"),
        ("What does the option keep_hours do?", "keep_hours"),
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
    assert "“Les cerisiers”, “Les poiriers” or “Les pommiers”" in answer.answer
    assert not any(form in answer.answer for form in ("EUR", "Figures", "Washington"))
