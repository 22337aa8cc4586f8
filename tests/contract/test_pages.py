"""Pages that are fetched by their address, from a real web server: what is taken, and what no address may reach."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Sequence

import pytest
from scripted_web import Reply, ScriptedWeb

from cairn.errors import AddressRefusedError, CairnError, FetchError, InputError, TooLargeError
from cairn.providers.address_guard import AddressGuard, is_public
from cairn.providers.fetch_pages import PageFetcher, check_url
from cairn.settings import UrlSettings

LOOPBACK = ("127.0.0.0/8",)
HOST = "docs.example.org"


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    with ScriptedWeb({"/leave.html": "<h1>Leave</h1><p>30 days</p>"}) as running:
        yield running


def names(*addresses: str) -> Callable[[str, int], object]:
    """A resolver: each look-up gives the next of these, the last one for ever."""
    left = list(addresses)

    async def resolve(host: str, port: int) -> Sequence[str]:
        return [left.pop(0) if len(left) > 1 else left[0]]

    return resolve


def fetcher(
    web: ScriptedWeb, *addresses: str, hosts: Sequence[str] = (), private: Sequence[str] = LOOPBACK, max_bytes: int = 10_000,
    seconds: float = 20,
) -> PageFetcher:  # fmt: skip
    settings = UrlSettings(
        allowed_hosts=tuple(hosts or (f"{HOST}:{web.port}",)), private_networks=tuple(private), seconds=seconds
    )
    resolve = names(*(addresses or ("127.0.0.1",)))
    return PageFetcher(settings, max_bytes=max_bytes, resolve=resolve, trust=web.trust)  # type: ignore[arg-type]


async def test_a_page_is_fetched_as_its_host_would_be_asked(web: ScriptedWeb) -> None:
    page = await fetcher(web).fetch(f"http://{HOST.upper()}:{web.port}/leave.html#annual")
    assert page.url == f"http://{HOST}:{web.port}/leave.html"
    assert (page.name, page.media_type, page.content[:5]) == ("leave.html", "text/html", b"<h1>L")
    ((path, headers),) = web.requests
    assert path == "/leave.html"
    assert headers["host"] == f"{HOST}:{web.port}"
    assert "cookie" not in headers


async def test_over_tls_the_certificate_must_be_of_the_host() -> None:
    with ScriptedWeb({"/a": "A"}, tls_for=[HOST]) as web:
        assert (await fetcher(web).fetch(f"https://{HOST}:{web.port}/a")).content == b"A"
        with pytest.raises(FetchError, match="certificate"):
            await fetcher(web, hosts=["*:" + str(web.port)]).fetch(f"https://other.example.org:{web.port}/a")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1", "fd00::1", "fec0::1", "ff02::1", "::ffff:127.0.0.1",
        "2002:7f00:1::", "64:ff9b::a9fe:a9fe", "192.0.0.1", "192.0.0.192", "192.88.99.1", "168.63.129.16", "203.0.113.9",
        "64:ff9b:1::1", "::127.0.0.1", "::ffff:0:127.0.0.1", "::a9fe:a9fe", "5f00::1", "3fff::1", "2001:0:5f5:5f5::1",
        "2001:db8::1", "100::1", "4000::1", "2620:4f:8000::1",
    ],
)  # fmt: skip
async def test_no_private_address_is_connected_to(web: ScriptedWeb, address: str) -> None:
    with pytest.raises(AddressRefusedError, match="private network"):
        await fetcher(web, address, private=()).fetch(f"http://{HOST}:{web.port}/leave.html")
    assert not web.requests


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
async def test_no_way_to_write_loopback_leads_there(web: ScriptedWeb, host: str) -> None:
    settings = UrlSettings(allowed_hosts=(f"*:{web.port}",))
    with pytest.raises(CairnError) as refused:
        await PageFetcher(settings, max_bytes=1000).fetch(f"http://{host}:{web.port}/leave.html")
    assert refused.value.code in ("address-refused", "fetch-failed", "invalid-input")
    assert not web.requests


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True), ("192.0.1.1", True), ("168.63.129.17", True), ("2606:4700::1111", True), ("2a00:1450::1", True),
        ("64:ff9b::808:808", True), ("::ffff:8.8.8.8", True), ("2002:808:808::1", True), ("2002:a00:1::1", False),
        ("::ffff:10.0.0.1", False),
    ],
)  # fmt: skip
def test_what_is_public_depends_on_no_version_of_python(address: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is public


async def test_a_private_network_that_the_settings_open_is_reached_by_its_own_address() -> None:
    assert AddressGuard(UrlSettings(private_networks=("::1/128",))).may_reach(ipaddress.ip_address("::1"))
    assert not AddressGuard(UrlSettings()).may_reach(ipaddress.ip_address("::1"))


async def test_a_name_that_means_another_address_later_changes_nothing(web: ScriptedWeb) -> None:
    """It is looked up once, and what was looked at is connected to."""
    page = await fetcher(web, "127.0.0.1", "10.0.0.1").fetch(f"http://{HOST}:{web.port}/leave.html")
    assert page.content


async def test_each_redirect_is_checked_anew(web: ScriptedWeb) -> None:
    here = f"http://{HOST}:{web.port}"
    web.pages |= {
        "/moved": Reply(status=302, headers={"Location": "/leave.html"}),
        "/away": Reply(status=302, headers={"Location": "http://metadata.example.net/"}),
        "/inside": Reply(status=307, headers={"Location": f"http://intern.example.org:{web.port}/leave.html"}),
        "/file": Reply(status=302, headers={"Location": "file:///etc/passwd"}),
        "/round": Reply(status=302, headers={"Location": "/round"}),
    }
    page = await fetcher(web).fetch(f"{here}/moved")
    assert (page.url, page.content[:4]) == (f"{here}/leave.html", b"<h1>")
    with pytest.raises(AddressRefusedError, match=r"metadata\.example\.net"):
        await fetcher(web).fetch(f"{here}/away")
    with pytest.raises(AddressRefusedError, match=r"10\.0\.0\.1"):
        await fetcher(web, "127.0.0.1", "10.0.0.1", hosts=[f"*.example.org:{web.port}"]).fetch(f"{here}/inside")
    with pytest.raises(InputError):
        await fetcher(web).fetch(f"{here}/file")
    with pytest.raises(FetchError, match="more than 5"):
        await fetcher(web).fetch(f"{here}/round")


async def test_what_is_too_large_slow_compressed_or_missing_fails(web: ScriptedWeb) -> None:
    here = f"http://{HOST}:{web.port}"
    web.pages |= {
        "/large": b"x" * 20_000,
        "/slow": Reply(stalls=True),
        "/packed": Reply(b"\x1f\x8b", headers={"Content-Encoding": "gzip"}),
    }
    with pytest.raises(TooLargeError, match="10,000 bytes"):
        await fetcher(web).fetch(f"{here}/large")
    with pytest.raises(FetchError, match=r"urls\.seconds"):
        await fetcher(web, seconds=0.2).fetch(f"{here}/slow")
    with pytest.raises(FetchError, match="compressed"):
        await fetcher(web).fetch(f"{here}/packed")
    with pytest.raises(FetchError, match="answered 404"):
        await fetcher(web).fetch(f"{here}/nothing")


async def test_what_made_a_page_in_html_does_not_name_it(web: ScriptedWeb) -> None:
    web.pages |= {"/index.php": "<p>x</p>", "/": "<p>x</p>", "/a.pdf": b"%PDF-"}
    here = f"http://{HOST}:{web.port}"
    fetched = [(await fetcher(web).fetch(f"{here}{path}")).name for path in ("/index.php", "/", "/a.pdf")]
    assert fetched == ["index.php.html", f"{HOST}.html", "a.pdf"]


ALLOWED = UrlSettings(allowed_hosts=("docs.example.org", "*.wiki.example.org", "files.example.org:8443"))


@pytest.mark.parametrize(
    "url",
    ["https://docs.example.org/a", "http://docs.example.org/", "https://a.wiki.example.org/x", "https://files.example.org:8443/"],
)  # fmt: skip
def test_hosts_that_are_named_are_allowed(url: str) -> None:
    assert check_url(url, ALLOWED) == url


def test_one_address_is_written_in_one_way() -> None:
    url = "https://DOCS.example.org/%68r/%7Eada%2Fx%20y%3F#top"
    assert check_url(url, ALLOWED) == "https://docs.example.org/hr/~ada%2Fx%20y%3F"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/", "https://docs.example.org:22/", "https://wiki.example.org/", "https://xdocs.example.org/",
        "https://docs.example.org.evil.test/", "https://files.example.org/", "https://evilwiki.example.org/",
        "https://docs.example.org@evil.test/", "ftp://docs.example.org/", "//docs.example.org/", "docs.example.org", "",
        "https://user:secret@docs.example.org/", "https://docs.example.org/" + "a" * 600, "http://[::1", "https://",
    ],
)  # fmt: skip
def test_others_are_not(url: str) -> None:
    with pytest.raises(InputError):
        check_url(url, ALLOWED)


def test_without_hosts_it_is_off() -> None:
    with pytest.raises(AddressRefusedError, match=r"urls\.allowedHosts"):
        check_url("https://docs.example.org/", UrlSettings())


@pytest.mark.parametrize(
    "entry", ["https://docs.example.org", "docs.example.org/a", "docs.*.org", "", "host:0", "a..b"]
)
def test_an_entry_that_is_no_host_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="name hosts as"):
        UrlSettings(allowed_hosts=(entry,))
