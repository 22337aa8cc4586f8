"""A message of several questions becomes several: each can be retrieved for by itself. Pure.

What is split: sentences with a question mark, lists, clauses with a question word of their own, two sides of a
comparison, two objects under one predicate. What is not: names and terms that hold an "and" ("research and
development"), so objects are split only where they are named, quoted, or stand as two noun phrases of equal form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from cairn.language.lexicon import any_of, every, patterns
from cairn.language.lexicon import language as language_of
from cairn.language.linear import bounded
from cairn.language.text import fold
from cairn.language.tokens import is_stop_word

MAX_CHARS: Final = 2000  # bound: tests/unit/test_edges_query.py
MIN_CHARS: Final = 8  # bound: tests/unit/test_edges_query.py
"""A part that is shorter is no question: it is joined to the one before."""

MAX_SUBQUESTIONS: Final = 4  # bound: tests/unit/test_edges_query.py
"""That a message is split into at most."""

_AND: Final = any_of(lambda one: one.split.joins)
_SENTENCE = bounded(r"(?<=[?])(?:[\"'”»)]*\s[\s\"'”»)]*(?=\S)|(?=¿))")
_WHOLE: Final = bounded(
    r"`{1,3}+[^`]{1,160}`{1,3}|\([^()\n]{1,160}\)|\[[^\[\]\n]{1,160}\]|\{[^{}\n]{1,160}\}|<[^<>\n]{1,160}>"
    r"|\"[^\"\n]{1,160}\"|“[^”\n]{1,160}”|«[^»\n]{1,160}»"
)
"""Code, brackets and quotations: what stands in them ends no question and parts no sides."""
_COMMA: Final = bounded(r",\s+")
_BULLET = bounded(r"^[ \t]*(?:[-*•–]|\(?\d{1,2}[.)]|\(?[a-h]\))[ \t]+(?P<item>\S.*)$", re.MULTILINE)
_QUESTION: Final = any_of(lambda one: one.split.asking)
_BEFORE_QUESTION: Final = any_of(lambda one: one.split.before_asking)
_CLAUSE = bounded(
    rf"(?:(?P<and>\s*,?\s+{_AND}\s+)|\s*,\s+)(?=¿?(?:{_BEFORE_QUESTION}\s+)?(?P<asks>{_QUESTION})\b)",
    re.IGNORECASE,
)
_LIGHT: Final = every(lambda one: one.split.light)

_RESPECT: Final = any_of(lambda one: one.split.respects)
_COMPARE: Final = tuple(
    bounded(
        rf"{pattern}\s*(?P<tail>(?:\b{_RESPECT}\b|,|:)(?:[^?.!]|\.(?=\w)){{0,160}})?[?.!\s]*$",
        re.IGNORECASE | re.DOTALL,
    )
    for pattern in patterns(lambda one: one.split.compare)
)
_ASKER_COMPARES: Final = bounded(rf"\b{any_of(lambda one: one.split.asker_compares)}\b", re.IGNORECASE)
_ELIDED: Final = any_of(lambda one: one.words.elided)
_ARTICLE = bounded(rf"^(?:{any_of(lambda one: one.split.articles)}\s+|{_ELIDED}['’]\s*)(?=\S)", re.IGNORECASE)
_OF: Final = any_of(lambda one: one.split.of)
_ASPECTS = bounded(
    rf"^(?P<both>(?P<p>\w+)\s+{_AND}\s+(?P<q>\w+))\s+(?P<of>{_OF}\s*.+)$",
    re.IGNORECASE,
)
"""Two aspects of one side: "advantages and disadvantages of X"."""

_PART = r"[A-ZÀ-ÖØ-Þ0-9][\w.'’+#/-]*"
_IN_NAMES: Final = any_of(lambda one: one.split.in_names)
_BEFORE_NAME: Final = any_of(lambda one: one.split.before_names)
_NAME = rf"(?:[\"“«][^\"”»]{{2,60}}[\"”»]|{_PART}(?:\s+(?:{_IN_NAMES}\s+)?{_PART}){{0,4}})"
_EACH_NAME = bounded(_NAME)
_NAMES = bounded(
    rf"(?P<first>{_NAME})(?P<more>(?:\s*,\s*(?:the\s+)?{_NAME}){{0,8}})\s*,?\s+{_AND}\s+"
    rf"(?P<article>(?:{_BEFORE_NAME}\s+){{0,2}})(?P<last>{_NAME})"
)
_ASKING = bounded(rf"^\W*(?:{_QUESTION}|{any_of(lambda one: one.split.orders)})\b", re.IGNORECASE)
_TOGETHER = bounded(rf"\b{any_of(lambda one: one.split.together)}\b", re.IGNORECASE)


def split(
    text: str, language: str, *, limit: int = MAX_SUBQUESTIONS, names: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Independent questions in the order of the text, at most `limit`; () where it is one question.

    `names`: entities of the text; one of them that holds an "and" ("Johnson and Johnson") is not split.
    """
    text = without_yes_or_no(_without_source(text.strip()))
    if len(text) < 2 * MIN_CHARS or len(text) > MAX_CHARS:
        return ()
    whole = tuple(name for name in names or () if re.search(rf"\b{_AND}\b", name))
    for way in (_by_list, _by_sentence, _by_clause):
        if len(parts := _clean(way(text))) > 1:
            return parts if len(parts) <= limit else (*parts[: limit - 1], " ".join(parts[limit - 1 :]))
    parts = _clean(_by_comparison(text, language) or _by_names(text, whole) or _by_prepositions(text))
    return parts if 1 < len(parts) <= limit else ()


