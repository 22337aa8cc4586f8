"""The document's language decides how its words are stemmed; uncertain means the default."""

from __future__ import annotations

import pytest

from cairn.language.identify import CONFIGURATIONS, detect_language

SENTENCES = {
    "en": "The committee approved the annual budget after a long discussion about the new hospital in the city.",
    "fr": "Le comité a approuvé le budget annuel après une longue discussion sur le nouvel hôpital de la ville.",
    "de": "Der Ausschuss genehmigte nach langer Diskussion über das neue Krankenhaus der Stadt den Jahreshaushalt.",
    "es": "El comité aprobó el presupuesto anual después de una larga discusión sobre el nuevo hospital de la ciudad.",
    "it": "Il comitato ha approvato il bilancio annuale dopo una lunga discussione sul nuovo ospedale della città.",
    "nl": "De commissie keurde de jaarlijkse begroting goed na een lange discussie over het nieuwe ziekenhuis.",
    "pt": "O comitê aprovou o orçamento anual depois de uma longa discussão sobre o novo hospital da cidade.",
    "ru": "Комитет утвердил годовой бюджет после долгого обсуждения новой городской больницы.",
    "ar": "وافقت اللجنة على الميزانية السنوية بعد مناقشة طويلة حول المستشفى الجديد في المدينة.",
    "tr": "Komite, şehirdeki yeni hastane hakkında uzun bir tartışmanın ardından yıllık bütçeyi onayladı.",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_is_enough(code: str) -> None:
    assert detect_language(SENTENCES[code], "simple") == (code, CONFIGURATIONS[code])


def test_languages_without_a_stemmer_are_left_unstemmed() -> None:
    korean = "국회입법조사처는 코로나바이러스와 관련하여 생명보험 업계의 보험금 지급 문제를 조사하였다."
    assert detect_language(korean, "english") == ("ko", "simple")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PostgreSQL",
        "hello",
        "Rapport 2024",
        "IBM Research Zurich",
        "Alice, Bob, Carol, Dave, Erin",
        "0.1 0.2 0.3 5 6 7 8 | 12,000 | 3.5 %",
        "SELECT * FROM a WHERE b = 1;",
        "def foo(x): return x+1",
        "Name | Age | City\nTom | 12 | Rome",
    ],
)
def test_short_or_strange_texts_keep_the_default(text: str) -> None:
    """They must not flip to a language that nobody wrote."""
    assert detect_language(text, "german") == (None, "german")


def test_a_long_code_file_is_taken_for_the_language_of_its_comments() -> None:
    comment = "# The pool hands out connections and takes them back when the request has ended.\n"
    assert detect_language((comment + "x = connect(1)\n") * 20, "simple")[0] == "en"


def test_only_the_beginning_is_read() -> None:
    """2 kB decide: a cut inside a character does no harm, and what follows changes nothing."""
    text = "é" + SENTENCES["fr"] * 25
    assert detect_language(text + SENTENCES["ru"] * 500, "simple") == ("fr", "french")


def test_a_page_that_begins_with_its_menu_is_judged_by_its_middle() -> None:
    menu = "\n".join(["Acèh", "Afrikaans", "አማርኛ", "العربية", "Авар", "বাংলা", "12", "Català", "Ελληνικά", "日本語"] * 40)
    assert detect_language(menu, "simple")[0] is None
    assert detect_language(menu + "\n" + SENTENCES["en"] * 80, "simple") == ("en", "english")
