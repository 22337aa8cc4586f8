"""Wikitext of MediaWiki as its reader sees it, as Markdown, by mwparserfromhell.

What a template makes of its arguments is the affair of the wiki, and unknown here: an infobox is its fields, a notice its text,
of any other the sentences among its arguments stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import mwparserfromhell
from mwparserfromhell import nodes

from cairn.errors import ParserLimitError
from cairn.ingest.loaders import render
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.sphinx_words import ADMONITIONS
from cairn.ingest.loaders.text import decode
from cairn.language.tables import render_table

_BLOCK: Final = re.compile("\ue000(\\d{1,9})\ue001")
_ITEM: Final = re.compile("\ue002([-1:;]{1,20})\ue003")
_TERM_ENDS: Final = " : "
_PRIVATE: Final = re.compile("[\ue000-\ue003]")
_SWITCH: Final = re.compile(r"__[A-Z]{3,30}__")
_NAMESPACE: Final = re.compile(r"\s{0,9}:?(?P<name>[^:\[\]|]{1,40}):", re.IGNORECASE)
_NOT_SHOWN: Final = {
    "file", "image", "category", "fichier", "catégorie", "datei", "bild", "kategorie", "archivo", "categoría", "immagine",
    "categoria", "media",
}  # fmt: skip
"""Namespaces of pictures and of what a page is filed under, in the five languages."""
_LISTS: Final = {"li": "-", "dd": ":", "dt": ";"}
_CODE: Final = {"pre", "source", "syntaxhighlight", "poem"}
_SILENT: Final = {
    "ref",
    "references",
    "gallery",
    "templatestyles",
    "templatedata",
    "includeonly",
    "imagemap",
    "timeline",
    "score",
}
_SENTENCE: Final = 4
"""Words from which an argument of an unknown template is taken for what a reader sees."""
_UNREAD: Final = "it cannot be read as wikitext, so it is read as plain text"


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises ParserLimitError."""
    text = decode(content).replace("\r\n", "\n").removeprefix("\ufeff")
    text = _SWITCH.sub("", _PRIVATE.sub("", text))
    try:
        return LoadedText(render.join(_Page().blocks(mwparserfromhell.parse(text))))
    except RecursionError:
        raise ParserLimitError("the wikitext is nested too deep to be read") from None
    except MemoryError:
        raise
    except Exception:  # of the library; the words are there all the same
        return LoadedText(text, notes=(_UNREAD,))


