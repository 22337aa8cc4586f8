"""What in the sources speaks for a sentence of the answer, and what against it. Pure.

First the sources, cut and counted once; then each sentence of the answer held against them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from app.language.lexicon import every, languages
from app.language.numbers import Quantity, agrees, quantities
from app.language.sentences import split_sentences
from app.language.tables import describe_row, tables_in
from app.language.text import folded_words
from app.language.tokens import all_terms, is_stop_word, likeness

_NEGATIONS: Final = every(lambda one: one.claims.negations)
_NO_NEGATION: Final = frozenset(pair for one in languages() for pair in one.claims.no_negation)
_SPEAKER: Final = every(lambda one: one.claims.speaker)
_INTERJECTIONS: Final = every(lambda one: one.claims.interjections)
_OPPOSITES: Final = tuple(
    tuple(folded_words(side) for side in pair.split("|")) for one in languages() for pair in one.claims.opposites
)
_COMMANDS: Final = (
    "pg_reindex", "reindex", "vacuum", "kubectl", "helm", "docker compose", "systemctl", "drop table", "truncate",
    "alter table",
)  # fmt: skip
"""A model that advises these without a source that does is dangerous. ("vacuum analyze" holds "vacuum".)"""

WINDOW: Final = 1
"""Neighbours on each side that a sentence is read with: its subject often stands before it."""
STEM: Final = 6
"""Letters kept. Cutting words is about as good as stemming them in these four languages (McNamee and Mayfield 2004)."""
_SUFFIX = re.compile(r"(?<=...)(?:ing|edly|ied|ed|ies|es|en|er|ers|em|ly|os|as|s|e|y)$")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A folded word without its ending; numbers as they are."""
    return word if word[0].isdigit() else _SUFFIX.sub("", word)[:STEM]


def stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words)


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """`source` is the number of its source, from 1. `near`: stems of it and its neighbours."""

    source: int
    text: str
    words: tuple[str, ...]
    stems: frozenset[str]
    near: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sources:
    """`frequencies`: in how many sentences a stem occurs. `words`: all words, folded."""

    sentences: tuple[SourceSentence, ...]
    frequencies: dict[str, int]
    words: frozenset[str]
    quantities: frozenset[Quantity]

    def rarity(self, wanted: str) -> float:
        """Inverse document frequency of a stem as in BM25, with sentences as documents."""
        df = self.frequencies.get(wanted, 0)
        return math.log(1 + (len(self.sentences) - df + 0.5) / (df + 0.5))


def read_sources(texts: Sequence[str], titles: Sequence[str] = ()) -> Sources:
    """`titles[i]` (file, headings) belongs to `texts[i]`: its words count as said there, since they say what it is about."""
    sentences: list[SourceSentence] = []
    for number, text in enumerate(texts, start=1):
        pieces = _sentences_and_rows(text)
        said = [tuple(all_terms(piece)) for piece in pieces]
        kept = [stems(words) for words in said]
        for i, (piece, words) in enumerate(zip(pieces, said, strict=True)):
            near = frozenset().union(*kept[max(0, i - WINDOW) : i + WINDOW + 1])
            sentences.append(SourceSentence(number, piece, words, kept[i], near))
    around = frozenset(word for title in titles for word in all_terms(title))
    frequencies = Counter(one for sentence in sentences for one in sentence.stems)
    for one in stems(around):
        frequencies.setdefault(one, 1)
    vocabulary = frozenset(word for sentence in sentences for word in sentence.words) | around
    told = frozenset(q for text in (*texts, *titles) for q in quantities(text))
    return Sources(tuple(sentences), dict(frequencies), vocabulary, told)


def _sentences_and_rows(text: str) -> list[str]:
    """Sentences, and rows of tables with the headers of their values."""
    tables = tables_in(text)
    rows = {(row.start, row.end): describe_row(table, row) for table in tables for row in table.rows}
    corners = [table.header[0] for table in tables if table.header and table.header[0]]
    return [rows.get(span) or text[slice(*span)] for span in split_sentences(text)] + corners


def content_words(words: Iterable[str]) -> list[str]:
    """Each once, in order."""
    return list(dict.fromkeys(word for word in words if not is_stop_word(word)))


# --- a sentence of the answer ----------------------------------------------------------------------------------------

READ: Final = 12
"""Source sentences that a sentence is compared with closely: those that share the most of its rare words."""
PAIRED: Final = 8
"""Of which pairs are tried: a sentence may draw on two places."""


