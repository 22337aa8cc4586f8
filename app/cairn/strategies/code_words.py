"""What the symbols of code say, in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from cairn.domain.answer import Citation
from cairn.domain.code import SPOKEN, CodeFact, CodeFinding, CodeSubject, DeclarationText, SymbolPlace
from cairn.language.code_fences import fence_around
from cairn.language.lexicon import replies

Cited = Mapping[SymbolPlace, Citation]


def write_finding(language: str, finding: CodeFinding, cited: Cited, listed: int) -> str:
    """A list for each definition; known lines first, then what could not be resolved. At most `listed` lines of each."""
    say, lines = replies(language), list[str]()
    for subject in finding.subjects:
        if finding.query.relation:
            lines += _related(language, finding, subject, cited, listed)
        else:
            lines += _declared(language, finding, subject, cited)
    lines += _open(language, finding, cited, listed)
    if not finding.subjects:
        lines.append(say.code["undefined"].format(name=f"`{finding.query.name}`"))
        if finding.near:
            lines.append(say.code["near"].format(names=", ".join(f"`{one}`" for one in finding.near)))
        if finding.seen:
            lines.append(say.code["seen"])
            lines += [
                f"- {_where(one.place)}{_mark(one.place, cited)}{_code(one.place, cited)}" for one in finding.seen
            ]
    if finding.left_out:
        lines.append(say.code["left_out"].format(names=", ".join(f"`{one}`" for one in finding.left_out[:listed])))
    return _apart(lines)


def _apart(lines: Sequence[str]) -> str:
    """A line behind a list stands apart from it, or a page would show it as part of the last thing that is listed."""
    ends = (one.startswith("- ") and not other.startswith("- ") for one, other in pairwise(lines))
    return "".join(f"{one}\n\n" if end else f"{one}\n" for one, end in zip(lines, (*ends, False), strict=True)).rstrip()


def _counted(say: Mapping[str, str], key: str, n: int, **words: str) -> str:
    """What a language says of so many, and of one, where it says that otherwise."""
    return say.get(f"{key}_1" if n == 1 else key, say[key]).format(n=n, **words)


def _related(language: str, finding: CodeFinding, subject: CodeSubject, cited: Cited, listed: int) -> Iterator[str]:
    say, query = replies(language), finding.query
    name = f"`{subject.name}`" + (f" ({_where(subject.place)}){_mark(subject.place, cited)}" if subject.place else "")
    said = f"{query.relation}_{'in' if query.incoming else 'out'}"
    count = len({one.name for one in subject.known})
    if (subject.unresolved or subject.named) and (query.relation, query.incoming) == ("calls", True):
        said = "known_in"
    yield _counted(say.code, said, count, name=name) + (":" if subject.known else ".")
    for caller, group in groupby(subject.known[:listed], key=lambda one: one.name):
        yield f"- `{caller}`, {_lines(list(group), cited)}"
    yield from _rest(language, len(subject.known) - listed)
    if subject.elsewhere:
        yield _counted(say.code, "elsewhere", subject.elsewhere)


def _open(language: str, finding: CodeFinding, cited: Cited, listed: int) -> Iterator[str]:
    """Lines that could not be resolved, then those that name it without a call; once for all definitions."""
    say = replies(language).code
    named = {one.place for subject in finding.subjects for one in subject.named}
    open_lines = finding.open_lines()
    shown = open_lines[:listed]
    for key, ours in (("unresolved", False), ("named", True)):
        count = len([one for one in open_lines if (one.place in named) == ours])
        if count:
            yield _counted(say, key, count) + ":"
            part = [one for one in shown if (one.place in named) == ours]
            yield from _listed(part, cited)
            yield from _rest(language, count - len(part))


def _rest(language: str, count: int) -> Iterator[str]:
    if count > 0:
        yield f"- {replies(language).more.format(n=count)}"


def _lines(facts: Iterable[CodeFact], cited: Cited) -> str:
    """ "a/b.py:3 [1], 7 [2]": `first` and, of the same file, further lines."""
    said, path = [], ""
    for one in facts:
        spelled = str(one.place.start_line) if one.place.path == path else _where(one.place)
        said.append(f"{spelled}{_mark(one.place, cited)}")
        path = one.place.path
    return ", ".join(said)


def _declared(language: str, finding: CodeFinding, subject: CodeSubject, cited: Cited) -> Iterator[str]:
    say, read = replies(language).code, subject.declaration
    place = f"{_where(subject.place)}{_mark(subject.place, cited)}" if subject.place else ""
    name = f"`{subject.name}`"
    if read and finding.query.aspect in SPOKEN:
        yield from _described(say, finding.query.aspect == "shown", subject, read, place, cited)
        return
    if read and read.summary:
        yield from (read.summary, "")
    if read is None or finding.query.aspect == "defined":
        line = _code(subject.place, cited) if subject.place and not (read or subject.kind) else ""
        yield say["defined"].format(name=name, place=place) + (":" if read or line else ".")
        if line:  # where a constant is set
            yield f"- {line.removeprefix(': ')}"
        if read:
            yield f"- {_ticked(read.signature)}"
        return
    name = f"{name} ({place})"
    match finding.query.aspect:
        case "returns":
            yield from _returned(say, name, read, cited)
        case "takes":
            count = len(read.parameters)
            yield (
                (_counted(say, "takes", count, name=name) + ":")
                if count
                else f"{say['takes_nothing'].format(name=name)}."
            )
            yield from (f"- {_ticked(one)}" for one in read.parameters)
        case _:
            count = len(read.raises)
            yield (
                (_counted(say, "raises", count, name=name) + ":")
                if count
                else f"{say['raises_nothing'].format(name=name)}."
            )
            yield from _listed(read.raises, cited)


def _described(
    say: Mapping[str, str], shown: bool, subject: CodeSubject, read: DeclarationText, place: str, cited: Cited
) -> Iterator[str]:
    """What is written of a definition, and its signature; or lines of its source."""
    where = say["defined"].format(name=f"`{subject.name}`", place=place)
    if read.told:
        mark = "".join(_mark(one.place, cited) for one in subject.known)
        if read.commented:
            yield from (say["commented"], "")
        yield from (f"{read.told}{mark}", "", f"{where}:", f"- {_ticked(read.signature)}")
        return
    fence = fence_around(read.source)
    yield from (f"{where}:" if shown else f"{where}. {say['undocumented']}", f"{fence}\n{read.source}\n{fence}")
    if read.missing:
        yield from ("", _counted(say, "missing", read.missing))


def _returned(say: Mapping[str, str], name: str, read: DeclarationText, cited: Cited) -> Iterator[str]:
    if read.returns:
        yield say["returns"].format(name=name, type=_ticked(read.returns)) + (":" if read.gives else ".")
    elif read.gives:
        yield say["unstated"].format(name=name) + ":"
    else:
        yield say["no_return"].format(name=name) + "."
    yield from _listed(read.gives, cited)


def _listed(statements: Iterable[CodeFact], cited: Cited) -> Iterator[str]:
    for one in statements:
        yield f"- {_where(one.place)}{_mark(one.place, cited)}{_code(one.place, cited)}"


def _where(place: SymbolPlace) -> str:
    return f"{place.path}:{place.start_line}"


def _mark(place: SymbolPlace, cited: Cited) -> str:
    return f" [{cited[place].n}]" if place in cited else ""


def _code(place: SymbolPlace, cited: Cited) -> str:
    return f": {_ticked(' '.join(cited[place].quote.split()))}" if place in cited else ""


def _ticked(code: str) -> str:
    """As code on one line, between more backticks than it has beside each other."""
    ticks = "`" * (max(map(len, re.findall("`+", code)), default=0) + 1)
    return f"{ticks}{code}{ticks}" if len(ticks) == 1 else f"{ticks} {code} {ticks}"
