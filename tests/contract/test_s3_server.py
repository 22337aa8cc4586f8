"""Buckets of a whole server of S3: moto, with its own rules of who may do what, in an environment and a process of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from source_servers import listed, opened

from cairn.connectors.connector import (
    Connector,
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    SourceUnreachable,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.siege

PYTHON = Path(os.environ.get("CAIRN_S3_PYTHON") or f"{sys.prefix}-s3/bin/python")
"""Read while tests are collected: those that run see no variables of the product's from outside."""
READING = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": ["arn:aws:s3:::docs", "arn:aws:s3:::docs/*"]}
]})  # fmt: skip


class S3:
    """`keys`: of somebody who may read the bucket docs, and no other."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process, self.port = process, port
        self.keys: dict[str, str] = {}

    def client(self, service: str) -> Any:
        import botocore.session

        return botocore.session.Session().create_client(
            service, region_name="us-east-1", endpoint_url=f"http://127.0.0.1:{self.port}", aws_access_key_id="setup",
            aws_secret_access_key="setup",
        )  # fmt: skip

    def keep_rules(self) -> None:
        """From now on; until then everything is answered, whoever asks."""
        address = f"http://127.0.0.1:{self.port}/moto-api/reset-auth"
        urlopen(Request(address, data=b"0", headers={"Content-Type": "text/plain"})).close()

    def source(self, address: str = "s3://docs", secrets: dict[str, str] | None = None, **options: str) -> Connector:
        given = {"endpoint_url": f"http://127.0.0.1:{self.port}", **options}
        return opened(address, given, self.keys if secrets is None else secrets, port=self.port)


@pytest.fixture
def s3() -> Iterator[S3]:
    if not PYTHON.exists():
        pytest.skip(f"S3 NOT TESTED: there is no {PYTHON}; `make test-all` makes it, or name one in CAIRN_S3_PYTHON")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [str(PYTHON), "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, **quiet)  # type: ignore[call-overload]
    try:
        wait_until(lambda: process.poll() is not None or _answers(port))
        made = S3(process, port)
        client, people = made.client("s3"), made.client("iam")
        client.create_bucket(Bucket="docs")
        client.create_bucket(Bucket="other")
        for name in ("a.md", "hr/leave plan.md", "hr/x/ü#%.md", "hr/.git/c.md", "hr/"):
            client.put_object(Bucket="docs", Key=name, Body=f"text of {name}".encode() if name[-1] != "/" else b"")
        people.create_user(UserName="reader")
        people.put_user_policy(UserName="reader", PolicyName="reading", PolicyDocument=READING)
        key = people.create_access_key(UserName="reader")["AccessKey"]
        made.keys = {"key": key["AccessKeyId"], "secret": key["SecretAccessKey"]}
        yield made
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_a_bucket_is_listed_and_read(s3: S3) -> None:
    source = s3.source()
    files = await listed(source)
    assert sorted(files) == ["a.md", "hr/leave plan.md", "hr/x/ü#%.md"]
    odd = files["hr/x/ü#%.md"]
    assert await source.read_file(odd, odd.size or 0) == "text of hr/x/ü#%.md".encode()
    with pytest.raises(SourceFileTooLarge, match=r"a\.md has more than 11 bytes"):
        await source.read_file(files["a.md"], 11)
    assert len(await source.read_file(files["a.md"], 12)) == 12
    assert sorted(await listed(s3.source("s3://docs/hr", exclude="x"))) == ["leave plan.md"]
    await source.close()


async def test_a_change_is_seen_and_a_deletion(s3: S3) -> None:
    source, client = s3.source(), s3.client("s3")
    before = await listed(source)
    client.put_object(Bucket="docs", Key="a.md", Body=b"TEXT of a.md")
    client.put_object(Bucket="docs", Key="empty.md", Body=b"")
    client.delete_object(Bucket="docs", Key="hr/leave plan.md")
    after = await listed(source)
    assert sorted(after) == ["a.md", "empty.md", "hr/x/ü#%.md"]
    assert after["a.md"].version != before["a.md"].version
    assert await source.read_file(after["a.md"], 100) == b"TEXT of a.md"
    assert await source.read_file(after["empty.md"], 100) == b""
    with pytest.raises(SourceFileGone):
        await source.read_file(before["hr/leave plan.md"], 100)


async def test_who_may_not_read_is_refused(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.keep_rules()
    assert len(await listed(s3.source())) == 3
    # the server itself may read the bucket
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.keys["key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.keys["secret"])
    for source in (
        s3.source(secrets={**s3.keys, "secret": "wrong-secret"}),
        s3.source(secrets={"key": "AKIAUNKNOWN", "secret": "wrong-secret"}),
        s3.source("s3://other"),
    ):
        with pytest.raises(SourceRefused) as refused:
            await listed(source)
        assert "wrong-secret" not in str(refused.value)


async def test_no_bucket_is_not_an_empty_one(s3: S3) -> None:
    with pytest.raises(SourceRefused, match="there is no s3://none"):
        await listed(s3.source("s3://none"))


async def test_a_server_that_is_killed_in_the_middle_breaks_the_listing_off(s3: S3) -> None:
    client = s3.client("s3")
    for number in range(1100):  # more than the thousand of a page
        client.put_object(Bucket="other", Key=f"{number:05}.md", Body=b"x")
    source = s3.source("s3://other")
    assert len(await listed(source)) == 1100
    listing = source.list_files()
    first = await anext(listing)
    s3.process.kill()
    s3.process.wait()
    with pytest.raises(SourceUnreachable):
        _ = [file async for file in listing]
    with pytest.raises(SourceUnreachable):
        await source.read_file(first, 100)
