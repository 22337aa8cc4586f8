"""What is indexed is read anew only where the number of the loaders tells that they read another text."""

from __future__ import annotations

import hashlib
from typing import Final

from cairn.ingest.loaders import REVISION, load, sniff
from cairn.settings import IngestSettings
from tests.pdf_files import Sheet, pdf_file
from tests.unit.test_asciidoc import GUIDE
from tests.unit.test_latex import PAPER
from tests.unit.test_man import BY_HAND
from tests.unit.test_mediawiki import PAGE

READ: Final = (12, "3cb02033a0d3cbe4e61abb74465e38ac418a02e10067cf9b76def29b1ab05e7e")
"""Revision of the loaders, and what they make of the files below. Where this test fails because a loader became better, raise
cairn.ingest.loaders.base.REVISION by 1, so that `cairn reread` finds what earlier ones read, and write both down here."""

ROWS: Final = (("", "2019", "2018"), ("Sales", "$ 1,452", "$ 1,146"), ("Other", "44", "(56)"))
MARKDOWN: Final = (
    '---\ntitle: T\n---\n% SPDX-License-Identifier: MIT\n\n# A {#a}\n\n=== "Empty"\n\n:::note\nText <b>x</b>\n:::\n\n'
    "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"
    "<dl>\n  <dt><code>size</code></dt>\n  <dd>\n    Text\n    <em>y</em>.\n  </dd>\n</dl>\n"
    '!!!info "N"\n    Text\n\nPress <button>Save</button> to redir **&lt;code&gt;**.\n\n'
    '```sh tab="A"\nx\n```\n\n```sh tab="B"\ny\n```\n'
    "\nTerm\n:   Said of it.\n\n    More.\n\n`size`<sup>1.2.0</sup> and 10<sup>6</sup>\n"
)
BY_TEMPLATE: Final = "---\ntitle: T\n---\n# {{ page.title }}\n\nText\n"
HTML: Final = (
    "<!DOCTYPE html><title>T</title><h1>A<a href='#a'>¶</a></h1>"
    "<p>Text</p><ul><li>x</ul><table><tr><td colspan=3>S<tr><td><td>2019<td>2018"
    "<tr><td>Sales<td>1,452<td>1,146<tr><td>Other<td>44<td>(56)</table><pre>code</pre>"
)
RST: Final = "A\n=\n\n.. note:: Text ``x``\n\n* one\n* two\n\n=== ===\na   b\n=== ===\n1   2\n=== ===\n\n::\n\n  code\n"
STEPS: Final = (
    "A\n=\n\n1. one\n\n   more\n\n2. two\n\n.. option:: x\n\n   one of\n\n   a\n     said of a\n   b\n     said of b\n"
)
NOTEBOOK: Final = (
    '{"cells": [{"cell_type": "markdown", "source": "# A", "metadata": {}}, {"cell_type": "code", "source": "1", "outputs": [], '
    '"metadata": {}}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
)
MAIL: Final = "From: a@x.org\nTo: b@x.org\nSubject: S\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n\nText\n"


def files() -> dict[str, bytes]:
    sheet = Sheet()
    sheet.text(50, 40, "A report", size=18)
    sheet.rows(100, ROWS, (300, 400))
    texts = {
        "a.md": MARKDOWN, "b.md": BY_TEMPLATE,
        "a.html": HTML, "a.rst": RST, "b.rst": STEPS, "a.yaml": "# A\na:\n  - b\n",
        "a.tex": PAPER, "a.adoc": GUIDE, "a.wiki": PAGE, "a.1": BY_HAND,
        "a.csv": "a,100s,a\n1,2,3\n3,4,5\n", "a.txt": "Text\u00ad\n", "a.py": "def f():\n    pass\n", "a.ipynb": NOTEBOOK,
        "a.eml": MAIL,
    }  # fmt: skip
    return {name: text.encode() for name, text in texts.items()} | {"a.pdf": pdf_file(sheet), "pages.pdf": pages()}


def pages() -> bytes:
    """A table that goes on over a page break, without its header."""
    sheets = [Sheet(), Sheet()]
    for number, (sheet, rows) in enumerate(
        zip(sheets, (ROWS, (("Rent", "120", "115"), ("Wages", "300", "280"))), strict=True), 1
    ):
        sheet.text(50, 40, "A report")
        sheet.rows(100, rows, (300, 400))
        sheet.text(300, 760, str(number))
    return pdf_file(*sheets)


def test_a_loader_that_reads_another_text_has_another_revision() -> None:
    digest = hashlib.sha256()
    for name, content in files().items():
        kind = sniff(name, content)
        document = load(content, kind, IngestSettings())
        digest.update(repr((name, kind.media_type, document.title, document.text)).encode())
    assert (REVISION, digest.hexdigest()) == READ
