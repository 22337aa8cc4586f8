"""A unigram vocabulary as a trie in a file that is read and not parsed. SentencePiece makes its trie anew of the model's file
each time it is opened, which takes as long as segmenting some hundred thousand characters here.

The file (little-endian) has nodes in the order of their distance from the root, which is node 0: u32 how many; of each, UTF-32,
the character that leads to it; i32 its first child, whose siblings follow it up to the first child of the next node, and one
more at the end; i32 the piece that ends there, or -1; f32 the log probability of that. Then f32 and i32: log probability and id
of a character that no piece has.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cairn.providers.onnx_model import Ids

FILE: Final = "pieces.trie"
UNKNOWN_PENALTY: Final = 10.0
"""How far a character that no piece has lies below the least probable piece: kUnkPenalty of SentencePiece."""
SPACE: Final = "\u2581"


class Unigram:
    """An opened vocabulary. Gives the ids of SentencePiece (`EncodeOptimized` in unigram_model.cc), down to the rounding."""

    def __init__(self, file: Path) -> None:
        """Raises OSError, and ValueError or struct.error for a file of another form."""
        raw = file.read_bytes()
        (nodes,) = struct.unpack_from("<I", raw)
        ends = [4 + 4 * nodes, 8 + 8 * nodes, 8 + 12 * nodes, 8 + 16 * nodes]
        self._characters = raw[4 : ends[0]].decode("utf-32-le")
        self._first = _numbers("i", raw[ends[0] : ends[1]])
        self._pieces = _numbers("i", raw[ends[1] : ends[2]])
        self._scores = _numbers("f", raw[ends[2] : ends[3]])
        self._unknown_score, self._unknown = struct.unpack_from("<fi", raw, ends[3])
        self._from_root: dict[str, int] = {}

    def ids(self, text: str) -> Ids:
        """Of a text in NFKC without control characters."""
        words = [word for word in text.split(" ") if word]
        return self._most_probable(SPACE + SPACE.join(words)) if words else []

    def _most_probable(self, text: str) -> Ids:
        """Viterbi. Sums are rounded to 32 bits before they are compared, as in SentencePiece: of two ways that are as probable
        this decides, in one line of 1,400."""
        find, first, pieces, scores = self._characters.find, self._first, self._pieces, self._scores
        size, rounded = len(text), array("f", [0])
        best, begun, ending = array("f", bytes(4 * size + 4)), [-1] * (size + 1), [0] * (size + 1)
        for start, character in enumerate(text):
            so_far, end, node = best[start], start, self._child_of_root(character)
            alone = node > 0 and pieces[node] >= 0
            while node > 0:
                end += 1
                if pieces[node] >= 0:
                    rounded[0] = so_far + scores[node]
                    if begun[end] < 0 or rounded[0] > best[end]:
                        best[end], begun[end], ending[end] = rounded[0], start, pieces[node]
                node = find(text[end], first[node], first[node + 1]) if end < size else -1
            if not alone:
                rounded[0] = so_far + self._unknown_score
                if begun[start + 1] < 0 or rounded[0] > best[start + 1]:
                    best[start + 1], begun[start + 1], ending[start + 1] = rounded[0], start, self._unknown
        found, end = list[int](), size
        while end > 0:
            if ending[end] != self._unknown or found[-1:] != [self._unknown]:  # a run of unknown characters is one
                found.append(ending[end])
            end = begun[end]
        return found[::-1]

    def _child_of_root(self, character: str) -> int:
        """It has thousands: kept, where others are looked through."""
        found = self._from_root.get(character)
        if found is None:
            found = self._from_root[character] = self._characters.find(character, 1, self._first[1])
        return found


def write_trie(file: Path, pieces: Mapping[str, tuple[int, float]], unknown: int) -> None:
    """The file of pieces with their ids and log probabilities. Children come in the order of the pieces, in which frequent ones
    are early."""
    root: dict[str, Any] = {}
    for piece, told in pieces.items():
        node = root
        for character in piece:
            node = node.setdefault(character, {})
        node[""] = told
    characters, first, ids, scores, nodes = ["\0"], array("i"), array("i"), array("f"), [root]
    for node in nodes:  # which become more meanwhile
        number, score = node.pop("", (-1, 0.0))
        ids.append(number)
        scores.append(score)
        first.append(len(nodes))
        characters += node
        nodes += node.values()
    first.append(len(nodes))
    least = min(score for _, score in pieces.values()) - UNKNOWN_PENALTY
    parts = [struct.pack("<I", len(nodes)), "".join(characters).encode("utf-32-le")]
    parts += [_bytes(first), _bytes(ids), _bytes(scores), struct.pack("<fi", least, unknown)]
    file.write_bytes(b"".join(parts))


def _numbers(kind: str, raw: bytes) -> array[Any]:
    found = array(kind, raw)
    if sys.byteorder == "big":
        found.byteswap()
    return found


def _bytes(numbers: array[Any]) -> bytes:
    return _numbers(numbers.typecode, numbers.tobytes()).tobytes()
