"""Which connector reads which address, and what it may be told: the one place that knows all kinds of sources."""

from __future__ import annotations

import re
import ssl
from base64 import b64encode
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from cairn.connectors.choose_files import path_filter
from cairn.connectors.connector import Connector, SourceRefused, SourceUnreachable
from cairn.connectors.source_http import SourceHttp
from cairn.distribution import Extra, require_part
from cairn.errors import FetchError, InputError, MissingPartError
from cairn.providers.address_guard import AddressGuard, Resolve, resolve
from cairn.providers.guarded_http import PORTS, GuardedHttp
from cairn.settings import UrlSettings

OF_ALL: Final = frozenset({"include", "exclude"})
"""Options that every kind takes."""
LONGEST_ADDRESS: Final = 512
GITHUB_OWNER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
GITHUB_NAME: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
WHOLE_S: Final = 600.0
"""Seconds that one file, or the files of a repository, may take; nothing may come for urls.seconds of them."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a connector is made of. `folders`: those of this machine that may be read, with what lies in them."""

    address: SplitResult
    options: Mapping[str, str]
    secrets: Mapping[str, str]
    allow: UrlSettings
    folders: Sequence[Path] = ()
    resolve: Resolve = resolve
    trust: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class SourceKind:
    """`options` and `secrets`: what may be given; `make` checks what only a kind knows, and raises SourceRefused. `directing`:
    those of the options that say which server is shown the secrets, and as whose."""

    name: str
    schemes: tuple[str, ...]
    make: Callable[[Opening], Connector]
    options: frozenset[str] = frozenset()
    secrets: frozenset[str] = frozenset()
    extra: Extra | None = None
    directing: frozenset[str] = frozenset()


def _open_folder(opening: Opening) -> Connector:
    from cairn.connectors.local_connector import LocalConnector

    if opening.address.netloc:
        raise SourceRefused("a folder of this machine is written file:///srv/documents: with three strokes")
    folder = Path(unquote(opening.address.path)).resolve()
    if not any(folder.is_relative_to(root.resolve()) for root in opening.folders):
        raise SourceRefused(f"the folder {folder} is not one of those of this machine that may be read from here")
    return LocalConnector(folder, path_filter(opening.options))


def _open_site(opening: Opening) -> Connector:
    from cairn.connectors.web_connector import WebConnector, pages_per_second

    return WebConnector(
        opening.address, _http(opening), path_filter(opening.options), pages_per_second(opening.options)
    )


def _open_webdav(opening: Opening) -> Connector:
    from cairn.connectors.webdav_connector import WebdavConnector

    scheme = "https" if opening.address.scheme == "webdavs" else "http"
    base = opening.address._replace(scheme=scheme, query="", fragment="").geturl()
    return WebdavConnector(base, _http(opening, _authorization(opening), whole_s=WHOLE_S), path_filter(opening.options))


def _open_git(opening: Opening) -> Connector:
    from cairn.connectors.git_connector import GitConnector, RepositoryAddress

    address, options = opening.address, opening.options
    ref = options.get("ref", "")
    if address.scheme == "github":
        url = f"https://github.com/{address.netloc}{address.path}.git"
        if ref and address.fragment:
            raise SourceRefused(f"option ref: the address names a branch already, {address.fragment}")
        ref = ref or address.fragment
    else:
        url = address._replace(scheme=address.scheme.removeprefix("git+"), query="", fragment="").geturl().rstrip("/")
    repository = RepositoryAddress(url, ref, options.get("folder", "").strip("/"))
    http = _http(opening, _authorization(opening, "git"), whole_s=WHOLE_S)
    return GitConnector(repository, repository.key(opening.secrets), http, path_filter(options))


def _open_sftp(opening: Opening) -> Connector:
    from cairn.connectors.sftp_connector import PORT, SftpConnector, ssh_server

    host, port = opening.address.hostname or "", opening.address.port or PORT
    server = ssh_server(host, port, opening.options, opening.secrets, opening.allow.seconds)
    guard = AddressGuard(opening.allow, opening.resolve, own_port=PORT)
    _check_host(guard, host, port)
    return SftpConnector(server, unquote(opening.address.path), guard, path_filter(opening.options))


