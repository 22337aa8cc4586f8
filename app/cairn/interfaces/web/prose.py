"""Text of documents and of models as HTML: Markdown, tables, code, lists, with marks that survive. Nothing in it loads or runs.

The HTML has the tags that markdown-it writes and no others: tags in a text are left out, pictures are their description, links
lead to the web or nowhere.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from nicegui import ui

from cairn.domain.question import SourceRef
from cairn.language.code_fences import FENCE, cut_off_fence
from cairn.language.quoted import locate_quotation
from cairn.language.sentences import Span
from cairn.language.tables import is_value, tables_in
from cairn.language.text import fold
from cairn.language.tokens import likeness, terms

SHORT_LINE: Final = 45
"""Characters of a line whose end is kept, as in an address or a list of values; longer lines are broken by whoever wrote them."""
_BEGINS, _ENDS = "\ue000", "\ue001"
"""Around what is marked, until the text is HTML: characters for private use, which mean nothing."""
_PRIVATE: Final = re.compile(f"[{_BEGINS}{_ENDS}]")
_MARKUP: Final = " \t\n|*_~`#>"
_ITEM: Final = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]+")
_CITED: Final = re.compile(r"\[(\d{1,3})\]")
_PIECES: Final = re.compile(r"(<[^<>]*>)")
_WORD: Final = re.compile(r"\w+")
_FRONT: Final = re.compile(r"\A---[ \t]*\n[\w$@\"'][^\n]{0,200}:[ \t\n]")
_FRONT_ENDS: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*$\n?", re.MULTILINE)
_MOST_FRONT: Final = 64_000
_WEB: Final = ("https://", "http://")
_TAG: Final = re.compile(r"</?([a-zA-Z][a-zA-Z0-9-]{0,20})(?:\s[^<>]*)?/?>|<[!?][^<>]*>")
_UNSHOWN: Final = (("<!--", "-->"), ("<script", "</script>"), ("<style", "</style>"))
"""What a text has between these is not for readers."""
_TAG_NAMES: Final = (
    "a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption center cite code "
    "col colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer "
    "form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link "
    "main map mark menu meta meter nav noscript object ol optgroup option output p param picture pre progress q rp rt "
    "ruby s samp script section select small source span strike strong style sub summary sup svg table tbody td "
    "template textarea tfoot th thead time title tr track tt u ul var video wbr"
)  # fmt: skip
_TAGS: Final = frozenset(_TAG_NAMES.split())
"""Of HTML; others in angle brackets are names that a text gives, such as <your-domain>."""
_LEFT_OPEN: Final = frozenset({"br", "hr", "img", "li", "p", "td", "th", "tr", "dt", "dd", "wbr"})
"""Of these those that people do not close. Of the others one that no text closes is a word of it, too: "cp <source> <time>"."""
_CLOSING: Final = re.compile(r"</([a-zA-Z][a-zA-Z0-9]{0,20})")
_FOLLOW: Final = """(event) => {
  const copy = event.target.closest('.copy');
  if (copy) {
    const code = copy.parentElement.querySelector('code'), said = copy.textContent;
    const taken = () => { copy.textContent = copy.dataset.done; setTimeout(() => copy.textContent = said, 2000); };
    const select = () => { getSelection().selectAllChildren(code); document.execCommand('copy'); taken(); };
    navigator.clipboard ? navigator.clipboard.writeText(code.textContent).then(taken, select) : select();
    return;
  }
  const link = event.target.closest('a');
  if (!link) return;
  event.preventDefault();
  const address = link.getAttribute('href') || '';
  if (address.startsWith('#source-')) emit(Number(address.slice(8)));
  else if (/^https?:/.test(address)) window.open(address, '_blank', 'noopener,noreferrer');
}"""
"""Links open sources here, and everything else in a window that knows nothing of this one; code is copied."""


def render(
    text: str, *, marks: Iterable[Span] = (), cited: Collection[int] = (), copy: tuple[str, str] | None = None
) -> str:
    """The text as HTML. `marks`: spans (code points of the text) to be marked. `cited`: numbers of sources that [n] leads to.
    `copy`: on a button beside code, before and after it is pressed; None: there is none."""
    closed = frozenset(name.lower() for name in _CLOSING.findall(text))
    rendered = _parser().render(_with_sentinels(text, marks), {"copy": copy, "closed": closed})
    return "".join(_finished(rendered, frozenset(cited)))


def find_words(text: str, query: str) -> list[Span]:
    """Where the words of a query stand in a text, inflected ones too; of a query of stop words alone, nowhere."""
    wanted = set(terms(query))
    known: dict[str, bool] = {}

    def is_wanted(word: str) -> bool:
        if word not in known:
            folded = fold(word)
            known[word] = any(likeness(one, folded) >= 0.9 for one in wanted)
        return known[word]

    return [found.span() for found in _WORD.finditer(text) if is_wanted(found[0])] if wanted else []


def cut_around(text: str, marks: Sequence[Span], length: int) -> tuple[str, list[Span]]:
    """At most about `length` characters of a text where most of it is marked, from the beginning of a line or a sentence, and its
    marks; its beginning where nothing is."""
    if len(text) <= length:
        return text, list(marks)
    starts = [0, *(found.end() for found in re.finditer(r"\n+|[.!?][ \n]", text) if found.end() < len(text))]
    said = {at: len({text[a:b].lower() for a, b in marks if at <= a and b <= at + length}) for at in starts}
    most = max(said.values())
    best = max(at for at in starts if said[at] == most) if most else 0
    end = min(len(text), best + length)
    end = end if end == len(text) else max(text.rfind(" ", best, end), text.rfind("\n", best, end), best + length // 2)
    kept = [(a - best, b - best) for a, b in marks if best <= a and b <= end]
    return text[best:end] + ("…" if end < len(text) else ""), kept


# --- before: what is not Markdown, and where marks begin and end ------------------------------------------------------------


def _with_sentinels(text: str, marks: Iterable[Span]) -> str:
    """Free of front matter and of markup that was cut in two, with sentinels around what is marked."""
    text = _PRIVATE.sub("�", text)
    begins = _after_front_matter(text)
    put: list[tuple[int, int, str]] = []
    for start, end in _merged(marks):
        start, end = _inner(text, max(start, begins), end)
        if start < end:
            put += [(start, 1, _BEGINS), (end, 0, _ENDS)]
    if cut_off_fence(text, begins, len(text)):
        put.append((begins, -1, "```\n"))
    for table in tables_in(text):
        if table.span[0] >= begins and table.header_span[0] == table.header_span[1] and table.rows:
            columns = max(len(row.cells) for row in table.rows)
            put.append((table.span[0], -1, f"\n|{' |' * columns}\n|{' --- |' * columns}\n"))
    parts, at = [], begins
    for place, _, said in sorted(put):
        parts += [text[at:place], said]
        at = place
    return "".join((*parts, text[at:]))


def _after_front_matter(text: str) -> int:
    if not _FRONT.match(text):
        return 0
    ends = _FRONT_ENDS.search(text, 4, _MOST_FRONT)
    return ends.end() if ends else 0


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _inner(text: str, start: int, end: int) -> Span:
    """Without what Markdown would read otherwise, were there anything before it."""
    if start and text[start - 1] == "\\":
        start -= 1
    while start < end:
        if not text[text.rfind("\n", 0, start) + 1 : start].strip():  # at the beginning of a line
            if FENCE.match(text, start):
                start = (text.find("\n", start) + 1) or end
                continue
            if item := _ITEM.match(text, start, end):
                start = item.end()
                continue
        if text[start] not in _MARKUP:
            break
        start += 1
    while end > start and text[end - 1] in _MARKUP:
        end -= 1
    return start, end


# --- Markdown ---------------------------------------------------------------------------------------------------------------


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    made.disable(["reference"])  # definitions of links can take quadratic time
    made.core.ruler.push("plain", _settle)
    for name, rule in (
        ("image", _image), ("html_inline", _no_tag), ("html_block", _no_block), ("softbreak", _line_end), ("fence", _code),
        ("code_block", _code), ("table_open", _table_open), ("table_close", _table_close),
    ):  # fmt: skip
        made.add_render_rule(name, rule)
    return made


def _settle(state: Any) -> None:
    """Links that lead nowhere are text, columns of numbers are known as such."""
    for at, token in enumerate(state.tokens):
        if token.type == "table_open":
            _settle_table(state.tokens, at)
        opened: list[Token] = []
        for child in token.children or ():
            if child.type == "link_open":
                opened.append(child)
                if not str(child.attrs.get("href", "")).startswith(_WEB):
                    child.tag, child.attrs = "span", {}
            elif child.type == "link_close" and opened:
                child.tag = opened.pop().tag


def _settle_table(tokens: Sequence[Token], at: int) -> None:
    columns: dict[int, list[tuple[Token, str]]] = {}
    heads: list[str] = []
    column = 0
    for place in range(at + 1, len(tokens)):
        token = tokens[place]
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            column = 0
        elif token.type in ("td_open", "th_open"):
            said = _PRIVATE.sub("", tokens[place + 1].content).strip()
            token.attrs.pop("style", None)
            columns.setdefault(column, []).append((token, said))
            heads += [said] if token.type == "th_open" else []
            column += 1
    for cells in columns.values():
        told = [said for token, said in cells if token.type == "td_open" and said]
        if told and sum(is_value(said) for said in told) > len(told) / 2:
            for token, _ in cells:
                token.attrSet("class", "number")
    if not any(heads):
        tokens[at].attrSet("class", "bare")


def _image(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return html.escape(tokens[at].content)


def _no_tag(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return _without_tags(tokens[at].content, env["closed"])


def _no_block(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    said = tokens[at].content
    code = re.search(r"<pre\b", said, re.IGNORECASE)
    shown = _without_tags(said, env["closed"]).strip()
    if not shown:
        return ""
    return f"<pre><code>{shown}</code></pre>\n" if code else f"<p>{shown}</p>\n"


def _without_tags(said: str, closed: Collection[str]) -> str:
    """Escaped, without the tags of HTML; line ends for those that end lines. `closed`: names of those that the text closes."""
    for opens, closes in _UNSHOWN:
        said = _cut_out(said, opens, closes)
    shown, at = [], 0
    for tag in _TAG.finditer(said):
        name = (tag[1] or "").lower()
        if name and not (name in _TAGS and (name in closed or name in _LEFT_OPEN or "=" in tag[0])):
            continue
        shown += [html.escape(html.unescape(said[at : tag.start()]), quote=False), "<br>" if name == "br" else ""]
        at = tag.end()
    return "".join((*shown, html.escape(html.unescape(said[at:]), quote=False)))


def _cut_out(said: str, opens: str, closes: str) -> str:
    parts, at = [], 0
    begins, ends = (re.compile(re.escape(sign), re.IGNORECASE) for sign in (opens, closes))
    while (start := begins.search(said, at)) and (end := ends.search(said, start.end())):
        parts.append(said[at : start.start()])
        at = end.end()
    return "".join((*parts, said[at:]))


def _line_end(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    length, before = 0, at - 1
    while before >= 0 and tokens[before].type not in ("softbreak", "hardbreak"):
        length += len(tokens[before].content)
        before -= 1
    return "<br>\n" if length < SHORT_LINE else "\n"


def _code(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    shown = f"<pre><code>{html.escape(tokens[at].content, quote=False)}</code></pre>"
    if not env.get("copy"):
        return f"{shown}\n"
    before, after = map(html.escape, env["copy"])
    return f'<div class="code">{shown}<button class="copy" type="button" data-done="{after}">{before}</button></div>\n'


def _table_open(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f'<div class="scroll">{renderer.renderToken(tokens, at, options, env)}'


def _table_close(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f"{renderer.renderToken(tokens, at, options, env).rstrip()}</div>\n"


# --- after: marks and numbers -----------------------------------------------------------------------------------------------


def _finished(rendered: str, cited: frozenset[int]) -> Iterator[str]:
    """Marks that are closed before each tag and opened behind it; links to sources outside code and links."""
    marked, closed = False, 0
    last = rendered.rfind(_ENDS)
    at = 0
    for piece in _PIECES.split(rendered):
        at += len(piece)
        if piece.startswith("<"):
            name = piece[1:5].lower()
            if name.startswith(("a ", "code")):
                closed += 1
            elif name.startswith(("/a>", "/cod")):
                closed -= 1
            yield _PRIVATE.sub("", piece).replace("%EE%80%80", "").replace("%EE%80%81", "")
            continue
        for said in re.split(f"([{_BEGINS}{_ENDS}])", piece):
            if said in (_BEGINS, _ENDS):
                marked = said == _BEGINS and at - len(piece) <= last
                continue
            shown = said if closed else _CITED.sub(lambda found: _link(found, cited), said)
            yield f"<mark>{shown}</mark>" if marked and said.strip() else shown


def _link(found: re.Match[str], cited: frozenset[int]) -> str:
    number = int(found[1])
    return f'<a class="cite" href="#source-{number}">{number}</a>' if number in cited else found[0]


# --- shown ------------------------------------------------------------------------------------------------------------------


def show_text(text: str, *, marks: Iterable[Span] = (), copy: tuple[str, str] | None = None) -> ui.html:
    """A text of a document or a model, rendered; browsers sanitize it once more."""
    return ui.html(render(text, marks=marks, copy=copy)).classes("prose w-full").on("click", js_handler=_FOLLOW)


def show_code(text: str, *, marks: Iterable[Span] = ()) -> ui.html:
    """A text that is code as a whole."""
    parts, at = [], 0
    for start, end in _merged(marks):
        parts += [html.escape(text[at:start]), f"<mark>{html.escape(text[start:end])}</mark>"]
        at = end
    return ui.html(f"<pre><code>{''.join(parts)}{html.escape(text[at:])}</code></pre>").classes("prose w-full")


def show_answer(
    text: str,
    sources: tuple[SourceRef, ...],
    open_source: Callable[[SourceRef], Any],
    *,
    marks: Iterable[Span] = (),
    copy: tuple[str, str] | None = None,
) -> ui.html:
    """The answer, or a part of it; `open_source` is called with what a clicked number names."""
    by_number = {source.n: source for source in sources if source.cited}
    shown = ui.html(render(text, marks=marks, cited=by_number, copy=copy)).classes("prose w-full")

    async def follow(event: Any) -> None:
        if source := by_number.get(event.args):
            await open_source(source)

    return shown.on("click", follow, js_handler=_FOLLOW)


def quotation_in(text: str, sources: tuple[SourceRef, ...]) -> Span | None:
    """Where the first quotation of an answer stands in it, with other words around it."""
    first = next((source for source in sources if source.cited and source.n == 1), None)
    return locate_quotation(text, 1, first.preview, first.end - first.start) if first else None
