"""HTML that stands in Markdown: what a reader sees of it, as Markdown.

Markdown is read in the server itself, so this is no parser of C, but one pass over the tags. What is no element of HTML is text:
`<file>` stands for a name. Pure, and linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import Final

from cairn.ingest.loaders import render
from cairn.language.stretches import find_all
from cairn.language.tables import COVERED, render_table

TAG: Final = re.compile(
    r"(?P<code>``[^`\n]{0,500}(?:`[^`\n]{1,500}){0,9}``(?!`)|`[^`\n]*`)"
    r"|<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9]{0,30}(?:\.[A-Za-z]{1,30})?)(?P<attributes>\s[^<>]{0,2000})?\s{0,9}/?>"
)
"""A tag, or code, in which none is."""
PREFORMATTED: Final = re.compile(r"<(pre|script|style|svg)(\s[^<>]{0,2000})?>", re.IGNORECASE)
_CLOSED: Final = re.compile(r"</([A-Za-z][A-Za-z0-9]{0,30})\s{0,9}>")
_ATTRIBUTE: Final = re.compile(
    r"""(?<![\w-])(?P<name>[\w-]{1,40})\s{0,9}=\s{0,9}(?:"(?P<a>[^"<>]{0,500})"|'(?P<b>[^'<>]{0,500})'|(?P<c>[\w%#.-]{1,200}))"""
)
_ANY_BLOCK: Final = re.compile(r"</?(?:p|div|br)(?:\s[^<>]{0,2000})?/?>", re.IGNORECASE)
_CAPTION_END: Final = re.compile(r"</figcaption\s{0,9}>", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"\b(?:language|lang|highlight-source)-([\w+#-]{1,30})")
_ANY_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,2000}>")

_INLINE_NAMES: Final = """a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr
    output q rp rt ruby s samp small span strike strong sub sup time tt u var wbr"""
_BLOCK_NAMES: Final = """address article aside blockquote body center dd details dialog dir div dl dt
    fieldset figcaption figure footer form header h1 h2 h3 h4 h5 h6 hgroup html legend li main menu nav ol p
    section summary ul table thead tbody tfoot tr td th caption colgroup noscript template"""
