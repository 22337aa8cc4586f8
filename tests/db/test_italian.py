"""A language is one file: Italian has rules in app/cairn/language/data/it.toml and in no Python."""

from __future__ import annotations

import pytest

from cairn.language.lexicon import language
from cairn.wiring import Services
from tests.db.runs import answered, fill
from tests.documents import find
from tests.sharing import SHARED

pytestmark = SHARED

MANUALE = {
    "ferie.md": "# Ferie\n\nI dipendenti hanno diritto a 26 giorni di ferie all'anno. Le ferie devono essere richieste due "
    "settimane prima dell'inizio. Le ferie non godute scadono alla fine di marzo dell'anno seguente.",
    "stipendi.md": "# Stipendi\n\nGli stipendi vengono pagati il 27 di ogni mese. A dicembre viene pagata la tredicesima. Le ore "
    "di lavoro straordinario sono pagate al 150 per cento della tariffa oraria.",
    "viaggi.md": "# Viaggi\n\nLe spese di viaggio vengono rimborsate entro 30 giorni. Si prenota la seconda classe dei treni. "
    "Gli alberghi possono costare al massimo 120 euro per notte nelle grandi città.",
}
ITALIAN = language("it").replies


async def test_italian_text_is_stemmed_in_italian_and_found_by_other_forms(services: Services) -> None:
    await fill(services, MANUALE)
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch("SELECT DISTINCT regconfig AS config FROM rag.passages")
    assert [row["config"] for row in rows] == ["italian"]
    found = await find(services, "rimborso della spesa di un viaggio", "handbook", legs=("lexical",))
    assert "rimborsate" in found.passages[0].content


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Quanti giorni di ferie hanno i dipendenti?", "26 giorni"),
        ("Quando vengono pagati gli stipendi?", "il 27 di ogni mese"),
        ("Quanto può costare un albergo?", "120 euro"),
    ],
)
async def test_italian_questions_are_answered_by_quotes(services: Services, question: str, told: str) -> None:
    await fill(services, MANUALE)
    answer = await answered(services, question)
    assert told in answer.answer
    assert any(told in citation.quote for citation in answer.citations)


async def test_what_italian_documents_do_not_say_is_refused_in_italian(services: Services) -> None:
    await fill(services, MANUALE)
    answer = await answered(services, "Chi ha inventato la stampa a caratteri mobili?")
    assert answer.answer.startswith(ITALIAN.refusal)
    assert not answer.citations


async def test_an_empty_collection_and_the_catalogue_are_told_of_in_italian(services: Services) -> None:
    assert "Non lo so" in (await answered(services, "Quanti giorni di ferie spettano?", collection="vuota")).answer
    await fill(services, MANUALE)
    assert "contiene 3 documenti" in (await answered(services, "Quanti documenti ci sono?")).answer


async def test_italian_small_talk_is_no_question(services: Services) -> None:
    await fill(services, MANUALE)
    for message in ("Ciao!", "Buongiorno", "Grazie mille"):
        answer = await answered(services, message)
        assert answer.route["strategy"] == "reply"
        assert not answer.citations