@dataclass(frozen=True, slots=True)
class SentenceEvidence:
    """Shares in 0..1 unless said otherwise.

    `near`: words (all of them) in the best sentence with its neighbours. `pair`: content words, weighed by rarity, in the
    best two such places together. `exact`: words in the best single sentence. `missing`: content words that stand nowhere,
    counted. `speaker`: words about speaker or listener that the sources do not have. `numbers`, `names`: what of these
    stands nowhere in the sources, as spelled. `turned`: what the best sentence says the other way round, or "".
    `commands`: operations on machines that no source speaks of. `computed`: numbers that stand nowhere and follow from two
    that do. `echo`: it says what a source orders a model to say.
    `words`: content words, counted. `best`: the sentences that were read closely, best first.
    """

    words: int
    near: float
    pair: float
    exact: float
    missing: tuple[str, ...]
    speaker: float
    numbers: tuple[str, ...]
    names: tuple[str, ...]
    turned: str
    commands: tuple[str, ...]
    best: tuple[SourceSentence, ...]
    computed: tuple[str, ...] = ()
    echo: bool = False

    @property
    def supporters(self) -> tuple[int, ...]:
        """Numbers of the sources of the best sentences, best first, each once."""
        return tuple(dict.fromkeys(sentence.source for sentence in self.best[:2]))


def gather_evidence(sentence: str, sources: Sources, *, capitals: bool = True) -> SentenceEvidence:
    """`capitals`: they make names; not so in a language where nouns have them too."""
    said = all_terms(sentence)
    content = content_words(said)
    wanted, every = stems(content), stems(said)
    rarity = {one: sources.rarity(one) for one in sorted(wanted)}
    best = _closest(wanted, every, rarity, sources.sentences)
    about = [word for word in said if word in _SPEAKER and word not in sources.words]
    return SentenceEvidence(
        words=len(content),
        near=max((_share(every, s.near) for s in best), default=0.0),
        pair=_pair(rarity, best[:PAIRED]),
        exact=max((_share(every, s.stems) for s in best), default=0.0),
        missing=tuple(word for word in content if stem(word) not in sources.frequencies),
        speaker=len(about) / len(said) if said else 0.0,
        numbers=tuple(_missing_numbers(sentence, sources)),
        names=tuple(_missing_names(sentence, sources)) if capitals else (),
        turned=_turned(sentence, said, best) or _other_numbers(sentence, said, best),
        commands=tuple(
            c for c in _COMMANDS if _spoken(c, said) and not any(_spoken(c, s.words) for s in sources.sentences)
        ),
        best=tuple(best),
    )


def _spoken(command: str, words: Sequence[str]) -> bool:
    """As whole words: "reindexed" is honest prose."""
    return f" {command} " in f" {' '.join(words)} "


def _closest(
    wanted: frozenset[str], every: frozenset[str], rarity: dict[str, float], sentences: Sequence[SourceSentence]
) -> list[SourceSentence]:
    def shared(s: SourceSentence) -> tuple[float, float, float]:
        return (
            sum(rarity[one] for one in wanted & s.near) + sum(rarity[one] for one in wanted & s.stems),
            len(every & s.stems),
            -len(s.words),
        )

    scored = sorted(((shared(s), -i) for i, s in enumerate(sentences)), reverse=True)[:READ]
    return [sentences[-place] for (score, _, _), place in scored if score > 0]


def _share(wanted: frozenset[str], held: frozenset[str]) -> float:
    return len(wanted & held) / len(wanted) if wanted else 0.0


def _pair(rarity: dict[str, float], best: Sequence[SourceSentence]) -> float:
    mass = sum(rarity.values())
    if not mass or not best:
        return 0.0
    places = [[one in s.near for one in rarity] for s in best]
    weights = list(rarity.values())
    return max(
        sum(weight for weight, here, there in zip(weights, a, b, strict=True) if here or there) / mass
        for i, a in enumerate(places)
        for b in places[i:]
    )


def _missing_numbers(sentence: str, sources: Sources) -> Iterator[str]:
    for quantity in quantities(sentence):
        if not agrees(quantity, sources.quantities):
            yield f"{quantity.value} {quantity.unit}".strip()


NAME_LIKENESS: Final = 0.7
"""See terms.likeness: inflected, or one begins the other."""
_NAME = re.compile(r"[^\W_][\w'’-]*")


def _missing_names(sentence: str, sources: Sources) -> Iterator[str]:
    """Capitalised words that no source has; none in a sentence that is all capitals. The first word is taken for a name
    unless a comma follows ("Additionally, ...")."""
    if sentence.isupper():
        return
    for i, found in enumerate(_NAME.finditer(sentence)):
        raw = found[0]
        follows = sentence[found.end() : found.end() + 1]
        if any(c.isupper() for c in raw) and (i or (follows != "," and raw.isalpha())):
            parts = [
                word
                for word in content_words(all_terms(raw))
                if word.isalpha() and len(word) > 1 and word not in _INTERJECTIONS
            ]
            if any(not _known_name(word, sources) for word in parts):
                yield raw


def _known_name(word: str, sources: Sources) -> bool:
    """Also in another form: "Asian" where the sources say "Asia"."""
    return stem(word) in sources.frequencies or any(likeness(word, other) >= NAME_LIKENESS for other in sources.words)


