"""Bytes of a file -> LoadedDocument. What a file is follows from its content first, its name second.

A new format is a file in this package with a function `load(content, limits)` and a row of LOADERS. Another package adds one
by an entry point of the group `cairn.loaders` that names a `Loader`: docs/extending.md.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any, Final

from cairn.distribution import require_part
from cairn.domain.document import CODE, LoadedDocument, PageStart, Source
from cairn.errors import (
    CairnError,
    EmptyDocumentError,
    EncryptedDocumentError,
    ParserLimitError,
    UnsupportedTypeError,
)
from cairn.ingest.loaders import code, recognize
from cairn.ingest.loaders.base import READ_BY_OTHERS, REVISION, FileKind, LoadedText, Loader, LoadLimits
from cairn.ingest.loaders.text import is_binary
from cairn.language.text import normalise, plain_characters
from cairn.plugins import extensions, once

__all__ = [
    "LOADERS",
    "READ_BY_OTHERS",
    "REVISION",
    "FileKind",
    "LoadLimits",
    "Loader",
    "kind_of_media_type",
    "load",
    "load_text",
    "sniff",
    "stated_metadata",
]


@dataclass(frozen=True, slots=True)
class _Lazy:
    """`load` of a module of this package, which is imported by the first file that needs it: some take long to load."""

    module: str

    def __call__(self, content: bytes, limits: LoadLimits) -> LoadedText:
        loaded: LoadedText = self.imported().load(content, limits)
        return loaded

    def imported(self) -> ModuleType:
        return import_module(f"{__name__}.{self.module}")


_OOXML = "application/vnd.openxmlformats-officedocument."
_ODF = "application/vnd.oasis.opendocument."
_FORMATS: Final = (
    "PDF, Word (.docx), Excel (.xlsx, .xls), PowerPoint (.pptx), OpenDocument (.odt, .ods), RTF, EPUB, EML, "
    "Jupyter (.ipynb), HTML, Markdown, reStructuredText, AsciiDoc, LaTeX, MediaWiki, manual pages, CSV"
)
_TEXT = Loader("text", _Lazy("text"), {"text/plain": (".txt", ".text", ".log")})
LOADERS: Final = (
    Loader(
        "pdf", _Lazy("pdf"), {"application/pdf": (".pdf",)}, "markdown",
        recognizes=recognize.is_pdf, binary=True, isolated=True, programs=True,
    ),
    Loader(
        "docx", _Lazy("docx"), {_OOXML + "wordprocessingml.document": (".docx", ".docm")}, "markdown",
        recognizes=recognize.is_docx, accepts=recognize.is_unknown_zip, binary=True, isolated=True, extra="office",
    ),
    Loader(
        "xlsx", _Lazy("spreadsheet"), {_OOXML + "spreadsheetml.sheet": (".xlsx", ".xlsm", ".xlsb", ".xltx")}, "markdown",
        recognizes=recognize.is_xlsx, accepts=recognize.is_unknown_zip, binary=True, isolated=True, extra="office",
    ),
    Loader(
        "xls", _Lazy("spreadsheet"), {"application/vnd.ms-excel": (".xls",)}, "markdown",
        recognizes=recognize.is_xls, accepts=recognize.is_unknown_office, binary=True, isolated=True, extra="office",
    ),
    Loader(
        "ods", _Lazy("spreadsheet"), {_ODF + "spreadsheet": (".ods",)}, "markdown",
        recognizes=recognize.is_ods, accepts=recognize.is_unknown_zip, binary=True, isolated=True, extra="office",
    ),
    Loader(
        "pptx", _Lazy("pptx"), {_OOXML + "presentationml.presentation": (".pptx", ".pptm", ".ppsx")}, "markdown",
        recognizes=recognize.is_pptx, accepts=recognize.is_unknown_zip, binary=True, isolated=True, extra="office",
    ),
    Loader(
        "odt", _Lazy("odt"), {_ODF + "text": (".odt", ".ott")}, "markdown",
        recognizes=recognize.is_odt, accepts=recognize.is_unknown_zip, binary=True, isolated=True,
    ),
    Loader(
        "epub", _Lazy("epub"), {"application/epub+zip": (".epub",)}, "markdown",
        recognizes=recognize.is_epub, accepts=recognize.is_unknown_zip, binary=True, isolated=True,
    ),
    Loader(
        "rtf", _Lazy("rtf"), {"application/rtf": (".rtf",), "text/rtf": ()}, "markdown",
        recognizes=recognize.is_rtf, binary=True, isolated=True, extra="office",
    ),
    Loader(
        "notebook", _Lazy("notebook"), {"application/x-ipynb+json": (".ipynb",)}, "markdown",
        recognizes=recognize.is_notebook, accepts=recognize.is_any_text, isolated=True,
    ),
    Loader(
        "mail", _Lazy("mail"), {"message/rfc822": (".eml",)}, "markdown",
        recognizes=recognize.is_mail, accepts=recognize.has_mail_headers, isolated=True, programs=True,
    ),
    Loader(
        "html", _Lazy("html"), {"text/html": (".html", ".htm", ".xhtml"), "application/xhtml+xml": ()}, "markdown",
        recognizes=recognize.is_whole_page, accepts=recognize.has_tags, isolated=True,
    ),
    Loader(
        "rst", _Lazy("rst"), {"text/x-rst": (".rst", ".rest", ".rst.inc", ".rst.txt")}, "markdown",
        accepts=recognize.is_any_text, isolated=True,
    ),
    Loader(
        "latex", _Lazy("latex"), {"application/x-tex": (".tex", ".latex", ".ltx")}, "markdown",
        accepts=recognize.is_any_text, isolated=True, extra="markup",
    ),
    Loader(
        "asciidoc", _Lazy("asciidoc"), {"text/asciidoc": (".adoc", ".asciidoc")}, "markdown",
        accepts=recognize.is_any_text, isolated=True,
    ),
    Loader(
        "mediawiki", _Lazy("mediawiki"), {"text/x-wiki": (".mediawiki", ".wiki", ".wikitext")}, "markdown",
        accepts=recognize.is_any_text, isolated=True, extra="markup",
    ),
    Loader(
        "man", _Lazy("man"), {"text/troff": (*(f".{section}" for section in range(1, 10)), ".man")}, "markdown",
        accepts=recognize.is_manual_page, isolated=True,
    ),
    Loader("markdown", _Lazy("markdown"), {"text/markdown": (".md", ".markdown", ".mdown", ".mkd", ".mdx")}, "markdown"),
    Loader("csv", _Lazy("csv"), {"text/csv": (".csv",), "text/tab-separated-values": (".tsv", ".tab")}, "rows"),
    Loader("code", _Lazy("code"), {CODE + language: suffixes for language, suffixes in code.SUFFIXES.items()}, "code"),
    Loader(
        "configuration", _Lazy("code"), {CODE + form: suffixes for form, suffixes in code.CONFIGURATION.items()}, "code",
        accepts=recognize.is_configuration,
    ),
    _TEXT,
)  # fmt: skip
"""Those of this package. `text` takes what no other does."""


_GIVES_WAY: Final = "configuration"
"""That shows files as they stand, so that a package that reads a format of them (.ini) may."""


class _Registry:
    """All loaders, those of other packages last, and how a name leads to them. What is built in is not replaced, but for
    configuration."""

    def __init__(self, added: Iterable[Loader] = ()) -> None:
        self.loaders = (*LOADERS, *added)
        self.by_suffix: dict[str, FileKind] = {}
        self.by_media_type: dict[str, FileKind] = {}
        for loader in self.loaders:
            for media_type, suffixes in loader.media_types.items():
                kind = self.by_media_type.setdefault(media_type, FileKind(loader, media_type))
                for suffix in suffixes:
                    known = self.by_suffix.get(suffix)
                    if known is None or known.loader.name == _GIVES_WAY:
                        self.by_suffix[suffix] = kind

    def named(self, name: str) -> FileKind | None:
        """What the name of a file says: its last two suffixes (.rst.inc) where they stand for a format, else the last one."""
        suffixes = PurePosixPath(name.replace("\\", "/").lower()).suffixes
        return self.by_suffix.get("".join(suffixes[-2:])) or self.by_suffix.get("".join(suffixes[-1:]))

    def conflict(self, loader: Loader) -> str | None:
        """What it declares that stands for another format already."""
        claimed = [
            (what, known[what].loader.name)
            for known, whats in (
                (self.by_media_type, [*loader.media_types]),
                (self.by_suffix, [one for suffixes in loader.media_types.values() for one in suffixes]),
            )
            for what in whats
            if what in known and known[what].loader.name != _GIVES_WAY
        ]
        return f"{claimed[0][0]} stands for {claimed[0][1]}" if claimed else None


_BUILT_IN: Final = _Registry()


@once
def _registry() -> _Registry:
    return _Registry(find_loaders())


def find_loaders() -> list[Loader]:
    """Those of other packages."""
    return list(extensions("loaders", _checked, {loader.name for loader in LOADERS}).values())


def _checked(name: str, loaded: object) -> Loader:
    """Raises for a declaration that would mislead or replace what is built in."""
    if not isinstance(loaded, Loader):
        raise TypeError(f"it is {type(loaded).__name__}, not cairn.ingest.loaders.Loader")
    if loaded.name != name:
        raise ValueError(f"it calls itself {loaded.name!r}")
    if not loaded.media_types:
        raise ValueError("it declares no media type")
    if conflict := _BUILT_IN.conflict(loaded):
        raise ValueError(f"{conflict}, which is built in")
    wrong = [
        one for suffixes in loaded.media_types.values() for one in suffixes if one[:1] != "." or one != one.lower()
    ]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is no suffix in lower case with its dot")
    return loaded


def sniff(name: str, content: bytes, media_type: str | None = None) -> FileKind:
    """What the file is, by content first, then by suffix, then by media type.

    Raises EmptyDocumentError for nothing but white space, front matter or the pages of a site, and for a drawing without words,
    EncryptedDocumentError for a protected Office file, UnsupportedTypeError for anything that no loader reads.
    """
    if not content.strip():
        raise EmptyDocumentError("the file is empty" if not content else "the file holds nothing but white space")
    if name.lower().endswith(".svg") and recognize.is_drawing_without_words(content):
        raise EmptyDocumentError("nothing is written in the drawing")
    registry = _registry()
    named = registry.named(name)
    for loader in registry.loaders:
        if loader.binary and loader.recognizes and loader.recognizes(content):
            return FileKind(loader, next(iter(loader.media_types)))
    if named and named.loader.binary and named.loader.believes(content):
        return named  # a damaged one too: its loader says what is wrong
    found = recognize.describe(content)
    if found == recognize.ENCRYPTED_OFFICE:
        raise EncryptedDocumentError("the Office file is protected by a password; remove it and send the file again")
    if found or is_binary(content):
        raise UnsupportedTypeError(
            f"{name!r} is {found or 'binary data of an unknown kind'}; supported are {supported_formats()}"
        )
    kind = _sniff_text(registry, named, content, (media_type or "").split(";")[0].strip().lower())
    if kind.loader.name == "markdown" and content.rstrip().endswith((b"---", b"...", b"+++")):
        from cairn.ingest.loaders.markdown import states_only

        if states_only(content):
            raise EmptyDocumentError("nothing is written below the front matter")
    if kind.loader.name == "asciidoc" and b"xref:" in content:
        from cairn.ingest.loaders.asciidoc import lists_pages

        if lists_pages(content):
            raise EmptyDocumentError("it only lists the pages of a site")
    return kind


def _sniff_text(registry: _Registry, named: FileKind | None, content: bytes, media_type: str) -> FileKind:
    if named and not named.loader.binary and named.loader is not _TEXT and named.loader.believes(content):
        return named
    for loader in registry.loaders:
        if not loader.binary and loader.recognizes and loader.recognizes(content):
            return FileKind(loader, next(iter(loader.media_types)))
    claimed = None if named else registry.by_media_type.get(media_type)
    if claimed and not claimed.loader.binary and claimed.loader.believes(content):
        return claimed
    return _BUILT_IN.by_suffix[".txt"]


def supported_formats() -> str:
    """For people: the formats that are read."""
    return f"{format_names()}, plain text and source code"


def format_names() -> str:
    """Of those that have a name, which is the same in every language."""
    added = [loader.name for loader in _registry().loaders[len(LOADERS) :]]
    return ", ".join([_FORMATS, *added])


def kind_of_media_type(media_type: str) -> FileKind | None:
    """The format of a stored document; None when the package that read it is gone."""
    return _BUILT_IN.by_media_type.get(media_type) or _registry().by_media_type.get(media_type)


def import_loader(media_type: str) -> None:
    """Import what reads a format of this package, so that a process forked from this one has it. What another package reads is
    imported where it is read. Raises ImportError."""
    kind = _BUILT_IN.by_media_type.get(media_type)
    if kind is not None and isinstance(kind.loader.load, _Lazy):
        kind.loader.load.imported()


def load(content: bytes, kind: FileKind, limits: LoadLimits, *, verbatim: bool = False) -> LoadedDocument:
    """Normalised text of the file, in this process; `cairn.ingest.parse` guards the formats that need it. Characters of the
    layout (soft hyphens) go, but not from code, and not from what is to be read `verbatim`.

    Raises a ParseError that says why and what to do, or MissingPartError.
    """
    require_parser(kind)
    read = kind.loader.load(content, limits)
    clean = str if verbatim or kind.code_language else plain_characters
    text, pages = _normalised(read, clean)
    if not text.strip():
        raise EmptyDocumentError("the file holds no text")
    if len(text) > limits.max_text_chars:
        raise ParserLimitError(
            f"the text has {len(text)} characters, more than ingest.maxTextChars ({limits.max_text_chars}); split it"
        )
    title = " ".join(clean(normalise(read.title)).split()) if read.title else None
    return LoadedDocument(
        text,
        kind.media_type,
        kind.loader.markup,
        title=title or None,
        pages=pages,
        notes=read.notes,
        code_language=kind.code_language,
    )


def require_parser(kind: FileKind) -> None:
    """Raises MissingPartError where the parser of a format is in an extra that is not installed."""
    if kind.loader.extra:
        require_part(kind.loader.extra, f"reading {kind.media_type}")


def _normalised(read: LoadedText, clean: Callable[[str], str]) -> tuple[str, tuple[PageStart, ...]]:
    """The text as it is stored, and where its pages begin in that: each page is normalised for itself."""
    if not read.pages:
        return clean(normalise(read.text)), ()
    starts = [page.start for page in read.pages]
    parts = [clean(normalise(read.text[: starts[0]]))]
    pages = []
    position = len(parts[0])
    for page, (start, end) in zip(read.pages, pairwise([*starts, len(read.text)]), strict=True):
        pages.append(PageStart(position, page.number))
        parts.append(clean(normalise(read.text[start:end])))
        position += len(parts[-1])
    return "".join(parts), tuple(pages)


def load_text(content: bytes, name: str, limits: LoadLimits) -> LoadedDocument:
    """The same for text that the caller wrote out: of the format that its name says where that is text, else plain,
    whatever it holds."""
    if not content.strip():
        raise EmptyDocumentError("the text is empty")
    named = _registry().named(name)
    plain = named is None or named.loader.binary or named.loader.isolated or not named.loader.believes(content)
    return load(content, _BUILT_IN.by_suffix[".txt"] if named is None or plain else named, limits, verbatim=True)


def stated_metadata(source: Source) -> Mapping[str, Any]:
    """What a document says of itself besides its title: in front matter, which its loader takes for no text, or in the head of
    LaTeX and AsciiDoc; {} where it says nothing, and for what no loader reads."""
    if not source.is_text and (named := _registry().named(source.name)) is not None:
        if named.loader.name == "latex":
            from cairn.ingest.loaders.latex_head import stated_author

            return stated_author(source.content)
        if named.loader.name == "asciidoc":
            from cairn.ingest.loaders.asciidoc import stated_metadata as stated_in_head

            return stated_in_head(source.content)
    if not source.content.removeprefix(BOM_UTF8).startswith((b"---", b"+++")):
        return {}
    if source.is_text:
        kind = _registry().named(source.name)
    else:
        try:
            kind = sniff(source.name, source.content, source.media_type)
        except CairnError:  # reading it will say why
            return {}
    if kind is None or kind.loader.name != "markdown":
        return {}
    from cairn.ingest.loaders.markdown import stated_metadata as stated_in

    return stated_in(source.content)
