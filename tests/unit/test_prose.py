"""Answers as the page shows them: no markup of others, and numbers that lead to sources."""

from __future__ import annotations

import pytest

from cairn.interfaces.web.prose import to_markdown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("30 days [1].", "30 days [\\[1\\]](#source-1)."),
        ("[1][2]", "[\\[1\\]](#source-1)[\\[2\\]](#source-2)"),
        ("of three sources [3]", "of three sources [3]"),  # which it does not have
        ("see [1](https://example.org)", "see [1](https://example.org)"),
        ("`values[1]` [1]", "`values[1]` [\\[1\\]](#source-1)"),
        ("```py\nif a < b[1]:\n```\n[2]", "```py\nif a < b[1]:\n```\n[\\[2\\]](#source-2)"),
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("![x](https://example.org/leak)", "!&#91;x](https://example.org/leak)"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        ("a ` that is never closed: <b style=position:fixed>", "a ` that is never closed: &lt;b style=position:fixed>"),
        ("`one` and ` two <script> [1]", "`one` and ` two &lt;script> [\\[1\\]](#source-1)"),
    ],
)
def test_what_is_said_is_shown_as_text_with_links_to_its_sources(said: str, shown: str) -> None:
    assert to_markdown(said, frozenset({1, 2})) == shown
