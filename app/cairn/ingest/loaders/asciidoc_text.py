"""The text of a line of AsciiDoc: attributes, links, references and marks, as a reader sees them. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from cairn.language.linear import bounded

MARKUP_OF_A_LINE: Final = re.compile(r"[ \t]{0,40}+[*.\-=_+/|`\[<\d,:!]")
"""What a line that begins a block begins with."""
_SIGNS: Final = {
    "nbsp": " ", "zwsp": "", "wj": "", "amp": "&", "lt": "<", "gt": ">", "apos": "'", "quot": '"', "lsquo": "‘", "rsquo": "’",
    "ldquo": "“", "rdquo": "”", "deg": "°", "plus": "+", "brvbar": "¦", "vbar": "|", "startsb": "[", "endsb": "]", "caret": "^",
    "asterisk": "*", "tilde": "~", "backslash": "\\", "backtick": "`", "two-colons": "::", "two-semicolons": ";;", "cpp": "C++",
    "empty": "", "blank": "", "sp": " ",
}  # fmt: skip
_LONGEST: Final = 1000
"""Characters of an attribute's value: a phrase or an address. It may hold other attributes, and could grow without end."""
_REFERENCE: Final = re.compile(r"(?<!\\)\{(?:counter2?:)?([A-Za-z0-9_][\w-]{0,80})\}")
_VERSION: Final = r"\{(?=[\w-]{0,80}(?:version|revnumber))[A-Za-z0-9_][\w-]{0,80}\}"
_OF_VERSION: Final = re.compile(rf"(?:\s[a-z]{{1,3}})?\s{_VERSION}\Z|(?<!\\){_VERSION}")
_CODE: Final = bounded(r"(?<![\w`])(`+)(?=\S)([^`\n]+(?:\n[^`\n]+)?)\1(?![\w`])")
_PASS: Final = bounded(
    r"pass:[a-z,]{0,9}\[((?:[^\]\\]|\\.){0,500}+)\]|\+\+\+([^+]+)\+\+\+|(?<![\w+])\+\+([^+]+)\+\+(?![\w+])|(?<![\w+])\+(\S[^+\n]*)\+(?![\w+])"
)
_MACRO: Final = re.compile(
    r"(?<![\w\\])(?P<name>link|mailto|xref|kbd|btn|menu|footnote|stem|latexmath|asciimath|image|icon|anchor|indexterm2?):(?!:)"
    r"(?P<target>[^\s\[\]]{0,500}+)\[(?P<text>[^\[\]]{0,1000}+)\]"
)
_ADDRESS: Final = re.compile(
    r"(?<![\w\\(\[\"'=/])(?P<url>(?:https?|ftp|irc)://[^\s\[\]<>]{1,500}+)\[(?P<text>[^\[\]]{0,1000}+)\]"
)
_UNSET: Final = re.compile(
    r"(?<![\w\\$])\{(?P<name>[A-Za-z0-9_][\w-]{0,80})\}(?P<path>[^\s\[\]\ue000]{0,500}+)\[(?P<text>[^\[\]]{0,1000}+)\]"
)
"""A link whose address begins with an attribute that is set elsewhere, such as in the settings of a site."""
_OF_ADDRESS: Final = re.compile(
    r"(?:url|uri|link)s?(?![a-z])|(?<![a-z])(?:url|uri|link|docs?|site|ref|repo|github)(?![a-z])", re.IGNORECASE
)
"""In the name of an attribute that holds an address."""
_CROSS: Final = re.compile(r"<<(?P<id>[^<>,\n]{1,300})(?:,(?P<text>[^<>]{1,500}))?>>")
_WORDS: Final = re.compile(r"[a-z]{1,40}(?:-[a-z]{1,40}){1,20}")
"""Of an id made of words; one with digits or capitals may be a name ("utf-8", "RFC-2119")."""
_NO_NAMES: Final = frozenset({"", "..", ".", "ROOT", "page"})
_ANCHOR: Final = re.compile(r"\[\[[^\[\]\n]{1,200}\]\]|\[#[\w-]{1,100}\]")
_TERMS: Final = re.compile(r"\(\(\([^()]{1,300}\)\)\)")
_TERM: Final = re.compile(r"\(\(([^()]{1,300})\)\)")
_ROLE: Final = re.compile(r"\[[.#%][\w.#%-]{0,100}\](?=[#*_`])")
_MARKED: Final = re.compile(r"[`*_#+\[(<{\\&\ue000\ue001]")
"""What all markup holds one of."""
_QUOTED: Final = re.compile(r"([\"'])`([^`\n]{1,500})`\1")
_MARKS: Final = tuple(
    bounded(pattern)
    for mark in ("*", "_", "#")
    for pattern in (
        rf"[{mark}]{{2}}(?=\S)([^{mark}\n]+)[{mark}]{{2}}",
        rf"(?<![\w{mark}\\])[{mark}](?=\S)([^{mark}]*[^{mark}\s])[{mark}](?![\w{mark}])",
    )
)
_KEPT: Final = re.compile("\ue000(\\d{1,9})\ue001")
_KEPT_IN_KEPT: Final = 6
"""Kinds of what is kept: each may stand in the ones after it."""
_CONDITION: Final = re.compile(r"^ifn?def::[^\[\]\n]{0,200}\[(.*)\]$", re.MULTILINE)
_HARD_BREAK: Final = re.compile(r"[ \t]\+$", re.MULTILINE)
_ESCAPED: Final = re.compile(r"\\(?=[*_`#{<\[+]|https?:|link:)|(?<=\w)\\(?='\w)")
_ESCAPED_CODE: Final = re.compile(
    r"\\(?:[*_#](?=\S)|\{[A-Za-z0-9_][\w-]{0,80}\}|[=-]>|<[=-]|&(?:[A-Za-z]{2,30}|#\d{1,7});"
    r"|(?:ifn?def|ifeval|endif|include)::)"
)
"""What is a mark in code too, where no backslash stands before it: the page doesn't show that one."""
_DRIVE: Final = re.compile(r"(?<!\w)[A-Za-z]:(?:\\[^\s`]{0,200}+)?\Z")
_NEAR: Final = 200
"""Characters before a backslash that tell whether it stands in a path of Windows."""
_SECTION: Final = re.compile(r"={2,6}[ \t]+(\S.*)")
_NAMED: Final = re.compile(
    r"\[\[([^\[\],]{1,200})(?:,([^\[\]]{1,300}))?\]\]|\[(?:[^\[\]#,]{0,60})#([\w:.-]{1,200})[^\[\]]{0,200}\]"
)


