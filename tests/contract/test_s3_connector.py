"""What a source of S3 says to its server, and what the server's answers mean, by scripted replies over real HTTP.

`test_s3_server.py` has a whole server, at length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from source_servers import HOST, listed, opened, serving_wsgi

from cairn.connectors.connector import Connector, SourceFileGone, SourceRefused, SourceUnreachable

SECRETS = {"key": "AKIAGIVEN", "secret": "secret-given"}
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIASERVER", "AWS_SECRET_ACCESS_KEY": "secret-of-the-server", "AWS_PROFILE": "role",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1",
}  # fmt: skip
"""What a server may have around it, and no source may use."""


class Bucket:
    """Answers by `reply`; `seen` has method, path with query, and headers of each request."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.reply: Callable[[dict[str, list[str]]], tuple[str, str]] = lambda query: (
            "200 OK",
            page("a.md", "hr/b.md"),
        )
        self.headers: list[tuple[str, str]] = []
        self.port = 0

    def __call__(self, environment: dict[str, Any], start: Any) -> list[bytes]:
        self.seen.append(environment)
        status, body = self.reply(parse_qs(environment["QUERY_STRING"]))
        content = b"" if environment["REQUEST_METHOD"] == "HEAD" else body.encode()
        start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(content))), *self.headers])
        return [content]

    def source(
        self, secrets: dict[str, str] | None = None, *, private: tuple[str, ...] = ("127.0.0.0/8",), path: str = "docs",
        **options: str,
    ) -> Connector:  # fmt: skip
        given = {"endpoint_url": f"http://127.0.0.1:{self.port}", **options}
        return opened(f"s3://{path}", given, SECRETS if secrets is None else secrets, private=private, port=self.port)


def page(*names: str, more: str | None = None) -> str:
    entries = "".join(
        f"<Contents><Key>{name}</Key><LastModified>2026-11-28T05:00:00.000Z</LastModified><ETag>&quot;{number}&quot;</ETag>"
        f"<Size>5</Size></Contents>"
        for number, name in enumerate(names)
    )
    rest = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{more}</NextContinuationToken>" if more else ""
    return f"<ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'><Name>docs</Name>{rest}{entries}</ListBucketResult>"


def failure(code: str) -> str:
    return f"<Error><Code>{code}</Code><Message>said by the server</Message></Error>"


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    made = Bucket()
    with serving_wsgi(made) as made.port:
        yield made


async def test_a_bucket_is_listed_page_by_page(bucket: Bucket) -> None:
    pages = {
        None: ("200 OK", page("hr/a.md", "hr/", "hr/x/b.md", "hr/.git/c", more="t1")),
        "t1": ("200 OK", page("hr/d.md")),
    }
    bucket.reply = lambda query: pages[query.get("continuation-token", [None])[0]]
    files = await listed(bucket.source(path="docs/hr"))
    assert list(files) == ["a.md", "x/b.md", "d.md"]
    a = files["a.md"]
    assert (a.version, a.size, a.address) == ('"0"', 5, "s3://docs/hr/a.md")
    assert a.modified is not None
    assert a.modified.tzinfo is not None
    assert {one["PATH_INFO"] for one in bucket.seen} == {"/docs"}
    assert parse_qs(bucket.seen[0]["QUERY_STRING"])["prefix"] == ["hr/"]
    assert "Credential=AKIAGIVEN/" in bucket.seen[0]["HTTP_AUTHORIZATION"]


