"""Manual pages (man(7), in the language of roff) as their reader sees them on a terminal, as Markdown.

Macros are read by what man(7), and the tools that write such pages, mean by them; of those that a page defines itself the lines
stand in their place. Files that a page includes are not read.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from cairn.ingest.loaders import render
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.man_text import (
    BOLD,
    BREAK,
    CODE_FONT,
    ITALIC,
    ROMAN,
    RoffText,
    Run,
    markdown,
    plain,
    term,
)
from cairn.ingest.loaders.text import decode
from cairn.language.tables import render_table

_REQUEST: Final = re.compile(r"\A[.'][ \t]*+(\\[{}\"#]|[^ \t\\]*+)[ \t]*+(.*)")
_ARGUMENT: Final = re.compile(r'"((?:[^"]|"")*+)"?|((?:\\.|[^ \t\\])++)')
_COMMENT: Final = re.compile(r'\A((?:[^\\]|\\[^"#])*+)\\["#].*')
_CONDITION: Final = re.compile(r"\A(!?)[ \t]*+([nteo]|\d{1,9})(?![\w=<>+*/-])[ \t]*+(.*)")
_DEFINES: Final = frozenset(("de", "de1", "dei", "am", "am1", "ami", "ig"))
_HUNG: Final = re.compile(
    r"\A(?:[ \t]|\\h'-[\d.]{1,9}[a-z]?'){1,20}+(\\\(bu|\\\[bu\]|\d{1,4}\.)\\h'\+[\d.]{1,9}[a-z]?'\\c"
)
"""How DocBook and AsciiDoc set the mark of an item to the left of its text."""
_BULLETS: Final = frozenset("•·●○□◦–—*-o+■▪")
_ALWAYS_BULLETS: Final = frozenset("•●○□◦■▪")
_NUMBER: Final = re.compile(r"\(?(\d{1,4})[.):]{1,2}")
_SAID_OF_IT: Final = re.compile(r"[ \t](?:-{1,2}|[–—−])[ \t]")
_ACRONYMS_NAMES: Final = """AES API ASCII BSD CA CLI CPU CSV DKIM DNS EFI FAQ FIPS FTP GID GNU GPG GPU GUI HTML HTTP
    HTTPS ID IDE IMAP IO IP IPC IRC ISO JSON LDAP LUKS LVM MAC MIME MPI NFS NUMA OS PAM PCI
    PDF PEM PGP PID PKI PNG POSIX RAID RAM RFC RPC RPM RSA SCSI SQL SSH SSL SVG TCP TLS TOML
    TPM TTY UDP UEFI UID UNIX URI URL USB UTC UTF UUID VM VT XML YAML"""
_ACRONYMS: Final = frozenset(_ACRONYMS_NAMES.split())
_NAMES: Final = frozenset(("Name", "Bezeichnung", "Nom", "Nombre", "Nome"))
_SYNOPSES: Final = frozenset(("Synopsis", "Syntax", "Usage", "Übersicht", "Synopse", "Syntaxe", "Sinopsis", "Sintassi"))
_HANDED: Final = re.compile(r"\\\$(\d|[*@])")
_MOST_ADDED: Final = 200_000
"""Characters that macros of a page may add to it, besides as many as it has."""
_LONGEST_TERM: Final = 200
_LONGEST_TITLE: Final = 80
_DEEPEST: Final = 20
_PARAGRAPHS: Final = frozenset(("PP", "LP", "P", "HP", "QP"))
_GAPS: Final = frozenset(("sp", "Sp", "SP", "br", "ti", "in", "ce", "bp", "rj", "fi", "Pp"))
"""Between lines of what goes on."""
_FONTS: Final = {"B": BOLD, "SB": BOLD, "I": ITALIC, "SM": ROMAN, "R": ROMAN, "CW": CODE_FONT, "nop": ""}
_TWO_FONTS: Final = {
    "BR": (BOLD, ROMAN), "RB": (ROMAN, BOLD), "BI": (BOLD, ITALIC), "IB": (ITALIC, BOLD), "IR": (ITALIC, ROMAN),
    "RI": (ROMAN, ITALIC),
}  # fmt: skip
_BLANK: Final[Run] = (" ", ROMAN)


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises nothing."""
    text = decode(content).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    lines = _Unfolded(_joined(text.split("\n")))
    page = _Page(len(text))
    for line in lines:
        page.read(line)
    return LoadedText(render.join(page.finished()), title=page.title)


