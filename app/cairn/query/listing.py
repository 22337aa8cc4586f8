"""Whether a message asks for a list or a count of documents, or of what they name, and of which. Pure.

A message is one only where all of it is understood: who asks ("how many", "list all", nothing), what for (documents, pages,
people ...), and then nothing but clauses that restrict it ("about X", "not mentioning Y", "by Kim", "from 2019", "in French",
"as PDF") or say nothing ("do you have"). One word that fits no clause makes an ordinary question of it. The words of each
language are in its file (`lists`); a message is read by the grammar of one language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from cairn.domain.plan import LISTED, ListedUnit, ListRequest
from cairn.language.identify import languages_of
from cairn.language.lexicon import DEFAULT, Language, Lists, any_of, every, languages
from cairn.language.linear import bounded
from cairn.language.text import fold
from cairn.language.tokens import ALL_STOP_WORDS
from cairn.query.summarize import FILE_NAME

LONGEST: Final = 300  # bound: tests/unit/test_edges_query.py
"""Characters of a message that may be such a question."""
LONGEST_TERM: Final = 6  # bound: tests/unit/test_edges_query.py
"""Words of something that documents mention; more are a description, which is searched for."""
NAMED_IN: Final = 3  # measured: tests/unit/test_edges_query.py
"""Words of a name; a longer term may describe something, and documents that are about it say it otherwise."""
_VALUE: Final = 160  # bound: tests/unit/test_edges_query.py
"""Characters of a value."""
MOST_CLAUSES: Final = 8  # bound: tests/unit/test_edges_query.py

FORMATS: Final = {
    "pdf": "pdf", "docx": "word", "doc": "word", "word": "word", "markdown": "markdown", "md": "markdown", "html": "html",
    "htm": "html", "csv": "csv", "tsv": "tsv", "txt": "plain", "text": "plain", "xlsx": "spreadsheet", "xls": "spreadsheet",
    "excel": "spreadsheet", "pptx": "presentation", "powerpoint": "presentation", "epub": "epub", "rtf": "rtf",
    "odt": "opendocument.text", "eml": "rfc822", "ipynb": "ipynb", "python": "python", "java": "java", "go": "go", "rust": "rust",
}  # fmt: skip
"""What a format is called, and what stands in its media types."""

_QUOTED: Final = bounded(r"[\"“”„«»‘’`]\s?([^\"“”„«»‘’`]{1,120}?)\s?[\"“”„«»‘’`]|(?<!\w)'([^']{2,120})'(?!\w)")
_MASK: Final = "\ue000"
_YEAR: Final = r"(?P<year>(?:1[5-9]|20)\d\d)"
_HIGH: Final = r"(?P<high>(?:1[5-9]|20)\d\d)"
_APART: Final = bounded(r"[\s,;:.!?()']*")
_BETWEEN_TERMS: Final = bounded(rf"\s*(?:,|;|&|(?<!\w){any_of(lambda one: one.split.joins)}(?!\w))\s*", re.IGNORECASE)
_OR: Final = bounded(
    rf"\s+(?:{'|'.join(sorted({fold(one.questions.alternative) for one in languages() if one.questions.alternative}))})\s+",
    re.IGNORECASE,
)
_EDGES: Final = " \t\n.,;:!?¿¡()[]\"“”„«»‘’`'"
_UNSAID: Final = ALL_STOP_WORDS | every(lambda one: one.words.idle)
_AUTHOR: Final = every(lambda one: one.filters.author_keys)
"""What somebody is called who wrote something."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """`opening`, a value unless `whole`, and what closes it. `splits`: it may begin inside what follows another clause."""

    role: str
    opening: re.Pattern[str]
    closing: re.Pattern[str] | None
    whole: bool
    splits: bool


@dataclass(frozen=True, slots=True)
class _Grammar:
    heads: tuple[tuple[str, re.Pattern[str]], ...]
    determiners: re.Pattern[str]
    units: tuple[tuple[ListedUnit, re.Pattern[str]], ...]
    ages: tuple[tuple[str, re.Pattern[str]], ...]
    before: re.Pattern[str]
    clauses: tuple[_Clause, ...]
    joins: re.Pattern[str]
    trailing: re.Pattern[str]
    leading: re.Pattern[str]
    whole: re.Pattern[str]
    verbs: frozenset[str]


_NAMING: Final[frozenset[ListedUnit]] = frozenset({"people", "organisations", "places", "dates"})
_FIRST_OF_NAMES: Final = frozenset({"skip", "named", "named_in", "in"})


def list_request(message: str, language: str = DEFAULT) -> ListRequest | None:
    """What is to be listed or counted; None for every other message. `language`: where the message does not tell its own."""
    if len(message) > LONGEST:
        return None
    folded = _fold(message)
    masked = _QUOTED.sub(lambda match: _MASK * len(match.group()), folded)
    for grammar in (_grammars()[one.code] for one in languages_of(message, language) if one.code in _grammars()):
        if grammar.whole.search(masked):
            return ListRequest()
        if found := _Reading(grammar, message, masked).request():
            return found
    return None


def request_after(message: str, asked: Sequence[str], language: str = DEFAULT) -> ListRequest | None:
    """The same, after these messages, oldest first: "which of them mention X?" is about what was listed before,
    and "show the rest" goes on with it."""
    if asked and _asks_on(message):
        before = request_after(asked[-1], asked[:-1], language)
        goes_on = before and before.unit not in ("pages", "words") and not before.age
        return replace(before, shown=before.shown + LISTED) if before and goes_on else None
    found = list_request(message, language)
    if found is None or not found.of_the_last:
        return found
    for at in range(len(asked) - 1, -1, -1):
        if before := request_after(asked[at], asked[:at], language):
            return narrowed(before, found)
    return None


def _fold(text: str) -> str:
    """Without case and accents, each letter in its place."""
    return "".join(folded if len(folded := fold(letter)) == 1 else letter.lower() for letter in text.replace("’", "'"))


_ON: Final = bounded(
    rf"[\s¿¡]*(?:{'|'.join(_fold(pattern) for one in languages() for pattern in one.lists.rest)})[\s.!?…]*"
)


def _asks_on(message: str) -> bool:
    """Whether it says nothing but "show the rest", in any language."""
    return len(message) <= LONGEST and _ON.fullmatch(_fold(message)) is not None


def narrowed(before: ListRequest, further: ListRequest) -> ListRequest:
    """What is asked of those that were listed: "which of them mention X?"."""
    return replace(
        further,
        unit=before.unit if further.unit == "documents" else further.unit,
        mentioned=(*before.mentioned, *further.mentioned),
        excluded=(*before.excluded, *further.excluded),
        authors=(*before.authors, *further.authors),
        sources=(*before.sources, *further.sources),
        years=further.years or before.years,
        language=further.language or before.language,
        format=further.format or before.format,
        kind=further.kind or before.kind,
        of_the_last=before.of_the_last,
    )


class _Reading:
    """One message, read from left to right by one grammar."""

    def __init__(self, grammar: _Grammar, message: str, masked: str) -> None:
        self.grammar, self.message, self.masked = grammar, message, masked
        self.end = len(masked)
        if match := grammar.trailing.search(masked):
            self.end = match.start()
            self.masked = masked[: self.end]
        self.at = 0
        self.request_so_far = ListRequest()
        self.roles: tuple[str, ...] = ()
        self.dead: set[tuple[int, bool]] = set()

    def request(self) -> ListRequest | None:
        head = self._head()
        if head is None or not self._counted():
            return None
        return self._judged(head) if self._clauses(MOST_CLAUSES) else None

    def _judged(self, head: str) -> ListRequest | None:
        """None where too little of it is about documents."""
        found = self.request_so_far
        if head == "them" and not self.roles:
            return None
        if found.unit in _NAMING:
            return (
                found if {"named", "named_in", "in"} & {*self.roles} or (head == "order" and not self.roles) else None
            )
        if found.unit in ("pages", "words"):
            return found if self.roles and not found.language else None  # "words in the English language"
        if head in ("order", "count") or self.roles or found.age:
            return found
        return found if found.language or found.format or found.years else None

    # --- who asks, and what for

    def _head(self) -> str | None:
        self._skip(self.grammar.leading)
        for name, pattern in self.grammar.heads:
            if match := pattern.match(self.masked, self.at):
                self.at = match.end()
                self.request_so_far = ListRequest("count" if name == "count" else "list", of_the_last=name == "them")
                return name
        return "nothing"

    def _counted(self) -> bool:
        """Reads determiners, adjectives and the noun; whether there is one."""
        if self.request_so_far.of_the_last:
            return True
        while True:
            self._skip(_APART)
            age = next((name for name, one in self.grammar.ages if self._take(one)), None)
            if age:
                self.request_so_far = replace(self.request_so_far, age="newest" if age == "newest" else "oldest")
            elif (match := self.grammar.before.match(self.masked, self.at)) and match.end() > self.at:
                self.request_so_far = self._restricted(match)
                self.at = match.end()
            elif not self._take(self.grammar.determiners):
                break
        for unit, pattern in self.grammar.units:
            if match := pattern.match(self.masked, self.at):
                self.at = match.end()
                word = match.group()
                self.request_so_far = replace(
                    self.request_so_far, unit=unit, kind=word if unit == "documents" and word in _kinds() else ""
                )
                if word.startswith("pdf"):
                    self.request_so_far = replace(self.request_so_far, format="pdf")
                return True
        return False

    # --- clauses

    def _clauses(self, most: int) -> bool:
        """Whether the rest is nothing but clauses, so many at most; they are kept where it is."""
        if self._at_end():
            return True
        at, before, read = self.at, self.request_so_far, self.roles
        if (at, self.named) in self.dead or most == 0:
            return False
        for role, made, end in self._next():
            self.request_so_far, self.at, self.roles = made, end, (*read, role)
            if self._clauses(most - 1):
                return True
            self.request_so_far, self.at, self.roles = before, at, read
        self.dead.add((at, self.named))
        return False

    def _next(self) -> Iterator[tuple[str, ListRequest, int]]:
        """The clauses that may begin here: role, the request with each of them, and where it ends."""
        for start in self._starts(self.at):
            for clause in self.grammar.clauses:
                match = clause.opening.match(self.masked, start)
                if match is None or match.end() == start or not (self.named or clause.role in _FIRST_OF_NAMES):
                    continue
                if clause.whole:
                    yield clause.role, self._restricted(match, clause.role), match.end()
                    continue
                for value, end in self._values(match.end(), clause.closing):
                    made = self._with_value(clause.role, value)
                    if made is not None:
                        yield clause.role, made, end

    @property
    def named(self) -> bool:
        """Whether any clause may follow: people, places and the like must first be said to be named in documents."""
        return self.request_so_far.unit not in _NAMING or bool({"named", "named_in", "in"} & {*self.roles})

    def _starts(self, at: int) -> list[int]:
        """Where a clause may begin: here, and after a word that joins."""
        at = _APART.match(self.masked, at).end()  # type: ignore[union-attr]
        join = self.grammar.joins.match(self.masked, at)
        return [at, *([_APART.match(self.masked, join.end()).end()] if join else [])]  # type: ignore[union-attr]

    def _values(self, start: int, closing: re.Pattern[str] | None) -> Iterator[tuple[str, int]]:
        """The value, and where what follows it begins."""
        start = _APART.match(self.masked, start).end()  # type: ignore[union-attr]
        if closing is not None:
            for match in closing.finditer(self.masked, start, start + _VALUE):
                if match.start() > start and (not self.masked[match.end() :].strip(_EDGES) or self._opens(match.end())):
                    yield self.message[start : match.start()], match.end()
            return
        for at in self._word_starts(start):
            if self._opens(at):
                yield self.message[start:at], at
                return
        if self.end - start <= _VALUE:
            yield self.message[start : self.end], self.end

    def _word_starts(self, start: int) -> Iterator[int]:
        return (match.end() for match in bounded(r"[\s,;]+(?=\S)").finditer(self.masked, start, start + _VALUE))

    def _opens(self, at: int) -> bool:
        """Whether another clause begins here, after "and" or not."""
        return any(
            (match := clause.opening.match(self.masked, start)) is not None
            and match.end() > start
            and (clause.closing is None or clause.closing.search(self.masked, match.end()) is not None)
            for start in self._starts(at)
            for clause in self.grammar.clauses
            if clause.splits
        )

    def _with_value(self, role: str, value: str) -> ListRequest | None:
        found = self.request_so_far
        if role in ("in", "named_in"):
            named = _term(value)
            if not named or found.unit == "documents" or fold(named) in _kinds():
                return None  # "the report": which one?
            if role == "in" and not (_is_quoted(value) or FILE_NAME.search(named)):
                return None  # "how many people live in Paris?"
            generic = self.grammar.units[0][1].fullmatch(fold(named))
            return found if generic else replace(found, within=(*found.within, named))
        if role in ("by", "from"):
            name, called = _bare_name(value.strip(_EDGES))
            if (
                not name
                or len(name.split()) > LONGEST_TERM
                or not (role == "by" or called or name[:1].isupper() or _is_quoted(value))
            ):
                return None
            if all(fold(word) in _UNSAID for word in name.split()) or not self.grammar.verbs.isdisjoint(name.split()):
                return None  # "items from Ortmann are below": a sentence that goes on
            if role == "by" or called:
                return replace(found, authors=(*found.authors, name))
            return replace(found, sources=(*found.sources, name))
        terms = _terms(value)
        if not terms:
            return None
        if role == "not":
            if not _is_quoted(value) and any(says_much(one) for group in terms for one in group):
                return None  # "which file holds keys that I must not commit": it goes on with a sentence
            return replace(found, excluded=(*found.excluded, *(one for group in terms for one in group)))
        return replace(found, mentioned=(*found.mentioned, *terms))

    def _restricted(self, match: re.Match[str], role: str = "") -> ListRequest:
        said = {name: value for name, value in match.groupdict().items() if value}
        found = self.request_so_far
        if tongue := said.get("tongue"):
            found = replace(found, language=tongues()[tongue])
        if kind := said.get("type"):
            found = replace(found, format=FORMATS[kind.rstrip("s") if kind not in FORMATS else kind])
        if year := said.get("year"):
            low, high = int(year), int(said.get("high", year))
            bounds = {"since": (low, 9999), "after": (low + 1, 9999), "before": (0, low - 1)}
            found = replace(found, years=bounds.get(role, (low, high)))
        if role in ("newest", "oldest"):
            found = replace(found, age="newest" if role == "newest" else "oldest")
        return found

    def _take(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self.masked, self.at)
        if match is None or match.end() == self.at:
            return False
        self.at = match.end()
        return True

    def _skip(self, pattern: re.Pattern[str]) -> None:
        self._take(pattern)

    def _at_end(self) -> bool:
        return not self.masked[self.at :].strip(_EDGES + "-")


def _is_quoted(value: str) -> bool:
    return _QUOTED.fullmatch(value.strip(" .,?!")) is not None


def _terms(value: str) -> tuple[tuple[str, ...], ...]:
    """What must be mentioned, each in one of several ways: "X or Y, and Z". () where one of it is no such thing."""
    quoted: list[str] = []

    def keep(match: re.Match[str]) -> str:
        quoted.append(match[1] or match[2])
        return f"{_MASK}{len(quoted) - 1}{_MASK}"

    masked = _QUOTED.sub(keep, value)
    groups = []
    for part in _BETWEEN_TERMS.split(masked):
        if not part.strip(_EDGES):
            continue
        group = []
        for one in _OR.split(part):
            names = re.findall(f"{_MASK}(\\d+){_MASK}", one)
            term = quoted[int(names[0])].strip() if names else _term(one)
            if not term:
                return ()
            group.append(term)
        groups.append(tuple(group))
    return tuple(groups)


def _bare_name(said: str) -> tuple[str, bool]:
    """A name, and whether it was called an author's: "(by) the author Lee"."""
    words = said.split()
    for at in range(min(2, len(words) - 1)):
        if fold(words[at]) in _AUTHOR and all(fold(word) in _UNSAID for word in words[:at]):
            return " ".join(words[at + 1 :]), True
    return said, False


