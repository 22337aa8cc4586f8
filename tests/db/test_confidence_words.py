"""What an answer is worth, in one word: of each kind of answer another one, or none where a word would claim too much."""

from __future__ import annotations

from itertools import pairwise

import pytest
import pytest_asyncio

from cairn.answer.confidence import FOUND, word_of
from cairn.domain.answer import PROBABLE
from cairn.domain.document import Indexed, Source
from cairn.service.documents import index_now
from cairn.wiring import Services
from tests.db.runs import LEAVE, answered, fill
from tests.sharing import SHARED

pytestmark = SHARED

LETTERS: dict[str, tuple[str, dict[str, object]]] = {
    "one.md": ("# Harbour dues\n\nThe dues were raised by Dr. Anna Weber in Bremen.", {"author": "Jane Lee", "year": 2021}),
    "two.md": ("# Ferry times\n\nThe ferry leaves at nine. John Smith takes the tickets.", {"author": "Tom Park", "year": 2021}),
    "three.md": ("# Cranes\n\nThe cranes lift forty tons and are oiled each week.", {}),
}  # fmt: skip


async def fill_letters(services: Services, names: tuple[str, ...] = tuple(LETTERS)) -> None:
    sources = [Source(name, name, LETTERS[name][0].encode(), metadata=LETTERS[name][1]) for name in names]
    for outcome in await index_now(services, "letters", sources):
        assert isinstance(outcome, Indexed), outcome


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(services_of_module: Services) -> Services:
    """The handbook and the letters, which the tests only ask."""
    await fill(services_of_module)
    await fill_letters(services_of_module)
    return services_of_module


async def test_a_quotation_has_a_word_that_follows_from_its_number(filled: Services) -> None:
    made = await answered(filled, LEAVE)
    assert made.evidence is not None
    assert made.confidence_word in PROBABLE
    assert made.confidence_word == word_of(
        made.confidence, read=made.evidence.read is not None, whole=not made.insufficiencies
    )


@pytest.mark.parametrize(
    "message", ["hello", "Merci beaucoup !", "Hallo!", "gracias", "grazie mille", "asdfgh", "xkcdqw zzz"]
)
async def test_small_talk_claims_nothing(filled: Services, message: str) -> None:
    made = await answered(filled, message)
    assert (made.confidence_word, made.citations) == (None, ())


async def test_a_refusal_is_no_confidence(filled: Services) -> None:
    made = await answered(filled, "What was Tesla's revenue in 2022?")
    assert (made.answered, made.confidence_word) == ("no", None)


@pytest.mark.parametrize(
    "question",
    [
        "When does the ferry leave in documents by Park from 2021?",
        "According to the documents by Tom Park, when does the ferry leave?",
    ],
)
async def test_a_restriction_in_words_is_worth_what_filters_are(filled: Services, question: str) -> None:
    """The passage says neither who wrote it nor when, and need not."""
    made = await answered(filled, question, collection="letters")
    assert made.route["filters"]["author"] == "Tom Park"
    assert (made.answered, made.citations[0].external_id) == ("yes", "two.md")
    assert "nine" in made.answer


async def test_a_summary_is_not_probable(filled: Services) -> None:
    made = await answered(filled, "summarize leave.md")
    assert (made.answered, made.confidence_word) == ("yes", None)
    assert made.citations


async def test_what_is_counted_is_exact(filled: Services) -> None:
    for question in ("How many documents are there?", "Which documents mention salaries?"):
        made = await answered(filled, question)
        assert (made.confidence_word, made.coverage.complete) == ("exact", True), question