class _Page:
    """Wikitext on its way to blocks: its text is written with marks where a block stands or an item begins, and cut there."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def blocks(self, code: Any) -> Iterator[str]:
        paragraph: list[str] = []
        numbers: list[tuple[str, int]] = []
        for line in [*self.text(code).split("\n"), ""]:
            block, item = _BLOCK.fullmatch(line.strip()), _ITEM.match(line)
            if item or block or not line.strip():
                if said := render.collapse(" ".join(paragraph)).strip():
                    yield render.paragraph(said)
                paragraph = []
            if item:
                yield self._item(item[1], self._inline(line[item.end() :]), numbers)
            elif block:
                yield self.made[int(block[1])]
            else:
                paragraph.append(self._inline(line))
            if not item:
                numbers = []

    def line(self, code: Any) -> str:
        """What stands in one line: a heading, a cell, an argument."""
        return render.collapse(self._inline(_ITEM.sub(" ", self.text(code)))).strip() if code is not None else ""

    def text(self, code: Any) -> str:
        parts: list[str] = []
        marks = ""
        for node in code.nodes:
            if isinstance(node, nodes.Tag) and (mark := _LISTS.get(str(node.tag).strip().lower())) and node.wiki_markup:
                marks += "1" if str(node.wiki_markup) == "#" else mark
                continue
            if marks:
                parts.append(f"\ue002{marks}\ue003")
                marks = ""
            parts.append(self._shown(node))
        return "".join(parts)

    def _inline(self, line: str) -> str:
        """Blocks that stand in the middle of a line are said in it."""
        line = _ITEM.sub(_TERM_ENDS, line)
        return _BLOCK.sub(lambda found: f" {render.collapse(self.made[int(found[1])])} ", line)

    def _item(self, marks: str, text: str, numbers: list[tuple[str, int]]) -> str:
        depth = len(marks) - 1
        del numbers[depth + 1 :]
        numbers += [("", 0)] * (depth + 1 - len(numbers))
        before, number = numbers[depth]
        numbers[depth] = (marks[-1], number + 1 if before == marks[-1] else 1)
        if marks[-1] == ";":
            term, _, said = text.partition(_TERM_ENDS)
            return render.item(depth, "-", f"**{term.strip()}** {said.strip()}".rstrip())
        if set(marks) == {":"}:
            return render.paragraph(text.strip())
        return render.item(depth, f"{numbers[depth][1]}." if marks[-1] == "1" else "-", text.strip())

    def _block(self, block: str) -> str:
        self.made.append(block)
        return f"\n\ue000{len(self.made) - 1}\ue001\n" if block else ""

    def _shown(self, node: Any) -> str:
        write = _WRITERS.get(type(node))
        return write(self, node) if write else ""

    # --- kinds of nodes ---------------------------------------------------------------------------------------------

    def _heading(self, node: nodes.Heading) -> str:
        title = self.line(node.title)
        return self._block(render.heading(node.level, title)) if title else ""

    def _link(self, node: nodes.Wikilink) -> str:
        title = str(node.title).strip()
        space = _NAMESPACE.match(title)
        if space and not title.startswith(":") and space["name"].strip().lower() in _NOT_SHOWN:
            return ""
        return self.line(node.text) if node.text is not None else title.lstrip(":").replace("_", " ")

    def _address(self, node: nodes.ExternalLink) -> str:
        text, address = self.line(node.title), str(node.url).strip()
        return f"[{text}]({address})" if text and text != address else address

    def _entity(self, node: nodes.HTMLEntity) -> str:
        try:
            return str(node.normalize())
        except ValueError:  # no character
            return str(node)

    def _template(self, node: nodes.Template) -> str:
        name = " ".join(str(node.name).split()).lower().replace("_", " ")
        fields = [(" ".join(str(one.name).split()), self.line(one.value), one.showkey) for one in node.params]
        if label := ADMONITIONS.get(name):
            said = " ".join(value for _, value, named in fields if not named and value)
            return self._block(render.run_in(label)) + f"\n\n{said}\n\n" if said else ""
        if name.startswith("infobox") or (
            len(fields) > 2 and all(named for *_, named in fields) and not name.startswith("cite")
        ):
            return self._block(
                render_table([[key, value] for key, value, named in fields if named and value], header_rows=0)
            )
        if name in (
            "code",
            "tt",
            "kbd",
            "lang",
            "nowrap",
            "em",
            "strong",
            "abbr",
            "convert",
            "val",
            "quote",
            "blockquote",
        ):
            values = [value for _, value, named in fields if not named and value]
            return (
                (" ".join(values[:2]) if name == "convert" else values[-1 if name == "lang" else 0]) if values else ""
            )
        return " ".join(value for _, value, named in fields if not named and len(value.split()) >= _SENTENCE)

    def _argument(self, node: nodes.Argument) -> str:
        return self.text(node.default) if node.default is not None else ""

    def _tag(self, node: nodes.Tag) -> str:
        name = str(node.tag).strip().lower()
        if name == "table":
            return self._block(self._table(node))
        if name in _SILENT:
            return ""
        inner = node.contents
        if name in _CODE:
            language = next((str(one.value).strip() for one in node.attributes if str(one.name).strip() == "lang"), "")
            return self._block(render.fence(str(inner or ""), language))
        if name in ("br", "hr", "p", "div", "blockquote", "center", "ul", "ol"):
            return f"\n\n{self.text(inner)}\n\n" if inner is not None and name != "br" else " "
        if name in ("nowiki", "math", "chem"):
            text = _PRIVATE.sub("", str(inner or ""))
            return f"${text.strip()}$" if name != "nowiki" and text.strip() else text
        if name in ("code", "tt", "kbd", "samp"):
            text = self.line(inner)
            return f"`{text}`" if text and "`" not in text else text
        if name == "li":
            return f"\n\ue002-\ue003{self.line(inner)}\n"
        return self.text(inner) if inner is not None else ""

    def _table(self, node: nodes.Tag) -> str:
        grid, rows, header = render.MergedCells(), list[list[str]](), 0
        caption = ""
        direct = [one for one in node.contents.nodes if isinstance(one, nodes.Tag)] if node.contents is not None else []
        loose = [one for one in direct if str(one.tag) in ("td", "th")]
        if loose and (first := self.line(loose[0].contents)).startswith(
            "+"
        ):  # the library takes the caption for a cell
            caption, loose = first[1:].strip(), loose[1:]
        for cells in [loose, *(_cells(tag) for tag in direct if str(tag.tag) == "tr")]:
            if not cells:
                continue
            row: list[str] = []
            for cell in cells:
                grid.add(row, self.line(cell.contents), _span(cell, "colspan"), _span(cell, "rowspan") - 1)
            grid.fill(row)
            if header == len(rows) and all(str(cell.tag) == "th" for cell in cells):
                header += 1
            rows.append(row)
        table = render_table(rows, header_rows=header or None)
        return "\n\n".join(filter(None, [render.paragraph(caption) if caption else "", table]))


def _cells(row: nodes.Tag) -> list[Any]:
    inner = row.contents.nodes if row.contents is not None else []
    return [one for one in inner if isinstance(one, nodes.Tag) and str(one.tag) in ("td", "th")]


def _span(cell: nodes.Tag, name: str) -> int:
    found = next(
        (str(one.value).strip("\"' ") for one in cell.attributes if str(one.name).strip().lower() == name), "1"
    )
    return min(max(int(found), 1), 100) if found.isdecimal() and len(found) < 5 else 1


_WRITERS: Final[dict[type, Callable[[_Page, Any], str]]] = {
    nodes.Text: lambda _, node: str(node.value),
    nodes.Heading: _Page._heading,
    nodes.Wikilink: _Page._link,
    nodes.ExternalLink: _Page._address,
    nodes.HTMLEntity: _Page._entity,
    nodes.Template: _Page._template,
    nodes.Argument: _Page._argument,
    nodes.Tag: _Page._tag,
}
