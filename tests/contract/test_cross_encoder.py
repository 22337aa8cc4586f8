"""The local cross-encoder over a real ONNX session: scores, batches, where models are found."""

from __future__ import annotations

import asyncio
import math
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_cross_encoder import BIAS, make_cross_encoder

from cairn.errors import ProviderError
from cairn.providers.cross_encoder import CrossEncoder, find_cross_encoder, probabilities
from cairn.providers.protocols import Ranked
from tests.waiting import patience

WORDS = ["lift", "of", "a", "thin", "wing", "drag", "flow", "over", "the", "plate", "at", "high", "speed"]
QUERY = "lift of a wing"


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def by_index(ranked: list[Ranked]) -> list[float]:
    return [item.score for item in sorted(ranked, key=lambda item: item.index)]


async def scores(folder: Path, query: str, documents: list[str]) -> list[float]:
    model = CrossEncoder(folder, str(folder))
    try:
        return by_index(await model.rerank(query, documents, top_n=len(documents)))
    finally:
        await model.close()


# --- scores -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [1, 2])
async def test_scores_are_the_sigmoid_of_the_logit(tmp_path: Path, classes: int) -> None:
    """Also of two logits, where a softmax gives the same."""
    make_cross_encoder(tmp_path, WORDS, classes=classes)
    found = await scores(tmp_path, QUERY, ["drag", "a wing", "lift of a wing"])
    assert found == pytest.approx([sigmoid(1 + matches + BIAS) for matches in (0, 2, 4)], abs=1e-6)


async def test_other_numbers_of_logits_are_refused(tmp_path: Path) -> None:
    make_cross_encoder(tmp_path, WORDS, classes=3)
    with pytest.raises(ProviderError, match="one or two logits"):
        await scores(tmp_path, QUERY, ["drag"])


def test_extreme_logits_do_not_overflow_and_nan_is_refused() -> None:
    assert probabilities(np.array([[-1e9], [0.0], [1e9]]), 3).tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(ProviderError, match="not finite"):
        probabilities(np.array([[np.nan]]), 1)


async def test_a_score_does_not_depend_on_the_batch(tmp_path: Path) -> None:
    """Padding is masked: the logit counts every token that is not."""
    make_cross_encoder(tmp_path, WORDS, per_token=-0.01, slope=0.01)
    random.seed(7)
    documents = [" ".join(random.choices(WORDS, k=random.randrange(1, 400))) for _ in range(40)]
    together = await scores(tmp_path, QUERY, documents)
    model = CrossEncoder(tmp_path, str(tmp_path))
    alone = [(await model.rerank(QUERY, [document], top_n=1))[0].score for document in documents]
    await model.close()
    assert together == pytest.approx(alone, abs=1e-6)
    assert len(set(alone)) > 20


async def test_pairs_are_cut_at_512_tokens_the_longer_part_first(tmp_path: Path) -> None:
    make_cross_encoder(tmp_path, WORDS, slope=0, bias=0, per_token=0.001)
    short, longest, endless = await scores(tmp_path, QUERY, ["drag", "drag " * 505, "drag " * 5000])
    assert short == pytest.approx(sigmoid(0.001 * 8), abs=1e-6)  # [CLS] lift of a wing [SEP] drag [SEP]
    assert longest == endless == pytest.approx(sigmoid(0.001 * 512), abs=1e-6)
    assert (await scores(tmp_path, "lift " * 5000, ["drag"]))[0] == pytest.approx(longest, abs=1e-6)


async def test_calls_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    make_cross_encoder(tmp_path, WORDS)
    model = CrossEncoder(tmp_path, str(tmp_path))
    queries = ["lift", "drag", "flow over", "high speed", "a plate"]
    apart = [await model.rerank(query, WORDS, top_n=3) for query in queries]
    assert list(await asyncio.gather(*(model.rerank(query, WORDS, top_n=3) for query in queries))) == apart
    await model.close()


# --- where the model is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["cross-encoder/ms-marco-MiniLM-L-6-v2", "ms-marco-MiniLM-L-6-v2"])
@pytest.mark.parametrize("file", ["model.onnx", "onnx/model.onnx"])
async def test_the_default_model_is_found_under_home(tmp_path: Path, folder: str, file: str) -> None:
    made = make_cross_encoder(tmp_path / "models" / folder, WORDS, file=file)
    assert find_cross_encoder(tmp_path) == made
    model = CrossEncoder(tmp_path)
    assert model.name == "cross-encoder/ms-marco-MiniLM-L-6-v2"
    assert [item.index for item in await model.rerank(QUERY, ["drag", "wing"], top_n=2)] == [1, 0]
    await model.close()


def test_a_folder_is_a_model_only_with_all_its_files(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "models" / "own", WORDS)
    assert find_cross_encoder(tmp_path, "own") == find_cross_encoder(Path("/nowhere"), str(folder)) == folder
    (folder / "tokenizer.json").unlink()
    assert find_cross_encoder(tmp_path, "own") is None


async def test_a_model_that_is_missing_says_where_to_put_it_and_is_found_once_it_is_there(tmp_path: Path) -> None:
    model = CrossEncoder(tmp_path, "cross-encoder/own")
    with pytest.raises(ProviderError, match=r"models/cross-encoder/own under CAIRN_HOME.*rerankerDownload"):
        await model.rerank(QUERY, ["drag"], top_n=1)
    make_cross_encoder(tmp_path / "models" / "cross-encoder" / "own", WORDS)
    assert len(await model.rerank(QUERY, ["drag"], top_n=1)) == 1
    await model.close()


async def test_the_name_shown_is_no_path(tmp_path: Path) -> None:
    model = CrossEncoder(tmp_path, "/srv/secret/place/own")
    with pytest.raises(ProviderError) as caught:
        await model.rerank(QUERY, ["drag"], top_n=1)
    assert model.name == "own"
    assert "secret" not in caught.value.detail


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
async def test_a_broken_file_is_a_provider_error(tmp_path: Path, file: str) -> None:
    make_cross_encoder(tmp_path, WORDS)
    (tmp_path / file).write_bytes(b"not a model")
    with pytest.raises(ProviderError, match="cross-encoder"):
        await scores(tmp_path, QUERY, ["drag"])


OFFLINE = """
import asyncio, pathlib, sys, time
from cairn.errors import ProviderError
from cairn.providers.cross_encoder import CrossEncoder

async def main():
    model = CrossEncoder(pathlib.Path(sys.argv[1]), "cross-encoder/own", may_download=True)
    for _ in range(2):
        started = time.monotonic()
        try:
            await model.rerank("q", ["d"], top_n=1)
        except ProviderError as error:
            print(error.detail)
    assert time.monotonic() - started < 5, "tried again at once"

asyncio.run(main())
"""


def test_a_download_without_network_is_one_clear_line(tmp_path: Path) -> None:
    """The hub's real client, told that there is no network: else it tries for 25 s."""
    repo = Path(__file__).resolve().parents[2]
    own = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(repo / "app"), "HF_HUB_OFFLINE": "1",
           "HF_ENDPOINT": "http://127.0.0.1:9"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(tmp_path)], env=own, capture_output=True, text=True, timeout=patience(120)
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all("cross-encoder cross-encoder/own could not be downloaded" in line for line in lines)


async def test_what_is_no_hub_name_is_not_asked_for(tmp_path: Path) -> None:
    model = CrossEncoder(tmp_path, "../own", may_download=True)
    with pytest.raises(ProviderError, match="no model of the Hugging Face hub"):
        await model.rerank(QUERY, ["drag"], top_n=1)
    await model.close()
