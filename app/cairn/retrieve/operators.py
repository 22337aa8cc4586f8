"""Operators in a query: what must stand in a passage and what must not. Pure; whatever is no operator stays text.

    granite -basalt          passages without basalt (any inflection)
    "dark rock"              the words stand together
    +granite  +"dark rock"   must stand, in a question too
    title:granite  path:docs/  id:guide.md  lang:fr  and each with a minus before it

Most queries are questions, and most punctuation in them means nothing: a dash before a space, a digit or another dash, a
bullet at the beginning of a line, an emoticon, an option of a command ("what does -sm do?"). Quotes in a question name a
thing and do not insist on it: of the 18 hotpotqa100, musique100 and spf_fr questions with quotes, 12 need a passage that
does not hold the phrase (ADR 0014).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from cairn.domain.plan import Condition, Conditions, Field
from cairn.language.identify import CONFIGURATIONS
from cairn.language.lexicon import every
from cairn.language.text import fold
from cairn.language.tokens import terms

MAX_OPERATORS = 32  # bound: tests/unit/test_edges_retrieve.py
"""A text with more is pasted data, not a query, and none of them counts."""
MAX_VALUE = 200  # bound: tests/unit/test_edges_retrieve.py
"""Characters of a phrase; a longer one is a quotation and is searched by its words."""
MAX_KEYWORDS = 12  # bound: tests/unit/test_edges_retrieve.py
"""A query with more words outside quotes is a sentence."""

# Atomic groups, so that no text takes more than linear time.
_OPERATOR = re.compile(
    r"""(?<!\S)(?P<sign>[+-]?)
    (?: (?P<field>title|path|id|lang): (?: "(?P<quoted>[^"\n]+)" | (?P<value>[^\s"]+) )
      | "(?P<phrase>[^"\n]+)" (?=[\s.,;:!?)]|$)
      | (?P<word>(?>[^\W\d_]\w+(?:['’./:-]\w+)*)) (?=[\s.,;:!?)]|$)
    )""",
    re.VERBOSE,
)
_OPTIONS = every(lambda one: one.asked.options)
_WORD_BEFORE = re.compile(r"(\w{1,30})['\"”»]?[ :,]{1,3}$")
_CONJUNCTION = re.compile(r"\b(?:und|oder|sowie|bzw\.?|and|or|et|ou|y|o)\s+$", re.IGNORECASE)
_QUESTION = re.compile(
    r"[?¿؟]|[.!]\s*$|^\s*(?:what|who|whose|whom|when|where|which|why|how|is|are|was|were|do|does|did|can|could|"
    r"que|qui|quoi|quand|où|quel|quels|quelle|quelles|comment|pourquoi|combien|est-ce|was|wer|wann|wo|wie|warum|welche|"
    r"welcher|welches|wessen|qué|quién|cuándo|dónde|cuál|cómo|cuánto|cuántos|cuántas)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """`text` is what the retrievers look for and the model embeds; `conditions` is None where there are no operators."""

    text: str
    conditions: Conditions | None = None


@lru_cache(maxsize=64)  # asked for several times in each search
def parse_operators(query: str) -> Parsed:
    """Never fails. A query of nothing but exclusions and fields is plain text, since nothing would rank its results."""
    operators = [match for match in _OPERATOR.finditer(query) if _is_operator(query, match)]
    sentence = _is_sentence(query)
    operators = [match for match in operators if match["sign"] or match["field"] or not sentence]
    operators = [match for match in operators if not _is_option(query, match, sentence=sentence)]
    if not operators or len(operators) > MAX_OPERATORS:
        return Parsed(query)
    text, end = "", 0
    for match in operators:
        text += query[end : match.start()] + _searched(match)
        end = match.end()
    text = " ".join((text + query[end:]).split())
    if not re.search(r"\w", text) or (sentence and not terms(text)):
        return Parsed(query)
    must = tuple(_condition(match) for match in operators if match["sign"] != "-")
    must_not = tuple(_condition(match) for match in operators if match["sign"] == "-")
    return Parsed(text, Conditions(must, must_not))


def _is_operator(query: str, match: re.Match[str]) -> bool:
    value = _value(match)
    if len(value) > MAX_VALUE or not re.search(r"\w", value):
        return False
    line = query.rfind("\n", 0, match.start()) + 1
    if match["sign"] == "-" and "\n" in query and not query[line : match.start()].strip():
        return False  # a bullet
    if match["sign"] == "-" and _CONJUNCTION.search(query, max(0, match.start() - 10), match.start()):
        return False  # a suspended hyphen: "Privatpersonen und -organisationen"
    if match["field"] == "lang":
        return _configuration(value) is not None
    return bool(match["sign"] or not match["word"])


def _is_option(query: str, match: re.Match[str], *, sentence: bool) -> bool:
    """Whether a word with a minus is an option of a command: a word for one stands before it, or a sentence goes on behind it,
    while what a question leaves out stands at its end."""
    if match["sign"] != "-" or not match["word"]:
        return False
    before = _WORD_BEFORE.search(query, max(0, match.start() - 40), match.start())
    if before and fold(before[1]) in _OPTIONS:
        return True
    behind = _OPERATOR.sub(lambda one: " " if one["sign"] or one["field"] else one[0], query[match.end() :])
    return sentence and bool(re.search(r"\w", behind))


def _is_sentence(query: str) -> bool:
    return bool(_QUESTION.search(query)) or len(re.sub(r'"[^"\n]*"', " ", query).split()) > MAX_KEYWORDS


def _value(match: re.Match[str]) -> str:
    return (match["quoted"] or match["value"] or match["phrase"] or match["word"] or "").strip()


def _searched(match: re.Match[str]) -> str:
    """What is left of an operator in the text that is looked for."""
    return "" if match["sign"] == "-" or match["field"] else _value(match)


def _condition(match: re.Match[str]) -> Condition:
    field, value = match["field"] or "text", _value(match)
    return Condition(cast("Field", field), _configuration(value) or value if field == "lang" else value)


def _configuration(value: str) -> str | None:
    """Text search configuration of an ISO 639-1 code or of its own name."""
    value = value.lower()
    return CONFIGURATIONS.get(value) or (value if value in CONFIGURATIONS.values() else None)
