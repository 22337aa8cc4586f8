"""What a message of a conversation leans on, carried into what is searched for. Pure.

A message leans on what was said before where it refers back by a word and says little itself before it ("when was it founded?"),
where it only gives the last question a new focus ("and Italy?"), or where its own words say too little
("what's the default?"). What it leans on is put behind it, or in the place of the word that refers to it: retrieval needs the
words, not their grammar. The worst error is to carry history into a question about something else, so a message that says
enough by itself stays as it is (docs/adr/0033-follow-ups.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from cairn.domain.code import SEPARATOR, SPOKEN
from cairn.domain.plan import Intent
from cairn.domain.question import Turn
from cairn.graph.code.questions import asked_of_code
from cairn.language.identify import by_words
from cairn.language.lexicon import DEFAULT, Carry, language, refusals
from cairn.language.linear import bounded
from cairn.language.text import fold
from cairn.language.tokens import Word, content_words, message_words
from cairn.query.decompose import without_yes_or_no
from cairn.query.intent import hard_rules
from cairn.query.last_answer import is_about_the_answer
from cairn.query.listing import list_request
from cairn.query.undo import asks_to_undo, says_act, undoing, without_act

Names = Callable[[str, str], Sequence[str]]
"""Entities of a text in a language."""

MAX_CHARS: Final = 400  # bound: tests/unit/test_edges_followup.py
"""Longer messages bring their own subject."""
MAX_CONTENT: Final = 9  # measured: tests/unit/test_edges_followup.py
"""And so do messages with more words that say something."""
MAX_TEXT: Final = 600  # bound: tests/unit/test_edges_followup.py
"""Characters of what is searched for."""
MAX_TERMS: Final = 6  # bound: tests/unit/test_edges_followup.py
"""Words, names or items that are carried."""

REFERS_WITHIN: Final = 4  # measured: tests/unit/test_edges_followup.py
"""So many words of content before a word that refers back hold what it means; two where a comma stands between."""
TOO_LITTLE: Final = 1  # measured: tests/unit/test_carry.py
"""A message without names that has no more words of content is about the last question. Measured, as the others, on questions
that stay with their subject and on others that do not (docs/quality.md, "Follow-ups and new subjects")."""
BESIDE_A_KIND: Final = 3  # measured: tests/unit/test_carry.py
"""Words that are carried where the message says which kind of thing it means ("this method")."""
BYNAMED: Final = 3  # measured: tests/unit/test_carry.py
"""Words of a name with an article inside: "alexander the great"."""
NEW_FOCUS: Final = 3  # measured: tests/unit/test_edges_followup.py
"""Words of content that may follow "and", "what about" or "compared with" as a new focus; more are a question of their own."""


@dataclass(frozen=True, slots=True)
class Carried:
    """`text` is what to retrieve by; `terms` of it came from the conversation, none where the message stands alone. `refers`: a
    word of the message stands for them ("how much is that?"), so that something else is asked of what was spoken of. `item`: it
    is about one of several things ("the second one"); `alone`: that thing, where the message asks nothing of it. `parts`: the
    questions that are to be held against each other, and `compared` what each is about. `base`: the question before, where only a
    new focus stands behind it."""

    text: str
    terms: tuple[str, ...] = ()
    reason: str = "stands alone"
    refers: bool = False
    item: bool = False
    alone: str = ""
    parts: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    base: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """What was last spoken of. `question` stands alone already; `names` are its own; `answered`: names that only the answer has;
    `items`: what the answer lists, else what the question names beside each other; `titles`: of the sources it cites;
    `documents`: external ids, where the question asked for a list of documents; `base`: the question without the focus that
    stands behind it; `symbol`: of code, where it was answered on: all that "it" can mean."""

    question: str
    names: tuple[str, ...]
    answered: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    base: str = ""
    symbol: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """All that the question says: its names, and its other words of content."""
        inside = {part.casefold() for name in self.names for part in name.split()}
        return (*self.names, *(word for word in content_words(self.question) if word.casefold() not in inside))


def carry(message: str, history: Sequence[Turn], language: str, names: Names, *, window: int | None = None) -> Carried:
    """`history` is oldest first, without the message. `window`: how many of its last messages the message may lean on (None:
    all); what one of these leans on itself may be older."""
    if not history:
        return Carried(message, reason="no history")
    topic = topic_of(history, language, names, window=window)
    return resolve(message, topic, language, names) if topic else Carried(message)


def last_question(
    message: str, history: Sequence[Turn], language: str, names: Names, *, window: int | None = None
) -> Carried:
    """For "tell me more" and "simpler, please" where no answer is there to work on: the question before."""
    topic = topic_of(history, language, names, window=window)
    return Carried(topic.question, (topic.question,), "the last question again") if topic else Carried(message)


def parts_alone(parts: Sequence[str], language: str, names: Names) -> tuple[str, ...]:
    """Sub-questions of one message, each with what it leans on in the first: "... and who designed it?"."""
    if not parts:
        return ()
    first = Topic(parts[0], _own_names(parts[0], language, names))
    # "Nomad" of "Kubernetes vs Nomad" is a subject, which leans on nothing
    asks = [part.rstrip().endswith("?") for part in parts]
    return (
        parts[0],
        *(
            _asked_alone(resolve(part, first, language, names)) if asking else part
            for part, asking in zip(parts[1:], asks[1:], strict=True)
        ),
    )


def _asked_alone(made: Carried) -> str:
    """Of a comparison only what is asked anew: the question before it is a part already."""
    return made.parts[-1] if made.parts else made.text


def asks_of_another(message: str, language: str) -> bool:
    """Whether it asks the last question of something else: "what about simple?" wants nothing made simple."""
    found = _Message(message, language, lambda text, language: ())
    focus = found.new_focus()
    return focus is not None and bool(
        found.rules.about.match(found.folded) or fold(focus) in found.rules.words.no_wishes
    )


def resolve(message: str, topic: Topic, language: str, names: Names) -> Carried:
    """The message with what it leans on, out of `topic`."""
    found = _Message(message, language, names)
    if found.is_long:
        return Carried(message)
    if other := found.compared():
        return _compared(other, topic, found)
    if made := _of_opposite(message, topic, found):
        return made
    if says_act(message, language):
        topic = _without_act(topic, language)
    if topic.symbol and (made := _of_symbol(message, topic.symbol, found)):
        return made
    if (focus := found.new_focus()) is not None:
        return _refocused(message, focus, topic, found)
    if item := _item(found, topic):
        return item
    if (counted := found.ordinal()) and not topic.documents and found.counts_alone(counted):
        return _behind(message, topic.words, f"{counted.group()!r}: of the last question, for nothing is listed")
    if several := found.several():
        terms = topic.items or topic.names or topic.words
        return _behind(message, terms, f"{several.group()!r}: what was listed or named")
    if topic.titles and (cue := found.rules.documents.search(found.folded)):
        return _behind(message, topic.titles[:1], f"{cue.group()!r}: the source of the last answer")
    if word := found.reference():
        return _referred(message, word, topic, found)
    if not found.content:
        return _about_the_last(message, topic, found)
    if found.says_too_little():
        if topic.symbol:
            return _behind(message, (topic.symbol,), "it says too little by itself: the symbol of the last question")
        return _behind(message, topic.words, "it says too little by itself: words of the last question")
    return Carried(message)


# --- what was spoken of ---------------------------------------------------------------------------------------------------


def topic_of(history: Sequence[Turn], language: str, names: Names, *, window: int | None = None) -> Topic | None:
    """The last question that stands alone, and what those after it made of it."""
    topic: Topic | None = None
    for one in _since_alone(history, language, names, window):
        spoken = by_words(one.question) or language
        if list_request(one.question):
            topic = _topic(one.question, spoken, one.answer, names)
        elif not one.aside:
            resolved = resolve(one.question, topic, spoken, names) if topic else Carried(one.question)
            if topic is None or content_words(resolved.text):
                topic = _topic(resolved.text, spoken, one.answer, names)
                topic = replace(topic, items=resolved.compared or topic.items, base=resolved.base)
        elif topic and (items := listed(_answer_text(one.answer))):
            topic = replace(topic, items=items)
    return topic


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A question with its answer. `aside`: the intent of one that leaves the topic as it is ("thanks", "why?")."""

    question: str
    answer: Turn | None
    aside: Intent | None

    @property
    def is_small_talk(self) -> bool:
        """Has nothing before it, as "thanks" has not; "tell me more" has."""
        return self.aside in ("greeting", "gratitude", "garbage", "off_topic")


