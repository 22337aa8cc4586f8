"""How the entities of a passage are related: what stands between them in a sentence, and that they stand together. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from cairn.domain.graph import EntityMention, RelationMention
from cairn.graph.keys import key_of
from cairn.graph.kinds import PRONOUNS, RELATIONS
from cairn.language.linear import bounded
from cairn.language.names import ABBREVIATIONS
from cairn.language.text import fold

MOST_RELATIONS: Final = 60
"""Of one passage."""
_TOGETHER: Final = 8
"""Entities of one sentence that are paired; longer sentences are lists."""
_LONGEST_GAP: Final = 80
"""Code points between two names that a pattern may span."""
PATTERN_WEIGHT: Final = 1.0
SENTENCE_WEIGHT: Final = 0.6
TOPIC_WEIGHT: Final = 0.4
"""Evidence counts: what words say, what one sentence names, what a text about something names."""
_BREAK: Final = re.compile(r"(?<=[.!?])[\"”’»)\]]*\s+(?=[\"“„«(¿¡\[]?[A-ZÀ-ÖØ-Þ\d])|\n\s*\n")
_LAST_WORD: Final = bounded(r"([^\W_]+)\.$")


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a passage; abbreviations and initials end none."""
    at = start
    for match in _BREAK.finditer(text, start, end):
        word = _LAST_WORD.search(text, max(at, match.start() - 12), match.start())
        if word and (len(word[1]) == 1 or fold(word[1]) in ABBREVIATIONS):
            continue
        yield at, match.start()
        at = match.end()
    if at < end:
        yield at, end


def find_relations(
    text: str, start: int, end: int, mentions: Sequence[EntityMention], *, topic: str | None
) -> tuple[RelationMention, ...]:
    """Relations of a passage, the best evidence first, each pair and kind once.

    A sentence that begins with a pronoun speaks of `topic`, what the document is about.
    """
    found: dict[tuple[str, str, str], RelationMention] = {}
    inside = [mention for mention in mentions if mention.end > mention.start]
    for left, right in sentences(text, start, end):
        here = [mention for mention in inside if left <= mention.start and mention.end <= right]
        for relation in (*_find_stated(text, left, right, here, topic), *_pair_together(left, right, here)):
            found.setdefault(_identity(relation), relation)
    if topic:
        for mention in inside:
            if key_of(mention.name) != key_of(topic):
                about = RelationMention(topic, "co_occurs", mention.name, start, end, TOPIC_WEIGHT)
                found.setdefault(_identity(about), about)
    return tuple(sorted(found.values(), key=lambda relation: -relation.weight)[:MOST_RELATIONS])


def _identity(relation: RelationMention) -> tuple[str, str, str]:
    """Co-occurrence has no direction."""
    source, target = key_of(relation.source), key_of(relation.target)
    if relation.kind == "co_occurs" and source > target:
        source, target = target, source
    return source, relation.kind, target


def _find_stated(
    text: str, left: int, right: int, here: Sequence[EntityMention], topic: str | None
) -> Iterator[RelationMention]:
    """Relations that the words between two neighbours name, or between a pronoun and the first entity."""
    for source, target in pairwise(here):
        kind = _between(text[source.end : target.start])
        if kind == "in" and "place" not in (source.kind, target.kind):
            continue  # a comma joins places, and lists
        if kind and key_of(source.name) != key_of(target.name):
            yield RelationMention(source.name, kind, target.name, left, right, PATTERN_WEIGHT)
    if topic and here:
        opener, space, rest = text[left : here[0].start].partition(" ")
        kind = _between(space + rest) if fold(opener) in PRONOUNS else None
        if kind and key_of(topic) != key_of(here[0].name):
            yield RelationMention(topic, kind, here[0].name, left, right, PATTERN_WEIGHT)


_ASIDE: Final = bounded(r"\s*\([^()]*\)")


def _between(gap: str) -> str | None:
    """The relation that a text between two names states."""
    if not 1 < len(gap) <= _LONGEST_GAP:
        return None
    folded = fold(_ASIDE.sub("", gap.replace("’", "'"))).rstrip()
    for pattern, kind in RELATIONS:
        if match := pattern.fullmatch(folded) or pattern.fullmatch(folded + " "):
            filled = kind.format(**match.groupdict())
            return re.sub(r"\W+", "_", filled)
    return None


def _pair_together(left: int, right: int, here: Sequence[EntityMention]) -> Iterator[RelationMention]:
    distinct = {key_of(mention.name): mention.name for mention in here}
    spelled = [*distinct.values()][:_TOGETHER]
    for at, source in enumerate(spelled):
        for target in spelled[at + 1 :]:
            yield RelationMention(source, "co_occurs", target, left, right, SENTENCE_WEIGHT)
