"""Modules of tests/db whose tests share one database and one application, which saves two thirds of what a small test takes.

    pytestmark = SHARED

Then `services` and `chatty` are those of a tenant that only the test has, and nothing of another test is in it. Not for a
module that kills, restarts or reconfigures, counts rows of all tenants, or changes what tenants share (indexes, models, roles).
Fixtures of such a module that are coroutines run in the module's loop: `@pytest_asyncio.fixture(loop_scope="module")`."""

from __future__ import annotations

import pytest

SHARED = pytest.mark.asyncio(loop_scope="module")


def is_shared(request: pytest.FixtureRequest) -> bool:
    return any(marker.kwargs.get("loop_scope") == "module" for marker in request.node.iter_markers("asyncio"))
