"""What of the settings is in force in this process, and what is not: refused, asked for in vain, waiting for a restart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cairn.service.restart import restart_warnings
from cairn.settings import Settings
from cairn.settings.store import changed_keys, flatten_settings
from cairn.wiring import Services


@dataclass(frozen=True, slots=True)
class SettingsState:
    """`values` by name, `changed` those that differ from what is shipped. `problem`: why the present file was refused; `notes`:
    what it asks for in vain, and what waits for a restart. `path` None: there is no file."""

    revision: str
    path: str | None
    values: dict[str, Any]
    changed: frozenset[str]
    problem: str | None
    notes: tuple[str, ...]


def describe_settings(services: Services) -> SettingsState:
    """Asks nobody."""
    store = services.settings
    return SettingsState(
        store.current.revision,
        str(store.path) if store.path else None,
        flatten_settings(store.current),
        frozenset(changed_keys(Settings(), store.current)),
        store.problem,
        (*store.notes, *restart_warnings(services)),
    )
