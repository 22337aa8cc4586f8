"""The statistical language identifier (py3langid), loaded when it is first asked: about a second, then under 1 ms."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

SAMPLE_BYTES = 2048
"""More changes no verdict on running text."""


def identify(text: str) -> tuple[str, float]:
    """The code of the likeliest language of the beginning of `text`, ISO 639-1 where there is one, and its probability.

    Probabilities are calibrated for length: those of short texts are low.
    """
    sample = text.encode("utf-8", "ignore")[:SAMPLE_BYTES].decode("utf-8", "ignore")
    code, probability = _identifier().classify(sample)
    return str(code), float(probability)


def warm() -> None:
    """Load the model now; for a thread."""
    _identifier()


def is_warm() -> bool:
    """Whether `identify` answers at once."""
    return _identifier.cache_info().currsize > 0


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
