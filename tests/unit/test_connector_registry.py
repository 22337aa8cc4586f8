"""Which addresses, options and secrets a source may have, before anything is connected to."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cairn.connectors.connector import SourceRefused
from cairn.connectors.git_connector import GitConnector, RepositoryAddress
from cairn.connectors.registry import KINDS, OF_ALL, check_address, directing_options, list_fields, open_connector
from cairn.distribution import MODULES
from cairn.settings import UrlSettings

EVERYWHERE = UrlSettings(allowed_hosts=("*",))
ACCOUNT = {"type": "service_account", "token_uri": "https://oauth2.googleapis.com/token"}
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "connectors.md"


@pytest.fixture
def everything_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, "sources", "json")
    monkeypatch.setitem(MODULES, "sources-cloud", "json")


@pytest.mark.parametrize(
    ("address", "extra"),
    [("s3://docs", "sources"), ("sftp://host/srv", "sources"), ("git+https://host/x.git", "sources"), ("github://a/b", "sources"),
     ("https://host/x.git", "sources"), ("gs://docs", "sources-cloud"), ("az://docs", "sources-cloud")],
)  # fmt: skip
def test_a_part_that_is_missing_is_named(address: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sources", "sources-cloud"):
        monkeypatch.setitem(MODULES, name, "no_such_package.inside")
    with pytest.raises(SourceRefused, match=re.escape(f"pip install 'pgcairn[{extra}]'")):
        check_address(address, {})
    for core in ("https://host/", "webdavs://host/x", "file:///srv"):
        check_address(core, {})


@pytest.mark.parametrize(
    ("address", "options", "secrets", "said"),
    [
        ("az://docs", {}, {"account_key": "aw=="}, "account_name is missing"),
        ("az://docs", {"account_name": "evil.example.org/"}, {"account_key": "aw=="}, "account_name is missing"),
        ("az://docs", {"account_name": "team"}, {}, "secret account_key or sas_token"),
        ("az://docs", {"account_name": "team"}, {"account_key": "pw-secret"}, "secret account_key is no key"),
        ("gs://docs", {}, {}, "secret service_account"),
        ("gs://docs", {}, {"service_account": "{"}, "secret service_account"),
        (
            "gs://docs",
            {},
            {"service_account": json.dumps({**ACCOUNT, "type": "external_account"})},
            "secret service_account",
        ),
        (
            "gs://docs",
            {},
            {"service_account": json.dumps({**ACCOUNT, "token_uri": "http://10.0.0.1"})},
            "secret service_account",
        ),
        ("s3://docs", {"server_side": "true"}, {}, "option server_side is none of a bucket of S3"),
        ("https://host/", {}, {"password": "pw-secret"}, "secret password is none of a site"),
        ("https:///x", {}, {}, "names no host"),
    ],
)
@pytest.mark.usefixtures("everything_installed")
def test_what_cannot_be_opened_is_refused_at_once(
    address: str, options: dict[str, str], secrets: dict[str, str], said: str
) -> None:
    """No library of a cloud is let look for credentials of its own."""
    with pytest.raises(SourceRefused, match=said) as refused:
        open_connector(address, options, secrets, allow=EVERYWHERE)
    assert "pw-secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "options", "ref"),
    [
        ("github:team/docs", {}, ""),
        ("github:team/docs.git@feature/new", {}, "feature/new"),
        ("github://team/docs/", {"ref": "v2"}, "v2"),
    ],
)
@pytest.mark.usefixtures("everything_installed")
def test_a_repository_of_github_is_read_by_git(address: str, options: dict[str, str], ref: str) -> None:
    there = open_connector(address, options, {}, allow=UrlSettings(allowed_hosts=("github.com",)))
    assert isinstance(there, GitConnector)
    assert there.address == RepositoryAddress("https://github.com/team/docs.git", ref)
    with pytest.raises(SourceRefused, match=re.escape("github.com port 443 is not among")):
        open_connector(address, options, {}, allow=UrlSettings(allowed_hosts=("example.org",)))


@pytest.mark.parametrize(
    ("address", "options", "said"),
    [
        ("github:team", {}, "github:OWNER/REPOSITORY"),
        ("github:team/../docs", {}, "github:OWNER/REPOSITORY"),
        ("github:team/docs#main", {}, "github:OWNER/REPOSITORY@BRANCH"),
        ("github:team/docs?ref=main", {}, "github:OWNER/REPOSITORY@BRANCH"),
        ("github:team/docs@", {}, "github:OWNER/REPOSITORY@BRANCH"),
        ("github:evil.example.org:8443/docs", {}, "github:OWNER/REPOSITORY"),
        ("github:ada:corvid@evil/docs", {}, "github:OWNER/REPOSITORY"),
        ("github:team/docs@main", {"ref": "v2"}, "names a branch already, main"),
    ],
)
@pytest.mark.usefixtures("everything_installed")
def test_what_is_no_repository_of_github_is_refused(address: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(SourceRefused, match=said) as refused:
        open_connector(address, options, {}, allow=EVERYWHERE)
    assert "corvid" not in str(refused.value)


@pytest.mark.usefixtures("everything_installed")
def test_hosts_of_clouds_have_to_be_allowed() -> None:
    key = {"service_account": json.dumps(ACCOUNT)}
    half = UrlSettings(allowed_hosts=("storage.googleapis.com",))
    for address, options, secrets, allow, host in (
        ("gs://docs", {}, key, half, "oauth2.googleapis.com"),
        ("az://docs", {"account_name": "team"}, {"sas_token": "t"}, half, "team.blob.core.windows.net"),
    ):
        with pytest.raises(SourceRefused, match=re.escape(f"{host} port 443 is not among")):
            open_connector(address, options, secrets, allow=allow)
        open_connector(address, options, secrets, allow=EVERYWHERE)
        open_connector(address, {**options, "anon": "true"}, {}, allow=EVERYWHERE)


def test_the_documentation_has_each_kind_with_its_options_and_secrets() -> None:
    rows = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    for kind in KINDS:
        row = next(row for row in rows if f"`{kind.schemes[0]}://" in row)
        _, options, secrets = (set(re.findall(r"`(\w+)`", cell)) for cell in row.strip("|").split("|")[1:])
        assert (options, secrets) == (set(kind.options), set(kind.secrets)), kind.name
    said = DOCUMENT.read_text()
    assert all(f"| `{option}` |" in said for option in OF_ALL)


@pytest.mark.parametrize(
    "address", ["git+https://h/r", "webdavs://h/r", "sftp://h/r", "s3://b/r", "gs://b/r", "az://b/r"]
)
def test_an_option_that_names_a_server_or_a_user_is_one_that_directs_secrets(address: str) -> None:
    options, _ = list_fields(address)
    assert directing_options(address) == {*options} - {"anon", "ref", "folder"}
