"""What a document's passages speak of and how it is related, by rules and statistics. Pure; no model, no list of names.

    names, identifiers, quoted titles, acronyms, phrases    over the whole document, once
    -> one name for each entity (aliases)                   resolve.py
    -> what is no name after all is a term                  doubt.py
    -> how sure the others are                              certainty.py
    -> mentions of each passage, its title and headings
    -> relations within sentences                           relations.py

Reading the document as a whole tells more than a passage could: a capitalised word at the beginning of a sentence is a
name where it is capitalised elsewhere too, and "Snow" is the "Hank Snow" of the first line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Final

from cairn.domain.graph import Alias, EntityKind, EntityMention, Extraction
from cairn.graph.certainty import NameKey, find_certainty, name_key
from cairn.graph.doubt import find_doubtful
from cairn.graph.keys import (
    LONGEST_KEY,
    acronyms,
    bare_title,
    key_of,
    surnames,
)
from cairn.graph.kinds import (
    ALONE,
    ASSERTS,
    CALENDAR,
    CONTINUED,
    INDEFINITE,
    LABELS,
    LEGAL_FORMS,
    NUMBERED,
    OCCUPATIONS,
    ORGANISATIONS,
    PERSON_TITLES,
    PLACE_PREPOSITIONS,
    PLACES,
    STOPS,
)
from cairn.graph.layout import Lines, fills_cell, read_lines
from cairn.graph.relations import find_relations
from cairn.language.lexicon import Nouns, any_of
from cairn.language.linear import bounded
from cairn.language.names import (
    COMMON_OPENERS,
    CONNECTORS,
    NameRules,
    NameSpan,
    NameToken,
    identifiers,
    is_identifier,
    loud,
    names,
    nouns_of,
    quoted,
    tokens_of,
    without_quoted,
)
from cairn.language.stretches import stretches
from cairn.language.text import fold

_COPULA: Final = any_of(lambda one: one.graph.is_someone)
MOST_ENTITIES: Final = 60
"""Mentions of one passage; a table of names says little about each of them."""
MOST_TERMS: Final = 10
"""Phrases of one document."""
_TERM_TIMES: Final = 3
"""How often a document says a phrase before it is a term."""
_LIFE: Final = bounded(r"\s*\((?:born|b\.|née?|nacid[oa]|geboren|\*|(?:\d{1,2} )?(?:\w+ )?(?:\d{1,2}, )?\d{4}\s*[–-])")
_IS_SOMEONE: Final = bounded(rf"\s*(?:\([^()\n]{{0,80}}\)\s*)?(?:,|{_COPULA})\s+([^.;:\n]{{3,70}})", re.IGNORECASE)
"""What is said of somebody behind the name: "Ada Lovelace (1815-1852) was an English mathematician"."""
_IS_SOMETHING: Final = bounded(
    rf"\s*(?:\([^()\n]{{0,80}}\)\s*)?{_COPULA}\s+((?:[\w-]+\s+){{0,4}}[\w-]+)", re.IGNORECASE
)
"""The first words of it, for organizations: "IBM was a large American company", but not "... was bought by a company"."""
_ENDS_PLACE: Final = bounded(r"\s*(?:[.,;:)\n]|$)|\s+[a-z]{1,4}\b|\s+(?:19|20)\d\d")
"""A place ends its phrase: not "in Catholic theology"."""
_PHRASE: Final = 5
"""Most words of a name that is looked for in small letters."""
_SMALL_SHARE: Final = 4
_PLACE_SHARE: Final = 3
"""Every third mention of a place stands where a place stands."""
_LABELS: Final = LABELS | STOPS | LEGAL_FORMS | CALENDAR | CONNECTORS
_WORD: Final = re.compile(r"[^\W_]+")
_ROMAN: Final = re.compile(r"[ivx]{2,6}")
_LINK: Final = re.compile(r"(?<=\])\([^()\s]{1,400}\)|\bhttps?://[^\s<>|)\]]{1,400}")
_DOTTED: Final = re.compile(r"(?:[A-Z]\.)+[A-Z]")
_FORM: Final = re.compile(r"(?:, ?| )([A-Za-z](?:[A-Za-z]|\.(?=[A-Za-z])){1,11})(?![\w-])\.?")
"""A legal form behind a name, with its full stop."""
MOST_FORMS: Final = 2
"""Of one name, as in "Best Buy Co., Inc."."""
_NUMBERED_NAME: Final = re.compile(r"\d{1,2}(?:[A-Z]|-[A-Z][a-z]+)")
"""Of a firm: "3M", "7-Eleven"."""
_INITIAL: Final = re.compile(r"[A-Z]\. ")
_LABEL_BEFORE: Final = re.compile(r"(?<!\w)([A-Z]\w{2,20}) (?:and|et|y|und|e) $")
_LONGEST_LABEL: Final = 30
_NO_IDENTIFIER: Final = re.compile(r"(?:0x)?(?:[0-9a-f]{4,80}|[0-9A-F]{4,80})|_[^\W_]+_|_[^\W\d_a-z]\w+|[a-z]{1,3}[23]")
_PERSON_WORDS: Final = 4
_PLACE_WORDS: Final = 3
"""Most words of a name that is taken for a person's, and for a place's after a preposition."""
_TERM_CONFIDENCE: Final = 0.5


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """Where a passage stands in the document's text, and the headings above it, outermost first."""

    start: int
    end: int
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Named:
    start: int
    end: int
    name: str
    kind: EntityKind


