"""Which limits hold for a caller: its own, else those of the settings."""

from __future__ import annotations

from cairn.domain.principal import KeyLimits, Principal
from cairn.settings import LimitSettings


def limits_of(principal: Principal, settings: LimitSettings) -> KeyLimits:
    """None: no limit."""
    own = principal.caller.limits
    return KeyLimits(
        settings.requests_per_minute if own.requests_per_minute is None else own.requests_per_minute,
        settings.concurrent_runs if own.concurrent_runs is None else own.concurrent_runs,
        settings.tokens_per_day if own.tokens_per_day is None else own.tokens_per_day,
        settings.cost_per_day if own.cost_per_day is None else own.cost_per_day,
    )
