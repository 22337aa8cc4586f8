"""The text of a line of a manual page: its escapes, strings and fonts, as a reader sees them. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from cairn.ingest.loaders import render

Run = tuple[str, str]
"""Text and its font: roman, bold, italic or that of code. A line break is a run of its own."""
ROMAN: Final = "R"
BOLD: Final = "B"
ITALIC: Final = "I"
CODE_FONT: Final = "C"
BREAK: Final[Run] = ("\n", ROMAN)

_NAME: Final = r"(?:\[[^\]]{0,80}\]|\(..|.)"
_ESCAPE: Final = re.compile(
    rf"""\\(?:f(?P<font>{_NAME})
    |n[+-]?(?P<number>{_NAME})
    |\((?P<sign>..)
    |\[(?P<named>[^\]]{{0,80}})\]
    |N'(?P<code>\d{{1,7}})'
    |C'(?P<called>[^']{{0,80}})'
    |(?P<silent>s(?:[+-]?(?:\[[^\]]{{0,20}}\]|\(..|'[^']{{0,20}}'|[1-3]\d|\d))
        |[hvwDlLobxXZARHSB](?:'(?:\\[a-zA-Z]'[^']{{0,100}}'|[^']){{0,200}}+'|"[^"]{{0,200}}+"|\|[^|]{{0,200}}+\|)
        |[mMFkgVYO]{_NAME})
    |(?P<one>.))""",
    re.VERBOSE,
)
_STRING: Final = re.compile(rf"\\(?:\*(?P<string>{_NAME})|.)")
_PLUS: Final = re.compile(r"\\n([+-])")
_ONE: Final = {
    "-": "-", "e": "\\", "\\": "\\", " ": " ", "~": " ", "0": " ", "t": "\t", "'": "'", "`": "`", "E": "\\", "_": "_",
    **dict.fromkeys("&%:|^/,)({}cdurpaz!?", ""),
}  # fmt: skip
"""What a letter behind a backslash is; others are themselves."""
_TABLE: Final = """bu • em — en – hy - mi − aq ' dq " lq “ rq ” oq ‘ cq ’ Bq „ bq ‚ Fo « Fc » fo ‹ fc › co © rg ® tm ™ de ° mu ×
    di ÷ +- ± pl + eq = ** ∗ <= ≤ >= ≥ != ≠ == ≡ ~~ ≈ ap ∼ =~ ≅ if ∞ -> → <- ← <> ↔ ua ↑ da ↓ lA ⇐ rA ⇒ hA ⇔ sc § ps ¶ dg † dd ‡
    ct ¢ Po £ Ye ¥ Eu € eu € Do $ sh # at @ ti ~ ha ^ aa ´ ga ` sl / rs \\ ba | br | bv | or | ul _ ru _ rn ‾ lB [ rB ] lC { rC }
    la < ra > 12 ½ 14 ¼ 34 ¾ S1 ¹ S2 ² S3 ³ no ¬ tno ¬ mo ∈ es ∅ sr √ pd ∂ is ∫ fa ∀ te ∃ AN ∧ OR ∨ ca ∩ cu ∪ sb ⊂ sp ⊃
    ib ⊆ ip ⊇ pt ∝ gr ∇ ss ß ae æ AE Æ oe œ OE Œ /o ø /O Ø oa å oA Å /l ł /L Ł -d ð -D Ð Tp þ TP Þ vs š vS Š vz ž vZ Ž
    r! ¡ r? ¿ bb ¦ fm ′ sd ″ Of ª Om º pc · md ⋅ ci ○ sq □ OK ✓ tl – ff ff fi fi fl fl Fi ffi Fl ffl ts ς
    u0027 ' u002D - dqt " quotedblleft “ quotedblright ” an ─ lh ☜ rh ☞ char34 " ho ˛ vA ⇕ va ↕ CR ↵ lz ◊ bs ·
    *a α *b β *g γ *d δ *e ε *z ζ *y η *h θ *i ι *k κ *l λ *m μ *n ν *c ξ *o ο *p π *r ρ *s σ *t τ *u υ *f φ *x χ *q ψ *w ω
    *G Γ *D Δ *H Θ *L Λ *C Ξ *P Π *S Σ *U Υ *F Φ *Q Ψ *W Ω"""
_SIGNS: Final = dict(zip(_TABLE.split()[::2], _TABLE.split()[1::2], strict=True))
_ACCENTS: Final = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", ":": "\u0308", "~": "\u0303", ",": "\u0327", "aa": "\u0301", "ga": "\u0300",
    "ad": "\u0308", "ac": "\u0327", "a^": "\u0302", "a~": "\u0303", "ao": "\u030a", "ah": "\u030c",
}  # fmt: skip
_UNICODE: Final = re.compile(r"u([0-9A-F]{4,6})(?:_([0-9A-F]{4,6}))?")
_FIXED: Final = {"C`": "", "C'": "", "--": "--", "PI": "pi"}
"""Strings that the preamble of pod2man sets for a typesetter."""
_STRINGS: Final = {"lq": "“", "rq": "”", "``": "“", "''": "”", 'L"': '"', 'R"': '"', "Aq": "'", "R": "®", "Tm": "™"}
_LONGEST: Final = 400
"""Characters of a string. One may hold others, and could double with each."""
_MOST_STRINGS: Final = 100_000
"""Characters that strings may add to a page, besides as many as it has."""
_LEAST_OF_TEXT: Final = 32
"""Below it are control characters."""

_REFERENCE: Final = re.compile(r"\((?:\d[a-zA-Z]{0,8}|[ln])\)")
"""The section behind the name of another page: git-log(1)."""
_OTHER_PAGE: Final = re.compile(r"\A[^\s()]{1,200}\((?:\d[a-zA-Z]{0,8}|[ln])\)")
_ADJACENT: Final = re.compile(r"[^\s,;:()]{1,200}+")
_OPTION: Final = re.compile(r"(?:--?|\+)[^\W_]|-[-#?@%!:]|--?(?=\[|\Z)")
_NEXT_NAME: Final = re.compile(
    r",[ \t]{0,9}(?=[-+][^ \t])|[ \t]{1,9}(?:\||or|/)[ \t]{1,9}(?=-[^ \t])|(?<=-\w)[ \t]{1,9}(?=--\w)"
)
_MARK_OF_A_NAME: Final = re.compile(r"[-_/.=$\d]")
_STOPS: Final = ".,:;!?"
_PLAIN_WORD: Final = re.compile(r"[A-Z][a-z]{2,40}|[^\w]{1,3}")
_LONGEST_TERM: Final = 200
_QUOTED: Final = (
    (re.compile(r"``([^`'\n]{1,200})''"), r'"\1"'),
    (re.compile(r"`([^`'\n]{1,200})'"), r"'\1'"),
)  # fmt: skip


class RoffText:
    """Reads lines with the strings, numbers and font that are set when they are read. `goes_on`: whether the last one ended with
    a sign that the next is set beside it, without a blank. `chars`: of the page."""

    def __init__(self, chars: int) -> None:
        self.font = self._before = ROMAN
        self.goes_on = False
        self._strings = _STRINGS | _FIXED
        self._numbers: dict[str, tuple[int, int]] = {}  # value, and what is added where that is asked for
        self._left = chars + _MOST_STRINGS

    def set_font(self, font: str) -> None:
        """As if nothing had been set before."""
        self.font, self._before = font, ROMAN

    def change_font(self, name: str) -> None:
        """By a name of roff's; none is the one before."""
        new = self._before if name in ("", "P") else _font(name)
        self.font, self._before = new, self.font

    def define(self, name: str, value: str) -> None:
        if name not in _FIXED:
            self._strings[name] = self._with_strings(value.replace("\\\\*", "\\*"))[:_LONGEST]

    def set_number(self, name: str, value: str, step: str) -> None:
        now, by = self._numbers.get(name, (0, 0))
        given, by = _integer(value), _integer(step) if step else by
        self._numbers[name] = (now + given if value[:1] in ("+", "-") else given, by)

    def runs(self, text: str) -> list[Run]:
        """A line; the font goes on with the next."""
        self.goes_on = False
        text = self._with_strings(text)
        found: list[Run] = []
        at = 0
        for said in _ESCAPE.finditer(text):
            if said.start() > at:
                found.append((text[at : said.start()], self.font))
            at = said.end()
            if shown := self._escape(said):
                found.append((shown, self.font))
        if at < len(text):
            found.append((text[at:].removesuffix("\\"), self.font))
        return found

    def _escape(self, said: re.Match[str]) -> str:
        kind = said.lastgroup or ""
        name = said[kind]
        if kind == "font":
            self.change_font(_bare(name))
            return ""
        if kind == "number":
            return self._number(_bare(name), said[0])
        if kind in ("sign", "named", "called"):
            return _sign(name)
        if kind == "code":
            return _character(int(name))
        if kind == "silent":
            return ""
        self.goes_on = self.goes_on or name == "c"
        return _ONE.get(name, name)

    def _number(self, name: str, written: str) -> str:
        if name not in self._numbers:
            return ""
        value, by = self._numbers[name]
        if changed := _PLUS.match(written):
            value += by if changed[1] == "+" else -by
            self._numbers[name] = (value, by)
        return str(value)[:_LEAST_OF_TEXT]

    def _with_strings(self, text: str) -> str:
        return _STRING.sub(self._string, text) if "\\*" in text else text

    def _string(self, said: re.Match[str]) -> str:
        if said["string"] is None:
            return said[0]
        value = self._strings.get(_bare(said["string"]).partition(" ")[0], "")
        self._left -= len(value)
        return value if self._left > 0 else ""


def _bare(name: str) -> str:
    """Without the brackets of a long name, or the one of a name of two letters."""
    return name[1:].removesuffix("]") if name[0] in "[(" and len(name) > 1 else name


def _font(name: str) -> str:
    if name in ("B", "3", "BI", "4"):
        return BOLD
    if name in ("I", "2"):
        return ITALIC
    return CODE_FONT if name[:1] == "C" or name in ("5", "L", "TT") else ROMAN


def _integer(text: str) -> int:
    found = re.match(r"\A[+-]?\d{1,9}", text)
    return int(found[0]) if found else 0


def _sign(name: str) -> str:
    """What a name stands for; one that is unknown is nothing."""
    if name in _SIGNS:
        return _SIGNS[name]
    if number := _UNICODE.fullmatch(name):
        return unicodedata.normalize("NFC", "".join(_character(int(part, 16)) for part in number.groups() if part))
    letter, _, accent = name.partition(" ") if " " in name.strip() else (name[1:], "", name[:1])
    if len(letter) == 1 and letter.isalpha() and accent in _ACCENTS:
        return unicodedata.normalize("NFC", letter + _ACCENTS[accent])
    return _character(int(name[4:])) if name.startswith("char") and name[4:].isdecimal() and len(name) < 12 else ""


def _character(number: int) -> str:
    known = _LEAST_OF_TEXT <= number < 0x110000 and not 0xD800 <= number < 0xE000
    return chr(number) if known else ""


# --- Markdown -------------------------------------------------------------------------------------------------------


def plain(runs: Iterable[Run]) -> str:
    """Without fonts."""
    return "".join(text for text, _ in runs)


def markdown(runs: Sequence[Run]) -> str:
    """Code, and what is bold and looks like a name or an option, in backticks; the rest without its fonts."""
    parts: list[str] = []
    rest = _merged(runs)
    is_quoted = False  # whether a quotation of TeX is open
    for at, (text, font) in enumerate(rest):
        core = text.strip()
        if font == CODE_FONT and core and "`" not in core:
            head, _, tail = text.partition(core)
            parts += [head, f"`{core}`", tail]
        elif font == BOLD and _is_name(core) and not (at + 1 < len(rest) and _REFERENCE.match(rest[at + 1][0])):
            name = core.rstrip(_STOPS) or core
            if text.endswith(name):
                name += _value(rest, at + 1, name)
            head, _, tail = text.partition(core)
            parts += [head, _code(name), core[len(name) :], tail]
        elif font == CODE_FONT:
            parts.append(text)
        else:
            text = _requoted(text)
            if "``" in text or (is_quoted and "''" in text):
                is_quoted = text.rfind("``") > text.rfind("''")
                text = text.replace("``", '"').replace("''", '"')
            closes = at + 2 < len(rest) and rest[at + 2][0].startswith("'")
            parts.append(f"{text[:-1]}'" if closes and text.endswith("`") else text)
    return "".join(parts)


def term(runs: Sequence[Run]) -> str:
    """What is explained: names of options, and one word, in backticks."""
    text = render.collapse(plain(runs)).strip()
    name = text.rstrip(":,")
    if "`" in name or not name or len(name) > _LONGEST_TERM:
        return text
    if _OPTION.match(name):
        return _code(name)
    is_roman = all(font == ROMAN for part, font in runs if part.strip())
    return name if " " in name or (is_roman and _PLAIN_WORD.fullmatch(name)) else f"`{name}`"


def _code(name: str) -> str:
    """One option, or several: each in backticks."""
    return ", ".join(f"`{part.strip()}`" for part in _NEXT_NAME.split(name) if part.strip())


def _is_name(text: str) -> bool:
    name = text.rstrip(_STOPS)
    if "`" in name or "://" in name or name.startswith("<") or _OTHER_PAGE.fullmatch(name):
        return False
    is_word = any(sign.isalpha() or sign == "/" for sign in name) and not re.search(r"\s", name)
    return bool(_OPTION.match(name) or (is_word and _MARK_OF_A_NAME.search(name)))


def _value(rest: list[Run], at: int, name: str) -> str:
    """What stands beside a name without a blank and belongs to it: the value of an option, or the rest of what is in brackets. It
    goes from the runs that it is taken of."""
    taken = ""
    while at < len(rest) and len(taken) < _LONGEST_TERM:
        text, font = rest[at]
        if text.startswith("()") and not taken and not name.startswith("-"):
            rest[at] = (text[2:], font)
            return "()"
        found = _ADJACENT.match(text)
        if found is None or "`" in found[0]:
            break
        depth = sum((name + taken).count(sign) for sign in "[{<") - sum((name + taken).count(sign) for sign in "]}>")
        is_value = name.startswith("-") and (font == ITALIC or text[0] in "=[<")
        if depth <= 0 and not is_value:
            break
        value = _balanced(found[0], depth).rstrip(_STOPS)
        taken += value
        rest[at] = (text[len(value) :], font)
        if rest[at][0]:
            break
        at += 1
    return taken


def _balanced(text: str, depth: int) -> str:
    """Up to a bracket that closes what was not opened."""
    for at, sign in enumerate(text):
        depth += (sign in "[{<") - (sign in "]}>")
        if depth < 0:
            return text[:at]
    return text


def _merged(runs: Iterable[Run]) -> list[Run]:
    """Neighbours of one font as one; what is empty goes."""
    found: list[tuple[list[str], str]] = []
    for text, font in runs:
        if found and (found[-1][1] == font):
            found[-1][0].append(text)
        elif text:
            found.append(([text], font))
    return [("".join(parts), font) for parts, font in found]


def _requoted(text: str) -> str:
    """Quotation marks of TeX as plain ones: a backtick would begin code."""
    for written, shown in _QUOTED:
        text = written.sub(shown, text) if "`" in text else text
    return text
