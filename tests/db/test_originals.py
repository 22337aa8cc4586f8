"""Files of documents: kept, replaced and deleted with them; their pages as pictures, with the words that are quoted marked."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from cairn.domain.document import Indexed, Source
from cairn.domain.original import Mark
from cairn.errors import InputError, NotFoundError
from cairn.service.documents import delete_document, find_document, get_document, index_now
from cairn.service.originals import draw_page, find_marks, list_pages, read_original
from cairn.settings import IngestSettings
from cairn.wiring import Services
from tests.documents import text_source
from tests.pdf_files import Sheet, pdf_file
from tests.sharing import SHARED

pytestmark = SHARED

BASALT = b"# Basalt\n\nBasalt is a dark rock."


async def index_file(services: Services, content: bytes, name: str = "rocks/basalt.md") -> UUID:
    [outcome] = await index_now(services, "test", [Source(name, name, content)])
    assert isinstance(outcome, Indexed), outcome
    return outcome.document_id


def keeping(services: Services, keep: bool) -> Services:
    settings = services.settings.current.model_copy(update={"ingest": IngestSettings(keep_original=keep)})
    return replace(services, settings=_Fixed(settings))  # type: ignore[arg-type]


class _Fixed:
    def __init__(self, current: Any) -> None:
        self.current = current


async def count_files(services: Services) -> int:
    async with services.database.transaction(services.principal) as connection:
        count: int = await connection.fetchval("SELECT count(*) FROM rag.originals")
        return count


async def test_a_file_is_kept_as_it_came_and_goes_with_its_document(services: Services) -> None:
    document = await index_file(services, BASALT)
    found = await read_original(services, "test", document)
    assert (found.content, found.name, found.media_type, found.version) == (BASALT, "basalt.md", "text/markdown", 1)
    assert (await find_document(services, "test", document)).has_file
    await index_file(services, BASALT + b" It is heavy.")
    found = await read_original(services, "test", document)
    assert (found.content[-9:], found.version) == (b"is heavy.", 2)
    await delete_document(services, "test", document)
    assert await count_files(services) == 0


async def test_a_text_that_was_handed_over_has_no_file(services: Services) -> None:
    [outcome] = await index_now(services, "test", [text_source("a", "written out")])
    assert isinstance(outcome, Indexed)
    assert not (await find_document(services, "test", outcome.document_id)).has_file
    with pytest.raises(NotFoundError, match="handed over as text"):
        await read_original(services, "test", outcome.document_id)


async def test_what_was_not_kept_is_when_it_is_uploaded_again(services: Services) -> None:
    document = await index_file(keeping(services, False), BASALT)
    with pytest.raises(NotFoundError, match="not kept"):
        await read_original(services, "test", document)
    assert await index_file(services, BASALT) == document
    assert (await read_original(services, "test", document)).content == BASALT


async def test_a_new_version_that_is_not_kept_leaves_no_old_file(services: Services) -> None:
    await index_file(services, BASALT)
    await index_file(keeping(services, False), BASALT + b" Heavy.")
    assert await count_files(services) == 0


async def test_a_file_of_another_tenant_is_not_there(services: Services, other_tenant: Services) -> None:
    document = await index_file(services, BASALT)
    await index_file(other_tenant, BASALT)
    with pytest.raises(NotFoundError):
        await read_original(other_tenant, "test", document)


# --- pages ------------------------------------------------------------------------------------------------------------


def two_pages() -> bytes:
    first, second = Sheet(), Sheet()
    first.text(50, 100, "Granite is a rock of quartz and feldspar. It is hard.")
    first.text(50, 120, "It cools slowly, deep below.")
    second.text(50, 400, "Basalt is a dark rock. It is hard.")
    second.text(50, 420, "Its grains are too small to see with-")
    second.text(50, 440, "out a lens.")
    return pdf_file(first, second)


async def place(services: Services, document: UUID, words: str) -> tuple[int, int]:
    _, text = await get_document(services, "test", document)
    assert text is not None
    start = text.index(words)
    return start, start + len(words)


async def marks_of(services: Services, content: bytes, words: str, page: int = 1) -> tuple[Mark, ...]:
    document = await index_file(services, content, "a.pdf")
    return await find_marks(services, "test", document, page, *await place(services, document, words))


def near(mark: Mark, top: float, left: float) -> bool:
    """Whether it is around a line whose foot is at `top` of 800 points, and begins at `left` of 600."""
    return mark.top < (top - 3) / 800 < mark.top + mark.height and abs(mark.left - left / 600) < 0.01


async def test_pages_know_their_part_of_the_text(services: Services) -> None:
    document = await index_file(services, two_pages(), "a.pdf")
    _, text = await get_document(services, "test", document)
    first, second = await list_pages(services, "test", document)
    assert text is not None
    assert (first.number, second.number, first.start, first.end, second.end) == (1, 2, 0, second.start, len(text))
    assert text[second.start :].startswith("Basalt")
    assert await list_pages(services, "test", await index_file(services, BASALT)) == []


async def test_a_page_is_drawn_as_wide_as_asked(services: Services) -> None:
    document = await index_file(services, two_pages(), "a.pdf")
    drawn = await draw_page(services, "test", document, 2, 300)
    assert (drawn.width, drawn.height, drawn.pages) == (300, 400, 2)
    assert struct.unpack(">II", drawn.png[16:24]) == (300, 400)
    assert drawn.png != (await draw_page(services, "test", document, 1, 300)).png
    with pytest.raises(NotFoundError, match="the file has 2"):
        await draw_page(services, "test", document, 3)
    with pytest.raises(InputError):
        await draw_page(services, "test", document, 1, 20)
    with pytest.raises(NotFoundError, match="only pages of a PDF"):
        await draw_page(services, "test", await index_file(services, BASALT), 1)


async def test_words_are_marked_where_they_stand(services: Services) -> None:
    [mark] = await marks_of(services, two_pages(), "Granite is a rock of quartz and feldspar.")
    assert near(mark, 100, 50)
    first, second = await marks_of(services, two_pages(), "quartz and feldspar. It is hard.\nIt cools")
    assert near(second, 120, 50)
    assert first.top < second.top


async def test_words_that_occur_twice_are_marked_where_they_were_quoted(services: Services) -> None:
    again = Sheet()
    again.text(50, 100, "Basalt is dark. Chalk is white.")
    again.text(50, 300, "Slate is grey. Chalk is white.")
    document = await index_file(services, pdf_file(again), "a.pdf")
    _, text = await get_document(services, "test", document)
    assert text is not None
    start = text.rindex("Chalk")
    [mark] = await find_marks(services, "test", document, 1, start, start + len("Chalk is white."))
    assert near(mark, 300, mark.left * 600)


async def test_a_word_broken_at_a_line_end_is_marked_on_both_lines(services: Services) -> None:
    document = await index_file(services, two_pages(), "a.pdf")
    start, _ = await place(services, document, "to see")
    _, end = await place(services, document, "lens")
    above, below = await find_marks(services, "test", document, 2, start, end)
    assert near(above, 420, above.left * 600)
    assert near(below, 440, 50)


async def test_a_row_of_a_table_is_marked_on_its_line(services: Services) -> None:
    sheet = Sheet()
    rows = [["Year", "Sales", "Costs"], ["2023", "1,200", "900"], ["2024", "1,300", "900"], ["2025", "1,450", "950"]]
    sheet.rows(100, rows, [300, 400])
    sheet.grid([45, 200, 310, 410], [86, 104, 120, 136, 152])
    document = await index_file(services, pdf_file(sheet), "a.pdf")
    _, text = await get_document(services, "test", document)
    assert text is not None
    row = next(line for line in text.splitlines() if "2024" in line)
    marks = await find_marks(services, "test", document, 1, *await place(services, document, row))
    assert len(marks) == 3
    assert all(near(mark, 132, mark.left * 600) for mark in marks), (text, marks)


async def test_what_is_on_another_page_or_has_no_text_layer_is_not_marked(services: Services) -> None:
    assert await marks_of(services, two_pages(), "Granite is a rock", page=2) == ()
    document = await index_file(services, two_pages(), "a.pdf")
    for start, end in ((10, 10), (-1, 5)):
        with pytest.raises(InputError):
            await find_marks(services, "test", document, 1, start, end)
