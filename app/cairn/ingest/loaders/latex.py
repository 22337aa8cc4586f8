"""LaTeX as its reader sees it, as Markdown: sections, lists, code, tables and formulas; what steers the printer goes.

pylatexenc reads the syntax. Nothing is included and no macro of the file is run: one without arguments stands for its short text,
of any other the text of its arguments stays. Formulas keep their source between dollars, as Markdown has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pylatexenc.latex2text import LatexNodes2Text
from pylatexenc.latexwalker import LatexCharsNode, LatexWalker, get_default_latex_context_db
from pylatexenc.macrospec import EnvironmentSpec, MacroSpec, ParsedVerbatimArgs, VerbatimArgsParser

from cairn.errors import ParserLimitError
from cairn.ingest.loaders import render
from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.text import decode
from cairn.language.tables import render_table

_LEVELS: Final = {"part": 0, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4}
_RUN_IN: Final = {"paragraph", "subparagraph", "minisec", "frametitle", "framesubtitle"}
_LISTS: Final = {"itemize", "enumerate", "description", "compactitem", "compactenum", "inparaenum", "thebibliography"}
_CODE: Final = {"verbatim", "verbatim*", "lstlisting", "minted", "Verbatim", "BVerbatim", "alltt", "semiverbatim"}
_FORMULAS: Final = {
    name + star
    for name in ("equation", "align", "alignat", "gather", "multline", "eqnarray", "flalign", "displaymath", "math", "dmath")
    for star in ("", "*")
}  # fmt: skip
_TABLES: Final = {
    "tabular": "[{", "tabular*": "{[{", "tabularx": "{[{", "tabulary": "{{", "longtable": "[{", "longtabu": "{", "tabu": "{",
    "array": "[{",
}  # fmt: skip
"""With what stands before the cells."""
_DRAWN: Final = {"tikzpicture", "pgfpicture", "picture", "comment", "filecontents", "filecontents*", "CCSXML", "axis"}
"""Environments without words for a reader."""
_STATEMENTS: Final = {
    "theorem", "lemma", "proposition", "corollary", "definition", "remark", "example", "proof", "exercise", "claim", "conjecture",
    "abstract", "note", "warning", "solution", "problem", "question", "answer", "assumption",
    "acknowledgements", "acknowledgments",
}  # fmt: skip
_LOGOS: Final = {"TeX", "LaTeX", "BibTeX", "XeTeX", "XeLaTeX", "LuaTeX", "LuaLaTeX", "pdfTeX", "pdfLaTeX", "ConTeXt"}
_CITES: Final = {
    "cite", "citep", "citet", "citealp", "citealt", "citeauthor", "citeyear", "citeyearpar", "parencite", "textcite", "autocite",
    "footcite", "Citet", "Citep", "nocite",
}  # fmt: skip
_REFERENCES: Final = {"ref", "eqref", "autoref", "cref", "Cref", "pageref", "nameref", "vref", "hyperref"}
_SILENT: Final = {
    "label", "index", "includegraphics", "input", "include", "bibliography", "bibliographystyle", "addbibresource", "pagestyle",
    "thispagestyle", "vspace", "hspace", "setlength", "addtolength", "setcounter", "addtocounter", "usepackage", "documentclass",
    "newcommand", "renewcommand", "providecommand", "newenvironment", "renewenvironment", "def", "newtheorem", "theoremstyle",
    "DeclareMathOperator", "title", "author", "date", "thanks", "hyphenation", "graphicspath", "tableofcontents", "maketitle",
    "phantomsection", "addcontentsline", "pdfbookmark", "hypersetup", "lstset", "definecolor", "color", "rowcolor", "cellcolor",
    "newlength", "institute", "affil", "markboth", "fontsize", "selectlanguage", "nocite", "printbibliography", "usetheme",
    "vskip", "hskip", "rule", "centering", "noindent", "newpage", "clearpage", "linebreak", "pagebreak", "protect",
}  # fmt: skip
_ARGUMENTS: Final = {
    "multicolumn": "{{{", "multirow": "{{{", "textcolor": "{{", "colorbox": "{{", "href": "{{", "url": "{", "path": "{",
    "caption": "*[{", "captionof": "{[{", "paragraph": "*[{", "subparagraph": "*[{", "chapter": "*[{", "part": "*[{",
    "frametitle": "{", "framesubtitle": "{", "minisec": "{", "subsubsection": "*[{", "hyperref": "[{", "cline": "{",
    "bibitem": "[{", "code": "{", "title": "[{", "author": "[{", "institute": "[{", "affil": "[{", "date": "{", "thanks": "{",
    "footnote": "[{", "input": "{", "include": "{", "bibliography": "{", "bibliographystyle": "{", "addbibresource": "{",
    "newtheorem": "*{[{[", "theoremstyle": "{", "DeclareMathOperator": "*{{", "hypersetup": "{", "lstset": "{",
    "definecolor": "{{{", "color": "{", "rowcolor": "{", "cellcolor": "{", "setlength": "{{", "addtolength": "{{",
    "setcounter": "{{", "addtocounter": "{{", "addcontentsline": "{{{", "graphicspath": "{", "markboth": "{{", "newlength": "{",
    "selectlanguage": "{", "usetheme": "[{", "pdfbookmark": "[{{", "index": "{", "rule": "[{{", "fontsize": "{{",
    "newenvironment": "*{[[{{", "renewenvironment": "*{[[{{", "pagestyle": "{", "thispagestyle": "{", "hyphenation": "{",
    **dict.fromkeys([*_CITES], "*[[{"), **dict.fromkeys([*_REFERENCES - {"hyperref"}], "*{"),
}  # fmt: skip
"""What pylatexenc does not know, or knows otherwise: a star, an argument in brackets, one in braces."""
_RULES: Final = {"hline", "toprule", "midrule", "bottomrule", "cline", "cmidrule", "endhead", "endfirsthead", "endfoot",
                 "endlastfoot", "addlinespace", "specialrule"}  # fmt: skip
_BREAK: Final = re.compile(r"\n[ \t]*+\n\s*+")
_OPTIONS: Final = re.compile(r"\s{0,40}+\[[^\[\]]{0,1000}+\]")
_LANGUAGE: Final = re.compile(r"language\s{0,9}=\s{0,9}\{?(?:\[[^\[\]]{0,60}\])?([\w+#-]{1,30})")
_LABELLED: Final = re.compile(r"\\label\s{0,9}\{[^{}]{0,200}\}|\\(?:nonumber|notag)(?![a-zA-Z])")
_UNREAD: Final = "it cannot be read as LaTeX, so it is read as plain text"
_LONGEST_EXPANSION: Final = 300
"""Characters that a macro of the file may stand for: a name or a phrase. Macros that stand for each other could grow."""


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """Raises ParserLimitError."""
    text = decode(content).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").replace("\0", "\ufffd")
    try:
        nodes, _, _ = LatexWalker(text, latex_context=_syntax()).get_latex_nodes(pos=0)
        said = _Said.of(nodes)
        body = next((list(node.nodelist) for node in _walk(nodes) if _environment(node) == "document"), nodes)
        writer = _Writer(said)
        if said.title:
            title = _Writer(said).line(said.title)
            writer.blocks += [render.heading(1, title), *([_Writer(said).line(said.author)] if said.author else [])]
        else:
            title = None
        writer.write(body)
        return LoadedText(render.join(writer.ended()), title=title or None)
    except RecursionError:
        raise ParserLimitError("the LaTeX is nested too deep to be read") from None
    except MemoryError:
        raise
    except Exception:  # files in the wild are TeX, which only TeX reads; the words are there all the same
        return LoadedText(text, notes=(_UNREAD,))


def _syntax() -> Any:
    known = get_default_latex_context_db()
    known.add_context_category(
        "cairn",
        macros=[MacroSpec(name, arguments) for name, arguments in _ARGUMENTS.items()],
        environments=[
            *(EnvironmentSpec(name, args_parser=_UpToEnd(name)) for name in _CODE | _DRAWN),
            *(EnvironmentSpec(name, groups) for name, groups in _TABLES.items()),
            EnvironmentSpec("thebibliography", "{"), EnvironmentSpec("minipage", "[[[{"), EnvironmentSpec("multicols", "{"),
            *(EnvironmentSpec(name, "[") for name in ("figure", "figure*", "table", "table*", *_STATEMENTS)),
        ],
        prepend=True,
    )  # fmt: skip
    return known


class _UpToEnd(VerbatimArgsParser):  # type: ignore[misc]
    """All of an environment as it stands, however it is called; the library's own knows one name."""

    def __init__(self, name: str) -> None:
        super().__init__("verbatim-environment")
        self.end = f"\\end{{{name}}}"

    def parse_args(self, w: Any, pos: int, parsing_state: Any = None) -> tuple[Any, int, int]:
        end = w.s.find(self.end, pos)
        end = len(w.s) if end < 0 else end
        text = w.make_node(LatexCharsNode, parsing_state=parsing_state, chars=w.s[pos:end], pos=pos, len=end - pos)
        return ParsedVerbatimArgs(verbatim_chars_node=text), pos, end - pos


