"""What a question names that stands nowhere: in none of the documents that were searched, or not where the answer was taken from.

A name that stands somewhere in a collection says nothing of what is quoted: "What was Tesla's revenue?" is not answered by
the page on which somebody else tells his (docs/adr/0100-absent-is-absent.md).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final
from uuid import UUID

from cairn.answer.confidence import GUESS, SURE
from cairn.answer.missing import (
    Subject,
    asked_besides,
    has_any,
    is_whole_in,
    mentioned,
    parts_of,
    quotations,
    seen,
    squashed,
    subjects,
    unmentioned,
)
from cairn.answer.refusal import not_mentioned, not_said_of
from cairn.domain.answer import Draft
from cairn.domain.passage import Passage
from cairn.errors import CairnError
from cairn.language.bridge import bridge
from cairn.language.lexicon import any_of, replies
from cairn.language.text import fold
from cairn.query.related import ends_of
from cairn.runs.context import Run

_YEAR: Final = r"\W+(?:(?-i:[^\W\d_A-ZÀ-Þ]\w{0,11})\W+){0,3}?(?:FY ?'?)?[12]\d{3}(?!\d)"
_OPEN_RANGE: Final = re.compile(
    rf"\b{any_of(lambda one: (*one.filters.since, *one.filters.after, *one.filters.before))}{_YEAR}", re.IGNORECASE
)
_PERIOD: Final = re.compile(
    rf"\b{any_of(lambda one: one.filters.between)}{_YEAR}\D.{{0,40}}?\b[12]\d{{3}}(?!\d)", re.IGNORECASE
)
"""Bounds of a period need not stand in a text about it: "since 2019", "from 2019 to 2021"."""


async def find_absent(run: Run, text: str, passages: Sequence[Passage], *, translated: bool = False) -> tuple[str, ...]:
    """Names of the question that refuse it, as it spells them. A comparison is refused where nothing of what it compares
    stands anywhere, one about several years where none of them does; what may be any word, and what begins the message, refuses
    nothing here. That the documents could not be looked through is reported, and refuses nothing. `translated`: most passages are
    in another language, where names are spelled otherwise, so only years, numbers and files can be missed."""
    named = [
        one
        for one in _subjects(run, text)
        if not (one.kind == "opening" or one.may_be_word or is_bound(one, text))
        and not (translated and one.kind == "name" and not one.is_spelled_alike)
    ]
    unread = unmentioned(named, passages)
    if not unread:
        return ()
    absent = await find_nowhere(run, unread) or ()
    return tuple(
        one.text for one in absent if _refuses(one, absent, named, run.plan.classification.type == "COMPARATIVE")
    )


def _subjects(run: Run, text: str) -> tuple[Subject, ...]:
    """Without the names of the collection, of documents, and of sections that are to be written."""
    known = (run.question.collection, *run.plan.documents, *run.plan.constraints.required_sections)
    return subjects(text, run.plan.words_in, known)


def is_bound(one: Subject, text: str) -> bool:
    return one.kind == "year" and any(bounds.search(text) for bounds in (_OPEN_RANGE, _PERIOD))


def _refuses(one: Subject, absent: Sequence[Subject], named: Sequence[Subject], compares: bool) -> bool:
    """One of several years, numbers or compared names is a part of the question; a name that is asked about is all of it."""
    if one.kind in ("name", "file") and not compares:
        return True
    return all(other in absent for other in named if other.kind == one.kind)


# --- where the answer was taken from ------------------------------------------------------------------------------------

Again = Callable[[tuple[Passage, ...]], Awaitable[Draft]]


async def only_about_what_is_asked(
    run: Run, text: str, passages: Sequence[Passage], draft: Draft, again: Again
) -> Draft:
    """The draft, where the passages that it quotes, their titles, headings or the beginning of their documents mention all that
    the question names; else what `again` takes from the passages that do, else a guess at best, or a refusal that says what is
    missing. What shows nothing of a name that its passage mentions further away is a guess at best, too. Where no model has read
    question and quotation together, they have to say something of what is asked. Raises CairnError."""
    asked = named_in(run, text)
    draft = await _without_words(run, draft, [one for one in asked if one.may_be_word], passages)
    named = [one for one in asked if not _is_word(one, passages, draft)]
    if not named:
        return draft
    if not draft.found:
        return _say_unsaid(run, text, draft, named, passages)
    # what asks how two things are related need not be said of them
    words = () if _was_read(draft) or ends_of(text, run.plan.words_in) else asked_besides(text, named)
    wanted = [word for _, word in words]
    about = About(named, await beginnings_of(run, named, (*passages, *shown_of(draft, passages))))
    lacking = about.lacking(quoted_from(draft, passages))
    if lacking or not says_any(wanted, quoted_from(draft, passages)[:1]):
        known = [passage for passage in passages if not about.lacking([passage])]
        fitting = tuple(passage for passage in known if says_any(wanted, [passage])) or tuple(known)
        other = await again(fitting) if fitting and len(fitting) < len(passages) else draft
        if other.found and not about.lacking(quoted_from(other, passages)):
            draft, lacking = other, []
    if lacking:
        return await _without_names(run, draft, lacking)
    if not says_any(wanted, quoted_from(draft, passages)[:1]):
        unsaid = _not_said_of(run, named, [raw for raw, _ in words], passages)
        return _doubted(draft, unsaid, SURE, DOUBTED)
    if unseen := [one for one in about.lacking(shown_of(draft, passages)) if one.sure]:
        said = say_not_mentioned(run, unseen, ())  # true of what is shown, and not of what stands around it
        return _doubted(draft, replace(said, text=replies(run.plan.language).refusal), ELSEWHERE, 1.0)
    return await _without_parts(run, draft, [one for one in named if one.sure and one.whole], about, passages)


async def _without_parts(
    run: Run, draft: Draft, names: Sequence[Subject], about: About, passages: Sequence[Passage]
) -> Draft:
    """The draft, a guess at best where what it quotes has one word of a name of several, and another one stands nowhere: a page
    about the Roku is not about the Roku Cinema."""
    quoted = quoted_from(draft, passages)
    begun = [about.beginnings[one.document_id] for one in quoted if one.document_id in about.beginnings]
    apart = [one for one in names if not _whole_in([one], [*quoted, *begun])]
    read = [seen(one) for one in (*passages, *begun)]
    unread = [part for one in apart for part in parts_of(one) if not any(mentioned(part, text) for text in read)]
    nowhere = {one.text for one in await find_nowhere(run, unread) or ()} if unread else set()
    if absent := [one for one in apart if one.text in nowhere]:
        return _doubted(draft, say_not_mentioned(run, absent, absent), 0.0, 1.0)
    return draft


async def with_quotations(run: Run, text: str, passages: Sequence[Passage], draft: Draft) -> Draft:
    """The draft, a guess at best where the question has words in quotation marks, a message or a label, that stand neither in
    what is shown nor in its title and headings; of a single word, where it stands nowhere."""
    asked = quotations(text) if draft.found and asks_one_thing(run, text) else ()
    lacking = unmentioned(asked, shown_of(draft, passages))
    if not lacking:
        return draft
    absent = await find_nowhere(run, lacking)
    lacking = tuple(one for one in lacking if " " in one.text or one in (absent or ()))
    if not lacking:
        return draft
    return _doubted(draft, say_not_mentioned(run, lacking, absent), 0.0, 1.0)


def _say_unsaid(run: Run, text: str, draft: Draft, named: Sequence[Subject], passages: Sequence[Passage]) -> Draft:
    """The refusal, which says so where passages mention all that the question names and none of the rest."""
    about = [passage for passage in passages if not unmentioned(named, [passage])]
    words = asked_besides(text, named)
    if not about or not words or says_any([word for _, word in words], about):
        return draft
    if not _whole_in(named, about):
        return draft
    told = _not_said_of(run, named, [raw for raw, _ in words], about)
    return replace(draft, text=told.text, insufficiencies=(*draft.insufficiencies, *told.insufficiencies))


def _not_said_of(run: Run, named: Sequence[Subject], words: Sequence[str], passages: Sequence[Passage]) -> Draft:
    """That nothing is said of the names that passages mention; of what they mention a word of, that nothing answers."""
    there = _whole_in(named, passages)
    if there:
        return not_said_of([one.text for one in there], words, run.plan.language)
    say = replies(run.plan.language)
    return Draft(say.refusal, (), False, 0.0, (say.unmentioned.format(names=", ".join(one.text for one in named)),))


def _whole_in(named: Sequence[Subject], passages: Sequence[Passage]) -> list[Subject]:
    return [one for one in named if is_whole_in(one, map(seen, passages))]


def _was_read(draft: Draft) -> bool:
    """Whether a model has read question and quotation together, so that its confidence knows more than words tell."""
    return draft.evidence is not None and draft.evidence.read is not None


def says_any(words: Sequence[str], passages: Sequence[Passage]) -> bool:
    return not words or has_any(words, passages)


def asks_one_thing(run: Run, text: str) -> bool:
    """Whether one place has to speak of all that is asked: of a comparison, and of a question that goes through another one,
    the passages that answer mention one thing at a time; what leans on what was said before names a part of it."""
    compares = run.plan.classification.type == "COMPARATIVE"
    return not (compares or run.plan.carried or bridge(text, run.plan.words_in))


def named_in(run: Run, text: str) -> list[Subject]:
    """What an answer has to be about."""
    if not asks_one_thing(run, text):
        return []
    return [one for one in _subjects(run, text) if one.kind != "file" and not is_bound(one, text)]


GAP: Final = 12
"""Characters before a word in which the one stands that says whether a sentence begins."""
A_WORD: Final = 0.25
"""Confidence of an answer from which a word of a message without capitals is no name: the fourth of "the log of earlier runs"."""


def _is_word(one: Subject, passages: Sequence[Passage], draft: Draft) -> bool:
    """Whether what may be a name is a word: written without a capital, or, where nouns have capitals, anywhere. So is what the
    message writes without one itself, where no passage writes it with one amid a sentence or is called by it, and it is answered
    all the same."""
    if one.may_be_word:
        return draft.confidence >= A_WORD and not any(_has_as_name(passage, one.text) for passage in passages)
    if one.sure or one.kind == "year":
        return False
    if one.kind == "name":
        return not unmentioned([one], passages)
    plain = re.compile(rf"(?<=\s){re.escape(one.text.lower())}(?=[\s,;)])")  # not within the name of a module
    return any(plain.search(passage.content) for passage in passages)


_OPENS: Final = " \n\t([{\"'“„«‘*_`"
"""Stand before a word and say nothing of whether a sentence begins with it."""


def _has_as_name(passage: Passage, word: str) -> bool:
    """Whether a passage writes it with a capital where no sentence begins, or stands under it as its title."""
    if any(fold(said) == fold(word) for said in (passage.title, *passage.headings)):
        return True
    written = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    for match in written.finditer(passage.content):
        before = passage.content[max(0, match.start() - GAP) : match.start()]
        said = before.rstrip(_OPENS)
        if match[0][0].isupper() and said and said[-1] not in ".!?:#" and "\n\n" not in before[len(said) :]:
            return True
    return False


def quoted_from(draft: Draft, passages: Sequence[Passage]) -> list[Passage]:
    """What it quotes from, the best first."""
    by_id = {passage.passage_id: passage for passage in passages}
    cited = dict.fromkeys(citation.passage_id for citation in draft.citations)
    return [by_id[one] for one in cited if one in by_id]


def shown_of(draft: Draft, passages: Sequence[Passage]) -> list[Passage]:
    """What it quotes from, with no more of the text than what is shown under its headings: of five tables in a passage it is said
    of one."""
    said: dict[UUID, list[str]] = {}
    for citation in draft.citations:
        shown = citation.context.text if citation.context else citation.quote
        said.setdefault(citation.passage_id, []).extend((*citation.headings, shown))
    return [replace(one, content="\n".join(said[one.passage_id])) for one in quoted_from(draft, passages)]


@dataclass(frozen=True, slots=True)
class About:
    """What a question names, and how the documents begin that were read: a report says on its first page whose it is."""

    named: Sequence[Subject]
    beginnings: Mapping[UUID, Passage]

    def lacking(self, quoted: Sequence[Passage]) -> list[Subject]:
        """What neither the passages nor the names of their documents mention, nor how these begin."""
        begun = [self.beginnings[one.document_id] for one in quoted if one.document_id in self.beginnings]
        titles = " ".join(squashed(f"{one.external_id} {one.title}") for one in quoted)
        missing = unmentioned(self.named, [*quoted, *begun])
        return [one for one in missing if one.is_option or squashed(one.text) not in titles]


async def beginnings_of(run: Run, named: Sequence[Subject], passages: Sequence[Passage]) -> dict[UUID, Passage]:
    """Of the documents of passages that do not mention everything themselves."""
    ids = [passage.document_id for passage in passages if unmentioned(named, [passage])]
    return {one.document_id: one for one in await run.deps.library.openings(ids)} if ids else {}


async def _without_words(run: Run, draft: Draft, words: Sequence[Subject], passages: Sequence[Passage]) -> Draft:
    """The draft, a guess at best where one of these stands nowhere: it may be a name, or a word for what documents call
    otherwise."""
    unread = unmentioned(words, passages) if draft.found else ()
    absent = await find_nowhere(run, unread) if unread else ()
    if not absent:
        return draft
    told = say_not_mentioned(run, absent, absent)
    return _doubted(draft, told, A_WORD, 1.0) if _was_read(draft) else told


async def _without_names(run: Run, draft: Draft, lacking: Sequence[Subject]) -> Draft:
    absent = await find_nowhere(run, lacking)
    return _doubted(
        draft, say_not_mentioned(run, lacking, absent), refused_below(lacking, absent, _was_read(draft)), 1.0
    )


def refused_below(lacking: Sequence[Subject], absent: Sequence[Subject] | None, was_read: bool) -> float:
    """The confidence below which a quotation is refused that lacks these names, of which `absent` stand nowhere: it is a guess
    from there on. `was_read`: a model has read question and quotation together."""
    if absent is None:
        return 0.0
    sure = [one for one in lacking if one.sure]
    if (sure and not was_read) or any(one in absent for one in sure):
        return inf
    if sure:
        return ELSEWHERE
    nouns = all(one.kind == "name" for one in lacking)
    return DOUBTED if absent and not nouns else 0.0


async def find_nowhere(run: Run, lacking: Sequence[Subject]) -> list[Subject] | None:
    """Those that stand nowhere in the collection, names of several words not all together: of the Nintendo Switch speaks no text
    about a switch. None where it could not be looked through, which is reported."""
    patterns = sorted({pattern for one in lacking for pattern in (one.whole or one.words)})
    try:
        there = await run.deps.library.mentioned(run.question.collection, patterns)
    except CairnError as error:
        unchecked = f"whether documents mention what is asked about could not be checked: {error.detail}"
        if unchecked not in run.record.degraded:
            run.record.degraded.append(unchecked)
        return None
    return [one for one in lacking if there.isdisjoint(one.whole or one.words)]


def say_not_mentioned(run: Run, lacking: Sequence[Subject], absent: Sequence[Subject] | None) -> Draft:
    quotes = replies(run.plan.language).quotes
    names = [quotes.format(one.text) if one.kind == "quotation" else one.text for one in absent or lacking]
    if absent is None:
        unsaid = f"Not mentioned where the answer was taken from: {', '.join(names)}."
        return Draft(unsaid, (), False, 0.0, (unsaid,))
    return not_mentioned(names, run.plan.language, elsewhere=not absent)


ELSEWHERE: Final = 0.35
"""Confidence below which a name refuses that stands elsewhere only, where a model has read the quotation: of 7 such answers that
hold what was asked one lies below, of 6 to questions without an answer 4 (docs/adr/0100-absent-is-absent.md)."""
DOUBTED: Final = 0.7
"""Confidence of a quotation that stays an answer though it has none of the words beside a name: of 300 questions that the
documents answer 13 have such an answer, of those that they do not every second one, where no model reads."""


def _doubted(draft: Draft, refusal: Draft, least: float, sure: float) -> Draft:
    """Refused where the confidence is below `least`, a guess where it is below `sure`."""
    if draft.confidence < least:
        return replace(refusal, near=draft.near)
    reasons = (*draft.insufficiencies, *refusal.insufficiencies)
    confidence = draft.confidence if draft.confidence >= sure else min(draft.confidence, GUESS)
    return replace(draft, confidence=confidence, insufficiencies=tuple(dict.fromkeys(reasons)))
