"""Which connector reads which address, and what it may be told: the one place that knows all kinds of sources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from cairn.connectors.choose_files import path_filter
from cairn.connectors.connector import Connector, SourceRefused
from cairn.distribution import Extra, require_part
from cairn.errors import MissingPartError
from cairn.settings import UrlSettings

OF_ALL: Final = frozenset({"include", "exclude"})
"""Options that every kind takes."""
LONGEST_ADDRESS: Final = 512


@dataclass(frozen=True, slots=True)
class Opening:
    """What a connector is made of. `folders`: those of this machine that may be read, with what lies in them."""

    address: SplitResult
    options: Mapping[str, str]
    secrets: Mapping[str, str]
    allow: UrlSettings
    folders: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class SourceKind:
    """`options` and `secrets`: what may be given; `make` checks what only a kind knows, and raises SourceRefused."""

    name: str
    schemes: tuple[str, ...]
    make: Callable[[Opening], Connector]
    options: frozenset[str] = frozenset()
    secrets: frozenset[str] = frozenset()
    extra: Extra | None = None


def _open_folder(opening: Opening) -> Connector:
    from cairn.connectors.local_connector import LocalConnector

    if opening.address.netloc:
        raise SourceRefused("a folder of this machine is written file:///srv/documents: with three strokes")
    folder = Path(unquote(opening.address.path)).resolve()
    if not any(folder.is_relative_to(root.resolve()) for root in opening.folders):
        raise SourceRefused(f"the folder {folder} is not one of those of this machine that may be read from here")
    return LocalConnector(folder, path_filter(opening.options))


KINDS: Final = (SourceKind("folder", ("file",), _open_folder),)


def open_connector(
    address: str,
    options: Mapping[str, str],
    secrets: Mapping[str, str],
    *,
    allow: UrlSettings,
    folders: Sequence[Path] = (),
) -> Connector:
    """The connector for an address, which connects when it is first asked for something; `close` it in the end.

    `allow`: the hosts and networks that may be reached, as for pages that are fetched (settings.urls). `folders`: those of this
    machine that may be read, with what lies in them; none where the address comes from afar. Raises SourceRefused.
    """
    kind, parsed = _check(address, options, secrets)
    return kind.make(Opening(parsed, options, secrets, allow, folders))


def check_address(address: str, options: Mapping[str, str], secrets: Collection[str] = ()) -> None:
    """Whether an address can be that of a source, with these options and the names of its secrets.

    Raises SourceRefused: an unknown scheme, an option or secret that its kind does not take, a part of Cairn that is missing.
    """
    _check(address, options, secrets)


def _check(address: str, options: Mapping[str, str], secrets: Collection[str]) -> tuple[SourceKind, SplitResult]:
    parsed = _parse(address)
    kind = next((kind for kind in KINDS if parsed.scheme in kind.schemes), None)
    if kind is None:
        raise SourceRefused(f"{parsed.scheme}:// is no source that Cairn reads; it reads {', '.join(_schemes())}")
    _refuse_unknown("option", options, kind.options | OF_ALL, kind)
    _refuse_unknown("secret", secrets, kind.secrets, kind)
    path_filter(options)
    if kind.extra is not None:
        try:
            require_part(kind.extra, f"reading {parsed.scheme}://")
        except MissingPartError as error:
            raise SourceRefused(error.detail) from None
    return kind, parsed


def _parse(address: str) -> SplitResult:
    text = address.strip()
    if len(text) > LONGEST_ADDRESS:
        raise SourceRefused(f"an address has at most {LONGEST_ADDRESS} characters, this one {len(text)}")
    try:
        parsed = urlsplit(Path(text).as_uri() if text.startswith("/") else text)
        _ = parsed.port
    except ValueError as error:
        raise SourceRefused(f"{text[:200]!r} is no address: {error}") from None
    if not parsed.scheme:
        raise SourceRefused(f"{text[:200]!r} is no address of a source: it begins with one of {', '.join(_schemes())}")
    if "@" in parsed.netloc:
        raise SourceRefused(
            "an address has no user name or password in it, since it is shown: give them as option and secret"
        )
    return parsed


def _schemes() -> Iterator[str]:
    return (f"{scheme}://" for kind in KINDS for scheme in kind.schemes)


def _refuse_unknown(what: str, given: Collection[str], known: frozenset[str], kind: SourceKind) -> None:
    if unknown := sorted(set(given) - known):
        takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
        raise SourceRefused(f"{what} {unknown[0][:100]} is none of a {kind.name}: {takes}")