def _open_s3(opening: Opening) -> Connector:
    from cairn.connectors.fsspec_connector import FsspecConnector, list_bucket
    from cairn.connectors.object_stores import open_s3, s3_endpoint

    guard = AddressGuard(opening.allow, opening.resolve)
    make = open_s3(opening.options, opening.secrets, guard, opening.allow.seconds)
    endpoint = urlsplit(s3_endpoint(opening.options)[0])
    host, port = endpoint.hostname or "", endpoint.port or PORTS[endpoint.scheme]
    _check_host(guard, host, port)

    async def check() -> None:
        try:
            await guard.find_addresses(host, port)
        except InputError as error:
            raise SourceRefused(error.detail) from None
        except FetchError as error:
            raise SourceUnreachable(error.detail) from None

    return FsspecConnector(make, _root(opening), "s3", path_filter(opening.options), entries=list_bucket, check=check)


def _open_cloud(opening: Opening) -> Connector:
    from cairn.connectors.fsspec_connector import FsspecConnector
    from cairn.connectors.object_stores import open_azure, open_google

    is_google = opening.address.scheme in ("gs", "gcs")
    open_store = open_google if is_google else open_azure
    try:
        make = open_store(opening.options, opening.secrets, AddressGuard(opening.allow), opening.allow.seconds)
    except InputError as error:
        raise SourceRefused(error.detail) from None
    return FsspecConnector(make, _root(opening), "gs" if is_google else "az", path_filter(opening.options))


def _root(opening: Opening) -> str:
    """Bucket and folder. What is no part of an address elsewhere may be one of a name here."""
    if not opening.address.netloc:
        raise SourceRefused(f"an address of this kind names a bucket: {opening.address.scheme}://bucket/folder")
    return opening.address.netloc + unquote(opening.address.path)


def _http(opening: Opening, headers: Mapping[str, str] | None = None, whole_s: float | None = None) -> SourceHttp:
    """`headers`: for the host of the address alone. Raises SourceRefused where it may not be asked."""
    address = opening.address
    scheme = "http" if address.scheme in ("http", "webdav", "git+http") else "https"
    host = "github.com" if address.scheme == "github" else address.hostname or ""
    _check_host(AddressGuard(opening.allow), host, address.port or PORTS[scheme])
    return SourceHttp(
        GuardedHttp(opening.allow, resolve=opening.resolve, trust=opening.trust, whole_s=whole_s),
        f"{scheme}://{address.netloc if host == address.hostname else host}", headers,
    )  # fmt: skip


def _check_host(guard: AddressGuard, host: str, port: int) -> None:
    if not host:
        raise SourceRefused("the address names no host")
    try:
        guard.check_host(host, port)
    except InputError as error:
        raise SourceRefused(error.detail) from None


def _authorization(opening: Opening, username: str | None = None) -> Mapping[str, str]:
    """The header for what was given. `username`: where none was. Raises SourceRefused for what fits into no header."""
    secrets, username = opening.secrets, opening.options.get("username") or username
    token = secrets.get("token", "").strip()  # as it is pasted, with the end of its line
    password = secrets.get("password", "").strip("\r\n") or (token if username else None)
    if password and username:
        return {"Authorization": "Basic " + b64encode(f"{username}:{password}".encode()).decode("ascii")}
    if password:
        raise SourceRefused("option username is missing: whose the password is")
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise SourceRefused(
            "secret token has a character that no token has: copy it anew, without what stands around it"
        )
    return {"Authorization": f"Bearer {token}"} if token else {}


KINDS: Final = (
    SourceKind("folder", ("file",), _open_folder),
    SourceKind("site", ("https", "http"), _open_site, frozenset({"pages_per_second"})),
    SourceKind(
        "git repository", ("git+https", "git+http", "github"), _open_git, frozenset({"ref", "folder", "username"}),
        frozenset({"token", "password"}), "sources", frozenset({"username"}),
    ),
    SourceKind(
        "WebDAV folder", ("webdavs", "webdav"), _open_webdav, frozenset({"username"}), frozenset({"password", "token"}),
        directing=frozenset({"username"}),
    ),
    SourceKind(
        "SFTP folder", ("sftp",), _open_sftp, frozenset({"username", "host_key"}),
        frozenset({"password", "private_key", "passphrase"}), "sources", frozenset({"username", "host_key"}),
    ),
    SourceKind(
        "bucket of S3", ("s3",), _open_s3, frozenset({"endpoint_url", "region", "anon"}), frozenset({"key", "secret", "token"}),
        "sources", frozenset({"endpoint_url", "region"}),
    ),
    SourceKind(
        "bucket of Google Cloud Storage", ("gs", "gcs"), _open_cloud, frozenset({"anon"}), frozenset({"service_account"}),
        "sources-cloud",
    ),
    SourceKind(
        "container of Azure", ("az", "abfs", "abfss"), _open_cloud, frozenset({"account_name", "anon"}),
        frozenset({"account_key", "sas_token"}), "sources-cloud", frozenset({"account_name"}),
    ),
)  # fmt: skip


