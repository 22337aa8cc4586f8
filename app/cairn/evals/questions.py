"""A folder of files with questions about them: `questions.jsonl` in the folder, or in the one above it.

A line is {_id, question, answer, doc?, aliases?, answerable?}; `answer` is a text or a list of texts that are all wanted.
`doc` names the file that answers, with or without its suffix, or is a list of such names. Every other field can choose and
group questions. `template` makes the text that is asked of a line: {question}, {doc}, {file} and other fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cairn.errors import InputError
from cairn.evals.datasets import RetrievalSet, as_fields, read_records
from cairn.language.text import normalise

FILE: Final = "questions.jsonl"
PLAIN: Final = "{question}"
_OWN: Final = frozenset({"_id", "question", "answer", "doc", "aliases", "answerable"})


def questions_file(folder: Path) -> Path | None:
    """The file of questions of a folder, if it has one."""
    return next((path for path in (folder / FILE, folder.resolve().parent / FILE) if path.is_file()), None)


def load_questions(folder: Path, template: str = PLAIN) -> RetrievalSet:
    """Read and check a folder with its questions. Raises InputError that names the file, and the line where there is one."""
    path = questions_file(folder)
    assert path is not None
    files = {file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*")) if _is_document(file)}
    if not files:
        raise InputError(f"{folder}: no files beside {path.name}")
    by_stem = {name.rpartition(".")[0] or name: name for name in files}
    queries: dict[str, str] = {}
    judgements: dict[str, dict[str, int]] = {}
    fields: dict[str, dict[str, str]] = {}
    for number, record in read_records(path):
        key, names = str(record["_id"]), _names(record)
        if key in queries:
            raise InputError(f"{path}, line {number}: a second question with the id {key!r}")
        found = [name if name in files else by_stem.get(name, name) for name in names]
        queries[key] = _text(record, found, template, f"{path}, line {number}")
        judgements[key] = dict.fromkeys(found, 1)
        fields[key] = as_fields({name: value for name, value in record.items() if name not in _OWN})
    if not queries:
        raise InputError(f"{path}: no questions")
    named = {name for grades in judgements.values() for name in grades}
    where = folder.resolve()
    name = where.name if path.parent.resolve() == where else f"{where.parent.name}-{where.name}"
    return RetrievalSet(name, folder, queries, judgements, len(files), 0, len(named - files.keys()), fields, files)


def _is_document(file: Path) -> bool:
    return file.is_file() and not file.name.startswith(".") and file.name not in (FILE, "README.md")


def _names(record: Mapping[str, Any]) -> Sequence[str]:
    names = record.get("doc") or ()
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _text(record: Mapping[str, Any], found: Sequence[str], template: str, where: str) -> str:
    question = normalise(str(record.get("question") or "")).strip()
    if not question:
        raise InputError(f"{where}: no question")
    try:
        return template.format_map({**record, "question": question, "file": found[0] if found else ""})
    except (KeyError, IndexError, ValueError) as error:
        raise InputError(f"{where}: the template {template!r} cannot be filled in ({error!r})") from None
