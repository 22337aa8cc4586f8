"""An answer proves itself: the program that checks proofs, which knows nothing of Cairn, takes every true one and names the fault
of a changed one."""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio
from scripted_searxng import ScriptedSearxng
from talking import Talking

from cairn.domain.document import Source
from cairn.domain.ids import new_id
from cairn.domain.proof import seal
from cairn.domain.question import Question
from cairn.errors import ConflictError, NotFoundError, TextDeletedError
from cairn.ingest.loaders import load, sniff
from cairn.ingest.loaders.site_markup import _MARKS as MARKS_OF_SITES
from cairn.service import verify_proof
from cairn.service.ask import final, start
from cairn.service.conversations import delete_history
from cairn.service.documents import delete_document, index_now
from cairn.service.models import start_reindex
from cairn.service.proofs import prove_run, read_texts, verifier
from cairn.service.search import get_trace
from cairn.settings import Environment, Settings
from cairn.settings.sections import ChunkingSettings, IngestSettings
from cairn.wiring import Services
from tests.db.runs import HANDBOOK, LEAVE, change
from tests.db.tenants import on_documents_of, tenant_of
from tests.documents import find, text_source
from tests.pdf_files import Sheet, pdf_file
from tests.sharing import SHARED

pytestmark = SHARED

STOCK = """# Warehouse

| Product | Price (EUR) | Stock | Supplier |
| --- | --- | --- | --- |
| Lamp | 12.50 | 5 | Lux |
| Chair | 89.00 | 40 | Sella |
| Table | 240.00 | 2 | Sella |
"""
Files = dict[str, bytes]
Json = dict[str, Any]


def harbour() -> bytes:
    page = Sheet()
    page.text(50, 60, "Harbour rules")
    page.text(50, 90, "Ships may not enter the harbour after 22 hours. The pilot fee is 310 euros for each entry.")
    return pdf_file(page)


def files() -> Files:
    return {
        **{name: text.replace("\n", "\r\n").encode() for name, text in HANDBOOK.items()},
        "stock.md": STOCK.encode(),
        "harbour.pdf": harbour(),
        "personal.csv": b"Name;Department\nAda;Technics\nBert;Sales\n",
    }


QUESTIONS = (
    LEAVE,
    "How high is the pilot fee?",
    "Which product has the highest price?",
    "What is the total stock?",
    "List all documents",
    "Who won the Eurovision song contest in 1974?",
    "Hello!",
    "Summarize the handbook",
)
WEB = "At which temperature does basalt melt?"
PAGE = {
    "url": "https://rocks.example/basalt",
    "title": "Basalt",
    "content": "Basalt melts at about 1100 degrees Celsius.",
}
TALK = ("How many days of leave do employees get?", "And when does it expire?")


@dataclass(frozen=True)
class Case:
    """A proof as its reader has it: JSON, and what lies beside it."""

    question: str
    proof: Json
    files: Files

    def check(self, changed: Json | None = None, other: Files | None = None) -> tuple[list[str], list[str]]:
        data = json.dumps(self.proof if changed is None else changed).encode()
        return verify_proof.verify(data, self.files if other is None else other)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(services_of_module: Services) -> AsyncIterator[Services]:
    """A tenant whose documents no test changes."""
    async with tenant_of(services_of_module) as opened:
        await index_now(opened, "handbook", [Source(name, name, content) for name, content in files().items()])
        yield opened


async def ask(services: Services, text: str, **more: Any) -> UUID:
    question = Question(text, "handbook", new_id(), **more)
    return (await final(await start(services, question))).answer.run_id


async def case_of(services: Services, text: str, beside: Files | None = None, **more: Any) -> Case:
    proof = await prove_run(services, await ask(services, text, **more))
    texts = {one.file_name: one.text.encode() for one in await read_texts(services, proof)}
    return Case(text, proof, {**(files() if beside is None else beside), **texts})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cases(filled: Services) -> dict[str, Case]:
    """By question: a proof of each kind of run without a model; two are one conversation, the last answer is from the web."""
    async with on_documents_of(filled) as services:
        made = {text: await case_of(services, text) for text in QUESTIONS}
        made |= {text: await case_of(services, text, session_id="talk") for text in TALK}
        with ScriptedSearxng([PAGE]) as web:
            agentic = services.settings.current.rag.agentic_retrieval
            asks_the_web = {"enabled": True, "web_search_fallback_enabled": True, "confidence_threshold": 1.0}
            change(services, "rag", agentic_retrieval=agentic.model_copy(update=asks_the_web))
            change(services, "web", searxng_url=web.url)
            return made | {WEB: await case_of(services, WEB, strategy="corrective")}


