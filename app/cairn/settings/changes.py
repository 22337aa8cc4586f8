"""Settings with some values changed, and such changes written to the file that the settings follow."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cairn.errors import SettingsError
from cairn.settings.store import Settings, parse_settings, shipped_defaults

Changes = Mapping[str, Any]
"""`retrieve.rrfK` to its value, as settings.json has them."""


def change_settings(settings: Settings, changes: Changes) -> Settings:
    """The settings with other values. Raises SettingsError for an unknown key or a value that it cannot have."""
    return parse_settings(json.dumps(_changed(settings.model_dump(by_alias=True, mode="json"), changes)).encode())


def write_changes(path: Path, changes: Changes) -> None:
    """Put the changes into a settings file, all else in it as it was; a file that is not there is made. What is changed to its
    default is taken out, so that a later release's counts. It is replaced at once, so that nobody reads half of it. Raises
    SettingsError, also where the file would be unusable; then it stays."""
    target = path.resolve()
    try:
        before = target.read_bytes() if target.exists() else b"{}"
        parse_settings(before)
        changed = _changed(json.loads(before), changes)
        parse_settings(json.dumps(changed).encode())
        defaults = shipped_defaults()
        for key in [key for key, value in changes.items() if key in defaults and value == defaults[key]]:
            _remove(changed, key.split("."))
        text = json.dumps(changed, indent=2, ensure_ascii=False) + "\n"
        fresh = target.with_name(f".{target.name}.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        if target.exists():
            fresh.chmod(target.stat().st_mode & 0o777)
        fresh.replace(target)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error.detail}") from None
    except OSError as error:
        raise SettingsError(f"cannot write {path}: {error.strerror or error}") from None


def read_value(text: str) -> Any:
    """A value as it is typed on a command line: true, .3, 5, or a word."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "null": None}.get(text, text)


def _remove(values: dict[str, Any], path: Sequence[str]) -> None:
    """Without a key, and without the sections that are empty then."""
    name, *below = path
    if below:
        _remove(values[name], below)
    if not below or not values[name]:
        del values[name]


def _changed(values: dict[str, Any], changes: Changes) -> dict[str, Any]:
    for key, value in changes.items():
        *sections, last = key.split(".")
        section = values
        for name in sections:
            inner = section.setdefault(name, {})
            if not isinstance(inner, dict):
                raise SettingsError(f"unknown key {key!r}: {name} is a value and has no keys")
            section = inner
        section[last] = value
    return values
