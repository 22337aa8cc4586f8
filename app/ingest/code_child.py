"""The process that reads outlines of source code: one file after the other from standard input, until that ends.

Run as `python -m app.ingest.code_child MEMORY PARENT`. The parsers are native code; a crash of one costs this process and
the symbols of one file. Starting it for every file would cost more than reading the file.

Request: one line of JSON (language, path, size), then so many bytes of UTF-8. Answer: one line of JSON, the fields of an
Outline, null for a language that is not read.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from dataclasses import astuple

from app.graph.code.outline import outline_of

_PR_SET_PDEATHSIG = 1


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not end up in an answer
    _confine(int(sys.argv[1]), int(sys.argv[2]))
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        text = sys.stdin.buffer.read(request["size"]).decode("utf-8")
        try:
            outline = outline_of(text, request["language"], request["path"])
        except Exception as error:  # a surprise of one file
            answer: object = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        else:
            answer = outline and {
                "definitions": [astuple(one) for one in outline.definitions],
                "references": [astuple(one) for one in outline.references],
            }
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _confine(memory: int, parent: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        sys.exit(1)


if __name__ == "__main__":
    main()
