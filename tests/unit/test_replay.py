"""What judged questions say about settings: pooling, scoring, the verdict, and the file that it is written to."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest

from cairn.errors import InputError, SettingsError
from cairn.evals import replay
from cairn.evals.replay import Alternative, CitedPassage, JudgedQuestion, JudgedRun, ReplayedScore
from cairn.settings import Settings
from cairn.settings.changes import change_settings, read_value, write_changes

DOCUMENT = UUID(int=7)
ALTERNATIVE = Alternative({"retrieve.rrfK": 20}, Settings())


def cited(n: int) -> CitedPassage:
    return CitedPassage(DOCUMENT, UUID(int=n), 1, 100 * n, 100 * n + 50)


def run(text: str, rating: int, *places: int, collection: str = "c") -> JudgedRun:
    return JudgedRun(uuid4(), rating, text, collection, "auto", {}, tuple(map(cited, places)), "r")


def question(n: int, *, kept: bool = True) -> JudgedQuestion:
    places = (cited(n),)
    return JudgedQuestion(
        UUID(int=n),
        f"question {n}",
        "c",
        "auto",
        {},
        places if kept else (),
        () if kept else places,
        {"language": "en"},
    )


def scores(values: list[float]) -> dict[UUID, ReplayedScore]:
    return {UUID(int=n): ReplayedScore(value, value, (), {}, 1.0) for n, value in enumerate(values)}


def test_runs_of_a_question_are_one_and_most_votes_decide_about_a_passage() -> None:
    pooled = replay.pool_questions(
        [
            run("When is it?", 1, 1, 2),
            run("when is it?", -1, 2),
            run("When is it?", -1, 2, 3),
            run("when is it?", 1, 4, collection="d"),
        ]
    )
    first, other = pooled
    assert [place.passage_id.int for place in first.kept] == [1]
    assert [place.passage_id.int for place in first.unhelpful] == [2, 3]
    assert other.collection == "d"
    assert not replay.pool_questions([run("x", 1, 5), run("x", -1, 5)]), "as many for it as against it say nothing"


def test_better_means_that_the_interval_lies_above_nought_and_nothing_liked_is_lost() -> None:
    questions = [question(n, kept=n % 2 == 0) for n in range(40)]
    present = scores([0.5] * 40)
    found = [(ALTERNATIVE, scores([0.5 + 0.4 * (n % 3 == 0) for n in range(40)]))]
    (tried,), chosen, judged = replay.compare_alternatives(questions, present, found)
    assert chosen == tried
    assert chosen.better
    assert len(judged) == 40, "a single alternative is not chosen, and judged on all"
    # all that was disliked goes, and so does some of what was liked
    worse = scores([0.45 if n % 2 == 0 else 1.0 for n in range(40)])
    _, chosen, _ = replay.compare_alternatives(questions, present, [(ALTERNATIVE, worse)])
    assert chosen.helpful.difference.low > 0
    assert not chosen.better
    _, chosen, _ = replay.compare_alternatives(questions, present, [(ALTERNATIVE, scores([0.5] * 40))])
    assert not chosen.better
    _, chosen, _ = replay.compare_alternatives(questions, present, [(ALTERNATIVE, {})])
    assert chosen.helpful.difference.high < 0, "an answer that failed is no answer"


@pytest.mark.measurement
def test_noise_is_seldom_taken_for_better_also_where_many_are_tried() -> None:
    """Eight settings that are no better, sixty times: the best of them on one half must not pass on the other more often than
    a 95 % interval is wrong on one side; judged on the questions that chose it, it would nearly always."""
    generator = np.random.default_rng(3)
    questions = [question(n) for n in range(80)]
    present = scores([0.5] * 80)
    passed = fooled = 0
    for _ in range(60):
        noise = [scores(list(0.5 + 0.2 * generator.standard_normal(80))) for _ in range(8)]
        tried, chosen, _ = replay.compare_alternatives(questions, present, [(ALTERNATIVE, one) for one in noise])
        passed += chosen.better
        fooled += any(one.better for one in tried)
    assert passed <= 5
    assert fooled > passed


def test_too_little_feedback_says_how_much_is_needed() -> None:
    few = [question(n, kept=n < 3) for n in range(21)]
    with pytest.raises(
        InputError, match=r"21 judged questions .* 3 of them rated up; 4 without citations\. About 20 .* 10 of"
    ):
        replay.check_enough(few, 1, {"without citations": 4})
    replay.check_enough([question(n) for n in range(20)], 1, {})
    with pytest.raises(InputError, match="About 40 are needed, 20 of them"):
        replay.check_enough([question(n) for n in range(20)], 3, {})
    assert replay.count_needed([0.1, -0.1] * 20 + [0.3]) > 41
    assert replay.count_needed([-0.1] * 20) is None


def test_alternatives_are_all_combinations_but_the_present_one() -> None:
    tried = replay.list_alternatives(Settings(), {"rag.hybridSearchWeight": [0.7, 0.5], "graph.weight": [0.5, 0.3]})
    assert len(tried) == 3
    assert len({one.settings.revision for one in tried}) == 3
    for wrong, said in (
        ({"rag.hybridSearchWeight": [0.7]}, "nothing to compare"),
        ({"chunking.chunkSize": [300]}, "when documents are indexed"),
        ({"retrieve.rrfK": list(range(1, 40))}, "too many"),
    ):
        with pytest.raises(InputError, match=said):
            replay.list_alternatives(Settings(), wrong)
    with pytest.raises(SettingsError, match="did you mean 'rrfK'"):
        replay.list_alternatives(Settings(), {"retrieve.rrfKK": [1]})


def test_every_setting_that_can_be_tried_exists() -> None:
    values = Settings().model_dump(by_alias=True, mode="json")
    for key in replay.TRIED:
        section = values
        for part in key.split("."):
            section = section[part]


def test_a_settings_file_keeps_all_else_and_is_never_left_unusable(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    write_changes(path, {"graph.weight": 0.3})
    assert json.loads(path.read_text()) == {"graph": {"weight": 0.3}}
    write_changes(path, {"graph.weight": 0.4, "rag.qa.model": "m"})
    assert json.loads(path.read_text()) == {"graph": {"weight": 0.4}, "rag": {"qa": {"model": "m"}}}
    write_changes(path, {"rag.qa.model": "", "graph.hops": Settings().graph.hops})
    assert json.loads(path.read_text()) == {"graph": {"weight": 0.4}}, "what is as shipped follows the release"
    before = path.read_text()
    with pytest.raises(SettingsError, match=r"graph\.weight"):
        write_changes(path, {"graph.weight": 7})
    assert path.read_text() == before
    path.write_text("{broken")
    with pytest.raises(SettingsError, match=r"settings\.json: not valid JSON"):
        write_changes(path, {"graph.weight": 0.3})
    assert list(tmp_path.iterdir()) == [path], "no half of a file is left behind"
    assert change_settings(Settings(), {"graph.search": False}).graph.search is False


def test_values_are_read_as_they_are_typed() -> None:
    assert [read_value(text) for text in (".3", "5", "true", "rrf", "1e-1")] == [0.3, 5, True, "rrf", 0.1]
