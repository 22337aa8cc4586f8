"""The words of a question, and what they may be in a table: phrases of a computation, headers, names of cells. Pure."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Final

from cairn.domain.table import NamedCells, TableSketch
from cairn.language.cells import is_year, tokens_of, year_of
from cairn.language.dates import months_in, names_of_month
from cairn.language.identify import by_words, likely_language
from cairn.language.lexicon import Superlative, any_of, every, languages
from cairn.language.linear import bounded
from cairn.language.title_scale import unit_at_end
from cairn.language.tokens import ALL_STOP_WORDS, STOP_WORDS, same_word
from cairn.query.table_time import periods_in

COMPARISONS: Final = ("at_least", "at_most", "more", "less")
COMPUTED: Final = ("growth", "difference", "share", "highest", "lowest", "average", "sum", "count")
_PHRASES: Final = (
    *COMPUTED,
    "superlative",
    "commonest",
    "latest",
    "earliest",
    "best",
    "worst",
    *COMPARISONS,
    "comparative",
    "none",
    "top",
    "bottom",
    "listing",
)
LONGEST_NAME: Final = 12  # bound: tests/unit/test_edges_query.py
"""Words of a name that is looked for."""
MOST_TOKENS: Final = 60  # bound: tests/unit/test_edges_query.py
"""Words of a question that is read; longer ones tell more than what to compute."""


def _read_superlatives() -> dict[tuple[str, ...], frozenset[tuple[str, frozenset[str]]]]:
    found: dict[tuple[str, ...], set[tuple[str, frozenset[str]]]] = {}
    for language in languages():
        for entry in language.arithmetic.superlatives:
            for direction in ("highest", "lowest"):
                for phrase in getattr(entry, direction):
                    found.setdefault(tuple(tokens_of(phrase)), set()).add((direction, entry.of))
    return {words: frozenset(meanings) for words, meanings in found.items()}


SUPERLATIVES: Final[Mapping[tuple[str, ...], frozenset[tuple[str, frozenset[str]]]]] = _read_superlatives()
"""Adjectives with what they may mean: the highest or lowest of a column with one of these words in its header."""


def _read_headers(
    phrases: Callable[[Superlative], Iterable[str]], of: Callable[[Superlative], frozenset[str]]
) -> Mapping[tuple[str, ...], frozenset[str]]:
    """Words of headers by what is said of such a column."""
    return {
        tuple(tokens_of(phrase)): of(entry)
        for language in languages()
        for entry in language.arithmetic.superlatives
        for phrase in phrases(entry)
    }


BORN: Final = _read_headers(lambda entry: (*entry.highest, *entry.lowest), lambda entry: entry.born)
NAMED_BY: Final = _read_headers(lambda entry: (*entry.highest, *entry.lowest), lambda entry: entry.named)
"""Words of further columns that an adjective is said of, where the question names them: "the longest delay"."""
HIGH: Final = _read_headers(lambda entry: entry.high, lambda entry: entry.of)
"""Words for the highest and for a higher one that are said of a height, too, where no number is named: "the highest peak"."""


HOW: Final = _read_headers(lambda entry: entry.how, lambda entry: entry.of)
"""Questions for the number of such a column: "how old"."""


def rivals_of(of: frozenset[str]) -> frozenset[str]:
    """Words of columns of which an adjective may be said, too, that is said of columns with one of these."""
    entries = (entry for language in languages() for entry in language.arithmetic.superlatives if entry.of & of)
    return frozenset[str]().union(*(entry.rivals for entry in entries))


COMPARATIVES: Final[Mapping[tuple[str, ...], tuple[str, frozenset[str]]]] = {
    tuple(tokens_of(phrase)): (comparison, entry.of)
    for language in languages()
    for entry in language.arithmetic.superlatives
    for comparison in ("more", "less")
    for phrase in getattr(entry, comparison)
}
"""The same before a number: "cheaper than 20"."""
COMPARED_BY: Final[Mapping[tuple[str, ...], tuple[str, frozenset[str]]]] = {
    words[:-1]: said for words, said in COMPARATIVES.items()
}
"""The same without "than": "how much cheaper"."""


def _phrases(pick: str) -> dict[tuple[str, ...], str]:
    if pick == "superlative":
        return dict.fromkeys(SUPERLATIVES, pick)
    if pick == "comparative":
        return dict.fromkeys(COMPARATIVES, pick)
    found: dict[tuple[str, ...], str] = {}
    for one in languages():
        for phrase in getattr(one.arithmetic, pick):
            found[tuple(tokens_of(phrase))] = pick
    return found


_BESIDES: Final = {"difference": "moved", "sum": "adding"}
"""Further phrases of a computation, which say more than that."""
_SAYING: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    words: tuple(name for name in _PHRASES if words in known[name])
    for known in [{name: _phrases(name) | _phrases(_BESIDES.get(name, name)) for name in _PHRASES}]
    for words in {words for one in known.values() for words in one}
}
"""What phrases may say, those first that count first."""


def _words(pick: str) -> frozenset[str]:
    return every(lambda one: getattr(one.arithmetic, pick))


MOMENTS: Final = _words("moments")
RISING: Final = _words("rising")
FALLING: Final = _words("falling")
PERCENTS: Final = _words("percents")
CHANGES: Final = (
    RISING
    | FALLING
    | {
        words[0]
        for words in _phrases("difference")
        if len(words) == 1 and any(words[0] in phrase for phrase in _phrases("growth"))
    }
)
"""Words for a difference that has a direction: what is told of in percent, too."""
HIGHER: Final = _words("higher")
LOWER: Final = _words("lower")
THAN: Final = _words("than")
COUNTED_IN: Final = _words("counted_in")
CURRENCIES: Final = _words("currencies")
HAVING: Final = _words("having")
OR: Final = every(lambda one: one.questions.alternative.split())
JOINS: Final = OR | every(lambda one: one.numbers.joins) | {word for words in _phrases("ranges") for word in words}
"""Words between two of which both are meant, or either, or what is between."""
MOVED: Final = frozenset(_phrases("moved"))
LATEST: Final = frozenset(_phrases("latest"))
EARLIEST: Final = frozenset(_phrases("earliest"))
UNMADE: Final = frozenset(_phrases("unmade"))
"""What is asked of numbers and no computation makes: "median"."""
WHEN: Final = _words("when")
YEARS: Final = _words("years")
HOW_MUCH: Final = frozenset(_phrases("how_much"))
_OTHERS: Final = frozenset(_phrases("others"))
_BEYOND: Final = frozenset(_phrases("beyond"))
WHO: Final = frozenset(words[0] for words in _phrases("who"))
SUPERLATIVES_SAID: Final = frozenset({"highest", "lowest", "best", "worst", "superlative", "latest", "earliest"})
ADDING: Final = frozenset(_phrases("adding"))
ALL_OF: Final = _words("all_of")
BESIDE: Final = _words("beside")
BY: Final = _words("by")
EACH: Final = _words("each")
DISTINCT: Final = _words("distinct")
GOOD: Final = _words("good")
COUNTED: Final = _words("counted")
FLOWS: Final = _words("flows")
OUTFLOWS: Final = _words("outflows")
READINGS: Final = _words("readings")
PERIODS: Final = _words("monthly")
HOW_MANY: Final = _words("how_many")
SETTLING: Final = _words("settling")
STATES: Final = _words("states")
MOSTS: Final = frozenset(_phrases("mosts"))
NEGATIONS: Final = every(lambda one: one.guards.negations)
PEOPLE: Final = _words("people")
PERSONS: Final = _words("persons")
PERSON_NAMES: Final = _words("names")
_GIVEN_NAMES: Final = PERSON_NAMES | _words("given")
HUMANS: Final = _words("humans")
COSTING: Final = _words("costing")
SPENDING: Final = _words("spending")
STRETCHES: Final = _words("stretches")
MEASURING: Final = _words("measuring")
DEGREES: Final = _words("degrees")
SOURCES: Final = _words("sources")
RATIOS: Final = _words("ratios")
TOTALS: Final = _words("totals")
BOUND: Final = _words("bound") | RATIOS


def _by_word(groups: Iterable[Iterable[str]]) -> Mapping[str, frozenset[str]]:
    """Of each word all words of the groups that it is in: there are many groups, and each word of a question is looked up beside
    each of a header."""
    found: dict[str, frozenset[str]] = {}
    for group in map(frozenset, groups):
        found |= {word: found.get(word, frozenset()) | group for word in group}
    return found


_ALIKE: Final = _by_word((*_phrases("alike"), *(one.arithmetic.inhabitants for one in languages())))
INHABITANTS: Final = _words("inhabitants")
DOING: Final = _words("doing")
ENTERING: Final = _words("entering")
OUTCOMES: Final = _words("outcomes")
ONE_OF: Final = _words("one_of")
BEING: Final = _words("being")
AS_MANY: Final = _words("as_many")
AS_THOSE: Final = _words("as_those")
LOSING: Final = _words("losing")
WINNING: Final = _words("winning")
CONTESTS: Final = _words("contests")
WAGES: Final = _words("wages")
LIVING: Final = _words("living")
SOME_PEOPLE: Final = _words("some_people")
STATING: Final = _words("stating")
MONEY: Final = _words("money")
SAME: Final = _words("same")
RANKS: Final = _words("ranks")
TIMES: Final = _words("times")
ORDERS: Final = _words("orders") | RANKS
BEGUN: Final = _words("begun")
GOODS: Final = _words("goods")
PRICES: Final = _words("prices")
QUALIFIERS: Final = _words("qualifiers")
YES_NO: Final = every(lambda one: one.questions.yes_no)
ITEMS: Final = _words("items")
PIECES: Final = _words("pieces")
QUANTITIES: Final = _words("quantities") | PIECES
WORTH: Final = _words("worth")
OWING: Final = frozenset(_phrases("owing"))
PER: Final = _words("per")
_ENDINGS: Final = tuple(one.arithmetic.endings | {""} for one in languages())
_KIN: Final = _by_word(_phrases("kin"))
_KIN_OF_ROWS: Final = frozenset(word for group in _phrases("kin") if PERSONS.isdisjoint(group) for word in group)
""" "Month", "trip": no person."""
_OPPOSITES: Final = tuple(
    frozenset(tokens_of(side)) for one in languages() for pair in one.claims.opposites for side in pair.split("|")
)
_OPPOSITE: Final = {
    word: other for first, second in zip(_OPPOSITES[::2], _OPPOSITES[1::2], strict=True)
    for words, other in ((first, second), (second, first)) for word in words
}  # fmt: skip
RANGES: Final = frozenset(_phrases("ranges"))
_RANKING: Final = frozenset(_phrases("ranking"))
_RISING_ORDER: Final = frozenset(_phrases("rising_order"))
_FALLING_ORDER: Final = frozenset(_phrases("falling_order"))
SCALES: Final = {word: scale for one in languages() for word, scale in one.numbers.scales.items()} | {
    # measured: tests/unit/test_edges_query.py
    f"{word}s": scale
    for one in languages()
    for word, scale in one.numbers.scales.items()
    # measured: tests/unit/test_edges_query.py
    if len(word) > 3
}
UNITS: Final = every(lambda one: (name for names in one.numbers.units.values() for name in names)) | {
    "percent", "usd", "eur", "us",
}  # fmt: skip
_MONEY: Final = tuple(
    frozenset({symbol, *names})
    for one in languages()
    for symbol, names in one.numbers.units.items()
    if unicodedata.category(symbol[0]) == "Sc"
)
"""Signs of money with their names; `CURRENCIES` are headers."""
ORDINALS: Final = {
    word: place
    for one in languages()
    for spelled in (one.carry.ordinals, one.carry.numbered)
    for place, word in enumerate(spelled.split(), 1)
}
SPELLED: Final = {word: number for one in languages() for word, number in one.numbers.words.items()}


@dataclass(frozen=True, slots=True)
class ComputedQuestion:
    """A question that may ask for a computation. `names`: what a cell that it names may be called. A word of its own language
    that says nothing names none, one of another language may: "sur"; so may one with a capital ("AT", "in May"), whose places are
    `capitals`; `acronyms`: places of words that are all in capitals, which say something though "us" does not.
    `signed`: a number has a sign that its words are without ("below -50", "> 3", "4+"). `computes`: something asks for more than
    one cell. `bound`: places of words that are a part of one with a hyphen: "first-aider"."""

    tokens: tuple[str, ...]
    names: tuple[str, ...]
    language: str
    capitals: frozenset[int] = frozenset()
    acronyms: frozenset[int] = frozenset()
    signed: bool = False
    computes: bool = True
    bound: frozenset[int] = frozenset()

    @property
    def stop_words(self) -> frozenset[str]:
        return STOP_WORDS.get(self.language, ALL_STOP_WORDS)


# --- reading the question -------------------------------------------------------------------------------------------------


def read_question(text: str) -> ComputedQuestion | None:
    """None where nothing in it asks for a computation, or for a number that stands in a table."""
    text = _BARE_DECIMALS.sub(r"0.\1", _SPACED_THOUSANDS.sub(r"\1", text))
    tokens = tuple(tokens_of(text.replace("%", " percent ")))
    if not 1 < len(tokens) <= MOST_TOKENS:
        return None
    bound = _places_of(_BOUND, text, tokens)
    said = {name for _, _, names in _said(tokens, bound) for name in names}
    others = {words for words in _OTHERS for _ in _places(tokens, words, loosely=False)}
    compared = not (THAN | OR).isdisjoint(tokens) and not (HIGHER | LOWER).isdisjoint(tokens)
    ranged = numbers_between(tokens) is not None or any(map(begins_with_computation, tokens))
    asks_rows = ranged or said & SUPERLATIVES_SAID or said & {*COMPARISONS} or compared or periods_in(tokens)
    if others and not (asks_rows and all(words[0] in WHO for words in others)):
        return None
    computes = bool(
        said - {"listing"} or adjectives_in(tokens) or _asks_where(tokens) or compared or periods_in(tokens) or ranged
        or asks_how_much(tokens) or begins_ranking(tokens)
    )  # fmt: skip
    if not computes and "listing" not in said and not any(_places(tokens, one, loosely=False) for one in HOW_MUCH):
        return None
    names = {
        " ".join(tokens[start:end])
        for start in range(len(tokens))
        for end in range(start + 1, min(start + LONGEST_NAME, len(tokens)) + 1)
    }
    names |= {one for name in names for one in (*_singular(name), *_plural(name))}
    names |= {one for start in range(len(tokens)) for one in _named_by_month(tokens[start : start + _MONTH_NAME])}
    language = by_words(text) or likely_language(text)
    return ComputedQuestion(
        tokens, tuple(sorted(names)), language, _capitals(text, tokens), _acronyms(text, tokens), bool(_SIGNED.search(text)),
        computes, bound,
    )  # fmt: skip


def _named_by_month(tokens: Sequence[str]) -> Iterator[str]:
    """What a month is called besides, alone or before what follows: "mar", "mar 2024", of "March 2024"."""
    for name in names_of_month(tokens[0]):
        yield from (" ".join((name, *tokens[1:end])) for end in range(1, len(tokens) + 1))


_MONTH_NAME: Final = 2  # bound: tests/unit/test_table_question.py
"""Words of the name of a month with its year."""
_SPACED_THOUSANDS: Final = re.compile(r"(?<!\w)(\d{1,3})[ \u00a0\u202f](?=\d{3}(?!\d))")
""" "10 000"."""
_BARE_DECIMALS: Final = re.compile(r"(?<![^\s(<>≤≥=$€£])\.(\d)")
""" "less than .9"."""
_SIGNED: Final = re.compile(r"(?:^|[\s(])[-–−]\d|(?<![-–−])[<>≤≥~≈±]=?\s?\d|\d\s?\+(?!\s?\d)")


def _capitals(text: str, tokens: Sequence[str]) -> frozenset[int]:
    """Places of words in capitals, and of those behind the first that begin with one; none where all or most do."""
    titled = _places_of(_TITLED, text, tokens) - {0}
    return _acronyms(text, tokens) | (titled if 2 * len(titled) <= len(tokens) else frozenset())


def _acronyms(text: str, tokens: Sequence[str]) -> frozenset[int]:
    return frozenset() if text.isupper() else _places_of(_CAPITALS, text, tokens)


def _places_of(pattern: re.Pattern[str], text: str, tokens: Sequence[str]) -> frozenset[int]:
    marked = tokens_of(pattern.sub(lambda word: f"{word[0]}{_CAPITAL}", text.replace("%", " percent ")))
    if len(marked) != len(tokens):
        return frozenset()
    return frozenset(at for at, (one, token) in enumerate(zip(marked, tokens, strict=True)) if one != token)


_CAPITALS: Final = re.compile(r"(?<!\w)[A-Z]{2,}(?!\w)")
_TITLED: Final = re.compile(r"(?<!\w)(?:[A-HJ-Z]|[A-Z][a-z]+)(?!\w)")
_BOUND: Final = re.compile(r"(?<![\w-])[^\W\d_]++(?=-[^\W\d_])|(?<=[^\W\d_]-)[^\W\d_]++(?![\w-])")
_CAPITAL: Final = "0"
"""Behind a word in capitals, to find its place among those that are folded."""


_PLURALS: Final = (
    ("ies", "y"), ("es", ""), ("s", ""), ("en", ""), ("n", ""), ("x", ""), ("e", ""), ("er", ""), ("se", ""),
    ("i", "o"), ("i", "e"), ("e", "a"),
)  # fmt: skip
_SHORTEST_NAME: Final = 3  # bound: tests/unit/test_table_question.py
"""Letters of a cell that may be called in the plural."""


def _singular(name: str) -> Iterator[str]:
    """What a cell may be called that the question names in the plural: "diesel vans"."""
    for ending, other in _PLURALS:
        if name.endswith(ending) and name.rsplit(" ", 1)[-1].isalpha():
            one = name.removesuffix(ending) + other
            if len(one) >= _SHORTEST_NAME and one[-1] != " ":
                yield one


def _plural(name: str) -> Iterator[str]:
    """What a cell may be called that the question names in the singular: "the cheapest bag", of "Bags"."""
    for ending, other in _PLURALS:
        if name.endswith(other) and name.rsplit(" ", 1)[-1].isalpha():
            several = name.removesuffix(other) + ending
            if len(name.rsplit(" ", 1)[-1]) >= _SHORTEST_NAME:
                yield several


def asks_how_much(tokens: Sequence[str]) -> int:
    """How many words at the beginning ask for an amount; 0: none."""
    return max((len(words) for words in HOW_MUCH if (*tokens[: len(words)],) == words), default=0)


def begins_ranking(tokens: Sequence[str]) -> int:
    """How many words at the beginning ask for all in the order of a number, "rank the regions"; 0: none."""
    return max((len(words) for words in _RANKING if (*tokens[: len(words)],) == words), default=0)


def order_in(tokens: Sequence[str]) -> tuple[int, int, bool] | None:
    """Where it is said in which order, and whether the lowest comes first; None where it is not said."""
    found = [
        (start, start + len(words), rising)
        for phrases, rising in ((_RISING_ORDER, True), (_FALLING_ORDER, False))
        for words in phrases
        for start in _places(tokens, words, loosely=False)
    ]
    return max(found, key=lambda one: one[1] - one[0], default=None)


def _asks_where(tokens: Sequence[str]) -> bool:
    """Whether it begins with "which": a condition may follow."""
    return "listing" in _SAYING.get((tokens[0],), ())


def year_range(tokens: Sequence[str]) -> tuple[str, str] | None:
    """The two years that stand for those between them, too: "from 1998 to 2006". None where there are several such pairs."""
    found = {
        (first, last)
        for before, *between in RANGES
        for at in range(len(tokens) - len(between) - 2)
        for first, *then, last in [tokens[at + 1 : at + len(between) + 3]]
        if tokens[at] == before and then == between and is_year(first) and is_year(last)
    }
    [pair] = found if len(found) == 1 else [("", "")]
    return pair if pair[0] < pair[1] else None


def adjectives_in(tokens: Sequence[str]) -> list[int]:
    """Places right behind "how much" where an adjective stands that names a column: "how much longer"."""
    behind = {at + len(words) for words in HOW_MUCH for at in _places(tokens, words, loosely=False)}
    return sorted(at for at in behind if any(tuple(tokens[at : at + len(one)]) == one for one in COMPARED_BY))


def numbers_between(tokens: Sequence[str]) -> tuple[int, int, int] | None:
    """Places of two numbers that are the ends of a range, "between 40 and 60", and where it begins; None where there is none or
    there are several, and of years."""
    found = [
        (at + 1, at + len(between) + 2, at)
        for before, *between in RANGES
        for at in range(len(tokens) - len(between) - 2)
        for first, *then, last in [tokens[at + 1 : at + len(between) + 3]]
        if tokens[at] == before and then == between and first[0].isdigit() and last[0].isdigit()
        and not (is_year(first) and is_year(last))
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def says_beyond(tokens: Sequence[str], spans: Sequence[WordSpan]) -> bool:
    """Whether "more" or "less" is said, of whatever; not inside a longer phrase, such as "más alto"."""
    return any(
        not any(one.start <= at and at + len(words) <= one.end and one.end - one.start > len(words) for one in spans)
        for words in _BEYOND
        for at in _places(tokens, words, loosely=False)
    )


def _said(tokens: Sequence[str], bound: frozenset[int] = frozenset()) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Phrases of computations with their places, also those inside of each other. Who is a "first-aider" is not the first of
    anything, and what is "last-minute" not the last; the "best-paid" is the best."""
    longest = max(map(len, _SAYING))
    for start in range(len(tokens)):
        for end in range(start + 1, min(start + longest, len(tokens)) + 1):
            names = _SAYING.get(tuple(tokens[start:end]), ())
            if end == start + 1 and start in bound:
                names = tuple(name for name in names if name not in ("latest", "earliest"))
            if names:
                yield start, end, names


