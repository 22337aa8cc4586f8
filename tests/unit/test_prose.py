"""Text as the page shows it: Markdown rendered, nothing of others that loads or runs, marks that survive, numbers that lead to
sources."""

from __future__ import annotations

import html
import re
import time

import pytest

from cairn.interfaces.web.prose import cut_around, find_words, render
from tests.waiting import patience


def plainly(rendered: str) -> str:
    """Without its tags, in one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", re.sub(r"</?mark>", "", rendered))).split())


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("30 days [1].", '<p>30 days <a class="cite" href="#source-1">1</a>.</p>'),
        ("of three sources [3]", "<p>of three sources [3]</p>"),  # which it does not have
        ("see [1](https://example.org)", '<p>see <a href="https://example.org">1</a></p>'),
        ("see [the guide](guide.md)", "<p>see <span>the guide</span></p>"),  # which is nowhere on the page
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("`values[1]` [2]", '<p><code>values[1]</code> <a class="cite" href="#source-2">2</a></p>'),
        ("<script>alert(1)</script>", ""),
        ("<b onclick=alert(1)>812</b> pounds", "<p>812 pounds</p>"),
        ("<pre><code class='cmd'>caddy run &lt;x&gt;</code></pre>", "<pre><code>caddy run &lt;x&gt;</code></pre>"),
        ("set <your-domain> here", "<p>set &lt;your-domain&gt; here</p>"),
        ("usage: cp <source> <target> <time>", "<p>usage: cp &lt;source&gt; &lt;target&gt; &lt;time&gt;</p>"),
        ("If a <b and c> d", "<p>If a &lt;b and c&gt; d</p>"),
        ("<img src=x onerror=alert(1)> and <iframe src='x'>", "<p> and </p>"),
        ("[write](mailto:a@example.org)", "<p><span>write</span></p>"),
        ("<div>\nİİİİ <!-- secret -->shown</div>", "<p>İİİİ shown</p>"),
        ("![a plan](https://example.org/leak)", "<p>a plan</p>"),
        ("one<br>two <!-- three -->", "<p>one<br>two </p>"),
        ("## Days of *leave*", "<h2>Days of <em>leave</em></h2>"),
        ("---\ntitle: basic_auth\n---\n\n# basic_auth", "<h1>basic_auth</h1>"),
        ("Rue de la Gare 3\n1003 Lausanne", "<p>Rue de la Gare 3<br>\n1003 Lausanne</p>"),
        ("A line that its writer broke since it had become long\nenough.",
         "<p>A line that its writer broke since it had become long\nenough.</p>"),
        ("```py\nif a < b[1]:\n```", "<pre><code>if a &lt; b[1]:\n</code></pre>"),
        ("run()\n```\n\nBehind it.", "<pre><code>run()\n</code></pre>\n<p>Behind it.</p>"),  # its fence was cut off
        ("&lt;b&gt;", "<p>&lt;b&gt;</p>"),
    ],
)  # fmt: skip
def test_what_is_said_is_rendered_without_what_loads_or_runs(said: str, shown: str) -> None:
    assert render(said, cited={1, 2}).strip() == shown


def test_a_table_is_one_also_where_its_header_was_cut_off_and_numbers_stand_below_each_other() -> None:
    whole = render("| Item | Amount |\n| --- | --- |\n| Slate | 810 |\n| Granite | 4,200 |")
    assert whole.count("<tr>") == 3
    assert whole.count('<td class="number">') == 2
    assert '<th class="number">Amount</th>' in whole
    rest = render("| Slate | 810 |\n| Granite | 4,200 |\n\nSold in 2024.")
    assert '<table class="bare">' in rest
    assert plainly(rest) == "Slate 810 Granite 4,200 Sold in 2024."


@pytest.mark.parametrize(
    ("text", "marked", "shown"),
    [
        ("They have **30 days** of `leave` per year.", "30 days** of `leave` per", "30 days of leave per"),
        ("- one\n- two\n- three", "- one\n- two", "one two"),
        ("1. Empty the tray.\n2. Rinse.", "2. Rinse.", "Rinse."),
        ("| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |", "| x | 1 |\n", "x 1"),
        ("# Head\n\nBody of it.", "# Head\n\nBody", "Head Body"),
        ("Run this:\n\n```bash\nls -l\ncd /\n```\n", "```bash\nls -l\n", "ls -l"),
        ("a [link](https://example.org/a) here", "link](https://example.org/a) here", "link here"),
        ("a \\*star\\* b", "*star", "*star"),
    ],
)
def test_marks_survive_rendering(text: str, marked: str, shown: str) -> None:
    start = text.index(marked)
    rendered = render(text, marks=[(start, start + len(marked))])
    assert plainly(" ".join(re.findall(r"<mark>(.*?)</mark>", rendered, re.DOTALL))) == shown
    assert plainly(rendered) == plainly(render(text)), "and nothing else has changed"


def test_code_has_a_button_that_copies_it_where_one_is_wanted() -> None:
    code = "```\nmake <all>\n```"
    assert "<button" not in render(code)
    assert '<button class="copy" type="button" data-done="Copied">Copy</button>' in render(
        code, copy=("Copy", "Copied")
    )


def test_the_words_of_a_query_are_found_in_their_other_forms_and_words_that_say_nothing_are_not() -> None:
    text = "Invoices are paid in time. The invoice of the canteen was not paid."
    found = [text[a:b] for a, b in find_words(text, "When is an invoice paid?")]
    assert found == ["Invoices", "paid", "invoice", "paid"]
    assert find_words(text, "of the") == []


def test_what_is_cut_around_the_words_has_most_of_them() -> None:
    text = "It begins with something else. " * 20 + "The gate weighs 812 pounds. " + "It goes on. " * 40
    cut, marks = cut_around(text, find_words(text, "gate pounds"), 120)
    assert cut.startswith("The gate weighs 812 pounds.")
    assert [cut[a:b] for a, b in marks] == ["gate", "pounds"]
    assert len(cut) <= 121
    assert cut_around("short", [], 120) == ("short", [])
    begins, _ = cut_around(text, [], 60)
    assert text.startswith(begins.rstrip("…")), "a passage that was found by its meaning has none of the words"


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    "piece", ["[", "*a ", "<", "<a ", "<!--", "<script>", "![a](", "**a", "_a_", "a\n", "|a|\n", "> ", "&", "`a", "~~a"]
)
def test_a_hostile_text_is_rendered_in_linear_time(piece: str) -> None:
    render(piece)
    began = time.thread_time()
    render(piece * 5000)
    assert time.thread_time() - began < patience(2, least=0)  # what takes the square of it takes a minute
