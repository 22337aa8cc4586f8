"""What a message wants, in three layers: hard rules, exemplars (exemplars.py), a chat model.

A question that is kept from the documents is the worst error here, so every rule but garbage asks for the whole message
to be of its kind: "hi" is a greeting, "hi, what is the leave policy?" a question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, get_args

from cairn.domain.plan import Intent, IntentMatch, Vocabulary
from cairn.domain.question import Turn
from cairn.language.fence import quoted
from cairn.language.letters import looks_random
from cairn.language.lexicon import DEFAULT
from cairn.language.linear import bounded
from cairn.language.text import fold_line, folded_words, window
from cairn.language.tokens import WORD, says_nothing
from cairn.prompts import prompt
from cairn.providers.protocols import ChatModel, Message
from cairn.providers.reader import json_object, without_thought
from cairn.query import small_talk as known
from cairn.query.small_talk import whole_message
from cairn.settings import RoutingSettings

INTENTS: Final[tuple[Intent, ...]] = get_args(Intent)
MODEL_CONFIDENCE: Final = 0.70  # measured: tests/unit/test_edges_query.py
"""Of layer 2."""
REPLY_TOKENS: Final = 256  # bound: tests/unit/test_edges_query.py
"""Of the intent model; some models think first."""
MALFORMED: Final = "the intent model's reply was not an intent"
"""Begins the reason of a match that stands in for a reply that could not be read; belongs into `degraded`."""

ONLY_STOP_WORDS: Final = "only stop words, in a conversation"
"""Reason of a follow-up that may yet ask something else of what was spoken of: "how much is that?"."""

# --- layer 0 ----------------------------------------------------------------------------------------------------------

_SAME_CHARACTER: Final = 0.9  # measured: tests/unit/test_edges_query.py
"""Share of one character above which a message is garbage."""
_FEW_WORDS: Final = 5  # measured: tests/unit/test_edges_query.py
"""Longest message that the stop word rule looks at."""
_RANDOM, _RANDOM_UNSEEN, _RANDOM_NAME = 4.8, 4.6, 5.2  # measured: tests/unit/test_edges_query.py
"""Strangeness of random keys: of a word; of one that the collection does not hold; of one written like a name."""
_LANGUAGE_NAMES: Final = bounded(r"(?i)^(?:[cjf](?:\+\+|#)|[crd])[ ?!.]*$")
_IDEOGRAPH: Final = bounded(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ROMAN: Final = bounded(r"(?i)(?=[IVXLCDM])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ACRONYM: Final = 9  # measured: tests/unit/test_edges_query.py
"""Capitals shorter than this are an abbreviation."""
_CODE: Final = bounded(r"\d|[_./:@#+\\-]|[a-z][A-Z]")
_TWO_LETTER_WORDS: Final = folded_words(
    "mama papa anna otto noon deed coco dada toto bobo nana lola nono elle meme tete sees sese isis epee "
    "nennen tutu gaga reza ieee wwii nunn tata lili momo kiki titi jojo dodo hannah baba gigi lulu mimi"
)
"""Words of two letters in turn, which the collection need not hold."""


def hard_rules(
    message: str, *, has_history: bool, vocabulary: Vocabulary | None = None, language: str | None = None
) -> IntentMatch | None:
    """Layer 0: what needs no embedding to be known; None: go on. Pure, well under a millisecond.

    History is asked before anything is called meaningless. `vocabulary`: words that the collection holds are never
    garbage. `language`: of what was said, where the message does not tell its own; by default that of the collection.
    """
    language = language or (vocabulary.language if vocabulary else None) or DEFAULT
    text = window(message).strip()
    return (
        _empty(text, has_history, vocabulary)
        or _form(text, has_history, vocabulary, language)
        or _repeated(text, vocabulary)
        or _only_stop_words(text, has_history, language)
        or _nonsense(text, vocabulary)
    )


def _rule(intent: Intent, confidence: float, reason: str) -> IntentMatch:
    return IntentMatch(intent, confidence, 0, reason)


def _empty(text: str, has_history: bool, vocabulary: Vocabulary | None) -> IntentMatch | None:
    """Nothing, one character, or nothing that could be read as a word."""
    if not text:
        return _rule("garbage", 1.0, "empty")
    if (emoji := _emoji(text)) and (has_history or emoji != "acknowledgement"):
        return _rule("greeting" if emoji == "greeting" else "gratitude", 0.9, "emoji")
    letters = sum(map(str.isalpha, text))
    if not letters and (digits := re.findall(r"\d+", text)):
        if has_history:
            return _rule(
                "question", 0.6, "a number in a conversation: an answer, or the last question with another number"
            )
        if any(_known(number, vocabulary) for number in digits):
            return None
    if len(text) == 1 and not _IDEOGRAPH.match(text) and not (text.isupper() and _known(text, vocabulary)):
        return _rule("garbage", 1.0, "one character")
    if not letters:
        return _rule("garbage", 1.0, "no letters")
    if letters < 2 and len(text) > 2 and not re.search(r"\d", text) and not _IDEOGRAPH.search(text):
        return None if _LANGUAGE_NAMES.match(text) else _rule("garbage", 0.95, "fewer than two letters")
    return None


def _emoji(text: str) -> str | None:
    """What a message of one emoji, once or repeated, says; skin tones do not matter."""
    signs = {c for c in text if not c.isspace() and c != "\ufe0f" and not "\U0001f3fb" <= c <= "\U0001f3ff"}
    return known.EMOJI.get(signs.pop()) if len(signs) == 1 else None


def _repeated(text: str, vocabulary: Vocabulary | None) -> IntentMatch | None:
    """One character most of the time, or two in turn."""
    visible = [c for c in text.casefold() if not c.isspace()]
    # measured: tests/unit/test_edges_query.py
    if len(visible) < 3 or _known(text, vocabulary):
        return None
    most = max(map(visible.count, set(visible)))
    if most / len(visible) > _SAME_CHARACTER:
        return _rule("garbage", 1.0, "one character repeated")
    letters = "".join(c for c in visible if c.isalpha())
    written = _CODE.search(text) or _ROMAN.fullmatch(text) or (text.isupper() and len(text) < _ACRONYM)
    # measured: tests/unit/test_edges_query.py
    if len(letters) >= 4 and len(set(letters)) <= 2 and letters not in _TWO_LETTER_WORDS and not written:
        return _rule("garbage", 0.95, "two characters repeated")
    return None


def _form(text: str, has_history: bool, vocabulary: Vocabulary | None, language: str) -> IntentMatch | None:
    """Greetings, thanks, follow-ups and the like, as whole messages in four languages."""
    found = whole_message(text, vocabulary, language)
    if found is None:
        return None
    intent, phrase, exact = found
    if intent == "followup" and not has_history and says_nothing(fold_line(text)):
        return _rule("clarify_needed", 0.9, f"{phrase!r} without a conversation")
    if intent == "acknowledgement":
        if not has_history and any(_known(word, vocabulary) for word in phrase.split()):
            return None
        return _rule("gratitude", 0.8, f"acknowledgement {phrase!r}")
    if intent == "farewell":
        return _rule("gratitude", 0.9, f"farewell {phrase!r}")
    assert intent in INTENTS
    return _rule(intent, 0.95 if exact else 0.85, f"{intent} {phrase!r}")


def _only_stop_words(text: str, has_history: bool, language: str) -> IntentMatch | None:
    """Only "why?" and "what is it" continue a conversation; without one nobody can know what is meant."""
    spelled = WORD.findall(text)
    if (
        _LANGUAGE_NAMES.match(text)
        or len(spelled) > _FEW_WORDS
        or any(word[:1].isupper() for word in spelled[1:])
        or re.search(r"\d", text)
    ):
        return None
    if len(spelled) == 1 and len(spelled[0]) > 1 and spelled[0].isupper():
        return None  # IT, US, WHO
    if not spelled or not says_nothing(fold_line(text)):
        return None
    if any((fold_line(word),) in known.false_friends(text, language) for word in spelled):
        return None
    if has_history:
        return _rule("followup", 0.85, ONLY_STOP_WORDS)
    return _rule("clarify_needed", 0.95, "only stop words, without a conversation")


def _nonsense(text: str, vocabulary: Vocabulary | None) -> IntentMatch | None:
    """Keyboard play: every word of it, and none that the collection holds or that could be a name or an identifier."""
    spelled = WORD.findall(text)
    # measured: tests/unit/test_edges_query.py
    if not spelled or len(spelled) > 12 or any(_known(word, vocabulary) for word in spelled):
        return None
    if all(fold_line(word) in known.NONSENSE for word in spelled):
        return _rule("garbage", 0.9, "no words that mean something")
    if all(_is_random(word, vocabulary) for word in text.split()):
        return _rule("garbage", 0.95, "random letters")
    return None


def _is_random(token: str, vocabulary: Vocabulary | None) -> bool:
    word = token.strip("?!.,;:…'\"()[]-*<>")
    if not word or _CODE.search(word) or _ROMAN.fullmatch(word) or (word.isupper() and len(word) < _ACRONYM):
        return False
    limit = _RANDOM_UNSEEN if vocabulary and vocabulary.passages else _RANDOM
    return looks_random(fold_line(word), _RANDOM_NAME if word.istitle() else limit)


def _known(word: str, vocabulary: Vocabulary | None) -> bool:
    if vocabulary is None:
        return False
    frequencies = vocabulary.frequencies
    return bool(frequencies.get(word.casefold()) or frequencies.get(fold_line(word)))


# --- layer 2 ----------------------------------------------------------------------------------------------------------

_SHOWN_CHARS: Final = 600  # bound: tests/unit/test_edges_query.py
_SHORT_REPLY: Final = 80  # measured: tests/unit/test_edges_query.py
_WORDS = bounded(r"follow[-_ ]?up|off[-_ ]?topic|clarify[-_ ]?needed|[a-z_]+")


async def by_model(message: str, history: Sequence[Turn], chat: ChatModel, settings: RoutingSettings) -> IntentMatch:
    """Layer 2: what a chat model takes the message for, confidence .70.

    A reply that names no intent counts as `question` of no layer, with a reason that begins with MALFORMED. Raises
    ProviderError when the model cannot be asked.
    """
    shown = "\n".join(f"{turn.role}: {quoted(_cut(turn.content))}" for turn in history)
    filled = prompt("intent", history=shown or "(none)", message=quoted(_cut(message, 2000)))
    reply = await chat.complete(
        [Message("system", filled.system), Message("user", filled.user)],
        temperature=0.0,
        max_tokens=REPLY_TOKENS,
        timeout=settings.intent_seconds,
    )
    intent = read_intent(reply.text)
    if intent is None:
        return IntentMatch("question", 0.5, None, f"{MALFORMED}: {_cut(reply.text, 80)!r}")
    return IntentMatch(intent, MODEL_CONFIDENCE, 2, f"model {chat.name}")


def read_intent(reply: str) -> Intent | None:
    """The intent that a reply names: JSON {"intent": ...}, or a word on its own. None where it names none or several."""
    text = without_thought(reply)
    if value := json_object(text):
        return _named(str(value.get("intent", "")))
    if whole := _named(text):
        return whole
    if len(text) > _SHORT_REPLY:  # prose may mention any of them
        return None
    named = {intent for word in _WORDS.findall(text.lower()) if (intent := _named(word))}
    return named.pop() if len(named) == 1 else None


def _named(word: str) -> Intent | None:
    name = re.sub(r"[\s-]+", "_", word.strip(" \t\r\n\"'`*.,:;!").lower())
    name = {"follow_up": "followup", "offtopic": "off_topic", "clarification": "clarify_needed"}.get(name, name)
    return next((intent for intent in INTENTS if intent == name), None)


def _cut(text: str, length: int = _SHOWN_CHARS) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
