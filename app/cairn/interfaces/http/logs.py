"""Logs of a serving process: one JSON object per line, or readable lines on a terminal. Always on standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog
from structlog.typing import Processor

from cairn.domain.secrets import strike_all, strike_secrets


class LogStream:
    """Where logs go. What cannot be written stops no request: the disk that it goes to may be full, or nobody reads the pipe. It
    is written later as far as the stream's buffer holds it, and lost beyond; a line of its own then says that there is a gap."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._failed = 0

    def write(self, text: str) -> None:
        try:
            self._stream.write(text)
        except OSError:
            self._failed += 1

    def flush(self) -> None:
        try:
            self._stream.flush()
            if self._failed:
                self._stream.write(
                    f'{{"event": "log.interrupted", "failed_writes": {self._failed}, "level": "warning"}}\n'
                )
                self._failed = 0
        except OSError:
            self._failed += 1


def configure() -> None:
    """INFO and above, with the request id, and never with local variables in tracebacks: they hold documents and
    keys. What libraries log (WARNING and above) and warn of takes the same shape, so that each line can be read by a machine."""
    in_colour = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structured = (structlog.processors.format_exc_info, _without_secrets, structlog.processors.JSONRenderer())
    began: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendered: tuple[Processor, ...] = (
        (_without_secrets, in_colour, _strike_rendered) if sys.stderr.isatty() else structured
    )
    stream = LogStream(sys.stderr)
    structlog.configure(
        processors=[*began, *rendered],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(stream),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    of_libraries = logging.StreamHandler(stream)
    of_libraries.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*began, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendered],
        )
    )
    logging.basicConfig(handlers=[of_libraries], level=logging.WARNING, force=True)
    logging.captureWarnings(True)


def _without_secrets(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Keys and tokens struck out, wherever a caller sent them: in a path, as a request id, in a text that an error quotes."""
    for name, value in event.items():
        event[name] = strike_all(value)
    return event


def _strike_rendered(_logger: object, _method: str, line: Any) -> str:
    """The same of a line for people, whose stack trace is made when it is rendered."""
    return strike_secrets(str(line))
