"""How a candidate is quoted: which span of the passage, at most about MOST_CHARS long, and how that reads without its
markup. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from cairn.answer.candidates import Candidate, TableRow
from cairn.answer.evidence import Measured, QuestionTerms, asks_for_column, wanted_columns
from cairn.domain.answer import Citation
from cairn.domain.document import section_label
from cairn.domain.passage import Passage
from cairn.language.code_fences import fence_around
from cairn.language.lexicon import Replies, every
from cairn.language.linear import bounded
from cairn.language.links import DESTINATION
from cairn.language.outbound import TAGS
from cairn.language.sentences import Kind, Span, Unit
from cairn.language.tables import describe_row
from cairn.language.text import fold
from cairn.language.tokens import terms as words_of

MOST_CHARS: Final = 250  # bound: tests/unit/test_edges_quotation.py
"""Of a quotation; a longer sentence is cut at a clause."""
MOST_CODE: Final = 600  # bound: tests/unit/test_edges_quotation.py
"""Of a block of code that is shown whole; of a longer one the best lines, at most MOST_CHARS."""
IN_WORDS: Final = 4  # measured: tests/unit/test_edges_quotation.py
"""Words of a cell that is read without its header."""
SAME: Final = 0.7  # measured: tests/unit/test_edges_quotation.py
"""Share of the words of two candidates that both have, from which on they say the same."""
ADDS: Final = 0.4  # measured: tests/unit/test_edges_quotation.py
"""By how much better a neighbour must hold a word of the question to be quoted for it."""
TOGETHER: Final = 0.5  # measured: tests/unit/test_edges_quotation.py
"""By how much less (in log odds) a neighbouring sentence may score to be quoted with the best."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`at`: place of its candidate; `spans` in the content of passage `rank`, each of which is cited: nearly always one, two
    where a row answers by a header that stands far above it; `shown`: how it reads."""

    at: int
    rank: int
    spans: tuple[Span, ...]
    kind: Kind
    shown: str

    def marks(self, n: int) -> str:
        """`[n]` for each span."""
        return "".join(f"[{number}]" for number in range(n, n + len(self.spans)))

    @classmethod
    def whole(cls, at: int, candidate: Candidate) -> Excerpt:
        """A candidate from its beginning to its end."""
        unit = candidate.unit
        shown = describe_row(candidate.cells.table, candidate.cells.row) if candidate.cells else candidate.text
        return cls(
            at,
            candidate.rank,
            ((unit.start, unit.end),),
            unit.kind,
            shown if unit.kind == "code" else without_markup(shown),
        )

    def moved(self, by: int) -> Excerpt:
        """In a passage that begins so many characters earlier."""
        return replace(self, spans=tuple((start + by, end + by) for start, end in self.spans)) if by else self

    def cited(self, n: int) -> str:
        """As a paragraph of an answer."""
        if self.kind == "code":
            fence = fence_around(self.shown)
            return f"{fence}\n{self.shown}\n{fence}\n{self.marks(n)}"
        return f"{self.shown} {self.marks(n)}"


def quote(
    at: int, found: Sequence[Candidate], scores: Measured, terms: QuestionTerms, passages: Sequence[Passage]
) -> Excerpt:
    """The excerpt that candidate `at` is best shown by."""
    candidate = found[at]
    content, unit = passages[candidate.rank].content, candidate.unit
    if candidate.cells is not None:
        return _quote_row(at, candidate, candidate.cells, terms, content)
    if unit.kind == "code":
        span = _code_span(content, (_first_line(passages[candidate.rank], unit), unit.end), terms)
        return Excerpt(at, candidate.rank, (span,), "code", content[slice(*span)])
    span = (unit.start, unit.end)
    if unit.kind == "prose":
        span = _with_neighbour(at, found, scores, terms, content)
    if span[1] - span[0] > MOST_CHARS:
        span = _best_clauses(content, span, terms)
    return Excerpt(at, candidate.rank, (span,), unit.kind, without_markup(content[slice(*span)]))


# --- rows -------------------------------------------------------------------------------------------------------------


def _quote_row(at: int, candidate: Candidate, cells: TableRow, terms: QuestionTerms, content: str) -> Excerpt:
    columns = wanted_columns(cells, terms)
    shown = without_markup(_describe(cells, columns))[: 2 * MOST_CHARS]
    span = (cells.row.start, cells.row.end)
    if span[1] - span[0] > MOST_CHARS and columns:
        span = _around(span, cells.row.cell_spans[columns[0]])
    spans: tuple[Span, ...] = (span,)
    if columns and asks_for_column(terms):
        spans = _with_header(cells, span, content)
    return Excerpt(at, candidate.rank, spans, "row", shown)


def _describe(cells: TableRow, columns: Sequence[int] | None) -> str:
    """Of a table of two columns, of which the second says in words what the first is, without the header: "`serve`: HTTP API"."""
    row = cells.row
    if columns is None and len(row.cells) == 2 and len(row.cells[1].split()) >= IN_WORDS:
        return f"{row.label}: {row.cells[1]}"
    return describe_row(cells.table, row, columns)


def _with_header(cells: TableRow, row: Span, content: str) -> tuple[Span, ...]:
    """The row and the header, which is the answer: as one quotation, or where that is too long the header first."""
    start, end = cells.table.header_span
    line = content[start : content.find("\n", start, end)].rstrip(" |")
    begins = start + len(line) - len(line.lstrip(" |"))
    if row[1] - begins <= MOST_CHARS:
        return ((begins, row[1]),)
    header = (begins, min(start + len(line), begins + MOST_CHARS))
    return (header, row) if header[0] < header[1] else (row,)


def _around(span: Span, cell: Span) -> Span:
    """From the label as far as the cell, or the cell's neighbourhood where that is too far."""
    if cell[1] - span[0] <= MOST_CHARS:
        return span[0], cell[1]
    return cell[0], min(span[1], max(cell[1], cell[0]))


