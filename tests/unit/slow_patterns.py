"""Prints the patterns of the code that take more than linear time on a hostile text, a line each; run by test_patterns.

Each is searched for, to the end, in n, 2n and 4n characters of each text (CAIRN_TEST_PATTERN_CHARS; 500, or 250 of few texts):
what takes less than BRIEF for 4n is fine, what does not grow by much more than the text is so too. What seems to is looked at
once more, with 8n.
Time is the thread's own, so that a busy machine says nothing.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
import zlib
from collections.abc import Iterator
from re._parser import SubPattern, parse  # type: ignore[import-not-found]
from typing import Any

from tests.unit.patterns import FRAGMENTS, record

N = int(os.environ.get("CAIRN_TEST_PATTERN_CHARS") or (500 if sys.argv[3:] == ["1"] else 250))
BRIEF = 0.002 * N / 1000
"""Seconds for 4n characters."""
GROWTH = 9.0
"""Between n and 4n: 4 is linear, 16 quadratic; runs that are bounded below n are still filling up."""
HOPELESS = 2.0
COMMONEST = 8
"""Fragments that are tried in any case, the first ones."""
FEW = 12


class _TooLongError(Exception):
    pass


def _ring(*_: object) -> None:
    raise _TooLongError


def texts(pattern: str, sieve: int) -> Iterator[tuple[str, str]]:
    """What a text begins with, and what is repeated; each ends in what completes no repetition. `sieve`: of what follows white
    space, letters and a digit one in so many is taken, others for each pattern."""
    for number, fragment in enumerate(FRAGMENTS):
        if number < COMMONEST or not fragment.strip() or (zlib.crc32(pattern.encode()) + number) % sieve == 0:
            yield "", fragment
    for fragment in FRAGMENTS[:8] if sieve == 1 else ():
        yield "who is alice", fragment


def seconds(pattern: re.Pattern[str], text: str) -> float:
    begun = time.thread_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, HOPELESS)
    try:
        for _ in pattern.finditer(text):
            pass
    except _TooLongError:
        return HOPELESS
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.thread_time() - begun


def slow(pattern: re.Pattern[str], sieve: int) -> str | None:
    """The text on which the pattern is slow, and how."""
    for begin, fragment in texts(pattern.pattern, sieve):

        def made(length: int, begin: str = begin, fragment: str = fragment) -> str:
            return begin + (fragment * (length // len(fragment) + 1))[:length] + "x"

        last = seconds(pattern, made(4 * N))
        if last < BRIEF or (last < HOPELESS and last <= GROWTH * seconds(pattern, made(N))):
            continue
        # in turns, and of longer texts too: a neighbour on the same core is slow for a while, a bounded run is full at 2n
        rounds = [[seconds(pattern, made(length)) for length in (N, 2 * N, 4 * N, 8 * N)] for _ in range(5)]
        spent = [min(times) for times in zip(*rounds, strict=True)]
        grew = spent[2] > GROWTH * spent[0] and spent[3] > GROWTH * spent[1]
        if spent[0] >= HOPELESS or (spent[2] >= BRIEF and grew):
            shown = ", ".join(f"{one * 1000:.1f}" for one in spent)
            return f"{begin!r} + {fragment!r} * n: {shown} ms for n, 2n, 4n, 8n"
    return None


def repeats(node: Any) -> bool:
    """Whether a pattern has a repetition of more than a few; without one it is linear, and need not be tried."""
    if isinstance(node, tuple) and len(node) == 3 and isinstance(node[0], int) and isinstance(node[1], int):
        return node[1] > FEW or repeats(node[2])
    if isinstance(node, (tuple, list, SubPattern)):
        return any(map(repeats, node))
    return False


def main() -> None:
    signal.signal(signal.SIGVTALRM, _ring)
    share, shares, sieve = map(int, sys.argv[1:4])
    patterns = sorted(record().items(), key=lambda found: (found[0].pattern, found[0].flags))
    for pattern, where in patterns[share::shares]:
        if repeats(parse(pattern.pattern, pattern.flags)) and (problem := slow(pattern, sieve)):
            print(f"{where} {problem}: {pattern.pattern[:200]!r}", flush=True)
    print(f"scanned {len(patterns)} patterns")


if __name__ == "__main__":
    main()
