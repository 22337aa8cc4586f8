"""Whole messages that want something else than documents, by key phrases, and what may stand beside them. Pure.

A message has an intent when one of its key phrases is in it and every other word is a companion: "tell me more about
it" is a follow-up, "tell me more about the pension plan" is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final, Literal

from cairn.domain.plan import Vocabulary
from cairn.language import lexicon
from cairn.language.identify import languages_of
from cairn.language.lexicon import DEFAULT, Language, every, languages
from cairn.language.linear import bounded
from cairn.language.text import fold_line
from cairn.language.tokens import ALL_IDLE_WORDS, words

Phrase = tuple[str, ...]
_QUESTION_WORDS: Final = every(lambda one: one.questions.words - one.questions.never)


def tokens(text: str) -> list[str]:
    """Words without apostrophes, folded: "What's" is "whats"."""
    return [word.replace("'", "") for word in words(fold_line(text))]


def _phrases(name: str) -> frozenset[Phrase]:
    return frozenset(phrase for one in languages() for phrase in _said_in(one, name))


def _said_in(one: Language, *names: str) -> frozenset[Phrase]:
    return frozenset(tuple(tokens(phrase)) for name in names for phrase in getattr(one.messages, name))


def _words(name: str) -> frozenset[str]:
    """As they are written, and as `tokens` sees them."""
    written = " ".join(getattr(one.messages, name) for one in languages())
    return frozenset({*(fold_line(word).replace("'", "") for word in written.split()), *tokens(written)})


GREETINGS: Final = _phrases("greetings")
FAREWELLS: Final = _phrases("farewells")
GRATITUDE: Final = _phrases("gratitude")
ACKNOWLEDGEMENTS: Final = _phrases("acknowledgements")
FOLLOWUPS: Final = _phrases("followups")
SIMPLIFICATIONS: Final = _phrases("simplifications")
DEEPENINGS: Final = _phrases("deepenings")
COMMANDS: Final = _phrases("commands")
ALONE: Final = _phrases("alone")
BESIDE_ALONE: Final = _words("beside_alone")
"""Beside keys that say little: "but why is that?", not "tell me why you are here"."""

_POINTED: Final = _words("polite") | _words("pointed")
COMPANIONS: Final[Mapping[str, frozenset[str]]] = {
    "greeting": _words("polite") | _words("addressed"),
    "gratitude": _words("polite") | _words("addressed") | _words("thanked"),
    "followup": _POINTED,
    "simplify": _POINTED,
    "deepen": _POINTED,
    "command": _words("polite"),
}
"""Words that may stand beside a key phrase of the intent."""

TYPO_PRONE: Final = _words("typo_prone")
"""Recognised with one letter wrong, missing, doubled or swapped."""
REAL_WORDS: Final = _words("real_words")
"""Not typing errors."""
NONSENSE: Final = _words("nonsense")
EMOJI: Final[Mapping[str, str]] = {
    "👋": "greeting",
    "🙏": "gratitude",
    "💐": "gratitude",
    "👍": "acknowledgement",
    "👌": "acknowledgement",
}
"""Messages of nothing but these."""

OFF_TOPIC_CUES: Final = _words("off_topic_cues")
"""One of these is in all small talk and in all orders to a device."""
HOW_TO: Final = tuple(one.compiled(*one.messages.how_to) for one in languages())
"""Asks how something is done, or what somebody says: documents may know."""
_BEFORE, _AFTER = (
    f"(?:{'|'.join(piece for one in languages() for piece in getattr(one.messages, name))})*"
    for name in ("before_orders", "after_orders")
)
OFF_TOPIC: Final = tuple(
    one.compiled(*(f"^{_BEFORE}(?:{pattern}){_AFTER}$" for pattern in one.messages.small_talk)) for one in languages()
)
"""Small talk and orders to a device, as whole messages without punctuation."""


Form = Literal[
    "greeting", "gratitude", "farewell", "acknowledgement", "followup", "simplify", "deepen", "command", "off_topic"
]

MAX_TOKENS: Final = 16  # bound: tests/unit/test_edges_followup.py
"""Longer messages have something to say."""
_PHRASES: Final[Mapping[Form, frozenset[Phrase]]] = {
    "command": COMMANDS,
    "deepen": DEEPENINGS,
    "simplify": SIMPLIFICATIONS,
    "followup": FOLLOWUPS,
    "gratitude": GRATITUDE,
    "farewell": FAREWELLS,
    "greeting": GREETINGS,
    "acknowledgement": ACKNOWLEDGEMENTS,
}
"""In order of precedence: "thanks, tell me more" is a follow-up."""
_COURTESIES: Final[tuple[Form, ...]] = ("gratitude", "farewell", "greeting", "acknowledgement")
_LOOSE: Final = bounded(r"[^\w\s-]|_")
_LONG_RUN: Final = bounded(r"(.)\1{2,}")
_ANY_RUN: Final = bounded(r"(.)\1+")


def whole_message(
    text: str, vocabulary: Vocabulary | None = None, language: str = DEFAULT
) -> tuple[Form, str, bool] | None:
    """The form, the phrase it was known by, and whether that was spelled as in the table; None for other messages. `language`: of
    what was said, or of the collection, where the message does not tell its own."""
    folded = fold_line(text)
    # measured: tests/unit/test_edges_followup.py
    if len(folded) > 200:
        return None
    loose = " ".join(_LOOSE.sub(" ", folded.replace("'", "")).split())
    if any(pattern.search(loose) for pattern in OFF_TOPIC):
        return None if _is_subject(loose, vocabulary) else ("off_topic", loose, True)
    typed = tokens(text)
    if not typed or len(typed) > MAX_TOKENS:
        return None
    spelled = [_spelling(token, vocabulary) for token in typed]
    false = false_friends(text, language)
    covers = {form: found for form in _PHRASES if (found := _covered(spelled, form)) not in false}
    if not covers:
        return None
    form = max(covers, key=lambda form: len(covers[form]))  # of equals the first: the order of precedence
    return (form, " ".join(covers[form]), spelled == typed) if covers[form] else None


def language_of(text: str, default: str) -> str | None:
    """The code of the language in which a whole message is small talk or a command; `default` where it is so there, too."""
    found = whole_message(text, None, default)
    if found is None:
        return None
    if found[0] == "off_topic":
        return next(one.code for one, pattern in zip(languages(), OFF_TOPIC, strict=True) if pattern.search(found[1]))
    phrase = tuple(found[1].split())
    order = (lexicon.language(default), *languages())
    return next((one.code for one in order if phrase in _key_phrases(one.code)), None)


_TABLES: Final = (
    "greetings", "farewells", "gratitude", "acknowledgements", "followups", "simplifications", "deepenings", "commands",
)  # fmt: skip


def false_friends(text: str, language: str) -> frozenset[Phrase]:
    """Words of the message's language that are key phrases in another one alone: "resume", "toll", "plus" in English."""
    spoken = languages_of(text, language)
    if len(spoken) == len(languages()):
        return frozenset()
    everyday = {(word,) for one in spoken for word in one.words.everyday}
    return frozenset(everyday.difference(*(_key_phrases(one.code) for one in spoken)))


