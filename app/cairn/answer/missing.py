"""What a question is about by name: names, numbers, years and files, and whether a text mentions them. Pure.

A question about a company that stands in no document must not be answered with the figures of another one, so what counts
as a name is told by how it is written: capitals, a possessive, its place after a preposition or an auxiliary verb. Common
words never count: documents say "turnover" where a question says "revenue".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from cairn.answer.answer_type import is_idle, read_asked, tells_outcome
from cairn.domain.passage import Passage
from cairn.graph.code.questions import wanted_symbols
from cairn.language import lexicon
from cairn.language.lexicon import any_of, every
from cairn.language.linear import bounded
from cairn.language.names import (
    COMMON_OPENERS,
    NameRules,
    NameToken,
    identifiers,
    loud,
    names,
    nouns_of,
    tokens_of,
    without_quoted,
)
from cairn.language.text import fold, window
from cairn.language.tokens import ALL_IDLE_WORDS, ALL_STOP_WORDS, WordIndex, spelled_terms, terms

SubjectKind = Literal["name", "opening", "number", "year", "file", "quotation"]
"""`opening`: the first word of a message, which may be a name or any word ("Kafka retention: what is the default?")."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a question names. `text` as it is spelled there; `words` are patterns over text, any of which mentions it. `sure`: its
    form says that it is a name; else it may be a noun, as an opening may, and others where nouns have capitals too."""

    text: str
    kind: SubjectKind
    words: tuple[str, ...]
    sure: bool = True
    whole: tuple[str, ...] = ()
    """Of a name of several words patterns of all of them, side by side, and of their initials."""

    @property
    def is_option(self) -> bool:
        """Whether it is written with dashes, as an option of a command is; its letters alone say nothing."""
        return self.text.startswith("-")

    @property
    def is_spelled_alike(self) -> bool:
        """Whether texts in any language spell it so: "max_connections", "--force"."""
        return self.is_option or "_" in self.text

    @property
    def may_be_word(self) -> bool:
        """Whether it is written as any word is, and only stands where names do: "the log of earlier runs"."""
        return self.kind == "name" and self.text.islower() and self.text.isalpha()


KEYWORDS: Final = 4  # measured: tests/unit/test_edges_quotation.py
"""Words of content up to which a message without function words is a list of keywords, each of which counts."""
INFLECTION: Final = 3  # measured: tests/unit/test_edges_quotation.py
"""Letters by which a name may be longer in one place than in another: Teslas, Iranian."""
LONG_NOUN: Final = 8  # measured: tests/unit/test_edges_quotation.py
LEAST_MISSPELLED: Final = 5  # measured: tests/unit/test_edges_quotation.py
SHORTEST: Final = 3  # measured: tests/unit/test_edges_quotation.py
"""Letters of a lower-case word that may be a name."""
_QUESTION_WORDS: Final = every(lambda one: one.questions.words - one.questions.never)
_LIGHT: Final = every(lambda one: one.questions.light)
_KIND: Final = re.compile(any_of(lambda one: one.symbols.kinds))
"""What a symbol of code is called, which no text about it has to say: "the function x"."""
_AUXILIARIES: Final = every(lambda one: one.questions.yes_no)
_COMMON: Final = (
    every(lambda one: one.graph.calendar)
    | every(lambda one: one.graph.titles)
    | every(lambda one: one.documents.called)
    | every(lambda one: one.documents.verbs)
    | every(lambda one: one.names.addresses)
    | every(lambda one: (word for words in one.lists.kinds.values() for word in words))
    | every(lambda one: (word for words in one.documents.formats.values() for word in words))
)
"""Capitalised in some languages, and no names."""
_GENERIC: Final = every(lambda one: one.graph.organisations) | every(lambda one: one.graph.places)
"""Words in names that many names have: of "University of Atlantis" only "Atlantis" tells it from others."""
_SPEAKER: Final = every(lambda one: one.claims.speaker)
_IDLE: Final = ALL_IDLE_WORDS | ALL_STOP_WORDS | _COMMON | _QUESTION_WORDS | COMMON_OPENERS
_NEVER_TELLING: Final = _GENERIC | _COMMON | ALL_STOP_WORDS | COMMON_OPENERS
"""Openers stand amid a question too, where it carries the one before it along."""
_RULES: Final = NameRules(ALL_IDLE_WORDS | _COMMON, _QUESTION_WORDS, COMMON_OPENERS | _AUXILIARIES)
_WORD: Final = re.compile(r"[^\W_]+(?:[.'&][^\W_]+)*")
_ROMAN: Final = re.compile(r"[IVXLC]+")
_YEAR: Final = re.compile(r"(?<![\w.,/-])(?:FY ?'?|CY ?'?)?((?:1[5-9]|20)\d\d)(?![\w/]|[.,-]\d)", re.IGNORECASE)
_SHORT_YEAR: Final = re.compile(r"(?<!\w)FY ?'?(\d\d)(?!\w)", re.IGNORECASE)
_FISCAL: Final = re.compile(r"(?<!\w)(?:FY|CY)(?= ?'?\d)", re.IGNORECASE)
"""What stands before a year is no name."""
_NUMBER: Final = re.compile(r"(?<![\w.,/:%$€£-])(\d{1,3}(?:[.,\u00a0 ]\d{3})+|\d{3,9})(?![\w/:%]|[.,-]\d)")
_FILE: Final = re.compile(
    r"(?<![\w/])[\w][\w./()-]{0,120}\.(?:pdf|docx?|md|txt|html?|rst|pptx?|xlsx?|csv|tsv|json|epub|eml|odt|rtf|ipynb)(?!\w)",
    re.IGNORECASE,
)


def subjects(question: str, language: str, known: Iterable[str] = ()) -> tuple[Subject, ...]:
    """In order, each once. `known`: names that need not stand in a text, such as those of the collection and its documents."""
    text = without_quoted(window(question).replace("’", "'"))
    ignored = {fold(part) for name in known for part in re.split(r"[\W_]+", name)}
    found = list(_files(text))
    text = _FILE.sub(lambda match: " " * len(match.group()), text)
    found += [*_years(text), *_numbers(text)]
    text = _FISCAL.sub(lambda match: " " * len(match.group()), text)
    spelled, first = _spelled_names(text, language), _statement_opening(text)
    found += [*_options(text), *named_identifiers(text)]
    opening = first if first and not any(name.startswith(first) for name in spelled) else None
    for name in [*spelled, *([opening] if opening else [])]:
        words = [word for word in _WORD.findall(name) if fold(word) not in ignored]
        telling = [word for word in words if fold(word) not in _NEVER_TELLING]
        patterns = [word_pattern(word) for word in telling if len(word) > 1 and not word.isdigit()]
        if patterns and not _ROMAN.fullmatch(name):
            compounds = _compounds(telling) if nouns_of(language) else ()
            kind: SubjectKind = "opening" if name == opening else "name"
            sure = kind == "name" and not (nouns_of(language) and len(words) == 1 and words[0].istitle())
            together = whole_pattern(_WORD.findall(name)) if kind == "name" else ""
            whole = (together, *_initials(words)) if together else ()
            found.append(Subject(name, kind, (*patterns, *_initials(words), *compounds), sure, whole))
    unique: dict[str, Subject] = {}
    for subject in found:
        unique.setdefault(fold(subject.text), subject)
    return tuple(unique.values())


def asked_besides(question: str, named: Sequence[Subject]) -> tuple[tuple[str, str], ...]:
    """Words of content of a question beside those that it names, as spelled and folded: what it wants to know of them. Of "the
    CEO of Intel" it names the last word. That something was accepted is none: a text answers that says that it was rejected."""
    outcome, code = read_asked(question).outcome, bool(wanted_symbols(question))
    own = frozenset(word for one in named for word in terms(_OFFICE.sub("", one.text)))
    return tuple(
        (raw, word)
        for raw, word in spelled_terms(question)
        if not (
            word in own | _LIGHT
            or is_idle(word)
            or (outcome and tells_outcome(raw))
            or (code and _KIND.fullmatch(fold(raw)))
        )
    )