def _walk(nodes: Sequence[Any] | None) -> Iterator[Any]:
    """The nodes and what they hold, in the order of the text."""
    stack = [iter(nodes or ())]
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
            continue
        yield node
        if inner := [*_arguments(node), *(getattr(node, "nodelist", None) or ())]:
            stack.append(iter([one for one in inner if one is not None]))


def _arguments(node: Any) -> list[Any]:
    parsed = getattr(node, "nodeargd", None)
    return list(parsed.argnlist or ()) if parsed is not None and parsed.argnlist else []


def _macro(node: Any) -> str:
    return str(getattr(node, "macroname", ""))


def _environment(node: Any) -> str:
    return str(getattr(node, "environmentname", ""))


def _source(node: Any) -> str:
    """What stands in a node, without the braces around it."""
    if node is None:
        return ""
    if hasattr(node, "nodelist"):
        return "".join(one.latex_verbatim() for one in node.nodelist)
    return str(node.latex_verbatim())


@dataclass(slots=True)
class _Said:
    """What a file says of itself before it is read: title, macros without arguments, names of statements, what labels stand at,
    and the highest level of its headings."""

    title: Any = None
    author: Any = None
    macros: dict[str, Any] = field(default_factory=dict)
    statements: dict[str, str] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    top: int = 4
    expanding: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, nodes: Sequence[Any]) -> _Said:
        said, place = cls(), None
        for node in _walk(nodes):
            name, given = _macro(node), _arguments(node)
            if name in ("title", "author") and given and given[-1] is not None:
                setattr(said, name, getattr(said, name) or given[-1])
            elif name in ("newcommand", "renewcommand", "providecommand") and len(given) == 5 and given[2] is None:
                said.macros.setdefault(_source(given[1]).strip().removeprefix("\\"), given[4])
            elif name == "newtheorem" and given:
                said.statements[_source(given[1])] = _source(given[3])
            elif name in _LEVELS:
                said.top, place = min(said.top, _LEVELS[name]), given[-1]
            elif name == "caption":
                place = given[-1]
            elif name == "label" and place is not None:
                said.labels.setdefault(_source(given[-1]), place)
        return said


