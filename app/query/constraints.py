"""Which constraints a prompt states, by patterns in English, French, Spanish and German. Pure.

Everything is bounded: prompts are cut at WINDOW, lists at MOST_ITEMS, numbers at MOST.
"""

from __future__ import annotations

import re
from typing import Final

from app.domain.plan import PromptConstraints

WINDOW: Final = 4000
MOST: Final = 20
"""More searches or openings than this are no constraint but a typo; what cannot be met is disclosed."""
MOST_ITEMS: Final = 12
MOST_WORDS: Final = 1000
"""Of an answer; more cannot be had in one reply."""
SECTION_CHARS: Final = 40
"""Least text of a section that is worth its heading."""
CHARS_PER_WORD: Final = 5

_NUMBER_WORDS: Final = {
    word: value
    for value, words in enumerate(
        ("one un une uno una ein eine einen einer", "two deux dos zwei both", "three trois tres drei",
         "four quatre cuatro vier", "five cinq cinco fünf", "six seis sechs", "seven sept siete sieben",
         "eight huit ocho acht", "nine neuf nueve neun", "ten dix diez zehn", "eleven onze once elf",
         "twelve douze doce zwölf"), 1)
    for word in words.split()
}  # fmt: skip
_N: Final = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})"
_SEPARATE: Final = (
    r"(?:separate|different|distinct|independent|individual|additional|séparées?|différentes?|distinctes?|"
    r"separadas?|distintas?|diferentes|getrennte[nr]?|verschiedene[nr]?|separate[nr]?|einzelne[nr]?)"
)
_SEARCHES: Final = (
    r"(?:(?:tool|search|document|doc)[ -])?(?:searches|search(?:_docs)? calls|tool calls|queries|look-?ups|recherches|"
    r"requêtes|appels d'outils?|búsquedas|consultas|llamadas a herramientas|suchen|suchanfragen|suchläufe|werkzeugaufrufe)"
)
_SEARCH: Final = re.compile(rf"\b{_N} (?:{_SEPARATE},? )?(?:more )?{_SEARCHES}\b", re.IGNORECASE)
_SEARCH_APART: Final = re.compile(
    rf"\b{_SEPARATE} {_SEARCHES}\b|\bsearch(?:es)? (?:\w+ )?(?:separately|individually)\b|"
    rf"\b{_SEARCHES} (?:séparées?|distinctes?|separadas?|distintas?)\b",
    re.IGNORECASE,
)
_FEW: Final = 2
"""Searches that are meant by "separate searches" of nothing in particular."""
_OPENED: Final = (
    r"(?:citations?|sources?|documents?|passages?|chunks?|files?|extraits?|citas?|fuentes?|documentos?|pasajes?|"
    r"quellen|dokumente|textstellen)"
)
_OPEN: Final = re.compile(
    rf"\bopen(?:_citation)?\b(?: (?:for|on|of|up))?(?: (?:at least|a minimum of))? {_N} (?:[\w-]+ ){{0,2}}{_OPENED}\b|"
    rf"\bopen_citation\b[^.\n]{{0,40}}?\b(?:at least|minimum(?: of)?) {_N.replace('<n>', '<m>')}\b|"
    rf"\b(?:read|open|ouvr(?:ez|ir|e)|lisez|lire|abr(?:e|a|ir)|lee(?:r)?|öffnen?|lies|lesen)\b[^.\n]{{0,30}}?"
    rf"\b(?:at least|au moins|al menos|mindestens) {_N.replace('<n>', '<k>')} (?:[\w-]+ ){{0,2}}{_OPENED}\b|"
    rf"\b(?:read|open) {_N.replace('<n>', '<j>')} (?:[\w-]+ ){{0,2}}{_OPENED}(?: in full)?\b",
    re.IGNORECASE,
)
_OPEN_ONE: Final = re.compile(
    r"\bopen_citation\b|"
    r"\b(?:read|open|retrieve) (?:the |its |their )?(?:full|complete|entire|whole) (?:texts?|passages?|chunks?|citations?)\b|"
    r"\blisez le texte (?:complet|intégral)\b|\blee el texto completo\b|\blies den (?:ganzen|vollständigen) text\b",
    re.IGNORECASE,
)
_EXACT_NOUN: Final = r"(?:lines?|wording|words|texts?|sentences?|phrases?|quotes?|quotations?)"
_QUOTE: Final = re.compile(
    rf"\b(?:quot(?:e|ing)|cite|reproduce|copy|give|provide|include|show)\b[^.?!\n]{{0,40}}?\bexact(?:ly)?(?: [\w-]+)?|"
    rf"\bexact {_EXACT_NOUN}\b|\bverbatim\b|\bword[ -]for[ -]word\b|\bdirect quotes?\b|"
    rf"\bmot (?:pour|à) mot\b|\btextuellement\b|\bcitations? (?:exactes?|textuelles?)\b|\bformulation exacte\b|"
    rf"\bpalabra por palabra\b|\btextualmente\b|\bcitas? (?:exactas?|textual(?:es)?|literal(?:es)?)\b|"
    rf"\bwörtlich(?:e[nrs]?)?\b|\bwort für wort\b|\b(?:genaue[rn]?|exakte[rn]?) wortlaut\b",
    re.IGNORECASE,
)
_CONFLICT: Final = re.compile(
    r"\b(?:resolv(?:e|ing) (?:any |the |all )?(?:conflicts?|contradictions?|discrepanc(?:y|ies))|"
    r"(?:newest|latest|most recent(?:ly)?)(?:[ -]dated)? (?:document|version|source|file|policy|one) "
    r"(?:wins|prevails|takes precedence|should (?:win|prevail|be (?:used|preferred)))|"
    r"(?:prefer|use|trust|follow|choose) the (?:newest|latest|most recent(?:ly)?)(?:[ -]dated)? "
    r"(?:document|version|source|file|policy|one)|newest[ -]dated document|"
    r"(?:documents?|sources?) (?:conflict|disagree|contradict)|"
    r"résol(?:vez|s|vre) les (?:conflits?|contradictions?)|document le plus récent|"
    r"resuelve los (?:conflictos?|contradicciones)|documento más reciente|löse (?:konflikte|widersprüche)|"
    r"(?:neueste|jüngste|aktuellste)[nrs]? dokument)\b",
    re.IGNORECASE,
)
_LACKING: Final = r"(?:missing|not (?:documented|covered|found|available|in the documents?))"
_DISCLOSE: Final = re.compile(
    r"\binsufficient documentation\b|"
    rf"\bexplicitly (?:say|state|note|disclose|mention|flag)\b[^.\n]{{0,60}}\b(?:insufficient|{_LACKING})|"
    r"\b(?:say|state|disclose|flag|note|list) (?:explicitly |clearly )?(?:what(?:ever)?|which (?:parts?|sections?)) "
    rf"(?:is|are) {_LACKING}|"
    rf"\bif [\w' ]{{1,40}} (?:is|are) {_LACKING},? (?:explicitly |clearly |please )?(?:say|state|disclose|note)\b|"
    r"\bdocumentation insuffisante\b|\b(?:indique[zr]?|signale[zr]?) (?:explicitement )?ce qui manque\b|"
    r"\bdocumentación insuficiente\b|\b(?:indica|señala|di) (?:explícitamente )?(?:lo que|qué) falta\b|"
    r"\bunzureichende dokumentation\b|\bsag[et]? (?:ausdrücklich|klar),? was fehlt\b|\bgib an,? was fehlt\b",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(
    rf"\b(?:at least|a minimum of|au moins|al menos|mindestens) {_N} (?:words|mots|palabras|wörter)\b", re.IGNORECASE
)
_SECTIONS: Final = re.compile(
    r"\b(?i:sections?|headings|rubriques?|secciones|apartados|abschnitte[n]?|überschriften)"
    r"(?:(?: (?:for|on|called|named|titled|entitled|about|pour|intitulées?|para|tituladas?|namens|für))?\s*:\s*"
    r"| (?:for|on|called|named|titled|entitled|about|pour|intitulées?|para|tituladas?|namens|für)\s+(?=[A-ZÄÖÜÉ\"“'«])"
    r"|\s+(?=[\"“'«]))",
)
_TOPICS: Final = re.compile(
    rf"\b{_SEARCHES}(?: (?:separately|each))? (?:for|on|about|sobre|para|pour|sur|zu|über|nach)[:\s]+|"
    r"\bsearch (?:separately|individually) (?:for|on|about)[:\s]+|\b(?:topics|thèmes|temas|themen):\s*",
    re.IGNORECASE,
)
_EACH: Final = re.compile(r"(?:each|every|all|both|the|these|those|following|chaque|cada|jede[nrs]?)\b", re.IGNORECASE)
_BULLET: Final = re.compile(r"^[ \t]*(?:[-*•]|\(?\d{1,2}[.)]|\(?[a-h][.)])[ \t]+(\S.*)$", re.MULTILINE)
_SPLIT: Final = re.compile(r"\s*(?:,|;|/|\band\b|\bet\b|\by\b|\bund\b|&)\s*", re.IGNORECASE)
_QUOTED: Final = re.compile(r"[\"“”'‘’«»`*]{1,2}([^\"“”'‘’«»`*\n]{2,60})[\"“”'‘’«»`*]{1,2}")
_ITEM: Final = re.compile(r"^(?:the|a|an|les?|la|el|los|las|die|der|das|one for|one on|section) ", re.IGNORECASE)
_LEAD: Final = re.compile(r"^(?:and|et|y|und|then) ", re.IGNORECASE)


def constraints_of(prompt: str) -> PromptConstraints:
    """What `prompt` demands; PromptConstraints() for a plain question."""
    text = prompt[:WINDOW].replace("’", "'")
    sections = _listed(text, _SECTIONS)
    topics = _topics(text, sections)
    words = max((_number(match, MOST_WORDS) for match in _WORDS.finditer(text)), default=0)
    quoted = tuple(dict.fromkeys(" ".join(match[0].split()) for match in _QUOTE.finditer(text)))
    conflict = _CONFLICT.search(text)
    return PromptConstraints(
        min_searches=_searches(text, topics),
        required_search_topics=topics,
        min_open_citations=_openings(text),
        requires_exact_quote=bool(quoted),
        exact_quote_indicators=quoted[:MOST_ITEMS],
        requires_conflict_resolution=conflict is not None,
        conflict_resolution_rule=_sentence(text, conflict) if conflict else None,
        required_sections=sections,
        requires_insufficiency_disclosure=_DISCLOSE.search(text) is not None,
        estimated_min_answer_length=max(words * CHARS_PER_WORD, SECTION_CHARS * len(sections)),
    )


def _number(match: re.Match[str], most: int = MOST) -> int:
    said = next(value for value in match.groupdict().values() if value is not None)
    value = int(said) if said.isdigit() else _NUMBER_WORDS[said.casefold()]
    return min(value, most)


def _searches(text: str, topics: tuple[str, ...]) -> int:
    counted = max((_number(match) for match in _SEARCH.finditer(text)), default=1)
    apart = max(_FEW, len(topics)) if _SEARCH_APART.search(text) else 1
    return max(1, counted, apart)


def _openings(text: str) -> int:
    counted = max((_number(match) for match in _OPEN.finditer(text)), default=0)
    return max(counted, 1 if _OPEN_ONE.search(text) else 0)


def _topics(text: str, sections: tuple[str, ...]) -> tuple[str, ...]:
    """What is to be searched for separately: a list after "searches for", else the sections where each is to be."""
    if not (_SEARCH_APART.search(text) or _SEARCH.search(text)):
        return ()
    for match in _TOPICS.finditer(text):
        if _EACH.match(text, match.end()):
            return sections or _bullets(text, match.end())
        if found := _items(text, match.end()):
            return found
    return ()


def _listed(text: str, head: re.Pattern[str]) -> tuple[str, ...]:
    for match in head.finditer(text):
        if found := _items(text, match.end(), most_words=6):
            return found
    return ()


def _items(text: str, at: int, most_words: int = 8) -> tuple[str, ...]:
    """The list that begins at `at`: bullets, quoted names, or words between commas up to the sentence's end."""
    rest = text[at:]
    if rest.lstrip(" \t").startswith("\n") or _BULLET.match(rest):
        return _bullets(text, at)
    line = re.split(r"[.!?;](?:\s|$)|\n", rest, maxsplit=1)[0]
    if quoted := _QUOTED.findall(line):
        return _clean(quoted, most_words)
    found = _clean(_SPLIT.split(line), most_words)
    return found if len(found) > 1 else ()


def _bullets(text: str, at: int) -> tuple[str, ...]:
    return _clean([match[1] for match in _BULLET.finditer(text, at)], 8)


def _clean(items: list[str], most_words: int) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for item in items:
        name = _ITEM.sub("", _LEAD.sub("", item.strip(" \t.,:;!?'\"“”`*()"), count=1), count=1).strip()
        if name and len(name.split()) <= most_words:
            found.setdefault(name)
    return tuple(found)[:MOST_ITEMS]


def _sentence(text: str, match: re.Match[str]) -> str:
    start = max(text.rfind(mark, 0, match.start()) for mark in (". ", "\n", "? ", "! ")) + 1
    end = min(
        (place for mark in (". ", "\n", "? ", "! ") if (place := text.find(mark, match.end())) >= 0), default=len(text)
    )
    return " ".join(text[start:end].split()).strip(" .-*•")[:300]
