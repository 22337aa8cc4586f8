"""A deleted document leaves no word, name or title behind: every surface and strategy has told of it, then every text of every
table is searched.

What users asked stays, since it is theirs: so no question here has one of the words. What stays by design besides:
collections, sessions and settings have names of their own; ids, spans and figures say nothing.
"""

from __future__ import annotations

import json

import pytest
from agents import final, opening, search
from talking import Talking

from cairn.domain.document import Source
from cairn.domain.event import Answered
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.service.ask import start
from cairn.service.documents import delete_document, index_later, index_now, list_documents
from cairn.service.runs import rate_run
from cairn.wiring import Services
from tests.db.runs import HANDBOOK, change
from tests.db.test_memory import places_of

WORDS = ("zephyrion", "glimmerstone", "brontefeld", "quillmark", "vantherly")
TITLE = "Zephyrion field guide"
GUIDE = f"""# {TITLE}

Lanterns of the northern station are made by Brontefeld Works in Glimmerstone. A lantern burns for 40 hours.
Professor Quillmark of Glimmerstone founded Brontefeld Works in 1952. He was born in Vantherly.

## Repairs by Quillmark

Broken lanterns are sent to Vantherly, where Brontefeld Works repairs them within 12 days. Keep the Glimmerstone receipt.
"""
CODE = '''"""Vantherly tools."""


def zephyrion_report(lamp):
    """Quillmark's summary."""
    return measure_lamp(lamp)


def measure_lamp(lamp):
    """The glimmerstone value of a lamp."""
    return 3
'''
FILES = {"zephyrion/guide.md": GUIDE, "zephyrion/lamps.py": CODE}
ASKED = (
    ("How long does a lantern burn?", "auto"),
    ("Where are broken lanterns sent?", "fast"),
    ("Who makes the lanterns of the northern station, and how long do repairs take?", "auto"),
    ("Compare lanterns and salaries.", "auto"),
    ("List all documents.", "auto"),
    ("How many documents are there?", "auto"),
    ("Which documents mention lanterns?", "auto"),
    ("Which people are mentioned?", "auto"),
    ("Summarize the documents.", "auto"),
    ("Explain the repair of lanterns in simple words.", "auto"),
    ("What is the boiling point of tungsten hexafluoride?", "auto"),
    ("Who is the CEO of Microsoft?", "auto"),
    ("Who calls measure_lamp?", "auto"),
    ("Where is measure_lamp defined?", "auto"),
    ("How are lanterns and the northern station related?", "auto"),
    ("Who founded the works that make the lanterns?", "enhanced"),
    ("How long does a lantern burn?", "corrective"),
    ("How long does a lantern burn?", "iterative"),
    ("How long does a lantern burn?", "react"),
    ("How long does a lantern burn?", "planned"),
)
FOLLOW_UPS = ("And where is it repaired?", "Tell me more.", "Explain it simpler.", "Who founded it?")


async def ask(services: Services, text: str, strategy: str = "auto", session: str | None = None) -> Answered:
    """Resumably, so that the events are stored as well."""
    question = Question(text, "handbook", new_id(), strategy=strategy, session_id=session, context_session=session)
    task = await start(services, question, resumable=True)
    end = [item.event async for item in task.events()][-1]
    assert isinstance(end, Answered), (text, strategy, end)
    return end


async def index_everything(services: Services) -> None:
    """The documents of others, and two by a job, one of them twice."""
    kept = [Source(name, name, text.encode()) for name, text in HANDBOOK.items()]
    await index_now(services, "handbook", kept)
    told = [Source(name, name, text.encode()) for name, text in FILES.items()]
    broken = Source("zephyrion/broken.pdf", "zephyrion/broken.pdf", b"%PDF-1.4\nnothing")
    await index_later(services, "handbook", [*told, broken])
    await services.worker().run_until_idle()


async def delete_them(services: Services) -> None:
    await services.traces.flush()
    for document in await list_documents(services, "handbook"):
        if document.external_id.startswith("zephyrion"):
            await delete_document(services, "handbook", document.id)


async def left(services: Services) -> dict[str, set[str]]:
    return {word: places for word in WORDS if (places := await places_of(services, word))}


@pytest.mark.siege
async def test_without_a_model(services: Services) -> None:
    await index_everything(services)
    for number, (text, strategy) in enumerate(ASKED):
        end = await ask(services, text, strategy, f"s{number}")
        await services.traces.flush()
        if end.answer.citations:
            await rate_run(services, end.answer.run_id, 1, "Brontefeld is right")
    for text in ("How long does a lantern burn?", *FOLLOW_UPS):
        await ask(services, text, "auto", "talk")
    assert "rag.messages.content" in (await left(services))["brontefeld"]
    await delete_them(services)
    assert await left(services) == {}


def said(user: str) -> str:
    """All the words that the prompt has, with a citation that may be wrong."""
    told = [word.title() for word in WORDS if word in user.lower()]
    return f"It is said by {' and '.join(told)} [1]." if told else "Nothing is said of it [1]."


@pytest.fixture
def eloquent(talking: Talking) -> Talking:
    """A model that repeats words of documents wherever it may."""
    think = [
        'THOUGHT: I look for lanterns.\nACTION: retrieve_vector\nARGUMENTS: {"query": "lanterns and repairs"}',
        lambda user: f"THOUGHT: {said(user)}\nACTION: retrieve_vector\nARGUMENTS: {json.dumps({'query': said(user)})}",
        lambda user: f"THOUGHT: {said(user)}\nACTION: final_answer\nARGUMENTS: {json.dumps({'answer': said(user)})}",
    ]

    def missing(user: str) -> str:
        return f"ANSWER:\n{said(user)}\n\nMISSING:\n- {said(user)}"

    talking.reset(
        generate=said, synthesize=said, notes=said, think=think * 9, iterate=missing,
        action=[search("lanterns and repairs"), opening(1), lambda user: final(said(user), insufficiencies=[said(user)])],
        expand=lambda user: json.dumps([said(user)]), decompose=lambda user: json.dumps([said(user), "Who makes lanterns?"]),
        rewrite=lambda user: json.dumps({"query": f"lanterns {said(user)}"}),
        requery=lambda user: json.dumps({"query": said(user)}), reflect=lambda user: f"{said(user)}\nACTION: continue",
    )  # fmt: skip
    return talking


async def test_with_a_model_that_repeats_everything(chatty: Services, eloquent: Talking) -> None:
    current = chatty.settings.current.rag.agentic_retrieval
    change(chatty, "rag", agentic_retrieval=current.model_copy(update={"enabled": True}))
    change(chatty, "answer", max_output_tokens=300)
    await index_everything(chatty)
    for number, (text, strategy) in enumerate(ASKED):
        await ask(chatty, text, strategy, f"s{number}")
    for text in ("How long does a lantern burn?", *FOLLOW_UPS):
        await ask(chatty, text, "auto", "talk")
    assert await left(chatty)
    await delete_them(chatty)
    assert await left(chatty) == {}