def _joined(lines: Sequence[str]) -> list[str]:
    """A line whose end is taken away by a backslash goes on with the next."""
    made: list[str] = []
    begun: list[str] = []
    for line in lines:
        slashes = len(line) - len(line.rstrip("\\"))
        if slashes % 2 and not line.startswith(('.\\"', "'\\\"")):
            begun.append(line[:-1])
        else:
            made.append("".join([*begun, line]) if begun else line)
            begun = []
    return [*made, "".join(begun)] if begun else made


class _Unfolded:
    """The lines that are read on a terminal: of conditions the part that holds there, and for macros that the page defines what
    they stand for."""

    def __init__(self, lines: Sequence[str], *, is_body: bool = False) -> None:
        self._lines = lines
        self._is_body = is_body  # of a definition, in which none is kept
        self._macros: dict[str, list[str]] = {}
        self._left = sum(map(len, lines)) + _MOST_ADDED
        self._ends = _ends(lines)
        self._answers: list[bool] = []  # of conditions whose other part may come
        self._open = 0  # blocks that are read
        self._is_closed = True  # whether each block that was left out had an end

    def __iter__(self) -> Iterator[str]:
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            at += 1
            if self._open and "\\}" in line:
                self._open = max(self._open - line.count("\\}"), 0)
                line = line.replace("\\}", "")
            said = _REQUEST.fullmatch(line) if line[:1] in (".", "'") else None
            while said and said[1] in ("if", "ie", "el"):
                holds, rest = self._decided(said[1], said[2])
                is_block = "\\{" in rest if not holds else rest.startswith("\\{")
                if not holds:
                    at = self._behind_block(rest, at) if is_block else at
                    line, said = "", None
                    break
                if is_block:
                    self._open += 1
                    rest = rest[2:].lstrip(" \t")
                    if "\\}" in rest:
                        self._open -= 1
                        rest = rest.replace("\\}", "")
                line = rest or "."
                said = _REQUEST.fullmatch(line) if line[:1] in (".", "'") else None
            else:
                if said and said[1] in _DEFINES:
                    at = self._behind_definition(said[1], _comment_off(said[2]).split(), at)
                elif said and said[1] in self._macros:
                    yield from self._expanded(said[1], said[2], 0)
                else:
                    yield line

    def _expanded(self, name: str, rest: str, depth: int) -> Iterator[str]:
        """The lines of a macro with what is handed to it."""
        given = _arguments(_comment_off(rest))
        for line in self._macros[name]:
            made = _HANDED.sub(lambda said: _handed(given, said[1]), line)
            self._left -= len(made) + 1
            if self._left < 0:
                return
            said = _REQUEST.fullmatch(made) if made[:1] in (".", "'") else None
            if said and said[1] in self._macros:
                if depth < _DEEPEST:
                    yield from self._expanded(said[1], said[2], depth + 1)
            else:
                yield made

    def _decided(self, name: str, rest: str) -> tuple[bool, str]:
        """Whether a part is read, and what follows the condition."""
        if name == "el":
            return bool(self._answers) and not self._answers.pop(), rest
        holds = False
        if said := _CONDITION.fullmatch(rest):
            holds = said[2] in ("n", "o") or (said[2].isdecimal() and int(said[2]) > 0)
            holds, rest = holds != bool(said[1]), said[3]
        if name == "ie":
            self._answers.append(holds)
        return holds, rest

    def _behind_block(self, rest: str, at: int) -> int:
        depth = rest.count("\\{") - rest.count("\\}")
        end = at
        while depth > 0 and end < len(self._lines) and self._is_closed:
            depth += self._lines[end].count("\\{") - self._lines[end].count("\\}")
            end += 1
        self._is_closed = self._is_closed and depth <= 0
        return end if depth <= 0 else at

    def _behind_definition(self, kind: str, names: Sequence[str], at: int) -> int:
        """The line after its end; the next one where it has none."""
        own = names[0] if names and kind != "ig" else ""
        ends = self._ends.get(_end_of(kind, names), [])
        place = bisect_left(ends, at)
        if place == len(ends):
            return at
        if own and own not in _KNOWN and not self._is_body:
            body = [line.replace("\\\\", "\\") for line in self._lines[at : ends[place]]]
            self._macros[own] = list(_Unfolded(body, is_body=True))
        return ends[place] + 1


