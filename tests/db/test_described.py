"""Documents that are described, lists of whose nobody says whose they are, comparisons with a side that is missing, and slips."""

from __future__ import annotations

import io
import math

import pytest
import pytest_asyncio
from pptx import Presentation

from cairn.answer.confidence import Calibration
from cairn.domain.document import Indexed, Source
from cairn.service.documents import index_now
from cairn.store import collections
from cairn.wiring import Services
from tests.db.runs import answered, fill
from tests.sharing import SHARED

pytestmark = SHARED

TEXTS = {
    "BESTBUY_2023Q2_EARNINGS.md": "# Best Buy Reports Second Quarter Results\n\nBest Buy Co., Inc. announced results for the "
    "second quarter. Domestic revenue was $8.89 billion.\n",
    "BESTBUY_2019_10K.md": "# Annual Report 2019\n\nBest Buy Co., Inc. had 1,026 stores at the end of fiscal 2019.\n",
    "PEPSICO_2023_8K_dated-2023-05-05.md": "# Current report\n\nFORM 8-K\n\nThe shareholder proposal regarding an independent "
    "board chair was defeated. PepsiCo held its meeting on May 3, 2023.\n",
    "board_minutes_2024-05-14.md": "# Minutes of the board\n\nMay 14, 2024\n\nThe board approved the budget of 2.4 million "
    "euros. Ms. Okafor was elected treasurer.\n",
    "board_minutes_2024-09-10.md": "# Minutes of the board\n\nSeptember 10, 2024\n\nThe board discussed the harbour dues.\n",
    "vertrag_ferrer.md": "# Mietvertrag\n\nDie Vermieterin ist Lucía Ferrer Gómez. Haustiere sind nicht erlaubt.\n",
}


def deck() -> bytes:
    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Project Heron: kickoff"
    slide.placeholders[1].text = "The pilot of the project begins in June 2025"
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(services_of_module: Services) -> Services:
    """The documents above, which the tests only ask."""
    sources = [Source(name, name, text.encode()) for name, text in TEXTS.items()]
    for source in [*sources, Source("heron_kickoff.pptx", "heron_kickoff.pptx", deck())]:
        [outcome] = await index_now(services_of_module, "office", [source])
        assert isinstance(outcome, Indexed), outcome
    return services_of_module


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("summarise the kickoff presentation", {"heron_kickoff.pptx"}),
        ("Fasse die Präsentation zusammen", {"heron_kickoff.pptx"}),
        ("summarize the slides", {"heron_kickoff.pptx"}),
        ("summarize the PepsiCo 8-K", {"PEPSICO_2023_8K_dated-2023-05-05.md"}),
        ("Summarise the Best Buy 10-K", {"BESTBUY_2019_10K.md"}),
        ("summarise the board minutes of May", {"board_minutes_2024-05-14.md"}),
        ("summarise the minutes of September 2024", {"board_minutes_2024-09-10.md"}),
        ("summarise the contract", {"vertrag_ferrer.md"}),
        ("summarize the Best Buy report of 2019", {"BESTBUY_2019_10K.md"}),
    ],
)
async def test_a_described_document_is_found(office: Services, question: str, names: set[str]) -> None:
    answer = await answered(office, question, collection="office")
    assert answer.route["strategy"] == "summarize"
    assert {citation.external_id for citation in answer.citations} == names


async def test_a_subject_that_sounds_like_a_document_is_answered_from_what_is_said_of_it(office: Services) -> None:
    answer = await answered(office, "summarise the budget policy", collection="office")
    assert "fits" not in answer.answer
    answer = await answered(office, "summarise the contracts", collection="office")
    assert {citation.external_id for citation in answer.citations} == {"vertrag_ferrer.md"}