_OFFICE: Final = re.compile(r"^(?:[^\W\d_]+ ){1,3}?(?=[a-zà-ÿ])[^\W\d_]+ (?=[A-ZÀ-Þ])")
"""What stands before a small word inside a name."""


def has_any(words: Iterable[str], passages: Sequence[Passage]) -> bool:
    """Whether any of these folded words stands in one of the passages, in whatever inflection."""
    there = WordIndex(frozenset(word for passage in passages for word in terms(seen(passage))))
    return any(there.alike(word) for word in words)


def unmentioned(named: Sequence[Subject], passages: Sequence[Passage]) -> tuple[Subject, ...]:
    """Those that none of the passages mentions: not in its text, title, headings or metadata."""
    read = [seen(passage) for passage in passages] if named else []
    return tuple(one for one in named if not any(mentioned(one, text) or misspelled(one, text) for text in read))


def names_other_years(asked: Sequence[Subject], text: str) -> bool:
    """Whether a text names years, and none of those that are asked about."""
    years = [one for one in asked if one.kind == "year"]
    return bool(years) and any(_years(text)) and not any(mentioned(one, text) for one in years)


def seen(passage: Passage) -> str:
    """All that its reader sees of a passage."""
    return "\n".join(
        (passage.title, passage.external_id, *passage.headings, str(dict(passage.metadata)), passage.content)
    )


