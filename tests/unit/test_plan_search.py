"""Whether the graph is followed, and what it counts."""

from __future__ import annotations

from dataclasses import replace
from typing import cast
from uuid import UUID

import pytest

from cairn.domain.passage import LEGS, Fused, Hit, Leg, LegResult, SearchRequest
from cairn.domain.plan import Classification, FusionWeights, QueryType
from cairn.domain.principal import Principal
from cairn.query.classify import fusion_weights
from cairn.retrieve.context import SearchContext, SearchDeps
from cairn.retrieve.fuse import merge_graph
from cairn.retrieve.graph import question_keys
from cairn.retrieve.plan import choose_legs, default_legs, graph_is_unsure, legs_of
from cairn.retrieve.weights import graph_weights
from cairn.settings import GraphSettings, RagSettings, Settings

NAMES = Settings()
TYPE = Settings(graph=GraphSettings(routing="type"))
CAPPED = Settings(graph=GraphSettings(fusion="capped"))
TEXT: tuple[Leg, ...] = ("vector", "lexical")


def asked(query: str, legs: tuple[Leg, ...] = LEGS, *, explicit: bool = False, kind: QueryType | None = None,
          confidence: float = 0.6) -> SearchRequest:  # fmt: skip
    named = question_keys(query)
    weights = fusion_weights(Classification(kind, confidence, ""), named, has_graph=True) if kind else None
    return SearchRequest(query, ("c",), legs=legs, explicit=explicit, weights=weights)


def legs_chosen(request: SearchRequest, settings: Settings) -> tuple[Leg, ...]:
    return choose_legs(request, request.query, settings)[0]


def planned(request: SearchRequest, legs: tuple[Leg, ...]) -> SearchContext:
    """A search whose graph is to be judged; nothing is searched."""
    return SearchContext(cast("SearchDeps", None), Principal(1, "test"), request, TYPE, legs=legs)


def graph(*scores: float) -> LegResult:
    hits = tuple(Hit(UUID(int=100 + n), UUID(int=1), score) for n, score in enumerate(scores))
    return LegResult("graph", hits, max(scores, default=0.0), True, True)


def text(count: int, confidence: float = 0.8) -> tuple[list[Fused], dict[Leg, LegResult]]:
    order = [Fused(UUID(int=n), 1 - n / 10, {"lexical": n + 1}, {"lexical": 1 - n / 10}) for n in range(count)]
    return order, {"lexical": LegResult("lexical", (), confidence, True, True)}


def merged(settings: Settings, request: SearchRequest, found: LegResult, confidence: float = 0.8) -> list[Fused]:
    fused, legs = text(5, confidence)
    weights = graph_weights({**legs, "graph": found}, request, settings)
    return merge_graph(fused, found, weights, replace(planned(request, LEGS), settings=settings))


def order(settings: Settings, request: SearchRequest, found: LegResult, confidence: float = 0.8) -> list[int]:
    return [item.passage_id.int for item in merged(settings, request, found, confidence)]


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("Who directed Big Eyes?", ("big eyes",)),
        ("who directed big eyes?", ()),
        ("how many days of leave?", ()),
        ("What does pg_stat_io show?", ("pg_stat_io",)),
        ("Wie viele Tage Urlaub haben die Angestellten in einem Jahr?", ()),
        ("", ()),
    ],
)
def test_what_a_query_names(query: str, keys: tuple[str, ...]) -> None:
    """German nouns are no names."""
    assert question_keys(query) == keys


@pytest.mark.parametrize(
    ("query", "followed", "reason"),
    [
        ("Who is the spouse of the director of Big Eyes?", True, "the question goes through another question"),
        ("Are Big Eyes and Citizen Kane both films?", True, "the question names several things"),
        ("What does Client.send return?", True, "the question names a symbol of code"),
        ("Who directed Big Eyes?", False, "goes through no other question"),
        ("Big Eyes was made after Citizen Kane was.", False, "goes through no other question"),
        ("how many days?", False, "names nothing"),
    ],
)
def test_by_names_the_graph_is_followed_where_it_pays(query: str, followed: bool, reason: str) -> None:
    """A chain from a name, or several names in a question; a statement with names is found by its words."""
    legs, choice = choose_legs(asked(query), query, NAMES)
    assert legs == (LEGS if followed else TEXT)
    assert reason in choice.reason
    assert choice.classifier == "names"


