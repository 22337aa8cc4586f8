"""Ways of asking without a chat model, twenty cases each: list, compare, summarise a document that is described, one word, with
typos, and five languages. The documents are what the pinned packages say of themselves, and four pages in other languages; each
case has what a right answer must show."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

import pytest
import pytest_asyncio

from cairn.domain.answer import Answer
from cairn.domain.document import Indexed, Source
from cairn.language.text import fold
from cairn.providers.e5 import find_e5
from cairn.runs.library import Library
from cairn.service.documents import create_collection, index_now
from cairn.wiring import Services
from tests.db.runs import answered
from tests.sharing import SHARED

pytestmark = [SHARED, pytest.mark.measurement]

PACKAGES = (
    "aiosignal", "certifi", "httpx", "idna", "multidict", "packaging", "python-dotenv", "requests", "striprtf", "watchfiles",
    "websockets",
)  # fmt: skip
PAGES = Path(__file__).parents[1] / "data" / "ways"
OTHERS = {"fr": "mediatheque.md", "de": "kleingarten.md", "es": "piscina.md", "it": "museo.md"}
ACROSS = ("idna", "certifi", "websockets")


@dataclass(frozen=True)
class Case:
    """`shown`: all of it stands in the answer, folded. `documents`: all that it cites. `sides`: citations at least."""

    collection: str
    question: str
    shown: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    sides: int = 1

    def __str__(self) -> str:
        return self.question


def case(collection: str, question: str, *shown: str) -> Case:
    return Case(collection, question, shown)


def compared(collection: str, question: str, *shown: str, sides: int = 2) -> Case:
    return Case(collection, question, shown, sides=sides)


def summary(question: str, document: str, *shown: str, collection: str = "packages") -> Case:
    return Case(collection, question, shown, (document,))


def readme(package: str) -> Source:
    told = distribution(package).metadata
    text = str(told.get_payload() or told["Description"])
    name = f"{package}.{'md' if 'markdown' in (told['Description-Content-Type'] or '') else 'rst'}"
    return Source(name, name, text.encode())


def page(name: str) -> Source:
    return Source(name, name, (PAGES / name).read_bytes())


async def index(services: Services, collection: str, *sources: Source) -> None:
    outcomes = await index_now(services, collection, sources)
    assert all(isinstance(one, Indexed) for one in outcomes), outcomes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(services_of_module: Services) -> AsyncIterator[Services]:
    await index(services_of_module, "packages", *map(readme, PACKAGES))
    for language, name in OTHERS.items():
        await index(services_of_module, language, page(name))
    yield services_of_module


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def across(services_of_module: Services, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Services]:
    """Collections of the model that reads several languages."""
    if find_e5(tmp_path_factory.mktemp("loaded")) is None:
        pytest.skip("there is no multilingual model: make install builds it")
    for name, sources in (("english", map(readme, ACROSS)), ("others", map(page, OTHERS.values()))):
        await create_collection(services_of_module, name, "e5")
        await index(services_of_module, name, *sources)
    yield services_of_module


async def right(services: Services, wanted: Case) -> Answer:
    answer = await answered(services, wanted.question, collection=wanted.collection)
    said = fold(answer.answer)
    assert [part for part in wanted.shown if part not in said] == [], answer.answer
    assert len(answer.citations) >= wanted.sides, answer.answer
    if wanted.documents:
        assert {one.external_id for one in answer.citations} == set(wanted.documents), answer.answer
    return answer


LISTS = [
    case("packages", "List the exceptions of idna.", "idnabidierror", "invalidcodepoint", "invalidcodepointcontext"),
    case("packages", "What are the four multidict classes?", "multidictproxy", "cimultidict"),
    case(
        "packages",
        "Which four principles is websockets shaped by?",
        "correctness",
        "simplicity",
        "robustness",
        "performance",
    ),
    case("packages", "List the dependencies of HTTPX.", "httpcore", "h11", "certifi", "idna", "sniffio"),
    case(
        "packages", "Which optional installs does HTTPX have?", "h2", "socksio", "rich", "click", "brotli", "zstandard"
    ),
    case(
        "packages", "List the supported features of Requests.", "keep-alive", "cookie persistence", ".netrc", "chunked"
    ),
    case(
        "packages",
        "What does the packaging project include?",
        "version handling",
        "specifiers",
        "markers",
        "requirements",
        "tags",
        "lockfiles",
    ),
    case(
        "packages",
        "What are the standard features of requests in HTTPX?",
        "keep-alive",
        "cookie persistence",
        "timeouts",
        "chunked",
    ),
    case("packages", "What does load_dotenv do by default?", "look for", "read each", "not override"),
    case(
        "packages",
        "Which escape sequences are allowed in single-quoted values?",
        "single-quoted values",
        "double-quoted values",
    ),
    case(
        "packages",
        "List the codes and attributes that the exceptions of idna carry.",
        "code",
        "text",
        "codepoint",
        "position",
    ),
    case("packages", "Which systems does PyPI have multidict wheels for?", "linux", "windows", "macos"),
    case(
        "fr",
        "Quels dictionnaires et journaux sont exclus du prêt ?",
        "dictionnaires",
        "journaux du jour",
        "fonds ancien",
    ),
    case("fr", "Sont exclus du prêt ?", "dictionnaires", "journaux du jour", "fonds ancien"),
    case("de", "Welche Pflanzen dürfen nicht gepflanzt werden?", "thuja", "walnussbaum", "bambus"),
    case("de", "Dürfen Thuja oder Bambus gepflanzt werden?", "thuja", "walnussbaum", "bambus"),
    case("es", "¿Qué objetos están prohibidos?", "vidrio", "flotadores", "animales"),
    case("es", "Enumera los objetos prohibidos.", "vidrio", "flotadores", "animales"),
    case("it", "Quali oggetti sono vietati nelle sale?", "zaini", "ombrelli", "cavalletti"),
    case("it", "Elenca gli oggetti vietati.", "zaini", "ombrelli", "cavalletti"),
]
COMPARISONS = [
    compared(
        "packages",
        "Compare InvalidCodepoint with InvalidCodepointContext.",
        "invalidcodepoint",
        "contextual requirements",
    ),
    compared(
        "packages", "What is the difference between dotenv_values and load_dotenv?", "dotenv_values", "load_dotenv"
    ),
    compared("packages", "How do MultiDict and CIMultiDict differ?", "multidict:", "cimultidict:"),
    compared("packages", "certifi vs striprtf", "root certificates", "striprtf:"),
    compared("packages", "Compare watchfiles and aiosignal.", "watchfiles", "aiosignal"),
    compared("packages", "HTTPX or Requests: which one has HTTP/2?", "httpx", "requests"),
    compared("packages", "Compare idna with Zarquon.", "idna", "nothing found on “zarquon”", sides=1),
    compared("packages", "What distinguishes watchfiles from certifi?", "watchfiles", "certificates"),
    compared("fr", "Quelle est la différence entre le prêt et la consultation ?", "domicile", "sur place"),
    compared("fr", "En quoi le prêt diffère-t-il de la consultation ?", "domicile", "sur place"),
    compared("fr", "Compare le prêt et la consultation.", "domicile", "sur place"),
    compared("de", "Vergleiche Laube und Gewächshaus.", "24 quadratmetern", "8 quadratmetern"),
    compared("de", "Worin unterscheidet sich eine Laube von einem Gewächshaus?", "24 quadratmetern", "8 quadratmetern"),
    compared("de", "Was ist der Unterschied zwischen Laube und Gewächshaus?", "24 quadratmetern", "8 quadratmetern"),
    compared("es", "¿En qué se diferencian el abono y la entrada?", "temporada", "un solo dia"),
    compared("es", "Compara el abono con la entrada.", "temporada", "un solo dia"),
    compared("es", "¿Qué diferencia hay entre el abono y la entrada?", "temporada", "un solo dia"),
    compared("it", "In cosa differiscono la mostra e la collezione?", "temporanea", "permanente"),
    compared("it", "Confronta la mostra con la collezione.", "temporanea", "permanente"),
    compared("it", "Qual è la differenza tra la mostra e la collezione?", "temporanea", "permanente"),
]
WORDS = [
    case("packages", "certifi", "root certificates"),
    case("packages", "IDNABidiError", "left-to-right"),
    case("packages", "watchfiles", "watchfiles"),
    case("packages", "watchgod", "previously named"),
    case("packages", "emoji", "prohibited"),
    case("packages", "Signal", "registered asynchronous callbacks"),
    case("packages", "multidict", "key-value pairs"),
    case("packages", "netrc", ".netrc"),
    case("fr", "prêt", "domicile"),
    case("fr", "consultation", "sur place"),
    case("fr", "pénalités", "dix centimes"),
    case("de", "Laube", "einfaches gebaude"),
    case("de", "Gewächshaus", "verglastes haus"),
    case("de", "Ruhezeit", "13 bis 15"),
    case("es", "abono", "pase personal"),
    case("es", "socorrista", "vigila"),
    case("es", "aforo", "350"),
    case("it", "mostra", "temporanea"),
    case("it", "guardaroba", "cappotti"),
    case("it", "collezione", "permanente"),
]
TYPOS = [
    case("packages", "What is certfi?", "certificates", "read as “certifi”"),
    case(
        "packages", "Which excepton is raised for a label with both directions?", "idnabidierror", "read as “exception”"
    ),
    case(
        "packages",
        "Which collection of certficates does certifi provide?",
        "root certificates",
        "read as “certificates”",
    ),
    case("packages", "What was watchfiles previosly named?", "watchgod", "read as “previously”"),
    case("packages", "What is a multidct?", "multidict", "read as “multidict”"),
    case("packages", "Which principles is websokets shaped by?", "correctness", "read as “websockets”"),
    case("packages", "Which standrad prohibits emoji?", "prohibited", "read as “standard”"),
    case("packages", "How do I dissable load_dotenv?", "python_dotenv_disabled", "read as “disable”"),
    case("fr", "Qu'est-ce que la consultaton ?", "sur place", "lu comme « consultation »"),
    case("fr", "Quand la médiatèque est-elle ouverte ?", "mardi au samedi", "lu comme « mediatheque »"),
    case("fr", "Quelle pénalitté est due ?", "dix centimes", "lu comme « penalite »"),
    case("fr", "Que dit le règlemant de la lecture sur place ?", "sur place"),
    case("de", "Was ist ein Gewächsaus?", "8 quadratmetern", "gelesen als"),
    case("de", "Wann ist die Ruhezet?", "13 bis 15", "gelesen als „ruhezeit“"),
    case("de", "Wann wird das Waser abgestellt?", "1. november"),
    case("es", "¿Qué vigila el socorista?", "vigila el bano", "leido como “socorrista”"),
    case("es", "¿Cuánto cuesta el abono?", "60 euros"),
    case("es", "¿Cuándo abre la picina?", "junio a septiembre", "leido como “piscina”"),
    case("it", "Che cos'è il guardarba?", "cappotti", "letto come “guardaroba”"),
    case("it", "Quando chiude la bigletteria?", "mezz'ora prima", "letto come “biglietteria”"),
]
SUMMARIES = [
    summary("Summarise the document on idna.", "idna.md"),
    summary("Summarize the websockets readme file", "websockets.rst"),
    summary("Sum up the guide to certifi.", "certifi.rst"),
    summary("Give me a summary of the striprtf document.", "striprtf.md"),
    summary("Summarise the manual of watchfiles.", "watchfiles.md"),
    summary("Résume le document sur python-dotenv.", "python-dotenv.md"),
    summary("Fasse das Dokument über multidict zusammen.", "multidict.rst"),
    summary("Resume el documento sobre aiosignal.", "aiosignal.rst"),
    summary("Riassumi il documento su packaging.", "packaging.rst"),
    summary("Give me an overview of the httpx document", "httpx.md"),
    summary("Résume le règlement de la médiathèque.", "mediatheque.md", collection="pages"),
    summary("Fais un résumé du guide de la médiathèque municipale.", "mediatheque.md", collection="pages"),
    summary("Fasse die Gartenordnung zusammen.", "kleingarten.md", collection="pages"),
    summary("Gib mir eine Zusammenfassung der Gartenordnung.", "kleingarten.md", collection="pages"),
    summary("Resume las normas de la piscina.", "piscina.md", collection="pages"),
    summary("Hazme un resumen de las normas de la piscina municipal.", "piscina.md", collection="pages"),
    summary("Riassumi il regolamento del museo.", "museo.md", collection="pages"),
    summary("Fammi un riassunto del regolamento del museo civico.", "museo.md", collection="pages"),
    summary("Summarise the minutes of March 2024.", "minutes-2024-03-05.md", collection="pages"),
    summary("Summarise the minutes.", "minutes-2024-06-11.md", "these fit, too", collection="pages"),
]
LANGUAGES = [
    case("english", "Que peut-on faire pour ajouter des certificats ?", "does not support any addition"),
    case("english", "Quels principes guident websockets ?", "correctness"),
    case("english", "Les emojis sont-ils permis dans les domaines ?", "prohibited"),
    case("english", "Sind Emoji-Domains erlaubt?", "prohibited"),
    case("english", "Welche Prinzipien prägen websockets?", "correctness"),
    case("english", "¿Están permitidos los emojis en los dominios?", "prohibited"),
    case("english", "¿Cómo se informa una vulnerabilidad de seguridad de websockets?", "tidelift"),
    case("english", "Cosa fornisce certifi?", "certificates"),
    case("others", "How many people may be in the pool?", "350"),
    case("others", "How much is the penalty for a late return?", "dix centimes"),
    case("others", "What is a greenhouse?", "glas"),
    case("others", "Who watches the bathers?", "socorrista"),
    case("others", "Combien de temps dure le prêt ?", "trois semaines"),
    case("others", "L'inscription est-elle gratuite ?", "gratuite"),
    case("others", "Wie groß darf eine Laube sein?", "24 quadratmetern"),
    case("others", "Wann wird das Wasser abgestellt?", "1. november"),
    case("others", "¿Cuánto cuesta la entrada?", "4 euros"),
    case("others", "¿Qué significa la bandera roja?", "prohibido"),
    case("others", "Il servizio del guardaroba è gratuito?", "gratuito"),
    case("others", "Quanto dura una mostra?", "pochi mesi"),
]
MINUTES = {
    "minutes-2024-03-05.md": "# Harbour committee, 2024-03-05\n\n## Minutes\n\nOkafor spoke.\n\nThe dues were raised.\n",
    "minutes-2024-06-11.md": "# Harbour committee, 2024-06-11\n\n## Minutes\n\nMoreau spoke.\n\nThe crane was sold.\n",
}


@pytest.mark.parametrize("wanted", LISTS, ids=str)
async def test_a_list_is_shown_whole(filled: Services, wanted: Case) -> None:
    await right(filled, wanted)


@pytest.mark.parametrize("wanted", COMPARISONS, ids=str)
async def test_of_a_comparison_each_side_is_shown_and_cited(filled: Services, wanted: Case) -> None:
    await right(filled, wanted)


@pytest.mark.parametrize("wanted", WORDS, ids=str)
async def test_one_word_asks_what_it_is(filled: Services, wanted: Case) -> None:
    await right(filled, wanted)


@pytest.mark.parametrize("wanted", TYPOS, ids=str)
async def test_a_slip_is_read_as_what_is_there_and_said(filled: Services, wanted: Case) -> None:
    await right(filled, wanted)


async def test_words_are_known_in_any_inflection(filled: Services) -> None:
    library = Library(filled.database, filled.principal)
    assert await library.known_words("packages", ["Installing", "disabled", "dissable"]) == {"Installing", "disabled"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def described(filled: Services) -> AsyncIterator[Services]:
    minutes = [Source(name, name, text.encode()) for name, text in MINUTES.items()]
    await index(filled, "pages", *map(page, OTHERS.values()), *minutes)
    yield filled


@pytest.mark.parametrize("wanted", SUMMARIES, ids=str)
async def test_a_described_document_is_summarised(described: Services, wanted: Case) -> None:
    answer = await right(described, wanted)
    assert answer.route["strategy"] == "summarize"


@pytest.mark.parametrize("wanted", LANGUAGES, ids=str)
async def test_questions_in_five_languages(across: Services, wanted: Case) -> None:
    await right(across, wanted)
