"""What a collection knows of the words of a message (sql/queries/vocabulary.sql)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.db.queries import load_queries
from app.domain.plan import Vocabulary
from app.domain.principal import Principal
from app.language.identify import CONFIGURATIONS

SQL = load_queries("vocabulary")

MAX_WORDS = 64
"""Words of a message that are looked up; a longer one is not judged by its words."""
MAX_LETTERS = 100

_CODES = {configuration: code for code, configuration in reversed(CONFIGURATIONS.items())}


async def vocabulary(connection: Any, principal: Principal, collection: str, words: Sequence[str]) -> Vocabulary:
    """Passages of a collection (by name) that hold each word, in any inflection; an unknown collection has none.

    Keys of `frequencies` are the first 64 distinct words, casefolded. One round trip, inside the caller's transaction.
    """
    asked = list(dict.fromkeys(word.casefold()[:MAX_LETTERS] for word in words if any(map(str.isalnum, word))))[
        :MAX_WORDS
    ]
    row = await connection.fetchrow(SQL["frequencies"], principal.tenant_id, collection, asked)
    counts = row["frequencies"] or [0] * len(asked)
    return Vocabulary(row["passages"], dict(zip(asked, counts, strict=True)), _CODES.get(row["language"]))