@pytest.mark.parametrize(
    ("question", "begins", "note"),
    [
        ("Which people are mentioned?", "Recognised by rules: 1 person in 3 documents:", "Others may be named"),
        ("Quelles personnes sont mentionnées ?", "Reconnue par des règles : 1 personne", "D'autres peuvent être nommés"),
        ("¿Qué personas se mencionan?", "Reconocida por reglas: 1 persona", "Puede haber otros nombrados"),
        ("Welche Personen werden genannt?", "Nach Regeln erkannt: 1 Person", "Weitere können genannt sein"),
        ("Quali persone sono menzionate?", "Riconosciuta con regole: 1 persona", "Possono esserne nominati altri"),
    ],
)  # fmt: skip
async def test_names_are_recognised_and_others_may_be_there(
    filled: Services, question: str, begins: str, note: str
) -> None:
    made = await answered(filled, question, collection="letters")
    assert made.answer.startswith(begins)
    assert note in made.answer
    assert "Weber" in made.answer
    assert (made.confidence_word, made.coverage.complete) == ("recognised", False)


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("documents by Jane Lee", "1 other document names no author in its metadata"),
        ("quels documents sont de l'auteur Jane Lee ?", "1 autre document n'indique pas d'auteur"),
        ("¿cuántos documentos son del autor Jane Lee?", "1 documento más no indica autor"),
        ("Welche Dokumente sind von Jane Lee?", "1 weiteres Dokument sagt in seinen Metadaten nicht, von wem"),
        ("documenti di Jane Lee", "1 altro documento non indica"),
        ("documents by author Lee", "1 other document names no author in its metadata"),
        ("documents from 2021", "1 other document states no year"),
    ],
)
async def test_a_list_by_a_field_says_who_does_not_state_it(filled: Services, question: str, note: str) -> None:
    made = await answered(filled, question, collection="letters")
    assert note in made.answer, made.answer
    assert (made.confidence_word, made.coverage.complete) == ("recognised", False)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("documents from 1999", "0 of 3 documents fit (dated 1999).\n\n1 other document states no year"),
        ("how many reports are there?", "3 of 3 documents fit (kind: reports, which none of them states):"),
        ("combien de rapports y a-t-il ?", "ce qu'aucun n'indique"),
    ],
)
async def test_nothing_is_claimed_of_what_documents_do_not_state(filled: Services, question: str, said: str) -> None:
    made = await answered(filled, question, collection="letters")
    assert said in made.answer
    assert (made.confidence_word, made.coverage.complete) == ("recognised", False)


async def test_where_all_documents_state_it_a_list_is_exact(services: Services) -> None:
    await fill_letters(services, ("one.md", "two.md"))
    made = await answered(services, "documents by Jane Lee", collection="letters")
    assert made.answer.startswith("1 of 2 documents fits (by Jane Lee)")
    assert (made.confidence_word, made.coverage.complete, made.insufficiencies) == ("exact", True, ())


async def test_whom_no_document_has_for_an_author_is_looked_for_in_the_texts(filled: Services) -> None:
    made = await answered(filled, "documents by author John Smith", collection="letters")
    assert made.answer.startswith("1 of 3 documents mentions “John Smith”")
    assert made.confidence_word == "exact", (
        "of what the texts mention nothing is left out, and nobody is said to have written it"
    )


QUAY = {
    "quay.md": "# Quay\n\nThe loading engineers walk along the quay in the morning. They carry lamps and gloves.",
    "night.md": "# Night\n\nAt night the engineers of the quay rest. Nobody is loading then.",
    "rain.md": "# Rain\n\nIn the rain the quay is closed for walks; the engineers stay in the shed.",
}


async def test_who_is_not_sure_names_what_else_may_answer(services: Services) -> None:
    """A line each, as further citations, and none where the first is likely."""
    await index_now(services, "quay", [Source(name, name, text.encode()) for name, text in QUAY.items()])
    unsure = await answered(services, "why do engineers rest in the shed?", collection="quay")
    assert unsure.confidence_word == "not_sure", unsure
    assert "\n\nOr perhaps:\n- " in unsure.answer
    assert all(f"[{cited.n}]" in unsure.answer for cited in unsure.citations)
    assert len({cited.document_id for cited in unsure.citations}) > 1
    places = sorted((str(cited.document_id), cited.start, cited.end) for cited in unsure.citations)
    assert all(one[0] != other[0] or one[2] <= other[1] for one, other in pairwise(places))
    await fill(services)
    sure = await answered(services, LEAVE)
    assert sure.confidence_word != "not_sure"
    assert "perhaps" not in sure.answer


CRANES = {
    "cranes.md": "# Cranes\n\n## Oiling\n\nOil the crane with a brush. Pour the oil into the lower gear by hand.\n\n"
    "## Storing\n\nThe crane is stored in the shed.",
    "gears.md": "# Gears\n\nA gear of a crane is oiled with grease. Wipe it before.",
}


@pytest.mark.parametrize(
    ("question", "named"), [("show me how to oil a crane with a brush", True), ("who oils a crane with a brush", False)]
)
async def test_there_may_be_several_ways_where_the_first_is_likely(
    services: Services, question: str, named: bool
) -> None:
    """Of a fact there is one."""
    await index_now(services, "cranes", [Source(name, name, text.encode()) for name, text in CRANES.items()])
    likely = await answered(services, question, collection="cranes")
    assert likely.confidence_word == "likely", likely.confidence
    assert likely.confidence < FOUND
    assert ("\n\nOr perhaps:\n- " in likely.answer) is named
