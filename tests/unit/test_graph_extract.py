"""Entities and relations of documents by rules, without a model."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.graph import Extraction
from cairn.graph.extract import MOST_ENTITIES, PassageSpan, extract
from cairn.graph.keys import (
    acronyms,
    bare_title,
    key_of,
)
from cairn.graph.relations import MOST_RELATIONS, sentences
from tests.growth import repeated, takes_linear_time


def read(text: str, title: str = "", language: str = "en", headings: tuple[str, ...] = ()) -> Extraction:
    return extract(text, [PassageSpan(0, len(text), headings)], title=title, language=language)[0]


def named(text: str, language: str = "en") -> set[str]:
    return {mention.name for mention in read(text, language=language).entities}


def stated(extraction: Extraction) -> set[tuple[str, str, str]]:
    return {(r.source, r.kind, r.target) for r in extraction.relations if r.kind != "co_occurs"}


@pytest.mark.parametrize(
    ("text", "language", "wanted"),
    [
        ("The film stars Amy Adams. It was shot in Vancouver.", "en", {"Amy Adams", "Vancouver"}),
        ("He studied at the University of Oxford and in New York.", "en", {"University of Oxford", "New York"}),
        ("We read about J. R. R. Tolkien and St. Louis.", "en", {"J. R. R. Tolkien", "St. Louis"}),
        ("They met near Lake Geneva. The police came.", "en", {"Lake Geneva"}),
        ("It calls pg_stat_io and parse_tree() of HNSWIndex.", "en", {"pg_stat_io", "parse_tree", "HNSWIndex"}),
        ('He sang "Hello Love" on Monday in March.', "en", {"Hello Love"}),
        ("Elle travaille à l'Université de Genève avec Marie Curie.", "fr", {"Université de Genève", "Marie Curie"}),
        ("El río Ebro pasa por Zaragoza y llega a Tortosa.", "es", {"Ebro", "Zaragoza", "Tortosa"}),
        ("Die Regierung von Angela Merkel saß in Berlin.", "de", {"Angela Merkel", "Berlin"}),
        ("They flew from Los Angeles to La Paz in the U.S. army.", "en", {"Los Angeles", "La Paz", "U.S."}),
        ("the flow over a flat plate is laminar .", "en", set()),
    ],
)
def test_names_of_four_languages(text: str, language: str, wanted: set[str]) -> None:
    assert named(text, language) == wanted


def test_the_document_tells_whether_a_word_that_begins_a_sentence_is_a_name() -> None:
    assert "Passengers" not in named("Passengers must wait. The bus to Lyon is late.")
    assert "Lyon" in named("Lyon lies on the river. We went to Lyon by bus.")
    assert named("Paris is cold. Water boils.") == {"Paris"}


FILING = """\
Best Buy Co., Inc. | 2023 Form 10-K

# Table of Contents

Best Buy is led by its Board of Directors. BEST BUY CO., INC. filed an annual report on Form 10-K. The 10-K is long.
The Company sells phones and a company buys them and/or leases them. Each Participant is paid; any Participant may leave.

| Year Ended | Net Sales | Deloitte & Touche LLP |
| --- | --- | --- |
| Total | Domestic Revenue Growth (loss) | Geek Squad |

```
SELECT NAME FROM DESC
```