_SOURCE = bounded(r"[^:?!\n]{0,80}\w\.\w{1,5}\W{0,3}:\s+(?=\S)")


def _without_source(text: str) -> str:
    """Without the file that the question is to be answered from: "In report.pdf: what ...?"."""
    found = _SOURCE.match(text)
    return text[found.end() :] if found else text


_YES_OR_NO: Final = bounded(
    rf"[\s¿]*(?:{any_of(lambda one: one.split.yes_or_no)})\s*(?:[:,;?–—-]\s*|\n)(?=\S)", re.IGNORECASE
)


def without_yes_or_no(text: str) -> str:
    """The question alone, without what says how it may be answered: "Yes or no: does it ...?" names no two sides."""
    found = _YES_OR_NO.match(text)
    return text[found.end() :] if found else text


def _cut(text: str, separator: re.Pattern[str]) -> list[str]:
    """The pieces between separators, of which none stands within code, brackets or a quotation."""
    whole = [match.span() for match in _WHOLE.finditer(text)]
    found, start = [], 0
    for match in separator.finditer(text):
        if not any(first < match.start() and match.end() < last for first, last in whole):
            found.append(text[start : match.start()])
            start = match.end()
    return [*found, text[start:]]


def _clean(parts: Sequence[str]) -> tuple[str, ...]:
    stripped = (part.strip(" \t\n,;") for part in parts)
    return tuple(dict.fromkeys(part for part in stripped if any(map(str.isalnum, part))))


def _by_list(text: str) -> list[str]:
    """Bullets, numbered lines, or questions between semicolons. A lead that is not a question stands before each."""
    items = [match["item"].strip() for match in _BULLET.finditer(text)]
    if len(items) > 1:
        lead = _BULLET.split(text, maxsplit=1)[0].strip().rstrip(":").strip()
        asked = all(_ASKING.match(item) for item in items)
        # measured: tests/unit/test_edges_query.py
        return [item if asked or not lead or len(lead) > 200 else f"{lead}: {item}" for item in items]
    pieces = text.split(";")
    return pieces if len(pieces) > 1 and all(_ASKING.match(piece.strip()) for piece in pieces) else []