def _end_of(kind: str, names: Sequence[str]) -> str:
    return next(iter(names[0 if kind == "ig" else 1 :]), ".")


def _ends(lines: Sequence[str]) -> dict[str, list[int]]:
    """Where the requests stand that end definitions, by name."""
    requests = [
        (at, said) for at, line in enumerate(lines) if line[:1] in (".", "'") and (said := _REQUEST.match(line))
    ]
    found: dict[str, list[int]] = {".": []}
    for _, said in requests:
        if said[1] in _DEFINES:
            found.setdefault(_end_of(said[1], _comment_off(said[2]).split()), [])
    for at, said in requests:
        if said[1] in found:
            found[said[1]].append(at)
    return found


def _handed(given: Sequence[str], which: str) -> str:
    """What is handed to a macro: the one of a number, or all."""
    if not which.isdecimal():
        return " ".join(given)
    return given[int(which) - 1] if 0 < int(which) <= len(given) else ""


def _comment_off(text: str) -> str:
    said = _COMMENT.fullmatch(text) if '\\"' in text or "\\#" in text else None
    return said[1] if said else text


def _arguments(text: str) -> list[str]:
    """Words, and what stands in quotation marks."""
    return [said[1].replace('""', '"') if said[2] is None else said[2] for said in _ARGUMENT.finditer(text)]


