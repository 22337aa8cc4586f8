"""How fsspec is told to open each store of objects: with the credentials that were given for it, and with none of this machine's.

A library of a cloud looks for credentials everywhere: in the environment, in files, at the service that tells a virtual machine
who it is. Whoever may add a source would read what the server may read. So nothing is opened without credentials or `anon`, and
S3 is given no way to look for others.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import socket
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

from cairn.connectors.connector import SourceRefused
from cairn.providers.address_guard import AddressGuard

REGION: Final = re.compile(r"[a-z]{2}(-[a-z0-9]{1,20}){1,4}")
ACCOUNT: Final = re.compile(r"[a-z0-9]{3,24}")
ACCOUNT_KEY: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
GOOGLE: Final = ("storage.googleapis.com", "oauth2.googleapis.com")
GOOGLE_TOKENS: Final = "https://oauth2.googleapis.com/token"
AZURE: Final = "blob.core.windows.net"
HTTPS: Final = 443
MOST_TRIES: Final = 3
"""Of one request; whoever keeps a source in step comes back anyway."""


def is_anonymous(options: Mapping[str, str]) -> bool:
    """By the option `anon`. Raises SourceRefused for what is neither true nor false."""
    if (said := options.get("anon", "false").lower()) not in ("true", "false"):
        raise SourceRefused("option anon: true or false")
    return said == "true"


def s3_endpoint(options: Mapping[str, str]) -> tuple[str, str]:
    """(address, region). Raises SourceRefused."""
    region = options.get("region", "us-east-1")
    if not REGION.fullmatch(region):
        raise SourceRefused(f"option region: {region[:50]!r} is no region, such as eu-central-1")
    endpoint = options.get("endpoint_url") or f"https://s3.{region}.amazonaws.com"
    try:
        parsed = urlsplit(endpoint)
        is_host = bool(parsed.hostname) and parsed.port != 0
    except ValueError:
        is_host = False
    if not is_host or parsed.scheme not in ("http", "https") or "@" in parsed.netloc:
        raise SourceRefused("option endpoint_url: the address of the S3 server, such as https://minio.example.org:9000")
    return endpoint, region


def open_s3(
    options: Mapping[str, str], secrets: Mapping[str, str], guard: AddressGuard, seconds: float
) -> Callable[[], Any]:
    """Opens S3. `seconds`: for it to answer. Raises SourceRefused at once where something is missing."""
    endpoint, region = s3_endpoint(options)
    anonymous = is_anonymous(options)
    if not anonymous and not (secrets.get("key") and secrets.get("secret")):
        raise SourceRefused("S3 wants the secrets key and secret, or option anon=true for what everybody may read")

    def make_socket(address_info: Any) -> socket.socket:
        """Here the address is known that is connected to, whatever its name meant before."""
        family, kind, protocol, _, address = address_info
        if not guard.may_reach(ipaddress.ip_address(str(address[0]).partition("%")[0])):
            raise PermissionError(f"{address[0]} is an address of a private network")
        return socket.socket(family, kind, protocol)

    def make() -> Any:
        from aiobotocore.credentials import AioCredentialResolver
        from aiobotocore.session import AioSession
        from s3fs import S3FileSystem

        # what is known of services is the same for all, and takes a third of a second to be read
        session = AioSession(session_vars=_nothing_around())
        session.register_component("data_loader", _service_models())
        session.register_component("credential_provider", AioCredentialResolver(providers=[]))
        style = "path" if options.get("endpoint_url") else "virtual"
        files = S3FileSystem(
            session=session, anon=anonymous, key=None if anonymous else secrets["key"],
            secret=None if anonymous else secrets["secret"], token=None if anonymous else secrets.get("token") or None,
            endpoint_url=endpoint, use_listings_cache=False, skip_instance_cache=True,
            client_kwargs={"region_name": region},
            config_kwargs={
                "connect_timeout": seconds, "read_timeout": seconds, "retries": {"max_attempts": 1}, "proxies": {},
                "s3": {"addressing_style": style}, "connector_args": {"socket_factory": make_socket},
            },
        )  # fmt: skip
        files.retries = MOST_TRIES
        return files

    return make


def _nothing_around() -> dict[str, tuple[Any, Any, Any, Any]]:
    """What botocore looks for in the environment and in files, without either: its defaults, and whom TLS trusts here."""
    from botocore.configprovider import BOTOCORE_DEFAUT_SESSION_VARIABLES as VARIABLES

    files = dict.fromkeys(("config_file", "credentials_file"), os.devnull)
    alone = {
        name: (None, None, files.get(name, default), convert) for name, (_, _, default, convert) in VARIABLES.items()
    }
    return alone | {"ca_bundle": VARIABLES["ca_bundle"]}


@cache
def _service_models() -> Any:
    from botocore.loaders import create_loader

    return create_loader()


def open_google(
    options: Mapping[str, str], secrets: Mapping[str, str], guard: AddressGuard, seconds: float
) -> Callable[[], Any]:
    """Opens Google Cloud Storage. `seconds`: for it to answer. Raises SourceRefused, AddressRefusedError."""
    token: Any = "anon"
    if not is_anonymous(options):
        token = _service_account(secrets.get("service_account", ""))
    for host in GOOGLE:
        guard.check_host(host, HTTPS)

    def make() -> Any:
        from gcsfs.core import GCSFileSystem  # gcsfs.GCSFileSystem asks by gRPC as well, with connections of its own

        return GCSFileSystem(
            token=token, use_listings_cache=False, skip_instance_cache=True, endpoint_url=f"https://{GOOGLE[0]}",
            requests_timeout=seconds,
        )  # fmt: skip

    return make


def _service_account(text: str) -> dict[str, Any]:
    """The key of a service account. Keys of other kinds name addresses to ask and programs to run, and are not taken."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("type") != "service_account" or found.get("token_uri") != GOOGLE_TOKENS:
        raise SourceRefused(
            "Google Cloud Storage wants the secret service_account: the key of a service account, as JSON, or option anon=true"
        )
    return found


