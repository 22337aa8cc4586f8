"""Markdown as sites have it: HTML in it is read as HTML, blocks and roles of MyST, Docusaurus and MkDocs as their text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.ingest.loaders.site_markup import plain_markup
from cairn.language.tables import tables_in
from tests.growth import repeated, takes_linear_time

MANUALS = Path(__file__).parents[1] / "data" / "manuals"


def test_a_page_of_docusaurus_is_what_its_reader_sees() -> None:
    text = plain_markup((MANUALS / "freezer.mdx").read_text().partition("---\n\n")[2])
    for part in (
        "The freezer keeps what the pantry cannot. Press Ctrl+F to open it.",
        "below `<zero>` degrees; name it with <name>.",
        "**Faster cooling**\n\nSet the thermostat to minus thirty for one hour.",
        "Warning: The door must not stay open.",
        "**On Linux**\n\n```bash\nfreezer start # <b>not markup</b>\n```",
        "\n**On macOS**\n\nStart it from the menu.",
        "Settings\n\n| Setting | Default |\n| --- | --- |\n| `temperature` | minus eighteen degrees |\n"
        "| `alarm` | on &amp; loud |",
        "**How do I defrost it?**\n\nUnplug it for six hours:\n\n"
        '```\nfreezer stop\nfreezer defrost --hours=6 && echo "<done>"\n\n:::not a block\n```',
        "| a b | both |",
    ):
        assert part in text
    for markup in (
        "import",
        "export",
        "children",
        "Tabs",
        ":::n\n",
        "never shown",
        "TODO",
        "<t",
        "<details",
        "example.org",
    ):
        assert markup not in text
    assert len(tables_in(text)) == 2


def test_a_list_of_definitions_is_read_as_in_html() -> None:
    """A term leads what is said of it, and what its text is set in by is no code."""
    text = plain_markup(
        '<h2 id="o">Options <a class="anchor" href="#o" title="Permalink">¶</a></h2>\n\n<dl>\n    <dt id="size">'
        '<a href="#size"><code>SIZE</code></a></dt>\n    <dd>\n        <p>The number\n           of shelves.</p>\n        <p>'
        "<em>Default is 16.</em></p>\n    </dd>\n"
        "    <dt>crop</dt>\n    <dd>\n        Cuts the rim.\n\n        crop()\n    </dd>\n</dl>\n"
    )
    assert text.strip().split("\n\n") == [
        "## Options", "**`SIZE`**", "The number\nof shelves.", "Default is 16.", "**crop**", "Cuts the rim.", "        crop()",
    ]  # fmt: skip


def test_a_page_of_myst_and_mkdocs_too() -> None:
    text = plain_markup((MANUALS / "myst.md").read_text())
    for part in (
        "# Running the oven\n\nNote: Heat it with `heat()`, as the guide says.",
        'Warning:\n\n- The door is hot.\n\n```python\nx = {"a": 1}\n```',
        "```console\n$ oven start\n```",
        "**Linux**\n\nUse apt.\n\n**macOS**\n\nUse brew.",
        "Heat\n\n| Dish | Degrees |\n| --- | --- |\n| Bread | two hundred and ten |",
        "**Gas**\n\nDo not breathe it.\n\n```\noven stop\n```",
        "**By hand**\n\nTurn the knob.",
        "A `Vec<String>`, a Vec<String>, <file>, `a<br>b` and `{role}`.",
        "```md\n:::note\nquoted\n:::\n```",
    ):
        assert part in text
    for markup in ("(label)", "toctree", ":class:", ":linenos:", "!!!", '==="', "tab-set"):
        assert markup not in text


@pytest.mark.parametrize(
    "text",
    [
        "# A\n\n\n\ntext\n    code <b>\n",
        "a < b and c > d, `<b>x</b>`, ``a`<i>`b``, <https://example.org>, <ann@example.org>, Map<K, V>, <T>",
        "Replace <title>, <time> and <data> by yours.",
        "```html\n<table><tr><td>a</td></tr></table>\n<!-- kept -->\n```\n",
        "~~~~\n```{note}\n~~~~\n",
        "```{r, echo=FALSE}\nplot(x)\n```\n\n```{python}\nx = 1\n```\n\n~~~{.sh}\nls\n~~~\n",
        "Vec<Item> and Box<dyn Fn()>, <Item> too",
        "time :: now and a ::: b\n",
        "the import of goods from 'France' is easy",
        "an arrow --> and <!-- without an end",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n",
    ],
)
def test_what_is_no_markup_of_a_site_stays_as_it_is(text: str) -> None:
    assert plain_markup(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<br>b <em>c</em>", "a\nb c"),
        ("<code>&lt;b&gt;</code> &lt;i&gt;", "`<b>` &lt;i&gt;"),
        ("|x|<code>a&#124;b</code>|", "|x|`a\\|b`|"),
        ("<code>a<br>b</code> <b>c &amp;</b>", "`a\nb` c &amp;"),
        (
            "<table><tr><th>a<th>b<tr><td><code>&lt;b&gt;&#124;</code><td>&lt;i&gt;</table>",
            "| a | b |\n| --- | --- |\n| `<b>\\|` | &lt;i&gt; |",
        ),
        ('[ZeroSSL <img src="x" class="y">](z). And <img src="x"> more', "[ZeroSSL](z). And  more"),
        ("<div><span># a comment</span></div>\n\n# A", "\\# a comment\n\n# A"),
        ('<div>\n\n# A\n\n</div>\n<a name="b"></a># B', "# A\n\n# B"),
        ("<p>```</p>", "\\```"),
        ("<h2 align=center>A <i>b</i></h2>", "## A b"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ("| x | <ul><li>is</li><li>is not</li> <li>changed</li></ul> |", "| x |   is; is not; changed  |"),
        ("| x | Of <ol><li>a.</li><li>b</li></ol> and <ul><li>c</li></ul> |", "| x | Of   a.; b  and   c  |"),
        ("<p>a</p><p>b</p>", "a\n\nb"),
        ('<a name="x"></a>See <a href="y">this</a>.', "See this."),
        ("a <!-- b --> c", "a  c"),
        ("`<!--` a <!-- `b` --> c", "`<!--` a  c"),
        ("<pre lang=x>\na <b>c</b>\n</pre> after", "```\na c\n```\n\n after"),
        ('<pre><code class="language-sh">ls</code></pre>', "```sh\nls\n```"),
        ("<script>\nalert(1)\n\n</script>x", "x"),
        ("<TABLE><TR><TD>a<TD>b<TR><TD>1<TD>2</TABLE>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ('<table><tr><td colspan="2">a</td></tr><tr><td>1</td><td>2</td></tr></table>', None),
        ("<table><tr><td>one</td></tr><tr><td>two</td></tr></table>", "one\n\ntwo"),
        ("<table><tr><td>never closed", "<table><tr><td>never closed"),
        ("</table></td><td></tr>x", "x"),
        ("<table><tr><td>a</td></tr></table>\n\nA <table> that goes on.", "a\n\nA \n\n that goes on."),
        ('<Card title="A &amp; b" onClick={f}>\nText\n</Card>', "**A & b**\n\nText"),
        ('<Code lang="js">{`let x`}</Code> <Tab>A</Tab> <Icon/>', "{`let x`}\n\nA"),
        (":::note[Look]{.a}\nText\n:::", "**Look**\n\nText"),
        ("::: {.warning}\nText\n:::", "Text"),
        ("```{versionadded} 2.0 For folders.\n```", "Added in version 2.0: For folders."),
        ("```{py:function} f(a)\nText\n```", "**`f(a)`**\n\nText"),
        ("```{note} Text\nmore\n```", "Note: Text\nmore"),
        (":::caution", "Caution:"),
        ("```{csv-table}\n:header: a,b\n\n1,2\n```", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("- a\n\n  ??? note\n      Inside.\n\nafter", "- a\n\n  Note: Inside.\n\nafter"),
        ("@[code](@snippets/ls.sh)\n\nIt lists.", "It lists."),
        ("@[code js{2-3}:no-line-numbers](@snippets/ls.js)\n\nIt lists.", "It lists."),
        ("@[codecov](https://example.org)", "@[codecov](https://example.org)"),
        ("@[code of conduct](COC.md)", "@[code of conduct](COC.md)"),
        ("Text\n\n    @[code](a.sh)", "Text\n\n    @[code](a.sh)"),
        ("Write to @[code](a.sh) me.", "Write to @[code](a.sh) me."),
    ],
)
def test_small_pieces(text: str, expected: str | None) -> None:
    found = plain_markup(text).strip()
    if expected is not None:
        assert found == expected
    assert expected is not None or ("a" in found and "| 1 | 2 |" in found)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Press <button>Save</button> to save.", "Press Save to save."),
        ("Press<button class=a>Save</button>now, <select><option>a</option><option>b</option></select>.",
         "Press Save now, a b."),
        ("It is `/viːt/`<button id=x><svg>\n<use/>\n</svg></button>, fast.", "It is `/viːt/`, fast."),
        ("A <svg>x</svg>: b <style>\n\n</style>c", "A : b c"),
        ("A <!-- b\n--># c", "A # c"),
        ("<div>\n    <button>Save</button>\n    <canvas>Old</canvas>\n</div>", "Save\nOld"),
        ("<table><tr><td>a</td><td><button>b</button><button>c</button></td></tr><tr><td>1</td><td>2</td></tr></table>",
         "| a | b c |\n| --- | --- |\n| 1 | 2 |"),
        ('Text <Link to="/a" title="Course">learn</Link> it', "Text learn it"),
        ("<Term>API</Term> is a\n<Term>thing</Term>.", "API is a\nthing."),
        ('## Old [<Badge text="v6 &amp; 7"/>](#a)', "## Old [v6 & 7](#a)"),
        ('- <Link to="/a">One</Link>\n- A <Link to="/b">second\nlink</Link>', "- One\n- A second\nlink"),
        ('| <Link to="/a">One</Link> | <Badge text="new"/> |\n| --- | --- |\n', "| One | new |\n| --- | --- |"),
    ],
)  # fmt: skip
def test_what_stands_in_a_line_of_text_cuts_no_sentence(text: str, read: str) -> None:
    assert plain_markup(text).strip() == read


@pytest.mark.parametrize("words", [1, 500])
def test_the_row_of_a_table_stays_a_line_however_long_it_is(words: int) -> None:
    said = "of it " * words
    text = plain_markup(
        f"| A | B |\n| --- | --- |\n| a | {said}<br />- b <ul><li>c</li></ul> {said} | d |\n<br>e<br>f\n"
    )
    assert text == f"| A | B |\n| --- | --- |\n| a | {said} - b   c  {said} | d |\ne\nf\n"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('| <a id="x">`http2.`<br />`maxStreams`</a> | 250 |', "| `http2.maxStreams` | 250 |"),
        ("| `routes[n].`<br>`observability.` <br/> `logs` | `a.` |", "| `routes[n].observability.logs` | `a.` |"),
        ("| `points.<name>`<BR>`.http` | `x-`<br>`y` |", "| `points.<name>.http` | `x-` `y` |"),
        ("Set `MY_`<br>`NAME` or `my.`<br>`host`.", "Set `MY_NAME` or `my.host`."),
        ("| `a` <br>`b` | `a.`, <br>`b` | `a.`<br>b |", "| `a`  `b` | `a.`,  `b` | `a.` b |"),
        ("| `bin/`<br>`lib/`<br>`etc/` | `/etc/`<br>`/var` |", "| `bin/` `lib/` `etc/` | `/etc/` `/var` |"),
        ("| `a-`<br>`-b` | `1`<br>`.5` |", "| `a-` `-b` | `1` `.5` |"),
        ("| `...`<br>`x` | ``a.``<br>`b` | `README`<br>`.env` |", "| `...` `x` | ``a.`` `b` | `README` `.env` |"),
    ],
)
def test_a_name_that_is_broken_in_two_is_one(text: str, read: str) -> None:
    assert plain_markup(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('<Note title="Mind">It is hot.</Note>\nText', "**Mind**\n\nIt is hot.\n\nText"),
        ("<Card>A <Icon/></Card><Card>b</Card>", "A \n\nb"),
        ('- <Card title="A">b</Card>', "- \n\n**A**\n\nb"),
        ('Text <Tabs>\n\n<TabItem label="A">b</TabItem></Tabs>', "Text \n\n**A**\n\nb"),
        ('<Tabs><TabItem label="A">b</TabItem><TabItem label="C">d</TabItem></Tabs>', "**A**\n\nb\n\n**C**\n\nd"),
    ],
)
def test_a_component_with_a_line_of_its_own_is_a_block(text: str, read: str) -> None:
    assert plain_markup(text).strip() == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('<Cards>\n  <Card title="A">\n    It is new.\n\n    - **$4** a month\n      or so\n\n  </Card>\n</Cards>\nEnd',
         "**A**\n\nIt is new.\n\n- **$4** a month\n  or so\n\nEnd"),
        ('1. ### Install it\n\n   <Tabs>\n     <TabItem label="A">\n       Do:\n\n       ```sh\n       ls\n    x\n       ```\n'
         "     </TabItem>\n   </Tabs>\n\n   Then:\n2. ## Run [it](a) {#b}\n",
         "1. **Install it**\n\n   **A**\n\n   Do:\n\n   ```sh\n   ls\nx\n   ```\n\n   Then:\n2. **Run [it](a)**"),
        ("1. ### Set up C#\n2. ### Run ##\n", "1. **Set up C#**\n2. **Run**"),
        ('<Card\n  title="A"\n>\n    It is new.\n</Card>', "**A**\n\nIt is new."),
        ("<Card\n  x={1}\n/>\n    code\n<Card>\n  Text\n</Card>", "code\n\nText"),
        ("```jsx\n<Card>\n    x\n</Card>\n```\n<Card>\nA\n\n    code\n</Card>",
         "```jsx\n<Card>\n    x\n</Card>\n```\n\nA\n\n    code"),
        ('<Tabs>\n  <Tab title="A">\n\nText\n\n  </Tab>\n</Tabs>', "**A**\n\nText"),
        ("- a\n\n  :::note\n  It is new.\n  :::", "- a\n\n  Note: It is new."),
        ("- # 1\n- #### Of it ####\n- #2", "- # 1\n- **Of it**\n- #2"),
    ],
)  # fmt: skip
def test_what_a_component_holds_is_no_code_by_its_indentation(text: str, read: str) -> None:
    assert plain_markup(text).strip().replace("\n\n\n", "\n\n") == read


_DETAILS = "<details>\n<summary>{}</summary>\n\n{}\n\n</details>\n\n"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("## FAQ\n\n" + _DETAILS.format("Is it safe?", "#### Yes\n\nIt is.\n\n```\n# a\n```")
         + _DETAILS.format("<b>Why</b>?", "So."),
         "## FAQ\n\n### Is it safe?\n\n#### Yes\n\nIt is.\n\n```\n# a\n```\n\n### Why?\n\nSo."),
        (_DETAILS.format("Is it safe?", "It is.") + "# End", "## Is it safe?\n\nIt is.\n\n# End"),
        (_DETAILS.format("Is it safe?", "It is.") + "Text goes on.", "**Is it safe?**\n\nIt is.\n\nText goes on."),
        (_DETAILS.format("The log", "It is."), "**The log**\n\nIt is."),
        ("###### FAQ\n\n" + _DETAILS.format("Is it safe?", "It is."), "###### FAQ\n\n###### Is it safe?\n\nIt is."),
    ],
)  # fmt: skip
def test_a_question_that_unfolds_is_a_heading(text: str, read: str) -> None:
    """Bold, it would be a paragraph, and an answer to it half of the one before."""
    assert plain_markup(text).strip().replace("\n\n\n", "\n\n") == read


@pytest.mark.parametrize(
    ("head", "read"),
    [
        ('!!! Tip "Default Store"', "**Default Store**\n\nText"),
        ("!!! Note", "Note: Text"),
        ("??? Note", "Note: Text"),
        ("???+note", "Note: Text"),
        ('!!!info "Let\'s"', "**Let's**\n\nText"),
        ("!!!info", "Info: Text"),
        (r'!!! note "Of \"a\""', '**Of "a"**\n\nText'),
        ('!!! note "See [a](b "c")"', '**See [a](b "c")**\n\nText'),
        ('!!! note inline end "One"', "**One**\n\nText"),
        ("!!! note inline", "Note: Text"),
        ("!!! note About a Store", "**About a Store**\n\nText"),
        ("!!! Mind the Gap", "**Mind the Gap**\n\nText"),
        ('=== "a "b""', '**a "b"**\n\nText'),
    ],
)
def test_a_note_of_mkdocs_is_read_in_all_its_spellings(head: str, read: str) -> None:
    assert plain_markup(f"{head}\n    Text\n").strip() == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            "1.  a\n\n    !!! note\n\n        Said.\n\n        More.\n\n    b\n\n2.  c\n",
            "1.  a\n\n    Note: Said.\n\n    More.\n\n    b\n\n2.  c",
        ),
        ("- a\n\n    !!! note\n        b\n\n        !!! tip\n            c\n", "- a\n\n    Note: b\n\n    Tip: c"),
        (
            "* a\n    * b\n\n        !!! tip\n            c\n\n        d\n",
            "* a\n    * b\n\n        Tip: c\n\n        d",
        ),
        (
            '1. a\n\n    === "b"\n\n        ```\n        c\n        ```\n',
            "1. a\n\n    **b**\n\n    ```\n    c\n    ```",
        ),
        ("1. a\n\n   :::note[b]\n\n   c\n\n   :::\n", "1. a\n\n   **b**\n\n   c"),
        ("1. a\n\n   ```{code-block} sh\n   b\n   ```\n", "1. a\n\n   ```sh\n   b\n   ```"),
        ("1.  a\n\n    ```{note}\n    b\n    ```\n", "1.  a\n\n    Note: b"),
        ("a\n\n    !!! note\n        b\n\n        c\n", "a\n\nNote: b\n\nc"),
        ("1. a\n\nb\n\n    !!! note\n        c\n", "1. a\n\nb\n\nNote: c"),
        ("!!! note\n    1. a\n\n        !!! tip\n            b\n\n    2. c\n", "Note:\n\n1. a\n\n    Tip: b\n\n2. c"),
    ],
)
def test_a_note_in_a_step_stays_in_it(text: str, read: str) -> None:
    """At the left margin it would end the list, and the rest of the step would be code."""
    assert plain_markup(text).strip().replace("\n\n\n", "\n\n") == read


@pytest.mark.parametrize(
    "text", ["!!!Stop\nText\n", "!!! Stop\n\nText\n", "???Why not\n- a\n", "Stop!!! Note\n    Text\n"]
)
def test_a_line_that_only_calls_out_loud_begins_no_note(text: str) -> None:
    assert plain_markup(text) == text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('Text\n\n--8<-- "a/x.md"\n\nMore', "Text\n\nMore"),
        ("Text\n\n<<< @/x.js{1,2 js}\n\nMore", "Text\n\nMore"),
        ('--8<-- "a/x.md:2:9"\n', "(see a/x.md)"),
        ("## A\n\n--8<-- 'x.md'\n--8<-- [end:a]\n", "## A\n\n(see x.md)"),
        ("3. Write it:\n\n   <<< ./x.yaml#all [deploy.yml]\n", "3. Write it:\n\n   (see deploy.yml)"),
        ("1. <<< ./x.yaml\n2. b\n", "1. (see ./x.yaml)\n2. b"),
        ('!!! note\n    --8<-- "x.md"\n', "Note: (see x.md)"),
        ('```yaml\n--8<-- "x.yaml"\n```\nText', "(see x.yaml)\n\nText"),
        ('```yaml\na: 1\n--8<-- "x.yaml"\n```\n', "```yaml\na: 1\n```"),
        ('```md\n--8<-- "x.yaml"\n<<< a.b\n```', '```md\n--8<-- "x.yaml"\n<<< a.b\n```'),
        ("a <<< b.c\n<<< HEAD\n<<<<<<< a.b", "a <<< b.c\n<<< HEAD\n<<<<<<< a.b"),
        ("Text <!--@include: ./x.md-->", "Text"),
        ("```ts twoslash\na\n// ---cut---\nb\n// ---cut-start---\nc\n// ---cut-end---\nd\n```", "```ts twoslash\nb\nd\n```"),
        ("  ```js\n  a\n  // ---cut-before---\n  b\n  // ---cut-after---\n  c\n  ```", "```js\n  b\n  ```"),
        ("~~~js\na\n// ---cut--\nb\n// ---cut-start---\nc\n~~~\nText", "~~~js\nb\n~~~\nText"),
        ("```js\na\n// ---cut---\nb", "```js\nb"),
        ("```js\na // ---cut---\n# ---cut---\n```", "```js\na // ---cut---\n# ---cut---\n```"),
    ],
)  # fmt: skip
def test_what_another_file_or_only_the_compiler_has_is_no_text(text: str, read: str) -> None:
    assert plain_markup(text).strip() == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("::: code-group\n\n```bash [npm]\na\n```\n\n```bash twoslash [PNPM 9] x\nb\n```\n\n:::\n",
         "**npm**\n\n```bash\na\n```\n\n**PNPM 9**\n\n```bash twoslash x\nb\n```"),
        ('1. Do:\n\n    ```yaml tab="File (YAML)"\n    a\n    ```\n    ```toml tab="File (TOML)"\n    b\n    ```\n',
         "1. Do:\n\n    **File (YAML)**\n\n    ```yaml\n    a\n    ```\n\n    **File (TOML)**\n\n    ```toml\n    b\n    ```"),
        (':::tip\n```js [a.js]\na\n```\n:::\nText\n```js [b.js]\n```', "Tip:\n\n```js [a.js]\na\n```\n\nText\n```js [b.js]\n```"),
        (':::tip\n```js [a.js]\na\n```\n```js a[0]\n```\n:::', "Tip:\n\n```js [a.js]\na\n```\n```js a[0]\n```"),
    ],
)  # fmt: skip
def test_code_in_tabs_is_called_as_its_tab(text: str, read: str) -> None:
    assert plain_markup(text).strip() == read


UNITS = [
    "<", "<a ", "<a>", "</a>", "<br>", "<table>", "<td>", "<pre>", "<!--", "<!-- -->", "`", "``", "<A>\n", "<A/>", "<h1>", "{a}`",
    "{a}`b`", ":::a\n", ":::\n", "```{a}\n", "```\n", "~~~\n", "!!! a\n", '=== "a"\n', "    ", "\n", "import 'a'\n",
    "export const\n", "<table><tr><td rowspan=50 colspan=50>a", "(a)=\n",
    "@[code](a)\n", "@[code", "<a b='", "<pre></pre>", "```{list-table}\n* - a\n",
    "<script>", "|<br>", "</table><table>", "`<!--", "<svg></svg>a", "a<button>b</button>", "a <A>", "a <A>b</A>", "- <A b='c'/>",
    "`a.`<br>", "|`a.`<br>`b`", "!!!A b\n", '??? a "b" c "\n', "<<< a.b\n", "<<<",
    "```a [b]\n```\n", "\n\n--8<-- 'a'\n", "// ---cut---\n",
    '{{< a "b" >}}', "{{< ", "[a]({{< ", "{{%", "[a]({% link ",
    "<summary>a?</summary>", "<details>", "<details><summary>a?</summary>\n</details>\n", "</details>", "# a\n",
    "<A>\n  a\n</A>\n", "  <A\n", "<A>\n  ", "- ## a\n",
]  # fmt: skip


@pytest.mark.sweep(4)
@pytest.mark.parametrize("unit", UNITS)
def test_it_takes_linear_time(unit: str) -> None:
    assert takes_linear_time(plain_markup, repeated(unit), 8_000)


def test_remarks_of_myst_are_not_text() -> None:
    text = (
        "% Draft\n%\n% by Ada\n\n# Oven\n\nHeat it with {func}`heat`.\n% TODO\nThen wait.\n\n```\n% a\n```\n\n    % b\n"
    )
    assert plain_markup(text) == "\n# Oven\n\nHeat it with `heat()`.\nThen wait.\n\n```\n% a\n```\n\n    % b\n"


@pytest.mark.parametrize(
    "text",
    [
        "% A title of Pandoc\n% Ada\n\nText.\n",
        "% A title\n\n```{r}\nx\n```\n",  # R Markdown
        "% of all\n\n```{.python #id}\nx\n```\n",
    ],
)
def test_a_line_with_a_per_cent_sign_is_text_elsewhere(text: str) -> None:
    assert plain_markup(text) == text


def test_who_holds_the_rights_of_a_file_is_a_remark_everywhere() -> None:
    text = (
        "% SPDX-FileCopyrightText: 2022 Ada\n% SPDX-License-Identifier: CC0-1.0\n\n# Oven\n\n% of the heat is lost.\n"
    )
    assert plain_markup(text) == "\n# Oven\n\n% of the heat is lost.\n"


@given(
    st.lists(
        st.sampled_from([*UNITS, "a", " ", "</td>", "</pre>", "</table>", "-->", "\n\n", "|", "- ", ":x: y\n"]),
        max_size=40,
    )
)
def test_any_text_is_read(parts: list[str]) -> None:
    plain_markup("".join(parts))


def test_a_tab_that_says_nothing_has_no_name() -> None:
    text = plain_markup(
        '=== "Empty"\n\n    <!-- a picture -->\n\n=== ":material-linux: Linux"\n\n    Use apt.\n\n'
        '=== "macOS"\n\n    ```\n    brew\n    ```\n\n'
        '<Tabs>\n<TabItem value="a" label="None"></TabItem>\n<TabItem value="windows">Use winget.</TabItem>\n</Tabs>\n'
    )
    assert [line for line in text.split("\n") if line.strip()] == [
        "**Linux**", "Use apt.", "**macOS**", "```", "brew", "```", "**windows**", "Use winget.",
    ]  # fmt: skip


def test_a_note_in_a_tab_is_named_by_both() -> None:
    text = plain_markup("::::tab Linux\n:::note\nUse apt.\n:::\n::::\n")
    assert text.split() == ["**Linux**", "Note:", "Use", "apt."]


def test_pictures_that_have_names_and_keys_are_what_they_say() -> None:
    assert plain_markup("| :material-check: | :x: |\n") == "| ✓ | ✗ |\n"
    assert plain_markup(':material-clock: Soon, `:material-x:`, press ++ctrl+alt+f++ or ++"Pick it"++ in C++.\n') == (
        "Soon, `:material-x:`, press Ctrl+Alt+F or Pick it in C++.\n"
    )
    assert plain_markup("| a:warning: | `:warning:` |\n") == "| a:warning: | `:warning:` |\n"
    assert plain_markup("| :warning: | (:no_entry:) |\n:bulb: Try.\n") == "| ⚠️ | (⛔) |\n💡 Try.\n"
    assert plain_markup("- `LENGTH`:exclamation:: Of the queue.\n") == "- `LENGTH`: ❗ Of the queue.\n"
    assert plain_markup("a++b++c and i++ < n\n") == "a++b++c and i++ < n\n"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            'Text\n<figure><img src="a"><figcaption><p>The [top](b) view</p></figcaption></figure>\nMore.',
            "Text\n\n![The top view]()\n\nMore.",
        ),
        ("Text\n\n<figure><figcaption>It is <b>big</b>.</figcaption></figure>", "Text\n\nIt is big."),
        (
            "1. a\n\n   <figure>\n     <figcaption>\n     b\n     </figcaption>\n   </figure>\n\n2. c",
            "1. a\n\n   ![b]()\n\n2. c",
        ),
        (
            "| A | B |\n| --- | --- |\n| x | <figure><figcaption>b</figcaption></figure> |",
            "| A | B |\n| --- | --- |\n| x |   b   |",
        ),
        ("a <figcaption></figcaption> b <figcaption>", "a \n\n b"),
    ],
)
def test_what_names_a_picture_is_no_sentence(text: str, read: str) -> None:
    assert plain_markup(text).strip() == read


def test_the_place_of_what_is_read_from_code_is_left_out() -> None:
    text = plain_markup("# A\n\n::: pkg.module.Class\n    options:\n      members:\n      - run\n\nIt runs.\n")
    assert text.split() == ["#", "A", "It", "runs."]


def test_tabs_and_notes_of_hugo_and_jekyll() -> None:
    text = plain_markup(
        '{{< tabs >}}\n{{% tab header="Linux" %}}\nUse apt.\n{{% /tab %}}\n{{< tab "Empty" >}}\n{{< /tab >}}\n{{< /tabs >}}\n\n'
        '{% tab title="macOS" %}\nUse brew.\n{% endtab %}\n\n{{< note >}}\nIt is loud.\n{{< /note >}}\n\n'
        "```jinja\n{% if x %}\n```\n\n    {% if y %}\n"
    )
    assert [line for line in text.split("\n") if line.strip()] == [
        "**Linux**", "Use apt.", "**macOS**", "Use brew.", "Note: It is loud.", "```jinja", "{% if x %}", "```", "    {% if y %}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{% hint style="danger" %}\nIt is lost.\n{% endhint %}', "Danger: It is lost."),
        ('{% hint style="warning" %}\n**Stop** it.\n{% endhint %}', "Warning: **Stop** it."),
        ('{% hint style="info" %}\n![](a.png)\n\nIt is new.\n{% endhint %}', "![](a.png)\n\nInfo: It is new."),
        ('{% hint style="info" %}\n<figure><img src="a.png" alt=""></figure>\n{% endhint %}\n\nMore', "More"),
        ("{{< hint danger >}}\nIt is lost.\n{{< /hint >}}", "Danger: It is lost."),
        ('{{% notice note "A tip" %}}\nIt is new.\n{{% /notice %}}', "Note: It is new."),
        ("{% hint %}\nIt is new.\n{% endhint %}", "Hint: It is new."),
        ('1. Do\n\n    {% hint style="info" %}\n    It is new.\n    {% endhint %}\n2. Go',
         "1. Do\n\n    Info: It is new.\n\n2. Go"),
    ],
)  # fmt: skip
def test_a_hint_is_called_by_its_style(text: str, read: str) -> None:
    assert plain_markup(text).strip() == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('| {{< accesskey "s" >}} | Save |', "| s | Save |"),
        ('the {{< glossary_tooltip text="node" term_id="node" >}} runs', "the node runs"),
        ("## Version {{< current-version >}}", "## Version {current-version}"),
        ('{{< version-tag "5.3" >}} Since **then**', "5.3 Since **then**"),
        ('[from source]({{< relref "from-source.md" >}}#now), [x]({% link _a/b.md %})', "from source, x"),
        ('A [map](a.md), {{% siteparam "latest" %}}, {{< kbd >}}Ctrl{{< /kbd >}}', "A [map](a.md), , Ctrl"),
        ('![A]({{% asset "a.png" %}}?classes=b)', '![A]({{% asset "a.png" %}}?classes=b)'),
        ('`{{< accesskey "s" >}}` and {{ x }}', '`{{< accesskey "s" >}}` and {{ x }}'),
    ],
)
def test_a_shortcode_in_a_line_is_what_it_says(text: str, read: str) -> None:
    assert plain_markup(text) == read


def test_what_stands_between_a_shortcode_with_a_title_and_its_end_is_called_so() -> None:
    text = plain_markup(
        '{{% faq "May I sell it?" %}}\nYes.\n{{% /faq %}}\n\n{{< alert title="Mind" >}}\nHot.\n{{< /alert >}}\n\n'
        '{{< notice note "A title" >}}\nLoud.\n{{< /notice >}}\n\n{{< figure title="Mill" >}}\n\nEnd.\n\n'
        '{{< highlight html "linenos=table" >}}\nx = 1\n{{< /highlight >}}\n'
    )
    assert [line for line in text.split("\n") if line.strip()] == [
        "**May I sell it?**", "Yes.", "**Mind**", "Hot.", "Note: Loud.", "End.", "x = 1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("`walk allow [PATH]`\n: Grants it\npermission.\n", "**`walk allow [PATH]`**\n\nGrants it\npermission.\n"),
        ("Apple\n:   A fruit.\n\n    Of a tree.\n\n:   A maker.\n\nPear\n:   A fruit.\n",
         "**Apple**\n\nA fruit.\n\nOf a tree.\n\nA maker.\n\n**Pear**\n\nA fruit.\n"),
        ("#### `X=<y>` {#X}\n\n: If this is set.\n\n    Off by default.\n\nEnd.\n\n    code\n",
         "#### `X=<y>`\n\nIf this is set.\n\nOff by default.\n\nEnd.\n\n    code\n"),
        ("Pear\n: Of\n\n  - a tree\n    - old\n", "**Pear**\n\nOf\n\n- a tree\n  - old\n"),
        ("#### X\n: Set.\n", "#### X\n\nSet.\n"),
        ("It is said in two\nlines\n: here.\n", "It is said in two\nlines\n: here.\n"),
        ("- Item\n: no\n", "- Item\n: no\n"),
        (": alone\n", ": alone\n"),
        ("```\nTerm\n: code\n```\n", "```\nTerm\n: code\n```\n"),
        (f"{'a' * 200}\n: here\n", f"**{'a' * 200}**\n\nhere\n"),
        (f"{'a' * 201}\n: here\n", f"{'a' * 201}\n: here\n"),
    ],
)  # fmt: skip
def test_lists_of_definitions_are_terms_with_what_is_said_of_them(text: str, read: str) -> None:
    assert plain_markup(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("`size`<sup>1.52.0</sup> is new", "`size` 1.52.0 is new"),
        ("10<sup>6</sup>, the 1<sup>st</sup>, 10<sup>12</sup>", "10\u2076, the 1st, 10\u00b9\u00b2"),
        ("**required**<sup>1</sup> or not.<sup>12</sup>", "**required** \u00b9 or not. \u00b9\u00b2"),
        ("needed<sup>2</sup>, 5 cm<sup>3</sup>", "needed \u00b2, 5 cm\u00b3"),
        ("noted<sup>[4]</sup> <sup>beta</sup>, 10<sup>123</sup>", "noted [4] beta, 10 123"),
        (
            "<table><tr><th>A<th>B</tr><tr><td>a<sup>beta</sup></td><td>m<sup>2</sup></td></tr></table>",
            "| a beta | m\u00b2 |",
        ),
    ],
)
def test_what_is_raised_is_a_word_of_its_own_unless_it_is_short(text: str, read: str) -> None:
    assert read in plain_markup(text)