class _Page:
    """Lines on their way to blocks of Markdown. `title`: of the page. `chars`: that it has."""

    def __init__(self, chars: int) -> None:
        self.title: str | None = None
        self.blocks: list[str] = []
        self.roff = RoffText(chars)
        self.runs: list[Run] = []  # of the paragraph under way
        self.is_beside = True  # whether what comes stands beside that, without a blank
        self.terms: list[str] = []  # that wait for what is said of them
        self.marker = ""  # of an item, which waits for its text
        self.waits = 0  # depth of the item that waits
        self.waits_at = 0  # and in how many levels it is
        self.levels: list[int] = [0]  # depth of items, by what is set in
        self.has_item = [False]  # whether an item is open, for each of these
        self.expected = ""  # what the next line is: "tag", "2" or "3" for a heading
        self.tag: list[Run] = []
        self.next_font: tuple[str, ...] = ()
        self.is_hung = False
        self.code: list[str] | None = None  # in parts, each line begun by a break
        self.table: list[str] | None = None
        self.link: tuple[str, int] | None = None
        self.sections = 0
        self.named = ""  # what .TH calls the page

    def finished(self) -> list[str]:
        self._end()
        self._end_terms()
        self.title = self.title or self.named or None
        return [render.heading(1, self.title), *self.blocks] if self.title else self.blocks

    def read(self, line: str) -> None:
        if self.table is not None:
            if line.startswith(".TE"):
                self._end_table()
            else:
                self.table.append(line)
            return
        if line[:1] in (".", "'") and (said := _REQUEST.fullmatch(line)):
            self._request(said[1], _comment_off(said[2]))
        elif not line.strip():
            self._gap()
        elif (text := _comment_off(line)) or text == line:
            self._text(text)

    # --- requests ---------------------------------------------------------------------------------------------------

    def _request(self, name: str, rest: str) -> None:
        if name in _FONTS or name in _TWO_FONTS:
            self._font(name, rest)
        elif name in _PARAGRAPHS:
            self._paragraph(name)
        elif name in _GAPS:
            self._gap(is_break=name in ("br", "ti", "in", "ce"))
            if name == "fi":
                self._end_code()
        elif act := _ACTS.get(name):
            act(self, rest)

    def _font(self, name: str, rest: str) -> None:
        """Its arguments, else the next line, in its font, or in two by turns."""
        fonts = _TWO_FONTS.get(name) or (_FONTS[name] or self.roff.font,)
        given = _arguments(rest)
        if not given:
            self.next_font = fonts
            return
        self._put(self._in_fonts(given, fonts), goes_on=self.roff.goes_on)

    def _in_fonts(self, given: Sequence[str], fonts: Sequence[str]) -> list[Run]:
        made: list[Run] = []
        for at, one in enumerate(given):
            self.roff.set_font(fonts[at % len(fonts)])
            if at and len(fonts) == 1:
                made.append((" ", fonts[0]))
            made += self.roff.runs(one)
        self.roff.set_font(ROMAN)
        return made

    def _paragraph(self, name: str = "") -> None:
        if self.code is not None:
            self.code.append("\n")
            return
        self._end()
        self._end_terms()
        self.has_item[-1] = False
        self.is_hung = name == "HP"
        self.roff.set_font(ROMAN)

    def _gap(self, *, is_break: bool = False) -> None:
        """White space, or a new line, in what goes on."""
        if self.code is not None:
            if not is_break:
                self.code.append("\n")
        elif is_break and self.runs and not (self.terms or self.marker):
            self.runs.append(BREAK)
            self.is_beside = True
        elif not is_break:
            self._end()

    def _title(self, rest: str) -> None:
        given = _arguments(rest)
        self.named = " ".join(plain(self.roff.runs(given[0])).lower().split())[:_LONGEST_TITLE] if given else ""
        self.roff.set_font(ROMAN)

    def _heading(self, level: int, rest: str) -> None:
        self._end_code()
        self._end()
        self._end_terms()
        self.levels, self.has_item, self.is_hung = [0], [False], False
        self.roff.set_font(ROMAN)
        self.expected = str(level)
        if given := _arguments(rest):
            self._put(self.roff.runs(" ".join(given)))

    def _tagged(self, rest: str) -> None:
        """.TP and .TQ: the next line is a term."""
        self._end_code()
        self._end()
        if self.marker:
            self._end_terms()
        self.roff.set_font(ROMAN)
        self.expected, self.tag = "tag", []

    def _item(self, rest: str) -> None:
        """.IP, with a term or a mark; with none it goes on."""
        if self.code is not None and not _arguments(rest)[:1]:
            self.code.append("\n")
            return
        self._end_code()
        tag = self.roff.runs(next(iter(_arguments(rest)), ""))
        self.roff.set_font(ROMAN)
        if plain(tag).strip():
            self._end()
            self._tag(tag)
        elif self.is_hung and plain(self.runs).lstrip().startswith("-"):  # as help2man wrote options
            hung, self.runs, self.is_beside = self.runs, [], True
            self._tag(hung)
        elif not (self.marker and self._names_something()):
            self._end()
        self.is_hung = False

    def _names_something(self) -> bool:
        """Whether an item is a name so far, of which the next paragraph says more, as ronn writes them."""
        text = plain(self.runs).strip()
        return text.endswith(":") and len(text) <= _LONGEST_TERM and "\n" not in text

    def _set_in(self, rest: str, *, has_term: bool = True) -> None:
        """.RS: what comes belongs to what is above it: to an item, or to a line that is a term, as DocBook writes them."""
        if self.code is not None:
            return
        inner = self.levels[-1] + bool(self.has_item[-1] or self.terms or self.marker)
        if has_term and self._is_term():
            term_runs, self.runs, self.is_beside = self.runs, [], True
            is_open = self.has_item[-1]
            self._tag(term_runs)
            self.has_item[-1] = is_open
            inner = self.levels[-1] + 1
        else:
            self._end()
        self.levels.append(min(inner, _DEEPEST))
        self.has_item.append(False)

    def _is_term(self) -> bool:
        """Whether the paragraph under way is a term of what is set in below it."""
        if self.terms or self.marker or not self.runs:
            return False
        text = plain(self.runs).strip()
        return len(text) <= _LONGEST_TERM and "\n" not in text and text[-1:] not in (":", ".", ",", ";")

    def _set_out(self, rest: str) -> None:
        if self.code is not None:
            return
        self._end()
        self._end_terms()
        if len(self.levels) > 1:
            self.levels.pop()
            self.has_item.pop()

    def _begin_code(self, rest: str) -> None:
        if self.code is None:
            self._end()
            self._end_terms()
            self.code = []

    def _end_code(self, rest: str = "") -> None:
        if self.code is not None:
            parts, self.code = self.code, None
            text = "\n".join(line.rstrip() for line in "".join(parts).split("\n")).strip("\n")
            if text:
                self.blocks.append(render.fence(_dedented(text)))
            self.is_beside = True

    def _define(self, rest: str) -> None:
        name, _, value = rest.partition(" ")
        self.roff.define(name, value.lstrip(" \t").removeprefix('"'))

    def _number(self, rest: str) -> None:
        name, value, step = [*rest.split(), "", "", ""][:3]
        if name:
            self.roff.set_number(name, value, step)

    def _change_font(self, rest: str) -> None:
        if self.code is None:
            self.roff.change_font(rest.strip())

    def _open_link(self, rest: str) -> None:
        if self.runs and not self.is_beside:
            self.runs.append(_BLANK)
        self.is_beside = True
        self.link = plain(self.roff.runs(next(iter(_arguments(rest)), ""))), len(self.runs)

    def _close_link(self, rest: str) -> None:
        if self.link is not None:
            (address, start), self.link = self.link, None
            text = plain(self.runs[start:])
            self.runs[start:] = [(_link(text, address), ROMAN)]
            self.is_beside = True
            self._put(self.roff.runs(next(iter(_arguments(rest)), "")))

    def _address(self, rest: str) -> None:
        """A link in one line, as Asciidoctor writes it."""
        address, text, behind = [plain(self.roff.runs(one)) for one in [*_arguments(rest), "", "", ""][:3]]
        self._put([(_link(text, address) + behind, ROMAN)])

    def _synopsis(self, rest: str) -> None:
        self._paragraph()
        self._put(self._in_fonts(_arguments(rest), (BOLD,)))

    def _optional(self, rest: str) -> None:
        inner = self._in_fonts(_arguments(rest), (ROMAN,))
        self._put([("[", ROMAN), *inner, ("]", ROMAN)])

    def _begin_table(self, rest: str) -> None:
        self._end_code()
        self._end()
        self._end_terms()
        self.table = []

    # --- text -------------------------------------------------------------------------------------------------------

    def _text(self, line: str) -> None:
        if self.code is None and (hung := _HUNG.match(line)):
            self._end()
            self._tag([(plain(self.roff.runs(hung[1])), ROMAN)])
            line = line[hung.end() :]
            if not line.strip():
                return
        goes_on = self.roff.goes_on
        if self.next_font:
            fonts, self.next_font = self.next_font, ()
            self._put(self._in_fonts([line.strip()], fonts), goes_on=goes_on)
            return
        if line[0] in " \t" and self.code is None and not self.expected:
            self._gap(is_break=True)
        self._put(self.roff.runs(line), goes_on=goes_on)

    def _put(self, runs: list[Run], *, goes_on: bool = False) -> None:
        """Where a line belongs: it is code, a tag, a heading, or goes on with the paragraph."""
        if self.code is not None:
            self.code += [plain(runs)] if goes_on else ["\n", plain(runs)]
        elif self.expected:
            self.tag += runs
            if not self.roff.goes_on:
                expected, tag = self.expected, self.tag
                self.expected, self.tag = "", []
                self._tag(tag) if expected == "tag" else self._headed(int(expected), tag)
        elif runs:
            if not self.is_beside and not goes_on:
                self.runs.append((" ", self.roff.font))
            self.runs += runs
            self.is_beside = False

    def _headed(self, level: int, runs: Sequence[Run]) -> None:
        name = _tamed(" ".join(plain(runs).split()))
        self.sections += level == 2
        self.roff.set_font(ROMAN)
        opening = {1: _NAMES, 2: _SYNOPSES}.get(self.sections, frozenset[str]()) if level == 2 else ()
        if name and name not in opening:  # what it is and how it is called are one, below the title
            self.blocks.append(render.heading(level, name))

    def _tag(self, runs: Sequence[Run]) -> None:
        """A term, or the mark of an item; what is said of it follows."""
        mark = "".join(plain(runs).split())
        is_bold = any(font in (BOLD, CODE_FONT) for text, font in runs if text.strip())
        number = _NUMBER.fullmatch(mark)
        if mark in _ALWAYS_BULLETS or (not is_bold and (mark in _BULLETS or number)):
            self._end_terms()
            self.marker = f"{number[1]}." if number else "-"
        elif shown := term(runs):
            if self.marker or self.waits_at != len(self.levels):
                self._end_terms()
            self.terms.append(shown)
        self.waits, self.waits_at = self.levels[-1], len(self.levels)
        self.has_item[-1] = True
        self.roff.set_font(ROMAN)

    def _end(self) -> None:
        """Of a paragraph."""
        runs, self.runs, self.is_beside, self.link = self.runs, [], True, None
        if BREAK in runs and self._begins_with_option(runs):
            at = runs.index(BREAK)
            self._tag(runs[:at])
            runs = runs[at + 1 :]
        text = _lines_of(markdown(runs))
        if not text:
            return
        if self.terms or self.marker:
            said = " ".join(text.split("\n"))
            self._write_item(f"{', '.join(self.terms)}: {said}" if self.terms else said)
        elif text[0] in _ALWAYS_BULLETS and len(text) > 1:
            self.blocks.append(render.item(self.levels[-1], "-", text[1:].strip()))
        elif self.sections == 2 and "`" not in (usage := _lines_of(plain(runs))) and self._is_usage(usage):
            self.blocks.append(render.fence(usage) if "\n" in usage else f"`{usage}`")
        elif text.startswith("$ "):
            self.blocks.append(render.fence(_lines_of(plain(runs))))
        elif self._is_label(runs, text):
            self.blocks.append(render.run_in(text))
        else:
            self.blocks.append(render.paragraph(text))
            if self.sections == 1 and self.title is None:
                self.title = _title_of(plain(runs))

    def _begins_with_option(self, runs: Sequence[Run]) -> bool:
        """Whether the first of several lines is an option in bold, as go-md2man writes what is said of one."""
        if self.terms or self.marker or self.sections == 2:
            return False
        lines = plain(runs).strip().split("\n")
        return (
            runs[0][1] == BOLD
            and len(lines) > 1
            and lines[0].startswith("-")
            and not lines[1].lstrip().startswith("-")
            and len(lines[0]) <= _LONGEST_TERM
        )

    def _is_usage(self, text: str) -> bool:
        """Whether a paragraph below the name says how the command is called."""
        first = text.split()[0]
        names = [name.strip() for name in (self.title or self.named).split(",")]
        return text[-1] != "." and any(name == first or name.startswith((f"{first}-", f"{first} ")) for name in names)

    def _is_label(self, runs: Sequence[Run], text: str) -> bool:
        """Whether a paragraph is a heading of what follows: all of it bold, and not set in."""
        return (
            len(self.levels) == 1
            and len(text) <= _LONGEST_TITLE
            and text[0].isalnum()
            and text[-1] not in ".,;"
            and not ("`" in text or "\n" in text)
            and all(font == BOLD for said, font in runs if said.strip())
        )

    def _end_terms(self) -> None:
        """Of which nothing is said in words."""
        if self.terms:
            self._write_item(", ".join(self.terms))
        self.marker = ""

    def _write_item(self, text: str) -> None:
        self.blocks.append(render.item(self.waits, self.marker or "-", text))
        self.terms, self.marker = [], ""

    # --- tables -----------------------------------------------------------------------------------------------------

    def _end_table(self) -> None:
        lines, self.table = self.table or [], None
        mark, formats, rest = _layout(lines)
        rows: list[list[str]] = []
        is_ruled = False  # whether a line is drawn below the first row
        are_bold = False
        for row in _rows(rest, mark):
            if row is None:
                is_ruled = is_ruled or len(rows) == 1
                continue
            runs = [self._cell(cell) for cell in row]
            if not rows:
                are_bold = all(font == BOLD for cell in runs for text, font in cell if text.strip())
            cells = [" ".join(render.collapse(markdown(cell)).split()) for cell in runs]
            above = rows[-1] if rows else []
            rows.append([above[at] if row[at] == ["\\^"] and at < len(above) else one for at, one in enumerate(cells)])
        is_header = len(rows) > 1 and (is_ruled or are_bold or len(formats) > 1)
        if block := render_table(rows, header_rows=1 if is_header else 0):
            self.blocks.append(block)

    def _cell(self, lines: Sequence[str]) -> list[Run]:
        """Its text, which may stand on lines with requests of their own."""
        made: list[Run] = []
        self.roff.set_font(ROMAN)
        for line in lines:
            said = _REQUEST.fullmatch(line) if line[:1] == "." else None
            fonts = (_TWO_FONTS.get(said[1]) or ((_FONTS[said[1]],) if _FONTS.get(said[1]) else ())) if said else ()
            made.append(_BLANK)
            if said and fonts:
                made += self._in_fonts(_arguments(_comment_off(said[2])), fonts)
            elif said is None:
                made += self.roff.runs(_comment_off(line))
        self.roff.set_font(ROMAN)
        return made