@pytest.mark.siege
async def test_a_bucket_without_end_is_refused(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.connectors.connector.MOST_NAMES", 1)
    with pytest.raises(SourceRefused, match="more than 1 files"):
        await listed(bucket.source())


async def test_a_listing_is_made_anew_each_time(bucket: Bucket) -> None:
    source = bucket.source()
    assert len(await listed(source)) == 2
    bucket.reply = lambda query: ("200 OK", page("a.md"))
    assert len(await listed(source)) == 1


async def test_no_credentials_of_the_server_are_used(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever may add a source would read what the server may read."""
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[default]\naws_access_key_id=AKIAFILE\naws_secret_access_key=x\n")
    (tmp_path / ".aws" / "config").write_text("[profile role]\naws_access_key_id=AKIAFILE\naws_secret_access_key=x\n")
    for name, value in {**ENVIRONMENT, "HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "false"}.items():
        monkeypatch.setenv(name, value)
    for secrets, options in (({}, {}), ({"key": "AKIAGIVEN"}, {}), ({}, {"anon": "false"})):
        with pytest.raises(SourceRefused, match="secrets key and secret, or option anon=true"):
            bucket.source(secrets, **options)
    assert len(await listed(bucket.source({}, anon="true"))) == 2
    assert "HTTP_AUTHORIZATION" not in bucket.seen[-1]
    assert len(await listed(bucket.source())) == 2
    assert "Credential=AKIAGIVEN/" in bucket.seen[-1]["HTTP_AUTHORIZATION"]


MEANINGS = [
    ("403 Forbidden", "InvalidAccessKeyId", SourceRefused),
    ("403 Forbidden", "SignatureDoesNotMatch", SourceRefused),
    ("403 Forbidden", "AccessDenied", SourceRefused),
    ("404 Not Found", "NoSuchBucket", SourceRefused),
    ("400 Bad Request", "AuthorizationHeaderMalformed", SourceRefused),
    ("503 Slow Down", "SlowDown", SourceUnreachable),
    ("500 Internal", "InternalError", SourceUnreachable),
]


@pytest.mark.siege
async def test_what_a_server_says_is_for_good_or_for_now(bucket: Bucket) -> None:
    source = bucket.source()
    bucket.headers = [("Retry-After", "11")]
    for status, code, error in MEANINGS:
        bucket.reply = lambda query, status=status, code=code: (status, failure(code))  # type: ignore[misc]
        with pytest.raises(error) as failed:
            await listed(source)
        assert "secret-given" not in str(failed.value)
        if isinstance(failed.value, SourceUnreachable):
            assert failed.value.retry_after_s == 11


@pytest.mark.siege
async def test_a_listing_that_breaks_off_raises(bucket: Bucket) -> None:
    names = [f"{number:04}.md" for number in range(300)]
    bucket.reply = lambda query: (
        ("500 Internal", failure("InternalError"))
        if "continuation-token" in query
        else ("200 OK", page(*names, more="t"))
    )
    listing = bucket.source().list_files()
    assert (await anext(listing)).path == "0000.md"
    with pytest.raises(SourceUnreachable):
        _ = [file async for file in listing]


@pytest.mark.siege
async def test_a_server_that_is_gone_is_for_now(bucket: Bucket) -> None:
    with serving_wsgi(bucket) as gone:
        pass
    bucket.port = gone
    with pytest.raises(SourceUnreachable):
        await listed(bucket.source())


@pytest.mark.siege
async def test_a_file_that_is_gone_is_said(bucket: Bucket) -> None:
    source = bucket.source()
    files = await listed(source)
    bucket.reply = lambda query: ("404 Not Found", failure("NoSuchKey"))
    with pytest.raises(SourceFileGone, match=r"a\.md is not there any more"):
        await source.read_file(files["a.md"], 100)


async def test_no_private_network_is_reached_whatever_a_name_meant_before(bucket: Bucket) -> None:
    with pytest.raises(SourceRefused, match="private network"):
        await listed(bucket.source(private=()))
    here = f"http://localhost:{bucket.port}"  # what was checked is public, what is connected to is not

    async def public(host: str, port: int) -> list[str]:
        return ["8.8.8.8"]

    from cairn.connectors.registry import open_connector
    from cairn.settings import UrlSettings

    allow = UrlSettings(allowed_hosts=(f"*:{bucket.port}",))
    with pytest.raises(SourceUnreachable):
        await listed(open_connector("s3://docs", {"endpoint_url": here}, SECRETS, allow=allow, resolve=public))
    assert bucket.seen == []


@pytest.mark.parametrize(
    ("address", "options", "said"),
    [
        ("s3://docs", {}, r"s3\.us-east-1\.amazonaws\.com port 443 is not among"),
        ("s3://docs", {"region": "eu-central-1"}, r"s3\.eu-central-1\.amazonaws\.com"),
        ("s3://docs", {"region": "evil.example.org/#"}, "is no region"),
        ("s3://docs", {"endpoint_url": "ftp://x"}, "option endpoint_url"),
        ("s3://docs", {"endpoint_url": "http://u:p@x"}, "option endpoint_url"),
        ("s3://docs", {"anon": "yes"}, "option anon: true or false"),
        ("s3:///docs", {"endpoint_url": f"https://{HOST}"}, "names a bucket"),
    ],
)
def test_what_cannot_be_is_refused_at_once(address: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(SourceRefused, match=said):
        opened(address, options, SECRETS, hosts=[HOST])
