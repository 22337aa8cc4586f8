"""After a list of documents: which of them, the second one; and a document without a model is an outline."""

from __future__ import annotations

from cairn.domain.ids import new_id
from cairn.wiring import Services
from tests.db.runs import HANDBOOK, answered, fill
from tests.sharing import SHARED

pytestmark = SHARED

MANUAL = "# Pump manual\n\nThis manual is for operators of the small pump. Keep it near the machine.\n\n" + "\n\n".join(
    f"## Step {n}\n\nStep {n} begins with the red valve number {n}. Then wait until the light is green.\n"
    for n in range(1, 31)
)


async def test_which_of_them_and_the_second_one_are_of_the_list(services: Services) -> None:
    await fill(services)
    session = str(new_id())
    first = await answered(services, "Which documents mention days?", session_id=session)
    assert [one.external_id for one in first.citations] == ["leave.md", "travel.md"], first.answer
    assert all("day" in one.quote for one in first.citations)
    narrowed = await answered(services, "Which of them mention hotels?", session_id=session)
    assert narrowed.route["strategy"] == "aggregate"
    assert [one.external_id for one in narrowed.citations] == ["travel.md"], narrowed.answer
    await answered(services, "What documents do you have?", session_id=session)
    second = await answered(services, "What does the second one say about overtime?", session_id=session)
    assert {one.external_id for one in second.citations} == {"pay.md"}, second.answer
    await answered(services, "list all documents", session_id=session)
    shown = await answered(services, "Show me the third one", session_id=session)
    assert shown.route["strategy"] == "summarize", shown.route
    assert {one.external_id for one in shown.citations} == {"travel.md"}


async def test_follow_ups_keep_chunks_and_scores_of_their_sources(services: Services) -> None:
    await fill(services)
    session = str(new_id())
    first = await answered(services, "How many days of leave do employees have?", session_id=session)
    known = {one.passage_id: one for one in first.sources}
    for message in ("tell me more", "explain simpler"):
        later = await answered(services, message, session_id=session)
        kept = [one for one in later.sources if one.passage_id in known]
        assert kept, message
        assert all(one.score > 0 for one in kept), message
        assert any(one.chunk_id for one in kept), message


async def test_a_summary_without_a_model_is_an_outline(services: Services) -> None:
    await fill(services, {"pump.md": MANUAL}, collection="manuals")
    made = await answered(services, "Summarize pump.md", collection="manuals")
    lines = made.answer.splitlines()
    assert lines[0] == "Outline of Pump manual:"
    assert "Step 1 begins with the red valve number 1." in made.answer
    assert any(line.startswith("… ") and line.endswith(" more sections") for line in lines), made.answer
    assert "chat model" in lines[-1]
    assert len(made.citations) == services.settings.current.answer.summary_sentences
    in_german = await answered(services, "Fasse alle Dokumente zusammen", collection="manuals")
    assert "Sprachmodell" in in_german.answer
    await fill(services, HANDBOOK)
    whole = await answered(services, "Summarize everything")
    assert [one.external_id for one in whole.citations] == sorted(HANDBOOK)
    assert "- **Leave**: Employees have 30 days of leave per year. [1]" in whole.answer
