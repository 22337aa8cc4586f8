"""AsciiDoc as its reader sees it, as Markdown: sections, lists, listings, admonitions, tables and links.

The structure is read line by line, as the language is defined. Files that a document includes are not read; of a condition
(`ifdef::`) what stands inside stays, unless it compares values that the document sets (asciidoc_conditions).
"""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from textwrap import indent
from typing import Any, Final

from cairn.ingest.loaders import render
from cairn.ingest.loaders.asciidoc_conditions import without_unmet
from cairn.ingest.loaders.asciidoc_text import MARKUP_OF_A_LINE, Inline
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.text import decode
from cairn.language.lexicon import any_of
from cairn.language.linear import bounded
from cairn.language.tables import render_table

_SECTION: Final = re.compile(r"(={1,6}|#{1,6})[ \t]++(\S.*)")
_ATTRIBUTE: Final = re.compile(r":(!?)([\w-]{1,80})(!?):(?:[ \t]++(.*))?")
_CONDITION: Final = bounded(r"(ifdef|ifndef|ifeval|endif|include)::([^\[\]]*)\[(.*)\][ \t]*+")
_ESCAPED: Final = re.compile(r"\A\\(?=(?:ifn?def|ifeval|endif|include)::)")
_PLACE: Final = re.compile(r"\A(?:[\w.:@-]{0,100}\$|\{[\w-]{1,80}\}/?)")
_STYLE: Final = bounded(r"\[(?!\[)([^\[\]]*)\][ \t]*+")
_ANCHOR: Final = bounded(r"\[\[([^\[\],]+)(?:,([^\[\]]*))?\]\][ \t]*+")
_TITLE: Final = re.compile(r"\.(?![. \t])(\S.*)")
_FENCE: Final = re.compile(r"-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|`{3,}(?=\w*$)|[|,:!]={3,}")
_LISTED: Final = re.compile(r"[ \t]{0,40}+(\*{1,6}|-|\.{1,6}|\d{1,4}\.|<(?:\d{1,3}|\.)>)[ \t]++(\S.*)")
_TERM: Final = re.compile(r"[ \t]{0,40}+(\S.{0,150}?)(:{2,4}|;;)(?:[ \t]++(.*))?")
_ADMONITION: Final = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]++(.*)")
_BACK: Final = re.compile(r"(?:link|xref):(?:\.{1,2}/){0,9}index\.(?:html?|adoc)\[[^\[\]]{0,60}\]\.?")
"""A paragraph that only leads back to the contents of a site, which says nothing to who asks."""
_ADMONITIONS: Final = {
    "NOTE": "Note",
    "TIP": "Tip",
    "IMPORTANT": "Important",
    "WARNING": "Warning",
    "CAUTION": "Caution",
}
_MACRO: Final = bounded(r"(\w+)::(\S*)\[(.*)\][ \t]*+")
_SILENT: Final = {"image", "video", "audio", "toc", "icon", "unfloat"}
_CHECKED: Final = re.compile(r"\[[ xX*]\][ \t]++")
_CELL: Final = re.compile(
    r"(?<!\\)(?:(?P<many>\d{1,3})\*|(?:(?P<across>\d{1,3})?(?:\.(?P<below>\d{1,3}))?\+)?)[<^>]?(?:\.[<^>])?(?P<style>[aehlmsd])?\|"
)
_ENDS: Final = tuple("?!.？！。")
"""Behind a term that ends with one, such as a question, no colon stands."""
_PAGE: Final = re.compile(r"xref:[^\s\[\]]{1,300}\[[^\[\]]{0,200}\]")
_ENTRY: Final = re.compile(r"[\w &'/-]{1,60}|(?:link:|https?://|\{)[^\s\[\]]{1,300}\[[^\[\]]{0,200}\]")
_MOST_ALONE: Final = 2  # bound: tests/unit/test_asciidoc.py
"""Items that lead somewhere, for each short one with nothing below it, are more than these in a list of pages."""
_BROKEN: Final = re.compile(r"(?<=[\w)\]`])[ \t]\+[ \t]{0,9}\n(?!\()")
"""A line of a cell that ends where it is: what stands below is another thing."""
_DEEPEST: Final = 20
"""Blocks in blocks; of deeper ones the lines are read as text."""
_AUTHOR: Final = re.compile(r"(?:[^\W\d_][\w.'’-]{0,40}[ \t]?){1,4}(?:<[^<>\s]{1,200}>)?(?:;.{0,400})?")
_MAILED: Final = re.compile(r"<[^<>\s@]{1,100}@[^<>\s]{1,100}>")
_IN_NAMES: Final = re.compile(any_of(lambda one: one.filters.in_persons))
_FEWEST_NAMES: Final = 2  # bound: tests/unit/test_asciidoc.py
"""Words with a capital in a line that names someone; one alone may be anything."""
_STATED: Final = {
    "author": "author",
    "authors": "author",
    "description": "description",
    "keywords": "keywords",
    "revdate": "date",
}
_HEAD: Final = 20_000
_MOST_LINES_OF_A_HEAD: Final = 200


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises EmptyDocumentError for a list of the pages of a site (`nav.adoc`), which says nothing that those do not."""
    lines = without_unmet(_text(content).split("\n"))
    reader = _Reader(Inline(lines))
    blocks = list(reader.document(lines))
    return LoadedText(render.join(blocks), title=reader.title)


def stated_metadata(content: bytes) -> Mapping[str, Any]:
    """What the head of a document says of it: author, description, keywords, date. Raises nothing."""
    lines = _text(content[: 4 * _HEAD])[:_HEAD].split("\n")[:_MOST_LINES_OF_A_HEAD]
    found: dict[str, Any] = {}
    begun = titled = False
    for line in lines:
        if not line.strip():
            if begun:
                break
        elif said := _ATTRIBUTE.fullmatch(line):
            if said[2] in _STATED and said[4]:
                found[_STATED[said[2]]] = said[4].strip()
        elif titled and "author" not in found and _is_author(line):
            found["author"] = _names(line)
        elif not line.startswith("//"):
            titled = titled or line.startswith("= ")
        begun = begun or bool(line.strip())
    return found


def _text(content: bytes) -> str:
    return decode(content).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").expandtabs(4)


def lists_pages(content: bytes) -> bool:
    """Whether a file has no text of its own, and only lists the pages of a site."""
    text = _text(content)
    return not text.startswith("= ") and "\n= " not in text and _is_navigation(text.split("\n"))


def _is_navigation(lines: Sequence[str]) -> bool:
    """Whether there is nothing but items that lead to other pages, short ones that they stand below, and few other short ones:
    a list of things to buy may hold a link."""
    pages = leading = alone = 0
    above = ""  # the marker of a short one, which the next item may stand below
    for line in lines:
        if not (text := line.strip()) or text.startswith(("//", ":", "[", "include::")) or _TITLE.fullmatch(text):
            continue
        item = _LISTED.fullmatch(text)
        if item is None:
            return False
        is_page = bool(_PAGE.fullmatch(item[2]))
        if not is_page and not _ENTRY.fullmatch(item[2]):
            return False
        pages += is_page
        alone -= bool(above) and len(item[1]) > len(above)
        above = "" if "[" in item[2] else item[1]
        leading, alone = leading + (not above), alone + bool(above)
    return pages > 0 and leading > _MOST_ALONE * alone


def _is_author(line: str) -> bool:
    """Whether a line below the title names people, by an address or by two to four words written as names are; any other is
    what the document says first."""
    if not _AUTHOR.fullmatch(line.strip()):
        return False
    return all(_MAILED.search(part) or _is_name(part.split()) for part in line.split(";") if part.strip())


def _is_name(words: Sequence[str]) -> bool:
    capitals = sum(word[0].isupper() for word in words)
    return capitals >= _FEWEST_NAMES and all(word[0].isupper() or _IN_NAMES.fullmatch(word) for word in words)


def _names(line: str) -> str:
    return ", ".join(" ".join(re.sub(r"<[^<>]{0,200}>", "", part).split()) for part in line.split(";"))


class _Reader:
    """Lines on their way to blocks of Markdown. `title`: of the document."""

    def __init__(self, inline: Inline) -> None:
        self.inline = inline
        self.title: str | None = None

    def document(self, lines: Sequence[str]) -> Iterator[str]:
        """The head, which is up to the first empty line behind the title, and all blocks."""
        at = 0
        while at < len(lines) and (not lines[at].strip() or lines[at].startswith("//") or self._sets(lines[at])):
            at += 1
        if at < len(lines) and lines[at].startswith("= "):
            self.title = self.inline.title(lines[at][2:])
            yield render.heading(1, self.title)
            at += 1
            first = True
            while at < len(lines) and lines[at].strip():
                if not self._sets(lines[at]) and not lines[at].startswith("//") and first:
                    if not _is_author(lines[at]):
                        break
                    first = False  # it is metadata: what someone is called says nothing about the matter
                at += 1
        yield from self.blocks(lines[at:])

    def _sets(self, line: str) -> bool:
        """Whether a line gives an attribute its value, which is done."""
        said = _ATTRIBUTE.fullmatch(line.rstrip())
        if said:
            self.inline.set(said[2], None if said[1] or said[3] else (said[4] or ""))
        return bool(said)

    def blocks(self, lines: Sequence[str], depth: int = 0) -> Iterator[str]:
        """Of the document, of what a block holds, or of an item."""
        at, style, title = 0, "", ""
        while at < len(lines):
            line = lines[at].rstrip()
            if not line or self._is_silent(line):
                at += 1
                style = title = "" if not line else style or ""
                if line:
                    title = title or ""
                continue
            if said := _STYLE.fullmatch(line):
                style, at = said[1], at + 1
                continue
            if said := _TITLE.fullmatch(line):
                title, at = self.inline.text(said[1]), at + 1
                continue
            if heading := _SECTION.fullmatch(line):
                text, at = self.inline.text(heading[2]), at + 1
                if "discrete" in style or depth:
                    yield render.run_in(text)
                elif text:
                    yield render.heading(len(heading[1]), text)
                style = title = ""
                continue
            if title:
                yield render.run_in(title)
            end, made = self._block(lines, at, style, depth)
            yield from made
            at, style, title = max(end, at + 1), "", ""

    def _is_silent(self, line: str) -> bool:
        """Whether a line says nothing to a reader: comments, attributes, conditions, anchors, lines and breaks."""
        if line.startswith("//") and not line.startswith("///"):
            return True
        if line in ("'''", "<<<", "***", "---", "* * *", "- - -", "+"):
            return True
        if said := _CONDITION.fullmatch(line):
            return not said[3] or said[3][0] == ":" or said[1] in ("include", "ifeval", "endif")
        if (said := _MACRO.fullmatch(line)) and said[1] in _SILENT:
            return True
        return self._sets(line) or bool(_ANCHOR.fullmatch(line))

    def _block(self, lines: Sequence[str], at: int, style: str, depth: int) -> tuple[int, list[str]]:
        """Where the block that begins here ends, and what is made of it."""
        line = lines[at].rstrip()
        if _FENCE.fullmatch(line) or (line.startswith("```") and _FENCE.match(line)):
            return self._fenced(lines, at, style, depth)
        if said := _LISTED.fullmatch(line):
            return self._list(lines, at, depth)
        if _is_term(line):
            return self._list(lines, at, depth)
        end = at
        while end < len(lines) and lines[end].strip() and (end == at or not _begins(lines[end].rstrip())):
            if end > at and _parts(lines[end - 1], lines[end]):
                break
            end += 1
        part = [one.rstrip() for one in lines[at:end] if not self._is_silent(one.rstrip())]
        kind = style.split(",")[0].strip().split("%")[0]
        if kind in ("source", "listing", "literal", "stem", "latexmath", "asciimath") or line[0].isspace():
            return end, [self._code(part, style)]
        if kind in ("pass", "comment"):
            return end, []
        if len(part) == 1 and _BACK.fullmatch(part[0]):
            return end, []
        said = _ADMONITION.fullmatch(part[0]) if part else None
        label = _ADMONITIONS.get(said[1] if said else kind, "")
        if said:
            part[0] = said[2]
        text = render.paragraph(self.inline.text("\n".join(part)))
        return end, [*([render.run_in(label)] if label else []), *([text] if text else [])]

    def _fenced(self, lines: Sequence[str], at: int, style: str, depth: int) -> tuple[int, list[str]]:
        mark = lines[at].rstrip()
        close = "```" if mark.startswith("```") else mark
        end = next((n for n in range(at + 1, len(lines)) if lines[n].rstrip() == close), len(lines))
        inner, kind = lines[at + 1 : end], style.split(",")[0].strip().split("%")[0].split("#")[0].split(".")[0]
        if mark[0] == "/" or (mark[0] == "+" and kind not in ("stem", "latexmath", "asciimath")) or kind == "comment":
            return end + 1, []
        if mark[0] in "|,:!":
            return end + 1, [block] if (block := self._table(inner, style, mark[0], depth)) else []
        if (mark[0] in "-.`+" and mark != "--") or kind in ("source", "listing", "literal"):
            return end + 1, [self._code(inner, style or f"source,{mark[3:]}" if mark[0] == "`" else style)]
        label = _ADMONITIONS.get(kind, "")
        made = self.blocks(inner, depth + 1) if depth < _DEEPEST else map(render.paragraph, filter(str.strip, inner))
        return end + 1, [*([render.run_in(label)] if label else []), *made]

    def _code(self, lines: Sequence[str], style: str) -> str:
        parts = [part.strip() for part in style.split(",")]
        language = (
            parts[1] if len(parts) > 1 and "=" not in parts[1] and parts[0].split("%")[0] in ("source", "") else ""
        )
        files = [said[2] for line in lines if (said := _CONDITION.fullmatch(line.rstrip())) and said[1] == "include"]
        kept = [_ESCAPED.sub("", line.rstrip()) for line in lines if not line.startswith("include::")]
        if files and not any(kept):  # all of it stands in other files
            return " ".join(render.left_out(_file(self.inline.attributes(file))) for file in files)
        indent = min((len(line) - len(line.lstrip()) for line in kept if line), default=0)
        code = "\n".join(line[indent:] for line in kept)
        if parts[0] in ("stem", "latexmath", "asciimath"):
            return f"$$ {' '.join(code.split())} $$"
        return render.fence(html.unescape(self.inline.attributes(code) if "attributes" in style else code), language)

    # --- lists ------------------------------------------------------------------------------------------------------

    def _list(self, lines: Sequence[str], at: int, depth: int) -> tuple[int, list[str]]:
        """All items from here on. A marker that is new is a list in the one before; numbers begin anew in each."""
        made: list[str] = []
        markers: list[str] = []
        numbers: list[int] = []
        margins: list[int] = []
        inside = 0  # how far in the words of the last item stand, which is where a list in it begins
        while at < len(lines):
            while at < len(lines) and self._is_gap(lines, at):
                at += 1
            line = lines[at].rstrip() if at < len(lines) else ""
            listed, term = _LISTED.fullmatch(line), _is_term(line)
            if not listed and not term:
                break
            mark = _marker(listed[1] if listed else term[2] if term else "")
            if mark in markers:
                level = markers.index(mark) + 1
                del markers[level:], numbers[level:], margins[level:]
            else:
                markers.append(mark)
                numbers.append(0)
                margins.append(inside)
            numbers[-1] += 1
            text = listed[2] if listed else (term[3] or "") if term else ""
            at, words, more = self._item(lines, at + 1, text, depth)
            if term:
                words = _told_of(self.inline.text(term[1]), words)
            shown = f"{numbers[-1]}." if mark[0] in ".1<" else "-"
            inside = margins[-1] + len(shown) + 1
            made += [render.Item(f"{' ' * margins[-1]}{shown} {words}"), *_set_in(more, inside)]
        return at, made

    def _is_gap(self, lines: Sequence[str], at: int) -> bool:
        """Whether a line between two items is nothing: an empty one, or a comment."""
        line = lines[at].rstrip()
        if line and not (line.startswith("//") and not line.startswith("///")):
            return False
        rest = next((one.rstrip() for one in lines[at + 1 : at + 4] if one.strip()), "")
        return bool(_LISTED.fullmatch(rest) or _is_term(rest))

    def _item(self, lines: Sequence[str], at: int, text: str, depth: int) -> tuple[int, str, list[str]]:
        """The rest of an item: its line goes on up to an empty one; `+` alone attaches the next block, and a block that is set in
        belongs to it by itself."""
        words, more = [text], list[str]()
        if not text and at < len(lines) and not lines[at].strip() and at + 1 < len(lines):  # a term, and its text below
            following = lines[at + 1].rstrip()
            if following and not _begins(following):
                at += 1
        while at < len(lines) and (line := lines[at].rstrip()) and not _begins(line) and line != "+":
            if not self._is_silent(line):
                words.append(line.strip())
            at += 1
        while (attached := _attached(lines, at)) is not None:
            at = attached + (lines[attached].strip() == "+")
            style = ""
            while at < len(lines) and (
                said := _STYLE.fullmatch(lines[at].rstrip()) or _TITLE.fullmatch(lines[at].rstrip())
            ):
                style = said[1] if said.re is not _TITLE else style
                at += 1
            if at < len(lines) and lines[at].strip():
                end, made = self._block(lines, at, style, depth + 1)
                more += made
                at = max(end, at + 1)
        all_words = "\n".join(words)
        checked = _CHECKED.match(all_words)
        return at, self.inline.text(all_words[checked.end() :] if checked else all_words), more

    # --- tables -----------------------------------------------------------------------------------------------------

    def _table(self, lines: Sequence[str], style: str, separator: str, depth: int) -> str:
        kept = [line for line in lines if not self._is_silent(line.rstrip()) or not line.strip()]
        if separator in ",:" or "format=csv" in style or 'format="csv"' in style:
            rows = [
                [self.inline.text(cell) for cell in row] for row in csv.reader([line for line in kept if line.strip()])
            ]
            return render_table(rows, header_rows=1 if "header" in style else None)
        if separator == "!":  # in a cell of another
            kept = [line.replace("|", "\\|").replace("!", "|") for line in kept]
        cells, first = _cells(kept)
        width = _columns(style) or first
        header = 1 if "header" in style or _first_is_header(kept) else None
        grid, rows, row = render.MergedCells(), list[list[str]](), list[str]()
        for text, across, below, kind in cells:
            grid.fill(row)
            if len(row) >= width > 0:
                rows.append(row)
                row = []
                grid.fill(row)
            grid.add(row, self._cell(text, kind, depth), across, below - 1)
        grid.fill(row)
        return render_table([*rows, row] if row else rows, header_rows=header)

    def _cell(self, text: str, kind: str, depth: int) -> str:
        """What a cell shows, on one line. One of blocks (`a|`) is read as a document is, one of code (`l|`) as it stands."""
        if kind == "l":
            return _on_one_line([self._code(text.split("\n"), "")])
        if kind == "a" and depth < _DEEPEST:
            return _on_one_line(self.blocks(text.split("\n"), depth + 1))
        return self.inline.text(_BROKEN.sub(",\n", text.strip()))


def _file(target: str) -> str:
    """The path of a file without where it is taken from, which its reader doesn't see: a family of Antora ("example$a.rb"), or an
    attribute that isn't set."""
    return _PLACE.sub("", target) or target.strip("{}")


