"""What in the sources speaks for a sentence of the answer, and what against it. Pure.

First the sources, cut and counted once; then each sentence of the answer held against them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cairn.answer.ground.binding import SourceText, crossed, other_fact, other_value, substituted, swapped
from cairn.answer.ground.contradiction import SPEAKER, turned
from cairn.answer.ground.facts import Facts, Readings, check_facts, read_facts
from cairn.answer.ground.places import Cell, cells_of, places_of, stem, subject_stems
from cairn.language.dates import is_month
from cairn.language.lexicon import every
from cairn.language.names import COMMON_OPENERS
from cairn.language.numbers import Quantity, scale_in
from cairn.language.sentences import split_sentences
from cairn.language.tables import describe_row, tables_in
from cairn.language.text import fold
from cairn.language.tokens import all_terms, is_stop_word, likeness

_INTERJECTIONS: Final = every(lambda one: one.claims.interjections)
_COMMANDS: Final = (
    "pg_reindex", "reindex", "vacuum", "kubectl", "helm", "docker compose", "systemctl", "drop table", "truncate",
    "alter table",
)  # fmt: skip
"""A model that advises these without a source that does is dangerous. ("vacuum analyze" holds "vacuum".)"""

WINDOW: Final = 1  # bound: tests/unit/test_edges_ground.py
"""Neighbours on each side that a sentence is read with: its subject often stands before it."""


def stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words)


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """`source` is the number of its source, from 1. `near`: stems of it and its neighbours. `before`: the sentence before it;
    `around`: stems of its titles; `cells`: those of a table's row."""

    source: int
    text: str
    words: tuple[str, ...]
    stems: frozenset[str]
    near: frozenset[str]
    before: str = ""
    around: frozenset[str] = frozenset()
    cells: tuple[Cell, ...] = ()

    @property
    def place(self) -> SourceText:
        return SourceText(self.text, self.before, self.around, self.cells)


@dataclass(frozen=True, slots=True)
class Sources:
    """`frequencies`: in how many sentences a stem occurs. `words`: all words, folded; `common`: those that are written without a
    capital somewhere. `rows`: those of tables."""

    sentences: tuple[SourceSentence, ...]
    frequencies: dict[str, int]
    words: frozenset[str]
    quantities: frozenset[Quantity]
    dates: tuple[Readings, ...]
    common: frozenset[str]
    rows: tuple[SourceText, ...]

    def rarity(self, wanted: str) -> float:
        """Inverse document frequency of a stem as in BM25, with sentences as documents."""
        df = self.frequencies.get(wanted, 0)
        return math.log(1 + (len(self.sentences) - df + 0.5) / (df + 0.5))


def read_sources(texts: Sequence[str], titles: Sequence[str] = ()) -> Sources:
    """`titles[i]` (file, headings) belongs to `texts[i]`: its words count as said there, since they say what it is about."""
    sentences: list[SourceSentence] = []
    for number, text in enumerate(texts, start=1):
        pieces = _sentences_and_rows(text)
        said = [tuple(all_terms(piece)) for piece, _ in pieces]
        kept = [stems(words) for words in said]
        around = subject_stems(titles[number - 1]) if titles else frozenset()
        for i, ((piece, cells), words) in enumerate(zip(pieces, said, strict=True)):
            near = frozenset().union(*kept[max(0, i - WINDOW) : i + WINDOW + 1])
            before = pieces[i - 1][0] if i else ""
            sentences.append(SourceSentence(number, piece, words, kept[i], near, before, around, cells))
    named = frozenset(word for title in titles for word in all_terms(title))
    frequencies = Counter(one for sentence in sentences for one in sentence.stems)
    for one in stems(named):
        frequencies.setdefault(one, 1)
    vocabulary = frozenset(word for sentence in sentences for word in sentence.words) | named
    facts = [read_facts(text) for text in (*texts, *titles)]
    rows = tuple(sentence.place for sentence in sentences if sentence.cells)
    of_cells = frozenset(q for row in rows for place in places_of(row.text, row.cells) for q in place.quantities)
    return Sources(
        tuple(sentences),
        dict(frequencies),
        vocabulary,
        frozenset(q for one in facts for q in one.told) | of_cells,
        tuple(readings for one in facts for readings in one.dates),
        frozenset(fold(word) for text in texts for word in _LOWER.findall(text)),
        rows,
    )


_LOWER = re.compile(r"(?<![^\W\d_])[^\W\d_A-Z]\w+")


def _sentences_and_rows(text: str) -> list[tuple[str, tuple[Cell, ...]]]:
    """Sentences, and rows of tables with the headers of their values and as cells."""
    tables = tables_in(text)
    scale = scale_in(text) if tables else 1
    rows = {
        (row.start, row.end): (describe_row(table, row), cells_of(table, row, scale))
        for table in tables
        for row in table.rows
    }
    corners = [(table.header[0], ()) for table in tables if table.header and table.header[0]]
    return [rows.get(span) or (text[slice(*span)], ()) for span in split_sentences(text)] + corners


def content_words(words: Iterable[str]) -> list[str]:
    """Each once, in order."""
    return list(dict.fromkeys(word for word in words if not is_stop_word(word)))


