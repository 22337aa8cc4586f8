"""What a chat model makes of a message, and the checks that its words must pass before anything is looked for by them.

A reply is refused when it is empty, too long, in another language, without a word of what was said, or with a name or
number that nobody said: then the rules' result stands, and the caller discloses it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cairn.domain.passage import Passage
from cairn.domain.question import Turn
from cairn.errors import ProviderResponseError
from cairn.language.fence import as_json, quoted
from cairn.language.identify import by_words
from cairn.language.linear import bounded
from cairn.language.names import names_and_numbers
from cairn.language.text import fold
from cairn.language.tokens import content_words
from cairn.prompts import prompt
from cairn.providers.protocols import ChatModel, Completion, Message
from cairn.providers.reader import json_array, json_object, without_thought
from cairn.query.decompose import MAX_SUBQUESTIONS
from cairn.settings import RewriteSettings

SHOWN_CHARS: Final = 1200  # bound: tests/unit/test_edges_query.py
"""Of each message of the conversation."""
MESSAGE_CHARS: Final = 4000  # bound: tests/unit/test_edges_query.py
SHOWN_PASSAGES: Final = 5  # bound: tests/unit/test_edges_query.py
PASSAGE_CHARS: Final = 500  # bound: tests/unit/test_edges_query.py
"""What is shown of the passages that were found, relevant or not, when another query is wanted."""
MAX_GROWTH: Final = 400  # bound: tests/unit/test_edges_query.py
"""Characters that a rewritten message may have beyond three times the message."""
MAX_EXPANSIONS: Final = 3  # bound: tests/unit/test_edges_query.py

_ITEM = bounded(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_LABEL = bounded(r"^\s*(?:rewritten\s+)?(?:query|question|message)\s*:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ModelRewrite:
    """`text` stands alone; equal to the message where nothing was to be done."""

    text: str
    subquestions: tuple[str, ...] = ()


async def rewrite_by_model(
    message: str, history: Sequence[Turn], chat: ChatModel, settings: RewriteSettings
) -> ModelRewrite:
    """Raises ProviderError; ProviderResponseError for a reply that does not pass the checks."""
    shown = "\n".join(f"{turn.role}: {quoted(turn.content[:SHOWN_CHARS])}" for turn in history)
    reply = await _ask(
        chat, settings, "rewrite", history=shown or "(none)", message=quoted(message[:MESSAGE_CHARS]),
        most=str(MAX_SUBQUESTIONS),
    )  # fmt: skip
    said = (message, *(turn.content for turn in history))
    data = json_object(reply.text)
    text = str(data.get("query", "")) if isinstance(data, dict) else _plain(reply.text)
    text = checked(text, message, said)
    listed = data.get("subquestions") if isinstance(data, dict) else None
    parts = _several(listed if isinstance(listed, list) else [], text, (*said, text), MAX_SUBQUESTIONS)
    return ModelRewrite(text, parts if len(parts) > 1 else ())


async def split_by_model(question: str, chat: ChatModel, settings: RewriteSettings) -> tuple[str, ...]:
    """Sub-questions; () where it is one question. Raises ProviderError for no or an unusable reply."""
    reply = await _ask(
        chat, settings, "decompose", question=quoted(question[:MESSAGE_CHARS]), most=str(MAX_SUBQUESTIONS)
    )
    parts = _several(_array(reply.text), question, (question,), MAX_SUBQUESTIONS)
    return parts if len(parts) > 1 else ()


async def expand_by_model(question: str, chat: ChatModel, settings: RewriteSettings) -> tuple[str, ...]:
    """Two or three other phrasings. Raises ProviderError for no or an unusable reply."""
    reply = await _ask(chat, settings, "expand", question=quoted(question[:MESSAGE_CHARS]), most=str(MAX_EXPANSIONS))
    return _several(_array(reply.text), question, (question,), MAX_EXPANSIONS, rephrased=True)


async def rewrite_query_by_model(
    question: str, relevant: Sequence[Passage], irrelevant: Sequence[Passage], tried: Sequence[str], chat: ChatModel,
    settings: RewriteSettings,
) -> str:  # fmt: skip
    """Another query, out of what was retrieved; its names and numbers are the question's or the passages'. Raises
    ProviderError for no or an unusable reply, also for a query that was tried."""
    reply = await _ask(
        chat, settings, "rewrite_query", question=quoted(question[:MESSAGE_CHARS]),
        tried=as_json(list(tried)), relevant=_listed(relevant), irrelevant=_listed(irrelevant),
    )  # fmt: skip
    data = json_object(reply.text)
    text = str(data.get("query", "")) if isinstance(data, dict) else _plain(reply.text)
    shown = [f"{passage.title} {' '.join(passage.headings)} {passage.content}" for passage in (*relevant, *irrelevant)]
    text = checked(text, question, (question, *tried, *shown))
    if fold(text) in {fold(known) for known in (question, *tried)}:
        raise ProviderResponseError("the rewritten question was tried already")
    return text


def _listed(passages: Sequence[Passage]) -> str:
    shown = [
        quoted(f"{passage.title}: {passage.content[:PASSAGE_CHARS]}") for passage in passages[:SHOWN_PASSAGES]
    ]  # fmt: skip
    return "\n".join(shown) or "(none)"


# --- the call -----------------------------------------------------------------------------------------------------------


async def _ask(chat: ChatModel, settings: RewriteSettings, name: str, **values: str) -> Completion:
    filled = prompt(name, **values)
    reply = await chat.complete(
        [Message("system", filled.system), Message("user", filled.user)],
        temperature=0.0,
        max_tokens=settings.max_tokens,
        timeout=settings.seconds,
    )
    if reply.finish_reason == "length":
        raise ProviderResponseError(f"{chat.name}: the reply to {name} was cut off at the token limit")
    return reply


# --- the reply ----------------------------------------------------------------------------------------------------------


def checked(text: str, message: str, said: Sequence[str]) -> str:
    """The text, cleaned. Raises ProviderResponseError where it must not be searched by; `said`: all that was said."""
    text = " ".join(text.split()).strip("\"'` ")
    if not text or not any(map(str.isalnum, text)):
        raise ProviderResponseError("the rewritten question is empty")
    if len(text) > 3 * len(message) + MAX_GROWTH:
        raise ProviderResponseError("the rewritten question is too long")
    spoken, written = by_words(message), by_words(text)
    if spoken and written and spoken != written:
        raise ProviderResponseError(f"the rewritten question is in {written!r}, the message in {spoken!r}")
    known = fold(" ".join(said))
    if made_up := [word for word in names_and_numbers(text) if word not in known]:
        raise ProviderResponseError(f"the rewritten question has {made_up[0]!r}, which nobody said")
    words = [fold(word) for word in content_words(text)]
    if words and not any(word[:5] in known for word in words):
        raise ProviderResponseError("the rewritten question has no word of what was said")
    return text


def _several(
    items: Sequence[Any], question: str, said: Sequence[str], most: int, *, rephrased: bool = False
) -> tuple[str, ...]:
    """Texts that pass the checks, each once, at most `most`; other phrasings may use other words."""
    found: dict[str, str] = {}
    for item in items:
        text = item if isinstance(item, str) else str(item.get("question", "")) if isinstance(item, dict) else ""
        try:
            text = checked(text, question, (*said, text) if rephrased and not names_and_numbers(text) else said)
        except ProviderResponseError:
            continue
        if fold(text) != fold(question) or not rephrased:
            found.setdefault(fold(text), text)
    if items and not found:
        raise ProviderResponseError("no line of the reply can be searched by")
    return tuple(found.values())[:most]


def _array(reply: str) -> list[Any]:
    """The strings of an array, or of one in an object, or of a numbered list. Raises ProviderResponseError."""
    text = without_thought(reply)
    if (data := json_array(text)) is not None:
        return data
    lines = [_ITEM.sub("", line, count=1) for line in text.splitlines() if _ITEM.match(line)]
    if not lines:
        raise ProviderResponseError("the reply is no list")
    return list(lines)


def _plain(reply: str) -> str:
    """A reply of one line that is the question itself. Anything longer is an answer, not a question."""
    text = _LABEL.sub("", without_thought(reply))
    if "\n" in text or "{" in text:
        raise ProviderResponseError("the reply is no rewritten question")
    return text
