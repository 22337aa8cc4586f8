"""Secrets that the database keeps and cannot read: encrypted with a key of the environment (AES-256-GCM)."""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping
from typing import Final

from cairn.errors import SettingsError

VARIABLE: Final = "CAIRN_SECRETS_KEY"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


def make_key() -> str:
    """A new key, as the variable takes it: 256 random bits in base64."""
    return base64.b64encode(os.urandom(_KEY_BYTES)).decode()


def seal(key: str | None, secrets: Mapping[str, str], place: str) -> bytes:
    """Encrypt; `place` says whose they are, and they can be read nowhere else. Raises SettingsError for a key that is not set, or
    is none."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(_read(key)).encrypt(nonce, json.dumps(dict(secrets)).encode(), place.encode())


def unseal(key: str | None, sealed: bytes, place: str) -> dict[str, str]:
    """Raises SettingsError where the key is another one than that which they were encrypted with."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        plain = AESGCM(_read(key)).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
    except InvalidTag:
        raise SettingsError(
            f"the secrets of this source were encrypted with another {VARIABLE} than this process has: give them anew, or "
            "start it with that key"
        ) from None
    found: dict[str, str] = json.loads(plain)
    return found


def _read(key: str | None) -> bytes:
    if not key:
        raise SettingsError(
            f"a source with secrets needs {VARIABLE}, by which they are encrypted; `cairn sources key` makes one, which every "
            "process of this database is started with"
        )
    try:
        raw = base64.b64decode(key, validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != _KEY_BYTES:
        raise SettingsError(f"{VARIABLE} must be {_KEY_BYTES} bytes in base64, as `cairn sources key` makes them")
    return raw