def _by_sentence(text: str) -> list[str]:
    """Sentences that end in a question mark; what stands before them as a statement belongs to the next question."""
    pieces = [piece for piece in _cut(text, _SENTENCE) if piece.strip()]
    questions = [piece for piece in pieces if piece.rstrip(" \"'”»)").endswith("?")]
    if len(questions) < 2:
        return []
    found: list[str] = []
    for piece in questions:
        if found and (len(piece.strip()) < MIN_CHARS or len(piece.split()) < 2):
            found[-1] = f"{found[-1]} {piece}"
        else:
            found.append(piece)
    return found


def _by_clause(text: str) -> list[str]:
    """ "When was it built and who designed it?": each clause asks by itself."""
    if not _ASKING.match(text):
        return []
    first: dict[str, int] = {}
    matches = [match for match in _CLAUSE.finditer(text) if _opens_question(text, match, first)]
    if not any(match["and"] for match in matches):
        return []  # after a comma alone it is a relative clause
    found, start = [], 0
    for match in matches:
        head = text[start : match.start()]
        # measured: tests/unit/test_edges_query.py
        if len(head) < MIN_CHARS or len(head.split()) < 3 or head.split()[-1].casefold() in _LIGHT:
            continue  # "how and why" is one question
        found.append(head)
        start = match.end()
    tail = text[start:]
    return [*(f"{part}?" for part in found), tail] if found and len(tail) >= MIN_CHARS and len(tail.split()) > 2 else []


def _opens_question(text: str, match: re.Match[str], first: dict[str, int]) -> bool:
    """Not so where it goes on with a relative clause: "the singer who is known and who's third album". `first`: where each
    word that asks ends for the first time, looked for once."""
    word = match["asks"].lower()
    if word not in first:
        found = re.search(rf"\s{re.escape(word)}\b", text, re.IGNORECASE)
        first[word] = found.end() if found else len(text)
    return first[word] > match.start()


def _by_comparison(text: str, code: str) -> list[str]:
    """The two sides, each with what they are compared in: a question of facts for each. None where who asks wants to do the
    comparing: "how can I compare an archive with my disk?" is one question."""
    if _ASKER_COMPARES.search(text):
        return []
    text = _QUOTED.sub(lambda quoted: quoted[0].replace(" ", _KEPT), text)
    return [one.replace(_KEPT, " ") for one in _compared(text, code)]


_QUOTED: Final = bounded(r"\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|«[^»\n]{1,80}»|„[^“\n]{1,80}“")
_KEPT: Final = "\ue000"
"""For the spaces within quotation marks, in which no "and" parts sides."""


def _compared(text: str, code: str) -> list[str]:
    for pattern in _COMPARE:
        if match := pattern.search(text):
            tail = (match["tail"] or "").strip(" ,")
            written = [match[side].strip(" \"'“”«»") for side in ("a", "b")]
            if _ONLY_ARTICLE.fullmatch(written[1]):  # "the for loop and the while loop": no condition
                written, tail = [written[0], f"{written[1]} {tail}"], ""
            tail = f", {tail.lstrip(': ')}" if tail.startswith(":") else f" {tail}"
            if _AND_ALONE.fullmatch(text, match.end("a"), match.start("b")):
                written, tail = _with_shared_noun(written, tail, code)
            sides = [_ARTICLE.sub("", side).strip() for side in written]
            if _TOGETHER_ALREADY.match(sides[0]) or _ASKING.match(sides[0]) or any(map(_is_no_side, sides)):
                return []
            if (
                all(sides)
                and sides[0].casefold() != sides[1].casefold()
                # measured: tests/unit/test_edges_query.py
                and all(len(side.split()) <= 12 for side in sides)
            ):
                return [f"{_balanced(side)}{tail}".strip() for side in _sides(*sides)]
    return []


