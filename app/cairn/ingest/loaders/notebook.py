"""Jupyter notebooks (.ipynb): Markdown as it stands, code in fences of the kernel's language, the beginning of text outputs.

The format is plain JSON of four kinds of cells (nbformat 4; 3, before 2015, differs in a few names).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from cairn.errors import EmptyDocumentError, ParseError
from cairn.ingest.loaders import html, render
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.markdown import strip_images
from cairn.ingest.loaders.site_markup import plain_markup
from cairn.ingest.loaders.text import decode
from cairn.language.linear import bounded

_LONGEST_OUTPUT: Final = 1000
"""Characters shown of one output, about twelve lines of a terminal: what a cell came to, not its log."""
_LARGEST_PAGE: Final = 200_000
"""Bytes of an output in HTML that is read for its tables."""
_MAGIC: Final = bounded(r"%%(bash|sh|sql|html|javascript|js|latex|markdown|perl|ruby|r|R|python[23]?)\b[^\n]*\n")
"""A cell in another language than the kernel's."""
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_Json = Mapping[str, Any]


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises ParseError for what is no notebook, EmptyDocumentError for one without cells."""
    book = _read(decode(content))
    cells = [cell for sheet in _objects(book, "worksheets") for cell in _objects(sheet, "cells")] or _objects(
        book, "cells"
    )
    metadata = _object(book, "metadata")
    language = _language(metadata)
    blocks = [block for cell in cells for block in _cell(cell, language, limits) if block.strip()]
    if not blocks:
        raise EmptyDocumentError("the notebook has no cell with text")
    title = metadata.get("title") or metadata.get("name")
    return LoadedText(render.join(blocks), title=title if isinstance(title, str) else None)


def _read(text: str) -> _Json:
    try:
        book = json.loads(text)
    except RecursionError:
        raise ParseError("the notebook is nested too deep to be one; open and save it in Jupyter") from None
    except ValueError as error:
        conflict = " (it holds the marks of a merge conflict)" if re.search(r"^<{7} ", text, re.MULTILINE) else ""
        raise ParseError(
            f"the notebook is no valid JSON: {str(error)[:200]}{conflict}; mend it there, or open and save it in Jupyter"
        ) from None
    if not isinstance(book, dict) or not ("cells" in book or "worksheets" in book):
        raise ParseError("the file is JSON, but no notebook: it has no list of cells")
    return book


def _object(parent: _Json, key: str) -> _Json:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _objects(parent: _Json, key: str) -> list[_Json]:
    value = parent.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    """A string, or a list of lines."""
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


def _language(metadata: _Json) -> str:
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        value = _object(metadata, key).get(name)
        if isinstance(value, str) and re.fullmatch(r"[\w+#.-]{1,30}", value):
            return value.lower()
    return ""


def _cell(cell: _Json, language: str, limits: LoadLimits) -> Iterator[str]:
    kind, source = cell.get("cell_type"), _text(cell.get("source", cell.get("input")))
    if kind == "code":
        if source.strip():
            stated = cell.get("language")  # nbformat 3
            yield _code(source, language or (stated if isinstance(stated, str) and stated.isalnum() else ""))
        for output in _objects(cell, "outputs"):
            yield from _output(output, limits)
    elif kind == "heading":  # nbformat 3
        level = cell.get("level")
        yield render.heading(level if isinstance(level, int) else 1, source)
    elif kind == "markdown":
        yield strip_images(plain_markup(source.replace("\r\n", "\n"))).strip("\n")
    else:
        yield render.paragraph(source)


def _code(source: str, language: str) -> str:
    magic = _MAGIC.match(source)
    return render.fence(source, magic[1].lower() if magic else language)


def _output(output: _Json, limits: LoadLimits) -> Iterator[str]:
    kind = output.get("output_type")
    if kind in ("stream", "error", "pyerr"):
        text = _text(output.get("text")) or ": ".join(
            filter(None, (_text(output.get("ename")), _text(output.get("evalue"))))
        )
        yield _short(text)
        return
    data = _object(output, "data") or output
    page = _text(data.get("text/html"))
    if "<table" in page and len(page) <= _LARGEST_PAGE:
        yield html.load(page.encode("utf-8", "replace"), limits).text
    elif markdown := _text(data.get("text/markdown")):
        yield strip_images(markdown[:_LONGEST_OUTPUT])
    else:
        yield _short(_text(data.get("text/plain", data.get("text"))))


def _short(text: str) -> str:
    """The beginning of an output as a terminal shows it, in whole lines."""
    lines = [line.rpartition("\r")[2] for line in _ESCAPES.sub("", text.replace("\r\n", "\n")).strip("\n").split("\n")]
    shown = "\n".join(lines)
    if len(shown) > _LONGEST_OUTPUT:
        shown = (shown[:_LONGEST_OUTPUT].rpartition("\n")[0] or shown[:_LONGEST_OUTPUT]) + "\n…"
    return render.fence(shown) if shown.strip() else ""
