"""A chat model's verdict on an answer: the prompt, and the reading of what comes back. Nothing unclear counts as grounded."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cairn.answer.reply import tidy
from cairn.errors import ProviderResponseError
from cairn.language.fence import quoted
from cairn.language.linear import bounded
from cairn.prompts import prompt, prompt_part
from cairn.providers.protocols import ChatModel, Message
from cairn.providers.reader import storable_json, whole_values, without_thought
from cairn.settings import GroundSettings

MODEL_ISSUES: Final = 10  # bound: tests/unit/test_edges_ground.py
ISSUE_CHARS: Final = 500  # bound: tests/unit/test_edges_ground.py
CERTAIN: Final = 0.5  # measured: tests/unit/test_edges_ground.py
"""A verdict and a score on different sides of this contradict each other."""


@dataclass(frozen=True, slots=True)
class Verdict:
    grounded: bool
    score: float
    issues: tuple[str, ...]


async def ask_model(answer: str, sources: Sequence[str], chat: ChatModel, settings: GroundSettings) -> Verdict:
    """Raises ProviderError, also for a reply that is cut off or is no verdict."""
    filled = prompt(
        "ground",
        measure=prompt_part("ground", "strict" if settings.strict else "lenient"),
        sources="\n".join(f"{number}: {quoted(text)}" for number, text in enumerate(sources, start=1)),
        answer=quoted(answer),
    )
    reply = await chat.complete(
        [Message("system", filled.system), Message("user", filled.user)],
        temperature=0.0,
        max_tokens=settings.max_output_tokens,
        timeout=settings.timeout_seconds,
    )
    try:
        return read_verdict(reply.text, cut_off=reply.finish_reason == "length")
    except ValueError as error:
        raise ProviderResponseError(f"{chat.name}: {error}") from None


# --- the reply ------------------------------------------------------------------------------------------------------

_EDGE = r"^[\s*_#>\"'`{,-]*"
_SAYS = bounded(_EDGE + r"(?:is_)?grounded[\s*_\"'`]*[:=]?[\s*_\"'`]*(yes|no|true|false)\b", re.I | re.M)
_SCORE = bounded(
    _EDGE + r"(?:groundedness_)?score[\s*_\"'`]*[:=]?[\s*_\"'`]*(-?\d+(?:[.,]\d+)?)\s*(%|/\s*\d+)?", re.I | re.M
)
_ISSUES = bounded(_EDGE + r"issues[\s*_\"'`]*[:=]?[ \t*_]*", re.I | re.M)
_BULLET = re.compile(r"^[\s*•\-–\"'\[\],]*(?:\d+[.)]\s+)?")
_PRAISE = re.compile(
    r"(?:no|none|nothing)\b(?!.{0,80}\bsource)|(?:all|every|each)\b.{0,60}\b(?:is|are) (?:fully )?supported\b", re.I
)
_NONE: Final = frozenset({"", "none", "n/a", "no issues", "none found", "null", "no issue", "-", "]", "[]", "}"})


def read_verdict(reply: str, *, cut_off: bool = False) -> Verdict:
    """Out of GROUNDED, SCORE and ISSUES lines, in any order and dress (thoughts, fences, bold, JSON). Without a score, 1
    or 0. `cut_off`: only the issues may be incomplete.

    Raises ValueError where there is no verdict, two different ones, or one that its own score contradicts: nothing that
    is unclear counts as grounded.
    """
    text = tidy(without_thought(reply))
    text = _as_lines(text)
    said = {found[1].lower() in ("yes", "true") for found in _SAYS.finditer(text)}
    if len(said) != 1:
        raise ValueError("the reply has no verdict" if not said else "the reply has two verdicts")
    grounded = said.pop()
    score = _score(text)
    if score is None:
        if cut_off:
            raise ValueError("the verdict was cut off at the token limit")
        score = 1.0 if grounded else 0.0
    if grounded and score < CERTAIN:
        raise ValueError(f"the reply says grounded with a score of {score:g}")
    issues = _model_issues(text)
    if grounded and issues:
        raise ValueError(f"the reply says grounded and names what is not: {issues[0][:60]!r}")
    return Verdict(grounded, score, issues)


def _as_lines(text: str) -> str:
    """A JSON object {"grounded", "score", "issues"} as the lines that were asked for; other text as it is."""
    objects = (value for value in whole_values(text)[0] if isinstance(value, dict))
    data = next((value for value in objects if any("grounded" in name.lower() for name in value)), None)
    if data is None:
        return text
    data = storable_json(data)
    fields = {str(name).lower().removeprefix("is_"): value for name, value in data.items()}
    issues = fields.pop("issues", [])
    lines = [f"{name}: {value}" for name, value in fields.items()]
    listed = issues if isinstance(issues, list) else [issues]
    return "\n".join([*lines, "ISSUES:", *(f"- {issue}" for issue in listed)])


def _score(text: str) -> float | None:
    """0..1; also `80 %`, `8/10`. Raises ValueError for what cannot be a score."""
    found = _SCORE.search(text)
    if not found:
        return None
    value, unit = float(found[1].replace(",", ".")), found[2]
    if unit == "%":
        value /= 100
    elif unit:
        of = float(unit.strip("/ "))
        value = value / of if of else math.nan
    if not 0 <= value <= 1:
        raise ValueError(f"{found[0].strip()[:60]!r} is no score")
    return value


def _model_issues(text: str) -> tuple[str, ...]:
    found = _ISSUES.search(text)
    lines = text[found.end() :].splitlines() if found else []
    issues = []
    for line in lines:
        if _SAYS.match(line) or _SCORE.match(line):
            break
        issue = _BULLET.sub("", line).strip(" \"',]}`")
        if issue.casefold().rstrip(".") not in _NONE and not _PRAISE.match(issue):
            issues.append(issue[:ISSUE_CHARS])
    return tuple(issues[:MODEL_ISSUES])
