"""What the graph adds to BM25 alone on public sets, as docs/adr/0024-graph-leg.md says. No vectors, to be quick."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import tiktoken

from cairn.evals.datasets import load
from cairn.evals.metrics import ndcg, recall
from cairn.providers.tokens import OpenAITokens

pytestmark = pytest.mark.measurement

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "graph_experiment.py"

LETTERS = tiktoken.Encoding(
    "letters", pat_str=r"\w+|\W+", mergeable_ranks={bytes([at]): at for at in range(256)}, special_tokens={}
)


@pytest.fixture(scope="module")
def experiment() -> ModuleType:
    spec = importlib.util.spec_from_file_location("graph_experiment", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gains(experiment: ModuleType, folder: Path, language: str, most: int) -> tuple[float, float]:
    """Mean differences of recall@5 and nDCG@10."""
    data = load(folder).first(most)
    index = experiment.Index(data, OpenAITokens("letters", LETTERS), language)
    pairs = [(index.rankings(question), data.judgements[number]) for number, question in data.queries.items()]
    found = sum(recall(both, judged, 5) - recall(text, judged, 5) for (text, both), judged in pairs)
    order = sum(ndcg(both, judged, 10) - ndcg(text, judged, 10) for (text, both), judged in pairs)
    return found / len(pairs), order / len(pairs)


@pytest.mark.parametrize("name", ["musique100", "hotpotqa100"])
def test_questions_in_several_steps_gain_five_points(experiment: ModuleType, shared_data: Path, name: str) -> None:
    found, order = gains(experiment, shared_data / name, "en", 100)
    assert found >= 0.05
    assert order >= 0.0


@pytest.mark.parametrize(("name", "language"), [("xquad_en", "en"), ("xquad_es", "es"), ("xquad_de", "de")])
def test_questions_in_one_step_lose_nothing(
    experiment: ModuleType, shared_data: Path, name: str, language: str
) -> None:
    _, order = gains(experiment, shared_data / name, language, 150)
    assert order >= -0.005
