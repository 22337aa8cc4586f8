"""A refusal gives nothing away: who may not read a document is told what they were told if it did not exist."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from cairn.domain.answer import Answer
from cairn.domain.document import Indexed, Source
from cairn.providers.e5 import find_e5
from cairn.service.documents import create_collection, index_now
from cairn.wiring import Services
from tests.db.runs import answered
from tests.db.tenants import tenant_of
from tests.db.test_access_lists import as_caller
from tests.sharing import SHARED

pytestmark = SHARED

OPEN = {
    "cafeteria.md": "# Cafeteria\n\nThe cafeteria of Harbour House opens at eight. Marie Dubois runs it. Lunch "
    "costs nine euros.\n",
    "harvest.md": "# Harvest report\n\nHarrow Farms reported revenue of 4,200 thousand euros in 2021. The fruit was sold in "
    "Bremen.\n",
    "leave.md": "# Leave\n\nEmployees have 30 days of leave per year. Leave is requested two weeks before it begins.\n",
}
RESTRICTED = {
    "merger.md": "# Merger\n\nZanzibar Logistics reported revenue of 9,300 thousand euros in 2021. Zanzibar Logistics buys "
    "Harrow Farms in May. The severance of Marie Dubois is 80 thousand euros.\n",
}
REFUSED = [
    "What was the revenue of Zanzibar Logistics in 2021?",
    "What does Zanzibar Logistics pay for Harrow Farms?",
    "How much is the severance of Marie Dubois?",
    "how high is the severance?",
    "zanzibar logistics revenue",
    "Which company reported 9,300 thousand euros?",
]
"""What the restricted document alone answers, or has the word of: a name, a number, a noun."""
NEARLY = [
    "Who founded Zanzibar Logistics?",
    "What was the revenue of Zanzibar Logistics in 2019?",
    "When does the cafeteria of Zanzibar Logistics open?",
]
"""What no document answers, while the restricted one comes nearest for who may read it."""


@dataclass(frozen=True)
class Worlds:
    """The same collection with the restricted document and without it, each asked by somebody whom no list names; and the first
    by somebody whom the list of the document names."""

    stranger: Services
    twin: Services
    reader: Services


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["minilm", "e5"])
async def worlds(
    request: pytest.FixtureRequest, services_of_module: Services, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Worlds]:
    """With the quick model, which no reader reads for, and with the other one, which has one."""
    if request.param == "e5" and find_e5(tmp_path_factory.mktemp("loaded")) is None:
        pytest.skip("there is no reader: make install builds it")
    async with tenant_of(services_of_module) as whole, tenant_of(services_of_module) as without:
        for world, restricted in ((whole, RESTRICTED), (without, {})):
            await create_collection(world, "talk", request.param)
            for name, text in {**OPEN, **restricted}.items():
                access = ("group:hr",) if name in restricted else None
                [outcome] = await index_now(world, "talk", [Source(name, name, text.encode(), access=access)])
                assert isinstance(outcome, Indexed), outcome
        yield Worlds(as_caller(whole), as_caller(without), as_caller(whole, "hr", name="eve"))


def told(answer: Answer) -> dict[str, Any]:
    """All that somebody sees of it, but for ids, which are made by chance, and times."""
    places = [
        (one.n, one.external_id, one.title, one.headings, one.quote, one.start, one.end, one.instead, one.context)
        for one in answer.citations
    ]
    return {
        "answer": answer.answer, "answered": answer.answered, "confidence": answer.confidence,
        "word": answer.confidence_word, "insufficiencies": answer.insufficiencies, "citations": places,
        "sources": [(one.external_id, one.content) for one in answer.sources], "coverage": answer.coverage,
        "degraded": answer.degraded, "evidence": answer.evidence,
    }  # fmt: skip


def places_in(answer: Answer, documents: dict[str, str]) -> list[str]:
    return [one.quote for one in answer.citations if one.external_id in documents]


async def test_who_may_not_read_a_document_is_refused_as_if_it_did_not_exist(worlds: Worlds) -> None:
    """In the very same words, with the same places and the same number for how sure that is. Words that stand in open documents,
    too, weigh less the more documents have them, whoever may read those (docs/security.md), which moves nothing here."""
    for question in [*REFUSED, *NEARLY]:
        here = await answered(worlds.stranger, question, collection="talk")
        there = await answered(worlds.twin, question, collection="talk")
        assert told(here) == told(there), question
        assert here.answered == "no", question
        named = await answered(worlds.reader, question, collection="talk")
        assert named.answer != here.answer, f"{question}: the document is what there is to tell"
        assert places_in(named, RESTRICTED), question


async def test_what_comes_nearest_is_of_what_one_may_read(worlds: Worlds) -> None:
    """A place of the document for whom it names, none for anybody else; and places of what everybody may read for both."""
    for question in NEARLY:
        named = await answered(worlds.reader, question, collection="talk")
        assert named.answered == "no", question
        assert all(one.instead for one in named.citations)
        shown = places_in(named, RESTRICTED)
        assert shown, f"{question}: {named.answer}"
        assert shown[0] in named.answer
        stranger = await answered(worlds.stranger, question, collection="talk")
        assert not places_in(stranger, RESTRICTED)
        assert {one.external_id for one in stranger.sources} == set(OPEN)
        assert "9,300" not in stranger.answer
    near = await answered(worlds.stranger, NEARLY[-1], collection="talk")
    assert places_in(near, OPEN), "who may not read it is shown what comes nearest of the rest"
