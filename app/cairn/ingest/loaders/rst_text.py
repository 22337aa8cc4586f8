"""The tree that docutils makes of reStructuredText, written down as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise, takewhile, zip_longest
from textwrap import indent
from typing import Any, Final

from docutils import nodes

from cairn.ingest.loaders import render
from cairn.ingest.loaders.render import STAR
from cairn.ingest.loaders.sphinx_words import in_words
from cairn.language.lexicon import every
from cairn.language.tables import render_table
from cairn.language.text import fold_line

_LONGEST_TERM: Final = 200
"""Characters of a term of a list of definitions; a longer one is text."""
_BRIEF: Final = 120
"""Of what is said of each term of a list, so that it stands behind the term."""
_TERM: Final = re.compile(r"`[^`]+`(?: ?\([^()]*\))?|[\w-]+(?: [\w-]+){0,3}")
_LONGEST_REPLACED: Final = 2000
"""Characters that a substitution may come to: they may hold each other, and double with each step."""
_PICTURE: Final = re.compile(r"(?:\A|[_-])(?:ic|icon|icons|img|image|logo|screenshot|btn)(?:[_-]|\Z)", re.IGNORECASE)
"""In the name of a substitution that stands for a picture."""
_WIDEST_SPAN: Final = 50
_DEEPEST: Final = 20
"""Lists in each other, beyond which they are set in no further."""
_NOTHING: Final = (
    nodes.comment, nodes.target, nodes.substitution_definition, nodes.image, nodes.raw, nodes.transition, nodes.pending,
    nodes.title, nodes.Invisible,
)  # fmt: skip
_SILENT: Final = (nodes.image, nodes.raw, nodes.system_message, nodes.comment)
"""What stands in a line and is no text of it."""
_NOTE: Final = "\0"
"""Where a footnote is referred to. Its number goes, with the blank before it: it would read as one of the answer's sources."""
BREAK: Final = "\ufdd1"
"""Where a line ends before it is full: between values in a cell, elsewhere a blank. As `STAR`, no text has it."""
_LONGEST_VALUE: Final = 60  # bound: tests/unit/test_rst.py
"""Characters of a line in a cell, so that it is a value; those of sentences end where they are full."""
_WORD: Final = r"[\w./:@=$%&+~#?*-]"
_STARRED: Final = re.compile(rf"`[^`\n]*`|(?<!{_WORD})(?<!`){_WORD}*+{STAR}(?:[^\s`]*{STAR})?{_WORD}*+(?!`)")
"""A word with stars that are text, or code, where they are no markup."""
_OPENS: Final = re.compile(rf"(?<!\w){STAR}(?=\S)")
_CLOSES: Final = re.compile(rf"(?<=\S){STAR}(?!\w)")
_WRONG: Final = 3
"""Of what docutils says of a document, the level from which on it leaves lines out."""
_MOST_BETWEEN: Final = 8
"""Blocks below an item that belong to it although they are not set in."""
_OF_PICTURES: Final = re.compile(r"(?:name|tag|version|size|width|height|format|type|url|path|id)\Z", re.IGNORECASE)
_SIGNS: Final = {
    "nbsp": " ", "reg": "®", "trade": "™", "copy": "©", "deg": "°", "mdash": "—", "ndash": "–", "rarr": "→", "times": "×",
    "br": BREAK,
}  # fmt: skip
_LONGEST_ICON: Final = 39  # bound: tests/unit/test_rst.py
"""Characters of what is told of a picture, so that it is what an icon is called."""
_SENTENCE: Final = 8  # bound: tests/unit/test_rst.py
"""Words below a picture that end in a full stop, so that they are a sentence: fewer are mostly its name."""
_ENDS_WORDS: Final = ")]}`*\"'%\u00bb\u201d\u2019"
_LONGEST_NOTE: Final = 200
"""Of a footnote that stands in brackets where it is referred to."""
_NO_ROOM: Final = (
    nodes.title, nodes.rubric, nodes.term, nodes.thead, nodes.literal_block, nodes.footnote, nodes.citation,
)  # fmt: skip
"""Where a footnote that is referred to is not told."""
_ABOUT_THE_FILE: Final = frozenset(("orphan", "tocdepth", "nosearch", "nocomments", "hide-toc"))
"""Fields that a tool reads at the top of a file."""
_FIELDS: Final = {
    "param": "", "parameter": "", "arg": "", "argument": "", "key": "", "keyword": "", "var": "", "ivar": "", "cvar": "",
    "type": "Type of ", "vartype": "Type of ", "returns": "Returns", "return": "Returns", "rtype": "Return type",
    "raises": "Raises ", "raise": "Raises ", "except": "Raises ", "exception": "Raises ",
}  # fmt: skip
"""How the fields of a described function are called before a reader."""


