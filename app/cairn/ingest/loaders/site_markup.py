"""Markdown as makers of sites extend it (MyST, Docusaurus, MkDocs): the text of their blocks, without their marks.

    :::warning Careful            ```{note}                    !!! tip "Faster"
    It melts.                     Of MyST.                         Of MkDocs.
    :::                           ```

What is quoted in fences stays as it is. Pure, and linear in the length of the text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

from cairn.ingest.loaders import render
from cairn.ingest.loaders.attribute_lists import without_attributes
from cairn.ingest.loaders.inline_html import PREFORMATTED, Unfolding, closed_elements, preformatted, without_html
from cairn.ingest.loaders.sphinx_words import (
    ADMONITIONS,
    ARGUMENT_IS_TEXT,
    CODE_BLOCKS,
    HEADED,
    LEFT_OUT,
    TABS,
    VERSIONS,
    WRAPPERS,
    role_text,
)
from cairn.language.stretches import stretches
from cairn.language.tables import render_table

_FENCE: Final = re.compile(r"[ \t]{0,16}(?P<mark>`{3,100}(?=[^`\n]*(?:\n|\Z))|~{3,100})(?P<info>[^\n]*)")
_FENCE_BEHIND: Final = re.compile(rf"(?:[ \t]{{0,99}}\n){{0,9}}{_FENCE.pattern}")
_TAB_LABEL: Final = re.compile(
    r"[ \t]{0,9}(?:(?<![^\s`~])\[(?P<vue>[^\[\]\n]{1,100})\]|(?<!\S)tab=\"(?P<tab>[^\"\n]{1,100})\")"
)
"""What a tab of code is called, of VitePress and of MkDocs."""
_COLONS: Final = re.compile(r"[ \t]{0,16}(?P<mark>:{3,100})(?P<info>[^\n]*)")
_DIRECTIVE: Final = re.compile(r"\{(?P<name>[\w:+.-]{1,60})\}[ \t]{0,9}(?P<title>[^\n]{0,1000})")
_CONTAINER: Final = re.compile(
    r"(?P<name>[A-Za-z][\w-]{0,40})(?:\[(?P<bracket>[^\[\]\n]{0,500})\])?[ \t]{0,9}(?P<title>[^\n]{0,1000})"
)
_OPTION: Final = re.compile(r"[ \t]{0,16}:[\w-]{1,40}:(?:[ \t][^\n]{0,2000})?$")
_IMPORT: Final = re.compile(
    r"import[ \t][^\n]{0,500}(?:from[ \t]{1,9})?[\"'][^\"'\n]{1,300}[\"'][ \t]{0,9};?[ \t]{0,9}$"
)
_EXPORT: Final = re.compile(r"export[ \t]{1,9}(?:const|let|var|default|function|async|class|\{|\*)")
_TARGET: Final = re.compile(r"\([\w:.+ -]{1,200}\)=[ \t]{0,9}$")
_IMPORTED_CODE: Final = re.compile(
    r" {0,3}@\[code(?:[ \t][\w+-]{1,20})?(?:\{[^{}\]\n]{0,60}\})?(?::[\w-]{1,40}){0,3}\]\([^()\n]{1,300}\)[ \t]{0,9}$"
)
"""Of VuePress: code that stands in another file."""
_INCLUDED: Final = re.compile(
    r"(?P<before>[ \t]{0,16}(?P<item>(?:[-*+]|\d{1,9}[.)])[ \t]{1,4})?)(?:"
    r"<<<[ \t]{0,3}(?P<code>(?:@|~?/|\.{1,2}/)[^\s<>{}#\[\]]{1,300})(?:#[\w-]{1,80})?(?:[ \t]?\{[^{}\n]{0,80}\})?"
    r"(?:[ \t]{0,9}\[(?P<label>[^\[\]\n]{1,200})\])?"
    r"|-{1,9}8<-{1,9}[ \t]{1,9}(?:\"(?P<double>[^\"\n]{1,300})\"|'(?P<single>[^'\n]{1,300})'|\[(?:start|end):[^\]\n]{1,80}\])"
    r")[ \t]{0,9}$"
)
"""Of VitePress and of pymdownx: text or code that stands in another file."""
_PART_OF_FILE: Final = re.compile(r"(?::[\w-]{0,80}){1,3}\Z")
_CUT: Final = re.compile(
    r"^[ \t]{0,99}//[ \t]?-{3}cut(?:-(?P<what>before|after|start|end))?-{2,3}[ \t]{0,9}(?:\n|\Z)", re.MULTILINE
)
"""Of twoslash: which lines of code are for the compiler alone."""
_MARKDOWN: Final = ("md", "mdx", "markdown")
_INDENTED: Final = re.compile(
    r"(?P<mark>!!!|\?\?\?\+?)(?P<gap>[ \t]{0,9})(?P<name>[A-Za-z][\w-]{0,40})(?P<words>(?:[ \t]{1,9}[\w-]{1,40}){0,12})"
    r"(?:[ \t]{0,9}\"(?P<title>[^\n]{0,500})\")?[ \t]{0,9}$"
)
_TAB: Final = re.compile(r"===[!+]?[ \t]{1,9}\"(?P<title>[^\n]{1,300})\"[ \t]{0,9}$")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ ]{1,4}(?=\S)|[ \t])")
_NO_PARAGRAPH: Final = re.compile(r"[ \t]{0,16}(?:[-*+][ \t]|[>|#]|\d{1,9}[.)][ \t]|`{3}|~{3}|:{3}|<)")
_PICTURE: Final = re.compile(
    r"[ \t]{0,16}(?:!\[[^\[\]\n]{0,500}\]\([^()\n]{0,500}\)|<(?:img|figure|picture)\b[^\n]{0,2000}>)[ \t]{0,9}$"
)
"""A line that is nothing but one, and leads no text."""
_ROLE: Final = re.compile(
    r"(?P<double>``[^`\n]{0,500}``)|\{(?P<role>[A-Za-z][\w:+.-]{0,60})\}`(?P<text>[^`\n]{1,1000})`|`[^`\n]*`"
)
_ALSO: Final = {
    "info": "Info",
    "success": "Success",
    "example": "Example",
    "question": "Question",
    "bug": "Bug",
    "failure": "Failure",
}
_DOCSTRINGS: Final = re.compile(r"[A-Za-z_]\w{0,60}(?:\.\w{1,60}){1,20}")
"""What mkdocstrings puts the documentation of code in the place of, behind `:::`."""
_ICON: Final = r"(?:material|octicons|fontawesome|simple)-[a-z0-9-]{1,60}|white_check_mark|heavy_check_mark|x"
_COMPONENT: Final = re.compile(
    r"[ ]{0,40}<(?P<name>[A-Z][A-Za-z0-9]{0,40})(?:\s[^<>\n]{0,1000}(?<!/))?(?P<ends>>[ \t]{0,9})?$"
)
"""The tag of one that has lines of its own."""
_HEADED_ITEM: Final = re.compile(
    r"(?P<mark>[ \t]{0,16}(?:[-*+]|\d{1,9}[.)])[ \t]{1,4})#{2,6}[ \t]{1,9}(?P<said>\S[^\n]{0,500})"
)
_DEFINITION: Final = re.compile(r":[ \t]{1,4}(?=\S)")
"""What a term in the line above it means, as Python-Markdown and Pandoc write it."""
_LONGEST_TERM: Final = 200
_EMOJI: Final = {
    "warning": "⚠️", "exclamation": "❗", "heavy_exclamation_mark": "❗", "grey_exclamation": "❕", "bangbang": "‼️",
    "question": "❓", "grey_question": "❔", "information_source": "ℹ️", "bulb": "💡", "construction": "🚧",
    "rotating_light": "🚨", "no_entry": "⛔", "no_entry_sign": "🚫", "stop_sign": "🛑", "octagonal_sign": "🛑",
    "ballot_box_with_check": "✓", "negative_squared_cross_mark": "✗", "heavy_multiplication_x": "✗",
    "thumbsup": "👍", "thumbsdown": "👎", "red_circle": "🔴", "orange_circle": "🟠", "yellow_circle": "🟡",
    "green_circle": "🟢", "large_blue_circle": "🔵", "white_circle": "⚪", "black_circle": "⚫", "speech_balloon": "💬",
    "triangular_flag_on_post": "🚩", "point_right": "👉", "small_red_triangle": "🔺", "hourglass": "⌛",
}  # fmt: skip
"""Signs that documents give a meaning to, by the name that GitHub knows them by."""
_SIGN: Final = re.compile(
    rf"(?P<code>`[^`\n]*`)|:(?P<icon>{_ICON}):(?P<gap>[ \t]?)"
    rf"|:(?<![\w:/]:)(?P<emoji>{'|'.join(_EMOJI)}):(?![\w/])(?P<colon>:(?=[ \t]))?"
    r"|(?<!\w)\+\+(?:\"(?P<key>[^\"\n]{1,60})\"|(?P<keys>[a-z0-9]{1,20}(?:[+-][a-z0-9]{1,20}){0,5}))\+\+"
)
"""A picture that has a name, and keys."""
_YES: Final = re.compile(r"check")
_NO: Final = re.compile(r"-close|-cross|-x(?:-|$)|^x$")
_SHORTCODE: Final = re.compile(
    r"[ \t]{0,16}\{[{%][<%]?-?[ \t]{0,9}(?P<end>/|end)?[ \t]{0,9}(?P<name>[A-Za-z][\w./-]{0,60})"
    r"(?P<rest>(?:[ \t][^{}\n]{0,1000})?)[>%]?[%}]\}[ \t]{0,9}$"
)
"""Of Hugo and Jekyll, `{{< name ... >}}` and `{% name ... %}`, alone on a line."""
_CALLED: Final = re.compile(r"(?:(?P<name>[\w-]{1,40})[ \t]{0,3}[=:][ \t]{0,3})?[\"'](?P<said>[^\"'\n]{1,200})[\"']")
_END: Final = re.compile(
    r"^[ \t]{0,16}\{[{%][<%]?-?[ \t]{0,9}(?:/|end)[ \t]{0,9}(?P<name>[A-Za-z][\w./-]{0,60})", re.MULTILINE
)
_IN_LINE_ONE: Final = r"\{\{[<%][^{}\n`]{1,300}[%>]\}\}"
_IN_LINE: Final = re.compile(
    rf"(?P<code>``[^`\n]{{0,500}}``|`[^`\n]*`|!\[[^\[\]\n]{{0,500}}\]\({_IN_LINE_ONE}[^()\n]{{0,200}}\))"
    rf"|\[(?P<linked>[^\[\]\n]{{1,500}})\]\((?:{_IN_LINE_ONE}|\{{%[ \t]{{1,9}}(?:link|post_url)[ \t][^{{}}\n]{{1,300}}%\}})"
    r"[^()\n]{0,200}\)"
    r"|\{\{[<%][ \t]{0,9}(?P<end>/)?[ \t]{0,9}(?P<name>[A-Za-z][\w./-]{0,60})(?P<rest>(?:[ \t][^{}\n`]{0,300})?)[%>]\}\}"
)
"""Shortcodes of Hugo beside other text, or in the place of an address."""
_CLOSED_HEADING: Final = re.compile(r"(?<=[ \t])#++[ \t]*\Z")
_ONE_SAID: Final = re.compile(r"[ \t]{0,9}(?:(?:text|label)=)?[\"'](?P<said>[^\"'\n]{1,200})[\"'][ \t]{0,9}/?\Z")
_NAMES_ELSEWHERE: Final = frozenset(
    {
        *("ref", "relref", "asset", "siteparam", "param", "figure", "img", "image", "icon", "youtube", "vimeo", "gist"),
        *("video", "include", "readfile", "snippet", "children", "math"),
    }
)
"""Shortcodes whose argument is a name of something that is not in the text."""
_TITLES: Final = ("title", "header", "question", "summary", "name", "label", "text", "")
_NO_TEXT: Final = frozenset(
    {"highlight", "code", "code-block", "codeblock", "figure", "math", "katex", "mermaid", "button", "btn"}
)
"""Shortcodes with an end, between which there is code or a picture."""
_LANGUAGE_NAMES: Final = """r python julia sql bash sh shell js javascript ojs observable ts typescript rust go java scala c cpp
    rcpp ruby perl stan html css yaml json haskell octave matlab powershell sas stata"""
_LANGUAGES: Final = frozenset(_LANGUAGE_NAMES.split())
"""What stands in braces for code that is run (R Markdown, Quarto), and is no directive."""
_LONGEST_LINE: Final = 5000
"""Characters of a line in which blocks are looked for; a longer one is no block, and is looked at once."""
_GAP: Final = re.compile(r"\n(?:[ \t]*+\n){2,}+")
_COMMENT: Final = "<!--"
_REMARK: Final = re.compile(r" {0,3}%(?:[ \t]|$)")
"""A line that MyST shows to nobody."""
_LICENCE: Final = re.compile(r" {0,3}%[ \t]{0,9}SPDX-[\w-]{1,40}:")
_MYST: Final = re.compile(
    r"^ {0,16}(?:`{3,100}|~{3,100}|:{3,100})\{(?P<name>[A-Za-z][\w:+-]{0,60})\}|^\([\w:.+ -]{1,200}\)=[ \t]{0,9}$"
    r"|\{[A-Za-z][\w:+-]{0,60}\}`[^`\n]",
    re.MULTILINE,
)
"""A directive, a target or a role."""
_MARKS: Final = (
    "<", "{", ":::", "\n: ", "\n:\t", "!!!", "???", '=== "', '===! "', '===+ "', "import ", "export ", ")=", "% SPDX-",
    "- ##", "* ##", ". ##",
    *(f":{name}:" for name in _EMOJI),
    "++", "@[code", "---cut", ' tab="', ":material-", ":octicons-", ":fontawesome-", ":simple-", "_check_mark:", ":x:",
)  # fmt: skip
"""One of which is in every text that is not as it is to be."""


def plain_markup(text: str) -> str:
    """The text with blocks, roles and HTML of such tools as plain Markdown."""
    if not any(mark in text for mark in _MARKS):
        return text
    closed = closed_elements(text)
    blocks = _Blocks(_with_colons(_set_out(text, closed))).read()
    parts = [(verbatim, part if verbatim else _without_roles(part)) for verbatim, part in blocks]
    place = Unfolding("".join(part for _, part in parts)) if "<summary" in text else None
    said: list[str] = []
    for verbatim, part in parts:
        said.append(part if verbatim else without_html(part, closed, place))
        if place:
            place.at += len(part)
    if "".join(said) == text:
        return text
    return "".join(one if verbatim else _GAP.sub("\n\n", one) for one, (verbatim, _) in zip(said, parts, strict=True))


def _said(text: str) -> str:
    return without_html(_without_roles(text))


def _without_roles(text: str) -> str:
    plain = "".join(_ROLE.sub(_shown, text[start:end]) for start, end in stretches(text)) if "{" in text else text
    if "{{<" in plain or "{{%" in plain or "]({%" in plain:
        plain = "".join(_IN_LINE.sub(_in_line, plain[start:end]) for start, end in stretches(plain))
    if ":" in plain or "++" in plain:
        plain = "".join(_SIGN.sub(_read_sign, plain[start:end]) for start, end in stretches(plain))
    return plain


def _read_sign(match: re.Match[str]) -> str:
    if icon := match["icon"]:
        return f"✓{match['gap']}" if _YES.search(icon) else f"✗{match['gap']}" if _NO.search(icon) else ""
    if emoji := match["emoji"]:  # behind the colon of a term, which it is no part of
        return f"{': ' if match['colon'] else ''}{_EMOJI[emoji]}"
    return match["code"] or match["key"] or "+".join(key.capitalize() for key in match["keys"].split("+"))


def _in_line(match: re.Match[str]) -> str:
    """One whose only argument is in quotes, or that has a text, shows that, a version its name; of an address that is not known,
    the text that leads to it is left."""
    if not match["name"]:
        return match["code"] or match["linked"]
    name = match["name"].lower()
    if match["end"] or name in _NAMES_ELSEWHERE:
        return ""
    if said := _ONE_SAID.match(match["rest"]):
        return said["said"]
    named = {(one["name"] or "").lower(): one["said"] for one in _CALLED.finditer(match["rest"])}
    bare = not match["rest"].strip() and "version" in name
    return named.get("text") or named.get("label") or (f"{{{match['name']}}}" if bare else "")


def _shown(match: re.Match[str]) -> str:
    if not match["role"]:
        return match[0]
    said, is_code = role_text(match["role"], match["text"])
    return f"`{said}`" if is_code and said else said


def _with_colons(text: str) -> str:
    """Blocks of MkDocs, which are told by their indentation, as those of Docusaurus."""
    if not any(mark in text for mark in ("!!!", "???", '=== "', '===! "', '===+ "')):
        return text
    lines: list[str] = []
    inside: list[
        tuple[int, int, str]
    ] = []  # of open blocks: how far they are set in, how much of that goes, what ends them
    items = _Items()
    fence = ""
    read = text.split("\n")
    for number, line in enumerate(read, 1):
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        while inside and bare and indent < inside[-1][0]:
            lines.append(inside.pop()[2])
            fence = ""
        least, goes, _ = inside[-1] if inside else (0, 0, "")
        line = line[min(goes, indent) :]
        if marked := _FENCE.match(line):
            fence = (
                ""
                if fence and marked["mark"].startswith(fence) and not marked["info"].strip()
                else fence or marked["mark"]
            )
        name = _begun(bare, indent, read[number : number + 2]) if not fence and len(inside) < 20 else ""
        if not fence:
            items.read(bare, indent)
        if name:
            further = 0 if items.hold(indent) else indent - least
            end = f"{' ' * (indent - further - goes)}:::"
            lines.append(f"{end}{name}")
            inside.append((indent + 4, goes + further + 4, end))
        else:
            lines.append(line)
    return "\n".join([*lines, *(end for _, _, end in reversed(inside))])


class _Items:
    """The items of lists that are open, line by line."""

    def __init__(self) -> None:
        self.open: list[tuple[int, int]] = []  # how far their marks are set in, and their text
        self.ends = True  # at the next line that is not set in

    def read(self, bare: str, indent: int) -> None:
        """A line without what it is set in by."""
        if not bare.strip():
            self.ends = True
            return
        mark = _ITEM.match(bare)
        if self.ends or mark or bare[0] == "#":
            while self.open and indent <= self.open[-1][0]:
                self.open.pop()
        if mark:
            self.open.append((indent, indent + mark.end()))
        self.ends = False

    def hold(self, indent: int) -> bool:
        """Whether what is set in so far is a part of one, and no code."""
        return bool(self.open) and self.open[-1][0] < indent < self.open[-1][1] + 4


def _begun(bare: str, indent: int, behind: list[str]) -> str:
    """The name and the title of a block of MkDocs that a line begins, "" where it begins none: a line that only calls out loud
    has nothing set in behind it. Classes of CSS are lower case; other words are meant as a title."""
    if tab := _TAB.match(bare):
        return f"tab {_unquoted(tab['title'])}"
    opened = _INDENTED.match(bare)
    if not opened:
        return ""
    name, words, title = opened["name"], opened["words"].strip(), opened["title"]
    is_known = name.lower() in ADMONITIONS or name.lower() in _ALSO
    is_usual = name.islower() and bool(opened["gap"])
    first = next((line for line in behind if line.strip()), "")
    if not (is_known or is_usual or title is not None or len(first) - len(first.lstrip(" ")) >= indent + 4):
        return ""
    if title is None and not is_known and not name.islower():
        title = f"{name} {words}"
    elif title is None and not words.islower():
        title = words
    return f"{name} {_unquoted(title or '')}".rstrip()


def _unquoted(title: str) -> str:
    return title.replace('\\"', '"')


def _set_out(text: str, closed: Collection[str]) -> str:
    """What stands in a component of MDX, set in as far as its tag: further in it would be code."""
    if "\n " not in text or not any(_COMPONENT.match(f"<{name.capitalize()}>") for name in closed):
        return text
    lines = text.split("\n")
    by = [0] * (len(lines) + 1)  # how much further out lines are from here on, than those before
    open_: list[_Component] = []
    fence, in_tag = "", False
    for number, line in enumerate(lines):
        bare = line.strip()
        if not bare:
            continue
        indent = len(line) - len(line.lstrip(" "))
        if not fence and open_ and bare == f"</{open_[-1].name}>":
            one = open_.pop()
            if one.least > one.indent:
                by[one.at] += one.least - one.indent
                by[number] -= one.least - one.indent
            elif one.least < one.indent:  # as are its tags, which may name it
                for tag in (one.begins, number):
                    by[tag] += one.indent - one.least
                    by[tag + 1] -= one.indent - one.least
            if open_:
                open_[-1].least = min(open_[-1].least, one.least, indent)
            continue
        if open_ and not fence and not in_tag:
            open_[-1].least = min(open_[-1].least, indent)
        if in_tag:
            in_tag = not bare.endswith(">")
            if not in_tag:
                open_[-1].at = number + 1
                if bare.endswith("/>"):
                    open_.pop()
        elif marked := _FENCE.match(line):
            ends = fence and marked["mark"].startswith(fence) and not marked["info"].strip()
            fence = "" if ends else fence or marked["mark"]
        elif not fence and (begun := _COMPONENT.match(line)) and begun["name"].lower() in closed:
            open_.append(_Component(begun["name"], indent, number, number + 1))
            in_tag = not begun["ends"]
    if not any(by):
        return text
    return "\n".join(
        line[min(further, len(line) - len(line.lstrip(" "))) :]
        for line, further in zip(lines, accumulate(by), strict=False)
    )


@dataclass(slots=True)
class _Component:
    """One that is open: how far its tag is set in, the line of that, the first one behind it, how far its lines are set in."""

    name: str
    indent: int
    begins: int
    at: int
    least: int = 1000


class _Blocks:
    """One pass over the lines: what is code and stays, and what is text without the marks of blocks."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[str] = []  # marks of the blocks that are open
        self.prose: list[str] = []
        self.items = _Items()
        self.label = ""  # of the block that begins, for its first words
        self.tabs: list[tuple[int, str]] = []  # how deep they are and what they are called, before they say anything
        self.in_options = False
        self.set_in_items: set[str] = set()  # names of shortcodes
        self.set_in = 0  # how far what is said of a term is indented, at most; 0 outside
        self.at_top = True
        self.is_empty = True  # no piece was read
        self.label_end = -1  # of the last code that has a label
        self.no_comment_ends = False
        self.remark = _REMARK if _is_myst(text) else _LICENCE
        self.unclosed: set[str] = set()  # elements that are looked for in vain from here on
        self.endless: dict[str, int] = {}  # so are marks, of this length and longer

    def read(self) -> Iterator[tuple[bool, str]]:
        """Pieces of the text, and whether they stay as they are."""
        while self.at < len(self.text):
            line = self._line()
            if len(line) > _LONGEST_LINE:
                self.at += len(line)
                self._labelled(line)
                continue
            self.items.read(line.lstrip(" "), len(_indent(line)))
            blocks = (read(line) for read in (self._fenced, self._colons, self._preformatted))
            block = next((one for one in blocks if one is not None), None)
            if block is None:
                self._prose_line(line)
            elif block:
                yield False, self._taken()
                yield True, block
        self._begin_block()
        yield False, self._taken()

    def _taken(self) -> str:
        self.is_empty = False
        taken, self.prose = "".join(self.prose), []
        return taken

    @cached_property
    def closed(self) -> frozenset[str]:
        """Names of shortcodes that have an end."""
        return frozenset(found["name"].lower() for found in _END.finditer(self.text))

    def _line(self) -> str:
        end = self.text.find("\n", self.at)
        return self.text[self.at :] if end < 0 else self.text[self.at : end + 1]

    def _until(self, mark: str) -> str | None:
        """The lines up to one that is such a mark or a longer one, behind which reading goes on; None where there is none."""
        start = at = self.at
        if len(mark) >= self.endless.get(mark[0], len(mark) + 1):
            return None
        while at < len(self.text):
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end + 1
            line = self.text[at:end].strip()
            if line.startswith(mark) and not line.strip(mark[0]):
                self.at = end
                return self.text[start:at]
            at = end
        self.endless[mark[0]] = len(mark)
        return None

    # --- blocks --- each gives what stays as it is, "" where it is dealt with, None where it is no such block

    def _fenced(self, line: str) -> str | None:
        found = _FENCE.match(line)
        if not found:
            return None
        mark, info = found["mark"], found["info"].strip()
        if not info and self.open and self.open[-1][0] == mark[0] and len(mark) >= len(self.open[-1]):
            self._close()
            return self._passed(line)
        directive = _DIRECTIVE.fullmatch(info)
        if directive and directive["name"].lower() not in _LANGUAGES and directive["name"][0] != ".":
            return self._directive(line, mark, directive["name"], directive["title"])
        self._name_tabs()
        self._begin_block()
        start = self.at
        self.at += len(line)
        if self._until(mark) is None:
            self.at = len(self.text)
        block = self.text[start : self.at]
        if info.partition(" ")[0].lower() in _MARKDOWN:  # in which such marks are quoted
            return block
        block = self._with_label(block, start)
        return self._without_included(_without_cut(block) if "---cut" in block else block)

    def _with_label(self, block: str, start: int) -> str:
        """Code that has a label beside other such code: the label is said before it."""
        line, end, code = block.partition("\n")
        label = _TAB_LABEL.search(line)
        if label is None:
            return block
        is_beside = self.label_end >= 0 and not self.text[self.label_end : start].strip()
        self.label_end = self.at
        behind = _FENCE_BEHIND.match(self.text, self.at)
        if not is_beside and not (behind and _TAB_LABEL.search(behind["info"])):
            return block
        indent = line[: len(line) - len(line.lstrip())]
        gap = "" if self.prose and not self.prose[-1].strip() else "\n"
        self.prose.append(f"{gap}{indent}{render.run_in(label['vue'] or label['tab'])}\n\n")
        return f"{line[: label.start()]}{line[label.end() :]}{end}{code}"

    def _without_included(self, block: str) -> str:
        """Code without the lines that stand for another file; in the place of one that has no others, its name, unless it is of
        no language: then it shows how they are written."""
        if "8<-" not in block:
            return block
        first, *lines = block.splitlines(keepends=True)
        found = [_INCLUDED.match(line.rstrip("\n")) for line in lines]
        kept = [line for line, included in zip(lines, found, strict=True) if not included]
        if any(line.strip(" \t\n`~") for line in kept):
            return "".join((first, *kept))
        if not first.strip(" \t\n`~"):
            return block
        named = [f"{one['before']}(see {name})\n\n" for one in found if one and (name := _file_of(one))]
        self.prose += named
        return "" if named else block

    def _included(self, found: re.Match[str]) -> str:
        """What is left of a line that stands for another file: nothing, or its name, where something else would be empty."""
        name = _file_of(found)
        above = next((one.strip() for one in reversed(self.prose[-3:]) if one.strip()), "" if self.is_empty else "-")
        is_needed = found["item"] or self.label or self.tabs or not above or above[0] == "#" or above[-1] == ":"
        return f"{found['before']}(see {name})\n" if name and is_needed else ""

    def _colons(self, line: str) -> str | None:
        found = _COLONS.match(line)
        if not found:
            return None
        mark, info = found["mark"], found["info"].strip()
        if not info:
            while self.open and self.open[-1][0] != ":":
                self._close()
            if self.open:
                self._close()
            return self._passed(line)
        if directive := _DIRECTIVE.fullmatch(info):
            return self._directive(line, mark, directive["name"], directive["title"])
        if _DOCSTRINGS.fullmatch(info):
            return self._docstrings(line)
        if named := _CONTAINER.fullmatch(info):
            title = named["bracket"] or named["title"]
            return self._directive(line, mark, named["name"], "" if title.startswith("{") else title, is_container=True)
        if info.startswith("{"):  # of Pandoc: only classes
            return self._directive(line, mark, "container", "")
        return None

    def _close(self) -> None:
        self.open.pop()
        self.tabs = [(depth, name) for depth, name in self.tabs if depth <= len(self.open)]

    def _name_tabs(self) -> None:
        """A tab is named where it says something."""
        self.prose += (f"\n{name}\n\n" for _, name in self.tabs)
        self.tabs = []

    def _docstrings(self, line: str) -> str:
        """Left out with its options, which are set in."""
        self._begin_block()
        self.at += len(line)
        while self.at < len(self.text) and (not (line := self._line()).strip() or line.startswith(("    ", "\t"))):
            self.at += len(line)
        self.prose.append("\n")
        return ""

    def _shortcode(self, line: str) -> bool:
        """Whether a line is a shortcode alone. A tab is named by it, and so is what stands between one with a title and its end,
        such as a question and its answer; a note is labelled. What others stand for is not known here."""
        found = _SHORTCODE.match(line.rstrip("\n"))
        if found is None:
            return False
        name = found["name"].lower()
        said = {(one["name"] or "").lower(): one["said"] for one in _CALLED.finditer(found["rest"])}
        kinds = (*said.values(), *_CALLED.sub("", found["rest"]).split(), name)  # "hint" says less than its style
        label = next((label for kind in kinds if (label := _label_of(kind.lower()))), "")
        if len(_indent(line)) > 3:  # which may be code
            if not (name in self.set_in_items if found["end"] else label and name in self.closed):
                return False
            self.set_in_items.add(name)
        if found["end"]:
            self.label = ""  # nothing is said in it
        self._begin_block()
        self.at += len(line)
        self.prose.append("\n")
        if found["end"]:
            if self.open and self.open[-1] == f"%{name}":
                self._close()
            return True
        title = next((said[key] for key in _TITLES if key in said), "")
        self.label = f"{_indent(line)}{label}" if label else ""
        is_tab = name in TABS or name == "tabitem"
        if is_tab or (title and not self.label and name in self.closed and name not in _NO_TEXT):
            self.label = ""
            self.open.append(f"%{name}")
            if title:
                self.tabs.append((len(self.open), render.run_in(title)))
        return True

    def _passed(self, line: str) -> str:
        self.at += len(line)
        self.prose.append("\n")
        self.in_options = False
        return ""

    def _directive(self, line: str, mark: str, name: str, title: str, *, is_container: bool = False) -> str:
        self._begin_block()
        self.at += len(line)
        name, title = name.lower(), title.strip()
        kind = name.rpartition(":")[2]
        if not is_container and (name in CODE_BLOCKS or kind == "code-cell"):
            body = _without_options(self._until(mark) or "")
            language = "" if name == "math" or not title.replace("-", "").replace("+", "").isalnum() else title
            if not body.strip():
                return ""
            self._name_tabs()
            code, _, end = render.fence(body, language).rpartition("\n")
            by = self._set_in_by(line)
            return f"{by}{code}\n{by}{end}\n"
        if not is_container and (name in LEFT_OUT or name in ("image", "raw") or kind.startswith("auto")):
            self._until(mark)
            return ""
        if not is_container and name in ("list-table", "csv-table"):
            header = _header_rows(body := self._until(mark) or "")
            rows = _listed_rows(body) if name == "list-table" else _csv_rows(body)
            block = render_table(rows, header_rows=header) if rows else ""
            self._name_tabs()
            self.prose.append(f"\n{title}\n\n{block}\n\n" if title else f"\n{block}\n\n")
            return ""
        self.open.append(mark)
        self.in_options = not is_container
        self._begin(name, title, self._set_in_by(line), is_container=is_container)
        return ""

    def _set_in_by(self, line: str) -> str:
        """What is said of a block is set in as its mark is, where that makes it a part of an item, and not code."""
        indent = _indent(line)
        return indent if self.items.hold(len(indent)) else indent[:3]

    def _begin(self, name: str, title: str, indent: str, *, is_container: bool) -> None:
        """What a reader sees of the beginning of a block."""
        label = f"{indent}{named}" if (named := _label_of(name)) else ""
        if said := VERSIONS.get(name):
            version, _, title = title.partition(" ")
            self.label = f"{indent}{said.format(version).strip()}"
            self.prose.append("\n")
            if title:
                self._labelled(f"{title}\n")
        elif label and title and not is_container:  # of MyST: the first words
            self.label = label
            self.prose.append("\n")
            self._labelled(f"{title}\n")
        elif title and name in ARGUMENT_IS_TEXT:
            self.prose.append(f"\n{indent}{title}\n\n")
        elif title and name in TABS:
            self.tabs.append((len(self.open), f"{indent}{render.run_in(title)}"))
        elif title and (is_container or name in HEADED):
            self.prose.append(f"\n{indent}{render.run_in(title)}\n\n")
        elif title and name not in WRAPPERS:
            self.prose.append(f"\n{indent}" + render.run_in(f"`{title}`" if "`" not in title else title) + "\n\n")
        else:
            self.label = label
            self.prose.append("\n")

    def _begin_block(self) -> None:
        if self.label:
            self._name_tabs()
            self.prose.append(f"{self.label}:\n\n")
            self.label = ""
        self.at_top = self.in_options = False

    def _labelled(self, line: str) -> None:
        if line.strip():
            self._name_tabs()
        if self.label and line.strip():
            if _PICTURE.match(line.rstrip("\n")):
                self.prose.append(line)
                return
            if _NO_PARAGRAPH.match(line):
                self.prose.append(f"{self.label}:\n\n")
            else:
                line = f"{self.label}: {line.lstrip()}"
            self.label = ""
        self.prose.append(line)

    # --- lines ---

    def _preformatted(self, line: str) -> str | None:
        """<pre> and the like, wherever it begins in a line; it may hold lines that look like anything."""
        if "<" not in line:
            return None
        for found in PREFORMATTED.finditer(line):
            start = self.at + found.start()
            if line.count("`", 0, found.start()) % 2 or _COMMENT in line[: found.start()]:
                continue
            close = re.compile(rf"</{found[1]}\s{{0,9}}>", re.IGNORECASE)
            if found[1].lower() in self.unclosed:
                continue
            end = close.search(self.text, self.at + found.end())
            if end is None:
                self.unclosed.add(found[1].lower())
                continue
            block = preformatted(found[1], found[2] or "", self.text[self.at + found.end() : end.start()])
            before = self.text[self.at : start]
            if before.strip():
                self._labelled(before + ("\n\n" if block else ""))
            elif self.label:
                self._begin_block()
            self.at = end.end()
            if block:
                self._name_tabs()
            return f"{block}\n\n" if block else ""
        return None

    def _prose_line(self, line: str) -> None:
        if self.prose and self.prose[-1][-1:] not in ("\n", ""):  # behind what is left out of a line
            self.prose.append(self._uncommented(line))
            return
        bare = line.strip()
        if self.in_options and _OPTION.match(line.rstrip("\n")):
            self.at += len(line)
            return
        self.in_options = self.in_options and not bare
        marks = (_IMPORT, _TARGET, _IMPORTED_CODE, self.remark)
        if any(mark.match(line.rstrip("\n")) for mark in marks):
            self.at += len(line)
            return
        if "<" in bare and (found := _INCLUDED.match(line.rstrip("\n"))):
            self.at += len(line)
            if said := self._included(found):
                self._labelled(said)
            return
        if bare.startswith(("{{<", "{{%", "{%")) and self._shortcode(line):
            return
        if self.at_top and _EXPORT.match(line):
            self._skip_statement()
            return
        self.at_top = self.at_top and not bare
        if "##" in bare and (headed := _HEADED_ITEM.match(line)):  # a part of the item, not of the document
            self.at += len(line)
            said = _CLOSED_HEADING.sub("", without_attributes(f"## {headed['said']}").removeprefix("## ")).strip()
            self._labelled(f"{headed['mark']}{render.run_in(said)}\n")
            return
        self._labelled(self._defined(without_attributes(self._uncommented(line), self.text, self.at)))

    def _defined(self, line: str) -> str:
        """The line without the mark and the indentation of what is said of a term; the term is made one that stands out."""
        if found := _DEFINITION.match(line):
            if self._name_term():
                self.set_in = 4
                return line[found.end() :]
        elif self.set_in and line.strip():
            indent = len(line) - len(line.lstrip(" "))
            if indent:  # all of it as far as its first such line
                self.set_in = min(self.set_in, indent)
                return line[self.set_in :]
            if self.prose and not self.prose[-1].strip():
                self.set_in = 0
        return line

    def _name_term(self) -> bool:
        """Whether the last line, over an empty one at most, is a term or a heading, or something is said of one already."""
        at = len(self.prose) - 1
        if at > 0 and not self.prose[at].strip():
            at -= 1
        term = self.prose[at].strip() if at >= 0 else ""
        if not term or len(term) > _LONGEST_TERM:
            return False
        alone = at == 0 or not self.prose[at - 1].strip()
        if not self.set_in and not term.startswith("#") and alone and not _NO_PARAGRAPH.match(term):
            self.prose[at] = f"{render.run_in(term)}\n\n"
        elif not self.set_in and not term.startswith("#"):
            return False
        elif self.prose[-1].strip():
            self.prose.append("\n")
        return True

    def _uncommented(self, line: str) -> str:
        """The line without comments; reading goes on behind it, or behind the comment that begins in it."""
        shown: list[str] = []
        at, quotes = 0, 0
        while not self.no_comment_ends and (start := line.find(_COMMENT, at)) >= 0:
            quotes += line.count("`", at, start)
            end = self.text.find("-->", self.at + start + len(_COMMENT)) if quotes % 2 == 0 else self.at + start + 1
            if end < 0:
                self.no_comment_ends = True
                break
            if quotes % 2:  # it is quoted
                shown.append(line[at : start + 1])
                at = start + 1
                continue
            shown.append(line[at:start])
            at = end + 3 - self.at
            if at >= len(line):
                self.at += at
                said = "".join(shown)
                return said if said.strip() else ""
        self.at += len(line)
        return "".join((*shown, line[at:]))

    def _skip_statement(self) -> None:
        """Up to the next empty line."""
        end = self.text.find("\n\n", self.at)
        self.at = len(self.text) if end < 0 else end + 1