def extract(
    text: str, passages: Sequence[PassageSpan], *, title: str = "", language: str | None = None
) -> list[Extraction]:
    """What each passage contributes, in the order of `passages`. `language` is the document's ISO 639-1 code.

    A title is a topic of the first passage and of those that name it, a heading of the first passage under it.
    """
    headings = {heading for passage in passages for heading in passage.headings}
    bare = _without_links(without_quoted(text))
    tokens = tokens_of(bare)
    lines = read_lines(text, headings)
    found = _entities(text, bare, tokens, language, lines)
    aliases = _aliases(text, title, found, {token.folded for token in tokens if not token.capital})
    renamed = {fold(alias.alias): alias.name for alias in aliases}
    found = [replace(one, name=renamed.get(fold(one.name), one.name)) for one in found]
    doubtful = find_doubtful(found, tokens, text, lines, title=title, nouns=nouns_of(language))
    found = [
        replace(one, kind="term") if one.kind in ("name", "place") and key_of(one.name) in doubtful else one
        for one in found
    ]
    expanded = [alias.name for alias in aliases if alias.reason == "acronym"]
    certainty = find_certainty(found, tokens, text, lines, expanded=expanded, nouns=nouns_of(language) is not None)
    starts = [one.start for one in found]
    seen: set[str] = set()
    made = []
    for number, passage in enumerate(passages):
        inside = [one for one in found[bisect_left(starts, passage.start) :] if one.start < passage.end]
        topics = _topics(title if number == 0 else "", passage, seen)
        mentions = [*topics, *_mentions(inside, passage, certainty)][:MOST_ENTITIES]
        relations = find_relations(
            text, passage.start, passage.end, mentions, topic=bare_title(title) if title else None
        )
        named = {key_of(mention.name) for mention in mentions}
        made.append(Extraction(tuple(mentions), relations, tuple(a for a in aliases if key_of(a.name) in named)))
    return made


def _topics(title: str, passage: PassageSpan, seen: set[str]) -> Iterator[EntityMention]:
    for heading in (bare_title(title), *passage.headings[-1:]):
        key = key_of(heading)
        if key and key not in seen and len(heading) < LONGEST_KEY and not key.replace(" ", "").isdigit():
            seen.add(key)
            yield EntityMention(heading.strip(), "topic", passage.start, passage.start)