# --- words and what they may be in a table ------------------------------------------------------------------------------


@dataclass(slots=True)
class WordSpan:
    """A run of words and all that it may be: phrases of a computation, columns by their headers, cells by their keys."""

    start: int
    end: int
    phrases: tuple[str, ...] = ()
    headers: frozenset[int] = frozenset()
    cells: tuple[NamedCells, ...] = ()

    @property
    def named(self) -> bool:
        return bool(self.headers or self.cells)


def split_compounds(question: ComputedQuestion, table: TableSketch, named: Sequence[NamedCells]) -> ComputedQuestion:
    """With words taken apart of which one part is that of a header, and the word itself stands nowhere in the table:
    "Gasverbrauch", of a column "Gas", "Gesamtkosten", of "Kosten". Each part has to be explained as any other word."""
    heads = {word for header in table.header for word in header_words(header)}
    cells = {word for one in named for word in one.name.split(" ")}
    tokens: list[str] = []
    capitals, acronyms, bound = set(), set(), set()
    for at, token in enumerate(question.tokens):
        parts = [token]
        if (
            len(token) >= _COMPOUND
            and token.isalpha()
            and token not in question.stop_words | cells
            and not any(may_mean(token, head) for head in heads)
        ):
            parts = _parts_of(token, heads) or parts
        if at in question.capitals:
            capitals.add(len(tokens))
        if at in question.acronyms:
            acronyms.add(len(tokens))
        if at in question.bound:
            bound.add(len(tokens))
        tokens += parts
    if len(tokens) == len(question.tokens):
        return question
    return replace(
        question,
        tokens=tuple(tokens),
        capitals=frozenset(capitals),
        acronyms=frozenset(acronyms),
        bound=frozenset(bound),
    )


