"""The settings in force, and the file that they follow."""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from app.errors import SettingsError
from app.settings.root import Settings, parse_settings

log = structlog.get_logger(__name__)


class SettingsStore:
    """Holds the snapshot in force and replaces it whole when the file changes to something valid."""

    def __init__(self, path: Path | None = None, initial: Settings | None = None) -> None:
        """Read `path` now. Raises SettingsError when it is unusable: at start there are no old settings to keep."""
        self.path = path
        self.problem: str | None = None
        self.current = initial or (self._read() if path else Settings())

    def _read(self) -> Settings:
        assert self.path is not None
        try:
            raw = self.path.read_bytes()
        except OSError as error:
            raise SettingsError(f"{self.path}: {error.strerror}") from None
        try:
            return parse_settings(raw)
        except SettingsError as error:
            raise SettingsError(f"{self.path}: {error.detail}") from None

    def reload(self) -> bool:
        """Read the file again; True when the snapshot changed. A bad file is reported once and changes nothing."""
        try:
            fresh = self._read()
        except SettingsError as error:
            if error.detail != self.problem:
                log.error("settings.rejected", problem=error.detail, kept=self.current.revision)
            self.problem = error.detail
            return False
        self.problem = None
        if fresh == self.current:
            return False
        log.info("settings.reloaded", old=self.current.revision, new=fresh.revision)
        self.current = fresh
        return True

    async def watch(self, stop: asyncio.Event | None = None) -> None:
        """Follow the file until cancelled. The folder is watched: an atomic rename replaces the file's inode."""
        from watchfiles import awatch

        if self.path is None:
            return
        target = self.path.resolve()
        async for changes in awatch(target.parent, stop_event=stop, debounce=50, step=20, recursive=False):
            if any(Path(name).name == target.name for _, name in changes):
                self.reload()
