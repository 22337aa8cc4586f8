"""Names as source code writes them, without what stands around them. Pure."""

from __future__ import annotations

import re
from typing import Final

from app.graph.languages import words

_GENERICS: Final = re.compile(r"(?:::)?<[^<>()]*>")
_PLAIN: Final = re.compile(r"[\w$#]+(?:\.[\w$#]+)*")
_LAST: Final = re.compile(r"\.([\w$#]+)$")
_TYPE: Final = re.compile(r"[\w$]+(?:(?:\.|::)[\w$]+)*")
_WRAPPERS: Final = words(
    "Optional Annotated Final ClassVar Type type Box Arc Rc Option RefCell unique_ptr shared_ptr "
    "std::unique_ptr std::shared_ptr Readonly Promise Awaitable const mut dyn impl struct class typename None "
    "null undefined ref a"
)  # fmt: skip
"""What stands around a type without making it another."""
_ANYTHING: Final = words(
    "Any object Object any unknown auto var let T void never bool int str float bytes string number boolean"
)
"""Types that say nothing about members of the collection."""
_MOST_PARTS: Final = 8


def parts_of(spelled: str) -> tuple[str, ...]:
    """ "a.b" of `a.b`, `a::b::<T>`, `a->b`, `super().b`; ("", "b") of `f(x).b`; () of what has no name."""
    if len(spelled) > 2000:
        spelled = spelled[-200:]
    text = "".join(spelled.split()).replace("super()", "super")
    for _ in range(3):
        text = _GENERICS.sub("", text)
    text = text.replace("?.", ".").replace("!.", ".").replace("->", ".").replace("::", ".")
    if _PLAIN.fullmatch(text):
        parts = tuple(text.split("."))
        return parts if len(parts) <= _MOST_PARTS else ("", parts[-1])
    found = _LAST.search(text)
    return ("", found[1]) if found else ()


def type_of(spelled: str) -> str:
    """The class that a type names, "" for containers and what cannot be told: "Client | None" is a Client."""
    for found in _TYPE.finditer(spelled.strip().lstrip(":")[:200]):
        name = found.group()
        if name in _WRAPPERS:
            continue
        if name in _ANYTHING:
            return ""
        after = spelled.strip().lstrip(":")[found.end() : found.end() + 1]
        return "" if after in ("[", "<") and not name.endswith("<") else name.replace("::", ".")
    return ""


def base_of(spelled: str) -> str:
    """The class of `Base[int]`, `pkg::Base<T>`; "" where it has no name."""
    found = _TYPE.match(spelled.lstrip("*&"))
    return found.group().replace("::", ".") if found else ""