_COMPOUND: Final = 8  # measured: tests/unit/test_table_question.py
"""Letters of a word that may be two."""
_PART: Final = 3  # measured: tests/unit/test_table_question.py
"""Letters of its first part; the second one has more."""


LAST_PART: Final = 5  # measured: tests/unit/test_table_question.py
"""Letters of what a price is called at the end of a word that is two: "Einkaufspreis"; no "age" of "mileage"."""


def _parts_of(token: str, heads: set[str]) -> list[str]:
    """The header's word first, or what is computed of it; none where there are several ways."""
    longest = max((len(head) for head in heads), default=0)
    found = {
        (token[:at], token[at + len(link) :])
        for at in range(_PART, min(len(token) - _PART, max(longest, _LONGEST_COMPUTING) + 1))
        for link in ("", "s")
        if token[at:].startswith(link)
        and ((token[:at] in heads and link == "") or (_computes(token[:at]) and token[at + len(link) :] in heads))
    }
    return [*found.pop()] if len(found) == 1 else []


def begins_with_computation(token: str) -> bool:
    """ "Gesamtkosten"."""
    last = min(len(token) - _PART, _LONGEST_COMPUTING + 1)
    return len(token) >= _COMPOUND and any(_computes(token[:at]) for at in range(_PART, last))


