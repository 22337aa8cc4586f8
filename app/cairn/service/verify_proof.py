"""Checks the proof of an answer against the files that it was read from.

    python verify_proof.py proof.json FILES...

FILES are the documents as they were handed to Cairn, and texts that `cairn prove --texts DIR` wrote. Needs Python (3.9 or later)
and nothing else. Exit code: 0 the proof is true, as far as its notes say; 1 it is not, each fault is named; 2 it cannot be read.
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


def sha256(data: bytes | str) -> str:
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")).hexdigest()


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def readings(content: bytes) -> list[str]:
    """What a file says as plain text: as it stands, with LF line ends, and without characters of the layout."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return []
    plain = text.removeprefix("\ufeff").replace("\x00", "\ufffd")
    for end in ("\r\n", "\r", "\u2028", "\u2029", "\x0c"):
        plain = plain.replace(end, "\n")
    return [text, plain, SOFT_HYPHEN.sub("", plain).translate(LAYOUT)]


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return dict(pairs)


def named(checks: Any) -> list[str]:
    """Of pairs of whether something is wrong, and its name."""
    return [name for wrong, name in checks if wrong]


def check_seal(proof: dict[str, Any]) -> list[str]:
    sections = {name: section for name, section in proof.items() if name != "digest"}
    told, whole = proof["digest"]["sections"], proof["digest"]["whole"] != sha256(canonical(sections))
    return named(
        (name not in sections or told.get(name) != sha256(canonical(sections[name])), f"{name}: changed since it was sealed")
        for name in sorted(sections.keys() | told.keys())
    ) + named([(whole, "digest: that of the whole is not the digest of these sections")])  # fmt: skip


def check_inside(proof: dict[str, Any]) -> list[str]:
    """Whether what the proof says agrees with itself."""
    documents = {(one["id"], one["version"]): one for one in proof["documents"]}
    passages = {one["id"]: one for one in proof["passages"]}
    rows = {one["n"]: one for one in proof["rows"]}
    faults = named([
        (proof["format"] != FORMAT, f"format: {proof['format']!r} is not {FORMAT}"),
        (len({one["n"] for one in proof["citations"]}) < len(proof["citations"]), "citations: two have the same number"),
    ])  # fmt: skip
    for one in passages.values():
        if one["missing"] is None:
            faults += check_passage(f"passage {one['id']}", one, documents.get((one["document_id"], one["version"])))
    for one in proof["citations"]:
        name, quote, place = f"citation {one['n']}", one["quote"], one["in_answer"]
        shown = proof["answer"]["text"][slice(*place)] if place else quote
        faults += named([
            (shown != quote, f"{name}: the answer does not have the quoted words where the proof says"),
            (quote is not None and sha256(quote) != one["sha256"], f"{name}: the quoted words are not what was read (sha256)"),
        ])  # fmt: skip
        if one["url"] is None:
            passage, row = passages.get(one["passage_id"]), rows.pop(one["n"], {"chunks": []})
            faults += check_citation(name, one, documents.get((one["document_id"], one["version"])), passage, row)
    return faults + [f"rows: no citation of a document is number {n}" for n in rows]


def check_passage(name: str, one: dict[str, Any], document: dict[str, Any] | None) -> list[str]:
    start, end, text = one["start"], one["end"], one["text"]
    last = end if document is None or document["text_length"] is None else document["text_length"]
    return named([
        (document is None, f"{name}: document {one['document_id']}, version {one['version']}, is not in the proof"),
        (text is not None and sha256(text) != one["sha256"], f"{name}: its text is not what was read (sha256)"),
        (text is not None and len(text) != end - start, f"{name}: the span {start}..{end} is not as long as its text"),
        (not 0 <= start < end <= last, f"{name}: the span {start}..{end} is not in the text of the document"),
    ])  # fmt: skip


def check_citation(name: str, one: dict[str, Any], document: Any, passage: Any, row: dict[str, Any]) -> list[str]:
    start, end, quote, same = one["start"], one["end"], one["quote"], ("document_id", "version")
    faults = named([
        (not document or not document["cited"], f"{name}: document and version are not among the cited ones"),
        (document and document["text_missing"] and quote, f"{name}: it has words of a text that is missing"),
        (not passage or not passage["cited"], f"{name}: passage {one['passage_id']} is not among the cited ones"),
        (any(row.get(key) != one[key] for key in ("passage_id", *same)),
         f"{name}: its rows lead to another passage, document or version"),
        (any(end <= chunk["start"] or chunk["end"] <= start for chunk in row["chunks"]),
         f"{name}: a chunk of its rows does not have the quoted words"),
        (quote is not None and len(quote) != end - start, f"{name}: the span {start}..{end} is not as long as the quoted words"),
    ])  # fmt: skip
    if not passage or passage["missing"] or quote is None:
        return faults
    first, at, last = passage["start"], max(start, passage["start"]), min(end, passage["end"])
    return faults + named([
        (any(passage[key] != one[key] for key in same), f"{name}: its passage is of another document or version"),
        (at >= last or quote[at - start : last - start] != passage["text"][at - first : last - first],
         f"{name}: the passage does not have the quoted words at {start}..{end}"),
    ])  # fmt: skip


