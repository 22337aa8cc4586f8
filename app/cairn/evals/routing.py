"""How messages are routed: labels against intents, types of question and levels; time by layer. No database needed."""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cairn.domain.plan import IntentMatch, Level, QueryType
from cairn.errors import InputError
from cairn.language.bridge import bridge
from cairn.language.identify import likely_language
from cairn.providers.protocols import Embedder
from cairn.query.classify import classify
from cairn.query.complexity import complexity
from cairn.query.entities import entities
from cairn.query.exemplars import RETRIEVED, Exemplars
from cairn.query.intent import hard_rules
from cairn.settings import RoutingSettings

MOST_LABELS: Final = 40
"""Sets with more labels are shown by `domain`, where their lines have one."""
_CORPORA: Final = ("corpus.jsonl", "answers.jsonl")


@dataclass(frozen=True, slots=True)
class LabelledMessage:
    """A message of a data set. `label` is the file's name where the line has none."""

    id: str
    text: str
    label: str
    language: str


@dataclass(frozen=True, slots=True)
class RoutedMessage:
    """What became of one message. `intent.layer` is None where no layer decided (a question)."""

    message: LabelledMessage
    intent: IntentMatch
    type: QueryType
    level: Level
    score: float
    timings_ms: Mapping[str, float]

    @property
    def retrieved(self) -> bool:
        """Whether documents are searched for it."""
        return self.intent.intent in RETRIEVED


@dataclass(frozen=True)
class RoutingReport:
    """A data set, routed. Rates are shares of the messages with a label."""

    name: str
    routed: tuple[RoutedMessage, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(sorted({one.message.label for one in self.routed}))

    def table(self, column: Callable[[RoutedMessage], str]) -> Mapping[str, Mapping[str, int]]:
        """Label to counts by `column`."""
        counts = {label: Counter[str]() for label in self.labels}
        for one in self.routed:
            counts[one.message.label][column(one)] += 1
        return counts

    def kept(self) -> tuple[RoutedMessage, ...]:
        """Messages that no documents are searched for."""
        return tuple(one for one in self.routed if not one.retrieved)

    def medians_ms(self) -> Mapping[str, float]:
        """Of each step over the messages that it saw; `total` over all of them."""
        steps = dict.fromkeys(step for one in self.routed for step in one.timings_ms)
        values = {step: [one.timings_ms[step] for one in self.routed if step in one.timings_ms] for step in steps}
        values["total"] = [sum(one.timings_ms.values()) for one in self.routed]
        return {step: round(statistics.median(found), 4) for step, found in values.items() if found}

    def as_json(self) -> dict[str, Any]:
        return {
            "data_set": self.name,
            "messages": len(self.routed),
            "intents": self.table(lambda one: one.intent.intent),
            "layers": self.table(lambda one: str(one.intent.layer)),
            "types": self.table(lambda one: one.type),
            "levels": self.table(lambda one: one.level),
            "kept_from_retrieval": {
                label: round(sum(one.message.label == label for one in self.kept()) / sum(row.values()), 5)
                for label, row in self.table(lambda one: one.intent.intent).items()
            },
            "medians_ms": self.medians_ms(),
            "kept": [
                {
                    "_id": one.message.id, "label": one.message.label, "text": one.message.text,
                    "intent": one.intent.intent, "layer": one.intent.layer, "reason": one.intent.reason,
                }
                for one in self.kept()
            ],
        }  # fmt: skip


# --- reading ----------------------------------------------------------------------------------------------------------


def load_messages(path: Path, limit: int | None = None) -> tuple[str, tuple[LabelledMessage, ...]]:
    """Name and messages of a `.jsonl` of {_id, text, label?, lang?}, or of all such files in a folder; `limit` takes
    that many of each label. Raises InputError that names file and line."""
    files = [path] if path.is_file() else sorted(f for f in path.glob("*.jsonl") if f.name not in _CORPORA)
    if not files:
        raise InputError(f"{path}: no .jsonl file of messages")
    records = [record for file in files for record in _records(file)]
    by_domain = len({record["label"] for record in records}) > MOST_LABELS and all("domain" in r for r in records)
    messages: list[LabelledMessage] = []
    seen: Counter[str] = Counter()
    for record in records:
        label = str(record["domain"] if by_domain else record["label"])
        seen[label] += 1
        if limit is None or seen[label] <= limit:
            text = record["text"]
            language = str(record.get("lang") or likely_language(text))
            messages.append(LabelledMessage(str(record["_id"]), text, label, language))
    return path.resolve().name, tuple(messages)


def _records(file: Path) -> list[dict[str, Any]]:
    found = []
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 ({error.reason})") from None
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file}, line {number}: not JSON ({error})") from None
        if not isinstance(record, dict) or not isinstance(record.get("text"), str) or "_id" not in record:
            raise InputError(f"{file}, line {number}: wanted an object with _id and text")
        found.append({**record, "label": record.get("label") or file.stem})
    return found


# --- routing ----------------------------------------------------------------------------------------------------------


async def route(
    name: str,
    messages: Sequence[LabelledMessage],
    embedder: Embedder,
    settings: RoutingSettings,
    step: Callable[[str], None] = lambda _: None,
) -> RoutingReport:
    """Route messages one by one, as they come without a conversation, a collection or a chat model."""
    exemplars = Exemplars(embedder)
    await exemplars.warm()
    routed = []
    for message in messages:
        routed.append(await _route(message, embedder, exemplars, settings))
        step(message.text)
    return RoutingReport(name, tuple(routed))


async def _route(
    message: LabelledMessage, embedder: Embedder, exemplars: Exemplars, settings: RoutingSettings
) -> RoutedMessage:
    timings: dict[str, float] = {}
    clock = _Clock(timings)
    intent = hard_rules(message.text, has_history=False)
    clock.stop("layer 0")
    if intent is None:
        vectors = await embedder.embed([message.text])
        clock.stop("embedding")
        intent = await exemplars.match(message.text, vectors[0], settings=settings)
        clock.stop("layer 1")
    intent = intent or IntentMatch("question", 0.5, None, "undecided")
    classification = classify(message.text, message.language)
    clock.stop("classification")
    named = entities(message.text, message.language, None)
    inner = bridge(message.text, message.language)
    level = complexity(message.text, classification, named, (), settings, inner=inner)
    clock.stop("complexity")
    return RoutedMessage(message, intent, classification.type, level.level, level.score, timings)


class _Clock:
    def __init__(self, timings: dict[str, float]) -> None:
        self._timings = timings
        self._from = time.perf_counter()

    def stop(self, step: str) -> None:
        now = time.perf_counter()
        self._timings[step] = (now - self._from) * 1000
        self._from = now
