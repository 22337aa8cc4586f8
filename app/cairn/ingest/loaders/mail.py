"""Mails (.eml): who wrote to whom, when and about what, the text, and the attachments that Cairn can read.

Through the standard library. Of a text that is there twice, the plain one is taken, unless only the HTML has its tables.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, Final

from cairn.domain.document import LoadedDocument
from cairn.errors import CairnError, EncryptedDocumentError, ParseError, ParserLimitError, UnsupportedTypeError
from cairn.ingest.loaders import html, recognize, render, sniff
from cairn.ingest.loaders import load as load_file
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.text import decode

_ADDRESSES: Final = ("From", "To", "Cc", "Reply-To")
_LONGEST_HEADER: Final = 2000
"""Characters shown of a header: some two dozen addresses."""
_DEEPEST: Final = 20
"""Parts within parts; a forwarded mail with attachments takes three."""
_MOST_PARTS: Final = 1000
_SIGNATURES: Final = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
_ENCRYPTED: Final = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_NO_BASE64: Final = re.compile(r"[^A-Za-z0-9+/]+")
_HEADING: Final = re.compile(r"^(#{1,6})(?= )", re.MULTILINE)
_SOFT_BREAK: Final = re.compile(r"(?<!^--) \r?\n(?![>\s]|-- )", re.MULTILINE)
_WHO_WROTE: Final = re.compile(r"[^>]{0,400}?(?:\b(?:19|20)\d\d\b|\b\d{1,2}[:h]\d\d\b|\w@\w)[^>]{0,400}:")
"""The line above a quotation, which has a year, a time or an address: "On 12 Nov 2024, Ann Poe wrote:"."""
_BLANK_LINES: Final = re.compile(r"\n{3,}")
_TABLE: Final = "| --- |"
_STOPGAP: Final = 0.5
"""A plain text with fewer words than this share of the HTML's says to view the mail elsewhere."""


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises ParserLimitError for parts nested too deep, EncryptedDocumentError, or ParseError."""
    try:
        message = message_from_bytes(content)
        if not message.keys():
            raise ParseError("the file is no mail: it has no header lines such as From and Subject")
        text = render.join(filter(None, _Reader(limits).mail(message, 0)))
    except RecursionError:
        raise _too_nested() from None
    return LoadedText(text, title=_header(message, "Subject") or None)


def _too_nested() -> ParserLimitError:
    return ParserLimitError(
        f"the mail has more than {_DEEPEST} parts inside each other, or {_MOST_PARTS} in all; save what matters as files"
    )


class _Reader:
    """Reads one mail and those inside it."""

    def __init__(self, limits: LoadLimits) -> None:
        self.limits = limits
        self.parts = 0

    def mail(self, message: Message, depth: int) -> Iterator[str]:
        """Subject as a heading, the other headers as a list, the text, the attachments."""
        yield render.heading(depth + 1, _header(message, "Subject") or "No subject")
        yield from (render.item(0, "-", line) for line in _header_lines(message))
        attachments: list[Message] = []
        yield from self._part(message, depth, attachments)
        unread = []
        for part in attachments:
            name = _decoded(part.get_filename() or "")
            try:
                yield from self._attachment(part, name, depth + 1)
            except CairnError as error:
                unread.append(f"{name or 'without a name'} ({_reason(part, error)})")
        if unread:
            yield render.paragraph(f"Attachments that were not read: {'; '.join(unread)}")

    def _part(self, part: Message, depth: int, attachments: list[Message]) -> Iterator[str]:
        """Text of a part; what is no text of the mail is added to the attachments."""
        self.parts += 1
        if depth > _DEEPEST or self.parts > _MOST_PARTS:
            raise _too_nested()
        kind, inner = part.get_content_type(), _inner(part)
        if kind in _ENCRYPTED:
            raise EncryptedDocumentError(
                "the mail is encrypted or sealed; save it decrypted from your mail program and send that"
            )
        if kind == "multipart/alternative":
            yield from self._alternative(inner, depth, attachments)
        elif kind == "message/rfc822":
            for message in inner:
                yield from self.mail(message, depth + 1)
        elif inner:
            for one in inner:
                yield from self._part(one, depth + 1, attachments)
        elif kind in ("text/plain", "text/html") and not _is_attached(part):
            yield self._text(part)
        elif kind not in _SIGNATURES and (part.get_filename() or kind.startswith("text/")):
            attachments.append(part)

    def _alternative(self, parts: list[Message], depth: int, attachments: list[Message]) -> Iterator[str]:
        """The better one of several renderings of the same text."""
        texts: dict[str, str] = {}
        for part in parts:
            kind = "text/plain" if part.get_content_type() == "text/plain" else "text/html"
            if kind == "text/html" or not _is_attached(part):
                texts[kind] = render.join(filter(None, self._part(part, depth + 1, attachments)))
        plain, rich = texts.get("text/plain", ""), texts.get("text/html", "")
        complete = len(plain.split()) >= _STOPGAP * len(rich.split()) and _TABLE not in rich
        yield plain if plain.strip() and complete else rich or plain

    def _text(self, part: Message) -> str:
        content = _content(part)
        charset = part.get_content_charset()
        try:
            text = decode(content) if charset in (None, "us-ascii") else content.decode(charset, "replace")
        except LookupError:
            text = decode(content)
        if part.get_content_type() == "text/html":
            return html.load(text.encode("utf-8", "replace"), self.limits).text if text.strip() else ""
        return render.paragraph(_apart(_unfolded(text) if part.get_param("format") == "flowed" else text))

    def _attachment(self, part: Message, name: str, depth: int) -> Iterator[str]:
        """Raises CairnError for one that cannot be read."""
        content = _content(part)
        kind = sniff(name, content, part.get_content_type())
        try:
            document = load_file(content, kind, self.limits)
        except (CairnError, MemoryError, RecursionError):
            raise
        except Exception as error:  # a parser's own surprise costs this attachment, not the mail
            raise ParseError(f"cannot be read: {type(error).__name__}") from None
        yield render.heading(depth + 1, f"Attachment: {name}")
        yield _nested(document, depth + 1)


def _inner(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [one for one in payload if isinstance(one, Message)] if isinstance(payload, list) else []


def _content(part: Message) -> bytes:
    """Bytes of a part. The standard library gives base64 that is cut off as it stands."""
    if str(part.get("Content-Transfer-Encoding", "")).strip().lower() == "base64":
        letters = _NO_BASE64.sub("", str(part.get_payload()).partition("=")[0])
        return b64decode(letters[: len(letters) - (len(letters) % 4 == 1)] + "==")
    payload: Any = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(part.get_filename())


def _reason(part: Message, error: CairnError) -> str:
    if isinstance(error, UnsupportedTypeError):
        return recognize.describe(_content(part)) or "a format that is not supported"
    return error.detail


def _nested(document: LoadedDocument, depth: int) -> str:
    """A document as a part of another, its headings below that of the attachment."""
    if document.code_language:
        return render.fence(document.text, document.code_language)
    if document.markup != "markdown":
        return render.paragraph(document.text)
    return _HEADING.sub(lambda match: "#" * min(len(match[1]) + depth, 6), document.text)


def _unfolded(text: str) -> str:
    """Lines that a mail program broke (RFC 3676) joined again: those that end with a space, but not the mark of a signature."""
    return _SOFT_BREAK.sub(" ", text)


def _apart(text: str) -> str:
    """What is quoted of other mails, and the signature, as blocks of their own, so that nobody takes the words of another for the
    writer's. Who was quoted stands above: some programs write that into the quotation. The mark of a signature goes."""
    lines: list[str] = []
    quoted = False
    for line in map(str.rstrip, text.split("\n")):
        before, quoted = quoted, line.startswith(">")
        if quoted and not before:
            said = line.removeprefix(">").strip()
            lines += [said, ""] if _WHO_WROTE.fullmatch(said) else ["", line]
        elif line == "--":
            lines.append("")
        else:
            lines += ["", line] if before and not quoted and line else [line]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines))


