"""How long a job waits before it is tried again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.jobs.outcome import MAX_RETRY_SECONDS, retry_delay


@given(st.integers(1, 32), st.floats(0, 3600), st.floats(0, 1))
def test_backoff_grows_within_bounds(attempts: int, base: float, spread: float) -> None:
    delay, after = (retry_delay(n, base, spread).total_seconds() for n in (attempts, attempts + 1))
    longest = retry_delay(attempts, base, 0).total_seconds()
    assert longest / 2 - 1e-6 <= delay <= longest <= MAX_RETRY_SECONDS
    assert delay <= after
    assert longest == MAX_RETRY_SECONDS or longest == pytest.approx(base * 2 ** (attempts - 1), abs=1e-5)