def _mentions(
    found: Sequence[_Named], passage: PassageSpan, certainty: Mapping[NameKey, float]
) -> Iterator[EntityMention]:
    for one in found:
        if one.end <= passage.end:
            sure = _TERM_CONFIDENCE if one.kind == "term" else certainty[name_key(one)]
            yield EntityMention(one.name, one.kind, one.start, one.end, sure)


def _entities(text: str, bare: str, tokens: Sequence[NameToken], language: str | None, lines: Lines) -> list[_Named]:
    """Everything that the text names, in order, none inside another. `bare`: the text without quotations and links."""
    found = [
        _Named(start, end, name, "name") for start, end, name in quoted(text) if _is_work(name) and not _is_label(name)
    ]
    found += [
        _Named(start, end, name, "identifier") for start, end, name in _identifiers(tokens, bare) if _is_name(name)
    ]
    if not loud(bare):
        proper = [_whole_name(one, bare) for one in _join_lines(list(_proper_names(tokens, bare, language)), bare)]
        proper = [*_part_seats(_join_coined(proper, tokens, bare))]
        found += _carry_kinds(list(_names_proper(proper, tokens, bare, lines)))
    taken = sorted(found, key=lambda one: (one.start, -one.end))
    taken += _terms(tokens, bare, {(one.start, one.end) for one in taken})
    return sorted(_apart(taken), key=lambda one: one.start)


def _is_work(quotation: str) -> bool:
    """A title is short and begins with a capital or holds no space; the rest of quotations is speech."""
    return quotation[:1].isupper() and len(quotation.split()) <= 8 and not quotation.endswith((".", ",", "!"))


def _is_name(name: str) -> bool:
    return 1 < len(name) <= LONGEST_KEY and any(c.isalpha() for c in name)


def _without_links(text: str) -> str:
    """The text with the targets of links blanked, so that positions stay: what an address is made of names nothing."""
    parts = (text[start:end] for start, end in stretches(text))
    return "".join(_LINK.sub(lambda match: " " * len(match.group()), part) for part in parts)


def _identifiers(tokens: Sequence[NameToken], text: str) -> Iterator[NameSpan]:
    """Without common words in one ("and/or", "day/month"), emphasis, units, hashes, paths, and the numbers of things
    ("Form 10-K")."""
    lower = {token.folded for token in tokens if token.word.isalpha() and token.word.islower()}
    numbers = {
        fold(after.word)
        for before, after in pairwise(tokens)
        if before.folded in NUMBERED and any(map(str.isdigit, after.word))
    }
    for start, end, name in identifiers(tokens):
        words = _WORD.findall(fold(name))
        said = _LABELS if "/" not in name else _LABELS | lower
        if text[start - 1 : start] == "/" and "/" in name:
            continue
        if fold(name) not in numbers and not _NO_IDENTIFIER.fullmatch(name) and not said.issuperset(words):
            yield start, end, name


def _join_lines(found: Sequence[_Named], text: str) -> Iterator[_Named]:
    """A name that is broken between two lines is one where the document has it unbroken too."""
    known = {one.name for one in found}
    before: _Named | None = None
    for one in found:
        whole = f"{before.name} {one.name}" if before and text[before.end : one.start] == "\n" else ""
        if before and whole in known:
            before = replace(before, end=one.end, name=whole)
            continue
        if before:
            yield before
        before = one
    if before:
        yield before


def _join_coined(found: Sequence[_Named], tokens: Sequence[NameToken], text: str) -> list[_Named]:
    """Organisations and persons with the word before them that is written as no other word is: "JPMorgan Chase Bank",
    "Spirit AeroSystems Holdings", "3M India Limited"."""
    coined = {
        token.end: token.start
        for token in tokens
        if (token.word.isalpha() and is_identifier(token)) or _NUMBERED_NAME.fullmatch(token.word)
    }
    ends = {one.end: one.start for one in found}
    joined = []
    for one in found:
        firm = one.kind == "organisation" or fold(one.name.rsplit(None, 1)[-1]) in LEGAL_FORMS
        told = (firm or one.kind == "person") and text[one.start - 1 : one.start] in (" ", "\n")
        start = coined.get(one.start - 1) if told else None
        if start is not None:
            start = ends.get(start - 1, start) if text[start - 1 : start] == " " else start
            one = replace(one, start=start, name=_spell(text[start : one.end]))
        joined.append(one)
    return joined


