"""Collections of two local models beside each other: which serves which, and questions in another language than the documents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from runs import answered, change, fill

from cairn.domain.document import Source
from cairn.domain.passage import SearchRequest, SearchResult
from cairn.errors import ConflictError, InputError
from cairn.providers.answer_reader import LocalReader, find_answer_reader
from cairn.providers.e5 import E5, find_e5
from cairn.providers.protocols import Vectors
from cairn.retrieve.search import search
from cairn.service.documents import create_collection, index_now
from cairn.service.models import flip_model, get_embedding, rollback_model, start_backfill
from cairn.settings import Environment, Settings, SettingsStore
from cairn.wiring import Services, open_services
from tests.db.tenants import tenant_of
from tests.sharing import SHARED

pytestmark = SHARED

MINILM, OTHER = "all-MiniLM-L6-v2:int8", "multilingual-e5-small:int8"
MANUAL = (
    "Protecting a directory. To protect a directory, set its mode to 700 with chmod, so that only its owner can enter it.\n\n"
    "Backups. A nightly job copies every table to the second disk, and removes copies that are older than thirty days.\n\n"
    "Printing. The printer on the second floor wants its toner changed when the lamp blinks twice."
)
CODE = "def protect(path):\n    '''Make a directory private.'''\n    path.chmod(0o700)\n"


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Held, so that it is loaded once."""
    folder = find_e5(tmp_path_factory.mktemp("loaded"))
    if folder is None:
        pytest.skip("there is no multilingual model: make install builds it")
    model = E5(folder)
    return model, model._session, model.tokens._processor


def as_shipped() -> Settings:
    """The first documents of a collection decide."""
    return Settings.model_validate({"rag": {"embeddingModel": "auto"}})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened_of_module(environment_of_module: Environment, loaded: object) -> AsyncIterator[Services]:
    async with open_services(environment_of_module, SettingsStore(initial=as_shipped())) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def choosing(opened_of_module: Services) -> AsyncIterator[Services]:
    async with tenant_of(opened_of_module) as opened:
        opened.settings.current = as_shipped()
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def english(opened_of_module: Services) -> Services:
    """A manual, which tests only ask."""
    await fill(opened_of_module, FILES, "manual")
    return replace(opened_of_module, settings=SettingsStore(initial=as_shipped()))


def manual(name: str = "manual.txt") -> Source:
    return Source(name, name, MANUAL.encode())


async def find(services: Services, query: str, *collections: str) -> SearchResult:
    request = SearchRequest(query, collections, top_k=3, cache=False)
    return await search(services.search_deps, services.principal, request, services.settings.current)


async def test_the_first_documents_choose_the_model(choosing: Services) -> None:
    await index_now(choosing, "prose", [manual()])
    await index_now(choosing, "code", [Source("protect.py", "protect.py", CODE.encode())])
    await create_collection(choosing, "told", "minilm")
    await index_now(choosing, "told", [manual()])
    serving = {name: one.model for name, one in (await get_embedding(choosing)).items()}
    assert serving == {"prose": OTHER, "code": MINILM, "told": MINILM}
    # what is first decides for good
    await index_now(choosing, "code", [manual()])
    assert (await get_embedding(choosing, "code"))["code"].model == MINILM


