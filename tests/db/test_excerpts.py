"""What stands around a quotation, also after the document changed."""

from __future__ import annotations

import pytest

from cairn.domain.ids import new_id
from cairn.errors import NotFoundError
from cairn.service.documents import index_now
from cairn.service.excerpts import read_excerpt
from cairn.wiring import Services
from tests.documents import text_source
from tests.sharing import SHARED

pytestmark = SHARED

QUOTE = "Basalt is a dark rock that cooled quickly at the surface."
LINES = "".join(f"Line {number} of many.\n" for number in range(200))
TEXT = f"{LINES}{QUOTE}\n{LINES}"


async def index(services: Services, text: str) -> None:
    await index_now(services, "rocks", [text_source("basalt", text)])


async def find(services: Services) -> tuple[object, int, int]:
    [outcome] = await index_now(services, "rocks", [text_source("basalt", TEXT)])
    document_id = outcome.document_id  # type: ignore[union-attr]
    whole = (await read_excerpt(services, document_id, around=len(TEXT))).text
    return document_id, whole.index(QUOTE), whole.index(QUOTE) + len(QUOTE)


async def test_an_excerpt_is_whole_lines_around_the_quotation(services: Services) -> None:
    document_id, start, end = await find(services)
    found = await read_excerpt(services, document_id, (start, end), version=1, around=100)  # type: ignore[arg-type]
    assert found.marked is not None
    assert found.text[slice(*found.marked)] == QUOTE
    assert found.collection == "rocks"
    assert not found.moved
    assert len(found.text) < found.length
    assert found.text.startswith("Line ")
    assert found.text.endswith("of many.")
    assert 200 < len(found.text) < 400


async def test_words_are_found_again_where_the_document_changed(services: Services) -> None:
    document_id, start, end = await find(services)
    await index(services, f"A new beginning.\n\n{TEXT}")
    found = await read_excerpt(services, document_id, (start, end), version=1, quote=TEXT[start:][:200])  # type: ignore[arg-type]
    assert found.moved
    assert found.marked is not None
    assert found.text[slice(*found.marked)] == QUOTE


async def test_words_that_are_gone_are_not_marked(services: Services) -> None:
    document_id, start, end = await find(services)
    await index(services, LINES)
    found = await read_excerpt(services, document_id, (start, end), version=1, quote=QUOTE)  # type: ignore[arg-type]
    assert found.moved
    assert found.marked is None
    assert found.text.startswith("Line 0")


async def test_a_document_that_is_not_there_is_told(services: Services) -> None:
    with pytest.raises(NotFoundError, match="deleted"):
        await read_excerpt(services, new_id())
