"""Types of questions, complexity, questions about the collection, weights."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.plan import Classification, FusionWeights, QueryType
from cairn.language.lexicon import languages
from cairn.query.classify import classify, fusion_weights
from cairn.query.complexity import KEYWORDS, WEIGHTS, about_collection, complexity, keywords
from cairn.query.entities import entities
from cairn.settings import RoutingSettings
from tests.waiting import patience

SETTINGS = RoutingSettings()
WORKED = "Compare les avantages et inconvenients du processus X par rapport a Y"
SURE = Classification("FACTUAL", 0.8, "test")

# --- types ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "language", "wanted"),
    [
        ("What is the relationship between X and Y?", "en", "RELATIONAL"),
        ("Quelle est la relation entre X et Y ?", "fr", "RELATIONAL"),
        ("¿Cuál es la relación entre X e Y?", "es", "RELATIONAL"),
        ("Welche Beziehung besteht zwischen X und Y?", "de", "RELATIONAL"),
        ("Compare Postgres and MySQL", "en", "COMPARATIVE"),
        ("comparé à l'année dernière, que vaut ce résultat ?", "fr", "COMPARATIVE"),
        ("comparar las dos ofertas", "es", "COMPARATIVE"),
        ("Vergleich der beiden Verfahren", "de", "COMPARATIVE"),
        ("en quoi X et Y divergent-ils", "fr", "COMPARATIVE"),
        ("kubectl vs helm", "en", "COMPARATIVE"),
        ("Which magazine was published first, Guitar World or Science News?", "en", "COMPARATIVE"),
        ("Worin unterscheiden sich Urlaub und Sonderurlaub?", "de", "COMPARATIVE"),
        ("¿En qué se diferencian X e Y?", "es", "COMPARATIVE"),
        ("Summarize the report", "en", "EXPLORATORY"),
        ("un résumé du rapport", "fr", "EXPLORATORY"),
        ("resumen del informe", "es", "EXPLORATORY"),
        ("Zusammenfassung des Berichts", "de", "EXPLORATORY"),
        ("Tell me about the pension plan", "en", "EXPLORATORY"),
        ("How to install the server", "en", "PROCEDURAL"),
        ("Comment faire une demande de passeport ?", "fr", "PROCEDURAL"),
        ("¿Cómo hacer una copia de seguridad?", "es", "PROCEDURAL"),
        ("Wie kann ich mein Passwort ändern?", "de", "PROCEDURAL"),
        ("How to compare two lists in Python", "en", "PROCEDURAL"),
        ("comment installer le serveur", "fr", "PROCEDURAL"),
        ("Analyze the impact of inflation on wages", "en", "ANALYTICAL"),
        ("Quels sont les effets de l'inflation ?", "fr", "ANALYTICAL"),
        ("Analiza las consecuencias de la guerra", "es", "ANALYTICAL"),
        ("Welche Auswirkungen hat die Reform?", "de", "ANALYTICAL"),
    ],
)
def test_patterns_count_point_eight_in_four_languages(text: str, language: str, wanted: QueryType) -> None:
    for given_language in (language, "", "it"):  # short texts are recognised badly
        found = classify(text, given_language)
        assert (found.type, found.confidence) == (wanted, 0.8), found


@pytest.mark.parametrize(
    ("text", "language", "wanted", "confidence"),
    [
        ("what is a kernel?", "en", "FACTUAL", 0.6),
        ("which form is needed", "en", "FACTUAL", 0.6),
        ("why did it fail?", "en", "ANALYTICAL", 0.5),
        ("quel formulaire faut-il ?", "fr", "FACTUAL", 0.6),
        ("Où se trouve le dossier ?", "fr", "FACTUAL", 0.6),
        ("pourquoi ce retard ?", "fr", "ANALYTICAL", 0.5),
        ("¿qué formulario necesito?", "es", "FACTUAL", 0.6),
        ("¿por qué falla?", "es", "ANALYTICAL", 0.5),
        ("welches Formular brauche ich?", "de", "FACTUAL", 0.6),
        ("warum ist das so?", "de", "ANALYTICAL", 0.5),
        ("opencv resize keep ratio python", "en", "UNKNOWN", 0.3),
        ("glaciers are melting", "en", "UNKNOWN", 0.3),
    ],
)
def test_question_words_and_nothing(text: str, language: str, wanted: QueryType, confidence: float) -> None:
    found = classify(text, language)
    assert (found.type, found.confidence) == (wanted, confidence), found


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("When was the ANC formed?", "en"),
        ("How many liters was the engine?", "en"),
        ("who is Lou Reed?", "en"),
        ("what is the capital of France?", "en"),
        ("Combien coûte le passeport ?", "fr"),
        ("En quelle année a-t-il été élu ?", "fr"),
        ("Qui est Jennifer Lopez?", "fr"),
        ("¿Cuántos habitantes tiene?", "es"),
        ("¿En qué año nació?", "es"),
        ("Wie viele Einwohner hat die Stadt?", "de"),
        ("Wann wurde sie gegründet?", "de"),
        ("Wie heißt die Hauptstadt von Frankreich?", "de"),
    ],
)
def test_strong_factual_questions_reach_point_eight(text: str, language: str) -> None:
    found = classify(text, language)
    assert (found.type, found.confidence) == ("FACTUAL", 0.8), found
    assert fusion_weights(found, (), has_graph=True) == FusionWeights(1.0, 0.0, "TEXT_ONLY")


# --- complexity -------------------------------------------------------------------------------------------------------


def test_the_worked_example() -> None:
    found = complexity(WORKED, classify(WORKED, "fr"), entities(WORKED, "fr", None), ("a", "b", "c"), SETTINGS)
    assert entities(WORKED, "fr", None) == ("X", "Y")
    assert found.factors == {
        "query_type": 1.0,
        "entity_count": 0.5,
        "subquestion_count": pytest.approx(2 / 3),
        "keyword_matches": 1.0,
        "low_confidence": 0.0,
    }
    assert found.score == pytest.approx(0.683, abs=0.001)
    assert (found.level, found.override) == ("COMPLEX", None)
    assert "0.683" in found.reasoning


@pytest.mark.parametrize(
    ("names", "text", "score", "level"),
    [
        (2, "compare the advantages now", 0.45, "MODERATE"),
        (3, "compare the advantages now", 0.50, "MODERATE"),
        (3, "compare the advantages and drawbacks now", 0.55, "COMPLEX"),
        (0, "compare these here please", 0.30, "SIMPLE"),
        (1, "compare these here please", 0.35, "MODERATE"),
    ],
)
def test_thresholds(names: int, text: str, score: float, level: str) -> None:
    compared = Classification("COMPARATIVE", 0.8, "test")
    found = complexity(text, compared, [f"Name{n}" for n in range(names)], (), SETTINGS)
    assert (found.score, found.level) == (pytest.approx(score, abs=1e-9), level)


@pytest.mark.parametrize(
    ("thresholds", "level"),
    [
        ({"moderate_from": 0.46}, "SIMPLE"),
        ({"moderate_from": 0.45}, "MODERATE"),
        ({"complex_from": 0.46}, "MODERATE"),
        ({"complex_from": 0.45}, "COMPLEX"),
    ],
)
def test_the_settings_say_from_where_a_question_is_complex(thresholds: dict[str, float], level: str) -> None:
    compared = Classification("COMPARATIVE", 0.8, "test")
    found = complexity("compare the advantages now", compared, ["A", "B"], (), RoutingSettings(**thresholds))
    assert (found.score, found.level) == (0.45, level)


def test_every_combination_is_routed_as_exact_fractions_are() -> None:
    for kind, names, parts, confidence in itertools.product(
        ("FACTUAL", "RELATIONAL", "ANALYTICAL"), range(6), range(6), (0.3, 0.5, 0.6, 0.7, 0.8)
    ):
        found = complexity(
            "budget holder", Classification(kind, confidence, "test"), ["n"] * names, ["q"] * parts, SETTINGS
        )
        exact = (
            Fraction(1, 4) * {"FACTUAL": 0, "RELATIONAL": Fraction(1, 2), "ANALYTICAL": 1}[kind]
            + Fraction(1, 5) * min(Fraction(names, 4), Fraction(1))
            + Fraction(1, 5) * min(Fraction(max(parts, 1) - 1, 3), Fraction(1))
            + Fraction(15, 100) * max(min((Fraction(7, 10) - Fraction(str(confidence))) * 2, Fraction(1)), Fraction(0))
        )
        level = "COMPLEX" if exact >= Fraction(55, 100) else "MODERATE" if exact >= Fraction(35, 100) else "SIMPLE"
        assert found.score == pytest.approx(float(exact), abs=1e-8)
        assert found.level == level


def test_the_keyword_table_and_a1_06_the_weights() -> None:
    assert sum(map(len, KEYWORDS.values())) >= 45
    assert len(KEYWORDS) == 5 * len(languages())
    assert sum(WEIGHTS.values()) == pytest.approx(1.0)
    assert keywords("compare les avantages et inconvenients du processus x")[:4] == (
        "compare",
        "avantages",
        "inconvenients",
        "processus",
    )
    assert keywords("why, and again why") == ("why",)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("why?", ()),
        ("what?", ()),
        ("and now?", ()),
        ("help", ()),
        ("good? bad? ugly?", ()),
        ("ou le chat ou le chien", ()),
    ],
)
def test_ambiguous(text: str, names: tuple[str, ...]) -> None:
    found = complexity(text, classify(text, "en"), names, (), SETTINGS)
    assert (found.score, found.level, found.override) == (0.65, "AMBIGUOUS", "ambiguous")


@pytest.mark.parametrize(
    "text",
    [
        "What is X?",
        "kubectl",
        "leave policy",
        "GDPR?",
        "pg_stat_io",
        "Was ist X?",
        "向量是什么",
        "what is 2+2",
        "Where is Nice?",
    ],
)
def test_short_is_not_ambiguous_with_an_entity_or_a_content_word(text: str) -> None:
    found = complexity(text, classify(text, "en"), entities(text, "en", None), (), SETTINGS)
    assert found.level == "SIMPLE"
    assert found.override is None


@pytest.mark.parametrize(
    "text",
    [
        "combien de documents ?",
        "list all docs",
        "wie viele Dokumente",
        "How many documents are there?",
        "what documents do you have?",
        "Which files are indexed?",
        "Combien de documents as-tu ?",
        "quels documents sont disponibles ?",
        "¿Cuántos documentos hay en la colección?",
        "lista todos los documentos",
        "Welche Dokumente hast du?",
        "Liste alle Dokumente auf",
        "what's in this knowledge base?",
        "Which documents mention Bremen?",
        "which files contain the word rollback?",
        "Quels documents parlent de télétravail ?",
        "¿Qué documentos mencionan el casco?",
        "In welchen Dokumenten kommt Bremen vor?",
    ],
)
def test_questions_about_the_collection(text: str) -> None:
    assert about_collection(text)
    found = complexity(text, classify(text, "en"), (), (), SETTINGS)
    assert (found.score, found.override, found.level) == (0.75, "database_meta", "COMPLEX")


@pytest.mark.parametrize(
    "text",
    [
        "what does the documentation say about leave?",
        "how many documents are required to apply for a visa?",
        "Quels documents fournir pour un passeport ?",
        "¿Qué documentos necesito para el visado?",
        "Welche Dokumente brauche ich für den Antrag?",
        "how many pages does the report have?",
        "what is a doc string?",
        "¿Cuántas fuentes hay en París?",
        "What documents contain personal data and must be shredded?",
    ],
)
def test_documents_that_one_needs_are_not_the_collection(text: str) -> None:
    assert not about_collection(text)


# --- weights ----------------------------------------------------------------------------------------------------------


def test_weights() -> None:
    def weigh(kind: QueryType, confidence: float = 0.6, names: tuple[str, ...] = ("X",)) -> tuple[float, float, str]:
        found = fusion_weights(Classification(kind, confidence, "test"), names, has_graph=True)
        return found.text, found.graph, found.mode

    assert weigh("FACTUAL") == weigh("FACTUAL", 0.7) == (0.7, 0.3, "HYBRID")
    assert weigh("FACTUAL", 0.71) == (1.0, 0.0, "TEXT_ONLY")
    assert weigh("RELATIONAL") == (0.2, 0.8, "HYBRID")
    assert weigh("RELATIONAL", names=()) == (0.5, 0.5, "HYBRID")
    assert weigh("COMPARATIVE") == (0.3, 0.7, "HYBRID")
    assert weigh("EXPLORATORY") == (0.0, 1.0, "GRAPH_ONLY")
    assert weigh("PROCEDURAL") == (0.8, 0.2, "HYBRID")
    assert weigh("ANALYTICAL") == (0.5, 0.5, "HYBRID")
    assert weigh("UNKNOWN", 0.3) == (0.6, 0.4, "HYBRID")


@pytest.mark.parametrize("kind", ["FACTUAL", "RELATIONAL", "EXPLORATORY", "UNKNOWN"])
def test_a_collection_without_a_graph_has_text_alone(kind: QueryType) -> None:
    assert fusion_weights(Classification(kind, 0.8, "test"), (), has_graph=False) == FusionWeights(
        1.0, 0.0, "TEXT_ONLY"
    )


# --- anything ---------------------------------------------------------------------------------------------------------


@given(st.text(max_size=400), st.sampled_from(["en", "fr", "es", "de", "ja", ""]))
def test_every_text_gets_a_score(text: str, language: str) -> None:
    found = complexity(text, classify(text, language), entities(text, language, None), (), SETTINGS)
    assert 0 <= found.score <= 1
    assert found.reasoning.endswith(".")


@pytest.mark.parametrize(
    "unit",
    [
        "which a, ",
        "between a and b ",
        "A of ",
        "a.",
        "«",
        "wie viele dokumente ",
        "are a and both ",
        "\ud800",
        "X-1.",
        "? ",
    ],
)
def test_long_texts_take_bounded_time(unit: str) -> None:
    text = (unit * 20000)[:20000]
    started = time.thread_time()
    complexity(text, classify(text, "en"), entities(text, "de", None), (), SETTINGS)
    assert time.thread_time() - started < patience(5, least=0)  # a runaway expression takes minutes
