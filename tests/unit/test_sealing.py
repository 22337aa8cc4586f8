"""Secrets that the database keeps and cannot read."""

from __future__ import annotations

import pytest

from cairn.errors import SettingsError
from cairn.providers.sealing import make_key, seal, unseal

SECRETS = {"token": "ghp_very_secret", "password": "ä"}


def test_secrets_come_back_by_their_key_where_they_belong() -> None:
    key = make_key()
    sealed = seal(key, SECRETS, "source 1")
    assert unseal(key, sealed, "source 1") == SECRETS
    assert b"very_secret" not in sealed
    assert seal(key, SECRETS, "source 1") != sealed


@pytest.mark.parametrize(("key", "place"), [(make_key(), "source 1"), (None, "source 2")])
def test_another_key_or_another_source_reads_nothing(key: str | None, place: str) -> None:
    own = make_key()
    with pytest.raises(SettingsError, match="another CAIRN_SECRETS_KEY"):
        unseal(key or own, seal(own, SECRETS, "source 1"), place)


@pytest.mark.parametrize("key", ["short", "c2hvcnQ=", "!" * 44])
def test_what_is_no_key_is_told(key: str) -> None:
    with pytest.raises(SettingsError, match="32 bytes in base64"):
        seal(key, SECRETS, "source 1")


def test_without_a_key_nothing_is_kept() -> None:
    with pytest.raises(SettingsError, match="needs CAIRN_SECRETS_KEY"):
        seal(None, SECRETS, "source 1")