def _since_alone(history: Sequence[Turn], language: str, names: Names, window: int | None) -> list[_Exchange]:
    """Exchanges, oldest first, from the last question that stands alone. What is older than `window` messages counts only
    where something newer leans on it."""
    found: list[_Exchange] = []
    for age, exchange in _newest_first(history):
        if window is not None and age > window and all(newer.is_small_talk for newer in found):
            break
        found.append(exchange)
        spoken = by_words(exchange.question) or language
        if exchange.aside is None and _Message(exchange.question, spoken, names).stands_alone():
            break
    return found[::-1]


def _newest_first(history: Sequence[Turn]) -> Iterator[tuple[int, _Exchange]]:
    """Each with its age: 1 where its question is the last message."""
    following: Turn | None = None
    for age, turn in enumerate(reversed(history), 1):
        question = without_yes_or_no(turn.content.strip()[: MAX_TEXT * 2])
        if turn.role == "user" and question:
            answer = following if following and following.role == "assistant" else None
            yield age, _Exchange(question, answer, _aside(question))
        following = turn


def _aside(message: str) -> Intent | None:
    if list_request(message):
        return None
    if is_about_the_answer(message):
        return "simplify"
    match = hard_rules(message, has_history=True)
    if match is None or match.intent in ("question", "command"):
        return None
    return None if asks_of_another(message, by_words(message) or DEFAULT) else match.intent


