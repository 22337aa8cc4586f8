"""Several languages in one collection: each passage is stemmed in its own, and a query finds them by their own stems."""

from __future__ import annotations

import asyncpg
import pytest

from cairn.language.identify import passage_configuration
from cairn.service.documents import get_collection
from cairn.settings import IngestSettings, LexicalSettings
from cairn.store import lexical
from cairn.wiring import Services
from tests.db.test_lexical import WORDS, assert_statistics_exact, find
from tests.db.test_reindex import run as reindex
from tests.documents import index_texts, with_sections
from tests.sharing import SHARED
from tests.unit.test_language import SENTENCES

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]

TEXTS = {
    "en": "The hikers were climbing the mountains and built cairns from the stones that they had found on the ridges.",
    "fr": "Les journaux régionaux racontent que les chevaux traversaient les canaux gelés pendant les hivers rigoureux.",
    "de": "Die Wanderer errichteten auf den Gipfeln kleine Türme aus Steinen, damit andere die Wege finden konnten.",
    "es": "Los pescadores reparaban las redes mientras las mujeres preparaban las comidas para las fiestas del pueblo.",
}
POLISH = "Wędrowcy budowali kopce z kamieni, które znaleźli na grani, żeby inni mogli odnaleźć drogę w śnieżycy. "
# other forms than the text has: only the language's own stemmer brings them together
QUERIES = {
    "en": "climbs mountain cairn",
    "fr": "régional racontait gelé",
    "de": "Wanderern kleiner Stein Gipfel",
    "es": "pescador reparan comida",
}


async def configurations(services: Services) -> dict[str, list[str]]:
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch(
            "SELECT d.external_id, array_agg(p.regconfig ORDER BY p.ordinal) AS configs FROM rag.passages p "
            "JOIN rag.documents d ON d.id = p.document_id GROUP BY 1"
        )
    return {row["external_id"]: row["configs"] for row in rows}


async def test_c6_each_query_finds_its_language_by_that_languages_stems(services: Services) -> None:
    await index_texts(services, TEXTS)
    assert await configurations(services) == {"en": ["english"], "fr": ["french"], "de": ["german"], "es": ["spanish"]}
    for language, query in QUERIES.items():
        found = await find(services, query, legs=("lexical",))
        assert found.passages[0].external_id == language, query
        assert found.confidence["lexical"] > 0.5, query
    async with services.database.transaction(services.principal) as connection:
        stats = await connection.fetch("SELECT regconfig, passage_count FROM rag.lexical_stats ORDER BY 1")
    assert [tuple(row) for row in stats] == [("english", 1), ("french", 1), ("german", 1), ("spanish", 1)]
    await assert_statistics_exact(services)


async def test_where_languages_are_not_recognised_all_are_in_that_of_the_settings(services: Services) -> None:
    await index_texts(with_sections(services, ingest=IngestSettings(detect_language=False, language="german")), TEXTS)
    assert await configurations(services) == {code: ["german"] for code in TEXTS}


async def test_a_configuration_of_ones_own_is_kept_with_its_schema(services: Services) -> None:
    """And found by it, also where a document's language is uncertain and that of the collection counts."""
    owner = await asyncpg.connect(services.owner_dsn)
    await owner.execute("CREATE TEXT SEARCH CONFIGURATION public.house (COPY = german)")
    await owner.close()
    of_house = with_sections(services, ingest=IngestSettings(detect_language=False, language="house"))
    await index_texts(of_house, {"de": TEXTS["de"]})
    await index_texts(services, {"names": "Erin, Frank, Grace, Heidi"})
    assert await configurations(services) == {"de": ["public.house"], "names": ["public.house"]}
    found = await find(services, QUERIES["de"], legs=("lexical",))
    assert [passage.external_id for passage in found.passages] == ["de"]
    await assert_statistics_exact(services)
    result = (await reindex(of_house)).result or {}
    assert (result["redone"], result["unchanged"]) == (0, 2)


async def test_a_french_section_in_an_english_document(services: Services) -> None:
    english, french = (SENTENCES["en"] + " ") * 18, (SENTENCES["fr"] + " " + TEXTS["fr"] + " ") * 9
    await index_texts(services, {"mixed": f"{english}\n\n{french}\n\n{english}"})
    configs = (await configurations(services))["mixed"]
    assert set(configs) == {"english", "french"}
    found = await find(services, "cheval canal régional", legs=("lexical",))
    assert "régionaux" in found.passages[0].content


async def test_uncertain_passages_follow_document_collection_and_setting(services: Services) -> None:
    await index_texts(services, {"list": "Alice, Bob, Carol, Dave"})
    await index_texts(services, {"a": SENTENCES["de"], "b": TEXTS["de"]})
    await index_texts(services, {"names": "Erin, Frank, Grace, Heidi", "code": "x = 1"})
    configs = await configurations(services)
    assert configs["list"] == ["english"], "the setting, while the collection is empty"
    assert configs["names"] == ["german"], "the language of most of the collection"
    collection = await get_collection(services, "test")
    async with services.database.transaction(services.principal) as connection:
        assert await lexical.find_dominant(connection, services.principal, collection.id) == "german"


