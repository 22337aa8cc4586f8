"""Known vulnerabilities of what is locked: pip-audit on lists with hashes, and plain words where its data cannot be had.

    python scripts/audit_packages.py requirements/product.txt ...

Exit code 1 for a vulnerability or a failure of pip-audit itself. Where the data is out of reach (no network, an index that has
none) pip-audit may call every package unknown and all of them clean: that is no result, is said, and does not fail the check.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

UNREACHABLE = ("ConnectionError", "NameResolutionError", "Failed to resolve", "timed out", "Max retries exceeded")


def audit(path: str) -> tuple[list[str], int, int]:
    """Vulnerabilities of a list in words, how many of its packages were looked up, and how many it has. Raises ConnectionError
    where the data is out of reach, RuntimeError for anything else."""
    command = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner=off"]
    done = subprocess.run([*command, "--format=json", "-r", path], capture_output=True, text=True, check=False)
    if not done.stdout.strip().startswith("{"):
        words = " ".join(done.stderr.split())
        if any(sign in words for sign in UNREACHABLE):
            raise ConnectionError(words[-200:])
        raise RuntimeError(words[-1000:])
    return read_report(json.loads(done.stdout))


def read_report(report: dict[str, Any]) -> tuple[list[str], int, int]:
    """The same of the JSON that pip-audit writes."""
    packages = report["dependencies"]
    known = [one for one in packages if "skip_reason" not in one]
    bad = [
        f"{one['name']} {one['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'no version yet'}"
        for one in known
        for flaw in one["vulns"]
    ]
    return bad, len(known), len(packages)


def main(paths: Sequence[str]) -> int:
    bad: list[str] = []
    for path in paths:
        try:
            found, known, total = audit(path)
        except ConnectionError as error:
            print(f"{path}: NOT AUDITED, the data on vulnerabilities cannot be reached: {error}")
            continue
        except RuntimeError as error:
            print(f"{path}: pip-audit failed: {error}", file=sys.stderr)
            return 1
        bad += found
        if known < total:
            print(f"{path}: {total - known} of {total} packages NOT AUDITED, the index has no data on them")
        else:
            print(f"{path}: {total} packages, {len(found)} known vulnerabilities")
    for line in bad:
        print(line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