def _is_no_side(side: str) -> bool:
    """ "The tablets with | or without food": what begins or ends with a preposition."""
    words = [fold(word) for word in side.split()]
    return len(words) > 1 and not _NO_SIDE.isdisjoint((words[0], words[-1]))


_NO_SIDE: Final = every(lambda one: one.split.no_side)
_AND_ALONE: Final = bounded(rf"\W*{_AND}\W*", re.IGNORECASE)
_ONLY_ARTICLE: Final = bounded(rf"(?:{any_of(lambda one: one.split.articles)}|\W*)", re.IGNORECASE)
_AROUND: Final = any_of(lambda one: one.split.around)
_SYSTEM: Final = bounded(rf"\s+(?P<around>(?i:{_AROUND})\s+(?P<system>\S[^,]*))")
_NAMED: Final = bounded(rf"(?:(?i:{any_of(lambda one: one.split.articles)})\s+)?(?:[A-ZÀ-ÖØ-Þ]|\S*\w[.\d]\w)")


def _with_shared_noun(sides: Sequence[str], tail: str, code: str) -> tuple[list[str], str]:
    """Sides with the noun that stands once for both, "light themes" and "dark themes", and the tail with the system that both
    are of, "a channel and a team in Slack": of the last one alone is what stands behind other nouns ("text in columns")."""
    one, other = sides
    found = None if _SYSTEM.search(one) else _SYSTEM.search(other)
    bare = other[: found.start()] if found else other
    whole = _noun_behind(one, bare, code) or _noun_before(one, bare, code)
    named = found and _NAMED.match(found["system"]) and language_of(code).names.nouns is None
    if found and (whole or named):
        return [*(whole or (one, bare))], f" {found['around']}{tail}"
    return [*(whole or sides)], tail


def _noun_behind(one: str, other: str, code: str) -> tuple[str, str] | None:
    """ "Light and dark themes": each side has as many words of its own, and the noun stands behind the last. A side that is a
    name, or several already, waits for none: "Mixxx and dark themes"."""
    spoken = language_of(code).split
    if not spoken.nouns_behind or "," in one:
        return None
    first, last = (_ARTICLE.match(side) is not None for side in (one, other))
    own, words = (_ARTICLE.sub("", side).split() for side in (one, other))
    noun = words[len(own) :]
    alone = first == last or language_of(code).names.nouns is not None  # "die öffentlichen und privaten Kanäle"
    if not (own and noun and alone) or is_stop_word(fold(words[0])):
        return None
    if own[0][:1].isupper() and language_of(code).names.nouns is None:  # "Action and Time Event activators"
        named = next((n for n, word in enumerate(words) if not word[:1].isupper()), len(words))
        noun = words[max(named, len(own)) :]
        if not noun:
            return None
    waits = _any(spoken.without_noun, own[-1]) and _any(spoken.without_noun, words[len(own) - 1])
    named = own[0][:1].isupper() and not any(word[:1].isupper() for word in words)
    has = {*map(str.casefold, noun)} & {*map(str.casefold, own)}
    return (
        (" ".join((one, *noun)), other)
        if waits and _any(spoken.nouns_behind, noun[-1]) and not (named or has)
        else None
    )


def _noun_before(one: str, other: str, code: str) -> tuple[str, str] | None:
    """ "Les groupes publics et privés": where the first side alone has an article, or both end in adjectives, the
    last is of the first's noun."""
    spoken = language_of(code).split
    own, words = _ARTICLE.sub("", one).split(), other.split()
    if not spoken.adjectives or len(own) != 2 or len(words) != 1 or _ARTICLE.match(other) or {*"'’"} & {*own[1]}:
        return None
    if not _ARTICLE.match(one) and not (_any(spoken.adjectives, own[1]) and _any(spoken.adjectives, other)):
        return None
    return one, f"{own[0]} {other}"