_BOX_NAMES: Final = "button select optgroup option picture video audio iframe object canvas meter progress"
_VOID_NAMES: Final = "br hr img input link meta source track col embed area base param"
_VOID: Final = frozenset(_VOID_NAMES.split())
ELEMENTS: Final = frozenset((*_INLINE_NAMES.split(), *_BLOCK_NAMES.split(), *_BOX_NAMES.split(), *_VOID))
"""Names of elements of HTML, in lower case."""
_BLOCKS: Final = frozenset(_BLOCK_NAMES.split())
_BOXES: Final = frozenset(_BOX_NAMES.split())
"""Elements that stand in a line of text, and are drawn apart from the words beside them."""
_RUNNING: Final = frozenset(("p", "dd", "figcaption"))
"""Elements that hold running text, whose lines a site may set in as it likes."""
_EMPTY_TAB: Final = re.compile(r"\s{0,200}</TabItem\s{0,9}>")
_SET_IN: Final = re.compile(r"\n[ \t]{1,200}(?=\S)")
_LINE_END: Final = re.compile(r"\n")
_BLANK_LINE: Final = re.compile(r"\n[ \t]{0,200}\n")
_RAISED: Final = re.compile(r"\s{0,9}(?P<digits>\d{1,2})\s{0,9}</sup\s{0,9}>", re.IGNORECASE)
_DIGITS: Final = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
_NOTED: Final = re.compile(r"(?:[^\W\d_]{4}|[^\w\s(\[{])\Z")
"""What a note's number stands behind, and no power: a word, or a stop."""
_SHORT_RAISED: Final = re.compile(r"\s{0,9}\w{1,2}\s{0,9}<")
"""A power, an ordinal, a note's number: part of the word before it."""
_BREAK: Final = r"[ \t]{0,9}<[bB][rR]\s{0,9}/?>[ \t]{0,9}"
_CODE_BEHIND: Final = re.compile(
    r"[ \t]{0,9}`(?P<first>[^`\n])"
    rf"(?=(?:[^`\n]{{0,200}}[./_-]`{_BREAK}`){{0,9}}[^`\n]{{0,200}}`(?<![./_-]`)(?!`))"
)
"""Code, which may be broken further on, and ends as no folder and no prefix does."""
_GOES_ON: Final = re.compile(r"[^\s`./_-](?P<mark>[._])`\Z|[>\])}]`\Z")
_WORD_BEHIND: Final = re.compile(r"(?:</?[A-Za-z][^<>]{0,2000}>){0,9}\w")
_PERMALINK: Final = re.compile(
    rf"<a\s[^<>]{{0,500}}>\s{{0,9}}[{''.join(sorted(render.PERMALINKS))}]\s{{0,9}}</a\s{{0,9}}>", re.IGNORECASE
)
_LIST_MARK: Final = re.compile(r"\A[ \t]{0,99}(?:[-*+>]|\d{1,9}[.)])(?=[ \t])")
_CLOSES: Final = re.compile(r"[\w)\]\"'`*][ \t]{1,9}\Z")
_STOPS: Final = frozenset("].,;:")
_BAR: Final = re.compile(r"&(?:#124|#x7c|vert|verbar|vertbar|VerticalLine);", re.IGNORECASE)
_MARKED_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})[ \t]", re.MULTILINE)
_ENDS_PART: Final = re.compile(
    r"</details\s{0,9}>\s{0,99}(?:"
    r"<details[^<>]{0,200}>\s{0,99}<summary[^<>]{0,200}>[^?\uff1f\u061f]{1,500}[?\uff1f\u061f]\s{0,9}</summary"
    r"|<h[1-6]|#{1,6}[ \t]|\Z)",
    re.IGNORECASE,
)
_ASKS: Final = ("?", "\uff1f", "\u061f")
_DEEPEST: Final = 6
_LONGEST_ANSWER: Final = 20_000
_LONGEST_HEADING: Final = 500
_LONGEST_CAPTION: Final = 2000
_LONGEST_INLINE: Final = 500
_WIDEST_SPAN: Final = 50
_WIDEST_ROW: Final = 200


def closed_elements(text: str) -> frozenset[str]:
    """Names of the elements that are closed somewhere in a text: without that, `<time>` is a name that somebody is to replace."""
    return frozenset(name.lower() for name in _names_closed(text))


def _names_closed(text: str) -> Iterator[str]:
    return (found[1] for found in find_all(_CLOSED, text)) if "</" in text else iter(())


@dataclass(slots=True)
class Unfolding:
    """Where in a document a text stands, which is read piece by piece: the level of the heading above it, and of those above
    what unfolds there."""

    document: str
    at: int = 0
    level: int = 1
    above: list[int] = field(default_factory=list)

    def is_last(self, position: int) -> bool:
        """Whether what unfolds goes on to the next such, to a heading or to the end: then its question may be a heading."""
        end = self.document.find("</details", self.at + position, self.at + position + _LONGEST_ANSWER)
        nested = end >= 0 and self.document.find("<details", self.at + position, end) >= 0
        return end >= 0 and not nested and bool(_ENDS_PART.match(self.document, end))


def without_html(text: str, closed: Collection[str] = (), place: Unfolding | None = None) -> str:
    """Text of Markdown outside of fences, its elements of HTML as Markdown: tables, headings, lists, code; of others the text.
    `closed`: elements that are closed in the document."""
    if "<" not in text and (place is None or "#" not in text):
        return text
    return _Walk(text, closed or closed_elements(text), place).read()


def preformatted(name: str, attributes: str, content: str) -> str:
    """An element that `PREFORMATTED` begins, as a fence; what is no text is left out."""
    if name.lower() != "pre":
        return ""
    inner = re.match(r"\s{0,99}<code(\s[^<>]{0,2000})?>", content, re.IGNORECASE)
    found = _LANGUAGE.search(f"{attributes} {inner[1] or '' if inner else ''}")
    code = unescape(_ANY_TAG.sub("", re.sub(r"<br\s{0,9}/?>", "\n", content, flags=re.IGNORECASE)))
    return render.fence(code, found[1] if found else "") if code.strip() else ""