def _spell(written: str) -> str:
    """On one line."""
    return " ".join(written.split())


def _part_seats(found: Sequence[_Named]) -> Iterator[_Named]:
    """A list of firms says behind the legal form where each has its seat, which the document names alone, too: "Wyeth LLC
    Delaware" is a firm and a state."""
    known = {one.name for one in found}
    for one in found:
        words = [(word.start(), fold(word.group())) for word in _WORD.finditer(one.name)]
        cut = next(
            (
                at
                for (_, form), (at, after) in pairwise(words[1:])
                if form in LEGAL_FORMS
                and form not in CONNECTORS
                and after not in LEGAL_FORMS
                and one.name[at:] in known
            ),
            None,
        )
        if cut is None:
            yield one
            continue
        firm = one.name[:cut].rstrip(" ,")
        yield replace(one, end=one.start + len(firm), name=firm, kind="organisation")
        yield _Named(one.start + cut, one.end, one.name[cut:], "name")


def _whole_name(one: _Named, text: str) -> _Named:
    """With what belongs to the name behind its last capital, the legal form behind a comma and words in small letters, and the
    label before it: "Securities and Exchange Commission"."""
    if one.kind == "organisation" and (
        before := _LABEL_BEFORE.search(text, max(0, one.start - _LONGEST_LABEL), one.start)
    ):
        joined = fold(before[1]) in LABELS
        one = replace(one, start=before.start(), name=_spell(text[before.start() : one.end])) if joined else one
    last = one.name.rsplit(None, 1)[-1]
    end = one.end + (_DOTTED.fullmatch(last) is not None and text.startswith(".", one.end))
    if longer := CONTINUED.match(text, one.start):
        end = max(end, longer.end())
    legal = False
    for _ in range(MOST_FORMS):
        form = _FORM.match(text, end)
        if form is None or not form[1][0].isupper() or fold(form[1].replace(".", "")) not in LEGAL_FORMS:
            break
        end, legal = form.end(), True
    if end == one.end:
        return one
    return replace(
        one, end=end, name=_spell(text[one.start : end]), kind="organisation" if legal or longer else one.kind
    )


def _names_proper(found: Sequence[_Named], tokens: Sequence[NameToken], text: str, lines: Lines) -> Iterator[_Named]:
    """Without what is a name only by its capitals: labels, what the document writes in small letters too, and what no sentence
    names but a heading, a running head, code or part of a cell."""
    found = [one for one in found if not _is_label(one.name)]
    common = _find_common(found, [token for token in tokens if lines.at(token.start) != "code"])
    found = [one for one in found if one.kind != "name" or fold(one.name) not in common]
    laid = ["heading" if _is_link(text, one) else lines.at(one.start) for one in found]
    said = {key_of(one.name) for one, layout in zip(found, laid, strict=True) if layout == "prose"}
    for one, layout in zip(found, laid, strict=True):
        known = key_of(one.name) in said
        told = layout == "table" and (one.kind != "name" or fills_cell(text, one.start, one.end))
        if layout == "prose" or (known and layout != "running") or told:
            yield one


def _is_link(text: str, one: _Named) -> bool:
    """Whether a name is all that a link shows: the title of another page."""
    return " " in one.name and text[one.start - 1 : one.start] == "[" and text[one.end : one.end + 1] == "]"


def _is_label(name: str) -> bool:
    """Whether all its words are of headings, forms and tables, numbers or legal forms: "Table of Contents", "Item 8", "Inc"."""
    words = [fold(word) for word in _WORD.findall(name)]
    telling = [word for word in words if len(word) > 1 and not word.isdigit() and not _ROMAN.fullmatch(word)]
    if not telling:
        return (len(words) > 1 and max(map(len, words)) > 1) or bool(words and _ROMAN.fullmatch(words[0]))
    return all(word in _LABELS for word in telling) or (len(words) == 1 and words[0] in PERSON_TITLES)