_LONGEST_COMPUTING: Final = max(len(words[0]) for words in (*_phrases("sum"), *_phrases("average")) if len(words) == 1)


def _computes(word: str) -> bool:
    return not {"sum", "average"}.isdisjoint(_SAYING.get((word,), ()))


def spans_of(question: ComputedQuestion, table: TableSketch, named: Sequence[NamedCells]) -> list[WordSpan]:
    """Runs that do not overlap, the longest first; of equally long ones what the table has goes before what phrases say."""
    found: dict[tuple[int, int], WordSpan] = {}

    def at(start: int, end: int) -> WordSpan:
        return found.setdefault((start, end), WordSpan(start, end))

    for start, end, names in _said(question.tokens, question.bound):
        at(start, end).phrases = names
    for position, header in enumerate(table.header):
        for name in names_of(header):
            for start in _places(question.tokens, name, loosely=True):
                span = at(start, start + len(name))
                span.headers |= {position}
    for span in found.values():
        if set(span.phrases) & {"difference", "growth"} and all(compares(table.header[at]) for at in span.headers):
            span.headers = frozenset()  # a column "Change" does not say between which
    for span in found.values():
        if is_year(year := question.tokens[span.start]) and span.end - span.start == 1:
            span.headers |= {
                at for at, header in enumerate(table.header) if year in callable_words(header, question.tokens)
            }
    for cells in named:
        words = tuple(cells.name.split(" "))
        for start in _places(question.tokens, words, loosely=False):
            at(start, start + len(words)).cells += (cells,)
        if names_of_month(words[0]) and _is_monthly(table.header[cells.position], words):
            for start in _places_of_month(question.tokens, words):
                at(start, start + len(words)).cells += (cells,)
    plural: dict[tuple[int, int], tuple[NamedCells, ...]] = {}
    people = columns_of_people(table)
    for cells in named:
        if cells.name != cells.key and cells.position in people:
            continue  # "times" are no "Tim"
        *words_before, last = cells.name.split(" ")
        for end, token in enumerate(question.tokens, 1):
            start = end - len(words_before) - 1
            one_of = cells.cells > 1 and last in _plural(token) and _is_one(question, start, end)
            said = " ".join(question.tokens[max(start, 0) : end])
            same = last in _singular(token) or cells.name in _singular(said) or one_of
            if same and start >= 0 and [*question.tokens[start : end - 1]] == words_before:
                plural[start, end] = (*plural.get((start, end), ()), cells)
    for place, several in plural.items():
        if place not in found and (not _says_nothing(question, *place) or _is_kind(question, *place)):
            at(*place).cells = several
    order = sorted(
        found.values(),
        key=lambda one: (one.start - one.end, not one.named, _rank(one.phrases), one.start),
    )
    taken: set[int] = set()
    chosen = []
    for span in order:
        places = set(range(span.start, span.end))
        if not places & taken and not _is_function_word(question, span):
            taken |= places
            chosen.append(span)
    chosen += _words_of_headers(question, table, taken)
    return sorted(chosen, key=lambda one: one.start)


