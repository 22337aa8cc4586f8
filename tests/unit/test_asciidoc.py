"""AsciiDoc is read as its reader sees it."""

from __future__ import annotations

import time

import pytest

from cairn.domain.document import LoadedDocument, Source
from cairn.errors import EmptyDocumentError
from cairn.ingest.loaders import load, sniff, stated_metadata
from cairn.ingest.parse import parse
from cairn.settings import IngestSettings

LIMITS = IngestSettings()
GUIDE = """\
= The Trail Guide
Jane Doe <jane@x.org>; José García
v1.0, 2024-01-01
:product: TrailNet
:url: https://x.org/docs
:keywords: stones, trails

// hidden
Welcome to *{product}* and _emphasis_, `code_here` and ``two``. See <<install>>, <<_usage,the usage>> or
xref:other.adoc#part[the part].
It goes on +
here with link:{url}[docs], https://y.org[Y^], image:x.png[Alt] and stones.footnote:[A note.]

[[install]]
== Installing it

.Commands
[source,bash]
----
cairn ingest folder  # {product} <1>
----
<1> Reads.

NOTE: Only once.

[WARNING]
====
Be careful:

* one
* two
====

* first
** inner
+
----
code
----
* [x] second
continued

'''

CPU:: The processor
Disk::
  The disk.

=== Usage

.Prices
[cols="1,2,2",options="header"]
|===
|Item |2022 |2021

|Apples
|12
|11

2+|Pears and *more*
|8
|===

|===
|a |b

|1 |2 \\| 3
|===

[%header,format=csv]
|===
x,y
1,"2, 3"
|===

ifdef::x[]
Inside.
endif::[]
include::other.adoc[]
image::big.png[]

[quote, Someone]
____
To be.
____

 literal text
   more

////
a comment
////
[stem]
++++
a = b
++++
Press kbd:[Ctrl+C], menu:File[Save > As], ((term))(((other))), "`quoted`", a * b * c, snake_case_name, C++, &copy; and **un**bold.
"""
READ = """\
# The Trail Guide

Welcome to TrailNet and emphasis, `code_here` and `two`. See Installing it, the usage or the part. \
It goes on here with [docs](https://x.org/docs), [Y](https://y.org), and stones. (A note.)

## Installing it

**Commands**

```bash
cairn ingest folder  # {product} <1>
```

1. Reads.

**Note**

Only once.

**Warning**

Be careful:

- one
- two
- first
  - inner

    ```
    code
    ```

- second continued
- **CPU**: The processor
- **Disk**: The disk.

### Usage

**Prices**

| Item | 2022 | 2021 |
| --- | --- | --- |
| Apples | 12 | 11 |
| Pears and more | Pears and more | 8 |

| a | b |
| --- | --- |
| 1 | 2 \\| 3 |

| x | y |
| --- | --- |
| 1 | 2, 3 |

Inside.

To be.

```
literal text
  more
```

$$ a = b $$

Press Ctrl+C, File > Save > As, term, “quoted”, a * b * c, snake_case_name, C++, © and unbold."""


def read(text: str) -> LoadedDocument:
    content = text.encode()
    return load(content, sniff("guide.adoc", content), LIMITS)


def test_a_guide_is_what_its_reader_sees() -> None:
    document = read(GUIDE)
    assert (document.title, document.media_type, document.markup) == ("The Trail Guide", "text/asciidoc", "markdown")
    assert document.text.strip() == READ


async def test_it_is_read_in_a_process_of_its_own() -> None:
    document = await parse(Source("guide.adoc", "guide.adoc", GUIDE.encode()), LIMITS)
    assert (document.text.strip(), document.title) == (READ, "The Trail Guide")


def test_its_head_is_metadata() -> None:
    stated = stated_metadata(Source("a.adoc", "a.adoc", GUIDE.encode()))
    assert stated == {"author": "Jane Doe, José García", "keywords": "stones, trails"}


