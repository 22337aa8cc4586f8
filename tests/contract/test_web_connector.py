"""A site as a source: its sitemaps, feeds and robots.txt, from a real web server."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
from scripted_web import Reply, ScriptedWeb
from source_servers import HOST, listed, opened

from cairn.connectors import web_connector
from cairn.connectors.connector import (
    Connector,
    SourceFileElsewhere,
    SourceFileGone,
    SourceFileTooLarge,
    SourceRefused,
    SourceUnreachable,
)
from cairn.connectors.site_lists import MOST_LIST_BYTES, Robots, read_robots, unpack
from cairn.connectors.source_http import seconds_to_wait
from tests.growth import repeated, takes_linear_time

QUICK = {"pages_per_second": "1000"}


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    with ScriptedWeb({"/leave.html": "<h1>Leave</h1>", "/hr/": "<h1>HR</h1>"}) as running:
        yield running


def site(web: ScriptedWeb, path: str = "/", **options: str) -> Connector:
    return opened(f"http://{HOST}:{web.port}{path}", {**QUICK, **options}, hosts=[HOST], port=web.port)


def sitemap(*entries: str, root: str = "urlset", entry: str = "url") -> bytes:
    inner = "".join(f"<{entry}>{one}</{entry}>" for one in entries)
    return f'<?xml version="1.0"?><{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inner}</{root}>'.encode()


async def test_a_site_is_read_by_the_sitemaps_that_its_robots_txt_names(web: ScriptedWeb) -> None:
    here = f"http://{HOST}:{web.port}"
    index = sitemap(f"<loc>{here}/a.xml.gz</loc>", "<loc>/b.xml</loc>", root="sitemapindex", entry="sitemap")
    web.pages |= {
        "/robots.txt": f"User-agent: *\nDisallow: /private\nSitemap: {here}/index.xml\n",
        "/index.xml": index,
        "/a.xml.gz": gzip.compress(sitemap(
            f"<loc>{here}/leave.html</loc><lastmod>2026-03-04</lastmod>", f"<loc>{here}/private/x</loc>",
            f"<loc>{here}/leave.html#twice</loc>",
        )),
        "/b.xml": sitemap(
            "<loc>/hr/</loc><lastmod>2026-03-05T10:00:00+02:00</lastmod>", "<loc>/a.php?id=3</loc><lastmod>2026</lastmod>"
        ),
    }  # fmt: skip
    source = site(web)
    files = await listed(source)
    assert list(files) == ["leave.html", "hr/index.html", "a.php?id=3.html"]
    assert (files["leave.html"].version, files["leave.html"].modified) == (
        "2026-03-04",
        datetime(2026, 3, 4, tzinfo=UTC),
    )
    assert files["hr/index.html"].address == f"{here}/hr/"
    assert await source.read_file(files["leave.html"], 100) == b"<h1>Leave</h1>"
    assert not [path for path, _ in web.requests if path.startswith("/private")]
    assert list(await listed(site(web, "/index.xml", include="hr"))) == ["hr/index.html"]


async def test_without_a_date_the_server_or_the_content_tells_of_a_change(web: ScriptedWeb) -> None:
    web.pages |= {
        "/sitemap.xml": sitemap(
            "<loc>/tagged</loc>", "<loc>/dated</loc>", "<loc>/leave.html</loc>", "<loc>/gone</loc>"
        ),
        "/tagged": Reply(b"a", headers={"ETag": '"1"'}),
        "/dated": Reply(b"a", headers={"Last-Modified": "Sat, 28 Nov 2026 05:00:00 GMT"}),
    }
    first = await listed(site(web))
    assert list(first) == ["tagged", "dated", "leave.html"]
    assert (first["tagged"].version, first["dated"].version) == ('"1"', "-Sat, 28 Nov 2026 05:00:00 GMT")
    assert await listed(site(web)) == first
    web.pages |= {
        "/tagged": Reply(b"b", headers={"ETag": '"2"'}),
        "/leave.html": "<h1>LEAVE</h1>",
    }
    second = await listed(site(web))
    assert {path for path in second if second[path].version != first[path].version} == {"tagged", "leave.html"}
    del web.pages["/leave.html"]
    assert "leave.html" not in await listed(site(web))


async def test_a_server_that_knows_no_head_is_asked_for_the_page(web: ScriptedWeb) -> None:
    web.knows_head = False
    web.pages |= {
        "/sitemap.xml": sitemap("<loc>/leave.html</loc>", "<loc>/t</loc>"),
        "/t": Reply(b"a", headers={"ETag": "1"}),
    }
    first = await listed(site(web))
    assert first["t"].version == "1"
    web.pages["/leave.html"] = "<h1>LEAVE</h1>"
    second = await listed(site(web))
    assert {path for path in second if second[path].version != first[path].version} == {"leave.html"}


@pytest.mark.parametrize(
    "feed",
    [
        "<rss version='2.0'><channel><link>/none</link><item><title>L</title><link>/leave.html</link>"
        "<pubDate>Sat, 28 Nov 2026 05:00:00 GMT</pubDate></item></channel></rss>",
        "<feed xmlns='http://www.w3.org/2005/Atom'><link href='/none'/><entry><link rel='edit' href='/none'/>"
        "<link href='/leave.html'/><published>2020-01-01T00:00:00Z</published>"
        "<updated>2026-11-28T05:00:00Z</updated></entry></feed>",
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/' "
        "xmlns:dc='http://purl.org/dc/elements/1.1/'><channel><link>/none</link></channel><item><link>/leave.html</link>"
        "<dc:date>2026-11-28T05:00:00Z</dc:date></item></rdf:RDF>",
    ],
    ids=["rss", "atom", "rss 1.0"],
)
async def test_a_feed_names_pages(web: ScriptedWeb, feed: str) -> None:
    web.pages["/feed"] = feed
    files = await listed(site(web, "/feed"))
    assert list(files) == ["leave.html"]
    assert files["leave.html"].modified == datetime(2026, 11, 28, 5, tzinfo=UTC)


async def test_pages_of_hosts_that_are_not_allowed_are_passed_over(web: ScriptedWeb) -> None:
    web.pages["/sitemap.xml"] = sitemap(
        "<loc>https://evil.example.net/x</loc>", "<loc>file:///etc/passwd</loc>", "<loc>/leave.html</loc>",
        f"<loc>http://other.example.org:{web.port}/leave.html</loc>",
    )  # fmt: skip
    assert list(await listed(site(web))) == ["leave.html"]
    both = opened(f"http://{HOST}:{web.port}/", QUICK, hosts=["*.example.org"], port=web.port)
    assert list(await listed(both)) == ["leave.html", f"other.example.org:{web.port}/leave.html"]


async def test_what_is_no_address_is_passed_over(web: ScriptedWeb) -> None:
    bad = "https://[oops/b.html"
    web.pages |= {
        "/robots.txt": f"Sitemap: {bad}\nSitemap: /index.xml",
        "/index.xml": sitemap(f"<loc>{bad}</loc>", "<loc>/a.xml</loc>", root="sitemapindex", entry="sitemap"),
        "/a.xml": sitemap(f"<loc>{bad}</loc>", "<loc>http://a:b/</loc>", "<loc>/leave.html</loc>"),
    }
    assert list(await listed(site(web))) == ["leave.html"]


async def test_lists_are_read_to_a_bound(web: ScriptedWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    web.pages["/sitemap.xml"] = sitemap(*["<loc>/leave.html</loc><lastmod>2026</lastmod>"] * 9, "<loc>/hr/</loc>")
    monkeypatch.setattr(web_connector, "MOST_ENTRIES", 9)
    with pytest.raises(SourceRefused, match="more than 9 entries"):
        await listed(site(web, include="hr"))
    monkeypatch.setattr(web_connector, "MOST_ENTRIES", 10)
    assert list(await listed(site(web, include="hr"))) == ["hr/index.html"]
    monkeypatch.setattr(web_connector, "MOST_PAGES", 1)
    web.pages["/robots.txt"] = "User-agent: *\nDisallow: /leave"  # what is forbidden counts, too: it was looked at
    with pytest.raises(SourceRefused, match="more than 1 pages"):
        await listed(site(web))


async def test_no_site_of_a_private_network_is_read(web: ScriptedWeb) -> None:
    web.pages["/sitemap.xml"] = sitemap("<loc>/leave.html</loc>")
    with pytest.raises(SourceRefused, match="private network"):
        await listed(opened(f"http://{HOST}:{web.port}/", QUICK, private=(), port=web.port))
    assert not web.requests
    with pytest.raises(SourceRefused, match="not among the hosts"):
        opened(f"http://{HOST}:{web.port}/", hosts=["other.example.org"], port=web.port)


async def test_a_page_that_is_gone_too_large_or_closed_since_is_said(web: ScriptedWeb) -> None:
    web.pages["/sitemap.xml"] = sitemap("<loc>/leave.html</loc><lastmod>2026</lastmod>")
    source = site(web)
    file = (await listed(source))["leave.html"]
    assert await source.read_file(file, 14) == b"<h1>Leave</h1>"
    with pytest.raises(SourceFileTooLarge, match="more than 13 bytes"):
        await source.read_file(file, 13)
    web.pages["/robots.txt"] = "User-agent: Cairn\nDisallow: /"
    with pytest.raises(SourceFileGone, match=r"robots\.txt"):
        await site(web).read_file(file, 100)
    del web.pages["/robots.txt"], web.pages["/leave.html"]
    with pytest.raises(SourceFileGone, match="answered 404"):
        await source.read_file(file, 100)


async def test_a_server_that_asks_to_wait_is_asked_again_for_a_little_while(web: ScriptedWeb) -> None:
    web.pages["/sitemap.xml"] = Reply(status=503, headers={"Retry-After": "0"})
    with pytest.raises(SourceUnreachable, match="answered 503"):
        await listed(site(web))
    assert [path for path, _ in web.requests] == ["/robots.txt", *["/sitemap.xml"] * 3]
    web.pages["/sitemap.xml"] = Reply(status=429, headers={"Retry-After": "3600"})
    with pytest.raises(SourceUnreachable) as later:
        await listed(site(web))
    assert later.value.retry_after_s == 3600
    assert len(web.requests) == 6


async def test_a_listing_that_breaks_off_raises(web: ScriptedWeb) -> None:
    index = sitemap("<loc>/a.xml</loc>", "<loc>/b.xml</loc>", root="sitemapindex", entry="sitemap")
    web.pages |= {"/sitemap.xml": index, "/a.xml": sitemap("<loc>/leave.html</loc><lastmod>2026</lastmod>")}
    for broken, error in ((Reply(status=500), SourceUnreachable), (sitemap("<loc>/x</loc>")[:-9], SourceRefused)):
        web.pages["/b.xml"] = broken
        listing = site(web).list_files()
        assert (await anext(listing)).path == "leave.html"
        with pytest.raises(error):
            _ = [file async for file in listing]
    web.pages["/robots.txt"] = Reply(status=500)
    with pytest.raises(SourceUnreachable):
        await listed(site(web))


async def test_a_server_that_is_gone_is_for_now() -> None:
    with ScriptedWeb({}) as web:
        source = site(web)
    with pytest.raises(SourceUnreachable, match="cannot be reached"):
        await listed(source)


async def test_what_is_no_list_is_refused(web: ScriptedWeb) -> None:
    web.pages |= {
        "/bad.xml": "<html><body>no list</body></html>",
        "/text": "no xml",
        "/half.gz": gzip.compress(sitemap("<loc>/x</loc>"))[:-10],
        "/bomb.gz": gzip.compress(b"<urlset>" + b" " * (MOST_LIST_BYTES + 1), 1),
        "/laughs.xml": '<!DOCTYPE u [<!ENTITY a "/leave.html"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
        "<urlset><url><loc>&a;</loc></url><url><loc>&f;</loc></url></urlset>",
    }
    for path, said in (("/bad.xml", "begins with <html>"), ("/text", "neither"), ("/half.gz", "end is missing"),
                       ("/bomb.gz", "when it is unpacked"), ("/none.xml", "name the address of the sitemap")):  # fmt: skip
        with pytest.raises(SourceRefused, match=said):
            await listed(site(web, path))
    assert await listed(site(web, "/laughs.xml")) == {}


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /", "/x", False),
        ("User-agent: other\nDisallow: /", "/x", True),
        ("User-agent: *\nDisallow: /\nUser-agent: Cairn\nDisallow:", "/x", True),
        ("User-agent: a\nUser-agent: cairn # us\nDisallow: /x", "/x/y", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?a", True),
        ("User-agent: *\nDisallow: /*a*b", "/xbya", True),
        ("User-agent: *\nDisallow: /x$", "/x", False),
        ("User-agent: *\nDisallow: /x$", "/xy", True),
        ("\ufeffUser-agent: *\nDisallow: /x", "/x", False),
    ],
)
def test_robots_txt_is_read_as_its_standard_says(rules: str, path: str, allowed: bool) -> None:
    assert read_robots(rules.encode()).allow(path) is allowed


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://LOCALHOST:8852/hr/pay.html", "hr/pay.html"),
        ("http://localhost.:8852/hr/", "hr/index.html"),
        ("http://localhost/hr?a=1", "localhost/hr?a=1"),
        ("https://Docs.example.org:443/a", "docs.example.org/a"),
        ("https://[2001:DB8::1]:8443/a", "[2001:db8::1]:8443/a"),
    ],
)
def test_a_host_is_one_however_it_is_written(url: str, path: str) -> None:
    assert web_connector._path(urlsplit(url), "localhost:8852") == path


def test_robots_txt_slows_down_and_takes_linear_time() -> None:
    robots = read_robots(b"User-agent: *\nCrawl-delay: 2.5\nSitemap: https://a/x.xml")
    assert (robots.delay_s, robots.sitemaps) == (2.5, ["https://a/x.xml"])
    hostile = Robots([("/*" + "a*" * 500 + "b$", False)])
    assert takes_linear_time(hostile.allow, repeated("a"), 10_000)


def test_what_is_packed_is_unpacked_to_a_bound() -> None:
    assert unpack(gzip.compress(b"x" * 1000), "u", 1000) == b"x" * 1000
    with pytest.raises(SourceRefused, match="more than 999 bytes"):
        unpack(gzip.compress(b"x" * 1000), "u", 999)


def test_retry_after_is_seconds_or_a_date() -> None:
    now = datetime(2026, 11, 28, 5, 0, tzinfo=UTC)
    said = ["120", "Sat, 28 Nov 2026 05:01:00 GMT", "Sat, 28 Nov 2026 04:00:00 GMT", "soon", None, ""]
    assert [seconds_to_wait(one, now) for one in said] == [120, 60, 0, None, None, None]


@pytest.mark.parametrize("said", ["0", "-1", "many", "nan", "1001"])
def test_a_pace_that_is_none_is_refused(said: str) -> None:
    with pytest.raises(SourceRefused, match="pages_per_second"):
        opened("https://docs.example.org/", {"pages_per_second": said})


async def test_a_page_that_leads_to_another_one_does_not_come_in_by_its_name(web: ScriptedWeb) -> None:
    here = f"http://{HOST}:{web.port}"
    stamp, names = "<lastmod>2026</lastmod>", ("p/17", "p/18", "hr", "leave", "closed", "old")
    web.pages |= {
        "/robots.txt": "User-agent: *\nDisallow: /private\nDisallow: /closed/",
        "/sitemap.xml": sitemap(*(f"<loc>/{name}</loc>{stamp}" for name in names)),
        "/p/17": Reply(status=301, headers={"Location": "/hr/?token=x"}),
        "/p/18": Reply(status=302, headers={"Location": "/private/x"}),
        "/hr": Reply(status=301, headers={"Location": "/hr/index.html"}),
        "/hr/index.html": "<h1>HR</h1>",
        "/leave": Reply(status=301, headers={"Location": f"{here}/leave/"}),
        "/leave/": "<h1>Leave</h1>",
        "/closed": Reply(status=301, headers={"Location": "/closed/"}),
        "/old": Reply(status=301, headers={"Location": "/old/index.html"}),
        "/old/index.html": "<h1>Old</h1>",
        "/hr/?token=x": "<h1>WAGES</h1>", "/private/x": "<h1>CLOSED</h1>", "/closed/": "<h1>CLOSED</h1>",
    }  # fmt: skip
    source = site(web, exclude="old/*.html")
    files = await listed(source)
    read = {path: await source.read_file(files[path], 100) for path in ("hr", "leave")}
    assert read == {"hr": b"<h1>HR</h1>", "leave": b"<h1>Leave</h1>"}
    for path, said in (("p/17", f"another page, {here}/hr/$"), ("p/18", "another page"), ("closed", r"robots\.txt"),
                       ("old", "option exclude")):  # fmt: skip
        with pytest.raises(SourceFileElsewhere, match=said):
            await source.read_file(files[path], 100)


@pytest.mark.parametrize("knows_head", [True, False])
async def test_a_page_that_begins_to_lead_elsewhere_is_another_version(web: ScriptedWeb, knows_head: bool) -> None:
    web.knows_head = knows_head
    web.pages |= {"/sitemap.xml": sitemap("<loc>/leave.html</loc>"), "/pay": "<h1>Leave</h1>"}
    before = (await listed(site(web)))["leave.html"].version
    web.pages["/leave.html"] = Reply(status=301, headers={"Location": "/pay"})
    assert (await listed(site(web)))["leave.html"].version not in (before, "")


async def test_a_page_is_one_however_its_address_is_written(web: ScriptedWeb) -> None:
    odd = f"http://%{ord(HOST[0]):x}{HOST[1:].upper()}:{web.port}"
    stamp = "<lastmod>2026</lastmod>"
    paths = ["/%70rivate/x", "//private/x", "/private%2fx", "/private;v=1/x", "/z/%2e./private/x", "/%c3%bc/x", "/ü/x"]
    paths += ["/hr/pay", "/hr%5Cpay", "/hr//pay", "/hr;v=1/pay", "/%68r/pay", "//hr/pay", "/a/../hr/pay"]
    paths += ["/leave.html", "/%6ceave.html"]
    entries = [f"<loc>{host}{path}</loc>{stamp}" for host in ("", odd) for path in paths]
    web.pages |= {
        "/robots.txt": "User-agent: *\nDisallow: /priv%61te/\nDisallow: /%C3%BC/",
        "/sitemap.xml": sitemap(*entries),
    }
    files = await listed(site(web, exclude="hr/*"))
    assert [*files] == ["leave.html"]
    assert files["leave.html"].address == f"http://{HOST}:{web.port}/leave.html"
    source = opened(f"http://{HOST.upper()}:{web.port}/", {**QUICK, "exclude": "hr/*"}, hosts=[HOST], port=web.port)
    assert await listed(source) == files
