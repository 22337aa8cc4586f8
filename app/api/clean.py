"""Text from outside, cleaned first, so that PostgreSQL can store it and JSON can repeat it."""

from __future__ import annotations

import math
from typing import Any

from app.language.text import normalise

MAX_DEPTH = 50
"""Deepest nesting of a JSON value; metadata and filters need two or three levels."""
MAX_INTEGER_BITS = 1024
"""Integers beyond this (308 digits) are a mistake or an attack; PostgreSQL's numeric would take them."""


def cleaned(value: Any, depth: int = 0) -> Any:
    """A JSON value with every string normalised, keys included.

    Raises ValueError for NaN, infinities (also 1e400), huge integers and nesting deeper than MAX_DEPTH.
    """
    if isinstance(value, str):
        return normalise(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("numbers must be finite: NaN, Infinity and 1e400 are not JSON")
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        raise ValueError("an integer has more than 300 digits")
    if isinstance(value, dict | list) and depth >= MAX_DEPTH:
        raise ValueError(f"JSON is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        return {normalise(str(key)): cleaned(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [cleaned(item, depth + 1) for item in value]
    return value
