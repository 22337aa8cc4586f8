"""Which document a message describes: "the kickoff presentation", "the PepsiCo 8-K", "the board minutes of May". Pure.

What it is (a kind, a format), when it is from, and words of its title, file name or beginning: all that is said has to fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from cairn.domain.document import ListedDocument
from cairn.domain.passage import Passage
from cairn.language.dates import months_in
from cairn.language.lexicon import every, languages
from cairn.language.text import fold
from cairn.language.tokens import alike, terms
from cairn.query.listing import kind_spellings, states_kind
from cairn.strategies.document_names import stands_in_names, topic

OPENING: Final = 600
"""Characters of a document in which it says what it is."""
_FORM: Final = re.compile(r"\d{1,2}-[a-z]")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_DATE: Final = re.compile(r"(?:19|20)\d\d[-_.]?(0[1-9]|1[0-2])(?:[-_.]?[0-3]\d)?(?!\d)")


@dataclass(frozen=True, slots=True)
class Description:
    """`kinds` and `formats` are words for these, `forms` names of forms ("10-K"), `words` the rest. `several`: "contracts"."""

    kinds: tuple[str, ...]
    formats: tuple[str, ...]
    forms: tuple[str, ...]
    months: frozenset[int]
    years: tuple[str, ...]
    words: tuple[str, ...]
    several: bool = False


def described_in(message: str) -> Description | None:
    """None where it does not say what kind of document it means, or nothing else than that it is a report or the like."""
    kinds, formats, forms, years, words = [list[str]() for _ in range(5)]
    for form in _FORM.findall(fold(message)):
        forms.append(form.replace("-", ""))
    said = [fold(word) for word in topic(_FORM.sub(" ", fold(message)))]
    for word in said:
        if _format_of(word) or kind_spellings(word):
            (formats if _format_of(word) else kinds).append(word)
        elif _YEAR.fullmatch(word):
            years.append(word)
        elif not months_in([word]):
            words.append(word)
    told = formats or forms or any(states_kind(word) for word in kinds)
    if not told and not (kinds and (words or years or months_in(said))):
        return None
    # "may" is a stop word
    months = (
        months_in(re.findall(r"[^\W\d_]+", fold(message))) if months_in(said) or _OF_MONTH.search(fold(message)) else ()
    )
    several = any(word.endswith("s") and word[:-1] in kind_spellings(word) for word in kinds)
    return Description(
        tuple(kinds), tuple(formats), tuple(forms), frozenset(months), tuple(years), tuple(words), several
    )


_OF_MONTH: Final = re.compile(r"(?:of|from|in) may(?!\w)")


_PARTS: Final = every(lambda one: one.documents.parts)


def names_part(message: str) -> bool:
    """Whether it speaks of a section of a document: "the section Permissions"."""
    return any(word in _PARTS for word in terms(message))


def named_words(message: str) -> tuple[str, ...]:
    """Folded words by which a document or a section of one is meant."""
    return tuple(word for word in map(fold, topic(message)) if word not in _PARTS)


def section_named(message: str, passages: Sequence[Passage]) -> tuple[UUID, str] | None:
    """The document and the heading that a message names: each has all words of the other. Of what says no more than "the
    contract" only where it speaks of a section; nor is a title one."""
    said, wanted, part = frozenset(terms(message)), named_words(message), names_part(message)
    if not wanted or not (part or len(wanted) > 1):
        return None
    for passage in passages:
        for path in (passage.headings, *(mark.headings for mark in passage.landmarks)):
            for heading in path if part else path[1:]:
                words = {word for word in terms(heading) if not word[0].isdigit()}
                if words and words <= said and words.issuperset(wanted):
                    return passage.document_id, heading
    return None


def is_guess(wanted: Sequence[str], names: Iterable[str]) -> bool:
    """Whether no title and no heading has all the words that were said: what was taken may be something else."""
    return bool(wanted) and not any(_has_all(wanted, name) for name in names)


def _has_all(wanted: Sequence[str], name: str) -> bool:
    plain = fold(name).replace("_", " ")
    vocabulary = frozenset(terms(plain))
    return all(stands_in_names(word, plain, vocabulary) for word in wanted)


def _format_of(word: str) -> frozenset[str]:
    return frozenset(key for one in languages() for key, words in one.documents.formats.items() if word in words)


def fitting(
    wanted: Description, documents: Sequence[ListedDocument], openings: Mapping[UUID, str]
) -> list[ListedDocument]:
    """Documents that all of it fits, those first that say more of it in their title or file name, and then the latest.

    What a document is called stands in its title or file name; where none is called so, in its beginning ("Minutes" over who was
    there); and where none says it, the other words have to stand in the names: people say "the guide on ..." of a page of it.
    """
    ways: tuple[_Kinds, ...] = ("named", "begun", "unsaid") if wanted.words else ("named", "begun")
    for kinds in ways:
        found = []
        for item in documents:
            opening = openings.get(item.id, "")[:OPENING]
            if (named := _fit(wanted, item, opening, kinds)) is not None:
                found.append((named, "".join(_YEAR.findall(item.external_id)), item.external_id, item))
        if found:
            best = max(named for named, *_ in found)
            found = [row for row in found if row[0] == best]
            return [item for *_, item in sorted(found, key=lambda row: row[1:3], reverse=True)]
    return []


_Kinds = Literal["named", "begun", "unsaid"]
"""Where a document says of what kind it is."""


def _fit(wanted: Description, item: ListedDocument, opening: str, kinds: _Kinds) -> int | None:
    """How much of it stands in the names of the document; None where something does not fit."""
    names = fold(f"{item.title} {item.external_id}").replace("_", " ")
    titled, begun = frozenset(terms(names)), frozenset(terms(opening))
    text = fold(opening)
    if not _of_form(wanted, item, f"{names} {text}", titled):
        return None
    if kinds != "unsaid" and not all(
        not states_kind(word) or _called(word, titled) or (kinds == "begun" and _called(word, begun))
        for word in wanted.kinds
    ):
        return None
    if wanted.years and not any(year in names or year in text for year in wanted.years):
        return None
    months = {int(match[1]) for match in _DATE.finditer(names)} or months_in(
        re.findall(r"[^\W\d_]+", f"{names} {text}")
    )
    if wanted.months and not wanted.months & months:
        return None
    held = [stands_in_names(word, names, titled) for word in wanted.words]
    said = held if kinds == "unsaid" else [bool(alike(word, begun)) for word in wanted.words]
    if not all(there or elsewhere for there, elsewhere in zip(held, said, strict=True)):
        return None
    return sum(held)


def _of_form(wanted: Description, item: ListedDocument, said: str, titled: frozenset[str]) -> bool:
    """Whether it has the forms ("10-K") and formats."""
    for form in wanted.forms:
        if not re.search(rf"(?<![^\W_]){form[:-1]}-?{form[-1]}(?![^\W_])", said):
            return False
    return all(
        any(key in item.media_type for key in _format_of(word)) or _called(word, titled) for word in wanted.formats
    )


def _called(word: str, vocabulary: frozenset[str]) -> bool:
    return any(alike(fold(spelling), vocabulary) for spelling in {word, *kind_spellings(word)})
