"""How Cairn says that the documents do not answer, and how it recognises a model that says so."""

from __future__ import annotations

import re
from typing import Final

from app.language.identify import language_of
from app.language.lexicon import REFUSALS
from app.language.text import fold

_OTHER_WORDINGS: Final = ("Insufficient documentation", "The provided documents do not")
_NOTHING_THERE: Final = re.compile(
    # "The sources do not contain information about ...", "I could not find ...", in the four languages, folded
    r"(?:(?:i'm |i am )?sorry,? (?:but )?)?(?:"
    r"(?:the |these |none of the )?(?:provided |given |available )?(?:sources?|documents?|context|passages?|texts?)"
    r"(?: provided| given)? (?:do(?:es)? not|don't|doesn't) (?:contain|mention|provide|include|state|say|answer|cover)"
    r"|i (?:do not|don't|cannot|can't|could not|couldn't) (?:know|answer|find|determine)"
    r"|(?:there is|i have) (?:no|not enough|insufficient) (?:information|data|evidence)"
    r"|je ne (?:sais|peux|trouve) pas|(?:les|ces|aucun des) (?:sources|documents)(?: fournis)? ne (?:contien|mention|dis|permet)"
    r"|no (?:lo se|puedo|encuentro|se menciona|hay (?:suficiente )?informacion)"
    r"|(?:las|los) (?:fuentes|documentos)(?: proporcionad[oa]s)? no (?:contien|mencion|dic|ofrec)"
    r"|(?:das|dies) weiss ich .{0,40}nicht|ich (?:weiss|kann|finde) .{0,60}(?:nicht|keine)"
    r"|(?:die|den) (?:quellen|dokumente[n]?|vorliegenden dokumente[n]?)\b.{0,60}\b(?:nicht|keine)"
    r")"
)
LONGEST_REFUSAL: Final = 320
"""Characters; in a longer text such a beginning is an introduction to what the sources do say."""


def refusal(question: str) -> str:
    """The sentence in the question's language."""
    return REFUSALS[language_of(question)]


def is_refusal(text: str, *, cited: bool = False) -> bool:
    """Whether a model's whole answer says that it does not know.

    It does where it begins with one of our own sentences, or is short and begins like other ways to say so; but an
    answer that is `cited` says something, unless it is one of our sentences and nothing else.
    """
    said = _plain(text)
    ours = [_plain(known) for known in (*REFUSALS.values(), *_OTHER_WORDINGS)]
    if cited:
        return any(_MARKS.sub("", said).strip(" .") == known for known in ours)
    if any(said.startswith(known) for known in ours):
        return True
    return len(said) <= LONGEST_REFUSAL and _NOTHING_THERE.match(said) is not None


_MARKS: Final = re.compile(r"\s*\[\d+\]")


def _plain(text: str) -> str:
    return " ".join(fold(text.replace("’", "'")).strip("*_\"' \n").rstrip(".").split())
