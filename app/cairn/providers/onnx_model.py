"""What models on ONNX Runtime share: the session, the threads that all their work is done in, batches of like length.

One worker thread, or as many as there are cores, do all the work of a model, batch by batch and first come, first served: two
callers never compete for the cores, and a short call that arrives during a long one waits for a batch that is running, not for
the rest.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from cairn.errors import ProviderError, named_reason

T = TypeVar("T")
Ids = list[int]

BATCH_TEXTS: Final = 32
BATCH_TOKENS: Final = 1024
"""Padded tokens of one batch. What it computes on fits the caches: four times as many take a third more time for each
token, 120 MB more memory, and a query that arrives meanwhile has to wait for .3 s instead of .06."""
MOST_THREADS: Final = 4
"""More gain nothing on batches this small, and in a container the CPU count says more than the quota allows."""


def thread_count() -> int:
    """Of one model."""
    return min(MOST_THREADS, os.cpu_count() or 1)


_loaded: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()


def load_once(file: Path, make: Callable[[], T], *kind: Hashable) -> T:
    """What `make()` makes of the file, or made of it before while somebody still has it. It must not be changed, and be usable
    from several threads. Raises OSError, and what `make` raises."""
    state = file.stat()
    key = (str(file), state.st_ino, state.st_mtime_ns, state.st_size, *kind)
    found: T | None = _loaded.get(key)
    return _loaded.setdefault(key, make()) if found is None else found


def open_session(file: Path, threads: int | None = None) -> Any:
    """An inference session on the CPU, one for all who have it at the same time. Raises OSError, and whatever ONNX Runtime
    raises: run it by a `ModelThread`."""
    return load_once(file, lambda: _new_session(file, threads), "session", threads)


def _new_session(file: Path, threads: int | None) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or thread_count()
    options.log_severity_level = 3
    # Idle threads that spin take the cores from PostgreSQL, which shares them.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


class ModelThread:
    """The worker thread of one model, or several; `what` names the model in errors."""

    def __init__(self, what: str, threads: int = 1) -> None:
        self._what = what
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="onnx")

    async def run(self, task: Callable[[Any], T], argument: Any) -> T:
        """`task(argument)` behind what was asked before. Raises ProviderError, whatever the task raised."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, task, argument)
        except ProviderError:
            raise
        except Exception as error:  # the libraries raise bare Exception and RuntimeError
            raise ProviderError(f"{self._what} failed: {named_reason(error)}") from error

    def begin(self, task: Callable[[], object]) -> None:
        """`task()` behind what was asked before, without waiting for it; whoever needs what it loads meets its errors."""
        self._pool.submit(task)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def batches(lengths: Sequence[int], texts: int = BATCH_TEXTS, tokens: int = BATCH_TOKENS) -> list[list[int]]:
    """Indexes grouped by similar length: each group within so many texts and padded tokens (a longer text alone), and none in it
    twice as long as another: a question that is padded to the length of a passage costs as much as the passage."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Ascending order: this text is the longest of its group, so its length is what all are padded to.
        room = min(texts, tokens // max(1, lengths[index]))
        if groups and len(groups[-1]) < room and lengths[index] <= 2 * lengths[groups[-1][0]]:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def padded(rows: Sequence[Sequence[int]], fill: int = 0) -> NDArray[np.int64]:
    """Rows of different length as one array (rows, longest)."""
    out = np.full((len(rows), max(map(len, rows))), fill, np.int64)
    for number, row in enumerate(rows):
        out[number, : len(row)] = row
    return out