def _term(value: str) -> str:
    """Without articles before it; "" where it is no name of anything, or too long for one."""
    words = value.strip(_EDGES + "-").split()
    while words and fold(words[0].replace("’", "'")) in _ARTICLES and len(words) > 1:
        words = words[1:]
    if (
        not words
        or len(words) > LONGEST_TERM
        or fold(words[0]) in _UNSAID
        or all(fold(one) in _UNSAID for one in words)
    ):
        return ""
    return _ELIDED.sub("", " ".join(words)).strip(_EDGES)


_ARTICLES: Final = every(lambda one: one.lists.articles)
_ELIDED: Final = bounded(r"^(?:[ldLD]|[Dd]e l)['’](?=\w)")


# --- the grammars -----------------------------------------------------------------------------------------------------


@cache
def _grammars() -> dict[str, _Grammar]:
    return {one.code: _grammar(one) for one in languages() if one.lists.documents}


@cache
def _kinds() -> frozenset[str]:
    """Folded words for documents of a kind."""
    return frozenset(word for one in languages() for words in one.lists.kinds.values() for word in words)


@cache
def tongues() -> dict[str, str]:
    """Folded names of languages, with their codes."""
    return {
        fold(word): code for one in languages() for code, words in one.lists.tongues.items() for word in words.split()
    }


