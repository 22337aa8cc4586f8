"""What one pass of a model says: its answer, and what is missing. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from app.domain.code import SymbolQuery
from app.graph.code.symbols import wanted_symbols
from app.language.text import fold
from app.providers.reader import without_thought

MOST_GAPS: Final = 8
GAP_CHARS: Final = 200
ANSWER_CHARS: Final = 30_000
"""A reply may be longer: not all servers keep to the limit that they are given."""
_LABEL: Final = r"^[ \t>#*_]*{word}[ \t]*(?:\([^)\n]*\))?[ \t*_]*:[ \t*_]*"
_ANSWER: Final = re.compile(_LABEL.format(word="ANSWER"), re.IGNORECASE | re.MULTILINE)
_MISSING: Final = re.compile(_LABEL.format(word="MISSING"), re.IGNORECASE | re.MULTILINE)
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+")
_NONE: Final = re.compile(
    r"(?:none|nothing|n/?a|no|rien|nada|ninguno|aucun|nichts|keine?)[ .!]*(?:needed|missing)?[ .!]*", re.I
)
_SPECIFIC: Final = re.compile(
    r"::|\bin `[^`]+`|\bin [\w./\\-]+\.\w{1,4}\b|\b(?:function|class|method|struct|trait|interface|enum|module)\b[ `'\"]+\w|"
    r"\b\w+[ `'\"]+(?:function|class|method)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Pass:
    """`gaps`: what is missing, each once; none where the model is content."""

    answer: str
    gaps: tuple[str, ...]


def parse_pass(reply: str) -> Pass:
    """ANSWER: and MISSING:, in any dress. Without the second label nothing is missing; without the first, what stands
    before the second is the answer."""
    text = without_thought(reply)
    missing = list(_MISSING.finditer(text))
    before, after = (text[: missing[-1].start()], text[missing[-1].end() :]) if missing else (text, "")
    label = _ANSWER.search(before)
    return Pass((before[label.end() :] if label else before).strip()[:ANSWER_CHARS], _gaps(after))


def _gaps(text: str) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        gap = " ".join(_ITEM.sub("", line).split())[:GAP_CHARS].strip(" .;")
        if not gap or _NONE.fullmatch(gap) or not any(map(str.isalnum, gap)):
            continue
        found.setdefault(normal(gap), gap)
    return tuple(found.values())[:MOST_GAPS]


def normal(gap: str) -> str:
    """The form in which a gap is remembered."""
    return " ".join(fold(gap).replace("`", " ").replace('"', " ").split()).strip(" .:;,?!'")


def symbols_of(gap: str) -> tuple[SymbolQuery, ...]:
    """The symbols that a specific gap names; none for a vague one, which is searched for."""
    named = tuple(wanted_symbols(gap))
    return named if named and (_SPECIFIC.search(gap) or len(gap.split()) <= 2) else ()
