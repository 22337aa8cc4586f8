"""Which places are the entry of what a question names: the section, item or row of an option, a setting, a function. Pure.

To a model `--keep-within-daily` is much the same as `--keep-daily`, and what only mentions a setting has all of its words; but
who asks what a name means is answered where a manual gives it an entry of its own (docs/adr/0171-entries-of-what-is-named.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cairn.answer.answer_type import is_idle
from cairn.answer.candidates import Candidate, TableRow
from cairn.answer.evidence import Measured
from cairn.answer.missing import differs_little, named_identifiers
from cairn.domain.passage import Passage
from cairn.language.linear import bounded
from cairn.language.text import fold
from cairn.language.tokens import ALL_STOP_WORDS, alike, terms

OWN_NEAR: Final = 3.0  # measured: tests/unit/test_named_entry.py
"""By how much less than the best an entry may score and still come first."""
OWN_PROMISE: Final = 2.0  # measured: tests/unit/test_named_entry.py
"""By how much more it promises before anything is read."""
OWN_ENOUGH: Final = 0.08  # measured: tests/unit/test_named_entry.py
"""Confidence from which it is shown: of 23 such questions about eight manuals the entry holds what is asked for 20, and the
confidence, which knows nothing of entries, refused five of these."""
LONGEST_HEAD: Final = 120  # bound: tests/unit/test_named_entry.py
"""Characters in which an entry says its names."""

_OPTION: Final = bounded(
    r"(?<![\w-])--?[A-Za-z][\w-]*|(?<!\w)[$@%][A-Za-z_]\w*%?|(?<![\w:/)]):[a-z][\w-]*:?(?![\w:])|`([^`\s]{2,60})`"
)
_LOUD: Final = re.compile(r"(?<![\w/.`-])[A-Z][A-Z0-9]{2,40}(?![\w/.-]|`)")
"""`FROM`, a key that is a word; so are names of all kinds (HTTP), so that an entry must set it apart."""
_SHORT: Final = re.compile(r"-\w")
_HUMPED: Final = re.compile(r"\A[a-z]{2,40}(?:[A-Z][a-z]{1,40}){1,9}")
"""`blockPullOrder`; names of products are written otherwise: macOS, iPhone, NetBox."""
_DOTTED: Final = re.compile(r"\A\w{1,60}(?:\.\w{1,60}){0,6}\.[A-Za-z]{0,40}[A-Z_]\w{0,60}")
_MARKER: Final = re.compile(r"\A(?:[-*+>]|\d{1,3}[.)])\s+")
_BREAK: Final = re.compile(r"\n\s*(?:\n|[-*+>|#]|\d{1,3}[.)])|\n[ \t]*\Z")
_TOKEN: Final = re.compile(r"[^\s,`*|()\[\]<>=:;\"']+")
_SET_APART: Final = re.compile(r"\A(?:[`*-]|[\w.]+(?:=|:(?!\w)))")
"""How a text begins that first says a name, and then what it means."""
_OF_OPTION: Final = re.compile(
    r"\A(?P<first>[^\W\d_]{1,12}) (?:[^\W\d_]{1,12} )?(`-[^`\n]{1,60}`(?:(?:,| [^\W\d_]{1,4}) `-[^`\n]{1,60}`){0,3})"
)
"""How a sentence begins that says what an option does: "If `-s` or `--split` is given"."""
_JOINED: Final = re.compile(r"(?<=`) [^\W\d_]{1,4} (?=`)")
_LABEL: Final = bounded(r"[-*+>\s]*\*{0,2}([^\W\d_][^:*\n]{1,40}):")


def name_asked(question: str) -> str | None:
    """The one name of an option, a setting or a variable that the question writes as no word is (`--keep-daily`, `lb_policy`,
    `build.target`, `$in`, `:safe`), or in backticks, else in capitals alone (`FROM`); None where there are several, or none:
    names of products are none."""
    options = {_bare(match[1] or match[0]) for match in _OPTION.finditer(question)}
    settings = {
        _bare(one.text)
        for one in named_identifiers(question)
        if {"_", "."} & {*one.text.strip("._")} or _HUMPED.fullmatch(one.text)
    }
    names = options | settings or {fold(word) for word in _loud_words(question)}
    return names.pop() if len(names) == 1 else None


def _loud_words(question: str) -> list[str]:
    """Words in capitals, where not all of the question is."""
    return [] if question.isupper() else _LOUD.findall(question)


def find_entries(question: str, found: Sequence[Candidate], passages: Sequence[Passage]) -> NDArray[np.bool_]:
    """For each candidate whether it is, or stands in, the entry of what the question names."""
    name = name_asked(question)
    if name is None:
        return np.zeros(len(found), np.bool_)
    loud = any(fold(word) == name for word in _loud_words(question))

    def begins(one: Candidate) -> bool:
        return any(name in _entry_names(head) and (not loud or _is_key(head, name, one)) for head in _heads(one))

    return _standing_in(found, passages, begins)


def without_entries_like_it(
    question: str, found: list[Candidate], passages: Sequence[Passage], entries: NDArray[np.bool_]
) -> list[Candidate]:
    """Where there are entries of what the question names, what is found without those of a name that differs by one letter and
    does not say its own: `OCR_LANGUAGES` is another setting than `OCR_LANGUAGE`, and to a model the same."""
    name = name_asked(question)
    if name is None or not entries.any():
        return found

    def begins(one: Candidate) -> bool:
        named = frozenset[str]().union(
            *(_entry_names(head[:LONGEST_HEAD]) for head in (*_heads(one), *one.path.split(". ")))
        )
        return name not in named and any(differs_little(name, other) for other in named)

    others = _standing_in(found, passages, begins)
    said = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    return [
        one
        for one, own, other in zip(found, entries, others, strict=True)
        if own or not other or said.search(fold(one.text))
    ]


def _standing_in(
    found: Sequence[Candidate], passages: Sequence[Passage], begins: Callable[[Candidate], bool]
) -> NDArray[np.bool_]:
    """For each candidate whether it begins an entry, or goes on with it."""
    inside = np.zeros(len(found), np.bool_)
    for at, one in enumerate(found):
        before = found[at - 1] if at else None
        goes_on = (
            before is not None
            and inside[at - 1]
            and before.rank == one.rank
            and not _BREAK.search(passages[one.rank].content, before.unit.end, one.unit.start)
        )
        inside[at] = goes_on or begins(one)
    return inside


def find_own_places(
    question: str, found: Sequence[Candidate], passages: Sequence[Passage], entries: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Entries of what the question names; where it has the title of a document word for word that is code of several words, a
    command ("mise use"), those in that document, or all of it: to a model any page of the manual is about "mise"."""
    titles = [_command(passage.title) for passage in passages]
    asked = _said(question)
    longest = max((len(title) for title in titles if title in asked), default=0)
    if not longest:
        return entries
    titled = np.array([len(titles[one.rank]) == longest and titles[one.rank] in asked for one in found], np.bool_)
    both: NDArray[np.bool_] = titled & entries
    return both if both.any() else titled


