"""`cairn eval` as its users meet it: a small BEIR folder, a real database, the real embedding model."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import structlog
from scripted_server import ScriptedServer

from cairn.db.embedded import EmbeddedServer
from cairn.evals.metrics import score
from cairn.interfaces.cli import main
from cairn.settings import Settings
from tests.conftest import Clones

SHARE = Settings().rag.hybrid_search_weight

DOCUMENTS = {
    "rope": ("Ropes", "A rope that held a hard fall must be retired at once. Wash ropes in cold water without soap."),
    "cairn": ("Cairns", "A cairn is a pile of stones that marks a trail where paint would not last."),
    "crampon": ("Crampons", "Crampons are spikes under the boot that hold on ice. Keep them sharp."),
    "carabiner": ("Carabiners", "A carabiner is a metal loop with a gate that springs shut."),
    "harness": ("Harnesses", "A harness ties the climber in at the waist and the thighs."),
    "helmet": ("Helmets", "A helmet guards the head against falling stones."),
    "tent": ("Tents", "Pitch the tent with its narrow end to the wind and close the fly at night."),
    "stove": ("Stoves", "A gas stove loses power in the cold; warm the cartridge in a jacket."),
    "map": ("Maps", "Contour lines on a map join places of equal height."),
    "compass": ("Compasses", "Hold the compass away from iron: a needle near metal lies."),
    "water": ("Water", "Boil water from streams for one minute before drinking it."),
    "snow": ("Avalanches", "Fresh snow on a steep slope slides when the sun warms it."),
    "storm": ("Lightning", "In a thunderstorm leave ridges and lone trees, and crouch on a dry rope."),
    "blister": ("Blisters", "Cover a sore heel with tape before the skin breaks."),
    "altitude": ("Altitude", "Headache above three thousand metres is a sign to go down."),
    "food": ("Food", "Nuts, cheese and dried fruit give the most energy for their weight."),
    "boots": ("Boots", "Wear new boots at home for a week before a long walk."),
    "hut": ("Huts", "Reserve a bed in a mountain hut and bring a sleeping bag liner."),
    "knots": ("Knots", "The figure of eight is the knot to tie in with; check it twice."),
    "rescue": ("Rescue", "Six signals a minute call for help; three answer."),
}
QUERIES = {
    "q1": ("how do I clean a climbing rope", {"rope": 2, "storm": 0}),
    "q2": ("what marks a path with stones", {"cairn": 2, "helmet": 1}),
    "q3": ("grip on frozen ground", {"crampon": 2}),
    "q4": ("protection against rockfall", {"helmet": 2, "harness": 0}),
    "q5": ("cooking when it is freezing", {"stove": 2, "water": 1}),
    "q6": ("mountain sickness symptoms", {"altitude": 1}),
    "q7": ("why does the needle point the wrong way near metal", {"compass": 2, "carabiner": 0}),
    "q8": ("how to call for help", {"rescue": 2, "nobody": 1}),
}


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Cairn = Callable[..., Done]
Rows = Callable[..., list[Any]]


@pytest.fixture(scope="module")
def evaluated(
    server: EmbeddedServer,
    clones: Clones,
    template: str,
    psql: Callable[..., str],
    model: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """The name of a database that has the documents and no run."""
    name, folder = "evaluated", tmp_path_factory.mktemp("evaluated")
    write(folder / "mountain gear", DOCUMENTS)
    clones.make(name, template)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATABASE_URL", server.dsn(name))
        patch.setenv("CAIRN_HOME", str(folder / "home"))
        patch.setenv("CAIRN_MODEL_DIR", str(model))
        patch.chdir(folder)
        assert main.run(["eval", "retrieval", "mountain gear", "--mode", "lexical"]) == 0
    structlog.reset_defaults()
    psql("DELETE FROM rag.eval_results; DELETE FROM rag.eval_runs", name)
    yield name
    clones.drop(name)


@pytest.fixture
def database(server: EmbeddedServer, clones: Clones, evaluated: str) -> Iterator[str]:
    """DSN (superuser) of a copy that only this test sees."""
    name = "evaluated_by_one"
    clones.make(name, evaluated)
    yield server.dsn(name)
    clones.drop(name)


@pytest.fixture
def cairn(
    database: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Cairn]:
    """Runs `cairn eval` in this process on a database of this test."""
    monkeypatch.setenv("CAIRN_DATABASE_URL", database)
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(model))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Done:
        capfd.readouterr()
        code = main.run(["eval", *map(str, arguments)])
        sys.stdout.flush()
        return Done(code, *capfd.readouterr())

    yield call
    structlog.reset_defaults()


@pytest.fixture
def rows(database: str) -> Rows:
    """Runs one statement as superuser."""

    async def ask(statement: str) -> list[Any]:
        connection = await asyncpg.connect(database)
        try:
            await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
            return list(await connection.fetch(statement))
        finally:
            await connection.close()

    return lambda statement: asyncio.run(ask(statement))


@pytest.fixture
def gear(tmp_path: Path) -> Path:
    folder = tmp_path / "mountain gear"
    write(folder, DOCUMENTS)
    return folder


def write(folder: Path, documents: dict[str, tuple[str, str]]) -> None:
    folder.mkdir(exist_ok=True)
    corpus = [{"_id": key, "title": title, "text": text} for key, (title, text) in documents.items()]
    queries = [{"_id": key, "text": text} for key, (text, _) in QUERIES.items()]
    qrels = [
        f"{key}\t{document}\t{grade}" for key, (_, grades) in QUERIES.items() for document, grade in grades.items()
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *qrels]))


def stored(done: Done, file: Path) -> list[dict[str, Any]]:
    assert done.code == 0, done.err
    return list(json.loads(file.read_text())["runs"])


# --- runs -------------------------------------------------------------------------------------------------------------


def test_runs_are_stored_with_what_they_were_made_with(cairn: Cairn, gear: Path, rows: Rows, tmp_path: Path) -> None:
    """Pinned to epoch, settings and code; the figures are those of the stored rankings. The examples of the documentation run
    over them."""
    runs = stored(cairn("retrieval", gear, "--mode", "all", "--name", "first", "--json", "r.json"), tmp_path / "r.json")

    seen = rows("SELECT * FROM analyst.eval_runs ORDER BY run_id")
    (collection,) = rows("SELECT id, epoch, document_count FROM rag.collections WHERE name = 'eval-mountain-gear'")
    assert (
        [row["mode"] for row in seen] == [run["parameters"]["mode"] for run in runs] == ["hybrid", "vector", "lexical"]
    )
    for row, run in zip(seen, runs, strict=True):
        assert (str(row["run_id"]), row["name"], row["query_count"]) == (run["id"], "first", 8)
        assert row["epochs"] == {"eval-mountain-gear": collection["epoch"]}
        assert row["settings"]["rag"]["hybridSearchWeight"] == SHARE
        assert re.fullmatch(r"[0-9a-f]{12}", row["settings_revision"])
        assert row["code_version"]
        assert (row["parameters"]["top_k"], row["parameters"]["group_by"]) == (100, "document")
        assert row["degraded"] == []
        assert 0 < row["median_ms"] <= row["p95_ms"]
        assert row["ndcg_at_10_low"] <= row["ndcg_at_10"] == run["metrics"]["ndcg@10"]["mean"] <= row["ndcg_at_10_high"]

        results = rows(f"SELECT * FROM analyst.eval_results WHERE run_id = '{row['run_id']}'")
        assert {result["query_id"] for result in results} == set(QUERIES)
        for result in results:
            text, grades = QUERIES[result["query_id"]]
            assert (result["query"], result["judgements"]) == (text, grades)
            assert result["metrics"] == score(result["ranking"], grades) == run["queries"][result["query_id"]]
            relevant = {document for document, grade in grades.items() if grade > 0}
            assert set(result["relevant"]) == relevant
            assert set(result["missed"]) == relevant - set(result["ranking"])
            ranks = [result["ranking"].index(document) + 1 for document in relevant & set(result["ranking"])]
            assert result["first_relevant_rank"] == min(ranks, default=None)
        mean = sum(result["ndcg_at_10"] for result in results) / 8
        assert row["ndcg_at_10"] == pytest.approx(mean)
    assert max(len(result["ranking"]) for result in results) <= 20
    # the embedding model understands these questions, whose words mostly do not occur
    assert seen[1]["ndcg_at_10"] > 0.7
    assert any("nobody" in result["missed"] for result in results)
    _run_examples(rows)


def _run_examples(rows: Rows) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    worst, between = (rows(statement) for statement in re.findall(r"```sql\n(.*?)```", text, re.DOTALL))
    assert sorted(row["query_id"] for row in worst) == sorted(QUERIES)
    assert [row["ndcg"] for row in worst] == sorted(row["ndcg"] for row in worst)
    assert len(between) > 1
    assert all(abs(row["vector"] - row["lexical"]) > 0.5 for row in between)


def test_the_table_shows_means_and_intervals(cairn: Cairn, gear: Path) -> None:
    done = cairn("retrieval", gear, "--limit-queries", "5")
    assert done.code == 0, done.err
    assert "20 documents in collection eval-mountain-gear, 0 of them indexed now; queries: 5" in done.err
    assert "1 judged document not in the corpus" in done.err
    header = done.out.splitlines()[1]
    for metric in ("nDCG@10", "Recall@5", "Recall@10", "Recall@100", "MRR", "MAP"):
        assert metric in header
    assert re.search(r"^mountain gear  hybrid +(1\.000|\.\d{3})", done.out, re.MULTILINE)
    assert re.search(r"^[0-9a-f]{12} +5 +(1?\.\d{3})–(1?\.\d{3})", done.out, re.MULTILINE)
    assert "95 % bootstrap intervals" in done.out


def test_a_second_run_indexes_only_what_changed(cairn: Cairn, gear: Path, rows: Rows) -> None:
    assert "20 of them indexed now" in cairn("retrieval", gear, "--mode", "lexical", "--fresh").err
    assert "0 of them indexed now" in cairn("retrieval", gear, "--mode", "lexical").err
    write(gear, {**DOCUMENTS, "tent": ("Tents", "A tent keeps the rain out.")})
    assert "1 of them indexed now" in cairn("retrieval", gear, "--mode", "lexical").err
    first, second, third = (row["epochs"] for row in rows("SELECT epochs FROM rag.eval_runs ORDER BY id"))
    assert first == second != third


@pytest.mark.siege
def test_a_collection_that_is_not_the_corpus_is_reported_and_made_anew(cairn: Cairn, gear: Path) -> None:
    cairn("retrieval", gear, "--mode", "lexical")  # a run says with which chunking
    write(gear, {key: value for key, value in DOCUMENTS.items() if key != "hut"})
    Path("settings.json").write_text('{"chunking": {"chunkSize": 200}}')
    stale = cairn("retrieval", gear, "--mode", "lexical")
    assert "holds 1 document that mountain gear does not" in stale.err
    assert "was indexed with another chunking; --fresh indexes it again" in stale.err
    fresh = cairn("retrieval", gear, "--mode", "lexical", "--fresh")
    assert "19 of them indexed now" in fresh.err
    assert "warning" not in fresh.err


def test_a_collection_that_says_who_may_read_it_is_not_made_anew(cairn: Cairn, gear: Path, rows: Rows) -> None:
    cairn("retrieval", gear, "--mode", "lexical")
    write(gear, {key: value for key, value in DOCUMENTS.items() if key != "hut"})
    Path("settings.json").write_text('{"chunking": {"chunkSize": 200}}')
    rows(
        "INSERT INTO rag.access_rules (tenant_id, collection_id, prefix, access) SELECT tenant_id, id, 'hr/', '{group:hr}' "
        "FROM rag.collections WHERE name = 'eval-mountain-gear'"
    )
    stale = cairn("retrieval", gear, "--mode", "lexical")
    assert stale.code == 0
    assert "--fresh" not in stale.err
    assert "another chunking; measure in a collection of its own (--collection)" in " ".join(stale.err.split())
    assert "that mountain gear does not; cairn documents delete removes them" in " ".join(stale.err.split())
    refused = cairn("retrieval", gear, "--mode", "lexical", "--fresh")
    assert refused.code != 0
    assert "or measure in a collection of its own (--collection)" in " ".join(refused.err.split())
    [kept] = rows("SELECT document_count, (SELECT count(*) FROM rag.access_rules) AS rules FROM rag.collections")
    assert tuple(kept) == (20, 1)


@pytest.mark.siege
def test_another_collection_can_be_searched_as_it_stands(cairn: Cairn, gear: Path, rows: Rows) -> None:
    missing = cairn("retrieval", gear, "--no-index", "--collection", "other")
    assert (missing.code, missing.out) == (1, "")
    assert "no collection named other" in missing.err
    assert rows("SELECT FROM rag.eval_runs") == []
    assert cairn("retrieval", gear, "--collection", "other", "--mode", "lexical").code == 0
    assert cairn("retrieval", gear, "--collection", "other", "--mode", "lexical", "--no-index").code == 0
    assert [row["collection"] for row in rows("SELECT collection FROM rag.eval_runs")] == ["other", "other"]


def test_a_leg_that_fails_is_said_and_stored(cairn: Cairn, gear: Path, rows: Rows) -> None:
    """Figures of half a search must not look like those of a whole one."""
    assert cairn("retrieval", gear).code == 0
    rows("DROP FUNCTION rag.lexical_best CASCADE")
    done = cairn("retrieval", gear, "--no-index")
    assert done.code == 1
    assert "warning: mountain gear, hybrid: 8 of 8 queries: the lexical search failed" in done.err
    whole, half = (row["degraded"] for row in rows("SELECT degraded FROM analyst.eval_runs ORDER BY run_id"))
    assert whole == []
    assert half[0].startswith("8 of 8 queries: the lexical search failed")


def test_documents_that_cannot_be_indexed_are_counted(cairn: Cairn, gear: Path) -> None:
    write(gear, {**DOCUMENTS, "empty": ("", "")})
    for _ in range(2):
        done = cairn("retrieval", gear, "--mode", "lexical")
        assert done.code == 0
        assert "1 could not be indexed, e.g. empty: " in done.err
        assert "warning" not in done.err


# --- charts -----------------------------------------------------------------------------------------------------------


def test_the_chart_shows_every_run_with_its_interval(cairn: Cairn, gear: Path, tmp_path: Path) -> None:
    name = 'a "name" <with> & signs'
    arguments = ("retrieval", gear, "--mode", "all", "--name", name, "--json", "r.json", "--plot", "chart.svg")
    runs = stored(cairn(*arguments), tmp_path / "r.json")
    root = ElementTree.parse(tmp_path / "chart.svg").getroot()
    svg = "{http://www.w3.org/2000/svg}"
    bars = [group for group in root.iter(f"{svg}g") if group.find(f"{svg}path") is not None]
    assert len(bars) == 2 * len(runs)
    for number, bar in enumerate(bars):
        run, metric = runs[number % 3], ("ndcg@10", "recall@100")[number // 3]
        value = run["metrics"][metric]
        rectangle, whisker = bar.find(f"{svg}rect"), bar.find(f"{svg}path")
        assert rectangle is not None
        assert whisker is not None
        left, width = (float(rectangle.get(key, "nan")) for key in ("x", "width"))
        low, high = (float(number) for number in re.findall(r"[MH]([\d.]+)", whisker.get("d", ""))[:2])
        scale = 420
        assert width / scale == pytest.approx(value["mean"], abs=0.001)
        assert ((low - left) / scale, (high - left) / scale) == pytest.approx((value["low"], value["high"]), abs=0.001)
        assert "".join(bar.itertext()).count(f"{value['mean']:.3f}") == 2 + (
            value["mean"] == run["metrics"][("recall@100", "ndcg@10")[number // 3]]["mean"]
        ), "once in the label, once in what is read out"
    assert float(root.get("width", 0)) > 700
    assert name in "".join(root.itertext())


def test_a_page_has_chart_and_figures(cairn: Cairn, gear: Path, tmp_path: Path) -> None:
    assert cairn("retrieval", gear, "--mode", "lexical", "--name", "<b>", "--plot", "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<svg" in page
    assert "<th>nDCG@10</th>" in page
    assert "<b>" not in page
    assert "src=" not in page.replace('xmlns="', "")


# --- lists and comparisons --------------------------------------------------------------------------------------------


def test_two_runs_are_compared_query_by_query(cairn: Cairn, gear: Path, tmp_path: Path) -> None:
    """By the end of their ids; what differs between them is named."""
    first = stored(cairn("retrieval", gear, "--name", "before", "--json", "a.json"), tmp_path / "a.json")[0]
    Path("settings.json").write_text('{"rag": {"hybridSearchWeight": 0.0}}')
    second = stored(cairn("retrieval", gear, "--name", "after", "--json", "b.json"), tmp_path / "b.json")[0]

    done = cairn("compare", first["id"], second["id"][-12:], "--json", "c.json")
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "c.json").read_text())
    both = [(first["queries"][query]["ndcg@10"], second["queries"][query]["ndcg@10"]) for query in QUERIES]
    ndcg = found["metrics"]["ndcg@10"]
    assert ndcg["difference"]["mean"] == pytest.approx(sum(new - old for old, new in both) / 8)
    assert (ndcg["wins"], ndcg["losses"]) == (sum(new > old for old, new in both), sum(new < old for old, new in both))
    assert ndcg["losses"] > 0, "words alone do worse on these questions"
    assert ndcg["wins"] + ndcg["losses"] + ndcg["ties"] == found["queries"] == 8
    assert found["changed"] == {"settings.rag.hybridSearchWeight": [SHARE, 0.0]}
    assert f"differs: settings.rag.hybridSearchWeight: {SHARE} -> 0.0" in done.out
    assert re.search(rf"^nDCG@10 .*{ndcg['difference']['mean']:+.4f}", done.out, re.MULTILINE)
    assert "On nDCG@10" in done.out
    assert "warning" not in done.err

    listed = cairn("list")
    assert listed.out.index(second["id"][-12:]) < listed.out.index(first["id"][-12:])
    assert [run["name"] for run in json.loads(cairn("list", "--json", "-").out)["runs"]] == ["after", "before"]


@pytest.mark.siege
def test_runs_over_other_judgements_are_compared_with_a_warning(cairn: Cairn, gear: Path, tmp_path: Path) -> None:
    whole, part = (
        stored(cairn("retrieval", gear, "--mode", "lexical", "--json", "r.json", *limit), tmp_path / "r.json")[0]["id"]
        for limit in ((), ("--limit-queries", "3"))
    )
    done = cairn("compare", whole, part)
    assert "Over 3 common queries" in done.out
    assert "queries or judgements of the two runs are not the same" in done.err
    (tmp_path / "other").mkdir()
    other = tmp_path / "other"
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        (other / name).write_text((gear / name).read_text().replace('"q', '"other').replace("\nq", "\nother"))
    strange = stored(cairn("retrieval", other, "--mode", "lexical", "--json", "r.json"), tmp_path / "r.json")[0]["id"]
    done = cairn("compare", whole, strange)
    assert (done.code, "no query in common" in done.err) == (2, True)


def test_unknown_runs_and_an_empty_list(cairn: Cairn) -> None:
    assert "No runs yet" in cairn("list").out
    unknown = cairn("compare", "0123456789ab", "0123456789ab")
    assert (unknown.code, unknown.out, len(unknown.err.splitlines())) == (1, "", 1)
    assert "no evaluation run 0123456789ab" in unknown.err
    assert cairn("compare", "%", "_").code == 2


# --- optimize --------------------------------------------------------------------------------------------------------


def test_relevance_latency_and_the_fusion_that_suits(cairn: Cairn, gear: Path, tmp_path: Path) -> None:
    """The fusion in force, tried on what the legs found, gives exactly what searching gives."""
    Path("settings.json").write_text('{"rag": {"hybridSearchWeight": 0.45}, "retrieve": {"fusion": "rrf"}}')
    done = cairn("optimize", gear, "--json", "o.json")
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "o.json").read_text())
    report, grid = found["search"]["mountain gear"], found["grid"]
    assert (report["queries"], report["judged"], report["reranking"]) == (8, True, None)
    assert 0 < report["timings_ms"]["p50"] <= report["timings_ms"]["p95"]
    assert (grid["current"]["fusion"], grid["current"]["vector_share"]) == ("rrf", 0.45)
    assert grid["current"]["ndcg"]["mean"] == pytest.approx(report["relevance"]["mean"], abs=1e-9)
    assert set(grid["current"]["versus_current"].values()) == {0.0}
    ways = {(item["fusion"], item["vector_share"]): item for item in grid["candidates"]}
    assert len(ways) == 16
    means = [item["ndcg"]["mean"] for item in grid["candidates"]]
    assert means == sorted(means, reverse=True)
    for item in ways.values():
        assert item["versus_current"]["mean"] == pytest.approx(item["ndcg"]["mean"] - grid["current"]["ndcg"]["mean"])
    better = grid["candidates"][0]["versus_current"]["low"] > 0
    assert grid["recommended"] == (grid["candidates"][0] if better else grid["current"])
    assert "no reranker" in done.out
    assert ("Recommended: " if better else "Keep the present fusion") in done.out

    Path("settings.json").write_text('{"rag": {"hybridSearchWeight": 0.2}}')
    assert cairn("optimize", gear, "--no-index", "--json", "p.json").code == 0
    other = json.loads((tmp_path / "p.json").read_text())
    assert other["search"]["mountain gear"]["relevance"]["mean"] == pytest.approx(
        ways["relative_score", 0.2]["ndcg"]["mean"], abs=1e-9
    ), "a fusion does what was said of it before it was in force"


def test_sets_count_the_same_however_many_queries_they_have(cairn: Cairn, gear: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    write(small, DOCUMENTS)
    (small / "qrels.tsv").write_text("q3\tcrampon\t1\nq5\tstove\t1\n")
    assert cairn("optimize", gear, small, "--json", "o.json").code == 0
    found = json.loads((tmp_path / "o.json").read_text())
    means = [report["relevance"]["mean"] for report in found["search"].values()]
    assert [report["queries"] for report in found["search"].values()] == [8, 2]
    assert found["grid"]["current"]["ndcg"]["mean"] == pytest.approx(sum(means) / 2)


@pytest.mark.siege
def test_the_impact_of_reranking(cairn: Cairn, gear: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a reranker that counts common words, and so spoils what the vectors found."""
    with ScriptedServer() as remote:
        monkeypatch.setenv("COHERE_API_KEY", "key")
        monkeypatch.setenv("COHERE_BASE_URL", remote.url)
        done = cairn("optimize", gear, "--json", "o.json")
        assert done.code == 0, done.err
        impact = json.loads((tmp_path / "o.json").read_text())["search"]["mountain gear"]["reranking"]
        assert len(remote.requests) == 8
        reranked = stored(cairn("retrieval", gear, "--json", "r.json"), tmp_path / "r.json")[0]
    assert reranked["parameters"]["reranker"] == impact["reranker"]
    monkeypatch.delenv("COHERE_API_KEY")
    plain = stored(cairn("retrieval", gear, "--json", "r.json"), tmp_path / "r.json")[0]
    assert plain["parameters"]["reranker"] is None
    expected = reranked["metrics"]["ndcg@10"]["mean"] - plain["metrics"]["ndcg@10"]["mean"]
    assert impact["ndcg"]["difference"]["mean"] == pytest.approx(expected, abs=0.02)
    assert 0 < impact["top_changed"] <= 1
    assert "no reranker" not in done.out


