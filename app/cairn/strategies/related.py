"""How two things are related: the way between them in the graph, told by the sentences that prove each step.

Sources are the passages of the proofs in the order of the way. With a model they are what it reads; without one, or where it
fails, the sentences are quoted one after another, each with its citation. Where the collection does not know both things, or
nothing joins them, the question is searched for like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Final
from uuid import UUID

from cairn.answer.cite import citation, supporting_span
from cairn.answer.context import assemble_with_graph
from cairn.domain.answer import Citation, Coverage, Draft
from cairn.domain.event import Progress, SourcesFound
from cairn.domain.graph import ContextEntity, ContextRelation, GraphContext, joined_contexts
from cairn.domain.graph_view import Relation, Way
from cairn.domain.passage import Passage
from cairn.errors import CairnError
from cairn.language.sentences import Span, split_sentences
from cairn.runs.choose import Situation, by_complexity
from cairn.runs.context import Material, Outcome, Run
from cairn.runs.gather import can_widen, widen
from cairn.runs.progress import reading
from cairn.strategies.draft import write_answer, write_or_quote
from cairn.strategies.fast import fast

HOPS: Final = 3
WAYS: Final = 3
"""Ways that a model reads; quoted is the first."""
STATED, TOGETHER, PASSAGE = 0.9, 0.7, 0.5
"""How sure a step is: words between the two say it; both stand in one sentence; both stand in one passage. Of a way it is the
product."""
ENOUGH: Final = 0.35
"""A way that is less sure is not told: three times "together" joins anything with anything."""
LOOKED_AT: Final = 20
"""Ways of which the best are taken."""


async def related(run: Run) -> Outcome:
    """Raises CairnError."""
    run.emit(Progress("retrieve", 40, "Looking in the graph for a way between what the question names"))
    ways, passages, notes = await _ways(run)
    return await _tell(run, ways, passages) if ways else await _search(run, notes)


async def _ways(run: Run) -> tuple[Sequence[Way], Mapping[UUID, Passage], tuple[str, ...]]:
    """Of the first reading of the question whose ends are both known. A graph that cannot be read is reported."""
    library, collection = run.deps.library, run.question.collection
    try:
        for one, other in run.plan.ends:
            ways = await library.ways(collection, one, other, hops=HOPS, limit=LOOKED_AT)
            ids = [relation.proof.passage_id for way in ways for relation in way.relations]
            known = {passage.passage_id: passage for passage in await library.passages(ids)} if ids else {}
            if told := _telling(ways, known):
                return told, known, ()
    except CairnError as error:
        return (), {}, (f"the graph could not be read ({error.code}: {error.detail}): searched instead",)
    return (), {}, ()


def _telling(ways: Sequence[Way], known: Mapping[UUID, Passage]) -> list[Way]:
    """Those that are sure enough, short ones before long, then the surest."""
    sure = {way: _sureness(way, known) for way in ways}
    told = [way for way in ways if sure[way] >= ENOUGH]
    return sorted(told, key=lambda way: (len(way.relations), -sure[way]))[:WAYS]


def _sureness(way: Way, known: Mapping[UUID, Passage]) -> float:
    return prod(_sure(relation, known) for relation in way.relations)


def _sure(relation: Relation, known: Mapping[UUID, Passage]) -> float:
    if relation.kind != "co_occurs":
        return STATED
    passage = known.get(relation.proof.passage_id)
    return TOGETHER if passage and len(relation.proof.quote) < len(passage.content) else PASSAGE


async def _search(run: Run, notes: tuple[str, ...]) -> Outcome:
    """As if the graph were not there; the route says which way was taken in the end."""
    route = by_complexity(Situation(run.plan))
    strategy = route.strategy if route.strategy == "enhanced" else "fast"
    reason = f"nothing in the graph joins what the question names; {route.reason}"
    plain = replace(run, route=replace(route, strategy=strategy, reason=reason))
    run.record.route = plain.route
    if can_widen(plain):
        plain = await widen(plain)
    outcome = await fast(plain)
    more = {**outcome.more, "strategy": strategy, "reason": reason}
    return replace(outcome, more=more, degraded=(*route.degraded, *notes, *outcome.degraded))


async def _tell(run: Run, ways: Sequence[Way], known: Mapping[UUID, Passage]) -> Outcome:
    proofs = [relation.proof.passage_id for way in ways for relation in way.relations]
    passages = tuple(known[key] for key in dict.fromkeys(proofs) if key in known)
    told = [[entity.name for entity in way.entities] for way in ways]
    read = Coverage(False, len(passages), len(passages))
    material = Material(
        question=run.plan.text,
        passages=passages,
        confidence=_sureness(ways[0], known),
        visible=len(passages),
        coverage=read,
        more={"paths": told, "relations": [relation.kind for relation in ways[0].relations]},
        graph=joined_contexts(map(_as_context, ways)),
    )
    count, most = run.deps.judge.tokens.count, run.settings.answer.max_context_tokens
    context = assemble_with_graph(passages, material.graph, count, most)
    run.emit(SourcesFound(context.passages if run.deps.chat else passages))
    run.emit(reading(len(context.passages if run.deps.chat else passages)))

    async def quote() -> Outcome:
        draft = _quoted(ways[0], known, material.confidence)
        return Outcome(draft, "extractive", passages, material.confidence, read, more=material.more)

    write = partial(write_answer, run, material, context) if run.deps.chat else None
    return await write_or_quote(run, write, quote, "the evidence was quoted instead")


def _as_context(way: Way) -> GraphContext:
    """The steps of a way, each with the passage that proves it, and the entities that it joins."""
    proofs = [(relation, (relation.proof.passage_id,)) for relation in way.relations]
    ends = [(entity, proof) for relation, proof in proofs for entity in (relation.source, relation.target)]
    one_by_one = (GraphContext((ContextEntity(entity.name, entity.kind, proof),)) for entity, proof in ends)
    relations = tuple(ContextRelation(one.source.name, one.kind, one.target.name, proof) for one, proof in proofs)
    return joined_contexts([*one_by_one, GraphContext(relations=relations)]) or GraphContext()


def _quoted(way: Way, known: Mapping[UUID, Passage], confidence: float) -> Draft:
    """The sentence that proves each step, in order, each once."""
    made: dict[tuple[UUID, Span], Citation] = {}
    for relation in way.relations:
        passage = known.get(relation.proof.passage_id)
        if passage is None:  # deleted since
            continue
        span = _sentence(relation, passage)
        made.setdefault((passage.passage_id, span), citation(len(made) + 1, passage, span))
    text = " ".join(f"{cited.quote} [{cited.n}]" for cited in made.values())
    return Draft(text, tuple(made.values()), True, confidence)


def _sentence(relation: Relation, passage: Passage) -> Span:
    """The proof, or of one that is a whole passage the sentence that says most of both."""
    start, end = relation.proof.start - passage.start, relation.proof.end - passage.start
    inside = [span for span in split_sentences(passage.content) if start <= span[0] and span[1] <= end]
    if len(inside) < 2:
        return start, end
    return supporting_span(f"{relation.source.name} {relation.target.name}", passage.content, inside)
