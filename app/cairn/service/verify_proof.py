"""Checks the proof of an answer against the files that it was read from: python verify_proof.py proof.json FILES...

FILES are the documents as they were handed to Cairn, texts that `cairn prove --texts DIR` wrote, or folders of them. Needs Python
(3.9 or later) alone. Exit code: 0 the proof is true, as far as its notes say; 1 it is not, faults are named; 2 it cannot be read.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

FORMAT = "cairn-proof/1"
LAYOUT = dict.fromkeys(map(ord, "\u200b\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))
LAYOUT |= dict.fromkeys(map(ord, "\u00a0\u2007\u202f"), " ")
SOFT_HYPHEN = re.compile("\u00ad(?:[ \\t]*\\n[ \\t]*(?=[^\\W\\d_]))?")
BETWEEN = re.compile(r'(?m)^ *\d+[.)] |[^\S\n]+|[|,;"\\]+|-{3,}')  # words, cells; items are counted anew
canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode
MARKUP = re.compile(rb"([-!?=])\1\1|\+\+|[<{&|]|[!@]\[|\[ *]|[*-.] #|[mx]port |\)=|SPD|:[:a-z][a-z:]|_mark:|\n:|tab=")


def sha256(data: bytes | str) -> str:
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")).hexdigest()


def readings(content: bytes) -> list[str]:
    """What a file says as plain text: as it stands, with LF line ends, and without characters of the layout."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return []
    plain = re.sub(r"\r\n|[\r\u2028\u2029\f]", "\n", text.removeprefix("\ufeff").replace("\x00", "\ufffd"))
    return [text, plain, SOFT_HYPHEN.sub("", plain).translate(LAYOUT)]


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return dict(pairs)


def named(checks: Any) -> list[str]:  # pairs of whether something is wrong, and its name
    return [name for wrong, name in checks if wrong]


def check_seal(proof: dict[str, Any]) -> list[str]:
    sections = {name: section for name, section in proof.items() if name != "digest"}
    made = {name: sha256(canonical(section)) for name, section in [*sections.items(), ("digest", sections)]}
    told = {**proof["digest"]["sections"], "digest": proof["digest"]["whole"]}
    return [f"{one}: changed since it was sealed" for one in sorted(made | told) if made.get(one) != told.get(one)]


def check_inside(proof: dict[str, Any]) -> list[str]:
    """Whether what the proof says agrees with itself."""
    documents = {(one["id"], one["version"]): one for one in proof["documents"]}
    passages = {one["id"]: one for one in proof["passages"]}
    rows, answer = {one["n"]: one for one in proof["rows"]}, proof["answer"]["text"]
    named_by = [one for one in proof["citations"] if one["url"] is None]
    known = {(one["document_id"], one["version"]) for one in named_by} | {one["passage_id"] for one in named_by}
    faults = named([
        (proof["format"] != FORMAT, f"format: {proof['format']!r} is not {FORMAT}"),
        (len({one["n"] for one in proof["citations"]}) < len(proof["citations"]), "citations: two have the same number"),
        *((one["cited"] and key not in known, f"{one['id']}: has no citation") for key, one in {**documents, **passages}.items()),
    ])  # fmt: skip
    for one in (one for one in passages.values() if one["missing"] is None):
        document = documents.get((one["document_id"], one["version"]))
        name, start, end, text = f"passage {one['id']}", one["start"], one["end"], one["text"]
        last = end if document is None or document["text_length"] is None else document["text_length"]
        faults += named([
            (document is None, f"{name}: document {one['document_id']}, version {one['version']}, is not in the proof"),
            (text is not None and sha256(text) != one["sha256"], f"{name}: its text is not what was read (sha256)"),
            (text is not None and len(text) != end - start, f"{name}: the span {start}..{end} is not as long as its text"),
            (not 0 <= start < end <= last, f"{name}: the span {start}..{end} is not in the text of the document"),
        ])  # fmt: skip
    for one in proof["citations"]:
        name, quote, place = f"citation {one['n']}", one["quote"], one["in_answer"]
        faults += named([
            (place is not None and answer[slice(*place)] != quote, f"{name}: the answer does not have the quoted words there"),
            (quote and place is None and quote in answer, f"{name}: the answer has the quoted words, and where is not said"),
            (quote is not None and sha256(quote) != one["sha256"], f"{name}: the quoted words are not what was read (sha256)"),
            (quote is not None and one["url"] is not None, f"{name}: it quotes a page of the web, of which no words are kept"),
            (not 0 <= one["start"] < one["end"], f"{name}: the span {one['start']}..{one['end']} has no words"),
        ])  # fmt: skip
        if one["url"] is None:
            passage, row = passages.get(one["passage_id"]), rows.pop(one["n"], {"chunks": []})
            faults += check_citation(name, one, documents.get((one["document_id"], one["version"])), passage, row)
    return faults + [f"rows: no citation of a document is number {n}" for n in rows]