def kind_spellings(word: str) -> tuple[str, ...]:
    """All that documents of this kind are called, in every language: report, reports, rapport, Bericht ..."""
    keys = {key for one in languages() for key, words in one.lists.kinds.items() if word in words}
    return tuple(
        sorted({spelled for one in languages() for key in keys for spelled in one.lists.kinds.get(key, ())} | keys)
    )


LOOSE: Final = frozenset({"report", "paper", "study", "book", "note"})
"""Kinds that people also call what is none of them: a title says nothing of it, metadata do."""


def states_kind(word: str) -> bool:
    """Whether a document of this kind is called so in its title or file name: invoice-17.pdf."""
    keys = {key for one in languages() for key, words in one.lists.kinds.items() if word in words}
    return bool(keys - LOOSE)


def says_much(term: str) -> bool:
    """Whether a term rather describes something than names it."""
    return len(term.split()) > NAMED_IN


def _grammar(one: Language) -> _Grammar:
    lists = one.lists
    heads = (("them", lists.them), ("count", lists.count), ("order", lists.order), ("ask", lists.ask))
    kinds = sorted((word for words in lists.kinds.values() for word in words), key=len, reverse=True)
    units: tuple[tuple[ListedUnit, Sequence[str]], ...] = (
        ("documents", (*lists.documents, *kinds)), ("pages", lists.pages), ("words", lists.words), ("people", lists.people),
        ("organisations", lists.organisations), ("places", lists.places), ("dates", lists.dates),
    )  # fmt: skip
    return _Grammar(
        heads=tuple((name, one.compiled(*patterns)) for name, patterns in heads),
        determiners=one.compiled(*lists.determiners),
        units=tuple((unit, one.compiled(*patterns)) for unit, patterns in units),
        ages=(("newest", one.compiled(*lists.newest)), ("oldest", one.compiled(*lists.oldest))),
        before=bounded(rf"(?:(?P<type>{_types()})[\s-]+|{_YEAR}\s+|(?P<tongue>{_alternatives(tongues())})\s+)"),
        clauses=tuple(_clauses(one, lists)),
        joins=bounded(rf"(?:{'|'.join((*map(_fold, one.split.joins), *map(_fold, lists.but)))})(?!\w)"),
        trailing=bounded(rf"[\s,]+(?:{'|'.join(map(_fold, lists.trailing)) or '(?!)'})[\s.!?]*$"),
        leading=bounded(rf"[\s¿¡\"'(]*(?:(?:{'|'.join(map(_fold, lists.leading)) or '(?!)'})[\s,]+)*"),
        whole=one.compiled(*lists.whole),
        verbs=one.questions.yes_no,
    )


def _clauses(one: Language, lists: Lists) -> Iterator[_Clause]:
    filled = {
        "<tongue>": rf"(?P<tongue>{_alternatives(tongues())})",
        "<type>": rf"(?P<type>{_types()})s?",
        "<year>": _YEAR,
        "<high>": _HIGH,
    }
    for role, pattern in lists.clauses:
        for name, group in filled.items():
            pattern = pattern.replace(name, group)
        opening, _, closing = pattern.partition("<x>")
        closing = closing.strip()
        whole = "<x>" not in pattern
        yield _Clause(
            role,
            one.opening(opening),
            one.compiled(closing) if closing else None,
            whole,
            splits=role not in ("on", "in", "skip", "named", "named_in"),
        )


def _types() -> str:
    return _alternatives(FORMATS)


def _alternatives(words: dict[str, str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))
