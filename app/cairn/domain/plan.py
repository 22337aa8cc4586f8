"""What a message wants, and how much work it deserves: the result of understanding it, before any retrieval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from cairn.domain.code import SymbolQuery
from cairn.domain.question import Exchange

Intent = Literal[
    "question", "command", "greeting", "gratitude", "garbage", "off_topic", "clarify_needed", "followup", "simplify",
    "deepen",
]  # fmt: skip
"""Questions and commands are answered from documents; followup, simplify and deepen from the conversation."""

QueryType = Literal[
    "FACTUAL", "RELATIONAL", "COMPARATIVE", "EXPLORATORY", "PROCEDURAL", "ANALYTICAL", "UNKNOWN"
]  # fmt: skip

Level = Literal["SIMPLE", "MODERATE", "COMPLEX", "AMBIGUOUS"]
"""Fast, enhanced, agent; the fourth asks for clarification."""


@dataclass(frozen=True, slots=True)
class IntentMatch:
    """`layer`: 0 hard rules, 1 exemplars by embedding, 2 model, None where nothing matched and `question` is assumed.

    `reason` names the rule or the nearest exemplar.
    """

    intent: Intent
    confidence: float
    layer: Literal[0, 1, 2] | None
    reason: str


@dataclass(frozen=True, slots=True)
class Classification:
    """`reason` names the pattern that matched; `by` is "rules" or the name of a model."""

    type: QueryType
    confidence: float
    reason: str
    by: str = "rules"


@dataclass(frozen=True, slots=True)
class ComplexityScore:
    """`score` in 0..1 after overrides; `factors` in 0..1 before their weights, by name: query_type,
    entity_count, subquestion_count, keyword_matches, low_confidence. `override`: what raised the score, if anything:
    "database_meta", "ambiguous" or "several_steps" (a question through another one). `reasoning` is a sentence for people.
    """

    score: float
    level: Level
    factors: Mapping[str, float]
    reasoning: str
    override: str | None = None


WeightMode = Literal["HYBRID", "GRAPH_ONLY", "TEXT_ONLY", "ADAPTIVE"]
"""ADAPTIVE: neither side is sure of what it found, so neither gave weight away."""


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """Text (vector and lexical legs together) against graph, each in 0..1, sum 1."""

    text: float
    graph: float
    mode: WeightMode


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a collection knows of the words of a message: `frequencies` maps each word, casefolded, to the number of
    passages that hold it (0: none); `passages` is how many there are, `language` the ISO 639-1 code of most of them (None:
    there are none, or it has no code)."""

    passages: int
    frequencies: Mapping[str, int]
    language: str | None = None


ListedUnit = Literal["documents", "pages", "words", "people", "organisations", "places", "dates"]


LISTED: Final = 20
"""Documents or names that an answer shows; the rest is counted, and shown when somebody asks on."""


@dataclass(frozen=True, slots=True)
class ListRequest:
    """What a message wants listed or counted, and of which documents (cairn/query/listing.py).

    `mentioned`: terms that must all stand in a document, each in one of several ways; `excluded`: none of them may.
    `authors` wrote it; `sources`: where it is from, a person, an organisation or a place. `years`: first and last one.
    `language` is an ISO 639-1 code, `format` a part of the media type, `kind` a word like "reports". `within`: names of
    documents that are looked into. `age`: the newest or the oldest alone. `of_the_last`: of those that were listed before.
    `shown`: how many of the list were shown before, which goes on behind them.
    """

    form: Literal["list", "count"] = "list"
    unit: ListedUnit = "documents"
    kind: str = ""
    mentioned: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    years: tuple[int, int] | None = None
    language: str | None = None
    format: str | None = None
    within: tuple[str, ...] = ()
    age: Literal["newest", "oldest"] | None = None
    of_the_last: bool = False
    shown: int = 0

    @property
    def restricted(self) -> bool:
        """Whether it asks for some of the documents only."""
        return self != ListRequest(self.form, self.unit)


@dataclass(frozen=True, slots=True)
class LastAnswerWish:
    """What a message wants of the last answer besides more of it. Of an extreme: `measures`, kinds of quantities of which the
    first counts that all have ("any": the only one that they have), which end of it, and the `word` for it, folded. Of an
    item: `word`, what it is called."""

    wants: Literal["example", "reason", "extreme", "item", "source"]
    measures: tuple[str, ...] = ()
    least: bool = False
    word: str = ""


