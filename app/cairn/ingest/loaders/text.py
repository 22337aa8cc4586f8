"""Plain text, and the decoding of bytes that every textual format shares."""

from __future__ import annotations

import codecs

from cairn.ingest.loaders.base import LoadedText, LoadLimits

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 65536
_PRINTABLE = bytes(range(32, 256)) + b"\t\n\v\f\r\x1b"


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """The text as it stands."""
    return LoadedText(decode(content))


def decode(content: bytes) -> str:
    """Text of `content`: byte order mark, UTF-8, bare UTF-16, best guess, else cp1252. Never fails."""
    mark = _marked_encoding(content)
    if mark:
        return content.decode(mark, "replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        # lone surrogates, as a JSON string may hold them; normalisation replaces them
        return content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return content.decode(_guess(content[:_SAMPLE]), "replace")


def is_binary(content: bytes) -> bool:
    """Whether the beginning holds so many control characters that it is no text in any encoding."""
    sample = content[:_SAMPLE]
    if _marked_encoding(sample):
        return False
    controls = len(sample.translate(None, _PRINTABLE))
    if 2 * controls > len(sample):
        return True
    # text in UTF-8 may hold a few stray NULs; bytes in no known encoding get less benefit of the doubt
    return controls > (max(8, 0.3 * len(sample)) if _is_utf8(sample) else max(2, 0.05 * len(sample)))


def _is_utf8(sample: bytes) -> bool:
    # incremental: the sample may end inside a character
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _marked_encoding(content: bytes) -> str | None:
    """The encoding that a byte order mark names, or UTF-16 told by its zero bytes."""
    for mark, name in _BOMS:
        if content.startswith(mark):
            return name
    sample = content[:1000]
    even, odd = sample[::2], sample[1::2]
    if len(sample) >= 8 and len(sample) % 2 == 0:
        if odd.count(0) > 0.7 * len(odd) and not even.count(0):
            return "utf-16-le"
        if even.count(0) > 0.7 * len(even) and not odd.count(0):
            return "utf-16-be"
    return None


def _guess(sample: bytes) -> str:
    """A single- or multi-byte encoding. cp1252 wins every tie: on short Western text the detector prefers cp1250."""
    from charset_normalizer import from_bytes

    matches = list(from_bytes(sample))
    best = next(iter(matches), None)
    if best is None:
        return "cp1252"
    for match in matches:
        tied = match.chaos <= best.chaos and match.coherence >= best.coherence
        if tied and "cp1252" in (match.encoding, *match.could_be_from_charset):
            return "cp1252"
    return best.encoding
