"""`cairn tenant`: a tenant moves from one home to another and answers there as before; what it prints, and its exit codes."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import Cairn

TEXT = "# Rocks\n\nBasalt is a dark rock. Ada Lovelace found basalt in Iceland. Lava cools and becomes basalt.\n"


@pytest.mark.siege
def test_a_tenant_moves(
    cairn: Cairn, fresh_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "rocks.md").write_text(TEXT)
    monkeypatch.setenv("CAIRN_TENANT", "acme")
    assert cairn("ingest", "rocks.md").code == 0
    before = cairn("search", "dark rock", "--json").json["results"]

    exported = cairn("tenant", "export", "acme", "--out", "acme.cairn")
    assert (exported.code, exported.out) == (0, "")
    assert "acme.cairn has tenant acme: " in exported.err
    again = cairn("tenant", "export", "acme", "--out", "acme.cairn")
    assert again.code == 1
    assert "acme.cairn exists already; choose another name" in again.err
    missing = cairn("tenant", "export", "nobody", "--out", "nobody.cairn")
    assert (missing.code, missing.err) == (1, "cairn: there is no tenant 'nobody'; see cairn tenant list\n")
    assert not (tmp_path / "nobody.cairn").exists()

    monkeypatch.setenv("CAIRN_DATABASE_URL", fresh_database())
    cut = tmp_path / "cut.cairn"
    cut.write_bytes((tmp_path / "acme.cairn").read_bytes()[:-100])
    refused = cairn("tenant", "import", cut)
    assert (refused.code, refused.out, len(refused.err.splitlines())) == (1, "", 1)
    imported = cairn("tenant", "import", "acme.cairn")
    assert imported.code == 0, imported.err
    assert imported.out.startswith("Imported tenant acme: ")
    assert cairn("search", "dark rock", "--json").json["results"] == before
    twice = cairn("tenant", "import", "acme.cairn")
    assert twice.code == 1
    assert twice.err == "cairn: there is a tenant 'acme' already; give another name with --as\n"
    assert cairn("tenant", "import", "acme.cairn", "--as", "copy").code == 0

    listed = cairn("tenant", "list", "--json").json
    assert [(one["tenant"], one["kept"]["documents"]) for one in listed] == [("acme", 1), ("copy", 1)]
    assert all(one["created_at"] for one in listed)
    assert cairn("tenants", "list").out == cairn("tenant", "list").out, "what it was called before"
    assert "\n  tenants " not in cairn("--help").out


def test_deleting_asks(cairn: Cairn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "rocks.md").write_text(TEXT)
    monkeypatch.setenv("CAIRN_TENANT", "acme")
    assert cairn("ingest", "rocks.md").code == 0
    own = cairn("tenant", "delete", "acme")
    assert (own.code, own.out) == (1, ""), "before anything is shown or asked"
    assert "name another in CAIRN_TENANT" in own.err
    monkeypatch.setenv("CAIRN_TENANT", "operator")
    monkeypatch.setattr(sys, "stdin", io.StringIO("acm\n"))
    kept = cairn("tenant", "delete", "acme")
    assert kept.code == 1
    assert "acme: 1 documents" in kept.out
    assert "Nothing was deleted." in kept.out
    monkeypatch.setattr(sys, "stdin", io.StringIO("acme\n"))
    gone = cairn("tenant", "delete", "acme")
    assert (gone.code, "Deleted tenant acme: " in gone.out) == (0, True), gone.err
    assert cairn("tenant", "delete", "acme", "--yes").code == 1
    assert [one["tenant"] for one in cairn("tenant", "list", "--json").json] == ["operator"]
    (deed,) = cairn("audit", "--action", "tenant.delete", "--json").json
    assert deed["target"] == "acme"


@pytest.mark.siege
def test_to_standard_output(cairn: Cairn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "rocks.md").write_text(TEXT)
    monkeypatch.setenv("CAIRN_TENANT", "acme")
    assert cairn("ingest", "rocks.md").code == 0
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=written, flush=lambda: None, isatty=lambda: False))
    assert cairn("tenant", "export", "acme", "--out", "-").code == 0
    monkeypatch.undo()
    with zipfile.ZipFile(written) as archive:
        assert archive.testzip() is None
        assert json.loads(archive.read("manifest.json"))["tenant"] == "acme"
