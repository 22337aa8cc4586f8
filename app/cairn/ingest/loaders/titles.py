"""What a document is called: what its file states, unless that names nothing; else its first heading.

Many files state what a program left there: "untitled", "Microsoft Word - x.doc", a number, the name of the program. Such a title
would stand in every list and be embedded with every chunk.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from cairn.ingest.chunkers.headings import scan
from cairn.ingest.loaders.sphinx_words import in_words
from cairn.language.lexicon import every
from cairn.language.linear import bounded
from cairn.language.text import fold_line

LONGEST: Final = 300
"""Characters of a title; a longer one is a paragraph."""
_HEAD_CHARS: Final = 20_000
"""Where the first heading is looked for."""

_PRINTED_BY: Final = re.compile(
    r"(?:microsoft|ms) (?:office )?(?:word|excel|powerpoint|publisher|visio|outlook)\s*[-\u2013:]\s*", re.IGNORECASE
)
"""What printing to PDF puts before the name of the file."""
_PROGRAMS: Final = bounded(
    r"(?:(?:microsoft|ms|libreoffice|openoffice(?:\.org)?|apache openoffice|adobe|apple|google|corel|quark) "
    r"(?:office )?(?:word|excel|powerpoint|publisher|writer|calc|impress|acrobat(?: \w+)?|indesign|illustrator|photoshop|"
    r"pagemaker|framemaker|distiller|pages|numbers|keynote|docs|sheets|slides|xpress)|"
    r"(?:pdf|xe|lua)?(?:la)?tex(?: with \w+)?|"
    r"microsoft office|libreoffice|openoffice(?:\.org)?|indesign|ghostscript|wkhtmltopdf|pdfsharp|reportlab|itext\w*|nbconvert)"
    r"(?: (?:cc|cs))?(?: ?\d[\d.]*)?",
    re.IGNORECASE,
)
_FILE_NAME: Final = bounded(
    r"(?:.*[\\/])?[^\\/]*\.(?:docx?|docm|dotx?|odt|ott|rtf|wpd|wps|pages|pptx?|potx?|key|odp|xlsx?|xlsm|xltx?|ods|csv|pdf|ps|eps|"
    r"indd|idml|qxd|pmd|p65|pub|fm|tex|dvi|html?|xhtml|md|rst|txt|epub|eml|msg|ipynb|tmp)",
    re.IGNORECASE,
)
_IDENTIFIER: Final = re.compile(
    r"\{?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\}?|(?:urn:|https?://|file:)\S*+|\A(?=[a-f]*+\d)[0-9a-f]{16,}+",
    re.IGNORECASE,
)
_COUNTER: Final = bounded(r"[\s_-]*\(?\d+\)?$")
"""What tells the second untitled document from the first."""
_RST_FILE: Final = re.compile(r"\.(?:rst|rest)(?:\.\w{1,9})?\Z", re.IGNORECASE)
_ORDER: Final = re.compile(r"\A\d{1,4}[ _.-]++")
"""What orders the files of a folder: "010_introduction"."""
_BRACKETS: Final = "[]<>(){}\"'"


def better_title(stated: str | None, text: str, name: str) -> str | None:
    """`stated` (by the file's metadata) where it names the document, else the first heading of `text` (Markdown, of level 1: one
    further down names a part), else None: then the file's `name` stands for it."""
    title = _PRINTED_BY.sub("", (stated or "").strip(), count=1).strip()
    if title and not says_nothing(title) and fold_line(title) not in _names_of(name):
        return _with_name(title, name)
    for section in scan(text[:_HEAD_CHARS], max_level=1):
        if section.path and not says_nothing(section.path[-1]):
            return _with_name(section.path[-1], name)
    return None


def _with_name(title: str, name: str) -> str:
    """In reStructuredText a file often includes the one that has its heading, and goes on with "Examples", as twenty others
    do: what they are examples of is the name of the file."""
    file = PurePosixPath(name.replace("\\", "/")).name
    ending = _RST_FILE.search(file)
    if not ending or fold_line(title) not in _sections():
        return title
    words = in_words(_ORDER.sub("", file[: ending.start()]))
    if says_nothing(words) or fold_line(words) == fold_line(title):
        return title
    return words if fold_line(title) in fold_line(words) else f"{words}: {title}"


def with_folder(title: str | None, path: str) -> str | None:
    """The title behind the name of the document's folder, in words, where any folder has a page that is called so: of nine
    documents called "Introduction" nobody knows which is about what. `path`: as the document came, perhaps without a folder."""
    if title is None or _NUMBER.sub("", fold_line(title)) not in _openings():
        return title
    for folder in PurePosixPath(path.replace("\\", "/")).parents:
        name = " ".join(_NUMBER.sub("", folder.name.replace("-", " ").replace("_", " ")).split())
        if _names_something(name) and not says_nothing(name):
            return title if fold_line(name) in _openings() else f"{name}: {title}"
    return title


def _names_something(folder: str) -> bool:
    """Whether a folder is called by what is in it: not by a language, a date, an id or an address, or as folders of documents
    are anywhere."""
    folded = fold_line(folder)
    return not (folded in _FOLDERS or _LANGUAGE.fullmatch(folded) or _NO_WORDS.search(folder))


_NUMBER: Final = re.compile(r"\A\d[\d.]*+[.)]?\s++")
_LANGUAGE: Final = re.compile(r"[a-z]{2}(?: [a-z]{2})?")
_NO_WORDS: Final = re.compile(r"[:?=&]|\A\W*\Z|\A[\d\W]+\Z|\d\w*\d|\Atmp")
_FOLDER_NAMES: Final = """docs doc documentation content contents pages src source site website www public markdown md book
    chapter chapters section sections page article articles manual manuals rst html wiki kapitel chapitres capitulos capitoli
    tmp upload uploads files"""
_FOLDERS: Final = frozenset(_FOLDER_NAMES.split())
"""That hold all documents of a project, and are named after none."""


def says_nothing(title: str) -> bool:
    """Whether it is a number, an address, the name of a file or program, or what stands where a title is to be written."""
    title = title.strip().strip(_BRACKETS).strip()
    if len(title) > LONGEST or sum(map(str.isalpha, title)) < 2:
        return True
    if any(pattern.fullmatch(title) for pattern in (_PROGRAMS, _FILE_NAME, _IDENTIFIER)):
        return True
    folded = fold_line(title)
    return folded in _placeholders() or _COUNTER.sub("", folded) in _placeholders()


@cache
def _placeholders() -> frozenset[str]:
    return frozenset(fold_line(phrase) for phrase in every(lambda one: one.documents.placeholders))


@cache
def _sections() -> frozenset[str]:
    return frozenset(fold_line(phrase) for phrase in every(lambda one: one.documents.sections))


@cache
def _openings() -> frozenset[str]:
    return frozenset(fold_line(phrase) for phrase in every(lambda one: one.documents.openings))


def _names_of(name: str) -> tuple[str, str]:
    path = PurePosixPath(name.replace("\\", "/"))
    return fold_line(path.name), fold_line(path.stem)