@dataclass(frozen=True, slots=True)
class PromptConstraints:
    """`conflict_resolution_rule`: the prompt's own words. `estimated_min_answer_length` in characters, 0: any.
    `required_search_topics` and `required_sections` as the prompt spells them."""

    min_searches: int = 1
    required_search_topics: tuple[str, ...] = ()
    min_open_citations: int = 0
    requires_exact_quote: bool = False
    exact_quote_indicators: tuple[str, ...] = ()
    requires_conflict_resolution: bool = False
    conflict_resolution_rule: str | None = None
    required_sections: tuple[str, ...] = ()
    requires_insufficiency_disclosure: bool = False
    estimated_min_answer_length: int = 0

    @property
    def needed_calls(self) -> int:
        """Tool calls without which the constraints cannot be met."""
        return self.min_searches + self.min_open_citations

    @property
    def explicit(self) -> bool:
        """Whether the prompt tells how to work, or several things about the answer, so that a plan is worth making."""
        ways = self.min_searches > 1 or self.min_open_citations > 0
        demands = (
            self.requires_exact_quote,
            self.requires_conflict_resolution,
            self.requires_insufficiency_disclosure,
            len(self.required_sections) > 1,
        )
        return ways or sum(demands) > 1


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """All that is known of a message; the way to its answer is chosen by this alone. `text` is what to retrieve by: the
    message itself, or rewritten to stand alone, without what `filters` keep.

    `rewritten_by`: None where `text` is the message, else "rules" or the name of a model; `carried` came from the
    conversation, `rewrite_reason` says by which rule. `subquestions` are
    independent questions (empty: one question); `expansions` other phrasings; `filters` metadata extracted from the
    message. `documents`: external ids of the documents that the message names, to be searched or summarized alone.
    `timings_ms` by step. `degraded`: what did not work on the way.

    `listing`: it asks about the documents as such (how many, which). `summary` is asked for of the whole collection or of
    one document, in order, or of what is said on a subject. `ends`: the two things whose relation is asked for, in every
    reading. `inner`: the question that it goes through; `spread`: the words
    that say that its answer lies in many places. `constraints`: how it is to be answered. `code`: what each part
    asks of the code (empty where one part asks something else); `symbols`: what it names of the code.
    `continued`: the exchange that it goes on from. `wish`: what it wants of the last answer. `has_terms`: some word of `text` has
    content.
    `asked_in`: the language of `text`, where `language`, in which the answer is worded, is another one that the message asks for.
    """

    message: str
    text: str
    language: str
    intent: IntentMatch
    classification: Classification
    complexity: ComplexityScore
    weights: FusionWeights
    entities: tuple[str, ...] = ()
    subquestions: tuple[str, ...] = ()
    expansions: tuple[str, ...] = ()
    filters: Mapping[str, Any] = field(default_factory=dict)
    rewritten_by: str | None = None
    rewrite_reason: str = ""
    carried: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    listing: ListRequest | None = None
    summary: Literal["whole", "subject"] | None = None
    ends: tuple[tuple[str, str], ...] = ()
    inner: str | None = None
    spread: str | None = None
    constraints: PromptConstraints = field(default_factory=PromptConstraints)
    code: tuple[SymbolQuery, ...] = ()
    symbols: tuple[SymbolQuery, ...] = ()
    continued: Exchange | None = None
    has_terms: bool = True
    wish: LastAnswerWish | None = None
    asked_in: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()

    @property
    def words_in(self) -> str:
        """The language that `text` is read in."""
        return self.asked_in or self.language


# --- What a passage has to hold, and what it must not hold, to be found at all ---

Field = Literal["text", "title", "id", "path", "lang"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One operator of a query.

    text: the words stand in the passage (or its title and headings) one after the other, in any inflection. title: the
    document's title contains the value, path: its external id does, in any case; id: the external id is the value.
    lang: the text search configuration of the passage is the value.
    """

    field: Field
    value: str


@dataclass(frozen=True, slots=True)
class Conditions:
    """A passage is found when all of `must` hold (of several languages one) and none of `must_not`."""

    must: tuple[Condition, ...] = ()
    must_not: tuple[Condition, ...] = ()

    @property
    def inclusive(self) -> bool:
        """Whether the passages that may be found are listed; else, with words to avoid alone, those that may not."""
        return bool(self.must) or any(condition.field != "text" for condition in self.must_not)

    def as_json(self, *, filtered: bool) -> dict[str, Any]:
        """As rag.scope_passages reads it. `filtered`: a filter on metadata comes with it, so passages are listed."""
        return {
            "inclusive": self.inclusive or filtered,
            "must": [{"field": item.field, "value": item.value} for item in self.must],
            "must_not": [{"field": item.field, "value": item.value} for item in self.must_not],
        }
