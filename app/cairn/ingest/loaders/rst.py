"""reStructuredText as docutils reads it, rendered as Markdown: prose, whatever tool (Sphinx, a forge) shows it.

What a directive or a role means is the affair of that tool, and most are unknown here. So all of them are read by the two
classes below: none includes a file, none fails, and one without a meaning is its text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from docutils import frontend, nodes, utils
from docutils.parsers.rst import Directive, Parser, directives, states
from docutils.statemachine import StringList

from cairn.errors import EmptyDocumentError, ParserLimitError
from cairn.ingest.loaders import render
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.render import STAR
from cairn.ingest.loaders.rst_text import BREAK, DoctreeWriter, caption, tabulated
from cairn.ingest.loaders.sphinx_words import (
    ADMONITIONS,
    ARGUMENT_IS_TEXT,
    CODE_BLOCKS,
    HEADED,
    LABELS,
    LEFT_OUT,
    TABS,
    VERSIONS,
    WRAPPERS,
    is_shown,
    role_text,
)
from cairn.ingest.loaders.text import decode

_DIRECTIVE: Final = re.compile(
    r"^[ \t]*+\.\.[ \t]++(?:\|[^|\n]{1,200}\|[ \t]++)?([\w:+.-]{1,80}?)[ \t]{0,9}::(?!\S)", re.MULTILINE
)
_LABEL: Final = re.compile(r"^\.\. _(?:`([^`\n]++)`|([^:`\n]++(?::[^:`\s]++)*+)):[ \t]*+$", re.MULTILINE)
_ADORNED: Final = re.compile(r"""([!-/:-@\[-`{-~])\1{2,}+""")
_MARKS: Final = re.compile(r"[`*\\]")
_MORE: Final = re.compile(r"[|<]|:`")
_INCLUDES: Final = re.compile(r"^[ \t]*+\.\. (?:include|toctree)::", re.MULTILINE)
_OPTION: Final = re.compile(r":([\w:+. -]{1,60}):(?:[ \t]++|$)")
_CHARACTER: Final = re.compile(r"(?:0x|x|\\x|U\+?|u|\\u|&#x)([0-9a-fA-F]{1,6});?|(\d{1,7})", re.IGNORECASE)
_STAR: Final = re.compile(r"(?<!\\)\\\*")
"""A star that the author says is text: a backslash stands before it, which docutils drops but in code."""
_NO_TEXT: Final = dict.fromkeys(map(ord, (STAR, BREAK)), "\ufffd")
_BREAK: Final = re.compile(r"<br\s{0,9}/?>", re.IGNORECASE)
_UNREAD: Final = "docutils cannot read it as reStructuredText, so it is read as plain text"


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Sections, lists, tables and code as Markdown; the markup of Sphinx goes, its text stays.

    Raises ParserLimitError, or EmptyDocumentError for a file that only includes others.
    """
    text = decode(content).replace("\r\n", "\n").removeprefix("\ufeff").replace("\0", "\ufffd")
    try:
        with _own_directives(text):
            tree = _parse(_STAR.sub(rf"\\{STAR}", text.translate(_NO_TEXT)))
        writer = DoctreeWriter(tree)
        read = LoadedText(writer.text(), title=writer.title)
    except RecursionError:
        raise ParserLimitError("the reStructuredText is nested too deep to be read") from None
    except MemoryError:
        raise
    except Exception:  # docutils has surprises of its own, and the words are there all the same
        return LoadedText(text, notes=(_UNREAD,))
    if not read.text.strip() and _INCLUDES.search(text):
        raise EmptyDocumentError("the file holds no text of its own, it only includes other files; add those")
    return read


def _parse(text: str) -> Any:
    """The tree, without what a writer of docutils would make of it: nothing is numbered, replaced or moved."""
    inliner = states.Inliner()
    inliner.interpreted = _role_reader(
        _labels(text)
    )  # of this one: its class is asked for its own variables, so it can have no heirs
    parser = Parser(inliner=inliner)
    settings = frontend.get_default_settings(Parser)  # reads no configuration, unlike what publishes
    settings.file_insertion_enabled = False
    settings.raw_enabled = False
    settings.halt_level = settings.report_level = 5
    settings.warning_stream = False
    settings.syntax_highlight = "none"
    settings.line_length_limit = len(text) + 1
    tree = utils.new_document("document", settings)
    parser.parse(text, tree)
    return tree


@contextmanager
def _own_directives(text: str) -> Iterator[None]:
    """Every name that may be one of a directive stands for ours, meanwhile."""
    known: dict[str, Any] = directives._directives
    before = dict(known)
    try:
        for name in {*known, *(found[1].lower() for found in _DIRECTIVE.finditer(text))}:
            directives.register_directive(name, _AnyDirective)
        yield
    finally:
        known.clear()
        known.update(before)


# --- roles ----------------------------------------------------------------------------------------------------------


_Role = Callable[[str, str, str, int], tuple[list[Any], list[Any]]]


def _role_reader(labels: Mapping[str, str]) -> _Role:
    """Text in a role is what a reader sees of it: the title of a link, the last part of `~package.name`, of a label the heading
    that it stands above."""

    def read(rawsource: str, text: str, role: str, lineno: int) -> tuple[list[Any], list[Any]]:
        said = utils.unescape(text)
        shown, is_code = role_text(role, said)
        kind = role.lower().rpartition(":")[2]
        if kind in LABELS:
            shown = labels.get(_folded(said), shown)
        make = nodes.literal if is_code else nodes.inline
        refers_to = _folded(said.rpartition("<")[2].rstrip(">")) if kind in LABELS else ""
        return [make(rawsource, shown, refers_to=refers_to)] if shown else [], []

    return read


def _labels(text: str) -> dict[str, str]:
    """Labels of the text, and the headings that they stand above."""
    if not _LABEL.search(text):
        return {}
    found: dict[str, str] = {}
    waiting: list[str] = []
    lines = [line.rstrip() for line in text.split("\n")]
    for at, line in enumerate(lines):
        if label := _LABEL.fullmatch(line):
            waiting.append(_folded(label[1] or label[2]))
        elif waiting and line:
            heading = _heading_at(lines, at)
            found.update(dict.fromkeys(waiting, f'"{heading}"' if heading[-1] in "?!." else heading) if heading else {})
            waiting = []
    return found


def _heading_at(lines: list[str], at: int) -> str:
    """The heading that begins with a line; "" where none does, and where it is more than words."""
    first = at + bool(_ADORNED.fullmatch(lines[at]))
    title, below, *_ = [*lines[first : first + 2], "", ""]
    return _MARKS.sub("", title).strip() if _ADORNED.fullmatch(below) and not _MORE.search(title) else ""


def _folded(label: str) -> str:
    return " ".join(label.lower().split())


# --- directives -----------------------------------------------------------------------------------------------------


class _AnyDirective(Directive):  # type: ignore[misc]
    """Any directive. docutils hands over all of its block as content; argument and options are told apart here, so that an
    unknown option is no error."""

    has_content = True
    content: Any

    def run(self) -> list[Any]:
        name = self.name.lower()
        self.argument, self.options = self._head()
        kind = name.rpartition(":")[2]
        if name == "raw" and _BREAK.fullmatch("".join(self.content).strip()):
            return [nodes.inline("", BREAK)]
        if name in ("image", "raw"):  # a substitution needs something that it stands for
            return [nodes.image("", uri="", alt=self.options.get("alt", ""), is_picture=name == "image")]
        if name == "literalinclude" and self.argument:  # what the text above it leads to
            return [nodes.paragraph("", "", nodes.inline("", render.left_out(self.argument)))]
        if name in LEFT_OUT or kind.startswith(("auto", "current")):
            return []
        if name == "only" and not is_shown(self.argument):
            return []
        if special := _SPECIAL.get(name):
            return special(self)
        if name in CODE_BLOCKS:
            return self._code("" if name == "math" else self.argument, show_argument=name in ("math", "parsed-literal"))
        if name == "code-tab":
            language, _, label = self.argument.partition(" ")
            return [*_heading(label or language), *self._code(language)]
        if called := ADMONITIONS.get(name):
            return self._labelled(called, _inside(self._body(with_argument=True)))
        if said := VERSIONS.get(name):
            version, _, rest = self.argument.partition(" ")
            about = [nodes.paragraph("", "", *self._inline(rest))] if rest.strip() else []
            return self._labelled(said.format(version).strip(), [*about, *_inside(self._body())])
        if name in WRAPPERS:
            if name == "container" and len("".join(self.content).strip()) == 1:
                return []  # it ends what floats beside the text, and has a sign because it may not be empty
            return self._body(with_argument=name in ARGUMENT_IS_TEXT)
        if name in HEADED:
            body = _inside(self._body())
            return [] if name in TABS and not body else [*_heading(self.argument, self._inline(self.argument)), *body]
        # of an unknown one, such as `py:function::` or `option::`, the argument is what its content is about
        return [*_heading(self.argument, self._signature()), *self._facts(), *_inside(self._body())]

    def _facts(self) -> list[Any]:
        """What the options say of a described setting, which its reader sees."""
        said = [(name, value) for name in ("type", "default") if (value := self.options.get(name))]
        items = [
            nodes.list_item("", nodes.paragraph("", f"{name.capitalize()}: ", *self._inline(value)))
            for name, value in said
        ]
        return [nodes.bullet_list("", *items)] if items and self.argument else []

    def _glossary(self) -> list[Any]:
        """A list of definitions, in which several terms may share one."""
        lines: list[str] = []
        terms = False  # whether the line before is one of the terms that share a definition
        for line in self.content:
            is_term = bool(line.strip()) and not line[0].isspace() and not line.startswith("..")
            if is_term and terms:
                lines[-1] += f", {line}"
            else:
                lines.append(line)
            terms = is_term
        self.content = StringList(lines, source="glossary")
        return self._body()

    def _head(self) -> tuple[str, dict[str, str]]:
        """Argument and options, which leave the content."""
        argument: list[str] = []
        options: dict[str, str] = {}
        beside = self.block_text.partition("\n")[0].partition("::")[2].strip()
        at = 0
        if beside:
            while at < len(self.content) and self.content[at].strip() and not _OPTION.match(self.content[at].strip()):
                argument.append(self.content[at].strip())
                at += 1
        last = ""
        while at < len(self.content) and self.content[at].strip():
            line = self.content[at]
            if option := _OPTION.match(line):
                last = option[1].strip().lower()
                options[last] = line[option.end() :].strip()
            elif last and line[:1].isspace():
                options[last] += "\n" + line.strip()
            else:
                break
            at += 1
        self.content.trim_start(at) if at else None
        self.content_offset += at
        while self.content and not self.content[0].strip():
            self.content.trim_start()
            self.content_offset += 1
        self.lines = argument
        return " ".join(argument), options

    def _inline(self, text: str) -> list[Any]:
        found: list[Any] = self.state.inline_text(text, self.lineno)[0] if text else []
        return found

    def _body(self, *, with_argument: bool = False) -> list[Any]:
        holder = nodes.Element()
        if self.content:
            self.state.nested_parse(self.content, self.content_offset, holder)
        said = self._inline(self.argument) if with_argument else []
        return [nodes.paragraph("", "", *said), *holder.children] if said else list(holder.children)

    def _code(self, language: str, *, show_argument: bool = False) -> list[Any]:
        lines = [*self.lines, *self.content] if show_argument else list(self.content)
        text = "\n".join(lines)
        if self.name.lower() in ("prompt", "doctest", "productionlist", "testcode", "testoutput", "math"):
            language = ""
        named = caption(self._inline(self.options.get("caption", "")))
        if self.name.lower() == "parsed-literal":  # its substitutions are replaced
            return [*named, nodes.literal_block(text, "", *self._inline(text))] if text.strip() else []
        return [*named, nodes.literal_block(text, text, language=language.partition(" ")[0])] if text.strip() else []

    def _labelled(self, label: str, body: list[Any]) -> list[Any]:
        """What it is stands before its first words, as a reader sees it above them."""
        if not body:
            return [nodes.paragraph("", label)] if self.name.lower() in VERSIONS else []
        if isinstance(body[0], nodes.paragraph):
            body[0].insert(0, nodes.Text(f"{label}: "))
            return body
        return [nodes.paragraph("", f"{label}:"), *body]

    def _signature(self) -> list[Any]:
        return [
            nodes.literal("", one) if "`" not in one else nodes.inline("", one)
            for one in [", ".join(self.lines)]
            if one
        ]

    def _replace(self) -> list[Any]:
        return self._inline(" ".join([self.argument, *(line.strip() for line in self.content)]).strip())

    def _unicode(self) -> list[Any]:
        words = self.argument.partition(" .. ")[0].split()
        return [nodes.Text("".join(map(_character, words)))] if words else []

    def _list_table(self) -> list[Any]:
        rows = [
            [list(cell.children) for cell in inner.children]
            for outer in self._body()
            if isinstance(outer, nodes.bullet_list)
            for item in outer.children
            for inner in item.children
            if isinstance(inner, nodes.bullet_list)
        ]
        return self._captioned(tabulated(rows, _number(self.options.get("header-rows"))))

    def _csv_table(self) -> list[Any]:
        mark = self.options.get("delim", ",")
        mark = {"tab": "\t", "space": " "}.get(mark.lower(), mark)[:1] or ","
        header = self.options.get("header", "").split("\n") if self.options.get("header") else []
        lines = [*header, *self.content]
        try:
            read = [*csv.reader(lines, delimiter=mark, skipinitialspace=True)]
        except (csv.Error, TypeError):
            return [nodes.literal_block("", "\n".join(lines))]
        rows = [[[nodes.inline("", "", *self._inline(cell.strip()))] for cell in row] for row in read if row]
        return self._captioned(tabulated(rows, _number(self.options.get("header-rows")) + bool(header)))

    def _figure(self) -> list[Any]:
        """Its first paragraph is the caption, what is below it text."""
        body = self._body()
        if body and isinstance(body[0], nodes.paragraph):
            body[0] = nodes.caption("", "", *body[0].children)
        return body

    def _table(self) -> list[Any]:
        return self._captioned(self._body())

    def _captioned(self, body: list[Any]) -> list[Any]:
        return [*caption(self._inline(self.argument)), *body]


_SPECIAL: Final[dict[str, Callable[[_AnyDirective], list[Any]]]] = {
    "glossary": _AnyDirective._glossary,
    "replace": _AnyDirective._replace,
    "unicode": _AnyDirective._unicode,
    "list-table": _AnyDirective._list_table,
    "flat-table": _AnyDirective._list_table,
    "csv-table": _AnyDirective._csv_table,
    "table": _AnyDirective._table,
    "figure": _AnyDirective._figure,
}


def _heading(argument: str, said: list[Any] | None = None) -> list[Any]:
    return [nodes.rubric("", "", *(said or [nodes.Text(argument)]))] if argument.strip() else []


def _inside(body: list[Any]) -> list[Any]:
    """What a directive says of its name: so do the terms that are defined in it."""
    for one in body:
        for terms in one.findall(nodes.definition_list):
            terms["inside"] = True
    return body


def _character(word: str) -> str:
    """A code point in one of the forms of docutils, else the word."""
    found = _CHARACTER.fullmatch(word)
    number = (int(found[1], 16) if found[1] else int(found[2])) if found else 0
    return chr(number) if 0 < number < 0x110000 else word


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 4 else 0
