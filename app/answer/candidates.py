"""What speaks for a sentence as the answer to a question. Pure.

The embedder knows English best, so words decide as much as vectors do: a question word counts where it stands in the
sentence, and less where it stands only around it (headings, the sentence before, the rest of the passage), because a
sentence like "It was founded in 1990" owes its subject to its neighbours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.passage import Passage
from app.language.sentences import Unit, split_units
from app.language.tokens import alike, spelled_terms, terms

NEAR_WEIGHTS: Final = (1.0, 0.6, 0.5, 0.3)
"""Worth of a question word in the sentence, its headings or lead, the sentence before, and the rest of the passage."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of a passage that may be an answer. `unit` counts from the start of the passage's content.

    Words of it, of the title, headings and announcements above it (`lead`), and of the unit `before` it; `path` is what
    stands above it, as text.
    """

    rank: int
    unit: Unit
    text: str
    words: frozenset[str]
    lead: frozenset[str]
    before: frozenset[str]
    path: str

    @property
    def in_context(self) -> str:
        """The sentence under its headings: what is embedded, for "It costs 400 euros." says nothing by itself."""
        return f"{self.path}: {self.text}" if self.path else self.text


@dataclass(frozen=True, slots=True)
class Evidence:
    """Shares of the question's words, 0..1, in the sentence (`direct`) and with its surroundings (`around`).

    `idf_*` weigh words by their rarity among the candidates: they tell these apart, which all hold the topic's words.
    `direct` and `around` count names and numbers double and other words once: they tell whether the topic is there at
    all. `fits`: the sentence holds the kind of thing that is asked for (None: no kind is asked for).
    """

    idf_direct: float
    idf_around: float
    direct: float
    around: float
    fits: bool | None


# --- candidates -----------------------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"[.!?…。！？:;][\"'”’“»)\]*_\d\[]*\Z")
FEWEST_WORDS: Final = 3
SHOWN_LEADS: Final = 3
LONGEST_LEAD: Final = 200


def candidates(passages: Sequence[Passage]) -> list[Candidate]:
    """Sentences that could answer, in the order of the passages; each place of a document and each wording once."""
    found: dict[object, Candidate] = {}
    wordings: set[str] = set()
    for rank, passage in enumerate(passages):
        for candidate in _sentences(rank, passage):
            place = (passage.document_id, passage.version, passage.start + candidate.unit.start)
            known = found.get(place)
            # of neighbours that overlap, one may hold only the beginning of the sentence
            if len(candidate.text) > (len(known.text) if known else 0) and candidate.text not in wordings:
                found[place] = candidate
                wordings.add(candidate.text)
    return list(found.values())


def _sentences(rank: int, passage: Passage) -> Iterator[Candidate]:
    titles = frozenset(terms(" ".join((passage.title, *passage.headings))))
    above = {-depth: heading for depth, heading in enumerate(reversed(passage.headings))}
    before = titles
    for unit in split_units(passage.content, code=passage.media_type.startswith("text/x-")):
        text = passage.content[unit.start : unit.end]
        own = frozenset(terms(text))
        if level := _leads(unit, text, passage.content):
            above = {depth: lead for depth, lead in above.items() if depth < level} | {level: text}
        elif not _is_fragment(passage, unit, text):
            path = list(dict.fromkeys(above[depth] for depth in sorted(above)))[-SHOWN_LEADS:]
            lead = titles.union(*(terms(text) for text in path))
            yield Candidate(rank, unit, text, own, lead, before, ". ".join(path)[-LONGEST_LEAD:])
        before = own


_DEEPEST: Final = 7


def _leads(unit: Unit, text: str, content: str) -> int:
    """Level of a heading; below all of them a question, or a line that announces a list; 0 for other units.

    They say what the next units are about, and answer nothing themselves.
    """
    if unit.kind == "heading":
        line = content[content.rfind("\n", 0, unit.start) + 1 : unit.start]
        return line.count("#") or _DEEPEST
    return _DEEPEST if text.rstrip("\"'”’»)*_ ").endswith(("?", "？", ":")) else 0


def _is_fragment(passage: Passage, unit: Unit, text: str) -> bool:
    """Cut off by the start or end of the passage, or too little to be understood."""
    if unit.kind == "code":
        return False
    if unit.start == 0 and passage.start > 0 and text[0].islower():
        return True
    if unit.kind != "prose" or _SENTENCE_END.search(text):
        return not any(c.isalnum() for c in text)
    return len(text.split()) < FEWEST_WORDS


# --- evidence -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Terms:
    """Words of the question: `idf` over the candidates, `worth` (2: name or number, 1), what matches each and how well.

    `missing`: its names and numbers, as spelled there, that stand nowhere in the passages.
    """

    idf: Mapping[str, float]
    worth: Mapping[str, float]
    matches: Mapping[str, Mapping[str, float]]
    missing: tuple[str, ...]


def question_terms(question: str, found: Sequence[Candidate]) -> Terms:
    """Inverse document frequency as in BM25, with sentences as documents; a word found nowhere weighs most."""
    spelled = spelled_terms(question)
    names = {word: raw for i, (raw, word) in enumerate(spelled) if _is_name(raw, first=i == 0)}
    vocabulary = frozenset[str]().union(*(c.words | c.lead | c.before for c in found))
    matches = {word: alike(word, vocabulary) for _, word in spelled}
    idf = {}
    for word, close in matches.items():
        df = sum(not c.words.isdisjoint(close) for c in found)
        idf[word] = math.log(1 + (len(found) - df + 0.5) / (df + 0.5))
    worth = {word: 2.0 if word in names else 1.0 for word in matches}
    return Terms(idf, worth, matches, tuple(raw for word, raw in names.items() if not matches[word]))


def _is_name(raw: str, *, first: bool) -> bool:
    """Capitalised, except as the first word, or with a digit or underscore. German nouns all count: it does no harm."""
    return any(c.isdigit() or c == "_" for c in raw) or any(c.isupper() for c in raw[first:])


def evidence(question: str, terms: Terms, found: Sequence[Candidate]) -> list[Evidence]:
    """One per candidate."""
    asks = asked_for(question)
    whole: dict[int, frozenset[str]] = {}
    for candidate in found:
        whole[candidate.rank] = whole.get(candidate.rank, frozenset()) | candidate.words | candidate.lead
    return [
        Evidence(*_shares(terms, c, whole[c.rank]), fits=bool(asks.search(c.text)) if asks else None) for c in found
    ]


def _shares(terms: Terms, candidate: Candidate, whole: frozenset[str]) -> tuple[float, float, float, float]:
    places = (candidate.words, candidate.lead, candidate.before, whole)
    direct: dict[str, float] = {}
    around: dict[str, float] = {}
    for word, close in terms.matches.items():
        held = [max((close[w] for w in place & close.keys()), default=0.0) for place in places]
        direct[word] = held[0]
        around[word] = max(share * value for share, value in zip(NEAR_WEIGHTS, held, strict=True))
    return (
        _weighted(terms.idf, direct), _weighted(terms.idf, around),
        _weighted(terms.worth, direct), _weighted(terms.worth, around),
    )  # fmt: skip


def _weighted(weights: Mapping[str, float], values: Mapping[str, float]) -> float:
    mass = sum(weights.values())
    return sum(weight * values[word] for word, weight in weights.items()) / mass if mass else 0.0


# --- what is asked for ----------------------------------------------------------------------------------------------

_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand|"
    r"million|billion|half|third|deux|trois|quatre|cinq|sept|huit|neuf|dix|douze|vingt|cent|mille|millions?|milliards?|"
    r"dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|veinte|cien|ciento|mil|millón|millones|zwei|drei|vier|fünf|"
    r"sechs|sieben|acht|neun|zehn|elf|zwölf|hundert|tausend|millionen|milliarden)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\d|\b(?:century|decade|year|month|week|day|daily|siècle|année|mois|semaine|jour|siglo|año|mes|semana|día|"
    r"jahrhundert|jahr|monat|woche|tag)\w*\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=\S\s)[^\W\d_a-zà-öø-ÿ]\w+|\b[^\W\d_a-zà-öø-ÿ]\w+\s+[^\W\d_a-zà-öø-ÿ]\w+")

_ASKS: Final = (
    (re.compile(r"\bhow (?:many|much|long|old|far|high|large|big|tall|often)\b|\bcombien\b|\bcuánt[oa]s?\b|"
                r"\bwie ?viele?\b|\bwie (?:lange|groß|hoch|alt|oft|weit)\b", re.IGNORECASE), _NUMBER),
    (re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date|century|month|day|decade)\b|\bquand\b|"
                r"\bquelle (?:année|date)\b|\bcuándo\b|\bqué (?:año|fecha|siglo)\b|\bwann\b|"
                r"\bwelche[mns]? (?:jahr|datum|jahrhundert)",
                re.IGNORECASE), _TIME),
    (re.compile(r"\bwho\b|\bwhose\b|\bwhom\b|\bquién(?:es)?\b|\bwer\b|\bwem\b|\bwen\b|^qui\b", re.IGNORECASE), _NAME),
)  # fmt: skip


def asked_for(question: str) -> re.Pattern[str] | None:
    """What a sentence must hold to be of the kind asked for (a number, a time, a name); None when any will do."""
    return next((kind for pattern, kind in _ASKS if pattern.search(question)), None)
