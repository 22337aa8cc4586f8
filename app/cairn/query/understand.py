"""A message becomes a QueryPlan: all that is known of it, what is wanted, by what to retrieve, and how much work it deserves.

In this order: hard rules, which end greetings, thanks and garbage without a call; the collection's vocabulary and the
message's embedding, at once; exemplars, then a model, for the intent; the conversation, where there is one; then what is
pure. What fails on the way, or takes too long, is disclosed and done without: a plan always comes out. Who chooses the way by it
(cairn/runs/choose.py) reads no text any more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, ParamSpec, TypeVar

import structlog

from cairn.domain.code import SymbolQuery
from cairn.domain.plan import (
    Classification,
    ComplexityScore,
    Intent,
    IntentMatch,
    LastAnswerWish,
    ListRequest,
    QueryPlan,
    Vocabulary,
)
from cairn.domain.question import Exchange, Turn
from cairn.errors import CairnError
from cairn.graph.code.questions import asked_of_code, wanted_symbols
from cairn.language import identify
from cairn.language.bridge import bridge, spread
from cairn.language.deadline import TimeUpError, ended_after
from cairn.language.identify import by_words, detect
from cairn.language.lexicon import DEFAULT
from cairn.language.tokens import message_words, terms
from cairn.providers.protocols import ChatModel, Vectors
from cairn.query.classify import NONE, classify, fusion_weights
from cairn.query.complexity import complexity
from cairn.query.constraints import constraints_of
from cairn.query.decompose import split, without_yes_or_no
from cairn.query.entities import entities
from cairn.query.exemplars import Exemplars
from cairn.query.filters import Restricted, Wish, names_only_a_document, wishes, without_restrictions
from cairn.query.followup import Carried, asks_of_another, carry, last_question, parts_alone
from cairn.query.intent import MALFORMED, ONLY_STOP_WORDS, by_model, hard_rules
from cairn.query.last_answer import is_about_the_answer, language_wished, question_again, wish_of
from cairn.query.listing import list_request, request_after
from cairn.query.related import ends_of
from cairn.query.rewrite_by_model import rewrite_by_model
from cairn.query.small_talk import language_of
from cairn.query.summarize import asks_summary, wants_summary
from cairn.settings import Settings

Look = Callable[[Sequence[str]], Awaitable[Vocabulary]]
Embed = Callable[[Sequence[str]], Awaitable[Vectors]]
Find = Callable[[Sequence[Wish]], Awaitable[Restricted]]

NO_RETRIEVAL: Final[frozenset[Intent]] = frozenset({"greeting", "gratitude", "garbage", "off_topic", "clarify_needed"})
"""Answered by a fixed reply; where hard rules say so, nothing else is asked."""
BRIEFLY: Final = 80  # bound: tests/unit/test_edges_followup.py
"""Characters by which a message without retrieval is typed and scored: pasted garbage costs no more than a greeting."""
COMPUTING_SECONDS: Final = 2.0  # bound: tests/unit/test_edges_followup.py
"""Longest that one step of reading a message may compute. They take milliseconds; a server is blocked meanwhile."""
WAITING_SECONDS: Final = 15.0  # bound: tests/unit/test_edges_followup.py
"""Longest that a plan may wait for the database and the embedding; models have their own time beside it."""
ON_THE_LAST_ANSWER: Final[frozenset[Intent]] = frozenset({"followup", "simplify", "deepen"})


async def understand(
    message: str,
    history: Sequence[Turn],
    *,
    vocabulary: Look,
    embed: Embed,
    chat: ChatModel | None,
    settings: Settings,
    exemplars: Exemplars,
    find: Find | None = None,
    has_graph: bool = False,
    router: ChatModel | None = None,
) -> QueryPlan:
    """The plan for a message. `history` is oldest first and without the message.

    `vocabulary` looks words up in the collection, `embed` makes (or has) the vector of the very text that retrieval will
    ask for, so that it is made once, and `find` looks up which documents have what the message asks to be restricted to
    (None: no restrictions are read). `router` is a chat model for intents that rules and exemplars leave open. Raises nothing
    but cancellation.
    """
    message = without_yes_or_no(message)
    if history and (wished := language_wished(message)) and (again := question_again(history)):
        plan = await understand(
            *again, vocabulary=vocabulary, embed=embed, chat=chat, settings=settings, exemplars=exemplars, find=find,
            has_graph=has_graph, router=router,
        )  # fmt: skip
        return in_another_language(plan, message, wished)
    run = Understanding(message, tuple(history), settings)
    begun = time.perf_counter()
    most = WAITING_SECONDS + settings.rewrite.seconds + settings.routing.intent_seconds
    try:
        async with asyncio.timeout(most):
            plan = await _planned(run, vocabulary, embed, chat, router, exemplars, find, has_graph)
    except (TimeUpError, TimeoutError):
        log.error("understand.too_long", characters=len(message), seconds=round(time.perf_counter() - begun, 3))
        run.degraded.append("the message took too long to read; it is searched for as it stands")
        plan = _unread(run)
    run.timings["understand"] = round((time.perf_counter() - begun) * 1000, 3)
    return plan


async def _planned(
    run: Understanding, vocabulary: Look, embed: Embed, chat: ChatModel | None, router: ChatModel | None, exemplars: Exemplars,
    find: Find | None, has_graph: bool,
) -> QueryPlan:  # fmt: skip
    """Raises TimeUpError, and TimeoutError where it is ended."""
    message, history = run.message, run.history
    with run.step("rules"):
        said = [turn.content for turn in history if turn.role == "user"]
        run.listing = request_after(message, said, _spoken(run) or DEFAULT)
        listed = IntentMatch("question", 0.9, 0, "asks for a list or a count of documents") if run.listing else None
        run.wish = wish_of(message, _spoken(run) or DEFAULT) if history and not (listed or chat) else None
        wished = IntentMatch("followup", 0.9, 0, f"{run.wish.wants} of the last answer") if run.wish else None
        before = _spoken(run) or DEFAULT
        another = not (listed or wished) and bool(history) and asks_of_another(message, by_words(message) or before)
        anew = IntentMatch("question", 0.9, 0, "the last question, of something else") if another else None
        intent = listed or wished or anew or hard_rules(message, has_history=bool(history), language=_spoken(run))
        language = by_words(message) or language_of(message, before) or before
    if intent and intent.intent in NO_RETRIEVAL:
        return _plan(run, intent, Carried(message), (), None, language, has_graph)
    return await _understood(run, intent, vocabulary, embed, chat, router, exemplars, find, has_graph)


async def _understood(
    run: Understanding, intent: IntentMatch | None, vocabulary: Look, embed: Embed, chat: ChatModel | None,
    router: ChatModel | None, exemplars: Exemplars, find: Find | None, has_graph: bool,
) -> QueryPlan:  # fmt: skip
    known, vector = await asyncio.gather(
        run.attempt("vocabulary", "vocabulary of the collection", vocabulary, _looked_up(run.message)),
        _nothing() if intent else run.attempt("embed", "embedding of the message", embed, [run.message]),
    )
    language = await _language(run, known)
    intent = await _intent(run, intent, known, vector, router, exemplars)
    carried, parts, by = await _carried(run, intent, language, chat)
    if (carried.refers and intent.reason == ONLY_STOP_WORDS) or (carried.item and intent.intent in ON_THE_LAST_ANSWER):
        intent = replace(intent, intent="question", reason="it asks something else of what was spoken of")
    if carried.alone and not chat:
        run.wish = LastAnswerWish("item", word=carried.alone)
        intent = replace(intent, intent="followup", reason="one of what the last answer lists")
    found = await _restrictions(run, carried.text, language, find)
    return _plan(run, intent, carried, parts, known, language, has_graph, by, found)


async def _nothing() -> None:
    return None


def _looked_up(message: str) -> list[str]:
    return [word.text for word in message_words(message[:4000])]


# --- intent -------------------------------------------------------------------------------------------------------------


async def _intent(
    run: Understanding, early: IntentMatch | None, known: Vocabulary | None, vector: Vectors | None,
    router: ChatModel | None, exemplars: Exemplars,
) -> IntentMatch:  # fmt: skip
    """Layer 0 again with the vocabulary, layer 1, layer 2; else a question."""
    with run.step("intent"):
        found = early or (
            hard_rules(run.message, has_history=bool(run.history), vocabulary=known, language=_spoken(run))
            if known
            else None
        )
    if found is None and vector is not None:
        limits = run.settings.routing
        found = await run.attempt(
            "intent", "matching the intent by examples",
            exemplars.match, run.message, vector[0], settings=limits, vocabulary=known,
        )  # fmt: skip
        if found is None and router:
            window = _window(run, run.settings.memory.router)
            found = await run.attempt("intent_model", "the intent model", by_model, run.message, window, router, limits)
            if found and found.reason.startswith(MALFORMED):
                run.degraded.append(found.reason)
    return found or IntentMatch("question", 0.5, None, "nothing else matched")


def _window(run: Understanding, messages: int) -> tuple[Turn, ...]:
    return run.history[-messages:] if messages else ()


# --- language -----------------------------------------------------------------------------------------------------------


async def _language(run: Understanding, known: Vocabulary | None) -> str:
    """Of the message; where that says nothing, of the conversation, else of the collection."""
    with run.step("language"):
        if spoken := by_words(run.message):
            return spoken
    if not identify.is_warm():
        await asyncio.to_thread(identify.warm)
    with run.step("language"):
        return detect(run.message, _spoken(run) or (known.language if known and known.language else "en"))


def _spoken(run: Understanding) -> str | None:
    """The language of the last message of the user that has one."""
    said = (by_words(turn.content) for turn in reversed(run.history) if turn.role == "user")
    return next((code for code in said if code), None)


# --- the conversation -----------------------------------------------------------------------------------------------------


async def _carried(
    run: Understanding, intent: IntentMatch, language: str, chat: ChatModel | None
) -> tuple[Carried, tuple[str, ...], str | None]:
    """What to retrieve by, the model's sub-questions if it was asked, and who rewrote: None, "rules" or a model."""
    if run.listing:
        return Carried(run.message), (), None
    near = run.settings.memory.rewrite
    with run.step("rewrite"):
        chain = _window(run, max(run.settings.memory.chain, near))
        ruled = carry(run.message, chain, language, _named, window=near)
        if not ruled.terms and intent.intent in ON_THE_LAST_ANSWER:
            ruled = last_question(run.message, chain, language, _named, window=near)
    by = "rules" if ruled.text != run.message else None
    window = _window(run, near)
    if ruled.parts and not chat:
        return ruled, ruled.parts, by
    if not (chat and window and run.settings.rewrite.model and _may_lean(ruled, run.message)):
        return ruled, (), by
    limits = run.settings.rewrite
    made = await run.attempt(
        "rewrite_model", "rewriting by the model", rewrite_by_model, run.message, window, chat, limits
    )
    if made is None:
        run.degraded.append("the question was rewritten by rules" if by else "the question was not rewritten")
        return ruled, (), by
    if made.text == run.message:
        return Carried(made.text, reason=f"{chat.name}: stands alone"), made.subquestions, None
    return Carried(made.text, ruled.terms, f"{chat.name}; rules: {ruled.reason}"), made.subquestions, chat.name