def _any(patterns: Sequence[str], word: str) -> bool:
    return any(re.fullmatch(pattern, word) for pattern in patterns)


def _balanced(side: str) -> str:
    """Without the mark of code whose other one stands in the other side: "compare `a and b`"."""
    return side.strip("`") if side.count("`") % 2 else side


_TOGETHER_ALREADY: Final = bounded(rf"{any_of(lambda one: one.split.counted)}\b", re.IGNORECASE)
""" "The two batteries in weight and price" has no sides."""
_PLACE: Final = any_of(lambda one: one.split.places)
_PLACED: Final = bounded(rf"{_PLACE}\s+\S", re.IGNORECASE)
_HEAD: Final = bounded(rf"(?P<head>\S.*?\s){_PLACE}\s+\S", re.IGNORECASE)
_NUMBERED: Final = bounded(r"(?P<head>.*\w\s+)\d+")


def _whole(one: str, other: str) -> str:
    """The other side with what both share: "leave in Germany" and "in France", "the Clio 4" and "the 5"."""
    match = _HEAD.match(one) if _PLACED.match(other) else _NUMBERED.fullmatch(one) if other.isdigit() else None
    return f"{match['head']}{other}" if match else other


def _sides(one: str, other: str) -> list[str]:
    """More than two where they are listed, or where the first names two aspects, which the other side shares."""
    other = _whole(one, other)
    if match := _ASPECTS.match(one):
        return [f"{match['p']} {match['of']}", f"{match['q']} {match['of']}", f"{match['both']} {other}"]
    return [*(part.strip() for part in _cut(one, _COMMA)), other]


def _by_names(text: str, whole: Sequence[str]) -> list[str]:
    """ "What are the prices of A, B and C?": the question once for each, where the objects are named."""
    if not _ASKING.match(text) or _TOGETHER.search(text):
        return []
    match = _NAMES.search(text, 1)
    if match is None or any(match.group() in name or name in match.group() for name in whole):
        return []
    objects = [match["first"], *_EACH_NAME.findall(match["more"]), match["last"]]
    head, tail = text[: match.start()], text[match.end() :]
    if not head.strip() or _ends_a_name(head) or _begins_a_name(tail):
        return []
    # measured: tests/unit/test_edges_query.py
    if len(objects) < 3 and not _SEVERAL.search(head):
        return []  # "who wrote Pride and Prejudice?"
    return [f"{head}{one}{tail}" for one in objects]


_TWICE = bounded(
    rf"(?P<head>.*?\S\s+(?P<place>{any_of(lambda one: one.split.places)})\s+(?:the\s+)?)(?P<first>{_NAME})\s*,?\s+{_AND}\s+"
    rf"(?P=place)\s+(?:the\s+)?(?P<last>{_NAME})(?P<tail>.*)",
    re.DOTALL,
)


def _by_prepositions(text: str) -> list[str]:
    """ "Revenue of A and of B": the preposition stands before each object."""
    match = None if _TOGETHER.search(text) else _TWICE.fullmatch(text)
    return [f"{match['head']}{match[one]}{match['tail']}" for one in ("first", "last")] if match else []


_SEVERAL: Final = bounded("|".join(patterns(lambda one: one.split.several)), re.IGNORECASE)


_NAME_GOES_ON: Final = bounded(r"[A-ZÀ-ÖØ-Þ]\w+\s+(?:of|de|del|du)\s+$")
_NAME_FOLLOWS: Final = bounded(r"\s+[A-ZÀ-ÖØ-Þ]\w+")


def _ends_a_name(head: str) -> bool:
    """The first object would be cut off: "the University of Oxford and Cambridge" is left alone."""
    return bool(_NAME_GOES_ON.search(head))


def _begins_a_name(tail: str) -> bool:
    """A noun after the names is what both are: "the Smith and Wesson revolver", "the Black and Red Tower"."""
    return bool(_NAME_FOLLOWS.match(tail))
