"""Text that a model wrote, on its way out: no link, image or tag but those that the sources hold. Pure.

A model obeys who speaks last, and documents speak. An image whose address holds what the model was asked to collect is
loaded by a client without a click, and a link with a click; so an address stays only where a source holds exactly the same
one, and otherwise an ellipsis stands for it, or the text of the link. An image becomes a link, which loads nothing by
itself. Tags go; those that a source holds are shown as text. In code tags stay, addresses do not.

The filter reads a stream: it holds back what may become one of these, at most LONGEST characters of it, and gives the same
text however the pieces are cut.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cairn.language.links import WORD, Known, addresses, plain, unfinished

LONGEST: Final = 1000
"""Characters of an address, a tag, or what stands in the brackets of a link; what is longer is none, and no part of it stays
whole."""
_OVERLAP: Final = 100
_LINK_TEXT: Final = 300
_CODE: Final = 300
INSTEAD: Final = "…"

_TAG_NAMES: Final = """
a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote body br button
canvas caption center cite code col colgroup command content data datalist dd del details dfn dialog dir div dl dt element
em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe
image img input ins isindex kbd keygen label layer legend li link listing main map mark marquee math menu menuitem meta meter
multicol nav nextid nobr noembed noframes noscript object ol optgroup option output p param picture plaintext portal pre
progress q rb rp rt rtc ruby s samp script search section select shadow slot small source spacer span strike strong style
sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr xmp
"""
TAGS: Final = frozenset(_TAG_NAMES.split())
"""Names of elements that whoever shows a text as HTML may act upon."""
_DEEPEST: Final = 4
"""Brackets in a target that stand in brackets."""
_NAME = re.compile(r"</?([A-Za-z][A-Za-z0-9:-]{0,40})")
_INSIDE = re.compile(r"(?:[^\"'<>]|\"[^\"]*\"|'[^']*')*")
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|[^\s<>@]{1,64}@[^\s<>]+)>")
_LABEL = re.compile(rf"\[([^\[\]\n]{{0,{_LINK_TEXT}}})(.?)", re.DOTALL)
_TARGET = re.compile(r"\s*(?:<([^<>\n]*)>|([^\s<>]*))(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*")
_NO_TARGET = re.compile(r"[\w\s,-]*")
_FENCE = re.compile(r"(`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})[^\n]*(?:\n|\Z)")
_PLAINEST = re.compile(r"(?:[A-Za-z0-9\u00c0-\u024f\s,;!?'\"()_‘’“”–—-]|\.(?=\s|\Z))*+")
"""Has nothing that an address, a tag or a disguise is made of; most of what is said is so, and needs no reading."""
_GLUE: Final = ",;!?)’”\"'"
_OPENS: Final = "([“‘„\"'"

Allowed = Callable[[], Known | None]
"""The texts whose addresses may stay; None: all may, since the text is no model's. Asked when an address comes."""


class _WaitError(Exception):
    """More text is needed to tell."""


@dataclass(slots=True)
class Outbound:
    """The filter. `allowed` is asked each time, since sources come in while a model writes. `kept`: pieces that stayed as
    they were: their place before and after, and their length."""

    allowed: Allowed
    kept: list[tuple[int, int, int]] = field(default_factory=list)
    _held: str = ""
    _read: int = 0  # characters that are through, before what is held
    _given: int = 0
    _last: str = " "  # what was given last
    _gap: bool = False  # something was taken out just now: what follows must not grow together with what was before
    _swallow: bool = False  # within an address that is longer than LONGEST
    _fence: str = ""
    _line_start: bool = True
    _indent: int = 0
    _links: dict[int, tuple[int, bool]] = field(default_factory=dict)  # end of a link's text -> end of the link, stays

    def feed(self, piece: str) -> str:
        """What can be said after this piece."""
        return self._pass(piece, end=False)

    def end(self) -> str:
        """What was held back. More may follow, as a text of its own."""
        said = self._pass("", end=True)
        self._gap = self._swallow = False
        return said

    def _pass(self, piece: str, *, end: bool) -> str:
        self._held += piece
        reading = _Reading(self, self._held[: len(self._held) if end else unfinished(self._held)], end=end)
        said = reading.run()
        self._held = self._held[reading.done :]
        self._read += reading.done
        return said

    # --- what is given ------------------------------------------------------------------------------------------------

    def give(self, text: str, place: int) -> str:
        """Text that stays as it is; `place`: where it stood in what is held."""
        space = " " if self._gap and not (self._last.isspace() or self._last in _OPENS) and _grows(text) else ""
        self._gap = False
        self.kept.append((self._read + place, self._given + len(space), len(text)))
        return self.say(space + text)

    def say(self, text: str) -> str:
        """Text of ours."""
        self._given += len(text)
        self._last = text[-1:] or self._last
        return text

    def moved(self, place: int) -> int:
        """Where a place in the text is now."""
        at = bisect_right(self.kept, place, key=lambda piece: piece[0]) - 1
        if at < 0:
            return 0
        before, after, length = self.kept[at]
        return after + min(place - before, length)