def _named(text: str, language: str) -> tuple[str, ...]:
    """Names by their form alone: a rare word of the collection may well be what a follow-up asks for."""
    return entities(text, language, None)


def _may_lean(ruled: Carried, message: str) -> bool:
    """Whether a model should look: the rules saw what it leans on, or the message is short and may name nothing."""
    # measured: tests/unit/test_edges_followup.py
    return ruled.reason != "stands alone" or len(message.split()) <= 4


def _continued(run: Understanding, intent: IntentMatch) -> Exchange | None:
    goes_on = intent.intent in ON_THE_LAST_ANSWER
    return last_exchange(run.history, run.settings.memory.context) if goes_on else None


def last_exchange(history: Sequence[Turn], context: int) -> Exchange | None:
    """The last answer with sources among the last `context` messages, and what it answered; None where there is none.

    "Tell me more" answers nothing by itself: what was asked before it counts.
    """
    for at in range(len(history) - 1, max(len(history) - context, 0) - 1, -1):
        turn = history[at]
        if turn.role == "assistant" and turn.sources:
            asked = (before.content for before in reversed(history[:at]) if before.role == "user")
            return Exchange(next((text for text in asked if _asks(text)), ""), turn)
    return None


def _asks(message: str) -> bool:
    """Whether a message says what it is about."""
    match = hard_rules(message, has_history=True)
    return (match is None or match.intent in ("question", "command")) and not is_about_the_answer(message)