# --- headers --------------------------------------------------------------------------------------------------------


def _header_lines(message: Message) -> Iterator[str]:
    for name in _ADDRESSES:
        if value := _header(message, name):
            yield f"{name}: {value}"
    if stated := _header(message, "Date"):
        yield f"Date: {_date(stated)}"


def _header(message: Message, name: str) -> str:
    raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    return _decoded(str(raw))


def _decoded(raw: str) -> str:
    """A header in characters: encoded words (RFC 2047), or bytes that were sent as they are."""
    raw = raw[: 10 * _LONGEST_HEADER]
    if any("\udc80" <= letter <= "\udcff" for letter in raw):
        return _one_line(decode(raw.encode("utf-8", "surrogateescape")))
    try:
        return _one_line(str(make_header(decode_header(raw))))
    except (HeaderParseError, LookupError, ValueError):
        return _one_line(raw)


def _one_line(text: str) -> str:
    return render.collapse(text).strip()[:_LONGEST_HEADER]


def _date(stated: str) -> str:
    """ISO 8601 with a space, at the clock of who wrote it; what is no date stays as it is."""
    try:
        return parsedate_to_datetime(stated).strftime("%Y-%m-%d %H:%M %z").strip()
    except (ValueError, TypeError, IndexError, OverflowError):
        return stated
