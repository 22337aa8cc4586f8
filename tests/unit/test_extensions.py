"""Entry points of other packages: what is used, what is left out, and that nothing of it stops the start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.plugins import broken_extensions, extensions, instance_of
from tests.conftest import InstallPackage


def test_a_part_of_another_package_is_found_by_name_and_made_once(install_package: InstallPackage) -> None:
    install_package("ext_good", "PART = ['used']\n", tools={"weather": "ext_good:PART"})
    first, second = (extensions("tools", instance_of(list)) for _ in range(2))
    assert first == {"weather": ["used"]}
    assert first["weather"] is second["weather"]
    assert extensions("loaders", instance_of(list)) == {}
    assert broken_extensions() == []


@pytest.mark.parametrize(
    ("source", "value", "why"),
    [
        ("raise RuntimeError('no key')\n", "ext_bad:PART", "RuntimeError: no key"),
        ("raise SystemExit(3)\n", "ext_bad:PART", "SystemExit: 3"),
        ("", "ext_bad:PART", "AttributeError"),
        ("", "ext_absent:PART", "ModuleNotFoundError"),
        ("PART = 7\n", "ext_bad:PART", "TypeError: it is int, not list"),
    ],
)
def test_a_broken_part_is_named_and_costs_no_other(
    install_package: InstallPackage, source: str, value: str, why: str
) -> None:
    install_package("ext_bad", source, tools={"broken": value})
    install_package("ext_fine", "PART = []\n", tools={"fine": "ext_fine:PART"})
    assert extensions("tools", instance_of(list)) == {"fine": []}
    [broken] = broken_extensions()
    assert (broken.group, broken.name, broken.package) == ("tools", "broken", "ext_bad")
    assert broken.reason.startswith(why)
    assert "extension broken of ext_bad (cairn.tools) is not used" in str(broken)
    assert len(extensions("tools", instance_of(list))) == len(broken_extensions()) == 1, "reported once"


def test_a_built_in_name_is_not_replaced(install_package: InstallPackage) -> None:
    install_package("ext_shadow", "PART = []\n", tools={"search_docs": "ext_shadow:PART"})
    assert extensions("tools", instance_of(list), {"search_docs"}) == {}
    assert "is built in" in broken_extensions()[0].reason


def test_of_two_packages_with_one_name_the_first_by_name_is_used(install_package: InstallPackage) -> None:
    install_package("ext_b", "PART = ['b']\n", tools={"same": "ext_b:PART"})
    install_package("ext_a", "PART = ['a']\n", tools={"same": "ext_a:PART"})
    assert extensions("tools", instance_of(list)) == {"same": ["a"]}
    assert [one.package for one in broken_extensions()] == ["ext_b"]


@pytest.mark.parametrize("name", ["Weather", "9days", "a" * 64, "two words"])
def test_a_name_that_a_prompt_or_a_setting_could_not_carry_is_refused(
    install_package: InstallPackage, name: str
) -> None:
    install_package("ext_named", "PART = []\n", tools={name: "ext_named:PART"})
    assert extensions("tools", instance_of(list)) == {}
    assert [one.name for one in broken_extensions()] == [name]


def test_a_part_that_calls_itself_otherwise_is_refused(install_package: InstallPackage) -> None:
    install_package("ext_other", "class Part:\n    name = 'other'\nPART = Part()\n", tools={"mine": "ext_other:PART"})
    assert extensions("tools", instance_of(object)) == {}
    assert "calls itself 'other'" in broken_extensions()[0].reason


def test_looking_for_parts_loads_nothing_heavy() -> None:
    """The child that reads one file starts with it."""
    code = "import sys, cairn.plugins as e; e.extensions('loaders', e.instance_of(object)); print(*sys.modules)"
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "app")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert not {"structlog", "pydantic"} & {*done.stdout.split()}
