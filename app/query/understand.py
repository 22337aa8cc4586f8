"""A message becomes a QueryPlan: what is wanted, by what to retrieve, and how much work it deserves.

In this order: hard rules, which end greetings, thanks and garbage without a call; the collection's vocabulary and the
message's embedding, at once; exemplars, then a model, for the intent; the conversation, where there is one; then what is
pure. What fails on the way is disclosed and done without: a plan always comes out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from app.domain.plan import Intent, IntentMatch, QueryPlan, Vocabulary
from app.domain.question import Turn
from app.language import identify
from app.language.identify import by_words, detect
from app.language.tokens import message_words
from app.providers.protocols import ChatModel, Vectors
from app.query.by_model import rewrite_by_model
from app.query.classify import classify
from app.query.complexity import about_collection, complexity
from app.query.decompose import split
from app.query.entities import entities
from app.query.exemplars import Exemplars
from app.query.filters import Found, Wish, wishes
from app.query.intent import MALFORMED, by_model, hard_rules
from app.query.rewrite import followed_up, rewrite, standing_alone
from app.query.rewritten import Rewritten
from app.query.run import Run
from app.query.summarize import wants_summary
from app.query.weights import fusion_weights
from app.settings import Settings

Look = Callable[[Sequence[str]], Awaitable[Vocabulary]]
Embed = Callable[[Sequence[str]], Awaitable[Vectors]]
Find = Callable[[Sequence[Wish]], Awaitable[Found]]

NO_RETRIEVAL: Final[frozenset[Intent]] = frozenset({"greeting", "gratitude", "garbage", "off_topic", "clarify_needed"})
"""Answered by a fixed reply; where hard rules say so, nothing else is asked."""
BRIEFLY: Final = 80
"""Characters by which a message without retrieval is typed and scored: pasted garbage costs no more than a greeting."""
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
) -> QueryPlan:
    """The plan for a message. `history` is oldest first and without the message.

    `vocabulary` looks words up in the collection, `embed` makes (or has) the vector of the very text that retrieval will
    ask for, so that it is made once, and `find` looks up which documents have what the message asks to be restricted to
    (None: no restrictions are read). Raises nothing but cancellation.
    """
    run = Run(message, tuple(history), settings)
    begun = time.perf_counter()
    with run.step("rules"):
        intent = hard_rules(message, has_history=bool(history))
    if intent and intent.intent in NO_RETRIEVAL:
        plan = _plan(run, intent, Rewritten(message), (), None, by_words(message) or _spoken(run) or "en", has_graph)
    else:
        plan = await _understood(run, intent, vocabulary, embed, chat, exemplars, find, has_graph)
    run.timings["understand"] = round((time.perf_counter() - begun) * 1000, 3)
    return plan


async def _understood(
    run: Run, intent: IntentMatch | None, vocabulary: Look, embed: Embed, chat: ChatModel | None,
    exemplars: Exemplars, find: Find | None, has_graph: bool,
) -> QueryPlan:  # fmt: skip
    known, vector = await asyncio.gather(
        run.attempt("vocabulary", "vocabulary of the collection", vocabulary(_looked_up(run.message))),
        _nothing() if intent else run.attempt("embed", "embedding of the message", embed([run.message])),
    )
    language = await _language(run, known)
    intent = await _intent(run, intent, known, vector, chat, exemplars)
    rewritten, parts, by = await _rewritten(run, intent, language, known, chat)
    found = await _found(run, rewritten.text, language, find)
    return _plan(run, intent, rewritten, parts, known, language, has_graph, by, found)


async def _nothing() -> None:
    return None


def _looked_up(message: str) -> list[str]:
    return [word.text for word in message_words(message[:4000])]


# --- intent -------------------------------------------------------------------------------------------------------------


async def _intent(
    run: Run, early: IntentMatch | None, known: Vocabulary | None, vector: Vectors | None, chat: ChatModel | None,
    exemplars: Exemplars,
) -> IntentMatch:  # fmt: skip
    """Layer 0 again with the vocabulary, layer 1, layer 2; else a question."""
    with run.step("intent"):
        found = early or (hard_rules(run.message, has_history=bool(run.history), vocabulary=known) if known else None)
    if found is None and vector is not None:
        limits = run.settings.routing
        matching = exemplars.match(run.message, vector[0], settings=limits, vocabulary=known)
        found = await run.attempt("intent", "matching the intent by examples", matching)
        if found is None and chat and run.settings.rag.adaptive_routing_enabled:
            window = _window(run, run.settings.memory.router)
            found = await run.attempt("intent_model", "the intent model", by_model(run.message, window, chat, limits))
            if found and found.reason.startswith(MALFORMED):
                run.degraded.append(found.reason)
    return found or IntentMatch("question", 0.5, None, "nothing else matched")


def _window(run: Run, messages: int) -> tuple[Turn, ...]:
    return run.history[-messages:] if messages else ()


# --- language -----------------------------------------------------------------------------------------------------------


async def _language(run: Run, known: Vocabulary | None) -> str:
    """Of the message; where that says nothing, of the conversation, else of the collection."""
    with run.step("language"):
        if spoken := by_words(run.message):
            return spoken
        if not identify.is_warm():
            await asyncio.to_thread(identify.warm)
        return detect(run.message, _spoken(run) or (known.language if known and known.language else "en"))


def _spoken(run: Run) -> str | None:
    """The language of the last message of the user that has one."""
    said = (by_words(turn.content) for turn in reversed(run.history) if turn.role == "user")
    return next((code for code in said if code), None)


# --- the conversation -----------------------------------------------------------------------------------------------------


async def _rewritten(
    run: Run, intent: IntentMatch, language: str, known: Vocabulary | None, chat: ChatModel | None
) -> tuple[Rewritten, tuple[str, ...], str | None]:
    """What to retrieve by, the model's sub-questions if it was asked, and who rewrote: None, "rules" or a model."""
    window = _window(run, run.settings.memory.rewrite)
    with run.step("rewrite"):
        names = _namer(known)
        near = run.settings.memory.rewrite
        chain = _window(run, max(run.settings.memory.chain, near))
        ruled = rewrite(run.message, chain, language, names, window=near)
        if not ruled.carried and intent.intent in ON_THE_LAST_ANSWER:
            ruled = followed_up(run.message, chain, language, names, window=near)
    by = "rules" if ruled.text != run.message else None
    if not (chat and window and run.settings.rewrite.model and _leans(ruled, run.message)):
        return ruled, (), by
    asked = rewrite_by_model(run.message, window, chat, run.settings.rewrite)
    made = await run.attempt("rewrite_model", "rewriting by the model", asked)
    if made is None:
        run.degraded.append("the question was rewritten by rules" if by else "the question was not rewritten")
        return ruled, (), by
    run.usage["rewrite"] = made.usage
    if made.text == run.message:
        return Rewritten(made.text, reason=f"{chat.name}: stands alone"), made.subquestions, None
    return Rewritten(made.text, ruled.carried, f"{chat.name}; rules: {ruled.reason}"), made.subquestions, chat.name


