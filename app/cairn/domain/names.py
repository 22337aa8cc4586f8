"""Names that somebody gives: of tenants, keys and documents. Two that look alike are one name to whoever reads them, so what
cannot be seen is refused in them, and left out of titles, which tell nothing apart."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import Final
from uuid import uuid4

from cairn.errors import InputError
from cairn.language.text import normalise, storable

MAX_NAME: Final = 200
"""Characters of the name of a key or a tenant."""
MAX_EXTERNAL_ID: Final = 512
"""Characters; a longer one would not fit into the unique index."""
_JOINERS: Final = "\u200c\u200d"
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""What is seen as nothing, though Unicode counts it among letters, marks and symbols."""
_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_SHOWN: Final = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
"""Format characters that are seen: signs that stand around numbers in Arabic, Syriac and Kaithi."""
_LINES: Final = frozenset(("Cc", "Zl", "Zp"))
_JOINED: Final = frozenset(("Lo", "Mn", "Mc", "So", "Sk"))


def check_name(name: str, what: str) -> str:
    """The same name. Raises InputError where it has a character that cannot be seen, or that turns the direction of what is read:
    control and format characters, line ends, private and unassigned ones. Joiners may stand where a script or an emoji needs
    them."""
    if name.isascii() and name.isprintable():
        return name
    for place, sign in enumerate(name):
        if _is_hidden(sign) and not (sign in _JOINERS and _joins(name, place)):
            called = unicodedata.name(sign, "a control character" if unicodedata.category(sign) == "Cc" else "")
            said = f"U+{ord(sign):04X}{f' ({called})' if called else ''}"
            raise InputError(
                f"{what} has {said} at character {place + 1}, which cannot be seen, so that two names could look alike; "
                "leave it out"
            )
        if _is_selector(sign) and not _selects(name, place):
            raise InputError(
                f"{what} has U+{ord(sign):04X} at character {place + 1}, which changes nothing there; leave it out"
            )
    return name


def clean_title(title: str) -> str:
    """One line, without what cannot be seen; joiners stay, which Persian, Indic scripts and emoji need."""
    title = normalise(title)
    if title.isascii() and title.isprintable():
        return title
    shown = (
        " " if unicodedata.category(sign) in _LINES else sign
        for sign in title
        if sign in _JOINERS or unicodedata.category(sign) in _LINES or not _is_hidden(sign)
    )
    return "".join(shown).strip()


def _is_hidden(sign: str) -> bool:
    kind = unicodedata.category(sign)
    if sign in _SHOWN:
        return False
    # a new emoji is unassigned to an older release of Python, and can be seen all the same
    return sign in _BLANK or (kind in _HIDDEN and not (kind == "Cn" and 0x1F000 <= ord(sign) <= 0x1FBFF))


def _joins(name: str, place: int) -> bool:
    """Between letters of a script that has joiners, or between emoji: there one can see what a joiner does."""
    around = name[place - 1 : place] + name[place + 1 : place + 2]
    return len(around) == 2 and all(ord(sign) >= 0x590 and unicodedata.category(sign) in _JOINED for sign in around)


def _is_selector(sign: str) -> bool:
    return "\ufe00" <= sign <= "\ufe0f" or "\U000e0100" <= sign <= "\U000e01ef"


def _selects(name: str, place: int) -> bool:
    """Behind an emoji, a symbol or an ideograph, which have variants."""
    if not place:
        return False
    return (
        unicodedata.category(name[place - 1]) in ("So", "Sm", "Sk", "Lo", "Po")
        or name[place + 1 : place + 2] == "\u20e3"
    )


def check_named(name: str, of: str) -> str:
    """The name of a key or a tenant (`of`), with single spaces. Raises InputError."""
    name = " ".join(check_name(name.strip(), f"the name of a {of}").split())
    if not 0 < len(name) <= MAX_NAME:
        raise InputError(f"the name of a {of} has 1 to {MAX_NAME} characters")
    return storable(name)


def check_external_id(external_id: str) -> str:
    """The same id of a document. Raises InputError for one that is empty or too long, has a part '..', so that it may be another
    one, or a character that cannot be seen."""
    if not external_id or len(external_id) > MAX_EXTERNAL_ID:
        raise InputError(f"a document id has 1 to {MAX_EXTERNAL_ID} characters, this one {len(external_id)}")
    if ".." in external_id.replace("\\", "/").split("/"):
        raise InputError(f"the document id {external_id[:200]!r} has a part '..', so it may be another one; resolve it")
    return check_name(external_id, f"the document id {external_id[:200]!r}")


def id_of_text(title: str | None, content: bytes, *, restricted: bool) -> str:
    """The id of a text that is given none: the same of the same words, so that repeating a request changes nothing. One that only
    some may read gets one by chance: whoever else sends words on trial would learn from a taken id that it has them."""
    if restricted:
        return f"text-{uuid4().hex}"
    return "sha256-" + hashlib.sha256((title or "").encode() + b"\0" + content).hexdigest()[:32]


_DISK: Final = re.compile(r"[A-Za-z]:(?=[/\\])|[/\\]")
_FAKE: Final = re.compile(r"[A-Za-z]:[/\\]fakepath[/\\]", re.IGNORECASE)


def id_of_file_name(name: str) -> str:
    """The id of a document that is sent as a file of this name: a relative path with '/'. What browsers show in place of a path
    (C:\\fakepath\\) is left out.

    Raises InputError for an absolute path and for one with '..': which file is meant is known where they come from alone, and
    two of them must not come to one id.
    """
    name = normalise(name)
    bare = name[len(fake[0]) :] if (fake := _FAKE.match(name)) else name
    parts = [part for part in re.split(r"[/\\]", bare) if part not in ("", ".")]
    advice = (
        "send a plain name or a relative path, such as {}, which becomes the document's id, or text by POST /index with an "
        "external_id"
    )
    if not parts or not any(part.strip(" .") for part in parts) or any(not part.strip() for part in parts):
        raise InputError("each file needs a name; it becomes the document's id")
    shown = next((part for part in reversed(parts) if part.strip() != ".."), "x.txt")[:200]
    if _DISK.match(bare):
        raise InputError(f"the file name {name[:200]!r} is an absolute path; {advice.format(shown)}")
    if any(part.strip() == ".." for part in parts):
        raise InputError(f"the file name {name[:200]!r} has a part '..'; {advice.format(shown)}")
    return check_external_id("/".join(parts))


def check_distinct(named: Iterable[tuple[str, str]]) -> None:
    """Names of one request, each with the id that it comes to. Raises InputError where two come to one id."""
    seen: dict[str, str] = {}
    for name, external_id in named:
        if external_id in seen:
            raise InputError(
                "file names must differ within one upload: "
                f"{seen[external_id][:200]!r} and {name[:200]!r} are both {external_id[:200]!r}"
            )
        seen[external_id] = name
