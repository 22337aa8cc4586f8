"""Whole messages that want something else than documents, in four languages (intents.toml): key phrases, and what may
stand beside them.

A message has an intent when one of its key phrases is in it and every other word is a companion: "tell me more about
it" is a follow-up, "tell me more about the pension plan" is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.query.patterns.tables import table
from app.query.patterns.text import compiled, fold, words

Phrase = tuple[str, ...]


def tokens(text: str) -> list[str]:
    """Words without apostrophes, folded: "What's" is "whats"."""
    return [word.replace("'", "") for word in words(fold(text))]


def _phrases(name: str) -> frozenset[Phrase]:
    lines = (line for part in table("intents")["phrases"][name].split(";") for line in part.splitlines())
    return frozenset(tuple(tokens(line)) for line in lines if line.strip())


def _words(name: str) -> frozenset[str]:
    """As they are written, and as `tokens` sees them."""
    written = table("intents")["words"][name]
    return frozenset({*(fold(word).replace("'", "") for word in written.split()), *tokens(written)})


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
HOW_TO: Final = compiled(*table("intents")["patterns"]["how_to"], german=True)
"""Asks how something is done, or what somebody says: documents may know."""
_BEFORE: Final = (
    r"(?:hey |hi |hello |please |ok |so |salut |hola |hallo |bonjour |(?:can|could|would|will) you (?:please )?|"
    r"peux-tu |pouvez-vous |puedes |kannst du )*"
)
_AFTER: Final = r"(?: please| for me| then| s'il te plait| svp| por favor| bitte)*"
OFF_TOPIC: Final = compiled(
    *(f"^{_BEFORE}(?:{pattern}){_AFTER}$" for pattern in table("intents")["patterns"]["small_talk"]), german=True
)
"""Small talk and orders to a device, as whole messages without punctuation."""
