"""Which symbols of code a question names, and what it asks of them; English, French, Spanish, German. Pure.

    what a name looks like      `x`, x(), a::b, Class.method, snake_case, camelCase, path/file.py
    what stands beside it       "the function x", "x in a/b.py", "who calls x", "where is x defined"

A plain word is a name only beside such words; whether it exists is for the collection to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from app.domain.code import CodeRelation, SymbolQuery
from app.language.text import fold, folded_words
from app.language.tokens import ALL_STOP_WORDS

MOST: Final = 5
_ENDINGS: Final = "pyi?|[cm]?jsx?|tsx?|go|java|rs|cc?|cpp|cxx|hh?|hpp"
_PATH: Final = re.compile(rf"(?<![\w/.\\-])(?:[\w.@-]+[/\\])*[\w.@-]+\.(?:{_ENDINGS})(?![\w/]|\.\w)")
_N: Final = r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)~?[A-Za-z_$][\w$]*)*(?:\(\))?"
_NAME: Final = re.compile(_N)
_Q: Final = rf"[`'\"“«‹]?\s?(?P<name>{_N})"
_KIND: Final = (
    r"(?:function|class|method|struct|trait|interface|enum|module|symbol|constructor|fonction|classe|m[ée]thode|module|"
    r"funci[óo]n|clase|m[ée]todo|m[óo]dulo|interfaz|funktion|klasse|methode|modul|schnittstelle)"
)
_THE: Final = rf"(?:(?:the|an?|la|le|les|el|los|las|die|der|das|den|dem)\s+|l')?(?:{_KIND}\s+)?"
_CUES: Final[tuple[tuple[CodeRelation | None, bool, str], ...]] = (
    ("calls", True, rf"\b(?:who|what|which(?:\s+\w+){{0,2}}|where)\s+(?:all\s+)?(?:calls?|invokes?|uses?)\s+{_THE}{_Q}"),
    ("calls", True, rf"\bcall(?:ers?|\s+sites?)\s+(?:of|for|to)\s+{_THE}{_Q}"),
    ("calls", True, rf"\bwhere\s+(?:is|are|do\s+we|does\s+\w+)\s+{_THE}{_Q}[`'\"”]?\s+(?:\w+\s+)?(?:called|invoked|used)"),
    ("calls", True, rf"\b(?:qui|quelles?\s+\w+|qu'est-ce\s+qui)\s+(?:appelle|utilise|invoque)(?:nt)?\s+{_THE}{_Q}"),
    ("calls", True, rf"\bo[ùu]\s+(?:est|sont)\s+(?:appel[ée]e?s?|utilis[ée]e?s?)\s+{_THE}{_Q}"),
    ("calls", True, rf"\bappelants?\s+(?:de\s+|d'){_THE}{_Q}"),
    ("calls", True, rf"\b(?:qui[ée]n(?:es)?|qu[ée](?:\s+\w+)?)\s+(?:llaman?|usan?|invocan?)\s+a\s+{_THE}{_Q}"),
    ("calls", True, rf"\b(?:qui[ée]n(?:es)?|qu[ée]\s+funci\w+)\s+(?:llaman?|usan?|invocan?)\s+{_THE}{_Q}"),
    ("calls", True, rf"\bd[óo]nde\s+se\s+(?:llama|usa|invoca)\s+(?:a\s+)?{_THE}{_Q}"),
    ("calls", True, rf"\b(?:wer|welche\s+\w+)\s+(?:ruft|rufen|benutzt|verwendet)\s+{_THE}{_Q}"),
    ("calls", True, rf"\bwo\s+wird\s+{_THE}{_Q}[`'\"”]?\s+(?:aufgerufen|benutzt|verwendet)"),
    ("calls", True, rf"\baufrufer\s+(?:von|der|des)\s+{_THE}{_Q}"),
    ("calls", False, rf"\bwhat\s+(?:does|do|functions\s+does)\s+{_THE}{_Q}[`'\"”]?(?:\s+{_KIND})?\s+(?:call|invoke|use)\b"),
    ("calls", False, rf"\bqu(?:e\s+|'|oi\s+)(?:appelle|utilise)\s+{_THE}{_Q}"),
    ("calls", False, rf"\bqu[ée]\s+(?:llama|invoca)\s+{_THE}{_Q}"),
    ("calls", False, rf"\bwas\s+(?:ruft|verwendet)\s+{_THE}{_Q}"),
    ("inherits", False, rf"\bwhat\s+(?:does|do)\s+{_THE}{_Q}[`'\"”]?\s+(?:inherit|extend|implement|derive|subclass)"),
    ("inherits", False, rf"\b(?:base|parent|super)[\s-]?class(?:es)?\s+of\s+{_THE}{_Q}"),
    ("inherits", False, rf"\bde\s+(?:quoi|qui|quelles?\s+classes?)\s+h[ée]rite\s+{_THE}{_Q}"),
    ("inherits", False, rf"\bde\s+(?:qu[ée]|qui[ée]n)(?:\s+clases?)?\s+hereda\s+{_THE}{_Q}"),
    ("inherits", False, rf"\b(?:wovon|von\s+(?:was|wem|welchen?\s+klassen?))\s+erbt\s+{_THE}{_Q}"),
    ("inherits", True, rf"\b(?:who|what|which(?:\s+\w+){{0,2}})\s+(?:inherits?|derives?|extends?|implements?|subclass(?:es)?)"
                       rf"\s+(?:from\s+)?{_THE}{_Q}"),
    ("inherits", True, rf"\b(?:sub|derived\s+|child\s+)class(?:es)?\s+of\s+{_THE}{_Q}"),
    ("inherits", True, rf"\b(?:qui|quelles?\s+classes?)\s+h[ée]ritent?\s+(?:de\s+|d'){_THE}{_Q}"),
    ("inherits", True, rf"\bsous-classes?\s+(?:de\s+|d'){_THE}{_Q}"),
    ("inherits", True, rf"\b(?:qui[ée]n|qu[ée]\s+clases?)\s+heredan?\s+de\s+{_THE}{_Q}"),
    ("inherits", True, rf"\bsubclases?\s+de\s+{_THE}{_Q}"),
    ("inherits", True, rf"\b(?:wer|was|welche\s+klassen?)\s+(?:erbt|erben)\s+von\s+{_THE}{_Q}"),
    ("inherits", True, rf"\bunterklassen?\s+von\s+{_THE}{_Q}"),
    ("imports", True, rf"\b(?:who|what|which(?:\s+\w+){{0,2}})\s+imports?\s+{_THE}(?P<file>{_PATH.pattern}|{_N})"),
    ("imports", True, rf"\b(?:qui|quels?\s+\w+)\s+importent?\s+{_THE}(?P<file>{_PATH.pattern}|{_N})"),
    ("imports", True, rf"\b(?:qui[ée]n|qu[ée]\s+\w+)\s+importan?\s+{_THE}(?P<file>{_PATH.pattern}|{_N})"),
    ("imports", True, rf"\b(?:wer|welche\s+\w+)\s+importier(?:t|en)\s+{_THE}(?P<file>{_PATH.pattern}|{_N})"),
    ("imports", False, rf"\bwhat\s+does\s+{_THE}(?P<file>{_PATH.pattern}|{_N})\s+import"),
    ("contains", False, rf"\b(?:methods|members|functions|m[ée]thodes|membres|m[ée]todos|miembros|methoden)\s+"
                        rf"(?:of|in|has|de|d'|von|der|del)\s+{_THE}(?P<file>{_PATH.pattern}|{_N})"),
    ("contains", False, r"\b(?:what|which)\s+(?:methods|members|functions)\s+does\s+"
                        rf"{_THE}(?P<file>{_PATH.pattern}|{_N})\s+have\b"),
    (None, True, rf"\bwhere\s+(?:is|are)\s+{_THE}{_Q}[`'\"”]?\s+(?:{_KIND}\s+)?(?:defined|declared|implemented)"),
    (None, True, rf"\bo[ùu]\s+est\s+(?:d[ée]finie?|d[ée]clar[ée]e?|impl[ée]ment[ée]e?)\s+{_THE}{_Q}"),
    (None, True, rf"\bd[óo]nde\s+(?:est[áa]|se)\s+(?:definid[oa]|define|declarad[oa]|implementa(?:d[oa])?)\s+{_THE}{_Q}"),
    (None, True, rf"\bwo\s+(?:ist|wird)\s+{_THE}{_Q}[`'\"”]?\s+(?:definiert|deklariert|implementiert)"),
    (None, True, rf"\b(?i:{_KIND})\s+{_Q}"),
    (None, True, rf"{_Q}[`'\"”]?\s+(?i:function|class|method|struct|trait|interface|enum)\b"),
)  # fmt: skip
_PATTERNS: Final = tuple((kind, incoming, re.compile(text, re.IGNORECASE)) for kind, incoming, text in _CUES)
_TICKED: Final = re.compile(r"`([^`\n]{1,120})`")
_LOOKS: Final = re.compile(
    r"(?=.*[A-Za-z])(?:\w+\(\)|.*\w::~?\w.*|_*[A-Za-z0-9]+_\w+|_+[A-Za-z]\w*|[a-z$]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|"
    r"[A-Z]\w*\.[a-z_]\w*|[a-z_]\w{2,}\.[A-Za-z_]\w{2,}(?:\.\w+)*)(?:\(\))?"
)
"""Written as nobody writes words."""
_IN: Final = re.compile(
    rf"{_Q}[`'\"”]?\s+(?:in|from|of|at|dans|de|du|en|del|aus|von|der)\s+(?:\w+\s+)?[`'\"“]?{_PATH.pattern}",
    re.IGNORECASE,
)
_OF: Final = re.compile(
    rf"(?P<member>{_N})[`'\"”]?\s+(?:of|in|de|du|del|von|der|des)\s+{_THE}[`'\"“]?(?P<owner>[A-Z][\w.:]*)"
)
_NOT: Final = ALL_STOP_WORDS | folded_words(
    "function class method struct trait interface enum module symbol defined called used from does file this that "
    "fonction classe methode funcion clase metodo funktion klasse methode here there it them and"
)


@lru_cache(maxsize=64)  # asked for by the route, the short way and the leg
def wanted_symbols(question: str) -> tuple[SymbolQuery, ...]:
    """Symbols that a question names, each once; the file that it names beside them goes for all of them. A file without a
    symbol is itself one."""
    text = question[:2000]
    paths = [match.group().replace("\\", "/").removeprefix("./") for match in _PATH.finditer(text)]
    bare = _PATH.sub(" ", text)
    path = paths[0] if paths else ""
    found: dict[str, SymbolQuery] = {}
    for kind, incoming, name, start in _cued(text, bare):
        file = is_file(name)
        if file or _may_be(name, start):
            clean = name.replace("\\", "/") if file else _clean(name)
            found.setdefault(clean, SymbolQuery(clean, "" if file else path, kind, incoming))
    for match in _IN.finditer(text) if "." in text else ():  # a path has one; the pattern is dear
        if _may_be(match["name"], True):
            found.setdefault(_clean(match["name"]), SymbolQuery(_clean(match["name"]), path))
    for name in _spelled(bare):
        found.setdefault(_clean(name), SymbolQuery(_clean(name), path))
    for match in _OF.finditer(bare):
        found = _joined(found, _clean(match["member"]), _clean(match["owner"]))
    if not found:
        found = {one: SymbolQuery(one) for one in paths}
    return tuple(found.values())[:MOST]


def is_file(name: str) -> bool:
    return bool(_PATH.fullmatch(name))


def _joined(found: dict[str, SymbolQuery], member: str, owner: str) -> dict[str, SymbolQuery]:
    """The method run of Worker is Worker.run."""
    if member not in found or owner not in found or "." in member:
        return found
    whole = replace(found[member], name=f"{owner}.{member}")
    return {whole.name: whole} | {name: one for name, one in found.items() if name not in (member, owner)}


def _cued(text: str, bare: str) -> Iterator[tuple[CodeRelation | None, bool, str, bool]]:
    """What the cues name; relations first, as a question asks one thing."""
    for kind, incoming, pattern in _PATTERNS:
        for match in pattern.finditer(text if "file" in pattern.groupindex else bare):
            group = "file" if "file" in pattern.groupindex else "name"
            yield kind, incoming, match[group], kind is not None


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
    return name.removesuffix("()").replace("::", ".").replace("->", ".").replace("#", ".").strip(".")