def mentioned(subject: Subject, text: str) -> bool:
    """Whether a text mentions it: any of its words, in another inflection too, or what its letters stand for."""
    plain = bare(text)
    if any(re.search(pattern, plain) for pattern in subject.words):
        return True
    letters = re.sub(r"\.|s$", "", subject.text)
    # measured: tests/unit/test_edges_quotation.py
    return letters.isupper() and 2 <= len(letters) <= 6 and letters.isalpha() and _stands_for(letters, text)


def squashed(text: str) -> str:
    """Letters and digits alone, as file names are written: BESTBUY_2019_10K."""
    return "".join(filter(str.isalnum, fold(text)))


def bare(text: str) -> str:
    """Lower case and without accents, so that patterns of `Subject.words` apply."""
    return fold(text)


# --- names ------------------------------------------------------------------------------------------------------------


def _spelled_names(text: str, language: str) -> list[str]:
    tokens = tokens_of(text)
    if not tokens:
        return []
    if loud(text) or not any(token.capital for token in tokens):
        return list(_uncapitalised(tokens, text, language))
    opener, nouns = _opening_name(tokens, text), nouns_of(language)
    if opener and nouns and opener.endswith("s"):  # a genitive: "Teslas Umsatz"
        tokens = tokens[1:]
    rules = replace(_RULES, nouns=nouns, known=frozenset({opener} if opener else ()))
    found = [name for _, _, name in names(tokens, text, rules) if fold(name) not in _COMMON]
    if opener and not any(fold(name).startswith(opener) for name in found):
        found.append(tokens_of(text)[0].word)
    return found or [token.word for token in tokens if _owns(token, text) and token.folded not in _IDLE]


def _opening_name(tokens: list[NameToken], text: str) -> str | None:
    """The first word, where it owns something ("Tesla's revenue") or no verb or function word begins the message ("Tesla
    revenue 2019")."""
    first = tokens[0]
    if not first.capital or first.folded in _RULES.stops | _RULES.questions | _RULES.openers or len(first.word) < 2:
        return None
    return first.folded if _owns(first, text) or _is_keywords(tokens, frozenset()) else None


def _statement_opening(text: str) -> str | None:
    """The first word, where what is asked comes later: "Tesla reported which revenue?", "Kafka retention: what is it?"."""
    tokens = tokens_of(text)
    if len(tokens) < 2 or not tokens[0].capital or loud(text) or len(tokens[0].word) < SHORTEST:
        return None
    if tokens[0].folded in _RULES.stops | _RULES.questions | _RULES.openers:
        return None
    return tokens[0].word if any(token.folded in _QUESTION_WORDS for token in tokens[2:]) else None


def named_identifiers(text: str) -> Iterator[Subject]:
    """What is written as no word is ("max_connections", "GeventScheduler", "HTTP/2"), a name wherever it stands; none of few
    letters with a number, for which texts have other words ("Q4", "10-K")."""
    for _, _, name in identifiers(tokens_of(text)):
        if sum(map(str.isalpha, name)) >= SHORTEST:
            yield Subject(name, "name", (word_pattern(_HUMP.sub("-", name)),))


