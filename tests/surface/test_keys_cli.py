"""`cairn keys` as its users meet it."""

from __future__ import annotations

import pytest
from commands import Cairn


def test_a_key_is_made_listed_without_its_secret_and_revoked_within_its_tenant(cairn: Cairn) -> None:
    made = cairn("keys", "create", "box", "--tenant", "acme", "--scope", "read", "--expires", "90d", "--json").json
    assert made["scopes"] == ["read"]
    assert made["tenant"] == "acme"
    assert made["expires_at"]
    listed = cairn("keys", "list", "--tenant", "acme")
    assert made["id"] in listed.out
    assert made["key"] not in listed.out
    missing = cairn("keys", "list", "--tenant", "other")
    assert (missing.code, missing.out) == (1, "")
    assert "there is no tenant other" in missing.err
    assert cairn("keys", "list").out == "No keys.\n", "of the tenant of the process"
    assert cairn("keys", "revoke", made["id"], "--tenant", "other").code != 0
    assert cairn("keys", "revoke", made["id"], "--tenant", "acme").code == 0
    assert cairn("keys", "list", "--tenant", "acme", "--json").json[0]["revoked_at"]


def test_a_key_has_the_groups_that_it_was_given_last(cairn: Cairn, monkeypatch: pytest.MonkeyPatch) -> None:
    made = cairn("keys", "create", "box", "--tenant", "acme", "--scope", "read", "--group", "hr", "--json").json

    def groups() -> list[str]:
        listed: list[str] = cairn("keys", "list", "--tenant", "acme", "--json").json[0]["groups"]
        return listed

    change = ("keys", "groups", made["id"])
    given = cairn(*change, "--tenant", "acme", "--group", "sales", "-g", "board")
    assert given.out == f"Key {made['id']} (box): read; in board, sales; does not expire.\n"
    assert groups() == ["board", "sales"]
    assert cairn(*change, "--group", "hr").code != 0, "of another tenant"
    for unclear in ((), ("--none", "--group", "hr")):
        refused = cairn(*change, "--tenant", "acme", *unclear)
        assert (refused.code, refused.out) == (2, "")
    assert groups() == ["board", "sales"]
    assert cairn(*change, "--tenant", "acme", "--none").out == f"Key {made['id']} (box): read; does not expire.\n"
    assert groups() == []
    monkeypatch.setenv("CAIRN_TENANT", "acme")
    audited = cairn("audit", "--action", "key.change", "--json").json
    assert [one["detail"]["groups"] for one in audited] == [
        {"before": ["board", "sales"], "after": []},
        {"before": ["hr"], "after": ["board", "sales"]},
    ]


@pytest.mark.parametrize(
    "option",
    ["--requests-per-minute=99999999999", "--concurrent-runs=99999999999", "--tokens-per-day=1" + "0" * 22,
     "--cost-per-day=inf", "--cost-per-day=nan", "--requests-per-minute=-1"],
)  # fmt: skip
def test_limits_that_cannot_be_are_refused_in_one_line(cairn: Cairn, option: str) -> None:
    done = cairn("keys", "create", "box", "--scope", "read", option)
    assert done.code != 0
    assert not done.out
    assert "Traceback" not in done.err
    assert done.err.count("\n") == 1
    assert cairn("keys", "list").out == "No keys.\n"


@pytest.mark.parametrize(
    "command",
    [["keys", "create", "box", "--tenant", "ac\u200bme", "--scope", "read"], ["keys", "create", "bo\u200bx", "--scope", "read"]],
)  # fmt: skip
def test_a_name_that_looks_like_another_is_refused_in_one_line(cairn: Cairn, command: list[str]) -> None:
    done = cairn(*command)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "U+200B (ZERO WIDTH SPACE) at character 3" in done.err


def test_the_tenant_of_a_process_is_no_look_alike(cairn: Cairn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_TENANT", "acme\u202e")
    done = cairn("keys", "list")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "U+202E" in done.err
    monkeypatch.setenv("CAIRN_TENANT", "default")
    assert [one["tenant"] for one in cairn("tenant", "list", "--json").json] == ["default"]
