"""The process that reads outlines: what happens when it crashes, hangs or lies costs one file its symbols."""

from __future__ import annotations

import asyncio
import os
import signal
from itertools import pairwise

import pytest

from cairn.domain.document import LoadedDocument
from cairn.ingest.chunkers.parent_child import symbol_units
from cairn.ingest.outlines import OutlineReader, _outline, outline_reader
from cairn.ingest.prepare import prepare
from cairn.settings import IngestSettings, Settings
from tests.benchmarks.corpus import WordCount
from tests.documents import text_source

TEXT = "import os\n\n\n# Adds one.\n@cached\ndef add(x):\n    return x + one()\n\n\ndef one():\n    return 1\n"


def loaded(text: str = TEXT, language: str = "python") -> LoadedDocument:
    return LoadedDocument(text, f"text/x-{language}", "code", code_language=language)


async def read(reader: OutlineReader, document: LoadedDocument) -> list[str] | None:
    found = (await reader.outlined(document, "a.py")).outline
    return None if found is None else [one.name for one in found.definitions]


async def test_one_process_reads_many_files_and_ends_with_the_block() -> None:
    async with outline_reader(Settings()) as reader:
        assert await read(reader, loaded()) == ["add", "one"]
        child = reader._child
        assert child is not None
        assert await read(reader, loaded("fn f() {}", "rust")) == ["f"]
        assert reader._child is child
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


async def test_a_crash_costs_one_file_its_symbols() -> None:
    async with outline_reader(Settings()) as reader:
        await read(reader, loaded())
        assert reader._child is not None
        os.kill(reader._child.pid, signal.SIGSEGV)
        assert await read(reader, loaded()) is None
        assert await read(reader, loaded()) == ["add", "one"]


async def test_time_is_bounded() -> None:
    slow = Settings(ingest=IngestSettings(code_seconds=0.001))
    async with outline_reader(slow) as reader:
        assert await read(reader, loaded()) is None
        assert reader._child is None


async def test_cancellation_leaves_no_process() -> None:
    async with outline_reader(Settings()) as reader:
        task = asyncio.create_task(read(reader, loaded("def f(): pass\n" * 50_000)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert reader._child is None
        assert await read(reader, loaded()) == ["add", "one"]


@pytest.mark.parametrize(
    "settings",
    [IngestSettings(code_symbols=False), IngestSettings(code_max_chars=10)],
    ids=["switched off", "too long"],
)
async def test_what_is_not_wanted_starts_nothing(settings: IngestSettings) -> None:
    async with outline_reader(Settings(ingest=settings)) as reader:
        assert await read(reader, loaded()) is None
        assert reader._child is None


@pytest.mark.parametrize(
    "answer",
    [
        {"definitions": [["f", "function", 0, 99]], "references": []},
        {"definitions": [], "references": [["f", "calls", "g", 0, 1, False, "function"]]},
        {"definitions": [], "references": [["", "calls", "g", 0, 1, True, "function"]]},
        {"definitions": []},
    ],
)
def test_an_answer_that_cannot_be_is_refused(answer: dict[str, object]) -> None:
    with pytest.raises((ValueError, KeyError)):
        _outline(answer, "python", 10)


async def test_passages_begin_where_definitions_do() -> None:
    """With the comment and decorators above them; a class that is too long is cut at its methods."""
    method = "    # About it.\n    @property\n    def m{}(self):\n" + "        x = 'some words of code'\n" * 30 + "\n"
    text = "import os\n\n\nclass Long:\n" + "".join(method.format(n) for n in range(8))
    async with outline_reader(Settings()) as reader:
        document = await reader.outlined(loaded(text), "a.py")
    made = prepare(text_source("a.py", text), document, Settings(), WordCount())
    begins = [passage.content.splitlines()[0] for passage in made.passages[1:]]
    assert begins
    assert all(line.strip() == "# About it." for line in begins)
    assert document.outline
    units = list(symbol_units(text, document.outline, 2000))
    assert units[0][0] == 0
    assert units[-1][1] == len(text)
    assert all(a[1] == b[0] for a, b in pairwise(units))
