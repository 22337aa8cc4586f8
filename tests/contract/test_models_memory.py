"""What the local models hold at their peak, in a process that has all of them as a server has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.providers.answer_reader import find_answer_reader
from cairn.providers.e5 import find_e5
from cairn.providers.minilm import find_model
from tests.waiting import patience

pytestmark = pytest.mark.siege

PROGRAM = """
import asyncio, json, re, sys
from pathlib import Path
from cairn.providers.answer_reader import LocalReader, Stretch
from cairn.providers.e5 import E5
from cairn.providers.minilm import MiniLM

ROUNDS = int(sys.argv[4])
TEXT = "about the flow of air over a wing at speed " * 10
TEXTS = [f"chunk {n} " + TEXT for n in range(9 * ROUNDS)]

def peak():
    return int(re.search(r"VmHWM:\\s+([0-9]+) kB", open("/proc/self/status").read())[1]) // 1024

async def read(reader):
    for n in range(ROUNDS):
        await reader.read(f"What is {n}?", [Stretch("", (TEXT,))] * 8)

async def embed(model):
    await model.embed(TEXTS)
    await model.embed_questions(TEXTS[:1])

async def main():
    before, grown = peak(), []
    for made, use in ((MiniLM, lambda model: model.embed(TEXTS)), (E5, embed), (LocalReader, read)):
        model = made(Path(sys.argv[1 + len(grown)]))
        await use(model)
        await model.close()
        grown.append(peak() - before)
    print(json.dumps(grown))

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the high-water mark from /proc")
@pytest.mark.parametrize("rounds", [2, pytest.param(10, marks=pytest.mark.measurement)])
def test_memory_of_all_local_models_stays_small(tmp_path: Path, rounds: int) -> None:
    """Megabytes by which the peak of a process has grown when it has embedded nine chunks a round by MiniLM, then by E5, and a
    question, and then read eight stretches a round: a batch each."""
    found = [find(tmp_path) for find in (find_model, find_e5, find_answer_reader)]
    if None in found:
        pytest.skip("a model is missing: make install builds them")
    command = [sys.executable, "-c", PROGRAM, *map(str, found), str(rounds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=patience(120))
    minilm, both, all_of_them = json.loads(done.stdout)
    assert minilm < 200
    assert both < 400
    assert all_of_them < 500