@pytest.mark.siege
async def test_true_proofs_are_taken(cases: dict[str, Case]) -> None:
    for case in cases.values():
        assert case.check()[0] == [], case.question
        for cited in case.proof["citations"]:
            assert (cited["quote"] is None) is (cited["url"] is not None)
        assert not any("LOOK" in note for note in case.check()[1]), "words of tables are found, too"
        assert all(one["sha256"] for one in case.proof["passages"])
    strategies = {text: case.proof["answer"]["strategy"] for text, case in cases.items()}
    assert {"fast", "aggregate", "summarize", "reply"} <= set(strategies.values())


async def test_a_proof_says_what_was_asked_answered_quoted_and_read(cases: dict[str, Case]) -> None:
    proof = cases[LEAVE].proof
    (cited,), (document,) = proof["citations"], [one for one in proof["documents"] if one["cited"]]
    assert proof["question"]["text"] == LEAVE
    assert cited["quote"] == "Employees have 30 days of leave per year."
    start, end = cited["in_answer"]
    assert proof["answer"]["text"][start:end] == cited["quote"]
    assert HANDBOOK["leave.md"][cited["start"] : cited["end"]] == cited["quote"]
    assert (document["external_id"], document["version"], document["reading"]) == ("leave.md", 1, "plain")
    assert document["file_sha256"] == verify_proof.sha256(files()["leave.md"])
    assert document["text_sha256"] == verify_proof.sha256(HANDBOOK["leave.md"])
    assert {one["external_id"] for one in proof["documents"]} == set(files())
    assert [one["text"] is not None for one in proof["passages"]] == [one["cited"] for one in proof["passages"]]
    assert proof["models"]["answerer"] == "extractive"
    assert proof["index"][0]["epoch"] == proof["index"][0]["epoch_now"] > 0
    assert proof["settings"]["changed"] == {"rag.rerankingEnabled": False}
    assert "." in proof["answer"]["confidence"]


async def test_what_is_no_plain_text_is_checked_by_its_text(cases: dict[str, Case]) -> None:
    case = cases["How high is the pilot fee?"]
    trusted = "harbour.pdf: harbour.pdf is the file; what it says is taken on trust (application/pdf)"
    assert case.check()[0] == case.check(other=files())[0] == []
    assert trusted in case.check()[1]
    assert trusted in case.check(other=files())[1]
    (name,) = case.files.keys() - files().keys()
    lies = {**case.files, name: case.files[name].replace(b"310", b"320")}
    assert case.check(other=lies)[0] == [f"{name}: is nothing that was read under this name"]


async def test_computed_answers_and_lists_cite_what_they_stand_on(cases: dict[str, Case]) -> None:
    highest = cases["Which product has the highest price?"].proof
    assert highest["citations"][0]["quote"] in STOCK
    listed = cases["List all documents"].proof
    assert len(listed["citations"]) == len(files())
    assert len(listed["rows"]) == len(files())


async def test_words_of_the_web_are_looked_for_by_their_hash(cases: dict[str, Case]) -> None:
    case = cases[WEB]
    (cited,) = case.proof["citations"]
    assert (cited["url"], cited["quote"], cited["sha256"]) == (PAGE["url"], None, verify_proof.sha256(PAGE["content"]))
    assert case.check()[0] == []
    assert any("citation 1: " in note and "NOT CHECKED" in note for note in case.check()[1])
    kept = {"basalt.txt": PAGE["content"].encode()}
    assert case.check(other=kept)[0] == []
    assert f"citation 1: the words at 0..{len(PAGE['content'])} stand so in basalt.txt" in case.check(other=kept)[1]


async def test_a_refusal_says_what_was_read(cases: dict[str, Case]) -> None:
    proof = cases["Who won the Eurovision song contest in 1974?"].proof
    assert (proof["answer"]["answered"], proof["citations"], proof["rows"]) == ("no", [], [])
    assert len(proof["passages"]) == len(files())


async def test_a_follow_up_says_how_it_was_understood(cases: dict[str, Case]) -> None:
    first, second = (cases[text].proof for text in TALK)
    assert (first["question"]["messages_before"], first["question"]["understood_as"]) == (0, None)
    assert second["question"]["messages_before"] > 0
    assert "leave" in second["question"]["understood_as"]


