"""Wikitext of MediaWiki is read as its reader sees it."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from cairn.domain.document import LoadedDocument, Source
from cairn.errors import ParserLimitError
from cairn.ingest.loaders import load, sniff
from cairn.ingest.parse import parse
from cairn.settings import IngestSettings

LIMITS = IngestSettings()
PAGE = """\
{{Infobox trail | name = North Trail | length = 12 km | open = [[May]] to October}}
'''North Trail''' is a ''trail'' in [[Lyon|the city of Lyon]].<ref>Hidden</ref> See [[Guide]] and [https://x.org the site].
It goes on &mdash; here{{citation needed|date=May}}.
__TOC__
== History ==
{{Note|Dogs are not allowed on it.}}
{{main|History of trails}}
* first
** inner
* second
# one
# two
; Term : its meaning
: indented

[[File:x.png|thumb|A picture]]
<syntaxhighlight lang="python">
print("'''x'''")
</syntaxhighlight>
<!-- hidden -->
{| class="wikitable"
|+ Prices
|-
! Item !! 2022 !! 2021
|-
| Apples || 12 || 11
|-
| colspan="2" | Pears || 8
|}
Use <code>cairn ask</code> and <nowiki>[[x]]</nowiki>; <math>a^2</math>.
=== Deep ===
Text.
[[Category:Trails]]
"""
READ = """\
|  |  |
| --- | --- |
| name | North Trail |
| length | 12 km |
| open | May to October |

North Trail is a trail in the city of Lyon. See Guide and [the site](https://x.org). It goes on — here.

## History

**Note**

Dogs are not allowed on it.

- first
  - inner
- second
1. one
2. two
- **Term** its meaning

indented

```python
print("'''x'''")
```

Prices

| Item | 2022 | 2021 |
| --- | --- | --- |
| Apples | 12 | 11 |
| Pears | Pears | 8 |

Use `cairn ask` and [[x]]; $a^2$.

### Deep

Text."""


def read(text: str) -> LoadedDocument:
    content = text.encode()
    return load(content, sniff("page.wiki", content), LIMITS)


def test_a_page_is_what_its_reader_sees() -> None:
    document = read(PAGE)
    assert (document.media_type, document.markup) == ("text/x-wiki", "markdown")
    assert document.text.strip() == READ


async def test_it_is_read_in_a_process_of_its_own() -> None:
    document = await parse(Source("page.wiki", "page.wiki", PAGE.encode()), LIMITS)
    assert document.text.strip() == READ


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{| class=x\n| a\n| ends", "{| class=x | a | ends"),
        ("[[Kategorie:X]]Text [[:Category:Y]]", "Text Category:Y"),
        ("{{unknown|a whole sentence stands in here|x}} end", "a whole sentence stands in here end"),
        ("{{lang|fr|bonjour}} {{convert|5|km}}", "bonjour 5 km"),
        ("{{{1|by default}}} &#xFFFFFFF; x", "by default &#xFFFFFFF; x"),
        ("== a [[b|c]] ==", "## a c"),
        ("\ue0000\ue001 \ue002-\ue003 x", "0 - x"),
    ],
)
def test_small_things_and_broken_ones(text: str, expected: str) -> None:
    said = " ".join(read(text).text.split())
    assert said == expected


@pytest.mark.parametrize("part", ["{{", "[[", "'''", "<div>", "{|\n", "* ", "[http://x "])
def test_broken_pages_end(part: str) -> None:
    started = time.thread_time()
    with suppress(ParserLimitError):
        read("Text " + part * 1000)
    assert time.thread_time() - started < 20
