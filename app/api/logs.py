"""Logs of a serving process: one JSON object per line, or readable lines on a terminal. Always on standard error."""

from __future__ import annotations

import logging
import sys

import structlog


def configure() -> None:
    """INFO and above, with the request id, and never with local variables in tracebacks: they hold documents and
    keys."""
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structured = (structlog.processors.format_exc_info, structlog.processors.JSONRenderer())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *((plain,) if sys.stderr.isatty() else structured),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