def _topic(question: str, language: str, answer: Turn | None, names: Names) -> Topic:
    text = _answer_text(answer)
    own = _own_names(question, language, names)
    sources = [source for source in answer.sources if not source.deleted] if answer else []
    cited = [source for source in sources if source.cited] or sources
    titles = dict.fromkeys(source.title or source.filename for source in sorted(cited, key=lambda source: source.n))
    beside = own if len(own) > 1 and _BESIDE.search(question) else ()
    if list_request(question):
        names_of = dict.fromkeys(source.filename for source in sorted(cited, key=lambda source: source.n))
        return Topic(question, own, titles=tuple(titles), documents=tuple(names_of))
    if symbol := _symbol(question, text):
        return Topic(question, (symbol,), titles=tuple(titles), symbol=symbol)
    return Topic(question, own, _answer_names(text, question, language, names), listed(text) or beside, tuple(titles))


def _symbol(question: str, answer: str) -> str:
    """The symbol of code that a question asks about, where its answer was made of symbols: of such an answer the other names
    are paths and lines, which nobody goes on to ask about by "it"."""
    asked = asked_of_code(question)
    if asked is None or not asked.name or (asked.aspect in SPOKEN and SEPARATOR not in answer):
        return ""
    return asked.name if f"{asked.name.rpartition('.')[2]}`" in answer else ""


def _own_names(text: str, language: str, names: Names) -> tuple[str, ...]:
    return tuple(name for name in names(text, language) if name[0].isalpha())


def _answer_text(answer: Turn | None) -> str:
    """What an answer says, without its citations; nothing where it refuses, though it names documents to ask about."""
    if answer is None or answer.content.startswith(refusals()):
        return ""
    return _CITATION.sub("", answer.content[:MAX_ANSWER])


def _answer_names(answer: str, question: str, language: str, names: Names) -> tuple[str, ...]:
    """Names that are new in the sentence of the answer which says most of the question's words: what was asked for. An answer
    of a few words is such a name as a whole."""
    sentences = _SENTENCE.split(answer.strip())[:3]
    asked = {word.casefold() for word in content_words(question)}
    telling = max(sentences, key=lambda one: len(asked & {word.casefold() for word in content_words(one)}))
    words = message_words(telling)
    bare = len(content_words(telling)) == len(words)  # no "In Paris"
    if (
        # measured: tests/unit/test_edges_followup.py
        0 < len(words) <= 3 and bare and all(word.capital for word in words) and any(map(str.isupper, telling))
    ):  # no "1990s"
        return (telling.strip(" .!"),)
    return tuple(
        name for name in _own_names(telling, language, names) if not {w.casefold() for w in name.split()} <= asked
    )[:2]


MAX_ANSWER: Final = 1500  # bound: tests/unit/test_edges_followup.py
"""Characters of an answer that are looked at."""
MAX_ITEM: Final = 80  # bound: tests/unit/test_edges_followup.py
_AND: Final = r"(?:and|or|et|ou|y|e|o|und|oder|sowie)"
_BESIDE: Final = bounded(rf"\b{_AND}\b|,|\bvs\b|\bto\b")
_CITATION: Final = bounded(r"\s*\[\d+\]")
_ITEM: Final = bounded(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)]|\(?[a-h]\))\s+(?P<item>\S.*)$", re.MULTILINE)
_SENTENCE: Final = bounded(r"(?<=[.!?])\s+(?=\S)")
_SERIES: Final = bounded(rf"(?P<head>[^,.;:!?\n]+(?:,\s*+[^,.;:!?\n]+)+)\s*,?\s+{_AND}\s+(?P<last>[^,.;:!?\n]+)")


def listed(answer: str) -> tuple[str, ...]:
    """Lines of a list, each up to a colon, dash or full stop; else three or more members of "A, B and C", single words or
    names, of the first only its last words. None where nothing is listed."""
    lines = [match["item"].replace("**", "") for match in _ITEM.finditer(answer)]
    if len(lines) >= 2:
        heads = (re.split(r"\s[-–—]\s|:\s|(?<=\w{3})\.\s", line, maxsplit=1)[0] for line in lines[:20])
        return tuple(head[:MAX_ITEM].strip(" .;,:") for head in heads)
    for sentence in _SENTENCE.split(answer)[:6]:
        if match := _SERIES.search(sentence[:400]):
            first, *rest = [part.split() for part in (*match["head"].split(","), match["last"])]
            named = all(word[0].isupper() for words in rest for word in words)
            if first and all(words for words in rest) and (named or all(len(words) == 1 for words in rest)):
                return tuple(" ".join(words) for words in (first[-max(map(len, rest)) :], *rest))
    return ()


