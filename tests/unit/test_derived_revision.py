"""What is derived of a text is made anew only where the number of the rules tells that they make something else of it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final
from uuid import UUID

from cairn.domain.document import PreparedDocument, Source
from cairn.graph.code.outline import outline_of
from cairn.ingest.loaders import load, sniff
from cairn.ingest.prepare import RULES, prepare
from cairn.settings import IngestSettings, Settings
from tests.benchmarks.corpus import WordCount

DERIVED: Final = (7, "be1c48358a5d16124f65156980ec8f39d18bc97203eadf92cd2e0b46edf26620")
"""Revision of the rules, and what they make of the files below. Where this test fails because a rule became better, raise
cairn.ingest.prepare.RULES by 1, so that `cairn reindex` finds what earlier ones made, and write both down here."""

FILES: Final = {
    "people.md": "# Glass\n\nAda Lovelace met Charles Babbage in London in 1833. "
    "The World Health Organization (WHO) is based in Geneva. "
    "Acme Corp. acquired Birch Ltd. She wrote to Mary Somerville. They own Spirit AeroSystems Holdings, Inc. too. "
    "With Docker Hub I cannot log in. World War I began.\n",
    "gens.md": "# Verre\n\nMarie Curie travaille avec Pierre Curie à Paris. La société Dupont a acquis Martin SARL.\n",
    "data.md": "# Daten\n\nMan speichert nur mit Metadaten gern. Metadatenformate gibt es viele. Das Amt in Delaware hilft.\n",
    "sales.csv": "Region,2019,2020\nNorth,\"1,452\",1500\nSouth,44,(56)\nTotal,1496,1444\n",
    "prices.md": "| Item | Price | Since |\n| --- | --- | --- |\n| Tea | 3.50 EUR | 2024-01-05 |\n"
    "| Coffee | 4 EUR | 2023-02-01 |\n",
    "a.py": "import json\n\n\nclass Reader:\n    def read(self, text):\n        return json.loads(text)\n"
    "\n\ndef main():\n    Reader().read('{}')\n",
}  # fmt: skip


def prepared(name: str, text: str) -> PreparedDocument:
    loaded = load(text.encode(), sniff(name, text.encode()), IngestSettings())
    if loaded.code_language:
        loaded = replace(loaded, outline=outline_of(loaded.text, loaded.code_language, name))
    return prepare(Source(name, name, text.encode()), loaded, Settings(), WordCount())


def test_rules_that_make_something_else_have_another_revision() -> None:
    digest = hashlib.sha256()
    for name, text in FILES.items():
        document = prepared(name, text)
        passages = {passage.id: UUID(int=number) for number, passage in enumerate(document.passages)}
        mentions = sorted(repr(replace(row, passage_id=passages[row.passage_id])) for row in document.graph.mentions)
        evidence = sorted(repr(replace(row, passage_id=passages[row.passage_id])) for row in document.graph.evidence)
        assert mentions or document.tables, name
        digest.update(repr((name, mentions, evidence, document.graph.calls, document.tables)).encode())
    assert (RULES, digest.hexdigest()) == DERIVED
