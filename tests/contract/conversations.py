"""Conversations with agents, by strategy: what the scripted model says (talking.py), of which question, under which settings.
Scripts are written in words and played either way (rendering.py)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agents import final, opening, search
from talking import Says, grading

LEAVE: Final = "How many days of leave do employees have?"
TRUE: Final = "Employees have 30 days of leave per year [1]."
FALSE: Final = "Employees have 45 days of leave per year and may sell them to colleagues [1]."
REFUSAL: Final = "I don't know based on the provided documents."
REFUTED: Final = "GROUNDED: NO\nSCORE: 0.0\nISSUES:\n- 45 days: the sources say 30"
SUPPORTED: Final = "GROUNDED: YES\nSCORE: 1.0\nISSUES:\nnone"
REACH: Final = {"query": "vault code", "tenant": "other", "tenant_id": 2, "collection": "secrets", "filters": {}}
LACK: Final = {"section": "Age", "missing": "how old", "queries_tried": ["age"]}


@dataclass(frozen=True)
class Conversation:
    """`said`: by purpose, made anew for each run, since some of them count. `limits`: of
    `agents`."""

    said: Callable[[], Mapping[str, Says]]
    question: str = LEAVE
    limits: Mapping[str, Any] = field(default_factory=dict)


def step(tool: str, **arguments: Any) -> str:
    return f"THOUGHT: I look for it.\nACTION: {tool}\nARGUMENTS: {json.dumps(arguments)}"


def two(*calls: tuple[str, dict[str, Any]]) -> str:
    lines = (f"ACTION_{n}: {tool}\nARGUMENTS_{n}: {json.dumps(given)}" for n, (tool, given) in enumerate(calls, 1))
    return "THOUGHT: Both at once.\n" + "\n".join(lines)


def passed(answer: str, *missing: str) -> str:
    listed = "\n".join(f"- {gap}" for gap in missing) or "NONE"
    return f"ANSWER:\n{answer}\n\nMISSING:\n{listed}"


def _react(*think: str, **more: Says) -> Callable[[], Mapping[str, Says]]:
    return lambda: {"think": think, "generate": [TRUE], **more}


def _planned(*action: Any, **more: Says) -> Callable[[], Mapping[str, Says]]:
    return lambda: {"action": action, "generate": [TRUE], **more}


def _iterative(*iterate: Any, **more: Says) -> Callable[[], Mapping[str, Says]]:
    return lambda: {"iterate": iterate, "generate": [TRUE], **more}


def _corrective(**said: Says) -> Callable[[], Mapping[str, Says]]:
    return lambda: {"generate": [TRUE], "ground": [SUPPORTED], **said}


def _always_another() -> Mapping[str, Says]:
    count = iter(range(1000))
    return {"action": [lambda _: search(f"leave {next(count)}")], "generate": [TRUE]}


def _always_missing() -> Mapping[str, Says]:
    count = iter(range(1000))
    return {"iterate": [lambda _: passed(TRUE, f"yellow banana number {next(count)}")], "generate": [TRUE]}


QUERY: Final = step("retrieve_vector", query="days of leave per year")
DONE: Final = step("final_answer", answer=TRUE)
SEVEN: Final = tuple(
    step("retrieve_vector", query=query)
    for query in ("leave", "parental leave", "salaries", "bonus", "overtime", "travel", "hotels", "trains")
)
TWICE: Final = "Use two separate searches and open at least one citation: how many days of leave do employees have?"
DISCLOSE: Final = (
    "How many days of leave are there, and how old is the firm? Explicitly state where documentation is insufficient."
)

CONVERSATIONS: Final[dict[str, dict[str, Conversation]]] = {
    "react": {
        "answers": Conversation(_react(QUERY, DONE)),
        "two tools at once": Conversation(
            _react(two(("retrieve_vector", {"query": "leave"}), ("retrieve_vector", {"query": "salaries"})), DONE)
        ),
        "an end beside a search": Conversation(
            _react(QUERY, two(("retrieve_vector", {"query": "x"}), ("final_answer", {"answer": TRUE})))
        ),
        "asks back": Conversation(_react(step("ask_clarification", question="Which kind of leave do you mean?"))),
        "only talks": Conversation(_react("I am a helpful assistant.")),
        "talks after a search": Conversation(_react(QUERY, "I'm sorry, but I can't help with that.")),
        "enough is known": Conversation(_react(QUERY, reflect=["Everything is there.\nACTION: final_answer"])),
        "a dead end": Conversation(
            _react(step("lookup_entity", name="Zanzibarium"), step("retrieve_graph", query="Zanzibarium"), QUERY, DONE)
        ),
        "never ends": Conversation(_react(*SEVEN)),
        "in circles": Conversation(_react(QUERY)),
        "invented citations": Conversation(_react(QUERY, step("final_answer", answer=f"{TRUE[:-1]}[7][99]."))),
        "refuted": Conversation(_react(QUERY, step("final_answer", answer=FALSE), ground=[REFUTED])),
        "refuses": Conversation(_react(QUERY, step("final_answer", answer=REFUSAL))),
        "its own knowledge": Conversation(_react(step("final_answer", answer="Paris is the capital of France."))),
        "counts": Conversation(
            _react(step("database_stats"), step("final_answer", answer="There are 4 documents.")),
            question="How many documents are there, compared with what you would expect?",
        ),
        "wrong counts": Conversation(
            _react(step("aggregate", of="documents"), step("final_answer", answer="There are 4711."), ground=[REFUTED])
        ),
        "unknown tools": Conversation(_react(step("sql", sql="DROP TABLE rag.documents"), QUERY, DONE)),
        "another tenant": Conversation(
            _react(
                two(("retrieve_vector", REACH), ("exhaustive_search", REACH)),
                two(("aggregate", {**REACH, "of": "documents", "about": "vault"}), ("database_stats", REACH)),
                step("verify_claim", claim="The code of the vault is 8831."),
                DONE,
            ),
            question="What is the vault code?",
        ),
        "few calls of models": Conversation(_react(*SEVEN), limits={"model_calls": 3}),
        "few calls of tools": Conversation(_react(*SEVEN), limits={"tool_calls": 1}),
        "few tokens": Conversation(_react(*SEVEN), limits={"tokens": 1200}),
    },
    "planned": {
        "answers": Conversation(_planned(search("days of leave"), opening(1), final(TRUE))),
        "answers early": Conversation(
            _planned(final(TRUE), search("leave"), search("parental leave"), opening(1), final(TRUE)), question=TWICE
        ),
        "invented citations": Conversation(
            _planned(search("leave"), opening(1), final("Employees have 30 days of leave per year [5]."), final(TRUE))
        ),
        "refuted": Conversation(
            _planned(search("leave"), opening(1), final(FALSE), final(TRUE), ground=[REFUTED, SUPPORTED])
        ),
        "an invented command": Conversation(
            _planned(search("leave"), opening(1), final("Run kubectl to get 30 days of leave [1]."), final(TRUE))
        ),
        "not verbatim": Conversation(
            _planned(
                search("leave"), opening(1), final('The rule is "Employees get thirty days of vacation" [1].'),
                final('The rule is "Employees have 30 days of leave per year" [1].'),
            ),
            question="Read the full text and quote the exact line about days of leave.",
        ),
        "does not say what is missing": Conversation(
            _planned(search("leave"), opening(1), final(TRUE, insufficiencies=[LACK])), question=DISCLOSE
        ),
        "says what is missing": Conversation(
            _planned(
                search("leave"), opening(1), final(f"{TRUE} Insufficient documentation on its age.", insufficiencies=[LACK])
            ),
            question=DISCLOSE,
        ),
        "refuses": Conversation(_planned(search("leave"), final(REFUSAL)), question="How old is the firm?"),
        "never ends": Conversation(_always_another),
        "opens twice": Conversation(_planned(search("leave"), opening(1), opening(1), final(TRUE))),
        "is sent back for ever": Conversation(_planned(search("leave"), final("Leave is long [7]."))),
        "looks for nothing": Conversation(_planned(final("Thirty days."))),
        "only talks": Conversation(_planned("I would search for leave.")),
        "a plan of three searches": Conversation(
            _planned(
                opening(1), final(TRUE),
                plan=json.dumps(["search_docs: leave", "search_docs: hotel costs", "search_docs: salaries", "Write"]),
            )
        ),
        "an unknown tool": Conversation(
            _planned(
                json.dumps({"type": "tool_call", "tool": "drop_tables", "input": {}}), search("leave"), opening(1), final(TRUE)
            )
        ),
        "an empty answer": Conversation(_planned(final(""), search("leave"), opening(1), final(TRUE))),
        "another tenant": Conversation(
            _planned(
                json.dumps({"type": "tool_call", "tool": "search_docs", "input": REACH}), search("leave"), opening(1), final(TRUE)
            ),
            question="What is the vault code?",
        ),
        "few calls of models": Conversation(_always_another, limits={"model_calls": 4}),
        "few calls of tools": Conversation(_always_another, limits={"tool_calls": 2}),
    },
    "iterative": {
        "answers": Conversation(_iterative(passed(TRUE))),
        "a gap is found": Conversation(_iterative(passed(TRUE, "when salaries are paid"), passed(TRUE))),
        "a gap is nowhere": Conversation(_iterative(passed(TRUE, "frobnicate in app/nowhere.py"))),
        "a gap in other words": Conversation(
            _iterative(passed(TRUE, "when salaries are paid"), passed(TRUE, "the salaries: when are they paid?"))
        ),
        "never content": Conversation(_always_missing),
        "invented citations": Conversation(_iterative(passed(f"{TRUE[:-1]}[99]."))),
        "refuted": Conversation(_iterative(passed(FALSE), ground=[REFUTED])),
        "refuses": Conversation(_iterative(passed(REFUSAL, "the age of the firm"))),
        "without labels": Conversation(_iterative(TRUE)),
        "empty": Conversation(_iterative("")),
        "another tenant": Conversation(
            _iterative(passed(TRUE, "secret.md", "the vault code 8831"), passed(TRUE)), question="What is the vault code?"
        ),
        "few calls of models": Conversation(_always_missing, limits={"model_calls": 3}),
    },
    "corrective": {
        "answers": Conversation(_corrective(grade=grading(lambda text: "30 days of leave" in text))),
        "nothing is relevant": Conversation(
            _corrective(grade=grading(lambda _: False), requery=['{"query": "leave days"}', '{"query": "yearly leave"}'])
        ),
        "refuted once": Conversation(
            _corrective(generate=[FALSE, TRUE], ground=[REFUTED, SUPPORTED], requery=['{"query": "leave in days"}'])
        ),
        "refuted for ever": Conversation(_corrective(generate=[FALSE], ground=[REFUTED], requery=['{"query": "leave"}'])),
        "refuses": Conversation(_corrective(generate=[REFUSAL], requery=['{"query": "yearly leave"}'])),
        "grades nothing": Conversation(_corrective(grade=["All of them are relevant."])),
        "parts and phrasings": Conversation(
            _corrective(decompose=['["leave days of employees", "days of leave"]'], expand=['["annual leave of employees"]'])
        ),
        "another tenant": Conversation(
            _corrective(grade=grading(lambda _: False), requery=['{"query": "vault code secret.md", "tenant": "other"}']),
            question="What is the vault code?",
        ),
        "few calls of models": Conversation(
            _corrective(generate=[FALSE], ground=[REFUTED]), limits={"model_calls": 6}
        ),
    },
}  # fmt: skip
