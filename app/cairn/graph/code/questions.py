"""Which symbols of code a question names, and what it asks of them. Pure.

    what a name looks like      `x`, x(), a::b, Class.method, snake_case, camelCase, path/file.py
    what stands beside it       "the function x", "x in a/b.py", "who calls x", "where is x defined"

A plain word is a name only beside such words; whether it exists is for the collection to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, cast

from cairn.domain.code import SPOKEN, CodeRelation, DeclarationAspect, SymbolQuery
from cairn.language.lexicon import any_of, every, languages
from cairn.language.linear import bounded
from cairn.language.text import fold
from cairn.language.tokens import ALL_STOP_WORDS

MOST: Final = 5
_WORDS_BEFORE, _WORDS = 3, 14
"""Words before a cue, and of a question that is one: "please list the callers of load"."""
_ENDINGS: Final = "pyi?|[cm]?jsx?|tsx?|go|java|rs|cc?|cpp|cxx|hh?|hpp"
_PATH: Final = bounded(rf"(?<![\w/.\\-])(?:[\w.@-]+[/\\])*[\w.@-]+\.(?:{_ENDINGS})(?![\w/]|\.\w)")
_N: Final = r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)~?[A-Za-z_$][\w$]*)*(?:\([^()\n]{0,80}\))?"
_NAME: Final = bounded(_N)
_Q: Final = rf"[`'\"“«‹]?\s?(?P<name>{_N})"
_KIND: Final = any_of(lambda one: one.symbols.kinds)
_KIND_BEHIND: Final = r"(?i:function|class|method|struct|trait|interface|enum)\b"
_ELIDED: Final = any_of(lambda one: one.words.elided)
_THE: Final = rf"(?:{any_of(lambda one: one.symbols.articles)}\s+|{_ELIDED}')?(?:{_KIND}\s+)?"
_ANY_THE: Final = r"(?:\w+(?:\s+|')){0,3}"
"""Three words before a name, whichever: what may stand in the place of all of _THE, at a twentieth of its length."""
_ANY_NAME: Final = r"[`'\"“«‹<]?\s?[^\s()]+(?:\([^()\n]{0,80}\))?"
"""A name, a file, a module or a path, or something that is none."""
_FILE: Final = rf"[`'\"“«‹]?\s?(?P<file>{_PATH.pattern}|{_N})"
_MODULE: Final = rf"[`'\"“«‹<]?\s?(?P<module>{_PATH.pattern}|@?[A-Za-z_][\w-]*(?:(?:::|[./])[\w-]+)*)"
_ASPECTS: Final[Mapping[str, DeclarationAspect]] = {
    "defined": "defined",
    "returns": "returns",
    "takes": "takes",
    "raises": "raises",
    "does": "does",
    "shown": "shown",
    "value": "value",
}
_ASKED: Final = (
    ("shown", "in"), ("imports", "in"), ("calls", "in"), ("calls", "out"), ("inherits", "out"), ("inherits", "in"),
    ("imports", "out"), ("contains", "out"), ("contains", "in"), ("returns", "in"), ("takes", "in"), ("raises", "in"),
    ("defined", "in"), ("does", "in"), ("value", "in"),
)  # fmt: skip
"""In the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class _Cue:
    """What a question asks of symbols where a pattern fits; neither relation nor aspect: it only names one."""

    relation: CodeRelation | None
    aspect: DeclarationAspect | None
    incoming: bool
    text: str
    """With placeholders, as the tables of languages have it."""
    pattern: re.Pattern[str]
    group: str
    """What names the symbol: name, file (or a name), module, path, constant."""


def _cues() -> Iterator[_Cue]:
    """Those that ask for something before those that only name it."""
    for relation, direction in _ASKED:
        for one in languages():
            for asked, way, pattern in one.symbols.asked:
                if (asked, way) == (relation, direction):
                    text = pattern.replace(" ", r"\s+")
                    aspect = _ASPECTS.get(asked)
                    yield _cue(None if aspect else cast(CodeRelation, asked), aspect, way == "in", text)
    yield _cue(None, None, True, r"\b(?i:<kind>)\s+<name>")
    yield _cue(None, None, True, rf"<name>[`'\"”]?\s+{_KIND_BEHIND}")


def _cue(relation: CodeRelation | None, aspect: DeclarationAspect | None, incoming: bool, text: str) -> _Cue:
    group = next(one for one in ("name", "file", "module", "path", "constant") if f"<{one}>" in text)
    return _Cue(relation, aspect, incoming, text, bounded(_filled(text, _EXACT), re.IGNORECASE), group)


