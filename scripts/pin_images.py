"""Writes the digests of today's images behind their tags (`python:3.11-slim@sha256:...`). `make pin-images` runs it.

    python scripts/pin_images.py Dockerfile docker-compose.yml

Asks `docker buildx imagetools inspect`, which reads the registry and pulls nothing. A digest names the images of all platforms.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

IMAGE = re.compile(r"^(FROM |\s+image: )([\w./-]+:[\w.-]+)(@sha256:[0-9a-f]{64})?(?=\s|$)", re.MULTILINE)
"""An image with a tag; one without (`cairn`) is built here."""
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def find_digest(image: str) -> str:
    """Raises SystemExit with the words of docker."""
    command = ["docker", "buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SystemExit("docker is not installed here; run this where it is") from None
    digest = done.stdout.strip()
    if done.returncode or not DIGEST.fullmatch(digest):
        raise SystemExit(f"no digest of {image}: {' '.join((done.stderr or done.stdout).split())}")
    return digest


def main(paths: Sequence[str]) -> None:
    texts = {path: Path(path).read_text(encoding="utf-8") for path in paths}
    images = sorted({found[2] for text in texts.values() for found in IMAGE.finditer(text)})
    digests = {image: find_digest(image) for image in images}  # all of them, before a file is changed
    for path, text in texts.items():
        pinned = IMAGE.sub(lambda found: f"{found[1]}{found[2]}@{digests[found[2]]}", text)
        Path(path).write_text(pinned, encoding="utf-8")
    for image, digest in digests.items():
        print(f"{image}@{digest}")


if __name__ == "__main__":
    main(sys.argv[1:])