class _Walk:
    """One pass over the tags of a text."""

    def __init__(self, text: str, closed: Collection[str], place: Unfolding | None = None) -> None:
        self.text = text
        self.closed = closed
        self.place = place  # where questions that unfold are headings
        self.parts: list[str] = []
        self.endless = False  # a table that is not closed was met, so that none is from there on
        self.line = ""  # of the output, as far as it is written: its last characters
        self.in_row = False  # whether that line begins as the row of a table
        self.inline_ends: set[int] = set()  # where components end that stand within a line
        self.code_end = 0  # where the last code before the tag ends
        self.running = False  # inside of an element that holds running text, before a blank line
        self.after_tag = False  # which is no anchor of a heading
        self.item_before = False  # of the list within a cell
        self.in_code = False  # where nobody reads entities any more once it stands between backticks

    def read(self) -> str:
        position = 0
        for tag in find_all(TAG, self.text):
            if tag["code"]:
                self.code_end = tag.end()
            if tag.start() < position:
                continue  # inside of what was read as one
            if tag["code"] or not self._is_element(tag):
                continue
            self._write(self._said(position, tag.start()))
            position = self._element(tag)
        self._write(self._said(position, len(self.text)))
        return "".join(self.parts)

    def _said(self, start: int, end: int) -> str:
        """Text between two tags."""
        if self.place:
            for found in _MARKED_HEADING.finditer(self.text, start, end):
                self.place.level = len(found[1])
        if self.after_tag and not self.line.strip():  # "<span># a comment</span>" is no heading
            first = self.text.find("\n", start, end)
            first = end if first < 0 else first
            return render.as_text(self.text[start:first]) + self._runs(first, end)
        return self._runs(start, end)

    def _runs(self, start: int, end: int) -> str:
        """Where text runs, the white space that its lines begin with means nothing; behind a blank line it is Markdown again,
        where it means code."""
        if self.in_code:
            return _unescaped(self.text[start:end], bar="\\|")
        if not self.running:
            return self.text[start:end]
        blank = _BLANK_LINE.search(self.text, start, end)
        runs = blank.start() if blank else end
        self.running = blank is None
        return _SET_IN.sub("\n", self.text[start:runs]) + self.text[runs:end]

    def _is_element(self, tag: re.Match[str]) -> bool:
        name = tag["name"]
        if name.lower() in ELEMENTS and not name[0].isupper():
            return name in _VOID or name in self.closed or "=" in (tag["attributes"] or "")
        if name.isupper() and len(name) > 1 and name.lower() in ELEMENTS:  # <BR>, <TABLE>
            return name.lower() in _VOID or name.lower() in self.closed
        # a component of MDX, which is no `Vec<String>` and no <Name>
        if not name[0].isupper() or (not tag["close"] and self.text[max(tag.start() - 1, 0)].isalnum()):
            return False
        return name.lower() in self.closed or "=" in (tag["attributes"] or "") or tag[0].endswith("/>")

    def _write(self, part: str) -> None:
        if part:
            self.parts.append(part)
            last = part.rfind("\n")
            line = self.line + part if last < 0 else part[last + 1 :]
            if last >= 0 or not self.line.strip():
                self.in_row = line.lstrip().startswith("|")
            self.line = line[-400:]

    def _break(self, mark: str) -> None:
        """Between blocks; in the row of a table, which must stay a line, a blank."""
        if self.in_row:
            self._write(" " if mark else "")
        elif self.line.strip():
            self._write(mark)
        elif self.line and self.parts:  # what a site is indented by means code in Markdown
            self.parts[-1] = self.parts[-1].rstrip(" \t")
            self.line = ""

    def _item_in_row(self) -> None:
        """Items of a cell stand one behind the other: "is; is not"."""
        said = self.line.rstrip(" \t")
        if self.item_before and said and said[-1] not in "|:;,":
            self.parts[-1] = self.parts[-1].rstrip(" \t")
            self.line = said
            self._write("; ")
        else:
            self._break("\n")
        self.item_before = True

    def _element(self, tag: re.Match[str]) -> int:
        """Writes what becomes of a tag; where to read on."""
        name, closes = tag["name"].lower(), bool(tag["close"])
        attributes = dict(_attributes(tag["attributes"] or ""))
        self.after_tag = name not in ("a", "br", "img", "li")
        if name in ("ul", "ol"):
            self.item_before = False
        if name in _BLOCKS:
            self.running = name in _RUNNING and not closes
            self.in_code = False
        if tag["name"][0].isupper() and not tag["name"].isupper():
            named = attributes.get("label") or attributes.get("title") or attributes.get("summary")
            if self._is_inline(tag, is_named=bool(named)):
                if not self.line.strip():
                    self._break("")
                self._write(unescape(attributes.get("text", "")) if tag[0].endswith("/>") else "")
                return tag.end()
            if tag["name"] == "TabItem":  # Docusaurus shows its value where it has no label
                empty = _EMPTY_TAB.match(self.text, tag.end())
                named = None if empty else named or attributes.get("value")
            set_in = self.line if not self.line.strip() and len(self.line) < 4 else ""  # in an item
            self._break("\n\n")
            if named and not closes:
                self._write(f"{set_in}{render.run_in(unescape(named))}\n\n")
        elif name == "table" and not closes:
            return self._table(tag)
        elif name == "details" and self.place:
            if not closes:
                self.place.above.append(self.place.level)
            elif self.place.above:
                self.place.level = self.place.above.pop()
            self._break("\n\n")
        elif name in ("summary", "dt") or (name[0] == "h" and name[1:].isdigit()):
            return self._heading(tag, name, closes=closes)
        elif name == "code":
            self._write("`")
            self.in_code = not closes
        elif name == "sup" and not closes and (raised := _RAISED.match(self.text, tag.end())):
            self._write(_raised(self.line, raised["digits"]))
            return raised.end()
        elif name == "sup" and not closes and self.line[-1:].strip() and not _SHORT_RAISED.match(self.text, tag.end()):
            self._write(" ")  # "`option`<sup>1.52.0</sup>"
        elif name == "img" and self.parts and self.text[tag.end() : tag.end() + 1] in _STOPS:  # "[here <img>](x)."
            if _CLOSES.search(self.line):  # and no mark of an item or heading
                self.parts[-1] = self.parts[-1].rstrip(" \t")
                self.line = self.line.rstrip(" \t")
        elif name == "figcaption" and not closes and not self.in_row and (end := _caption_end(self.text, tag.end())):
            set_in = self.line[:3] if not self.line.strip() else ""  # in an item
            said = render.caption(_flat(_ANY_BLOCK.sub(" ", self.text[tag.end() : end.start()])))
            self._break("\n\n")
            apart = "" if not self.parts or "".join(self.parts[-2:]).endswith("\n\n") else "\n"
            self._write(f"{apart}{set_in}{said}\n\n" if said else "")
            return end.end()
        elif name == "br":
            if behind := self._joined(tag):
                return behind
            self._break("\n")
        elif name == "li" and not closes:
            if self.in_row:
                self._item_in_row()
            else:
                self._break("\n")
                self._write("- ")
        elif name in ("li", "tr", "dd"):
            self._break("" if self.in_row and name == "li" else "\n")
        elif name in _BLOCKS:
            self._break("\n\n")
        elif name in _BOXES:
            self._apart(tag.end())
        return tag.end()

    def _joined(self, tag: re.Match[str]) -> int:
        """Behind the mark of code that goes on behind a break, where the code before it, without the mark of its end, goes on to;
        0 where it does not. A long name of an option is broken so, behind a dot; a list of folders is none."""
        behind = _CODE_BEHIND.match(self.text, tag.end())
        code = self.line.rstrip(" \t")
        if not behind or self.text[self.code_end : tag.start()].strip(" \t") or code.endswith("``"):
            return 0
        goes_on = _GOES_ON.search(code[-3:])
        if not goes_on or (behind["first"] == (goes_on["mark"] or ".")) == bool(goes_on["mark"]):
            return 0
        self.parts[-1] = self.parts[-1].rstrip(" \t")[:-1]
        self.line = code[:-1]
        return behind.start("first")

    def _is_inline(self, tag: re.Match[str], *, is_named: bool) -> bool:
        """Whether a component stands within a line of text: with words before it, or behind it where it begins the line. A name
        is shown over what it has, where that is all of an item."""
        if tag["close"]:
            return tag.start() in self.inline_ends
        before = _LIST_MARK.sub("", self.line).strip()
        ends = _BLANK_LINE if before else _LINE_END
        last = min(tag.end() + _LONGEST_INLINE, len(self.text))
        last = found.start() if (found := ends.search(self.text, tag.end(), last)) else last
        close = end = tag.end()
        if not tag[0].endswith("/>"):
            close = self.text.find(f"</{tag['name']}>", tag.end(), last)
            end = close + len(tag["name"]) + 3
        is_alone = not before and self.text[end:last].lstrip()[:1] in ("", "<")
        if close < 0 or (is_alone and (is_named or not self.line.strip())):
            return False
        if close < end:
            self.inline_ends.add(close)
        return True

    def _apart(self, behind: int) -> None:
        """Between a box and what stands before it in its line: a blank, where two words would become one."""
        if not self.line.strip():
            self._break("")
        elif self.line[-1:].isalnum() and _WORD_BEHIND.match(self.text, behind):
            self._write(" ")

    def _heading(self, tag: re.Match[str], name: str, *, closes: bool) -> int:
        if not closes:
            found = re.compile(rf"</{name}\s{{0,9}}>", re.IGNORECASE).search(
                self.text, tag.end(), tag.end() + _LONGEST_HEADING
            )
            if found:
                said = _flat(self.text[tag.end() : found.start()])
                self._break("\n\n")
                level = int(name[1:]) if name[1:].isdigit() else 0
                if level and self.place:
                    self.place.level = level
                elif name == "summary" and said.endswith(_ASKS) and self.place and self.place.is_last(found.end()):
                    level = min(self.place.level, _DEEPEST - 1) + 1
                if said:
                    self._write((render.heading(level, said) if level else render.run_in(said)) + "\n\n")
                return found.end()
        self._break("\n\n")
        return tag.end()

    def _table(self, tag: re.Match[str]) -> int:
        self._break("\n\n")
        table = _HtmlTable(self.text, tag.end()) if not self.endless else None
        if table is None or table.end is None:  # its cells are paragraphs then
            self.endless = True
            return tag.end()
        block = table.written()
        self._write(f"{block}\n\n" if block else "")
        return table.end


