"""Patterns of the types of questions in four languages (types.toml), over folded text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from app.domain.plan import QueryType
from app.query.patterns.lexicon import LANGUAGES, Language
from app.query.patterns.tables import table
from app.query.patterns.text import compiled

TYPES: Final[tuple[QueryType, ...]] = ("COMPARATIVE", "RELATIONAL", "ANALYTICAL", "PROCEDURAL", "EXPLORATORY")
"""In order of precedence, where patterns of several stand in a text."""

PATTERNS: Final[Mapping[Language, Mapping[QueryType, re.Pattern[str]]]] = {
    language: {kind: compiled(*table("types")[language][kind], german=language == "de") for kind in TYPES}
    for language in LANGUAGES
}

ASKED_VALUE: Final[Mapping[Language, re.Pattern[str]]] = {
    language: compiled(*table("types")["asked"][language], german=language == "de") for language in LANGUAGES
}
"""Questions for a date or a number."""
