"""What the words of Sphinx mean, which stand in reStructuredText and in Markdown (MyST, Docusaurus): its roles and directives.

Pure; without docutils, which Markdown does not need.
"""

from __future__ import annotations

import re
from typing import Final

ADMONITIONS: Final = {
    "note": "Note", "warning": "Warning", "tip": "Tip", "hint": "Hint", "important": "Important", "caution": "Caution",
    "danger": "Danger", "error": "Error", "attention": "Attention", "seealso": "See also",
}  # fmt: skip
VERSIONS: Final = {
    "versionadded": "Added in version {}", "versionchanged": "Changed in version {}", "deprecated": "Deprecated since version {}",
    "versionremoved": "Removed in version {}",
}  # fmt: skip
_CODE_NAMES: Final = """code code-block sourcecode parsed-literal prompt console doctest testcode testoutput ipython ipython3
    jupyter-execute terminal productionlist math"""
CODE_BLOCKS: Final = frozenset(_CODE_NAMES.split())
_LEFT_OUT_NAMES: Final = """toctree include literalinclude index contents meta highlight default-role role title sectnum
    section-numbering currentmodule module autosummary automodule autoclass autofunction automethod
    autoattribute autoexception autodata program graphviz digraph graph mermaid uml plantuml
    inheritance-diagram tabularcolumns target-notes bibliography testsetup testcleanup todolist video youtube
    namespace
    default-domain date sectionauthor codeauthor moduleauthor"""
LEFT_OUT: Final = frozenset(_LEFT_OUT_NAMES.split())
_WRAPPERS_NAMES: Final = """class container rst-class cssclass grid grid-item tab-set tabs hlist only ifconfig compound epigraph
    highlights pull-quote header footer glossary figure centered line-block"""
WRAPPERS: Final = frozenset(_WRAPPERS_NAMES.split())
"""They say how their content is shown; their argument is no text, but for `ARGUMENT_IS_TEXT`."""
ARGUMENT_IS_TEXT: Final = frozenset(
    ("epigraph", "highlights", "pull-quote", "compound", "centered", "header", "footer", "line-block")
)
_HEADED_NAMES: Final = """admonition topic sidebar rubric tab tab-item group-tab code-tab dropdown card grid-item-card details
    collapse panel collapsible"""
HEADED: Final = frozenset(_HEADED_NAMES.split())
"""Their argument is a heading over their content."""
TABS: Final = frozenset(("tab", "tab-item", "group-tab"))
"""Of these it is none where there is no content: what they hold may be a picture."""
_CODE_ROLES_NAMES: Final = """literal code samp file command program envvar option meth func class attr mod module exc data obj
    const function method type confval setting macro member struct enum enumerator var expr keyword token ini dir
    regexp mailheader mimetype"""
_CODE_ROLES: Final = frozenset(_CODE_ROLES_NAMES.split())
LABELS: Final = frozenset(("ref", "numref"))
"""Roles that refer to a part of a document by a label, of which a reader sees the heading."""
_VERBATIM: Final = frozenset(("literal", "code", "samp", "file", "command", "program", "kbd", "regexp"))
"""Their text refers to nothing: a tilde or dot before it is a part of it."""
_SHORTENED: Final = re.compile(r"~[\w.:-]++")
_SUFFIX: Final = re.compile(r"\.(?:rst|md|txt)\Z")
_CALLED: Final = frozenset(("func", "meth", "function", "method"))
_ICONS: Final = frozenset(("octicon", "fa", "fas", "far", "fa-solid", "fa-regular"))
_BRANDS: Final = frozenset(("fab", "fa-brands"))
_CHECKS_NAMES: Final = "check check-circle check-circle-fill circle-check thumbsup thumbs-up"
_CHECKS: Final = frozenset(_CHECKS_NAMES.split())
_CROSSES_NAMES: Final = "x x-circle x-circle-fill xmark circle-xmark times thumbsdown thumbs-down close"
_CROSSES: Final = frozenset(_CROSSES_NAMES.split())
_OTHER_OUTPUTS_NAMES: Final = "latex latexpdf pdf man texinfo text xml epub gettext"
_OTHER_OUTPUTS: Final = frozenset(_OTHER_OUTPUTS_NAMES.split())
"""What Sphinx may make of a document, besides HTML."""


def is_shown(condition: str) -> bool:
    """Whether what is `only` for some outputs ("html", "latex or man", "not html") is on the page of a site; of tags of a project
    it is not known, so it is."""
    return any(all(map(_holds, part.split(" and "))) for part in " ".join(condition.lower().split()).split(" or "))


def _holds(condition: str) -> bool:
    word = condition.strip(" ()")
    if word.startswith("not "):
        return word[4:].strip(" ()") != "html"
    return word not in _OTHER_OUTPUTS


def role_text(role: str, text: str) -> tuple[str, bool]:
    """What a reader sees of text in a role, "" for nothing, and whether it is code: of `~package.name` the last part, of a link
    its title, of a label or file without one its words, of an icon a sign where it says yes or no."""
    kind = role.lower().rpartition(":")[2]
    if kind in _ICONS or kind in _BRANDS or kind.startswith("material-"):
        return _icon(text, is_brand=kind in _BRANDS), False
    if kind.startswith("raw") or kind == "eq":
        return "", False
    if text.endswith(">") and "<" in text[1:]:
        return text[: text.rindex("<")].strip(), False
    is_code = kind in _CODE_ROLES
    if kind in _VERBATIM:
        return text, is_code
    if _SHORTENED.fullmatch(text):
        text = text[1:].rpartition(".")[2]
    if kind in ("pep", "rfc"):
        text = f"{kind.upper()} {text}"
    elif kind in LABELS:
        text = in_words(text.rpartition(":")[2])
    elif kind == "doc":
        parts = [part for part in _SUFFIX.sub("", text).split("/") if part.strip(".")]
        text = in_words(next((part for part in reversed(parts) if part != "index"), *parts[-1:] or [text]))
    elif is_code:
        text = text.lstrip("!.")
        text += "()" if kind in _CALLED and not text.endswith(")") else ""
    elif kind == "guilabel":
        text = text.replace("&&", "\0").replace("&", "").replace("\0", "&")
    return text, is_code


def in_words(name: str) -> str:
    """A label, or the name of a file, as words: those that underscores part, so that "borg_repo-create" keeps its hyphen."""
    if any(map(str.isspace, name)):
        return name
    return " ".join(name.replace("_" if "_" in name.strip("_") else "-", " ").split()) or name


def _icon(text: str, *, is_brand: bool) -> str:
    """Of "thumbsup;1em;sd-text-success"."""
    name = text.partition(";")[0].partition(",")[0].strip().lower().replace("_", "-").removeprefix("fa-")
    if is_brand:
        return name
    return "✓" if name in _CHECKS else "✗" if name in _CROSSES else ""