def _any_cue() -> re.Pattern[str]:
    """Where this does not fit the text in small letters, no cue fits the text: one pass in place of a hundred, which most
    questions are spared. Without IGNORECASE, which would try every branch in full everywhere."""
    texts = [_filled(cue.text.removeprefix(r"<name>[`'\"”]?\s+"), _LOOSE) for cue in _CUES]
    return bounded("|".join(text.replace("(?i:", "(?:") for text in texts))


def _filled(text: str, meant: Mapping[str, str]) -> str:
    for placeholder, meaning in meant.items():
        text = text.replace(placeholder, meaning)
    return text


_EXACT: Final = {
    "<the>": _THE,
    "<kind>": _KIND,
    "<name>": _Q,
    "<file>": _FILE,
    "<module>": _MODULE,
    "<path>": rf"[`'\"“«‹]?(?P<path>{_PATH.pattern})",
    "<constant>": r"[`'\"“«‹]?\s?(?P<constant>(?:[A-Za-z_$][\w$]*\.){0,3}_{0,2}[A-Za-z0-9]+_\w+)",
}
_LOOSE: Final = {"<the>": _ANY_THE, "<kind>": _KIND, "<constant>": r"[`'\"“«‹]?\s?[\w.]*_\w+"} | dict.fromkeys(
    ("<name>", "<file>", "<module>", "<path>"), _ANY_NAME
)


_CUES: Final = tuple(_cues())
_ANY_CUE: Final = _any_cue()
_HOLDERS: Final = bounded(rf"\b(?:{any_of(lambda one: one.symbols.holders)})\b", re.IGNORECASE)
_MARKED_BEFORE: Final = bounded(rf"(?:`|\b{_KIND}\s+[`'\"“«‹]?)\s?$", re.IGNORECASE)
_BEHIND_ARTICLE: Final = bounded(rf"\b(?:{any_of(lambda one: one.symbols.articles)})\s{{1,9}}$", re.IGNORECASE)
_TICKED: Final = bounded(r"`([^`\n]{1,120})`")
_LOOKS: Final = bounded(
    r"(?=.*[A-Za-z])(?:\w+\(\)|.*\w::~?\w.*|_*[A-Za-z0-9]+_\w+|_+[A-Za-z]\w*|[a-z$]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|"
    r"[A-Z]\w*\.[a-z_]\w*|[a-z_]\w{2,}\.[A-Za-z_]\w{2,}(?:\.\w+)*)(?:\(\))?"
)
"""Written as nobody writes words."""
_INSIDE: Final = any_of(lambda one: one.symbols.inside)
_OF_OWNER: Final = any_of(lambda one: one.symbols.of)
_IN: Final = bounded(
    rf"{_Q}[`'\"”]?\s+{_INSIDE}\s+(?:\w+\s+)?[`'\"“]?{_PATH.pattern}",
    re.IGNORECASE,
)
_OF: Final = bounded(rf"(?P<member>{_N})[`'\"”]?\s+{_OF_OWNER}\s+{_THE}[`'\"“]?(?P<owner>[A-Z][\w.:]*)")
_NOT: Final = ALL_STOP_WORDS | every(lambda one: one.symbols.never)


def wanted_symbols(question: str) -> tuple[SymbolQuery, ...]:
    """Symbols that a question names, each once; the file that it names beside them goes for all of them. A file without a
    symbol is itself one."""
    return _named(question)[0]