# --- sentences --------------------------------------------------------------------------------------------------------

_ANAPHORA: Final = every(lambda one: one.carry.pronouns) | every(lambda one: one.carry.demonstratives)


def _with_neighbour(at: int, found: Sequence[Candidate], scores: Measured, terms: QuestionTerms, content: str) -> Span:
    """A sentence with the one before it, where it begins with a pronoun, or with a neighbour that is nearly as good or has a
    word of the question that it lacks; as far as the quotation does not get too long."""
    unit = found[at].unit
    span = (unit.start, unit.end)
    first = content[unit.start : unit.end].split(maxsplit=1)
    leans = bool(first) and fold(first[0]) in _ANAPHORA
    held = terms.held(found[at].words)
    for other in sorted((at - 1, at + 1), key=lambda place: -scores[place] if 0 <= place < len(found) else 0.0):
        if not 0 <= other < len(found) or not _touch(found[at], found[other], content):
            continue
        adds = bool((terms.held(found[other].words) > held + ADDS).any())
        joined = (min(span[0], found[other].unit.start), max(span[1], found[other].unit.end))
        near = scores[other] >= scores[at] - TOGETHER
        if (near or adds or (leans and other < at)) and joined[1] - joined[0] <= MOST_CHARS:
            return joined
    return span


def _touch(one: Candidate, other: Candidate, content: str) -> bool:
    """Whether two sentences follow each other in a paragraph."""
    if one.rank != other.rank or not one.unit.kind == other.unit.kind == "prose":
        return False
    first, second = sorted((one.unit, other.unit), key=lambda unit: unit.start)
    gap = content[first.end : second.start]
    return gap.isspace() and "\n\n" not in gap


_CLAUSE: Final = re.compile(r"[;:,)–—]\s|\s(?=[(–—]\s?\w)|\.\s|\n")


def _best_clauses(content: str, span: Span, terms: QuestionTerms) -> Span:
    """Of a long sentence the neighbouring clauses, at most MOST_CHARS long, that hold most of the question; of equal ones the
    longest, then the first. The sentence up to a word where it has no clauses."""
    start, end = span
    edges = [start, *(mark.end() for mark in _CLAUSE.finditer(content, start, end)), end]
    best, worth = (0.0, 0, 0), None
    held = [terms.held(words_of(content[a:b])) for a, b in pairwise(edges)]
    for i in range(len(edges) - 1):
        total = held[i] * 0
        for j in range(i, len(edges) - 1):
            if edges[j + 1] - edges[i] > MOST_CHARS:
                break
            total = total.clip(min=held[j])
            length = edges[j + 1] - edges[i]
            key = (float(terms.idf @ total), length, -i)
            if worth is None or key > best:
                best, worth = key, (edges[i], edges[j + 1])
    if worth is None:
        return start, ends_before(content, start, start + MOST_CHARS)
    body = content[worth[0] : worth[1]]
    return worth[0], worth[0] + len(body.rstrip())