# --- what a message says by itself ------------------------------------------------------------------------------------------


def _folded(text: str) -> str:
    """Letter by letter, so that places stay."""
    return "".join(folded if len(folded := fold(letter)) == 1 else letter for letter in text)


class _Message:
    """A message with its words and names, and what the collection knows of them."""

    def __init__(self, text: str, language: str, names: Names) -> None:
        self.text = text[:MAX_CHARS]
        self.language = language
        self.folded = _folded(self.text)
        self.rules = _rules(language)
        self.words = message_words(self.text)
        self.names = _own_names(self.text, language, names)
        self.content = [word for word in self.words if word.content and word.folded not in self.rules.questions]
        self.is_long = len(text) > MAX_CHARS or len(self.content) > MAX_CONTENT

    def stands_alone(self) -> bool:
        """Whether it leans on nothing, whatever was said before."""
        if self.is_long:
            return True
        refers = self.compared() or self.ordinal() or self.several() or self.reference()
        return self.new_focus() is None and not refers and not self.says_too_little()

    def says_too_little(self) -> bool:
        """Whether its own words hardly name a subject."""
        whole = (self.rules.defines.match(self.folded) and not self.defines_a_part()) or self.asks_what_there_is()
        leans = self.rules.leans.match(self.folded) is not None
        return not self.content or leans or (not self.names and len(self.content) <= TOO_LITTLE and not whole)

    def defines_a_part(self) -> bool:
        """ "Was ist der Unterschied?": the article stands before what is always of something. Before any other thing it says
        no more than "ein" does: "Was ist das Sponsortoken?"."""
        articles = self.rules.words.articles.split()
        return any(
            article.folded in articles and one.content
            and any(part.startswith(one.folded) for part in self.rules.words.belongs)
            for article, one in zip(self.words, self.words[1:], strict=False)
        )  # fmt: skip

    def asks_what_there_is(self) -> bool:
        """ "Which matchers are there?": of all of them; "which options are there?" is of what was spoken of."""
        match = self.rules.all_there_is.match(self.folded)
        return match is not None and match[match.lastindex or 0] not in self.rules.words.belongs

    def holds_before(self, end: int, most: int) -> bool:
        """Whether something before `end` can be meant by a word there: a name, or at least `most` words of content."""
        if any(-1 < self.text.find(name) < end for name in self.names):
            return True
        return sum(word.start < end for word in self.content if word.folded not in self.rules.words.modals) >= most

    def reference(self, start: int = 0) -> Word | None:
        """The first word from `start` on that refers back, and to nothing in the message itself."""
        idle = [match.span() for match in self.rules.nothing.finditer(self.folded)]
        for word in self.words:
            if word.start < start:
                continue
            spelled = self.rules.words.spelled.get(word.text if word.start else word.text.lower(), word.folded)
            refers = spelled in self.rules.words.pronouns or spelled in self.rules.words.demonstratives
            refers |= spelled in self.rules.words.last and (
                word is self.words[-1] or (spelled == "that" and (word in self.words[:2] or self._is_asked_of(word)))
            )
            refers |= self._is_clitic(word)
            loud = word.text.isupper() and len(word.text) > 1  # IT, US
            if refers and not loud and not any(start <= word.start < end for start, end in idle):
                return None if self.holds_before(word.start, self._bound(word)) else word
        return None

    def _is_asked_of(self, word: Word) -> bool:
        """ "How long does that take?": not "do you know that it snows?"."""
        before = max((one for one in self.words if one.start < word.start), key=lambda one: one.start, default=None)
        return before is not None and before.folded in self.rules.yes_no

    def _is_clitic(self, word: Word) -> bool:
        return self.rules.clitics.match(self.folded, word.start) is not None

    def ordinal(self) -> re.Match[str] | None:
        """ "the second one", where nothing before it is counted."""
        match = self.rules.ordinal.search(self.folded)
        return match if match and not self.holds_before(match.start(), REFERS_WITHIN) else None

    def compared(self) -> str | None:
        """What "that" is to be compared with, which is all that the message says: "compared with 2022, how did sales go?" asks
        something of its own."""
        match = self.rules.compares.match(self.folded)
        if match is None or match.lastindex is None:
            return None
        other = self.text[slice(*match.span(match.lastindex))].strip()
        words = [word for word in self.words if word.start >= match.start(match.lastindex)]
        asks = any(word.folded in self.rules.questions for word in words)
        if asks or "," in other or sum(word.content for word in words) > NEW_FOCUS or self._are_two_things(words):
            return None
        return self.rules.article.sub("", other)

    def _are_two_things(self, words: Sequence[Word]) -> bool:
        """Whether an article stands between two things: "compare to the average the salaries", not "to Alexander the Great", nor
        between two words of a message without capitals, which tells no names."""
        if self.text.islower() and len(words) == BYNAMED and words[0].text.isalpha():
            return False
        return any(
            one.content
            and article.folded in self.rules.words.opens_thing
            and not (self.rules.capitals_name and one.capital and other.capital)
            for one, article, other in zip(words, words[1:], words[2:], strict=False)
        )

    def says_nothing_besides(self, match: re.Match[str]) -> bool:
        """Whether no other word of it says or asks something."""
        besides = (word for word in self.words if not match.start() <= word.start < match.end())
        return not any(word.content or word.folded in self.rules.questions for word in besides)

    def counts_alone(self, match: re.Match[str]) -> bool:
        """Whether no word of it has content besides "the last step", of which it does not say of what."""
        return not self.names and all(match.start() <= word.start < match.end() for word in self.content)

    def several(self) -> re.Match[str] | None:
        """ "both", "the others": of what was listed, where nothing before it is meant."""
        match = None if self.names else self.rules.several.search(self.folded)
        return match if match and not self.holds_before(match.start(), 2) else None

    def _bound(self, word: Word) -> int:
        """Words of content before a word that refers back, of which it may mean one."""
        if self._is_clitic(word):
            return 1
        if word.folded in self.rules.words.owners:
            return self.rules.words.owners_bound
        if self.text[word.start - 1 : word.start] == "-":  # "la mairie peut-elle": the subject is in the message
            return 2 if any(one.folded in self.rules.questions for one in self.words if one.start < word.start) else 1
        return 2 if "," in self.text[: word.start] else REFERS_WITHIN

    def new_focus(self) -> str | None:
        """What follows "and" or "what about", where that is no question of its own."""
        opener = self.rules.openers.match(self.folded)
        if opener is None:
            return None
        rest = [word for word in self.words if word.start >= opener.end()]
        content = [word for word in rest if word in self.content]
        asks = any(word.folded in self.rules.questions for word in rest)
        if not content or asks or len(content) > NEW_FOCUS or self.reference(opener.end()):
            return None
        if self.rules.ordinal.search(self.folded) or self.rules.several.search(self.folded):
            return None
        return self.text[opener.end() :].strip(" ?!.¿¡…")


