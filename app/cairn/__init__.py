"""`import cairn`: Cairn as a library (docs/library.md). Installed under that name; the code is app.facade.

Imported when a name of it is first used, so that `cairn.client` and the retrievers, which are clients, import no server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.facade import *
else:

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        facade = import_module("app.facade")
        if name == "__all__" or name in facade.__all__:
            return getattr(facade, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        from importlib import import_module

        return sorted([*globals(), *import_module("app.facade").__all__])