def _find_common(found: Sequence[_Named], tokens: Sequence[NameToken]) -> set[str]:
    """Names that the document writes in small letters, too, every fourth time or more: "Fair Value", "Company"."""
    capital = Counter(fold(one.name) for one in found if one.kind == "name")
    first = {name.split(" ", 1)[0] for name in capital}
    small: Counter[str] = Counter()
    for at, token in enumerate(tokens):
        if token.capital or token.folded not in first:
            continue
        run = token.folded
        small[run] += run in capital
        for after in tokens[at + 1 : at + _PHRASE]:
            if after.capital:
                break
            run = f"{run} {after.folded}"
            small[run] += run in capital
    small.update(_kinds_of_thing(found, tokens))
    return {name for name, times in capital.items() if small[name] * _SMALL_SHARE >= times}


def _kinds_of_thing(found: Sequence[_Named], tokens: Sequence[NameToken]) -> Iterator[str]:
    """Names behind "an", "each" or "any" with nothing behind them, as often as they stand so: "each Participant" is anybody, but
    not "a Netflix account"."""
    starts = [token.start for token in tokens]
    for one in found:
        at, after = bisect_left(starts, one.start), bisect_left(starts, one.end)
        alone = after == len(tokens) or tokens[after].opens or tokens[after].folded in STOPS
        if at and tokens[at - 1].folded in INDEFINITE and alone and not one.name.isupper():
            yield fold(one.name)


def _proper_names(tokens: Sequence[NameToken], text: str, language: str | None) -> Iterator[_Named]:
    lower = {token.folded for token in tokens if not token.capital}
    continued = {
        token.folded for token in tokens if token.opens and token.capital and CONTINUED.match(text, token.start)
    }
    known = (_find_known(tokens, text) | continued) - lower - STOPS - CALENDAR - COMMON_OPENERS
    nouns = nouns_of(language)
    reading = NameRules(stops=STOPS, questions=CALENDAR, known=frozenset(known), nouns=nouns)
    common = lower | _find_determined(tokens, nouns)
    opening = {token.start: token for token in tokens if token.opens}
    wrapped = _find_wrapped(tokens, text)
    spans = list(names(tokens, text, reading))
    inside = {spelled for start, _, spelled in spans if start not in opening}
    for start, end, spelled in spans:
        first = opening.get(start)
        at, name = start, spelled
        # "Actor Tom Hanks" beginning a sentence, but not "A. P. Gema", "Mark A. Pallot" or "Best Buy Canada Ltd."
        if (
            first
            and first.folded in lower
            and start not in wrapped
            and spelled not in inside
            and spelled[len(first.word) : len(first.word) + 1] == " "
            and not _ends_name(spelled[len(first.word) :].lstrip(), text, end)
        ):
            name = spelled[len(first.word) :].lstrip()
            at = end - len(name)
        if len(name) > 1 and name[:1].isupper() and fold(name) not in STOPS | ALONE:
            kind = _kind(text, at, end, name)
            yield _Named(at, end, name, "name" if kind == "place" and _is_common(name, common) else kind)


def _find_wrapped(tokens: Sequence[NameToken], text: str) -> set[int]:
    """Where words start that open a line, but no sentence: the line before it ends in a small word ("of the", a line further
    "Federal Reserve")."""
    return {
        token.start
        for before, token in pairwise(tokens)
        if token.opens and not before.capital and before.word.isalpha() and text[before.end : token.start] == "\n"
    }


def _ends_name(rest: str, text: str, end: int) -> bool:
    """Whether a name without its first word is the rest of one: it begins with an initial, or has a legal form."""
    form = _FORM.match(text, end)
    formed = form is not None and form[1][0].isupper() and fold(form[1].replace(".", "")) in LEGAL_FORMS
    return (
        formed
        or _INITIAL.match(rest) is not None
        or not LEGAL_FORMS.isdisjoint(fold(word) for word in _WORD.findall(rest))
    )


