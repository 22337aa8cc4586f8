"""What may be stored at once, and what must wait: Turns with stores that take their time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from cairn.domain.document import (
    ChunkDraft,
    Landmark,
    PassageDraft,
    PreparedChunk,
    PreparedDocument,
    PreparedPassage,
    Source,
)
from cairn.ingest.publish_queue import WAITING, Embedded, Turns
from tests.waiting import hang_guard


def embedded(identity: str, mark: str, *configurations: str) -> Embedded:
    source = Source(identity, identity, mark.encode(), title=None, media_type="text/plain", metadata={}, is_text=True)
    passages = [
        PreparedPassage(
            UUID(int=place), PassageDraft(place, 0, 1, (), None, (), 1, ()), content="x", search_terms="", config=name
        )
        for place, name in enumerate(configurations)
    ]
    document = PreparedDocument(
        source=source, title="x", text="x", content_hash=b"", media_type="text/plain", language=None,
        token_counter="words", passages=tuple(passages), chunks=(),
    )  # fmt: skip
    return Embedded(document, {})


def with_chunks(item: Embedded, count: int) -> Embedded:
    draft = ChunkDraft(0, 0, 1, 1)
    chunk = PreparedChunk(UUID(int=1), UUID(int=0), 0, draft, Landmark(0, None, ()), "x", "x", b"")
    return replace(item, document=replace(item.document, chunks=(chunk,) * count))


async def stored(items: Sequence[Embedded], workers: int = 2, slow: str = "") -> list[str]:
    """Beginnings and ends in the order in which they came; the document marked `slow` takes longer than all others,
    in turns of the event loop."""
    turns, log = Turns(), []

    async def store(taken: list[Embedded]) -> None:
        marks = [item.document.source.content.decode() for item in taken]
        log.extend(f"{mark}(" for mark in marks)
        for _ in range(200 if slow in marks else 1):
            await asyncio.sleep(0)
        log.extend(f"){mark}" for mark in marks)

    async def put_all() -> None:
        for item in items:
            await turns.put(item)
        await turns.close()

    async with hang_guard(20):
        await asyncio.gather(put_all(), *(turns.work(store) for _ in range(workers)))
    return log


async def test_documents_are_stored_at_once_when_their_language_has_begun() -> None:
    log = await stored([embedded(name, name, "english") for name in "abc"], slow="b")
    assert log.index(")a") < log.index("b(")
    assert log.index("c(") < log.index(")b"), log


async def test_a_new_version_waits_for_the_one_before_it() -> None:
    """The last version given is the one that stays."""
    items = [embedded("other", "a", "english"), embedded("same", "b", "english"), embedded("same", "c", "english")]
    log = await stored(items, slow="b")
    assert log.index(")b") < log.index("c("), log


async def test_the_first_of_each_language_is_stored_before_the_rest() -> None:
    items = [embedded("a", "a", "english"), embedded("b", "b", "german"), embedded("c", "c", "english", "german")]
    log = await stored(items, slow="b")
    assert log.index("b(") < log.index(")a"), "different languages wait for nothing"
    assert log.index(")b") < log.index("c("), log


@pytest.mark.parametrize("workers", [1, 2, 3])
async def test_everything_is_stored_once_however_many_work(workers: int) -> None:
    items = [embedded(f"d{n % 7}", f"d{n}", "english" if n % 3 else "german") for n in range(3 * WAITING)]
    log = await stored(items, workers)
    assert sorted(entry for entry in log if entry.endswith("(")) == sorted(f"d{n}(" for n in range(3 * WAITING))


async def test_a_failure_ends_the_work() -> None:
    turns = Turns()

    async def store(taken: list[Embedded]) -> None:
        raise ValueError(taken[0].document.source.name)

    await turns.put(embedded("a", "a", "english"))
    with pytest.raises(ValueError, match="a"):
        await turns.work(store)


async def test_one_takes_what_there_is_and_the_others_full_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is stored slowly, what comes meanwhile waits to be stored together."""
    monkeypatch.setattr("cairn.ingest.publish_queue.TOGETHER_CHUNKS", 3)
    turns, groups, begun, release = Turns(), [], asyncio.Event(), asyncio.Event()

    async def store(taken: list[Embedded]) -> None:
        groups.append([item.document.source.name for item in taken])
        begun.set()
        await release.wait()

    await turns.put(with_chunks(embedded("a", "a"), 1))
    async with hang_guard(20):
        work = asyncio.gather(*(turns.work(store) for _ in range(2)))
        await begun.wait()
        for name in "bc":
            await turns.put(with_chunks(embedded(name, name), 1))
            await asyncio.sleep(0.01)
        assert groups == [["a"]], "two of three chunks wait for more"
        await turns.put(with_chunks(embedded("d", "d"), 1))
        await asyncio.sleep(0.01)
        assert groups == [["a"], ["b", "c", "d"]], "full groups do not"
        await turns.put(with_chunks(embedded("e", "e"), 9))
        await turns.put(with_chunks(embedded("f", "f"), 1))
        release.set()
        await turns.close()
        await work
    assert groups[2:] == [["e"], ["f"]]
