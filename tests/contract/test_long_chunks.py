"""No chunk is embedded in part: a query for the last sentence of each one finds it, whatever cut it. With the real model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from cairn.domain.document import LoadedDocument, PreparedDocument
from cairn.ingest.prepare import prepare
from cairn.providers.minilm import MiniLM
from cairn.settings import Settings
from tests.documents import text_source

FACTS = {
    "When is bread baked in the village?": "Bread is baked in the village at four in the morning.",
    "What does a violin string cost?": "A string for a violin costs eleven euros.",
    "How tall is the volcano?": "The volcano on the island is 3,200 meters tall.",
    "Who repairs bicycles?": "Bicycles are repaired by Mr. Okafor behind the station.",
}
FILLER = (
    "The meeting was opened, and everybody who had come was welcomed.",
    "The minutes of the meeting before were read and approved without a change.",
    "Somebody asked whether the list of names was complete, and it was.",
    "It was agreed to speak of this again next time, if there was time.",
    "The chair thanked all who had helped and asked for further remarks.",
)


def block(fact: str, sentences: int) -> str:
    """So many sentences that say nothing, and the fact at their end."""
    return " ".join([*(FILLER[n % len(FILLER)] for n in range(sentences)), fact])


def blocks(sentences: int) -> list[str]:
    return [block(fact, sentences) for fact in FACTS.values()]


def code() -> str:
    """A function for each fact, which is printed last."""
    bodies = [
        [f'    print("{FILLER[n % len(FILLER)]}")' for n in range(40)] + [f'    print("{fact}")']
        for fact in FACTS.values()
    ]
    return "\n\n\n".join(f"def task_{n}():\n" + "\n".join(body) for n, body in enumerate(bodies))


LONG_TITLE = "Minutes of the municipal office of lost and found curiosities, " * 12

CASES = {
    "tokens 512": ("\n\n".join(blocks(29)), "plain", "tokens", 512, None),
    "tokens 1024 under headings": (
        "\n\n".join(f"## Part {n}\n\n{text}" for n, text in enumerate(blocks(60))), "markdown", "tokens", 1024, "Minutes"
    ),
    "characters 3000": ("\n\n".join(blocks(40)), "plain", "parent_child", 3000, None),
    "rows of a table": (
        "\n\n".join(f"id: {n}\nnotes: {text}" for n, text in enumerate(blocks(50))), "rows", "parent_child", 4000, "Log"
    ),
    "code": (code(), "code", "parent_child", 4000, None),
    "a title that takes more than half": ("\n\n".join(blocks(9)), "plain", "parent_child", 800, LONG_TITLE),
}  # fmt: skip


@pytest.fixture
async def model(model_folder: Path) -> AsyncIterator[MiniLM]:
    made = MiniLM(model_folder)
    yield made
    await made.close()


def cut(model: MiniLM, case: str) -> PreparedDocument:
    text, markup, strategy, size, title = CASES[case]
    settings = Settings()
    chunking = settings.chunking.model_copy(update={"strategy": strategy, "passage_size": 4000, "chunk_size": size})
    rag = settings.rag.model_copy(update={"chunk_size": size})
    settings = settings.model_copy(update={"chunking": chunking, "rag": rag})
    loaded = LoadedDocument(text, "text/plain", markup, code_language="python" if markup == "code" else None)  # type: ignore[arg-type]
    return prepare(text_source("long", text, title=title), loaded, settings, model.tokens, most_tokens=model.max_tokens)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("case", CASES)
async def test_the_last_sentence_of_every_chunk_finds_it(model: MiniLM, case: str) -> None:
    document = cut(model, case)
    drafted = [chunk for passage in document.passages for chunk in passage.draft.chunks]
    lengths = model.tokens.count_batch([document.text[chunk.start : chunk.end] for chunk in drafted])
    title = model.tokens.count(document.title) if case.startswith("a title") else 0
    assert sum(length + title > model.max_tokens for length in lengths) >= len(FACTS), "they would have been cut off"
    vectors = await model.embed([chunk.embed_text for chunk in document.chunks])
    found = {}
    for fact, query in zip(FACTS.values(), await model.embed(list(FACTS)), strict=True):
        found[fact] = fact in document.chunks[int(np.argmax(vectors @ query))].content
    assert all(found.values()), found


@pytest.mark.parametrize("case", [case for case in CASES if not case.startswith("a title")])
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
