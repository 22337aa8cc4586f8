"""What is shown goes on where the passage ends that was found: a list behind its introduction, as the document has it."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.domain.document import Indexed, Source
from cairn.service.documents import index_now
from cairn.wiring import Services
from tests.db.runs import answered
from tests.sharing import SHARED

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]

RULE = "The forget command accepts the following policy options:"
OPTIONS = "\n".join(
    f"- `--keep-{name} n` keeps the last {name} ones." for name in ("hourly", "daily", "weekly", "yearly")
)
FILLING = " ".join(f"Granite {n} lies upon slate." for n in range(90))


def manual() -> str:
    """A section that is longer than a passage, in which one ends just behind the line that announces the list."""
    return f"# Forgetting\n\n{FILLING[: 1500 - len(RULE)]}\n\n{RULE}\n\n{OPTIONS}\n\n{FILLING[:1600]}\n"


async def test_a_list_behind_the_end_of_a_passage_is_shown(services: Services, owner: Any) -> None:
    [outcome] = await index_now(services, "manuals", [Source("a.md", "a.md", manual().encode())])
    assert isinstance(outcome, Indexed)
    document = outcome.document_id
    text: str = await owner.fetchval("SELECT text FROM rag.document_texts WHERE document_id = $1", document)
    end = text.index(RULE) + len(RULE)
    # the passage is cut where the chunker may cut it
    await owner.execute(
        "UPDATE rag.passages SET char_end = $2, content = $3 WHERE document_id = $1 AND ordinal = 0",
        document,
        end,
        text[:end],
    )
    await owner.execute("DELETE FROM rag.passages WHERE document_id = $1 AND ordinal > 0", document)
    made = await answered(services, "Which policy options does the forget command accept?", collection="manuals")
    assert made.answer.startswith(f"{RULE} [1]\n\n- `--keep-hourly n`")
    cited = made.citations[0]
    assert cited.context is not None
    assert OPTIONS in text[cited.context.start : cited.context.end]