async def test_an_agent_with_a_model(chatty: Services, talking: Talking) -> None:
    await index_now(chatty, "handbook", [Source("leave.md", "leave.md", files()["leave.md"])])
    look = "THOUGHT: I look.\nACTION: retrieve_vector\nARGUMENTS: " + json.dumps({"query": "days of leave"})
    done = "THOUGHT: Enough.\nACTION: final_answer\nARGUMENTS: " + json.dumps(
        {"answer": "They have 30 days of leave [1]."}
    )
    talking.reset(think=[look, done])
    change(chatty, "rewrite", model=False)
    case = await case_of(chatty, LEAVE, strategy="react")
    assert case.check()[0] == []
    assert (case.proof["answer"]["text"], case.proof["answer"]["strategy"]) == (
        "They have 30 days of leave [1].",
        "react",
    )
    assert case.proof["models"]["chat"] == case.proof["models"]["answerer"]
    assert {one["purpose"] for one in case.proof["models"]["calls"]} >= {"think"}
    assert case.proof["citations"][0]["quote"] == "Employees have 30 days of leave per year."


async def test_a_document_that_was_replaced_since(services: Services) -> None:
    await index_now(services, "handbook", [Source("leave.md", "leave.md", files()["leave.md"])])
    before = await case_of(services, LEAVE)
    run = UUID(before.proof["run"]["id"])
    new = files()["leave.md"].replace(b"30 days", b"28 days")
    await index_now(services, "handbook", [Source("leave.md", "leave.md", new)])
    after = await prove_run(services, run)
    (cited,), (document,) = after["citations"], [one for one in after["documents"] if one["cited"]]
    assert before.check()[0] == [], "what was written before stays true of the file that was read"
    assert (cited["version"], document["version"], document["version_now"]) == (1, 1, 2)
    assert (cited["quote"], document["text_sha256"], document["file_sha256"]) == (None, None, None)
    assert "version 1 was read; version 2 took its place" in cited["missing"]
    assert (cited["sha256"], cited["start"]) == (
        before.proof["citations"][0]["sha256"],
        before.proof["citations"][0]["start"],
    )
    faults, notes = before.check(after)
    assert faults == []
    assert any("stand so in leave.md" in note for note in notes), "the old file has the words at that place"
    faults, notes = before.check(after, {"leave.md": new})
    assert faults == []
    assert any("NOT CHECKED" in note for note in notes)
    assert any("leave.md: is nothing that was read" in note for note in notes)


async def test_a_document_that_was_cut_anew_since(services: Services) -> None:
    await index_now(services, "handbook", [Source("leave.md", "leave.md", files()["leave.md"])])
    run = await ask(services, LEAVE)
    services.settings.current = Settings(chunking=ChunkingSettings(passage_size=200, passage_overlap=0, chunk_size=100))
    await start_reindex(services, "handbook", force=True)
    await services.worker().run_until_idle()
    proof = await prove_run(services, run)
    assert proof["passages"][0]["missing"] is not None
    assert proof["citations"][0]["quote"] == "Employees have 30 days of leave per year."
    assert proof["settings"]["changed"] is None
    assert f"to revision {services.settings.current.revision}" in proof["settings"]["missing"]
    assert verify_proof.verify(json.dumps(proof).encode(), files())[0] == []


async def test_files_may_share_a_name_or_their_bytes(cases: dict[str, Case]) -> None:
    case, other = cases[LEAVE], b"Of another project."
    faults, notes = case.check(other={**case.files, "other/leave.md": other})
    assert (faults, "other/leave.md: is nothing that was read" in notes) == ([], True)
    case = cases["How high is the pilot fee?"]
    faults, notes = case.check(other={**case.files, "copies/harbour.pdf": case.files["harbour.pdf"]})
    assert faults == []
    assert not any("copies" in note for note in notes if "is nothing" in note)
    lost = {name: content for name, content in case.files.items() if name != "harbour.pdf"}
    assert case.check(other=lost)[0] == []
    assert case.check(other={**lost, "old/harbour.pdf": other})[0] == [
        "old/harbour.pdf: is nothing that was read under this name"
    ]


async def test_a_file_is_called_as_a_document_with_the_folders_that_both_tell() -> None:
    is_called = verify_proof.is_called
    assert is_called("README.md", "a/README.md")
    assert is_called("/home/ada/a/README.md", "a/README.md")
    assert is_called("b/README.md", "README.md")
    assert not is_called("b/README.md", "a/README.md")
    assert not is_called("READ.md", "README.md")


