"""Two walks that meet make the ways between two entities: compared with all simple paths of a small graph."""

from __future__ import annotations

from itertools import pairwise, permutations
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.graph import WalkStep
from cairn.graph.walk import join_trails

NODES = [UUID(int=n) for n in range(6)]
EDGES = [(a, b) for a in range(6) for b in range(a)]


def walk(weights: dict[tuple[int, int], float], seed: int, hops: int) -> list[WalkStep]:
    """As rag.graph_walk without caps: the best way to each node at each hop, but not back to the seed."""
    rows = {(seed, 0): WalkStep(NODES[seed], 1.0, 0, None, None, None, None, False)}
    for hop in range(1, hops + 1):
        for (at, there), step in list(rows.items()):
            if there != hop - 1:
                continue
            for pair, weight in weights.items():
                if at not in pair:
                    continue
                node = pair[1 - pair.index(at)]
                score = step.score * weight
                if node == seed or NODES[node] == step.predecessor_id:
                    continue
                if (node, hop) not in rows or rows[node, hop].score < score:
                    rows[node, hop] = WalkStep(NODES[node], score, hop, NODES[at], UUID(int=99), True, None, False)
    return list(rows.values())


def simple_paths(weights: dict[tuple[int, int], float], hops: int) -> dict[tuple[UUID, ...], float]:
    found = {}
    for between in range(hops):
        for middle in permutations(range(2, 6), between):
            way = (0, *middle, 1)
            pairs = [(max(a, b), min(a, b)) for a, b in pairwise(way)]
            if all(pair in weights for pair in pairs):
                score = 1.0
                for pair in pairs:
                    score *= weights[pair]
                found[tuple(NODES[n] for n in way)] = score
    return found


@given(
    st.dictionaries(st.sampled_from(EDGES), st.sampled_from([0.1, 0.2, 0.35, 0.5, 0.9]), max_size=15),
    st.integers(min_value=1, max_value=3),
)
def test_what_meets_are_simple_paths_and_all_up_to_two_hops(weights: dict[tuple[int, int], float], hops: int) -> None:
    found = join_trails(walk(weights, 0, max(hops - 1, 1)), walk(weights, 1, 1), hops)
    expected = simple_paths(weights, hops)
    for trail in found:
        assert abs(expected[trail.nodes] - trail.score) < 1e-12
    short = {nodes for nodes in expected if len(nodes) <= min(hops, 2) + 1}
    assert short <= {trail.nodes for trail in found}
    assert bool(found) == bool(expected), "where there is a way, one is found"
    order = [(len(trail.nodes), -trail.score) for trail in found]
    assert order == sorted(order)
