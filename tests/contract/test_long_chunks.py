"""No chunk is embedded in part: a query for the last sentence of each one finds it, whatever cut it. With the real model."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from app.domain.document import LoadedDocument, PreparedDocument
from app.ingest.prepare import prepare
from app.providers.minilm import MiniLM
from app.settings import Settings
from tests.documents import text_source

WHO = ("The baker", "A surgeon", "The harbor pilot", "An astronomer", "The librarian", "A beekeeper", "The violinist")
DID = ("repaired", "painted", "weighed", "sold", "lost", "photographed")
WHAT = (
    "a bronze bell",
    "seven lemons",
    "the old map",
    "a wooden canoe",
    "two telescopes",
    "a jar of honey",
    "the red umbrella",
)
WHERE = ("in Lisbon", "under the bridge", "at dawn", "for the museum", "near the volcano", "during the storm")
SENTENCES = [f"{' '.join(parts)}." for parts in itertools.product(WHO, DID, WHAT, WHERE)]
STEP = 571
"""Prime to their number, so that neighbors have little in common."""


def told(count: int) -> list[str]:
    return [SENTENCES[n * STEP % len(SENTENCES)] for n in range(count)]


PROSE = "\n\n".join(" ".join(told(300)[n : n + 6]) for n in range(0, 300, 6))
MARKDOWN = "\n\n".join(f"## Chapter {n // 100}\n\n{' '.join(told(300)[n : n + 100])}" for n in range(0, 300, 100))
ROWS = "\n\n".join(f"id: {n}\nnotes: {' '.join(told(320)[n : n + 40])}" for n in range(0, 320, 40))
CODE = "\n\n".join(
    f"def task_{n}():\n" + "\n".join(f'    print("{sentence}")' for sentence in told(250)[n : n + 50])
    for n in range(0, 250, 50)
)
LONG_TITLE = "Annual report of the municipal office of lost and found curiosities, " * 8

CASES = {
    "tokens 512": (PROSE, "plain", {"strategy": "tokens", "size": 512}, None),
    "tokens 1024 under a title": (MARKDOWN, "markdown", {"strategy": "tokens", "size": 1024}, "Curiosities"),
    "characters 3000": (PROSE, "plain", {"strategy": "parent_child", "size": 3000}, None),
    "rows of a table": (ROWS, "rows", {"strategy": "parent_child", "size": 4000}, "Log"),
    "code": (CODE, "code", {"strategy": "parent_child", "size": 4000}, None),
    "a very long title": (PROSE, "plain", {"strategy": "tokens", "size": 250}, LONG_TITLE),
}  # fmt: skip


@pytest.fixture
async def model(model_folder: Path) -> AsyncIterator[MiniLM]:
    made = MiniLM(model_folder)
    yield made
    await made.close()


def cut(model: MiniLM, case: str) -> PreparedDocument:
    text, markup, how, title = CASES[case]
    settings = Settings()
    chunking = settings.chunking.model_copy(
        update={"strategy": how["strategy"], "passage_size": 4000, "chunk_size": how["size"]}
    )
    rag = settings.rag.model_copy(update={"chunk_size": how["size"]})
    settings = settings.model_copy(update={"chunking": chunking, "rag": rag})
    loaded = LoadedDocument(text, "text/plain", markup, code_language="python" if markup == "code" else None)  # type: ignore[arg-type]
    return prepare(text_source("long", text, title=title), loaded, settings, model.tokens, most_tokens=model.max_tokens)


@pytest.mark.parametrize("case", CASES)
async def test_the_last_sentence_of_every_chunk_finds_it(model: MiniLM, case: str) -> None:
    document = cut(model, case)
    drafted = [(p.draft.start, chunk) for p in document.passages for chunk in p.draft.chunks]
    assert any(chunk.token_count > model.max_tokens or case == "a very long title" for _, chunk in drafted), (
        "none is long"
    )
    vectors = await model.embed([chunk.embed_text for chunk in document.chunks])
    lost = []
    asked = [max((s for s in SENTENCES if s in text), key=text.rfind) for text in
             (document.text[chunk.start : chunk.end] for _, chunk in drafted) if any(s in text for s in SENTENCES)]  # fmt: skip
    for sentence, query in zip(asked, await model.embed(asked), strict=True):
        best = [document.chunks[n].content for n in np.argsort(-(vectors @ query))[:3]]
        if not any(sentence in content for content in best):
            lost.append(sentence)
    assert not lost, f"{len(lost)} of {len(asked)}"


@pytest.mark.parametrize("case", [case for case in CASES if case != "a very long title"])
def test_every_chunk_fits_under_its_title_and_heading(model: MiniLM, case: str) -> None:
    document = cut(model, case)
    assert max(model.tokens.count_batch([chunk.embed_text for chunk in document.chunks])) <= model.max_tokens
    assert [chunk.ordinal for chunk in document.chunks] == list(range(len(document.chunks)))
    for passage in document.passages:
        for piece in passage.draft.chunks:
            parts = [
                c for c in document.chunks if c.passage_id == passage.id and piece.start <= c.draft.start < piece.end
            ]
            covered = "".join("".join(c.content.split()) for c in parts)
            assert "".join(document.text[piece.start : piece.end].split()) in covered