class _Writer:
    """Nodes on their way to blocks of Markdown."""

    def __init__(self, said: _Said, depth: int = 0) -> None:
        self.said = said
        self.depth = depth
        self.blocks: list[str] = []
        self.words: list[str] = []

    def ended(self) -> list[str]:
        self._end_paragraph()
        return self.blocks

    def line(self, nodes: Any) -> str:
        """What a reader sees of nodes that are a part of one line."""
        if nodes is None:
            return ""
        inner = _Writer(self.said)
        inner.write(nodes if isinstance(nodes, list) else list(getattr(nodes, "nodelist", None) or [nodes]))
        return render.collapse(" ".join(inner.ended())).strip().replace(" ,", ",")

    def write(self, nodes: Sequence[Any]) -> None:
        grouped = False
        for node in nodes:
            if node is None:
                continue
            if (is_group := hasattr(node, "delimiters") and not hasattr(node, "displaytype")) and grouped:
                self.words.append(" ")  # between what an unknown macro is said of
            grouped = is_group
            if name := _environment(node):
                self._write_environment(name, node)
            elif name := _macro(node):
                self._write_macro(name, node)
            elif hasattr(node, "displaytype"):
                self._write_formula(_source(node), display=node.displaytype == "display")
            elif hasattr(node, "comment"):
                self.words.append(
                    "\n\n" if node.comment_post_space.count("\n") > 1 else " " if node.comment_post_space else ""
                )
            elif hasattr(node, "specials_chars"):
                self.words.append(_SYMBOLS.node_to_text(node))
            elif hasattr(node, "nodelist"):
                self.write(node.nodelist)
            else:
                self._write_text(node.chars)

    def _write_text(self, text: str) -> None:
        first, *more = _BREAK.split(text)
        self.words.append(first)
        for paragraph in more:
            self._end_paragraph()
            self.words.append(paragraph)

    def _end_paragraph(self) -> None:
        if text := render.collapse("".join(self.words)).strip():
            self.blocks.append(render.paragraph(text))
        self.words = []

    def _add(self, block: str) -> None:
        self._end_paragraph()
        if block.strip():
            self.blocks.append(block)

    def _write_formula(self, source: str, *, display: bool) -> None:
        source = " ".join(_LABELLED.sub("", source).split())
        if display:
            self._add(f"$$ {source} $$" if source else "")
        elif source:
            self.words.append(f"${source}$")

    # --- macros -----------------------------------------------------------------------------------------------------

    def _write_macro(self, name: str, node: Any) -> None:
        given = _arguments(node)
        last = given[-1] if given else None
        if name in _LEVELS:
            level = _LEVELS[name] - self.said.top + (2 if self.said.title else 1)
            self._add(render.heading(level, title) if (title := self.line(last)) else "")
        elif name in _RUN_IN:
            self._add(render.run_in(title) if (title := self.line(last)) else "")
        elif name in ("caption", "captionof"):
            self._add(render.paragraph(self.line(last)))
        elif name in _CITES - {"nocite"}:
            notes = [self.line(one) for one in given[1:-1] if one is not None]
            keys = ", ".join(key.strip() for key in _source(last).split(","))
            self.words.append(f"[{', '.join([keys, *filter(None, reversed(notes))])}]")
        elif name == "hyperref":
            self.words.append(self.line(last))
        elif name in _REFERENCES:
            self.words.append(", ".join(self._named(label.strip()) for label in _source(last).split(",")))
        elif name == "href":
            self.words.append(f"[{self.line(last)}]({_source(given[0]).strip()})")
        elif name in ("url", "path", "nolinkurl"):
            self.words.append(_source(last).strip())
        elif name in ("texttt", "code", "verb", "lstinline"):
            code = str(getattr(last, "chars", "")) if hasattr(last, "chars") else self.line(last)
            self.words.append(f"`{code}`" if code and "`" not in code else code)
        elif name == "footnote":
            self.words.append(f" ({note})" if (note := self.line(last)) else "")
        elif name in ("textcolor", "colorbox", "multicolumn", "multirow"):
            self.words.append(self.line(last))
        elif name in ("\\", "newline", "par", "bigskip", "medskip", "smallskip"):
            self._end_paragraph() if name == "par" else self.words.append(" ")
        elif name == "and":
            self.words.append(", ")
        elif name in _LOGOS:
            self.words.append(name)
        elif name in self.said.macros:
            self.words.append(self._expanded(name) + node.macro_post_space)
        elif name not in _SILENT and name not in _RULES and name != "item":
            self.words.append(self._symbol(node, given))

    def _named(self, label: str) -> str:
        """What a label stands at, in the words of its heading or caption."""
        place = self.said.labels.get(label)
        if place is None or label in self.said.expanding or not (title := self._once(label, place)):
            return f"({label})"
        return f"“{title}”" if len(title) <= _LONGEST_EXPANSION else f"({label})"

    def _expanded(self, name: str) -> str:
        text = "" if name in self.said.expanding else self._once(name, self.said.macros[name])
        return text if len(text) <= _LONGEST_EXPANSION else ""

    def _once(self, name: str, node: Any) -> str:
        """The text of a node that may lead back to itself."""
        self.said.expanding.add(name)
        try:
            return self.line(node)
        finally:
            self.said.expanding.discard(name)

    def _symbol(self, node: Any, given: Sequence[Any]) -> str:
        """A character that has a name, an accent over a letter, or what an unknown macro is said of."""
        if not any(one is not None for one in given) or not node.macroname.isalpha():
            return str(_SYMBOLS.node_to_text(node))
        return self.line([one for one in given if one is not None])

    # --- environments -----------------------------------------------------------------------------------------------

    def _write_environment(self, name: str, node: Any) -> None:
        bare = name.rstrip("*")
        if name in _FORMULAS:
            self._write_formula(_source(node), display=name != "math")
        elif name in _CODE:
            self._add(_fenced(name, _arguments(node)))
        elif name in _DRAWN:
            pass
        elif name in _TABLES:
            self._add(self._table(node.nodelist))
        elif name in _LISTS:
            self._end_paragraph()
            self._write_list(name, node.nodelist)
            self._end_paragraph()
        elif bare in self.said.statements or bare in _STATEMENTS:
            called = self.said.statements.get(bare) or bare.capitalize()
            title = self.line(next(iter(_arguments(node)), None)).strip("[] ")
            self._add(render.run_in(f"{called} ({title})" if title else called))
            self.write(node.nodelist)
            self._end_paragraph()
        else:
            self._end_paragraph()
            self.write(
                _without_options(node.nodelist) if name not in ("document", "center", "quote") else node.nodelist
            )
            self._end_paragraph()

    def _write_list(self, name: str, nodes: Sequence[Any]) -> None:
        for number, (item, content) in enumerate(_items(nodes), 1):
            given = _arguments(item)
            marker = f"{number}." if name == "enumerate" else "-"
            inner = _Writer(self.said, self.depth + 1)
            inner.write(content)
            first, *more = inner.ended() or [""]
            label = self.line(given[0]).strip("[] ") if given and given[0] is not None else ""
            if name == "thebibliography":
                label = f"[{_source(given[-1])}]" if given else label
            elif name == "description" and label:
                label = f"**{label}**"
            text = f"{label} {first}".strip() if not isinstance(first, render.Item) else label
            self.blocks.append(render.item(self.depth, marker, text))
            self.blocks += [first, *more] if isinstance(first, render.Item) else more

    def _table(self, nodes: Sequence[Any]) -> str:
        grid, rows = render.MergedCells(), list[list[str]]()
        for cells in _rows_of(nodes):
            row: list[str] = []
            for cell in cells:
                merged = next((one for one in cell if _macro(one) in ("multicolumn", "multirow")), None)
                count = _source(_arguments(merged)[0]).strip() if merged is not None and _arguments(merged) else ""
                many = min(int(count), 50) if count.isdecimal() and len(count) < 4 else 1
                text = self.line(cell)
                if _macro(merged) == "multirow" and many > 1:
                    grid.add(row, text, 1, many - 1)
                elif text or len(row) not in grid._covered:
                    grid.add(row, text, max(many, 1))
                else:  # LaTeX leaves the cells empty that one above covers
                    grid.fill(row)
            grid.fill(row)
            rows.append(row)
        return render_table([row for row in rows if any(row)])