# --- restrictions ---------------------------------------------------------------------------------------------------------


async def _restrictions(run: Understanding, text: str, language: str, find: Find | None) -> Restricted:
    """Metadata filters and named documents, where the message has such wishes and the collection such documents."""
    with run.step("filters"):
        listed = run.listing or list_request(text, language)  # it says itself of which documents
        asked = () if listed or find is None or not run.settings.rewrite.filters else wishes(text, language)
    if find is None or not asked:
        return Restricted()
    found = await run.attempt("filters", "looking up the documents that were asked for", find, asked) or Restricted()
    run.degraded += found.notes
    return found


# --- the plan -------------------------------------------------------------------------------------------------------------


def _plan(
    run: Understanding, intent: IntentMatch, carried: Carried, parts: tuple[str, ...], known: Vocabulary | None, language: str,
    has_graph: bool, by: str | None = None, found: Restricted | None = None,
) -> QueryPlan:  # fmt: skip
    with run.step("classify"):
        asked = carried.text
        briefly = intent.intent in NO_RETRIEVAL
        listing = run.listing or list_request(asked, language)
        whole = _wants_the_whole(asked[:BRIEFLY] if briefly else asked, language)
        if found and not (listing or whole):
            asked = without_restrictions(asked, found.kept)
        text = asked[:BRIEFLY] if briefly else asked
        named = entities(text, language, known)
        parts = parts or parts_alone(split(text, language, names=named), language, _named)
        kind = classify(text, language)
        inner = bridge(text, language)
        score = complexity(text, kind, named, parts, run.settings.routing, inner=inner, language=language)
        restricted: Mapping[str, Any] = found.filters if found else {}
        return QueryPlan(
            message=run.message,
            text=asked,
            language=language,
            intent=intent,
            classification=kind,
            complexity=score,
            weights=fusion_weights(kind, named, has_graph=has_graph),
            entities=named,
            subquestions=parts,
            filters=restricted,
            rewritten_by=by,
            rewrite_reason=carried.reason,
            carried=carried.terms,
            documents=found.documents if found else (),
            listing=listing,
            summary="whole" if whole else "subject" if asks_summary(asked, language) else None,
            ends=ends_of(text, language) if kind.type == "RELATIONAL" else (),
            inner=inner,
            spread=spread(text, language),
            constraints=constraints_of(run.message[:BRIEFLY] if briefly else run.message),
            code=_asked_of_code(parts or (asked,)),
            symbols=wanted_symbols(asked),
            continued=_continued(run, intent),
            has_terms=bool(terms(text)),
            wish=run.wish,
            timings_ms=run.timings,
            degraded=tuple(run.degraded),
        )


