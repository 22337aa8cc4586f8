"""What the source of a definition says of it: its signature, parameters, return type, what it returns and raises, and the first
sentence of its documentation. Pure: brackets and strings are told apart, nothing is parsed.

Spans are half-open ranges of code points in the text of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import cleandoc
from itertools import accumulate
from textwrap import dedent
from typing import Final

from cairn.graph.code.languages import family_of
from cairn.language.linear import bounded

Span = tuple[int, int]

MOST_STATEMENTS: Final = 20
_LONGEST: Final = 2000
"""Code points of a signature."""
_DOUBLE: Final = r'"(?:[^"\\\n]|\\.){0,200}+"'
_C_LIKE: Final = rf"//[^\n]*|/\*.*?(?:\*/|\Z)|{_DOUBLE}"
_HIDDEN: Final[Mapping[str, re.Pattern[str]]] = {
    "python": re.compile(
        rf"#[^\n]*|\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|{_DOUBLE}|'(?:[^'\\\n]|\\.){{0,200}}+'", re.DOTALL
    ),
    "javascript": re.compile(rf"{_C_LIKE}|'(?:[^'\\\n]|\\.){{0,200}}+'|`(?:[^`\\]|\\.)*+(?:`|\Z)", re.DOTALL),
    "": re.compile(rf"{_C_LIKE}|'(?:[^'\\\n]|\\[^\n]{{1,8}})'|`[^`]*+(?:`|\Z)", re.DOTALL),
}
"""Comments and strings, in which no bracket counts. What is not closed goes on to the end; a string on one line has at most
200 characters, or none would end in linear time."""
_RAISES: Final[Mapping[str, re.Pattern[str]]] = {
    "python": re.compile(r"\braise\b"),
    "go": re.compile(r"\b(?:panic|errors\.New|fmt\.Errorf)\("),
    "rust": re.compile(r"\b(?:panic!|Err\()"),
    "": re.compile(r"\bthrow\b"),
}
_GIVES: Final = re.compile(r"(?<![\w.])(?:return|yield)\b")
_NESTED: Final = re.compile(r"^([ \t]+)(?:async +)?(?:def|class)\b", re.MULTILINE)
_MODIFIERS: Final = re.compile(
    r"^(?:(?:@\w+(?:\([^()]*\))?|public|protected|private|static|final|abstract|synchronized|default|native|inline|extern|"
    r"virtual|constexpr|explicit|async|export|override|function|fn|func|pub(?:\([^()]*\))?|const|unsafe)\s+)+"
)
_SENTENCE: Final = re.compile(r".+?[.!?](?=\s|$)|.+", re.DOTALL)
_COMMENT_LINES: Final = re.compile(r"(?:^[ \t]*+(?://|#)[^\n]*+\n){1,40}+\Z", re.MULTILINE)
_QUOTE: Final = re.compile(r'\s{0,200}(?:[rRuU]{0,2})("""|\'\'\'|"|\')')
_MARKS: Final = bounded(r"^[ \t]*(?:///?!?|#+|/\*\*?|\*/|\*)[ \t]?|[ \t]*\*/[ \t]*$", re.MULTILINE)
_NO_PROSE: Final = bounded(
    r"(?<![ \t])[ \t]*+(?:```|~~~|>>>|[-=*]{4,}|#|\||\.\. |@\w|:\w{1,40}[ :]|\[[^\]\n]{1,60}\]: |"
    r"\*{0,2}(?:Parameters|Arguments|Args|Attributes|Returns?|Yields|Raises|Examples?|Notes?)\*{0,2}:?\*{0,2}[ \t]*$)"
)
"""Lines of documentation that begin an example, a heading, a table, or a list of parameters."""
_REFERENCE: Final = re.compile(r"\[([^\[\]\n]{1,80})\]\[[^\[\]\n]{0,20}\]")
"""A link whose address stands below."""
_WORD: Final = re.compile(r"[^\W\d_]{3}")
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Declaration:
    """`signature`: up to where the body begins. `parameters` as they are written, the object itself left out; `returns`: the type
    that is stated, "" for none. `gives` and `raises`: statements. `summary`: where the documentation's first sentence stands."""

    signature: Span
    parameters: tuple[str, ...]
    returns: str
    gives: tuple[Span, ...]
    raises: tuple[Span, ...]
    summary: Span | None
    documented: str
    """That sentence without marks of comments, on one line."""