def ends_before(content: str, start: int, end: int) -> int:
    """Where a sentence ends that is longer: at a blank, and before a link or code that would be cut in two, unless more than half
    of it would be left out; at `end` where there is no blank."""
    at = content.rfind(" ", start, end)
    if at <= start:
        return end
    piece = content[start:at]
    begun = _LINK_BEGUN.search(piece)
    open_ = [*([begun.start()] if begun else []), *([piece.rfind("`")] if piece.count("`") % 2 else [])]
    shown = piece[: min(open_)].rstrip() if open_ else piece
    return start + len(shown) if 2 * len(shown) > len(piece) else at


_LINK_BEGUN: Final = re.compile(r"!?\[[^\[\]\n]{0,300}(?:\]\([^()\n]{0,500})?\Z")


def _first_line(passage: Passage, unit: Unit) -> int:
    """Where code begins without the rest of a line that begins in the passage before."""
    if passage.start == 0 or passage.content[: unit.start].strip():
        return unit.start
    return (passage.content.find("\n", unit.start, unit.end) + 1) or unit.start


def _code_span(content: str, span: Span, terms: QuestionTerms) -> Span:
    """A block of code whole, or of a long one the lines around what the question names."""
    start, end = span
    if end - start <= MOST_CODE:
        return span
    lines = [start, *(start + mark.end() for mark in re.finditer("\n", content[start:end])), end]
    windows: dict[float, list[Span]] = {}
    for i, begins in enumerate(lines[:-1]):
        ends = max((line for line in lines[i + 1 :] if line - begins <= MOST_CHARS), default=begins + MOST_CHARS)
        windows.setdefault(float(terms.idf @ terms.held(words_of(content[begins:ends]))), []).append((begins, ends))
    best = windows[max(windows)]
    worth = best[len(best) // 2]  # what is named stands in their middle
    return worth[0], worth[0] + len(content[slice(*worth)].rstrip())


# --- without markup -----------------------------------------------------------------------------------------------------

_WHITE = re.compile(r"\s+")
_HARD_BREAK: Final = re.compile(r"(?<=\S)(?<!\\)(?:\*\*\\\*\*(?=\s|\Z)|(?<![\s\w:/])\\(?=\n|\Z)|(?<=\w)\\(?=\n))")
"""A backslash at the end of a line of Markdown, which GitBook puts in bold where the words before it were."""
_HYPHENATED: Final = re.compile(r"\u2010\n\s*(?=[^\W\d_])")
"""A word that was cut at the end of a printed line, as manual pages do."""
_LINKS: Final = (
    (re.compile(rf"!\[([^\[\]\n]*)\]{DESTINATION}"), r"\1"),
    (
        re.compile(  # with brackets in what it says, or in its address: "[PATCH /config/[path]](#patch)"
            rf"\[((?:[^\[\]\n]|\[[^\[\]\n]*+\])*+)\]{DESTINATION}"
        ),
        r"\1",
    ),
    (re.compile(r"\[([^\[\]\n]*)\]\[[^\[\]\n]*\]"), r"\1"),
    (re.compile(r"\[edit\]"), ""),
    (re.compile(r"(?<=\S)\[\^[\w.-]{1,60}\]"), ""),
)
_TAG: Final = re.compile(
    r"<(?P<close>/?)(?P<name>p|div|span|a|i|b|u|em|strong|small|font|tt|code|kbd|pre|sup|sub|img|picture|figure|figcaption|source"
    r"|details|summary|center|blockquote|ul|ol|li|dl|dt|dd|table|thead|tbody|tr|td|th|h[1-6]|br|hr)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_CLOSING: Final = re.compile(r"</([a-z][a-z0-9]{0,9})\s*>", re.IGNORECASE)
_SETS_OUT_NAMES: Final = (
    "p div center blockquote ul ol li dl dt dd thead tbody tr td th h1 h2 h3 h4 h5 h6 br hr img figcaption"
)
_SETS_OUT: Final = frozenset(_SETS_OUT_NAMES.split())
"""Elements that need not end in the sentence that they begin in; of the others one without an end is a name: "redir <code>"."""
_EMPHASIS: Final = (
    (re.compile(r"(\*\*|(?<!\w)__)(?=\S)([^\n]{0,1000}?\S)\1(?<!_(?=\w))"), r"\2"),
    (
        re.compile(  # at the edges of words: not in snake_case, _private, _a_b_, /_next_/ and _f_(x)
            r"(?<![^\s*([{|~\"'\u201c\u2018\u00ab\u201e\u00bf\u00a1\u2013\u2014])_(?![\s_]|\w{1,60}_[^\W_]{1,60}_(?!\w))"
            r"((?:[^_\n]|(?<=\w)_(?=\w)){0,500}?[^\s_])_(?![\w/=(]|[-.:@]\w)"
        ),
        r"\1",
    ),
    (re.compile(r"(?<![\w*\\])\*(?=[^\s*])([^*\n]*[^\s*\\])\*(?![\w*])"), r"\1"),
)
_ESCAPED: Final = (
    (re.compile(r"(?<![^\s])\\\(([^()\\\s]{1,60}(?: [^()\\\s]{1,60}){1,20})\\\)(?![^\s.,;:!?])"), r"(\1)"),
    (re.compile(r"(?<![\\:])\\_"), "_"),
    (re.compile(r"(?<![^\s(\"'])\\\*(?=\w)([^*\\\n\0]{1,60})\\\*"), r"*\1*"),
    (re.compile(r"(?<![\\^.+\])])\\\*(?![^\s).,;:])"), "*"),
    (re.compile(r"(?<=\d)\\\.(?!\S)"), "."),
    (
        re.compile(  # a name that is to be replaced, of which the brackets are shown
            r"(?<![^\s(\[\"'])\\<(\w[^<>\\\s`\0]{0,60}@[^<>\\\s`\0]{1,60}|[A-Za-z][\w.|-]{0,60}(?=>))\\?>"
        ),
        r"`<\1>`",
    ),
)
"""What says the same without a backslash, in Markdown and out of it: "\\(in brackets\\)", "snake\\_case", "a\\*", "2019\\."."""
_CODE: Final = re.compile(r"(?<!`)(?:`([^`\n]+)`|(``+)(?!`)([^\n]{1,400}?)(?<!`)\2)(?!`)")
"""In backticks, or between more of them what has backticks itself."""
_LAYOUT: Final = (
    (bounded(r"^\s*(?:#{1,6}\s+|[|>]\s?)+|\s*\|\s*$"), ""),
    (re.compile(r"(?<![.\s])\s*+\.(?:\s?\.){3,}+\s*+\d*+$"), ""),
)


_TERM: Final = re.compile(
    r"(?:[-*+]\s|\d{1,3}[.)]\s)?\s{0,9}(?:(?:\*\*|__)[^*_\n]{1,200}(?<![.:;!?])(?:\*\*|__)"
    r"|\[(?:[^\[\]\n]|\[[^\[\]\n]{0,99}\]){1,200}(?<![.:;!?])\]\([^()\s]{1,500}\)|`[^`\n]{1,200}`)"
)
"""A line that is nothing but a name: of an item, what stands below it is said of that."""


def after_term(line: str, said: str) -> str:
    """A colon where an item begins with a line that is a name, and goes on with what is said of it."""
    return ":" if said[:1].isupper() and _TERM.fullmatch(line.strip()) else ""


def _with_colon(text: str) -> str:
    """A quotation, of which the first line may be the name of an item: then the second one is set in."""
    first, _, rest = text.partition("\n")
    return f"{first.rstrip()}{after_term(first, rest.lstrip())}\n{rest}" if rest[:1] in (" ", "\t") else text


def without_markup(text: str) -> str:
    """A quotation as it reads: links, emphasis, bars and hard line breaks undone."""
    text = without_white(_HYPHENATED.sub("", _HARD_BREAK.sub("", _with_colon(text))))
    return _outside_of_code(text, (*_LINKS, *_EMPHASIS, *_ESCAPED, *_LAYOUT), bare=True).strip()


def with_code_only(text: str) -> str:
    """A line as it reads, what it has as code still between its backticks: there, nothing is markup. No NUL stands in it but as
    a mark of the caller's, which stays."""
    return _outside_of_code(text, (*_LINKS, *_EMPHASIS, *_ESCAPED, *_LAYOUT))


def row_as_read(line: str) -> str:
    """The line of a row of a table, as one, without links, emphasis and tags."""
    return _outside_of_code(line, (*_LINKS, *_EMPHASIS, *_ESCAPED))


def _outside_of_code(text: str, changes: Sequence[tuple[re.Pattern[str], str]], *, bare: bool = False) -> str:
    """`bare`: code loses its backticks, unless it would be a tag without them, or would lose its own."""
    code: list[str] = []

    def take(found: re.Match[str]) -> str:
        said = found[1] or found[3].strip()
        code.append(found[0] if not bare or "<" in said or "`" in said else said)
        return f"\0{len(code) - 1}\0"

    text = _without_tags(_CODE.sub(take, text))
    for pattern, instead in changes:
        text = pattern.sub(instead, text)
    text = placeholders_as_code(text)
    return _TAKEN.sub(lambda found: code[int(found[1])], without_white(text))


def _without_tags(text: str) -> str:
    """Without tags of HTML, but with what is named like one and is to be replaced."""
    if "<" not in text:
        return text
    closed = {name.lower() for name in _CLOSING.findall(text)}

    def instead(tag: re.Match[str]) -> str:
        name = tag["name"].lower()
        if tag["close"] or name in closed or name in _SETS_OUT or "=" in tag[0] or tag[0].endswith("/>"):
            return " " if name in ("br", "hr") else ""
        return tag[0]

    return _TAG.sub(instead, text)


_PLACEHOLDER: Final = re.compile(
    r"(?P<code>`[^`\n]{1,300}`)"
    r"|<(?P<name>[A-Za-z][\w.:-]{0,60})(?:\s[^<>`\n\0]{0,200})?>[^`\n\0]{0,300}?</\s?(?P=name)\s?>"
    r"|(?<![\w./=:@`\0-])(?:[\w./=:@-]{0,60}<[A-Za-z][\w .|-]{0,60}>){1,9}(?:[\w./=:@-]{0,60}\w)?"
    r"|</?[A-Za-z][\w.:-]{0,60}(?:\s[^<>`\n\0]{0,200})?/?>"
)
"""A word with a name in angle brackets, which somebody is to replace; or an element of XML, which is code as a whole."""


def placeholders_as_code(text: str) -> str:
    """`tar <file>` with the placeholder as code: outside of code a name in angle brackets is a tag to whoever shows it, and is
    taken apart before it goes out (docs/adr/0050). So is an element of HTML with attributes or an end, in code as well."""

    def instead(found: re.Match[str]) -> str:
        element = _ELEMENT.match(found[0])
        acts = (
            element is not None and element[1].lower() in TAGS and (found["name"] or "=" in found[0] or "/" in found[0])
        )
        return found["code"] or (found[0] if acts else f"`{found[0]}`")

    return _PLACEHOLDER.sub(instead, text) if "<" in text else text


_ELEMENT: Final = re.compile(r"</?([A-Za-z][\w.:-]*)")
_TAKEN: Final = re.compile(r"\0(\d+)\0")


def without_white(text: str) -> str:
    """With single spaces."""
    return _WHITE.sub(" ", text).strip()


def lead_over_others(order: Sequence[int], found: Sequence[Candidate], scores: Measured) -> float:
    """By how much the best candidate scores more than the best that says something else; 0 where none does."""
    best = order[0]
    other = next((at for at in order[1:] if not says_the_same(found[best], found[at])), None)
    return float(scores[best] - scores[other]) if other is not None else 0.0


def says_the_same(one: Candidate, other: Candidate) -> bool:
    """Whether two candidates have nearly the same words, and the same numbers."""
    if not one.words or not other.words:
        return one.text == other.text
    if any(any(map(str.isdigit, word)) for word in one.words ^ other.words):
        return False
    return len(one.words & other.words) >= SAME * len(one.words | other.words)


def label_place(made: Citation, say: Replies) -> str:
    """Where a citation stands: title, then page or section."""
    title = made.title or made.external_id
    if made.page is not None:
        return f"{title}, {say.page.format(n=made.page)}"
    section = placeholders_as_code(section_label(made.headings, title))
    return f"{title}, {section}" if section else title
