"""Modules of tests/db whose tests share one database and one application, which saves two thirds of what a small test takes.

    pytestmark = SHARED

Then `services` and `chatty` are those of a tenant that only the test has, and nothing of another test is in it. Not for a
module that kills, restarts or reconfigures, counts rows of all tenants, or changes what tenants share (indexes, roles;
models may be added, but none forgotten, and those of all not counted).
Fixtures of such a module that are coroutines run in the module's loop: `@pytest_asyncio.fixture(loop_scope="module")`.

A test among them that does change such a thing says `@ALONE`: it has a database and an application of its own, and none of those
fixtures."""

from __future__ import annotations

import pytest

SHARED = pytest.mark.asyncio(loop_scope="module")
ALONE = pytest.mark.asyncio(loop_scope="function")


def is_shared(request: pytest.FixtureRequest) -> bool:
    marker = request.node.get_closest_marker("asyncio")
    return marker is not None and marker.kwargs.get("loop_scope") == "module"