def _carry_kinds(found: Sequence[_Named]) -> Iterator[_Named]:
    """A name is of one kind in a document, as it is most often where something tells: "Intel" beside "Intel Corp". A place is
    called so by a preposition before it, which says little: "in Photoshop"."""
    told: dict[str, Counter[EntityKind]] = {}
    for one in found:
        told.setdefault(key_of(one.name), Counter())[one.kind] += 1
    for one in found:
        times = told[key_of(one.name)]
        told_kinds: list[EntityKind] = [kind for kind, _ in times.most_common() if kind != "name"]
        kinds = told_kinds or [one.kind]
        seldom = kinds[0] == "place" and times["place"] * _PLACE_SHARE < times.total()
        yield replace(one, kind="name" if seldom else kinds[0])


def _find_determined(tokens: Sequence[NameToken], nouns: Nouns | None) -> set[str]:
    """Words that have a determiner somewhere, in a language that writes nouns with capitals."""
    if nouns is None:
        return set()
    return {after.folded for before, after in pairwise(tokens) if before.folded in nouns.determiners}


def _is_common(name: str, common: set[str]) -> bool:
    """Whether the document writes all its words elsewhere as it writes no name: "in Computer Science", "in Source form"."""
    words = [fold(word) for word in re.findall(r"[^\W_]+", name)]
    return all(word in common for word in words) and not any(word in PLACES for word in words)


def _find_known(tokens: Sequence[NameToken], text: str) -> set[str]:
    """Capitalised words that are names even at the beginning of a sentence: written so within one, beginning several (but not
    before a comma or a small word: "Otherwise, ...", "Create a ..."), or followed there by what is said of names."""
    inside = {token.folded for token in tokens if token.capital and not token.opens}
    openers = Counter(
        token.folded
        for token, after in pairwise(tokens)
        if token.capital
        and token.opens
        and text[token.end : after.start] == " "
        and (after.folded not in STOPS or after.folded in ASSERTS)
    )
    asserted = {
        token.folded
        for token, after in pairwise(tokens)
        if token.opens and token.capital and after.folded in ASSERTS and text[token.end : after.start] == " "
    }
    return inside | asserted | {word for word, times in openers.items() if times > 1}


def _kind(text: str, start: int, end: int, name: str) -> EntityKind:
    """By the words of the name and around it; "name" where nothing tells."""
    words = [fold(word) for word in re.findall(r"[^\W_]+", name)]
    before = text[max(0, start - 24) : start].rstrip(" .").casefold().rsplit(maxsplit=1)
    last = before[-1] if before else ""
    spelled = [fold(word.strip(".,")) for word in name.split()]
    office = len(words) > 1 and words[0] in PERSON_TITLES and any(word[:1].islower() for word in name.split())
    if office:  # "President of the Senate"
        return "name"
    if _LIFE.match(text, end) and _is_plain(name):
        return "person"
    if len(spelled) > 1 and spelled[-1] in PLACES:
        return "place"
    shouted = name.isupper() and len(spelled) > _PERSON_WORDS  # "IF SUCH HOLDER OR OTHER PARTY HAS BEEN"
    if (
        len(spelled) > 1
        and any(word in ORGANISATIONS for word in spelled)
        and not (shouted or any(map(str.isdigit, name)))
    ):
        return "organisation"
    if len(spelled) > 1 and any(word in PLACES for word in spelled):
        return "place"
    if _is_person(text, end, name, words, last):
        return "person"
    if _is_organisation(text, end, name):
        return "organisation"
    initial = any(len(word) == 1 for word in words)  # "In A. P. Gema" cites somebody
    located = last in PLACE_PREPOSITIONS and len(words) <= _PLACE_WORDS and _ENDS_PLACE.match(text, end) and not initial
    return "place" if located and _is_plain(name) else "name"


