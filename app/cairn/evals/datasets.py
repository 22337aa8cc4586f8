"""Retrieval data sets on disk, as BEIR lays them out: `corpus.jsonl` {_id, title, text}, `queries.jsonl` {_id, text}, and
judgements as tab-separated lines `query-id, corpus-id, score` under a header (`qrels.tsv` or `qrels/test.tsv`). A folder of
files with questions beside it is read by questions.py.

Splits: `qrels/dev.tsv` and `qrels_dev.tsv` are the split `dev`; its queries may have a file of their own,
`queries_dev.jsonl`. Everything is checked before anything is indexed; an error names file and line.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cairn.domain.document import Source
from cairn.errors import InputError
from cairn.language.text import normalise

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
    corpus does not hold, which nobody can find. `fields` has what else the file says of a query (type, language), as
    text. `files`: the documents by external id, where they are files and not lines of `corpus.jsonl`. `withheld`
    documents are not indexed, so that what they alone answer has no answer.
    """

    name: str
    folder: Path
    queries: Mapping[str, str]
    judgements: Mapping[str, Judgements]
    document_count: int
    unjudged: int
    absent: int
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
    withheld: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        """SHA-256 (hexadecimal) of queries and judgements."""
        canonical = json.dumps([dict(self.queries), self.judgements], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def documents(self) -> Iterator[Source]:
        """The corpus without what is withheld, read while it is asked for. A line without text is its title."""
        for name, path in self.files.items():
            if name not in self.withheld:
                yield Source(name, path.name, path.read_bytes())
        for name, record in self._lines():
            title, text = (normalise(str(record.get(key) or "")) for key in ("title", "text"))
            yield Source(name, name, (text or title).encode(), title=title or None, media_type="text/plain")

    def _lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        if not self.files:
            for _, record in read_records(self.folder / "corpus.jsonl"):
                if record["_id"] not in self.withheld:
                    yield str(record["_id"]), record

    def only(self, kept: Collection[str]) -> RetrievalSet:
        """The same set with these queries, in its own order."""
        queries = {query: text for query, text in self.queries.items() if query in kept}
        return replace(
            self,
            queries=queries,
            judgements={query: self.judgements[query] for query in queries},
            unjudged=self.unjudged + len(self.queries) - len(queries),
        )

    def first(self, count: int | None) -> RetrievalSet:
        """The same set with its first `count` queries."""
        return self.only(set(list(self.queries)[:count]))

    def where(self, conditions: Mapping[str, Collection[str]]) -> RetrievalSet:
        """With the queries whose fields each have one of the values. Raises InputError where none is left."""
        kept = {
            query for query in self.queries
            if all(self.fields.get(query, {}).get(name) in values for name, values in conditions.items())
        }  # fmt: skip
        if not kept:
            raise InputError(f"{self.folder}: no question with {', '.join(conditions)} as asked")
        return self.only(kept)

    def sample(self, count: int | None, seed: int) -> RetrievalSet:
        """With `count` queries drawn at random, the same ones each time."""
        if count is None or count >= len(self.queries):
            return self
        return self.only(set(random.Random(seed).sample(sorted(self.queries), count)))

    def without_support(self) -> RetrievalSet:
        """The same queries over a corpus that lacks every document that is relevant to one of them: none has an answer."""
        held = frozenset(
            document for grades in self.judgements.values() for document, grade in grades.items() if grade > 0
        )
        return replace(self, withheld=held, document_count=self.document_count - len(held) + self.absent)


def load(folder: Path, split: str | None = None) -> RetrievalSet:
    """Read and check a folder. Raises InputError that names the file, and the line where there is one."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; a data set is a folder with corpus.jsonl, queries and qrels")
    qrels, found = _qrels_file(folder, split)
    corpus = _ids(_file(folder, "corpus.jsonl"))
    own = folder / f"queries_{found}.jsonl"
    queries_file = own if found and own.exists() else _file(folder, "queries.jsonl", own.name if found else None)
    queries, fields = _queries(queries_file)
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
        fields=fields,
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


def read_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
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
    for number, record in read_records(path):
        if (other := seen.setdefault(record["_id"], number)) != number:
            raise InputError(f"{path}, line {number}: the id {record['_id']!r} stands in line {other} already")
    if not seen:
        raise InputError(f"{path}: no documents")
    return set(seen)


def _queries(path: Path) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Texts, and what the `metadata` says of them, by query id."""
    queries: dict[str, str] = {}
    fields: dict[str, dict[str, str]] = {}
    for number, record in read_records(path):
        text = normalise(str(record.get("text") or "")).strip()
        if not text:
            raise InputError(f"{path}, line {number}: the query has no text")
        if record["_id"] in queries:
            raise InputError(f"{path}, line {number}: a second query with the id {record['_id']!r}")
        queries[record["_id"]] = text
        fields[record["_id"]] = as_fields(record.get("metadata"))
    return queries, fields


def as_fields(metadata: Any) -> dict[str, str]:
    """Values by which questions are chosen and grouped, as text: true is `true`."""
    values = metadata.items() if isinstance(metadata, Mapping) else ()
    return {
        str(name): value if isinstance(value, str) else json.dumps(value)
        for name, value in values
        if isinstance(value, str | int | float | bool)
    }


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
