"""Ids and keys that would tell one caller of another: of texts that only some may read, and of requests that are made once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cairn.domain.names import id_of_text
from cairn.domain.principal import ALL_SCOPES, Caller, Principal, Scope
from cairn.interfaces.http import health
from cairn.interfaces.http.running import Running
from cairn.service.files import select_files
from cairn.settings import SettingsStore
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


async def test_what_readiness_counted_is_told_to_no_tenant_of_another_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each database numbers its tenants from one on."""
    asking: list[Principal] = []

    async def notes(services: Any) -> list[str]:
        asking.append(services.principal)
        return [f"collection merger-of-{services.principal.tenant}: 3 documents were read by an earlier release"]

    monkeypatch.setattr(health, "outdated_notes", notes)
    monkeypatch.setattr(health, "COUNTED_SHARE", 1e-6)  # as if counting took long
    monkeypatch.setattr(health, "services_of", lambda request: SimpleNamespace(principal=request))
    running, told = Running(SettingsStore()), {}
    for tenant in ("acme", "rival", "acme"):
        principal: Any = Principal(1, tenant)
        [told[tenant]] = await health._outdated(principal, running)
    assert all(f"merger-of-{tenant}:" in note for tenant, note in told.items()), told
    assert [one.tenant for one in asking] == ["acme", "rival"], "and is counted once for each"


def test_a_link_to_what_is_read_by_its_own_name_is_left_out(tmp_path: Path) -> None:
    """It would have the readers of the link's place; one that leads elsewhere is what stands there."""
    folder, elsewhere = tmp_path / "docs", tmp_path / "elsewhere.md"
    for place in (folder / "hr", folder / "open"):
        place.mkdir(parents=True)
    (folder / "hr" / "pay.md").write_text("Mallory earns 9104.")
    elsewhere.write_text("The cafeteria opens at eight.")
    (folder / "open" / "pay.md").symlink_to("../hr/pay.md")
    (folder / "open" / "cafeteria.md").symlink_to(elsewhere)
    selection = select_files([folder])
    assert [one.external_id for one in selection.files] == ["docs/hr/pay.md", "docs/open/cafeteria.md"]
    assert [(Path(one.path).name, one.reason) for one in selection.skipped] == [
        ("pay.md", "a link to what is read by its own name")
    ]