def _is_monthly(header: str, words: Sequence[str]) -> bool:
    """Whether a cell that is called as a month is one: it says a year, or its column that it is of months."""
    return len(words) > 1 or not PERIODS.isdisjoint(header_words(header))


def _places_of_month(tokens: Sequence[str], words: Sequence[str]) -> Iterator[int]:
    """Where a month stands by another name than that of a cell: "march", "mar"."""
    others = names_of_month(words[0])
    for start in range(len(tokens) - len(words) + 1):
        if tokens[start] in others and (*tokens[start + 1 : start + len(words)],) == (*words[1:],):
            yield start


def kinds_named(question: ComputedQuestion, table: TableSketch, named: Sequence[NamedCells]) -> frozenset[str]:
    """Words that are the name of several cells in another number ("table", of "Tables"), whatever they say elsewhere; and those
    that say nothing but where they may be the name of a cell or a month: "in may", "of group a"."""
    several = {cells.name for cells in named if cells.cells > 1}
    kinds = {
        token for token in question.tokens
        if token not in question.stop_words and not several.isdisjoint((*_singular(token), *_plural(token)))
    }  # fmt: skip
    called = {word: words for words in map(header_words, table.header) for word in words if months_in([word])}
    called |= {cells.name: header_words(table.header[cells.position]) for cells in named}
    return frozenset(kinds).union(
        token for at, token in enumerate(question.tokens)
        if at and token in question.stop_words and token in called
        and (
            months_in([token]) or at + 1 == len(question.tokens)
            or any(may_mean(question.tokens[at - 1], word) for word in called[token])
        )
    )  # fmt: skip