@lru_cache(maxsize=64)  # asked for by the route, the short way and the leg
def _named(question: str) -> tuple[tuple[SymbolQuery, ...], tuple[SymbolQuery, ...]]:
    """The symbols, and a word of which is asked what may be asked of anything: "what does Client do?". That is a symbol only for
    a collection that has it."""
    text = question[:2000]
    paths = [match.group().replace("\\", "/").removeprefix("./") for match in _PATH.finditer(text)]
    bare = _PATH.sub(" ", text)
    path = paths[0] if paths else ""
    found: dict[str, SymbolQuery] = {}
    plain: list[SymbolQuery] = []
    for cue, name, marked in _cued(text, bare):
        file = is_file(name)
        if cue.aspect in SPOKEN and not (marked and _may_be(name, False)):
            meant = marked or (cue.aspect == "value" and name.isupper())
            before = text[: max(0, text.find(name))]
            is_word = name.islower() or bool(
                name.istitle() and _BEHIND_ARTICLE.search(before)
            )  # "what does the Client do?"
            if _may_be(name, True) and (meant or cue.aspect == "shown" or not is_word):
                plain.append(SymbolQuery(_clean(name), path, aspect=cue.aspect, marked=meant))
            continue
        if file or _may_be(name, cue.relation is not None or cue.aspect is not None):
            clean = name.replace("\\", "/") if file else _clean(name) if cue.group != "module" else name
            own = "" if file or clean == path else path
            found.setdefault(clean, SymbolQuery(clean, own, cue.relation, cue.incoming, cue.aspect, marked or file))
    for match in _IN.finditer(text) if "." in text else ():  # a path has one; the pattern is dear
        if _may_be(match["name"], True):
            found.setdefault(_clean(match["name"]), SymbolQuery(_clean(match["name"]), path))
    for name in _spelled(bare):
        found.setdefault(_clean(name), SymbolQuery(_clean(name), path))
    for match in _OF.finditer(bare) if len(found) > 1 else ():
        found = _joined(found, _clean(match["member"]), _clean(match["owner"]))
    if not found:
        found = {one: SymbolQuery(one) for one in paths}
    owned = {name.rpartition(".")[2]: name for name in found}
    return tuple(found.values())[:MOST], tuple(replace(one, name=owned.get(one.name, one.name)) for one in plain[:1])


def asked_of_code(question: str) -> SymbolQuery | None:
    """The relation, or the part of a declaration, that a question asks for, if that is what it does."""
    wanted, plain = _named(question)
    return next((one for one in (*wanted, *plain) if one.relation or one.aspect), None)


def is_file(name: str) -> bool:
    return bool(_PATH.fullmatch(name))


def _joined(found: dict[str, SymbolQuery], member: str, owner: str) -> dict[str, SymbolQuery]:
    """The method run of Worker is Worker.run."""
    if member not in found or owner not in found or "." in member:
        return found
    whole = replace(found[member], name=f"{owner}.{member}")
    return {whole.name: whole} | {name: one for name, one in found.items() if name not in (member, owner)}


def _cued(text: str, bare: str) -> Iterator[tuple[_Cue, str, bool]]:
    """What the cues name, and whether that is written as a name of code; relations first, as a question asks one thing."""
    likely = any(_ANY_CUE.search(one.lower()) for one in {text, bare})
    for cue in _CUES if likely else ():
        searched = bare if cue.group in ("name", "constant") else text
        for match in cue.pattern.finditer(searched):
            name = match[cue.group]
            if cue.aspect in SPOKEN and _is_part(searched, *match.span(cue.group)):
                continue
            marked = bool(_LOOKS.fullmatch(name) or _MARKED_BEFORE.search(searched[: match.start(cue.group)]))
            marked |= bool(cue.relation and cue.incoming and _HOLDERS.search(match.group()))
            if marked or is_file(name) or _is_all(searched, match.start()) or not (cue.relation or cue.aspect):
                yield cue, name, marked


def _is_part(text: str, start: int, end: int) -> bool:
    """The first word of several between backticks: "`mise prune`" is a command."""
    return text[:start].rstrip().endswith("`") and not text[end:].lstrip().startswith("`")


def _is_all(text: str, at: int) -> bool:
    """Whether a cue is what the text asks, not a phrase in a longer question: only then is a plain word beside it a name. Of
    10,191 questions on anything (xquad in three languages, spf_fr, cosqa, hotpotqa, cisi, tatqa, clinc150) 9 ask for one so."""
    return len(text[:at].split()) <= _WORDS_BEFORE and len(text.split()) <= _WORDS


def _spelled(text: str) -> Iterator[str]:
    for match in _TICKED.finditer(text):
        inner = match[1].strip().removesuffix(";")
        call = inner.split("(")[0] if "(" in inner else inner
        if _NAME.fullmatch(call):
            yield call
    for match in _NAME.finditer(_TICKED.sub(" ", text)):
        if _LOOKS.fullmatch(match.group()):
            yield match.group()


def _may_be(name: str, related: bool) -> bool:
    """A plain word is a name where a relation is asked of it; beside "class" or "function" only what looks like one: "the
    function of"."""
    word = fold(_clean(name))
    return len(word) > 1 and word not in _NOT and (related or not name.islower() or len(word) > 3)


def _clean(name: str) -> str:
    """Dotted, without brackets."""
    return name.partition("(")[0].replace("::", ".").replace("->", ".").replace("#", ".").strip(".")