# --- said the other way round ---------------------------------------------------------------------------------------

ALIKE: Final = 0.75
"""Share of a sentence's content words that a place in a source must have, for a difference to turn the meaning."""
LOOSE: Final = 1.5
"""A place is so many times as long as the sentence: a "not" elsewhere in a long source sentence turns nothing."""
_ASIDE: Final = re.compile(r"^\W*(?:no|non|nein)\b[\s,.!]|\bnot (?:sure|really|certain)\b|\bno idea\b", re.IGNORECASE)


def _turned(sentence: str, said: Sequence[str], best: Sequence[SourceSentence]) -> str:
    """A negation on one side only, or a word whose opposite the source has in its place; "" where a source sentence that
    is as much like it says the same way."""
    content = stems(content_words(word for word in said if word not in _NEGATIONS))
    if len(content) < 2 or _ASIDE.search(sentence) or any(word in _SPEAKER for word in said):
        return ""
    found = []
    for source in best[:READ]:
        share, place = _place(content, source.words, round(LOOSE * len(said)) + 3)
        if share >= ALIKE:
            found.append(_difference(said, place))
    return found[0] if found and all(found) else ""


def _other_numbers(sentence: str, said: Sequence[str], best: Sequence[SourceSentence]) -> str:
    """A number that every place that is much like the sentence has otherwise, in the same unit: "30 days" where the source
    says "25 days", however often 30 stands elsewhere."""
    ours = frozenset(quantities(sentence))
    content = stems(word for word in content_words(said) if not word[0].isdigit())
    if not ours or len(content) < 2:
        return ""
    like = [s for s in best if len(content & s.stems) / len(content) >= ALIKE]
    told = frozenset(q for s in like for q in quantities(s.text))
    here = {q.value for q in told}
    for one in sorted(ours, key=lambda q: q.value):
        others = sorted(q.value for q in told if _kind(q) == _kind(one) and q not in ours)
        if _kind(one) and one.value not in here and others:
            return f"{one.value} {one.unit} where the source says {others[0]} {one.unit}".replace("  ", " ").strip()
    return ""


def _kind(quantity: Quantity) -> str:
    """What can be compared: the unit, or that it looks like a year; "" where neither is known."""
    return quantity.unit or ("year" if re.fullmatch(r"1\d{3}|20\d{2}", quantity.value) else "")


def _place(content: frozenset[str], words: Sequence[str], length: int) -> tuple[float, Sequence[str]]:
    """The stretch of a source sentence that holds the most content words, with their share, shortened to them."""
    at = [i for i, word in enumerate(words) if stem(word) in content]
    best: tuple[int, Sequence[str]] = (0, ())
    for first in at:
        inside = [i for i in at if first <= i < first + length]
        held = len({stem(words[i]) for i in inside})
        if held > best[0]:
            best = (held, words[max(0, first - 2) : inside[-1] + 2])
    return best[0] / len(content), best[1]


def _difference(said: Sequence[str], told: Sequence[str]) -> str:
    """What is the other way round; a negation together with an opposite ("not allowed", "forbidden") is not."""
    ours, theirs = frozenset(said), frozenset(told)
    turns = []
    for one, other in _OPPOSITES:
        for here, there in ((one, other), (other, one)):
            mine, its = (ours & here) - theirs, (theirs & there) - ours
            if mine and its and not (ours & there) and not (theirs & here):
                turns.append(f"“{min(mine)}” where the source says “{min(its)}”")
    turns += [f"“{one}” where the source says “{other}”" for one, other in _prefixed(ours - theirs, theirs - ours)]
    if _negated(said) != _negated(told):
        turns.append("negated, where the source is not" if _negated(said) else "not negated, where the source is")
    return turns[0] if len(turns) % 2 else ""


_PREFIXES: Final = ("un", "non", "dis", "in", "im", "ir")
SHORTEST_ROOT: Final = 4
"""Letters of what a prefix turns round ("paid", "unpaid")."""


def _prefixed(ours: frozenset[str], theirs: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Words of which one is the other with a negative prefix."""
    for here, there, swapped in ((ours, theirs, False), (theirs, ours, True)):
        for word in sorted(here):
            for prefix in _PREFIXES:
                root = word.removeprefix(prefix)
                if root != word and len(root) >= SHORTEST_ROOT and root in there:
                    yield (root, word) if swapped else (word, root)


def _negated(words: Sequence[str]) -> bool:
    """A "no" or "not" that is one: "not only", "no longer than", "No. 5" are none, "n't" comes as the word "t"."""
    return any(
        (word in _NEGATIONS or (word == "t" and i and words[i - 1].endswith("n")))
        and (word, words[i + 1] if i + 1 < len(words) else "") not in _NO_NEGATION
        for i, word in enumerate(words)
    )
