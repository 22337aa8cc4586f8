"""Secrets of sources at rest."""

from __future__ import annotations

import base64
from uuid import uuid4

import pytest

from cairn.connectors.seal_secrets import fingerprint_key, make_key, open_secrets, seal_secrets
from cairn.errors import InputError, SettingsError

SECRETS = {"password": "corvid-lantern"}
SOURCE = uuid4()


def test_what_is_sealed_is_opened_with_the_same_key_alone() -> None:
    key = make_key()
    sealed = seal_secrets(SECRETS, key, 1, SOURCE)
    assert b"corvid" not in sealed
    assert sealed != seal_secrets(SECRETS, key, 1, SOURCE)
    assert open_secrets(sealed, key, 1, SOURCE) == SECRETS
    with pytest.raises(InputError, match="another key"):
        open_secrets(sealed, make_key(), 1, SOURCE)


def test_a_row_that_was_copied_to_another_source_or_tenant_is_of_no_use() -> None:
    key = make_key()
    sealed = seal_secrets(SECRETS, key, 1, SOURCE)
    for tenant, source in ((2, SOURCE), (1, uuid4())):
        with pytest.raises(InputError):
            open_secrets(sealed, key, tenant, source)


def test_a_new_key_stands_before_the_old_one() -> None:
    old, new = make_key(), make_key()
    sealed = seal_secrets(SECRETS, old, 1, SOURCE)
    assert open_secrets(sealed, f"{new}, {old}", 1, SOURCE) == SECRETS
    assert open_secrets(seal_secrets(SECRETS, f"{new},{old}", 1, SOURCE), new, 1, SOURCE) == SECRETS


def test_without_a_key_nothing_is_kept() -> None:
    with pytest.raises(InputError, match="CAIRN_SECRETS_KEY"):
        seal_secrets(SECRETS, None, 1, SOURCE)
    for wrong in ("short", "c2hvcnQ=", f"{make_key()},"):
        with pytest.raises(SettingsError, match="32 bytes"):
            seal_secrets(SECRETS, wrong, 1, SOURCE)


def test_fingerprints_have_a_key_that_is_made_of_the_first_one() -> None:
    first, second = make_key(), make_key()
    made = fingerprint_key(first)
    assert made is not None
    assert len(made) == 32
    assert made not in (base64.b64decode(first), fingerprint_key(second))
    assert fingerprint_key(f"{first},{second}") == made
    assert fingerprint_key(None) is None
    with pytest.raises(SettingsError):
        fingerprint_key("short")
