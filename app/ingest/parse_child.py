"""The parsing subprocess: reads one file from standard input, writes its text to standard output, ends.

Run as `python -m app.ingest.parse_child`. It trusts nobody: before it reads the file it gives up core dumps and takes
limits on memory and CPU, and it dies with its parent. Imports are lean (no pydantic), so that a start costs little.

Request: one line of JSON (name, media_type, limits, parent), then the bytes. Answer: one line of JSON, either
{"error", "detail"} or the fields of LoadedDocument but its text, then the text as UTF-8.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any, NamedTuple

from app.domain.document import LoadedDocument
from app.errors import CairnError, ParseError, ParserLimitError

_PR_SET_PDEATHSIG = 1


class ChildLimits(NamedTuple):
    """The bounds of one document and of this process; see IngestSettings."""

    max_pages: int
    max_text_chars: int
    max_unpacked_bytes: int
    parse_memory_bytes: int
    parse_seconds: int


def main() -> None:
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not end up in the answer
    request: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    limits = ChildLimits(**request["limits"])
    _confine(limits, request["parent"])
    with answer:
        try:
            _write(answer, _load(sys.stdin.buffer.read(), request, limits))
        except CairnError as error:
            _write_error(answer, type(error).__name__, error.detail)


def _load(content: bytes, request: dict[str, Any], limits: ChildLimits) -> LoadedDocument:
    from app.ingest.loaders import load

    try:
        return load(content, request["name"], request["media_type"], limits)
    except CairnError:
        raise
    except MemoryError:
        raise ParserLimitError(
            f"reading the file needs more than {limits.parse_memory_bytes} bytes of memory (ingest.parseMemoryBytes)"
        ) from None
    except Exception as error:  # a parser's own surprise costs this document, nothing else
        raise ParseError(f"the file cannot be read ({type(error).__name__}: {str(error)[:200]})") from None


def _confine(limits: ChildLimits, parent: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (limits.parse_memory_bytes, limits.parse_memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.parse_seconds, limits.parse_seconds + 1))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        sys.exit(1)


def _write(answer: Any, document: LoadedDocument) -> None:
    head = {
        "media_type": document.media_type,
        "markup": document.markup,
        "title": document.title,
        "pages": [(page.start, page.number) for page in document.pages],
        "code_language": document.code_language,
    }
    answer.write(json.dumps(head).encode() + b"\n")
    answer.write(document.text.encode())


def _write_error(answer: Any, name: str, detail: str) -> None:
    answer.write(json.dumps({"error": name, "detail": detail}).encode() + b"\n")


if __name__ == "__main__":
    main()