def read_declaration(text: str, span: Span, name: str, path: str) -> Declaration:
    """`name`: the last part of that of the definition, which stands at `span`."""
    family = family_of(path)
    start, end = span
    code = hide(text[start:end], family)
    head = _head_end(code, family)
    opened = _parameters_at(code[:head], name)
    closed = _closing(code, opened) if opened >= 0 else -1
    parameters = _split(text[start:end], code, opened + 1, closed) if 0 <= opened < closed else ()
    returns = _stated(text[start:end], code, name, opened, closed, head, family)
    body = _without_nested(code, head) if family == "python" else " " * head + code[head:]
    shift = start
    gives = tuple((shift + a, shift + b) for a, b in _statements(_GIVES, body))
    raises = tuple((shift + a, shift + b) for a, b in _statements(_RAISES.get(family, _RAISES[""]), body))
    summary = _inside_summary(text, start, start + head, end) if family == "python" else _summary_above(text, start)
    spoken = " ".join(_MARKS.sub("", text[slice(*summary)]).split()) if summary else ""
    signature = (start, start + len(text[start : start + head].rstrip(" \t\n:{=")))
    return Declaration(signature, parameters, returns, gives, raises, summary, spoken)


@dataclass(frozen=True, slots=True)
class Documentation:
    """What is written of a definition: `span` of it, and its paragraphs without marks; `commented`: in a comment, though the
    language has a string for it."""

    span: Span
    told: str
    commented: bool


def read_documentation(text: str, span: Span, path: str, most: int) -> Documentation | None:
    """The string that a body of Python begins with, else the comment above; at most about `most` characters of it, and only
    what is said before the first example, heading or rule."""
    start, end = whole_lines(text, span)
    family = family_of(path)
    python = family == "python"
    body = span[0] + _head_end(hide(text[slice(*span)], family), family)
    for found, commented in ((_inside(text, body, end) if python else None, False), (_above(text, start), True)):
        if found and (told := _told(_bare(text, found, commented=commented), most)):
            begin, close = found
            return Documentation((close - len(text[begin:close].lstrip()), close), told, commented and python)
    return None


def _bare(text: str, span: Span, *, commented: bool) -> str:
    said = text[slice(*span)]
    return _MARKS.sub("", said) if commented else said


def whole_lines(text: str, span: Span) -> Span:
    """From the first of its decorators, or the beginning of its line."""
    start = text.rfind("\n", 0, span[0]) + 1
    for _ in range(MOST_STATEMENTS):
        above = text.rfind("\n", 0, max(start - 1, 0)) + 1
        if above >= start or not text[above:start].lstrip().startswith(("@", "#[")):
            break
        start = above
    return start, span[1]


def first_lines(text: str, span: Span, most: int) -> tuple[str, int]:
    """The source of a definition as far as whole lines of `most` characters go, one at least, moved to the left; and how many
    lines are left out."""
    lines = dedent(text[slice(*span)].expandtabs(4)).rstrip().split("\n")
    ends = accumulate(len(line) + 1 for line in lines)
    kept = max(1, sum(end <= most for end in ends))
    return "\n".join(lines[:kept])[: 2 * most], len(lines) - kept


def whole_statement(text: str, start: int, path: str) -> int:
    """Where a statement that begins at `start` ends: with its line, or the brackets that are open there."""
    body = hide(text[start : start + _LONGEST], family_of(path))
    return start + _statement_end(body, 0)


def _told(text: str, most: int) -> str:
    """Paragraphs of documentation; a last one that announces what is left out is left out, too."""
    lines = cleandoc(text).split("\n")
    stop = next((n for n, line in enumerate(lines) if n and _NO_PROSE.match(line)), len(lines))
    kept = "\n".join(lines[:stop]).strip()
    paragraphs = re.split(r"\n[ \t]*\n", kept)
    while len(paragraphs) > 1 and (paragraphs[-1].rstrip().endswith(":") or sum(map(len, paragraphs)) > most):
        paragraphs.pop()
    told = "\n\n".join(paragraphs).strip()
    told = told if len(told) <= most else f"{told[: told.rfind(' ', 0, most)]} …"
    return _REFERENCE.sub(r"\1", told) if _WORD.search(told) else ""


def hide(code: str, family: str) -> str:
    """The same with comments and strings blanked, line breaks kept."""
    pattern = _HIDDEN.get(family, _HIDDEN[""])
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), code)


def _head_end(code: str, family: str) -> int:
    """Where the body begins: after the colon, before the brace, after the arrow."""
    depth = 0
    for at, char in enumerate(code[:_LONGEST]):
        if depth == 0:
            if char == ":" and family == "python":
                return at + 1
            if family != "python" and (char in "{;" or code.startswith("=>", at)):
                return at
        if char in "([" or (char == "{" and family == "python"):
            depth += 1
        elif char in ")]" or (char == "}" and family == "python"):
            depth = max(depth - 1, 0)
    return min(len(code), code.find("\n") if "\n" in code else len(code))


