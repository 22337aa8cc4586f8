"""Ids and keys that would tell one caller of another: of texts that only some may read, and of requests that are made once."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.domain.names import id_of_text
from cairn.domain.principal import ALL_SCOPES, Caller, Principal, Scope
from cairn.store.idempotency import RequestKey


@pytest.mark.parametrize("restricted", [True, False])
def test_the_id_of_a_restricted_text_says_nothing_of_it(restricted: bool) -> None:
    ids = {id_of_text("Pay", b"Mallory earns 9104", restricted=restricted) for _ in range(2)}
    assert len(ids) == (2 if restricted else 1)
    assert restricted is not any(one.startswith("sha256-") for one in ids)


def test_requests_of_two_persons_have_keys_apart() -> None:
    def key(subject: str, *groups: str, scopes: frozenset[Scope] = frozenset({"read", "write"})) -> Any:
        caller = Caller(f"token:{subject}", subject, scopes, groups=frozenset(groups))
        return RequestKey(Principal(1, "a", caller), "import-2").arguments

    assert len({key("ada", "hr"), key("ada hr"), key("ada", "hr", scopes=ALL_SCOPES), key('ada", ["hr"]')}) == 4
    assert key("ada", "hr", "it") == key("ada", "it", "hr")
