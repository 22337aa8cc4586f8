"""From the messages of a request to a question with what was said before it.

The last message is the question; users' and assistants' before it are the history. What a system message says has no effect: how
answers are written from documents is the server's own affair, and a client is told so in `cairn.ignored`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.errors import InputError, UnsupportedParameterError
from cairn.interfaces.http.models import WordOut
from cairn.interfaces.http.openai.models import find_collection
from cairn.service.ask import told_before
from cairn.service.search import check_query
from cairn.settings import Settings
from cairn.wiring import Services

Role = Literal["system", "developer", "user", "assistant", "tool", "function"]
_TEXTS: Final = frozenset({"text", "input_text", "output_text", "refusal"})
"""Parts of a message that are text."""


class ContentPart(BaseModel):
    model_config = ConfigDict(extra="allow")

    type: str
    text: str | None = None


class DialogueMessage(BaseModel):
    """One message. Its content is text, or parts of which each is text."""

    model_config = ConfigDict(extra="allow")

    role: Role
    content: str | list[ContentPart] | None = None


@dataclass(frozen=True, slots=True)
class DialogueQuestion:
    """A question, and what of the request has no effect on its answer."""

    question: Question
    ignored: tuple[str, ...]


async def read_question(
    services: Services,
    settings: Settings,
    model: str,
    messages: Sequence[DialogueMessage],
    param: str,
    *,
    filters: Mapping[str, Any] | None,
    ignored: Sequence[str],
) -> DialogueQuestion:
    """`param`: where the messages stand in the request. Raises NotFoundError, InputError."""
    collection, named = await find_collection(services, model)
    text, said = _split(messages, param)
    question = Question(
        text=check_query(text, settings),
        collection=collection.name,
        run_id=new_id(),
        strategy=named.strategy,
        filters=filters,
        history=told_before(said, settings),
    )
    instructed = any(message.role in ("system", "developer") for message in messages)
    return DialogueQuestion(question, (*(["system"] if instructed else []), *sorted(ignored)))


def refuse_parameters(body: Mapping[str, Any]) -> None:
    """Raises UnsupportedParameterError for what would change the answer into something that this server does not make."""
    for name in ("tools", "functions"):
        if body.get(name):
            raise UnsupportedParameterError(
                f"`{name}` are not called here: answers come from the documents of the collection; leave them out (agents "
                "that bring tools of their own find Cairn's as an MCP server)",
                param=name,
            )
    if (body.get("n") or 1) != 1:
        raise UnsupportedParameterError("there is one answer to a question; send n: 1 or leave it out", param="n")
    form = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    if form.get("type", "text") != "text":
        raise UnsupportedParameterError("answers are text with citations, not JSON", param="response_format")
    for name in ("previous_response_id", "conversation", "background"):
        if body.get(name):
            raise UnsupportedParameterError(
                f"`{name}` needs answers that are kept here; send the messages so far in `input` instead", param=name
            )


def unread(body: BaseModel, without_effect: Sequence[str]) -> list[str]:
    """Parameters that were given and change nothing: those of a name, and all that the model does not know."""
    given = {name for name in without_effect if getattr(body, name, None) is not None}
    return sorted(given | {name for name, value in (body.model_extra or {}).items() if value not in (None, [], {})})


def _split(
    messages: Sequence[DialogueMessage], param: str
) -> tuple[str, list[tuple[Literal["user", "assistant"], str]]]:
    """The question, and who said what before it."""
    said: list[tuple[Literal["user", "assistant"], str]] = []
    for n, message in enumerate(messages):
        text = _text_of(message, f"{param}.{n}")
        if message.role in ("tool", "function"):
            raise UnsupportedParameterError(
                "no tools are called here, so no message is their result", param=f"{param}.{n}"
            )
        if message.role == "user" or message.role == "assistant":
            said.append((message.role, text))
    if not said or said[-1][0] != "user":
        raise InputError("the last message must be a user's: it is the question", param=param)
    return said.pop()[1], [one for one in said if one[1].strip()]


def _text_of(message: DialogueMessage, param: str) -> str:
    if message.content is None:
        return ""
    if isinstance(message.content, str):
        return message.content
    for part in message.content:
        if part.type not in _TEXTS:
            raise UnsupportedParameterError(
                f"a message may have text only, not {part.type[:60]!r}; put files into the collection, and ask about them",
                param=param,
            )
    return "\n".join(part.text or "" for part in message.content)


class Extension(BaseModel):
    """What an answer has that the OpenAI API has no place for."""

    run_id: str
    collection: str
    strategy: str | None = Field(description="Which one answered.")
    answered: Literal["yes", "no", "unsure"]
    confidence: float
    confidence_word: WordOut
    grounded: bool | None
    coverage: dict[str, Any]
    insufficiencies: list[str]
    degraded: list[str]
    replaced: bool = Field(description="Whether the checked answer follows a text that was streamed and did not hold.")
    ignored: list[str] = Field(description="Parameters of the request that have no effect.")
