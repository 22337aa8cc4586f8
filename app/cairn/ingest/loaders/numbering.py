"""Which Word paragraphs are headings or list items, and the numbers that Word would show."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from docx.oxml.ns import qn

_VAL = qn("w:val")
_NAME = re.compile(r"heading (\d)$", re.IGNORECASE)  # Word keeps the English name inside translated files


@dataclass(frozen=True, slots=True)
class _Style:
    name: str
    base: str | None
    properties: Any


class Styles:
    """Paragraph styles by id; an attribute that a style lacks is its base's."""

    def __init__(self, document: Any) -> None:
        self._styles = {}
        for element in document.styles.element.iterchildren(qn("w:style")):
            name, base = element.find(qn("w:name")), element.find(qn("w:basedOn"))
            self._styles[element.get(qn("w:styleId"))] = _Style(
                "" if name is None else name.get(_VAL, ""),
                None if base is None else base.get(_VAL),
                element.find(qn("w:pPr")),
            )

    def chain(self, paragraph: Any) -> list[_Style]:
        """The paragraph's style and those it is based on, nearest first."""
        found: list[_Style] = []
        properties = paragraph.find(qn("w:pPr"))
        named = None if properties is None else properties.find(qn("w:pStyle"))
        key = None if named is None else named.get(_VAL)
        while key in self._styles and len(found) < 20:  # a cycle would be malformed, and endless
            found.append(self._styles[key])
            key = found[-1].base
        return found

    def heading_level(self, paragraph: Any) -> int | None:
        """1 to 6 for headings and the title, None for body text."""
        own = _number(paragraph.find(qn("w:pPr")), "w:outlineLvl")
        if own is not None:
            return own + 1 if own < 9 else None  # level 9 is Word's "body text"
        for style in self.chain(paragraph):
            match = _NAME.match(style.name)
            if match or style.name.lower() == "title":
                return int(match.group(1)) if match else 1
            level = _number(style.properties, "w:outlineLvl")
            if level is not None:
                return level + 1 if level < 9 else None
        return None

    def is_subtitle(self, paragraph: Any) -> bool:
        return any(style.name.lower() == "subtitle" for style in self.chain(paragraph))


class Numbering:
    """Counters of the numbered lists of one document, read in document order."""

    def __init__(self, document: Any) -> None:
        self._levels: dict[tuple[str, int], tuple[str, str, int]] = {}  # (abstract, level) -> format, text, start
        self._abstract: dict[str, str] = {}
        self._counters: dict[str, list[int]] = {}
        try:
            root = document.part.numbering_part.element
        except (KeyError, NotImplementedError):
            return  # the document has no lists
        for definition in root.iterchildren(qn("w:abstractNum")):
            key = definition.get(qn("w:abstractNumId"), "")
            for level in definition.iterchildren(qn("w:lvl")):
                depth = int(level.get(qn("w:ilvl"), "0"))
                shape, text = (_value(level, tag) for tag in ("w:numFmt", "w:lvlText"))
                self._levels[key, depth] = (shape or "decimal", text or "", _number(level, "w:start") or 0)
        for instance in root.iterchildren(qn("w:num")):
            self._abstract[instance.get(qn("w:numId"), "")] = _value(instance, "w:abstractNumId") or ""

    def label(self, paragraph: Any, styles: Styles) -> tuple[str, int]:
        """("-", depth) for a bullet, ("2.1.", depth) for a number, ("", 0) outside lists."""
        number, depth = self._reference(paragraph, styles)
        if number in (None, "0"):
            return "", 0
        abstract = self._abstract.get(number or "")
        level = self._levels.get((abstract or "", depth))
        if abstract is None or level is None:
            return "-", depth
        shape, pattern, _ = level
        counters = self._count(abstract, depth)
        if shape in ("bullet", "none") or "%" not in pattern:
            return "-" if shape == "bullet" else "", depth
        shown = re.sub(r"%(\d)", lambda match: self._shown(abstract, counters, int(match.group(1)) - 1), pattern)
        return shown.strip(), depth

    def _reference(self, paragraph: Any, styles: Styles) -> tuple[str | None, int]:
        """List and level of a paragraph: its own, else those of its style."""
        number, depth = None, None
        for properties in (paragraph.find(qn("w:pPr")), *(style.properties for style in styles.chain(paragraph))):
            reference = None if properties is None else properties.find(qn("w:numPr"))
            if reference is not None:
                number = number or _value(reference, "w:numId")
                depth = _number(reference, "w:ilvl") if depth is None else depth
        return number, min(max(depth or 0, 0), 8)

    def _count(self, abstract: str, depth: int) -> list[int]:
        """Advance the counter of this level; deeper levels begin anew."""
        counters = self._counters.setdefault(abstract, [])
        while len(counters) <= depth:
            counters.append(self._levels.get((abstract, len(counters)), ("", "", 1))[2] - 1)
        counters[depth] += 1
        del counters[depth + 1 :]
        return counters

    def _shown(self, abstract: str, counters: list[int], depth: int) -> str:
        if not 0 <= depth < len(counters):
            return ""
        value = counters[depth] + (depth < len(counters) - 1 and counters[depth] < 1)
        shape = self._levels.get((abstract, depth), ("decimal", "", 1))[0]
        if shape in ("lowerLetter", "upperLetter") and value > 0:
            letter = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)
            return letter.upper() if shape == "upperLetter" else letter
        return str(value)


def _value(element: Any, tag: str) -> str | None:
    child = element.find(qn(tag))
    return None if child is None else child.get(_VAL)


def _number(element: Any, tag: str) -> int | None:
    value = None if element is None else _value(element, tag)
    return int(value) if value and value.isascii() and value.isdigit() else None