_ACTS: Final[Mapping[str, Callable[[_Page, str], None]]] = {
    "TH": _Page._title,
    "SH": lambda page, rest: page._heading(2, rest),
    "SS": lambda page, rest: page._heading(3, rest),
    "Sh": lambda page, rest: page._heading(3, rest),
    "TP": _Page._tagged,
    "TQ": _Page._tagged,
    "IP": _Page._item,
    "RS": _Page._set_in,
    "INDENT": lambda page, rest: page._set_in(rest, has_term=False),
    "RE": _Page._set_out,
    "UNINDENT": _Page._set_out,
    **dict.fromkeys(("nf", "EX", "Vb", "DS"), _Page._begin_code),
    **dict.fromkeys(("EE", "Ve", "DE"), _Page._end_code),
    "ds": _Page._define,
    "nr": _Page._number,
    "ft": _Page._change_font,
    "UR": _Page._open_link,
    "MT": lambda page, rest: page._open_link(f"mailto:{rest.strip()}"),
    "UE": _Page._close_link,
    "ME": _Page._close_link,
    "URL": _Page._address,
    "MTO": lambda page, rest: page._address(f"mailto:{rest.strip()}"),
    "SY": _Page._synopsis,
    "OP": _Page._optional,
    "YS": lambda page, rest: page._paragraph(),
    "TS": _Page._begin_table,
}