# --- a sentence of the answer ----------------------------------------------------------------------------------------

READ: Final = 12  # bound: tests/unit/test_edges_ground.py
"""SourceText sentences that a sentence is compared with closely: those that share the most of its rare words."""
PAIRED: Final = 8  # bound: tests/unit/test_edges_ground.py
"""Of which pairs are tried: a sentence may draw on two places."""


@dataclass(frozen=True, slots=True)
class SentenceEvidence:
    """Shares in 0..1 unless said otherwise.

    `near`: words (all of them) in the best sentence with its neighbours. `pair`: content words, weighed by rarity, in the
    best two such places together. `exact`: words in the best single sentence. `missing`: content words that stand nowhere,
    counted. `speaker`: words about speaker or listener that the sources do not have. `numbers`, `names`: what of these
    stands nowhere in the sources, as spelled. `turned`: what the best sentence says the other way round, or "".
    `commands`: operations on machines that no source speaks of. `computed`: numbers that stand nowhere and follow from two
    that do. `strange`: a word with a capital stands nowhere, a name or not. `echo`: it says what a source orders a model to say.
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
    strange: bool = False
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
    about = [word for word in said if word in SPEAKER and word not in sources.words]
    nearest = [one.place for one in best]
    unknown = _unknown_capitals(sentence, sources) if capitals else []
    facts = check_facts(
        sentence, read_facts(sentence), sources.quantities, sources.dates, [_facts_of(one) for one in nearest[:PAIRED]]
    )
    return SentenceEvidence(
        words=len(content),
        near=max((_share(every, s.near) for s in best), default=0.0),
        pair=_pair(rarity, best[:PAIRED]),
        exact=max((_share(every, s.stems) for s in best), default=0.0),
        missing=tuple(word for word in content if stem(word) not in sources.frequencies),
        speaker=len(about) / len(said) if said else 0.0,
        numbers=facts.missing,
        names=tuple(one[0] for one in unknown if _is_name(one, sources, best)),
        turned=turned(sentence, said, [one.words for one in best])
        or _tied_otherwise(sentence, nearest, sources, capitals=capitals),
        commands=tuple(
            c for c in _COMMANDS if _spoken(c, said) and not any(_spoken(c, s.words) for s in sources.sentences)
        ),
        best=tuple(best),
        strange=any(one.start() or not one.string[one.end() :].startswith(",") for one in unknown),
        computed=facts.computed,
    )


def _facts_of(source: SourceText) -> Facts:
    places = places_of(source.text, source.cells)
    return Facts(
        tuple(q for place in places for q in place.quantities), tuple(d for place in places for d in place.dates)
    )


def _tied_otherwise(sentence: str, nearest: Sequence[SourceText], sources: Sources, *, capitals: bool) -> str:
    return (
        other_fact(sentence, nearest, sources.rarity)
        or other_value(sentence, sources.rows)
        or swapped(sentence, nearest)
        or crossed(sentence, nearest)
        or (substituted(sentence, nearest, sources.rarity) if capitals else "")
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


NAME_LIKENESS: Final = 0.7  # measured: tests/unit/test_edges_ground.py
"""See terms.likeness: inflected, or one begins the other."""
_ASSERTS: Final = every(lambda one: one.graph.asserts)
_NAME = re.compile(r"[^\W_][\w'’-]*")


def _unknown_capitals(sentence: str, sources: Sources) -> list[re.Match[str]]:
    """Words with a capital that no source has; none in a sentence that is all capitals."""
    if sentence.isupper():
        return []
    return [
        found
        for found in _NAME.finditer(sentence)
        if any(map(str.isupper, found[0])) and _is_unknown(found[0], sources)
    ]


def _is_unknown(raw: str, sources: Sources) -> bool:
    parts = (word for word in content_words(all_terms(raw)) if word.isalpha() and len(word) > 1)
    return any(word not in _INTERJECTIONS and not is_month(raw) and not _known_name(word, sources) for word in parts)


def _is_name(found: re.Match[str], sources: Sources, best: Sequence[SourceSentence]) -> bool:
    """Inside a sentence a word with a capital is one. The first is where another one follows, or where what is said of it is said
    of somebody in the source ("Bob manages ..." where Alice does); "Workers get ..." is none."""
    sentence = found.string
    if any(map(str.isalnum, sentence[: found.start()])):
        return True
    word, after = fold(found[0]), _NAME.match(sentence, found.end() + 1)
    if not after or sentence[found.end()] != " " or word in COMMON_OPENERS or not found[0].isalpha():
        return False
    if after[0][0].isupper():
        return True
    follows = fold(after[0])
    if word in sources.common or (word.endswith(("s", "ing")) and follows not in _ASSERTS):
        return False
    return any(follows in one.words and _begins_with_name(one, sources) for one in best[:2])


def _begins_with_name(one: SourceSentence, sources: Sources) -> bool:
    return bool(one.words) and not is_stop_word(one.words[0]) and one.words[0] not in sources.common


def _known_name(word: str, sources: Sources) -> bool:
    """Also in another form: "Asian" where the sources say "Asia"."""
    return stem(word) in sources.frequencies or any(
        word[0] == other[0] and likeness(word, other) >= NAME_LIKENESS for other in sources.words
    )