@pytest.mark.parametrize(
    ("line", "author"),
    [
        ("Valid from July onwards", None),
        ("Overview", None),
        ("Valid from July; See below", None),
        ("Jane Doe", "Jane Doe"),
        ("J. R. von Berg-Klein", "J. R. von Berg-Klein"),
        ("jane <jane@x.org>", "jane"),
    ],
)
def test_a_line_below_the_title_is_the_author_only_where_it_names_someone(line: str, author: str | None) -> None:
    text = f"= Holiday rules\n{line}\n\nText"
    assert stated_metadata(Source("a.adoc", "a.adoc", text.encode())).get("author") == author
    assert (line in read(text).text) == (author is None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("----\nnever ends", "```\nnever ends\n```"),
        ("====\nnever ends", "never ends"),
        ("|===\n|===", None),
        ("{unknown} and \\{kept}", "{unknown} and {kept}"),
        (":a: {b}\n:b: {a}\n\nx {a} y", "x {b} y"),
        ("ifdef::x[Said in one line.]", "Said in one line."),
        ("* one\n\n\n* two\n\nText.", "- one\n- two\n\nText."),
        (". a\n.. b\n. c", "1. a\n   1. b\n2. c"),
        (". a\n+\n----\nx\n\ny\n----\n. b", "1. a\n\n   ```\n   x\n\n   y\n   ```\n\n2. b"),
        ("* a\n+\n--\n* b\n+\nc\n--\n* d", "- a\n  - b\n\n    c\n\n- d"),
        ("A::\n+\n[source,sh]\n----\nx\n----\nB:: c", "- **A**\n\n  ```sh\n  x\n  ```\n\n- **B**: c"),
        (
            ". a\n\n $ x\n\n. b\n+\nc\n\n $ y\n\n. d\n\nText",
            ("1. a\n\n   ```\n   $ x\n   ```\n\n2. b\n\n   c\n\n   ```\n   $ y\n   ```\n\n3. d\n\nText"),
        ),
        (". a\n.. b\n\n+\nc\n. d", "1. a\n   1. b\n\n      c\n\n2. d"),
        (
            "[qanda]\nWhat is it?:: A test.\nA term::\nPDF::\n  Said.",
            "- **What is it?** A test.\n- **A term**\n- **PDF**: Said.",
        ),
        (
            ":d: java\n\n----\ninclude::{d}/A.java[tags=x]\n----\n\nText",
            "[(not included here: java/A.java)](#)\n\nText",
        ),
        ("----\ninclude::{dir}/A.java[]\n----", "[(not included here: A.java)](#)"),
        (
            "----\ninclude::a:example$A.java[]\ninclude::{file}[]\n----",
            ("[(not included here: A.java)](#) [(not included here: file)](#)"),
        ),
        ("----\na\ninclude::A.java[]\n----", "```\na\n```"),
        (
            "Use {url-rvm}[RVM^] ({u}/a_b/1601[issue #1601^]) and link:{x}/y[the `docs`].",
            ("Use RVM (issue #1601) and the `docs`."),
        ),
        (":a: {b}/c\n\n{a}[source code], {v}, `{x}[1]` and \\{y}[z]", "source code, {v}, `{x}[1]` and {y}[z]"),
        (
            "Use ${array}[0], {user}[x], {url}[1], ${url}[a] and {path}/b[text].",
            "Use ${array}[0], {user}[x], {url}[1], ${url}[a] and {path}/b[text].",
        ),
        (
            "{url-org}[Org], {download-url}[Get], {gh-samples-url}/a[Samples], {docs-url}/b[Docs^], {x}/c[the c], {security}[y]",
            "Org, Get, Samples, Docs, the c, {security}[y]",
        ),
        ("= What's New in {page-version}\n\nText", "# What's New\n\nText"),
        ("= The {product} Guide\n\nText", "# The product Guide\n\nText"),
        ("= {product} {revnumber}\n\nText", "# product\n\nText"),
        ("= {version}\n\nText", "# {version}\n\nText"),
        ("= Upgrade from {old} to {new}\n\nText", "# Upgrade from old to new\n\nText"),
        ('pass:["`a` b`"] and "`c`"', '"`a` b`" and “c”'),
        (r"pass:[[.role\]#text#] or pass:[_x_]", "[.role]#text# or _x_"),
        (
            r"`schema-\*.sql`, where `*` is; `\*` alone; `\d` and it\'s \=> `a \=> b` `\&copy;` \{author} `\{author}`",
            (r"`schema-*.sql`, where `*` is; `\*` alone; `\d` and it's => `a => b` `&copy;` {author} `{author}`"),
        ),
        (
            r"`C:\{user}\a`, `D:\Users\{a}\{b}`, `localhost:\{port}`, `v\{n}` and `C:\x` \{y}",
            r"`C:\{user}\a`, `D:\Users\{a}\{b}`, `localhost:{port}`, `v{n}` and `C:\x` {y}",
        ),
        (
            "----\n\\ifdef::x[]\n\\include::a[]\na \\include::b\n----",
            "```\nifdef::x[]\ninclude::a[]\na \\include::b\n```",
        ),
        (
            "|===\n|A |B\n\n|a\na|* b\n* c.\n* d\n\n[cols=2*]\n!===\n!e !f\n!g !h\n!===\n|===",
            ("| A | B |\n| --- | --- |\n| a | b; c. d e, f; g, h |"),
        ),
        ("|===\n|A |B\n\nl|a\n  b\n|c\n|===", "| A | B |\n| --- | --- |\n| `a b` | c |"),
        ("|===\n|A |B\n\n|≥ 10 +\nServer |b +\n(c)\n|===", "| A | B |\n| --- | --- |\n| ≥ 10, Server | b (c) |"),
        (
            "|===\n|A |B\n\na|\n $ x\n\na|Said:\n\n[,ruby]\n----\na \\\n  b\n----\n\n* c\n|===",
            ("| A | B |\n| --- | --- |\n| `$ x` | Said: `a \\ b` c |"),
        ),
        (
            "[#index-link]\nlink:../index.html[Index]\n\n* link:index.html[All]\n\nSee xref:index.adoc[Start].",
            ("- [All](index.html)\n\nSee Start."),
        ),
        ('ifeval::["{s}" == "true"]\nA.\nendif::[]\nifeval::["{e}" == "x"]\nB.\nendif::[]\nC.', "A.\n\nB.\n\nC."),
        (':t: true\n\nifeval::["{s}" == "true"]\nA.\nendif::[]\nifeval::["{t}" == "true"]\nB.\nendif::[]', "A.\n\nB."),
        (':!s:\n\nifeval::["{s}" == "true"]\nA.\nendif::[]\nB.', "B."),
        ('ifeval::["{s}" == "true"]\nA.\nendif::[]\n\n:s: true\n\nifeval::["{s}" == "true"]\nB.\nendif::[]', "B."),
        (':s: true\n\nifeval::["{s}" == "true"]\nA.\nifdef::x[]\nB.\nendif::x[]\nendif::[]\nC', "A.\n\nB.\n\nC"),
        (
            ":v: 2\n\nifeval::[{v} >= 3]\nA.\nifdef::x[]\nB.\nendif::[]\nendif::[]\nifeval::[{v} < 3]\nC.\nendif::[]",
            "C.",
        ),
        (':!s:\n\nifeval::["{s}" == "true"]\nnever ends', "never ends"),
        ("The quick\nifdef::x[]\nbrown\nendif::[]\nfox.", "The quick brown fox."),
        (
            "See xref:ROOT:localization-support.adoc[], xref:asciidoc:docinfo:index.adoc[], xref:index.adoc[] and <<RFC-2119>>.",
            ("See localization support, docinfo, index and RFC-2119."),
        ),
        (
            "See xref:a.adoc#set-mode[], xref:a/b-c.adoc[], xref:../index.adoc[], xref:#part[], xref:x:toc:place.adoc[].",
            ("See set mode, b c, index, part, toc place."),
        ),
        ("== A\n\n[discrete]\n== B\n\ntext", "## A\n\n**B**\n\ntext"),
        ("[source,python]\nprint(1)\n\nText", "```python\nprint(1)\n```\n\nText"),
        ("|===\n.2+|a |1\n|2\n|===", "|  |  |\n| --- | --- |\n| a | 1 |\n| a | 2 |"),
    ],
)
def test_small_things_and_broken_ones(text: str, expected: str | None) -> None:
    if expected is None:
        assert not read(f"{text}\n\nend").text.startswith("|")
    else:
        assert read(text).text.strip() == expected