def in_another_language(plan: QueryPlan, message: str, language: str) -> QueryPlan:
    """The plan for the question before, whose answer `message` wants worded in a language."""
    return replace(
        plan, message=message, language=language, asked_in=plan.language, carried=(), rewritten_by="rules",
        rewrite_reason=f"{message.strip()!r}: the last question again",
    )  # fmt: skip


def _wants_the_whole(text: str, language: str) -> bool:
    return wants_summary(text, language) or names_only_a_document(text)


def _asked_of_code(parts: Sequence[str]) -> tuple[SymbolQuery, ...]:
    """What each part asks of the code; nothing where one asks something else, for an answer must not leave it out."""
    queries = [asked_of_code(part) for part in parts]
    return tuple(query for query in queries if query) if all(queries) else ()


def _unread(run: Understanding) -> QueryPlan:
    """The plan for a message that could not be read in time: a question, searched for by its words and its meaning."""
    kind = Classification("UNKNOWN", NONE, "the message was not read")
    return QueryPlan(
        message=run.message,
        text=run.message,
        language="en",
        intent=IntentMatch("question", 0.5, None, "the message was not read"),
        classification=kind,
        complexity=ComplexityScore(0.0, "SIMPLE", {}, "the message was not read"),
        weights=fusion_weights(kind, (), has_graph=False),
        timings_ms=run.timings,
        degraded=tuple(run.degraded),
    )


# --- times, failures and costs ----------------------------------------------------------------------------------------


log = structlog.get_logger(__name__)
T = TypeVar("T")
P = ParamSpec("P")


@dataclass(slots=True)
class Understanding:
    """What comes together while one message is understood."""

    message: str
    history: tuple[Turn, ...]
    settings: Settings
    listing: ListRequest | None = None
    """What the message wants listed, where it says so itself, or of what was listed before."""
    wish: LastAnswerWish | None = None
    timings: dict[str, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Around what computes and waits for nothing. Raises TimeUpError where that does not end."""
        with self.timed(name), ended_after(COMPUTING_SECONDS):
            yield

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - begun) * 1000
            self.timings[name] = round(self.timings.get(name, 0.0) + spent, 3)

    async def attempt(
        self, name: str, what: str, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """What `work` returns for these arguments; None, disclosed, where it fails. It is called here, so that none is begun
        and left where the task is cancelled first."""
        with self.timed(name):
            try:
                return await work(*args, **kwargs)
            except TimeUpError:
                raise
            except CairnError as error:
                self.degraded.append(f"{what} failed ({error.code}: {error.detail})")
            except Exception as error:
                log.exception("understand.failed", step=name)
                self.degraded.append(f"{what} failed ({type(error).__name__})")
        return None
