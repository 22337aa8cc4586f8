"""Runs without a chat model: what each message comes to, and what its trace says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from cairn.domain.answer import Coverage
from cairn.domain.event import Failed, Progress, SourcesFound, Token
from cairn.errors import DatabaseUnavailableError
from cairn.language.lexicon import replies
from cairn.store import memory
from cairn.strategies.registry import STRATEGIES
from cairn.wiring import Services
from tests.db.runs import HANDBOOK, LEAVE, LEAVE_QUOTED, answer, answered, change, events_of, fill
from tests.db.tenants import on_documents_of, tenant_of
from tests.sharing import SHARED

pytestmark = SHARED


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def handbook(services_of_module: Services) -> AsyncIterator[Services]:
    """A tenant whose documents no test changes."""
    async with tenant_of(services_of_module) as opened:
        await fill(opened)
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def services(handbook: Services) -> AsyncIterator[Services]:
    async with on_documents_of(handbook) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def own(services_of_tenant: Services) -> Services:
    """For a test that changes documents, or begins without any."""
    return services_of_tenant


@pytest_asyncio.fixture(loop_scope="module")
async def owner(services: Services) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(services.owner_dsn)
    yield connection
    await connection.close()


async def plan_of(services: Services, run_id: Any) -> Any:
    from cairn.service.search import get_trace

    return await get_trace(services, run_id)


# --- intents --------------------------------------------------------------------------------------------------------


IN = {
    "bonjour !": "fr", "hola": "es", "Guten Tag": "de", "Merci beaucoup !": "fr", "gracias": "es", "danke": "de",
    "merci bcp": "fr", "ciao": "it", "ok, danke": "de", "quelle heure est-il ?": "fr",
}  # fmt: skip


@pytest.mark.parametrize(
    ("message", "intent"),
    [
        ("hello", "greeting"), ("bonjour !", "greeting"), ("hola", "greeting"), ("Guten Tag", "greeting"),
        ("thank you", "gratitude"), ("Merci beaucoup !", "gratitude"), ("gracias", "gratitude"), ("danke", "gratitude"),
        ("merci bcp", "gratitude"), ("ciao", "greeting"), ("ok, danke", "gratitude"), ("quelle heure est-il ?", "off_topic"),
        ("asdfghjkl", "garbage"), ("????", "garbage"), ("xxxxxxxxxxx", "garbage"),
    ],
)  # fmt: skip
async def test_small_talk_gets_the_fixed_reply_of_its_language(services: Services, message: str, intent: Any) -> None:
    events = await events_of(services, message)
    made = answer(events)
    assert made.answer == replies(IN.get(message, "en")).fixed[intent]
    assert made.confidence == 0  # there is nothing to be sure of
    assert [event.text for event in events if isinstance(event, Token)] == [made.answer]
    assert (made.route["strategy"], made.route["intent"]) == ("reply", intent)
    unread = intent == "garbage"
    assert (made.answered, made.route["needs_clarification"]) == ("no" if unread else "yes", unread)
    assert (made.sources, made.citations, made.grounded) == ((), (), None)
    assert not any(isinstance(event, SourcesFound) for event in events)


async def test_going_on_keeps_the_sources_of_the_last_answer(services: Services) -> None:
    first = await answered(services, LEAVE, session_id="s")
    assert first.answer == LEAVE_QUOTED
    said = {first.answer}
    for message, intent in (("tell me more", "followup"), ("explain simpler", "simplify"), ("go deeper", "deepen")):
        made = await answered(services, message, session_id="s")
        assert (made.route["strategy"], made.route["intent"]) == ("converse", intent)
        originals = [passage.passage_id for passage in first.sources]
        assert [passage.passage_id for passage in made.sources][: len(originals)] == originals
        assert made.route["found"], message
        assert {citation.external_id for citation in made.citations} == {"leave.md"}
        if intent != "simplify":
            assert made.answer not in said, "it says something new"
        said.add(made.answer)


@pytest.mark.parametrize("scope", [{"filters": {"kind": "manual"}}, {"collection": "bananas"}])
async def test_going_on_shows_nothing_that_the_caller_has_left_out(own: Services, scope: dict[str, Any]) -> None:
    await fill(own)
    await fill(own, {"bananas.md": "Bananas are yellow and grow on trees."}, "bananas")
    await answered(own, LEAVE, session_id="s")
    for message in ("tell me more", "explain simpler", "go deeper"):
        made = await answered(own, message, session_id="s", **scope)
        assert not {source.external_id for source in made.sources} & set(HANDBOOK), message


async def test_without_a_context_a_followup_is_asked_back_or_retrieved(services: Services) -> None:
    made = await answered(services, "tell me more about parental leave", session_id="new")
    assert made.route["strategy"] in ("fast", "enhanced")
    assert "36 months" in made.answer
    lone = await answered(services, "why?", session_id="other")
    assert (lone.route["strategy"], lone.route["needs_clarification"]) == ("clarify", True)
    assert lone.answer.endswith("for example about “Leave”, “Pay” or “Travel”.")


@pytest.mark.parametrize("message", ["summarize that", "résume ça", "fass das zusammen", "resúmelo"])
async def test_that_is_summarised_is_the_last_answer_not_the_collection(services: Services, message: str) -> None:
    await answered(services, LEAVE, session_id="s")
    made = await answered(services, message, session_id="s")
    assert made.route["strategy"] == "converse"
    assert {citation.external_id for citation in made.citations} == {"leave.md"}


async def test_what_is_excluded_is_not_reported_as_missing(services: Services) -> None:
    made = await answered(services, "zebras Oslo -Malta")
    assert not made.route["found"]
    assert any("Oslo" in reason for reason in made.insufficiencies)
    assert not any("Malta" in reason for reason in made.insufficiencies)


async def test_a_refusal_is_in_one_language(services: Services) -> None:
    """The message has no stop word that tells its language."""
    made = await answered(services, "Ça roule ma poule ?")
    assert made.route["language"] == "fr"
    assert made.answer.startswith(
        "Je ne sais pas d'après les documents fournis. Ces documents sont en anglais. Essayez"
    )


async def test_a_refusal_does_not_say_another_language_of_all_where_one_is_of_the_question(own: Services) -> None:
    leave = (
        "# Congés\n\nLes employés ont trente jours de congé par an. Ils les demandent deux semaines avant leur début.\n"
    )
    await fill(own, {**HANDBOOK, "conges.md": leave}, "mixed")
    made = await answered(own, "Ça roule ma poule ?", collection="mixed")
    assert made.answer.startswith("Je ne sais pas d'après les documents fournis. Essayez")


async def test_pasted_garbage_keeps_its_text_in_the_plan(services: Services) -> None:
    made = await answered(services, "x" * 3000)
    assert (made.route["intent"], made.route["rewritten_query"]) == ("garbage", None)


async def test_a_deleted_source_is_not_brought_back_by_a_followup(own: Services) -> None:
    from cairn.service.documents import delete_document

    await fill(own)
    first = await answered(own, LEAVE, session_id="s")
    for document_id in {passage.document_id for passage in first.sources}:
        await delete_document(own, "handbook", document_id)
    made = await answered(own, "tell me more", session_id="s")
    assert "leave" not in made.answer.lower().replace("“leave”", "") or not made.route["found"]
    assert made.sources == ()


@pytest.mark.parametrize(
    ("message", "begins"),
    [
        ("How many documents are there?", "The collection “handbook” holds 3 documents"),
        ("Combien de documents y a-t-il ?", "La collection « handbook » contient 3 documents"),
        ("¿Cuántos documentos hay?", "La colección «handbook» contiene 3 documentos"),
        ("Wie viele Dokumente gibt es?", "Die Sammlung „handbook“ enthält 3 Dokumente"),
    ],
)
async def test_questions_about_the_collection_are_answered_completely(
    services: Services, message: str, begins: str
) -> None:
    made = await answered(services, message)
    assert made.answer.startswith(begins)
    assert all(title in made.answer for title in ("Leave", "Pay", "Travel"))
    assert (made.route["strategy"], made.coverage) == ("aggregate", Coverage(True, 3, 3, "documents"))


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("What is the capital of France?", "Try other words"),
        ("Quelle est la capitale de la Mongolie ?", "Essayez d'autres mots"),
        ("¿Cuál es la capital de Mongolia?", "Pruebe con otras palabras"),
        ("Was ist die Hauptstadt der Mongolei?", "Versuchen Sie es mit anderen Worten"),
    ],
)
async def test_what_the_documents_do_not_answer_says_what_to_do(services: Services, message: str, says: str) -> None:
    made = await answered(services, message)
    assert says in made.answer
    assert (made.route["found"], made.grounded, made.citations) == (False, None, ())
    empty = await answered(services, message, collection="void")
    assert "cairn ingest PATH --collection void" in empty.answer
    assert "handbook" in empty.answer, "it says where there are documents"


# --- strategies -----------------------------------------------------------------------------------------------------


async def test_enhanced_retrieves_and_reads_half_as_much_again(own: Services) -> None:
    await fill(own, {f"hill{n}.md": f"Hill number {n} has a cairn of {n + 3} stones." for n in range(40)})
    fast = await answered(own, "Which hill has a cairn?", strategy="fast")
    enhanced = await answered(own, "Which hill has a cairn?", strategy="enhanced")
    assert (fast.route["effective_top_k"], len(fast.sources)) == (10, 5)
    assert (enhanced.route["effective_top_k"], len(enhanced.sources)) == (15, 8)  # 7.5 rounded half up


async def test_each_part_of_a_question_is_searched_and_answered(services: Services, owner: Any) -> None:
    made = await answered(
        services, "When are salaries paid and how much may a hotel cost per night?", strategy="enhanced"
    )
    assert len(made.route["subquestions"]) == 2
    assert "25th of each month" in made.answer
    assert "120 euros" in made.answer
    assert [citation.n for citation in made.citations] == list(range(1, len(made.citations) + 1))
    trace = await plan_of(services, made.run_id)
    assert [item["purpose"] for item in trace.plan["searches"]] == ["question", "subquestion", "subquestion"]
    rows = await owner.fetch("SELECT * FROM analyst.retrieval_hits WHERE run_id = $1", made.run_id)
    by_search = {(row["search"], row["leg"]) for row in rows}
    assert by_search == {
        *((n, leg) for n in (1, 2, 3) for leg in ("vector", "lexical", "fused")), (None, "merged"),
    }  # fmt: skip
    assert all(row["fate"] for row in rows)
    kept = {row["passage_id"] for row in rows if row["leg"] == "merged" and row["fate"] == "kept"}
    assert kept == {passage.passage_id for passage in made.sources}
    told = await owner.fetch("SELECT * FROM analyst.explain_passage($1, $2)", made.run_id, next(iter(kept)))
    assert {"result", "search 2", "search 3", "merged"} <= {row["stage"] for row in told}
    assert all(row["verdict"] for row in told)


async def test_the_trace_holds_every_decision(services: Services) -> None:
    made = await answered(services, LEAVE)
    plan = (await plan_of(services, made.run_id)).plan
    for key in (
        "strategy", "reason", "intent", "intent_confidence", "intent_layer", "intent_reason", "language", "query_type",
        "query_type_confidence", "query_type_reason", "complexity", "weights", "entities", "rewritten_query",
        "rewritten_by", "subquestions", "expansions", "filters", "is_summarization", "effective_top_k", "iterations",
        "answerer", "found", "from_cache", "needs_clarification", "searches", "attempts", "asked_strategy",
        "collection_empty", "skip_rewrite", "should_rewrite", "rewrite_count",
    ):  # fmt: skip
        assert key in plan, key
    assert plan["complexity"].keys() == {"score", "level", "factors", "override", "reasoning"}
    assert plan["complexity"]["factors"].keys() == {
        "query_type", "entity_count", "subquestion_count", "keyword_matches", "low_confidence",
    }  # fmt: skip
    assert plan["weights"] == {
        "text": 1.0, "graph": 0.0, "legs": {"vector": 0.7, "lexical": 0.3}, "mode": "TEXT_ONLY", "fusion": "relative_score",
        "reason": "the question names nothing that the graph could begin with", "classifier": "names",
    }  # fmt: skip
    assert plan["searches"][0]["weights"] == plan["weights"]


async def test_a_trace_tells_whether_there_was_anything_to_search_and_what_was_rewritten(own: Services) -> None:
    names = ("collection_empty", "skip_rewrite", "should_rewrite", "rewrite_count")
    nowhere = (await answered(own, LEAVE, collection="void")).route
    assert [nowhere[name] for name in names] == [True, True, True, 0]
    await fill(own)
    there = (await answered(own, LEAVE)).route
    assert [there[name] for name in names] == [False, True, False, 0]


async def test_a_trace_keeps_ids_and_spans_but_no_quotes(services: Services) -> None:
    made = await answered(services, LEAVE)
    kept = await plan_of(services, made.run_id)
    assert kept.document_ids == (made.citations[0].document_id,)
    (cited, *_) = kept.answer["citations"]
    assert cited["document_id"] == str(made.citations[0].document_id)
    assert (cited["start"], cited["end"]) == (made.citations[0].start, made.citations[0].end)
    assert "quote" not in cited


async def test_one_embedding_serves_routing_and_retrieval(services: Services) -> None:
    await answered(services, LEAVE)  # the exemplars are embedded now
    made = await answered(services, "When is a bonus paid to employees?")
    assert made.timings_ms["embed"] > 0
    trace = await plan_of(services, made.run_id)
    assert "embed" not in (await first_search(services, made.run_id)), "the search found the vector there"
    assert trace.plan["searches"][0]["found"] > 0


async def first_search(services: Services, run_id: Any) -> dict[str, float]:
    """Stages of the run's search: a search that embeds books `embed` between `cache` and `vector`."""
    trace = await plan_of(services, run_id)
    stages = list(trace.timings_ms)
    return {stage: trace.timings_ms[stage] for stage in stages[stages.index("understand") + 1 :]}


