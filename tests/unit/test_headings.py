"""The Markdown scanner: sections, heading paths, and what is not a heading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.ingest.chunkers.headings import path_at, scan

lines = st.one_of(
    st.text("ab#`~=- \t", max_size=8),
    st.sampled_from(["# One", "## Two", "Title\n=====", "Sub\n---", "```", "~~~~", "    code", "---", "#", "text"]),
)


@given(st.lists(lines, max_size=25).map("\n".join))
def test_sections_cover_the_text_and_paths_nest(text: str) -> None:
    sections = scan(text)
    assert [s.start for s in sections[1:]] == [s.end for s in sections[:-1]]
    if text:
        assert sections[0].start == 0
        assert sections[-1].end == len(text)
    assert all(s.start <= s.body <= s.end and len(s.path) <= 6 for s in sections)


def test_heading_paths_follow_levels() -> None:
    text = "intro\n\n# A\n\na\n\n### A.x\n\nax\n\n## A.y\n\nay\n\n# B\n\nb"
    assert [s.path for s in scan(text)] == [(), ("A",), ("A", "A.x"), ("A", "A.y"), ("B",)]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("```python\n# not a heading\n```\n# Real\n\nx", [(), ("Real",)]),
        ("~~~\n# no\n```\n# no\n~~~\n\n# Yes", [(), ("Yes",)]),
        ("Title\n=====\n\nSub title\n---------\n\nx", [("Title",), ("Title", "Sub title")]),
        ("two lines\nof text\n---\n\nx", [()]),
        ("- item\n---\n", [()]),
        ("    # code\n\n#hashtag\n\n####### seven", [()]),
        ("---\ntitle: Front\n---\n\n# One\n\nx", [(), ("One",)]),
        ("# A `code` **bold** [link](http://x) {#anchor}\n\nx", [("A code bold link",)]),
        ("As for\n```.htaccess```.\n\n# Next\n\nx", [(), ("Next",)]),  # backticks behind it: code within a line
        ("```sh title='`x`'\n# Next", [(), ("Next",)]),
        ("# FAQs\n\n## _How do I install it?_\n\nx", [("FAQs",), ("FAQs", "How do I install it?")]),
        ("# _Set up_ snake_case, _this_one now_\n\nx", [("Set up snake_case, this_one now",)]),
        ("# **_Note_**\n\nx", [("Note",)]),
        ("# `_id_`, __init__, _f_(x), a_b_ and `\\[a\\]`\n\nx", [("_id_, __init__, _f_(x), a_b_ and \\[a\\]",)]),
        ("# A *b* of 2 * 3 and *c*\n\nx", [("A b of 2 * 3 and c",)]),
        ("# set\\_rate, \\[b\\] and C:\\x\n\nx", [("set_rate, [b] and C:\\x",)]),
        ("# Drop the _id_ index of __init__\n\nx", [("Drop the _id_ index of __init__",)]),
        ("# Ignore C:\\.git, \\\\a\\_b and x\\.y in C\\#\n\nx", [("Ignore C:\\.git, \\\\a\\_b and x\\.y in C#",)]),
        ("# 1\\. An \\.env\n\nx", [("1. An .env",)]),
        ("## C# and F#\n\nx\n\n## Closed ##", [("C# and F#",), ("Closed",)]),
    ],
)
def test_the_scanner_knows_markdown(text: str, paths: list[tuple[str, ...]]) -> None:
    assert [section.path for section in scan(text)] == paths


def test_headings_are_those_at_the_first_line_of_body() -> None:
    text = "# A\n\nbody\n\n# B\n\nmore"
    sections = scan(text)
    assert path_at(sections, 0, len(text)) == ("A",)
    assert path_at(sections, text.index("# B"), len(text)) == ("B",)
    assert path_at(sections, text.index("# B"), text.index("more")) == ("B",)
