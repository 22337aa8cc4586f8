"""The reader that make install builds: that it is the one that was trained, and tells what answers from what only speaks of
it. What it holds: test_models_memory.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cairn.errors import ProviderError
from cairn.providers.answer_reader import NOT_READ, LocalReader, Stretch, find_answer_reader
from cairn.providers.answer_reader_graph import ADAPTER, reader_file, uneven_reader_file
from cairn.providers.e5_graph import read_adapter

LARGEST = 2_000_000
"""Bytes of the adapter: it lies in the repository."""
SAME = 0.5
"""Log odds by which int8 may differ from the exact model, on any processor: .2 in the mean, where outliers are scaled."""


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = find_answer_reader(tmp_path_factory.mktemp("home"))
    if found is None:
        pytest.skip("there is no reader: make install builds it")
    return found


@pytest.fixture
async def reader(file: Path) -> AsyncIterator[LocalReader]:
    made = LocalReader(file)
    yield made
    await made.close()


def test_the_adapter_is_small_and_whole() -> None:
    adapter = read_adapter(ADAPTER)
    assert ADAPTER.stat().st_size < LARGEST
    layers = {name.split(".")[0] for name in adapter if name.startswith("l")}
    assert len(layers) == 12
    for layer in layers:
        assert {name for name in adapter if name.startswith(f"{layer}.")} == {
            *(f"{layer}.{part}.{tensor}" for part in ("q", "k", "v", "ao", "fi", "fo") for tensor in ("lora_a", "lora_b", "b")),
            *(f"{layer}.{norm}.{tensor}" for norm in ("aln", "oln") for tensor in ("w", "b")),
        }  # fmt: skip


QUESTION = "How do I protect a directory with a password?"
ANSWER = Stretch(
    "Guide. Passwords", ("Run htpasswd -c .htpasswd alice in the directory to ask everybody for a password.",)
)
TALK = Stretch(
    "Guide. Passwords", ("This chapter is about directories that are protected with passwords, and why one does it.",)
)
OTHER = Stretch("Guide. History", ("The company was founded in 1961 by two brothers from Turin.",))


async def test_it_reads_as_it_was_trained(reader: LocalReader) -> None:
    """The figures of this adapter on a fixed input, by the exact model (fp32); another adapter has others. Without OUTLIERS the
    first is -1.08, or -1.88 where all three are one batch."""
    scores = [one.score for one in await reader.read(QUESTION, [ANSWER, TALK, OTHER])]
    assert scores == pytest.approx(EXPECTED, abs=SAME)


EXPECTED = [-0.10, -5.36, -6.84]
"""Log odds: the command is well ahead of what only speaks of it."""


ASKED = [
    ("In which year was the bridge built?", "The bridge was opened in 1894.", "The bridge leads over the river."),
    ("En quelle année le pont a-t-il été construit ?", "Le pont fut ouvert en 1894.", "Le pont traverse le fleuve."),
    ("In welchem Jahr wurde die Brücke gebaut?", "Die Brücke wurde 1894 eröffnet.", "Die Brücke führt über den Fluss."),
    ("¿En qué año se construyó el puente?", "El puente se abrió en 1894.", "El puente cruza el río y es muy largo."),
    ("In che anno fu costruito il ponte?", "Il ponte fu aperto nel 1894.", "Il ponte attraversa il fiume ed è molto lungo."),
]  # fmt: skip


@pytest.mark.parametrize(("question", "answer", "talk"), ASKED)
async def test_it_knows_what_answers_in_five_languages(
    reader: LocalReader, question: str, answer: str, talk: str
) -> None:
    right, wrong = await reader.read(question, [Stretch("", (answer,)), Stretch("", (talk,))])
    assert right.score > wrong.score
    (both,) = await reader.read(question, [Stretch("", (talk, answer))])
    assert both.units[1] > both.units[0]


async def test_units_that_are_cut_off_are_not_read(reader: LocalReader) -> None:
    (found,) = await reader.read("What is it?", [Stretch("", ("word " * 300, "It is a ship."))])
    assert found.units[1] == NOT_READ
    assert await reader.read("What is it?", []) == []


async def test_texts_of_any_kind_are_read(reader: LocalReader) -> None:
    odd = [Stretch("", ("",)), Stretch("\x00", ("\u202e\u200b",)), Stretch("a" * 9999, ("😀" * 500, ""))]
    assert len(await reader.read("?", odd)) == 3


async def test_answers_do_not_depend_on_what_is_read_beside(reader: LocalReader) -> None:
    (alone,) = await reader.read(QUESTION, [ANSWER])
    among = (await reader.read(QUESTION, [TALK, OTHER, ANSWER]))[2]
    assert alone == among


def test_without_the_model_there_is_no_reader(tmp_path: Path) -> None:
    assert find_answer_reader(tmp_path, {"CAIRN_MODEL_DIR": str(tmp_path)}) is None
    (tmp_path / "sentencepiece.model").write_bytes(b"")
    (tmp_path / reader_file()).write_bytes(b"no model")
    with pytest.raises(ProviderError, match="The reader failed"):
        asyncio.run(LocalReader(tmp_path / reader_file()).read("Who?", [ANSWER]))


def test_an_older_build_of_the_same_reader_is_read_until_there_is_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "multilingual-e5-small").mkdir()
    for name in ("model.int8.onnx", uneven_reader_file()):
        (tmp_path / "multilingual-e5-small" / name).touch()
    assert uneven_reader_file() != reader_file()
    for name in (uneven_reader_file(), reader_file()):
        (tmp_path / "multilingual-e5-small" / name).touch()
        found = find_answer_reader(tmp_path, {"CAIRN_MODEL_DIR": str(tmp_path)})
        assert found is not None
        assert found.name == name