def _grows(text: str) -> bool:
    """Whether text would grow together with what stands before it."""
    return not (text[:1].isspace() or text[:1] in _GLUE or text in (".", "…", "]"))


class _Reading:
    """One pass over what is held. `p` is what it says without disguises, `at` the place in it."""

    def __init__(self, state: Outbound, raw: str, *, end: bool) -> None:
        self.state, self.raw, self.end = state, raw, end
        shown = plain(raw)
        self.p, self.places = shown.text, shown.places
        self.at = 0
        self.out: list[str] = []

    @property
    def done(self) -> int:
        """Characters that are through."""
        return len(self.raw) if self.end else self.places[self.at]

    def run(self) -> str:
        """As far as can be told."""
        try:
            while self.at < len(self.p):
                self._step()
        except _WaitError:
            assert not self.end
        if self.end:
            self.out.append(self.raw[self.places[len(self.p)] :])
        return "".join(self.out)

    def _step(self) -> None:
        state, char = self.state, self.p[self.at]
        if state._swallow:
            found = WORD.match(self.p, self.at)
            self.at = found.end() if found else self.at
            state._swallow = found is not None
            return
        if (
            state._line_start
            and char in "`~"
            and state._indent <= 3
            and not self._is_escaped(self.at)
            and self._fence_line()
        ):
            return
        if state._fence:
            self._word() if WORD.match(self.p, self.at) else self._keep(self.at + 1)
        elif char == "`":
            self._code()
        elif char == "<":
            self._tag()
        elif char == "[":
            self._link()
        elif char == "]":
            self._link_end()
        elif WORD.match(self.p, self.at):
            self._word()
        else:
            self._keep(self.at + 1)

    # --- moving on ----------------------------------------------------------------------------------------------------

    def _keep(self, to: int) -> None:
        """What stands up to here stays."""
        raw = self.raw[self.places[self.at] : self.places[to]]
        self.out.append(self.state.give(raw, self.places[self.at]))
        self._go(to)

    def _say(self, text: str, to: int) -> None:
        """In place of what stands up to here."""
        self.out.append(self.state.say(text))
        self._go(to)

    def _drop(self, to: int) -> None:
        self.state._gap = True
        self._go(to)

    def _go(self, to: int) -> None:
        for char in self.p[self.at : to]:
            if char == "\n":
                self.state._line_start, self.state._indent = True, 0
            elif char in " \t" and self.state._line_start:
                self.state._indent += 1 if char == " " else 4
            else:
                self.state._line_start = False
        self.at = to

    def _need(self, place: int) -> None:
        """That there is a character at this place, or the end."""
        if place >= len(self.p) and not self.end:
            raise _WaitError

    # --- words --------------------------------------------------------------------------------------------------------

    def _word(self) -> None:
        start = self.at
        found = WORD.match(self.p, start, start + LONGEST)
        assert found is not None
        stop, whole = found.end(), found.end() < start + LONGEST
        if whole:
            self._need(stop)
            if (
                self.p[stop - 1] == "!"
                and self.p[stop : stop + 1] == "["
                and not self.state._fence
                and self._image(stop)
            ):
                bare = len(self.p[start:stop].rstrip("!")) + start
                self._addresses(start, bare)
                self._drop(stop)
                return
        self._addresses(start, stop, whole=whole)

    def _addresses(self, start: int, stop: int, *, whole: bool = True) -> None:
        """What stands here, with an ellipsis for each address that must not stay. The beginning of a word without end is
        read again with what follows, unless it is an address."""
        word, until = self.p[start:stop], stop if whole else stop - _OVERLAP
        known = self.state.allowed() if any(sign in word for sign in ":/.@") else None
        for first, last in addresses(word) if known is not None else ():
            assert known is not None
            if start + first >= until:
                break
            if start + last >= stop and not whole:
                self._keep_if_any(start + first)
                self._say(INSTEAD, stop)
                self.state._swallow = True
                return
            if known.address(word[first:last]):
                self._keep_if_any(start + last)
                continue
            self._keep_if_any(start + first)
            self._say(INSTEAD, start + last)
        self._keep_if_any(max(until, self.at))

    def _keep_if_any(self, to: int) -> None:
        if to > self.at:
            self._keep(to)

    # --- code ---------------------------------------------------------------------------------------------------------

    def _fence_line(self) -> bool:
        """A line that begins or ends a block of code; in it addresses go, and all else stays."""
        end = self.p.find("\n", self.at, self.at + LONGEST)
        if end < 0 and not self.end and len(self.p) - self.at < LONGEST:
            raise _WaitError
        line = self.p[self.at : end + 1 if end >= 0 else self.at + LONGEST]
        found = _FENCE.fullmatch(line)
        opened = self.state._fence
        if found is not None and not all(map(self._is_beside, range(self.at + 1, self.at + len(found[1])))):
            found = None  # parted by what is not seen it is no fence
        if found is None or (
            opened and (found[1][0] != opened[0] or len(found[1]) < len(opened) or line.strip() != found[1])
        ):
            return False
        self.state._fence = "" if opened else found[1]
        stop = self.at + len(line)
        while self.at < stop:
            inner = WORD.match(self.p, self.at, stop)
            self._addresses(self.at, inner.end()) if inner else self._keep(self.at + 1)
        return True

    def _code(self) -> None:
        """A span of code on one line; a run of backticks that nothing closes is text. In code a backslash is a backslash, so that
        what closes it is looked for in the text as it is."""
        if self._is_escaped(self.at):
            self._keep(self.at + 1)
            return
        ticks = re.compile("`+").match(self.p, self.at, self._end_of_run())
        assert ticks is not None
        self._need(ticks.end())
        begins = self.places[ticks.end()]
        region = self.raw[begins : begins + _CODE]
        line = region.find("\n")
        runs = re.finditer("`+", region[: line if line >= 0 else None])
        close = next((run for run in runs if len(run[0]) == len(ticks[0])), None)
        open_end = line < 0 and len(region) < _CODE
        if open_end and not self.end and (close is None or close.end() == len(region)):
            raise _WaitError
        if close is None:
            self._keep(ticks.end())
            return
        stop = bisect_left(self.places, begins + close.end())
        while self.at < stop:
            inner = WORD.match(self.p, self.at, stop)
            self._addresses(self.at, inner.end()) if inner else self._keep(self.at + 1)

    def _is_escaped(self, place: int) -> bool:
        """Whether a backslash makes this character text: one that no other backslash makes text itself."""
        stands = self.places[place + 1] - 1
        return (stands - len(self.raw[:stands].rstrip("\\"))) % 2 == 1

    def _end_of_run(self) -> int:
        """Of the backticks that stand here with nothing between them that is not seen, up to one that is escaped."""
        end = self.at + 1
        while self.p[end : end + 1] == "`" and self._is_beside(end) and not self._is_escaped(end):
            end += 1
        return end

    def _is_beside(self, place: int) -> bool:
        """Whether a character stands right behind the one before it in the text as it is, too."""
        return self.places[place + 1] - self.places[place] == 1 == self.places[place] - self.places[place - 1]

    # --- tags ---------------------------------------------------------------------------------------------------------

    def _tag(self) -> None:
        self._need(self.at + 1)
        start = self.at
        if self.p[start + 1 : start + 2] in ("!", "?"):
            self._say("< ", start + 1)
            return
        self._need(start + 2)
        name = _NAME.match(self.p, start)
        if name is None:
            self._say("< ", start + 1) if self.p[start + 1 : start + 2] == "/" else self._keep(start + 1)
            return
        self._need(name.end())
        link = self._autolink(start)
        if link:
            return
        after = self.p[name.end() : name.end() + 1]
        tag = name[1].lower() in TAGS
        if not (after.isspace() or after == "/" or after == ">" or (not after and tag)) or (after == ">" and not tag):
            self._say("< ", start + 1)  # no tag to Markdown; but browsers take much more for one
            return
        self._take_tag(name[1].lower(), start)

    def _take_tag(self, name: str, start: int) -> None:
        inside = _INSIDE.match(self.p, start + 1, start + LONGEST)
        assert inside is not None
        end = inside.end()
        rest = self.p[end : start + LONGEST]
        if not self.end and len(self.p) < start + LONGEST and not rest.startswith(("<", ">")):
            raise _WaitError
        if not rest.startswith(">"):
            self._say("< ", start + 1)
            return
        inside_tag = self.p[start:end]
        if ("&&" in inside_tag or "||" in inside_tag) and "=" not in inside_tag and self.state._last.isalnum():
            self._say("< ", start + 1)  # a<b && c>d compares; as text it is harmless in any case
            return
        known = self.state.allowed()
        if known is None or known.holds(self.raw[self.places[start] : self.places[end + 1]]):
            self._say(
                "< ", start + 1
            )  # what stands in it is text again, and read as such: a quoted value may hold markup
        else:
            self._drop(end + 1)

    def _autolink(self, start: int) -> bool:
        """<https://...> or <a@b.c>."""
        end = start + 1
        while end < min(len(self.p), start + LONGEST) and not (self.p[end].isspace() or self.p[end] in "<>"):
            end += 1
        if end == len(self.p) and not self.end and end < start + LONGEST:
            raise _WaitError
        found = _AUTOLINK.fullmatch(self.p, start, end + 1)
        if found is None:
            return False
        known = self.state.allowed()
        if known is None or known.address(found[1]):
            self._say("", start + 1)
            if "[" in found[1] or "`" in found[1]:
                return True  # the rest is text, and may hold an image
            self._keep(found.end() - 1)
            self._say("", found.end())
        else:
            self._say(INSTEAD, found.end())
        return True

    # --- links --------------------------------------------------------------------------------------------------------

    def _label(self, at: int) -> re.Match[str] | None:
        """The text of a link on one line and the character behind it; None where it is none."""
        found = _LABEL.match(self.p, at)
        assert found is not None
        if not found[2] and not self.end and len(self.p) - at <= _LINK_TEXT + 1:
            raise _WaitError
        if found[2] != "]":
            return None
        self._need(found.end())
        return found

    def _image(self, at: int) -> bool:
        """Whether the mark of exclamation before this bracket makes an image of it. [1] is the number of a source."""
        label = self._label(at)
        return label is None or self.p[label.end() : label.end() + 1] in ("(", "[", ":") or not label[1].isdigit()

    def _link(self) -> None:
        start = self.at
        label = self._label(start)
        follows = self.p[label.end() : label.end() + 1] if label else ""
        if label and follows == ":" and self.state._line_start and self.state._indent <= 3 and self._definition(label):
            return
        target = self._target(label.end()) if label and follows == "(" else None
        if label is None or target is None:
            self._keep(start + 1)
            return
        end, stays = target
        state, close = self.state, label.end() - 1
        bare = not stays and not label[1].isdigit()
        state._links[state._read + self.places[close]] = (state._read + self.places[end], stays or not bare)
        if bare:
            self._drop(start + 1)
        else:
            self._keep(start + 1)

    def _link_end(self) -> None:
        """The end of a link's text: with the link, or without it."""
        state = self.state
        self._need(self.at + 1)
        planned = state._links.pop(state._read + self.places[self.at], None)
        target = self._target(self.at + 1) if self.p[self.at + 1 : self.at + 2] == "(" else None
        if target is None:
            self._keep(self.at + 1)
            return
        end, stays = target
        if stays and planned is None:
            self._keep(self.at + 1)  # no link of ours: what follows is read as text
        elif stays and "<" in self.p[self.at : end]:
            self._keep(self.at + 1)
            self._say(self.p[self.at : end].replace("<", "").replace(">", ""), end)
        elif stays:
            self._keep(end)
        elif planned is None or planned[1]:
            self._keep(self.at + 1)
            self._drop(end)
        else:
            self._drop(end)

    def _target(self, at: int) -> tuple[int, bool] | None:
        """The end of a link's target in round brackets, and whether it may stay; None where it is no target."""
        depth, region = 0, self.p[at : at + LONGEST]
        for place, char in enumerate(region):
            depth += (char == "(") - (char == ")")
            if depth == 0:
                break
            if depth > _DEEPEST or region.startswith("\n\n", place):
                return None
        else:
            if not self.end and len(region) < LONGEST:
                raise _WaitError
            return None
        found = _TARGET.fullmatch(region, 1, place)
        if found is None:
            return None
        return at + place + 1, self._stays(found[1] or found[2] or "")

    def _definition(self, label: re.Match[str]) -> bool:
        """[name]: address, on a line of its own, for links elsewhere."""
        end = self.p.find("\n", self.at, self.at + LONGEST)
        if end < 0 and not self.end and len(self.p) - self.at < LONGEST:
            raise _WaitError
        found = _TARGET.fullmatch(self.p, label.end() + 1, end if end >= 0 else min(len(self.p), self.at + LONGEST))
        if found is None or self._stays(found[1] or found[2] or ""):
            return False
        self._drop(found.end())
        return True

    def _stays(self, target: str) -> bool:
        """Whether a link may lead there. A mere word is no address."""
        known = self.state.allowed()
        return known is None or bool(_NO_TARGET.fullmatch(target)) or known.address(target)


# --- whole texts ------------------------------------------------------------------------------------------------------


def without_links(text: str, known: Known | None) -> str:
    """The text, with the addresses that these texts hold and no others."""
    return filtered(text, known)[0]


def filtered(text: str, known: Known | None) -> tuple[str, Callable[[int], int]]:
    """The same, and where a place in the text is then."""
    if _PLAINEST.fullmatch(text):
        return text, lambda place: max(0, min(place, len(text)))
    outbound = Outbound(lambda: known)
    return outbound.feed(text) + outbound.end(), outbound.moved


def without_links_inside(value: Any, known: Known | None) -> Any:
    """Each text inside of a value of JSON."""
    if isinstance(value, str):
        return without_links(value, known)
    if isinstance(value, Mapping):
        return {key: without_links_inside(item, known) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without_links_inside(item, known) for item in value)
    return value