def check_files(proof: dict[str, Any], files: dict[str, bytes]) -> tuple[list[str], list[str]]:
    """Faults, and notes of what was checked with less than all, or not at all."""
    faults, notes, used = list[str](), list[str](), set[Any]()
    by_file = {sha256(content): name for name, content in files.items()}
    texts = [(name, text, sha256(text)) for name, content in files.items() for text in readings(content)]
    for document in proof["documents"]:
        name, file = document["external_id"] or document["id"], by_file.get(document["file_sha256"])
        same = [(known, text) for known, text, digest in texts if digest == document["text_sha256"]]
        version = (document["id"], document["version"])
        cited = [one for one in proof["citations"] if (one["document_id"], one["version"]) == version]
        used |= {file, *(known for known, _ in same)}
        if document["text_missing"]:
            notes.append(f"{name}: {document['text_missing']}")
            for one in cited:
                where = [known for known, text, _ in texts if sha256(text[one["start"] : one["end"]]) == one["sha256"]]
                used |= set(where)
                found = f"stand so in {where[0]}" if where else "were NOT CHECKED: no file that is given has them there"
                notes.append(f"citation {one['n']}: the words at {one['start']}..{one['end']} {found}")
        elif same:
            source, text = same[0]
            read = [one for one in proof["passages"] if (one.get("document_id"), one.get("version")) == version]
            places = [(f"citation {one['n']}: the quoted words do", one) for one in cited]
            places += [(f"passage {one['id']}: what was read does", one) for one in read]
            faults += named([(len(text) != document["text_length"], f"{name}: its text is not as long as is said")])
            for what, one in places:
                if sha256(text[one["start"] : one["end"]]) != one["sha256"]:
                    faults.append(f"{what} not stand where is said in {source}")
            if document["file_sha256"] and not file and any(Path(known).name == Path(name).name for known, _ in same):
                faults.append(f"{name}: what is given has its text, and is another file (sha256)")
            elif cited and document["file_sha256"] and (not file or document["reading"] != "plain"):
                notes.append(
                    f"{name}: its {'text is that of the file by trust' if file else 'text was given, not its file'}"
                )
        elif file and document["reading"] == "plain":
            faults.append(f"{name}: {file} is the file that was read, and its text is another")
        elif file and document["cited"]:
            notes.append(f"{name}: {file} is what was read; what it says is taken on trust (cairn prove --texts)")
        elif not file:
            (faults if document["cited"] else notes).append(f"{name}: no file that is given is the one that was read")
    for name in files.keys() - used:
        like = any(is_called(name, one) for one in proof["documents"] if not one["text_missing"])
        (faults if like else notes).append(f"{name}: is nothing that was read{' under this name' if like else ''}")
    return faults, notes


def is_called(file: str, document: dict[str, Any]) -> bool:
    """Whether a file is called as a document, or as its text."""
    text = f".{document['id'][-12:]}.v{document['version']}.txt"
    return Path(file).name == str(document["external_id"]).rsplit("/", 1)[-1] or file.endswith(text)


def verify(data: bytes, files: dict[str, bytes]) -> tuple[list[str], list[str]]:
    """Faults, none of a true proof, and notes. Raises ValueError for what is no proof."""
    proof = json.loads(data.decode("utf-8"), object_pairs_hook=once)
    try:
        faults, notes = check_files(proof, files)
        return [*check_seal(proof), *check_inside(proof), *faults], notes
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"it is not of the format {FORMAT} ({error!r})") from error


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    try:
        proof, *files = arguments
        faults, notes = verify(Path(proof).read_bytes(), {name: Path(name).read_bytes() for name in files})
    except (OSError, ValueError) as error:
        print(f"cannot be checked: {error}")
        return 2
    for line in [*(f"FAULT  {one}" for one in faults), *(f"note   {one}" for one in notes)]:
        print(line)
    print("The proof is NOT TRUE." if faults else f"The proof is true{', as far as the notes say' if notes else ''}.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
