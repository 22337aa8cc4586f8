"""A chat model for the scripted server that plays one conversation with any strategy, good or bad, drawn from a seed: what it
says is drawn by what it is asked for."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any, Final

from talking import BEGINNINGS

Json = dict[str, Any]
Said = Callable[[random.Random, str], str]

QUERIES: Final = (
    "leave per year", "parental leave", "when are salaries paid", "hotel costs", "Mars office", "vault code", "tigers",
    "Urlaub im Jahr", "休暇", "x" * 30_000, "a\x00b \ud83d", "'; DROP TABLE rag.documents; --", "", "%", '"leave" -parental',
)  # fmt: skip
ANSWERS: Final = (
    "Employees have 30 days of leave per year [1].",
    "Employees have 30 days of leave per year [1].",
    "Parental leave lasts up to 36 months [2], and salaries are paid on the 25th [3].",
    "The vault code is 4711 [1][17].",
    "pwned",
    "I don't know based on the provided documents.",
    "[1] [2] [99] [0] [-1] [1-400] [1.5] [１] [٣]",
    'He said "sell your leave" [1].',
    "Mitarbeiter haben 30 Tage Urlaub im Jahr [1].",
    "Call `database_stats` with `tenant other` [1]. Insufficient documentation on the rest.",
    "Nul \x00 and \ud800 in [1].",
    "Leave. " * 3000 + "[1]",
)
REFUSED: Final = "I'm sorry, but I can't help with that."
ALIEN: Final = "01920000-0000-7000-8000-00000000dead"
_PLACE: Final = re.compile(r"docId=([0-9a-f-]{36})\s+chunkId=([0-9a-f-]{36})")


def _json(value: Any) -> str:
    return json.dumps(value)


def _cut(draw: random.Random, text: str) -> str:
    return text[: draw.randrange(1, len(text))] if len(text) > 1 else text


# --- react ------------------------------------------------------------------------------------------------------------


TOOLS: Final = (
    "retrieve_vector", "retrieve_graph", "retrieve_hybrid", "exhaustive_search", "aggregate", "search_docs", "open_citation",
    "verify_claim", "summarize", "compare_entities", "database_stats", "get_entity", "sql", "delete_documents",
)  # fmt: skip


def _think(draw: random.Random, user: str) -> str:
    def act(tool: str, given: Any) -> str:
        return f"THOUGHT: on.\nACTION: {tool}\nARGUMENTS: {_json(given)}"

    said = draw.choice(QUERIES)
    given = dict.fromkeys(("query", "name", "claim", "question", "about", "answer"), said)
    scope = {"tenant": "other", "tenant_id": 2, "collection": "secrets", "filters": {}} if draw.random() < 0.3 else {}
    match draw.randrange(8):
        case 0 | 1:
            return act("retrieve_vector", {"query": said})
        case 2 | 3:
            named = {"entities": [said, "Parental leave"], "of": draw.choice(["documents", "entities", "mentions"])}
            return act(draw.choice(TOOLS), {**given, **named, **scope})
        case 4 | 5:
            return act("final_answer", {"answer": draw.choice(ANSWERS)})
        case 6:
            return draw.choice([REFUSED, "", act("open_citation", {"docId": "01a2", "chunkId": ALIEN})])
    return _cut(draw, act("retrieve_vector", {"query": said}))


# --- planned ----------------------------------------------------------------------------------------------------------


def _plan(draw: random.Random, user: str) -> str:
    steps = ["search_docs: leave", "open_citation: the best result", "Synthesize the answer"]
    numbered = "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))
    return draw.choice(
        [_json(steps), numbered, REFUSED, "[]", _cut(draw, _json(steps)), _json([{"step": 1}]), _json(steps * 40)]
    )


def _action(draw: random.Random, user: str) -> str:
    found = _PLACE.findall(user) or [(ALIEN, ALIEN)]
    document, chunk = draw.choice(found)
    call = {"type": "tool_call", "tool": "search_docs", "input": {"query": draw.choice(QUERIES)}}
    place = {"docId": document, "chunkId": chunk}
    opening = {"type": "tool_call", "tool": "open_citation", "input": place}
    lack = {"section": "Age", "missing": "how old", "queries_tried": ["age"]}
    final = {"type": "final", "answer": draw.choice(ANSWERS), "used_citations": [place], "insufficiencies": []}
    match draw.randrange(16):
        case 0 | 1 | 2:
            return _json(call)
        case 3 | 4 | 5:
            return _json(opening)
        case 6 | 7 | 8:
            return _json(final)
        case 9:
            return _json({**opening, "input": {"docId": document[:8], "chunkId": chunk[:-4]}})
        case 10:
            return _json({**opening, "input": {"docId": ALIEN, "chunkId": ALIEN}})
        case 11:
            tool = draw.choice(["sql", "delete_documents", "retrieve_vector", None, ["search_docs"], 7])
            return _json({**call, "tool": tool, "input": draw.choice([None, [], "x", {"sql": "DROP"}, {"query": 5}])})
        case 12:
            lacks = draw.choice([[lack], ["age"], "age", None, [lack] * 500, [{"missing": None}], [[]]])
            used = draw.choice([None, "x", [1], [{}], [place] * 300, {"docId": 1}])
            return _json({**final, "insufficiencies": lacks, "used_citations": used})
        case 13:
            return draw.choice([REFUSED, "", "{}", "[]", "null", '{"type": "final"}', '{"type": "dance"}', "[" * 5000])
        case 14:
            return f"Sure!\n```json\n{_json(call)}\n```\n```json\n{_json(final)}\n```"
    return _cut(draw, _json(final))


# --- iterative --------------------------------------------------------------------------------------------------------


def _iterate(draw: random.Random, user: str) -> str:
    gaps = [*QUERIES, "verify_user in app/auth.py", "class Vault", "None", "`x`::y", "secret.md", "\x00", "- - -"]
    missing = "\n".join(f"- {draw.choice(gaps)}" for _ in range(draw.choice([0, 1, 1, 2, 5, 60]))) or "NONE"
    whole = f"ANSWER:\n{draw.choice(ANSWERS)}\n\nMISSING:\n{missing}"
    return draw.choice(
        [whole, whole, whole, whole, _cut(draw, whole), REFUSED, "", "MISSING:\n- x", f"**Answer:** x [1]\n{whole}"]
    )


# --- corrective -------------------------------------------------------------------------------------------------------


def _grade(draw: random.Random, user: str) -> str:
    numbers = [int(n) for n in re.findall(r"^(\d+): ", user.partition("Passages:\n")[2], re.MULTILINE)]
    rows: list[Any] = [{"n": n, "relevant": draw.random() < 0.6, "confidence": draw.random()} for n in numbers]
    odd = [
        [{"n": 99, "relevant": True, "confidence": 1}], [{"n": "1", "relevant": "yes", "confidence": 7}], {}, [None], rows * 99,
        [{"n": 1, "relevant": True, "confidence": float("nan")}], [{"n": 1, "relevant": True, "confidence": 1e400}],
    ]  # fmt: skip
    return draw.choice([_json(rows)] * 5 + [_json(draw.choice(odd)), _cut(draw, _json(rows)), REFUSED, ""])


def _requery(draw: random.Random, user: str) -> str:
    asked = _json({"query": draw.choice(QUERIES)})
    return draw.choice([asked, asked, asked, _cut(draw, asked), REFUSED, "", _json({"query": [1]}), _json(["x"])])


# --- what they have in common -----------------------------------------------------------------------------------------


def _list(draw: random.Random, user: str) -> str:
    listed = _json([draw.choice(QUERIES) for _ in range(draw.randrange(4))])
    return draw.choice([listed, listed, _cut(draw, listed), REFUSED, "", _json({"a": 1}), _json([1, None, ["x"]])])


def _generate(draw: random.Random, user: str) -> str:
    return draw.choice(ANSWERS)


def _ground(draw: random.Random, user: str) -> str:
    return draw.choice(
        [
            "GROUNDED: YES\nSCORE: 1.0\nISSUES:\nnone",
            "GROUNDED: NO\nSCORE: 0.1\nISSUES:\n- bad",
            "well",
            "SCORE: nan",
            "",
        ]
    )


def _rewrite(draw: random.Random, user: str) -> str:
    return draw.choice(["{}", "{}", _json({"query": draw.choice(QUERIES)}), _json({"filters": {"year": 1}}), "hm", ""])


def _reflect(draw: random.Random, user: str) -> str:
    return draw.choice(["ACTION: continue", "ACTION: final_answer", "hm", "ACTION: continue\nACTION: rm"])


SAYS: Final[dict[str, Said]] = {
    "think": _think, "reflect": _reflect, "plan": _plan, "action": _action, "iterate": _iterate, "grade": _grade,
    "requery": _requery, "expand": _list, "decompose": _list, "generate": _generate, "ground": _ground, "rewrite": _rewrite,
    "synthesize": _generate, "notes": _generate,
}  # fmt: skip


class Playing:
    """`heard`: every prompt of the conversation."""

    def __init__(self) -> None:
        self.draw = random.Random(0)
        self.heard: list[str] = []

    def begin(self, seed: str) -> None:
        self.draw, self.heard = random.Random(seed), []

    def __call__(self, messages: list[Json]) -> str:
        self.heard.append(json.dumps(messages, ensure_ascii=False))
        system, user = str(messages[0]["content"]), str(messages[-1]["content"])
        purpose = next((name for name, start in BEGINNINGS.items() if system.startswith(start)), "other")
        return SAYS[purpose](self.draw, user) if purpose in SAYS else "Nothing."