def _told_of(term: str, words: str) -> str:
    """A term and what is said of it; they stay apart where the text is shown without marks."""
    name = render.run_in(term.rstrip(":")) if term else ""
    return f"{name}{'' if term[-1:] in _ENDS else ':'} {words}" if name and words else name or words


def _set_in(blocks: Sequence[str], width: int) -> Iterator[str]:
    """Blocks of an item of a list, as far in as its words, or they would end it."""
    for block in blocks:
        inside = indent(block, " " * width)
        yield render.Item(inside) if isinstance(block, render.Item) else inside


def _attached(lines: Sequence[str], at: int) -> int | None:
    """The line from which on a block belongs to the item that ends before `at`: `+`, or one set in behind an empty one."""
    behind = at
    while behind < len(lines) and not lines[behind].strip():
        behind += 1
    line = lines[behind].rstrip() if behind < len(lines) else ""
    is_set_in = behind > at and line[:1].isspace() and not _LISTED.fullmatch(line) and not _is_term(line)
    return behind if line == "+" or is_set_in else None


def _begins(line: str) -> bool:
    """Whether a line begins another block, so that a paragraph ends before it."""
    return bool(
        MARKUP_OF_A_LINE.match(line)
        and (_LISTED.fullmatch(line) or _FENCE.fullmatch(line) or _STYLE.fullmatch(line) or _ANCHOR.fullmatch(line))
    ) or bool(line == "+" or _is_term(line))


