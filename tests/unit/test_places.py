"""Where is ...? Twelve places that somebody who takes the house over looks for, found by their names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PLACES = {
    "a stop word": ("app/cairn/language/tokens.py", "^STOP_WORDS"),
    "where a run ends": ("app/cairn/runs/task.py", "def _outcome"),
    "a file format": ("app/cairn/ingest/loaders/__init__.py", "^LOADERS"),
    "a language": ("app/cairn/language/data/fr.toml", r"^\[words\]"),
    "how sure an answer is": ("app/cairn/answer/confidence.py", "^def estimate_confidence"),
    "which quotation is chosen": ("app/cairn/answer/quotation_choice.py", "^def score_quotations"),
    "an HNSW index": ("app/cairn/db/vector_indexes.py", "CREATE INDEX .*hnsw|USING hnsw"),
    "what keeps tenants apart": ("sql/row_security.sql", "FUNCTION rag.secure_table"),
    "how settings reload": ("app/cairn/settings/store.py", "def reload"),
    "a prompt": ("app/cairn/prompts/converse.md", "."),
    "BM25": ("sql/functions/bm25.sql", "FUNCTION rag.lexical_best"),
    "the page's Ask room": ("app/cairn/interfaces/web/rooms/ask.py", "^(async )?def "),
}


@pytest.mark.parametrize("what", PLACES)
def test_it_is_found_by_its_name(what: str) -> None:
    name, defined = PLACES[what]
    assert re.search(defined, (REPO / name).read_text(encoding="utf-8"), re.MULTILINE), name