@cache
def _key_phrases(code: str) -> frozenset[Phrase]:
    """Of a language, whatever they want. Kept: to cut them into words takes longer than all else that is asked of a message."""
    return _said_in(lexicon.language(code), *_TABLES)


def _covered(tokens: Sequence[str], form: Form) -> Phrase:
    """The longest key phrase of the form in the message, if the rest of it is courtesy and companions; else nothing."""
    found = _cover(tokens, _PHRASES[form], _companions(form))
    return _cover(tokens, _PHRASES[form], BESIDE_ALONE) if found in ALONE else found


def _cover(tokens: Sequence[str], phrases: frozenset[Phrase], companions: frozenset[str]) -> Phrase:
    """The longest key phrase in `tokens`, if everything can be read as key phrases, courtesies and companions;
    else nothing."""
    reached: dict[int, Phrase] = {0: ()}
    for start in range(len(tokens)):
        if start not in reached:
            continue
        best = reached[start]
        for size in range(1, min(_LONGEST, len(tokens) - start) + 1):
            piece = tuple(tokens[start : start + size])
            end = start + size
            if piece in phrases:
                found = max(best, piece, key=len)
                reached[end] = max(reached.get(end, ()), found, key=len)
            elif piece in _COURTESY_PHRASES or (size == 1 and piece[0] in companions):
                reached[end] = max(reached.get(end, ()), best, key=len)
    return reached.get(len(tokens), ())


