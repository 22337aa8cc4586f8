"""From evidence to a score: how probably the sources support a sentence, and an answer.

Three ways: words and word trigrams that are shared (pure, well under 1 ms); a logistic model of what speaks for a
sentence; and another one for answers in a language that is not the sources'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from cairn.answer.ground.evidence import SentenceEvidence, Sources
from cairn.language.identify import certain_language
from cairn.language.tokens import all_terms, is_stop_word
from cairn.providers.protocols import Embedder

WORD_SHARE: Final = 0.6  # measured: tests/unit/test_ground_fast.py
TRIGRAM_SHARE: Final = 0.4  # measured: tests/unit/test_ground_fast.py
CONTENT_IN_TRIGRAM: Final = 2  # measured: tests/unit/test_ground_fast.py
"""A trigram counts with at least so many content words."""

Trigram = tuple[str, str, str]


def fast_score(answer: str, sources: Sequence[str]) -> float:
    """0..1: .6 * share of the answer's content words in the sources + .4 * share of its trigrams there.

    Words are folded (case and accents); content words are those that are no stop word of any language; each counts
    once. Trigrams run over all words, within one source. An answer too short for a trigram is judged by words alone, one
    without content words by nothing: 0.
    """
    said = all_terms(answer)
    content = {word for word in said if not is_stop_word(word)}
    if not content:
        return 0.0
    held = [all_terms(source) for source in sources]
    words = len(content & {word for source in held for word in source}) / len(content)
    wanted = trigrams(said)
    if not wanted:
        return words
    found = {trigram for source in held for trigram in trigrams(source)}
    return WORD_SHARE * words + TRIGRAM_SHARE * len(wanted & found) / len(wanted)


def trigrams(words: Sequence[str]) -> set[Trigram]:
    """Three words in a row, at least two of them content words."""
    content = [not is_stop_word(word) for word in words]
    return {
        (words[i], words[i + 1], words[i + 2])
        for i in range(len(words) - 2)
        if sum(content[i : i + 3]) >= CONTENT_IN_TRIGRAM
    }


def languages_differ(answer: str, sources: Sequence[str]) -> bool:
    """Whether shared words mean nothing: the answer's language is certain, and so is that of most of the sources' text,
    and they are not the same."""
    own = certain_language(answer)
    if own is None:
        return False
    lengths: dict[str | None, int] = {}
    for source in sources:
        language = certain_language(source)
        lengths[language] = lengths.get(language, 0) + len(source)
    return bool(lengths) and max(lengths, key=lambda known: lengths[known]) not in (own, None)


# --- sentence by sentence -------------------------------------------------------------------------------------------

# The logistic model was fitted by scripts/fit_grounding.py to the human labels of WiCE dev (349 claims) and of BEGIN dev
# (wow, cmu, tc: 1,148 responses), each set with the same weight and both classes with the same, so that .5 is as probable
# as not where nothing else is known. docs/quality.md has what it reaches in cross-validation.
INTERCEPT: Final = -3.30  # fitted: scripts/fit_grounding.py
COEFFICIENTS: Final = (4.56, 2.60, -0.41, -2.23, -1.87, -0.90)  # fitted: scripts/fit_grounding.py
"""Of `features`, in their order."""
CONTRADICTED: Final = math.log(0.2 / 0.8)  # measured: tests/unit/test_fitted.py
"""Highest logit of a sentence with a number or a command that no source has, or that a source says the other way round. Of
126 responses with such a number 5 are labelled as supported; turned sentences are too rare in the sets to be fitted."""
STRANGE: Final = math.log(0.4 / 0.6)  # measured: tests/unit/test_fitted.py
"""Highest logit of a sentence with a name that no source has: one of eleven such responses is labelled as supported."""


def features(evidence: SentenceEvidence) -> tuple[float, ...]:
    """Words in the best place, content words in the best two, content words that are nowhere (log of 1 + their number);
    whether speaker or listener, a number, a word with a capital come in that no source has."""
    return (
        evidence.near,
        evidence.pair,
        math.log1p(len(evidence.missing)),
        float(evidence.speaker > 0),
        float(bool(evidence.numbers)),
        float(evidence.strange),
    )


def logit(evidence: SentenceEvidence) -> float:
    raw = INTERCEPT + sum(c * f for c, f in zip(COEFFICIENTS, features(evidence), strict=True))
    if evidence.numbers or evidence.turned or evidence.commands or evidence.echo:
        return min(raw, CONTRADICTED)
    return min(raw, STRANGE) if evidence.names else raw


def probability(value: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))


def combined(logits: Sequence[float]) -> float:
    """Of a whole answer: half the mean, half the weakest sentence. One invented sentence among five spoils an answer, one
    weak one does not."""
    return (sum(logits) / len(logits) + min(logits)) / 2


# --- across languages -----------------------------------------------------------------------------------------------

# Most words cannot be shared there; meaning, numbers, names and cognates can. Fitted (scripts/fit_grounding.py --foreign)
# to sentences of the parallel XQuAD paragraphs in English, Spanish and German, each against its own paragraph in another
# language and against the next one: 1,440 pairs, AUC .94, by the cosine alone .85.
FOREIGN_EMBEDDED: Final = 8  # bound: tests/unit/test_fitted.py
"""Source sentences embedded at most, those first that share numbers and names with the answer; each costs about 8 ms."""
FOREIGN_INTERCEPT: Final = -2.2  # fitted: scripts/fit_grounding.py
FOREIGN_COSINE: Final = 4.7  # fitted: scripts/fit_grounding.py
FOREIGN_NEAR: Final = 14.3  # fitted: scripts/fit_grounding.py
FOREIGN_NUMBERS: Final = -3.0  # fitted: scripts/fit_grounding.py
"""Nearest source sentence by vectors, words in common with the best place, whether a number is in no source."""


async def foreign_logits(
    sentences: Sequence[str], evidence: Sequence[SentenceEvidence], sources: Sources, embedder: Embedder
) -> list[float]:
    """A logit for each sentence, by its cosine with the nearest source sentence; a number that no source has caps it.
    Raises ProviderError."""
    ranks = range(max((len(found.best) for found in evidence), default=0))
    closest = [found.best[rank].text for rank in ranks for found in evidence if rank < len(found.best)]
    texts = list(dict.fromkeys((*closest, *(source.text for source in sources.sentences))))[:FOREIGN_EMBEDDED]
    vectors = await embedder.embed([*sentences, *texts])
    nearest = (vectors[: len(sentences)] @ vectors[len(sentences) :].T).max(axis=1)
    return [_foreign_logit(float(cosine), found) for cosine, found in zip(nearest, evidence, strict=True)]


def _foreign_logit(cosine: float, found: SentenceEvidence) -> float:
    value = (
        FOREIGN_INTERCEPT + FOREIGN_COSINE * cosine + FOREIGN_NEAR * found.near + FOREIGN_NUMBERS * bool(found.numbers)
    )
    return min(value, CONTRADICTED) if found.numbers else value