async def test_a_handful_of_passages_in_another_language_neither_drown_nor_win(services: Services) -> None:
    """An idf of their own would be tiny (N = 2) for what they are about, and large for words that are common elsewhere."""
    texts = {f"e{i}": f"{TEXTS['en']} Number {i} tells of granite and the weather." for i in range(30)}
    texts |= {"fr": TEXTS["fr"], "es": TEXTS["es"]}
    await index_texts(services, texts)
    found = await find(services, "the chevaux and the mountain", legs=("lexical",))
    assert found.passages[0].external_id == "fr", "a rare word counts as rare among all passages"
    await index_texts(services, {"quote": f"{TEXTS['es']} Decía: the weather and the granite."})
    assert (await configurations(services))["quote"] == ["spanish"]
    found = await find(services, "the weather and the granite of number 7", legs=("lexical",), top_k=33)
    scores = {
        str(passage): score for passage, score in zip(found.legs[0].passage_ids, found.legs[0].scores, strict=True)
    }
    by_name = {passage.external_id: scores[str(passage.passage_id)] for passage in found.passages}
    assert found.passages[0].external_id == "e7"
    assert by_name["quote"] < by_name["e7"] / 5, "stop words of most passages weigh nothing"


TRANSLATIONS = {
    "en": "Alexander von Humboldt climbed Chimborazo in 1802, and this was the highest that anybody had been until then.",
    "de": "Alexander von Humboldt bestieg den Chimborazo im Jahr 1802, und so hoch war bis dahin noch niemand gewesen.",
    "es": "Alexander von Humboldt ascendió al Chimborazo en 1802, y nadie había estado hasta entonces a tanta altura.",
}


async def test_of_translations_the_one_in_the_querys_language_comes_first(services: Services) -> None:
    """Names and numbers stand in all of them; the query's stop words say which its reader reads."""
    await index_texts(services, TRANSLATIONS | {f"more-{name}": text for name, text in TEXTS.items()})
    for language, query in {
        "en": "When was Humboldt on the Chimborazo?",
        "de": "Wann war Humboldt auf dem Chimborazo?",
        "es": "¿Cuándo estuvo Humboldt en el Chimborazo?",
    }.items():
        found = await find(services, query, legs=("lexical",))
        assert found.passages[0].external_id == language, query
        assert {p.external_id for p in found.passages[:3]} == set(TRANSLATIONS), "the others are no worse than before"
        assert 0 < found.confidence["lexical"] <= 1


async def scores(services: Services, query: str) -> dict[str, float]:
    found = await find(services, query, legs=("lexical",), top_k=100)
    by_id = dict(zip(found.legs[0].passage_ids, found.legs[0].scores, strict=True))
    return {passage.external_id: by_id[passage.passage_id] for passage in found.passages}


async def test_without_stop_words_no_language_is_preferred(services: Services) -> None:
    """Nor where two languages have as many of them, nor against passages whose language has no stemmer."""
    same = "Humboldt Chimborazo 1802."
    texts = {"en": f"{TEXTS['en']} {same}", "de": f"{TEXTS['de']} {same}", "pl": POLISH + same}
    await index_texts(services, texts)
    assert (await configurations(services))["pl"] == ["simple"]
    neutral, english = await scores(services, "Humboldt 1802"), await scores(services, "the Humboldt of 1802")
    assert neutral.keys() == english.keys() == texts.keys()
    assert english["en"] == pytest.approx(neutral["en"], rel=1e-6)
    assert english["de"] == pytest.approx(0.8 * neutral["de"], rel=1e-6)
    assert english["pl"] == pytest.approx(neutral["pl"], rel=1e-6)
    # "was" is a stop word of both
    assert await scores(services, "was Humboldt 1802") == pytest.approx(neutral, rel=1e-6)


async def test_pruned_lists_equal_the_full_scan_in_several_languages(services: Services) -> None:
    """The bounds of pruning know the preference: it is part of each word's weight."""
    texts = {
        f"{name}{i}": f"{text} Humboldt {i % 9} Chimborazo {i % 7} {' '.join(WORDS[i % 11 :: 11])}"
        for name, text in TEXTS.items()
        for i in range(30)
    }
    await index_texts(services, texts)
    collection = await get_collection(services, "test")
    small = LexicalSettings(candidate_budget=100)
    full = LexicalSettings(candidate_budget=1_000_000, candidate_cap=1_000_000)
    async with services.database.transaction(services.principal) as connection:
        for query in ("the granite and Humboldt 3", "der Granit und Humboldt 4 Gipfel", "los pescadores de Humboldt 5"):
            pruned = await lexical.search(connection, [collection.id], query, 10, small, None)
            scanned = await lexical.search(connection, [collection.id], query, 10, full, None)
            assert pruned.exact
            assert pruned.hits == scanned.hits


@pytest.mark.parametrize(
    "text", ["def pool(size): return [connect() for _ in range(size)]", "Alice, Bob, Carol", "12 | 13 | 14"]
)
async def test_passages_without_prose_follow_their_document(text: str) -> None:
    assert passage_configuration(text, "german") == "german"