@cache
def _companions(form: Form) -> frozenset[str]:
    beside = {"farewell": "greeting", "acknowledgement": "gratitude"}.get(form, form)
    return frozenset(word.replace("'", "") for word in COMPANIONS[beside]) - _QUESTION_WORDS


_COURTESY_PHRASES: Final = frozenset[Phrase]().union(*(_PHRASES[form] for form in _COURTESIES))
"""May stand beside any form."""
_LONGEST: Final = max(len(phrase) for phrases in _PHRASES.values() for phrase in phrases)
_TOKENS: Final = frozenset(token for phrases in _PHRASES.values() for phrase in phrases for token in phrase)
_BY_SKELETON: Final = {_ANY_RUN.sub(r"\1", token): token for token in sorted(_TOKENS, reverse=True)}


def _spelling(token: str, vocabulary: Vocabulary | None) -> str:
    """The token as the tables spell it: "hiiii" is "hi", "thnaks" is "thanks"."""
    if token in _TOKENS:
        return token
    if _LONG_RUN.search(token) and (meant := _BY_SKELETON.get(_ANY_RUN.sub(r"\1", token))):
        return meant
    # measured: tests/unit/test_edges_followup.py
    if len(token) < 4 or token in REAL_WORDS or (vocabulary and vocabulary.frequencies.get(token)):
        return token
    # measured: tests/unit/test_edges_followup.py
    return next((word for word in sorted(TYPO_PRONE) if len(word) >= 5 and _one_slip(token, word)), token)


def _one_slip(typed: str, meant: str) -> bool:
    """Whether one letter is wrong, missing, too much, or two neighbours are swapped; the first letter is right."""
    if typed[0] != meant[0] or abs(len(typed) - len(meant)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(typed, meant, strict=False)) if a != b), min(len(typed), len(meant)))
    a, b = typed[start:], meant[start:]
    # measured: tests/unit/test_edges_followup.py
    wrong = a[1:] == b[1:] and len(meant) > 5  # "dance" is not "danke"
    return a[1:] == b or a == b[1:] or wrong or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _is_subject(text: str, vocabulary: Vocabulary | None) -> bool:
    """Whether the collection is about what the message talks of: in a weather service's files weather is a subject."""
    return any(frequent(word, vocabulary) for word in _subjects(text.split()))


def _subjects(tokens: Iterable[str]) -> list[str]:
    # measured: tests/unit/test_edges_followup.py
    return [token for token in tokens if len(token) > 3 and token not in ALL_IDLE_WORDS and token not in _TOKENS]


SUBJECT_SHARE: Final = 0.05  # measured: tests/unit/test_edges_followup.py
"""Share of a collection's passages from which on a word is one of its subjects."""


def frequent(word: str, vocabulary: Vocabulary | None) -> bool:
    """Whether a folded word is one of the subjects of the collection."""
    if vocabulary is None or not vocabulary.passages:
        return False
    return vocabulary.frequencies.get(word, 0) >= max(2, SUBJECT_SHARE * vocabulary.passages)