@dataclass(frozen=True, slots=True)
class _Rules:
    """How one language refers back: its words, and the patterns made of them."""

    words: Carry
    questions: frozenset[str]
    negations: frozenset[str]
    yes_no: frozenset[str]
    """Verbs that ask."""
    capitals_name: bool
    """Nouns have none."""
    ordinals: Mapping[str, int]
    nothing: re.Pattern[str]
    defines: re.Pattern[str]
    leans: re.Pattern[str]
    clitics: re.Pattern[str]
    openers: re.Pattern[str]
    about: re.Pattern[str]
    all_there_is: re.Pattern[str]
    subjects: re.Pattern[str]
    compares: re.Pattern[str]
    article: re.Pattern[str]
    several: re.Pattern[str]
    documents: re.Pattern[str]
    ordinal: re.Pattern[str]
    counted: re.Pattern[str]
    """The same, whatever follows."""


LAST: Final = -1  # measured: tests/unit/test_carry.py
"""Number of "the last one"."""


@cache
def _rules(code: str) -> _Rules:
    known = language(code)
    raw = known.carry
    ordinals = {fold(word): LAST for word in raw.final.split()}
    for line in (raw.ordinals, raw.numbered):
        ordinals |= {fold(word): number for number, word in enumerate(line.split(), 1)}
    words, items = "|".join(ordinals) or _NEVER, "|".join(raw.items.split()) or _NEVER
    articles = "|".join(one if one.endswith("'") else rf"{one}\s+" for one in raw.articles.split()) or _NEVER
    return _Rules(
        words=raw,
        questions=frozenset(map(fold, known.questions.words)),
        negations=known.claims.negations,
        yes_no=frozenset(map(fold, known.questions.yes_no)),
        capitals_name=known.names.nouns is None,
        ordinals=ordinals,
        nothing=_any(raw.nothing),
        defines=bounded(rf"[\s¿]*(?:{'|'.join(raw.defines) or _NEVER})"),
        leans=bounded(
            rf"[\s¿]*(?:{'|'.join(raw.openers) or _NEVER}|[\s,])*(?:{'|'.join(raw.leans) or _NEVER})[\s?!.…]*$"
        ),
        clitics=bounded("|".join(raw.clitics) or _NEVER),
        openers=bounded(rf"[\s¿¡]*(?:(?:{'|'.join((*raw.openers, *raw.about)) or _NEVER})(?!\w)[\s,]*)+"),
        about=bounded(rf"[\s¿¡]*(?:{'|'.join(raw.about) or _NEVER})(?!\w)"),
        all_there_is=bounded(rf"[\s¿]*(?:{'|'.join(raw.all_there_is) or _NEVER})[\s?!.…]*$".replace("<x>", r"(\w+)")),
        subjects=bounded(rf"[\s¿]*(?:{'|'.join(raw.subjects) or _NEVER})[\s?!.…]*$".replace("<x>", _OTHER)),
        compares=bounded(rf"[\s¿¡]*(?:{'|'.join(raw.compares) or _NEVER})[\s?!.…]*$".replace("<x>", _OTHER)),
        article=bounded(rf"^(?:{articles})", re.IGNORECASE),
        several=_any(raw.several),
        documents=_any(raw.documents),
        ordinal=bounded(
            rf"(?:(?<!\w)(?:{articles})|^\W*)(?P<word>{words})(?!\w)"
            rf"(?:\s+(?:{items})(?!\w)(?!\s+\w+\s+\w+\s+\w)|(?=\s*(?:$|[?.!,;])))"
            rf"|(?<!\w)(?:{items})\s*#?(?P<number>\d{{1,2}})(?!\w|[.,:]\w)"
        ),
        counted=bounded(
            rf"(?:(?<!\w)(?:{articles})|^\W*)(?P<word>{words})(?!\w)"
            rf"(?:\s+(?:{items})(?!\w)|(?=\s*(?:$|[?.!,;])))"
            rf"|(?<!\w)(?:{items})\s*#?(?P<number>\d{{1,2}})(?!\w|[.,:]\w)"
        ),
    )