_KNOWN: Final = frozenset((*_FONTS, *_TWO_FONTS, *_PARAGRAPHS, *_GAPS, *_ACTS, "IX"))
"""What a page may define anew, and means the same."""


def _link(text: str, address: str) -> str:
    shown, bare = " ".join(text.split()), address.removeprefix("mailto:")
    return f"[{shown}]({address})" if shown and shown not in (address, bare) else bare


def _tamed(name: str) -> str:
    """A heading in capitals as a sentence is written."""
    if not name.isupper():
        return name
    words = [
        word if word.strip("()-/,.:") in _ACRONYMS or not word[:1].isalpha() else word.lower() for word in name.split()
    ]
    return " ".join([words[0] if words[0] in _ACRONYMS else words[0].capitalize(), *words[1:]])


def _title_of(text: str) -> str | None:
    """Of the section NAME, what stands before the dash."""
    said = _SAID_OF_IT.search(" ".join(text.split()))
    name = " ".join(text.split())[: said.start()].strip(" ,;") if said else ""
    if len(name) > _LONGEST_TITLE:
        name = name[:_LONGEST_TITLE].rpartition(",")[0] or name[:_LONGEST_TITLE]
    return name or None


def _lines_of(text: str) -> str:
    """Without white space at both ends of lines, and empty ones."""
    return "\n".join(line for part in text.split("\n") if (line := render.collapse(part).strip()))