def _is_one(question: ComputedQuestion, start: int, end: int) -> bool:
    """Whether a thing of several is named there, "the cheapest bag", "of a bag", and no adjective of one: "new", of "News"."""
    before = any(
        stop == start and not SUPERLATIVES_SAID.isdisjoint(names)
        for _, stop, names in _said(question.tokens, question.bound)
    )
    beside = question.tokens[end : end + 1]
    compared = any(
        at == end and not {*COMPARISONS}.isdisjoint(names) for at, _, names in _said(question.tokens, question.bound)
    )
    return (before or question.tokens[start - 1 : start][:1] in [(word,) for word in PER]) and (
        not beside or beside[0] in question.stop_words | BY or compared
    )


def _says_nothing(question: ComputedQuestion, start: int, end: int) -> bool:
    """Whether it is a word of the question, and no name in another number."""
    return end - start == 1 and question.tokens[start] in question.stop_words | BESIDE | DOING


def _is_kind(question: ComputedQuestion, start: int, end: int) -> bool:
    """Whether it is said where a thing of several is named: "the cheapest table", of the group "Tables"."""
    return question.tokens[start] not in question.stop_words | DOING and _is_one(question, start, end)


def _words_of_headers(question: ComputedQuestion, table: TableSketch, taken: set[int]) -> Iterator[WordSpan]:
    """Of what is left the words that stand in headers: which column is meant is what the words have in common."""
    tokens = question.tokens
    headers = [callable_words(header, tokens) for header in table.header]
    for at, token in enumerate(tokens):
        counted = at and tokens[at - 1][0].isdigit() and (token in UNITS or token in SCALES)  # "35 million"
        if at in taken or token in question.stop_words or len(token) == 1 or token in BESIDE or counted:
            continue
        if at + 1 < len(tokens) and at + 1 not in taken:
            joined = frozenset(place for place, words in enumerate(headers) if token + tokens[at + 1] in words)
            if joined:
                taken |= {at, at + 1}
                yield WordSpan(at, at + 2, headers=joined)
                continue
        found = (
            _headers_called(token, headers, tokens)
            or _headers_with(token, headers, may_mean)
            or columns_counted_in(token, table)
            or _only_ratio(token, table)
        )
        if token in PIECES:
            found = frozenset(
                place for place in found if not is_money(table, place)
            )  # "how many units": no "Unit price (€)"
        if found:
            taken.add(at)
            yield WordSpan(at, at + 1, headers=found)


def _headers_called(token: str, headers: Sequence[Collection[str]], tokens: Sequence[str]) -> frozenset[int]:
    """Those that have the very word, where one of them says no more than the question: of "leave", "Sick leave" is no more than
    "Vacation"."""
    found = _headers_with(token, headers, is_word)
    whole = any(all(any(may_mean(one, word) for one in tokens) for word in headers[place]) for place in found)
    return found if whole else frozenset()


def _headers_with(token: str, headers: Sequence[Iterable[str]], agrees: Callable[[str, str], bool]) -> frozenset[int]:
    return frozenset(place for place, words in enumerate(headers) if any(agrees(token, one) for one in words))


def _only_ratio(token: str, table: TableSketch) -> frozenset[int]:
    """The one column whose header has a word, where it says besides that it is a share or a rate: "the lowest turnout", of
    "turnout_pct"."""
    called = {
        at for at, header in enumerate(table.header) if any(may_mean(token, word) for word in header_words(header))
    }
    at = min(called, default=0)
    words = header_words(table.header[at])
    ratio = bool(words & RATIOS - PER) or "%" in table.header[at]
    plain = token not in RATIOS and words & BOUND <= RATIOS - PER
    return frozenset({at}) if len(called) == 1 and at and table.numeric[at] and ratio and plain else frozenset()


def columns_counted_in(word: str, table: TableSketch) -> frozenset[int]:
    """Those of numbers in a currency or a unit, where the word is its name: "in euros", of "Order value (€)"."""
    if word in UNITS and not is_currency(word):
        return frozenset(at for at, numeric in enumerate(table.numeric) if numeric and is_its_unit(word, table, at))
    names = {name for group in _MONEY if word in group for name in group}
    return frozenset(
        at for at, header in enumerate(table.header)
        if names and table.numeric[at] and not names.isdisjoint(_counted_in(header, table.units[at]))
    )  # fmt: skip


def is_money(table: TableSketch, at: int) -> bool:
    """Whether a column says that it is counted in a currency."""
    said = _counted_in(table.header[at], table.units[at])
    return any(not group.isdisjoint(said) for group in _MONEY)


def is_priced(table: TableSketch, at: int) -> bool:
    """Whether a column says that it is counted in a currency, or what something costs or is worth."""
    return is_money(table, at) or bool(header_words(table.header[at]) & (PRICES | WORTH))


def is_currency(word: str) -> bool:
    return any(word in group for group in _MONEY)


def is_other_currency(word: str, table: TableSketch, at: int) -> bool:
    """Whether it names another currency than a column says that it is counted in, or, where it says none, the title."""
    said = _counted_in(table.header[at] if is_money(table, at) else table.title, table.units[at])
    groups = [group for group in _MONEY if word in group]
    counted = any(not group.isdisjoint(said) for group in _MONEY)
    return bool(groups) and counted and all(group.isdisjoint(said) for group in groups)


def is_its_unit(word: str, table: TableSketch, at: int) -> bool:
    """Whether a column says that it is counted in what a word names: "minutes", of "Delay (min)"."""
    degrees = word in DEGREES and "°" in f"{table.header[at]}{table.units[at]}"
    return degrees or word in _unit_words(table, at) or not _signs_of(table, at).isdisjoint(_UNIT_SIGNS.get(word, ()))


def is_other_unit(word: str, table: TableSketch, at: int) -> bool:
    """Whether a column says that it is counted in another unit: "hours", of "Delay (min)" or "Wait (days)"."""
    said, signs = _signs_of(table, at), _UNIT_SIGNS.get(word, frozenset())
    return bool(said) and bool(signs) and said.isdisjoint(signs)


def _signs_of(table: TableSketch, at: int) -> frozenset[str]:
    """The signs of the units that a column says it is counted in."""
    return frozenset(sign for word in _unit_words(table, at) for sign in _UNIT_SIGNS.get(word, ()))


