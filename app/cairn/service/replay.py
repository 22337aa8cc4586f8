"""What users said of answers, put to use: their questions are asked again with other settings.

Asking again leaves nothing: no trace, no message, no entry of the retrieval cache. The comparison is stored as two evaluation
runs of the kind `replay`, without the words of the questions, which live and die with their traces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from cairn.answer.confidence import JudgedConfidence, estimate_confidence
from cairn.distribution import release
from cairn.domain.evaluation import EvalResult, EvalRun
from cairn.domain.ids import new_id
from cairn.domain.passage import Passage
from cairn.domain.question import Question
from cairn.errors import CairnError, InputError
from cairn.evals import replay
from cairn.evals.calibrate import CalibrationReport, calibrate
from cairn.evals.metrics import score, summarise
from cairn.evals.retrieval import plain, timings
from cairn.runs.context import Record
from cairn.runs.run import answer
from cairn.service.ask import check_strategy, deps_for
from cairn.settings import Settings
from cairn.settings.changes import change_settings, write_changes
from cairn.store import documents, evals
from cairn.wiring import Services

Step = Callable[[str], None]
MOST_RUNS: Final = 500
"""Judged runs that are looked at, the newest."""
SEVERAL: Final = UUID(int=0)
"""In place of a collection's id, where questions were asked of several; sql/functions/traces.sql knows it."""
LEAVES_NOTHING: Final = {"cache.enabled": False, "cache.queryEmbeddings": 0, "trace.enabled": False}


async def load_judged(
    services: Services, collection: str | None, limit: int
) -> tuple[list[replay.JudgedQuestion], Mapping[str, int], Mapping[str, int]]:
    """The last judged questions that can be asked again, how many runs cannot and why, and runs by revision of their settings."""
    await services.traces.flush()
    async with services.database.transaction(services.principal, readonly=True) as connection:
        rows = await evals.judged_runs(connection, services.principal, collection, limit)
        cited = {UUID(one["document_id"]) for row in rows for one in row["citations"] or ()}
        versions = await documents.find_versions(connection, services.principal, cited)
    runs: list[replay.JudgedRun] = []
    left_out: Counter[str] = Counter()
    for row in rows:
        # a thumb is for what an answer says, and not for what it names instead
        places = tuple(_place(one) for one in row["citations"] or () if not one.get("instead"))
        fresh = tuple(place for place in places if versions.get(place.document_id) == place.version)
        if not places:
            left_out["without citations"] += 1
        elif not fresh:
            left_out["whose documents have changed since"] += 1
        else:
            runs.append(_judged(row, fresh))
    return replay.pool_questions(runs), dict(left_out), dict(Counter(run.settings_revision for run in runs))


def _place(one: Mapping[str, Any]) -> replay.CitedPassage:
    return replay.CitedPassage(
        UUID(one["document_id"]), UUID(one["passage_id"]), one["version"], one["start"], one["end"]
    )


def _judged(row: Mapping[str, Any], cited: tuple[replay.CitedPassage, ...]) -> replay.JudgedRun:
    plan = row["plan"]
    groups = {"language": plan.get("language"), "strategy": row["strategy"], "query_type": plan.get("query_type")}
    return replay.JudgedRun(
        row["run_id"], row["rating"], plan.get("rewritten_query") or row["question"], row["collection"],
        plan.get("asked_strategy") or "auto", plan.get("filters") or {}, cited, row["settings_revision"],
        {name: str(value) for name, value in groups.items() if value},
    )  # fmt: skip


async def replay_feedback(
    services: Services,
    tried: Mapping[str, Sequence[Any]],
    step: Step,
    *,
    collection: str | None = None,
    limit: int = MOST_RUNS,
    with_model: bool = False,
) -> replay.ReplayReport:
    """Ask judged questions with the settings in force and with all combinations of other values, and compare. `with_model`:
    the chat model takes part, and costs what it costs; else answers are quoted. `step` is called for each question and state
    of the settings. Raises InputError where too little was judged, SettingsError for values that cannot be."""
    present = services.settings.current
    alternatives = replay.list_alternatives(present, tried)
    questions, left_out, revisions = await load_judged(services, collection, limit)
    replay.check_enough(questions, len(alternatives), left_out)
    began, restricted = datetime.now(UTC), await _holds_restricted(services, questions)

    async def ask(question: replay.JudgedQuestion, settings: Settings) -> replay.Replayed:
        return await _ask_again(services, question, settings, with_model=with_model)

    found = [
        await replay.ask_all(ask, questions, settings, step)
        for settings in (present, *(one.settings for one in alternatives))
    ]
    scores = [{key: one for key, one in each.items() if isinstance(one, replay.ReplayedScore)} for each in found]
    usable = [question for question in questions if question.run_id in scores[0]]
    replay.check_enough(usable, len(alternatives), left_out)
    tried_all, chosen, judging = replay.compare_alternatives(
        usable, scores[0], list(zip(alternatives, scores[1:], strict=True))
    )
    at = next(n for n, one in enumerate(alternatives) if dict(one.changes) == dict(chosen.changes))
    other = scores[at + 1]
    differences = [other.get(one.run_id, replay.FAILED).helpful - scores[0][one.run_id].helpful for one in judging]
    report = replay.ReplayReport(
        revision=present.revision,
        questions=len(usable),
        rated_up=sum(bool(one.kept) for one in usable),
        left_out=left_out,
        rated_under=revisions,
        tried=tried_all,
        chosen=chosen,
        held_out=len(alternatives) > 1,
        judged_on=len(judging),
        groups=replay.compare_groups(judging, scores[0], other),
        needed=None if chosen.helpful.clear else replay.count_needed(differences),
        problems=tuple(_problems(found, questions)),
    )
    for settings, values in ((present, scores[0]), (alternatives[at].settings, other)):
        await _store(services, settings, judging, values, report, began, with_model=with_model, restricted=restricted)
    return report


