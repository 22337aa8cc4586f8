"""What is said to a reader where the chat model failed: one sentence about why, and one about what was done instead.

What a server says of its errors is for whoever operates it, and stands in `degraded`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from cairn.domain.answer import ModelFailure
from cairn.errors import ProviderError
from cairn.language.lexicon import replies

Instead = Literal["quotation", "without", "partly"]
"""The answer is a quotation; was made without the model, as lists and counts are; or was written by it, and what prepares or
checks it was done without it."""


def said_cause(error: ProviderError, language: str | None) -> str:
    """Why the model failed, with the HTTP status where there is one; without a full stop."""
    said = replies(language).model_failed[error.cause]
    return said if error.answered is None else f"{said} ({error.answered})"


def describe_failure(
    failures: Sequence[tuple[str, ProviderError]], degraded: Sequence[str], instead: Instead, language: str | None,
    answering: frozenset[str],
) -> ModelFailure | None:  # fmt: skip
    """`failures`: of a run's calls, by their purpose, as they came; those of `answering` count first. None where `degraded` has
    nothing of them: what was asked again and then came has not failed."""
    told = [(purpose, error) for purpose, error in failures if any(error.detail in note for note in degraded)]
    if not told:
        return None
    details = tuple(note for note in degraded if any(error.detail in note for _, error in told))
    error = next((error for purpose, error in told if purpose in answering), told[0][1])
    sentence = f"{said_cause(error, language)}. {replies(language).model_instead[instead]}"
    return ModelFailure(error.cause, error.answered, sentence, details)
