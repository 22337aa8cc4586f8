"""Proofs through their doors: over HTTP and from the command line they are the same, and the printed verifier takes both."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
import structlog
from commands import Cairn, in_process
from serving import Api

from cairn.service.verify_proof import verify
from tests.pdf_files import Sheet, pdf_file


@pytest.fixture
def harbour(api: Api) -> bytes:
    page = Sheet()
    page.text(50, 90, "The pilot fee is 310 euros for each entry into the harbour.")
    content = pdf_file(page)
    sent = api.client.post(
        "/collections/rules/documents", files=[("files", ("harbour.pdf", content))], params={"wait": True}
    )
    assert sent.status_code < 300, sent.text
    return content


@pytest.mark.siege
def test_both_doors_prove_the_same(
    api: Api, harbour: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CAIRN_DATABASE_URL", api.dsn)
    monkeypatch.setenv("CAIRN_HOME", str(api.folder))
    cairn: Cairn = in_process(capfd)
    asked = api.client.post("/query", json={"question": "How high is the pilot fee?", "collection": "rules"}).json()
    over_http = api.client.get(f"/runs/{asked['run_id']}/proof")
    assert over_http.status_code == 200
    printed = cairn("prove", asked["run_id"], "--texts", tmp_path / "texts")
    assert (printed.code, printed.out.isascii()) == (0, True)
    proof = over_http.json()
    same = proof.keys() - {"run", "digest", "settings"}
    assert {name: printed.json[name] for name in same} == {name: proof[name] for name in same}
    assert proof["citations"][0]["quote"] == "The pilot fee is 310 euros for each entry into the harbour."

    program, file = tmp_path / "verify_proof.py", tmp_path / "harbour.pdf"
    program.write_text(cairn("prove", "--verifier").out)
    file.write_bytes(harbour)
    (tmp_path / "proof.json").write_bytes(over_http.content)
    texts = list((tmp_path / "texts").iterdir())
    assert len(texts) == 1
    command = [sys.executable, "-I", "-S", str(program), str(tmp_path / "proof.json"), str(file), *map(str, texts)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    assert "harbour.pdf is the file; what it says is taken on trust (application/pdf)" in checked.stdout
    assert verify(printed.out.encode(), {"harbour.pdf": harbour}) == (
        [], ["harbour.pdf: harbour.pdf is the file; what it says is taken on trust (application/pdf)"]
    )  # fmt: skip
    taken = cairn("prove", asked["run_id"], "--texts", file)
    assert (taken.code, "cannot be written" in taken.err) == (2, True)
    assert cairn("prove").code == 2
    structlog.reset_defaults()


def test_what_has_no_proof_is_said(api: Api, harbour: bytes) -> None:
    assert api.client.get(f"/runs/{uuid4()}/proof").status_code == 404
    found = api.client.post("/search", json={"query": "pilot fee", "collection": "rules"}).json()
    refused = api.client.get(f"/runs/{found['trace_id']}/proof")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    asked = api.client.post("/query", json={"question": "How high is the pilot fee?", "collection": "rules"}).json()
    api.client.delete(f"/collections/rules/documents/{asked['citations'][0]['document_id']}").raise_for_status()
    gone = api.client.get(f"/runs/{asked['run_id']}/proof")
    assert (gone.status_code, json.loads(gone.content)["code"]) == (410, "text-deleted")