async def _holds_restricted(services: Services, questions: Sequence[replay.JudgedQuestion]) -> bool:
    """Whether a collection that is asked has a document that only some may read."""
    names = sorted({question.collection for question in questions})
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await evals.holds_restricted(connection, services.principal, names)


async def calibrate_by_feedback(services: Services, collection: str, step: Step) -> CalibrationReport:
    """A calibration of a collection's confidence fitted to thumbs: its rated questions are asked again, and a quotation that was
    cited by answers rated up is right, one of those rated down wrong. That the documents do not answer no thumb says, so how
    probable that is stays as shipped. Raises InputError where too few can be judged."""
    questions, _, _ = await load_judged(services, collection, MOST_RUNS)
    judged: list[JudgedConfidence] = []
    for question in questions:
        made = (await _ask_again(services, question, services.settings.current, with_model=False)).answer
        step(question.text)
        right = replay.rates_quotation(question, made)
        if made.evidence is not None and right is not None:
            judged.append(JudgedConfidence(estimate_confidence(made.evidence), True, right))
    return calibrate(judged)


async def _ask_again(
    services: Services, question: replay.JudgedQuestion, settings: Settings, *, with_model: bool
) -> replay.Replayed:
    quiet = change_settings(settings, LEAVES_NOTHING)
    deps = deps_for(services, quiet)
    asked = Question(
        question.text, question.collection, new_id(), strategy=check_strategy(question.strategy),
        filters=question.filters or None,
    )  # fmt: skip
    record = Record(asked)
    made = await answer(asked, deps if with_model else replace(deps, chat=None), record, lambda event: None)
    return replay.Replayed(made, _in_order(record))


def _in_order(record: Record) -> tuple[Passage, ...]:
    """What was found, best first: as several searches were merged, else as they came."""
    found = {passage.passage_id: passage for item in record.searches for passage in item.result.passages}
    merged = record.merged.passage_ids if record.merged else ()
    return tuple({key: found[key] for key in (*merged, *found) if key in found}.values())


def _problems(
    found: Sequence[Mapping[UUID, replay.ReplayedScore | CairnError]], questions: Sequence[replay.JudgedQuestion]
) -> list[str]:
    failed = Counter(error.code for each in found for error in each.values() if isinstance(error, CairnError))
    return [f"{count} of {len(found) * len(questions)} answers failed: {code}" for code, count in failed.most_common()]


async def _store(
    services: Services,
    settings: Settings,
    questions: Sequence[replay.JudgedQuestion],
    scores: Mapping[UUID, replay.ReplayedScore],
    report: replay.ReplayReport,
    began: datetime,
    *,
    with_model: bool,
    restricted: bool,
) -> None:
    """One state of the settings as an evaluation run, over the questions with passages that users were content with.
    `restricted`: see `evals.insert`."""
    kept = [question for question in questions if question.kept]
    results = [_result(question, scores.get(question.run_id, replay.FAILED)) for question in kept]
    names = sorted({question.collection for question in kept})
    async with services.database.transaction(services.principal) as connection:
        where = await evals.collection_epochs(connection, services.principal, names)
        run = EvalRun(
            id=new_id(), kind="replay", name=f"feedback, settings {settings.revision}", data_set="feedback",
            data_hash=sha256(str(sorted(str(question.run_id) for question in kept)).encode()).hexdigest(),
            collection_id=next(iter(where.values()))[0] if len(where) == 1 else SEVERAL,
            collection=", ".join(names), epochs={name: epoch for name, (_, epoch) in where.items()},
            settings=plain(settings), settings_revision=settings.revision, code_version=release(),
            parameters={"mode": "replay", "with_model": with_model, "report": asdict(report)},
            started_at=began, finished_at=datetime.now(UTC), query_count=len(results),
            metrics=summarise([result.metrics for result in results]),
            timings_ms=timings([result.total_ms for result in results]), degraded=report.problems,
        )  # fmt: skip
        await evals.insert(connection, services.principal, run, results, restricted=restricted)


def _result(question: replay.JudgedQuestion, one: replay.ReplayedScore) -> EvalResult:
    judgements = one.judgements or {str(place.passage_id): 1 for place in question.kept}
    metrics = {**score(one.ranking, judgements), "helpful": one.helpful, "cited": one.cited}
    return EvalResult(str(question.run_id), "", one.ranking, judgements, metrics, one.total_ms)


def write_chosen(services: Services, report: replay.ReplayReport) -> bool:
    """Put the chosen alternative into the settings file, if it is better; whether it was. Running servers follow the file.
    Raises InputError where there is no file to write, SettingsError."""
    if not report.chosen.better:
        return False
    path = services.settings.path
    if path is None:
        raise InputError("there is no settings file: make a settings.json, or name one with CAIRN_SETTINGS")
    write_changes(path, report.chosen.changes)
    return True