def open_connector(
    address: str, options: Mapping[str, str], secrets: Mapping[str, str], *, allow: UrlSettings, folders: Sequence[Path] = (),
    resolve: Resolve = resolve, trust: ssl.SSLContext | None = None,
) -> Connector:  # fmt: skip
    """The connector for an address, which connects when it is first asked for something; `close` it in the end.

    `allow`: the hosts and networks that may be reached, as for pages that are fetched (settings.urls). `folders`: those of this
    machine that may be read, with what lies in them; none where the address comes from afar. `resolve`, `trust`: how names become
    addresses, and whom certificates must come from, other than usual. Raises SourceRefused.
    """
    kind, parsed = _check(address, options, secrets)
    return kind.make(Opening(parsed, options, secrets, allow, folders, resolve, trust))


def check_address(address: str, options: Mapping[str, str], secrets: Collection[str] = ()) -> None:
    """Whether an address can be that of a source, with these options and the names of its secrets.

    Raises SourceRefused: an unknown scheme, an option or secret that its kind does not take, a part of Cairn that is missing.
    """
    _check(address, options, secrets)


def list_fields(address: str) -> tuple[list[str], list[str]]:
    """Names of the options that the kind of an address takes besides those of all kinds, and of its secrets; none where it is no
    address of a source, or not yet."""
    try:
        kind = _kind_of(split_address(address))
    except SourceRefused:
        return [], []
    return sorted(kind.options), sorted(kind.secrets)


def directing_options(address: str) -> frozenset[str]:
    """Options of its kind that say which server is shown the secrets, and as whose. Raises SourceRefused."""
    return _kind_of(split_address(address)).directing


def folders_of(address: str) -> tuple[Path, ...]:
    """The folder of this machine that an address names; none where it names something else. Raises SourceRefused."""
    parsed = split_address(address)
    return (Path(unquote(parsed.path)),) if parsed.scheme == "file" else ()


def _check(address: str, options: Mapping[str, str], secrets: Collection[str]) -> tuple[SourceKind, SplitResult]:
    parsed = split_address(address)
    kind = _kind_of(parsed)
    _refuse_unknown("option", options, kind.options | OF_ALL, kind)
    _refuse_unknown("secret", secrets, kind.secrets, kind)
    path_filter(options)
    if kind.extra is not None:
        try:
            require_part(kind.extra, f"reading {parsed.scheme}://")
        except MissingPartError as error:
            raise SourceRefused(error.detail) from None
    return kind, parsed


def _kind_of(parsed: SplitResult) -> SourceKind:
    kind = next((kind for kind in KINDS if parsed.scheme in kind.schemes), None)
    if kind is None:
        raise SourceRefused(f"{parsed.scheme}:// is no source that Cairn reads; it reads {', '.join(_schemes())}")
    return kind


def split_address(address: str) -> SplitResult:
    """The parts of an address, with the scheme that its kind goes by. Raises SourceRefused for what is none."""
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
    if parsed.scheme == "github":
        return _split_github(text.removeprefix("github:").removeprefix("//"))
    if parsed.scheme in PORTS and parsed.path.endswith(".git"):
        parsed = parsed._replace(scheme=f"git+{parsed.scheme}")
    if "@" in parsed.netloc:
        raise SourceRefused(
            "an address has no user name or password in it, since it is shown: give them as option and secret"
        )
    return parsed


def _split_github(text: str) -> SplitResult:
    """Of `github:OWNER/REPOSITORY@BRANCH`, the branch as its fragment; none: what the repository shows first."""
    repository, at, branch = text.strip("/").partition("@")
    owner, _, name = repository.rstrip("/").removesuffix(".git").partition("/")
    if not (GITHUB_OWNER.fullmatch(owner) and GITHUB_NAME.fullmatch(name)) or (at and not branch):
        raise SourceRefused(
            "a repository of GitHub is written github:OWNER/REPOSITORY, or github:OWNER/REPOSITORY@BRANCH"
        )
    return SplitResult("github", owner, f"/{name}", "", branch)


def _schemes() -> Iterator[str]:
    return (f"{scheme}://" for kind in KINDS for scheme in kind.schemes)


def _refuse_unknown(what: str, given: Collection[str], known: frozenset[str], kind: SourceKind) -> None:
    if unknown := sorted(set(given) - known):
        takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
        raise SourceRefused(f"{what} {unknown[0][:100]} is none of a {kind.name}: {takes}")