# --- usage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["retrieval"], "PATH"),
        (["retrieval", "nowhere"], "there is no folder nowhere"),
        (["retrieval", "{gear}", "--plot", "chart.png"], "--plot writes FILE.svg or FILE.html"),
        (["retrieval", "{gear}", "--mode", "magic"], "--mode"),
        (["retrieval", "{gear}", "{gear}", "--collection", "x"], "--collection takes one data set"),
        (["retrieval", "{gear}", "{gear}"], "two of the folders have the same name"),
        (["retrieval", "{gear}", "--fresh", "--no-index"], "--fresh empties the collection"),
        (["retrieval", "{gear}", "--collection", "a b"], "'a b' is not a collection name"),
        (["retrieval", "{gear}", "--split", "dev"], "no judgements of a split named dev"),
        (["optimize", "{gear}", "--limit-queries", "0"], "--limit-queries"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    arguments: list[str], said: str, gear: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Before a database is opened: there is none here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CAIRN_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    assert main.run(["eval", *(argument.format(gear=gear) for argument in arguments)]) == 2
    out, err = capfd.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert said in err


# --- a public set -----------------------------------------------------------------------------------------------------


@pytest.mark.measurement
def test_a_public_set_reaches_what_was_measured(cairn: Cairn, shared_data: Path, tmp_path: Path) -> None:
    """xquad_en, first 60 queries: the whole set measured .990 hybrid and .979 lexical (docs/adr/0008-fusion.md)."""
    arguments = ("retrieval", shared_data / "xquad_en", "--limit-queries", "60", "--json", "r.json")
    hybrid = stored(cairn(*arguments), tmp_path / "r.json")[0]
    lexical = stored(cairn(*arguments, "--mode", "lexical"), tmp_path / "r.json")[0]
    assert hybrid["metrics"]["ndcg@10"]["mean"] > 0.97
    assert lexical["metrics"]["ndcg@10"]["mean"] > 0.95
    assert hybrid["metrics"]["recall@100"]["mean"] == 1.0