_OTHER: Final = r"([^?!.;]{1,80}?)"
_NEVER: Final = r"\A(?!)"
"""Matches nothing: what a language does not say."""


def _any(patterns: Sequence[str]) -> re.Pattern[str]:
    """One pattern of several, over whole words; `$` means the end of the message, whatever stands behind."""
    whole = (rf"(?<!\w)(?:{one.replace('$', '(?=[^a-z0-9]*$)')})(?!\w)" for one in patterns)
    return bounded("|".join(whole) or _NEVER)


# --- the message with what it leans on ---------------------------------------------------------------------------------------


def _behind(message: str, terms: Sequence[str], reason: str) -> Carried:
    """The terms that the message does not have stand before its question mark."""
    have = message.casefold()
    new = tuple(dict.fromkeys(term for term in terms if term and term.casefold() not in have))[:MAX_TERMS]
    if not new:
        return Carried(message, tuple(terms[:1]), f"{reason}, which it has")
    end = len(message.rstrip(" ?!.\n"))
    return Carried(f"{message[:end]} {' '.join(new)}{message[end:]}".strip()[:MAX_TEXT], new, reason)


def _about_the_last(message: str, topic: Topic, found: _Message) -> Carried:
    """ "why?" asks something else of the last question; "and?" nothing."""
    asks = any(word.folded in found.rules.questions for word in found.words)
    text = f"{message.strip(' ?!.¿¡')}: {topic.question}" if asks else topic.question
    return Carried(text[:MAX_TEXT], (topic.question,), f"{message.strip()!r} is about the last question")


def _refocused(message: str, focus: str, topic: Topic, found: _Message) -> Carried:
    """ "and Germany?" after "What is the capital of France?": the question before, with Germany in it. A name takes the place of
    the only name, a number of the only number; else what is new stands behind, as "not in France" does, which would be lost."""
    reason = f"the last question with {focus!r} in it"
    bare = _is_bare(focus, found.rules)
    question = (
        bare and topic.base
    ) or topic.question  # of "what about A?" and "what about B?" each is asked for itself
    if any(word.folded in found.rules.negations for word in message_words(focus)):
        return replace(_behind(question, (focus,), reason), terms=topic.words[:MAX_TERMS])
    names = tuple(name for name in topic.names if name in question)
    for old, new in ((names, found.names), (_NUMBER.findall(question), _NUMBER.findall(focus))):
        if len(old) == 1 and new and not any(one in question for one in new):
            numbered = re.search(rf"{re.escape(new[0])}(?:\s+\d+)?", focus)
            one = numbered.group() if numbered else new[0]
            text = question.replace(old[0], one if len(new) == 1 else focus)
            kept = tuple(word for word in topic.words if word not in old[0].split())
            return Carried(text[:MAX_TEXT], kept[:MAX_TERMS], reason)
    if place := _of_same_form(question, focus) or _same_place(question, focus, found.rules.words.articles):
        text = f"{question[: place[0]]}{focus}{question[place[1] :]}"
        kept = tuple(word for word in topic.words if word in text)
        return Carried(text[:MAX_TEXT], kept[:MAX_TERMS], reason)
    made = _behind(question, (focus,), reason)
    kept = tuple(word for word in topic.words if word in question)
    return replace(made, terms=kept[:MAX_TERMS], base=question if bare else "")


