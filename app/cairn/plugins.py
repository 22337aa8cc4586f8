"""Parts that another package adds to Cairn without an edit here: its entry points, by group.

    [project.entry-points."cairn.tools"]        # pyproject.toml of the other package
    weather = "weather_for_cairn:WEATHER"

    tools = BUILT_IN | extensions("tools", instance_of(Tool), BUILT_IN)

A package is trusted when it is installed: its code runs in this process. One that cannot be used is left out, logged, and
listed by `broken_extensions`, which /health/ready shows; it never stops the start. docs/extending.md has the recipes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any, Final, Literal, TypeVar, cast

from cairn.errors import named_reason

Group = Literal["loaders", "chunkers", "providers", "tools", "strategies"]
Part = TypeVar("Part")

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LONGEST_REASON: Final = 300
_forget: Final[list[Callable[[], None]]] = []
_broken: Final[dict[tuple[str, str, str], BrokenExtension]] = {}


@dataclass(frozen=True, slots=True)
class BrokenExtension:
    """An entry point that is not used, and why. `package`: the distribution that declares it."""

    group: str
    name: str
    package: str
    reason: str

    def __str__(self) -> str:
        return f"extension {self.name} of {self.package} (cairn.{self.group}) is not used: {self.reason}"


def extensions(group: Group, check: Callable[[str, object], Part], built_in: Collection[str] = ()) -> dict[str, Part]:
    """What other packages declare in `cairn.<group>`, by name, in the order of the names.

    `check(name, object)` gives the part that is used, or raises for one that cannot be. A name of `built_in` is refused, and so
    is the second of two packages that declare one name (in the order of the packages' names). Never raises.
    """
    parts: dict[str, Part] = {}
    for name, package, loaded in _loaded(group):
        try:
            if name in built_in:
                raise ValueError(f"{name!r} is built in and cannot be replaced")
            if name in parts:
                raise ValueError(f"another package declares {name!r} too")
            parts[name] = check(name, loaded)
        except Exception as error:  # whatever another package does wrong costs its part, nothing else
            _report(group, name, package, error)
    return parts


def instance_of(kind: type[Part]) -> Callable[[str, object], Part]:
    """A check for `extensions`: an object of this class, whose `name`, if it has one, is that of its entry point."""

    def check(name: str, loaded: object) -> Part:
        if not isinstance(loaded, kind):
            raise TypeError(f"it is {type(loaded).__name__}, not {kind.__name__}")
        if (own := getattr(loaded, "name", name)) != name:
            raise ValueError(f"it calls itself {own!r}")
        return loaded

    return check


def declared(group: Group) -> list[str]:
    """Names in `cairn.<group>`, whether or not they can be used: nothing is imported."""
    return sorted({entry.name for entry in _entries(group)})


def once(make: Callable[[], Part]) -> Callable[[], Part]:
    """What is made of extensions, made once in a process."""
    made = cache(make)
    _forget.append(made.cache_clear)
    return made


def broken_extensions() -> list[BrokenExtension]:
    """Of all groups that were asked for so far."""
    return sorted(_broken.values(), key=lambda one: (one.group, one.name, one.package))


@cache
def _installed() -> EntryPoints:
    """Once in a process for all groups: reading the metadata of all installed packages takes tens of milliseconds."""
    return cast(EntryPoints, entry_points())


@cache
def _entries(group: Group) -> list[EntryPoint]:
    found = sorted(_installed().select(group=f"cairn.{group}"), key=lambda one: (one.name, _package(one), one.value))
    return list(dict.fromkeys(found))  # a package may be seen twice, by two entries of sys.path


@cache
def _loaded(group: Group) -> list[tuple[str, str, Any]]:
    """(name, package, object) of the entry points that can be imported."""
    loaded = []
    for entry in _entries(group):
        try:
            if not _NAME.fullmatch(entry.name):
                raise ValueError(
                    "a name has lower-case letters, digits, _ and -, begins with a letter, at most 63 characters"
                )
            loaded.append((entry.name, _package(entry), entry.load()))
        except (Exception, SystemExit) as error:  # as above; some packages exit when they are imported
            _report(group, entry.name, _package(entry), error)
    return loaded


_forget.extend([_installed.cache_clear, _entries.cache_clear, _loaded.cache_clear])


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "an unknown package"


def _report(group: str, name: str, package: str, error: BaseException) -> None:
    import structlog  # late: the parsing child starts without it

    reason = named_reason(error)[:_LONGEST_REASON]
    if (group, name, package) not in _broken:
        _broken[group, name, package] = BrokenExtension(group, name, package, reason)
        structlog.get_logger(__name__).warning(
            "extension.broken", group=group, name=name, package=package, reason=reason
        )


def forget_extensions() -> None:
    """Look again at the next call: packages were added or removed. For tests."""
    for forget in _forget:
        forget()
    _broken.clear()