async def test_of_several_the_answer_says_which_it_took_and_of_none_that_there_is_none(office: Services) -> None:
    answer = await answered(office, "summarise the board minutes", collection="office")
    assert {citation.external_id for citation in answer.citations} == {"board_minutes_2024-09-10.md"}
    assert "This is about board_minutes_2024-09-10.md; these fit, too: board_minutes_2024-05-14.md." in answer.answer
    answer = await answered(office, "summarise the earnings presentation of Tesla", collection="office")
    assert (answer.answered, answer.citations) == ("no", ())
    assert answer.answer.startswith("No document fits “earnings presentation Tesla”.")


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("documents of Best Buy", {"BESTBUY_2023Q2_EARNINGS.md", "BESTBUY_2019_10K.md"}),
        ("documents by Best Buy", {"BESTBUY_2023Q2_EARNINGS.md", "BESTBUY_2019_10K.md"}),
        ("Dokumente von Best Buy", {"BESTBUY_2023Q2_EARNINGS.md", "BESTBUY_2019_10K.md"}),
        ("documents de PepsiCo", {"PEPSICO_2023_8K_dated-2023-05-05.md"}),
        ("files by Ms. Okafor", {"board_minutes_2024-05-14.md"}),
        ("documents of Zeppelin", set()),
    ],
)
async def test_whose_documents_are_is_what_they_mention_where_nobody_says_it(
    office: Services, question: str, names: set[str]
) -> None:
    answer = await answered(office, question, collection="office")
    assert answer.route["strategy"] == "aggregate"
    assert {citation.external_id for citation in answer.citations} == names
    if not names:
        assert "0 of 7 documents mention “Zeppelin”." in answer.answer


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Compare Best Buy and Tesla", ["Best Buy: ", "Nothing found on “Tesla”."]),
        ("buget", ["2.4 million euros", "Read as “budget”."]),
        ("Who is the tresurer?", ["Okafor", "Read as “treasurer”."]),
        ("Was the shareholder proposal regarding an independent board chair approved?", ["was defeated"]),
        ("treasurer", ["Okafor"]),
        ("How many stroes did Best Buy have in 2019?", ["1,026"]),
    ],
)
async def test_a_side_that_is_missing_is_said_and_a_slip_is_read_as_what_is_there(
    office: Services, question: str, parts: list[str]
) -> None:
    answer = await answered(office, question, collection="office")
    assert answer.answered != "no"
    for part in parts:
        assert part in answer.answer


@pytest.mark.parametrize(("present", "shown"), [(0.151, True), (0.149, False)])
async def test_what_a_named_document_says_is_shown_from_fifteen_in_a_hundred_on(
    services: Services, present: float, shown: bool
) -> None:
    """Who names it knows that there is something in it. The collection answers with that probability, whatever is asked."""
    await fill(services)
    lines = Calibration((0.0, math.log(present / (1 - present))), (0.0, 2.0))
    async with services.database.transaction(services.principal) as connection:
        assert await collections.calibrate(connection, services.principal, "handbook", lines.as_json())
    answer = await answered(services, "How many days of leave do employees have in leave.md?")
    assert any(not one.instead for one in answer.citations) is shown


MANUALS = {
    "nonroot.md": (
        "# Backing up as another user\n\nNotes on important permissions: a section on what the user may read stands here.\n\n"
        "## Rights\n\nGive the program the rights to read files.\n"
    ),
    "quick.md": (
        "# Quick start\n\nInstall the program before all else, then begin.\n\n## Important note about permissions\n\n"
        "Run it as the same user at all times, or the archive cannot be opened.\n\n## First steps\n\nMake an archive now.\n"
    ),
    "commands.md": (
        "# Commands\n\n## caddy run\n\nRuns the server and blocks until it is stopped.\n\n## caddy start\n\n"
        "Starts the server in the background, which caddy run does not, and returns at once.\n"
    ),
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def manuals(services_of_module: Services) -> Services:
    for name, text in MANUALS.items():
        source = Source(name, name, text.encode(), None, "text/markdown", {}, is_text=True)
        [outcome] = await index_now(services_of_module, "manuals", [source])
        assert isinstance(outcome, Indexed), outcome
    return services_of_module


async def test_a_section_that_is_named_comes_before_a_document_that_is_guessed(manuals: Services) -> None:
    for question in (
        "Summarise the section Important note about permissions",
        "Summarise important note about permissions",
    ):
        answer = await answered(manuals, question, collection="manuals")
        assert {citation.external_id for citation in answer.citations} == {"quick.md"}
        assert "same user" in answer.answer
        assert "First steps" not in answer.answer
        assert answer.confidence == 1.0


async def test_a_document_that_no_title_and_no_heading_names_is_a_guess(manuals: Services) -> None:
    answer = await answered(manuals, "Summarise the notes on reading permissions", collection="manuals")
    assert answer.confidence < 0.5


async def test_each_side_is_answered_from_the_section_that_is_called_so(manuals: Services) -> None:
    answer = await answered(manuals, "compare caddy start and caddy run", collection="manuals")
    assert "background" in answer.answer
    assert "blocks" in answer.answer
