"""Other phrasings by rules: little, so that it helps without hurting. Pure; a model does more (by_model.py)."""

from __future__ import annotations

from app.domain.identifiers import identifier_terms
from app.query.words import content_words


def expand(question: str) -> tuple[str, ...]:
    """The question's words that say something, without its scaffolding; and with identifiers in their parts.

    () where that is the question itself. For strategies that ask for it (A2.02); each is searched beside the question.
    """
    words = content_words(question[:2000])
    bare = " ".join(words)
    parts = [term for term in identifier_terms(question[:2000]).split() if term not in bare.casefold()]
    found = (bare, " ".join([*words, *parts]) if parts else "")
    return tuple(
        dict.fromkeys(text for text in found if text and text.casefold() != question.strip(" ?!.¿¡").casefold())
    )
