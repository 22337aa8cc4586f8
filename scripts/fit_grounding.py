"""Fit the constants of app/cairn/answer/ground/score.py, and say how good they are where they were not fitted.

    python scripts/fit_grounding.py wice/dev.jsonl begin/wow_dev.jsonl begin/cmu_dev.jsonl begin/tc_dev.jsonl
    python scripts/fit_grounding.py --foreign xquad_en xquad_es xquad_de

Ridge-regularised logistic regression by Newton's method; sets weigh the same, and so do both classes within each. Figures
are means over repeated ten-fold cross-validation; "others" is a set judged by what was fitted to the other sets.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cairn.answer.ground.evidence import gather_evidence, read_sources
from cairn.answer.ground.score import (
    CONTRADICTED,
    STRANGE,
    combined,
    features,
)
from cairn.evals.groundedness import auc, load, overlap
from cairn.language.sentences import split_sentences
from cairn.providers.minilm import MiniLM
from cairn.settings import read_environment

FOLDS, REPEATS, RIDGE = 10, 4, 1.0
SHARES = 2
"""The first so many features are shares, of which an answer has the mean; of the others it has the largest."""


def logistic(rows, labels, weights, ridge=RIDGE):
    """(intercept, coefficients), ridge on standardised features."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-9
    table = np.c_[np.ones(len(rows)), (rows - mean) / spread]
    penalty, beta = np.eye(table.shape[1]) * ridge, np.zeros(table.shape[1])
    penalty[0, 0] = 1e-6
    for _ in range(60):
        p = 1 / (1 + np.exp(-table @ beta))
        step = np.linalg.solve(
            (table * (weights * p * (1 - p))[:, None]).T @ table + penalty,
            table.T @ (weights * (labels - p)) - penalty @ beta,
        )
        beta += step
    coefficients = beta[1:] / spread
    return beta[0] - coefficients @ mean, coefficients


def read(path: Path):
    """(labels, answers), an answer being its sentences' (features, highest logit), and the plain overlap."""
    (data,) = load(path)
    answers, plain = [], []
    for item in data.items:
        sources = read_sources(item.contexts)
        found = [gather_evidence(item.response[a:b], sources) for a, b in split_sentences(item.response)]
        found = [one for one in found if one.words] or found
        answers.append([(np.array(features(one)), _highest(one)) for one in found])
        plain.append(overlap(item.response, item.contexts))
    return data.name, np.array([item.grounded for item in data.items]), answers, plain


def _highest(one) -> float:
    if one.numbers or one.turned or one.commands:
        return CONTRADICTED
    return STRANGE if one.names else np.inf


def row(answer):
    table = np.array([one for one, _ in answer])
    return np.r_[table[:, :SHARES].mean(0), table[:, SHARES:].max(0)]


def fitted(sets, masks):
    rows, labels, weights = [], [], []
    for (_, truth, answers, _), mask in zip(sets, masks, strict=True):
        y = truth[mask]
        rows += [row(answer) for answer, used in zip(answers, mask, strict=True) if used]
        labels.append(y)
        weights.append(np.where(y, 1 / max(1, y.sum()), 1 / max(1, (~y).sum())) * 200)
    return logistic(np.vstack(rows), np.concatenate(labels), np.concatenate(weights))


def judged(answer, intercept, coefficients):
    return combined([min(intercept + one @ coefficients, highest) for one, highest in answer])


def monolingual(paths: Sequence[Path]) -> None:
    sets = [read(path) for path in paths]
    everything = [np.ones(len(y), bool) for _, y, _, _ in sets]
    areas = {name: [] for name, *_ in sets}
    for seed in range(REPEATS):
        drawn = np.random.default_rng(seed)
        folds = [drawn.integers(0, FOLDS, len(y)) for _, y, _, _ in sets]
        scores = [np.zeros(len(y)) for _, y, _, _ in sets]
        for fold in range(FOLDS):
            model = fitted(sets, [f != fold for f in folds])
            for (_, _, answers, _), mine, f in zip(sets, scores, folds, strict=True):
                for i in np.flatnonzero(f == fold):
                    mine[i] = judged(answers[i], *model)
        for (name, y, _, _), mine in zip(sets, scores, strict=True):
            areas[name].append(auc(y.tolist(), mine.tolist()))
    for k, (name, y, answers, plain) in enumerate(sets):
        masks = [np.zeros(len(one), bool) if i == k else one for i, one in enumerate(everything)]
        others = fitted(sets, masks) if len(sets) > 1 else fitted(sets, everything)
        apart = auc(y.tolist(), [judged(answer, *others) for answer in answers])
        before, cross = auc(y.tolist(), plain), np.mean(areas[name])
        print(f"{name:16} {len(y):5} overlap {before:.3f}  cross-validated {cross:.3f}  others {apart:.3f}")
    intercept, coefficients = fitted(sets, everything)
    print(f"intercept {intercept:.2f}, coefficients {', '.join(f'{c:.2f}' for c in coefficients)}")


async def foreign(folders: Sequence[Path], each: int = 120) -> None:
    """Sentences against their own paragraph in another language, and against the one after it."""
    texts = [
        {r["_id"]: r["text"] for r in map(json.loads, (f / "corpus.jsonl").open(encoding="utf-8"))} for f in folders
    ]
    ids, drawn = sorted(set.intersection(*map(set, texts))), random.Random(1)
    model, rows, labels = MiniLM.open(read_environment().home), [], []
    for a, b in ((x, y) for x in range(len(texts)) for y in range(len(texts)) if x != y):
        for place, key in enumerate(ids[:each]):
            start, end = drawn.choice(split_sentences(texts[a][key]))
            said = texts[a][key][start:end]
            for other, label in ((key, 1.0), (ids[(place + 1) % len(ids)], 0.0)):
                sources = read_sources([texts[b][other]])
                found = gather_evidence(said, sources)
                vectors = await model.embed([said, *(s.text for s in sources.sentences)])
                rows.append([float((vectors[1:] @ vectors[0]).max()), found.near, float(bool(found.numbers))])
                labels.append(label)
    await model.close()
    table, truth = np.array(rows), np.array(labels)
    intercept, coefficients = logistic(table, truth, np.ones(len(truth)))
    print(
        f"pairs {len(truth)}, AUC {auc((truth > 0).tolist(), (table @ coefficients).tolist()):.3f}, cosine alone "
        f"{auc((truth > 0).tolist(), table[:, 0].tolist()):.3f}"
    )
    print(f"intercept {intercept:.2f}; cosine, near, numbers {', '.join(f'{c:.2f}' for c in coefficients)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--foreign", action="store_true")
    options = parser.parse_args()
    if options.foreign:
        asyncio.run(foreign(options.paths))
    else:
        monolingual(options.paths)