def _is_bare(focus: str, rules: _Rules) -> bool:
    """Whether it is a thing alone, not one that a preposition puts somewhere ("for contractors"), nor a number."""
    first = next(iter(message_words(focus)), None)
    articles = rules.words.articles.split()
    return first is not None and not first.text.isdigit() and (first.content or first.folded in articles)


def _of_same_form(question: str, focus: str) -> tuple[int, int] | None:
    """Where a question has a name like that of a focus: "mise prune" of "mise upgrade", whose words are as many and all but the
    last the same. None where it has no such name, or more than one."""
    words, new = message_words(question), message_words(focus)
    if not 1 < len(new) <= BYNAMED or not all(word.content for word in new):
        return None
    begins = [word.folded for word in new[:-1]]
    size = len(begins)
    places = [at for at in range(len(words) - size) if [word.folded for word in words[at : at + size]] == begins]
    last = words[places[0] + size] if len(places) == 1 else None
    return (words[places[0]].start, last.end) if last and last.content and last.folded != new[-1].folded else None


def _same_place(question: str, focus: str, articles: str) -> tuple[int, int] | None:
    """Where a question says what a focus says otherwise: "for meals" of "for hotels". None where it has no such words, or
    more than once."""
    words, new = message_words(question), message_words(focus)
    if len(new) < 2 or new[0].content or not new[-1].content or new[0].folded in articles.split():
        return None
    places = [at for at, word in enumerate(words) if word.folded == new[0].folded]
    if len(places) != 1:
        return None
    end = next((at for at in range(places[0] + 1, len(words)) if words[at].content), None)
    return None if end is None else (words[places[0]].start, words[end].end)


def _compared(other: str, topic: Topic, found: _Message) -> Carried:
    """The last question, and the same of something else: both are asked."""
    first = topic.question if topic.question.rstrip().endswith("?") else f"{topic.question.rstrip(' .!')}?"
    second = _refocused(other, other, replace(topic, question=first), found).text
    compared = (*topic.names, other) if len(topic.names) == 1 else ()
    return Carried(
        f"{first} {second}"[:MAX_TEXT], topic.words[:MAX_TERMS], f"the last question, and again for {other!r}",
        parts=(first, second), compared=compared,
    )  # fmt: skip


_NUMBER: Final = bounded(r"(?<![\w.,])\d+(?![\w.,]*\w)")


def _of_opposite(message: str, topic: Topic, found: _Message) -> Carried | None:
    """ "How do I undo that?": the last question, of what undoes it. None for every other message, and where that is unknown."""
    code = found.language
    if not asks_to_undo(message, code):
        return None
    # the conversation may have gone on in another language
    text = next(
        (made for one in (by_words(topic.question), code) if one and (made := undoing(topic.question, one))), ""
    )
    kept = tuple(word for word in topic.words if word in text)
    return (
        Carried(text[:MAX_TEXT], kept[:MAX_TERMS] or (text,), f"{message.strip()!r}: what undoes it") if text else None
    )


def _without_act(topic: Topic, language: str) -> Topic:
    question, names = without_act(topic.question, topic.names, by_words(topic.question) or language)
    return replace(topic, question=question, names=names)


def _item(found: _Message, topic: Topic) -> Carried | None:
    """ "the second one": of what the last answer lists, or the question names, or of the sources."""
    match = found.rules.counted.search(found.folded) if topic.documents else found.ordinal()
    if match is None:
        return None
    number = int(match["number"]) if match["number"] else found.rules.ordinals[match["word"]]
    if topic.documents:
        return _document(found, match, topic.documents, number)
    for items, where in ((topic.items, "listed"), (topic.answered, "named in the answer"), (topic.titles, "cited")):
        place = len(items) if number == LAST else number
        if 1 <= place <= len(items):
            item = items[place - 1]
            text = f"{found.text[: match.start()]}{item}{found.text[match.end() :]}"
            others = {word for name in items for word in name.split()}
            about = [word for word in topic.words if word not in others]
            made = _behind(text, about[:4], f"{match.group()!r}: item {place} of what was {where}")
            alone = item if where == "listed" and found.says_nothing_besides(match) else ""
            return replace(made, terms=tuple(dict.fromkeys((item, *made.terms))), item=True, alone=alone)
    return None