def _is_person(text: str, end: int, name: str, words: Sequence[str], last: str) -> bool:
    """A title or an occupation before the name, a title that begins it, or what somebody is behind it."""
    if not _is_plain(name) or len(words) > _PERSON_WORDS:
        return False
    if (last in PERSON_TITLES and last not in ALONE) or (last in OCCUPATIONS and len(words) > 1):
        return True
    if len(words) > 1 and words[0] in PERSON_TITLES - ALONE and name[len(words[0]) : len(words[0]) + 1] in " .":
        return True
    is_someone = _IS_SOMEONE.match(text, end)
    return (
        len(words) > 1
        and is_someone is not None
        and any(fold(word) in OCCUPATIONS for word in re.findall(r"[^\W_]+", is_someone[1]))
    )


def _is_organisation(text: str, end: int, name: str) -> bool:
    """What it is, behind the name: "Intel is an American company"."""
    said = _IS_SOMETHING.match(text, end)
    if said is None or "\n" in name:
        return False
    words = [fold(word) for word in said[1].split()]
    article = 1 if words[0] in STOPS else 0
    phrase = list(takewhile(lambda word: word not in STOPS, words[article:]))  # no "member of the band"
    return any(word in ORGANISATIONS for word in phrase) and not any(word in OCCUPATIONS for word in phrase)


def _is_plain(name: str) -> bool:
    """Written as words are: no acronym, no hyphen before a small letter, nothing on two lines."""
    return not (name.isupper() or "\n" in name or any(c.isdigit() for c in name) or re.search(r"-[a-z]", name))


def _terms(tokens: Sequence[NameToken], text: str, taken: set[tuple[int, int]]) -> Iterator[_Named]:
    """Phrases of two or three words without a stop word that the document keeps saying (after RAKE, Rose et al. 2010)."""
    held = {start for start, _ in taken}
    fit = [len(token.word) > 2 and token.word.isalpha() and token.folded not in STOPS for token in tokens]
    # whether a word and the next one may stand in a phrase together
    joined = [
        a and b and text[x.end : y.start] == " " for (a, b), (x, y) in zip(pairwise(fit), pairwise(tokens), strict=True)
    ]
    runs: dict[str, list[tuple[int, int]]] = {}
    for at, follows in enumerate(joined):
        if not follows or tokens[at].start in held:
            continue
        lengths = (2, 3) if at + 1 < len(joined) and joined[at + 1] else (2,)
        for run in (tokens[at : at + length] for length in lengths):
            phrase = " ".join([token.word for token in run])
            runs.setdefault(key_of(phrase, "term"), []).append((run[0].start, run[-1].end))
    counts = Counter({key: len(spans) for key, spans in runs.items() if len(spans) >= _TERM_TIMES})
    for key, _ in counts.most_common(MOST_TERMS):
        yield from (_Named(start, end, key, "term") for start, end in runs[key])


def _apart(found: Sequence[_Named]) -> Iterator[_Named]:
    """Without what overlaps something that came before it."""
    ends: list[int] = []
    starts: list[int] = []
    for one in found:
        at = bisect_left(starts, one.end)
        if at and ends[at - 1] > one.start:
            continue
        starts.insert(at, one.start)
        ends.insert(at, one.end)
        yield one


def _aliases(text: str, title: str, found: Sequence[_Named], small: Container[str]) -> list[Alias]:
    """Acronyms, surnames, and a title in full for what it names. `small`: words that the document writes in small letters."""
    spelled = {one.name: one.kind for one in found if one.kind not in ("identifier", "term")}
    topic = bare_title(title)
    if topic:
        spelled = {topic: "name", **spelled}
    made = [Alias(expansion, acronym, "acronym") for expansion, acronym, _ in acronyms(text)]
    made += surnames(spelled.items(), small)
    if topic and topic != title.strip():
        made.append(Alias(topic, title.strip(), "title"))
    unique: dict[str, Alias] = {}
    for alias in made:
        unique.setdefault(fold(alias.alias), alias)
    return [*unique.values()]
