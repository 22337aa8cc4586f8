"""Hosted models that are asked for a caller without a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cairn.errors import BudgetExceededError
from cairn.providers.requests import metered_by
from cairn.wiring import Services


@contextmanager
def metered_for_key(services: Services) -> Iterator[None]:
    """Hosted models that are asked within the block are booked on the key of the caller. Raises RateLimitedError where it has
    used up its day."""
    with metered_by(services.meter(services.principal)):
        try:
            yield
        except BudgetExceededError as error:
            if error.of_key is None:
                raise
            raise error.of_key from None