def _namer(known: Vocabulary | None) -> Callable[[str, str], Sequence[str]]:
    return lambda text, language: entities(text, language, known if text else None)


def _leans(ruled: Rewritten, message: str) -> bool:
    """Whether a model should look: the rules saw a reference, or the message is short and names nothing."""
    return ruled.reason != "stands alone" or len(message.split()) <= 4


# --- restrictions ---------------------------------------------------------------------------------------------------------


async def _found(run: Run, text: str, language: str, find: Find | None) -> Found:
    """Metadata filters and named documents, where the message has such wishes and the collection such documents."""
    if find is None or not run.settings.rewrite.filters or not (asked := wishes(text, language)):
        return Found()
    found = await run.attempt("filters", "looking up the documents that were asked for", find(asked)) or Found()
    run.degraded += found.notes
    return found


# --- the plan -------------------------------------------------------------------------------------------------------------


def _plan(
    run: Run, intent: IntentMatch, rewritten: Rewritten, parts: tuple[str, ...], known: Vocabulary | None, language: str,
    has_graph: bool, by: str | None = None, found: Found | None = None,
) -> QueryPlan:  # fmt: skip
    with run.step("classify"):
        text = rewritten.text[:BRIEFLY] if intent.intent in NO_RETRIEVAL else rewritten.text
        named = entities(text, language, known)
        most = run.settings.rewrite.max_subquestions
        parts = parts or standing_alone(split(text, language, limit=most, names=named), language, _namer(known))
        kind = classify(text, language)
        score = complexity(text, kind, named, parts, run.settings.routing)
        restricted: Mapping[str, Any] = found.filters if found else {}
        return QueryPlan(
            message=run.message,
            text=rewritten.text,
            language=language,
            intent=intent,
            classification=kind,
            complexity=score,
            weights=fusion_weights(kind, named, has_graph=has_graph),
            entities=named,
            subquestions=parts,
            filters=restricted,
            rewritten_by=by,
            rewrite_reason=rewritten.reason,
            carried=rewritten.carried,
            documents=found.documents if found else (),
            summarize=wants_summary(text),
            about_collection=about_collection(text, language),
            timings_ms=run.timings,
            degraded=tuple(run.degraded),
            usage=run.usage,
        )
