"""What kind of thing a question asks for (a number, a time, a name, a reason, a definition, an outcome), and whether a text
holds one. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from cairn.language.lexicon import AskedKinds, every, language, languages, patterns
from cairn.language.linear import bounded
from cairn.language.numbers import Quantity, quantities
from cairn.language.text import fold_line

Pick = Callable[[AskedKinds], Iterable[str]]


def _words(pick: Pick) -> re.Pattern[str]:
    """Any of the patterns of all languages, as whole words; nothing where there are none."""
    found = patterns(lambda one: pick(one.asked))
    return bounded(rf"(?<!\w)(?:{'|'.join(found)})(?!\w)" if found else r"(?!)", re.IGNORECASE)


_ASKS_NUMBER: Final = _words(lambda asked: asked.number)
_ASKS_MONEY: Final = _words(lambda asked: asked.money)
_AMOUNT: Final = _words(lambda asked: asked.amounts)
_ASKS_TIME: Final = _words(lambda asked: asked.time)
_ASKS_PERSON: Final = _words(lambda asked: asked.person)
_ASKS_REASON: Final = _words(lambda asked: asked.reason)
_ASKS_DEFINITION: Final = _words(lambda asked: asked.definition)
_ASKS_SEVERAL: Final = _words(lambda asked: asked.several)
_ASKS_WAY: Final = tuple(one.compiled(*one.questions.procedural, *one.asked.commands) for one in languages())
_OUTCOMES: Final = {
    said: bounded(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
    for one in languages()
    for said, words in one.asked.outcomes.items()
}
_ANY_OUTCOME: Final = bounded("|".join(pattern.pattern for pattern in _OUTCOMES.values()), re.IGNORECASE)
_NEGATIONS: Final = every(lambda one: one.claims.negations)
_QUESTION_WORDS: Final = every(lambda one: one.questions.words - one.questions.first_only) - every(
    lambda one: one.questions.yes_no
)
_TIMES: Final = _words(lambda asked: asked.times)
_REASONS: Final = {one.code: one.compiled(*one.asked.reasons, *one.asked.may_reason) for one in languages()}
_DEFINES: Final = _words(lambda asked: asked.defines)
_MOST: Final = _words(lambda asked: asked.most)
_LEAST: Final = _words(lambda asked: asked.least)

_MEASURES: Final = every(lambda one: one.asked.measures)
_SPELLED: Final = frozenset(word for one in languages() for word in (*one.numbers.words, *one.numbers.scales))
_CALENDAR: Final = every(lambda one: one.graph.calendar)
_DIGITS: Final = bounded(r"\d+(?:[.,]\d+)*")
_WORDS: Final = re.compile(r"\w+")
_YEAR: Final = re.compile(r"(?:1[0-9]|20)\d\d")
_NAME: Final = re.compile(r"(?<=\S\s)[^\W\d_a-zà-öø-ÿ]\w+|\b[^\W\d_a-zà-öø-ÿ]\w+\s+[^\W\d_a-zà-öø-ÿ]\w+")

OPENING: Final = 3  # measured: tests/unit/test_edges_answer.py
"""Words in which one stands that asks for more than yes or no: "by whom was ..."."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for; several may be. `way`: how something is done, which a command may say. `several`: things that a
    list names. `money`: what something costs, a fee, a salary. `outcome`: whether something was accepted, rejected or the like.
    `extreme`: for the column with the largest (1) or smallest (-1) value; 0 for neither."""

    number: bool
    money: bool
    time: bool
    person: bool
    reason: bool
    definition: bool
    way: bool
    several: bool
    outcome: bool
    extreme: int

    @property
    def anything(self) -> bool:
        """Whether a kind of thing is asked for that a text shows by its form."""
        return self.number or self.money or self.time or self.person or self.outcome

    @property
    def said_briefly(self) -> bool:
        """Whether a sentence or two say it: a number, a date, who, why, what something is; not how something is done."""
        return not self.way and (self.anything or self.reason or self.definition)


def read_asked(question: str) -> Asked:
    """What the question asks for, in any of the languages."""
    folded = fold_line(question)
    return Asked(
        number=bool(_ASKS_NUMBER.search(question)),
        money=bool(_ASKS_MONEY.search(question)),
        time=bool(_ASKS_TIME.search(question)),
        person=bool(_ASKS_PERSON.search(question)),
        reason=bool(_ASKS_REASON.search(question)),
        definition=bool(_ASKS_DEFINITION.search(question)),
        way=any(pattern.search(folded) for pattern in _ASKS_WAY),
        several=bool(_ASKS_SEVERAL.search(question)),
        outcome=bool(_ANY_OUTCOME.search(question)) and _QUESTION_WORDS.isdisjoint(_WORDS.findall(folded)[:OPENING]),
        extreme=1 if _MOST.search(question) else -1 if _LEAST.search(question) else 0,
    )


def thing_asked(question: str) -> str:
    """Folded words behind the first asking word where several things are asked for: "advantages"; none where they are not known,
    as where these are to be listed."""
    found = _ASKS_SEVERAL.search(question)
    words = _WORDS.findall(fold_line(found[0])) if found else []
    asking = next((at for at, word in enumerate(words, 1) if word in _QUESTION_WORDS), len(words))
    return " ".join(words[asking:])


def is_idle(word: str) -> bool:
    """Whether a folded word of a question only says what kind of thing it asks for: "year", "largest", "amount"."""
    return bool(_MOST.fullmatch(word) or _LEAST.fullmatch(word) or _TIMES.fullmatch(word) or word in _MEASURES)


def asking_words(question: str) -> frozenset[str]:
    """Folded words by which a sum of money or a number is asked for: "cuánto cuesta". They need not stand in a text; what stands
    between them must ("how much does a passport cost")."""
    found = (match[0] for pattern in (_ASKS_NUMBER, _ASKS_MONEY) for match in pattern.finditer(question))
    asking = (_WORDS.findall(fold_line(text)) for text in found)
    return frozenset(word for words in asking for word in (words[0], words[-1]))


def tells_outcome(text: str) -> bool:
    """Whether words of the text say that something was accepted, rejected or the like."""
    return bool(_ANY_OUTCOME.search(text))


def outcome_told(text: str) -> str | None:
    """What became of what was proposed, in one word, where a sentence tells just one thing and denies nothing."""
    told = [said for said, pattern in _OUTCOMES.items() if pattern.search(text)]
    return None if len(told) != 1 or denies(text) else told[0]


def denies(text: str, code: str | None = None) -> bool:
    """Whether a word of the text is a negation, in the language of this code, else in any of them (German "Mai" is Italian
    "mai"). Of "isn't" the "t" is one."""
    words = _WORDS.findall(fold_line(text))
    negations = _NEGATIONS if code is None else language(code).claims.negations
    return not negations.isdisjoint(words) or any(
        word == "t" and before.endswith("n") for before, word in pairwise(words)
    )


def gives_reason(text: str, code: str | None) -> bool:
    """Whether words of the text may bring a reason or a purpose, in the language of this code, else in any of them: French "car"
    is no reason in English."""
    folded = fold_line(text.replace("’", "'"))
    return any(pattern.search(folded) for spoken, pattern in _REASONS.items() if code in (None, spoken))


def gives_definition(text: str) -> bool:
    """Whether words of the text say what something is."""
    return bool(_DEFINES.search(text))


def may_say_sum(text: str) -> bool:
    """Whether something in the text may be what is paid: "free", or a number that is neither a year nor an amount of something
    else (244 metres). Fees are percentages too, and a currency may be left out, or be none that is known (12 zł)."""
    return bool(_AMOUNT.search(text)) or any(map(_may_be_paid, quantities(_NO_AMOUNT.sub("", text))))


_NO_AMOUNT: Final = re.compile(
    r"(?m)^[ \t]{0,12}\d{1,3}[.)](?=\s)|(?<![\d.,])\d{1,12}(?:[.,]\d{1,12})?\s?(?:[-–—]|bis|to|a|à)\s?(?=\d)"
)
"""The number of an item, and the lower of two numbers that have one unit: "3-7 days"."""


def says_sum(text: str) -> bool:
    """Whether an amount of a known currency stands in the text."""
    return bool(_CURRENCY.search(text)) or any(one.kind == "money" for one in quantities(text))


_CODES: Final = (
    "AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KES|KRW|MXN|MYR|NGN|NOK|NZD|PEN|PHP|"
    "PLN|RMB|RON|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
_CURRENCY: Final = bounded(rf"[$£¥€₹₩₽₺₴₪₫₱฿]\s?\d|\d\s?[$£¥€₹₩₽₺₴₪₫₱฿]|\b(?:{_CODES})\s?\d|\d\s?(?:{_CODES})\b")


def _may_be_paid(one: Quantity) -> bool:
    return one.kind in ("money", "share") or not (one.unit or one.kind == "year")


def holds_asked(asked: Asked, question: str, text: str, words: frozenset[str]) -> bool | None:
    """Whether a text holds a thing of the kind asked for that the question does not name itself; None where no such kind is
    asked for. `words`: those of the text, folded."""
    if not (asked.number or asked.time or asked.person or asked.outcome):  # of a sum no form is sure
        return None
    given = set(_DIGITS.findall(question))
    new = [number for number in _DIGITS.findall(text) if number not in given]
    if asked.number and (new or not _SPELLED.isdisjoint(words)):
        return True
    if asked.time and (
        any(_YEAR.fullmatch(number) for number in new) or not _CALENDAR.isdisjoint(words) or _TIMES.search(text)
    ):
        return True
    if asked.outcome and tells_outcome(text):
        return True
    named = question.casefold()
    return asked.person and any(name.group().casefold() not in named for name in _NAME.finditer(text))
