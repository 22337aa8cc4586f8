"""Feedback teaches: rated questions are asked again with other settings, and the better ones are written."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
import structlog
from serving import Api, serving

from cairn.interfaces.cli import main

PARTS = [f"{letters}-{number}" for letters in ("KX", "QV") for number in range(4100, 4115)]
TORQUE = {part: 11 + 3 * n for n, part in enumerate(PARTS)}
BY_MEANING = {
    "rag": {"hybridSearchWeight": 1.0, "topK": 8},
    "answer": {"retrieved": 8, "reader": "off"},
}
"""Without the reader, whose scores of near ties differ by the processor: which thumbs are up must not."""
KEPT = (
    "runs",
    "run_legs",
    "feedback",
    "messages",
    "sessions",
    "retrieval_cache",
    "cache_counters",
    "query_embeddings",
)
"""Tables that asking again must leave as they are."""
Replay = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def parts(fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[Api]:
    """Spare parts that differ by their number alone, which vectors do not tell apart and words do."""
    folder = tmp_path_factory.mktemp("parts")
    with serving(fresh_database(), folder, settings=BY_MEANING, CAIRN_MODEL_DIR=str(model)) as running:
        texts = {
            f"sheet{n}": f"Part {part}. The cover is held by four bolts; tighten them to {torque} Nm. Check the seal first."
            for n, (part, torque) in enumerate(TORQUE.items())
        }
        running.index("parts", **texts)
        yield running


@pytest.fixture
def replay(
    parts: Api, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Replay]:
    monkeypatch.setenv("CAIRN_DATABASE_URL", parts.dsn)
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(model))
    monkeypatch.setenv("CAIRN_SETTINGS", str(parts.settings_file))

    def call(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main.run(["eval", "replay", *arguments])
        sys.stdout.flush()
        done = capfd.readouterr()
        return code, done.out, done.err

    yield call
    structlog.reset_defaults()


def ask_and_rate(api: Api, parts: list[str]) -> dict[str, int]:
    """Each part asked for, with a thumb up where the right figure is quoted; the thumbs."""
    thumbs = {}
    for part in parts:
        asked = {"collection": "parts", "question": f"What torque do the cover bolts of {part} need?"}
        answer = api.client.post("/query", json=asked).json()
        first = "".join(cited["quote"] for cited in answer["citations"][:1])
        thumbs[part] = 1 if f"{TORQUE[part]} Nm" in first else -1
        rated = api.client.post("/feedback", json={"run_id": answer["run_id"], "rating": thumbs[part]})
        assert rated.status_code == 200, rated.text
    return thumbs


def contents(dsn: str) -> dict[str, str]:
    """A digest of each table that must stay."""

    async def look() -> dict[str, str]:
        connection = await asyncpg.connect(dsn)
        try:
            one = "SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM rag.{} AS t"
            return {name: await connection.fetchval(one.format(name)) for name in KEPT}
        finally:
            await connection.close()

    return asyncio.run(look())


@pytest.mark.siege
def test_thumbs_judge_settings_and_only_better_ones_are_written(parts: Api, replay: Replay, tmp_path: Path) -> None:
    code, _, err = replay("--set", "rag.hybridSearchWeight=.2")
    assert code != 0
    assert "About 20 are needed" in err

    thumbs = ask_and_rate(parts, PARTS)
    assert list(thumbs.values()).count(1) >= 20, (
        "the right part is among the eight that are read, though often not the first"
    )
    parts.client.get("/cache")  # the counters of the server are written
    before, written = contents(parts.dsn), parts.settings_file.read_text()
    code, out, err = replay("--set", "rag.hybridSearchWeight=.2", "--json", str(tmp_path / "better.json"))
    assert code == 0, err
    report = json.loads((tmp_path / "better.json").read_text())
    assert report["better"] is True, out + json.dumps(report["chosen"])
    assert report["written"] is False
    assert report["chosen"]["helpful"]["difference"]["low"] > 0
    assert report["rated_under"] == {parts.revision: report["rated_up"]}, (
        "the settings that the answers were judged under"
    )
    assert report["revision"] == parts.revision != report["chosen"]["revision"]
    assert set(report["groups"]) == {"language", "strategy", "query_type"}
    assert parts.settings_file.read_text() == written, "never by itself"
    assert contents(parts.dsn) == before, "asking again leaves nothing"

    code, out, err = replay("--set", "rag.hybridSearchWeight=.2", "--write")
    assert code == 0, err
    assert "Written: rag.hybridSearchWeight 0.2" in out
    now = json.loads(parts.settings_file.read_text())
    assert now == {**json.loads(parts.began_with), "rag": {"hybridSearchWeight": 0.2, "topK": 8}}
    parts.await_until(lambda: parts.revision == report["chosen"]["revision"])

    missed = [part for part, thumb in thumbs.items() if thumb < 0]
    kept = [part for part, thumb in thumbs.items() if thumb > 0][:5]
    again = ask_and_rate(parts, [*missed, *kept])
    assert sum(again[part] for part in kept) > 0, "what was right is mostly right still"
    assert 1 in [again[part] for part in missed]
    code, out, err = replay("--set", "rag.hybridSearchWeight=1", "--write", "--collection", "parts")
    assert code == 1
    assert "Worse: rag.hybridSearchWeight 1." in out
    assert json.loads(parts.settings_file.read_text()) == now


def test_a_choice_among_several_is_judged_on_other_questions(parts: Api, replay: Replay) -> None:
    code, _, err = replay("--set", "rag.hybridSearchWeight=.4,.6")
    assert code != 0
    assert "About 40 are needed" in err
    assert "half of them choose" in err


def test_settings_that_asking_again_says_nothing_about_are_refused(replay: Replay) -> None:
    for wanted, said in (
        ("chunking.chunkSize=300", "acts when documents are indexed"),
        ("retrieve.rrfKK=3", "did you mean 'rrfK'"),
        ("rag.hybridSearchWeight=7", "less than or equal to 1"),
        ("rag.hybridSearchWeight", "NAME=VALUE"),
    ):
        code, _, err = replay("--set", wanted)
        assert code != 0
        assert said in err.replace("\n", " ")


def test_one_tenant_does_not_learn_from_another(parts: Api, replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_TENANT", "somebody-else")
    code, _, err = replay("--set", "rag.hybridSearchWeight=.35")
    assert code != 0
    assert "0 judged questions" in err