_SYMBOLS: Final = LatexNodes2Text(keep_comments=False)


def _without_options(nodes: Sequence[Any]) -> list[Any]:
    """The content of an environment that is not known, without what stands in brackets behind its name."""
    if nodes and hasattr(nodes[0], "chars") and not _environment(nodes[0]):
        nodes[0].chars = _OPTIONS.sub("", nodes[0].chars, count=1) if _OPTIONS.match(nodes[0].chars) else nodes[0].chars
    return list(nodes)


def _items(nodes: Sequence[Any]) -> Iterator[tuple[Any, list[Any]]]:
    item, content = None, list[Any]()
    for node in nodes:
        if _macro(node) in ("item", "bibitem"):
            if item is not None:
                yield item, content
            item, content = node, []
        elif item is not None:
            content.append(node)
    if item is not None:
        yield item, content


def _rows_of(nodes: Sequence[Any]) -> Iterator[list[list[Any]]]:
    """The cells of each row, as nodes; rules between rows go, with what they are told."""
    row: list[list[Any]] = [[]]
    ruled = False
    for node in nodes:
        if ruled and (hasattr(node, "nodelist") and not _environment(node)):
            ruled = False
            continue
        if ruled and hasattr(node, "chars") and node.chars.lstrip().startswith("("):
            continue
        ruled = False
        if _macro(node) in ("\\", "tabularnewline"):
            yield row
            row = [[]]
        elif getattr(node, "specials_chars", "") == "&":
            row.append([])
        elif _macro(node) in _RULES:
            ruled = _macro(node) in ("cmidrule", "specialrule", "addlinespace")
        else:
            row[-1].append(node)
    yield row


def _fenced(name: str, given: Sequence[Any]) -> str:
    """A listing, without its options."""
    text = "".join(str(one.chars) for one in given if one is not None and hasattr(one, "chars"))
    language = ""
    if name not in ("verbatim", "verbatim*") and (options := _OPTIONS.match(text)):
        found = _LANGUAGE.search(options[0])
        language, text = found[1].lower() if found else "", text[options.end() :]
    if name == "minted" and text.lstrip().startswith("{"):
        language, _, text = text.lstrip()[1:].partition("}")
    return render.fence(text.rstrip(), language.strip()) if text.strip() else ""
