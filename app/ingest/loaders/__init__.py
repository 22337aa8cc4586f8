"""Bytes of a file -> LoadedDocument. What a file is follows from its content first, its name second.

A new format is one module with `load(content, kind, limits)` in this package and one row of FORMATS.
"""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from pathlib import PurePosixPath

from app.domain.document import LoadedDocument
from app.errors import (
    EmptyDocumentError,
    EncryptedDocumentError,
    ParserLimitError,
    UnsupportedTypeError,
)
from app.ingest.loaders import code, foreign
from app.ingest.loaders.base import Format, Kind, Limits
from app.ingest.loaders.text import decode, is_binary
from app.language.text import normalise

__all__ = ["FORMATS", "Format", "Kind", "Limits", "load", "sniff"]

_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_WHOLE_PAGE = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)*<(?:!doctype\s+html|html|head|body|title|meta)\b", re.IGNORECASE
)
_TAG = re.compile(r"<[a-z!/][^<>]*>", re.IGNORECASE)


def _is_pdf(content: bytes) -> bool:
    return b"%PDF-" in content[:1024]


def _is_docx(content: bytes) -> bool:
    return content.startswith(b"PK\x03\x04") and b"word/document.xml" in content


FORMATS = (
    Format("pdf", "application/pdf", frozenset({".pdf"}), _is_pdf, isolated=True),
    Format("docx", _DOCX, frozenset({".docx", ".docm"}), _is_docx, isolated=True),
    Format("html", "text/html", frozenset({".html", ".htm", ".xhtml"}), isolated=True),
    Format("markdown", "text/markdown", frozenset({".md", ".markdown", ".mdown", ".mkd"})),
    Format("code", "text/x-source", frozenset(code.LANGUAGES)),
    Format("text", "text/plain", frozenset({".txt", ".text", ".log"})),
)
_BY_NAME = {row.name: row for row in FORMATS}
_BY_EXTENSION = {extension: row for row in FORMATS for extension in row.extensions}
_BY_MEDIA_TYPE = {row.media_type: row for row in FORMATS} | {"application/xhtml+xml": _BY_NAME["html"]}
_SUPPORTED = "PDF, Word (.docx), HTML, Markdown, plain text and source code"


def sniff(name: str, content: bytes, media_type: str | None = None) -> Kind:
    """What the file is, by content first, then by extension, then by media type.

    Raises EmptyDocumentError for nothing but white space, EncryptedDocumentError for a protected Office file,
    UnsupportedTypeError for anything that no loader reads.
    """
    if not content.strip():
        raise EmptyDocumentError("the file is empty" if not content else "the file holds nothing but white space")
    extension = PurePosixPath(name.replace("\\", "/")).suffix.lower()
    for row in FORMATS:
        if row.recognises and row.recognises(content):
            return Kind(row, row.media_type)
    found = foreign.describe(content)
    if found == foreign.ENCRYPTED_OFFICE:
        raise EncryptedDocumentError("the Office file is protected by a password; remove it and send the file again")
    if found == foreign.ZIP and extension in _BY_NAME["docx"].extensions:
        return Kind(_BY_NAME["docx"], _DOCX)  # cut off or damaged: the loader says so
    if found or is_binary(content):
        raise UnsupportedTypeError(
            f"{name!r} is {found or 'binary data of an unknown kind'}; supported are {_SUPPORTED}"
        )
    return _textual(extension, content, (media_type or "").split(";")[0].strip().lower())


def _textual(extension: str, content: bytes, media_type: str) -> Kind:
    row = _BY_EXTENSION.get(extension)
    if row and row.name == "code":
        language = code.LANGUAGES[extension]
        return Kind(row, f"text/x-{language}", language)
    if row and row.name == "markdown":
        return Kind(row, row.media_type)
    head = decode(content[:4096])
    claimed = row or _BY_MEDIA_TYPE.get(media_type)
    if _WHOLE_PAGE.match(head) or (claimed is _BY_NAME["html"] and _TAG.search(decode(content))):
        return Kind(_BY_NAME["html"], "text/html")
    if row is None and claimed is _BY_NAME["markdown"]:
        return Kind(claimed, claimed.media_type)
    return Kind(_BY_NAME["text"], "text/plain")


def load(content: bytes, name: str, media_type: str | None, limits: Limits) -> LoadedDocument:
    """Normalised text of the file, in this process; `app.ingest.parse` guards the formats that need it.

    Raises UnsupportedTypeError or a ParseError that says why and what to do.
    """
    return _load(content, sniff(name, content, media_type), limits)


def load_text(content: bytes, name: str, limits: Limits) -> LoadedDocument:
    """The same for text that the caller wrote out: Markdown or code if its name says so, else plain, whatever it holds."""
    if not content.strip():
        raise EmptyDocumentError("the text is empty")
    kind = _textual(PurePosixPath(name).suffix.lower(), b"", "")
    if kind.format.name == "html":
        kind = Kind(_BY_NAME["text"], "text/plain")
    return _load(content, kind, limits)


def _load(content: bytes, kind: Kind, limits: Limits) -> LoadedDocument:
    loader = import_module(f"{__name__}.{kind.format.name}")
    document: LoadedDocument = loader.load(content, kind, limits)
    # paged text is normalised page by page already: doing it again changes nothing, so page starts stay right
    text = normalise(document.text)
    if not text.strip():
        raise EmptyDocumentError("the file holds no text")
    if len(text) > limits.max_text_chars:
        raise ParserLimitError(
            f"the text has {len(text)} characters, more than ingest.maxTextChars ({limits.max_text_chars}); split it"
        )
    title = normalise(document.title).strip() if document.title else None
    return replace(document, text=text, title=title or None)