async def test_a_question_that_was_searched_for_is_embedded_once(
    english: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real = E5.embed_questions

    async def embed_questions(self: E5, texts: Sequence[str]) -> Vectors:
        made.extend(texts)
        return await real(self, texts)

    monkeypatch.setattr(E5, "embed_questions", embed_questions)
    question = "Which lamp blinks twice when toner is wanted?"
    assert "toner" in (await answered(english, question, collection="manual")).answer
    assert made == [question]


@pytest.mark.parametrize(("wanted", "loads"), [("auto", [False, False, True]), ("off", [False, False, False])])
async def test_a_start_loads_what_the_documents_are_searched_and_read_by(
    choosing: Services, tmp_path: Path, wanted: str, loads: list[bool]
) -> None:
    """None of it where nothing would ask it: no document, or code alone."""
    file = find_answer_reader(tmp_path)
    assert file is not None
    choosing.settings.current = Settings.model_validate(
        {"rag": {"embeddingModel": "auto"}, "answer": {"reader": wanted}}
    )
    loaded = []
    for name, text in (("", ""), ("protect.py", CODE), ("manual.txt", MANUAL)):
        if name:
            await index_now(choosing, name, [Source(name, name, text.encode())])
        reader = LocalReader(file)
        await replace(choosing, search_deps=replace(choosing.search_deps, reader=lambda made=reader: made)).warm()
        loaded.append("_session" in reader.__dict__)
        await reader.close()
    assert loaded == loads


async def test_a_chosen_model_is_shown_before_the_first_document(choosing: Services) -> None:
    await create_collection(choosing, "empty", "e5")
    assert (await get_embedding(choosing, "empty"))["empty"].model == OTHER
    with pytest.raises(ConflictError):
        await create_collection(choosing, "empty", "minilm")
    with pytest.raises(InputError, match="needs OPENAI"):
        await create_collection(choosing, "other", "text-embedding-3-small")


async def test_collections_of_both_models_are_searched_together(choosing: Services) -> None:
    """The question is embedded once for each; each passage counts relative to the best of its model."""
    await index_now(choosing, "prose", [manual()])
    await index_now(choosing, "code", [Source("protect.py", "protect.py", CODE.encode())])
    found = await find(choosing, "How do I protect a directory?", "prose", "code")
    assert {passage.collection for passage in found.passages} == {"prose", "code"}
    assert not found.legs_failed
    assert {part["model"] for part in found.how["vector"]["parts"]} == {MINILM, OTHER}


async def test_the_second_search_goes_straight(choosing: Services) -> None:
    """A process knows which model serves a collection after the first search."""
    await index_now(choosing, "prose", [manual()])
    first, second = [await find(choosing, f"How do I protect a {what}?", "prose") for what in ("folder", "directory")]
    assert len(first.retries) == 2
    assert second.retries == ()


@pytest.mark.siege
async def test_a_collection_moves_to_the_other_model_and_back(choosing: Services) -> None:
    await create_collection(choosing, "moved", "minilm")
    await index_now(choosing, "moved", [manual()])
    before = await find(choosing, "How is a folder protected?", "moved")
    await start_backfill(choosing, "moved", "e5")
    await choosing.worker().run_until_idle()
    await flip_model(choosing, "moved", "e5")
    after = await find(choosing, "Comment protéger un répertoire ?", "moved")
    assert "chmod" in after.passages[0].content
    await rollback_model(choosing, "moved")
    again = await find(choosing, "How is a folder protected?", "moved")
    assert [one.passage_id for one in again.passages] == [one.passage_id for one in before.passages]


# --- in another language ----------------------------------------------------------------------------------------------

FILES = {
    "directories.md": "# Directories\n\nTo protect a directory, set its mode to 700, so that only its owner can enter it. "
    "Directories that several people share belong to a group.",
    "backups.md": "# Backups\n\nA nightly job copies every table to the second disk. Copies that are older than "
    "thirty days are removed.",
    "printing.md": "# Printing\n\nThe printer wants new toner when its lamp blinks twice. Paper is kept in the cupboard.",
}
FRENCH = {
    "conges.md": "# Congés\n\nLes employés ont droit à trente jours de congés par an. Les congés doivent être demandés deux "
    "semaines à l'avance.",
    "salaires.md": "# Salaires\n\nLes salaires sont versés le 25 de chaque mois. Une prime est versée en décembre.",
    "voyages.md": "# Voyages\n\nLes frais de voyage sont remboursés sous trente jours. On voyage en seconde classe.",
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("question", "quoted", "said"),
    [
        ("Comment protéger un répertoire ?", "mode to 700", "Le document cité est en anglais."),
        ("Wie schütze ich einen Ordner?", "mode to 700", "Das zitierte Dokument ist auf Englisch."),
        ("¿Cuándo se borran las copias de seguridad antiguas?", "thirty days", "El documento citado está en inglés."),
        ("Quando bisogna cambiare il toner della stampante?", "blinks twice", "Il documento citato è in inglese."),
    ],
)
async def test_a_question_in_another_language_is_answered(
    english: Services, question: str, quoted: str, said: str
) -> None:
    """It is quoted as it stands, and told in which language that is."""
    answer = await answered(english, question, collection="manual")
    assert quoted in answer.answer, answer.answer
    assert answer.answer.endswith(said)
    assert answer.citations
    assert answer.answered != "no"


@pytest.mark.siege
async def test_it_goes_the_other_way_round_too(choosing: Services) -> None:
    await fill(choosing, FRENCH, "manuel")
    answer = await answered(choosing, "How many days of leave do employees have?", collection="manuel")
    assert "trente jours" in answer.answer
    assert answer.answer.endswith("The quoted document is in French.")
    same = await answered(choosing, "Quand les salaires sont-ils versés ?", collection="manuel")
    assert "le 25 de chaque mois" in same.answer
    assert "Le document cité" not in same.answer


MACHINES = {
    "machines.md": "# Machines\n\n"
    + "\n\n".join(
        f"## Machine {n}\n\nMachine {n} is made of steel. It stands in hall {n}. It is cleaned once a week with a soft cloth. "
        + "Nobody is to touch it while it runs, and everybody who works near it wears gloves. " * 9
        for n in range(1, 22)
    )
    + "\n\n## Emergencies\n\n"
    + "A machine that is in danger of fire is left alone. Everybody goes out by the nearest door. " * 8
    + "The red lever beside the door stops all machines at once.\n",
}


async def test_ten_passages_are_read_for_it(choosing: Services) -> None:
    """READ_ACROSS: words of another language bring the right one less often to the first five."""
    await fill(choosing, MACHINES, "machines")
    answer = await answered(choosing, "Mit welchem Hebel hält man alle Maschinen sofort an?", collection="machines")
    assert len(answer.sources) == 10
    same = await answered(choosing, "Which lever stops all machines at once?", collection="machines")
    assert len(same.sources) == 5


async def test_what_is_refused_in_another_language_is_not_said_to_be_unmentioned(english: Services) -> None:
    answer = await answered(english, "Welche Zahnräder hat die Windmühle?", collection="manual")
    assert answer.answered == "no"
    assert "Diese Dokumente sind auf Englisch." in answer.answer
    assert not [why for why in answer.insufficiencies if "mentioned" in why], answer.insufficiencies


async def test_what_no_document_says_is_refused_in_any_language(english: Services) -> None:
    for question in ("Quelle est la hauteur de la tour Eiffel ?", "Wer hat den Faust geschrieben?"):
        answer = await answered(english, question, collection="manual")
        assert answer.answered == "no", answer.answer


async def test_a_language_without_a_sentence_of_its_own_is_said_to_be_another(choosing: Services) -> None:
    text = (
        "# Verlof\n\nWerknemers hebben recht op dertig dagen verlof per jaar. Het verlof moet twee weken van tevoren worden "
        "aangevraagd, en wat niet wordt opgenomen vervalt aan het einde van maart."
    )
    await fill(choosing, {"verlof.md": text}, "dutch")
    answer = await answered(choosing, "How many days of leave do employees have?", collection="dutch")
    assert "dertig dagen" in answer.answer
    assert answer.answer.endswith("The quoted document is in another language.")


async def test_a_name_of_a_mostly_foreign_collection_refuses_nothing_and_a_year_does(choosing: Services) -> None:
    """Londres is London; 1998 is 1998."""
    text = {
        "trips.md": "# Trips\n\nThe trip to London takes three hours by train, and it begins at the old station at noon."
    }
    await fill(choosing, text, "trips")
    answer = await answered(choosing, "Combien de temps dure le voyage à Londres ?", collection="trips")
    assert "three hours" in answer.answer
    refused = await answered(choosing, "Comment était le voyage à Londres en 1998 ?", collection="trips")
    assert refused.answered == "no"
    assert "1998" in refused.answer


# --- the reader -------------------------------------------------------------------------------------------------------


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("wanted", "model", "reads"),
    [("auto", "e5", True), ("off", "e5", False), ("auto", "minilm", False), ("on", "minilm", True)],
)
async def test_the_reader_serves_prose_unless_told_otherwise(
    choosing: Services, wanted: str, model: str, reads: bool
) -> None:
    change(choosing, "answer", reader=wanted)
    await create_collection(choosing, "prose", model)
    await fill(choosing, FILES, "prose")
    answer = await answered(choosing, "What mode protects a directory?", collection="prose")
    assert answer.citations[0].quote.startswith("To protect a directory, set its mode to 700")
    assert answer.evidence is not None
    assert (answer.evidence.read is not None) == reads


