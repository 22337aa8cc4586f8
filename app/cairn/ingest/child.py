"""The process that reads what strangers wrote: files through large parsers, the symbols of source code, pages as pictures.

It is forked (fork_server.py), or run as `python -m cairn.ingest.child BOX`. It trusts nobody: before it reads anything it puts
itself into a box (box.py), and it dies with its parent. Imports are lean (no pydantic), so that a start costs little.

A request is one line of JSON (task, size, what the task needs), then `size` bytes. An answer has the same form: fields of the
task, or error and detail, then `size` bytes; before it may come lines that tell how much is read ({"share": 0.4}).
The process ends with its input. confine.py is the other side.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from importlib import import_module
from typing import Any, Final, NamedTuple

from cairn.errors import CairnError, ParseError, ParserLimitError, named_reason
from cairn.ingest.box import Box, enter
from cairn.ingest.loaders.base import TELL_SHARE

_HeadAndBody = tuple[Mapping[str, Any], bytes]
_PDF: Final = "cairn.ingest.loaders.pdf"
_MODULES: Final[Mapping[str, Sequence[str]]] = {
    "outline": ("cairn.graph.code.outline",),
    "draw": (_PDF, f"{_PDF}_picture"),
    "marks": (_PDF, f"{_PDF}_marks"),
}
"""What a task imports, whatever it reads."""


class DocumentLimits(NamedTuple):
    """The bounds of one document; see IngestSettings."""

    max_pages: int
    max_text_chars: int
    max_unpacked_bytes: int
    parse_seconds: int


def main() -> None:
    answer_requests(Box(*json.loads(sys.argv[1])))


def prepare(task: str, media_type: str | None) -> None:
    """Import what a task needs, so that a process forked from this one has it; nothing is read yet. What cannot be imported is
    told by the task itself."""
    with contextlib.suppress(Exception):  # whatever a broken package raises
        for module in _MODULES.get(task, ()):
            import_module(module)
        if task == "load" and media_type is not None:
            from cairn.ingest.loaders import import_loader

            import_loader(media_type)


def answer_requests(box: Box) -> None:
    """Enter the box, and answer by the standard output what comes by the standard input, to its end."""
    requests = open(0, "rb", closefd=False)  # noqa: SIM115
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not end up in an answer
    enter(box)

    def tell(share: float) -> None:
        answers.write(json.dumps({"share": share}).encode() + b"\n")
        answers.flush()

    TELL_SHARE.set(tell)
    while line := requests.readline():
        request = json.loads(line)
        head, body = _answer(request, requests.read(request["size"]), box)
        answers.write(json.dumps({**head, "size": len(body)}).encode() + b"\n")
        answers.write(body)
        answers.flush()


def _answer(request: Mapping[str, Any], content: bytes, box: Box) -> _HeadAndBody:
    try:
        return _TASKS[request["task"]](request, content)
    except CairnError as error:
        return _error(error)
    except MemoryError:
        return _error(out_of_memory(box.memory_bytes))
    except Exception as error:  # a parser's own surprise costs this document, nothing else
        return _error(ParseError(f"the file cannot be read ({named_reason(error)[:300]})"))


def out_of_memory(limit: int) -> ParserLimitError:
    return ParserLimitError(f"reading the file needs more than {limit} bytes of memory (ingest.parseMemoryBytes)")


def _error(error: CairnError) -> _HeadAndBody:
    return {"error": type(error).__name__, "detail": error.detail}, b""


def _load_document(request: Mapping[str, Any], content: bytes) -> _HeadAndBody:
    """media_type, limits -> title, pages, notes; the text as UTF-8."""
    from cairn.ingest.loaders import kind_of_media_type, load

    kind = kind_of_media_type(request["media_type"])
    if kind is None:
        raise ParseError(f"there is no loader for {request['media_type']}")
    document = load(content, kind, DocumentLimits(*request["limits"]))
    pages = [(page.start, page.number) for page in document.pages]
    return {"title": document.title, "pages": pages, "notes": document.notes}, document.text.encode()


def _outline_code(request: Mapping[str, Any], content: bytes) -> _HeadAndBody:
    """language, path, and code in UTF-8 -> the fields of an Outline as JSON; null for a language that is not read."""
    from cairn.graph.code.outline import outline_of

    outline = outline_of(content.decode("utf-8"), request["language"], request["path"])
    fields = outline and {
        "definitions": [astuple(one) for one in outline.definitions],
        "references": [astuple(one) for one in outline.references],
        "calls": [astuple(one) for one in outline.calls],
    }
    return {}, json.dumps(fields).encode()


def _draw_page(request: Mapping[str, Any], content: bytes) -> _HeadAndBody:
    """page (from 1), width -> pages, width, height; the PNG, empty where there is no such page."""
    from cairn.ingest.loaders.pdf import open_pdf
    from cairn.ingest.loaders.pdf_picture import draw_page

    document = open_pdf(content)
    if request["page"] > len(document):
        return {"pages": len(document), "width": 0, "height": 0}, b""
    png, width, height = draw_page(document[request["page"] - 1], request["width"])
    return {"pages": len(document), "width": width, "height": height}, png


def _find_marks(request: Mapping[str, Any], content: bytes) -> _HeadAndBody:
    """page (from 1), its text as it is stored, start and end in that -> rectangles as JSON; null where there is no such page."""
    from cairn.ingest.loaders.pdf import open_pdf
    from cairn.ingest.loaders.pdf_marks import find_marks

    document = open_pdf(content)
    if request["page"] > len(document):
        return {}, b"null"
    marks = find_marks(document[request["page"] - 1], request["text"], request["start"], request["end"])
    return {}, json.dumps([astuple(mark) for mark in marks]).encode()


_TASKS: Final[Mapping[str, Callable[[Mapping[str, Any], bytes], _HeadAndBody]]] = {
    "load": _load_document,
    "outline": _outline_code,
    "draw": _draw_page,
    "marks": _find_marks,
}

if __name__ == "__main__":
    main()
