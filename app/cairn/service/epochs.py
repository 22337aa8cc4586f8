"""Epochs of collections as tokens between processes: what one has written, another one reads, wherever it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from cairn.errors import EpochNotReachedError, InputError
from cairn.service.documents import get_collection
from cairn.store import collections
from cairn.store.session import reading_contents
from cairn.wiring import Services


def least_epochs(given: int | Mapping[str, int] | None, names: Sequence[str]) -> dict[str, int]:
    """What each collection must have reached: a number where one is searched, or one for each name. Raises InputError."""
    if given is None:
        return {}
    if isinstance(given, int):
        if len(set(names)) > 1:
            raise InputError("min_epoch: several collections are searched; send an object with the epoch of each")
        return {names[0]: given}
    if unknown := sorted(set(given) - set(names)):
        raise InputError(f"min_epoch names {', '.join(unknown)[:200]}, which is not searched")
    return dict(given)


async def epoch_of(services: Services, collection: str) -> int:
    """With all that was committed to it. Raises NotFoundError."""
    return (await get_collection(services, collection)).epoch


def of_one_state() -> AbstractContextManager[None]:
    """Around reads of what collections hold: they come from one server, or from the primary from some moment on, and never go
    back in time."""
    return reading_contents()


async def check_reached(services: Services, least: Mapping[str, int]) -> None:
    """Within `of_one_state`: what follows reads collections that are no older than that, at a replica which is so far, else at
    the primary. Raises EpochNotReachedError where that is older too."""
    if not least or not await _missing(services, least):
        return
    with reading_contents(primary=True):
        missing = await _missing(services, least)
    if missing:
        raise EpochNotReachedError(missing, least)


async def _missing(services: Services, least: Mapping[str, int]) -> dict[str, int]:
    """Collections that are older, with their epochs; 0 is that of one which is not there."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await collections.by_names(connection, services.principal, tuple(least))
    known = {one.name: one.epoch for one in found}
    return {name: known.get(name, 0) for name, epoch in least.items() if known.get(name, 0) < epoch}
