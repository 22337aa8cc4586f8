"""Which language a document is in, and the text search configuration that stems it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

SAMPLE_BYTES = 2048
"""Only the beginning is looked at; more changes no verdict on running text."""
MIN_LETTERS = 40
"""Shorter texts keep the default: a title or a list of names looks like any language."""
MIN_PROBABILITY = 0.6

CONFIGURATIONS = {
    "ar": "arabic",
    "hy": "armenian",
    "eu": "basque",
    "ca": "catalan",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "et": "estonian",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "ga": "irish",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "no": "norwegian",
    "nb": "norwegian",
    "nn": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "es": "spanish",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""The snowball configurations that PostgreSQL 18 ships, by ISO 639-1 code."""