def check_citation(name: str, one: dict[str, Any], document: Any, passage: Any, row: dict[str, Any]) -> list[str]:
    start, end, quote, same = one["start"], one["end"], one["quote"], ("passage_id", "document_id", "version")
    faults = named([
        (not document or not document["cited"], f"{name}: document and version are not among the cited ones"),
        (document and (quote is None) is not bool(document["text_missing"]), f"{name}: words, or a text of it, are missing"),
        (not passage or not passage["cited"], f"{name}: passage {one['passage_id']} is not among the cited ones"),
        (any(row.get(key) != one[key] for key in same), f"{name}: its rows lead to another passage, document or version"),
        (any(end <= part["start"] or part["end"] <= start for part in row["chunks"]), f"{name}: a chunk lies elsewhere"),
        (quote is not None and len(quote) != end - start, f"{name}: the span {start}..{end} is not as long as the quoted words"),
    ])  # fmt: skip
    if not passage or passage["missing"] or quote is None:
        return faults
    first, at, last = passage["start"], max(start, passage["start"]), min(end, passage["end"])
    return faults + named([
        (any(passage[key] != one[key] for key in same[1:]), f"{name}: its passage is of another document or version"),
        (at >= last or quote[at - start : last - start] != passage["text"][at - first : last - first],
         f"{name}: the passage does not have the quoted words at {start}..{end}"),
    ])  # fmt: skip


