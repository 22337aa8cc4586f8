"""What stores of objects answer means the same to a source, whichever library says it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cairn.connectors.choose_files import path_filter
from cairn.connectors.connector import SourceError, SourceRefused, SourceUnreachable
from cairn.connectors.fsspec_connector import FsspecConnector


class AzureError(Exception):
    """As azure.core.exceptions.HttpResponseError has them."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__("Server failed to authenticate the request.")
        self.status_code, self.response = status, SimpleNamespace(headers=headers)


class GoogleError(Exception):
    """As gcsfs.retry.HttpError."""

    def __init__(self, code: int) -> None:
        super().__init__("no")
        self.code = code


@pytest.mark.parametrize(
    ("error", "meant", "wait"),
    [
        (AzureError(403), SourceRefused, None),
        (AzureError(503, **{"Retry-After": "7"}), SourceUnreachable, 7),
        (GoogleError(401), SourceRefused, None),
        (GoogleError(503), SourceUnreachable, None),
        (OSError("Forbidden: docs\nno access"), SourceRefused, None),
        (OSError("broken off"), SourceUnreachable, None),
    ],
)
async def test_a_listing_that_fails_says_whether_to_come_back(
    error: Exception, meant: type[SourceError], wait: float | None
) -> None:
    def ls(*_: object, **__: object) -> Any:
        raise error

    source = FsspecConnector(lambda: SimpleNamespace(ls=ls), "docs", "az", path_filter({}))
    with pytest.raises(meant) as raised:
        _ = [file async for file in source.list_files()]
    assert getattr(raised.value, "retry_after_s", None) == wait
