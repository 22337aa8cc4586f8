"""Words of a message as it spells them, and which of them say something. Pure; English, French, Spanish, German."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.language.tokens import ALL_STOP_WORDS, fold, folded_words

_TOKEN: Final = re.compile(r"[^\W_](?:[\w'’.:/@+#&-]*[\w+#])?", re.UNICODE)
_ELISION: Final = re.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)['’](?=\w)", re.IGNORECASE)
_INVERTED: Final = re.compile(r"^(\w+)-(?:t-)?(ils?|elles?|on|je|tu|vous|nous|moi|lui|leur)$", re.IGNORECASE)
_CLITIC: Final = re.compile(r"['’](?:s|re|ve|ll|d|m)$", re.IGNORECASE)

CHATTER: Final = folded_words("""
    please thanks okay ok so well now then know want need like say tell show give find let got get mean meant
    s'il svp merci alors donc veux voudrais dis dire donne donner montre montrer trouve savoir
    favor gracias pues entonces quiero quisiera dime decir dame muestra muéstrame saber
    bitte danke also dann denn mal eben sag sagen zeig zeige gib nenne nenn möchte will wissen eigentlich
    what's who's where's how's when's it's that's isn't don't doesn't didn't can't qu'est est-ce y-a-t-il a-t-il
""")
"""What people say around a question."""


@dataclass(frozen=True, slots=True)
class Word:
    """`text` stands at start..end of the message; `folded` is it without case, accents, elided article and clitic."""

    text: str
    folded: str
    start: int
    end: int

    @property
    def content(self) -> bool:
        """Whether it says something: neither a function word nor chatter. "IT" and "US" are names."""
        if self.text.isupper() and len(self.text) > 1:
            return True
        return self.folded not in ALL_STOP_WORDS and self.folded not in CHATTER

    @property
    def capital(self) -> bool:
        """Whether it is written as a name or a number."""
        return self.text[0].isupper() or self.text[0].isdigit()


def tokens(text: str) -> list[Word]:
    """Words and numbers in order; elided articles ("l'hôpital") and clitics ("Apple's") are not part of them."""
    return list(_tokens(text))


def _tokens(text: str) -> Iterator[Word]:
    for match in _TOKEN.finditer(text):
        raw, start = match.group(), match.start()
        if fold(raw) in CHATTER:
            yield Word(raw, fold(raw), start, match.end())
            continue
        if inverted := _INVERTED.match(raw):  # "est-elle"
            head, tail = inverted[1], inverted[2]
            yield Word(head, fold(head), start, start + len(head))
            yield Word(tail, fold(tail), match.end() - len(tail), match.end())
            continue
        elided = _ELISION.match(raw)
        if elided:
            yield Word(elided.group(), fold(elided.group()[:-1]), start, start + elided.end())
            raw, start = raw[elided.end() :], start + elided.end()
        raw = _CLITIC.sub("", raw).rstrip(".:/-")
        if raw:
            yield Word(raw, fold(raw), start, start + len(raw))


def content_words(text: str) -> list[str]:
    """Words that say something, as they are spelled, each once."""
    found: dict[str, str] = {}
    for word in tokens(text):
        if word.content:
            found.setdefault(word.folded, word.text)
    return list(found.values())
