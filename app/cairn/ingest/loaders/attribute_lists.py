"""Lists of attributes in Markdown, which say how an element is to look or by which address it is found, and are no text of it:
`## Name {#name}`, `[Get it](...){ .button }`, `{: .note }`. Python-Markdown, kramdown, Pandoc and MyST write them. Pure.
"""

from __future__ import annotations

import re
from typing import Final

_ONE: Final = r"(?:[#.][\w:.-]{1,100}|[\w:@-]{1,40}=(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|[^\s\"'{}]{1,200}))"
_FIRST: Final = rf"(?:[ \t]{{0,3}}{_ONE}|:[ \t]{{0,3}}(?:{_ONE}|[A-Za-z][\w-]{{0,40}}))"
_LIST: Final = rf"\{{{_FIRST}(?:[ \t]{{1,3}}{_ONE}){{0,20}}[ \t]{{0,3}}\}}"
"""Without a colon it has attributes alone: `{role}` and `{name}` are something else."""
_REMARK: Final = r"\{/\*[^{}\n]{0,300}\*/\}"
"""A comment of MDX, in which Docusaurus writes addresses, too."""
_ALONE: Final = re.compile(rf"\A[ \t]{{0,16}}(?:{_LIST}|{_REMARK})[ \t]{{0,9}}\Z")
_AT_END: Final = re.compile(rf"[ \t]{{0,9}}(?:#{{1,6}}[ \t]{{1,9}})?(?:{_LIST}|{_REMARK})[ \t]{{0,9}}\Z")
_BEHIND: Final = re.compile(
    rf"(?P<code>``[^`\n]{{0,500}}``|`[^`\n]{{0,500}}`)(?:{_LIST})?|(?<=[\])*_:]){_LIST}|{_REMARK}"
)
_HEADING: Final = re.compile(r"\A {0,3}#{1,6}[ \t]")
_UNDERLINE: Final = re.compile(r" {0,3}(?:={2,200}|-{2,200})[ \t]{0,9}(?:\n|\Z)")


def without_attributes(line: str, text: str = "", behind: int = 0) -> str:
    """A line of prose without them, "" where it is one. `behind`: where in the text the next line begins, which may make this
    one a heading."""
    if "{" not in line:
        return line
    bare = line.rstrip("\n")
    if _ALONE.match(bare):
        return ""
    heads = bool(_HEADING.match(bare)) or bool(_UNDERLINE.match(text, behind))
    if heads and (found := _AT_END.search(bare)) and bare[: found.start()].strip("# \t"):
        bare = bare[: found.start()]
    return _BEHIND.sub(lambda found: found["code"] or "", bare) + line[len(line.rstrip("\n")) :]