def _options(text: str) -> Iterator[Subject]:
    """Options of commands: "--keep-daily", "-v"; what texts write as "--[no-]cache" mentions both."""
    for match in _OPTION.finditer(text):
        word = fold(match["long"] or match["short"])
        if match["short"]:
            joined = _WORD.findall(text[: match.start()])[-1:]
            if joined and fold(joined[0]) in _JOINING and not _OPTION.search(text[: match.start()]):
                continue  # "Geburtsdatum und -ort"
            letter = rf"|-{word[0]}" if word[1:].isdigit() else ""  # "-j4" is "-j N"
            yield Subject(match[0], "name", (rf"(^|[^a-z0-9-])(-{word}{letter})($|[^a-z0-9-])",))
            continue
        plain = r"[-_]".join(map(re.escape, re.split(r"[-_]", word.removeprefix("no-"))))
        said = rf"no-{plain}" if word.startswith("no-") else plain
        ends = r"($|[^a-z0-9_-]|-($|[^a-z0-9]))"
        yield Subject(match[0], "name", (rf"(^|[^a-z0-9-])--?{said}{ends}", rf"(^|[^a-z0-9-])--\[no-\]{plain}{ends}"))


_OPTION: Final = re.compile(
    r"(?<![\w/)*-])(?:--(?P<long>[A-Za-z][\w-]{1,60})|-(?P<short>[A-Za-z][A-Za-z0-9]{0,2}))(?![\w-])"
)


_JOINING: Final = every(lambda one: one.asked.joining)


def whole_pattern(words: Sequence[str]) -> str:
    """A pattern for words that stand side by side, each with few letters more, without those before and behind that tell a name
    from nothing ("Inc"); "" where one is left."""
    telling = [at for at, word in enumerate(words) if fold(word) not in _NEVER_TELLING]
    if len(telling) < 2:
        return ""
    kept = words[telling[0] : telling[-1] + 1]
    said = r"[^a-z0-9]{1,3}".join(rf"{re.escape(fold(word))}[a-z]{{0,{INFLECTION}}}" for word in kept)
    return rf"(^|[^a-z0-9]){said}($|[^a-z0-9])"


def parts_of(subject: Subject) -> tuple[Subject, ...]:
    """The words of a name of several that tell it from others, each by itself and as it is spelled: "Cinema" is not cinematic."""
    words = [fold(word) for word in _WORD.findall(subject.text)] if subject.whole else []
    return tuple(
        replace(subject, words=(rf"(^|[^a-z0-9]){re.escape(word)}s?($|[^a-z0-9])",), whole=())
        for word in words
        if word not in _NEVER_TELLING
    )


def is_whole_in(subject: Subject, texts: Iterable[str]) -> bool:
    """Whether one of the texts has all of a name: "no premium licenses" is no mention of "Acme Premium"."""
    return not subject.whole or any(re.search(pattern, bare(text)) for text in texts for pattern in subject.whole)


def quotations(question: str) -> tuple[Subject, ...]:
    """What stands in quotation marks, a message or a label, word for word; a number may be another one, and texts may have
    "<name>" in the place of a word."""
    found = dict[str, Subject]()
    for match in _QUOTATION.finditer(window(question)):
        said = next(part for part in match.groups() if part).strip()
        words = _WORD.findall(fold(said))
        if ALL_STOP_WORDS.issuperset(words) or len(words) > LONGEST_QUOTATION:
            continue
        telling = [at for at, word in enumerate(words) if word not in ALL_STOP_WORDS]
        words = words[telling[0] : telling[-1] + 1]  # "the wrong password"
        pattern = r"[^a-z0-9]{1,4}".join([re.escape(words[0]), *map(_in_message, words[1:])])
        found.setdefault(fold(said), Subject(said, "quotation", (rf"(^|[^a-z0-9]){pattern}s?($|[^a-z0-9])",)))
    return tuple(found.values())


def _in_message(word: str) -> str:
    return r"[a-z0-9]{1,40}" if any(map(str.isdigit, word)) else rf"({re.escape(word)}|<[^<>\n]{{1,40}}>)"


LONGEST_QUOTATION: Final = 20  # bound: tests/unit/test_missing.py
"""Words; what is longer is pasted."""
_QUOTATION: Final = bounded(
    r'(?<!\d)"([^"\n]{2,200})"|“([^”\n]{2,200})”|«\s?([^»\n]{2,200}?)\s?»|„([^“”"\n]{2,200})[“”"]|(?<!\w)\'([^\'\n]{2,200})\'(?!\w)'
)


