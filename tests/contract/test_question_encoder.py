"""The encoder of questions that make install builds: that it is the one that was trained, that texts are embedded as ever beside
it, and that a folder of an older release does without."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from cairn.providers.e5 import E5, find_e5
from cairn.providers.e5_graph import read_adapter
from cairn.providers.question_encoder import ADAPTER, question_encoder_file

LARGEST = 2_000_000
"""Bytes of the adapter: it lies in the repository."""
ASKED = [
    "how can i stop strangers from opening a folder on my web site",
    "Wie halte ich Fremde von einem Ordner meiner Seite fern?",
    "the program forgets my password every time",
]
TEXTS = [
    "Basic authentication asks for a user name and a password before a directory is served.",
    "Credentials are stored only when credential.helper is set.",
    "A man is eating food.",
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = find_e5(tmp_path_factory.mktemp("home"))
    if found is None or not (found / question_encoder_file("int8")).is_file():
        pytest.skip("there is no encoder of questions: make install builds it")
    return found


@pytest.fixture
async def model(folder: Path) -> AsyncIterator[E5]:
    made = E5(folder)
    yield made
    await made.close()


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
    likeness = await model.embed_questions(ASKED) @ (await model.embed(TEXTS)).T
    np.testing.assert_allclose(likeness, EXPECTED, atol=0.04)


EXPECTED = [[0.321, 0.226, 0.091], [0.241, 0.134, 0.054], [0.320, 0.227, 0.067]]


async def test_texts_are_embedded_as_without_it(model: E5, older: E5) -> None:
    """To the bit: what is stored was made without it."""
    np.testing.assert_array_equal(await model.embed(TEXTS), await older.embed(TEXTS))


async def test_questions_are_nearer_to_what_answers_them(model: E5, older: E5) -> None:
    texts = (await model.embed(TEXTS)).T
    lead = [(scores := await one.embed_questions(ASKED) @ texts)[:, 0] - scores[:, 2] for one in (model, older)]
    assert (lead[0] > lead[1] + 0.01)[:2].all()


async def test_a_folder_of_an_older_release_embeds_questions_by_the_model_itself(model: E5, older: E5) -> None:
    now, then = await model.embed_questions(ASKED), await older.embed_questions(ASKED)
    assert (np.abs(now - then).max(axis=1) > 0.01).all()
    assert ((now * then).sum(axis=1) > 0.8).all()


async def test_warming_loads_both(model: E5) -> None:
    await model.warm()
    assert {"_session", "_question_session"} <= vars(model).keys()