def _document(found: _Message, match: re.Match[str], documents: Sequence[str], number: int) -> Carried | None:
    """ "the second one" of a list of documents: the document itself, named so that only it is searched, not the words by which
    the list was asked for."""
    place = len(documents) if number == LAST else number
    if not 1 <= place <= len(documents):
        return None
    name = documents[place - 1]
    text = f'{found.text[: match.start()]}document "{name}"{found.text[match.end() :]}'
    return Carried(text, (name,), f"{match.group()!r}: document {place} of what was listed")


def _referred(message: str, word: Word, topic: Topic, found: _Message) -> Carried:
    """The message with the names that a word may mean, else the words of the last question."""
    terms = _meant(word, topic, found.rules)
    reason = f"{word.text!r}: {'names' if terms else 'words'} of the last question and its answer"
    if len(terms) == 1 and word.folded in found.rules.words.replaced:
        owner = "'s" if word.folded in found.rules.words.owners and word is not found.words[-1] else ""
        text = f"{message[: word.start]}{terms[0]}{owner}{message[word.end :]}"
        return Carried(text[:MAX_TEXT], tuple(terms), reason, refers=True)
    return replace(_behind(message, terms or topic.words, reason), refers=True)


def _of_symbol(message: str, symbol: str, found: _Message) -> Carried | None:
    """ "Who calls it?" after an answer about a symbol of code: with the symbol in the place of a word, else behind it, where that
    asks something of the symbol. None where it does not, or where the message names something itself."""
    asked = asked_of_code(message)
    if found.names or (asked and not (asked.aspect == "shown" and asked.name.islower() and not asked.marked)):
        return None
    words = found.rules.words
    back = words.pronouns | words.last | words.demonstratives
    for word in (one for one in found.words if one.folded in back):
        owner = "'s" if word.folded in words.owners and word is not found.words[-1] else ""
        before = _HYPHEN.sub(" ", message[: word.start])
        text = f"{before}{symbol}{owner}{message[word.end :]}"
        if _asks_of(text, symbol):
            reason = f"{word.text!r}: the symbol that the last question asks about"
            return Carried(text[:MAX_TEXT], (symbol,), reason, refers=True)
    made = _behind(message, (symbol,), "what the last question asks about is a symbol of code")
    return replace(made, refers=True) if _asks_of(made.text, symbol) else None


def _asks_of(text: str, symbol: str) -> bool:
    asked = asked_of_code(text)
    return asked is not None and asked.name == symbol


_HYPHEN: Final = bounded(r"(?:-t)?-$")
"""Before a pronoun behind its verb: "prend-elle", "hérite-t-elle"."""


def _meant(word: Word, topic: Topic, rules: _Rules) -> Sequence[str]:
    """Names that a word may mean; other words where it says the kind of thing ("this method"); none where nothing was named."""
    if topic.symbol:
        return (topic.symbol,)
    asked = {one.folded for one in message_words(topic.question)}
    if word.folded in rules.words.persons:
        if asked & rules.words.who or not topic.names:  # "who founded Acme?": the answer names the person
            return topic.answered[:1] or topic.names
        return (
            *topic.names,
            *topic.answered[:1],
        )  # "where did Ada work?": the question does, but "when was Acme founded?" not
    if word.folded in rules.words.plurals or word.folded == "that":
        return topic.words
    if word.folded in rules.words.demonstratives:
        return topic.words[:BESIDE_A_KIND]
    if subject := _subject(topic.question, rules):
        return (subject,)
    asked_who_or_where = bool(asked & rules.words.names)
    if asked_who_or_where:  # its subject stands beside its answer: both may be meant
        return (*(topic.names or topic.words), *topic.answered)
    asked_which = bool(asked & rules.words.things)
    only_names = len(topic.words) == len(topic.names)
    if asked_which and not only_names:  # "what is Siemens?" stays with Siemens, "which city ...?" goes on with the city
        return topic.answered or topic.names
    return topic.names


SUBJECT_WORDS: Final = 4  # bound: tests/unit/test_carry.py
"""Words of a subject that can stand in the place of "it"."""


def _subject(question: str, rules: _Rules) -> str:
    """What a question asks to be explained: "on-demand TLS" of "what is on-demand TLS?", which goes on to be spoken of, whatever
    names the answer has. "" where it asks for something of it ("what is the capital of France?")."""
    match = rules.subjects.match(_folded(question))
    if match is None or match.lastindex is None:
        return ""
    subject = question[slice(*match.span(match.lastindex))].strip()
    words = subject.split()
    says = all(any(word.content for word in message_words(one)) for one in words)
    return subject if 0 < len(words) <= SUBJECT_WORDS and says else ""