class Tabulated(nodes.General, nodes.Element):  # type: ignore[misc]
    """A table whose rows are known: lists of cells, each a list of nodes."""

    rows: Sequence[Sequence[list[Any]]] = ()
    header_rows = 0


_BELOW_NAME: Final = (
    nodes.paragraph, nodes.bullet_list, nodes.enumerated_list, nodes.definition_list, nodes.literal_block, nodes.line_block,
    nodes.table, Tabulated, nodes.field_list, nodes.option_list, nodes.caption,
)  # fmt: skip
"""What stands below a line that is bold, so that the line is its heading."""


def tabulated(rows: Sequence[Sequence[list[Any]]], header_rows: int) -> list[Any]:
    """A table of cells, which are lists of nodes."""
    made = Tabulated()
    made.rows, made.header_rows = rows, header_rows
    return [made] if rows else []


def caption(said: list[Any]) -> list[Any]:
    """A line above a table or code."""
    return [nodes.paragraph("", "", *said)] if said else []


def _stands_alone(block: str) -> bool:
    """Whether it is code or a table, which begins on a line of its own."""
    return block.startswith(("```", "|"))


def _groups(node: Any) -> bool:
    """Whether what stands below a term is other terms, and nothing said of it: then it is a heading over them."""
    return all(isinstance(child, nodes.definition_list) for child in node.children)


def _told_of(name: str, blocks: Sequence[str]) -> list[str]:
    """Blocks of which the first begins with the name that they are said of."""
    if name and blocks and not _stands_alone(blocks[0]) and not isinstance(blocks[0], render.Item):
        return [f"{name.rstrip(':')}: {blocks[0]}", *blocks[1:]]
    return [name, *blocks] if name else [*blocks]


def _is_line(block: str) -> bool:
    """Whether it is a paragraph that may stand behind the term that it is said of."""
    return (
        len(block) <= _BRIEF and "\n" not in block and not _stands_alone(block) and not isinstance(block, render.Item)
    )