def _parameters_at(head: str, name: str) -> int:
    """The bracket after the name; -1 where there is none."""
    found = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", head)
    return head.find("(", found.end() if found else 0)


def _closing(code: str, opened: int) -> int:
    depth = 0
    for at in range(opened, len(code)):
        if code[at] in _OPEN:
            depth += 1
        elif code[at] in _CLOSE:
            depth -= 1
            if depth == 0:
                return at
    return -1


def _split(text: str, code: str, start: int, end: int) -> tuple[str, ...]:
    """What stands between commas that no bracket holds."""
    parts, depth, begun = [], 0, start
    for at in range(start, end + 1):
        char = code[at] if at < end else ","
        if char in "([{<":
            depth += 1
        elif char in ")]}" or (char == ">" and code[at - 1] not in "-="):
            depth -= 1
        elif char == "," and (depth <= 0 or at == end):
            parts.append(" ".join(text[begun:at].split()))
            begun = at + 1
    own = {"self", "cls", "&self", "&mut self", "mut self", "void", "/", "*"}
    return tuple(part for part in parts if part and part not in own)


def _stated(text: str, code: str, name: str, opened: int, closed: int, head: int, family: str) -> str:
    """The type that a function is said to return."""
    if closed < 0:
        return ""
    after = text[closed + 1 : head].strip().rstrip("{").strip()
    if family in ("python", "rust"):
        return after.removesuffix(":").removeprefix("->").strip() if after.startswith("->") else ""
    if family == "javascript":
        return after.removeprefix(":").removesuffix("=>").strip() if after.startswith(":") else ""
    if family == "go":
        return " ".join(after.split())
    before = code[:opened].rstrip()
    before = before.removesuffix(name).rstrip()
    return " ".join(_MODIFIERS.sub("", before.strip()).split()).removesuffix("::").strip()


def _without_nested(code: str, head: int) -> str:
    """The body without what is defined in it: its returns are its own."""
    lines, kept, inner = code[head:].split("\n"), [" " * head], -1
    rows = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if inner >= 0 and line.strip() and indent <= inner:
            inner = -1
        if inner < 0 and (found := _NESTED.match(line)):
            inner = len(found[1])
        rows.append(" " * len(line) if inner >= 0 else line)
    return kept[0] + "\n".join(rows)


def _statements(pattern: re.Pattern[str], body: str) -> Iterator[Span]:
    """From the word to the end of its line, or of the brackets that are open there."""
    for number, found in enumerate(pattern.finditer(body)):
        if number >= MOST_STATEMENTS:
            return
        yield found.start(), _statement_end(body, found.start())


def _statement_end(body: str, start: int) -> int:
    depth, at = 0, start
    while at < len(body) and at - start < 400:
        char = body[at]
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        if (depth <= 0 and char in "\n;") or depth < 0:
            break
        at += 1
    return start + len(body[start:at].rstrip())


def _inside_summary(text: str, start: int, head: int, end: int) -> Span | None:
    """The first sentence of the string that a body of Python begins with."""
    found = _inside(text, head, end)
    return _first_sentence(text, *found) if found else None


def _inside(text: str, head: int, end: int) -> Span | None:
    found = _QUOTE.match(text, head, end)
    if not found:
        return None
    close = text.find(found[1], found.end(), end)
    return found.end(), close if close >= 0 else end


def _summary_above(text: str, start: int) -> Span | None:
    """The first sentence of the comment right above."""
    found = _above(text, start)
    return _first_sentence(text, *found) if found else None


def _above(text: str, start: int) -> Span | None:
    line = text.rfind("\n", 0, start) + 1
    begin = max(0, line - _LONGEST)
    above = text[begin:line]
    if above.rstrip().endswith("*/") and (opened := above.rfind("/*", 0, len(above.rstrip()) - 2)) >= 0:
        return begin + opened, line
    found = _COMMENT_LINES.search(above)
    return (begin + found.start(), line) if found else None


def _first_sentence(text: str, start: int, end: int) -> Span | None:
    paragraph = re.split(r"\n[ \t/*#]*\n", text[start:end].strip(), maxsplit=1)[0] if text[start:end].strip() else ""
    if not (found := _SENTENCE.match(paragraph)):
        return None
    begin = start + len(text[start:end]) - len(text[start:end].lstrip())
    return begin, begin + min(len(found.group().rstrip()), 300)
