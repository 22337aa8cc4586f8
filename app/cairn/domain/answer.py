"""An answer and what it stands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from uuid import UUID

from cairn.domain.passage import Passage
from cairn.errors import FailureCause

AnswerStatus = Literal["yes", "no", "unsure"]
"""Whether an answer answers: "no" is a refusal, "unsure" a guess that is shown as one."""

Origin = Literal["exact", "computed", "recognised"]
"""What an answer is made of that no probability says more of: all documents were counted; cells of a table were computed over;
rules recognised what is listed, so that some may be missing."""
ConfidenceWord = Literal["found", "likely", "not_sure", "exact", "computed", "recognised"]
"""The first three say how surely a quotation answers, the others are an Origin."""
PROBABLE: Final[frozenset[ConfidenceWord]] = frozenset({"found", "likely", "not_sure"})
"""Words with a number behind them."""


@dataclass(frozen=True, slots=True)
class CitedContext:
    """What is shown around a quotation, which lies inside start..end (code points) of the document's text. `text` is that part as
    Markdown: free of tags and links, its fences closed, rows below their header."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Citation:
    """`[n]` in the answer. `quote` stands verbatim at start..end (code points) of the document's text, `version` of it. `url`:
    of a web page instead, whose ids no document has. `context`: what an answer that is a quotation shows around it; None where it
    shows the quotation alone, and of what a model wrote. `instead`: the answer does not rest on it; it is what else may answer,
    where the first is not sure, or what comes nearest where nothing answers."""

    n: int
    document_id: UUID
    external_id: str
    passage_id: UUID
    chunk_id: UUID | None
    title: str
    headings: tuple[str, ...]
    page: int | None
    quote: str
    start: int
    end: int
    version: int
    url: str | None = None
    context: CitedContext | None = None
    instead: bool = False


@dataclass(frozen=True, slots=True)
class SelectionFeatures:
    """What speaks for the quotation that an extracted answer begins with, so that its probability can be told from it.

    Shares are 0..1; `idf_*` weigh the question's words by their rarity among all quotable units that were read, `topic_*`
    count its names and numbers double and other words once. `*_direct`: in the quotation; `*_around`: there, in its headings,
    headers, neighbours and passage, the farther the less. `adjacent`: of pairs of words that stand together in the question,
    those that do so in it. `numbers`, `names`: share of the question's that stand in it or its headers; 1 where there are
    none. `fits`: it holds what is asked for (a number, a time, a name, a reason); None: nothing in particular is asked for.
    `label`: of a table's row, share of its label's words that the question has. `rank`: reciprocal place of its passage.
    `retrieval`: score of its passage as a share of the best one's. `matched`: it stands in the chunk that is nearest to the
    question. `score`: what the selection gave it; `margin`: by how much more than the best of what says something else.
    `question_words`: words of content. `missing`: names and numbers of the question that stand in no passage.
    `cosine`: of question and quotation; None where it was not embedded. `anywhere`: share of the question's rarity (idf)
    that stands in any passage; `lead`: by how much the passage that holds most of it is ahead of the third.
    `read`: log odds of the reader that the stretch it stands in answers, None where nothing was read; `read_most`: the most that
    it gave to any stretch; `read_margin`: as `margin`, with what it says.
    """

    kind: Literal["prose", "item", "row", "code", "heading"]
    english: bool
    question_words: int
    missing: int
    idf_direct: float
    idf_around: float
    topic_direct: float
    topic_around: float
    adjacent: float
    numbers: float
    names: float
    fits: bool | None
    label: float
    rank: float
    retrieval: float
    matched: bool
    score: float
    margin: float
    cosine: float | None = None
    anywhere: float = 0.0
    lead: float = 0.0
    read: float | None = None
    read_most: float = 0.0
    read_margin: float = 0.0