_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _owns(token: NameToken, text: str) -> bool:
    after = token.start + len(token.word)
    return text[after : after + 2].lower() == "'s"


def _is_keywords(tokens: list[NameToken], prepositions: frozenset[str]) -> bool:
    """Whether a message is a list of words without grammar, as people type into a search box."""
    if tokens[0].folded in _RULES.openers | _QUESTION_WORDS:
        return False
    functions = [token for token in tokens if token.folded in ALL_STOP_WORDS - prepositions]
    words = [token for token in tokens if token.folded not in prepositions]
    return not functions and 1 < len(words) <= KEYWORDS


def _uncapitalised(tokens: list[NameToken], text: str, language: str) -> Iterator[str]:
    """Words that stand where names do, in a message written without capitals: with a possessive, after an auxiliary verb that
    begins it, after a preposition without an article, among keywords."""
    own = lexicon.language(language)
    auxiliaries, prepositions = own.questions.yes_no, own.names.before
    keywords = _is_keywords(tokens, prepositions)
    for at, token in enumerate(tokens):
        if len(token.word) < SHORTEST or not token.word.isalpha() or token.folded in _IDLE:
            continue
        before = tokens[at - 1].folded if at else ""
        asked = at == 1 and before in auxiliaries
        if keywords or asked or _owns(token, text) or (before in prepositions and not loud(text)):
            yield token.word


def _initials(words: list[str]) -> Iterator[str]:
    """IBM is International Business Machines."""
    letters = "".join(fold(word)[0] for word in words if word[0].isupper() and fold(word) not in ALL_STOP_WORDS)
    if len(letters) > 1 and len(words) > 1:
        yield "(^|[^a-z])" + r"\.?".join(letters) + r"\.?($|[^a-z])"


def _compounds(words: list[str]) -> Iterator[str]:
    """Where nouns are written with capitals: other compounds that end like a long word of the question, which then is a
    noun ("Funkwellen" where a text has "Radiowellen")."""
    for word in words:
        plain = fold(word)
        if len(plain) >= LONG_NOUN and plain.isalpha():
            yield rf"{plain[-5:]}($|[^a-z])"


def misspelled(subject: Subject, text: str) -> bool:
    """Whether a text has a name that differs by one letter more or fewer, or by two that changed places."""
    wanted = fold(subject.text)
    if subject.kind not in ("name", "opening") or len(wanted) < LEAST_MISSPELLED or not wanted.isalpha():
        return False
    return any(differs_little(wanted, fold(word)) for word in set(re.findall(r"[^\W\d_]{4,}", text)))


def differs_little(one: str, other: str) -> bool:
    """Whether one word is the other with a letter more or fewer, or with two neighbours that changed places."""
    if abs(len(one) - len(other)) == 1:
        short, long = sorted((one, other), key=len)
        return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
    if len(one) != len(other):
        return False
    apart = [at for at in range(len(one)) if one[at] != other[at]]
    return (
        len(apart) == 2
        and apart[1] == apart[0] + 1
        and one[apart[0]] == other[apart[1]]
        and one[apart[1]] == other[apart[0]]
    )


def _stands_for(letters: str, text: str) -> bool:
    """Whether words that begin with these letters stand in a row: "most valuable player" for MVP."""
    words = re.findall(r"[^\W\d_]+", fold(text))
    starts = "".join(word[0] for word in words)
    short = "".join(word[0] for word in words if word not in ALL_STOP_WORDS)
    return letters.casefold() in starts or letters.casefold() in short


_INSTEAD_OF_S: Final = "(n(er)?|e?an|ian|er)s?|is[hm]|ic"
"""Endings that a name in -s may have in its place: Texan, Andean, Athenians, Brusseler, Kurdish."""