TABLE = b"""# Figures of the year

| | 2024 | 2023 |
|---|---|---|
| Total revenue | 512 | 498 |
| Cost of sales | 301 | 290 |

To protect a directory, set its mode to 700 with chmod.
"""


async def test_rows_of_one_document_are_chosen_by_words(choosing: Services) -> None:
    await index_now(choosing, "prose", [Source("figures.md", "figures.md", TABLE)])
    row, sentence = [
        await answered(choosing, question, collection="prose")
        for question in ("What was the total revenue in 2024?", "What mode protects a directory?")
    ]
    assert row.citations[0].quote.startswith("Total revenue | 512")
    assert row.evidence is None or row.evidence.read is None
    assert sentence.evidence is not None
    assert sentence.evidence.read is not None


AIRLINES = {
    "safety.md": "# Airline safety\n\nMalaysia Airlines had 537 fatalities from 2000 to 2014, all of them on two flights. Air "
    "France had 337.\n",
    "awards.md": "# Awards\n\nThe award for the best meals was won by Emirates in 2012. Adding a second kitchen made the "
    "difference.\n",
    "orchard.md": "# History of Orchard\n\nOrchard was originally written by Ada Blum and Tom Reed for a school.\n",
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("question", "said", "answered_as"),
    [
        ("malaysia airlines deaths", "537", "unsure"),
        ("Adding it all up, how many fatalities did Malaysia Airlines have?", "537", "unsure"),
        ("How many fatalities did Malaysia Airlines have when Emirates won its award?", "537", "unsure"),
        ("Who invented Orchard in the first place?", "Ada Blum", "yes"),
    ],
)
async def test_what_was_read_is_not_refused_for_a_word_and_is_unsure_without_a_name(
    choosing: Services, question: str, said: str, answered_as: str
) -> None:
    await fill(choosing, AIRLINES, "airlines")
    answer = await answered(choosing, question, collection="airlines")
    assert said in answer.answer
    assert answer.answered == answered_as
    assert bool(answer.insufficiencies) == (answered_as == "unsure")


async def test_what_was_not_read_is_refused_for_words_that_stand_nowhere(choosing: Services) -> None:
    change(choosing, "answer", reader="off")
    await fill(choosing, AIRLINES, "airlines")
    for question, missing in (("malaysia airlines deaths", "deaths"), ("Who baked Orchard?", "baked")):
        answer = await answered(choosing, question, collection="airlines")
        assert answer.answered == "no"
        assert missing in answer.answer
