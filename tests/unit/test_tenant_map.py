"""The map of tenants to databases: what the file may say, and that nothing of a wrong one is guessed at or shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cairn.errors import SettingsError
from cairn.settings import DEFAULT, MOVING, Environment, check_process, read_environment

MAP = """
[databases.east]
url = "postgresql://cairn:hunter2@east.example.org/cairn"
app_url = "postgresql://cairn_server:hunter2@east.example.org/cairn"
replica_urls = ["postgresql://cairn_server:hunter2@replica.example.org/cairn"]

[databases.west]
url = "postgres://cairn@west.example.org/cairn"

[tenants]
acme = "east"
"Globex Inc." = "west"
initech = "moving"
old = "default"
"""


def environment(folder: Path, text: str, **more: str) -> Environment:
    file = folder / "tenants.toml"
    file.write_text(text)
    told = {"CAIRN_DATABASE_URL": "postgresql://cairn@home.example.org/cairn", "CAIRN_TENANT_DATABASES": str(file)}
    return read_environment(told | more)


def test_a_tenant_leads_to_its_database(tmp_path: Path) -> None:
    told = environment(tmp_path, MAP)
    places = [told.tenant_map.place_of(name) for name in ("acme", "Globex Inc.", "initech", "old", "anybody")]
    assert places == ["east", "west", MOVING, DEFAULT, DEFAULT]
    assert told.tenant_map.names == (DEFAULT, "east", "west")
    east = told.for_tenant("acme")
    assert east == told.at("east")
    assert east.database_url == "postgresql://cairn:hunter2@east.example.org/cairn"
    assert east.app_database_url == "postgresql://cairn_server:hunter2@east.example.org/cairn"
    assert east.replica_urls == ("postgresql://cairn_server:hunter2@replica.example.org/cairn",)
    assert told.for_tenant("anybody") is told
    with pytest.raises(SettingsError, match="'initech' is being moved"):
        told.for_tenant("initech")
    with pytest.raises(SettingsError, match=r"no database 'north'; .* name default, east, west"):
        told.at("north")
    assert read_environment({}).tenant_map.names == (DEFAULT,)


def test_nothing_of_the_default_database_is_used_elsewhere(tmp_path: Path) -> None:
    own = {
        name: f"postgresql://cairn@home.example.org/{name}"
        for name in ("CAIRN_APP_DATABASE_URL", "CAIRN_ANALYST_DATABASE_URL", "CAIRN_REPLICA_URL")
    }
    west = environment(tmp_path, MAP, **own).at("west")
    assert (west.database_url, west.app_database_url) == ("postgres://cairn@west.example.org/cairn", None)
    assert (west.analyst_database_url, west.replica_urls) == (None, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[tenants]\nacme = "east"', "tenant 'acme' is to live in 'east', which is no database of the file"),
        ("[databases.east]", "databases.east.url: Field required"),
        ('[databases.east]\nurl = "mysql://u:hunter2@x/y"', "databases.east.url: is no URL of PostgreSQL"),
        ('[databases.east]\nurl = "postgresql://u:hunter2@x/y"\napp-url = ""', "databases.east.app-url: unknown key"),
        ('[databases.East]\nurl = "postgresql://u:hunter2@x/y"', "databases.East: String should match pattern"),
        ('[databases.default]\nurl = "postgresql://u:hunter2@x/y"', "databases.default: the name is taken"),
        ('[databases.moving]\nurl = "postgresql://u:hunter2@x/y"', "databases.moving: the name is taken"),
        ('[tenants]\n" acme" = "default"', "tenant ' acme' is no name of a tenant"),
        ('[tenants]\nacme = 7', "tenants.acme: Input should be a valid string"),
        ('[databases.east]\nurl = "postgresql://u:hunter2@x', "is not TOML"),
        ('[tenants]\nacme = "default"\nacme = "moving"', "is not TOML"),
        ("[server]\n", "server: unknown key"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_meant_is_one_line_without_passwords(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SettingsError) as refused:
        environment(tmp_path, text)
    assert problem in refused.value.detail
    assert str(tmp_path / "tenants.toml") in refused.value.detail
    assert len(refused.value.detail.splitlines()) == 1
    assert "hunter2" not in refused.value.detail


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"CAIRN_TENANT_DATABASES=.*No such file or directory"):
        read_environment({"CAIRN_TENANT_DATABASES": str(tmp_path / "none.toml")})


def test_urls_are_not_in_what_is_printed_of_the_map(tmp_path: Path) -> None:
    assert "hunter2" not in repr(environment(tmp_path, MAP).tenant_map)


def test_a_process_for_many_tenants_tells_callers_apart_and_keeps_its_own_tenant(tmp_path: Path) -> None:
    told = environment(tmp_path, MAP)
    with pytest.raises(SettingsError, match="set CAIRN_AUTH=keys"):
        check_process(told, serves=True)
    check_process(told, serves=False)
    check_process(replace(told, auth="keys"), serves=True)
    check_process(read_environment({}), serves=True)
    for serves in (True, False):
        with pytest.raises(SettingsError, match="CAIRN_TENANT=acme names the tenant of this process"):
            check_process(environment(tmp_path, MAP, CAIRN_TENANT="acme", CAIRN_AUTH="keys"), serves=serves)