def _dedented(text: str) -> str:
    lines = text.split("\n")
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines)


def _layout(lines: Sequence[str]) -> tuple[str, list[str], Sequence[str]]:
    """The sign between cells, the lines of the layout, and the rest."""
    at, mark = 0, "\t"
    if lines and lines[0].rstrip().endswith(";"):
        if said := re.search(r"tab[ \t]{0,9}\(([^\n])\)|tab=(\S)", lines[0], re.IGNORECASE):
            mark = said[1] or said[2]
        at = 1
    formats: list[str] = []
    while at < len(lines):
        formats.append(lines[at])
        at += 1
        if formats[-1].rstrip().endswith("."):
            break
    return mark, formats, lines[at:]


def _rows(lines: Sequence[str], mark: str) -> Iterator[list[list[str]] | None]:
    """The lines of each cell of each row; None for a line that is drawn."""
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.strip() in ("_", "=", "\\_"):
            yield None
            continue
        if line.startswith(".T&"):  # another layout
            while at < len(lines) and not lines[at - 1].rstrip().endswith("."):
                at += 1
            continue
        if not line.strip() or line[:1] == ".":
            continue
        row: list[list[str]] = []
        cells = line.split(mark)[::-1]
        while cells:
            cell = cells.pop()
            if cell.strip() != "T{":
                row.append([cell])
                continue
            inner: list[str] = []
            while at < len(lines) and not lines[at].startswith("T}"):
                inner.append(lines[at])
                at += 1
            row.append(inner)
            cells = lines[at][2:].split(mark)[:0:-1] if at < len(lines) else []
            at += 1
        yield row
