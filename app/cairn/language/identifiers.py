"""Identifiers as PostgreSQL's full text parser does not see them: whole, and in parts.

What the default parser makes of them (PostgreSQL 18): `parent_chunk_id` becomes three words, never one;
`HTTPServerError` one word, never three; `cairn.db.pool`, `TCP/IP` and `parse.py` become one host or file token, which
hides the words; `CVE-2024-1234` becomes a word and two negative numbers; `v0.8.5` a file name. Hyphenated words
(`parent-chunk-id`) it indexes whole and in parts, plain numbers and versions (`18.4`, `1.2.3`) as they are. So the
extra terms are exactly the forms that are missing; the whole form is written without separators, as one word that the
parser cannot break.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cairn.language.linear import bounded

MAX_IDENTIFIER = 200
"""Longer runs are data (base64, hashes, URLs with payload), not names."""
_MAX_HUMPS = 8

# Words with single connectors between them. `@` and `://` are taken in only so that the whole can be recognised as an
# address and left alone: the parser understands addresses.
_CANDIDATE = re.compile(r"\w+(?:(?:://|::|[./@-])\w+)*")
_LOWER, _UPPER = "a-zß-öø-ÿ", "A-ZÀ-ÖØ-Þ"
_HUMP = re.compile(f"(?<=[{_LOWER}0-9])(?=[{_UPPER}])|(?<=[{_UPPER}])(?=[{_UPPER}][{_LOWER}])")
_NAME = bounded(r"(?:Mc|Mac|Fitz|De|Di|Du|La|Le|Van|Von)[A-Z][a-z]+|[A-Z]{2,}s")  # McDonald, PDFs
_VERSION = bounded(r"(?P<name>[A-Za-z]+)(?P<hyphen>-?)(?P<number>\d+(?:\.\d+)+)")
_CODE = bounded(r"[A-Za-z]\w*(?:-\w+)*-\d[\w-]*")  # CVE-2024-1234, COVID-19


def identifier_terms(text: str) -> str:
    """Extra search terms for `text`, lower case, separated by spaces; (almost) nothing for ordinary prose.

    The same function is applied to documents and to queries. For BM25 the whole form of an identifier stands once per
    occurrence, as a word of its own would. Parts stand once per distinct identifier, however often it occurs: they make
    it findable, but thirty times `DeepSeek` are not thirty times "deep". What the parser finds by itself is not
    repeated, which would count it double.
    """
    seen: set[str] = set()
    terms: list[str] = []
    for match in _CANDIDATE.finditer(text):
        candidate = match.group()
        if candidate[1:].islower() and candidate.isalpha():
            continue  # a plain word, capitalised or not: nothing is hidden in it
        if len(candidate) > MAX_IDENTIFIER or "@" in candidate or "://" in candidate or candidate.startswith("www."):
            continue
        whole, parts = _analyse(candidate)
        terms += whole if candidate in seen else [*whole, *(part for part in parts if part not in whole)]
        seen.add(candidate)
    return " ".join(terms)


def _analyse(candidate: str) -> tuple[list[str], list[str]]:
    """Whole forms and parts of one candidate, each term once."""
    version = _VERSION.fullmatch(candidate)
    whole, parts = _version(version) if version else (_whole(candidate), _parts(candidate))
    return [*dict.fromkeys(whole)], [*dict.fromkeys(part for part in parts if len(part) > 1)]


def _whole(candidate: str) -> Iterator[str]:
    """Each identifier as one word, where the parser would break it."""
    words = [word for word in re.split(r"[\W_]+", candidate) if word]
    path = sum(map(_is_word, words)) >= 3 and ("." in candidate or "/" in candidate)
    if "::" in candidate or path or _CODE.fullmatch(candidate):
        yield "".join(words).lower()
    for word in re.split(r"\W+", candidate):
        pieces = [piece for piece in word.split("_") if piece]
        if len(pieces) > 1 and any(piece.isalpha() for piece in pieces):
            yield "".join(pieces).lower()


def _parts(candidate: str) -> Iterator[str]:
    """Words that the parser would hide inside a bigger token."""
    pieces = [piece for piece in re.split(r"[\W_]+", candidate) if piece]
    hidden = ("." in candidate or "/" in candidate) and any(map(_is_word, pieces))
    for piece in pieces:
        if hidden and not piece.isdigit():
            yield piece.lower()
        yield from _humps(piece)


def _humps(word: str) -> Iterator[str]:
    """Parts of camelCase and PascalCase, acronyms kept; nothing for names and plurals of acronyms."""
    if _NAME.fullmatch(word):
        return
    humps = _HUMP.split(word)
    # letters with digits between them are hashes and base64
    named = [hump for hump in humps if len(hump) > 1 and hump.rstrip("0123456789").isalpha()]
    whole = all(len(hump) == 1 or hump in named for hump in humps)
    if whole and 2 <= len(named) <= _MAX_HUMPS and max(map(len, named)) > 2:
        yield from (hump.lower() for hump in named)


def _version(match: re.Match[str]) -> tuple[list[str], list[str]]:
    """`v0.8.5` and `python3.11` hide their number; `CVE-2024-1` is a code, which the parser keeps."""
    name, number = match["name"].lower(), match["number"]
    if match["hyphen"]:
        return ([number] if number.count(".") == 1 else []), []  # read as a negative number
    hidden = name == "v" or len(name) > 1
    return ([number] if hidden else []), ([name] if hidden else [])


def _is_word(word: str) -> bool:
    return sum(map(str.isalpha, word)) > 1