# --- summaries ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    ["Summarize all documents", "Résume tous les documents", "Resume todos los documentos", "Fasse alle Dokumente zusammen"],
)  # fmt: skip
async def test_a_summary_reads_everything_in_order(services: Services, message: str) -> None:
    made = await answered(services, message)
    assert (made.route["strategy"], made.route["is_summarization"]) == ("summarize", True)
    assert made.coverage == Coverage(True, 3, 3, "passages")
    assert made.route["documents_read"] == 3
    assert [passage.external_id for passage in made.sources] == sorted(HANDBOOK)
    assert [citation.external_id for citation in made.citations] == sorted(
        citation.external_id for citation in made.citations
    )
    assert len({citation.external_id for citation in made.citations}) == 3
    texts = {passage.passage_id: passage for passage in made.sources}
    for cited in made.citations:
        source = texts[cited.passage_id]
        assert source.content[cited.start - source.start : cited.end - source.start] == cited.quote


async def test_a_summary_is_of_the_document_that_is_named(services: Services) -> None:
    for message in ("Summarize travel.md", "Summarize the document on travel"):
        made = await answered(services, message)
        assert {passage.external_id for passage in made.sources} == {"travel.md"}, message
        assert made.coverage == Coverage(True, 1, 1, "passages")


async def test_what_does_not_fit_the_budget_is_sampled_evenly_and_said(own: Services) -> None:
    change(own, "answer", summary_tokens=1000)
    long = "\n\n".join(
        f"Chapter {n} tells of hill {n}. " + f"The cairn of hill {n} has stones. " * 14 for n in range(40)
    )
    await fill(own, {"hills.md": long})
    made = await answered(own, "Summarize everything")
    assert not made.coverage.complete
    starts = [passage.start for passage in made.sources]
    assert starts == sorted(starts)
    assert starts[-1] > len(long) * 0.6, "not only the beginning"
    assert made.confidence < 0.5


