"""Fifty follow-ups as people type them, in five languages, over documents of a page each: talks.toml has them, talks/ the
documents. Without a chat model; what was said before is asked, too, so that a follow-up leans on answers as they are."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cairn.domain.answer import Answer
from cairn.domain.ids import new_id
from cairn.language.lexicon import replies
from cairn.service.documents import index_now
from cairn.wiring import Services
from tests.db.runs import answered
from tests.documents import text_source
from tests.sharing import SHARED

if TYPE_CHECKING:
    from talking import Talking

pytestmark = SHARED

HERE = Path(__file__).parent
TALKS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "talks.toml").read_text(encoding="utf-8"))
FLOOR = 45
"""Of fifty, those that are right at least (docs/adr/0107-wishes-about-the-last-answer.md)."""


async def index(services: Services, code: str) -> None:
    texts = {name: (HERE / "talks" / name).read_text(encoding="utf-8") for name in TALKS[code]["documents"]}
    await index_now(services, code, [text_source(name, text) for name, text in texts.items()])


async def say(services: Services, collection: str, *messages: str) -> Answer:
    """The answer to the last one."""
    session = str(new_id())
    made = [await answered(services, text, collection=collection, session_id=session) for text in messages]
    return made[-1]


def faults(talk: Mapping[str, Any], made: Answer) -> list[str]:
    """What is wrong with the last answer."""
    if talk.get("silent"):
        return [] if made.answered == "no" else ["it says something"]
    quoted = " ".join(one.quote for one in made.citations).casefold()
    cited = {one.external_id for one in made.citations}
    found = [f"does not quote {words!r}" for words in talk.get("quoted", ()) if words.casefold() not in quoted]
    found += [f"quotes {words!r}" for words in talk.get("without", ()) if words.casefold() in quoted]
    if made.answered == "no":
        found.append("it refuses")
    if not {*talk.get("from", ())} <= cited or cited != {*talk.get("listed", cited)}:
        found.append(f"cites {sorted(cited)}")
    if "worded" in talk and replies(talk["worded"]).written_in[_spoken(talk)] not in made.answer:
        found.append("does not say in the language that was asked for that the document is in another one")
    return found


def _spoken(talk: Mapping[str, Any]) -> str:
    return next(code for code, part in TALKS.items() if talk in part["talks"])


@pytest.mark.measurement
async def test_fifty_follow_ups_as_people_type_them(services: Services) -> None:
    wrong: list[tuple[object, ...]] = []
    for code, part in TALKS.items():
        await index(services, code)
        for talk in part["talks"]:
            made = await say(services, code, *talk["said"], talk["message"])
            if found := faults(talk, made):
                wrong.append((code, talk["said"], talk["message"], found, made.route["rewritten_query"], made.answer))
    assert sum(len(part["talks"]) for part in TALKS.values()) == 50
    assert len(wrong) <= 50 - FLOOR, "\n".join(map(str, wrong))


async def test_a_list_is_worded_in_the_language_that_is_asked_for(services: Services) -> None:
    await index(services, "en")
    first = await say(services, "en", "Which documents mention warranty?")
    again = await say(services, "en", "Which documents mention warranty?", "in German please")
    assert again.route["strategy"] == "aggregate"
    assert [one.external_id for one in again.citations] == [one.external_id for one in first.citations]
    assert again.answer != first.answer
    assert "Dokumenten" in again.answer


async def test_what_was_said_after_it_leans_on_the_question_and_not_on_the_language(services: Services) -> None:
    await index(services, "de")
    talk = ("Wer ist Bauleiterin in der Nordstadt?", "auf Englisch bitte", "und in der Weststadt?")
    made = await say(services, "de", *talk)
    assert "Karim Yilmaz" in made.answer
    assert made.route["language"] == "de"


async def test_a_refusal_is_worded_in_the_language_that_is_asked_for(services: Services) -> None:
    await index(services, "de")
    made = await say(services, "de", "Wie hoch ist der Umsatz von Tesla?", "auf Französisch bitte")
    assert made.answered == "no"
    assert made.answer.startswith(replies("fr").absent[0].format(names="Tesla"))


async def test_a_chat_model_is_told_the_language(chatty: Services, talking: Talking) -> None:
    await index(chatty, "de")
    talking.said["generate"] = "Die Garantie auf den Motor beträgt zehn Jahre [1]."
    await say(chatty, "de", "Wie lange ist die Garantie auf den Motor?", "auf Englisch bitte")
    first, again = ("\n".join(heard) for heard in talking.heard["generate"][:2])
    assert "write it in English" not in first
    assert "write it in English" in again
    assert "Question: Wie lange ist die Garantie auf den Motor?" in again