def word_pattern(word: str) -> str:
    """A folded name in any inflection that adds or drops few letters, as a regular expression that PostgreSQL reads too."""
    plain = re.sub(r"'s$", "", fold(word))
    if not plain.isalpha():
        plain = _PLURAL.sub(r"\1", plain)
        parts = [re.escape(part) for part in re.split(r"[\W_]+", plain) if part]
        # of two settings one may be called as the other, with an s: OCR_LANGUAGES
        ending = "" if {"_", "."} & {*plain} else "s?"
        return r"(^|[^a-z0-9])" + r"[^a-z0-9]?".join(parts) + rf"{ending}($|[^a-z0-9])"
    # measured: tests/unit/test_edges_quotation.py
    # of four letters none goes: "Luis" is not mentioned by "lui"
    stem = plain[:-1] if len(plain) > 4 and plain.endswith(("s", "y")) else plain
    if len(stem) < SHORTEST + 1:
        return rf"(^|[^a-z]){stem}s?($|[^a-z])"
    ending = rf"[a-z]{{0,{INFLECTION}}}"
    if plain.endswith("s") and stem != plain:  # "Texas" is in "Texan", "Mills" not in "million"
        ending = rf"(s{ending}|{_INSTEAD_OF_S})?"
    return rf"(^|[^a-z]){_either_spelling(word, stem)}{ending}($|[^a-z])"


_PLURAL: Final = re.compile(r"^([a-z]+\d{1,3})s$")
"""MP3s are mentioned by "MP3"."""


def _either_spelling(word: str, stem: str) -> str:
    """The stem as it is written with umlauts and ligatures and without them: "Mueller" is Müller, "Anatidæ" Anatidae."""
    marked = {fold(c) for c in word.lower() if c in "äöü"}
    spelled = stem.replace("æ", "ae").replace("œ", "oe")
    spelled = re.sub(r"(?<!^)([aou])e", r"\1e?", spelled)
    for vowel in marked:
        spelled = re.sub(rf"{vowel}(?!e)", f"{vowel}e?", spelled)
    return spelled.replace("ss", "(ss|ß)").replace("ae?", "(ae?|æ)").replace("oe?", "(oe?|œ)")


# --- numbers and files --------------------------------------------------------------------------------------------------


def _years(text: str) -> Iterator[Subject]:
    found = [
        (match.group().strip(), match[1] if len(match[1]) == 4 else f"20{match[1]}")
        for match in (*_YEAR.finditer(text), *_SHORT_YEAR.finditer(text))
    ]
    years = sorted({year for _, year in found})
    period = (period_pattern(years[0], years[-1]),) if len(years) > 1 else ()
    for said, year in found:
        yield Subject(said, "year", (year_pattern(year), *(period if year in (years[0], years[-1]) else ())))


def year_pattern(year: str) -> str:
    """2019, FY2019, FY19, '19, 1990s and the ranges 2018-19, 18_19 and 19_20; no 12,019 and no 2019.5."""
    short = year[2:]
    ranges = rf"(^|[^0-9_]|[a-z]_)([0-9]{{2}}_{short}|{short}_[0-9]{{2}})($|[^0-9_])"
    return rf"(^|[^0-9.,]){year}($|[^0-9])|(fy ?'?|'|[0-9]{{4}}[-_/–]){short}($|[^0-9])|{ranges}"


def period_pattern(first: str, last: str) -> str:
    """A period that both its years name, in two digits: 85-99; alone such numbers may be days."""
    return rf"(^|[^0-9.,-]){first[2:]}[-/–]{last[2:]}($|[^0-9-])"


def _numbers(text: str) -> Iterator[Subject]:
    """Of three digits and more: small ones are counts and steps, which texts write in words. None where the speaker tells of
    himself ("I earn 45,000")."""
    if any(fold(word) in _SPEAKER for word in re.findall(r"[^\W\d_]+", text)):
        return
    for match in _NUMBER.finditer(text):
        digits = re.sub(r"\D", "", match[1])
        if not _YEAR.fullmatch(match[1]):
            yield Subject(match[1].strip(), "number", (number_pattern(digits),))


def number_pattern(digits: str) -> str:
    """With and without separators of thousands: 1000, 1,000, 1.000, 1 000."""
    groups: list[str] = []
    while digits:
        digits, group = digits[:-3], digits[-3:]
        groups.insert(0, group)
    return rf"(^|[^0-9.,]){'[., ]?'.join(groups)}($|[^0-9])"


def _files(text: str) -> Iterator[Subject]:
    for match in _FILE.finditer(text):
        yield Subject(match.group(), "file", (re.escape(fold(match.group())),))