class Inline:
    """Reads lines with the attributes that are set when they are read, and knows what references of the document lead to."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._set: dict[str, str] = dict(_SIGNS)
        self._named = _headings(lines)

    def set(self, name: str, value: str | None) -> None:
        """None takes it away. Names of signs keep their meaning."""
        if name in _SIGNS:
            return
        if value is None:
            self._set.pop(name, None)
        else:
            self._set[name] = self.attributes(value)[:_LONGEST]

    def attributes(self, text: str) -> str:
        """With the values of attributes; those that are not set stay as they are written."""
        return _REFERENCE.sub(lambda found: self._set.get(found[1], found[0]), text) if "{" in text else text

    def text(self, text: str) -> str:
        """On one line, without its markup; code between backticks stays as it is, and takes no part."""
        if not _MARKED.search(text):
            return " ".join(text.split())
        text = self.attributes(_CONDITION.sub(r"\1", text))
        kept: list[str] = []

        def keep(shown: str) -> str:
            kept.append(shown)
            return f"\ue000{len(kept) - 1}\ue001"

        text = text.replace("\ue000", "").replace("\ue001", "")
        text = _PASS.sub(lambda found: keep(next(filter(None, found.groups()), "").replace("\\]", "]")), text)
        if "\\" in text:
            text = _ESCAPED_CODE.sub(lambda found: keep(found[0][1:]) if _is_escaped(found) else found[0], text)
        text = _QUOTED.sub(lambda found: f"“{found[2]}”" if found[1] == '"' else f"‘{found[2]}’", text)
        text = _CODE.sub(lambda found: keep(f"`{found[2].strip('+')}`"), text)
        text = _TERM.sub(r"\1", _TERMS.sub("", _ROLE.sub("", text)))
        text = _MACRO.sub(lambda found: keep(self._macro(found)), text)
        text = _ADDRESS.sub(lambda found: keep(_link(found["text"], found["url"])), text)
        if "{" in text:
            text = _UNSET.sub(lambda found: keep(_label(found["text"])) if _leads(found) else found[0], text)
        text = _CROSS.sub(lambda found: keep(self._cross(found["id"], found["text"])), text)
        text = _HARD_BREAK.sub("", _ANCHOR.sub("", text))
        for mark in _MARKS:
            text = mark.sub(r"\1", text)
        text = html.unescape(_ESCAPED.sub("", text) if "\\" in text else text)
        for _ in range(_KEPT_IN_KEPT if kept else 0):  # one that was kept later may hold one that was kept before
            text = _KEPT.sub(lambda found: kept[int(found[1])], text)
        return " ".join(text.split())

    def title(self, text: str) -> str:
        """Of a document. The version of a site, where it is not set, names nothing, nor does the short word that binds it at the
        end ("What's new in {version}"); of any other attribute the name says what stands there."""
        shown = self.text(text)
        return _REFERENCE.sub(r"\1", " ".join(_OF_VERSION.sub("", shown).split())) or shown

    def _macro(self, found: re.Match[str]) -> str:
        name, target, text = found["name"], found["target"], found["text"]
        label = (
            text.split(",")[0].strip('"^ ') if name in ("link", "mailto", "xref") and "=" in text else text.strip("^")
        )
        if name in ("link", "mailto"):
            return _link(label, target if name == "link" else f"mailto:{target}")
        if name == "xref":
            return self._cross(target, label)
        if name == "footnote":
            return f" ({text})" if text else ""
        if name == "menu":
            return " > ".join(part.strip() for part in [target, *text.split(">")] if part.strip())
        if name in ("stem", "latexmath", "asciimath"):
            return f"${text}$"
        return "" if name in ("image", "icon", "anchor", "indexterm") else text or target

    def _cross(self, target: str, text: str | None) -> str:
        if text and text.strip():
            return " ".join(text.split())
        file, mark, part = target.partition("#")
        if not mark and not file.endswith((".adoc", "::")):
            file, part = "", file
        return self._named.get(part) or _called(part, file)


def _called(part: str, file: str) -> str:
    """What a reference without words is called by: the name of the part, or else of the file, without where it is; of the first
    page of a folder the name of that ("cli:index.adoc")."""
    if not part:
        *folders, part = [one for one in re.split(r"[/:@$]", file.removesuffix(".adoc")) if one] or [""]
        module = file.rpartition(":")[0].rpartition(":")[2]
        if part == "index":
            part = folders[-1] if folders and folders[-1] not in _NO_NAMES else part
        elif part.isalpha() and module not in _NO_NAMES:  # one word says too little: "toc:position.adoc"
            part = f"{module}-{part}"
    name = part.strip("_").replace("_", " ")
    return name.replace("-", " ") if _WORDS.fullmatch(name) else name


def _is_escaped(found: re.Match[str]) -> bool:
    """A mark is one only where it ends again further on, so that of another a backslash is shown ("\\*" in a pattern); behind a
    drive it parts the folders of a path."""
    if found[0][1] == "{":
        return not _DRIVE.search(found.string[max(found.start() - _NEAR, 0) : found.start()])
    return found[0][1] not in "*_#" or found.string.rfind(found[0][1]) > found.end()


def _leads(found: re.Match[str]) -> bool:
    """Whether what begins with an attribute is a link: one of an index or a place ("{user}[x]", "{path}/b[text]") has no words,
    or does not say that it is an address."""
    if not any(map(str.isalpha, found["text"])):
        return False
    return bool(_OF_ADDRESS.search(found["name"])) or (found["path"].startswith("/") and " " in found["text"])


def _label(text: str) -> str:
    return " ".join(text.split(",window=")[0].strip("^ ").split())


def _link(text: str, address: str) -> str:
    """Of an address that begins with an attribute that is not set, the words alone: it leads nowhere."""
    shown = _label(text)
    if shown and _REFERENCE.match(address):
        return shown
    return f"[{shown}]({address})" if shown and shown != address else address


def _headings(lines: Sequence[str]) -> dict[str, str]:
    """Titles of sections by the ids that references name them with: given, or made of the title."""
    found: dict[str, str] = {}
    given: list[tuple[str, str]] = []
    for line in lines:
        if said := _NAMED.fullmatch(line.strip()):
            given.append((said[1] or said[3], said[2] or ""))
        elif said := _SECTION.fullmatch(line):
            title = " ".join(_ANCHOR.sub("", said[1]).split())
            plain = re.sub(r"[^\w]{1,16}", "_", title.lower()).strip("_")
            for name in (title, f"_{plain}", plain.replace("_", "-")):
                found.setdefault(name, title)
            for name, own in given:
                found[name] = own or title
            given = []
        elif line.strip() and not line.startswith((".", "[", "//", ":")):
            given = []
    return found