def _parts(above: str, line: str) -> bool:
    """Whether a condition parts sentences, of which then each may be true without the other."""
    return line.startswith(("ifdef", "ifndef", "ifeval", "endif")) and above.rstrip().endswith((".", ":", "!", "?"))


def _is_term(line: str) -> re.Match[str] | None:
    """A term of a list of descriptions: "CPU:: the processor"."""
    return _TERM.fullmatch(line) if ("::" in line or ";;" in line) and not _MACRO.fullmatch(line) else None


def _marker(mark: str) -> str:
    """Markers that are one: any number stands for each."""
    return "1." if mark[0].isdigit() else "<1>" if mark[0] == "<" else mark


def _on_one_line(blocks: Iterable[str]) -> str:
    """Blocks of a cell: items of a list and rows of a table one behind the other, code between backticks."""
    said = ""
    for block in blocks:
        text = block
        if block.startswith("```"):
            code = " ".join(" ".join(block.split("\n")[1:-1]).split())
            text = f"`{code}`" if code and "`" not in code else code
        elif block.startswith("| "):
            text = "; ".join(line.strip("| ") for line in block.split("\n") if not line.startswith("| ---"))
            text = text.replace(" | ", ", ")
        is_item = isinstance(block, render.Item)
        text = " ".join(text.strip().removeprefix("- ").split()) if is_item else " ".join(text.split())
        said += f"{'; ' if is_item and said[-1:].isalnum() else ' '}{text}" if said else text
    return said


