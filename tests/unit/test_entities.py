"""What a question names (entities are counted)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.plan import Vocabulary
from cairn.query.entities import MOST, entities


@pytest.mark.parametrize(
    ("text", "language", "wanted"),
    [
        ("What is X?", "en", ("X",)),
        ("en quoi X et Y divergent-ils", "fr", ("X", "Y")),
        ("Who is George Armstrong Custer?", "en", ("George Armstrong Custer",)),
        ("Is the Bank of America in New York?", "en", ("Bank of America", "New York")),
        ('Who wrote "War and Peace"?', "en", ("War and Peace",)),
        ("Qui a écrit « Les Misérables » ?", "fr", ("Les Misérables",)),
        ("What does pg_stat_io show?", "en", ("pg_stat_io",)),
        ("Is CVE-2024-1234 fixed in HNSWIndex?", "en", ("CVE-2024-1234", "HNSWIndex")),
        ("C++ or Rust?", "en", ("C++", "Rust")),
        ("What was Tesla's first patent?", "en", ("Tesla",)),
        ("¿Dónde está la Universidad de Chile?", "es", ("Universidad de Chile",)),
        ("Quel est le rôle de l'ONU ?", "fr", ("ONU",)),
        ("Compare the two offers", "en", ()),
        ("How many people live there?", "en", ()),
        ("How much is 5 kg or 20%?", "en", ()),
        ("I think I am late", "en", ()),
        ("WHAT IS THE LEAVE POLICY", "en", ()),
        (
            "Welche Beziehung besteht zwischen Angela Merkel und Wladimir Putin?",
            "de",
            ("Angela Merkel", "Wladimir Putin"),
        ),
        ("Wo liegt das Harvard Stadium in Berlin?", "de", ("Harvard Stadium", "Berlin")),
        ("Wie viele Einwohner hat die Stadt?", "de", ()),
        ("Was ist die Bedeutung der Regelung für den Urlaub?", "de", ()),
        ("Wer war Otto von Bismarck?", "de", ("Otto von Bismarck",)),
        ("Paris or paris or PARIS, but not London in the end?", "en", ("PARIS", "London")),
    ],
)
def test_entities_of_questions(text: str, language: str, wanted: tuple[str, ...]) -> None:
    assert entities(text, language, None) == wanted


def test_rare_words_of_the_collection_stand_in_where_nothing_is_named() -> None:
    held = Vocabulary(1000, {"cairns": 3, "trail": 400, "maintenance": 8, "policy": 90})
    assert entities("who does the maintenance of cairns on the trail", "en", held) == ("maintenance", "cairns")
    assert entities("who looks after cairns in Scotland", "en", held) == ("Scotland",)
    assert entities("what is the policy", "en", held) == ()


@given(st.text(max_size=500), st.sampled_from(["en", "de", "xx"]))
def test_entities_come_from_the_text(text: str, language: str) -> None:
    found = entities(text, language, Vocabulary(100, {}))
    assert len(found) <= MOST
    assert all(name in text for name in found)
