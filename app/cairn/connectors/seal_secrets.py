"""Secrets of sources at rest: AES-GCM, with a key of the environment that the database never sees."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import os
from collections.abc import Mapping
from typing import Final
from uuid import UUID

from cairn.errors import InputError, SettingsError

VARIABLE: Final = "CAIRN_SECRETS_KEY"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


def make_key() -> str:
    """A new key as the environment has it."""
    return base64.b64encode(os.urandom(_KEY_BYTES)).decode()


def seal_secrets(secrets: Mapping[str, str], keys: str | None, tenant_id: int, source_id: UUID) -> bytes:
    """Encrypted with the first of the keys, for this source of this tenant alone. Raises InputError without a key, SettingsError
    for one that cannot be."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    content = json.dumps(dict(secrets)).encode()
    return nonce + AESGCM(_read_keys(keys)[0]).encrypt(nonce, content, _owner(tenant_id, source_id))


def open_secrets(sealed: bytes, keys: str | None, tenant_id: int, source_id: UUID) -> dict[str, str]:
    """What was sealed, with whichever of the keys. Raises InputError where there is no key, or none of them fits."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    for key in _read_keys(keys):
        try:
            content = AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _owner(tenant_id, source_id))
        except InvalidTag:
            continue
        found: dict[str, str] = json.loads(content)
        return found
    raise InputError(
        f"the secrets of the source were encrypted with another key than that of {VARIABLE}: set that one, behind a comma, or "
        "give the secrets again"
    )


def fingerprint_key(keys: str | None) -> bytes | None:
    """For fingerprints of what has secrets in it, so that nobody who reads them tries passwords: made of the first of the keys,
    and not that one itself. None without one. Raises SettingsError for one that cannot be."""
    return hmac.digest(_read_keys(keys)[0], b"fingerprints of requests", "sha256") if keys else None


def _owner(tenant_id: int, source_id: UUID) -> bytes:
    return f"{tenant_id}:{source_id}".encode()


def _read_keys(text: str | None) -> list[bytes]:
    """The first one encrypts; all of them decrypt, so that a new one can be put before the old one."""
    if not text:
        raise InputError(
            f"secrets of sources are kept encrypted: set {VARIABLE} first (cairn sources key prints a new one)"
        )
    try:
        keys = [base64.b64decode(part.strip(), validate=True) for part in text.split(",")]
    except (binascii.Error, ValueError):
        keys = []
    if not keys or any(len(key) != _KEY_BYTES for key in keys):
        raise SettingsError(
            f"{VARIABLE} is one key or several with commas between them, each {_KEY_BYTES} bytes in base64"
        )
    return keys