async def test_texts_that_were_handed_over_have_no_file(services: Services) -> None:
    await index_now(services, "handbook", [text_source("leave.md", HANDBOOK["leave.md"])])
    case = await case_of(services, LEAVE, {"leave.md": HANDBOOK["leave.md"].encode()})
    assert case.proof["documents"][0]["file_sha256"] is None
    assert "handed over as text" in case.proof["documents"][0]["file_missing"]
    assert case.check() == ([], [])


async def test_what_cannot_be_proved_says_why(services: Services) -> None:
    (document, *_) = await index_now(services, "handbook", [text_source(name, text) for name, text in HANDBOOK.items()])
    with pytest.raises(NotFoundError):
        await prove_run(services, new_id())
    found = await find(services, LEAVE, "handbook")
    with pytest.raises(ConflictError, match="has no answer"):
        await prove_run(services, found.trace_id)
    talk, leave = await ask(services, "When are salaries paid?", session_id="talk"), await ask(services, LEAVE)
    assert "digests" in (await get_trace(services, leave)).answer
    await delete_history(services, "talk")
    await delete_document(services, "handbook", document.document_id)
    for run in (talk, leave):
        assert "digests" not in (await get_trace(services, run)).answer, "a hash of few words tells them"
        with pytest.raises(TextDeletedError):
            await prove_run(services, run)


async def test_an_auditor_finds_the_rows_in_sql(cases: dict[str, Case], environment: Environment) -> None:
    proof = cases[LEAVE].proof
    (row,), run = proof["rows"], proof["run"]["id"]
    owner = await asyncpg.connect(environment.database_url)
    try:
        found = await owner.fetch(AUDIT, UUID(run), row["n"])
    finally:
        await owner.close()
    assert [(one["leg"], one["rank"], one["fate"]) for one in found if one["leg"] == "fused"] == [("fused", 1, "kept")]
    assert {(one["leg"], one["rank"]) for one in found} == {(one["leg"], one["rank"]) for one in row["candidates"]}
    assert {str(one["passage_id"]) for one in found} == {row["passage_id"]}
    assert {str(one["chunk_id"]) for one in found} == {one["id"] for one in row["chunks"]}
    assert {(str(one["document_id"]), one["version"]) for one in found} == {(row["document_id"], row["version"])}
    assert {one["quote"] for one in found} == {proof["citations"][0]["quote"]}


AUDIT = """
SELECT c.quote, c.version, h.leg, h.rank, h.fate, c.passage_id, k.chunk_id, d.document_id
FROM analyst.citations AS c
JOIN analyst.retrieval_hits AS h ON h.run_id = c.run_id AND h.passage_id = c.passage_id
JOIN analyst.chunks AS k ON k.passage_id = c.passage_id AND k.char_start < c.char_end AND k.char_end > c.char_start
JOIN analyst.documents AS d ON d.document_id = c.document_id
WHERE c.run_id = $1 AND c.n = $2
"""


# --- the program that checks ------------------------------------------------------------------------------------------------


async def test_the_verifier_is_small_and_needs_python_alone() -> None:
    source = verifier()
    assert len(source.splitlines()) <= 200
    imported = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in ast.walk(ast.parse(source))
                if isinstance(node, ast.Import | ast.ImportFrom)}  # fmt: skip
    assert {str(name).partition(".")[0] for name in imported} <= sys.stdlib_module_names


