"""The answerer without a model: the one best quotation, where else it is said, or that nothing answers.

Whatever it says is quoted verbatim, so its answers need no check for groundedness; what can go wrong is the choice, and
that is what `confidence` is about.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise, takewhile
from statistics import fmean
from textwrap import indent
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from cairn.answer.acronyms import spell_out
from cairn.answer.answer_type import Asked, asking_words, may_say_sum, read_asked, says_sum
from cairn.answer.asked_heading import ends_with_asked, is_below_asked, with_section_first
from cairn.answer.asked_side import (
    asks_default,
    counts_something_else,
    is_not_undone,
    is_other_side,
    states_default,
    with_asked_side_first,
    with_default_first,
)
from cairn.answer.candidates import Candidate, candidates
from cairn.answer.change_log import with_manual_first
from cairn.answer.cite import citation, without_marks
from cairn.answer.confidence import (
    FACT_DOUBTED,
    FACT_ENOUGH,
    NEAR_ENOUGH,
    PRESENT_ENOUGH,
    RIGHT_ENOUGH,
    SURE,
    UNCALIBRATED,
    Calibration,
    Confidence,
    estimate_confidence,
)
from cairn.answer.evidence import (
    COLUMN,
    FEATURES,
    Measured,
    QuestionTerms,
    adjacent,
    measure,
    question_terms,
    share,
    words_around,
    words_inside,
)
from cairn.answer.missing import subjects, unmentioned
from cairn.answer.named_entry import (
    OWN_ENOUGH,
    OWN_NEAR,
    find_entries,
    find_own_places,
    has_label,
    name_asked,
    with_entry_first,
    without_entries_like_it,
)
from cairn.answer.other_sides import (
    asks_what_is_not,
    is_what_is_asked_beside,
    leads_elsewhere,
    may_deny,
    supposes,
    with_answer_first,
    with_named_section_first,
    with_named_system_first,
    with_own_language_first,
    with_same_side_first,
    with_statement_first,
)
from cairn.answer.question_form import about_the_same, verdict
from cairn.answer.quotation import (
    MOST_CHARS,
    Excerpt,
    label_place,
    lead_over_others,
    quote,
    says_the_same,
    without_white,
)
from cairn.answer.quotation_choice import score_quotations
from cairn.answer.reading import UNREAD, ReadBy, is_figures_of_one_document, read_candidates, score_read, with_reading
from cairn.answer.row_asked import is_one_of_many, row_called_so
from cairn.answer.section_label import label_above, with_named_twin_first
from cairn.answer.sections_below import (
    Section,
    as_list,
    may_lead_to_steps,
    sections_announced,
    sections_named,
    steps_behind,
)
from cairn.answer.shown import ShownPart, as_code, as_markdown, can_mark, surroundings, wants_more
from cairn.answer.told_heading import Told, find_told, with_told_first
from cairn.domain.answer import Citation, CitedContext, Draft, SelectionFeatures
from cairn.domain.document import BETWEEN_HEADINGS, Landmark, is_code_type
from cairn.domain.passage import Passage
from cairn.language.identify import by_words, likely_language
from cairn.language.lexicon import DEFAULT, replies
from cairn.language.sentences import Span, split_units
from cairn.language.text import fold
from cairn.language.tokens import terms as words_of
from cairn.providers.protocols import Embedder
from cairn.settings import AnswerSettings

NEAR: Final = 0.7  # measured: tests/unit/test_edges_quotation.py
"""By how much less than the best (in the selection's log odds) another place may score and still be named."""
HALF: Final = 0.5  # measured: tests/unit/test_edges_quotation.py
"""Agreement of a row's label with what is asked for, up to which it may be the label of something else."""
AS_MUCH: Final = 0.9  # measured: tests/unit/test_edges_quotation.py
"""Share of what the best holds of the question that it must hold."""
OTHERS: Final = 2  # measured: tests/unit/test_edges_quotation.py
"""Other places that are named where the best is not sure."""
AROUND_NEAR: Final = 500  # bound: tests/unit/test_edges_quotation.py
"""As AROUND_OTHERS, where nothing is an answer."""
AROUND_OTHERS: Final = 900  # bound: tests/unit/test_edges_quotation.py
"""Characters of lists and code that are shown of such places, with what introduces them."""
SAID: Final = 1.0  # measured: tests/unit/test_edges_quotation.py
"""Log odds that a quotation of the last answer loses where the question leans on that answer: who asks on wants to hear more."""

LEADS_NEAR: Final = 3.0  # measured: tests/unit/test_other_sides.py
"""By how much less than a sentence that only leads elsewhere a place may score and still come first: to a model, what says that
something is told there is much the same as what tells it."""

_LETTER: Final = re.compile(r"[^\W_]")
_WORD: Final = re.compile(r"\w+")

MarksBehind = Callable[[Passage, int], Awaitable[Sequence[Landmark]]]
"""Where sections begin in the document of a passage, from a place of the document on."""
TextBetween = Callable[[Passage, int, int], Awaitable[str | None]]
"""The text of the document of a passage between two of its places; None where it cannot be had."""
BEYOND: Final = 1500  # bound: tests/unit/test_extract_beyond.py
"""Characters of the document that are read before or behind a passage which cuts off what is shown: more than is shown of it."""

HEADING_BEFORE: Final = 300  # bound: tests/unit/test_asked_heading.py
"""Characters of the document before a passage in which the heading of its section may stand."""


async def extract(
    question: str,
    passages: Sequence[Passage],
    embedder: Embedder,
    settings: AnswerSettings,
    *,
    first: int = 1,
    known: str = "",
    said: str = "",
    enough: float = PRESENT_ENOUGH,
    calibration: Calibration = UNCALIBRATED,
    by: ReadBy | None = None,
    behind: MarksBehind | None = None,
    between: TextBetween | None = None,
    language: str | None = None,
) -> Draft:
    """The best quotation `[1]`, and up to `settings.max_sentences` - 1 other places that say something near to it.

    Where nothing answers, `found` is False and `insufficiencies` say what was missing. `confidence` is the probability that
    the quotation answers, with the `calibration` of the collection; it is withheld where the passages answer with a
    probability below `enough`. `first` is the number of the first citation. `known` was said
    before, and is not said again; `said` may be, where nothing else is near it. `language`: that of the question, where more is
    known of it than its words tell. Raises ProviderError.
    """
    spoken = language or by_words(question) or likely_language(question)
    found = about_the_same(question, unsaid(candidates(passages), known))
    question = spell_out(question, [text for one in passages for text in (one.title, *one.headings, one.content)])
    found = without_entries_like_it(question, found, passages, find_entries(question, found, passages))
    found = saying_what_it_costs(question, found) if by else found
    terms = question_terms(question, found)
    if not found or not terms.words:
        return not_found(question, passages, terms, language=spoken)
    measured = measure(terms, found, passages)
    words = score_quotations(measured) - SAID * _stands_in(said, found)
    if by and is_figures_of_one_document(found[int(words.argmax())], passages):
        by = None
    entries, below_asked = find_entries(question, found, passages), is_below_asked(question, found)
    own = find_own_places(question, found, passages, entries) | below_asked
    told = find_told(question if terms.asked.way else "", found, passages)
    read = await read_candidates(question, found, words, passages, by, own | told.right_below) if by else None
    scores = words if read is None else score_read(read)
    order = _most_fitting_first(question, found, measured, scores, terms, passages, entries, own, told)
    if below_asked.any() and not (terms.asked.anything and not terms.asked.way and below_asked[order[0]]):
        begun = with_section_first(order, below_asked, found, passages)
        if await _begins_section(question, found[begun[0]], passages, between):
            best_below = next(at for at in order if below_asked[at])  # the section is as sure as the best place in it
            order, judged = begun, [best_below, *(at for at in order if at != best_below)]
        else:
            judged = order
    else:
        judged = order
    if (named := with_named_twin_first(order, found, scores, passages, question)) != order:
        order, judged = (
            named,
            order,
        )  # what is said in the section that is named is as sure as what its twin says of another
    best = quote(order[0], found, scores, terms, passages)
    vectors = await embedder.embed([question, found[judged[0]].in_context])
    features = selection_features(terms, passages, found, measured, words, judged, float(vectors[1] @ vectors[0]))
    if read is not None:
        features = with_reading(features, judged, found, scores, read)
    confidence = calibration.apply(estimate_confidence(features))
    other_row = _is_other_row(terms, found[order[0]], float(measured[order[0], COLUMN["label"]]))
    part = other_row or is_one_of_many(terms, found[order[0]])
    supposed = terms.asked.anything and supposes(found[order[0]].text)
    beside = is_what_is_asked_beside(question, terms.asked, found[order[0]].text)
    doubtful = part or supposed or beside or _is_source_code(best, passages) or _leads_away(best, passages)
    doubtful = doubtful or is_not_undone(question, terms.asked, found[order[0]])
    if doubtful or not may_show_sum(best, terms.asked, passages):
        confidence = confidence.unsure()
    certain = confidence  # what is astray may be a guess, but is shown all the same
    astray = _astray(question, terms, found[order[0]], passages, spoken)
    if astray:
        confidence = confidence.unsure()
    worth = order if read is not None else _with_words(order, found, terms)
    near = choose_nearest(worth, found, scores, terms, passages, min(OTHERS + 1, settings.max_sentences), confidence)
    opposite = asks_what_is_not(question, terms.asked) and not _may_show_denial(best, found[order[0]], passages)
    is_enough = _is_enough(certain, terms.asked, enough, features.read)
    if read is not None and entries[order[0]]:
        is_enough = is_enough or confidence.value >= OWN_ENOUGH or has_label(found[order[0]], question)
    if opposite or not (is_enough or below_asked[order[0]] or told.below[order[0]]):
        return replace(not_found(question, passages, terms, confidence.value, spoken), evidence=features, near=near)
    further = _also(best, order, found, scores, terms, passages, settings.max_sentences - 1)
    missing = (*_unmentioned(terms, spoken), *astray)
    below = await _sections_below(best, passages, terms, behind)
    wide = await _with_what_is_cut_off(best, passages, terms.asked, between)
    line = await _line_of(best, passages, between)
    key = "" if terms.asked.several or not entries[order[0]] else name_asked(question) or ""
    draft = quoted_draft(best, further, passages, first, spoken, terms.asked, below, wide, line, key)
    if confidence.value >= SURE and (outcome := verdict(terms, found[order[0]], best.shown)):
        draft = replace(draft, text=f"**{outcome}.**\n\n{draft.text}")
    limit = min(OTHERS, settings.max_sentences - 1 - len(further))
    others = other_places(draft, (best, *further), worth, found, scores, terms, passages, limit)
    return replace(
        draft, confidence=confidence.value, insufficiencies=missing, evidence=features, others=others, near=near
    )


def _most_fitting_first(
    question: str,
    found: Sequence[Candidate],
    measured: Measured,
    scores: NDArray[np.float64],
    terms: QuestionTerms,
    passages: Sequence[Passage],
    entries: NDArray[np.bool_],
    own: NDArray[np.bool_],
    told: Told,
) -> list[int]:
    """Candidates by their scores (log odds), and before the best what fits the form of the question and is nearly as good. Each
    rule may move what those above it have put first."""
    order = _closest_row_first([int(at) for at in np.argsort(-scores, kind="stable")], found, measured, terms)
    order = with_sum_first(order, found, scores, terms, passages)
    order = with_same_side_first(order, found, scores, question, terms.asked, NEAR)
    order = with_statement_first(order, found, scores, terms.asked, NEAR)
    order = with_named_section_first(order, found, scores, question, 2 * NEAR)
    order = with_told_first(order, told, found, scores, OWN_NEAR)
    order = with_entry_first(order, own, found, scores, question)
    order = with_default_first(order, entries, found, scores, question, terms.asked, passages, OWN_NEAR)
    order = with_asked_side_first(order, found, scores, question, terms.asked, 2 * NEAR)
    order = with_named_system_first(order, found, scores, question, 2 * NEAR)
    order = with_own_language_first(order, found, scores, question, passages, 2 * NEAR)
    order = with_manual_first(order, found, scores, passages, question, terms.asked, 2 * NEAR)
    return with_answer_first(order, found, scores, passages, LEADS_NEAR)


def _astray(
    question: str, terms: QuestionTerms, best: Candidate, passages: Sequence[Passage], language: str
) -> tuple[str, ...]:
    """Why the best place is no more than a guess: it states no default where that is asked for, or is of something else."""
    say = replies(language)
    if asks_default(question, terms.asked) and not states_default(best, passages[best.rank].content, terms.asked):
        return (say.no_default,)
    is_other = counts_something_else(question, best, terms.matches) or is_other_side(question, terms.asked, best)
    return (say.other_thing,) if is_other else ()


async def _begins_section(
    question: str, first: Candidate, passages: Sequence[Passage], between: TextBetween | None
) -> bool:
    """Whether the first place of a section that is in the passages is the first in the document: passages begin anywhere."""
    passage = passages[first.rank]
    before = passage.content[: first.unit.start].rstrip("-+*.) \t0123456789")  # the mark of an item
    if not before.strip() and between is not None:
        before = await between(passage, max(passage.start - HEADING_BEFORE, 0), passage.start) or ""
    return ends_with_asked(question, before)


def saying_what_it_costs(question: str, found: Sequence[Candidate]) -> list[Candidate]:
    """Where a sum of money is asked for, those that say one have the words that ask for it: of what costs 14 euros a text
    seldom says that it "costs" them. For what a reader reads: by words alone, sums of something else would win."""
    asking = asking_words(question) if read_asked(question).money else frozenset()
    return [replace(one, words=one.words | asking) if asking and says_sum(one.text) else one for one in found]


def _is_enough(confidence: Confidence, asked: Asked, enough: float, read: float | None) -> bool:
    """Whether the quotation is shown. More is wanted where the reader has read it, which tells a number, a time or a name well
    from what stands near to them, and most where it doubts itself (`read`: its log odds) and the quotation is a guess, unless as
    little is `enough` as of a document that the question names."""
    if read is not None and enough == PRESENT_ENOUGH:
        if confidence.value < RIGHT_ENOUGH:
            return False
        if asked.anything and not asked.way:
            enough = FACT_DOUBTED if confidence.is_doubted(read) else FACT_ENOUGH
    return confidence.present >= enough


def may_show_sum(best: Excerpt, asked: Asked, passages: Sequence[Passage]) -> bool:
    """Whether what is shown of it may be a sum of money, where one is asked for. Of a row the currency may stand above."""
    if not asked.money or best.kind == "row":
        return True
    around = surroundings(passages[best.rank].content, best.spans[-1], said_briefly=asked.said_briefly)
    return may_say_sum(f"{best.shown}\n{as_markdown(around)}")


def _may_show_denial(best: Excerpt, candidate: Candidate, passages: Sequence[Passage]) -> bool:
    """Whether what is shown of it, or stands above it, may say that something is not so."""
    around = surroundings(passages[best.rank].content, best.spans[-1], row=best.kind == "row")
    return may_deny(f"{candidate.in_context}\n{as_markdown(around)}")


async def _sections_below(
    best: Excerpt, passages: Sequence[Passage], terms: QuestionTerms, behind: MarksBehind | None
) -> Sequence[Section]:
    """Those below a heading that the question names, else those that the quotation announces, where several things are asked
    for; where a way is, the next ones that are its steps."""
    passage, quoted, asked = passages[best.rank], best.spans[-1], terms.asked
    if behind and asked.way and best.kind in ("prose", "item") and may_lead_to_steps(passage, quoted):
        return steps_behind(passage, quoted, await behind(passage, passage.start + quoted[1]))
    if behind is None or not asked.several or asked.number or asked.time or not passage.headings:
        return ()
    if best.kind not in ("prose", "item"):
        return ()
    marks = await behind(passage, passage.start + quoted[1])
    named = sections_named(passage, quoted, marks, terms.text)
    return named or (sections_announced(passage, quoted, marks, terms.text) if best.kind == "prose" else ())


async def _with_what_is_cut_off(
    best: Excerpt, passages: Sequence[Passage], asked: Asked, between: TextBetween | None
) -> Passage:
    """The passage of the quotation, with more of its document where it cuts off what is shown: passages are cut by their length,
    so that a list may begin behind the one that announces it, and code in one goes on in the next. Not where less would be shown:
    a section may turn out to be long."""
    passage = passages[best.rank]
    if between is None or best.kind == "row" or is_code_type(passage.media_type):
        return passage
    around = surroundings(passage.content, best.spans[-1], said_briefly=asked.said_briefly)
    before, behind = wants_more(passage.content, around)
    start, end = passage.start, passage.start + len(passage.content)
    first = max(start - BEYOND, 0) if before else start
    last = end + BEYOND if behind else end
    if (first, last) == (start, end):
        return passage
    text = await between(passage, first, last)
    if not text or text[start - first : end - first] != passage.content:
        return passage
    if 0 < first < start:  # the beginning of a line
        cut = text.find("\n", 0, start - first) + 1 or start - first
        text, first = text[cut:], first + cut
    if len(text) == last - first and last > end:  # its end
        text = text[: text.rfind("\n", end - first) + 1 or end - first]
    wide = replace(passage, content=text, start=first)
    shown = surroundings(text, best.moved(start - first).spans[-1], said_briefly=asked.said_briefly).span
    return (
        wide if shown[0] + first <= around.span[0] + start and around.span[1] + start <= shown[1] + first else passage
    )


async def _line_of(best: Excerpt, passages: Sequence[Passage], between: TextBetween | None) -> int | None:
    """The line of its file at which a quotation of code begins; None where that is not known."""
    passage = passages[best.rank]
    if not is_code_type(passage.media_type):
        return None
    before = "" if passage.start == 0 else await between(passage, 0, passage.start) if between else None
    if before is None or len(before) != passage.start:
        return None
    return before.count("\n") + passage.content.count("\n", 0, best.spans[0][0]) + 1


def _is_source_code(best: Excerpt, passages: Sequence[Passage]) -> bool:
    """Lines of source code have the words of a question, but do not say that they answer it, and no set of judged questions
    has any."""
    return best.kind == "code" and is_code_type(passages[best.rank].media_type)


def _leads_away(best: Excerpt, passages: Sequence[Passage]) -> bool:
    """Whether it only says where to read on, and nothing that is shown around it says more."""
    passage = passages[best.rank]
    if best.kind not in ("prose", "item") or not leads_elsewhere(passage.content[slice(*best.spans[-1])]):
        return False
    around = surroundings(passage.content, best.spans[-1])
    shown = passage.content[slice(*around.span)]
    units = (one for one in split_units(shown) if one.kind != "heading")
    return all(leads_elsewhere(shown[one.start : one.end]) for one in units)


def has_unsaid(passages: Sequence[Passage], known: str) -> bool:
    """Whether there is a candidate in the passages that does not stand in `known`."""
    return bool(unsaid(candidates(passages), known))


def unsaid(found: list[Candidate], known: str) -> list[Candidate]:
    stands = _stands_in(known, found)
    return [candidate for candidate, already in zip(found, stands, strict=True) if not already]


def _stands_in(text: str, found: Sequence[Candidate]) -> Measured:
    """For each candidate 1 where it stands in the text, else 0."""
    plain = without_white(text)
    return np.array([float(bool(plain) and without_white(one.text) in plain) for one in found])


def selection_features(
    terms: QuestionTerms, passages: Sequence[Passage], found: Sequence[Candidate], measured: Measured, scores: Measured,
    order: Sequence[int], cosine: float,
) -> SelectionFeatures:  # fmt: skip
    """Of the best candidate."""
    best = found[order[0]]
    value = dict(zip(FEATURES, map(float, measured[order[0]]), strict=True))
    direct, lead = terms.held(best.words), terms.held(best.lead)
    inside = words_inside(terms, found)
    named = subjects(terms.text, by_words(terms.text) or likely_language(terms.text))
    around = words_around(terms, best, direct, lead, inside[best.rank])
    anywhere, ahead = _coverage(terms, inside)
    told = np.maximum(direct, lead) if best.cells else direct  # a row is read with its headers
    return SelectionFeatures(
        kind=best.unit.kind,
        english=likely_language(terms.text) == DEFAULT,
        question_words=len(terms.words),
        missing=len(unmentioned(named, passages)),
        idf_direct=value["idf_direct"],
        idf_around=value["idf_around"],
        topic_direct=share(terms.worth, direct),
        topic_around=share(terms.worth, around),
        adjacent=adjacent(terms, best.sequence),
        numbers=_mean(told, terms.numbers),
        names=_mean(told, terms.names),
        fits=True if value["fits"] else False if value["misfits"] else None,
        label=value["label"],
        rank=1 / (1 + best.rank),
        retrieval=value["retrieval"],
        matched=bool(value["matched"]),
        score=float(scores[order[0]]),
        margin=lead_over_others(order, found, scores),
        cosine=cosine,
        anywhere=anywhere,
        lead=ahead,
    )


def _mean(held: Measured, places: Sequence[int]) -> float:
    return float(held[list(places)].mean()) if places else 1.0


def _closest_row_first(
    order: Sequence[int], found: Sequence[Candidate], measured: Measured, terms: QuestionTerms
) -> list[int]:
    """Of rows of one table that hold the same words of the question, the one first whose label says least else: "Total assets"
    and not "Total current assets", whichever of them stands in the chunk that was found; before all the one that is called so."""
    if (called := row_called_so(order, found, terms)) is not None:
        return [called, *(at for at in order if at != called)]
    best = found[order[0]]
    if best.cells is None:
        return list(order)
    held, label = terms.held(best.words), measured[:, COLUMN["label"]]
    alike = [
        at
        for at in order[1:]
        if (cells := found[at].cells) and found[at].rank == best.rank and cells.table.header == best.cells.table.header
        and label[at] > label[order[0]] and np.array_equal(terms.held(found[at].words), held)
    ]  # fmt: skip
    if not alike:
        return list(order)
    first = max(alike, key=lambda at: float(label[at]))
    return [first, *(at for at in order if at != first)]


def with_sum_first(
    order: Sequence[int],
    found: Sequence[Candidate],
    scores: Measured,
    terms: QuestionTerms,
    passages: Sequence[Passage],
) -> list[int]:
    """Where a sum of money is asked for, and nothing that is shown of the best place may be one, the first one first that is
    nearly as good and says a sum. Rows stay, for the currency may stand above the table."""
    if not terms.asked.money or found[order[0]].cells is not None:
        return list(order)
    if may_show_sum(quote(order[0], found, scores, terms, passages), terms.asked, passages):
        return list(order)
    near = (at for at in order[1:] if scores[at] >= scores[order[0]] - NEAR)
    first = next((at for at in near if says_sum(quote(at, found, scores, terms, passages).shown)), order[0])
    return [first, *(at for at in order if at != first)]


def _is_other_row(terms: QuestionTerms, best: Candidate, label: float) -> bool:
    """Whether it is a row of something else: of two neighbouring words of the question its label has one, and the other stands
    nowhere ("Total equity" where the total revenue is asked for). `label`: how well its label agrees."""
    if best.cells is None or label > HALF:
        return False
    held = dict(zip(terms.words, terms.held(best.label), strict=True))
    known = terms.held(terms.matches)
    nowhere = {word for word, seen, idle in zip(terms.words, known, terms.idle, strict=True) if not seen and not idle}
    return any(
        (one in nowhere and held.get(other, 0.0) > 0) or (other in nowhere and held.get(one, 0.0) > 0)
        for one, other in pairwise(" ".join(words_of(word)) for word in terms.text.split())
    )


# --- does it answer? ------------------------------------------------------------------------------------------------


def _coverage(terms: QuestionTerms, inside: Mapping[int, Measured]) -> tuple[float, float]:
    """How much of the question's rarity stands in any passage, and how far the passage that holds most of it is ahead of the
    third: a topic that several passages share leaves open which of them answers."""
    shares = sorted((share(terms.idf, held) for held in inside.values()), reverse=True)
    anywhere = share(terms.idf, np.max(list(inside.values()), axis=0))
    return anywhere, shares[0] - shares[min(2, len(shares) - 1)]


def not_found(
    question: str,
    passages: Sequence[Passage],
    terms: QuestionTerms | None = None,
    confidence: float = 0.0,
    language: str | None = None,
) -> Draft:
    """The draft that says plainly that the passages do not answer, and what is missing in them. `language`: of the question,
    where more is known of it than its words tell."""
    spoken = language or by_words(question) or likely_language(question)
    say = replies(spoken)
    n = len(passages)
    reasons = (say.none_answers[n > 1].format(n=n) if passages else say.none_found, *_unmentioned(terms, spoken))
    return Draft(say.refusal, (), False, confidence, reasons)


def _unmentioned(terms: QuestionTerms | None, language: str) -> tuple[str, ...]:
    return (replies(language).unmentioned.format(names=", ".join(terms.missing)),) if terms and terms.missing else ()


# --- where else it is said --------------------------------------------------------------------------------------------


def _also(
    best: Excerpt, order: Sequence[int], found: Sequence[Candidate], scores: Measured, terms: QuestionTerms,
    passages: Sequence[Passage], limit: int,
) -> list[Excerpt]:  # fmt: skip
    """Other places near the best in score that say something else; none of the words of what is quoted already."""
    chosen = [best]
    floor, held = scores[order[0]] - NEAR, share(terms.idf, terms.held(found[order[0]].words))
    for at in order[1:]:
        if len(chosen) > limit or scores[at] < floor:
            break
        if (
            found[at].unit.kind == "code"
            or found[at].announces
            or any(says_the_same(found[at], found[other.at]) for other in chosen)
        ):
            continue
        if share(terms.idf, terms.held(found[at].words)) < AS_MUCH * held:
            continue
        made = quote(at, found, scores, terms, passages)
        if not any(_overlap(made, other, passages) for other in chosen):
            chosen.append(made)
    return chosen[1:]


def other_places(
    draft: Draft, quoted: Sequence[Excerpt], order: Sequence[int], found: Sequence[Candidate], scores: Measured,
    terms: QuestionTerms, passages: Sequence[Passage], limit: int,
) -> tuple[tuple[Citation, str], ...]:  # fmt: skip
    """What was chosen next, of what is not shown yet and as short as a quotation: no sentence that only announces something.
    Where a way or things are asked for, what stands in a short list or code, or announces it, is shown with all of it."""
    places = [place for cited in draft.citations for place in ((cited, cited), (cited, cited.context))]
    taken = [(cited.document_id, place.start, place.end) for cited, place in places if place]
    read = _that_were_read(order, scores, quoted[0].at)
    known = [found[one.at] for one in quoted]
    beside = _Beside(draft.citations[-1].n + 1, taken, known, AROUND_OTHERS, without_marks(draft.text))
    return _places_beside(beside, read, found, scores, terms, passages, limit)


def choose_nearest(
    order: Sequence[int], found: Sequence[Candidate], scores: Measured, terms: QuestionTerms,
    passages: Sequence[Passage], limit: int, confidence: Confidence,
) -> tuple[tuple[Citation, str], ...]:  # fmt: skip
    """What is quoted, or would be, best first, for a refusal to show: as `other_places`, shorter. None below NEAR_ENOUGH."""
    if not order or confidence.value < NEAR_ENOUGH:
        return ()
    read = _that_were_read(order, scores, order[0])
    return _places_beside(_Beside(1, [], [], AROUND_NEAR), read, found, scores, terms, passages, limit)


def _with_words(order: Sequence[int], found: Sequence[Candidate], terms: QuestionTerms) -> list[int]:
    """Those that have a word of the question: what else no reader has read may be of anything."""
    return [at for at in order if terms.held(found[at].words).any()]


def _that_were_read(order: Sequence[int], scores: Measured, best: int) -> list[int]:
    """Those from the first on that score as what was read does: what was not is UNREAD behind."""
    return list(takewhile(lambda at: scores[at] > scores[best] - UNREAD / 2, order))


@dataclass(frozen=True, slots=True)
class _Beside:
    """What there is already: the next number of a citation, places that are shown, what is quoted, characters of lists and code
    for which there is room, and what is shown."""

    n: int
    taken: list[tuple[UUID, int, int]]
    known: list[Candidate]
    room: int
    shown: str = ""


def _places_beside(
    beside: _Beside, order: Sequence[int], found: Sequence[Candidate], scores: Measured, terms: QuestionTerms,
    passages: Sequence[Passage], limit: int,
) -> tuple[tuple[Citation, str], ...]:  # fmt: skip
    """At most `limit` in this order, each with how it reads: nothing that is there already or says the same, nothing without a
    letter or digit; the same code stands in several places of a manual."""
    n, taken, known, shown = beside.n, [*beside.taken], [*beside.known], _between_blanks(beside.shown)
    chosen: list[tuple[Citation, str]] = []
    room = 0 if terms.asked.said_briefly else beside.room
    for at in order:
        if len(chosen) >= limit:
            break
        candidate, passage = found[at], passages[found[at].rank]
        if any(says_the_same(candidate, other) for other in known):
            continue
        made = quote(at, found, scores, terms, passages)
        spans = [_in_document(passage, span) for span in made.spans]
        if not _LETTER.search(made.shown) or any(_overlaps(span, taken) for span in spans):
            continue
        if _between_blanks(made.shown) in shown:
            continue
        cited = replace(citation(n + len(chosen), passage, made.spans[-1]), instead=True)
        around = _list_around(made, passage, room)
        if around and not (
            _overlaps(_in_document(passage, around.span), taken)
            or any(_between_blanks(code) in shown for code in _code_in(around))
        ):
            cited = replace(cited, context=_context(around, cited, passage, ()))
            chosen.append((cited, _set_in(as_markdown(around))))
            spans.append(_in_document(passage, around.span))
            room -= around.span[1] - around.span[0]
        elif candidate.announces or len(made.shown) > MOST_CHARS:
            continue
        else:
            chosen.append((cited, _as_item(made)))
        taken += spans
        known.append(candidate)
        shown += _between_blanks(chosen[-1][1])
    return tuple(chosen)


def _between_blanks(text: str) -> str:
    """To be looked for word for word."""
    return f" {without_white(text)} "


def _code_in(around: ShownPart) -> Iterator[str]:
    said = (around.content[slice(*block.body)] for block in around.blocks if block.kind == "code")
    return filter(str.strip, said)


def _in_document(passage: Passage, span: Span) -> tuple[UUID, int, int]:
    return passage.document_id, passage.start + span[0], passage.start + span[1]


def _overlaps(place: tuple[UUID, int, int], taken: Sequence[tuple[UUID, int, int]]) -> bool:
    document, start, end = place
    return any(of == document and s < end and start < e for of, s, e in taken)


def _list_around(made: Excerpt, passage: Passage, room: int) -> ShownPart | None:
    """The list, code or table that a quotation stands in or announces, with what introduces it, where there is room."""
    if not room or made.kind == "row" or is_code_type(passage.media_type):
        return None
    around = surroundings(passage.content, made.spans[-1], said_briefly=True, begun=passage.start > 0)
    start, end = around.span
    holds = any(block.kind in ("list", "code", "table") for block in around.blocks)
    return around if holds and end - start <= room else None


def _overlap(one: Excerpt, other: Excerpt, passages: Sequence[Passage]) -> bool:
    ours, theirs = passages[one.rank], passages[other.rank]
    if ours.document_id != theirs.document_id:
        return False
    moved = theirs.start - ours.start
    return any(span[0] < moved + known[1] and moved + known[0] < span[1] for span in one.spans for known in other.spans)


# --- writing ------------------------------------------------------------------------------------------------------------


def quoted_draft(
    best: Excerpt, further: Sequence[Excerpt], passages: Sequence[Passage], first: int, language: str, asked: Asked,
    below: Sequence[Section] = (), wide: Passage | None = None, line: int | None = None, key: str = "",
) -> Draft:  # fmt: skip
    """The best quotation with what stands around it, or with the sections that it announces where not all of them are shown
    around it; and the further ones marked there, or on a line each where they stand elsewhere. The number of the first is
    `first`, and the others go up as they are read: what is shown before the best quotation is not cited once more. `wide`: its
    passage, perhaps with more of the document before and behind it. `line`: of a file of code, where the quotation begins.
    `key`: the one name that is asked for."""
    if wide and wide is not passages[best.rank]:
        moved = passages[best.rank].start - wide.start
        best, *further = (one.moved(moved) if one.rank == best.rank else one for one in (best, *further))
        passages = [wide if at == best.rank else one for at, one in enumerate(passages)]
    passage = passages[best.rank]
    text = best.cited(first)
    around, inside, elsewhere = None, list[tuple[int, Excerpt]](), list(further)
    if not is_code_type(passage.media_type):
        row = best.kind == "row"
        show = partial(
            surroundings, quoted=best.spans[-1], row=row, said_briefly=asked.said_briefly, begun=passage.start > 0,
            heading=passage.headings[-1] if passage.headings[1:] else "",  # one alone is the title
            key=key,
        )  # fmt: skip
        around = show(passage.content)
        below = () if all(one.start < passage.start + around.span[1] for one in below) else below
        if below:
            introduction = passage.content[: max(below[0].start - passage.start, 0)]
            around = show(introduction)
        around = _under_its_heading(around, passage, best, passages)
        places = [(_place_in(around, one, passages, passage), one) for one in further]
        elsewhere = [one for place, one in places if place is None]
        read_from = 0 if row else best.spans[0][1]
        inside = sorted(
            ((at, one) for at, one in places if at is not None and at > read_from), key=lambda pair: pair[0]
        )
    quoted = [best, *(one for _, one in inside), *elsewhere]
    numbers = list(accumulate((len(one.spans) for one in quoted), initial=first))
    cited = list(_citations(quoted, passages, first))
    if around:
        marks = {} if best.kind == "row" else {best.spans[0][1]: best.marks(first)}
        marks |= {at: one.marks(n) for (at, one), n in zip(inside, numbers[1:], strict=False)}
        text = f"{text}\n\n{as_markdown(around, marks)}" if best.kind == "row" else as_markdown(around, marks)
        cited[0] = replace(cited[0], context=_context(around, cited[0], passage, below))
        text += as_list(below)
    if is_code_type(passage.media_type):
        place = passage.external_id if line is None else f"{passage.external_id}:{line}"
        text = f"**`{place}`**\n\n{text}"
    if elsewhere:
        say = replies(language)
        told = zip(elsewhere, numbers[1 + len(inside) :], strict=False)
        lines = [f"- {label_place(cited[n - first], say)}: {_as_item(one)} {one.marks(n)}" for one, n in told]
        text += "\n\n" + "\n".join((say.also, *lines))
    return Draft(text, tuple(cited), True, 1.0)


def _under_its_heading(around: ShownPart, passage: Passage, best: Excerpt, passages: Sequence[Passage]) -> ShownPart:
    """What is shown with the label of its section above, where it needs one and begins without a heading; with the heading above
    its own where it begins with that."""
    label = label_above(passage, best.spans[0], passages) if best.kind != "row" else ""
    if not label:
        return around
    first = around.blocks[0] if around.blocks else None
    *above, own = label.split(BETWEEN_HEADINGS)
    begins = first is not None and first.kind == "heading" and first.start < best.spans[0][0]
    if begins:
        return replace(around, named=BETWEEN_HEADINGS.join(above)) if above else around
    is_own = around.above is not None and around.content[slice(*around.above)].strip("#* ").strip("`") == own.strip("`")
    return replace(around, above=None, named=label) if is_own or around.above is None else replace(around, named=label)


def _as_item(made: Excerpt) -> str:
    """A quotation in a line of a list."""
    if made.kind != "code":
        return made.shown
    if "\n" in made.shown or "`" in made.shown:
        return _set_in(as_code(made.shown))
    return f"`{made.shown}`"


def _set_in(text: str) -> str:
    """Blocks of Markdown as a part of an item."""
    return "\n" + indent(text, "  ") + "\n "


def name_others(draft: Draft, language: str) -> Draft:
    """The draft with what else may answer, or where nothing does with what comes nearest, a line each."""
    others = draft.others if draft.found else draft.near
    if not others:
        return draft
    say = replies(language)
    lines = [f"- {label_place(cited, say)}: {shown} [{cited.n}]" for cited, shown in others]
    text = "\n".join((f"{draft.text}\n\n{say.perhaps if draft.found else say.near_to_it}", *lines))
    return replace(draft, text=text, citations=(*draft.citations, *(cited for cited, _ in others)), others=())


def _place_in(around: ShownPart, one: Excerpt, passages: Sequence[Passage], shown: Passage) -> int | None:
    """Where another quotation ends in what is shown of a passage; None where it stands elsewhere."""
    its = passages[one.rank]
    if its.document_id != shown.document_id or len(one.spans) > 1:
        return None
    start, end = (its.start - shown.start + place for place in one.spans[0])
    return end if can_mark(around, (start, end)) else None


def _context(around: ShownPart, first: Citation, passage: Passage, below: Sequence[Section]) -> CitedContext:
    """In the document. Of a row whose header is quoted first it begins with that; it goes on to the last of the sections
    below that are named."""
    start, end = (passage.start + place for place in around.span)
    shown = as_markdown(around) + as_list(below)
    return CitedContext(shown, min(start, first.start), max(end, first.end, *(one.end for one in below)))


def _citations(excerpts: Sequence[Excerpt], passages: Sequence[Passage], first: int) -> tuple[Citation, ...]:
    places = [(one.rank, span) for one in excerpts for span in one.spans]
    return tuple(citation(n, passages[rank], span) for n, (rank, span) in enumerate(places, start=first))


def drafted(chosen: Sequence[Candidate], passages: Sequence[Passage], first: int = 1) -> Draft:
    """Candidates as a text, in the order of the passages, each quoted; the number of the first citation is `first`."""
    ordered = sorted(chosen, key=lambda c: (c.rank, c.unit.start))
    quoted = [Excerpt.whole(at, candidate) for at, candidate in enumerate(ordered)]
    text = ""
    for at, one in enumerate(quoted):
        gap = " " if at and one.kind == quoted[at - 1].kind == "prose" else "\n"
        text += (gap if text else "") + one.cited(first + at)
    return Draft(text, _citations(quoted, passages, first), True, 1.0)


# --- answers to the parts of a question, made one ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnsweredPart:
    """A sub-question and what was extracted for it; citations of all parts are numbered through."""

    question: str
    draft: Draft


def join_parts(parts: Sequence[AnsweredPart], language: str) -> Draft:
    """A paragraph for each part: its quotation, or that nothing was found on it, which stands in `insufficiencies` too; of a
    subject that a quotation for another one names, there alone.

    `confidence` is the mean over all parts, an unanswered one counting 0. At least one part is answered.
    """
    answered = [part for part in parts if part.draft.found]
    missing = [part for part in parts if not part.draft.found]
    reasons = dict.fromkeys(reason for part in answered for reason in part.draft.insufficiencies)
    told = _as_words(" ".join(part.draft.text for part in answered))
    unsaid = [one for one in missing if one.question.strip().endswith("?") or _as_words(one.question) not in told]
    return Draft(
        text="\n\n".join(_paragraph(part, language) for part in parts if part.draft.found or part in unsaid),
        citations=tuple(citation for part in answered for citation in part.draft.citations),
        found=True,
        confidence=fmean(part.draft.confidence if part.draft.found else 0.0 for part in parts),
        insufficiencies=(*(f"Not answered by the documents: {part.question}" for part in missing), *reasons),
        evidence=answered[0].draft.evidence,
        across=any(part.draft.across for part in answered),
    )


def _as_words(text: str) -> str:
    """Words alone, with a space around each."""
    return f" {' '.join(_WORD.findall(fold(text)))} "


def _paragraph(part: AnsweredPart, language: str) -> str:
    """Of a subject ("Nomad", not a question) with its name before it, unless it begins with that itself."""
    name = part.question.strip()
    if not part.draft.found:
        return replies(language).nothing_on.format(name=name)
    if name.endswith("?"):
        return part.draft.text
    text = part.draft.text
    if _as_words(text.partition("\n")[0].partition(":")[0]) == _as_words(name):
        return text
    apart = "\n\n" if "\n" in text or text.startswith("- ") else " "
    return f"{name}:{chr(10) if text.startswith('```') else apart}{text}"


def repeats_only(draft: Draft, said: Sequence[Citation]) -> bool:
    """Whether it quotes only what was quoted before."""
    places = {(cited.document_id, cited.start, cited.end) for cited in said}
    return bool(draft.citations) and all(
        (cited.document_id, cited.start, cited.end) in places for cited in draft.citations
    )