@pytest.mark.parametrize(
    "text",
    [
        "* xref:a.adoc[]\n** xref:b.adoc#x[B]",
        ".Site\n[]\n* Guides\n** xref:a.adoc[]\n** {url}/x[X]",
        "* Guides\n** xref:a.adoc[]\n* More\n** xref:b.adoc[]",
        "* Start\n* xref:a.adoc[]\n* xref:b.adoc[]\n* xref:c.adoc[]",
    ],
)
def test_a_list_of_the_pages_of_a_site_is_no_document(text: str) -> None:
    with pytest.raises(EmptyDocumentError, match="lists the pages"):
        read(text)
    for more in (
        f"= Title\n\n{text}",
        f"{text}\n\nWords.",
        f"{text}\n* It says more, see xref:c.adoc[].",
        "* Guides\n* More",
        "* Milk 2l\n* Eggs 12\n* Flour 500g\n* xref:cake.adoc[Cake]",
        "* Milk 2l\n* xref:cake.adoc[Cake]\n* xref:pie.adoc[Pie]",
    ):
        assert read(more).text


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "line",
    [
        "*" * 50_000,
        "`a " * 20_000,
        "<<a" * 20_000,
        "[" * 50_000,
        "((" * 20_000,
        "{a}" * 20_000,
        "{a[" * 20_000,
        "link:" * 20_000,
    ],
)
def test_time_grows_with_the_text(line: str) -> None:
    started = time.thread_time()
    read(f"a {line} b\n\n|===\n|{line}\n|===\n")
    assert time.thread_time() - started < 5


def test_blocks_in_blocks_end() -> None:
    depth = 400
    opened = "\n".join("=" * (4 + level) for level in range(depth))
    assert "deep" in read(f"{opened}\ndeep\n").text