async def test_the_verifier_runs_by_itself(cases: dict[str, Case], tmp_path: Path) -> None:
    case, program = cases[LEAVE], tmp_path / "verify_proof.py"
    program.write_text(verifier())
    (tmp_path / "proof.json").write_text(json.dumps(case.proof, indent=2))
    (tmp_path / "leave.md").write_bytes(case.files["leave.md"])

    def run(*names: str, isolated: bool = True) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            *(["-I"] if isolated else []),
            "-S",
            str(program),
            *(str(tmp_path / name) for name in names),
        ]
        ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=ascii_only)

    true = run("proof.json", "leave.md")
    assert (true.returncode, true.stdout.splitlines()[-1]) == (0, "The proof is true, as far as the notes say.")
    (tmp_path / "leave.md").write_bytes(case.files["leave.md"].replace(b"30 days", b"31 days"))
    changed = run("proof.json", "leave.md")
    assert changed.returncode == 1
    assert "FAULT  leave.md: no file that is given is the one that was read" in changed.stdout
    assert run("leave.md").returncode == run().returncode == run("nothing.json").returncode == 2

    (tmp_path / "handbook" / "more").mkdir(parents=True)
    (tmp_path / "handbook" / "more" / "leave.md").write_bytes(case.files["leave.md"])
    (tmp_path / "handbook" / "\u017b\n.md").write_bytes(b"")
    (tmp_path / "handbook" / "gone.md").symlink_to("nowhere")
    found = run("proof.json", "handbook", isolated=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "/\\u017b\\n.md: is nothing that was read" in found.stdout
    (tmp_path / "deep.json").write_text("[" * 100_000)
    assert run("deep.json").returncode == 2


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{", "Expecting"),
        (b'{"format": "cairn-proof/1"}', "not of the format"),
        (b'{"a": 1, "a": 2}', "stands twice"),
        (b"[]", "not of the format"),
        (b"\xff", "decode"),
        (b"[" * 100_000, "RecursionError"),
    ],
)
async def test_what_is_no_proof_is_not_checked(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        verify_proof.verify(data, {})


# --- forgeries of those who have the files, and make the digests anew ---------------------------------------------------------


def forged(case: Case, change: Callable[[Json, Json], object]) -> Json:
    """With a change of the first citation, sealed anew."""
    proof = deepcopy({name: section for name, section in case.proof.items() if name != "digest"})
    change(proof, proof["citations"][0])
    return seal(proof)


async def test_what_the_answer_says_in_other_words_is_noted(cases: dict[str, Case]) -> None:
    case = cases[LEAVE]
    assert not any("NOT PROVED" in note for note in case.check()[1])
    hidden = forged(case, lambda _, cited: cited.update(in_answer=None))
    assert case.check(hidden)[0] == ["citation 1: the answer has the quoted words, and where is not said"]
    hidden["answer"]["text"] = hidden["answer"]["text"].replace("30 days", "99 days")
    faults, notes = case.check(forged(Case(LEAVE, hidden, case.files), lambda *_: None))
    assert (faults, "citation 1: the answer has other words for it, NOT PROVED" in notes) == ([], True)


async def test_what_is_cited_has_a_citation(cases: dict[str, Case]) -> None:
    case = cases[LEAVE]
    (document,), (passage,) = (
        [one["id"] for one in case.proof[name] if one["cited"]] for name in ("documents", "passages")
    )
    without = forged(case, lambda proof, _: proof.update(citations=[], rows=[]))
    assert {f"{document}: has no citation", f"{passage}: has no citation"} <= set(case.check(without)[0])


def relabelled(case: Case, old: str, new: str, **called: Any) -> Case:
    """Other words in quotation, passage and answer, of a text of the forger's own that is beside the proof."""

    def forge(proof: Json, cited: Json) -> None:
        document, passage = _of(proof, "documents", cited), _of(proof, "passages", cited)
        text = HANDBOOK.get(document["external_id"], STOCK).replace(old, new)
        cited["quote"], passage["text"] = (text[one["start"] : one["end"]] for one in (cited, passage))
        for one in (cited, passage):
            one["sha256"] = verify_proof.sha256(one.get("quote") or one["text"])
        proof["answer"]["text"] = proof["answer"]["text"].replace(old, new)
        document.update({"reading": "parsed", "text_sha256": verify_proof.sha256(text), **called})
        name = f"text.{document['id'][-12:]}.v1.txt"
        beside.update({document["external_id"]: case.files[document["external_id"]], name: text.encode()})

    beside: Files = {}
    return Case(case.question, forged(case, forge), beside)


async def test_a_plain_file_cannot_be_called_one_that_was_parsed(cases: dict[str, Case]) -> None:
    lies = relabelled(cases[LEAVE], "30 days", "99 days")
    assert lies.check()[0] == ["citation 1: LOOK, leave.md does not have the quoted words"]
    lies = relabelled(cases[LEAVE], "30 days", "99 days", reading="plain")
    assert lies.check()[0] == ["leave.md: leave.md is the file, and its text is another"]
    lies = relabelled(cases[LEAVE], "30 days", "99 days", reading=None, file_sha256=None)
    assert lies.check()[0] == ["leave.md: is nothing that was read under this name"]
    lies = relabelled(cases[LEAVE], "30 days", "99 days", media_type="application/pdf")
    assert "leave.md: leave.md is the file; what it says is taken on trust (application/pdf)" in lies.check()[1]
    assert "citation 1: LOOK, leave.md does not have the quoted words" in lies.check()[1]


async def test_words_that_a_file_with_markup_does_not_have_are_noted_loudly(cases: dict[str, Case]) -> None:
    lies = relabelled(cases["Which product has the highest price?"], "240.00", "940.00")
    assert lies.check()[0] == []
    assert "citation 1: LOOK, stock.md does not have the quoted words" in lies.check()[1]


async def test_markdown_without_markup_is_read_as_it_stands() -> None:
    """So words that are not in it are a fault; with any mark that the loader knows they are a note."""
    marks = (*MARKS_OF_SITES, "![a](b.png)", "[ ](#top)", "&nbsp;", "---\na: b\n---\n", "+++\n", "| a |")
    assert [mark for mark in marks if not verify_proof.MARKUP.search(f"Words {mark} words".encode())] == []
    plain = (
        "\ufeffTitle\r\n=\r\n\r\n# One\r\n\r\n* a _b_ [c](d.md) `e`\r\n> 5 % of 'f'!\r\n\r\n1) so\u00adft: g".encode()
    )
    assert not verify_proof.MARKUP.search(plain)
    assert load(plain, sniff("a.md", plain), IngestSettings()).text in verify_proof.readings(plain)
    lazy = b"1. one\n\n   more\n1. two\n"  # numbered anew, and escapes are taken out
    assert verify_proof.find_unlike([{"n": 1, "quote": "2. two"}], "a.md", lazy) == []
    assert verify_proof.find_unlike([{"n": 1, "quote": "2. ten"}], "a.md", lazy) != []
    assert verify_proof.find_unlike([{"n": 1, "quote": "a [b]"}], "a.md", b"a \\[b\\]") == []


# --- one change, one fault ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """What somebody did to a proof or a file, and words that the fault has to have. `sealed`: who changed it made the digests
    anew, so that they tell nothing."""

    what: str
    proof: Json
    files: Files
    named: str
    sealed: bool = False


def other_digit(rng: random.Random, text: str) -> str:
    """With another digit at one place; the text must have one."""
    at = rng.choice([n for n, char in enumerate(text) if char.isdecimal()])
    return text[:at] + rng.choice([digit for digit in "0123456789" if digit != text[at]]) + text[at + 1 :]


def negated(rng: random.Random, text: str) -> str:
    """With a "not" before one of its words: behind the last one it would stand outside of what is quoted."""
    words = text.split(" ")
    words.insert(rng.randrange(len(words)), "not")
    return " ".join(words)


def other_words(rng: random.Random, text: str) -> str:
    return rng.choice([other_digit, negated] if any(map(str.isdecimal, text)) else [negated])(rng, text)


def other_hash(rng: random.Random, digest: str) -> str:
    at = rng.randrange(64)
    return digest[:at] + rng.choice([one for one in "0123456789abcdef" if one != digest[at]]) + digest[at + 1 :]


def moved(rng: random.Random, place: Json) -> None:
    """One end of a span, or both."""
    by = rng.choice([-3, -2, -1, 1, 2, 3])
    for end in rng.choice([("start",), ("end",), ("start", "end")]):
        place[end] += by


def change_of(rng: random.Random, case: Case) -> Change:
    """One at random, of those that this proof can suffer."""
    cited = case.proof["citations"]
    return rng.choice([*OF_ANY, *(OF_WEB if cited[0]["url"] else OF_CITED) * 3] if cited else OF_ANY)(rng, case)


def edited(section: str, change: Callable[[random.Random, Any], None]) -> Callable[[random.Random, Case], Change]:
    """A change that leaves the digests as they were."""

    def make(rng: random.Random, case: Case) -> Change:
        proof = deepcopy(case.proof)
        change(rng, proof[section])
        return Change(f"edited {section}", proof, case.files, f"{section}: changed since it was sealed")

    return make


def resealed(what: str, change: Callable[[random.Random, Json, Json], str]) -> Callable[[random.Random, Case], Change]:
    """A change of a citation whose author made all digests anew."""

    def make(rng: random.Random, case: Case) -> Change:
        proof = deepcopy({name: section for name, section in case.proof.items() if name != "digest"})
        named = change(rng, proof, rng.choice(proof["citations"]))
        return Change(what, seal(proof), case.files, named, sealed=True)

    return make


def _reword(rng: random.Random, section: Json) -> None:
    section["text"] = other_words(rng, section["text"])


def _rehash(rng: random.Random, sections: Any) -> None:
    one = rng.choice(sections)
    one["sha256"] = other_hash(rng, one["sha256"])


def _of(proof: Json, section: str, cited: Json) -> Json:
    """The document, passage or row of a citation."""
    keys = {"documents": ("id", "document_id"), "passages": ("id", "passage_id"), "rows": ("n", "n")}[section]
    return next(one for one in proof[section] if one[keys[0]] == cited[keys[1]])


def _quote(rng: random.Random, proof: Json, cited: Json) -> str:
    cited["quote"] = other_words(rng, cited["quote"])
    return f"citation {cited['n']}: the quoted words are not what was read"


def _quote_everywhere(rng: random.Random, proof: Json, cited: Json) -> str:
    """Other words of the same length, in the answer and the passage too, with all hashes of them."""
    old = cited["quote"]
    new = other_digit(rng, old) if any(map(str.isdecimal, old)) else old[::-1] if old != old[::-1] else old.swapcase()
    passage = _of(proof, "passages", cited)
    at = cited["start"] - passage["start"]
    passage["text"] = passage["text"][:at] + new + passage["text"][at + len(old) :]
    passage["sha256"], cited["sha256"] = verify_proof.sha256(passage["text"]), verify_proof.sha256(new)
    cited["quote"], cited["in_answer"] = new, None
    return f"citation {cited['n']}: "


def _answer(rng: random.Random, proof: Json, cited: Json) -> str:
    if cited["in_answer"] is None:
        return _quote(rng, proof, cited)
    start, end = cited["in_answer"]
    text = proof["answer"]["text"]
    proof["answer"]["text"] = text[:start] + other_words(rng, cited["quote"]) + text[end:]
    return f"citation {cited['n']}: the answer does not have the quoted words"


def _span(rng: random.Random, proof: Json, cited: Json) -> str:
    moved(rng, cited)
    return f"citation {cited['n']}: "


def _passage_span(rng: random.Random, proof: Json, cited: Json) -> str:
    passage = _of(proof, "passages", cited)
    moved(rng, passage)
    return f"passage {passage['id']}: "


def _version(rng: random.Random, proof: Json, cited: Json) -> str:
    one = rng.choice([cited, *(_of(proof, section, cited) for section in ("documents", "passages", "rows"))])
    one["version"] += rng.choice([-1, 1, 2])
    return "version"


def _hash(rng: random.Random, proof: Json, cited: Json) -> str:
    document = _of(proof, "documents", cited)
    section, name, named = rng.choice([
        (cited, "sha256", f"citation {cited['n']}: "), (_of(proof, "passages", cited), "sha256", "passage "),
        (document, "text_sha256", document["external_id"]), (document, "file_sha256", document["external_id"]),
    ])  # fmt: skip
    section[name] = other_hash(rng, section[name])
    return str(named)


def _document(rng: random.Random, proof: Json, cited: Json) -> str:
    """The citation is of another document."""
    cited["document_id"] = str(new_id())
    return f"citation {cited['n']}: "


def _left_out(rng: random.Random, proof: Json, cited: Json) -> str:
    proof["citations"].remove(cited)
    return f"rows: no citation of a document is number {cited['n']}"


def _address(rng: random.Random, proof: Json, cited: Json) -> str:
    """The citation is of a page of the web."""
    cited.update(url=PAGE["url"], quote=None, in_answer=None, missing="a page of the web")
    return f"rows: no citation of a document is number {cited['n']}"


def _web_quote(rng: random.Random, proof: Json, cited: Json) -> str:
    quote = other_words(rng, PAGE["content"])
    cited.update(quote=quote, sha256=verify_proof.sha256(quote))
    return f"citation {cited['n']}: it quotes a page of the web"


def _no_address(rng: random.Random, proof: Json, cited: Json) -> str:
    cited["url"] = None
    return f"citation {cited['n']}: document and version are not among the cited ones"


def _left_out_with_its_row(rng: random.Random, proof: Json, cited: Json) -> str:
    proof["rows"].remove(_of(proof, "rows", cited))
    for other in [one for one in proof["citations"] if one["document_id"] == cited["document_id"]]:
        proof["citations"].remove(other)
    return f"{cited['document_id']}: has no citation"


def _not_in_answer(rng: random.Random, proof: Json, cited: Json) -> str:
    if cited["in_answer"] is None:
        return _quote(rng, proof, cited)
    cited["in_answer"] = None
    return f"citation {cited['n']}: the answer has the quoted words, and where is not said"


def other_file(rng: random.Random, case: Case) -> Change:
    """A byte of a file that is cited; the same bytes are under no other name beside it."""
    cited = rng.choice([one for one in case.proof["documents"] if one["cited"]])
    name = cited["external_id"]
    content = bytearray(case.files[name])
    at = rng.randrange(len(content))
    content[at] = (content[at] + rng.randrange(1, 256)) % 256
    others = {known: said for known, said in case.files.items() if said != case.files[name]}
    return Change("another file", case.proof, {**others, name: bytes(content)}, name)


OF_ANY = (
    edited("answer", _reword),
    edited("question", _reword),
    edited("settings", lambda rng, one: one.update(revision=other_digit(rng, one["revision"] + "0"))),
    edited("run", lambda rng, one: one.update(started_at=other_digit(rng, one["started_at"]))),
)
OF_CITED = (
    edited("citations", _rehash),
    edited("documents", lambda rng, found: rng.choice(found).update(external_id="other.md")),
    resealed("words of the quotation", _quote),
    resealed("words of the quotation and of the passage", _quote_everywhere),
    resealed("words of the answer that are quoted", _answer),
    resealed("span of the quotation", _span),
    resealed("span of the passage", _passage_span),
    resealed("version", _version),
    resealed("hash", _hash),
    resealed("document", _document),
    resealed("a citation left out", _left_out),
    resealed("a citation and its row left out", _left_out_with_its_row),
    resealed("where the answer has the quotation", _not_in_answer),
    resealed("address", _address),
    other_file,
)
OF_WEB = (
    edited("citations", _rehash),
    resealed("words of the web", _web_quote),
    resealed("no address", _no_address),
)


def check_changes(rng: random.Random, cases: list[Case], count: int) -> Counter[str]:
    """How many changes of each kind were found and named. Each one must be."""
    found: Counter[str] = Counter()
    for n in range(count):
        case = cases[n % len(cases)]
        change = change_of(rng, case)
        faults, _ = case.check(change.proof, change.files)
        assert any(change.named in fault for fault in faults), (case.question, change.what, change.named, faults)
        assert (
            change.sealed is not any("since it was sealed" in fault for fault in faults) or change.files != case.files
        )
        found[change.what] += 1
    return found


async def test_what_is_changed_is_found_and_named(cases: dict[str, Case]) -> None:
    found = check_changes(random.Random(38), list(cases.values()), 200)
    assert set(found) == {
        *(made(random.Random(1), cases[LEAVE]).what for made in (*OF_ANY, *OF_CITED)),
        *(made(random.Random(1), cases[WEB]).what for made in OF_WEB),
    }


@pytest.mark.measurement
async def test_a_thousand_true_and_a_thousand_changed(services: Services) -> None:
    """1,000 questions of 60 documents, two thirds of them PDF or CSV, and a change of each proof."""
    rng, kept = random.Random(7), many_files(60)
    await index_now(services, "handbook", [Source(name, name, content) for name, content in kept.items()])
    cases = []
    for n in range(1000):
        case = await case_of(services, rng.choice(MANY).format(n=n % 60), kept)
        assert case.check()[0] == [], (case.question, case.check()[0])
        cases.append(case)
    quoted = sum(bool(case.proof["citations"]) for case in cases)
    found = check_changes(rng, cases, 1000)
    print(f"{len(cases)} true taken, {quoted} of them with citations; {found.total()} changed refused: {dict(found)}")
    assert quoted > 800


MANY = (
    "What is the code of gate {n}?",
    "Who keeps gate {n}?",
    "May bicycles pass gate {n}?",
    "How many people passed gate {n} in 2021?",
    "Which documents mention gate {n}?",
)


def many_files(count: int) -> Files:
    made: Files = {}
    for n in range(count):
        code, keeper, people = 1000 + 37 * n, f"Warden {chr(65 + n % 26)}{n}", 300 + 11 * n
        says = [f"The code of gate {n} is {code}.", f"Gate {n} is kept by {keeper}.", f"Bicycles may not pass gate {n}.",
                f"In 2021 gate {n} was passed by {people} people."]  # fmt: skip
        if n % 3 == 0:
            made[f"gate-{n}.md"] = (f"# Gate {n}\r\n\r\n" + "\r\n\r\n".join(says)).encode()
        elif n % 3 == 1:
            page = Sheet()
            for line, text in enumerate(says):
                page.text(50, 60 + 30 * line, text)
            made[f"gate-{n}.pdf"] = pdf_file(page)
        else:
            rows = [("Gate", "Fact"), *((f"gate {n}", text) for text in says)]
            made[f"gate-{n}.csv"] = "\n".join(";".join(row) for row in rows).encode()
    return made