def test_what_the_caller_and_the_settings_choose_is_told() -> None:
    chain = "Who is the spouse of the director of Big Eyes?"
    assert legs_chosen(asked("how many days?", explicit=True), NAMES) == LEGS
    assert legs_chosen(asked("how many days?", ("graph",)), NAMES) == ("graph",)
    assert legs_chosen(asked(chain, TEXT), NAMES) == TEXT
    assert legs_chosen(asked("how many days?", kind="RELATIONAL"), NAMES) == TEXT, "types do not decide"
    assert choose_legs(asked(chain, TEXT), chain, NAMES)[1].classifier == "caller"
    assert (
        choose_legs(asked(chain, TEXT), chain, Settings(graph=GraphSettings(search=False)))[1].classifier == "settings"
    )
    assert choose_legs(asked(chain, explicit=True), chain, NAMES)[1].classifier == "caller"
    assert choose_legs(asked(chain, kind="RELATIONAL"), chain, TYPE)[1].classifier == "rules"


@pytest.mark.parametrize(
    ("kind", "confidence", "legs"),
    [
        ("FACTUAL", 0.6, LEGS),
        ("FACTUAL", 0.71, TEXT),
        ("RELATIONAL", 0.6, LEGS),
        ("COMPARATIVE", 0.6, LEGS),
        ("EXPLORATORY", 0.6, ("graph",)),
        ("PROCEDURAL", 0.6, LEGS),
        ("ANALYTICAL", 0.6, LEGS),
        ("UNKNOWN", 0.6, LEGS),
    ],
)
def test_by_type_a_side_below_the_threshold_does_not_run(
    kind: QueryType, confidence: float, legs: tuple[Leg, ...]
) -> None:
    assert legs_chosen(asked("how many days?", kind=kind, confidence=confidence), TYPE) == legs
    assert legs_chosen(asked("how many days?", ("lexical",), kind=kind, confidence=confidence), TYPE) == ("lexical",)


@pytest.mark.parametrize(("share", "legs"), [(0.15, LEGS), (0.149, TEXT), (0.85, LEGS), (0.851, ("graph",))])
def test_the_threshold_is_fifteen_hundredths(share: float, legs: tuple[Leg, ...]) -> None:
    request = SearchRequest("how?", ("c",), legs=LEGS, weights=FusionWeights(1 - share, share, "HYBRID"))
    assert legs_chosen(request, TYPE) == legs


def test_a_graph_that_finds_little_calls_the_text_legs() -> None:
    """With the threshold of confidence."""
    request = asked("Tell me about it", kind="EXPLORATORY")
    alone = planned(request, legs_chosen(request, TYPE))
    assert graph_is_unsure(alone, {"graph": graph(0.29)})
    assert graph_is_unsure(alone, {})
    assert not graph_is_unsure(alone, {"graph": graph(0.3)})
    assert not graph_is_unsure(planned(asked("x", ("graph",)), ("graph",)), {"graph": graph()}), "asked for alone"
    assert not graph_is_unsure(planned(request, request.legs), {"graph": graph()})


def test_the_weights_of_the_type_decide_what_counts_more() -> None:
    found = graph(0.35, 0.3)
    relational, procedural = asked("How is Big Eyes?", kind="RELATIONAL"), asked("how?", kind="PROCEDURAL")
    assert order(TYPE, relational, found)[:3] == [0, 100, 101], "the best of the text legs stays"
    assert order(TYPE, procedural, found)[:3] == [0, 1, 2]
    assert order(NAMES, procedural, found) == order(NAMES, asked("how?"), found), "types do not decide by names"


def test_a_graph_that_is_not_sure_gives_weight_away() -> None:
    """RELATIONAL without entities is .5/.5: worth .5 + .25 of .3 without the shift, less with it."""
    request, found = asked("how?", kind="RELATIONAL"), graph(0.25)
    weight = 0.45 / 0.55
    by_id = {item.passage_id.int: item for item in merged(TYPE, request, found)}
    assert by_id[100].shares["graph"] == pytest.approx(0.25 * weight)
    both_low = {item.passage_id.int: item for item in merged(TYPE, request, found, 0.1)}
    assert both_low[100].shares["graph"] == pytest.approx(0.25), "ADAPTIVE: nothing moves"


def test_capped_each_side_brings_its_share() -> None:
    request = SearchRequest("how?", ("c",), top_k=5, legs=LEGS)
    found = graph(*[0.01] * 5)
    share = GraphSettings(fusion="capped", weight=0.4)
    assert order(Settings(graph=share), request, found)[:5] == [0, 1, 2, 100, 101]
    assert order(CAPPED, request, graph())[:5] == [0, 1, 2, 3, 4]
    assert order(NAMES, request, found)[:4] == [0, 1, 2, 3], "by scores a weak link moves nothing"


def test_legs_of_settings_and_modes() -> None:
    assert default_legs(NAMES) == LEGS
    assert default_legs(Settings(graph=GraphSettings(search=False))) == TEXT
    assert default_legs(Settings(graph=GraphSettings(enabled=False))) == TEXT
    assert default_legs(Settings(rag=RagSettings(hybrid_search_enabled=False))) == ("vector",)
    assert [legs_of(mode, NAMES) for mode in ("hybrid", "text", "graph")] == [LEGS, TEXT, ("graph",)]