# --- what goes wrong ------------------------------------------------------------------------------------------------


async def test_a_memory_that_fails_does_not_lose_the_answer(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with services.database.transaction(services.principal) as connection:
        await memory.forget(connection, "s")
    change(services, "memory", context=0)

    async def away(*arguments: Any) -> Any:
        raise DatabaseUnavailableError("gone")

    monkeypatch.setattr("cairn.runs.library.recall", away)
    made = await answered(services, LEAVE, session_id="s")
    assert "30 days" in made.answer
    assert any(note.startswith("memory: what was said before could not be read") for note in made.degraded)


async def test_a_failed_search_fails_the_run_and_leaves_its_plan(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*arguments: Any, **more: Any) -> Any:
        raise DatabaseUnavailableError("the database is away")

    monkeypatch.setattr("cairn.runs.searcher.cached_search", down)
    events = await events_of(services, LEAVE)
    assert isinstance(events[-1], Failed)
    await services.traces.flush()
    trace = await plan_of(services, events[0].run_id)  # type: ignore[union-attr]
    assert (trace.outcome, trace.strategy, trace.plan["intent"]) == ("error", "fast", "question")


async def test_a_bug_fails_the_run_without_showing_its_inside(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*arguments: Any, **more: Any) -> Any:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("cairn.runs.searcher.cached_search", broken)
    events = await events_of(services, LEAVE)
    assert isinstance(events[-1], Failed)
    assert (events[-1].error.status, "secret" in events[-1].error.detail) == (500, False)


ODD = (
    "?", "👋", "\u202eabc", "x" * 5000, "a b " * 3000, "'; DROP TABLE rag.runs; --", "-leave", 'id:"leave.md"', "+++",
    "the of and", "SELECT * FROM leave", "מה שלום העולם", "休暇は何日ですか", "[1] [2] [3]", "$question ${context}",
    "<think>leave</think>", "\ttab\n", "résumé", "A ou B ou C ?", "leave? pay? travel?", "what? why? how?", "Summarize",
    "Summarize nothing.pdf", "tell me more", "How many documents mention leave?", "How many documents mention xyzzy?",
    "List all documents by Kim from 1987",
)  # fmt: skip


@pytest.mark.parametrize("session", [None, "s"])
async def test_whatever_is_said_there_is_one_answer(services: Services, session: str | None) -> None:
    """And a trace of it, with the way it went."""
    for message in ODD:
        made = await answered(services, message, session_id=session)
        assert made.answer.strip(), message
        assert 0 <= made.confidence <= 1
        assert made.route["strategy"] in STRATEGIES
        assert (await plan_of(services, made.run_id)).strategy == made.route["strategy"]
        for cited in made.citations:
            assert f"[{cited.n}]" in made.answer, message


async def test_progress_only_grows(services: Services) -> None:
    for message in (LEAVE, "Summarize everything", "How many documents are there?", "Compare leave and pay"):
        percents = [event.percent for event in await events_of(services, message) if isinstance(event, Progress)]
        assert percents == sorted(percents)
        assert (percents[0], percents[-1]) == (10, 100)
