"""What is installed is what was locked: exact versions, with hashes, that are those which pyproject.toml asks for."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cairn.providers.minilm_build import WEIGHTS_SHA256, build

REPO = Path(__file__).resolve().parents[2]
FOLDER = REPO / "requirements"
LISTS = (
    "product",
    "web",
    "parquet",
    "bulk",
    "otel",
    "sources",
    "s3",
    "clients",
    "test",
    "embedded",
    "model",
    "e5",
    "onnx",
    "build",
    "check",
    "lock",
)
PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, REPO / "scripts" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def locked(name: str) -> dict[str, list[Requirement]]:
    """Requirements of a list by name: several where versions of Python need different ones."""
    text = re.sub(r"\\\n\s*--hash=\S+", "", (FOLDER / f"{name}.txt").read_text())
    found: dict[str, list[Requirement]] = {}
    for line in text.replace("\\\n", "").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            requirement = Requirement(line)
            found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


@pytest.mark.parametrize("name", LISTS)
def test_every_line_is_one_version_with_hashes(name: str) -> None:
    entries = re.split(r"\n(?=[a-zA-Z0-9])", (FOLDER / f"{name}.txt").read_text().partition("\n")[2])
    for entry in entries:
        assert re.match(r"[\w.-]+(\[[\w,-]+\])?==[\w.!+]+( ; [^\n]+)? \\\n", entry), entry[:200]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry[:200]
    assert len(entries) == sum(map(len, locked(name).values()))


@pytest.mark.parametrize("name", LISTS)
def test_no_list_names_a_package_index(name: str) -> None:
    text = (FOLDER / f"{name}.txt").read_text()
    assert not re.search(r"https?:|file:|--(extra-)?index|--find-links|--trusted", text)
    assert str(Path.home()) not in text


@pytest.mark.parametrize("name", LISTS)
def test_what_is_declared_is_locked_in_a_version_that_fits(name: str) -> None:
    """Who changes pyproject.toml runs `make lock`."""
    have = locked(name)
    for line in script("lock_requirements").declared(name):
        if not line.strip():
            continue
        wanted = Requirement(line)
        versions = [str(one.specifier).removeprefix("==") for one in have[canonicalize_name(wanted.name)]]
        assert any(wanted.specifier.contains(version) for version in versions), (line, versions)


def test_lists_that_share_an_environment_agree() -> None:
    product = locked("product")
    for name in ("test", "model", "onnx", "web", "parquet", "bulk", "otel", "sources"):
        for package, lines in locked(name).items():
            versions = {str(one.specifier) for one in lines}
            if package in product:
                assert versions <= {str(one.specifier) for one in product[package]}, package


def test_what_nobody_imports_is_left_out() -> None:
    assert not {"zstandard", "hf-xet", "torch", "sentence-transformers", "scipy"} & {
        package for package, lines in locked("product").items() if any(one.marker is None for one in lines)
    }


def test_everything_is_installed_with_hashes() -> None:
    """Each `pip install`, but for the project itself and the libraries that benchmarks compare with."""
    makefile = (REPO / "Makefile").read_text()
    assert "LOCKED := --require-hashes --no-deps" in makefile
    installs = [line for line in makefile.splitlines() if re.search(r"\$\(PIP\) |pip .* install ", line)]
    own = [line for line in installs if "--no-deps --no-build-isolation --editable ." in line or "$(PEERS)" in line]
    assert len(own) == 2
    assert all("$(LOCKED)" in line for line in installs if line not in own and not line.startswith("PIP :="))
    dockerfile = re.sub(r"\\\n", " ", (REPO / "Dockerfile").read_text())
    for command in re.findall(r"pip (?:--python \S+ )?install ([^&\n]*)", dockerfile):
        assert "--require-hashes" in command or "--no-deps --no-build-isolation ." in command, command


# --- weights ------------------------------------------------------------------------------------------------------------


def test_other_weights_are_not_built(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(ValueError, match=WEIGHTS_SHA256):
        build(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# --- vulnerabilities ----------------------------------------------------------------------------------------------------


def test_packages_without_data_are_not_called_clean(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pip-audit answers where the index has no data: everything skipped, exit code 0."""
    module = script("audit_packages")
    skipped = {"name": "a", "skip_reason": "Dependency not found on PyPI and could not be audited: a (1)"}
    clean = {"name": "b", "version": "1", "vulns": []}
    flawed = {"name": "c", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"], "aliases": []}]}
    for packages, code, words in (
        ([skipped], 0, "1 of 1 packages NOT AUDITED"),
        ([clean], 0, "1 packages, 0 known vulnerabilities"),
        ([skipped, flawed], 1, "c 1: PYSEC-1, mended in 2"),
    ):
        monkeypatch.setattr(module, "audit", lambda _, found=packages: module.read_report({"dependencies": found}))
        assert module.main(["list.txt"]) == code
        printed = capsys.readouterr()
        assert words in printed.out + printed.err


# --- images -------------------------------------------------------------------------------------------------------------


def test_images_are_pinned_by_one_command(tmp_path: Path) -> None:
    """Against a docker that answers as `imagetools inspect` does; all images or none."""
    docker = tmp_path / "docker"
    docker.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "image = sys.argv[4]\n"
        "assert sys.argv[1:4] == ['buildx', 'imagetools', 'inspect'] and sys.argv[5] == '--format', sys.argv\n"
        "if '@' in image: sys.exit('asked for ' + image)\n"
        "print('sha256:' + ('a' if image.startswith('python') else 'b') * 64)\n"
    )
    docker.chmod(0o755)
    files = [tmp_path / "Dockerfile", tmp_path / "docker-compose.yml"]
    for file in files:
        file.write_text((REPO / file.name).read_text())
    command = [sys.executable, str(REPO / "scripts" / "pin_images.py"), *map(str, files)]
    for _ in range(2):  # also where they are pinned already
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert files[0].read_text().count(f"FROM python:3.11-slim@sha256:{'a' * 64}") == 2
    assert f"image: pgvector/pgvector:pg18@sha256:{'b' * 64}\n" in files[1].read_text()
    assert "image: cairn\n" in files[1].read_text()
    docker.write_text("#!/bin/sh\necho no such image >&2; exit 1\n")
    before = [file.read_text() for file in files]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no such image" in done.stderr
    assert [file.read_text() for file in files] == before


# --- the bill of materials ----------------------------------------------------------------------------------------------


def test_the_bill_of_materials_can_be_made_where_its_tool_is(tmp_path: Path) -> None:
    tool = REPO / ".venv-check" / "bin" / "cyclonedx-py"
    if not tool.exists():
        pytest.skip("the check tools are not installed (make check)")
    target = tmp_path / "sbom.json"
    subprocess.run(
        [tool, "requirements", "--output-reproducible", "--output-file", target, FOLDER / "product.txt"], check=True
    )
    components = json.loads(target.read_text())["components"]
    assert len(components) == sum(map(len, locked("product").values()))
    assert all(one["externalReferences"][0]["hashes"] for one in components)