def _cells(lines: Sequence[str]) -> tuple[list[tuple[str, int, int, str]], int]:
    """Text, columns, rows and kind of each cell, and how many the first line of cells has."""
    text = "\n".join(lines).strip("\n")
    marks = list(_CELL.finditer(text))
    cells: list[tuple[str, int, int, str]] = []
    first, ended = 0, text.find("\n")
    for mark, following in zip_longest(marks, marks[1:]):
        content = text[mark.end() : following.start() if following else len(text)].replace("\\|", "|").strip("\n")
        across, below = (min(int(mark[name] or 1), 50) for name in ("across", "below"))
        copies = min(int(mark["many"] or 1), 50)
        cells += [(content, across, max(below, 1), mark["style"] or "")] * copies
        if ended < 0 or mark.start() < ended:
            first += copies * across
    return cells, first


def _columns(style: str) -> int:
    """By `cols`: "1,2,3", "3*", "2*,1"; 0 where it says nothing."""
    said = re.search(r'cols\s{0,3}=\s{0,3}"?([^"\]]{1,400})', style)
    if said is None:
        return 0
    count = 0
    for part in re.split(r"[,;]", said[1].split('"')[0]):
        times = re.match(r"\s{0,9}(\d{1,2})\*", part)
        if "=" in part:
            break
        count += int(times[1]) if times else 1
    return count


def _first_is_header(lines: Sequence[str]) -> bool:
    """Whether the first line of cells stands alone, an empty one below it."""
    return len(lines) > 2 and bool(lines[0].strip()) and not lines[1].strip()
