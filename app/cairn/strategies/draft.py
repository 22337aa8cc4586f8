"""From passages to a checked answer: generate or extract -> check -> try again with feedback -> disclose.

Tokens are those of the first attempt, as they come. A further attempt begins with the progress step `retry` and is not
streamed; the text of the terminal event replaces what was streamed, in any case.

When a model fails, wherever it breaks off, the sentences are extracted instead, and `degraded` says so. Where the beginning
of its text was streamed by then, the progress step `retract` says that this is not the answer. A further attempt that fails
leaves the answer that there is.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from cairn.answer.across import extract_across
from cairn.answer.advice import places, rephrase
from cairn.answer.answer_type import read_asked
from cairn.answer.confidence import FOUND, NAMED_ENOUGH, SURE
from cairn.answer.context import Context, assemble_with_graph
from cairn.answer.extract import AnsweredPart, extract, join_parts, name_others, repeats_only
from cairn.answer.foreign import foreign_among, most_are_foreign, written_in
from cairn.answer.generate import generate
from cairn.answer.ground.check import CHECKED_WHOLE
from cairn.answer.missing import seen
from cairn.answer.model_failure import said_cause
from cairn.answer.refusal import not_mentioned
from cairn.domain.answer import Citation, Draft, coverage_of
from cairn.domain.document import Landmark
from cairn.domain.event import Progress, SourcesFound, Token
from cairn.domain.passage import Passage
from cairn.domain.question import Turn
from cairn.errors import BudgetExceededError, ProviderError
from cairn.language.lexicon import DEFAULT, language, refusals, replies
from cairn.language.quoted import quotations_in
from cairn.language.text import fold
from cairn.language.tokens import terms
from cairn.prompts import prompt_part
from cairn.query.bare_subject import as_question
from cairn.query.constraints import without_orders
from cairn.retrieve.operators import parse_operators
from cairn.runs.context import Material, Outcome, Run
from cairn.runs.gather import gather
from cairn.runs.progress import asking_again, checking, reading
from cairn.strategies.check import (
    Checked,
    check,
    check_settings,
    disclosure,
    facts_as_sources,
    feedback,
    note_attempt,
    unsupported_sentences,
)
from cairn.strategies.document_names import without_names
from cairn.strategies.missing_names import (
    About,
    beginnings_of,
    find_absent,
    named_in,
    only_about_what_is_asked,
    with_quotations,
)
from cairn.strategies.reading import near_chunks, reader_for
from cairn.strategies.release_asked import tell_asked_release
from cairn.strategies.replies import SHOWN, question_back
from cairn.strategies.respelled import respelled
from cairn.strategies.sides import as_sure, not_of_others, own_entries, sections_of, stand_together
from cairn.strategies.to_the_point import beside_the_point

Making = Callable[[], Awaitable[Outcome]]
Taking = Callable[[tuple[Passage, ...]], Awaitable[Draft]]


async def answer_from(
    run: Run, material: Material, otherwise: Callable[[], Awaitable[Outcome | None]] | None = None
) -> Outcome:
    """Written by the model from the passages, else quoted from them, or `otherwise` where nothing there answers. Raises
    CairnError."""
    context = assemble_with_graph(
        material.passages, material.graph, run.deps.judge.tokens.count, run.settings.answer.max_context_tokens
    )
    run.emit(SourcesFound(context.passages))
    read = context.passages if run.deps.chat else {p.passage_id for p in _quotable(material)}
    run.emit(reading(len(read)))
    write = partial(write_answer, run, material, context) if run.deps.chat and context.passages else None

    async def quote() -> Outcome:
        quoted = await quote_from(run, material)
        shown = None if quoted.draft.found or otherwise is None else await otherwise()
        if shown is None:
            return quoted
        sources = tuple({one.passage_id: one for one in (*shown.sources, *quoted.sources)}.values())
        return replace(shown, sources=sources, coverage=quoted.coverage, degraded=quoted.degraded, more=quoted.more)

    return await write_or_quote(run, write, quote, "the answer was extracted instead")


async def write_or_quote(run: Run, write: Making | None, quote: Making, instead: str) -> Outcome:
    """What the model writes, or where there is none, or it fails, a quotation; `instead` says so in `degraded`. Raises
    CairnError where quoting fails."""
    degraded: tuple[str, ...] = ()
    if write is not None:
        try:
            return await write()
        except ProviderError as error:
            degraded = (give_up_writing(run, error, instead),)
    outcome = await quote()
    if not run.record.streamed:
        run.emit(Token(outcome.draft.text))
    return replace(outcome, degraded=(*outcome.degraded, *degraded))


def give_up_writing(run: Run, error: ProviderError, instead: str) -> str:
    """Tell that the model failed: `retract` where readers have seen text of it, which the last event replaces, else
    `fallback`. What `degraded` says of it."""
    if run.record.streamed:
        run.emit(Progress("retract", 90, "The model broke off; this is what the sources say instead"))
    else:
        why = "The model failed" if isinstance(error, BudgetExceededError) else said_cause(error, DEFAULT)
        run.emit(Progress("fallback", 90, f"{why}: quoting the sources instead"))
    return f"generation failed ({error.code}: {error.detail}): {instead}"


# --- with a model ---------------------------------------------------------------------------------------------------


async def write_answer(run: Run, material: Material, context: Context) -> Outcome:
    """Attempts until one is supported or none is left; the best of them. Raises ProviderError where the first one fails."""
    settings, degraded = check_settings(run.settings), material.degraded
    best: Checked | None = None
    issues: tuple[str, ...] = ()
    for attempt in range(1, settings.max_retries + 2):
        if attempt > 1:
            assert best is not None
            run.emit(asking_again(len(unsupported_sentences(best))))
        try:
            checked = await attempt_answer(run, material, context, attempt, issues)
        except ProviderError as error:
            if best is None:
                raise
            degraded += (f"attempt {attempt} failed ({error.code}: {error.detail})",)
            break
        best = checked if best is None or checked.score > best.score else best
        if not checked.refuted:
            break
        issues = feedback(checked)
    assert best is not None
    outcome = await settle(run, material, context, best, strict=settings.strict)
    return replace(outcome, iterations=len(run.record.attempts), degraded=(*degraded, *outcome.degraded))


async def attempt_answer(
    run: Run, material: Material, context: Context, attempt: int, issues: tuple[str, ...]
) -> Checked:
    """One generated answer with its check; the text of the first attempt is shown as it comes. `issues`: what was wrong
    with the one before. Raises ProviderError."""
    draft = await _generate(replace(run, silent=run.silent or attempt > 1), material, context, attempt, issues)
    sources = (*passages_to_check(draft, context), *facts_as_sources(material.facts))
    if check_settings(run.settings).enabled:
        run.emit(checking(len(sources)))
    checked = await check(run, draft, sources, material.confidence)
    note_attempt(run, attempt, checked)
    return checked


def passages_to_check(draft: Draft, context: Context) -> tuple[Passage, ...]:
    """What the draft is checked against: what the model read, or of very much what it cites."""
    if len(context.passages) <= CHECKED_WHOLE:
        return context.passages
    cited = {citation.passage_id for citation in draft.citations}
    return tuple(passage for passage in context.passages if passage.passage_id in cited) or context.passages


async def _generate(run: Run, material: Material, context: Context, attempt: int, issues: tuple[str, ...]) -> Draft:
    assert run.deps.chat is not None
    began = time.perf_counter()
    try:
        return await generate(
            material.question,
            context,
            run.record.metered("generate" if attempt == 1 else "retry", run.deps.chat, run.settings),
            run.settings.answer,
            temperature=run.settings.rag.qa.temperature,
            confidence=material.confidence,
            on_text=lambda text: run.emit(Token(text)),
            feedback=issues,
            history=run.history,
            task="\n\n".join(filter(None, (material.task, _in_language(run)))),
        )
    finally:
        run.record.spent("answer", began)


def _in_language(run: Run) -> str:
    """What a model is told where the answer is wanted in another language than the question."""
    if not run.plan.asked_in:
        return ""
    return prompt_part("converse", "language", language=language(run.plan.language).name)


async def settle(run: Run, material: Material, context: Context, best: Checked, *, strict: bool) -> Outcome:
    """The answer that is given: as it is, with what is not supported said; in strict mode what the sources say."""
    assert run.deps.chat is not None
    read = material.coverage or coverage_of(len(material.passages), material.visible)
    if strict and best.refuted:
        outcome = await quote_from(run, material)
        reason = "The generated answer was not supported by its sources and is withheld (strict checking)."
        told = (reason, *outcome.draft.insufficiencies)
        return replace(outcome, draft=replace(outcome.draft, insufficiencies=told))
    draft = best.draft if best.draft.found else await advise(run, best.draft, context.passages)
    astray = await beside_the_point(run, draft, context.passages)
    draft = replace(draft, insufficiencies=(*draft.insufficiencies, *disclosure(best), *astray))
    return Outcome(
        draft, run.deps.chat.name, context.passages, material.confidence, read, best.grounding,
        needs_clarification=not draft.found and _ambiguous(run), more=material.more,
        degraded=(*draft.degraded, *(best.grounding.degraded if best.grounding else ())), astray=bool(astray),
    )  # fmt: skip


# --- without one ----------------------------------------------------------------------------------------------------


async def quote_from(run: Run, material: Material) -> Outcome:
    """From the passages in order of relevance; no budget of tokens limits us here."""
    began = time.perf_counter()
    material = replace(material, question=without_orders(material.question))
    draft = await _extracted(run, material)
    if not material.parts and not most_are_foreign(run.plan.words_in, material.passages):
        material, draft = await _reread(run, material, draft)
    run.record.spent("answer", began)
    sources = tuple({passage.passage_id: passage for passage in (*material.shown, *_quotable(material))}.values())
    if not draft.found:
        draft = await advise(run, draft, sources)
    elif draft.confidence < (SURE if read_asked(material.question).said_briefly else FOUND):
        draft = name_others(draft, run.plan.language)
    if draft.found and (run.plan.asked_in or draft.across):
        draft = _as_it_stands(draft, sources, run.plan.language)
    return Outcome(
        draft, "extractive", sources, material.confidence, coverage_of(len(sources), max(len(sources), material.visible)),
        needs_clarification=not draft.found and _ambiguous(run), degraded=material.degraded, more=material.more,
    )  # fmt: skip


def _as_it_stands(draft: Draft, sources: Sequence[Passage], language: str) -> Draft:
    """With a line which says in which language the quotation is, where that is another one than the question's, or than the one
    that was asked for."""
    cited = {one.passage_id for one in draft.citations[:1]}
    spoken = next((written_in(one) for one in sources if one.passage_id in cited), None)
    said = replies(language).written_in
    note = "" if spoken in (None, language) else said.get(spoken or "") or said.get("other", "")
    return replace(draft, text=f"{draft.text}\n\n{note}") if note and note not in draft.text else draft


async def _reread(run: Run, material: Material, draft: Draft) -> tuple[Material, Draft]:
    """The question with words that the documents have in place of those that they do not, where the difference is one slip;
    as it is where that finds less."""
    meant = await respelled(run, material.question, material.passages)
    if meant is None:
        return material, draft
    note = replies(run.plan.language).read_as.format(words=", ".join(meant.words))
    if draft.confidence >= SURE:  # what is quoted was found all the same
        cited = {one.passage_id for one in draft.citations}
        held = {word for one in material.passages if one.passage_id in cited for word in terms(seen(one))}
        said = replace(draft, text=f"{draft.text}\n\n{note}")
        return material, said if {*map(fold, meant.words)} <= held else draft
    found = await gather(replace(run, plan=replace(run.plan, text=meant.text)), purpose="rewrite")
    again = replace(material, question=meant.text, passages=found.passages)
    second = await _extracted(run, again)
    better = not draft.found or meant.name or second.confidence >= draft.confidence
    return (again, replace(second, text=f"{second.text}\n\n{note}")) if second.found and better else (material, draft)


def _quotable(material: Material) -> list[Passage]:
    """What sentences are taken from; some more than once."""
    return [
        passage for passages in (material.passages, *(found for _, found in material.parts)) for passage in passages
    ]


async def _extracted(run: Run, material: Material) -> Draft:
    """Each sub-question from its own passages, one quotation for each; the question as a whole where there are none, or none
    is answered."""
    parts: list[AnsweredPart] = []
    cited: list[Citation] = []
    texts = [text for text, _ in material.parts]
    sides = [] if any(text.endswith("?") for text in texts) else texts
    entries = own_entries(sides, [one for _, passages in material.parts for one in passages])
    together = stand_together(entries)
    for at, (text, passages) in enumerate(material.parts):
        read = not_of_others(text, sides, passages)
        draft = None
        if sides and (own := sections_of(text, passages)):
            draft = await _extract(run, material, text, own, len(cited) + 1, most=1)
        if draft is None or not draft.found:
            draft = await _extract(run, material, text, read, len(cited) + 1, most=1)
            if sides and entries[at] and (together or not draft.found):
                named = replace(material, enough=NAMED_ENOUGH)
                entry = await _extract(run, named, text, entries[at], len(cited) + 1, most=1, alone=True)
                draft = as_sure(entry, draft) if entry.found else draft
        # what is said of both is said; is more said of this one?
        if sides and draft.found and repeats_only(draft, cited):
            beside = replace(material, known="\n".join(one.quote for one in cited), enough=NAMED_ENOUGH)
            other = await _extract(run, beside, text, read, len(cited) + 1, most=1)
            draft = other if other.found else draft
        if draft.found and repeats_only(draft, cited):
            parts = [_also_of(part, text, draft) for part in parts]
            continue
        parts.append(AnsweredPart(text, draft))
        cited += draft.citations
    if any(part.draft.found for part in parts):
        return join_parts(parts, run.plan.language)
    return await _extract(run, material, material.question, material.passages, 1)


def _also_of(part: AnsweredPart, text: str, draft: Draft) -> AnsweredPart:
    """A part that answers another subject with the same quotation, with the names of both."""
    places = {(one.document_id, one.start, one.end) for one in draft.citations}
    same = part.draft.found and places <= {(one.document_id, one.start, one.end) for one in part.draft.citations}
    named = not text.endswith("?") and not part.question.endswith("?")
    return replace(part, question=f"{part.question}, {text}") if same and named else part


async def _extract(
    run: Run, material: Material, text: str, passages: tuple[Passage, ...], first: int, *, most: int | None = None,
    alone: bool = False,
) -> Draft:  # fmt: skip
    """`most`: quotations, where not as many as the settings say; `alone`: nothing is shown of what stands around the passages."""
    if not material.known and (told := await tell_asked_release(run, text, passages, first)):
        return told
    across_model = run.deps.searcher.embedder_across(run.question.collection)
    foreign = foreign_among(run.plan.words_in, passages) if across_model else []
    translated = 2 * len(foreign) > len(passages)
    absent = await find_absent(run, parse_operators(text).text, passages, translated=translated)
    settings, embedder = run.settings.answer, run.deps.judge
    if most is not None:
        settings = settings.model_copy(update={"max_sentences": most})
    asked = parse_operators(without_names(text, run.plan.documents) or text).text  # "-Germany" is not asked about
    asked = as_question(asked, run.plan.words_in, side=text != material.question)
    calibration = await run.deps.library.calibration(run.question.collection)
    enough = min(material.enough, NAMED_ENOUGH) if run.plan.documents else material.enough
    draft: Draft | None = None
    if len(foreign) < len(passages) or not passages:

        async def take(read: tuple[Passage, ...], least: float = enough) -> Draft:
            return await extract(
                asked, read, embedder, settings, first=first, known=material.known, said=said_before(run), enough=least,
                calibration=calibration, by=await reader_for(run, asked, read),
                behind=None if alone else partial(marks_behind, run), between=None if alone else partial(text_between, run),
                language=run.plan.words_in,
            )  # fmt: skip

        if absent:
            return replace(not_mentioned(absent, run.plan.language), near=await _read_nearest(run, take, passages))
        again = partial(take, least=min(enough, NAMED_ENOUGH))  # of documents that are about what is named
        draft = await only_about_what_is_asked(run, asked, passages, await take(passages), again)
        draft = await with_quotations(run, text, passages, draft)
    if absent:
        return not_mentioned(absent, run.plan.language)
    if across_model is None or not foreign or (draft and draft.found):
        assert draft is not None  # all passages are foreign only where somebody reads them
        return draft
    named = [one for one in named_in(run, asked) if one.sure and not one.may_be_word]
    about = About(named, await beginnings_of(run, named, foreign))
    across = await extract_across(
        asked, run.plan.language, foreign, across_model, first=first, known=material.known, calibration=calibration,
        reader=run.deps.searcher.reader(run.question.collection), chunks=await near_chunks(run, asked, foreign),
        names_all=lambda passage: not about.lacking([passage]),
    )  # fmt: skip
    across = await with_quotations(run, text, foreign, across)
    return across if draft is None or across.found or translated else draft


async def _read_nearest(run: Run, take: Taking, passages: tuple[Passage, ...]) -> tuple[tuple[Citation, str], ...]:
    """What comes nearest; none, which is reported, where the models that tell fail: what is absent is, all the same."""
    try:
        return (await take(passages)).near
    except ProviderError as error:
        run.record.degraded.append(f"what comes nearest could not be read: {error.detail}")
        return ()


async def marks_behind(run: Run, passage: Passage, start: int) -> Sequence[Landmark]:
    """Where sections begin in the document of a passage, from a place on; none of a page of the web."""
    return () if passage.url else await run.deps.library.marks_behind(passage.document_id, start)


async def text_between(run: Run, passage: Passage, start: int, end: int) -> str | None:
    """The text of the document of a passage between two places; of a page of the web there is no more than was read."""
    if passage.url:
        return None
    return await run.deps.library.text_between(passage.document_id, passage.version, start, end)


def said_before(run: Run) -> str:
    """What the last answer quoted, where the question leans on it."""
    answers = [turn for turn in run.question.history if turn.role == "assistant"]
    return said_in(answers[-1]) if answers and run.plan.carried else ""


def said_in(answer: Turn) -> str:
    """What an answer said itself: a question may be answered by what it only showed around its quotations, or what a refusal
    showed as what comes nearest."""
    cited = [source for source in answer.sources if source.cited]
    if not cited and any(f"[{source.n}]" in answer.content for source in answer.sources):
        return ""
    return quotations_in(answer.content, [(one.n, one.preview, one.end - one.start) for one in cited])


# --- what to do when nothing answers --------------------------------------------------------------------------------


async def advise(run: Run, draft: Draft, read: Sequence[Passage]) -> Draft:
    """The refusal with what to do next: a question back where the message is ambiguous, else what comes nearest, or other words
    and where the nearest of `read` (best first) stands; and in which language the documents are, where all that was read is in
    another than the question."""
    shown = bool(draft.near) and not _ambiguous(run)
    nearest = [] if shown else places(read, SHOWN)
    topics = [] if nearest or shown else await run.deps.library.topics(run.question.collection, SHOWN)
    if _ambiguous(run):
        advice = question_back(run.question.text, run.plan.language, nearest or topics)
    else:
        advice = rephrase(run.plan.language, topics, nearest)
    said = draft.text
    if said in refusals():  # "merci bcp" has no word that tells its language, but the plan knows it
        said = replies(run.plan.language).refusal
    spoken = {written_in(one) for one in read}
    [only] = (
        spoken if len(spoken) == 1 else [None]
    )  # a table may not tell, and of several languages one may be the question's
    note = replies(run.plan.language).documents_in.get(only or "", "") if only != run.plan.language else ""
    advised = replace(draft, text=" ".join(filter(None, (said, note, advice))))
    return name_others(advised, run.plan.language) if shown else advised


def _ambiguous(run: Run) -> bool:
    return run.plan.complexity.level == "AMBIGUOUS" and run.route.strategy in ("fast", "enhanced")
