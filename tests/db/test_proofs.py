"""An answer proves itself: the program that checks proofs, which knows nothing of Cairn, takes every true one and names the fault
of a changed one."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
from talking import Talking

from cairn.domain.document import Source
from cairn.domain.ids import new_id
from cairn.domain.proof import seal
from cairn.domain.question import Question
from cairn.errors import ConflictError, NotFoundError, TextDeletedError
from cairn.service import verify_proof
from cairn.service.ask import final, start
from cairn.service.conversations import delete_history
from cairn.service.documents import delete_document, index_now
from cairn.service.proofs import prove_run, read_texts, verifier
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
    "When are salaries paid?",
    "How much may hotels cost per night?",
    "How high is the pilot fee?",
    "What is the price of the chair?",
    "Which product has the highest price?",
    "What is the total stock?",
    "Which documents mention leave?",
    "List all documents",
    "Who won the Eurovision song contest in 1974?",
    "Hello!",
    "Summarize the handbook",
)


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


async def case_of(services: Services, text: str, **more: Any) -> Case:
    proof = await prove_run(services, await ask(services, text, **more))
    texts = {one.file_name: one.text.encode() for one in await read_texts(services, proof)}
    return Case(text, proof, {**files(), **texts})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cases(filled: Services) -> list[Case]:
    """Proofs of runs of every kind without a model, follow-ups last."""
    async with on_documents_of(filled) as services:
        made = [await case_of(services, text) for text in QUESTIONS]
        return made + [await case_of(services, text, session_id="talk") for text in (LEAVE, "And in which month does it expire?")]


async def test_try(cases: list[Case]) -> None:
    for case in cases:
        faults, notes = case.check()
        print(case.question, "->", case.proof["answer"]["text"][:80], case.proof["answer"]["strategy"], len(case.proof["citations"]), len(case.proof["passages"]))
        print("   ", faults, notes)
    print(json.dumps(cases[0].proof, indent=1))
    assert 0
