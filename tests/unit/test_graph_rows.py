"""From what passages say to rows: one row per name and passage, both ends of a relation mentioned, ids that are hashes."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.graph import Alias, EntityKey, EntityMention, Extraction, RelationMention, entity_id, relation_id
from cairn.graph.rows import LONGEST_NAME, entity_key, graph_rows
from cairn.settings import GraphSettings

ONE, TWO = UUID(int=1), UUID(int=2)
TEXT = "Marie Curie met Ben. Curie left. MARIE CURIE came back."
ALL = GraphSettings()


def mention(name: str, start: int, end: int, kind: str = "name") -> EntityMention:
    return EntityMention(name, kind, start, end)  # type: ignore[arg-type]


def test_repeated_mentions_are_one_row_and_other_spellings_another() -> None:
    found = [mention("Marie Curie", 0, 11), mention("Marie Curie", 21, 26), mention("Marie Curie", 33, 44)]
    rows = graph_rows(TEXT, [(ONE, Extraction((*found, found[0])))], ALL).mentions
    assert [(r.name, r.form, r.occurrences, r.start) for r in rows] == [
        ("Marie Curie", "marie curie", 2, 0), ("Curie", "curie", 1, 21), ("MARIE CURIE", "marie curie", 1, 33),
    ]  # fmt: skip
    assert {r.entity for r in rows} == {EntityKey("text", "marie curie")}


def test_what_proves_a_relation_mentions_both_ends() -> None:
    """A title that a passage only implies occurs 0 times in it."""
    relations = (
        RelationMention("Marie Curie", "met", "Ben", 0, 20, 1.0),
        RelationMention("The Life of Curie", "co_occurs", "Ben", 0, 20, 0.4),
        RelationMention("Ben", "co_occurs", "The Life of Curie", 21, 32, 0.4),
        RelationMention("Ben", "is", "BEN", 0, 20, 1.0),
    )
    extraction = Extraction((mention("Marie Curie", 0, 11), mention("Ben", 16, 19)), relations)
    graph = graph_rows(TEXT, [(ONE, extraction)], ALL)
    mentioned = {row.entity for row in graph.mentions}
    assert all({row.source, row.target} <= mentioned for row in graph.evidence)
    assert [r.occurrences for r in graph.mentions if r.name == "The Life of Curie"] == [0]
    assert [(r.kind, r.strength) for r in graph.evidence] == [("met", 1.0), ("co_occurs", 0.8)], "no loop to itself"


def test_aliases_stand_with_each_passage_that_mentions_their_entity() -> None:
    alias = (Alias("World Health Organization", "WHO", "acronym"),)
    named = Extraction((mention("World Health Organization", 0, 0),), (), alias)
    graph = graph_rows(TEXT, [(ONE, named), (TWO, Extraction((mention("Ben", 16, 19),), (), alias))], ALL)
    assert [(r.passage_id, r.name, r.form, r.occurrences) for r in graph.mentions if r.form == "who"] == [
        (ONE, "WHO", "who", 0)
    ]


def test_code_is_a_family_of_its_own_and_keeps_its_case() -> None:
    assert entity_key("app.Pool.get", "method") == EntityKey("code", "app.Pool.get")
    assert entity_key("The Pools", "name") == entity_key("pools", "place") == EntityKey("text", "pools")
    assert entity_key("pg_stat_io", "identifier").family == "identifier"


def test_caps_and_long_names() -> None:
    many = tuple(mention(f"Name {n}", 0, 0) for n in range(50))
    long = mention("x" * (LONGEST_NAME + 1), 0, 0)
    graph = graph_rows(TEXT, [(ONE, Extraction((long, *many)))], GraphSettings(max_mentions=10))
    assert [row.name for row in graph.mentions] == [f"Name {n}" for n in range(9)]


def test_no_more_relations_of_a_passage_are_kept_than_the_settings_say() -> None:
    relations = tuple(RelationMention("Ben", "met", f"Name {n}", 0, 20, 1.0) for n in range(9))
    graph = graph_rows(TEXT, [(ONE, Extraction((), relations))], GraphSettings(max_relations=4))
    assert [row.target.normal for row in graph.evidence] == [f"name {n}" for n in range(4)]


@given(st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6)), unique=True, max_size=30))
def test_ids_differ_where_what_they_stand_for_does(pairs: list[tuple[str, str]]) -> None:
    keys = [EntityKey(family.replace("\0", ""), normal) for family, normal in pairs]
    unique = set(keys)
    ids = {entity_id(ONE, one) for one in unique} | {entity_id(TWO, one) for one in unique}
    assert len(ids) == 2 * len(unique)
    assert all(found.version == 8 for found in ids)
    related = {relation_id(ONE, "is", TWO), relation_id(TWO, "is", ONE), relation_id(ONE, "has", TWO)}
    assert len(related) == 3
