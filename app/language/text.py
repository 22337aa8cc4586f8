"""Normalisation of text, once, at the border: what the database stores is what every span counts in."""

from __future__ import annotations

import re

_LINE_ENDS = re.compile(r"\r\n?|\u2028|\u2029|\x0c")
_SURROGATES = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> str:
    """LF line ends, NUL and lone surrogates to U+FFFD, no byte order mark. PostgreSQL can store the result."""
    return storable(_LINE_ENDS.sub("\n", text.removeprefix("\ufeff")))


def storable(text: str) -> str:
    """NUL and lone surrogates to U+FFFD: what JSON can hold, and neither PostgreSQL nor UTF-8 can."""
    return _SURROGATES.sub("\ufffd", text.replace("\x00", "\ufffd"))