def _unit_words(table: TableSketch, at: int) -> frozenset[str]:
    """Words and signs in brackets of a header, or behind its numbers."""
    said = [*bracketed(table.header[at]), table.units[at] or ""]
    return frozenset(
        word for part in said for word in (*tokens_of(part), *(sign for sign in part if not sign.isalnum()))
    )


_UNIT_SIGNS: Final[Mapping[str, frozenset[str]]] = {
    word: frozenset(
        sign.casefold()
        for one in languages()
        for sign, names in one.numbers.units.items()
        if word in {*names, sign.casefold()}
    )
    for word in UNITS | {sign.casefold() for one in languages() for sign in one.numbers.units}
}
"""What units are written as, by their names and by that."""


def _counted_in(header: str, unit: str | None) -> frozenset[str]:
    """Words and signs that say what a column is counted in."""
    return header_words(header) | {*header, *(unit or "")} - {*string.ascii_letters}


def callable_words(header: str, said: Sequence[str]) -> frozenset[str]:
    """The words by one of which a question may call a column; none where its header has a word that must be said and is not:
    "percent", or one of two years."""
    words = header_words(header)
    years = {word for word in words if is_year(word)}
    must = {word for word in words if word in BOUND} | (years if len(years) > 1 else set())
    if "%" in header:
        must.add("percent")
    if any(one in PER and other in words & STRETCHES for one, other in pairwise(said)):
        must -= PER  # "euros a night", of a "Price per night"
    if any(not any(may_mean(token, word) for token in said) for word in must):
        return frozenset()
    return words


_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NUMBER_OF: Final = bounded(rf"^\W*n[oº°][.º°]?\s+(?={any_of(lambda one: one.split.of)}\b)", re.IGNORECASE)
""" "No. of employees" is no negation."""
_SHORT_RANGE: Final = re.compile(r"(?<![^\W_])(\d\d)[-–_ /](\d\d)(?![^\W_])")
_CENTURY_TURNS: Final = 50  # measured: tests/unit/test_table_question.py
"""Two digits of a year from here on are of the century before."""


def header_words(header: str) -> frozenset[str]:
    """The words of a header, those that are written together, too: "ShareWomen", "incidents_85_99" with both years in full."""
    words = set(tokens_of(_CAMEL.sub(" ", _NUMBER_OF.sub("", header))))
    for short in _SHORT_RANGE.finditer(header):
        first, last = (f"{19 if int(year) >= _CENTURY_TURNS else 20}{year}" for year in short.groups())
        if first < last:
            words |= {first, last}
    return frozenset(words)


def may_mean(word: str, other: str) -> bool:
    """Whether a word of a question may stand for one of a header."""
    return is_word(word, other) or other in _ALIKE.get(word, ())


def is_word(word: str, other: str) -> bool:
    """Whether they are one word, in any number."""
    return word == other or same_word(word, other) or _is_short_plural(word, other)


def _is_short_plural(word: str, other: str) -> bool:
    """ "Fees" of a header "Fee": words too short for same_word."""
    short, long = sorted((word, other), key=len)
    return len(short) == _SHORTEST_NAME and long == f"{short}s" and short.isalpha()


def may_name(word: str, other: str) -> bool:
    """Whether a word of a question may stand for one of a title, a heading or the header of what rows are called."""
    return may_mean(word, other) or other in _KIN.get(word, ())


def is_kin_of(word: str, words: frozenset[str]) -> bool:
    """Whether a word is of the family of one of these, and another word: "month", of "monthly"."""
    return not words.isdisjoint(_KIN.get(word, frozenset()) - {word})


def says_time(word: str, header: str) -> bool:
    """Whether a word beside "last" or "first" says when, not of what: "last year", "last May". Of a "Month" it may be that."""
    other = word in _KIN_OF_ROWS or word in MOMENTS
    of_header = any(may_name(word, one) for one in header_words(header))
    return word in YEARS or bool(months_in([word])) or (other and not of_header)


def happened(header: str) -> bool:
    """Whether a column is called by what happened once to the row, and by nothing besides: "Opened"."""
    words = header_words(header) - ALL_STOP_WORDS
    return bool(words) and words <= BEGUN


def is_deed_of(word: str, header: str) -> bool:
    """Whether a verb says what those do whom a header names: "supplies", of a "Supplier"."""
    for agent in header_words(header) & PERSONS:
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, agent, strict=False)))
        # measured: tests/unit/test_table_question.py
        if shared > 3 and word != agent and any(word[shared:] in endings for endings in _ENDINGS):
            return True
    return False


def says_latest(header: str) -> bool:
    """Whether its dates are the last or the first ones of what stands in the row: "Last count"."""
    return any({*phrase} <= header_words(header) for phrase in (*LATEST, *EARLIEST))


def is_opposite(word: str, header: str) -> bool:
    """Whether a header says the opposite of a verb: "won" and "customers lost"."""
    return not _OPPOSITE.get(word, frozenset()).isdisjoint(header_words(header))


def _is_function_word(question: ComputedQuestion, span: WordSpan) -> bool:
    """Whether a cell is called by a single word that says nothing, such as "a" or "in"; a column may be, behind "which"."""
    at = span.start
    if span.headers and at and "listing" in _SAYING.get((question.tokens[at - 1],), ()):
        return False  # "which type"
    one = not span.phrases and span.end - at == 1 and at not in question.capitals
    return one and (question.tokens[at] in question.stop_words or question.tokens[at] in _CONTRACTED)


_CONTRACTED: Final = frozenset({"s", "t"})
"""What an apostrophe leaves of "is" and "not"."""


def _rank(phrases: Sequence[str]) -> int:
    return _PHRASES.index(phrases[0]) if phrases else 0


_BRACKETED: Final = bounded(r"\([^()]*\)|\[[^\[\]]*\]")