class DoctreeWriter:
    """Writes one tree. `title`: of its first section of the outermost level."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        self.title: str | None = None
        self.replaced: dict[str, str] = {}  # what substitutions come to, as far as they were needed
        self.definitions = {
            str(name): one for one in tree.findall(nodes.substitution_definition) for name in one["names"]
        }
        self.unfinished: set[str] = set()
        _drop_navigation(tree)
        for parent in dict.fromkeys(one.parent for one in tree.findall(nodes.enumerated_list)):
            _join_lists(parent)
        self.notes = _brief_notes(tree)
        self.in_place: set[Any] = set()  # notes that stand where they are referred to
        self.told: set[Any] = set()  # those that stand by themselves

    def text(self) -> str:
        """The document."""
        blocks = list(self._blocks(self.tree, 0, 0))
        self.title = self.title and self.title.replace(STAR, "*")
        return render.join(blocks).replace(STAR, "*").replace(BREAK, " ")

    def _blocks(self, node: Any, level: int, depth: int) -> Iterator[str]:
        """What stands in a node. `level`: of the headings; `depth`: of lists and what is said of terms around it."""
        named = False
        for child, follows in zip_longest(node.children, node.children[1:]):
            if isinstance(child, nodes.paragraph) and isinstance(follows, nodes.block_quote) and self._is_term(child):
                yield render.paragraph(render.run_in(self._said(child)))
                named = True
            elif isinstance(follows, _BELOW_NAME) and _is_bold(child):
                yield render.paragraph(render.run_in(self._said(child)))
                named = False
            else:
                yield from self._block(child, level, depth + (named and not _groups(child)))
                named = False

    def _is_term(self, node: Any) -> bool:
        """Whether a line over what is set in under it is a term that is defined there: a few words without a stop, or a name in
        code with what is said of it in brackets."""
        said = self._said(node)
        return len(said) <= _LONGEST_TERM and _TERM.fullmatch(said) is not None

    def _block(self, node: Any, level: int, depth: int) -> Iterator[str]:
        if isinstance(node, nodes.section):
            yield from self._section(node, level + 1)
        elif isinstance(node, nodes.system_message):
            yield from self._refused(node)
        elif isinstance(node, _NOTHING):
            return
        elif write := _BLOCKS.get(type(node)):
            yield from write(self, node, depth)
        elif isinstance(node, nodes.TextElement | nodes.Text):
            if said := self._said(node):
                yield render.paragraph(said)
        else:
            yield from self._blocks(node, level, depth)

    def _section(self, node: Any, level: int) -> Iterator[str]:
        for child in node.children:
            if isinstance(child, nodes.title):
                name = self._said(child)
                if level == 1 and self.title is None:
                    self.title = name.replace("`", "")
                if name:
                    yield render.heading(level, name)
        yield from self._blocks(node, level, 0)

    def _refused(self, node: Any) -> Iterator[str]:
        """The lines of a table that is drawn wrong, and the like; not those of a warning, which are read as well."""
        if int(node.get("level", 0)) >= _WRONG:
            for child in node.children:
                if isinstance(child, nodes.literal_block) and not child.astext().lstrip().startswith(".. "):
                    yield render.fence(child.astext())

    def _literal(self, node: Any, depth: int) -> Iterator[str]:
        language = str(node.get("language") or "")
        for name in node.get("classes", ()):
            language = language or (name if name not in ("code", "literal-block") else "")
        text = "".join(
            self._replacement(part) if isinstance(part, nodes.substitution_reference) else part.astext()
            for part in node.children
        )
        if text.strip():
            yield render.fence(text, language if language.replace("-", "").replace("+", "").isalnum() else "")

    def _items(self, node: Any, depth: int) -> Iterator[str]:
        """A list; of questions with what answers them it is none, for each is read by itself."""
        if not depth and len(node.children) > 1 and all(map(_is_answered, node.children)):
            for item in node.children:
                yield render.paragraph(render.run_in(self._said(item.children[0])))
                for child in item.children[1:]:
                    yield from self._block(child, 0, 0)
            return
        ordered = isinstance(node, nodes.enumerated_list)
        first = int(node.get("start", 1)) if ordered else 0
        for number, item in enumerate(node.children, first):
            yield from self._item(f"{number}." if ordered else "-", self._blocks(item, 0, depth + 1), depth)

    def _item(self, marker: str, blocks: Iterable[str], depth: int) -> Iterator[str]:
        """An item: its first block stands behind the mark, the others are set in as far, or they would end the list."""
        margin = " " * (len(marker) + 1 if depth < _DEEPEST else 0)
        for at, block in enumerate(blocks):
            inside = indent(block, margin)
            if at:
                yield render.Item(inside) if isinstance(block, render.Item) else inside
            elif _stands_alone(block):
                yield render.Item(f"{marker}\n{inside}")
            else:
                yield render.Item(f"{marker} {inside.lstrip('# ')}")

    def _definitions(self, node: Any, depth: int) -> Iterator[str]:
        """Terms with what is said of them below; in what is said of something else, and where all are a line, as items of a
        list, which belong to what stands above."""
        told = [(self._term(item), *self._defined(item, depth)) for item in node.children]
        brief = len(told) > 1 and all(len(blocks) == 1 and _is_line(blocks[0]) for _, *blocks in told)
        for name, *blocks in told:
            if len(told) == 1 and isinstance(node.parent, nodes.list_item) and node is node.parent.children[0]:
                yield from _told_of(name, blocks)  # it is the item
                continue
            if depth or node.get("inside") or brief:
                yield from self._named_item(name, blocks, depth)
                continue
            if name:
                yield render.paragraph(render.run_in(name) if len(name) <= _LONGEST_TERM else name)
            yield from blocks

    def _term(self, item: Any) -> str:
        terms = [self._said(one) for one in item.children if isinstance(one, nodes.term)]
        kinds = [self._said(one) for one in item.children if isinstance(one, nodes.classifier)]
        return ", ".join(terms) + "".join(f" ({kind})" for kind in kinds if kind)

    def _defined(self, item: Any, depth: int) -> Iterator[str]:
        for one in item.children:
            if isinstance(one, nodes.definition):
                yield from self._blocks(one, 0, depth + (not _groups(one)))

    def _fields(self, node: Any, depth: int) -> Iterator[str]:
        for one in node.children:
            if len(one.children) != 2:
                continue
            name = self._said(one.children[0])
            if name.lower() in _ABOUT_THE_FILE:
                continue
            kind, _, rest = name.partition(" ")
            if kind in _FIELDS and (rest or _FIELDS[kind][-1:].islower()):
                name = f"{_FIELDS[kind]}{rest.rpartition(' ')[2]}" if rest else _FIELDS[kind]
            yield from self._named(name, one.children[1], depth)

    def _options(self, node: Any, depth: int) -> Iterator[str]:
        for item in node.children:
            names = [one for one in item.children if isinstance(one, nodes.option_group)]
            shown = ", ".join(str(option.astext()) for group in names for option in group.children)
            for one in item.children:
                if isinstance(one, nodes.description):
                    yield from self._named(f"`{shown}`", one, depth)

    def _named(self, name: str, body: Any, depth: int) -> Iterator[str]:
        yield from self._named_item(name, list(self._blocks(body, 0, depth + 1)), depth)

    def _named_item(self, name: str, blocks: Sequence[str], depth: int) -> Iterator[str]:
        """A name and what is said of it, as an item of a list."""
        yield from self._item("-", _told_of(name, blocks), depth)

    def _rubric(self, node: Any, depth: int) -> Iterator[str]:
        if said := self._said(node):
            yield render.paragraph(render.run_in(said) if len(said) <= _LONGEST_TERM else said)

    def _caption(self, node: Any, depth: int) -> Iterator[str]:
        said = self._said(node)
        if said.endswith((".", ".)")) and len(said.split()) >= _SENTENCE:
            yield render.paragraph(said)  # it tells what is so, or what to do, and not only what is seen
        elif block := render.picture(said):
            yield block

    def _lines(self, node: Any, depth: int) -> Iterator[str]:
        """A block of lines, which stay lines: those of a paragraph would be joined where they are shown."""
        said = self._lines_of(node)
        if len(said) < 2 or (isinstance(node.parent, nodes.list_item) and node is node.parent.children[0]):
            yield from filter(None, [render.paragraph("\n".join(said))])
            return
        for line in said:
            yield from self._item("-", [line], depth)

    def _lines_of(self, node: Any) -> list[str]:
        return [line for one in node.findall(nodes.line) if (line := self._said(one))]

    def _footnote(self, node: Any, depth: int) -> Iterator[str]:
        """By itself it says nothing of what it is a note on, so it stands where it is referred to, if it can."""
        if node not in self.in_place:
            self.told.add(node)
            yield from self._blocks(node, 0, depth)

    def _citation(self, node: Any, depth: int) -> Iterator[str]:
        label = "".join(f"[{one.astext()}] " for one in node.children if isinstance(one, nodes.label))
        for block in self._blocks(node, 0, depth):
            yield render.paragraph(label + block) if label else block
            label = ""

    def _label(self, node: Any, depth: int) -> Iterator[str]:
        return iter(())

    def _tabulated(self, node: Any, depth: int) -> Iterator[str]:
        yield from _rows([[self._flat(cell) for cell in row] for row in node.rows], node.header_rows)

    def _table(self, node: Any, depth: int) -> Iterator[str]:
        for one in node.children:
            if isinstance(one, nodes.title) and (said := self._said(one)):
                yield render.paragraph(said)
        lines = [row for group in node.children for part in group.children if isinstance(part, nodes.thead | nodes.tbody)
                 for row in part.children]  # fmt: skip
        header = sum(isinstance(row.parent, nodes.thead) for row in lines)
        yield from _rows(self._grid(lines), header)

    def _grid(self, lines: Iterable[Any]) -> list[list[str]]:
        """Rows of cells."""
        merged, rows = render.MergedCells(), []
        for line in lines:
            row: list[str] = []
            for cell in line.children:
                across = min(int(cell.get("morecols", 0)), _WIDEST_SPAN) + 1
                merged.add(row, self._flat(cell.children), across, int(cell.get("morerows", 0)))
            merged.fill(row)
            rows.append(row)
        return rows

    def _flat(self, children: Sequence[Any]) -> str:
        """What stands in a cell, on one line: items of a list are parted by signs instead of marks."""
        parts: list[str] = []
        for child in children:
            if isinstance(child, nodes.TextElement | nodes.Text):
                parts.append(self._said(child, in_cell=True))
            elif isinstance(child, nodes.line_block):
                parts += self._lines_of(child)
            else:
                blocks = self._block(child, 0, 0)
                parts += [
                    block if isinstance(block, render.Item) else render.without_pictures(block.replace("```", ""))
                    for block in blocks
                ]
        return render.collapse(_on_one_line([part for part in parts if part])).strip() or self._icon(children)

    def _icon(self, cell: Sequence[Any]) -> str:
        """What a cell says that is a picture alone: what is told of it, or the name of a substitution, which says as much."""
        for node in (one for child in cell for one in child.findall()):
            if isinstance(node, nodes.image) and node.get("alt"):
                return _brief(str(node["alt"]))
            if isinstance(node, nodes.substitution_reference):
                name = str(node.get("refname") or node.astext())
                for picture in self.definitions[name].children if name in self.definitions else ():
                    if isinstance(picture, nodes.image) and picture.get("is_picture"):
                        return _brief(str(picture["alt"])) or in_words(name)
        return ""

    def _said(self, node: Any, *, in_cell: bool = False) -> str:
        """Inline text on one line, code in backticks."""
        text = "".join(self._pieces(node)).replace(f" {_NOTE}", "").replace(_NOTE, "")
        text = _without_breaks(text, in_cell=in_cell) if BREAK in text else text
        return _with_stars(render.collapse(text).strip())

    def _pieces(self, node: Any) -> Iterator[str]:
        if isinstance(node, nodes.Text):
            yield node.astext()
        elif isinstance(node, nodes.literal):
            text = node.astext()
            yield f"`{text}`" if text.strip() and "`" not in text else text
        elif isinstance(node, nodes.substitution_reference):
            yield self._replacement(node)
        elif isinstance(node, nodes.footnote_reference):
            note = self.notes.get(id(node))
            if note is None or note in self.told:
                yield _NOTE
            else:
                self.in_place.add(note)
                yield f" ({self._said(note.children[-1]).removesuffix('.')})"
        elif isinstance(node, nodes.citation_reference):
            yield f"[{node.astext()}]"
        elif not isinstance(node, _SILENT) and not (isinstance(node, nodes.target) and not node.children):
            for child in node.children:
                yield from self._pieces(child)

    def _replacement(self, node: Any) -> str:
        """What a substitution stands for. Where that is not said here, its name in braces, as of `|version|`: nobody takes it for
        a word, and bars would begin a table. Nothing, where it is called like a picture."""
        name = str(node.astext())
        key = str(node.get("refname") or name)
        if key not in self.definitions:
            key = next((one for one in self.definitions if one.lower() == key.lower()), key)
        if key not in self.definitions:
            if _PICTURE.search(name) and not _OF_PICTURES.search(name):
                return ""
            return _SIGNS.get(name, f"{{{name}}}")
        if key in self.unfinished:
            return name
        if key not in self.replaced:
            self.unfinished.add(key)
            self.replaced[key] = "".join(
                piece for child in self.definitions[key].children for piece in self._pieces(child)
            )[:_LONGEST_REPLACED]
            self.unfinished.discard(key)
        return self.replaced[key]


def _without_breaks(text: str, *, in_cell: bool) -> str:
    """Lines on one, in a cell parted by signs where all of them are values."""
    lines = [*filter(None, map(str.strip, text.split(BREAK)))]
    values = in_cell and all(len(line) <= _LONGEST_VALUE and line[-1] not in ".:;,!?" for line in lines)
    return ("; " if values else " ").join(lines)


def _brief(alt: str) -> str:
    """A name; a sentence on what a screenshot shows is none."""
    alt = render.collapse(alt).strip()
    return alt if len(alt) <= _LONGEST_ICON else ""


def _rows(rows: Sequence[Sequence[str]], header_rows: int) -> Iterator[str]:
    """A table; where a single column says something, and nothing stands above it, its rows as a list."""
    told = {column for row in rows for column, cell in enumerate(row) if cell}
    if header_rows or len(told) != 1 or len(rows) < 2:
        yield from filter(None, [render_table(rows, header_rows=header_rows)])
        return
    (column,) = told
    yield from (render.item(0, "-", row[column]) for row in rows if row[column:] and row[column])


def _on_one_line(parts: Sequence[str]) -> str:
    """Blocks behind each other, of which some may be items of lists, some of them in others."""
    said, before, deep_before = "", False, 0
    for part in parts:
        deep = len(part) - len(part.lstrip(" "))
        is_item = isinstance(part, render.Item)
        if said and is_item and (said[-1].isalnum() or said[-1] in _ENDS_WORDS):
            said += "; " if before and deep <= deep_before else ": "
        said = f"{said.rstrip()} {part.lstrip(' ').removeprefix('- ') if is_item else part}"
        before, deep_before = is_item or before, deep if is_item else deep_before
    return said


def _with_stars(said: str) -> str:
    """Words with stars that are text as code, `*bob*` or `[* TO 5]`, where two would be taken for the ends of emphasis: as code
    they are no markup to anybody who shows them."""
    opens = _OPENS.search(said) if said.count(STAR) > 1 else None
    return _STARRED.sub(_as_code, said) if opens and _CLOSES.search(said, opens.end()) else said


def _as_code(found: re.Match[str]) -> str:
    word = found[0].rstrip(".:?")
    return found[0] if found[0].startswith("`") else f"`{word}`{found[0][len(word) :]}"


def _is_bold(node: Any) -> bool:
    """Whether a paragraph is bold, up to a colon behind it, and no sentence: a heading over what stands below it."""
    if not isinstance(node, nodes.paragraph) or not node.children or not isinstance(node.children[0], nodes.strong):
        return False
    said = str(node.children[0].astext()).strip()
    behind = "".join(str(one.astext()) for one in node.children[1:]).strip()
    return len(said) <= _LONGEST_TERM and behind in ("", ":") and not said.endswith((".", "!", "\u2026"))


def _is_answered(item: Any) -> bool:
    """Whether an item is a bold question and what is said to it."""
    question, *said = item.children or [None]
    return bool(said) and _is_bold(question) and str(question.astext()).rstrip().endswith(("?", "\uff1f", "\u061f"))


def _drop_navigation(tree: Any) -> None:
    """Without the lists that lead to parts of the page below a few words ("On this page:"), and links back to its top: whoever
    reads a part of it has nothing of them."""
    above = takewhile(lambda one: not isinstance(one, nodes.section), tree.children)
    top = {name for one in above if isinstance(one, nodes.target) for name in one["names"]}
    top.update(next((one["names"] for one in tree.children if isinstance(one, nodes.section)), ()))
    places = {name for one in tree.findall(nodes.section) for name in one["names"]}
    places.update(name for one in tree.findall(nodes.target) if not one.get("refuri") for name in one["names"])
    idle = {
        one for one in tree.findall(nodes.paragraph) if isinstance(one.parent, nodes.section) and _leads_to(one, top)
    }
    for parent in dict.fromkeys(one.parent for one in tree.findall(nodes.bullet_list)):
        for lead, one in pairwise(parent.children):
            if not isinstance(parent, nodes.list_item) and _is_contents(lead, one, places):
                idle |= {lead, one}
    for parent in dict.fromkeys(one.parent for one in idle):
        parent.children = [one for one in parent.children if one not in idle]


def _is_contents(lead: Any, listed: Any, places: Collection[str]) -> bool:
    """Whether it says that a table of contents follows, and a list of links to some places of the document does."""
    return (
        isinstance(lead, nodes.paragraph | nodes.rubric)
        and isinstance(listed, nodes.bullet_list)
        and len(listed.children) > 1
        and fold_line(lead.astext()).strip(" :.*") in _contents()
        and all(
            isinstance(said, nodes.bullet_list) or (isinstance(said, nodes.paragraph) and _leads_to(said, places))
            for item in listed.findall(nodes.list_item)
            for said in item.children
        )
    )


@cache
def _contents() -> frozenset[str]:
    return frozenset(fold_line(phrase) for phrase in every(lambda one: one.documents.contents))


def _leads_to(node: Any, places: Collection[str]) -> bool:
    """Whether it is nothing but a link to one of some places of the document."""
    said = [one for one in node.children if not isinstance(one, nodes.Text) or one.astext().strip(" ()|.")]
    return len(said) == 1 and not isinstance(said[0], nodes.Text) and _referred_to(said[0]) in places


def _referred_to(node: Any) -> str:
    return str(node.get("refers_to") or node.get("refname") or node.get("refuri", "").removeprefix("#"))


def _join_lists(parent: Any) -> None:
    """A list whose numbers go on from the one before is the rest of it, and what stands between them belongs to its last item:
    to whoever writes steps it matters little how far the command below each is set in."""
    kept: list[Any] = []
    steps: Any = None
    began, joined = 0, False
    for child in parent.children:
        if isinstance(child, nodes.enumerated_list):
            between = len(kept) - began
            if steps is not None and _goes_on(steps, child) and between <= _MOST_BETWEEN:
                steps.children[-1].extend(kept[began:])
                steps.extend(child.children)
                del kept[began:]
                joined = True
                continue
            steps, began, joined = child, len(kept) + 1, False
        elif isinstance(child, nodes.section | nodes.transition | nodes.rubric):
            steps = None
        elif isinstance(child, nodes.system_message) and int(child.get("level", 0)) < _WRONG:
            continue  # that a list does not begin with 1
        elif joined and len(kept) == began and isinstance(child, nodes.literal_block) and _announces(steps):
            steps.children[-1].append(child)
            continue
        kept.append(child)
    if len(kept) < len(parent.children):
        parent.children = kept


def _announces(steps: Any) -> bool:
    """Whether the last step leads to what stands below it."""
    return steps is not None and str(steps.children[-1].astext()).rstrip().endswith(":")


def _goes_on(before: Any, behind: Any) -> bool:
    """Whether the numbers of a list follow those of another."""
    kind, start = behind.get("enumtype"), int(behind.get("start", 1))
    return before.get("enumtype") == kind and start == int(before.get("start", 1)) + len(before.children)


def _brief_notes(tree: Any) -> dict[int, Any]:
    """The footnotes of a paragraph that are referred to once, in text, by the identity of the reference."""
    of_names = [note for note in (*tree.footnotes, *tree.autofootnotes) if note["names"]]
    pairs = [
        (references[0], note)
        for note in of_names
        if len(references := tree.footnote_refs.get(note["names"][0], ())) == 1
    ]
    for notes, references in (
        ([note for note in tree.autofootnotes if not note["names"]], tree.autofootnote_refs),
        (tree.symbol_footnotes, tree.symbol_footnote_refs),
    ):
        unnamed = [one for one in references if not one.get("refname")]
        if len(notes) == len(unnamed):
            pairs += zip(unnamed, notes, strict=True)
    return {
        id(reference): note
        for reference, note in pairs
        if [type(one) for one in note.children if not isinstance(one, nodes.label)] == [nodes.paragraph]
        and len(note.children[-1].astext()) <= _LONGEST_NOTE
        and not any(isinstance(one, _NO_ROOM) for one in _around(reference))
    }


def _around(node: Any) -> Iterator[Any]:
    while node := node.parent:
        yield node


_Write = Callable[[DoctreeWriter, Any, int], Iterator[str]]
_BLOCKS: Final[dict[type, _Write]] = {
    nodes.literal_block: DoctreeWriter._literal,
    nodes.doctest_block: DoctreeWriter._literal,
    nodes.math_block: DoctreeWriter._literal,
    nodes.bullet_list: DoctreeWriter._items,
    nodes.enumerated_list: DoctreeWriter._items,
    nodes.definition_list: DoctreeWriter._definitions,
    nodes.field_list: DoctreeWriter._fields,
    nodes.docinfo: DoctreeWriter._fields,
    nodes.option_list: DoctreeWriter._options,
    nodes.rubric: DoctreeWriter._rubric,
    nodes.caption: DoctreeWriter._caption,
    nodes.line_block: DoctreeWriter._lines,
    nodes.footnote: DoctreeWriter._footnote,
    nodes.citation: DoctreeWriter._citation,
    nodes.label: DoctreeWriter._label,
    nodes.table: DoctreeWriter._table,
    Tabulated: DoctreeWriter._tabulated,
}