def open_azure(
    options: Mapping[str, str], secrets: Mapping[str, str], guard: AddressGuard, seconds: float
) -> Callable[[], Any]:
    """Opens Azure's Blob Storage. `seconds`: for it to answer. Raises SourceRefused, AddressRefusedError."""
    account = options.get("account_name", "")
    if not ACCOUNT.fullmatch(account):
        raise SourceRefused("option account_name is missing: the name of the storage account at Azure")
    anonymous = is_anonymous(options)
    given = {name: secrets[name] for name in ("account_key", "sas_token") if secrets.get(name)}
    if not anonymous and not given:
        raise SourceRefused(
            "Azure wants the secret account_key or sas_token, or option anon=true for what everybody may read"
        )
    if not anonymous and "account_key" in given and not ACCOUNT_KEY.fullmatch(given["account_key"].strip()):
        raise SourceRefused("secret account_key is no key of Azure: copy it anew, with the signs = at its end")
    host = f"{account}.{AZURE}"
    guard.check_host(host, HTTPS)

    def make() -> Any:
        from adlfs import AzureBlobFileSystem
        from azure.storage.blob.aio import BlobServiceClient

        class OnlyWithWhatWasGiven(AzureBlobFileSystem):  # type: ignore[misc]
            """adlfs takes AZURE_STORAGE_CONNECTION_STRING and others of the environment, some of them first."""

            def do_connect(self) -> None:
                self.account_key = self.sas_token = self.connection_string = self.credential = None
                url, key = f"https://{host}", None
                if not anonymous:
                    url += f"?{given['sas_token'].strip().lstrip('?')}" if "sas_token" in given else ""
                    key = given["account_key"].strip() if "account_key" in given else None
                self.account_url = url
                self.service_client = BlobServiceClient(
                    url, credential=key, connection_timeout=seconds, read_timeout=seconds, use_env_settings=False,
                    retry_total=MOST_TRIES - 1, initial_backoff=1,
                )  # fmt: skip

        return OnlyWithWhatWasGiven(account_name=account, anon=True, use_listings_cache=False, skip_instance_cache=True)

    return make
