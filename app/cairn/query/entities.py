"""What a question names: people, places, products, identifiers, quoted terms. Pure; no model, no list of names."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from cairn.domain.plan import Vocabulary
from cairn.language.lexicon import every
from cairn.language.names import (
    COMMON_OPENERS,
    NameRules,
    NameToken,
    identifiers,
    loud,
    names,
    nouns_of,
    quoted,
    tokens_of,
    without_quoted,
)
from cairn.language.text import fold_line, window
from cairn.language.tokens import ALL_IDLE_WORDS

MOST: Final = 20  # bound: tests/unit/test_edges_query.py
"""Entities of one message; more would be a list."""
_RARE: Final = 0.01  # measured: tests/unit/test_edges_query.py
"""Share of passages up to which a lower-case word of the collection may be a name."""
_MIN_PASSAGES: Final = 20  # measured: tests/unit/test_edges_query.py
_QUESTION_WORDS: Final = every(lambda one: one.questions.words - one.questions.never)
_RULES: Final = NameRules(ALL_IDLE_WORDS, _QUESTION_WORDS, COMMON_OPENERS | every(lambda one: one.questions.yes_no))


def entities(text: str, language: str, vocabulary: Vocabulary | None) -> tuple[str, ...]:
    """Entities in the order of the text, each once, as they are spelled there.

    Capitals count beyond the beginning of a sentence, and not in a message without small letters. German nouns are
    capitalised all of them: there a name is what stands without determiner or adjective and does not look like a
    noun. `vocabulary` adds, where nothing else is named, up to two words that few passages of the collection hold.
    """
    text = window(text)
    found = [(start, name) for start, _, name in quoted(text)]
    bare = without_quoted(text)
    tokens = tokens_of(bare)
    found += [(start, name) for start, _, name in identifiers(tokens)]
    if not loud(bare):
        rules = replace(_RULES, nouns=nouns_of(language))
        found += [(start, name) for start, _, name in names(tokens, bare, rules)]
    if not found and vocabulary is not None:
        found += _rare_words(tokens, vocabulary)
    unique: dict[str, str] = {}
    for _, name in sorted(found):
        unique.setdefault(fold_line(name), name)
    return tuple(unique.values())[:MOST]


def _rare_words(tokens: list[NameToken], vocabulary: Vocabulary) -> list[tuple[int, str]]:
    """The rarest words that the collection holds, at most two."""
    if vocabulary.passages < _MIN_PASSAGES:
        return []
    most = max(1.0, _RARE * vocabulary.passages)
    counted = [
        (vocabulary.frequencies.get(token.word.casefold(), 0), token.start, token.word)
        for token in tokens
        # measured: tests/unit/test_edges_query.py
        if len(token.word) > 3 and token.folded not in ALL_IDLE_WORDS and not token.word.isdigit()
    ]
    return [(start, word) for count, start, word in sorted(counted)[:12] if 0 < count <= most][:2]
