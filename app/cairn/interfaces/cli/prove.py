"""`cairn prove`: the proof of an answer, the texts that it was read from, and the program that checks it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from cairn.domain.proof import ProvenText
from cairn.errors import InputError
from cairn.interfaces.cli.terminal import note, services
from cairn.service import proofs


async def prove(run_id: UUID, texts: Path | None) -> int:
    """Print the proof in ASCII, so that no terminal or redirection changes it. Raises NotFoundError, ConflictError,
    TextDeletedError, and InputError for a folder that cannot be written to."""
    async with services() as opened:
        proof = await proofs.prove_run(opened, run_id)
        beside = [] if texts is None else await proofs.read_texts(opened, proof)
    if texts is not None:
        _write(texts, beside)
        note(f"{len(beside)} texts are in {texts}")
    print(json.dumps(proof, indent=2, sort_keys=True), flush=True)
    return 0


def _write(folder: Path, texts: Sequence[ProvenText]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in texts:
            (folder / one.file_name).write_bytes(one.text.encode())
    except OSError as error:
        raise InputError(f"the texts cannot be written to {folder}: {error.strerror or error}") from error


def print_verifier() -> int:
    """The source of the program that checks proofs."""
    print(proofs.verifier(), end="", flush=True)
    return 0