def names_of(header: str) -> frozenset[tuple[str, ...]]:
    """What a column may be called: its header with and without what stands in brackets, each of its lines, and its year."""
    found = set()
    for part in (header, *header.split(" / ")):
        for spelled in (part, besides_brackets(part)):
            words = tuple(tokens_of(spelled))
            if len("".join(words)) > 1:
                found.add(words)
                found |= {
                    (*words[:at], per, *words[at + 1 :])
                    for at in range(1, len(words) - 1) if words[at] in PER for per in PER
                }  # fmt: skip
    if year := year_of(header):
        found.add((year,))
    return frozenset(found)


def places_of(tokens: Sequence[str], words: Sequence[str]) -> list[int]:
    """Where the words stand one behind the other."""
    return [*_places(tokens, words, loosely=False)]


def _places(tokens: Sequence[str], words: Sequence[str], *, loosely: bool) -> Iterator[int]:
    for start in range(len(tokens) - len(words) + 1):
        here = tokens[start : start + len(words)]
        if all(one == other or (loosely and same_word(one, other)) for one, other in zip(here, words, strict=True)):
            yield start


def is_verb_of(token: str, word: str) -> bool:
    """Whether a word of a question says what a word of a header names: "delivered" and "delivery", "started" and "start": alike
    but for known endings. So dates are called, of which a table has few, and no other column; it may be said beside the name of
    one."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(token, word, strict=False)))
    # measured: tests/unit/test_table_time.py
    if token.isalpha() and shared == len(token) > 4:
        return True  # "fertig": "Fertigstellung"
    # measured: tests/unit/test_table_time.py
    stems = range(4, shared + 1) if token.isalpha() else ()
    return any({token[stem:], word[stem:]} <= endings for stem in stems for endings in _ENDINGS)


# --- kinds of columns ---------------------------------------------------------------------------------------------------------

_COMPARING: Final = frozenset(
    words[0]
    for name in ("difference", "growth", "share", "sum", "average")
    for one in languages()
    for phrase in getattr(one.arithmetic, name)
    if len(words := tokens_of(phrase)) == 1
) | {"variance"}
"""Words in the header of a column that is made of others."""


def compares(header: str) -> bool:
    """Whether a column is made of others: a change, a share, a total."""
    return "%" in header or not _COMPARING.isdisjoint(tokens_of(header))


def names_persons(words: frozenset[str]) -> bool:
    """Whether a header of these words is no more than what persons are called by: "Name", "First name"."""
    return words <= _GIVEN_NAMES and not words.isdisjoint(PERSON_NAMES)


def columns_of_people(table: TableSketch) -> list[int]:
    """Those whose cells are names of persons, who are called by one of them, too."""
    return [
        at for at, words in enumerate(map(header_words, table.header))
        if not table.numeric[at] and not table.dated[at] and (words & HUMANS or names_persons(words))
    ]  # fmt: skip


def names_moment(table: TableSketch) -> bool:
    """Whether each row is of another point of time."""
    return any(table.dated)


def bracketed(header: str) -> tuple[str, ...]:
    """What a header says in brackets, or as the sign of a unit at the end of "body_mass_g": what the column is counted in."""
    return (*_BRACKETED.findall(header), *filter(None, [unit_at_end(header)]))


def besides_brackets(header: str) -> str:
    """What a header says without that."""
    sign = unit_at_end(header)
    return _BRACKETED.sub(" ", header.removesuffix(f"_{sign}") if sign else header).strip()


def hides_number(spans: Sequence[WordSpan], at: int) -> bool:
    """Whether the number may be the name of a column or a cell as well."""
    return any(span.start <= at < span.end and span.named for span in spans)


def is_range(keys: Sequence[str]) -> bool:
    """Whether two years may stand for those between them, too: "from 2020 to 2024"."""
    return len(keys) == 2 and all(map(is_year, keys)) and abs(int(keys[0]) - int(keys[1])) > 1


def is_year_column(header: str) -> bool:
    """Whether its numbers are years: no "Fee per year"."""
    words = tokens_of(header)
    return any(word in YEARS and before not in PER for before, word in zip(("", *words), words, strict=False))


_SHORT_YEAR: Final = re.compile(r"\b(?:FY?|CY)\s?'?(\d\d)\b", re.IGNORECASE)


def short_year_of(header: str) -> str | None:
    """ "F19", "FY19"."""
    found = _SHORT_YEAR.search(header)
    return f"20{found[1]}" if found else None


def besides_date(header: str) -> str:
    """What a header says beside its date: numbers are left out."""
    return " ".join(word for word in tokens_of(header) if not word.isdigit())


def says_sum(words: Sequence[str]) -> bool:
    """Whether it asks for a sum in so many words."""
    return any(places_of(words, phrase) for phrase in _phrases("sum"))


def says_comparison(text: str) -> bool:
    """Whether something is compared: "more than", "at least", "above average"."""
    tokens = tokens_of(text)
    said = {name for _, _, names in _said(tokens) for name in names}
    return bool(said & {*COMPARISONS}) or not THAN.isdisjoint(tokens)


# --- what a table is counted in -------------------------------------------------------------------------------------------

_IN_SCALE: Final = (  # measured: tests/unit/test_edges_query.py
    (re.compile(r"\bbillions?\b|\bbn\b|milliarden|milliards|miliardi|\bmrd\b", re.IGNORECASE), 10**9),
    (
        re.compile(
            r"\bmillions?\b|millionen|millones|milioni|\bmio\b|[$€£]\s?m\b|\b(?:EUR|USD|GBP) m\b", re.IGNORECASE
        ),
        10**6,
    ),
    (
        re.compile(
            r"\bthousands?\b|tausend|\bTsd\b|milliers|miles de|migliaia|[’'‘]?000\b|\bTEUR\b|[$€£]k\b|\b(?:EUR|USD|GBP) k\b",
            re.IGNORECASE,
        ),
        10**3,
    ),
)


def scale_of(table: TableSketch) -> int | None:
    """What its numbers are multiplied by, where header or title say so."""
    for text in (" ".join(table.header), table.title):
        found = {scale for pattern, scale in _IN_SCALE if pattern.search(text)}
        if len(found) == 1:
            return found.pop()
        if found:
            return None
    return None
