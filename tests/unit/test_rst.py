"""reStructuredText is read as prose, whatever of it belongs to a tool."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.answer.quotation import row_as_read, without_markup
from cairn.domain.document import LoadedDocument, Source
from cairn.errors import EmptyDocumentError, ParseError, ParserLimitError
from cairn.ingest.chunkers.headings import scan
from cairn.ingest.loaders import load, sniff
from cairn.ingest.parse import parse
from cairn.language.blocks import blocks_in
from cairn.language.cells import plain_cell
from cairn.language.tables import tables_in
from cairn.settings import IngestSettings

MANUAL = Path(__file__).parents[1] / "data" / "manuals" / "larder.rst"
LIMITS = IngestSettings()


def read(text: str) -> LoadedDocument:
    content = text.encode()
    return load(content, sniff("a.rst", content), LIMITS)


async def test_a_page_of_sphinx_is_what_its_reader_sees() -> None:
    document = await parse(Source("larder.rst", "larder.rst", MANUAL.read_bytes()), LIMITS)
    assert (document.title, document.media_type, document.markup) == ("Installing Larder", "text/x-rst", "markdown")
    text = document.text
    for part in (
        "Larder runs on Linux and macOS. See the guide and `open()`.",
        "Warning: Back up the pantry before an upgrade. It is not done for you.",
        "To start it, run:\n\n```\nlarder init\nlarder serve\n```",
        "With Docker\n\n```console\n$ docker run larder\n```",
        "Use `--port` (`LARDER_PORT`) to change the port (The default is 8042).",
        "Ports\n\n| Port | Use |\n| --- | --- |\n| 8042 | The API, `http` |\n| 8043 | Metrics |",
        "Limits\n\n| Name | Value |\n| --- | --- |\n| files | 10,000 |",
        "| Plan | Price |\n| --- | --- |\n| Free | 0 |\n| Free | 12 |",
        "| A | B |\n| --- | --- |\n| 1 | 2 |",
        "**`--dry-run, -n`**\n\nShows what would be done.",
        "Added in version 2.1: Works for folders.",
        "**`open(path, mode='r')`**\n\nOpens a store.\n\n- path: where it lies\n- mode: how\n- Returns: the store\n"
        "- Raises OSError: if it is not there",
        "**pantry (place)**\n\nWhere things are kept.",
        "- `-v, --verbose`: says more",
        "1. First\n2. Second\n   - nested",
        "**Linux**\n\nUse apt.\n\n**macOS**\n\nUse brew.",
        "**Beware**\n\nOf the dog.",
        "Read the notes of {release} first, press Ctrl+Cs and ask us.",
    ):
        assert part in text
    for markup in (
        "..",
        "::",
        ":ref:",
        "``_",
        "|product|",
        "orphan",
        "toctree",
        "remark",
        "png",
        "maxdepth",
        "example.org",
    ):
        assert markup not in text
    assert [section.path for section in scan(text)][1:] == [
        ("Installing Larder", "Starting"),
        ("Installing Larder", "Starting", "Upgrading"),
    ]
    assert len(tables_in(text)) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".. strange:thing:: word\n   :option: x\n   :odd option:\n\n   Its content.\n", "**`word`**\n\nIts content."),
        (".. note::\n\n   Text.\n\n   - a\n", "Note: Text.\n\n- a"),
        (".. note::\n\n   - a\n", "Note:\n\n- a"),
        ("An :odd:`role`, :py:func:`!f` and :doc:`a <b>`.", "An role, `f()` and a."),
        ("``a`b``, *c* and **d**", "a`b, c and d"),
        (".. code::\n\n   x = 1\n", "```\nx = 1\n```"),
        (".. code-block:: python\n   :linenos:\n\n   x = 1\n", "```python\nx = 1\n```"),
        (".. include:: /etc/passwd\n\n.. raw:: html\n   :file: /etc/passwd\n\nx", "x"),
        (".. csv-table::\n   :file: /etc/passwd\n\nx", "x"),
        (".. |a| replace:: |b|\n.. |b| replace:: |a|\n\n|a|.", "a."),
        (".. |c| unicode:: U+00A9 .. a sign\n\n|c| Ann", "© Ann"),
        ("| one\n| two\n  more\n|\n|   three", "- one\n- two more\n- three"),
        ("**A**\n | one\n | two\n\n- | three\n  | four\n\n| five", "**A**\n\n- one\n- two\n- three\n  four\n\nfive"),
        (".. list-table::\n\n   * - A\n   * - | b\n       | c\n", "- A\n- b c"),
        ("+---+--+\n| a | b\n+---+--+\n\nx", "```\n+---+--+\n| a | b\n+---+--+\n```\n\nx"),
        ("*open and `open", "*open and `open"),
        ("a\n  badly\n indented", "**a**\n\nbadly\n\nindented"),
        (".. deprecated:: 3.0", "Deprecated since version 3.0"),
        (".. parsed-literal::\n\n   get |x|\n\n.. |x| replace:: it", "```\nget it\n```"),
        (
            ".. confval:: wait\n   :type: int\n   :default: ``30``\n\n   Why.",
            "**`wait`**\n\n- Type: int\n- Default: `30`\n\nWhy.",
        ),
        (".. glossary::\n\n   a\n   b\n      Both.\n\n   c\n      One.", "- a, b: Both.\n- c: One."),
        (
            ".. figure:: a.png\n   :width: 5\n\n   Seen [1]\n   *above*.\n\n   A legend.",
            "![Seen (1) above.]()\n\nA legend.",
        ),
        (
            ".. _Top:\n\nA\n=\n\n*On this page:*\n\n* :ref:`Two <b>`\n\n  * `Three`_\n\n* `Three`_\n\n"
            ".. _b:\n\nTwo\n---\n\nSay.\n\n:ref:`Back to the top <top>`\n\nThree\n-----\n\nSo.\n",
            "# A\n\n## Two\n\nSay.\n\n## Three\n\nSo.",
        ),
        (".. _b:\n\nA\n=\n\n* Set up\n\n  * :ref:`B <b>`\n  * :ref:`C <b>`\n", "# A\n\n- Set up\n  - B\n  - C"),
        (
            ".. _b:\n\nA\n=\n\nSee also:\n\n* :ref:`Two <elsewhere>`\n* :ref:`Three <b>`\n\n"
            "There are two ways to do it:\n\n* :ref:`Two <b>`\n* :ref:`Three <b>`\n",
            "# A\n\nSee also:\n\n- Two\n- Three\n\nThere are two ways to do it:\n\n- Two\n- Three",
        ),
        (
            "Supported modes:\n\n* `Fast mode`_\n* `Safe mode`_\n\nFast mode\n---------\n\nIt is.\n\nSafe mode\n---------\n\nSo.",
            "Supported modes:\n\n- Fast mode\n- Safe mode\n\n# Fast mode\n\nIt is.\n\n# Safe mode\n\nSo.",
        ),
        ("Pull |image_name|:|icon_size|, |reg|.", "Pull {image_name}:{icon_size}, ®."),
        (
            "To |release|\n============\n\n|version| is it. See |ic_lib_crates| crates |nbsp| and |logo|.",
            "# To {release}\n\n{version} is it. See crates and .",
        ),
        (
            "Use these:\n\n.. literalinclude:: a/b.sh\n   :language: sh\n",
            "Use these:\n\n[(not included here: a/b.sh)](#)",
        ),
        (
            "**Setup 1: Vinyl**\n\n- a\n\n**Sidebar**:\n\n1. b\n\n**Mind the gap.**\n\nSo. **Bold** c\n\n**Last**\n",
            "**Setup 1: Vinyl**\n\n- a\n\n**Sidebar:**\n\n1. b\n\nMind the gap.\n\nSo. Bold c\n\nLast",
        ),
        (
            "#. **Is it?**\n\n   It is.\n\n   - a\n\n#. **And that?**\n\n   No.\n",
            "**Is it?**\n\nIt is.\n\n- a\n\n**And that?**\n\nNo.",
        ),
        (
            "#. **Is it?**\n\n   It is.\n\n#. **Go on**\n\n   No.\n",
            "1. **Is it?**\n\n   It is.\n\n2. **Go on**\n\n   No.",
        ),
        ("#. Look:\n\n   .. figure:: a.png\n\n      Seen.\n", "1. Look:\n\n   ![Seen.]()"),
        (
            ".. figure:: a.png\n\n   Your stats at a glance (updated every hour).\n\n.. figure:: b.png\n\n"
            "   Click it, and then the chat ends.\n",
            "Your stats at a glance (updated every hour).\n\n![Click it, and then the chat ends.]()",
        ),
        (
            ".. figure:: a.png\n\n   The view of a deck before it is played\n",
            "![The view of a deck before it is played]()",
        ),
        (
            ".. list-table::\n   :header-rows: 1\n\n   * - A\n     - B\n   * - x\n     - .. figure:: a.png\n\n          Seen\n",
            "| A | B |\n| --- | --- |\n| x | Seen |",
        ),
        (".. sectionauthor:: Ann <a@b>\n\nx", "x"),
        (".. container:: cfloat-clear\n\n   X\n\nx\n\n.. container:: left\n\n   No.\n", "x\n\nNo."),
        (".. only:: html\n\n   a\n\n.. only:: latex or man\n\n   b\n\n.. only:: html or epub\n\n   c", "a\n\nc"),
        (".. only:: not html\n\n   a\n\n.. only:: not (latex)\n\n   b\n\n.. only:: draft\n\n   c", "b\n\nc"),
        (".. only:: html and man\n\n   a\n\n.. only:: latex\n\nb", "b"),
        (
            "A :octicon:`thumbsup;1em;sd-text-success` b :fas:`xmark;c` :material-regular:`check_circle;2em`.",
            "A ✓ b ✗ ✓.",
        ),
        ("A :octicon:`rocket;1em` b :fab:`github;2em` :fa:`fa-times,text-danger`.", "A b github ✗."),
    ],
)
def test_what_a_tool_adds_neither_fails_nor_leaves_markup(text: str, expected: str) -> None:
    assert read(text).text == expected


def test_substitutions_that_double_stay_small() -> None:
    lines = [
        ".. |a0| replace:: xyz",
        *(f".. |a{n}| replace:: |a{n - 1}| |a{n - 1}|" for n in range(1, 64)),
        "",
        "|a63|",
    ]
    assert len(read("\n".join(lines)).text) <= 2000


async def test_what_is_nested_too_deep_is_refused_and_what_takes_too_long_is_ended() -> None:
    with pytest.raises(ParserLimitError, match="nested"):
        read("- " * 5000)
    long = "".join(f"a{number}\n=\n\n" for number in range(200_000)).encode()
    with pytest.raises(ParserLimitError, match="parseSeconds"):
        await parse(Source("a.rst", "a.rst", long), LIMITS.model_copy(update={"parse_seconds": 1}))


@given(
    st.lists(
        st.sampled_from(
            [
                ".. note::", ".. x:: a", ".. |s| replace::", "|s|", "::", "\n\n", "\n", "   ", "a", "=====", "- ", "* ", ":a: ",
                "`a`_", ":r:`x`", "[#]_", ".. [#] ", "+--+", "| a|", "=== ===", "``", "*", "\\", ".. list-table::", "-a  b",
                ".. csv-table:: a", ".. table::", ".. code::", ">>> ", "__", ".. _a:", "1. ", "\t", "é",
            ]
        ),
        max_size=40,
    )
)  # fmt: skip
def test_any_text_is_read_or_refused(parts: list[str]) -> None:
    try:
        document = read("".join(["word ", *parts]))
    except ParseError:
        return
    assert not document.notes


def test_docutils_keeps_its_own_directives() -> None:
    from docutils.parsers.rst import directives

    before = dict(directives._directives)
    read(".. strange:: x")
    assert directives._directives == before


def test_a_name_over_what_is_set_in_is_a_term() -> None:
    text = read("States\n======\n\n``STOPPED`` (0)\n\n  It was stopped.\n\nIt ends here.\n\n  A quotation.\n").text
    assert "**`STOPPED` (0)**\n\nIt was stopped." in text
    assert "**It ends here.**" not in text


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("usage/create.rst.inc", "text/x-rst"),
        ("_sources/index.rst.txt", "text/x-rst"),
        ("C:\\docs\\A.RST.INC", "text/x-rst"),
        ("v1.2.rst", "text/x-rst"),
        ("a.inc", "text/plain"),
        ("rst.txt", "text/plain"),
        ("a.md.txt", "text/plain"),
    ],
)
def test_what_others_include_and_the_sources_of_a_site_are_read_as_such(name: str, media_type: str) -> None:
    assert sniff(name, b"A\n=\n\n.. note:: Text\n").media_type == media_type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. a\n\n   b\n\n2. c\n", "1. a\n\n   b\n\n2. c"),
        ("- a::\n\n    x\n\n     y\n\n- b\n", "- a:\n\n  ```\n  x\n\n   y\n  ```\n\n- b"),
        ("1. a\n\n   - b\n\n     c\n\n2. d\n", "1. a\n   - b\n\n     c\n\n2. d"),
        ("- a:\n\n    * b\n\n  c\n\n- d\n", "- a:\n  - b\n\n  c\n\n- d"),
        ("9. a\n10. b\n\n    .. note:: c\n\n11. d\n", "9. a\n10. b\n\n    Note: c\n\n11. d"),
        ("1. ::\n\n     x\n\n2. b\n", "1.\n   ```\n   x\n   ```\n2. b"),
        ("* - a\n  - b\n* c\n", "- - a\n  - b\n- c"),
        ("-a  b\n\n    c\n-d  e\n", "- `-a`: b\n\n  c\n\n- `-d`: e"),
        (":a:\n  .. code::\n\n      x\n:b: c\n", "- a\n\n  ```\n  x\n  ```\n\n- b: c"),
        (":a:\n    - b\n:c: d\n", "- a\n  - b\n- c: d"),
    ],
)
def test_what_an_item_goes_on_with_stays_in_it(text: str, expected: str) -> None:
    read_as = read(text).text
    assert read_as == expected
    (block,) = blocks_in(read_as)
    assert (block.kind, len(block.items)) == ("list", 3 if "11." in expected else 2)


def test_lists_in_each_other_are_set_in_up_to_a_limit() -> None:
    lists = "".join(f"{'  ' * deep}- w{deep}\n\n" for deep in range(30))
    assert max(len(line) - len(line.lstrip()) for line in read(lists).text.splitlines()) == 2 * 20


LONG = "Long. " * 30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0\n  Well\n1\n  Failed\n", "- 0: Well\n- 1: Failed"),
        (f"a\n  {LONG}\nb\n  c\n", f"**a**\n\n{LONG.strip()}\n\n**b**\n\nc"),
        ("a\n  b\n\n  c\nd\n  e\n", "**a**\n\nb\n\nc\n\n**d**\n\ne"),
        ("a\n  b\nd\n  ::\n\n    e\n", "**a**\n\nb\n\n**d**\n\n```\ne\n```"),
        (
            f".. option:: x\n\n  One of:\n\n  a\n    {LONG}\n  b\n    c\n",
            f"**`x`**\n\nOne of:\n\n- a: {LONG.strip()}\n- b: c",
        ),
        (".. option:: x\n\n  .. only:: html\n\n    a\n      b\n\n      c\n", "**`x`**\n\n- a: b\n\n  c"),
        (".. note:: One of:\n\n  a\n    b\n", "Note: One of:\n\n- a: b"),
        (".. versionadded:: 2\n\n  a\n    b\n", "Added in version 2:\n\n- a: b"),
        (".. admonition:: x\n\n  a\n    b\n", "**x**\n\n- a: b"),
        ("a\n  One of:\n\n  b\n    c\n\n    d\n", "**a**\n\nOne of:\n\n- b: c\n\n  d"),
        ("Some:\n  a\n    b\n\n    c\n", "**Some:**\n\n**a**\n\nb\n\nc"),
        ("``x``\n\n  Yes.\n\n  a\n    b\n", "**`x`**\n\nYes.\n\n- a: b"),
        ("* x:\n\n  a\n    ::\n\n      b\n", "- x:\n  - a\n\n    ```\n    b\n    ```"),
        ("* a:\n    b\n\n    c\n* d\n", "- a: b\n\n  c\n\n- d"),
    ],
)
def test_what_is_said_of_a_term_belongs_to_it_and_to_what_stands_above(text: str, expected: str) -> None:
    assert read(text).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":ref:`borg_delete` and :std:ref:`exit-codes`", "borg delete and exit codes"),
        (":ref:`borg_repo-create`, :ref:`intro:A part` and :numref:`fig-a`", "borg repo-create, A part and fig a"),
        (":ref:`a-b <c_d>`, :doc:`/users/config`, :doc:`option-max_x`", "a-b, config, option-max x"),
        (":doc:`../usage/index`, :doc:`../index` and :doc:`usage-notes.rst`", "usage, index and usage notes"),
        (":opt:`~folder.versioning.fsType`, :opt:`folder.type` and :opt:`~copiers`", "fsType, folder.type and copiers"),
        (
            ":file:`~/.config/a.b`, :file:`.stfolder`, :kbd:`~` and :class:`.a.B`",
            "`~/.config/a.b`, `.stfolder`, ~ and `a.B`",
        ),
        (
            "See :ref:`here-it` and :ref:`OVER  it`.\n\n.. _here-it:\n.. _over it:\n\n===========\nThe ``x`` *y*\n===========\n",
            "See The x y and The x y.\n\n# The `x` y",
        ),
        ("See :ref:`why-not`.\n\n.. _why-not:\n\nWhy?\n----\n\nSo.", 'See "Why?".\n\n# Why?\n\nSo.'),
        (
            "See :ref:`a_b` and :ref:`c-d`.\n\n.. _a_b:\n\nText\n\nC\n---\n\n.. _c-d:\n",
            "See a b and c d.\n\nText\n\n# C",
        ),
        ("See :ref:`a_b`.\n\n.. |x| replace:: X\n\n.. _a_b:\n\nThe |x|\n-------\n", "See a b.\n\n# The X"),
    ],
)
def test_a_reference_is_the_heading_or_the_words_of_what_it_leads_to(text: str, expected: str) -> None:
    assert read(text).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".. include:: a.rst.inc\n", "only includes other files"),
        (".. highlight:: sh\n\n.. toctree::\n\n   a\n", "only includes other files"),
        (".. |x| replace:: X\n", "holds no text$"),
    ],
)
def test_what_only_includes_other_files_is_refused_as_such(text: str, expected: str) -> None:
    with pytest.raises(EmptyDocumentError, match=expected):
        read(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "A [#]_ b [#x]_ c [1]_ d [*]_.\n\n.. [#] Eh.\n.. [1] f\n.. [*] g\n.. [#x] *h* i.",
            "A (Eh) b (h i) c (f) d (g).",
        ),
        ("= =\nA B\n= =\n1 2 [#]_\n= =\n\n.. [#] Not yet.", "| A | B |\n| --- | --- |\n| 1 | 2 (Not yet) |"),
        (
            ".. list-table::\n   :header-rows: 1\n\n   * - A\n     - B [#x]_\n   * - 1\n     - 2\n\n.. [#x] c",
            "| A | B (c) |\n| --- | --- |\n| 1 | 2 |",
        ),
        ("A [1]_ b [1]_.\n\n.. [1] c\n", "A b.\n\nc"),
        ("A [#]_.\n\n.. [#] b\n.. [#] c\n", "A.\n\nb\n\nc"),
        (".. [1] b\n\nA [1]_.\n", "b\n\nA."),
        ("= ======\nA B [1]_\n= ======\n1 2\n= ======\n\n.. [1] c", "| A | B |\n| --- | --- |\n| 1 | 2 |\n\nc"),
        ("A [1]_.\n\n.. [1] b\n\n   c\n", "A.\n\nb\n\nc"),
        (f"A [1]_.\n\n.. [1] b{' c' * 100}\n", f"A.\n\nb{' c' * 100}"),
        ("A [1]_\n------\n\nSo.\n\n.. [1] c\n", "# A\n\nSo.\n\nc"),
        ("A [1]_.\n\n.. [1] b [2]_\n.. [2] c [1]_\n", "A.\n\nb\n\nc"),
    ],
)
def test_a_footnote_stands_where_it_is_referred_to(text: str, expected: str) -> None:
    assert read(text).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. a:\n\n::\n\n  b\n\n2. c\n\nd\n", "1. a:\n\n   ```\n   b\n   ```\n\n2. c\n\nd"),
        ("1. a\n\nb\n\n- c\n\n2. d:\n\n::\n\n  e\n\nf\n", "1. a\n\n   b\n\n   - c\n2. d:\n\n   ```\n   e\n   ```\n\nf"),
        ("1. a\n\nb\n\n2. d\n\n::\n\n  e\n", "1. a\n\n   b\n\n2. d\n\n```\ne\n```"),
        ("1. a:\n\n::\n\n  b\n", "1. a:\n\n```\nb\n```"),
        ("1. a\n\nb\n\n3. d\n", "1. a\n\nb\n\n3. d"),
        ("1. a\n\nb\n\n1. d\n", "1. a\n\nb\n\n1. d"),
        ("1. a\n\nb\n\nb. d\n", "1. a\n\nb\n\n2. d"),
        ("1. a\n\n.. rubric:: b\n\n2. d\n", "1. a\n\n**b**\n\n2. d"),
        (f"1. a\n\n{'b' * 8}\n\n2. d\n".replace("b", "b\n\n"), "1. a\n\n" + "   b\n\n" * 8 + "2. d"),
        (f"1. a\n\n{'b' * 9}\n\n2. d\n".replace("b", "b\n\n"), "1. a\n\n" + "b\n\n" * 9 + "2. d"),
    ],
)
def test_steps_whose_numbers_go_on_are_one_list(text: str, expected: str) -> None:
    assert read(text).text == expected


@pytest.mark.parametrize(
    ("text", "expected", "shown"),
    [
        ("Say [5 TO \\*] [\\* TO 5].", "Say [5 TO `*`] [`*` TO 5].", "Say [5 TO *] [* TO 5]."),
        ("A from:\\*bob\\* b.", "A `from:*bob*` b.", "A from:*bob* b."),
        ("Call f(\\*a, \\*\\*b\\*).", "Call f(`*a`, `**b*`).", "Call f(*a, **b*)."),
        ("``a``\\*\\ b c\\*.", "`a`*b `c*`.", "a*b c*."),
        ("``\\*a\\*`` b::\n\n   \\*c\\*\n", "`\\*a\\*` b:\n\n```\n\\*c\\*\n```", "\\*a\\* b: \\*c\\*"),
        ("Required: a\\*. And *so* on\\*.", "Required: a*. And so on*.", "Required: a*. And so on*."),
    ],
)
def test_stars_that_the_author_says_are_text_are_shown(text: str, expected: str, shown: str) -> None:
    assert read(text).text == expected
    assert without_markup(expected) == shown


def test_stars_in_cells_are_no_emphasis_of_the_row() -> None:
    table = read(".. csv-table::\n   :header: A, B\n\n   \\*bob\\*, from:\\*bob\\*\n   a, b\\*\n").text
    assert row_as_read(table.split("\n")[2]) == "| `*bob*` | `from:*bob*` |"
    assert tables_in(table)[0].rows[0].cells == ("`*bob*`", "`from:*bob*`")
    assert plain_cell("`*bob*`") == "*bob*"


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("* is\n       * is not\n", "is; is not"),
        ("* Push: once.\n       * Turn: twice.\n", "Push: once. Turn: twice."),
        ("Values\n\n       * ``a`` (b)\n       * c\n", "Values: `a` (b); c"),
        ("* In cue\n\n         * play\n         * stop\n\n       * Off\n", "In cue: play; stop; Off"),
        ("1. a\n       2. b\n", "1. a; 2. b"),
        ("**Bold**\n\n       Said.\n", "Bold Said."),
    ],
)
def test_items_in_a_cell_are_parted(cell: str, expected: str) -> None:
    table = read(f".. list-table::\n   :header-rows: 1\n\n   * - A\n     - B\n   * - x\n     - {cell}").text
    assert tables_in(table)[0].rows[0].cells == ("x", expected)


MOST = "A picture of a long name, 40 signs long"
ICONS = (
    ".. |open-lock| image:: a.png\n   :width: 4\n\n.. |gh| image:: b.png\n   :alt: GitHub\n\n"
    f".. |shot| image:: c.png\n   :alt: {MOST}.\n\n.. |most| image:: c.png\n   :alt: {MOST}\n\n"
    ".. |grn| raw:: html\n\n   <i></i>\n\n"
)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("* - |open-lock|\n     - Plain.\n   * - |gh|\n     - Code.\n", [("open lock", "Plain."), ("GitHub", "Code.")]),
        (
            "* - |shot|\n     - No.\n   * - .. image:: a.png\n          :alt: On\n     - Yes.",
            [("shot", "No."), ("On", "Yes.")],
        ),
        ("* - |gh| Git\n     - Plain.\n   * - |most|\n     - b", [("Git", "Plain."), (MOST, "b")]),
    ],
)  # fmt: skip
def test_a_cell_that_is_an_icon_is_what_the_icon_is_called(rows: str, expected: list[tuple[str, str]]) -> None:
    table = read(f"{ICONS}.. list-table::\n\n   {rows}").text
    assert [row.cells for row in tables_in(table)[0].rows] == expected


def test_a_table_of_one_column_is_a_list() -> None:
    rows = "* - |grn|\n     - **Paused** (now)\n   * - |grn|\n     - Done\n"
    assert read(f"{ICONS}.. list-table::\n\n   {rows}").text == "- Paused (now)\n- Done"
    headed = ".. list-table::\n   :header-rows: 1\n\n   * - Name\n   * - a\n   * - b\n"
    assert [row.cells for row in tables_in(read(headed).text)[0].rows] == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("defined", "cell", "expected"),
    [
        (".. |br| raw:: html\n\n   <br />\n\n", "new |br|\\ a:``b`` |br|\\ \\*c\\*", "new; a:`b`; `*c*`"),
        ("", "new |br| open", "new; open"),
        ("", f"{'a' * 60} |br| b", f"{'a' * 60}; b"),
        ("", f"{'a' * 61} |br| b", f"{'a' * 61} b"),
        ("", "It is. |br| So. |br|", "It is. So."),
    ],
)
def test_values_on_lines_of_their_own_in_a_cell_are_parted(defined: str, cell: str, expected: str) -> None:
    table = read(f'{defined}.. csv-table::\n   :header: A, B\n\n   x, "{cell}"\n   y, z\n').text
    assert tables_in(table)[0].rows[0].cells == ("x", expected)
    assert read(f"{defined}.. |s| unicode:: 0x41\n\nOne |br| two |s|.\n").text == "One two A."
