"""Models that remember: what a local model made of a text is the same the next time, and the tests of a process index the same
pages and ask the same questions hundreds of times. A seventh of the time of tests with a database was that.

All that is Cairn's runs as ever; kept is what ONNX Runtime answered to exactly the same tensors. Where a test is about a model
(tests/contract), each call is a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from cairn.providers import onnx_model

MOST = 4096
"""Calls that are kept, of all models: some 25 MB."""

_kept: dict[tuple[object, bytes], list[Any]] = {}
_state = {"on": False}


def turn_remembering(*, on: bool) -> None:
    _state["on"] = on


def make_sessions_remember() -> None:
    """Those that are opened from now on."""
    make: Callable[[Path, int | None], Any] = onnx_model._new_session
    onnx_model._new_session = lambda file, threads: _Remembering(make(file, threads))


class _Remembering:
    """An inference session."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def run(self, names: Sequence[str], inputs: dict[str, Any]) -> list[Any]:
        if not _state["on"]:
            return list(self._session.run(names, inputs))
        told = blake2b(repr((names, [(name, array.shape) for name, array in inputs.items()])).encode())
        for array in inputs.values():
            told.update(array.tobytes())
        key = (self, told.digest())
        if (known := _kept.pop(key, None)) is None:
            known = list(self._session.run(names, inputs))
            for array in known:
                array.flags.writeable = False
        _kept[key] = known  # behind all others
        while len(_kept) > MOST:
            _kept.pop(next(iter(_kept)), None)
        return list(known)