def _label_of(kind: str) -> str:
    return ADMONITIONS.get(kind) or _ALSO.get(kind, "")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _is_myst(text: str) -> bool:
    """Whether a text has what only MyST has: elsewhere a line that begins with "% " is text, or a title of Pandoc."""
    return "%" in text and any((found["name"] or "").lower() not in _LANGUAGES for found in _MYST.finditer(text))


def _file_of(found: re.Match[str]) -> str:
    if name := found["label"] or found["code"]:
        return name
    return _PART_OF_FILE.sub("", found["double"] or found["single"] or "")


def _without_cut(block: str) -> str:
    """A fenced block with the lines that its reader sees: those behind the last `cut`, before `cut-after`, and not between
    `cut-start` and `cut-end`."""
    start = block.find("\n") + 1
    end = block.rstrip("\n").rfind("\n") + 1
    end = end if not block[end:].strip(" \t\n`~") else len(block)
    shown: list[str] = []
    at, hides = start, False
    for found in _CUT.finditer(block, start, end):
        if not hides:
            shown.append(block[at : found.start()])
        at, what = found.end(), found["what"] or "before"
        if what == "before":
            shown.clear()
        hides = what in ("after", "start")
        if what == "after":
            break
    return "".join((block[:start], *shown, "" if hides else block[at:end], block[end:]))