class _HtmlTable:
    """The table that begins before a position: its rows, and where it ends. One inside of it is text of its cell."""

    def __init__(self, text: str, start: int) -> None:
        self.rows: list[list[str]] = []
        self.header_rows = 0
        self.caption = ""
        self.cell: list[str] | None = None
        self.spans = (1, 1)
        self.merged = render.MergedCells()
        self.in_head = self.all_heads = self.in_code = False
        self.end: int | None = None
        depth, position = 1, start
        for tag in TAG.finditer(text, start):
            if tag.start() < position:
                continue
            self._text(text[position : tag.start()])
            position = tag.end()
            if tag["name"] == "sup" and not tag["close"] and (raised := _RAISED.match(text, position)):
                self._text(_raised("".join(self.cell[-1:]) if self.cell else "", raised["digits"]))
                position = raised.end()
                continue
            if tag["code"]:
                self._text(tag[0])
                continue
            name, closes = tag["name"].lower(), bool(tag["close"])
            if name == "table":
                depth += -1 if closes else 1
                if depth == 0:
                    self.end = tag.end()
                    break
                self._text(" ")
            elif depth == 1:
                self._tag(name, tag, closes=closes)
            elif name in _BLOCKS or name in _BOXES or name == "br":
                self._text(" ")
        self._end_row()

    def _text(self, part: str) -> None:
        if self.cell is not None:
            self.cell.append(_unescaped(part) if self.in_code else part)

    def _tag(self, name: str, tag: re.Match[str], *, closes: bool) -> None:
        if name in ("td", "th", "caption"):
            self._end_cell()
            if not closes:
                if not self.rows and name != "caption":
                    self._begin_row()
                attributes = dict(_attributes(tag["attributes"] or ""))
                self.spans = (_span(attributes.get("colspan")), _span(attributes.get("rowspan")))
                self.cell = []
                self.is_caption = name == "caption"
                self.all_heads = self.all_heads and name == "th" if not self.is_caption else self.all_heads
        elif name == "tr":
            self._end_row()
            if not closes:
                self._begin_row()
        elif name == "thead":
            self._end_row()
            self.in_head = not closes
        elif name == "code":
            self._text("`")
            self.in_code = not closes
        elif (
            (name == "sup" and not closes and not _SHORT_RAISED.match(tag.string, tag.end()))
            or name in _BLOCKS
            or name in _BOXES
            or name == "br"
        ):
            self._text(" ")
        elif name not in ELEMENTS:
            self._text(tag[0])

    def _begin_row(self) -> None:
        self.rows.append([])
        self.all_heads = True

    def _end_cell(self) -> None:
        if self.cell is None:
            return
        text = render.collapse("".join(self.cell)).strip()
        text = "" if text == "``" else text
        self.cell, self.in_code = None, False
        if self.is_caption:
            self.caption = text
            return
        row = self.rows[-1]
        across, down = self.spans
        self.merged.fill(row)
        self.merged.add(row, text, across, down - 1 if len(row) < _WIDEST_ROW else 0)

    def _end_row(self) -> None:
        self._end_cell()
        if self.rows and self.rows[-1]:
            self.merged.fill(self.rows[-1])
            first = len(self.rows) - 1
            if first == self.header_rows and (self.in_head or self.all_heads):
                self.header_rows += 1
        elif self.rows:
            self.rows.pop()

    def written(self) -> str:
        """A table; where it has one column, which lays out a page, its cells one below the other."""
        filled = [row for row in self.rows if any(row)]
        above = f"{render.paragraph(self.caption)}\n\n" if self.caption else ""
        if not filled:
            return above.strip()
        if max(map(len, filled)) == 1 or len(filled) == 1:
            return above + "\n\n".join(cell for row in filled for cell in row if cell and cell != COVERED)
        header = self.header_rows if 0 < self.header_rows < len(self.rows) else None
        return above + render_table(self.rows, header_rows=header)


