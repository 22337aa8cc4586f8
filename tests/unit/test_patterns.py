"""No regular expression of the code takes more than linear time, on any of a hundred kinds of hostile text."""

from __future__ import annotations

import asyncio
import re
import sys

import pytest

from cairn.language.linear import bound, bounded
from tests.unit.patterns import FRAGMENTS, ROOT


@pytest.mark.parametrize(("processes", "sieve"), [(1, 16), pytest.param(2, 1, marks=pytest.mark.siege)])
async def test_every_pattern_takes_linear_time(processes: int, sieve: int) -> None:
    """On white space, letters, a digit and a share of the other texts, other ones for each pattern; in a siege on all.

    What to do where one does not: compile it by cairn.language.linear.bounded, or let a repetition begin only where none of it
    stands before ("(?<!\\s)\\s*+,"), or let what is repeated not begin as it goes on."""
    said = await asyncio.gather(*(_scan(share, processes, sieve) for share in range(processes)))
    counts = [lines.pop() for lines in said]
    assert len(FRAGMENTS) > 100
    assert all(int(line.split()[1]) > 800 for line in counts)
    assert [line for lines in said for line in lines] == []


async def _scan(share: int, processes: int, sieve: int) -> list[str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.unit.slow_patterns",
        str(share),
        str(processes),
        str(sieve),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode().splitlines()


def test_a_pattern_is_compiled_when_it_is_first_used() -> None:
    pattern = bounded(r"a+(?P<rest>b*)", re.IGNORECASE)
    assert set(vars(pattern)) == {"_made_of"}
    found = pattern.search("xAAb")
    assert found is not None
    assert found["rest"] == "b"
    assert pattern.pattern == bound(r"a+(?P<rest>b*)")
    assert pattern.groupindex == {"rest": 1}
    assert vars(pattern)["search"]("ab"), "what is used again is the compiled pattern's own method"
    with pytest.raises(AttributeError):
        _ = pattern.nonsense  # type: ignore[attr-defined]
    with pytest.raises(re.error):
        bounded("(").search("")