def _without_options(body: str) -> str:
    lines = body.split("\n")
    first = next((number for number, line in enumerate(lines) if not _OPTION.match(line)), len(lines))
    return "\n".join(lines[first:])


def _header_rows(body: str) -> int:
    found = re.search(r"^[ \t]{0,16}:header-rows:[ \t]{1,9}(\d{1,2})[ \t]{0,9}$", body, re.MULTILINE)
    return int(found[1]) if found else int(bool(re.search(r"^[ \t]{0,16}:header:", body, re.MULTILINE)))


def _listed_rows(body: str) -> list[list[str]]:
    """Rows that are items, their cells items in them."""
    rows: list[list[str]] = []
    for line in _without_options(body).split("\n"):
        bare = line.strip()
        if bare.startswith(("* -", "- -", "- *", "* *")):
            rows.append([bare[3:].strip()])
        elif rows and bare[:2] in ("- ", "* ", "-", "*"):
            rows[-1].append(bare[2:].strip())
        elif rows and bare:
            rows[-1][-1] = f"{rows[-1][-1]} {bare}".strip()
    return [[_said(cell) for cell in row] for row in rows]


def _csv_rows(body: str) -> list[list[str]]:
    head = re.search(r"^[ \t]{0,16}:header:[ \t]{1,9}([^\n]{1,2000})$", body, re.MULTILINE)
    lines = [*([head[1]] if head else []), *_without_options(body).split("\n")]
    try:
        return [[_said(cell.strip()) for cell in row] for row in csv.reader(lines, skipinitialspace=True) if row]
    except csv.Error:
        return [[line] for line in lines if line.strip()]