def _raised(before: str, digits: str) -> str:
    """A power, or the number of a note, which must not become a part of the word before it."""
    return (" " if _NOTED.search(before[-4:]) else "") + digits.translate(_DIGITS)


def _unescaped(code: str, bar: str = "|") -> str:
    """Code of HTML as that of Markdown, where no entity is read. `bar`: what one that is written as entity becomes, which would
    end the cell of a table that it stands in."""
    return code if "`" in code or "&" not in code else unescape(_BAR.sub(lambda _: bar, code))


def _attributes(text: str) -> Iterator[tuple[str, str]]:
    for found in _ATTRIBUTE.finditer(text):
        yield found["name"].lower(), found["a"] or found["b"] or found["c"] or ""


def _span(value: str | None) -> int:
    return (
        min(max(int(value), 1), _WIDEST_SPAN) if value and value.isascii() and value.isdigit() and len(value) < 6 else 1
    )


def _caption_end(text: str, start: int) -> re.Match[str] | None:
    return _CAPTION_END.search(text, start, start + _LONGEST_CAPTION)


def _flat(text: str) -> str:
    said = _PERMALINK.sub("", text)
    return render.collapse(
        TAG.sub(lambda tag: tag["code"] or ("`" if tag["name"].lower() == "code" else ""), said)
    ).strip()
