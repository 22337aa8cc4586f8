"""Whether an answer is supported by its sources, sentence by sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class SentenceSupport:
    """A sentence of the answer at start..end (code points of the answer's text). `score` in 0..1; `sources` are the
    numbers of the sources that support it best; `issues` name what they do not hold (a number, a name, a negation)."""

    start: int
    end: int
    score: float
    supported: bool
    sources: tuple[int, ...] = ()
    issues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grounding:
    """The verdict on a whole answer (A11). `grounded` None: it could not be checked, and `degraded` says why.

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
