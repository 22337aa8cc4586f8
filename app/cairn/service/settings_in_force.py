"""What of the settings is in force in this process, and what is not: refused, asked for in vain, waiting for a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cairn.service.restart import READ_AT_START, restart_warnings
from cairn.settings import Settings
from cairn.settings.store import changed_keys, describe_fields, flatten_settings
from cairn.wiring import Services


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known of one, for people. `restart`: a change counts from the next start on."""

    name: str
    value: Any
    default: Any
    sentence: str
    changed: bool
    restart: bool


def list_settings(services: Services) -> list[Setting]:
    """In the order of the documentation. Asks nobody."""
    values, defaults = flatten_settings(services.settings.current), flatten_settings(Settings())
    changed, sentences = set(changed_keys(Settings(), services.settings.current)), dict(describe_fields())
    return [
        Setting(name, value, defaults.get(name), _sentence(name, sentences), name in changed, name in READ_AT_START)
        for name, value in values.items()
    ]


def _sentence(name: str, sentences: Mapping[str, str]) -> str:
    """Its own, or that of what it is a part of: keys of a setting that maps names to values are the user's."""
    while name not in sentences and "." in name:
        name = name.rpartition(".")[0]
    return sentences.get(name, "")


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
