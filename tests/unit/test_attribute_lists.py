"""How elements look, and by which address they are found, is no text of a document."""

from __future__ import annotations

import pytest

from cairn.ingest.loaders.attribute_lists import without_attributes
from cairn.ingest.loaders.markdown import load
from cairn.ingest.loaders.site_markup import plain_markup
from cairn.settings import IngestSettings
from tests.growth import repeated, takes_linear_time


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("## Name {#name}", "## Name"),
        ("## Name (*required*) ## {: #name }", "## Name (*required*)"),
        ('# `x` {.wide data-n=1 title="A b"}\n', "# `x`\n"),
        ("## Docusaurus {/* #id */}", "## Docusaurus"),
        ("{: .note }\n", ""),
        ("    { .annotate }", ""),
        ("{:toc}", ""),
        ("Get [it](x){ .md-button }, `code`{.yaml} and **now**{: #now }.", "Get [it](x), `code` and **now**."),
    ],
)
def test_a_list_of_attributes_is_no_text(line: str, said: str) -> None:
    assert without_attributes(line) == said


@pytest.mark.parametrize(
    "line",
    [
        "A set {a, b}, {name} and {#if} in a sentence",
        "## {#if}",
        "`[it](x){ .md-button }`",
        "## `{#name}`",
        "{role}`text`",
        "f(x){1}",
        "It costs {.5}",
    ],
)
def test_other_braces_stay(line: str) -> None:
    assert without_attributes(line) == line


def test_a_heading_that_is_underlined_and_its_path_have_none() -> None:
    assert plain_markup("Name {#name}\n====\n\nText {#name}\n") == "Name\n====\n\nText {#name}\n"
    read = load(b"# Name {: #name }\n\n{: .lead }\nText.\n", IngestSettings())
    assert (read.title, read.text) == ("Name", "# Name\n\nText.\n")


@pytest.mark.parametrize(
    "text", ["{#a ", "[x]{ .a", "{: .a", "`a`{.b", "{/*", "# a {#b} ", "++a", ":material-", "{% a "]
)
def test_it_takes_linear_time(text: str) -> None:
    assert takes_linear_time(plain_markup, repeated(text), 8_000)