def _command(title: str) -> str:
    """A title that is code of several words, to be looked for in what `_said` gives; else one that stands nowhere."""
    code = _COMMAND.fullmatch(title.strip())
    return _said(code[1]) if code else _NOWHERE


def _said(text: str) -> str:
    """Folded words, with a space around each."""
    return f" {' '.join(_WORD.findall(fold(text)))} "


_COMMAND: Final = re.compile(r"`([^`\s]{1,60}(?: [^`\s]{1,60}){1,6})`")
_WORD: Final = re.compile(r"[\w-]+")
_NOWHERE: Final = "\n"


def with_entry_first(
    order: Sequence[int], entries: NDArray[np.bool_], found: Sequence[Candidate], scores: Measured, question: str
) -> list[int]:
    """The best place of an entry first, where it is no more than OWN_NEAR behind the best of all; in it one that has the label
    that is asked for ("**Default:** 60"). Not before what stands below a heading with a name in capitals ("Memory (RAM)")."""
    if _is_below_loud(question, found[order[0]]):
        return list(order)
    floor = scores[order[0]] - OWN_NEAR
    own = [at for at in order if entries[at] and scores[at] >= floor]
    if not own:
        return list(order)
    first = next((at for at in own if has_label(found[at], question)), own[0])
    return [first, *(at for at in order if at != first)]


def _is_below_loud(question: str, one: Candidate) -> bool:
    name, above = name_asked(question), one.path.split(". ")[-1]
    return any(fold(word) == name for word in _loud_words(question) if word in _WORD.findall(above))


def has_label(one: Candidate, question: str) -> bool:
    """Whether it begins with a label of which the question has all words, and which is not the name alone; of a row, whether the
    question asks for nothing but a column of it: "what replaces" for "Replacement"."""
    if one.cells is not None and _asks_column(one.cells, question):
        return True
    label = _LABEL.match(one.text)
    said = frozenset(terms(label[1])) - frozenset(terms(name_asked(question) or "")) if label else frozenset()
    return bool(said) and said <= frozenset(terms(question))


def _asks_column(cells: TableRow, question: str) -> bool:
    rest = [word for word in terms(question) if word not in terms(name_asked(question) or "") and not is_idle(word)]
    header = zip(cells.table.header[1:], cells.row.cells[1:], strict=False)
    heads = {word for head, cell in header if cell.strip() for word in terms(head)}
    return bool(rest) and all(alike(word, heads) for word in rest)


def _heads(one: Candidate) -> list[str]:
    """What may name the entry that a candidate stands in: the heading or term above it, and how it begins; of a row its label."""
    above = next((part for part in reversed(one.path.split(". ")) if not part.endswith((":", "?"))), "")
    begins = one.cells.row.label if one.cells else _MARKER.sub("", one.text)
    heads = [above, begins] if one.cells or _SET_APART.match(begins) else [above]
    if one.cells is None and (lead := _OF_OPTION.match(begins)) and fold(lead["first"]) in ALL_STOP_WORDS:
        heads.append(_JOINED.sub(", ", lead[2]))
    return [head[:LONGEST_HEAD] for head in heads]


def _is_key(head: str, name: str, one: Candidate) -> bool:
    """Whether it begins with the name in capitals and set apart, as code or before its value, or is all of a row's label."""
    key = _KEY.match(head)
    label = one.cells is not None and head.strip() == name.upper()
    return label or (key is not None and (key[1] or key[2]) == name.upper())


_KEY: Final = re.compile(r"`([A-Z][A-Z0-9]{2,40})`|([A-Z][A-Z0-9]{2,40})(?==|:(?!\w))")


def _entry_names(head: str) -> frozenset[str]:
    """The first word of what an entry begins with, the last part of one with dots, and other spellings of an option behind it:
    `-d`, `--keep-daily=0`."""
    tokens = _TOKEN.findall(head)
    first = tokens[:1]
    parts = [token.rpartition(".")[2] for token in first if _DOTTED.fullmatch(token)]
    return frozenset(_bare(token) for token in (*first, *parts, *takewhile(lambda one: one[0] in "-/", tokens[1:])))


def _bare(name: str) -> str:
    """Without what is called or set with it; in any case, but for options of one letter."""
    plain = name.strip("`*.,:;?!").removesuffix("()")
    return plain if _SHORT.fullmatch(plain) else fold(plain)