@dataclass(frozen=True, slots=True)
class Draft:
    """What an answerer made of passages, before it is checked.

    `found` is False when the passages do not answer the question; `text` then says so. `confidence` in 0..1 is the
    answerer's own (best sentence similarity for the extractive one; retrieval confidence for a model). `degraded`: what
    was wrong with a model's reply (cut off, repeating itself), for the answer's own list. `evidence`: what speaks for the
    first quotation of an extracted answer, also of one that was withheld; None where there was nothing to choose from.
    `others`: what else may answer, best first, and how each reads; named where this is not sure. `near`: the same from
    the first on, for a refusal to show as what comes nearest. `across`: it quotes documents
    in another language than the question's. `named`: it is the section or heading that the question names, as it stands.
    """

    text: str
    citations: tuple[Citation, ...]
    found: bool
    confidence: float
    insufficiencies: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    evidence: SelectionFeatures | None = None
    others: tuple[tuple[Citation, str], ...] = ()
    near: tuple[tuple[Citation, str], ...] = ()
    across: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of what there is an answer looked at: `read` of `of` `unit` (passages, documents, callers ...).

    `complete`: nothing was left out, so that what the answer does not name is not there. It can be False where `read` is
    `of`: what was counted may not be all (a relation that could not be resolved).
    """

    complete: bool
    read: int
    of: int
    unit: str = "passages"

    def __str__(self) -> str:
        return f"{'complete' if self.complete else 'sampled'}: {self.read} of {self.of} {self.unit}"


NOTHING_TO_READ: Final = Coverage(True, 0, 0)


def coverage_of(read: int, of: int, unit: str = "passages") -> Coverage:
    """Complete where all was read."""
    return Coverage(read >= of, read, max(read, of), unit)


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """That the chat model failed, and the answer came all the same. `sentence`: why, and what was done instead, in the language
    of the answer; `degraded` begins with it. `status`: the HTTP status that its server answered with. `details`: what `degraded`
    has of it besides, in the words of the server."""

    cause: FailureCause
    status: int | None
    sentence: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The last event of a run that went well; /query returns it as it is.

    `confidence` of a quotation is the calibrated probability that it answers (cairn/answer/confidence.py), and `answered` follows
    from it. `grounded` speaks of text that a model wrote, and is None of a quotation; `grounding` is the check behind it.
    `evidence`: what speaks for the first quotation, shown or withheld. `drew_on`: documents whose names or words may stand in
    it besides those it cites; clients do not see it, deletion goes by it. `confidence_word` says of a quotation what the
    number is worth, of what was counted or computed how; None of a refusal, of small talk, a summary and what a model wrote.
    """

    answer: str
    citations: tuple[Citation, ...]
    sources: tuple[Passage, ...]
    confidence: float
    answered: AnswerStatus
    grounded: bool | None
    groundedness_score: float | None
    insufficiencies: tuple[str, ...]
    coverage: Coverage
    route: Mapping[str, Any]
    degraded: tuple[str, ...]
    session_id: str | None
    run_id: UUID
    timings_ms: Mapping[str, float]
    usage: Mapping[str, Any] = field(default_factory=dict)
    grounding: Grounding | None = None
    evidence: SelectionFeatures | None = None
    drew_on: tuple[UUID, ...] = ()
    confidence_word: ConfidenceWord | None = None
    model_failure: ModelFailure | None = None

    @property
    def written_by(self) -> str | None:
        """The chat model that wrote it; None where none did, whatever else models were asked for."""
        name = self.route.get("answerer")
        return name if name and name in (self.usage.get("model") or "").split(", ") else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What `degraded` has for a reader: all but the details of a failure of the model."""
        details = self.model_failure.details if self.model_failure else ()
        return tuple(note for note in self.degraded if note not in details)


# --- Whether an answer is supported by its sources, sentence by sentence ---

ProblemKind = Literal["number", "name", "turned", "command", "echo", "reason", "unstated"]
"""What is wrong with a sentence: a number, unit or date, a name, an operation on machines that no source has; what a source says
the other way round or of another; what a source orders a model to say; a model's reason; or that no source states it."""


@dataclass(frozen=True, slots=True)
class SentenceSupport:
    """A sentence of the answer at start..end (code points of the answer's text). `score` in 0..1; `sources` are the
    numbers of the sources that support it best; `issues` name what they do not hold (a number, a name, a negation) and are
    empty where it is supported, `kinds` say of which kind each is; `computed` are numbers that follow from two of the sources'
    ("48 d = 30 d + 18 d")."""

    start: int
    end: int
    score: float
    supported: bool
    sources: tuple[int, ...] = ()
    issues: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    kinds: tuple[ProblemKind, ...] = ()


@dataclass(frozen=True, slots=True)
class Grounding:
    """The verdict on a whole answer. `grounded` None: it could not be checked, and `degraded` says why. Where it is True, all
    `sentences` are supported and there are no `issues`; where it is False, one sentence at least is not, and an issue says why.

    `layer`: which one decided. "fast" words and trigrams, "model", "sentences" the deterministic second layer.
    `fast_score` is None where the fast layer was skipped (answer and sources differ in language).
    """

    grounded: bool | None
    score: float | None
    layer: Literal["fast", "model", "sentences"] | None
    fast_score: float | None = None
    issues: tuple[str, ...] = ()
    sentences: tuple[SentenceSupport, ...] = ()
    degraded: tuple[str, ...] = ()