def check_files(proof: dict[str, Any], files: dict[str, bytes]) -> tuple[list[str], list[str]]:
    """Faults, and notes of what was checked with less than all, or not at all."""
    faults, notes, used, claimed = list[str](), list[str](), set[str](), set[str]()
    hashes = {name: sha256(content) for name, content in files.items()}
    texts = [(name, text, sha256(text)) for name, content in files.items() for text in readings(content)]
    for one in (one for one in proof["citations"] if one["quote"] is None):
        where = [known for known, text, _ in texts if sha256(text[one["start"] : one["end"]]) == one["sha256"]]
        used.update(where)
        found = f"stand so in {where[0]}" if where else "were NOT CHECKED: no file that is given has them there"
        notes.append(f"citation {one['n']}: the words at {one['start']}..{one['end']} {found}")
    for document in proof["documents"]:
        name, version = document["external_id"] or document["id"], (document["id"], document["version"])
        cited = [one for one in proof["citations"] if (one["document_id"], one["version"]) == version]
        spans = [(f"citation {one['n']}", one) for one in cited]
        spans += [(f"passage {one['id']}", one) for one in proof["passages"] if one.get("document_id") == version[0]]
        file = [known for known, digest in hashes.items() if digest == document["file_sha256"]]
        same = {known: text for known, text, digest in texts if digest == document["text_sha256"]}
        (source, text), first = min(same.items(), default=("", "")), min(file, default="")
        plain, kind, gone = document["reading"] == "plain", document["media_type"], document["text_missing"]
        called = any(is_called(known, name) for known in same)
        other, nothing = same and not file and document["file_sha256"], not file and not same and not gone
        faults += named([
            (file and plain and not same.keys() & set(file), f"{name}: {first} is the file, and its text is another"),
            (other and called, f"{name}: what is given has its text, and is another file (sha256)"),
            (nothing and cited, f"{name}: no file that is given is the one that was read"),
            (same and len(text) != document["text_length"], f"{name}: its text is not as long as is said"),
            *((same and sha256(text[one["start"] : one["end"]]) != one["sha256"], f"{what}: {source} has other words there")
              for what, one in spans),
        ])  # fmt: skip
        notes += named([
            (gone, f"{name}: {gone}"),
            (nothing and not cited, f"{name}: no file that is given is the one that was read"),
            (other and cited and not called, f"{name}: its text was given, not its file"),
            (file and cited and not plain, f"{name}: {first} is the file; what it says is taken on trust ({kind})"),
            *((one["in_answer"] is None, f"citation {one['n']}: the answer has other words for it, NOT PROVED") for one in cited),
        ])  # fmt: skip
        if file and cited and not plain:  # what has markup may have been written anew
            as_it_is = kind == "text/plain" or (kind == "text/markdown" and not MARKUP.search(files[first]))
            (faults if as_it_is else notes).extend(find_unlike(cited, first, files[first]))
        used.update(file, same)
        ending, lost = f".{document['id'][-12:]}.v{document['version']}.txt", cited and not file and not called
        claimed |= {one for one in files if not gone and (one.endswith(ending) or (lost and is_called(one, name)))}
    faults += [f"{one}: is nothing that was read under this name" for one in sorted(claimed - used)]
    return faults, notes + [f"{one}: is nothing that was read" for one in sorted(files.keys() - used - claimed)]


def find_unlike(cited: list[Any], source: str, content: bytes) -> list[str]:  # of whose words it has a line nowhere
    said = [] if b"\0" in content else [BETWEEN.sub("", text) for text in readings(content)]
    lines = {f"citation {one['n']}": BETWEEN.sub("", str(one["quote"])).split("\n") for one in cited if said}
    missing = [name for name, words in lines.items() if not any(all(one in text for one in words) for text in said)]
    return [f"{name}: LOOK, {source} does not have the quoted words" for name in missing]


def is_called(file: str, name: str) -> bool:  # as a document, with as many folders as both tell
    own, said = Path(file).parts, Path(name).parts
    return bool(said) and own[-len(said) :] == said[-len(own) :]


def verify(data: bytes, files: dict[str, bytes]) -> tuple[list[str], list[str]]:
    """Faults, none of a true proof, and notes. Raises ValueError for what is no proof."""
    try:
        proof = json.loads(data.decode("utf-8"), object_pairs_hook=once)
        faults, notes = check_files(proof, files)
        return [*check_seal(proof), *check_inside(proof), *faults], notes
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError) as error:
        raise ValueError(f"it is not of the format {FORMAT} ({error!r})") from error


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    try:
        proof, *given = map(Path, arguments)
        files = [[*filter(Path.is_file, one.rglob("*"))] if one.is_dir() else [one] for one in given]
        faults, notes = verify(proof.read_bytes(), {str(one): one.read_bytes() for inside in files for one in inside})
    except (OSError, ValueError) as error:
        print(f"cannot be checked: {error}")
        return 2
    for line in [*(f"FAULT  {one}" for one in faults), *(f"note   {one}" for one in notes)]:
        print("".join(char if char.isprintable() else ascii(char)[1:-1] for char in line))
    print("The proof is NOT TRUE." if faults else f"The proof is true{', as far as the notes say' if notes else ''}.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # names may have what it cannot show
    sys.exit(main(sys.argv[1:]))