See [Managing Stores](https://example.org/docs/stores) of the U.S. Securities and Exchange Commission.
Shipping to Store Fronts
Shipping to Store Fronts
Shipping to Store Fronts
Shipping to Store Fronts
"""


def test_headings_tables_code_and_legal_forms_name_nothing_and_one_company_is_one_name() -> None:
    found = read(FILING, headings=("Table of Contents",))
    keys = {key_of(m.name) for m in found.entities if m.kind not in ("topic", "term")}
    assert keys == {"best buy", "deloitte touche", "geek squad", "us", "securities and exchange commission"}
    assert {m.kind for m in found.entities if key_of(m.name) == "best buy"} == {"organisation"}


@pytest.mark.parametrize(
    ("text", "language", "wanted"),
    [
        ("Il écrit à l'Agence nationale des titres sécurisés. Pôle emploi répond.", "fr",
         {"Agence nationale des titres sécurisés", "Pôle emploi"}),
        ("Elle vit dans l'Union européenne, en République tchèque.", "fr", {"Union européenne", "République tchèque"}),
        ("La ley de la Unión Europea y del Parlamento europeo.", "es", {"Unión Europea", "Parlamento europeo"}),
        ("It is shipped in Source. The source is free.", "en", set()),
        ("We pay Ernst & Young LLP and Acme Widgets, Ltd. for it.", "en", {"Ernst & Young LLP", "Acme Widgets, Ltd."}),
        ("They use Amazon Web\nServices. We like Amazon Web Services.", "en", {"Amazon Web Services"}),
        ("Otherwise, go. Otherwise, stay. Create a file. Create a list.", "en", set()),
        ("It is written jour/mois/année. On écrit le jour, le mois et l'année.", "fr", set()),
        ("In the XIX and the XX century, Mr said it _not_ once in km2.", "en", set()),
        ("The key 91A6 and ad72e262 lie in /home/user/work and call parse_tree().", "en", {"parse_tree"}),
        ("Il a écrit à Madame puis au XIX siècle.", "fr", set()),
    ],
)  # fmt: skip
def test_a_name_is_whole_and_a_common_word_is_none(text: str, language: str, wanted: set[str]) -> None:
    assert named(text, language) == wanted


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        # a word that the document writes in small letters, too, begins a sentence or a line, and the name
        ("The best offer. We buy it.\n\nBest Buy Canada Ltd. sold more.", "Best Buy Canada Ltd", "Buy Canada Ltd"),
        ("Put a mark there.\n\nMark A. Pallot, a writer, sold more.", "Mark A. Pallot", "A. Pallot"),
        ("The federal rate is published by the\nFederal Reserve Board in time.", "Federal Reserve Board", "Reserve Board"),
        ("Every actor came.\n\nActor Tom Hanks came, too.", "Tom Hanks", "Actor Tom Hanks"),
        # words that are written as no other word is begin names of firms
        ("We own Spirit AeroSystems Holdings, Inc. by now.", "Spirit AeroSystems Holdings, Inc.", "Holdings, Inc."),
        ("We own 3M India Limited by now.", "3M India Limited", "India Limited"),
        ("We like AeroSystems so. We asked Mary Shaw, a writer.", "AeroSystems", "AeroSystems. We asked Mary Shaw"),
        # the seat behind the legal form
        ("It works in Delaware.\n\nCorning Tropel Corporation Delaware", "Corning Tropel Corporation",
         "Corning Tropel Corporation Delaware"),
        ("They like the Walt Disney Company Store.", "Walt Disney Company Store", "Store"),
        # lines of a list
        ("We own these:\n\nAcme Widgets\nNational Bank of Chicago\n", "National Bank of Chicago",
         "Acme Widgets National Bank of Chicago"),
    ],
)  # fmt: skip
def test_names_of_firms_and_people_are_whole(text: str, wanted: str, unwanted: str) -> None:
    found = named(text)
    assert wanted in found
    assert unwanted not in found


def test_a_place_is_told_by_more_than_one_preposition() -> None:
    text = "Draw it in Photoshop. We sell Photoshop. They buy Photoshop. All use Photoshop. She lives in Lyon. We like Lyon."
    kinds = {m.name: m.kind for m in read(text).entities}
    assert (kinds["Photoshop"], kinds["Lyon"]) == ("name", "place")


def test_a_surname_stands_for_the_person_and_an_acronym_for_its_expansion() -> None:
    text = "Hank Snow joined the American Basketball Association (ABA). Later Snow left the ABA."
    found = read(text)
    assert [m.name for m in found.entities].count("Hank Snow") == 2
    assert [m.name for m in found.entities].count("American Basketball Association") == 3
    assert {(a.alias, a.name, a.reason) for a in found.aliases} == {
        ("Snow", "Hank Snow", "surname"),
        ("ABA", "American Basketball Association", "acronym"),
    }


def test_a_surname_of_two_people_stands_for_neither() -> None:
    assert not read("We saw Tom Hanks and Colin Hanks. Then Hanks left.").aliases


@pytest.mark.parametrize(
    "text",
    [
        "He lives in Delaware. The paper on Voting Under Delaware is long. They left Delaware.",
        "We met the Viscount of Jersey. Later we saw Jersey. A viscount came, too.",
        "It asks Google Public DNS. The record of the DNS is old.",
    ],
    ids=["said before the longer name", "an office", "an acronym"],
)
def test_what_is_no_person_has_no_surname(text: str) -> None:
    assert not read(text).aliases


def test_a_title_that_begins_with_a_common_word_lends_its_last_one_no_name() -> None:
    found = read("The history is long. It was 2016 when Klipper began.", title="History of Klipper")
    assert "Klipper" in {mention.name for mention in found.entities}


def kinds_in(text: str, language: str = "en", title: str = "") -> dict[str, str]:
    return {mention.name: mention.kind for mention in read(text, title, language).entities if mention.end}


@pytest.mark.parametrize(
    ("text", "language", "phrase", "name"),
    [
        (
            "“Defaulting Lender” means a lender that is defaulting. We told Morgan Stanley.", "en",
            "Defaulting Lender", "Morgan Stanley",
        ),
        ("Prints blobs. Prints trees. We use Borg here.", "en", "Prints", "Borg"),
        ("- Participer demain. On aime Nantes.\n2. Participer ensemble.\n", "fr", "Participer", "Nantes"),
        ("Man speichert mit Metadaten gern. Metadatenformate gibt es. Wir nutzen heute Zope gern.", "de", "Metadaten", "Zope"),
        ("Er wohnt in Büchern. Viele Bücher sind alt. Er lebt in Warschau.", "de", "Büchern", "Warschau"),
        ("Nun Wählen Sie etwas. Dann nutzen wir Zope gern.", "de", "Wählen Sie", "Zope"),
    ],
    ids=["a defined term", "a verb", "a verb in a list", "a compounded noun", "an inflected noun", "an order"],
)  # fmt: skip
def test_what_shows_no_sign_of_being_a_name_is_a_term(text: str, language: str, phrase: str, name: str) -> None:
    kinds = kinds_in(text, language)
    assert kinds[phrase] == "term"
    assert kinds[name] in ("name", "place", "person", "organisation")


@pytest.mark.parametrize(
    ("text", "language", "title", "name"),
    [
        ("Zope is loud. Zope was good.", "en", "", "Zope"),
        ("The digital world. All media. Here Digital Media grows.", "en", "", "Digital Media"),
        (
            "| Digital Media | 3 |\n\nThe digital world, all media. So Digital Media grows.",
            "en",
            "Digital Media",
            "Digital Media",
        ),
        ("Man fährt nach Berlin. Jeder Berliner kennt die Berlinale.", "de", "", "Berlin"),
        ("They asked NASA for the data. NASA sent it.", "en", "", "NASA"),
    ],
    ids=["what is said of it", "within a sentence only", "the title", "a town and its people", "an acronym"],
)
def test_what_has_a_sign_of_it_stays_a_name(text: str, language: str, title: str, name: str) -> None:
    assert kinds_in(text, language, title)[name] in ("name", "place")


def test_a_term_has_the_key_of_the_name_that_it_is_written_like() -> None:
    assert key_of("Defaulting Lenders", "term") == key_of("Defaulting Lenders")
    assert key_of("defaulting lenders", "term") == "defaulting lender"


def test_title_and_heading_are_topics_with_an_empty_span() -> None:
    found = read("A play in verse.", title="Brand (play)", headings=("Works", "Early plays"))
    topics = [m for m in found.entities if m.kind == "topic"]
    assert [(m.name, m.start, m.end) for m in topics] == [("Brand", 0, 0), ("Early plays", 0, 0)]
    assert [(a.alias, a.name) for a in found.aliases] == [("Brand (play)", "Brand")]


def test_a_title_is_a_topic_of_the_first_passage_only_and_a_heading_where_it_begins() -> None:
    text = "One thing. Another thing."
    spans = [PassageSpan(0, 10, ("A part",)), PassageSpan(11, 25, ("A part",))]
    first, second = extract(text, spans, title="A tale", language="en")
    assert {m.name for m in first.entities} == {"A tale", "A part"}
    assert not second.entities


@pytest.mark.parametrize(
    ("text", "title", "language", "wanted"),
    [
        ("Big Eyes, directed by Tim Burton, is a film.", "", "en", ("Big Eyes", "directed_by", "Tim Burton")),
        ("We know that Microsoft was founded by Bill Gates.", "", "en", ("Microsoft", "founded_by", "Bill Gates")),
        ("He was born in Nashville.", "Hank Snow", "en", ("Hank Snow", "born_in", "Nashville")),
        ("So Vaduz is the capital of Liechtenstein.", "", "en", ("Vaduz", "capital_of", "Liechtenstein")),
        ("On sait que Marie Curie, née à Varsovie, vécut.", "", "fr", ("Marie Curie", "born_in", "Varsovie")),
        ("Se sabe que Madrid es la capital de España.", "", "es", ("Madrid", "capital_of", "España")),
        ("Der Ort heißt Malbun. Malbun liegt in Liechtenstein.", "", "de", ("Malbun", "located_in", "Liechtenstein")),
    ],
)
def test_relations_that_the_words_state(text: str, title: str, language: str, wanted: tuple[str, str, str]) -> None:
    assert wanted in stated(read(text, title, language))


def test_a_comma_relates_places_and_not_the_members_of_a_list() -> None:
    assert not stated(read("There they met Amy Adams, Tim Burton."))
    assert stated(read("They live in Brooklyn, New York.")) == {("Brooklyn", "in", "New York")}


def test_relations_point_at_the_sentence_that_proves_them() -> None:
    text = "It was late. Later Tim Burton met Amy Adams in Paris. They left."
    relation = next(r for r in read(text).relations if {r.source, r.target} == {"Tim Burton", "Amy Adams"})
    assert text[relation.start : relation.end] == "Later Tim Burton met Amy Adams in Paris."
    assert relation.kind == "co_occurs"


def test_phrases_that_a_document_keeps_using_are_terms() -> None:
    text = "a boundary layer forms . the boundary layer grows and boundary layers separate ."
    terms = [m for m in read(text).entities if m.kind == "term"]
    assert {m.name for m in terms} == {"boundary layer"}
    assert len(terms) == 3


def test_mentions_say_where_they_stand_in_the_document() -> None:
    text = "Once Amy Adams lived here. And now Tim Burton lives here."
    spans = [PassageSpan(0, 26), PassageSpan(27, len(text))]
    for span, found in zip(spans, extract(text, spans, language="en"), strict=True):
        (mention,) = found.entities
        assert text[mention.start : mention.end] == mention.name
        assert span.start <= mention.start < mention.end <= span.end


@given(st.text(alphabet="ABab .,\n'\"(’é1_-:", max_size=300), st.sampled_from(["en", "fr", "es", "de"]))
def test_any_text_gives_mentions_inside_their_passages(text: str, language: str) -> None:
    half = len(text) // 2
    spans = [PassageSpan(0, half), PassageSpan(half, len(text))]
    for span, found in zip(spans, extract(text, spans, title=text[:20], language=language), strict=True):
        assert len(found.entities) <= MOST_ENTITIES
        assert len(found.relations) <= MOST_RELATIONS
        names = {key_of(m.name) for m in found.entities} | {key_of(bare_title(text[:20]))}
        assert all(span.start <= m.start <= m.end <= span.end for m in found.entities)
        assert all(key_of(r.source) in names and key_of(r.target) in names for r in found.relations)
        assert all(span.start <= r.start <= r.end <= span.end for r in found.relations)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("begin", "unit"),
    [("", "A "), ("", "Ab. "), ("", "a_b "), ("", "("), ("", "x y "), ("Foo Bar", ", Inc"), ("Foo", " Inc")],
)
def test_long_texts_of_one_kind_are_read_in_linear_time(begin: str, unit: str) -> None:
    def read_passages(text: str) -> None:
        spans = [PassageSpan(at, min(at + 2000, len(text))) for at in range(0, len(text), 1800)]
        extract(text, spans, language="en")

    assert takes_linear_time(read_passages, lambda size: begin + repeated(unit)(size), 10_000)


def test_a_line_of_numbers_with_names_is_read_in_linear_time() -> None:
    def made(size: int) -> str:
        return "1 " * (size // 2) + " ".join(f"sagt Zorbax{chr(97 + n % 26)} 5" for n in range(size // 30))

    def read(text: str) -> None:
        extract(text, [PassageSpan(0, len(text))], language="de")

    assert takes_linear_time(read, made, 10_000)


def test_a_long_word_among_german_ones_takes_no_memory_for_its_parts() -> None:
    text = "Der Bericht nennt Daten. " + "acgt" * 15_000 + " steht hier. Daten sind da."
    tracemalloc.start()
    try:
        extract(text, [PassageSpan(0, len(text))], language="de")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200 * len(text)


def test_sentences_end_neither_at_initials_nor_at_abbreviations() -> None:
    text = "Dr. J. R. Tolkien met Mr. Lewis. They talked. Later: nothing"
    assert [text[a:b] for a, b in sentences(text, 0, len(text))] == [
        "Dr. J. R. Tolkien met Mr. Lewis.",
        "They talked.",
        "Later: nothing",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Best Buy Co., Inc.", "BEST BUY"), ("Müller GmbH", "Müller"), ("Danone SA", "Danone"),
     ("The Beatles'", "beatles"), ("U.S.A.", "USA"), ("U.S", "US"), ("U.S.", "US"),
     ("Élysée", "elysee"), ("Saint-Denis", "Saint Denis"), ("L’Oréal", "Oreal")],
)  # fmt: skip
def test_spellings_of_one_name_have_one_key(one: str, other: str) -> None:
    assert key_of(one) == key_of(other) != ""


def test_keys_tell_names_apart() -> None:
    assert key_of("Paris") != key_of("Pari")
    assert key_of("boundary layers", "term") == key_of("boundary layer", "term")
    assert key_of("C++") != key_of("C")
    assert key_of("...") == ""
    assert key_of("Inc.") == "inc"
    assert key_of("casa sa") != key_of("casa")


def test_an_acronym_needs_its_initials() -> None:
    assert acronyms("the Federal Bureau of Investigation (FBI)")[0][:2] == ("Federal Bureau of Investigation", "FBI")
    assert not acronyms("the Bureau (FBI)")
    assert not acronyms("a word (Paris)")


@pytest.mark.parametrize(
    ("text", "language", "name", "kind"),
    [
        ("We know Intel well. Intel is an American technology company.", "en", "Intel", "organisation"),
        ("Intel Corp sells. They paid Intel for it.", "en", "Intel", "organisation"),
        ("We met Ringo Starr. Ringo Starr was a member of the band.", "en", "Ringo Starr", "name"),
        ("It uses the General Public License.", "en", "General Public License", "name"),
        ("Sie lebt in Berlin. Das ist gut.", "de", "Berlin", "place"),
        ("Now IF SUCH HOLDER OR OTHER PARTY HAS said so, then all of this is written in small letters.", "en",
         "IF SUCH HOLDER OR OTHER PARTY HAS", "name"),
    ],
)  # fmt: skip
def test_kinds_by_what_stands_beside_a_name(text: str, language: str, name: str, kind: str) -> None:
    assert {m.kind for m in read(text, language=language).entities if m.name == name} == {kind}
