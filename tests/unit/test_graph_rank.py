"""Passages that the graph finds: their ranking and how they join what the text legs found."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.passage import Fused, Hit, LegResult
from cairn.domain.plan import FusionWeights
from cairn.graph.link import keys_of
from cairn.graph.rank import (
    LINKED,
    MOST_PASSAGES,
    NAMED,
    NAMED_TOPIC,
    SAID,
    TOPIC,
    UNNAMED,
    NamingPassage,
    Seed,
    SharedEntity,
    Term,
    rank,
)
from cairn.retrieve.fuse import with_graph, with_graph_capped

EYES, BURTON, ADAMS, ENTITY = UUID(int=1), UUID(int=2), UUID(int=3), UUID(int=9)
WEIGHTS: dict[Term, float] = {"spouse": 3.0, "director": 2.0, "big": 2.0, "eyes": 3.0}
SEED = Seed(EYES, 1.0, frozenset(["director", "big", "eyes"]), named=True)


def link(to: UUID, *, passages: int = 2, topic: bool = False, said: frozenset[Term] = frozenset()) -> SharedEntity:
    return SharedEntity(EYES, to, ENTITY, passages, topic, said)


def test_a_passage_is_worth_what_it_adds_to_its_seed() -> None:
    """Who is the spouse of the director of Big Eyes: Burton's passage holds "spouse", which the seed lacks."""
    links = [link(BURTON, said=frozenset(["director"])), link(ADAMS)]
    held: dict[UUID, frozenset[Term]] = {BURTON: frozenset(["spouse", "big"]), ADAMS: frozenset(["big"])}
    first, second = rank(WEIGHTS, [SEED], links, held)
    assert (first.passage_id, first.seed_id, first.entity_id) == (BURTON, EYES, ENTITY)
    assert first.score == pytest.approx(0.3 + SAID * 0.2 + LINKED)
    assert second.score == pytest.approx(LINKED)


def test_rare_bridges_and_topics_and_named_seeds_are_worth_more() -> None:
    def worth(one: SharedEntity, seed: Seed = SEED) -> float:
        return rank(WEIGHTS, [seed], [one], {})[0].score

    assert worth(link(BURTON, topic=True)) == pytest.approx(LINKED + TOPIC)
    assert worth(link(BURTON, passages=8)) == pytest.approx(LINKED / 2)
    assert worth(link(BURTON), Seed(EYES, 1.0, frozenset(), named=False)) == pytest.approx(LINKED * UNNAMED)
    assert worth(link(BURTON), Seed(EYES, 0.5, frozenset(), named=True)) == pytest.approx(LINKED / 4)


def test_hubs_and_entities_of_one_passage_join_nothing() -> None:
    assert not rank(WEIGHTS, [SEED], [link(BURTON, passages=MOST_PASSAGES + 1), link(BURTON, passages=1)], {})
    assert not rank(WEIGHTS, [SEED], [link(EYES)], {})
    assert not rank(WEIGHTS, [], [link(BURTON)], {})


def test_the_best_of_several_ways_counts() -> None:
    (found,) = rank(WEIGHTS, [SEED], [link(BURTON, passages=9), link(BURTON, topic=True), link(BURTON)], {})
    assert found.score == pytest.approx(LINKED + TOPIC)


def test_what_the_question_names_counts_without_a_seed_and_topics_more() -> None:
    """Are X and Y both ...: the passages about both of them are needed, whatever links them."""
    named = [
        NamingPassage(BURTON, ENTITY, 4, False),
        NamingPassage(ADAMS, ENTITY, 1, True),
        NamingPassage(EYES, ENTITY, MOST_PASSAGES + 1, True),
    ]
    first, second = rank(WEIGHTS, [SEED], [link(BURTON)], {}, named)
    assert (first.passage_id, first.seed_id) == (ADAMS, None)
    assert (second.passage_id, second.seed_id) == (BURTON, None)
    assert (first.score, second.score) == pytest.approx((NAMED_TOPIC, NAMED / 2))


def test_a_question_without_weight_still_ranks() -> None:
    assert rank({}, [SEED], [link(BURTON)], {})[0].score == pytest.approx(LINKED)


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.integers(1, 60), st.booleans(), st.frozensets(st.sampled_from([*WEIGHTS]))),
        max_size=20,
    ),
    st.randoms(use_true_random=False),
)
def test_ranking_does_not_depend_on_the_order_of_links(rows, random) -> None:  # type: ignore[no-untyped-def]
    links = [link(UUID(int=to), passages=n, topic=topic, said=said) for to, n, topic, said in rows]
    shuffled = links.copy()
    random.shuffle(shuffled)
    found = rank(WEIGHTS, [SEED], links, {})
    assert found == rank(WEIGHTS, [SEED], shuffled, {})
    assert all(0.0 <= one.score <= 1.0 for one in found)
    assert len({one.passage_id for one in found}) == len(found)


def fused(*scores: float) -> list[Fused]:
    return [Fused(UUID(int=at), score, {"vector": at}, {"vector": score}) for at, score in enumerate(scores, start=1)]


def graph(scores: dict[int, float]) -> LegResult:
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    return LegResult("graph", tuple(Hit(UUID(int=k), UUID(int=k), v) for k, v in ordered), 1.0, True, True)


def test_the_graph_lifts_what_it_links_and_leaves_the_first_alone() -> None:
    found = with_graph(fused(0.8, 0.6, 0.4), graph({3: 0.9, 7: 0.2}))
    assert [item.passage_id.int for item in found] == [1, 3, 2, 7]
    lifted = found[1]
    assert lifted.score == found[0].score == 0.8, "the best score is that of the text retrievers"
    factor = 0.8 / (0.5 + 0.9)
    assert lifted.ranks == {"vector": 3, "graph": 1}
    assert lifted.shares == {"vector": pytest.approx(factor * 0.5), "graph": pytest.approx(factor * 0.9)}
    assert found[3].score == pytest.approx(factor * (0.5 + 0.2))  # not found by text: as its last entry
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)


def test_a_graph_without_hits_changes_no_order() -> None:
    text = fused(0.8, 0.6, 0.4)
    assert [i.passage_id for i in with_graph(text, graph({}))] == [i.passage_id for i in text]
    assert [i.passage_id.int for i in with_graph([], graph({4: 0.5, 2: 0.7}))] == [2, 4]


def test_caps_give_each_side_its_places() -> None:
    """Of five places text .6 brings three, the graph .4 two; what is left follows in its own order."""
    found = with_graph_capped(
        fused(0.9, 0.8, 0.7, 0.6), graph({9: 0.5, 4: 0.4, 8: 0.1}), FusionWeights(0.6, 0.4, "HYBRID"), 5
    )
    assert [item.passage_id.int for item in found] == [1, 2, 3, 9, 4, 8]
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)


@pytest.mark.parametrize(
    ("question", "language", "wanted"),
    [
        ("Who is the spouse of Big Eyes's director?", "en", ("big eyes",)),
        ('Who sang "Hello Love" in the U.S.A.?', "en", ("hello love", "usa")),
        ("Wo liegt das Harvard Stadium?", "de", ("harvard stadium",)),
        ("how do I sort a list", "en", ()),
    ],
)
def test_keys_that_a_question_names(question: str, language: str, wanted: tuple[str, ...]) -> None:
    assert keys_of(question, language) == wanted
