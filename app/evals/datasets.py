"""Retrieval data sets on disk, as BEIR lays them out: `corpus.jsonl` {_id, title, text}, `queries.jsonl` {_id, text}, and
judgements as tab-separated lines `query-id, corpus-id, score` under a header (`qrels.tsv` or `qrels/test.tsv`).

Splits: `qrels/dev.tsv` and `qrels_dev.tsv` are the split `dev`; its queries may have a file of their own,
`queries_dev.jsonl`. Everything is checked before anything is indexed; an error names file and line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.domain.document import Source
from app.errors import InputError
from app.language.text import normalise

SPLITS = ("test", "dev", "validation", "train")
"""Where several are there and none is asked for, the first of these."""
MAX_ID = 512
"""Characters; a document's external id has at most as many."""

Judgements = Mapping[str, int]
"""External id of a document to its grade; above 0 is relevant."""


@dataclass(frozen=True)
class RetrievalSet:
    """A data set whose files were checked. `queries` holds the judged queries in the order of their file.

    `unjudged` counts the queries without judgements, which are left aside; `absent` the judged documents that the
    corpus does not hold, which nobody can find.
    """

    name: str
    folder: Path
    queries: Mapping[str, str]
    judgements: Mapping[str, Judgements]
    document_count: int
    unjudged: int
    absent: int

    @property
    def digest(self) -> str:
        """SHA-256 (hexadecimal) of queries and judgements."""
        canonical = json.dumps([dict(self.queries), self.judgements], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def documents(self) -> Iterator[Source]:
        """The corpus, read while it is asked for. A document without text is its title."""
        for _, record in _records(self.folder / "corpus.jsonl"):
            title, text = (normalise(str(record.get(key) or "")) for key in ("title", "text"))
            name = str(record["_id"])
            yield Source(name, name, (text or title).encode(), title=title or None, media_type="text/plain")

    def first(self, count: int | None) -> RetrievalSet:
        """The same set with its first `count` queries."""
        kept = dict(list(self.queries.items())[:count])
        judged = {query: self.judgements[query] for query in kept}
        return RetrievalSet(
            self.name, self.folder, kept, judged, self.document_count, self.unjudged + len(self.queries) - len(kept),
            self.absent,
        )  # fmt: skip


def load(folder: Path, split: str | None = None) -> RetrievalSet:
    """Read and check a folder. Raises InputError that names the file, and the line where there is one."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; a data set is a folder with corpus.jsonl, queries and qrels")
    qrels, found = _qrels_file(folder, split)
    corpus = _ids(_file(folder, "corpus.jsonl"))
    own = folder / f"queries_{found}.jsonl"
    queries_file = own if found and own.exists() else _file(folder, "queries.jsonl", own.name if found else None)
    queries = _queries(queries_file)
    judgements = _judgements(qrels, queries, queries_file)
    judged = {query: text for query, text in queries.items() if query in judgements}
    if not judged:
        raise InputError(f"{qrels}: no judgements below the header")
    named = {document for grades in judgements.values() for document in grades}
    name = folder.resolve().name
    return RetrievalSet(
        name=f"{name}/{split}" if split else name,
        folder=folder,
        queries=judged,
        judgements={query: judgements[query] for query in judged},
        document_count=len(corpus),
        unjudged=len(queries) - len(judged),
        absent=len(named - corpus),
    )


def _file(folder: Path, name: str, other: str | None = None) -> Path:
    if (path := folder / name).is_file():
        return path
    raise InputError(f"{folder} has no {name}{f' and no {other}' if other else ''}")


def _qrels_file(folder: Path, split: str | None) -> tuple[Path, str]:
    """The file of judgements and the name of its split, empty for `qrels.tsv`."""
    if split is None and (plain := folder / "qrels.tsv").is_file():
        return plain, ""
    for name in (split,) if split else SPLITS:
        for path in (folder / "qrels" / f"{name}.tsv", folder / f"qrels_{name}.tsv"):
            if path.is_file():
                return path, name
    there = sorted([*folder.glob("qrels*.tsv"), *folder.glob("qrels/*.tsv")])
    wanted = f"judgements of a split named {split}" if split else "judgements (qrels.tsv or qrels/test.tsv)"
    listed = f"; there are: {', '.join(str(path.relative_to(folder)) for path in there)}" if there else ""
    raise InputError(f"{folder} has no {wanted}{listed}")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank. Raises InputError where they are not UTF-8."""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason})") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """JSON objects with a usable `_id`, which may be written as a number."""
    for number, line in _lines(path):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: not JSON ({error})") from None
        if not isinstance(record, dict):
            raise InputError(f"{path}, line {number}: not an object but {type(record).__name__}")
        key = record.get("_id")
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise InputError(f"{path}, line {number}: no _id")
        record["_id"] = _checked_id(str(key), path, number)
        yield number, record


def _checked_id(key: str, path: Path, number: int) -> str:
    if not 0 < len(key) <= MAX_ID or normalise(key) != key:
        raise InputError(f"{path}, line {number}: an id has 1 to {MAX_ID} characters and no control characters")
    return key


def _ids(path: Path) -> set[str]:
    seen: dict[str, int] = {}
    for number, record in _records(path):
        if (other := seen.setdefault(record["_id"], number)) != number:
            raise InputError(f"{path}, line {number}: the id {record['_id']!r} stands in line {other} already")
    if not seen:
        raise InputError(f"{path}: no documents")
    return set(seen)


def _queries(path: Path) -> dict[str, str]:
    queries: dict[str, str] = {}
    for number, record in _records(path):
        text = normalise(str(record.get("text") or "")).strip()
        if not text:
            raise InputError(f"{path}, line {number}: the query has no text")
        if record["_id"] in queries:
            raise InputError(f"{path}, line {number}: a second query with the id {record['_id']!r}")
        queries[record["_id"]] = text
    return queries


def _judgements(path: Path, queries: Mapping[str, str], queries_file: Path) -> dict[str, dict[str, int]]:
    """Query to its grades; the first line is a header where its last field is no number."""
    found: dict[str, dict[str, int]] = {}
    for position, (number, line) in enumerate(_lines(path)):
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 3:
            raise InputError(f"{path}, line {number}: {len(fields)} fields; wanted query-id, corpus-id, score")
        query, document, grade = fields
        if not grade.removeprefix("-").isdecimal():
            if position == 0:
                continue
            raise InputError(f"{path}, line {number}: the score {grade!r} is no whole number")
        if query not in queries:
            raise InputError(f"{path}, line {number}: no query {query!r} in {queries_file.name}")
        if found.setdefault(query, {}).setdefault(document, int(grade)) != int(grade):
            raise InputError(f"{path}, line {number}: {document!r} was given another grade for {query!r} above")
    return found
